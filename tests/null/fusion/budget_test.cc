// Budgets, options, large graphs.
#include <ctime>

#include "ir/builder.h"
#include "ir/op_enum.h"
#include "tests/null/fusion/fusion_kit.h"

namespace jitfuse::internal {
namespace {

class Maker {  // graphs too long to write down
 public:
  Value Input(const Shape& shape, DType dtype = DType::kF32) {
    return *graph_.AddInput("", {dtype, shape});
  }
  Value Add(Op op, std::vector<Value> in, Attrs attrs = {}) {
    auto v = graph_.Add(op, in, std::move(attrs));
    EXPECT_TRUE(v.ok()) << v.status();
    return v.ok() ? *v : in[0];
  }
  void Output(Value v) { EXPECT_TRUE(graph_.AddOutput(v).ok()); }
  Graph graph_;
};

void ExpectWithin(const Planned& p, const Target& target) {
  for (const Group& group : p.plan.groups) {
    EXPECT_LE(static_cast<int>(group.inputs.size() + group.outputs.size()), target.max_params);
  }
}

TEST(FusionBudget, SumOf4200Vectors) {
  Maker m;
  Value sum = m.Input({Dim(64)});
  for (int i = 1; i < 4200; ++i) sum = m.Add(Op::kAdd, {sum, m.Input({Dim(64)})});
  m.Output(sum);
  Planned p = PlanOf(m.graph_);
  EXPECT_EQ(p.plan.groups.size(),
            36u);  // 119 of 120 buffers are read; each group but the first reads the one before
  EXPECT_EQ(p.Reasons().count("param_budget"), 35u);
  ExpectWithin(p, Setting{}.target);
}

TEST(FusionBudget, TreeOf4096Vectors) {
  Maker m;
  std::vector<Value> level;
  for (int i = 0; i < 4096; ++i) level.push_back(m.Input({Dim(64)}));
  while (level.size() > 1) {
    std::vector<Value> next;
    for (size_t i = 0; i < level.size(); i += 2)
      next.push_back(m.Add(Op::kAdd, {level[i], level[i + 1]}));
    level = next;
  }
  m.Output(level[0]);
  Planned p = PlanOf(m.graph_);
  EXPECT_LE(p.plan.groups.size(), 70u);
  ExpectWithin(p, Setting{}.target);
}

TEST(FusionBudget, ManyOutputsAreSplit) {
  Maker m;
  Value x = m.Input({Dim(64)});
  std::vector<Value> values;
  for (int i = 0; i < 300; ++i) {
    x = m.Add(i % 2 != 0 ? Op::kAbs : Op::kNegative, {x});
    values.push_back(x);
  }
  for (Value v : values) m.Output(v);
  Planned p = PlanOf(m.graph_);
  EXPECT_EQ(p.plan.groups.size(), 3u);
  EXPECT_EQ(p.Reasons().count("param_budget"), 2u);
  ExpectWithin(p, Setting{}.target);
}

// Outputs that are known only when later products read the values.
TEST(FusionBudget, LateOutputsAreSplit) {
  Maker m;
  Value x = m.Input({Dim(8), Dim(8)}), w = m.Input({Dim(8), Dim(8)});
  Value rows = m.Add(Op::kSum, {x}, {{"axes", std::vector<int64_t>{1}}, {"keepdims", true}});
  std::vector<Value> values;
  for (int i = 0; i < 40; ++i) {
    rows = m.Add(i % 2 != 0 ? Op::kTanh : Op::kExp, {rows});
    values.push_back(rows);
    Value wide = m.Add(Op::kBroadcast, {rows}, {{"shape", std::vector<Dim>{Dim(8), Dim(8)}}});
    x = m.Add(Op::kAdd, {x, wide});
    values.push_back(x);
  }
  for (Value v : values) {
    if (m.graph_.type(v).dims[1].Is(1)) v = m.Add(Op::kTranspose, {v});
    m.Output(m.Add(Op::kMatMul, {v, w}));
  }
  Setting small;
  small.target.max_params = 20;
  Planned p = PlanOf(m.graph_, small);
  EXPECT_GE(p.Reasons().count("param_budget"), 1u);
  ExpectWithin(p, small.target);
}

TEST(FusionBudget, LongChainsAreSplitByCode) {
  Maker m;
  Value x = m.Input({Dim(64)});
  for (int i = 0; i < 5000; ++i) x = m.Add(i % 2 != 0 ? Op::kNegative : Op::kAbs, {x});
  m.Output(x);
  Planned p = PlanOf(m.graph_);
  EXPECT_EQ(p.plan.groups.size(), 5u);
  EXPECT_EQ(p.Reasons().count("code_budget"), 4u);
}

TEST(FusionBudget, ManyLiveValuesAreSplit) {
  Maker m;
  Value x = m.Input({Dim(64)});
  std::vector<Value> values;
  for (int i = 0; i < 150; ++i) {
    x = m.Add(i % 2 != 0 ? Op::kTanh : Op::kExp, {x});
    values.push_back(x);
  }
  Value sum = values.back();
  for (size_t i = values.size() - 1; i-- > 0;) sum = m.Add(Op::kAdd, {sum, values[i]});
  m.Output(sum);
  Setting s;
  s.target.max_insts = 100000;
  Planned p = PlanOf(m.graph_, s);
  EXPECT_GE(p.plan.groups.size(), 2u);
  EXPECT_GE(p.Reasons().count("register_budget"), 1u);
  ExpectWithin(p, s.target);
}

TEST(FusionOptions, NoFusionGivesOneGroupAnOp) {
  Setting off;
  off.options.fuse = false;
  Planned p = PlanOf(R"(graph f(%x: f32[n,64], %b: f32[64]) -> (f32[64,n]) {
  %0 = add(%x, %b) : f32[n,64]
  %1 = relu(%0) : f32[n,64]
  %2 = transpose(%1) {perm=[1,0]} : f32[64,n]
  %3 = softmax(%2) {axis=0} : f32[64,n]
  return %3
})",
                     off);
  int ops = 0;
  for (NodeId id = 0; id < p.graph.size(); ++id) {
    OpKind kind = p.graph.node(id).kind();
    ops += kind == OpKind::kPointwise || kind == OpKind::kReduce ? 1 : 0;
  }
  EXPECT_EQ(static_cast<int>(p.plan.groups.size()), ops) << p.Text();
  EXPECT_GE(p.Reasons().count("fusion_off"), 4u) << p.Text();
}

