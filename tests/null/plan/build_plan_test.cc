// BuildPlan on groups made by hand: golden plans, and what they compute.
#include "codegen/plan/build_plan.h"

#include <cmath>

#include "codegen/plan/schedule.h"
#include "tests/test_util/golden.h"
#include "tests/test_util/run_plan.h"

namespace jitfuse::internal {
namespace {

Target For(std::string_view arch) { return *TargetFor(arch); }

KernelPlan PlanOf(const Graph& graph, const Target& target, const EdgeLayouts& layouts = {},
                  const PlanOptions& options = {}) {
  absl::StatusOr<std::vector<KernelPlan>> plans =
      BuildPlan(graph, WholeGroup(graph), layouts, target, options);
  EXPECT_TRUE(plans.ok()) << plans.status();
  if (!plans.ok()) return KernelPlan();
  absl::Status ok = VerifyPlan((*plans)[0]);
  EXPECT_TRUE(ok.ok()) << ok << "\n" << PlanToString((*plans)[0]);
  ok = VerifyAccesses((*plans)[0], graph, layouts);
  EXPECT_TRUE(ok.ok()) << ok << "\n" << PlanToString((*plans)[0]);
  return (*plans)[0];
}

constexpr std::string_view kChain =
    R"(graph f(%a: f32[n,1024], %b: f32[n,1024], %c: f32[n,1024]) -> (f32[n,1024]) {
  %0 = multiply(%a, %b) : f32[n,1024]
  %1 = add(%0, %c) : f32[n,1024]
  %2 = relu(%1) : f32[n,1024]
  return %2
})";
constexpr std::string_view kBiasGelu =
    R"(graph f(%x: bf16[64,768], %b: bf16[768]) -> (bf16[64,768]) {
  %0 = add(%x, %b) : bf16[64,768]
  %1 = gelu(%0) : bf16[64,768]
  return %1
})";
constexpr std::string_view kOddBias =
    R"(graph f(%x: bf16[64,4097], %b: bf16[4097]) -> (bf16[64,4097]) {
  %0 = add(%x, %b) : bf16[64,4097]
  return %0
})";
constexpr std::string_view kTransposeAdd =
    R"(graph f(%x: f32[96,64], %y: f32[64,96]) -> (f32[64,96]) {
  %0 = transpose(%x) : f32[64,96]
  %1 = add(%0, %y) : f32[64,96]
  return %1
})";
constexpr std::string_view kSoftmax = R"(graph f(%x: f32[32,1024]) -> (f32[32,1024]) {
  %0 = softmax(%x) : f32[32,1024]
  return %0
})";
constexpr std::string_view kLayerNorm =
    R"(graph f(%x: bf16[32,768], %r: bf16[32,768], %w: bf16[768], %b: bf16[768]) -> (bf16[32,768], bf16[32,768]) {
  %0 = add(%x, %r) : bf16[32,768]
  %1 = layer_norm(%0, %w, %b) : bf16[32,768]
  %2 = relu(%1) : bf16[32,768]
  return %0, %2
})";
constexpr std::string_view kColumnSoftmax =
    R"(graph f(%x: bf16[8,64,96]) -> (bf16[8,64,96]) {
  %0 = softmax(%x) {axis=1} : bf16[8,64,96]
  return %0
})";
constexpr std::string_view kTotal =
    R"(graph f(%x: f32[1000001], %y: f32[1000001]) -> (f32[]) {
  %0 = multiply(%x, %y) : f32[1000001]
  %1 = sum(%0) : f32[]
  %2 = sqrt(%1) : f32[]
  return %2
})";
constexpr std::string_view kCausal =
    R"(graph f(%x: f32[4,16,16], %s: scalar f32) -> (f32[4,16,16]) {
  %0 = iota() {shape=[16,16], axis=0} : i64[16,16]
  %1 = iota() {shape=[16,16], axis=1} : i64[16,16]
  %2 = less_equal(%1, %0) : bool[16,16]
  %3 = multiply(%x, %s) : f32[4,16,16]
  %4 = where(%2, %3, -inf) : f32[4,16,16]
  %5 = reshape(%4) {shape=[64,16]} : f32[64,16]
  %6 = reshape(%5) {shape=[4,16,16]} : f32[4,16,16]
  return %6
})";

TEST(BuildPlanGolden, Cuda) {
  Target sm90 = For("sm_90");
  ExpectGolden("plan/relu_chain.cuda.txt", PlanToString(PlanOf(Parsed(kChain), sm90)));
  ExpectGolden("plan/bias_gelu.cuda.txt", PlanToString(PlanOf(Parsed(kBiasGelu), sm90)));
  ExpectGolden("plan/odd_bias.cuda.txt", PlanToString(PlanOf(Parsed(kOddBias), sm90)));
  ExpectGolden("plan/transpose_add.cuda.txt", PlanToString(PlanOf(Parsed(kTransposeAdd), sm90)));
  ExpectGolden("plan/softmax.cuda.txt", PlanToString(PlanOf(Parsed(kSoftmax), sm90)));
  ExpectGolden("plan/layer_norm.cuda.txt", PlanToString(PlanOf(Parsed(kLayerNorm), sm90)));
  ExpectGolden("plan/column_softmax.cuda.txt", PlanToString(PlanOf(Parsed(kColumnSoftmax), sm90)));
  ExpectGolden("plan/masked.cuda.txt", PlanToString(PlanOf(Parsed(kCausal), sm90)));
}

TEST(BuildPlanGolden, Chunks) {
  Graph graph = Parsed(kTotal);
  absl::StatusOr<std::vector<KernelPlan>> plans =
      BuildPlan(graph, WholeGroup(graph), {}, For("sm_90"));
  ASSERT_TRUE(plans.ok()) << plans.status();
  std::string text;
  for (const KernelPlan& plan : *plans) {
    EXPECT_TRUE(VerifyPlan(plan).ok());
    EXPECT_TRUE(VerifyAccesses(plan, graph, {}).ok());
    text += PlanToString(plan);
  }
  ExpectGolden("plan/total.cuda.txt", text);
}

TEST(BuildPlanGolden, Cpu) {
  Target v4 = For("x86-64-v4");
  ExpectGolden("plan/relu_chain.cpu.txt", PlanToString(PlanOf(Parsed(kChain), v4)));
  ExpectGolden("plan/softmax.cpu.txt", PlanToString(PlanOf(Parsed(kSoftmax), v4)));
  ExpectGolden("plan/column_softmax.cpu.txt", PlanToString(PlanOf(Parsed(kColumnSoftmax), v4)));
  ExpectGolden("plan/transpose_add.cpu.txt", PlanToString(PlanOf(Parsed(kTransposeAdd), v4)));
  ExpectGolden("plan/layer_norm.cpu.txt", PlanToString(PlanOf(Parsed(kLayerNorm), v4)));
}

}  // namespace
}  // namespace jitfuse::internal
