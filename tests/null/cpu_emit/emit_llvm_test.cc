// The emitter's text, without LLVM: golden files (one per idiom), what no kernel may contain, and
// refused plans.
#include "cpu_backend/emit_llvm.h"

#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/plan_kit.h"
#include "tests/test_util/golden.h"

namespace jitfuse::internal {
namespace {

KernelPlan With(KernelPlan plan, int lanes, int unroll) {
  CpuSchedule schedule;
  schedule.lanes = lanes;
  schedule.unroll = unroll;
  plan.schedule = schedule;
  return plan;
}

std::string TextFor(const KernelPlan& plan, const char* arch) {
  absl::StatusOr<KernelSource> source = EmitLlvm(plan, *TargetFor(arch));
  EXPECT_TRUE(source.ok()) << source.status();
  return source.ok() ? source->text : "";
}

KernelPlan Sum(Shape inner) {
  PlanKit k("sum", {SizeExpr::Symbol(0)}, std::move(inner));
  int x = k.Input(DType::kF32), y = k.Output(DType::kF32);
  k.StoreRow(k.Reduce({k.Load(k.Dense(x))}, {0}, "{a0 + b0}")[0], k.DenseRow(y));
  return k.plan;
}

KernelPlan Permuted() {
  PlanKit k("permuted", {SizeExpr(6), SizeExpr(10)});
  int x = k.Input(DType::kF32), w = k.Input(DType::kF16), y = k.Output(DType::kBF16);
  AccessMap access;
  access.param = x;
  IndexTerm term;
  term.linear.coefs = {{0, 10}, {1, 1}};
  term.div = 4;
  term.mod = 5;
  term.coef = 3;
  access.terms = {term};
  k.Store(k.Op(ScalarOp::kMul, {k.Load(access), k.Load(k.Strided(w, {1, -1}, 9))}), k.Dense(y));
  return k.plan;
}

// Prefetches in each of the text's vector loops, in their order.
std::vector<int> PrefetchesOfLoops(const std::string& text) {
  std::vector<int> counts;
  for (size_t at = text.find("; vectors"); at != std::string::npos;) {
    const size_t next = text.find("; vectors", at + 1);
    const std::string loop = text.substr(at, next == std::string::npos ? next : next - at);
    counts.push_back(0);
    for (size_t k = loop.find("call void @llvm.prefetch"); k != std::string::npos;
         k = loop.find("call void @llvm.prefetch", k + 1))
      ++counts.back();
    at = next;
  }
  return counts;
}

// The stages of a row share the lines of the next one by their work; the last one brings its part
// where it streams, and all of a short row.
TEST(EmitLlvmPrefetch, StagesShareTheNextRow) {
  auto softmax = [](int64_t columns, int lanes, const char* arch) {
    return TextFor(With(Softmax(DType::kF32, SizeExpr::Symbol(0), columns, 32, 1, 1, 1), lanes, 4),
                   arch);
  };
  const std::string wide = softmax(4096, 16, "x86-64-v4");
  const std::vector<int> loops = PrefetchesOfLoops(wide);  // max, sum, quotient: streamed, plain
  ASSERT_EQ(loops.size(), 4u);
  EXPECT_EQ(loops[0] + loops[1] + loops[2], 4) << "four lines of f32 an iteration";
  EXPECT_GE(loops[1], 2) << "the exponentials are most of the work";
  EXPECT_EQ(loops[3], 0);
  const std::regex third(
      absl::StrCat("getelementptr i8, ptr %v[0-9]+, i64 ", (loops[0] + loops[1]) * 4096, "\n"));
  EXPECT_TRUE(std::regex_search(wide, third)) << "where the last stage's part begins";
  const std::vector<int> half = PrefetchesOfLoops(softmax(4096, 8, "x86-64-v3"));
  ASSERT_EQ(half.size(), 4u);
  EXPECT_EQ(half[0] + half[1] + half[2], 2);
  const std::vector<int> brief = PrefetchesOfLoops(softmax(256, 16, "x86-64-v4"));
  ASSERT_EQ(brief.size(), 4u);
  EXPECT_EQ(brief[0] + brief[1], 0);
  EXPECT_EQ(brief[2], 4);
}

TEST(EmitLlvmGolden, FlatMaskedRest) {
  ExpectGolden("llvm/relu_v3.ll",
               TextFor(With(AddMulRelu(DType::kF32, {SizeExpr(1000)}, 1, 1), 8, 2), "x86-64-v3"));
}
TEST(EmitLlvmGolden, FlatSymbolicScalarRest) {
  ExpectGolden(
      "llvm/relu_bf16_v2.ll",
      TextFor(
          With(AddMulRelu(DType::kBF16, {SizeExpr::Symbol(0), SizeExpr::Symbol(1)}, 1, 1), 4, 1),
          "x86-64-v2"));
}
TEST(EmitLlvmGolden, LanesAndConversions) {
  ExpectGolden("llvm/permuted_v3.ll", TextFor(With(Permuted(), 4, 1), "x86-64-v3"));
}
TEST(EmitLlvmGolden, RowCascade) {
  ExpectGolden("llvm/sum_v4.ll", TextFor(With(Sum({SizeExpr::Symbol(1)}), 16, 2), "x86-64-v4"));
}
TEST(EmitLlvmGolden, RowKept) {
  ExpectGolden("llvm/layer_norm_v4.ll",
               TextFor(With(LayerNorm(DType::kF32, SizeExpr::Symbol(0), 64, 32, 1, 1, 1), 16, 1),
                       "x86-64-v4"));
}

TEST(EmitLlvmGolden, Columns) {
  KernelPlan plan = SumColumns(DType::kF32, 100, SizeExpr::Symbol(0), 1, 32);
  ExpectGolden("llvm/columns_v4.ll", TextFor(With(plan, 16, 2), "x86-64-v4"));
}
TEST(EmitLlvmGolden, Tiles) {
  KernelPlan plan = With(TransposeAdd(DType::kF32, SizeExpr::Symbol(0), 96, 64), 8, 1);
  std::get<CpuSchedule>(plan.schedule).tile = 16;
  std::get<CpuSchedule>(plan.schedule).tile_axis = 0;
  ExpectGolden("llvm/tiles_v3.ll", TextFor(plan, "x86-64-v3"));
}

std::vector<std::string> SomeTexts() {
  std::vector<std::string> texts;
  for (const char* arch : {"x86-64-v2", "x86-64-v3", "x86-64-v4"}) {
    for (DType dtype : {DType::kF16, DType::kBF16, DType::kF32, DType::kF64}) {
      texts.push_back(TextFor(With(AddMulRelu(dtype, {SizeExpr::Symbol(0)}, 1, 1), 8, 2), arch));
      texts.push_back(
          TextFor(With(Softmax(dtype, SizeExpr::Symbol(0), 300, 32, 1, 1, 1), 8, 2), arch));
      texts.push_back(
          TextFor(With(ArgMax(dtype, 3, SizeExpr::Symbol(0), 32, 1, 1, 0), 8, 1), arch));
    }
  }
  return texts;
}

// fma is formed by the planner; nothing may be reassociated; nothing is called but intrinsics, and
// those that become library calls are not among them.
TEST(EmitLlvmText, NoFastMathNoLibraryCalls) {
  for (const std::string& text : SomeTexts()) {
    std::string code = std::regex_replace(text, std::regex(";[^\n]*"), "");
    for (const char* word :
         {" contract ", " fast ", " reassoc ", " nnan ", " ninf ", " nsz ", " arcp ", " afn ",
          "frem", "bfloat", "llvm.sin", "llvm.cos", "llvm.exp", "llvm.log", "llvm.pow",
          "fptosi.sat", "fptoui.sat", "vector.reduce", "fmuladd"}) {
      EXPECT_EQ(code.find(word), std::string::npos) << word << "\n" << text.substr(0, 300);
    }
    static const std::regex kCall("call [^@]*@([A-Za-z0-9_.]+)");
    for (auto it = std::sregex_iterator(code.begin(), code.end(), kCall);
         it != std::sregex_iterator(); ++it) {
      const std::string name = (*it)[1];
      if (name.rfind("llvm.", 0) == 0) continue;
      // Else one of the text's own: a dear op where the CPU has no fma.
      EXPECT_TRUE(std::regex_search(
          code, std::regex(absl::StrCat("define internal [^@\\n]*@", name, "[(]"))))
          << name;
    }
  }
}

// On a CPU without fma or F16C neither may be asked for.
TEST(EmitLlvmText, LevelTwoHasNeitherFmaNorHalf) {
  for (DType dtype : {DType::kF16, DType::kF32, DType::kF64}) {
    std::string text =
        TextFor(With(AddMulRelu(dtype, {SizeExpr::Symbol(0)}, 1, 1), 4, 1), "x86-64-v2");
    EXPECT_EQ(text.find("llvm.fma"), std::string::npos);
    EXPECT_EQ(text.find("half"), std::string::npos);
    EXPECT_EQ(text.find("llvm.masked"), std::string::npos);
  }
}

// AVX2 has masked moves of 4 and 8 bytes only; AVX-512 has all.
TEST(EmitLlvmText, MaskedMovesOnlyWhereTheyExist) {
  auto masked = [](DType dtype, const char* arch) {
    return TextFor(With(AddMulRelu(dtype, {SizeExpr(1001)}, 1, 1), 8, 1), arch)
               .find("llvm.masked") != std::string::npos;
  };
  EXPECT_TRUE(masked(DType::kF32, "x86-64-v3"));
  EXPECT_FALSE(masked(DType::kBF16, "x86-64-v3"));
  EXPECT_TRUE(masked(DType::kBF16, "x86-64-v4"));
}

// An extent that the body divides needs no rest.
TEST(EmitLlvmText, NoRestWhereTheBodyDivides) {
  auto rest = [](Shape shape) {
    std::string text =
        TextFor(With(AddMulRelu(DType::kF32, std::move(shape), 1, 1), 8, 2), "x86-64-v3");
    return text.find("masked") != std::string::npos ||
           text.find("single elements") != std::string::npos;
  };
  EXPECT_FALSE(rest({SizeExpr(1024)}));
  EXPECT_FALSE(rest({SizeExpr::Symbol(0) * 768}));
  EXPECT_TRUE(rest({SizeExpr::Symbol(0)}));
  EXPECT_TRUE(rest({SizeExpr(1023)}));
}

// Outputs that may be large, written contiguously by light work, are streamed; small ones, in-place
// ones, heavy work and reductions are not.
TEST(EmitLlvmText, StreamsLargeOutputs) {
  auto streams = [](const KernelPlan& plan) {
    std::string text = TextFor(With(plan, 16, 1), "x86-64-v4");
    EXPECT_EQ(text.find("nontemporal") != std::string::npos,
              text.find("sfence") != std::string::npos);
    return text.find("nontemporal") != std::string::npos;
  };
  EXPECT_TRUE(streams(AddMulRelu(DType::kF32, {SizeExpr::Symbol(0)}, 1, 1)));
  EXPECT_TRUE(streams(AddMulRelu(DType::kF32, {SizeExpr(1 << 24)}, 1, 1)));
  EXPECT_FALSE(streams(AddMulRelu(DType::kF32, {SizeExpr(1 << 20)}, 1, 1)));
  EXPECT_TRUE(streams(Softmax(DType::kF32, SizeExpr::Symbol(0), 512, 32, 1, 1, 1)));
  EXPECT_FALSE(streams(Sum({SizeExpr::Symbol(1)})));
  KernelPlan in_place = AddMulRelu(DType::kF32, {SizeExpr::Symbol(0)}, 1, 1);
  in_place.params[0].may_alias = true;
  EXPECT_FALSE(streams(in_place));
}

TEST(EmitLlvmSource, WorkAndSizes) {
  SizeExpr n = SizeExpr::Symbol(0), m = SizeExpr::Symbol(1);
  absl::StatusOr<KernelSource> flat = EmitLlvm(
      With(AddMulRelu(DType::kF32, {n, m, SizeExpr(100)}, 1, 1), 8, 2), *TargetFor("x86-64-v3"));
  ASSERT_TRUE(flat.ok());
  EXPECT_EQ(flat->lang, SourceLang::kLlvm);
  EXPECT_EQ(flat->rows, n * m);
  EXPECT_EQ(flat->cols, SizeExpr(100));
  EXPECT_EQ(flat->bytes_per_row, SizeExpr(1600));
  EXPECT_EQ(flat->col_multiple, 16);
  EXPECT_TRUE(flat->options.empty());
  absl::StatusOr<KernelSource> row = EmitLlvm(With(Sum({m}), 8, 2), *TargetFor("x86-64-v3"));
  ASSERT_TRUE(row.ok());
  EXPECT_EQ(row->rows, n);
  EXPECT_EQ(row->cols, SizeExpr(1));
  EXPECT_EQ(row->bytes_per_row, m * 4 + 4);
  // Everything that a launch depends on is in the head comment, and so in the kernel's key.
  EXPECT_NE(row->text.find("sizes [s0, s1]"), std::string::npos) << row->text.substr(0, 200);
}

TEST(EmitLlvmRefusals, SayWhy) {
  auto message = [](const KernelPlan& plan, const Target& target) {
    absl::StatusOr<KernelSource> source = EmitLlvm(plan, target);
    EXPECT_FALSE(source.ok());
    return std::string(source.status().message());
  };
  KernelPlan plan = AddMulRelu(DType::kF32, {SizeExpr(10)}, 1, 1);
  Target v3 = *TargetFor("x86-64-v3");
  EXPECT_NE(message(plan, v3).find("no CPU schedule"), std::string::npos);
  EXPECT_NE(message(With(plan, 8, 1), *TargetFor("sm_90")).find("sm_90"), std::string::npos);
  EXPECT_NE(message(With(plan, 7, 1), v3).find("lanes 7"), std::string::npos);
  EXPECT_NE(message(With(plan, 8, 0), v3).find("unroll 0"), std::string::npos);
  KernelPlan kept = With(LayerNorm(DType::kF32, 3, SizeExpr::Symbol(0), 32, 1, 1, 1), 8, 1);
  EXPECT_NE(message(kept, v3).find("no bound"), std::string::npos);
  KernelPlan broken = With(Softmax(DType::kF32, 3, 100, 32, 1, 1, 1), 8, 1);
  broken.keep.clear();
  EXPECT_NE(message(broken, v3).find("neither lists nor keeps"), std::string::npos);
}

}  // namespace
}  // namespace jitfuse::internal
