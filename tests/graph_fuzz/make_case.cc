// MakeCase: draws a graph op by op from the rows of the table. How a row's operands and attributes
// are drawn follows from its kind; kinds without a way of their own (composites, and any that come
// later) are drawn from the row's example (case_examples.h).
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/op_enum.h"
#include "tests/graph_fuzz/case_examples.h"
#include "tests/graph_fuzz/fuzz_case.h"

namespace jitfuse::internal {
namespace {

class CaseMaker : public CaseExamples {
 public:
  CaseMaker(uint64_t seed, uint64_t attempt) : CaseExamples(seed, attempt) {}

  FuzzCase Make() {
    DrawSizes();
    DrawOptions();
    for (int i = 1 + rng_.Below(3); i > 0; --i) head_ = NewInput(main_, RandomShape());
    while (ops_ > 0 && tries_-- > 0 && work_ < max_work_) {
      if (AddRandom()) --ops_;
    }
    AddOutputs();
    for (size_t i = case_.inputs.size(); i < graph_.inputs().size(); ++i)
      case_.inputs.push_back({{}, {}, 0, FuzzValues::kSmallInts, rng_.Next() % 100000});
    case_.graph = std::move(graph_);
    return std::move(case_);
  }

 private:
  // ---- One op.
  static int Weight(OpKind kind) {
    switch (kind) {
      case OpKind::kInput:
      case OpKind::kScalar:
        return 0;
      case OpKind::kPointwise:
        return 40;
      case OpKind::kView:
      case OpKind::kComposite:
        return 14;
      case OpKind::kReduce:
        return 10;
      case OpKind::kConstant:
      case OpKind::kIota:
        return 1;
      default:
        return 5;
    }
  }
  // Kinds in the order of the table, with their rows.
  using Rows = std::vector<std::pair<OpKind, std::vector<const OpDef*>>>;
  static const Rows& RowsByKind() {
    static const Rows rows = [] {
      Rows out;
      for (const OpDef* def : AllOps()) {
        auto it = std::find_if(out.begin(), out.end(),
                               [&](const auto& e) { return e.first == def->kind; });
        if (it == out.end()) it = out.insert(out.end(), {def->kind, {}});
        it->second.push_back(def);
      }
      return out;
    }();
    return rows;
  }
  // Ops that soon make everything NaN or infinite are rarer in long graphs.
  bool Skip(const OpDef& def) {
    static const std::set<std::string_view> kWild = {
        "log",   "log2",  "log10",    "log1p",  "sqrt",  "rsqrt",   "pow",   "divide", "reciprocal",
        "asin",  "acos",  "acosh",    "atanh",  "exp",   "exp2",    "expm1", "sinh",   "cosh",
        "isnan", "isinf", "isfinite", "lgamma", "xlogy", "addcdiv", "prod",  "square", "tan"};
    return kWild.count(def.name) != 0 && ops_ > 4 && !rng_.OneIn(6);
  }

  bool AddRandom() {
    if (rng_.OneIn(15)) return Squash();
    int total = 0;
    for (const auto& [kind, rows] : RowsByKind()) total += Weight(kind);
    int at = rng_.Below(total);
    for (const auto& [kind, rows] : RowsByKind()) {
      at -= Weight(kind);
      if (at >= 0) continue;
      const OpDef& def = *rng_.Of(rows);
      return !Skip(def) && AddOp(def);
    }
    return false;
  }
  // Brings values back to where functions do something.
  bool Squash() {
    static const std::vector<Op> kOps = {Op::kTanh, Op::kSigmoid, Op::kSin, Op::kSoftsign};
    return Keep(Add(rng_.Of(kOps), {First(kFloats)}));
  }

  bool AddOp(const OpDef& def) {
    switch (def.kind) {
      case OpKind::kConstant:
        pool_.push_back(IsFloat(main_) ? graph_.AddConstant(main_, rng_.Below(5) - 2)
                                       : graph_.AddConstantInt(main_, rng_.Below(3)));
        return true;
      case OpKind::kPointwise:
        return def.infer == nullptr ? false : Pointwise(def);
      case OpKind::kReduce:
        return Reduce(def);
      case OpKind::kScan:
        return Scan(def);
      case OpKind::kView:
        return View(def);
      case OpKind::kJoin:
        return Join(def);
      case OpKind::kGather:
        return Gather(def);
      case OpKind::kSort:
      case OpKind::kSegment:
        return Scatter(def);
      case OpKind::kComposite:
        return def.op == Op::kIndexAdd || def.op == Op::kScatterAdd ? Scatter(def) : ByExample(def);
      case OpKind::kMatMul:
        return MatMul(def);
      default:
        return ByExample(def);
    }
  }

