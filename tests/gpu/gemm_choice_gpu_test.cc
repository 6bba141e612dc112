// Matrix products on a real GPU where something is chosen: algorithms and plans by timing, zeros
// behind k and n, f32 results of 16-bit operands. Results are compared with the evaluator.
#include <cmath>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "api/jitfuse.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/gpu/driver_function.h"
#include "tests/test_util/cache_kit.h"
#include "tests/test_util/fresh_process.h"

namespace jitfuse {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr Device kGpu = {DeviceKind::kCuda, 0};

class GemmChoiceGpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (Status s = DeviceStatus(DeviceKind::kCuda); !s.ok()) GTEST_SKIP() << s.message();
  }

  static Array Make(DType dtype, std::vector<std::int64_t> dims, bool zeros = false) {
    std::int64_t n = 1;
    for (std::int64_t d : dims) n *= d;
    std::vector<double> v;
    for (std::int64_t i = 0; i < n; ++i)
      v.push_back(zeros ? 0.0 : std::sin(static_cast<double>(i)));
    return *Array::FromValues(dtype, dims, v)->CopyTo(kGpu);
  }
  // Every executable's first call is compared with the evaluator.
  static Function Compiled(const std::string& text, bool autotune = false, bool verify = true) {
    CompileOptions options;
    options.device = DeviceKind::kCuda;
    options.verify = verify ? 1 : 0;
    options.autotune = autotune;
    StatusOr<Function> f = CompileText(text, options);
    EXPECT_TRUE(f.ok()) << f.status().message();
    return *f;
  }
  static std::string Explained(const Function& f, const std::vector<Array>& inputs) {
    StatusOr<std::string> text = f.Explain(inputs);
    EXPECT_TRUE(text.ok()) << text.status().message();
    return text.ok() ? *text : "";
  }
  static void ExpectRight(const Function& f, const std::vector<Array>& inputs) {
    auto results = f.Run(inputs);
    ASSERT_TRUE(results.ok()) << results.status().message();
    const Stats stats = f.stats();
    EXPECT_GE(stats.verified, 1);
    EXPECT_EQ(stats.mismatches, 0);
  }
};

std::string Layer(const std::string& dtype, const std::string& activation) {
  return absl::StrReplaceAll(
      "graph layer(%x: T[n,256], %w: T[256,512], %b: T[512]) -> (T[n,512]) {\n"
      "  %0 = matmul(%x, %w) : T[n,512]\n  %1 = broadcast(%b) {shape=[n,512]} : T[n,512]\n"
      "  %2 = add(%0, %1) : T[n,512]\n  %3 = ACT(%2) : T[n,512]\n  return %3\n}",
      {{"ACT", activation}, {"T", dtype}});
}

std::vector<Array> LayerInputs(DType dtype, std::int64_t n,
                               Array (*make)(DType, std::vector<std::int64_t>, bool)) {
  return {make(dtype, {n, 256}, false), make(dtype, {256, 512}, false), make(dtype, {512}, false)};
}

TEST_F(GemmChoiceGpuTest, TunedLayersAreRight) {
  for (auto [name, dtype] :
       {std::pair("bf16", DType::kBF16), {"f16", DType::kF16}, {"f32", DType::kF32}}) {
    for (const char* activation : {"relu", "gelu_tanh"}) {
      const Function f = Compiled(Layer(name, activation), /*autotune=*/true);
      for (std::int64_t n : {1, 3, 100, 128, 700}) ExpectRight(f, LayerInputs(dtype, n, Make));
      EXPECT_GE(f.stats().tuned, 4);  // 1; 3; 100 and 128; 700
      const std::string text = Explained(f, LayerInputs(dtype, 100, Make));
      EXPECT_THAT(text, HasSubstr("tuned by timing:"));
      EXPECT_THAT(text, Not(HasSubstr("tune_failed")));
      std::printf("%s %s\n%s\n", name, activation, text.c_str());
    }
  }
}

