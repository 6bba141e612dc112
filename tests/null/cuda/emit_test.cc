// The text of emitted CUDA sources: goldens, one per idiom, and what they must and must not say.
#include <set>
#include <string>
#include <vector>

#include "codegen/cuda/emit_cuda.h"
#include "codegen/cuda/prelude.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/support/status.h"
#include "tests/support/plan_cases.h"
#include "tests/support/plan_kit.h"
#include "tests/test_util/golden.h"

namespace jitfuse::internal {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const SizeExpr kN = SizeExpr::Symbol(0), kM = SizeExpr::Symbol(1);

KernelSource Emit(const KernelPlan& plan, std::string_view arch = "sm_90") {
  absl::StatusOr<KernelSource> source = EmitCuda(plan, *TargetFor(arch));
  EXPECT_TRUE(source.ok()) << source.status();
  return source.ok() ? *std::move(source) : KernelSource{};
}

// x[3,n] + bias[n], n odd or not: the operand that is gathered.
KernelPlan Bias(SizeExpr n) { return AddBias(DType::kF16, DType::kF16, 3, n, 256, 8); }

TEST(EmitCuda, Goldens) {
  ExpectGolden("cuda/flat.cu", Emit(AddMulRelu(DType::kF32, {4096, 768}, 512, 4)).text);
  ExpectGolden("cuda/flat_tail.cu",
               WithoutPrelude(Emit(AddMulRelu(DType::kBF16, {kN}, 256, 8, 2))));
  ExpectGolden("cuda/flat_bias.cu", WithoutPrelude(Emit(Bias(77))));
  ExpectGolden("cuda/row_registers.cu",
               WithoutPrelude(Emit(Softmax(DType::kBF16, kN, 4096, 128, 1, 8, 4))));
  KernelPlan window = LayerNorm(DType::kBF16, kN, kM, 128, 1, 8, 5);
  std::get<CudaSchedule>(window.schedule).window = true;
  window.inner_bound = 4096;
  ExpectGolden("cuda/row_window.cu", WithoutPrelude(Emit(window)));
  ExpectGolden("cuda/row_stream.cu",
               WithoutPrelude(Emit(LayerNorm(DType::kF32, kN, 100000, 256, 1, 4, 0))));
  ExpectGolden("cuda/column.cu",
               WithoutPrelude(Emit(SumColumns(DType::kBF16, 4096, kN, 8, 32, 4))));
  ExpectGolden("cuda/tile.cu", WithoutPrelude(Emit(TransposeAdd(DType::kF16, 96, kN, 64))));
  ExpectGolden("cuda/row_warp.cu", WithoutPrelude(Emit(ArgMax(DType::kF32, kN, 250, 32, 8, 1, 8))));
}

TEST(EmitCuda, SourceSaysHowToLaunch) {
  const KernelSource source = Emit(AddMulRelu(DType::kF32, {kN, 24}, 64, 4, 2));
  EXPECT_EQ(source.entry, "relu_f32");
  EXPECT_EQ(source.arch, "sm_90");
  EXPECT_EQ(source.threads, 64);
  EXPECT_THAT(source.options, testing::ElementsAre("--fmad=false", "--Ofast-compile=min"));
  const int64_t symbols[] = {100};
  EXPECT_EQ(source.grid.Eval(symbols), 5);  // 2400 elements, 512 a block
  ASSERT_EQ(source.size_args.size(), 1u);
  EXPECT_EQ(source.size_args[0].Eval(symbols), 2400);
  EXPECT_THAT(source.text, HasSubstr("// z0 = s0*24\n"));
  EXPECT_THAT(source.text, HasSubstr("// launch: grid ceildiv(s0*24,512), 64 threads\n"));
}

TEST(EmitCuda, IsDeterministic) {
  for (const PlanCase& c : PlannedCases(*TargetFor("sm_90")))
    EXPECT_EQ(Emit(c.plan).text, Emit(c.plan).text);
}

TEST(EmitCuda, VectorsAsWideAsAlignmentAllows) {
  for (auto [align, load] : {std::pair(16, "*(const jf_bf16x8*)(p0"), std::pair(8, "jf_ld8<2>(p0"),
                             std::pair(4, "jf_ld4<4>(p0"), std::pair(2, "jf_ld2<8>(p0")}) {
    EXPECT_THAT(Emit(AddMulRelu(DType::kBF16, {1024}, 128, 8, 1, align)).text, HasSubstr(load))
        << align;
  }
}

TEST(EmitCuda, FourElementsOfFourBytesAreAStruct) {
  const std::string text = Emit(AddMulRelu(DType::kF32, {1024}, 128, 4)).text;
  EXPECT_THAT(text, HasSubstr("r0 = *(const jf_f32x4*)(p0 + e);"));
  EXPECT_THAT(text, HasSubstr("*(jf_f32x4*)(p3 + e) = w0;"));
  EXPECT_THAT(text, Not(HasSubstr("jf_words")));
  // Half a word, two words, and elements of 8 bytes are not.
  EXPECT_THAT(Emit(AddMulRelu(DType::kF32, {1024}, 128, 2)).text, HasSubstr("jf_ld8<1>(p0"));
  EXPECT_THAT(Emit(AddMulRelu(DType::kF32, {1024}, 128, 8)).text, HasSubstr("jf_ld16<2>(p0"));
  EXPECT_THAT(Emit(AddMulRelu(DType::kF64, {1024}, 128, 2)).text, HasSubstr("jf_ld16<1>(p0"));
}

TEST(EmitCuda, FourOrEight16BitFloatsAreAStructOfWords) {
  for (auto [dtype, name] :
       {std::pair(DType::kF16, "jf_f16x"), std::pair(DType::kBF16, "jf_bf16x")}) {
    for (int vec : {4, 8}) {
      const std::string text = Emit(AddMulRelu(dtype, {1024}, 128, vec)).text;
      EXPECT_THAT(text, HasSubstr(absl::StrCat("r0 = *(const ", name, vec, "*)(p0 + e);")));
      EXPECT_THAT(text, HasSubstr(absl::StrCat("*(", name, vec, "*)(p3 + e) = jf_pack_")));
      EXPECT_THAT(text, Not(HasSubstr("jf_words")));
    }
  }
  EXPECT_THAT(Emit(AddMulRelu(DType::kBF16, {1024}, 128, 2)).text, HasSubstr("jf_ld4<1>(p0"));
}

TEST(EmitCuda, RowsThatWrapAreReadBetweenVectors) {
  EXPECT_THAT(Emit(Bias(77)).text, HasSubstr("r1 = jf_wrapped<4, 2>(p1, e, 77u)"));
  EXPECT_THAT(Emit(Bias(80)).text, HasSubstr("*(const jf_f16x8*)(p1 + (e % 80u))"));
  // A symbol may be odd; twice eight of it is not.
  EXPECT_THAT(Emit(Bias(kN)).text, HasSubstr("r1 = jf_wrapped<4, 2>(p1, e, n"));
  EXPECT_THAT(Emit(Bias(kN * 16)).text, HasSubstr("*(const jf_f16x8*)(p1 + (e % n"));
  // 8 bytes of 2-byte elements beside 16 of 4-byte ones; neither bytes nor 8-byte elements.
  EXPECT_THAT(Emit(AddBias(DType::kF32, DType::kBF16, 3, kN, 256, 4)).text,
              HasSubstr("r1 = jf_wrapped<2, 2>(p1, e, n"));
  for (DType dtype : {DType::kF64, DType::kU8}) {
    EXPECT_THAT(Emit(AddBias(dtype, dtype, 3, kN, 256, 16 / ItemSize(dtype))).text,
                HasSubstr("p1[jf_wrap(e, j, n"));
  }
  KernelPlan unaligned = Bias(kN);
  unaligned.params[1].align = 2;
  EXPECT_THAT(Emit(unaligned).text, HasSubstr("p1[jf_wrap(e, j, n"));
}

// They take more registers than what is read once, and lie in the caches.
TEST(EmitCuda, WhatCrossesAWindowIsReadWhereItIsUsed) {
  KernelPlan plan = WeighRows(DType::kBF16, DType::kBF16, 8, 1001, 64, 1, 8, 2);
  std::get<CudaSchedule>(plan.schedule).window = true;
  const std::string text = Emit(plan).text;
  EXPECT_THAT(text, HasSubstr("jf_bf16x8 r0[2];"));
  EXPECT_THAT(text,
              HasSubstr("const jf_words<4> r2 = jf_between<4, 2>(p1 + c, (unsigned)(c) & 3u);"));
  // The last piece that is read ends within the row: 4 elements are left to single ones.
  EXPECT_THAT(text,
              HasSubstr("const unsigned middle = 1001u - head < 4u ? 0u : (1001u - head - 4u)"));
}

TEST(EmitCuda, OffsetsOf64Bits) {
  KernelPlan plan = AddMulRelu(DType::kF32, {kN}, 128, 4);
  EXPECT_THAT(Emit(plan).text, HasSubstr("const unsigned e = "));
  plan.offset_bits = 64;
  EXPECT_THAT(Emit(plan).text,
              HasSubstr("const unsigned long long e = ((unsigned long long)blockIdx.x"));
}

TEST(EmitCuda, RestrictUnlessABufferMayBeShared) {
  KernelPlan plan = AddMulRelu(DType::kF32, {1024}, 128, 4);
  EXPECT_THAT(Emit(plan).text,
              HasSubstr("(const float* __restrict__ p0, const float* __restrict__ p1, const float* "
                        "__restrict__ p2, float* __restrict__ p3)"));
  plan.params[1].may_alias = true;
  EXPECT_THAT(Emit(plan).text, HasSubstr("(const float* __restrict__ p0, const float* p1, const "
                                         "float* __restrict__ p2, float* p3)"));
  std::get<CudaSchedule>(plan.schedule).no_allocate = true;
  const std::string text = Emit(plan).text;
  EXPECT_THAT(text, HasSubstr("jf_ldna16<1>(p0 + e)"));
  EXPECT_THAT(text,
              HasSubstr("*(const jf_f32x4*)(p1 + e)"));  // .nc is not for what the kernel writes
}

// The hint is for loads alone, and not for what the kernel may write.
TEST(EmitCuda, HintsOf16BitFloats) {
  KernelPlan plan = AddMulRelu(DType::kBF16, {1024}, 128, 8);
  plan.params[1].may_alias = true;
  std::get<CudaSchedule>(plan.schedule).no_allocate = true;
  const std::string text = Emit(plan).text;
  EXPECT_THAT(text, HasSubstr("const jf_words<4> r0 = jf_ldna16<1>(p0 + e);"));
  EXPECT_THAT(text, HasSubstr("const jf_bf16x8 r1 = *(const jf_bf16x8*)(p1 + e);"));
  EXPECT_THAT(text, HasSubstr("*(jf_bf16x8*)(p3 + e) = jf_pack_bf16x8(w0);"));
}

TEST(EmitCuda, TheQuickModeIsForShortKernelsOf32BitsWithoutSlowPaths) {
  auto options = [](ScalarOp op, DType dtype, int times) {
    PlanKit k("k", {1024});
    int v = k.Load(k.Dense(k.Input(dtype)));
    for (int i = 0; i < times; ++i) v = k.Op(op, {v});
    k.Store(v, k.Dense(k.Output(dtype)));
    return Emit(k.Flat(128, 2)).options;
  };
  const auto quick = testing::Contains(std::string(kQuickOption));
  for (DType dtype : {DType::kF32, DType::kBF16}) {
    EXPECT_THAT(options(ScalarOp::kTanh, dtype, 1), quick);
    EXPECT_THAT(options(ScalarOp::kSin, dtype, 1), Not(quick));
    EXPECT_THAT(options(ScalarOp::kErf, dtype, 1), Not(quick));
    EXPECT_THAT(options(ScalarOp::kTanh, dtype, 100), Not(quick));
  }
  EXPECT_THAT(options(ScalarOp::kTanh, DType::kF64, 1), Not(quick));
  EXPECT_THAT(Emit(Softmax(DType::kF32, 64, 1024, 128, 1, 4, 2)).options, Not(quick));
}

TEST(EmitCuda, ABatchHasTheOptionsThatAllOfItHave) {
  const Target target = *TargetFor("sm_90");
  const KernelPlan flat = AddMulRelu(DType::kF32, {1024}, 128, 4);
  const KernelPlan row = Softmax(DType::kF32, 64, 1024, 128, 1, 4, 2);
  EXPECT_THAT((*EmitCudaBatch({flat}, target)).options, testing::SizeIs(2));
  EXPECT_THAT((*EmitCudaBatch({flat, row}, target)).options, testing::ElementsAre("--fmad=false"));
}

TEST(EmitCuda, PreludeHoldsWhatIsUsed) {
  const std::string text = Emit(AddMulRelu(DType::kF32, {1024}, 128, 4)).text;
  EXPECT_THAT(text, HasSubstr("struct __align__(16) jf_f32x4 {"));
  for (const char* absent : {"f16", "jf_words", "jf_ld16", "jf_ld8", "jf_shuffle", "jf_odd"})
    EXPECT_THAT(text, Not(HasSubstr(absent)));
  EXPECT_THAT(Emit(AddMulRelu(DType::kBF16, {1024}, 128, 8)).text, HasSubstr("cvt.rn.bf16x2.f32"));
}

TEST(EmitCuda, PreludeNames) {
  std::set<std::string> seen;
  for (const std::string& name : PreludeNames()) {
    EXPECT_TRUE(name.rfind("jf_", 0) == 0 || name.rfind("JF_", 0) == 0) << name;
    EXPECT_TRUE(seen.insert(name).second) << name << " is defined twice";
    EXPECT_THAT(PreludeFor(name), HasSubstr(name));
  }
}

// Whatever names of ours a source uses, it defines.
TEST(EmitCuda, NoHelperIsMissing) {
  for (const std::vector<PlanCase>& cases : {FlatCases(), LayoutCases(), RowCases(), WindowCases(),
                                             ConversionCases(), PrimitiveCases()}) {
    for (const PlanCase& c : cases) {
      const std::string text = Emit(c.plan).text;
      for (size_t at = text.find("jf_"); at != std::string::npos; at = text.find("jf_", at + 1)) {
        size_t end = at;
        while (end < text.size() &&
               (std::isalnum(static_cast<unsigned char>(text[end])) != 0 || text[end] == '_'))
          ++end;
        const std::string name = text.substr(at, end - at);
        if (at > 0 &&
            (std::isalnum(static_cast<unsigned char>(text[at - 1])) != 0 || text[at - 1] == '_'))
          continue;
        const std::vector<std::string> names = PreludeNames();
        ASSERT_NE(std::find(names.begin(), names.end(), name), names.end())
            << name << " in " << c.plan.name;
      }
    }
  }
}

TEST(EmitCuda, HeadCannotEndItsComment) {
  KernelPlan plan = AddMulRelu(DType::kF32, {1024}, 128, 4);
  plan.head = "one\\\ntwo */ \r three";
  const std::string text = Emit(plan).text;
  EXPECT_THAT(text, HasSubstr("//   one \n//   two */   three\n"));
}

TEST(EmitCuda, RefusesWhatDoesNotFit) {
  auto message = [](const KernelPlan& plan, std::string_view arch = "sm_90") {
    return std::string(EmitCuda(plan, *TargetFor(arch)).status().message());
  };
  KernelPlan plan = AddMulRelu(DType::kF32, {1024}, 128, 4);
  EXPECT_THAT(message(plan, "x86-64-v3"), HasSubstr("no CUDA target"));
  plan.schedule = CpuSchedule{};
  EXPECT_THAT(message(plan), HasSubstr("EmitCuda(relu_f32): the plan has no CUDA schedule"));
  EXPECT_THAT(message(AddMulRelu(DType::kF32, {1024}, 100, 4)),
              HasSubstr("100 threads in a block"));
  EXPECT_THAT(message(AddMulRelu(DType::kF32, {1024}, 128, 3)), HasSubstr("vectors of 3 elements"));
  EXPECT_THAT(message(Softmax(DType::kF32, 8, 1024, 32, 1, 4, 4)),
              HasSubstr("rows of 1024 do not fit 32 threads of 4 x 4"));
  EXPECT_THAT(message(Softmax(DType::kF32, 8, kN, 32, 1, 4, 4)), HasSubstr("values kept"));
  plan = Softmax(DType::kF32, 8, 1024, 256, 1, 4, 1);
  std::get<CudaSchedule>(plan.schedule).rows_per_block = 2;
  EXPECT_THAT(message(plan), HasSubstr("2 rows of 256 threads are not a block of 256"));
}

}  // namespace
}  // namespace jitfuse::internal
