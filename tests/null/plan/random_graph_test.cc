// Random graphs of the whole op table: Expand, Partition, BuildPlan and the plan interpreter must
// stay within the evaluator's error bounds, for several targets and budgets (rows kept or read
// again, two passes or one, vectors or not, one kernel per op). A failure prints the graph as text.
#include <random>

#include "ir/eval.h"
#include "ir/op_enum.h"
#include "tests/test_util/run_plan.h"

namespace jitfuse::internal {
namespace {

class RandomGraph {
 public:
  explicit RandomGraph(uint32_t seed) : rng_(seed) {}

  Graph Make(int ops) {
    const DType type = kTypes[Below(static_cast<int>(std::size(kTypes)))];
    rows_ = 1 + Below(4);
    columns_ = kColumns[Below(static_cast<int>(std::size(kColumns)))];
    for (const Shape& shape :
         {Shape{rows_, columns_}, Shape{rows_, columns_}, Shape{columns_}, Shape{rows_, 1}}) {
      pool_.push_back(*graph_.AddInput(absl::StrCat("x", pool_.size()), {type, shape}));
    }
    pool_.push_back(*graph_.AddScalar("s", type));
    head_ = pool_[0];
    for (int tries = 0; ops > 0 && tries < 400; ++tries) ops -= AddRandom() ? 1 : 0;
    EXPECT_TRUE(graph_.AddOutput(head_).ok());
    for (int i = Below(3); i > 0; --i) {
      EXPECT_TRUE(
          graph_
              .AddOutput(
                  pool_[pool_.size() - 1 -
                        static_cast<size_t>(Below(std::min(6, static_cast<int>(pool_.size()))))])
              .ok());
    }
    return graph_;
  }

  std::vector<HostTensor> Inputs() {
    std::vector<HostTensor> out;
    std::uniform_real_distribution<double> d(-2, 2);
    for (NodeId id : graph_.inputs()) {
      const TensorType& type = graph_.type({id, 0});
      HostTensor t = HostTensor::Make(type.dtype, EvalDims(type.dims, {}));
      for (int64_t i = 0; i < t.size(); ++i)
        t.SetNumber(i, IsFloat(type.dtype)          ? d(rng_)
                       : type.dtype == DType::kBool ? static_cast<double>(Below(2))
                                                    : std::floor(4 * d(rng_)));
      out.push_back(std::move(t));
    }
    return out;
  }

 private:
  static constexpr DType kTypes[] = {DType::kF32,  DType::kF32, DType::kF64,
                                     DType::kBF16, DType::kF16, DType::kI32};
  static constexpr int64_t kColumns[] = {1, 3, 8, 17, 64, 130};

  int Below(int n) { return static_cast<int>(rng_() % static_cast<uint32_t>(n)); }
  Value Pick(bool chained = true) {
    if (chained && Below(2)) return head_;
    auto size = static_cast<int>(pool_.size());
    Value v;
    for (int tries = 0; tries < 3; ++tries) {  // large values more often, recent ones too
      int back = Below(3) ? Below(std::min(size, 4)) : Below(size);
      v = pool_[static_cast<size_t>(size - 1 - back)];
      if (Elements(v) >= rows_ * columns_) break;
    }
    return v;
  }
  int64_t Elements(Value v) const { return NumElements(graph_.type(v).dims).constant(); }
  // Ops that soon make everything NaN are rarer.
  bool Skip(const OpDef& def) {
    for (std::string_view name :
         {"log", "log2", "log1p", "sqrt", "rsqrt", "pow", "divide", "reciprocal"}) {
      if (def.name == name) return Below(8) > 0;
    }
    return def.op == Op::kIsNan || def.op == Op::kIsInf || def.op == Op::kIsFinite ? Below(4) > 0
                                                                                   : false;
  }
  bool Keep(const absl::StatusOr<Value>& v) {
    if (!v.ok()) return false;
    for (int r = 0; r < static_cast<int>(graph_.node(*v).types.size()); ++r) {
      Value result{v->node, r};
      if (NumElements(graph_.type(result).dims).constant() > 4000) return false;
      pool_.push_back(result);
      if (Elements(result) >= rows_ * columns_ && graph_.type(result).dtype != DType::kBool &&
          !graph_.node(result).in.empty())
        head_ = result;
    }
    return true;
  }

