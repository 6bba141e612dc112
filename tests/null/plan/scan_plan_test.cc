// Scans through partition, plans and the plan interpreter, within the evaluator's bounds; how they
// are scheduled, what VerifyPlan and the emitters refuse; goldens of plans and sources.
#include <random>

#include "codegen/cuda/emit_cuda.h"
#include "cpu_backend/emit_llvm.h"
#include "gmock/gmock.h"
#include "ir/eval.h"
#include "tests/test_util/golden.h"
#include "tests/test_util/plan_checks.h"
#include "tests/test_util/run_plan.h"

namespace jitfuse::internal {
namespace {

using ::testing::HasSubstr;

struct ScanCase {
  const char* text;
  int kernels;
};

constexpr ScanCase kCases[] = {
    {"graph last(%x: f32[3,n]) -> (f32[3,n]) { %0 = cumsum(%x) {axis=1} : f32[3,n] return %0 }", 1},
    {"graph first(%x: f16[n,3]) -> (f16[n,3]) { %0 = cumsum(%x) {axis=0} : f16[n,3] return %0 }",
     1},
    {"graph middle(%x: i8[2,n,3]) -> (i64[2,n,3]) { %0 = cumsum(%x) {axis=1, exclusive=true} : "
     "i64[2,n,3] return %0 }",
     1},
    {"graph line(%x: f32[n]) -> (f32[n]) { %0 = cummax(%x) {axis=0, reverse=true} : f32[n] return "
     "%0 }",
     2},  // the flip of the results is a copy
    {"graph chain(%x: f32[4,n], %b: f32[n]) -> (f32[4,n]) { %0 = add(%x, %b) : f32[4,n] %1 = "
     "relu(%0) : f32[4,n] %2 = cumprod(%1) {axis=1} : f32[4,n] %3 = add(%2, %b) : f32[4,n] return "
     "%3 }",
     1},
    {"graph backwards(%x: f32[4,n]) -> (f32[4,n]) { %0 = exp(%x) : f32[4,n] %1 = cumsum(%0) "
     "{axis=1, reverse=true} : f32[4,n] %2 = log(%1) : f32[4,n] return %2 }",
     2},
    {"graph with_sum(%x: f32[4,n]) -> (f32[4,n], f32[4]) { %0 = cumsum(%x) {axis=1} : f32[4,n] %1 "
     "= sum(%x) {axes=[1], keepdims=true} : f32[4,1] %2 = divide(%0, %1) : f32[4,n] %3 = max(%0) "
     "{axes=[1]} : f32[4] return %2, %3 }",
     1},
    {"graph nested(%x: f32[4,n]) -> (f32[4,n]) { %0 = cumsum(%x) {axis=1} : f32[4,n] %1 = "
     "abs(%0) : f32[4,n] %2 = cummin(%1) {axis=1, exclusive=true} : f32[4,n] return %2 }",
     1},
    {"graph both_axes(%x: f32[5,n]) -> (f32[5,n]) { %0 = cumsum(%x) {axis=1} : f32[5,n] %1 = "
     "cumsum(%0) {axis=0} : f32[5,n] return %1 }",
     2},
    {"graph transposed(%x: f32[5,n]) -> (f32[n,5]) { %0 = cumsum(%x) {axis=1} : f32[5,n] %1 = "
     "transpose(%0) : f32[n,5] %2 = exp(%1) : f32[n,5] return %2 }",
     1},
    {"graph split(%x: f32[n,6]) -> (f32[n,2,3]) { %0 = relu(%x) : f32[n,6] %1 = reshape(%0) "
     "{shape=[n,2,3]} : f32[n,2,3] %2 = cumsum(%1) {axis=2} : f32[n,2,3] return %2 }",
     1},
    {"graph logs(%x: f64[3,n]) -> (f64[3,n], f64[3,n]) { %0 = logcumsumexp(%x) {axis=1} : f64[3,n] "
     "%1 = logcumsumexp(%x) {axis=1, exclusive=true} : f64[3,n] return %0, %1 }",
     1},
    {"graph ones(%x: f32[n]) -> (f32[n]) { %c = constant {value=1} : f32[] %0 = broadcast(%c) "
     "{shape=[n]} : f32[n] %1 = cumsum(%0) "
     "{axis=0} : f32[n] %2 = divide(%x, %1) : f32[n] return %2 }",
     0},
    {"graph unit(%x: i32[n,1]) -> (i64[n,1], i32[n,1]) { %0 = cumsum(%x) {axis=1} : i64[n,1] %1 = "
     "cummax(%x) {axis=1, exclusive=true} : i32[n,1] return %0, %1 }",
     0},
};

std::vector<HostTensor> InputsOf(const Graph& graph, int64_t n) {
  std::mt19937 rng(7);
  std::vector<HostTensor> out;
  for (NodeId id : graph.inputs()) {
    const TensorType& type = graph.type({id, 0});
    HostTensor t = HostTensor::Make(type.dtype, EvalDims(type.dims, {n}));
    for (int64_t i = 0; i < t.size(); ++i)
      t.SetNumber(i, static_cast<double>(rng() % 1000) / 250 - 2);
    out.push_back(std::move(t));
  }
  return out;
}

TEST(ScanPlans, AgreeWithTheEvaluator) {
  for (const ScanCase& c : kCases) {
    SCOPED_TRACE(c.text);
    absl::StatusOr<Graph> graph = ParseGraph(c.text);
    ASSERT_TRUE(graph.ok()) << graph.status();
    for (int64_t n : {5, 1, 0, 70}) {
      if (n == 0 && std::string_view(c.text).find("max(") != std::string_view::npos &&
          std::string_view(c.text).find("axes") != std::string_view::npos)
        continue;  // the maximum of nothing
      std::vector<HostTensor> inputs = InputsOf(*graph, n);
      absl::StatusOr<std::vector<WideTensor>> want = EvalWide(*graph, inputs);
      ASSERT_TRUE(want.ok()) << want.status();
      SCOPED_TRACE(n);
      ExpectPlansAgree(*graph, inputs, *want);
    }
  }
}

TEST(ScanPlans, TakeTheKernelsTheyShould) {
  for (const ScanCase& c : kCases) {
    if (c.kernels == 0) continue;
    SCOPED_TRACE(c.text);
    ExpectKernels(c.text, c.kernels);
  }
}

KernelPlan PlanOf(std::string_view text, std::string_view arch) {
  Graph graph = *Expand(*ParseGraph(text));
  absl::StatusOr<std::vector<KernelPlan>> plans =
      BuildPlan(graph, WholeGroup(graph), {}, *TargetFor(arch), {});
  EXPECT_TRUE(plans.ok()) << plans.status();
  absl::Status ok = VerifyPlan((*plans)[0]);
  EXPECT_TRUE(ok.ok()) << ok << "\n" << PlanToString((*plans)[0]);
  return (*plans)[0];
}

std::string Cumsum(std::string_view type, int axis) {
  return absl::StrCat("graph f(%x: ", ToAbsl(type), ") -> (", ToAbsl(type),
                      ") { %0 = cumsum(%x) {axis=", axis, "} : ", ToAbsl(type), " return %0 }");
}

bool InOrderNote(const KernelPlan& plan) {
  return std::any_of(plan.notes.begin(), plan.notes.end(),
                     [](const Note& n) { return n.reason == Reason::kScanInOrder; });
}

TEST(ScanPlans, Schedules) {
  KernelPlan plan = PlanOf(Cumsum("f32[64,1000]", 1), "sm_90");
  EXPECT_EQ(plan.cuda().threads_per_row, 256) << "a block a row";
  EXPECT_EQ(plan.cuda().rows_per_block, 1);
  EXPECT_FALSE(InOrderNote(plan));
  EXPECT_EQ(PlanOf(Cumsum("f32[64,60]", 1), "sm_90").cuda().threads_per_row, 64);
  EXPECT_EQ(PlanOf(Cumsum("f32[64,20]", 1), "sm_90").cuda().threads_per_row, 1) << "short rows";
  EXPECT_EQ(PlanOf(Cumsum("f32[1000,8192]", 0), "sm_90").cuda().threads_per_row, 1)
      << "many rows side by side";
  EXPECT_EQ(PlanOf(Cumsum("f32[1000,16]", 0), "sm_90").cuda().threads_per_row, 256);
  EXPECT_EQ(PlanOf(Cumsum("f32[4,1000]", 1), "x86-64-v3").cpu().lanes, 1);
}

TEST(ScanPlans, LongRowsAreSaidToBeScannedInOrder) {
  for (const char* arch : {"sm_90", "x86-64-v3"}) {
    EXPECT_TRUE(InOrderNote(PlanOf(Cumsum("f32[16777216]", 0), arch))) << arch;
    EXPECT_TRUE(InOrderNote(PlanOf(Cumsum("f32[4,n]", 1), arch))) << arch;
    EXPECT_FALSE(InOrderNote(PlanOf(Cumsum("f32[4096,4096]", 1), arch))) << arch;
  }
  EXPECT_EQ(PlanOf(Cumsum("f32[16777216]", 0), "sm_90").cuda().threads_per_row, 256);
}

TEST(ScanPlans, VerifierFindsBrokenScans) {
  struct Case {
    const char* message;
    void (*breaks)(KernelPlan*);
  };
  const Case cases[] = {
      {"belongs to no scan",
       [](KernelPlan* p) {
         for (Inst& i : p->insts) i.scan = i.kind == Inst::Kind::kScan ? 7 : -1;
       }},
      {"malformed scan", [](KernelPlan* p) { p->scans[0].init.clear(); }},
      {"no accumulator",
       [](KernelPlan* p) {
         for (Inst& i : p->insts) i.which += i.kind == Inst::Kind::kScan ? 5 : 0;
       }},
      {"one operand an accumulator",
       [](KernelPlan* p) {
         for (Inst& i : p->insts) {
           if (i.kind == Inst::Kind::kScan) i.in[2] = i.in[0];
         }
       }},
      {"has two types", [](KernelPlan* p) { p->scans[0].dtypes[1] = DType::kF64; }},
      {"take each element once",
       [](KernelPlan* p) {
         std::erase_if(p->stages[0].elem_insts, [p](int id) {
           const Inst& i = p->insts[static_cast<size_t>(id)];
           return i.kind == Inst::Kind::kScan && i.which == 0;
         });
       }},
      {"one element after another",
       [](KernelPlan* p) { std::get<CudaSchedule>(p->schedule).items = 1; }},
      {"the one inner axis", [](KernelPlan* p) { p->inner.emplace_back(2); }},
  };
  const char* text =
      "graph f(%x: f32[4,100]) -> (f32[4,100]) { %0 = logcumsumexp(%x) {axis=1} : f32[4,100] "
      "return %0 }";
  for (const Case& c : cases) {
    KernelPlan plan = PlanOf(text, "sm_90");
    c.breaks(&plan);
    absl::Status status = VerifyPlan(plan);
    ASSERT_FALSE(status.ok()) << c.message;
    EXPECT_THAT(std::string(status.message()), HasSubstr(c.message)) << PlanToString(plan);
  }
}

TEST(ScanPlans, EmittersRefuseVectors) {
  KernelPlan plan = PlanOf(Cumsum("f32[4,100]", 1), "sm_90");
  std::get<CudaSchedule>(plan.schedule).vec = 4;
  EXPECT_THAT(std::string(EmitCuda(plan, *TargetFor("sm_90")).status().message()),
              HasSubstr("a scan takes one element"));
  plan = PlanOf(Cumsum("f32[4,100]", 1), "x86-64-v3");
  std::get<CpuSchedule>(plan.schedule).lanes = 8;
  EXPECT_THAT(std::string(EmitLlvm(plan, *TargetFor("x86-64-v3")).status().message()),
              HasSubstr("a scan takes one element"));
}

TEST(ScanPlans, GroupsMustWalkAlongTheAxis) {
  Graph graph = *Expand(*ParseGraph(Cumsum("f32[4,6]", 1)));
  Group group = WholeGroup(graph);
  group.reduce_axes = {0};
  EXPECT_THAT(std::string(BuildPlan(graph, group, {}, *TargetFor("sm_90"), {}).status().message()),
              HasSubstr("does not walk along the scanned axis"));
  FusionPlan fusion;
  group.output_maps = {IdentityMap(2)};
  fusion.groups.push_back(group);
  EXPECT_THAT(std::string(VerifyFusionPlan(graph, fusion).message()),
              HasSubstr("does not walk along the scanned axis"));
}

constexpr std::string_view kChain =
    "graph f(%x: bf16[n,1000]) -> (bf16[n,1000]) { %0 = relu(%x) : bf16[n,1000] %1 = cumsum(%0) "
    "{axis=1} : bf16[n,1000] %2 = exp(%1) : bf16[n,1000] return %2 }";
constexpr std::string_view kColumns =
    "graph f(%x: f32[100,8192]) -> (f32[100,8192]) { %0 = cummax(%x) {axis=0, exclusive=true} : "
    "f32[100,8192] return %0 }";

TEST(ScanPlans, Goldens) {
  ExpectGolden("plan/cumsum.cuda.txt", PlanToString(PlanOf(kChain, "sm_90")));
  ExpectGolden("cuda/scan_block.cu",
               WithoutPrelude(*EmitCuda(PlanOf(kChain, "sm_90"), *TargetFor("sm_90"))));
  ExpectGolden("cuda/scan_thread.cu",
               WithoutPrelude(*EmitCuda(PlanOf(kColumns, "sm_90"), *TargetFor("sm_90"))));
  ExpectGolden("llvm/scan_v3.ll",
               EmitLlvm(PlanOf(kColumns, "x86-64-v3"), *TargetFor("x86-64-v3"))->text);
}

}  // namespace
}  // namespace jitfuse::internal