  bool Pointwise(const OpDef& def) {
    if (def.args.empty() || ArgName(def, def.args.size() - 1) == "offset") return ByExample(def);
    const bool where = def.op == Op::kWhere;
    std::vector<Value> in = {First(where ? kAnyDType : def.domain)};
    while (in.size() < def.args.size() - (where ? 1 : 0))
      in.push_back(Like(TypeOf(in[0]), DimsOf(in[0])));
    if (where) in.insert(in.begin(), Like(DType::kBool, DimsOf(in[0])));
    if (in.size() == 2 && rng_.OneIn(3)) std::swap(in[0], in[1]);
    return Keep(Add(def.op, in, MoveAttrs(def, in, {}, /*all=*/true)));
  }

  bool Reduce(const OpDef& def) {
    const Value x = First(def.domain);
    std::vector<int64_t> axes;
    const size_t rank = DimsOf(x).size();
    for (size_t i = 0; i < rank; ++i) {
      if (rng_.OneIn(i + 1 == rank ? 2 : 3)) axes.push_back(static_cast<int64_t>(i));
    }
    return Keep(Add(def.op, {x}, {{"axes", axes}, {"keepdims", rng_.OneIn(2)}}));
  }

  bool Scan(const OpDef& def) {
    const Value x = First(def.domain);
    const auto rank = static_cast<int64_t>(DimsOf(x).size());
    if (rank == 0) return false;
    const Attrs attrs = {
        {"axis", rng_.Below(rank)}, {"exclusive", rng_.OneIn(3)}, {"reverse", rng_.OneIn(3)}};
    return Keep(Add(def.op, {x}, attrs));
  }

  bool View(const OpDef& def) {
    const Value x = First(def.domain);
    const Shape& dims = DimsOf(x);
    const auto rank = static_cast<int64_t>(dims.size());
    if (def.op == Op::kReshape) return Keep(Add(def.op, {x}, {{"shape", Reshaped(dims)}}));
    if (def.op == Op::kBroadcast) {
      std::vector<Dim> shape(dims.begin(), dims.end());
      for (Dim& d : shape) {
        if (d.Is(1) && rng_.OneIn(2)) d = rng_.Of(base_);
      }
      if (rank < 5 && rng_.OneIn(2)) shape.insert(shape.begin(), 1 + rng_.Below(3));
      return Keep(Add(def.op, {x}, {{"shape", shape}}));
    }
    if (rank == 0) return false;
    if (def.op == Op::kTranspose) {
      std::vector<int64_t> perm;
      for (int64_t i = 0; i < rank; ++i) perm.insert(perm.begin() + rng_.Below(i + 1), i);
      return Keep(Add(def.op, {x}, {{"perm", perm}}));
    }
    const int64_t axis = rng_.Below(rank);
    const auto at = static_cast<size_t>(axis);
    if (def.op == Op::kSlice) {
      std::vector<int64_t> starts(dims.size(), 0), stops(dims.size(), INT64_MAX),
          steps(dims.size(), 1);
      steps[at] = std::vector<int64_t>{1, 2, -1, -3, 3}[static_cast<size_t>(rng_.Below(5))];
      starts[at] = steps[at] < 0 ? INT64_MAX : rng_.Below(3) - 1;
      if (rng_.OneIn(2)) stops[at] = rng_.Below(9) - 4;
      return Keep(Add(def.op, {x}, {{"starts", starts}, {"stops", stops}, {"steps", steps}}));
    }
    if (def.op == Op::kRoll) {
      return Keep(Add(def.op, {x},
                      {{"shifts", std::vector<int64_t>{rng_.Below(9) - 4}},
                       {"axes", std::vector<int64_t>{axis}}}));
    }
    if (def.op == Op::kTile) {
      std::vector<int64_t> reps(dims.size(), 1);
      reps[at] = 1 + rng_.Below(3);
      return Keep(Add(def.op, {x}, {{"reps", reps}}));
    }
    if (def.op == Op::kRepeat)
      return Keep(Add(def.op, {x}, {{"repeats", int64_t{1 + rng_.Below(3)}}, {"axis", axis}}));
    if (def.op == Op::kFlip) return Keep(Add(def.op, {x}, {{"axes", std::vector<int64_t>{axis}}}));
    if (def.op == Op::kWindows) {
      return Keep(Add(def.op, {x},
                      {{"axis", axis},
                       {"size", int64_t{1 + rng_.Below(3)}},
                       {"stride", int64_t{1 + rng_.Below(2)}},
                       {"dilation", int64_t{1 + rng_.Below(2)}}}));
    }
    return ByExample(def);
  }
  std::vector<Dim> Reshaped(const Shape& dims) {
    std::vector<Dim> shape(dims.begin(), dims.end());
    switch (rng_.Below(4)) {
      case 0:
        return {NumElements(dims)};
      case 1:  // two neighbours become one
        if (shape.size() >= 2) {
          const auto i = static_cast<size_t>(rng_.Below(static_cast<int64_t>(shape.size()) - 1));
          shape[i] = shape[i] * shape[i + 1];
          shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(i) + 1);
        }
        return shape;
      case 2:  // one becomes two
        for (size_t i = 0; i < shape.size(); ++i) {
          for (int64_t f : {3, 2, 4, 5}) {
            if (std::optional<Dim> part = shape[i].DivExact(f)) {
              shape[i] = *part;
              shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(i) + rng_.Below(2), Dim(f));
              return shape;
            }
          }
        }
        return shape;
      default:
        shape.insert(shape.begin() + rng_.Below(static_cast<int64_t>(shape.size()) + 1), Dim(1));
        return shape;
    }
  }

