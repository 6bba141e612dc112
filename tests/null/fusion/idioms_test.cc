// Which groups the usual chains become: one test an idiom.
#include "tests/null/fusion/fusion_kit.h"

namespace jitfuse::internal {
namespace {

TEST(Fusion, PointwiseChainIsOneGroup) {
  Planned p = PlanOf(R"(graph f(%a: f32[n,768], %b: f32[n,768], %c: f32[n,768]) -> (f32[n,768]) {
  %0 = multiply(%a, %b) : f32[n,768]
  %1 = add(%0, %c) : f32[n,768]
  %2 = relu(%1) : f32[n,768]
  return %2
})");
  EXPECT_EQ(p.AllOps(), "multiply add relu") << p.Text();
  EXPECT_EQ(p.plan.groups[0].inputs.size(), 3u);
  EXPECT_EQ(p.Reasons(), std::multiset<std::string>({"graph_output"}));
  EXPECT_EQ(GroupBytes(p.graph, p.plan.groups[0]).Eval({10}), 4 * 768 * 10 * 4);
}

TEST(Fusion, BroadcastOfBiasAndScalarIsFree) {
  Planned p = PlanOf(R"(graph f(%x: f32[n,768], %b: f32[768], %s: scalar f32) -> (f32[n,768]) {
  %0 = add(%x, %b) : f32[n,768]
  %1 = multiply(%0, %s) : f32[n,768]
  %2 = gelu(%1) : f32[n,768]
  return %2
})");
  EXPECT_EQ(p.AllOps(), "add multiply gelu") << p.Text();
}

TEST(Fusion, CheapProducerOfABroadcastIsRecomputed) {
  Planned p = PlanOf(R"(graph f(%x: f32[n,768], %b: f32[768]) -> (f32[n,768]) {
  %0 = multiply(%b, %b) : f32[768]
  %1 = add(%x, %0) : f32[n,768]
  return %1
})");
  EXPECT_EQ(p.plan.groups.size(), 1u) << p.Text();
}

TEST(Fusion, DearProducerOfABroadcastIsABorder) {
  Planned p = PlanOf(R"(graph f(%x: f32[64,768], %b: f32[768]) -> (f32[64,768]) {
  %0 = exp(%b) : f32[768]
  %1 = add(%x, %0) : f32[64,768]
  return %1
})");
  EXPECT_EQ(p.AllOps(), "exp | add") << p.Text();
  EXPECT_EQ(p.Reasons().count("recompute_too_dear"), 1u) << p.Text();
  EXPECT_EQ(p.Detail(Reason::kRecomputeTooDear), "fusing recomputes exp 64 times");
}

TEST(Fusion, DearProducerOfFewRepeatsIsRecomputed) {
  Planned p = PlanOf(R"(graph f(%x: f32[4,768], %b: f32[768]) -> (f32[4,768]) {
  %0 = exp(%b) : f32[768]
  %1 = add(%x, %0) : f32[4,768]
  return %1
})");
  EXPECT_EQ(p.plan.groups.size(), 1u) << p.Text();
}

TEST(Fusion, ReshapesAndTransposesShareAGroup) {
  Planned p = PlanOf(R"(graph f(%x: f32[n,12,64]) -> (f32[n,64,12], f32[n,768]) {
  %0 = exp(%x) : f32[n,12,64]
  %1 = transpose(%0) {perm=[0,2,1]} : f32[n,64,12]
  %2 = tanh(%1) : f32[n,64,12]
  %3 = reshape(%0) {shape=[n,768]} : f32[n,768]
  %4 = add(%3, 1.0) : f32[n,768]
  return %2, %4
})");
  EXPECT_EQ(p.plan.groups.size(), 1u) << p.Text();
  EXPECT_EQ(p.plan.groups[0].outputs.size(), 2u);
}

TEST(Fusion, DearValueReadAtTwoPlacesIsRecomputed) {
  Planned p = PlanOf(R"(graph f(%x: f32[64,64]) -> (f32[64,64]) {
  %0 = tanh(%x) : f32[64,64]
  %1 = transpose(%0) {perm=[1,0]} : f32[64,64]
  %2 = add(%0, %1) : f32[64,64]
  return %2
})");
  EXPECT_EQ(p.plan.groups.size(), 1u) << p.Text();  // tanh twice is bearable; reads x twice
  Planned q = PlanOf(R"(graph f(%x: f32[64,64]) -> (f32[64,64]) {
  %0 = softmax(%x) {axis=1} : f32[64,64]
  %1 = transpose(%0) {perm=[1,0]} : f32[64,64]
  %2 = add(%0, %1) : f32[64,64]
  return %2
})");
  EXPECT_EQ(q.plan.groups.size(), 2u) << q.Text();
  EXPECT_EQ(q.Reasons().count("recompute_too_dear"), 1u) << q.Text();
}

