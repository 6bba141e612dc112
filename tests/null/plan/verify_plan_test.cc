// VerifyPlan refuses every kind of broken plan; the plans it is given here are good ones with one
// thing changed.
#include "codegen/plan/verify_plan.h"

#include "codegen/plan/schedule.h"
#include "tests/test_util/run_plan.h"

namespace jitfuse::internal {
namespace {

Graph LayerNormGraph() {
  return Parsed(R"(graph f(%x: f32[8,64], %w: f32[64]) -> (f32[8,64]) {
    %0 = layer_norm(%x, %w) : f32[8,64]
    return %0
  })");
}

KernelPlan Good(const Graph& graph, std::string_view arch = "sm_90") {
  absl::StatusOr<std::vector<KernelPlan>> plans =
      BuildPlan(graph, WholeGroup(graph), {}, *TargetFor(arch));
  EXPECT_TRUE(plans.ok()) << plans.status();
  return plans.ok() ? (*plans)[0] : KernelPlan();
}

int FirstOp(const KernelPlan& plan, ScalarOp op) {
  for (size_t i = 0; i < plan.insts.size(); ++i) {
    if (plan.insts[i].kind == Inst::Kind::kOp && plan.insts[i].op == op) return static_cast<int>(i);
  }
  ADD_FAILURE() << "no " << GetScalarOp(op).name;
  return 0;
}

TEST(VerifyPlan, AcceptsWhatBuildPlanMakes) {
  Graph g = LayerNormGraph();
  for (std::string_view arch : {"sm_75", "sm_120", "x86-64-v2", "interpret"})
    EXPECT_TRUE(VerifyPlan(Good(g, arch)).ok());
}

TEST(VerifyPlan, RefusesBrokenPlans) {
  Graph g = LayerNormGraph();
  struct Case {
    std::string message;  // a part of it
    std::function<void(KernelPlan*)> breaks;
  };
  auto inst = [](KernelPlan* p, ScalarOp op) -> Inst& {
    return p->insts[static_cast<size_t>(FirstOp(*p, op))];
  };
  std::vector<Case> cases = {
      {"not before it",
       [&](KernelPlan* p) {
         inst(p, ScalarOp::kSub).in[0] = static_cast<int>(p->insts.size()) - 1;
       }},
      {"wrong number of operands", [&](KernelPlan* p) { inst(p, ScalarOp::kSub).in[1] = -1; }},
      {"differs along the row", [&](KernelPlan* p) { inst(p, ScalarOp::kSub).elem = false; }},
      {"do not suit", [&](KernelPlan* p) { inst(p, ScalarOp::kSub).dtype = DType::kF64; }},
      {"do not suit", [&](KernelPlan* p) { inst(p, ScalarOp::kSub).op = ScalarOp::kAnd; }},
      {"neither computed there nor kept", [](KernelPlan* p) { p->keep.clear(); }},
      {"neither computed there nor kept",
       [](KernelPlan* p) { p->stages.back().elem_insts.pop_back(); }},
      {"out of order",
       [](KernelPlan* p) {
         std::swap(p->stages.back().elem_insts[1], p->stages.back().elem_insts[2]);
       }},
      {"not computed yet", [](KernelPlan* p) { p->stages[0].row_insts_before.clear(); }},
      {"listed twice",
       [](KernelPlan* p) {
         p->stages[1].row_insts_before.push_back(p->stages[0].row_insts_before[0]);
       }},
      {"too early",
       [](KernelPlan* p) {
         p->stages[0].row_insts_before.push_back(p->stages[0].row_insts_after[0]);
       }},
      {"reduces", [](KernelPlan* p) { p->stages[0].reduces[0].in[0] = 1; }},
      {"malformed reduction", [](KernelPlan* p) { p->stages[0].reduces[0].init.clear(); }},
      {"two types",
       [](KernelPlan* p) {
         ScalarProgram& combine = p->stages[0].reduces[0].combine;
         combine.insts[static_cast<size_t>(combine.results[0])].dtype = DType::kF64;
       }},
      {"no accumulator",
       [](KernelPlan* p) {
         for (Inst& i : p->insts) {
           if (i.kind == Inst::Kind::kResult) i.which = 1;
         }
       }},
      {"is not read", [](KernelPlan* p) { p->params.emplace_back(); }},
      {"not written once",
       [](KernelPlan* p) { p->stages.back().stores.push_back(p->stages.back().stores[0]); }},
      {"not written once", [](KernelPlan* p) { p->stages.back().stores.clear(); }},
      {"has alignment 3", [](KernelPlan* p) { p->params[0].align = 3; }},
      {"at all points of axis 0",
       [](KernelPlan* p) {
         p->stages.back().stores[0].access.linear.coefs.erase(
             p->stages.back().stores[0].access.linear.coefs.begin());
       }},
      {"malformed access", [](KernelPlan* p) { p->accesses[0].linear.coefs[0].first = 7; }},
      {"64-bit offsets",
       [](KernelPlan* p) { p->accesses[0].linear.coefs[0].second = int64_t{1} << 40; }},
      {"longer than its threads hold",
       [](KernelPlan* p) { std::get<CudaSchedule>(p->schedule).vec = 1; }},
      {"kept but looped", [](KernelPlan* p) { std::get<CudaSchedule>(p->schedule).items = 0; }},
      {"threads are not rows",
       [](KernelPlan* p) { std::get<CudaSchedule>(p->schedule).rows_per_block = 3; }},
      {"mixed up",
       [](KernelPlan* p) { std::get<CudaSchedule>(p->schedule).emitter = CudaEmitter::kFlat; }},
      {"no parallel axis", [](KernelPlan* p) { p->parallel.clear(); }},
      {"no stage", [](KernelPlan* p) { p->stages.clear(); }},
      {"another dtype than its parameter", [](KernelPlan* p) { p->params[0].dtype = DType::kI32; }},
  };
  for (const Case& c : cases) {
    KernelPlan plan = Good(g);
    c.breaks(&plan);
    absl::Status status = VerifyPlan(plan);
    EXPECT_FALSE(status.ok()) << c.message;
    EXPECT_NE(std::string(status.message()).find(c.message), std::string::npos)
        << status << "\nwanted: " << c.message << "\n"
        << PlanToString(plan);
  }
}

TEST(VerifyPlan, RefusesOffsetsBeyondTheTensor) {
  Graph g = LayerNormGraph();
  KernelPlan plan = Good(g);
  EXPECT_TRUE(VerifyAccesses(plan, g, {}).ok());
  plan.accesses[0].linear.constant = 1;
  EXPECT_FALSE(VerifyAccesses(plan, g, {}).ok());
  EdgeLayouts wide;
  wide.reads[g.outputs()[0]] = {};
  wide.reads[InputNamed(g, "x")] = Layout{{65, 1}, 4};
  EXPECT_TRUE(VerifyAccesses(plan, g, wide).ok()) << "the buffer has room between its rows";
}

TEST(InterpretPlan, RefusesWrongArguments) {
  Graph g = Parsed("graph f(%x: f32[n]) -> (f32[n]) { %0 = exp(%x) : f32[n] return %0 }");
  KernelPlan plan = Good(g, "interpret");
  float data[2] = {};
  std::vector<void*> two = {data, data}, one = {data};
  EXPECT_FALSE(InterpretPlan(plan, one, {}, {2}).ok());
  EXPECT_FALSE(InterpretPlan(plan, two, {1}, {2}).ok());
  EXPECT_FALSE(InterpretPlan(plan, two, {}, {}).ok());
  EXPECT_TRUE(InterpretPlan(plan, two, {}, {2}).ok());
  EXPECT_EQ(data[0], 1);
}

// The interpreter finds a plan that reads what it has not computed, even unverified.
TEST(InterpretPlan, FindsMissingValues) {
  Graph g = LayerNormGraph();
  KernelPlan plan = Good(g);
  plan.keep.clear();
  std::vector<float> x(512), w(64), y(512);
  std::vector<void*> buffers = {x.data(), w.data(), y.data()};
  absl::Status status = InterpretPlan(plan, buffers, {}, {});
  EXPECT_NE(std::string(status.message()).find("neither computed nor kept"), std::string::npos)
      << status;
}

// One thing changed in a good plan, and a part of what is said of it.
struct Break {
  std::string message;
  std::function<void(KernelPlan*)> breaks;
};
void ExpectRefused(const KernelPlan& good, const std::vector<Break>& cases) {
  ASSERT_TRUE(VerifyPlan(good).ok()) << VerifyPlan(good);
  for (const Break& c : cases) {
    KernelPlan plan = good;
    c.breaks(&plan);
    const absl::Status status = VerifyPlan(plan);
    EXPECT_NE(status.message().find(c.message), absl::string_view::npos)
        << status << ", expected: " << c.message;
  }
}
CudaSchedule& Cuda(KernelPlan* p) { return std::get<CudaSchedule>(p->schedule); }
CpuSchedule& Cpu(KernelPlan* p) { return std::get<CpuSchedule>(p->schedule); }

TEST(VerifyPlan, RefusesBrokenColumns) {
  Graph g = Parsed(
      "graph f(%x: f32[64,96]) -> (f32[64,96]) { %0 = softmax(%x) {axis=0} : f32[64,96] return %0 "
      "}");
  ExpectRefused(Good(g),
                {{"mixed up", [](KernelPlan* p) { p->columns = false; }},
                 {"mixed up", [](KernelPlan* p) { Cuda(p).emitter = CudaEmitter::kRow; }},
                 {"vectors of 8 columns do not divide",
                  [](KernelPlan* p) {
                    p->parallel.back() = 100;
                    Cuda(p).vec = 8;
                  }},
                 {"longer than its threads hold", [](KernelPlan* p) { p->inner[0] = 1000; }},
                 {"do not fit shared memory", [](KernelPlan* p) {
                    for (int k = 0; k < 40; ++k)
                      p->stages[0].reduces.push_back(p->stages[0].reduces[0]);
                  }}});
}

TEST(VerifyPlan, RefusesBrokenTiles) {
  Graph g = Parsed(
      "graph f(%x: f32[64,96]) -> (f32[96,64]) { %0 = transpose(%x) : f32[96,64] return %0 }");
  ExpectRefused(Good(g), {{"no load lies along", [](KernelPlan* p) { Cuda(p).tile_axis = 1; }},
                          {"impossible tiles", [](KernelPlan* p) { Cuda(p).tile = 48; }},
                          {"impossible tiles", [](KernelPlan* p) { Cuda(p).items = 2; }},
                          {"do not fit", [](KernelPlan* p) { Cuda(p).tile = 128; }}});
  ExpectRefused(Good(g, "x86-64-v3"),
                {{"no load lies along", [](KernelPlan* p) { Cpu(p).tile_axis = 1; }},
                 {"no load lies along", [](KernelPlan* p) { Cpu(p).tile = 24; }}});
}

TEST(VerifyPlan, RefusesBrokenChunks) {
  Graph g = Parsed("graph f(%x: f32[1000001]) -> (f32[]) { %0 = sum(%x) : f32[] return %0 }");
  KernelPlan chunks = Good(g);
  ASSERT_EQ(chunks.params.back().role, ParamRole::kScratch);
  ExpectRefused(chunks, {{"scratch parameter", [](KernelPlan* p) { p->stages[0].stores.clear(); }},
                         {"writes one element at all points", [](KernelPlan* p) {
                            p->stages[0].stores[0].access.linear.coefs.clear();
                          }}});
  EXPECT_TRUE(VerifyAccesses(chunks, g, {}).ok());
  chunks.params.back().scratch_bytes = 4;
  EXPECT_NE(VerifyAccesses(chunks, g, {}).message().find("of scratch"), absl::string_view::npos);
}

}  // namespace
}  // namespace jitfuse::internal
