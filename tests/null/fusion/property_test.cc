// Random graphs: every plan is legal, every output map is one to one, and fused groups compute what
// single ops compute, bit for bit (integers).
#include <cstring>
#include <random>

#include "codegen/fusion/relation.h"
#include "codegen/plan/build_plan.h"
#include "codegen/plan/interpret_plan.h"
#include "ir/op_enum.h"
#include "tests/null/fusion/fusion_kit.h"

namespace jitfuse::internal {
namespace {

constexpr int64_t kN = 3;  // value of the only symbol

class RandomGraph {
 public:
  RandomGraph(uint32_t seed, bool symbolic)
      : rng_(seed), symbolic_(symbolic), empties_(seed % 5 == 0) {}

  Graph Make(int ops) {
    for (int i = 0; i < 3; ++i)
      pool_.push_back(*graph_.AddInput(absl::StrCat("x", i), {DType::kI64, RandomShape()}));
    pool_.push_back(*graph_.AddScalar("s", DType::kI64));
    while (ops > 0) {
      if (AddRandom()) --ops;
      for (const Guard& guard : graph_.guards()) {
        if (guard.a.Eval({kN}) != guard.b.Eval({kN})) return Graph();  // no call would bind
      }
    }
    int outputs = 1 + Below(4);
    for (int i = 0; i < outputs; ++i) {
      Value v =
          i == 0 ? pool_.back() : pool_[static_cast<size_t>(Below(static_cast<int>(pool_.size())))];
      EXPECT_TRUE(graph_.AddOutput(v).ok());
    }
    return *Expand(graph_);
  }

 private:
  int Below(int n) { return static_cast<int>(rng_() % static_cast<uint32_t>(n)); }
  Value Pick() {  // recent values more often: long chains
    auto size = static_cast<int>(pool_.size());
    int back = Below(2) ? Below(std::min(size, 5)) : Below(size);
    return pool_[static_cast<size_t>(size - 1 - back)];
  }
  Shape RandomShape() {
    static const int64_t kSizes[] = {1, 2, 3, 4, 6};
    if (empties_ && Below(8) == 0) return {Dim(2), Dim(0), Dim(kSizes[Below(5)])};
    Shape shape;
    int rank = Below(4);
    for (int i = 0; i < rank; ++i) shape.push_back(kSizes[Below(5)]);
    if (symbolic_ && !shape.empty() && Below(2)) shape[0] = graph_.SymbolNamed("n");
    return shape;
  }
  bool Keep(absl::StatusOr<Value> v) {
    if (!v.ok() || graph_.type(*v).dtype != DType::kI64) return false;
    std::optional<int64_t> size = CheckedNumElements(EvalDims(graph_.type(*v).dims, {kN}));
    if (!size || *size > 5000) return false;
    pool_.push_back(*v);
    return true;
  }