TEST(Fusion, SoftmaxIsOneGroup) {
  for (const char* op : {"softmax", "log_softmax"}) {
    Planned p = PlanOf(absl::StrCat(
        "graph f(%x: f32[n,4096], %m: f32[n,4096]) -> (f32[n,4096]) {\n  %0 = add(%x, %m) : "
        "f32[n,4096]\n  %1 = ",
        op, "(%0) {axis=1} : f32[n,4096]\n  %2 = multiply(%1, 2.0) : f32[n,4096]\n  return %2\n}"));
    ASSERT_EQ(p.plan.groups.size(), 1u) << p.Text();
    EXPECT_EQ(p.plan.groups[0].reduce_axes, std::vector<int>({1}));
    EXPECT_EQ(p.plan.groups[0].domain.size(), 2u);
  }
}

TEST(Fusion, DependentReductionsOverOneAxisAreOneGroup) {
  Planned p = PlanOf(R"(graph f(%x: f32[n,512]) -> (f32[n,512], f32[n]) {
  %0 = max(%x) {axes=[1], keepdims=true} : f32[n,1]
  %1 = subtract(%x, %0) : f32[n,512]
  %2 = exp(%1) : f32[n,512]
  %3 = sum(%2) {axes=[1], keepdims=false} : f32[n]
  %4 = reshape(%3) {shape=[n,1]} : f32[n,1]
  %5 = divide(%2, %4) : f32[n,512]
  %6 = log(%3) : f32[n]
  return %5, %6
})");
  ASSERT_EQ(p.plan.groups.size(), 1u) << p.Text();
  EXPECT_EQ(p.plan.groups[0].outputs.size(), 2u);  // of elements and of rows
}

TEST(Fusion, NormsWithPrologueAndTailAreOneGroup) {
  Planned p = PlanOf(
      R"(graph f(%x: bf16[n,768], %r: bf16[n,768], %w: bf16[768], %b: bf16[768]) -> (bf16[n,768], bf16[n,768]) {
  %0 = add(%x, %r) : bf16[n,768]
  %1 = layer_norm(%0, %w, %b) {norm_dims=1, eps=1e-05} : bf16[n,768]
  %2 = gelu(%1) : bf16[n,768]
  return %0, %2
})");
  ASSERT_EQ(p.plan.groups.size(), 1u) << p.Text();
  Planned q = PlanOf(R"(graph f(%x: f32[b,s,768], %w: f32[768]) -> (f32[b,s,768]) {
  %0 = rms_norm(%x, %w) {norm_dims=1, eps=1e-06} : f32[b,s,768]
  %1 = relu(%0) : f32[b,s,768]
  return %1
})");
  ASSERT_EQ(q.plan.groups.size(), 1u) << q.Text();
}

TEST(Fusion, ReductionAfterReshapeTakesTheReducedShape) {
  Planned p = PlanOf(R"(graph f(%x: f32[n,768], %b: f32[768]) -> (f32[n,12], f32[n,768]) {
  %0 = add(%x, %b) : f32[n,768]
  %1 = tanh(%0) : f32[n,768]
  %2 = reshape(%1) {shape=[n,12,64]} : f32[n,12,64]
  %3 = sum(%2) {axes=[2], keepdims=false} : f32[n,12]
  return %3, %1
})");
  ASSERT_EQ(p.plan.groups.size(), 1u) << p.Text();
  EXPECT_EQ(p.plan.groups[0].domain.size(), 3u);
  EXPECT_EQ(p.plan.groups[0].reduce_axes, std::vector<int>({2}));
}

TEST(Fusion, ReductionAlongATransposedAxis) {
  Planned p = PlanOf(R"(graph f(%x: f32[8,12,64]) -> (f32[8,64]) {
  %0 = tanh(%x) : f32[8,12,64]
  %1 = transpose(%0) {perm=[0,2,1]} : f32[8,64,12]
  %2 = sum(%1) {axes=[2], keepdims=false} : f32[8,64]
  return %2
})");
  ASSERT_EQ(p.plan.groups.size(), 1u) << p.Text();
  EXPECT_EQ(p.plan.groups[0].reduce_axes, std::vector<int>({1}));
}

TEST(Fusion, DifferentReduceAxesAreABorder) {
  Planned p = PlanOf(R"(graph f(%x: f32[256,512]) -> (f32[512], f32[256]) {
  %0 = tanh(%x) : f32[256,512]
  %1 = sum(%0) {axes=[1], keepdims=false} : f32[256]
  %2 = max(%0) {axes=[0], keepdims=false} : f32[512]
  return %2, %1
})");
  EXPECT_EQ(p.plan.groups.size(), 2u) << p.Text();
  EXPECT_EQ(p.Reasons().count("reduce_axes_differ"), 1u) << p.Text();
}

