// Sums by index in the partition: sorts apart, what they read in memory, sums with their tails.
#include "gmock/gmock.h"
#include "tests/null/fusion/fusion_kit.h"

namespace jitfuse::internal {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(FusionScatter, ASortThenOneKernelWithItsTail) {
  Planned p = PlanOf(
      R"(graph f(%x: bf16[50000,768], %i: i64[n], %g: bf16[n,768], %w: bf16[50000,768]) -> (bf16[50000,768]) {
  %0 = index_add(%x, %i, %g) : bf16[50000,768]
  %1 = multiply(%0, -0.1) : bf16[50000,768]
  %2 = add(%w, %1) : bf16[50000,768]
  return %2
})");
  EXPECT_EQ(p.Kinds(), "sort loop") << p.Text();
  EXPECT_EQ(p.AllOps(), "group_positions | segment_add multiply add") << p.Text();
  EXPECT_THAT(p.Reasons(), Contains("sort_result")) << p.Text();
  EXPECT_EQ(p.plan.groups[0].inputs.size(), 1u);
  EXPECT_EQ(p.plan.groups[0].outputs.size(), 3u);
}

TEST(FusionScatter, ComputedIndicesAreStoredForTheSort) {
  Planned p = PlanOf(
      R"(graph f(%x: f32[100], %i: i32[n], %g: f32[n]) -> (f32[100]) {
  %0 = remainder(%i, 100) : i32[n]
  %1 = exp(%g) : f32[n]
  %2 = index_add(%x, %0, %1) : f32[100]
  return %2
})");
  EXPECT_EQ(p.AllOps(), "remainder | exp | group_positions | segment_add") << p.Text();
  EXPECT_THAT(p.Reasons(), Contains("sort_operand")) << p.Text();
  EXPECT_THAT(p.Reasons(), Contains("gather_operand")) << p.Text();
}

TEST(FusionScatter, OneSortForTheSameIndices) {
  Planned p = PlanOf(
      R"(graph f(%x: f32[9,n], %i: i32[7], %a: f32[7,n], %b: f32[7,n]) -> (f32[9,n], f32[9,n]) {
  %0 = index_add(%x, %i, %a) : f32[9,n]
  %1 = index_add(%x, %i, %b) : f32[9,n]
  return %0, %1
})");
  EXPECT_EQ(p.Kinds(), "sort loop") << p.Text();
}

TEST(FusionScatter, SumsAreStoredBeforeTheyAreReduced) {
  for (const char* op : {"sum(%0) {axes=[1]} : f32[9]", "softmax(%0) {axis=1} : f32[9,n]",
                         "cumsum(%0) {axis=1} : f32[9,n]"}) {
    const std::string line(op), type = line.substr(line.rfind("f32"));
    Planned p = PlanOf(absl::StrCat("graph f(%x: f32[9,n], %i: i32[7], %a: f32[7,n]) -> (", type,
                                    ") {\n  %0 = index_add(%x, %i, %a) : f32[9,n]\n  %1 = ", line,
                                    "\n  return %1\n}"));
    EXPECT_EQ(p.Kinds(), "sort loop loop") << p.Text();
    EXPECT_THAT(p.Reasons(), Contains("segment_result")) << p.Text();
  }
  // What it adds to may be a reduction's result, in a kernel of its own.
  Planned p = PlanOf(
      R"(graph f(%x: f32[9,n], %i: i32[7], %a: f32[7,1]) -> (f32[9,1]) {
  %0 = sum(%x) {axes=[1], keepdims=true} : f32[9,1]
  %1 = index_add(%0, %i, %a) : f32[9,1]
  return %1
})");
  EXPECT_EQ(p.plan.groups.size(), 3u) << p.Text();
}

// Numbers are not in memory: what a segment sum reads of them is written first.
TEST(FusionScatter, CountingIsASumOfOnes) {
  Planned p = PlanOf(
      R"(graph f(%i: i32[n]) -> (i64[100]) {
  %z = constant {value=0} : i64[]
  %o = constant {value=1} : i64[]
  %0 = broadcast(%z) {shape=[100]} : i64[100]
  %1 = broadcast(%o) {shape=[n]} : i64[n]
  %2 = index_add(%0, %i, %1) : i64[100]
  return %2
})");
  EXPECT_THAT(p.Kinds(), HasSubstr("sort")) << p.Text();
  EXPECT_EQ(p.plan.groups.size(), 3u) << p.Text();
}