  bool AddRandom() {
    const absl::Span<const OpDef* const> ops = AllOps();
    const OpDef& def = *ops[static_cast<size_t>(Below(static_cast<int>(ops.size())))];
    if (Skip(def)) return false;
    std::vector<Value> in;
    for (size_t i = 0; i < def.args.size(); ++i) in.push_back(Pick(i == 0 || def.args.size() == 3));
    if (def.is_variadic()) {
      for (int more = Below(3); more > 0; --more) in.push_back(Below(2) ? in[0] : Pick(false));
    }
    Attrs attrs;
    switch (def.kind) {
      case OpKind::kPointwise:
        if (def.FindAttr("dtype") != nullptr)
          attrs.push_back({"dtype", kTypes[Below(static_cast<int>(std::size(kTypes)))]});
        return Keep(graph_.Add(def.op, in, attrs));
      case OpKind::kReduce:
        return Reduce(def, in[0]);
      case OpKind::kView:
        return View(def, in[0]);
      case OpKind::kJoin:
        return Join(def, in);
      case OpKind::kGather:
        return Gather(def, in[0]);
      case OpKind::kIota:
        return Keep(graph_.Add(def.op, {},
                               {{"shape", std::vector<Dim>{rows_, columns_}},
                                {"axis", int64_t{Below(2)}},
                                {"dtype", DType::kF32}}));
      case OpKind::kComposite:
        return def.op == Op::kLinear ? false : Composite(def, in);
      case OpKind::kMatMul:
        return Keep(graph_.Add(def.op, in,
                               {{"transpose_a", Below(2) == 0}, {"transpose_b", Below(2) == 0}}));
      default:
        return Keep(graph_.AddConstant(DType::kF32, Below(5) - 2));
    }
  }
  bool Reduce(const OpDef& def, Value x) {
    auto rank = static_cast<int>(graph_.type(x).dims.size());
    if (rank == 0) return false;
    std::vector<int64_t> axes;
    for (int64_t i = 0; i < rank; ++i) {
      if (Below(4) == 0 || i + 1 == rank) axes.push_back(i);
    }
    return Keep(graph_.Add(def.op, {x}, {{"axes", axes}, {"keepdims", Below(4) > 0}}));
  }
  bool View(const OpDef& def, Value x) {
    const Shape& dims = graph_.type(x).dims;
    if (def.op == Op::kTranspose) return dims.size() >= 2 && Keep(graph_.Add(def.op, {x}));
    if (def.op == Op::kReshape) {
      std::vector<Dim> shape = {NumElements(dims)};
      if (auto half = shape[0].DivExact(2)) shape = {*half, 2};
      return Keep(graph_.Add(def.op, {x}, {{"shape", shape}}));
    }
    if (def.op == Op::kBroadcast)
      return Keep(graph_.Add(def.op, {x}, {{"shape", std::vector<Dim>{rows_, columns_}}}));
    auto rank = static_cast<int64_t>(dims.size());
    if (rank == 0) return false;
    int64_t axis = Below(static_cast<int>(rank));
    auto at = static_cast<size_t>(axis);
    if (def.op == Op::kSlice) {
      std::vector<int64_t> starts(dims.size(), 0), stops(dims.size(), INT64_MAX),
          steps(dims.size(), 1);
      steps[at] = std::vector<int64_t>{1, 2, -1, -3, 3}[static_cast<size_t>(Below(5))];
      starts[at] = steps[at] < 0 ? INT64_MAX : Below(3) - 1;
      if (Below(2)) stops[at] = Below(9) - 4;
      return Keep(
          graph_.Add(def.op, {x}, {{"starts", starts}, {"stops", stops}, {"steps", steps}}));
    }
    if (def.op == Op::kFlip)
      return Keep(graph_.Add(def.op, {x}, {{"axes", std::vector<int64_t>{axis}}}));
    if (def.op == Op::kRoll) {
      return Keep(graph_.Add(
          def.op, {x},
          {{"shifts", std::vector<int64_t>{Below(9) - 4}}, {"axes", std::vector<int64_t>{axis}}}));
    }
    if (def.op == Op::kTile) {
      std::vector<int64_t> reps(dims.size(), 1);
      reps[at] = 1 + Below(3);
      return Keep(graph_.Add(def.op, {x}, {{"reps", reps}}));
    }
    if (def.op == Op::kRepeat) {
      return Keep(graph_.Add(def.op, {x}, {{"repeats", int64_t{1 + Below(3)}}, {"axis", axis}}));
    }
    return Keep(graph_.Add(def.op, {x},
                           {{"axis", axis},
                            {"size", int64_t{1 + Below(3)}},
                            {"stride", int64_t{1 + Below(2)}},
                            {"dilation", int64_t{1 + Below(2)}}}));
  }
  bool Join(const OpDef& def, const std::vector<Value>& in) {
    const Shape& dims = graph_.type(in[0]).dims;
    if (dims.empty()) return false;
    if (def.op == Op::kConcatenate)
      return Keep(
          graph_.Add(def.op, in, {{"axis", int64_t{Below(static_cast<int>(dims.size()))}}}));
    std::vector<Dim> low, high;
    for (size_t d = 0; d < dims.size(); ++d) {
      low.push_back(Below(3));
      high.push_back(Below(3));
    }
    return Keep(graph_.Add(def.op, {in[0]},
                           {{"low", low}, {"high", high}, {"value", double(Below(3) - 1)}}));
  }
  // Positions are always in range: what the evaluator knows exactly.
  bool Gather(const OpDef& def, Value x) {
    const Shape& dims = graph_.type(x).dims;
    if (dims.empty()) return false;
    auto axis = static_cast<size_t>(Below(static_cast<int>(dims.size())));
    int64_t size = dims[axis].constant();
    if (size == 0) return false;
    std::vector<Dim> shape(dims.begin(), dims.end());
    if (def.op == Op::kTake) shape = {Dim(1 + Below(4)), Dim(1 + Below(3))};
    auto one = [&](int along) {
      return graph_.Add(Op::kIota, {},
                        {{"shape", shape}, {"axis", int64_t{along}}, {"dtype", DType::kI32}});
    };
    absl::StatusOr<Value> index = one(Below(static_cast<int>(shape.size())));
    if (!index.ok()) return false;
    Value modulus = graph_.AddConstantInt(DType::kI32, Below(2) ? size : -size);
    absl::StatusOr<Value> moved =
        graph_.Add(Op::kAdd, {*index, graph_.AddConstantInt(DType::kI32, Below(7))});
    if (!moved.ok()) return false;
    absl::StatusOr<Value> in_range = graph_.Add(Op::kRemainder, {*moved, modulus});
    return in_range.ok() &&
           Keep(graph_.Add(def.op, {x, *in_range}, {{"axis", static_cast<int64_t>(axis)}}));
  }
  bool Composite(const OpDef& def, std::vector<Value> in) {
    if (in.empty()) return false;
    Attrs attrs;
    const Shape& dims = graph_.type(in[0]).dims;
    if (def.is_variadic()) return Keep(graph_.Add(def.op, in));
    if (def.FindAttr("low") != nullptr) {
      std::vector<int64_t> low, high;
      for (size_t d = 0; d < dims.size(); ++d) {
        low.push_back(Below(2));
        high.push_back(Below(3));
      }
      return Keep(graph_.Add(def.op, {in[0]}, {{"low", low}, {"high", high}}));
    }
    if (def.FindAttr("kernel") != nullptr) {
      if (dims.empty()) return false;
      size_t n = 1 + static_cast<size_t>(Below(std::min<int>(2, static_cast<int>(dims.size()))));
      std::vector<int64_t> kernel(n, 1 + Below(3)), stride(n, 1 + Below(2)), padding(n, Below(2));
      return Keep(graph_.Add(def.op, {in[0]},
                             {{"kernel", kernel},
                              {"stride", stride},
                              {"padding", padding},
                              {"ceil_mode", Below(2) == 0}}));
    }
    if (def.op == Op::kEmbedding) return false;
    if (def.FindAttr("axes") != nullptr) attrs.push_back({"axes", std::vector<int64_t>{0}});
    const int least = def.min_arity();
    in.resize(static_cast<size_t>(least + Below(def.max_arity() - least + 1)));
    return Keep(graph_.Add(def.op, in, attrs));
  }