TEST(Fusion, ReductionOfAReductionIsABorder) {
  Planned p = PlanOf(R"(graph f(%x: f32[256,512]) -> (f32[]) {
  %0 = max(%x) {axes=[1], keepdims=false} : f32[256]
  %1 = sum(%0) {axes=[0], keepdims=false} : f32[]
  return %1
})");
  EXPECT_EQ(p.AllOps(), "max | sum") << p.Text();
  EXPECT_EQ(p.Reasons().count("reduce_then_reduce"), 1u) << p.Text();
}

TEST(Fusion, RowsUsedAlongOtherAxesAreABorder) {
  Planned p = PlanOf(R"(graph f(%x: f32[256,256]) -> (f32[256,256]) {
  %0 = sum(%x) {axes=[1], keepdims=false} : f32[256]
  %1 = add(%x, %0) : f32[256,256]
  return %1
})");
  EXPECT_EQ(p.AllOps(), "sum | add") << p.Text();
  EXPECT_EQ(p.Reasons().count("reduce_then_reduce"), 1u) << p.Text();
}

TEST(Fusion, TwoDomainsAreABorder) {
  Planned p = PlanOf(R"(graph f(%x: f32[64,768], %z: f32[12288,4]) -> (f32[12288,4], f32[64]) {
  %0 = softmax(%x) {axis=1} : f32[64,768]
  %1 = sum(%0) {axes=[1], keepdims=false} : f32[64]
  %2 = reshape(%0) {shape=[12288,4]} : f32[12288,4]
  %3 = max(%z) {axes=[1], keepdims=true} : f32[12288,1]
  %4 = add(%2, %3) : f32[12288,4]
  return %4, %1
})");
  EXPECT_EQ(p.plan.groups.size(), 2u) << p.Text();
  EXPECT_EQ(p.Reasons().count("reduce_axes_differ"), 1u) << p.Text();
}

TEST(Fusion, FewLongRowsGetATailOfTheirOwn) {
  Planned p = PlanOf(R"(graph f(%x: f32[1048576]) -> (f32[1048576]) {
  %0 = sum(%x) {axes=[0], keepdims=true} : f32[1]
  %1 = divide(%x, %0) : f32[1048576]
  return %1
})");
  EXPECT_EQ(p.AllOps(), "sum | divide") << p.Text();
  EXPECT_EQ(p.Reasons().count("domain_differs"), 1u) << p.Text();
}

TEST(Fusion, ProducersSinkIntoTheirOnlyReader) {
  Planned p = PlanOf(R"(graph f(%x: f32[n,64], %a: f32[n,32], %b: f32[32,64]) -> (f32[n,64]) {
  %0 = tanh(%x) : f32[n,64]
  %1 = matmul(%a, %b) : f32[n,64]
  %2 = add(%0, %1) : f32[n,64]
  return %2
})");
  EXPECT_EQ(p.AllOps(), "matmul | tanh add") << p.Text();
  EXPECT_EQ(p.Reasons(), (std::multiset<std::string>{"matmul_result", "graph_output"}));
}

TEST(Fusion, MatmulWithBiasAndActivation) {
  Planned p = PlanOf(R"(graph f(%x: f32[n,784], %w: f32[256,784], %b: f32[256]) -> (f32[n,256]) {
  %0 = relu(%x) : f32[n,784]
  %1 = linear(%0, %w, %b) : f32[n,256]
  %2 = softmax(%1) {axis=1} : f32[n,256]
  return %2
})");
  EXPECT_EQ(p.Kinds(), "loop gemm loop") << p.Text();
  EXPECT_EQ(p.Reasons(),
            (std::multiset<std::string>{"matmul_operand", "matmul_result", "graph_output"}));
  const GemmCall& call = *p.plan.groups[1].gemm;
  EXPECT_FALSE(call.transpose_a);
  EXPECT_TRUE(call.transpose_b);
  EXPECT_EQ(Concrete(call, {5}), (GemmProblem{.batch = 1,
                                              .m = 5,
                                              .n = 256,
                                              .k = 784,
                                              .dtype = DType::kF32,
                                              .transpose_a = false,
                                              .transpose_b = true,
                                              .lda = 784,
                                              .ldb = 784,
                                              .ldd = 256,
                                              .symbolic_m = true}));
}