  bool Join(const OpDef& def) {
    const Value x = First(def.domain);
    const Shape dims = DimsOf(x);
    if (dims.empty()) return false;
    if (def.op == Op::kConcatenate) {
      const auto axis = static_cast<size_t>(rng_.Below(static_cast<int64_t>(dims.size())));
      std::vector<Value> in = {x};
      for (int more = rng_.Below(4); more > 0; --more) {
        Shape other = dims;
        if (rng_.OneIn(2)) other[axis] = rng_.Below(5);
        in.insert(in.begin() + rng_.Below(static_cast<int64_t>(in.size()) + 1),
                  rng_.OneIn(4) ? x : Exactly(TypeOf(x), other));
      }
      return Keep(Add(def.op, in, {{"axis", static_cast<int64_t>(axis)}}));
    }
    if (def.op != Op::kPad) return ByExample(def);
    std::vector<Dim> low, high;
    for (size_t d = 0; d < dims.size(); ++d) {
      low.push_back(rng_.Below(3));
      high.push_back(rng_.Below(3));
    }
    const double value = IsFloat(TypeOf(x)) ? rng_.Below(3) - 1 : rng_.Below(2);
    return Keep(Add(def.op, {x}, {{"low", low}, {"high", high}, {"value", value}}));
  }

  bool Gather(const OpDef& def) {
    static const std::vector<DType> kIndex = {DType::kI32, DType::kI64, DType::kI32,
                                              DType::kU8,  DType::kI8,  DType::kI16};
    const Value x = First(kAnyDType);
    const Shape dims = DimsOf(x);
    if (def.args.size() != 2) return ByExample(def);
    if (dims.empty()) return false;
    const auto axis = static_cast<size_t>(rng_.Below(static_cast<int64_t>(dims.size())));
    Shape shape = dims;
    if (def.op == Op::kTake) {
      shape.clear();
      for (int d = rng_.Below(3); d > 0; --d) shape.push_back(1 + rng_.Below(4));
    } else if (dims[axis].IsConstant() && rng_.OneIn(2)) {
      shape[axis] = 1 + rng_.Below(6);
    }
    const absl::StatusOr<Value> at = Positions(shape, dims[axis], rng_.Of(kIndex));
    return at.ok() && Keep(Add(def.op, {x, *at}, {{"axis", static_cast<int64_t>(axis)}}));
  }

