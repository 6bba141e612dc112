// MakeCase: draws a graph op by op from the rows of the table. How a row's operands and attributes
// are drawn follows from its kind; kinds without a way of their own (composites, and any that come
// later) are drawn from the row's example: its shapes become shapes of this graph, its attributes
// are kept or moved a little.
#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/op_enum.h"
#include "ir/rng.h"
#include "ir/text.h"
#include "tests/graph_fuzz/fuzz_case.h"

namespace jitfuse::internal {
namespace {

// The example's node with the types of its operands, as the tests of the table read it.
struct Example {
  std::vector<TensorType> in;
  std::vector<std::string> names;  // of operands that are inputs
  Attrs attrs;
};

std::optional<Example> ExampleOf(const OpDef& def) {
  const std::string line(def.example);
  if (line.empty()) return std::nullopt;
  const std::string first = line.substr(0, line.find_first_of(" ,"));
  const std::string types = line.substr(line.rfind(" : ") + 3);
  absl::StatusOr<Graph> graph = ParseGraph(absl::StrCat(
      "graph f(%x: f32[4,8], %y: f32[4,8], %i: i32[4,8], %j: i32[4,8], %p: bool[4,8], %q: "
      "bool[4,8], %m: f32[16,8], %w: f32[8], %b: f32[8], %c: f32[16], %z: f32[4,1], %t: "
      "f32[2,4,8], %k: i64[4], %u: u64[]) -> (",
      types.substr(0,
                   types.find("], ") == std::string::npos ? types.size() : types.find("], ") + 1),
      ") {\n  ", line, "\n  return ", first, "\n}\n"));
  if (!graph.ok()) return std::nullopt;
  Example out;
  const Node& node = graph->node(graph->outputs()[0]);
  for (Value v : node.in) out.in.push_back(graph->type(v));
  out.attrs = node.attrs;
  return out;
}

std::string_view ArgName(const OpDef& def, size_t operand) {
  std::string_view name = def.args[std::min(operand, def.args.size() - 1)];
  while (!name.empty() && (name.back() == '?' || name.back() == '.')) name.remove_suffix(1);
  return name;
}

class CaseMaker {
 public:
  CaseMaker(uint64_t seed, uint64_t attempt) : rng_(seed ^ (attempt << 56)) { case_.seed = seed; }

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
  // ---- Sizes, shapes, inputs.
  void DrawSizes() {
    const int pick = rng_.Below(100);
    ops_ = pick < 60   ? 1 + rng_.Below(10)
           : pick < 90 ? 5 + rng_.Below(30)
           : pick < 98 ? 30 + rng_.Below(50)
                       : 80 + rng_.Below(121);
    tries_ = ops_ * 12;
    const bool large = ops_ <= 8 && rng_.OneIn(25);  // several blocks, split reductions
    max_elements_ = large ? 30000 : ops_ > 30 ? 600 : 3000;
    max_work_ = large ? 120000 : 60000;
    static const std::vector<int64_t> kSizes = {1,  2,  3,  4,  5,  7,   8,   12,
                                                16, 17, 32, 33, 64, 100, 130, 257};
    const int dims = 1 + rng_.Below(3);
    const int64_t budget = max_elements_ / 2;
    case_.sizes.resize(rng_.OneIn(3) ? 2 : 1);
    std::vector<int64_t> used(case_.sizes.size(), 1);
    auto draw = [&](size_t call) {
      int64_t v = rng_.OneIn(60) ? 0 : rng_.Of(kSizes);
      if (large && used[call] == 1) v = 1000 + rng_.Below(9000);
      while (v > 1 && used[call] * v > budget) v /= 2;
      used[call] *= std::max<int64_t>(v, 1);
      return v;
    };
    for (int d = 0; d < dims; ++d) {
      if (rng_.Percent(35)) {
        base_.push_back(graph_.SymbolNamed(std::string(1, "nmk"[d])));
        for (size_t call = 0; call < used.size(); ++call) case_.sizes[call].push_back(draw(call));
      } else {
        base_.push_back(draw(0));
        for (size_t call = 1; call < used.size(); ++call)
          used[call] *= std::max<int64_t>(1, base_.back().constant());
      }
    }
  }

