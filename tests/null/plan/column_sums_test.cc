// Sums over rows beside what is computed of each: by columns in chunks of rows, where no result of
// a row is needed, and by blocks of rows, where a group reduces its rows too. Plans, values by the
// interpreter, and what may not be joined.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "codegen/cuda/emit_cuda.h"
#include "ir/autodiff.h"
#include "ir/rewrite/optimize.h"
#include "tests/test_util/golden.h"
#include "tests/test_util/gradient_check.h"
#include "tests/test_util/plan_checks.h"

namespace jitfuse::internal {
namespace {

// The gradients of all float inputs, given those of the results.
Graph GradientOf(const std::string& text) {
  absl::StatusOr<Graph> graph = ParseGraph(text);
  EXPECT_TRUE(graph.ok()) << graph.status();
  absl::StatusOr<Graph> gradient =
      Gradient(*graph, FloatInputs(*graph), {.cotangents = Cotangents::kInputs});
  EXPECT_TRUE(gradient.ok()) << gradient.status();
  return *std::move(gradient);
}

std::string Typed(std::string text, const std::string& dtype) {
  for (size_t at = 0; (at = text.find("T[", at)) != std::string::npos; at += dtype.size())
    text.replace(at, 1, dtype);
  return text;
}

constexpr const char* kGelu =
    "graph f(%x: T[n,96], %b: T[96]) -> (T[n,96]) { %0 = add(%x, %b) : T[n,96] %1 = gelu(%0) : "
    "T[n,96] return %1 }";
constexpr const char* kRelu =
    "graph f(%x: T[n,77], %b: T[77]) -> (T[n,77]) { %0 = add(%x, %b) : T[n,77] %1 = relu(%0) : "
    "T[n,77] return %1 }";
constexpr const char* kLayerNorm =
    "graph f(%x: T[n,96], %w: T[96], %b: T[96]) -> (T[n,96]) { %0 = layer_norm(%x, %w, %b) : "
    "T[n,96] return %0 }";
constexpr const char* kRmsNorm =
    "graph f(%x: T[2,n,77], %w: T[77]) -> (T[2,n,77]) { %0 = rms_norm(%x, %w) : T[2,n,77] return "
    "%0 }";
constexpr const char* kNormOfSum =
    "graph f(%x: T[n,96], %c: T[96], %w: T[96]) -> (T[n,96]) { %0 = add(%x, %c) : T[n,96] %1 = "
    "rms_norm(%0, %w) : T[n,96] return %1 }";

FusionPlan Grouped(const Graph& expanded, std::string_view arch) {
  auto none = [](DType) { return std::optional<Reason>(Reason::kGemmNoLibrary); };
  absl::StatusOr<FusionPlan> plan = Partition(expanded, *TargetFor(arch), {}, none);
  EXPECT_TRUE(plan.ok()) << plan.status();
  absl::Status legal = VerifyFusionPlan(expanded, *plan);
  EXPECT_TRUE(legal.ok()) << legal << "\n" << FusionPlanToString(expanded, *plan);
  return *std::move(plan);
}

Graph Optimized(const Graph& graph) {
  absl::StatusOr<Graph> expanded = Expand(graph);
  EXPECT_TRUE(expanded.ok()) << expanded.status();
  absl::StatusOr<Graph> optimized = Optimize(*expanded);
  EXPECT_TRUE(optimized.ok()) << optimized.status();
  return *std::move(optimized);
}

TEST(ColumnSums, BackwardPassesAreOneGroup) {
  for (const char* arch : {"sm_90", "x86-64-v3"}) {
    for (const char* text : {kGelu, kRelu, kLayerNorm, kRmsNorm, kNormOfSum}) {
      for (const char* dtype : {"f32", "bf16"}) {
        const Graph graph = Optimized(GradientOf(Typed(text, dtype)));
        const FusionPlan plan = Grouped(graph, arch);
        EXPECT_EQ(plan.groups.size(), 1u) << FusionPlanToString(graph, plan);
      }
    }
  }
}

TEST(ColumnSums, ValuesAreWithinBounds) {
  std::mt19937 rng(7);
  for (const char* text : {kGelu, kRelu, kLayerNorm, kRmsNorm, kNormOfSum}) {
    for (const char* dtype : {"f32", "bf16", "f16", "f64"}) {
      for (int64_t n : {1, 9, 70}) {
        const Graph graph = GradientOf(Typed(text, dtype));
        SCOPED_TRACE(GraphToString(graph));
        const std::vector<HostTensor> inputs =
            RandomInputs(graph, &rng, -2, 2, std::vector<int64_t>{n});
        absl::StatusOr<std::vector<WideTensor>> want = EvalWide(graph, inputs);
        ASSERT_TRUE(want.ok()) << want.status();
        ExpectPlansAgree(graph, inputs, *want);
      }
    }
  }
}

std::vector<KernelPlan> PlansOf(const std::string& text, std::string_view arch,
                                const PlanOptions& options = {}) {
  const Graph graph = Optimized(GradientOf(text));
  const FusionPlan fusion = Grouped(graph, arch);
  EXPECT_EQ(fusion.groups.size(), 1u) << FusionPlanToString(graph, fusion);
  absl::StatusOr<std::vector<KernelPlan>> plans =
      BuildPlan(graph, fusion.groups[0], {}, *TargetFor(arch), options);
  EXPECT_TRUE(plans.ok()) << plans.status();
  for (const KernelPlan& plan : *plans) {
    absl::Status ok = VerifyPlan(plan);
    EXPECT_TRUE(ok.ok()) << ok << PlanToString(plan);
  }
  return *std::move(plans);
}

const char* const kGeluRows =
    "graph f(%x: bf16[16384,4096], %b: bf16[4096]) -> (bf16[16384,4096]) { %0 = add(%x, %b) : "
    "bf16[16384,4096] %1 = gelu(%0) : bf16[16384,4096] return %1 }";
const char* const kNormRows =
    "graph f(%x: bf16[16384,4096], %w: bf16[4096], %b: bf16[4096]) -> (bf16[16384,4096]) { %0 = "
    "layer_norm(%x, %w, %b) : bf16[16384,4096] return %0 }";

// Many more blocks than an H100 has cores, and no mask where chunks are whole.
TEST(ColumnSums, ChunksStoreTheElements) {
  const std::vector<KernelPlan> plans = PlansOf(kGeluRows, "sm_90");
  ASSERT_EQ(plans.size(), 2u);
  ASSERT_EQ(plans[0].stages.size(), 1u);
  int elements = 0;
  for (const Store& st : plans[0].stages[0].stores) {
    elements += st.elem ? 1 : 0;
    EXPECT_TRUE(st.access.masks.empty());
  }
  EXPECT_EQ(elements, 1);
  EXPECT_TRUE(plans[0].columns);
  const KernelSource source = *EmitCuda(plans[0], *TargetFor("sm_90"));
  EXPECT_GE(source.grid.Eval({}), 4 * 132);
  for (const KernelPlan& plan : plans) EXPECT_TRUE(plan.notes.empty()) << PlanToString(plan);
}

TEST(ColumnSums, ChunksBeyondTheRowsStoreNothing) {
  PlanOptions options;
  options.symbol_bounds = {8192};
  const std::vector<KernelPlan> plans = PlansOf(Typed(kGelu, "f32"), "sm_90", options);
  ASSERT_EQ(plans.size(), 2u);
  int masked = 0;
  for (const Store& st : plans[0].stages[0].stores) masked += st.elem && !st.access.masks.empty();
  EXPECT_EQ(masked, 1) << PlanToString(plans[0]);
}

TEST(ColumnSums, BlocksOfRowsThatAreHeldInRegisters) {
  const std::vector<KernelPlan> plans = PlansOf(kNormRows, "sm_90");
  ASSERT_EQ(plans.size(), 2u);
  EXPECT_TRUE(plans[0].HasColumnSums());
  EXPECT_FALSE(plans[0].cuda().sums_in_memory);
  EXPECT_EQ(plans[0].cuda().threads, 512);
  EXPECT_TRUE(plans[0].Blocks().Is(256));
  EXPECT_TRUE(plans[1].columns);
}

// What a CPU would reduce by columns, were nothing stored beside it, it goes through in rows.
TEST(ColumnSums, ACpuGoesThroughRows) {
  for (const char* text : {kGeluRows, kNormRows}) {
    const std::vector<KernelPlan> plans = PlansOf(text, "x86-64-v3");
    ASSERT_EQ(plans.size(), 2u);
    EXPECT_TRUE(plans[0].HasColumnSums());
    EXPECT_TRUE(plans[0].block_rows.Is(256)) << "64 blocks, whatever the number of threads";
  }
}

// The sum of a long row's products that is needed again, so long that sums do not fit beside it.
TEST(ColumnSums, RowsTooLongStayApart) {
  const Graph graph =
      Optimized(GradientOf("graph f(%x: f32[512,65536], %w: f32[65536]) -> (f32[512,65536]) { %0 = "
                           "rms_norm(%x, %w) : f32[512,65536] return %0 }"));
  EXPECT_EQ(Grouped(graph, "sm_90").groups.size(), 2u);
  EXPECT_EQ(Grouped(graph, "x86-64-v3").groups.size(), 2u);
}

// What has an element a place is made where blocks are joined; what a row's elements need of all
// rows is no part of their kernel.
TEST(ColumnSums, WhatNeedsAllRowsComesLater) {
  const std::string head =
      "graph f(%x: f32[n,96]) -> (f32[n,96], f32[96]) { %0 = softmax(%x) : f32[n,96] %1 = sum(%0) "
      "{axes=[0]} : f32[96] %2 = exp(%1) : f32[96] ";
  const Graph one = Optimized(Parsed(head + "return %0, %2 }"));
  FusionPlan plan = Grouped(one, "sm_90");
  ASSERT_EQ(plan.groups.size(), 1u) << FusionPlanToString(one, plan);
  EXPECT_EQ(plan.groups[0].column_sums.size(), 1u);
  EXPECT_THAT(FusionPlanToString(one, plan),
              testing::HasSubstr("reduces axes [1], over its rows %"));
  const Graph two = Optimized(
      Parsed(head + "%3 = broadcast(%2) {shape=[n,96]} : f32[n,96] %4 = multiply(%0, %3) : "
                    "f32[n,96] return %4, %2 }"));
  plan = Grouped(two, "sm_90");
  ASSERT_EQ(plan.groups.size(), 2u) << FusionPlanToString(two, plan);
  for (const Group& group : plan.groups) EXPECT_TRUE(group.column_sums.empty());
}

TEST(ColumnSums, Goldens) {
  std::string plans;
  PlanOptions options;
  options.symbol_bounds = {8192};
  const std::vector<KernelPlan> gelu = PlansOf(Typed(kGelu, "bf16"), "sm_90", options);
  const std::vector<KernelPlan> norm = PlansOf(Typed(kLayerNorm, "bf16"), "sm_90");
  for (const KernelPlan& plan : gelu) plans += PlanToString(plan);
  ExpectGolden("plan/gelu_backward.cuda.txt", plans);
  plans.clear();
  for (const KernelPlan& plan : norm) plans += PlanToString(plan);
  ExpectGolden("plan/layer_norm_backward.cuda.txt", plans);
  ExpectGolden("cuda/column_chunks.cu", WithoutPrelude(*EmitCuda(gelu[0], *TargetFor("sm_90"))));
  ExpectGolden("cuda/row_blocks.cu", WithoutPrelude(*EmitCuda(norm[0], *TargetFor("sm_90"))));
}

}  // namespace
}  // namespace jitfuse::internal
