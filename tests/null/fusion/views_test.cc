// Joins, gathers and pooling in the partition: what becomes one kernel, and why the rest does not.
#include "tests/null/fusion/fusion_kit.h"

namespace jitfuse::internal {
namespace {

TEST(FusionViews, RotaryIsOneGroup) {
  Planned p = PlanOf(
      R"(graph f(%q: bf16[b,h,s,64], %cos: bf16[s,64], %sin: bf16[s,64]) -> (bf16[b,h,s,64]) {
  %0 = slice(%q) {starts=[0,0,0,32]} : bf16[b,h,s,32]
  %1 = negative(%0) : bf16[b,h,s,32]
  %2 = slice(%q) {stops=[9223372036854775807,9223372036854775807,9223372036854775807,32]} : bf16[b,h,s,32]
  %3 = concatenate(%1, %2) {axis=3} : bf16[b,h,s,64]
  %4 = multiply(%q, %cos) : bf16[b,h,s,64]
  %5 = multiply(%3, %sin) : bf16[b,h,s,64]
  %6 = add(%4, %5) : bf16[b,h,s,64]
  return %6
})");
  ASSERT_EQ(p.plan.groups.size(), 1u) << p.Text();
  EXPECT_EQ(p.plan.groups[0].inputs.size(), 3u);
}

TEST(FusionViews, WhatIsJoinedIsComputedInTheJoinsKernel) {
  Planned p = PlanOf(R"(graph f(%a: f32[n,32], %b: f32[n,96]) -> (f32[n]) {
  %0 = relu(%a) : f32[n,32]
  %1 = gelu(%b) : f32[n,96]
  %2 = concatenate(%0, %1) {axis=1} : f32[n,128]
  %3 = square(%2) : f32[n,128]
  %4 = sum(%3) {axes=[1]} : f32[n]
  return %4
})");
  EXPECT_EQ(p.plan.groups.size(), 1u) << p.Text();
}

TEST(FusionViews, ManyDearOperandsOfAJoinAreStored) {
  std::string inputs, ops, names;
  for (int i = 0; i < 6; ++i) {
    absl::StrAppend(&inputs, i > 0 ? ", " : "", "%x", i, ": f32[n,32]");
    absl::StrAppend(&ops, "%", i, " = gelu(%x", i, ") : f32[n,32]\n");
    absl::StrAppend(&names, i > 0 ? ", " : "", "%", i);
  }
  Planned p =
      PlanOf(absl::StrCat("graph f(", inputs, ") -> (f32[n,192]) {\n", ops, "%c = concatenate(",
                          names, ") {axis=1} : f32[n,192]\n", "return %c\n}\n"));
  EXPECT_GT(p.plan.groups.size(), 1u) << p.Text();  // not each gelu for all 192 columns
}

TEST(FusionViews, PartOfAValueIsComputedAlone) {
  Planned p = PlanOf(R"(graph f(%x: f32[n,256]) -> (f32[n,32]) {
  %0 = gelu(%x) : f32[n,256]
  %1 = slice(%0) {starts=[0,64], stops=[9223372036854775807,96]} : f32[n,32]
  %2 = add(%1, 1) : f32[n,32]
  return %2
})");
  EXPECT_EQ(p.plan.groups.size(), 1u) << p.Text();
}

TEST(FusionViews, EmbeddingWithNormIsOneGroup) {
  Planned p = PlanOf(
      R"(graph f(%ids: i64[b,s], %table: bf16[50000,768], %pos: bf16[s,768], %w: bf16[768]) -> (bf16[b,s,768]) {
  %0 = embedding(%ids, %table) : bf16[b,s,768]
  %1 = add(%0, %pos) : bf16[b,s,768]
  %2 = rms_norm(%1, %w) : bf16[b,s,768]
  return %2
})");
  EXPECT_EQ(p.plan.groups.size(), 1u) << p.Text();
}

TEST(FusionViews, IndicesAndWhatFollowsAGatherFuse) {
  Planned p = PlanOf(R"(graph f(%x: f32[40,n], %i: i32[n]) -> (f32[n]) {
  %0 = add(%i, 1) : i32[n]
  %1 = remainder(%0, 40) : i32[n]
  %2 = reshape(%1) {shape=[1,n]} : i32[1,n]
  %3 = take_along_axis(%x, %2) {axis=0} : f32[1,n]
  %4 = exp(%3) : f32[1,n]
  %5 = reshape(%4) {shape=[n]} : f32[n]
  return %5
})");
  EXPECT_EQ(p.plan.groups.size(), 1u) << p.Text();
}