  void DrawOptions() {
    static const std::vector<DType> kMain = {DType::kF32, DType::kF32, DType::kF32,  DType::kF64,
                                             DType::kF16, DType::kF16, DType::kBF16, DType::kBF16,
                                             DType::kI32, DType::kI64, DType::kU8};
    main_ = rng_.OneIn(8) ? AnyDType() : rng_.Of(kMain);
    case_.options.rewrite = !rng_.OneIn(6);
    case_.options.fuse = !rng_.OneIn(12);
    case_.options.use_gemm_library = !rng_.OneIn(3);
    case_.strided_outputs = rng_.OneIn(6);
    plain_ = rng_.OneIn(2);
  }

  DType AnyDType() { return static_cast<DType>(rng_.Below(kNumDTypes)); }
  DType AnyOf(DTypeSet set) {
    if (IsIn(main_, set) && !rng_.OneIn(4)) return main_;
    for (;;) {
      const DType d = AnyDType();
      if (IsIn(d, set)) return d;
    }
  }

  Shape RandomShape() {
    Shape out(base_.begin(), base_.end());
    if (rng_.Percent(55)) return out;
    for (Dim& d : out) {
      if (rng_.OneIn(4)) d = 1;
    }
    if (rng_.OneIn(3) && !out.empty()) out.erase(out.begin());
    if (rng_.OneIn(6) && out.size() > 1) std::swap(out.front(), out.back());
    if (rng_.OneIn(8)) out.insert(out.begin(), 1 + rng_.Below(3));
    while (rng_.OneIn(12) && out.size() < 6) out.insert(out.begin(), 1 + rng_.Below(2));
    return out;
  }

  FuzzInput RandomSpec(DType dtype, size_t rank) {
    FuzzInput spec;
    spec.seed = rng_.Next() % 100000;
    if (!plain_ && rng_.OneIn(3)) spec.values = static_cast<FuzzValues>(rng_.Below(5));
    if (rng_.Percent(60)) return spec;
    spec.shift = rng_.OneIn(2) ? 0 : rng_.Below(8);
    for (size_t d = 0; d < rank; ++d) spec.order.push_back(static_cast<int64_t>(d));
    if (rng_.OneIn(2)) {
      for (size_t d = rank; d > 1; --d)
        std::swap(spec.order[d - 1], spec.order[static_cast<size_t>(rng_.Below(int64_t(d)))]);
    }
    static const std::vector<int64_t> kSteps = {1, 1, 1, 1, 2, -1, 0, -3};
    for (size_t d = 0; d < rank; ++d) spec.steps.push_back(rng_.Of(kSteps));
    (void)dtype;
    return spec;
  }

  Value NewInput(DType dtype, Shape shape) {
    for (size_t d = 0; d < shape.size() && Count(shape) > max_elements_; ++d) shape[d] = 1;
    absl::StatusOr<Value> v =
        shape.empty() && rng_.OneIn(2)
            ? graph_.AddScalar(absl::StrCat("s", graph_.inputs().size()), dtype)
            : graph_.AddInput(absl::StrCat("x", graph_.inputs().size()), {dtype, shape});
    if (!v.ok()) return head_;
    FuzzInput spec = RandomSpec(dtype, shape.size());
    if (graph_.node(*v).kind() == OpKind::kScalar) spec = {{}, {}, 0, spec.values, spec.seed};
    case_.inputs.push_back(std::move(spec));
    pool_.push_back(*v);
    return *v;
  }

  int64_t Elements(Value v) const { return Count(graph_.type(v).dims); }
  int64_t Count(const Shape& shape) const {
    int64_t most = 0;
    const SizeExpr n = NumElements(shape);
    for (const std::vector<int64_t>& sizes : case_.sizes)
      most = std::max(most, n.CheckedEval(sizes).value_or(INT64_MAX / 2));
    return most;
  }
  const Shape& DimsOf(Value v) const { return graph_.type(v).dims; }
  DType TypeOf(Value v) const { return graph_.type(v).dtype; }

  // ---- Adding a node, or not.
  bool Keep(const absl::StatusOr<Value>& v) {
    if (!v.ok()) return false;
    const Node& node = graph_.node(*v);
    for (int r = 0; r < static_cast<int>(node.types.size()); ++r) {
      const Value result{v->node, r};
      if (Elements(result) > max_elements_) return false;
      work_ += Elements(result);
      pool_.push_back(result);
      if (!graph_.node(*v).in.empty() && (Elements(result) >= Elements(head_) || rng_.OneIn(4)))
        head_ = result;
    }
    return true;
  }
  // Whether sizes that inference held to be equal are.
  bool GuardsHold() const {
    for (const Guard& g : graph_.guards()) {
      for (const std::vector<int64_t>& sizes : case_.sizes) {
        if (g.a.CheckedEval(sizes) != g.b.CheckedEval(sizes)) return false;
      }
    }
    return true;
  }
  absl::StatusOr<Value> Add(Op op, const std::vector<Value>& in, const Attrs& attrs = {}) {
    if (graph_.symbols().names.empty()) return graph_.Add(op, in, attrs);
    Graph before = graph_;
    absl::StatusOr<Value> v = graph_.Add(op, in, attrs);
    if (graph_.guards().size() != before.guards().size() && !GuardsHold()) {
      graph_ = std::move(before);
      return absl::InvalidArgumentError("sizes differ");
    }
    return v;
  }