  // Sums by index, and what they are made of.
  bool Scatter(const OpDef& def) {
    static const std::vector<DType> kIndex = {DType::kI32, DType::kI64, DType::kU8, DType::kI16};
    const Value x = First(kNumeric);
    const Shape dims = DimsOf(x);
    if (dims.empty()) return false;
    const int64_t axis = rng_.Below(static_cast<int64_t>(dims.size()));
    const auto at = static_cast<size_t>(axis);
    Shape shape = dims;
    if (def.op == Op::kIndexAdd) {
      shape.clear();
      for (int d = rng_.Below(3); d > 0; --d) shape.push_back(1 + rng_.Below(4));
    } else if (dims[at].IsConstant()) {
      shape[at] = 1 + rng_.Below(9);
    }
    const absl::StatusOr<Value> indices = Positions(shape, dims[at], rng_.Of(kIndex));
    if (!indices.ok()) return false;
    const Attrs along = {{"axis", axis}};
    Shape from = DimsOf(*indices);
    if (def.op == Op::kIndexAdd) {
      from = Shape(dims.begin(), dims.begin() + axis);
      const Shape at_index = DimsOf(*indices);
      from.insert(from.end(), at_index.begin(), at_index.end());
      from.insert(from.end(), dims.begin() + axis + 1, dims.end());
    }
    if (def.op == Op::kIndexAdd || def.op == Op::kScatterAdd)
      return Keep(Add(def.op, {x, *indices, Exactly(TypeOf(x), from)}, along));
    const absl::StatusOr<Value> order = Add(Op::kGroupPositions, {*indices},
                                            {{"axis", axis}, {"size", std::vector<Dim>{dims[at]}}});
    if (!order.ok() || def.kind == OpKind::kSort) return Keep(order);
    return Keep(Add(
        def.op, {x, Exactly(TypeOf(x), from), *order, {order->node, 1}, {order->node, 2}}, along));
  }

  bool MatMul(const OpDef& def) {
    const Value a = First(def.domain);
    const Shape dims = DimsOf(a);
    if (dims.size() < 2) return false;
    const bool ta = rng_.OneIn(3), tb = rng_.OneIn(2);
    const Dim k = ta ? dims[dims.size() - 2] : dims.back();
    const Dim n = rng_.OneIn(3) ? Dim(1 + rng_.Below(9)) : rng_.Of(base_);
    Shape b(dims.begin(), dims.end() - 2);
    if (rng_.OneIn(2)) b.clear();
    b.push_back(tb ? n : k);
    b.push_back(tb ? k : n);
    const absl::StatusOr<Value> v =
        Add(def.op, {a, Exactly(TypeOf(a), b)}, {{"transpose_a", ta}, {"transpose_b", tb}});
    if (v.ok()) work_ += Elements(a) * 4;
    return Keep(v);
  }

  void AddOutputs() {
    std::vector<Value> outputs = {head_};
    for (int i = rng_.Below(4); i > 0; --i) outputs.push_back(Recent(rng_.OneIn(2) ? 4 : 30));
    for (Value v : outputs) (void)graph_.AddOutput(v);
  }
};

// Whether a call with these sizes can be made: symbols, guards, nothing empty where that is an
// error.
bool Binds(const Graph& graph, const std::vector<int64_t>& sizes) {
  std::vector<std::vector<int64_t>> dims;
  for (NodeId id : graph.inputs()) dims.push_back(EvalDims(graph.node(id).types[0].dims, sizes));
  return graph.BindSymbols(dims).ok();
}

}  // namespace

FuzzCase MakeCase(uint64_t seed) {
  for (uint64_t attempt = 0;; ++attempt) {
    FuzzCase c = CaseMaker(seed, attempt).Make();
    // A symbol must be a dim of some input; sizes of 0 are an error for max and its like.
    std::vector<std::vector<int64_t>> good;
    for (std::vector<int64_t>& sizes : c.sizes) {
      sizes.resize(c.graph.symbols().names.size(), 1);
      if (Binds(c.graph, sizes)) good.push_back(sizes);
    }
    c.sizes = std::move(good);
    if (!c.sizes.empty() && c.graph.outputs().size() > 0) return c;
    if (attempt > 200) return c;
  }
}

}  // namespace jitfuse::internal