TEST(FusionOptions, FusionLimitBisects) {
  const char* text = R"(graph f(%x: f32[64]) -> (f32[64]) {
  %0 = exp(%x) : f32[64]
  %1 = tanh(%0) : f32[64]
  %2 = log(%1) : f32[64]
  %3 = sqrt(%2) : f32[64]
  return %3
})";
  for (int limit = 0; limit < 5; ++limit) {
    Setting s;
    s.options.max_fusions = limit;
    Planned p = PlanOf(text, s);
    EXPECT_EQ(p.plan.groups.size(), static_cast<size_t>(std::max(1, 4 - limit))) << p.Text();
    EXPECT_EQ(p.Reasons().count("max_fusions"), p.plan.groups.size() - 1) << p.Text();
  }
}

// Near-linear: ten times the ops take not much more than ten times as long, and an absolute bound
// that a slow machine still meets.
TEST(FusionScale, TenThousandAndAHundredThousandOps) {
  auto time_of = [](int ops) {
    Maker m;
    Value x = m.Input({m.graph_.SymbolNamed("n"), Dim(64)}), bias = m.Input({Dim(64)});
    Value y = x;
    for (int i = 0; i < ops / 5; ++i) {
      Value wide = m.Add(Op::kBroadcast, {bias},
                         {{"shape", std::vector<Dim>{m.graph_.SymbolNamed("n"), Dim(64)}}});
      Value sum = m.Add(Op::kAdd, {x, wide});
      Value row = m.Add(Op::kSum, {sum}, {{"axes", std::vector<int64_t>{1}}, {"keepdims", true}});
      Value rows = m.Add(Op::kBroadcast, {row},
                         {{"shape", std::vector<Dim>{m.graph_.SymbolNamed("n"), Dim(64)}}});
      x = m.Add(Op::kMultiply, {sum, rows});
      if (i % 3 == 0) y = m.Add(Op::kMaximum, {y, m.Add(Op::kTanh, {x})});
    }
    m.Output(m.Add(Op::kAdd, {x, y}));
    Setting s;
    std::clock_t start = std::clock();  // not wall time: other tests run beside this one
    auto plan = Partition(m.graph_, s.target, s.options, s.library);
    double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    EXPECT_TRUE(plan.ok()) << plan.status();
    if (!plan.ok()) return 0.0;
    EXPECT_TRUE(VerifyFusionPlan(m.graph_, *plan).ok()) << VerifyFusionPlan(m.graph_, *plan);
    return seconds;
  };
  time_of(1000);
  double small = time_of(10000), large = time_of(100000);
  RecordProperty("seconds_10k", std::to_string(small));
  RecordProperty("seconds_100k", std::to_string(large));
  EXPECT_LT(small, 0.5);
  EXPECT_LT(large, 30 * small + 0.5);
}

TEST(FusionScale, LongChainNeitherRecursesNorIsSlow) {
  Maker m;
  Value x = m.Input({Dim(64)});
  for (int i = 0; i < 200000; ++i) x = m.Add(i % 2 != 0 ? Op::kNegative : Op::kAbs, {x});
  m.Output(x);
  Setting s;
  auto plan = Partition(m.graph_, s.target, s.options, s.library);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->groups.size(), 196u);
}