  // ---- Operands.
  Value Recent(int window) {
    const auto n = static_cast<int64_t>(pool_.size());
    return pool_[static_cast<size_t>(n - 1 - rng_.Below(std::min<int64_t>(n, window)))];
  }
  Value First(DTypeSet domain) {
    for (int tries = 0; tries < 5; ++tries) {
      const Value v = rng_.OneIn(2) ? head_ : Recent(rng_.OneIn(3) ? 1000 : 6);
      if (IsIn(TypeOf(v), domain) && (Elements(v) > 1 || tries > 2)) return v;
    }
    const DType dtype = AnyOf(domain);
    if (rng_.OneIn(3)) return NewInput(dtype, RandomShape());
    const absl::StatusOr<Value> cast = Add(Op::kCast, {head_}, {{"dtype", dtype}});
    return cast.ok() ? *cast : NewInput(dtype, RandomShape());
  }
  bool Fits(const Shape& small, const Shape& large) const {
    if (small.size() > large.size()) return false;
    for (size_t i = 0; i < small.size(); ++i) {
      const Dim& a = small[small.size() - 1 - i];
      const Dim& b = large[large.size() - 1 - i];
      if (!a.Is(1) && !b.Is(1) && !graph_.SameDim(a, b)) return false;
    }
    return true;
  }
  // A value of that dtype that broadcasts with `shape`.
  Value Like(DType dtype, const Shape& shape) {
    for (int tries = 0; tries < 6; ++tries) {
      const Value v = Recent(tries < 3 ? 8 : 1000);
      if (TypeOf(v) == dtype && (Fits(DimsOf(v), shape) || Fits(shape, DimsOf(v)))) return v;
    }
    if (rng_.OneIn(3)) {
      if (IsFloat(dtype)) return graph_.AddConstant(dtype, (rng_.Below(17) - 8) * 0.25);
      return graph_.AddConstantInt(dtype, rng_.Below(5) - (IsSigned(dtype) ? 2 : 0));
    }
    Shape varied = shape;
    for (Dim& d : varied) {
      if (rng_.OneIn(3)) d = 1;
    }
    while (!varied.empty() && rng_.OneIn(4)) varied.erase(varied.begin());
    return NewInput(dtype, varied);
  }
  // A value of exactly that type.
  Value Exactly(DType dtype, const Shape& shape) {
    for (size_t i = 0, n = pool_.size(); i < n && !rng_.OneIn(10); ++i) {
      const Value v = pool_[n - 1 - i];
      if (graph_.type(v) == TensorType{dtype, shape}) return v;
    }
    return NewInput(dtype, shape);
  }

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