TEST(FusionViews, WhatAGatherPicksFromIsStored) {
  Planned p = PlanOf(R"(graph f(%x: f32[64,256], %i: i32[32]) -> (f32[32,256]) {
  %0 = relu(%x) : f32[64,256]
  %1 = take(%0, %i) : f32[32,256]
  %2 = add(%1, 1) : f32[32,256]
  return %2
})");
  EXPECT_EQ(p.AllOps(), "relu | take add") << p.Text();
  EXPECT_EQ(p.Reasons().count("gather_operand"), 1u) << p.Text();
}

TEST(FusionViews, AGatherPicksFromAViewOfAnInput) {
  Planned p = PlanOf(R"(graph f(%x: f32[4,n,8], %i: i32[m]) -> (f32[m,4,8]) {
  %0 = transpose(%x) {perm=[1,0,2]} : f32[n,4,8]
  %1 = flip(%0) {axes=[0]} : f32[n,4,8]
  %2 = take(%1, %i) : f32[m,4,8]
  return %2
})");
  EXPECT_EQ(p.AllOps(), "take") << p.Text();
}

TEST(FusionViews, AValueIsGatheredFromAndReadInPlace) {
  Planned p = PlanOf(R"(graph f(%x: f32[64,256], %i: i32[64]) -> (f32[64,256]) {
  %0 = relu(%x) : f32[64,256]
  %1 = take(%0, %i) : f32[64,256]
  %2 = add(%1, %0) : f32[64,256]
  return %2
})");
  EXPECT_EQ(p.plan.groups.size(), 2u) << p.Text();
}

TEST(FusionViews, BytesAreOfWhatIsRead) {
  Planned p = PlanOf(R"(graph f(%i: i32[8], %t: f32[1000,16], %x: f32[8,96]) -> (f32[8,16]) {
  %0 = embedding(%i, %t) : f32[8,16]
  %1 = slice(%x) {starts=[0,32], stops=[8,48]} : f32[8,16]
  %2 = add(%0, %1) : f32[8,16]
  return %2
})");
  ASSERT_EQ(p.plan.groups.size(), 1u) << p.Text();
  EXPECT_TRUE(GroupBytes(p.graph, p.plan.groups[0]).Is(8 * 4 + 3 * 8 * 16 * 4)) << p.Text();
}

TEST(FusionViews, PoolingIsOneGroup) {
  for (std::string_view text : {R"(graph f(%x: f32[n,c,56,56]) -> (f32[n,c,28,28]) {
  %0 = max_pool(%x) {kernel=[3,3], stride=[2,2], padding=[1,1]} : f32[n,c,28,28]
  %1 = relu(%0) : f32[n,c,28,28]
  return %1
})",
                                R"(graph f(%x: f16[n,56,56,64]) -> (f16[n,28,28,64]) {
  %0 = relu(%x) : f16[n,56,56,64]
  %1 = max_pool(%0) {kernel=[2,2], channels_last=true} : f16[n,28,28,64]
  return %1
})",
                                R"(graph f(%x: bf16[n,c,28,28]) -> (bf16[n,c,14,14]) {
  %0 = avg_pool(%x) {kernel=[3,3], stride=[2,2], padding=[1,1], count_include_pad=false} : bf16[n,c,14,14]
  return %0
})",
                                R"(graph f(%x: f32[n,c,28,27]) -> (f32[n,c,15,14]) {
  %0 = avg_pool(%x) {kernel=[3,3], stride=[2,2], padding=[1,1], ceil_mode=true} : f32[n,c,15,14]
  return %0
})",
                                R"(graph f(%x: f32[n,l]) -> (f32[n,l]) {
  %0 = avg_pool(%x) {kernel=[3], stride=[1], padding=[1]} : f32[n,l]
  return %0
})"}) {
    Planned p = PlanOf(text);
    EXPECT_EQ(p.plan.groups.size(), 1u) << p.Text();
  }
}

TEST(FusionViews, PadsAreOneGroup) {
  Planned p = PlanOf(R"(graph f(%x: f32[n,30,40]) -> (f32[n,34,46]) {
  %0 = exp(%x) : f32[n,30,40]
  %1 = pad_reflect(%x) {low=[0,2,3], high=[0,2,3]} : f32[n,34,46]
  %2 = pad(%x) {low=[0,2,3], high=[0,2,3], value=1} : f32[n,34,46]
  %3 = add(%1, %2) : f32[n,34,46]
  return %3
})");
  EXPECT_EQ(p.plan.groups.size(), 1u) << p.Text();
}

TEST(FusionViews, AMatMulOperandWithMasksIsCopied) {
  Planned p = PlanOf(R"(graph f(%x: f32[64,30], %w: f32[32,16]) -> (f32[64,16]) {
  %0 = pad(%x) {low=[0,0], high=[0,2]} : f32[64,32]
  %1 = matmul(%0, %w) : f32[64,16]
  return %1
})");
  EXPECT_EQ(p.AllOps(), "pad | matmul") << p.Text();
}

}  // namespace
}  // namespace jitfuse::internal