TEST(FusionScatter, IndicesFromViewsAndNumbersAreMadeDense) {
  for (const char* line :
       {"%0 = flip(%i) : i32[7]", "%0 = iota() {shape=[7], dtype=i32} : i32[7]",
        "%c = constant {value=3} : i32[]\n  %0 = broadcast(%c) {shape=[7]} : i32[7]"}) {
    Planned p =
        PlanOf(absl::StrCat("graph f(%x: f32[9,n], %i: i32[7], %a: f32[7,n]) -> (f32[9,n]) {\n  ",
                            line, "\n  %1 = index_add(%x, %0, %a) : f32[9,n]\n  return %1\n}"));
    EXPECT_EQ(p.Kinds(), "loop sort loop") << p.Text();
  }
}

TEST(FusionScatter, StridedIndicesAreMadeDense) {
  const std::string_view text =
      "graph f(%i: i32[7], %x: f32[9], %a: f32[7]) -> (f32[9]) { %0 = index_add(%x, %i, %a) : "
      "f32[9] return %0 }";
  Setting setting;
  setting.layouts.resize(3);
  EXPECT_EQ(PlanOf(text, setting).Kinds(), "sort loop");
  setting.layouts[0].strides = {Dim(1)};
  EXPECT_EQ(PlanOf(text, setting).Kinds(), "sort loop");
  setting.layouts[0].strides = {Dim(-1)};
  EXPECT_EQ(PlanOf(text, setting).Kinds(), "loop sort loop");
}

TEST(FusionScatter, WithoutFusion) {
  Setting setting;
  setting.options.fuse = false;
  Planned p = PlanOf(
      R"(graph f(%x: f32[9,n], %i: i32[7], %a: f32[7,n]) -> (f32[9,n]) {
  %0 = index_add(%x, %i, %a) : f32[9,n]
  %1 = relu(%0) : f32[9,n]
  return %1
})",
      setting);
  EXPECT_EQ(p.Kinds(), "sort loop loop") << p.Text();
}

TEST(FusionScatter, OrderItselfMayBeReturned) {
  Planned p = PlanOf(
      R"(graph f(%i: i32[5,n]) -> (i64[5,n], i64[9,n]) {
  %0, %1, %2 = group_positions(%i) {axis=0, size=[9]} : i64[5,n], i64[9,n], i64[9,n]
  return %0, %2
})");
  EXPECT_EQ(p.Kinds(), "sort") << p.Text();
  EXPECT_THAT(p.Reasons(), Contains("graph_output"));
  EXPECT_THAT(p.Reasons(), Not(Contains("sort_result")));
}

TEST(FusionScatter, VerifierFindsBrokenGroups) {
  Planned p = PlanOf(
      "graph f(%x: f32[9], %i: i32[7], %a: f32[7]) -> (f32[9]) { %0 = index_add(%x, %i, %a) : "
      "f32[9] return %0 }");
  ASSERT_EQ(p.plan.groups.size(), 2u);
  FusionPlan broken = p.plan;
  broken.groups[0].outputs.pop_back();
  EXPECT_THAT(std::string(VerifyFusionPlan(p.graph, broken).message()),
              HasSubstr("a sort group has"));
  broken = p.plan;
  broken.groups[0].sort.reset();
  EXPECT_THAT(std::string(VerifyFusionPlan(p.graph, broken).message()),
              HasSubstr("a sort group has"));
  broken = p.plan;
  broken.groups[1].reduce_axes = {0};
  EXPECT_FALSE(VerifyFusionPlan(p.graph, broken).ok());
  broken = p.plan;
  std::swap(broken.groups[0], broken.groups[1]);
  EXPECT_THAT(std::string(VerifyFusionPlan(p.graph, broken).message()),
              HasSubstr("before it is made"));
}

}  // namespace
}  // namespace jitfuse::internal
