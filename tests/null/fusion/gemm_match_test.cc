#include "codegen/fusion/gemm_match.h"

#include "tests/null/fusion/fusion_kit.h"

namespace jitfuse::internal {
namespace {

struct Case {
  const char* name;
  const char* text;
  const char* kinds;
  GemmProblem problem;  // with n=5, b=3
};

const Case kCases[] = {
    {"plain",
     R"(graph f(%a: f32[n,32], %b: f32[32,64]) -> (f32[n,64]) {
  %0 = matmul(%a, %b) : f32[n,64]
  return %0
})",
     "gemm",
     {.batch = 1, .m = 5, .n = 64, .k = 32, .lda = 32, .ldb = 64, .ldd = 64}},
    {"transpose attributes",
     R"(graph f(%a: f32[32,n], %b: f32[64,32]) -> (f32[n,64]) {
  %0 = matmul(%a, %b) {transpose_a=true, transpose_b=true} : f32[n,64]
  return %0
})",
     "gemm",
     {.batch = 1,
      .m = 5,
      .n = 64,
      .k = 32,
      .transpose_a = true,
      .transpose_b = true,
      .lda = 5,
      .ldb = 32,
      .ldd = 64}},
    {"transpose view",
     R"(graph f(%a: f32[n,32], %b: f32[64,32]) -> (f32[n,64]) {
  %0 = transpose(%b) {perm=[1,0]} : f32[32,64]
  %1 = matmul(%a, %0) : f32[n,64]
  return %1
})",
     "gemm",
     {.batch = 1, .m = 5, .n = 64, .k = 32, .transpose_b = true, .lda = 32, .ldb = 32, .ldd = 64}},
    {"batch",
     R"(graph f(%a: f32[2,3,n,32], %b: f32[2,3,32,64]) -> (f32[2,3,n,64]) {
  %0 = matmul(%a, %b) : f32[2,3,n,64]
  return %0
})",
     "gemm",
     {.batch = 6,
      .m = 5,
      .n = 64,
      .k = 32,
      .lda = 32,
      .ldb = 64,
      .ldd = 64,
      .batch_stride_a = 160,
      .batch_stride_b = 2048,
      .batch_stride_d = 320}},
    {"matrices that share B are rows of one product",
     R"(graph f(%a: f32[2,3,n,32], %b: f32[32,64]) -> (f32[2,3,n,64]) {
  %0 = matmul(%a, %b) : f32[2,3,n,64]
  return %0
})",
     "gemm",
     {.batch = 1, .m = 30, .n = 64, .k = 32, .lda = 32, .ldb = 64, .ldd = 64}},
    {"matrices of transposed rows that share B are not",
     R"(graph f(%a: f32[6,32,n], %b: f32[32,64]) -> (f32[6,n,64]) {
  %0 = matmul(%a, %b) {transpose_a=true} : f32[6,n,64]
  return %0
})",
     "gemm",
     {.batch = 6,
      .m = 5,
      .n = 64,
      .k = 32,
      .transpose_a = true,
      .lda = 5,
      .ldb = 64,
      .ldd = 64,
      .batch_stride_a = 160,
      .batch_stride_b = 0,
      .batch_stride_d = 320}},
    {"heads are read in place",
     R"(graph f(%q: f32[7,4,8], %k: f32[7,4,8]) -> (f32[4,7,7]) {
  %0 = transpose(%q) {perm=[1,0,2]} : f32[4,7,8]
  %1 = transpose(%k) {perm=[1,2,0]} : f32[4,8,7]
  %2 = matmul(%0, %1) : f32[4,7,7]
  return %2
})",
     "gemm",
     {.batch = 4,
      .m = 7,
      .n = 7,
      .k = 8,
      .transpose_b = true,
      .lda = 32,
      .ldb = 32,
      .ldd = 7,
      .batch_stride_a = 8,
      .batch_stride_b = 8,
      .batch_stride_d = 49}},
    {"reshape that merges rows",
     R"(graph f(%a: f32[3,n,32], %b: f32[32,64]) -> (f32[3*n,64]) {
  %0 = reshape(%a) {shape=[3*n,32]} : f32[3*n,32]
  %1 = matmul(%0, %b) : f32[3*n,64]
  return %1
})",
     "gemm",
     {.batch = 1, .m = 15, .n = 64, .k = 32, .lda = 32, .ldb = 64, .ldd = 64}},
    {"batch of heads that does not nest is copied",
     R"(graph f(%q: f32[2,7,4,8], %b: f32[8,3]) -> (f32[2,4,7,3]) {
  %0 = transpose(%q) {perm=[0,2,1,3]} : f32[2,4,7,8]
  %1 = matmul(%0, %b) : f32[2,4,7,3]
  return %1
})",
     "copy gemm",
     {.batch = 1, .m = 56, .n = 3, .k = 8, .lda = 8, .ldb = 3, .ldd = 3}},
    {"no unit stride is copied",
     R"(graph f(%a: f32[6,8,10], %b: f32[6,3]) -> (f32[10,8,3]) {
  %0 = transpose(%a) {perm=[2,1,0]} : f32[10,8,6]
  %1 = matmul(%0, %b) : f32[10,8,3]
  return %1
})",
     "copy gemm",
     {.batch = 1, .m = 80, .n = 3, .k = 6, .lda = 6, .ldb = 3, .ldd = 3}},
    {"inner batch repeats",
     R"(graph f(%a: f32[2,1,4,8], %b: f32[2,3,8,5]) -> (f32[2,3,4,5]) {
  %0 = matmul(%a, %b) : f32[2,3,4,5]
  return %0
})",
     "copy gemm",
     {.batch = 6,
      .m = 4,
      .n = 5,
      .k = 8,
      .lda = 8,
      .ldb = 5,
      .ldd = 5,
      .batch_stride_a = 32,
      .batch_stride_b = 40,
      .batch_stride_d = 20}},
    {"repeated rows are copied",
     R"(graph f(%a: f32[1,8], %b: f32[8,5]) -> (f32[4,5]) {
  %0 = broadcast(%a) {shape=[4,8]} : f32[4,8]
  %1 = matmul(%0, %b) : f32[4,5]
  return %1
})",
     "copy gemm",
     {.batch = 1, .m = 4, .n = 5, .k = 8, .lda = 8, .ldb = 5, .ldd = 5}},
    {"a constant operand is made first",
     R"(graph f(%b: f32[8,5]) -> (f32[4,5]) {
  %c = constant {value=2.0} : f32[]
  %0 = broadcast(%c) {shape=[4,8]} : f32[4,8]
  %1 = matmul(%0, %b) : f32[4,5]
  return %1
})",
     "copy gemm",
     {.batch = 1, .m = 4, .n = 5, .k = 8, .lda = 8, .ldb = 5, .ldd = 5}},
    {"one operand twice",
     R"(graph f(%a: f32[8,8]) -> (f32[8,8]) {
  %0 = matmul(%a, %a) {transpose_b=true} : f32[8,8]
  return %0
})",
     "gemm",
     {.batch = 1, .m = 8, .n = 8, .k = 8, .transpose_b = true, .lda = 8, .ldb = 8, .ldd = 8}},
    {"vectors",
     R"(graph f(%a: f32[1,8], %b: f32[8,1]) -> (f32[1,1]) {
  %0 = matmul(%a, %b) : f32[1,1]
  return %0
})",
     "gemm",
     {.batch = 1, .m = 1, .n = 1, .k = 8, .lda = 8, .ldb = 1, .ldd = 1}},
};