  // Positions 0 .. extent - 1 or those counted from the end, of that shape: in range by
  // construction, also where the extent is a symbol.
  absl::StatusOr<Value> Positions(Shape shape, const Dim& extent, DType dtype) {
    if (extent.IsConstant()) {
      if (extent.Is(0) || extent.constant() > 127) return absl::InvalidArgumentError("extent");
      const Value raw = rng_.OneIn(2) ? Exactly(dtype, shape) : NewInput(dtype, shape);
      const bool back = IsSigned(dtype) && rng_.OneIn(2);
      return Add(Op::kRemainder, {raw, graph_.AddConstantInt(
                                           dtype, back ? -extent.constant() : extent.constant())});
    }
    if (shape.empty()) return absl::InvalidArgumentError("no axis to count along");
    const auto axis = static_cast<size_t>(rng_.Below(static_cast<int64_t>(shape.size())));
    shape[axis] = extent;
    return Add(Op::kIota, {},
               {{"shape", std::vector<Dim>(shape.begin(), shape.end())},
                {"axis", static_cast<int64_t>(axis)},
                {"dtype", dtype == DType::kI8 || dtype == DType::kU8 ? DType::kI32 : dtype}});
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

  // ---- Rows by their example.
  Value RngScalar(std::string_view name) {
    for (size_t i = 0; i < graph_.inputs().size(); ++i) {
      if (graph_.input_name(static_cast<int>(i)) == name) return {graph_.inputs()[i], 0};
    }
    case_.inputs.push_back({{}, {}, 0, FuzzValues::kFullRange, rng_.Next() % 100000});
    return *graph_.AddScalar(name, DType::kU64);
  }

  bool ByExample(const OpDef& def) {
    const std::optional<Example> example = ExampleOf(def);
    if (!example.has_value()) return false;
    std::vector<std::pair<int64_t, Dim>> map = {{1, Dim(1)}};
    auto mapped = [&](const Dim& d) {
      for (const auto& [from, to] : map) {
        if (d.Is(from)) return to;
      }
      map.push_back({d.constant(), Dim(1 + rng_.Below(6))});
      return map.back().second;
    };
    std::vector<Value> in;
    DType dtype = DType::kF32;
    size_t operands = example->in.size();
    if (def.is_variadic()) operands = static_cast<size_t>(1 + rng_.Below(4));
    if (static_cast<int>(operands) < def.max_arity() && !def.is_variadic() && rng_.OneIn(3))
      operands = static_cast<size_t>(def.max_arity());
    if (rng_.OneIn(3)) operands = std::max<size_t>(1, static_cast<size_t>(def.min_arity()));
    if (def.args.empty()) operands = 0;
    // Positions are drawn for the example's axis.
    const bool indexed = std::any_of(def.args.begin(), def.args.end(),
                                     [](std::string_view name) { return name == "indices"; });
    for (size_t i = 0; i < operands; ++i) {
      const TensorType& like = example->in[std::min(i, example->in.size() - 1)];
      const std::string_view name = ArgName(def, i);
      if (name == "seed" || name == "offset") {
        in.push_back(RngScalar(name == "seed" ? kRngSeedName : kRngOffsetName));
      } else if (name == "p_scalar") {
        in.push_back(NewInput(DType::kF32, {}));
      } else if (name == "indices" || name == "target") {
        static const std::vector<DType> kIndex = {DType::kI64, DType::kI32};
        Shape shape;
        for (const Dim& d : like.dims) shape.push_back(mapped(d));
        if (IsFloat(like.dtype)) {
          in.push_back(Exactly(dtype, shape));
          continue;
        }
        const std::optional<Dim> extent = IndexedExtent(def, *example, i, mapped);
        const absl::StatusOr<Value> at = Positions(shape, extent.value_or(Dim(4)), rng_.Of(kIndex));
        if (!at.ok()) return false;
        in.push_back(*at);
      } else if (i == 0) {
        const Value x = First(def.domain);
        dtype = TypeOf(x);
        if ((indexed && DimsOf(x).size() != like.dims.size()) ||
            !MapShape(like.dims, DimsOf(x), &map)) {
          Shape shape;
          for (const Dim& d : like.dims)
            shape.push_back(rng_.OneIn(2) ? rng_.Of(base_) : mapped(d));
          map = {{1, Dim(1)}};
          if (!MapShape(like.dims, shape, &map)) return false;
          in.push_back(NewInput(dtype, shape));
        } else {
          in.push_back(x);
        }
      } else if (def.is_variadic()) {
        in.push_back(Exactly(TypeOf(in[0]), DimsOf(in[0])));
      } else {
        Shape shape;
        for (const Dim& d : like.dims) shape.push_back(mapped(d));
        if (like.dims == example->in[0].dims) shape = DimsOf(in[0]);
        const bool same = like.dtype == example->in[0].dtype;
        in.push_back(Exactly(same                  ? dtype
                             : IsFloat(like.dtype) ? AnyOf(kFloats)
                                                   : like.dtype,
                             shape));
      }
    }
    if (!indexed) {
      const absl::StatusOr<Value> v = Add(def.op, in, MoveAttrs(def, in, example->attrs, false));
      if (v.ok()) return Keep(v);
    }
    return Keep(Add(def.op, in, WithStream(example->attrs)));
  }
  // What positions of operand i count: an axis of the operand that holds the data.
  template <typename Mapped>
  std::optional<Dim> IndexedExtent(const OpDef& def, const Example& example, size_t i,
                                   const Mapped& mapped) {
    for (size_t k = 0; k < example.in.size(); ++k) {
      const std::string_view name = ArgName(def, k);
      if (k == i || (name != "x" && name != "weight")) continue;
      size_t axis = 0;
      for (const Attr& a : example.attrs) {
        if (a.name == "axis") axis = static_cast<size_t>(std::get<int64_t>(a.value));
      }
      if (axis < example.in[k].dims.size()) return mapped(example.in[k].dims[axis]);
    }
    return std::nullopt;
  }
  // Dims of the example's operand onto those of a value, from the last or from the first.
  bool MapShape(const Shape& from, const Shape& to, std::vector<std::pair<int64_t, Dim>>* map) {
    if (to.size() < from.size()) return false;
    const size_t skip = rng_.OneIn(2) ? to.size() - from.size() : 0;
    for (size_t d = 0; d < from.size(); ++d) {
      const Dim& target = to[d + skip];
      bool known = false;
      for (const auto& [value, dim] : *map) {
        if (!from[d].Is(value)) continue;
        if (!(dim == target)) return false;
        known = true;
      }
      if (!known) map->push_back({from[d].constant(), target});
    }
    return true;
  }

  Attrs WithStream(Attrs attrs) {
    for (Attr& a : attrs) {
      if (a.name == "stream") a.value = int64_t{next_stream_++};
    }
    return attrs;
  }
  // The given attributes, each kept or drawn anew. `all`: those of the schema that are required are
  // drawn too.
  Attrs MoveAttrs(const OpDef& def, const std::vector<Value>& in, Attrs attrs, bool all) {
    const size_t rank = in.empty() ? base_.size() : DimsOf(in[0]).size();
    Attrs out;
    for (const AttrDef& schema : def.attrs) {
      auto given = std::find_if(attrs.begin(), attrs.end(),
                                [&](const Attr& a) { return a.name == schema.name; });
      const bool present = given != attrs.end();
      if (schema.name == "stream") {
        out.push_back({schema.name, int64_t{next_stream_++}});
      } else if (rng_.OneIn(3) || (all && !schema.fallback && !present)) {
        if (std::optional<AttrValue> v = RandomAttr(schema, rank)) {
          out.push_back({schema.name, *v});
        } else if (present) {
          out.push_back(*given);
        }
      } else if (present) {
        out.push_back(*given);
      }
    }
    return out;
  }
  std::optional<AttrValue> RandomAttr(const AttrDef& schema, size_t rank) {
    const auto axes = static_cast<int64_t>(rank);
    switch (schema.kind) {
      case AttrKind::kBool:
        return rng_.OneIn(2);
      case AttrKind::kInt:
        if (schema.norm == AttrNorm::kAxis)
          return rank == 0 ? std::nullopt
                           : std::optional<AttrValue>(int64_t{rng_.Below(2 * axes) - axes});
        return int64_t{rng_.Below(6) - 1};
      case AttrKind::kFloat: {
        static const std::vector<double> kNumbers = {0, 0.1, 0.5, 1, 2, 3, 0.25};
        return rng_.Of(kNumbers);
      }
      case AttrKind::kDType:
        return rng_.OneIn(2) ? main_ : AnyDType();
      case AttrKind::kInts: {
        std::vector<int64_t> v;
        if (schema.norm == AttrNorm::kAxes || schema.norm == AttrNorm::kSomeAxes ||
            schema.norm == AttrNorm::kNewAxes) {
          for (int64_t a = 0; a < axes; ++a) {
            if (rng_.OneIn(2)) v.push_back(a);
          }
          return v;
        }
        const bool window =
            schema.name == "kernel" || schema.name == "stride" || schema.name == "padding";
        const int64_t n = window ? 1 : axes;
        for (int64_t i = 0; i < n; ++i)
          v.push_back(rng_.Below(schema.name == "padding" ? 2 : 3) +
                      (schema.name == "kernel" || schema.name == "stride" ? 1 : 0));
        return v;
      }
      case AttrKind::kDims: {
        const Shape shape = RandomShape();
        return std::vector<Dim>(shape.begin(), shape.end());
      }
    }
    return std::nullopt;
  }

  void AddOutputs() {
    std::vector<Value> outputs = {head_};
    for (int i = rng_.Below(4); i > 0; --i) outputs.push_back(Recent(rng_.OneIn(2) ? 4 : 30));
    for (Value v : outputs) (void)graph_.AddOutput(v);
  }

  FuzzRng rng_;
  FuzzCase case_;
  Graph graph_;
  std::vector<Value> pool_;
  Value head_;  // the newest large value: half of all first operands, so that chains grow long
  std::vector<Dim> base_;
  DType main_ = DType::kF32;
  bool plain_ = true;
  int ops_ = 1, tries_ = 0;
  int64_t max_elements_ = 0, max_work_ = 0, work_ = 0, next_stream_ = 0;
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