TEST(Fusion, ResidualStreamDoesNotCycle) {
  Planned p =
      PlanOf(R"(graph f(%x: f32[n,64], %r: f32[n,64], %w: f32[64,64], %g: f32[64]) -> (f32[n,64]) {
  %0 = multiply(%x, %r) : f32[n,64]
  %1 = tanh(%0) : f32[n,64]
  %2 = rms_norm(%1, %g) {norm_dims=1, eps=1e-06} : f32[n,64]
  %3 = matmul(%2, %w) : f32[n,64]
  %4 = add(%1, %3) : f32[n,64]
  return %4
})");
  EXPECT_EQ(p.Kinds(), "loop gemm loop") << p.Text();
  EXPECT_EQ(p.Reasons().count("would_cycle"), 1u) << p.Text();
}

TEST(Fusion, SiblingsThatReadTheSameTensorShareAGroup) {
  Planned p = PlanOf(R"(graph f(%x: f32[n,512], %y: f32[n,512]) -> (f32[n,512], f32[n]) {
  %0 = gelu(%x) : f32[n,512]
  %1 = multiply(%x, %y) : f32[n,512]
  %2 = sum(%1) {axes=[1], keepdims=false} : f32[n]
  return %0, %2
})");
  EXPECT_EQ(p.plan.groups.size(), 1u) << p.Text();
}

TEST(Fusion, OutputViewsAreStoredByTheirMaker) {
  Planned p = PlanOf(R"(graph f(%x: f32[n,12,64]) -> (f32[12,n,64], f32[n,12,64]) {
  %0 = exp(%x) : f32[n,12,64]
  %1 = transpose(%0) {perm=[1,0,2]} : f32[12,n,64]
  return %1, %0
})");
  EXPECT_EQ(p.Kinds(), "loop") << p.Text();
  EXPECT_EQ(p.plan.groups[0].outputs.size(), 2u);
}

TEST(Fusion, OutputViewsOfInputsAreCopies) {
  Planned p = PlanOf(
      R"(graph f(%x: f32[n,12,64], %s: scalar f32) -> (f32[12,n,64], f32[n,12,64], f32[], f32[3,4]) {
  %1 = transpose(%x) {perm=[1,0,2]} : f32[12,n,64]
  %2 = broadcast(%s) {shape=[3,4]} : f32[3,4]
  return %1, %x, %s, %2
})");
  EXPECT_EQ(p.Kinds(), "copy copy copy copy") << p.Text();
  EXPECT_EQ(p.Reasons().count("output_copy"), 4u) << p.Text();
}

TEST(Fusion, OutputReshapeOfAProductIsARenaming) {
  Planned p = PlanOf(R"(graph f(%a: f32[n,32], %b: f32[32,64]) -> (f32[n,8,8]) {
  %0 = matmul(%a, %b) : f32[n,64]
  %1 = reshape(%0) {shape=[n,8,8]} : f32[n,8,8]
  return %1
})");
  EXPECT_EQ(p.Kinds(), "gemm view") << p.Text();
  Planned q = PlanOf(R"(graph f(%a: f32[n,32], %b: f32[32,64]) -> (f32[64,n]) {
  %0 = matmul(%a, %b) : f32[n,64]
  %1 = transpose(%0) {perm=[1,0]} : f32[64,n]
  return %1
})");
  EXPECT_EQ(q.Kinds(), "gemm copy") << q.Text();
}

TEST(Fusion, BroadcastOutputOfARowValueIsStoredInTheSameGroup) {
  Planned p = PlanOf(R"(graph f(%x: f32[n,512]) -> (f32[n,512]) {
  %0 = sum(%x) {axes=[1], keepdims=true} : f32[n,1]
  %1 = broadcast(%0) {shape=[n,512]} : f32[n,512]
  return %1
})");
  EXPECT_EQ(p.plan.groups.size(), 1u) << p.Text();
}

TEST(Fusion, IotaAndConstantsJoinAnyGroup) {
  Planned p = PlanOf(R"(graph f(%x: i64[4,8]) -> (i64[4,8], i64[4,8]) {
  %0 = iota() {shape=[4,8], axis=1, dtype=i64} : i64[4,8]
  %1 = add(%x, %0) : i64[4,8]
  return %1, %0
})");
  EXPECT_EQ(p.AllOps(), " | add") << p.Text();
  EXPECT_EQ(p.Kinds(), "loop loop");
}

TEST(Fusion, ScalarsAndEmptyShapes) {
  Planned p =
      PlanOf(R"(graph f(%x: f32[0,8], %a: f32[], %s: scalar f32) -> (f32[0,8], f32[8], f32[]) {
  %0 = exp(%x) : f32[0,8]
  %1 = sum(%0) {axes=[0], keepdims=false} : f32[8]
  %2 = multiply(%a, %s) : f32[]
  %3 = exp(%2) : f32[]
  return %0, %1, %3
})");
  EXPECT_GE(p.plan.groups.size(), 2u) << p.Text();
}

}  // namespace
}  // namespace jitfuse::internal