TEST(GemmMatch, Table) {
  for (const Case& c : kCases) {
    SCOPED_TRACE(c.name);
    Planned p = PlanOf(c.text);
    ASSERT_EQ(p.Kinds(), c.kinds) << p.Text();
    const Group& gemm = p.plan.groups.back();
    ASSERT_TRUE(gemm.gemm);
    GemmProblem problem = Concrete(*gemm.gemm, std::vector<int64_t>(4, 5));
    EXPECT_EQ(problem.symbolic_m, !gemm.gemm->m.IsConstant());
    problem.symbolic_m = false;
    EXPECT_EQ(problem, c.problem) << p.Text();
    EXPECT_EQ(problem.Key(), c.problem.Key());
    EXPECT_EQ(gemm.inputs.size(), 2u);
    bool copies = std::string(c.kinds) != "gemm";
    EXPECT_EQ(p.Reasons().count("copy_operand"), copies ? 1u : 0u) << p.Text();
  }
}

TEST(GemmMatch, KeysDiffer) {
  GemmProblem a{.batch = 1, .m = 2, .n = 3, .k = 4};
  GemmProblem b = a;
  b.transpose_a = true;
  EXPECT_NE(a.Key(), b.Key());
  b = a;
  b.align = 4;
  EXPECT_NE(a.Key(), b.Key());
}

TEST(GemmMatch, RejectionsAreNoted) {
  Planned p = PlanOf(kCases[8].text);
  EXPECT_EQ(p.Reasons(),
            (std::multiset<std::string>{"copy_operand", "gemm_layout", "graph_output"}))
      << p.Text();
  EXPECT_EQ(p.Detail(Reason::kGemmLayout),
            "operand a f32[2,4,7,8]: the strides of its batch dims do not nest");
}

TEST(GemmMatch, AProducerStoresTheOrderTheProductNeeds) {
  Planned p = PlanOf(R"(graph f(%q: f32[2,7,4,8], %b: f32[8,3]) -> (f32[2,4,7,3]) {
  %0 = tanh(%q) : f32[2,7,4,8]
  %1 = transpose(%0) {perm=[0,2,1,3]} : f32[2,4,7,8]
  %2 = matmul(%1, %b) : f32[2,4,7,3]
  return %2
})");
  EXPECT_EQ(p.Kinds(), "loop gemm") << p.Text();
}