TEST_F(GemmChoiceGpuTest, RecordsHoldInAnotherFunction) {
  const std::vector<Array> inputs = LayerInputs(DType::kBF16, 512, Make);
  const Function first = Compiled(Layer("bf16", "relu"));
  StatusOr<std::string> record = first.Tune(inputs);
  ASSERT_TRUE(record.ok()) << record.status().message();
  ASSERT_NE(*record, "");
  const Function second = Compiled(Layer("bf16", "relu"));
  const Status used = second.UseTuning(inputs, *record);
  ASSERT_TRUE(used.ok()) << used.message();
  ExpectRight(second, inputs);
  // Both run the same, so they give the same bits.
  const auto bits = [&](const Function& f) {
    return (*f.Run(inputs))[0].CopyTo(Device{})->ToVector();
  };
  EXPECT_EQ(*bits(first), *bits(second));
}

// Of two processes that tune, the first times and the second finds its record on disk.
TEST_F(GemmChoiceGpuTest, DISABLED_ProcessThatTimes) {
  const Function f = Compiled(Layer("bf16", "relu"), /*autotune=*/true);
  ExpectRight(f, LayerInputs(DType::kBF16, 512, Make));
  EXPECT_EQ(f.stats().tuned, 1);
  EXPECT_EQ(f.stats().fallbacks.count("tune_found"), 0u);
}
TEST_F(GemmChoiceGpuTest, DISABLED_ProcessThatFinds) {
  const Function f = Compiled(Layer("bf16", "relu"), /*autotune=*/true);
  const std::vector<Array> inputs = LayerInputs(DType::kBF16, 512, Make);
  ExpectRight(f, inputs);
  EXPECT_EQ(f.stats().tuned, 1);
  EXPECT_EQ(f.stats().fallbacks.count("tune_found"), 1u);
  EXPECT_EQ(f.stats().fallbacks.count("tune_refused"), 0u);
  EXPECT_THAT(Explained(f, inputs), HasSubstr("tuned by timing:"));
}
TEST_F(GemmChoiceGpuTest, RecordsHoldInAnotherProcess) {
  const internal::TempFolder folder;
  const std::map<std::string, std::string> environment = {{"JITFUSE_NO_CACHE", "0"},
                                                          {"JITFUSE_CACHE_DIR", folder.path}};
  EXPECT_TRUE(
      internal::PassesInAFreshProcess("GemmChoiceGpuTest.DISABLED_ProcessThatTimes", environment));
  EXPECT_TRUE(
      internal::PassesInAFreshProcess("GemmChoiceGpuTest.DISABLED_ProcessThatFinds", environment));
}

TEST_F(GemmChoiceGpuTest, InputsStayAsTheyAre) {
  const std::vector<Array> inputs = LayerInputs(DType::kF32, 64, Make);
  const Function f = Compiled(Layer("f32", "relu"));
  ASSERT_TRUE(f.Tune(inputs).ok());
  for (std::size_t i = 0; i < inputs.size(); ++i)
    EXPECT_EQ(*inputs[i].CopyTo(Device{})->ToVector(),
              *LayerInputs(DType::kF32, 64, Make)[i].CopyTo(Device{})->ToVector());
}

// No record of a former run is to be found on disk.
TEST_F(GemmChoiceGpuTest, DISABLED_ProcessThatCaptures) {
  const jitfuse_test::StreamOfGpu0 of_gpu;
  const std::vector<Array> inputs = LayerInputs(DType::kF32, 64, Make);
  const Array out = Make(DType::kF32, {64, 512}, true);
  const Function f = Compiled(Layer("f32", "relu"), /*autotune=*/true, /*verify=*/false);
  const Function warm = Compiled(Layer("f32", "relu"), false, false);
  ASSERT_TRUE(warm.Run(inputs).ok());  // kernels and algorithms are loaded
  ASSERT_TRUE(f.Warm(inputs).ok());
  RunOptions options;
  options.stream = of_gpu.get();
  auto begin = jitfuse_test::DriverFunction<int (*)(void*, int)>("cuStreamBeginCapture_v2");
  auto end = jitfuse_test::DriverFunction<int (*)(void*, void**)>("cuStreamEndCapture");
  ASSERT_EQ(begin(of_gpu.get(), 0), 0);
  const Status run = f.RunInto(inputs, {out}, options);
  const Status tune = f.Tune(inputs, options).status();
  void* graph = nullptr;
  EXPECT_EQ(end(of_gpu.get(), &graph), 0);
  EXPECT_TRUE(run.ok()) << run.message();
  EXPECT_EQ(tune.code(), StatusCode::kFailedPrecondition) << tune.message();
  EXPECT_EQ(f.stats().tuned, 0);
  EXPECT_EQ(f.stats().fallbacks.count("tune_capturing"), 1u);
}
TEST_F(GemmChoiceGpuTest, CapturedCallsAreNotTimed) {
  EXPECT_TRUE(internal::PassesInAFreshProcess("GemmChoiceGpuTest.DISABLED_ProcessThatCaptures",
                                              {{"JITFUSE_NO_CACHE", "1"}}));
}