  std::mt19937 rng_;
  Graph graph_;
  std::vector<Value> pool_;
  Value head_;  // the newest large value: half of all first operands, so that chains grow long
  int64_t rows_ = 1, columns_ = 1;
};

struct Setting {
  std::string name;
  Target target;
  Options options;
};

std::vector<Setting> Settings() {
  std::vector<Setting> out;
  for (std::string_view arch : {"interpret", "sm_90", "x86-64-v3"}) {
    for (int64_t kept : {int64_t{1} << 17, int64_t{64}}) {
      Setting s{absl::StrCat(ToAbsl(arch), " keeping ", kept), *TargetFor(arch), {}};
      s.target.max_row_bytes_kept = kept;
      out.push_back(s);
    }
  }
  out.push_back({"one kernel per op", *TargetFor("sm_90"), {}});
  out.back().options.fuse = false;
  out.push_back({"small budgets", *TargetFor("sm_90"), {}});
  out.back().target.max_params = 4;
  out.back().target.max_insts = 12;
  return out;
}

void RunSeed(uint32_t seed) {
  RandomGraph random(seed);
  Graph graph = random.Make(3 + static_cast<int>(seed % 20));
  std::vector<HostTensor> inputs = random.Inputs();
  absl::StatusOr<std::vector<WideTensor>> want = EvalWide(graph, inputs);
  ASSERT_TRUE(want.ok()) << want.status() << "\n" << GraphToString(graph);
  for (const Setting& s : Settings()) {
    absl::StatusOr<std::vector<HostTensor>> got =
        RunGraphByPlans(graph, inputs, s.target, s.options);
    ASSERT_TRUE(got.ok()) << "seed " << seed << ", " << s.name << "\n"
                          << got.status() << "\n"
                          << GraphToString(graph);
    for (size_t o = 0; o < got->size(); ++o) {
      CompareResult r = Compare((*want)[o], (*got)[o]);
      ASSERT_TRUE(r.ok) << "seed " << seed << ", " << s.name << ", output " << o << "\n"
                        << r.text << "\n"
                        << GraphToString(graph);
    }
  }
}

TEST(RandomGraphs, PlansAgreeWithTheEvaluator) {
  const char* wanted = std::getenv("JITFUSE_SEED");  // one seed alone, to look at a failure
  const char* count = std::getenv("JITFUSE_SEEDS");
  if (wanted != nullptr) return RunSeed(static_cast<uint32_t>(std::stoul(wanted)));
  uint32_t seeds = count != nullptr ? static_cast<uint32_t>(std::stoul(count)) : 150;
  for (uint32_t seed = 0; seed < seeds && !HasFatalFailure(); ++seed) RunSeed(seed);
}

}  // namespace
}  // namespace jitfuse::internal