  bool AddRandom() {
    switch (Below(12)) {
      case 0:
        return Unary();
      case 1:
        return Dear();
      case 2:
      case 3:
      case 4:
        return Binary();
      case 5:
        return Reshape();
      case 6:
        return Transpose();
      case 7:
        return Broadcast();
      case 8:
      case 9:
        return Reduce();
      case 10:
        return MatMul();
      default:
        return Keep(graph_.Add(
            Op::kIota, {},
            {{"shape", Dims(RandomShape())}, {"axis", int64_t{0}}, {"dtype", DType::kI64}}));
    }
  }
  static std::vector<Dim> Dims(const Shape& shape) { return {shape.begin(), shape.end()}; }
  bool Unary() {
    static const Op kOps[] = {Op::kNegative, Op::kAbs, Op::kSquare, Op::kRelu, Op::kBitwiseNot};
    return Keep(graph_.Add(kOps[Below(5)], {Pick()}));
  }
  bool
  Dear() {  // a transcendental, exact enough: no sum or product of floats that fma could change
    auto wide = graph_.Add(Op::kCast, {Pick()}, {{"dtype", DType::kF64}});
    if (!wide.ok()) return false;
    auto y = graph_.Add(Below(2) ? Op::kTanh : Op::kExp, {*wide});
    return Keep(graph_.Add(Op::kCast, {*y}, {{"dtype", DType::kI64}}));
  }
  bool Binary() {
    static const Op kOps[] = {Op::kAdd, Op::kSubtract, Op::kMultiply, Op::kMaximum,
                              Op::kBitwiseXor};
    return Keep(graph_.Add(kOps[Below(5)], {Pick(), Pick()}));
  }
  bool Reshape() {
    Value v = Pick();
    Shape shape = graph_.type(v).dims;
    int choice = Below(3);
    if (choice == 0) {
      shape = {NumElements(shape)};
    } else if (choice == 1 && shape.size() >= 2) {
      size_t i = static_cast<size_t>(Below(static_cast<int>(shape.size()) - 1));
      shape[i] = shape[i] * shape[i + 1];
      shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    } else if (!shape.empty()) {
      size_t i = static_cast<size_t>(Below(static_cast<int>(shape.size())));
      auto half = shape[i].DivExact(SizeExpr(2 + Below(2)));
      if (!half || half->Is(0)) return false;
      SizeExpr factor = *shape[i].DivExact(*half);
      shape[i] = *half;
      shape.insert(shape.begin() + static_cast<std::ptrdiff_t>(i) + Below(2), factor);
    }
    return shape.size() <= 5 && Keep(graph_.Add(Op::kReshape, {v}, {{"shape", Dims(shape)}}));
  }
  bool Transpose() {
    Value v = Pick();
    std::vector<int64_t> perm;
    for (size_t i = 0; i < graph_.type(v).dims.size(); ++i) perm.push_back(static_cast<int64_t>(i));
    if (perm.size() < 2) return false;
    std::shuffle(perm.begin(), perm.end(), rng_);
    return Keep(graph_.Add(Op::kTranspose, {v}, {{"perm", perm}}));
  }
  bool Broadcast() {
    Value v = Pick();
    Shape shape = graph_.type(v).dims;
    for (Dim& d : shape) {
      if (d.Is(1) && Below(2)) d = 2 + Below(3);
    }
    if (shape.size() < 3 && Below(2)) shape.insert(shape.begin(), Dim(2 + Below(3)));
    return Keep(graph_.Add(Op::kBroadcast, {v}, {{"shape", Dims(shape)}}));
  }
  bool Reduce() {
    Value v = Pick();
    std::vector<int64_t> axes;
    for (size_t i = 0; i < graph_.type(v).dims.size(); ++i) {
      if (Below(2)) axes.push_back(static_cast<int64_t>(i));
    }
    if (axes.empty()) return false;
    static const Op kOps[] = {Op::kSum, Op::kMax, Op::kMin, Op::kArgmax};
    return Keep(graph_.Add(kOps[Below(4)], {v}, {{"axes", axes}, {"keepdims", Below(2) == 0}}));
  }
  bool MatMul() {
    Value a = Pick(), b = Pick();
    return Keep(graph_.Add(Op::kMatMul, {a, b},
                           {{"transpose_a", Below(2) == 0}, {"transpose_b", Below(2) == 0}}));
  }