int UpTo8(int extent) { return (extent + 7) / 8 * 8; }  // 16 bytes of f16 or bf16

TEST_F(GemmChoiceGpuTest, PaddedProductsAreRight) {
  struct Case {
    int k, n;
    bool k_padded, n_padded;
  };
  for (const Case& c :
       {Case{2047, 2048, true, false}, {2048, 2045, false, true}, {2047, 1019, true, true}}) {
    for (auto [name, dtype] : {std::pair("bf16", DType::kBF16), {"f16", DType::kF16}}) {
      const std::string text = absl::StrReplaceAll(
          "graph f(%x: T[m,K], %w: T[K,N], %b: T[N]) -> (T[m,N]) {\n"
          "  %0 = matmul(%x, %w) : T[m,N]\n  %1 = broadcast(%b) {shape=[m,N]} : T[m,N]\n"
          "  %2 = add(%0, %1) : T[m,N]\n  %3 = relu(%2) : T[m,N]\n  return %3\n}",
          {{"T", name}, {"K", absl::StrCat(c.k)}, {"N", absl::StrCat(c.n)}});
      const Function f = Compiled(text);
      for (std::int64_t m : {7, 600}) {
        const std::vector<Array> inputs = {Make(dtype, {m, c.k}), Make(dtype, {c.k, c.n}),
                                           Make(dtype, {c.n})};
        ExpectRight(f, inputs);
        const std::string explained = Explained(f, inputs);
        EXPECT_THAT(explained, HasSubstr("gemm_padded"));
        if (c.k_padded)
          EXPECT_THAT(explained, HasSubstr(absl::StrCat("k from ", c.k, " to ", UpTo8(c.k))));
        if (c.n_padded)
          EXPECT_THAT(explained, HasSubstr(absl::StrCat("n from ", c.n, " to ", UpTo8(c.n))));
      }
      const Function tuned = Compiled(text, /*autotune=*/true);
      ExpectRight(tuned, {Make(dtype, {600, c.k}), Make(dtype, {c.k, c.n}), Make(dtype, {c.n})});
      std::printf("%s\n", Explained(tuned, {Make(dtype, {600, c.k}), Make(dtype, {c.k, c.n}),
                                            Make(dtype, {c.n})})
                              .c_str());
    }
  }
}

// f32 results of 16-bit operands, whose sums are not rounded on the way.
TEST_F(GemmChoiceGpuTest, WideResultsAreRight) {
  for (auto [name, dtype] : {std::pair("bf16", DType::kBF16), {"f16", DType::kF16}}) {
    for (const char* behind : {"%r = relu(%2) : f32[m,96]", "%r = exp(%2) : f32[m,96]"}) {
      const Function f = Compiled(absl::StrReplaceAll(
          "graph f(%x: T[m,64], %w: T[96,64], %c: f32[m,96]) -> (f32[m,96]) {\n"
          "  %0 = cast(%x) {dtype=f32} : f32[m,64]\n  %v = cast(%w) {dtype=f32} : f32[96,64]\n"
          "  %1 = matmul(%0, %v) {transpose_b=true} : f32[m,96]\n"
          "  %2 = add(%1, %c) : f32[m,96]\n  BEHIND\n  return %r\n}",
          {{"T", name}, {"BEHIND", behind}}));
      for (std::int64_t m : {1, 5, 64, 333}) {
        const std::vector<Array> inputs = {Make(dtype, {m, 64}), Make(dtype, {96, 64}),
                                           Make(DType::kF32, {m, 96})};
        ExpectRight(f, inputs);
        EXPECT_THAT(Explained(f, inputs), HasSubstr("cuBLASLt"));
      }
    }
  }
}

}  // namespace
}  // namespace jitfuse