TEST(GemmMatch, StridedInputs) {
  const char* text = R"(graph f(%a: f32[4,8], %b: f32[8,5]) -> (f32[4,5]) {
  %0 = matmul(%a, %b) : f32[4,5]
  return %0
})";
  Setting padded;
  padded.layouts = {{{Dim(12), Dim(1)}, 16}, {{Dim(1), Dim(8)}, 16}};
  Planned p = PlanOf(text, padded);
  ASSERT_EQ(p.Kinds(), "gemm") << p.Text();
  EXPECT_EQ(Concrete(*p.plan.groups[0].gemm, {}).lda, 12);
  EXPECT_TRUE(Concrete(*p.plan.groups[0].gemm, {}).transpose_b);
  Setting stepped;
  stepped.layouts = {{{Dim(16), Dim(2)}, 16}, {{Dim(0), Dim(1)}, 16}};
  Planned q = PlanOf(text, stepped);
  EXPECT_EQ(q.Kinds(), "copy copy gemm") << q.Text();
  Setting symbolic;  // a stride symbol says nothing about the row's length
  symbolic.layouts = {{{SizeExpr::Symbol(0), Dim(1)}, 16}, {}};
  EXPECT_EQ(PlanOf(text, symbolic).Kinds(), "copy gemm");
  Setting wrong;
  wrong.layouts = {{}};
  Graph graph = Prepared(text);
  EXPECT_FALSE(Partition(graph, wrong.target, wrong.options, wrong.library, wrong.layouts).ok());
}

TEST(LowerMatMul, ReasonsAndGroups) {
  struct {
    const char* dtype;
    bool use_library;
    GemmSupportFn library;
    const char* reason;
  } cases[] = {{"i32", true, FakeLibrary, "gemm_dtype"},
               {"f64", true, FakeLibrary, "gemm_dtype"},
               {"f16", true, FakeLibrary, "gemm_dtype"},
               {"f32", false, FakeLibrary, "gemm_off"},
               {"bf16", true, [](DType) { return std::optional<Reason>(Reason::kGemmNoLibrary); },
                "gemm_no_library"}};
  for (const auto& c : cases) {
    SCOPED_TRACE(c.dtype);
    Setting setting;
    setting.options.use_gemm_library = c.use_library;
    setting.library = c.library;
    std::string t = c.dtype;
    Planned p = PlanOf(
        absl::StrCat("graph f(%a: ", t, "[3,n,8], %b: ", t, "[8,5], %c: ", t, "[5]) -> (", t,
                     "[3,n,5]) {\n  %0 = matmul(%a, %b) : ", t, "[3,n,5]\n  %1 = add(%0, %c) : ", t,
                     "[3,n,5]\n  %2 = relu(%1) : ", t, "[3,n,5]\n  return %2\n}"),
        setting);
    ASSERT_EQ(p.Kinds(), "loop") << p.Text();
    EXPECT_EQ(p.plan.groups[0].domain.size(), 4u);
    EXPECT_EQ(p.plan.groups[0].reduce_axes, std::vector<int>({3}));
    EXPECT_EQ(p.Reasons().count(c.reason), 1u) << p.Text();
    EXPECT_EQ(p.graph.TypeString(p.graph.outputs()[0]), absl::StrCat(t, "[3,n,5]"));
  }
}

TEST(LowerMatMul, EmptyProducts) {
  for (const char* dims : {"f32[0,8];f32[8,5];f32[0,5]", "f32[4,0];f32[0,5];f32[4,5]"}) {
    std::vector<std::string> t = {std::string(dims).substr(0, 8), std::string(dims).substr(9, 8),
                                  std::string(dims).substr(18)};
    Planned p = PlanOf(absl::StrCat("graph f(%a: ", t[0], ", %b: ", t[1], ") -> (", t[2],
                                    ") {\n  %0 = matmul(%a, %b) : ", t[2], "\n  return %0\n}"));
    EXPECT_EQ(p.Kinds(), "loop") << p.Text();
    EXPECT_EQ(p.Reasons().count("gemm_empty"), 1u) << p.Text();
  }
}

TEST(LowerMatMul, PartitionWantsItFirst) {
  Graph graph = Prepared(R"(graph f(%a: i32[4,8], %b: i32[8,5]) -> (i32[4,5]) {
  %0 = matmul(%a, %b) : i32[4,5]
  return %0
})");
  Setting s;
  auto plan = Partition(graph, s.target, s.options, s.library);
  ASSERT_FALSE(plan.ok());
  EXPECT_NE(ToStd(plan.status().message()).find("gemm_dtype"), std::string::npos) << plan.status();
}

}  // namespace
}  // namespace jitfuse::internal