  Graph graph_;
  std::mt19937 rng_;
  bool symbolic_, empties_;
  std::vector<Value> pool_;
};

using Buffers = absl::flat_hash_map<Value, std::vector<uint64_t>>;  // room enough for any dtype

int64_t Count(const Graph& graph, Value v) {
  return *CheckedNumElements(EvalDims(graph.type(v).dims, {kN}));
}

void RunGemm(const Group& group, Buffers* buffers) {
  GemmProblem p = Concrete(*group.gemm, {kN});
  const auto &a = buffers->at(group.inputs[0]), &b = buffers->at(group.inputs[1]);
  auto& d = buffers->at(group.outputs[0]);
  for (int64_t i = 0; i < p.batch * p.m * p.n; ++i) {
    int64_t batch = i / (p.m * p.n), row = i / p.n % p.m, col = i % p.n;
    uint64_t sum = 0;
    for (int64_t k = 0; k < p.k; ++k) {
      int64_t at = batch * p.batch_stride_a + (p.transpose_a ? k * p.lda + row : row * p.lda + k);
      int64_t bt = batch * p.batch_stride_b + (p.transpose_b ? col * p.ldb + k : k * p.ldb + col);
      sum += a.at(static_cast<size_t>(at)) * b.at(static_cast<size_t>(bt));
    }
    d.at(static_cast<size_t>(batch * p.batch_stride_d + row * p.ldd + col)) = sum;
  }
}

void RunLoop(const Graph& graph, const Group& group, const Target& target, Buffers* buffers) {
  auto plans = BuildPlan(graph, group, {}, target);
  ASSERT_TRUE(plans.ok()) << plans.status();
  for (const KernelPlan& plan : *plans) {
    std::vector<void*> pointers;
    for (const Param& param : plan.params) pointers.push_back(buffers->at(param.value).data());
    std::vector<uint64_t> scalars(plan.scalars.size(), 5);
    absl::Status s = InterpretPlan(plan, pointers, scalars, {kN});
    ASSERT_TRUE(s.ok()) << s;
  }
}

// The outputs' contents for fixed inputs.
std::vector<std::vector<uint64_t>> Run(const Planned& p, const Target& target) {
  Buffers buffers;
  auto room = [&](Value v) -> std::vector<uint64_t>& {
    auto [it, is_new] = buffers.try_emplace(v);
    if (is_new) it->second.assign(static_cast<size_t>(Count(p.graph, v)), 0);
    return it->second;
  };
  for (NodeId id : p.graph.inputs()) {
    uint64_t x = static_cast<uint64_t>(id) * 7 + 1;
    for (uint64_t& value : room({id, 0}))
      value =
          static_cast<uint64_t>(static_cast<int64_t>((x = x * 1103515245 + 12345) >> 16 & 15) - 7);
    if (p.graph.node(id).kind() == OpKind::kScalar) room({id, 0})[0] = 5;
  }
  std::vector<std::vector<uint64_t>> given;  // outputs that are inputs have buffers of their own
  for (const Group& group : p.plan.groups) {
    for (Value v : group.outputs) room(v);
    if (group.outputs == group.inputs) continue;
    if (group.kind == GroupKind::kGemm) {
      RunGemm(group, &buffers);
    } else {
      RunLoop(p.graph, group, target, &buffers);
    }
  }
  for (Value v : p.graph.outputs()) given.push_back(room(v));
  return given;
}

// Over all points of the domain (rows: of the kept axes) an output's coordinates are all different
// and inside its shape.
void ExpectOneToOne(const Graph& graph, const Group& group) {
  for (size_t o = 0; o < group.outputs.size(); ++o) {
    std::vector<int64_t> shape = EvalDims(graph.type(group.outputs[o]).dims, {kN});
    std::vector<int64_t> extents = EvalDims(group.domain, {kN});
    for (int axis : group.reduce_axes) {
      if (!UsesAxes(group.output_maps[o], group.reduce_axes))
        extents[static_cast<size_t>(axis)] = 1;
    }
    std::set<std::vector<int64_t>> seen;
    for (int64_t i = 0; i < *CheckedNumElements(extents); ++i) {
      std::vector<int64_t> axes(extents.size());
      int64_t left = i;
      for (size_t a = extents.size(); a-- > 0; left /= extents[a]) axes[a] = left % extents[a];
      std::vector<int64_t> at = EvalIndexMap(group.output_maps[o], axes, {kN});
      for (size_t d = 0; d < shape.size(); ++d)
        ASSERT_TRUE(at[d] >= 0 && at[d] < shape[d]) << IndexMapToString(group.output_maps[o]);
      seen.insert(std::move(at));
    }
    ASSERT_EQ(static_cast<int64_t>(seen.size()), *CheckedNumElements(shape))
        << IndexMapToString(group.output_maps[o]);
  }
}

void CheckSeed(uint32_t seed, int ops, const Setting& fused) {
  SCOPED_TRACE(absl::StrCat("seed ", seed));
  Graph graph = RandomGraph(seed, seed % 2 == 1).Make(ops);
  if (graph.size() == 0) return;
  Setting single;
  single.options.fuse = false;
  single.options.use_gemm_library = false;
  Planned p = PlanOf(graph, fused), q = PlanOf(graph, single);
  for (const Group& group : p.plan.groups) {
    if (group.kind != GroupKind::kGemm) ExpectOneToOne(p.graph, group);
  }
  EXPECT_EQ(Run(p, fused.target), Run(q, single.target)) << p.Text();
}

GemmSupportFn Always() {
  return [](DType) { return std::nullopt; };
}

TEST(FusionProperty, RandomGraphs) {
  Setting setting;
  setting.library = Always();
  for (uint32_t seed = 0; seed < 600 && !testing::Test::HasFailure(); ++seed)
    CheckSeed(seed, 4 + static_cast<int>(seed % 40), setting);
}

TEST(FusionProperty, RandomGraphsWithTightBudgets) {
  Setting setting;
  setting.target.max_params = 5;
  setting.target.max_insts = 40;
  setting.target.max_live = 4;
  for (uint32_t seed = 1000; seed < 1400 && !testing::Test::HasFailure(); ++seed)
    CheckSeed(seed, 4 + static_cast<int>(seed % 60), setting);
}

TEST(FusionProperty, AnyFusionLimitGivesALegalPlan) {
  for (int64_t limit = 0; limit < 12 && !testing::Test::HasFailure(); ++limit) {
    Setting setting;
    setting.options.max_fusions = limit;
    for (uint32_t seed = 2000; seed < 2020 && !testing::Test::HasFailure(); ++seed)
      CheckSeed(seed, 20, setting);
  }
}

TEST(FusionProperty, PlansAreDeterministic) {
  for (uint32_t seed = 3000; seed < 3040; ++seed) {
    Graph graph = RandomGraph(seed, true).Make(40);
    Setting setting;
    EXPECT_EQ(PlanOf(graph, setting).Text(), PlanOf(graph, setting).Text());
  }
}

TEST(FusionProperty, FusionSavesTraffic) {
  int64_t fused = 0, single = 0;
  for (uint32_t seed = 4000; seed < 4100; ++seed) {
    Graph graph = RandomGraph(seed, false).Make(30);
    Setting off;
    off.options.fuse = false;
    for (const auto& [setting, total] :
         {std::make_pair(Setting{}, &fused), std::make_pair(off, &single)}) {
      Planned p = PlanOf(graph, setting);
      for (const Group& group : p.plan.groups) *total += GroupBytes(p.graph, group).Eval({kN});
    }
  }
  EXPECT_LT(fused, single / 2) << fused << " against " << single;
}

}  // namespace
}  // namespace jitfuse::internal