TEST(FusionScale, LongChainOfViews) {
  Maker m;
  Value x = m.Input({Dim(8), Dim(9)});
  for (int i = 0; i < 20000; ++i) x = m.Add(Op::kTranspose, {x});
  m.Output(m.Add(Op::kNegative, {x}));
  Planned p = PlanOf(m.graph_);
  EXPECT_LE(p.plan.groups.size(), 4u);  // cut now and then, but fused all the same
}

TEST(FusionReasons, ViewsWithoutAMap) {
  // [6,4] transposed, seen as [8,3], transposed, seen as [4,6], and so on: soon no affine map says
  // it.
  Maker m;
  Value x = m.Input({Dim(60), Dim(77)});
  Value y = m.Add(Op::kExp, {x});
  for (auto [a, b] : {std::pair(70, 66), {42, 110}, {60, 77}}) {
    y = m.Add(Op::kTranspose, {y});
    y = m.Add(Op::kReshape, {y}, {{"shape", std::vector<Dim>{Dim(a), Dim(b)}}});
  }
  m.Output(m.Add(Op::kNegative, {y}));
  Planned p = PlanOf(m.graph_);
  EXPECT_GE(p.Reasons().count("view_not_affine"), 1u) << p.Text();
}

TEST(FusionVerify, FindsBrokenPlans) {
  const char* text = R"(graph f(%x: f32[8,16]) -> (f32[8,16]) {
  %0 = exp(%x) : f32[8,16]
  %1 = softmax(%0) {axis=1} : f32[8,16]
  return %1
})";
  Planned good = PlanOf(text);
  ASSERT_EQ(good.plan.groups.size(), 1u);
  auto broken = [&](const std::function<void(Group*)>& change) {
    FusionPlan plan = good.plan;
    change(&plan.groups[0]);
    return !VerifyFusionPlan(good.graph, plan).ok();
  };
  EXPECT_FALSE(broken([](Group*) {}));
  EXPECT_TRUE(broken([](Group* g) { g->inputs.clear(); }));
  EXPECT_TRUE(broken([](Group* g) { g->nodes.pop_back(); }));
  EXPECT_TRUE(broken([](Group* g) { std::swap(g->nodes[0], g->nodes[1]); }));
  EXPECT_TRUE(broken([](Group* g) { g->reduce_axes.clear(); }));
  EXPECT_TRUE(broken([](Group* g) { g->reduce_axes = {0}; }));
  EXPECT_TRUE(broken([](Group* g) { g->domain = {Dim(16), Dim(8)}; }));
  EXPECT_TRUE(broken([](Group* g) {
    g->outputs.clear();
    g->output_maps.clear();
  }));
  EXPECT_TRUE(broken([](Group* g) { g->output_maps[0].coords[0] = AxisExpr(1); }));
  EXPECT_TRUE(broken([](Group* g) { g->inputs.push_back({g->nodes[0], 0}); }));
  FusionPlan twice = good.plan;
  twice.groups.push_back(twice.groups[0]);
  EXPECT_FALSE(VerifyFusionPlan(good.graph, twice).ok());
  EXPECT_FALSE(VerifyFusionPlan(good.graph, FusionPlan{}).ok());
}

TEST(FusionText, SaysWhatIsInTheGroupsAndWhy) {
  Planned p = PlanOf(R"(graph f(%x: f32[n,64], %w: f32[64,32], %s: scalar f32) -> (f32[n]) {
  %0 = multiply(%x, %s) : f32[n,64]
  %1 = matmul(%0, %w) : f32[n,32]
  %2 = sum(%1) {axes=[1], keepdims=false} : f32[n]
  return %2
})");
  EXPECT_EQ(p.Text(), R"(group 0: loop over [n,64]
  in  %x: f32[n,64], %s: f32[]
  %3 = broadcast(%s, shape=[n,64]) : f32[n,64]
  %4 = multiply(%x, %3) : f32[n,64]
  out %4: f32[n,64]
  bytes n*512
group 1: gemm
  in  %4: f32[n,64], %w: f32[64,32]
  %5 = matmul(%4, %w, transpose_a=false, transpose_b=false) : f32[n,32]
  gemm f32 batch=1 m=n n=32 k=64 a ld=64 batch stride=0, b ld=32 batch stride=0
  out %5: f32[n,32]
  bytes n*384+8192
group 2: loop over [n,32], reduces axes [1]
  in  %5: f32[n,32]
  %6 = sum(%5, axes=[1], keepdims=false) : f32[n]
  out %6: f32[n]
  bytes n*132
%x: f32[n,64], input -> group 0: graph_input
%s: f32[], input -> group 0: graph_input
%4: f32[n,64], group 0 -> group 1: matmul_operand
%w: f32[64,32], input -> group 1: graph_input
%5: f32[n,32], group 1 -> group 2: matmul_result
%6: f32[n], group 2 -> output: graph_output
)");
}

}  // namespace
}  // namespace jitfuse::internal
