// CompileOptions::verify on a real GPU: right kernels pass (loops, products, random ops, large
// outputs by rows), wrong ones are found and answered for, captured calls are not compared.
#include <cmath>
#include <string>
#include <vector>

#include "api/function_state.h"
#include "api/jitfuse.h"
#include "api/runtime.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ir/text.h"
#include "tests/gpu/driver_function.h"
#include "tests/test_util/faulty_backend.h"

namespace jitfuse {
namespace {

using internal::Fault;
using internal::FaultyBackend;
using ::testing::Each;
using ::testing::HasSubstr;

constexpr Device kGpu = {DeviceKind::kCuda, 0};

class VerifyGpuTest : public testing::Test {
 protected:
  void SetUp() override {
    if (Status s = DeviceStatus(DeviceKind::kCuda); !s.ok()) GTEST_SKIP() << s.message();
  }

  static Array Make(DType dtype, std::vector<std::int64_t> dims) {
    std::int64_t n = 1;
    for (std::int64_t d : dims) n *= d;
    std::vector<double> v;
    for (std::int64_t i = 0; i < n; ++i) v.push_back(std::sin(static_cast<double>(i)));
    return *Array::FromValues(dtype, dims, v)->CopyTo(kGpu);
  }
  static Function Compiled(const std::string& text, long long verify) {
    CompileOptions options;
    options.device = DeviceKind::kCuda;
    options.verify = verify;
    StatusOr<Function> f = CompileText(text, options);
    EXPECT_TRUE(f.ok()) << f.status().message();
    return *f;
  }
  Function Wrong(const std::string& text, std::vector<Fault> faults, bool fallback) {
    const internal::Backend* inner = *internal::GetBackend(DeviceKind::kCuda, 0);
    // It stays: modules and memory of the context end with the process.
    auto* faulty = new FaultyBackend(inner, std::move(faults));
    // By the interpreter's kind the function stays on this back end, and takes memory as it is.
    return FunctionAccess::Make(std::make_shared<detail::FunctionState>(
        DeviceKind::kInterpret, *internal::ParseGraph(text), internal::Options{}, faulty,
        new internal::KernelCache, internal::VerifyPolicy{1, fallback}));
  }
};

constexpr char kLayer[] =
    "graph layer(%x: bf16[n,256], %w: bf16[256,128], %b: bf16[128]) -> (bf16[n,128], bf16[n,1]) "
    "{\n "
    "%0 = matmul(%x, %w) : bf16[n,128]\n %1 = add(%0, %b) : bf16[n,128]\n %2 = gelu(%1) : "
    "bf16[n,128]\n %3 = max(%2) {axes=[1], keepdims=true} : bf16[n,1]\n return %2, %3\n}";
constexpr char kScale[] =
    "graph scale(%x: f32[n]) -> (f32[n]) {\n %0 = multiply(%x, %x) : f32[n]\n return %0\n}";

TEST_F(VerifyGpuTest, RightKernelsPass) {
  Function f = Compiled(kLayer, 3);
  const std::vector<Array> in = {Make(DType::kBF16, {64, 256}), Make(DType::kBF16, {256, 128}),
                                 Make(DType::kBF16, {128})};
  for (int i = 0; i < 4; ++i) {
    const auto r = f.Run(in);
    ASSERT_TRUE(r.ok()) << r.status().message();
  }
  const VerifyReport r = f.stats().verify[0];
  EXPECT_EQ(r.backend, "cuda");
  EXPECT_EQ(r.verified, 3);
  EXPECT_EQ(r.sampled, 0);
  for (const VerifyOutput& o : r.outputs) EXPECT_THAT(o.checksums, Each(o.checksums[0]));
}

TEST_F(VerifyGpuTest, LargeOutputsBySomeRows) {
  Function f = Compiled(
      "graph rows(%x: f32[n,4096], %w: f32[4096,4096]) -> (f32[n,4096], f32[n,4096]) {\n %0 = "
      "softmax(%x) {axis=1} : f32[n,4096]\n %1 = matmul(%0, %w) : f32[n,4096]\n return %0, %1\n}",
      1);
  const auto r = f.Run({Make(DType::kF32, {2048, 4096}), Make(DType::kF32, {4096, 4096})});
  ASSERT_TRUE(r.ok()) << r.status().message();
  const VerifyReport report = f.stats().verify[0];
  EXPECT_EQ(report.sampled, 1);
  for (const VerifyOutput& o : report.outputs) EXPECT_GT(o.compared, 20);
}

TEST_F(VerifyGpuTest, RandomOpsDrawTheSameNumbers) {
  Builder b("noisy");
  Tensor x = b.Input("x", DType::kF32, {"n"});
  CompileOptions options;
  options.device = DeviceKind::kCuda;
  options.verify = 2;
  Function f = *b.Compile({Dropout(x, 0.5)}, options);
  const Array state = *Array::FromValues(DType::kU64, {2}, {3, 5})->CopyTo(kGpu);
  const void* const states[] = {nullptr, state.data()};
  for (const void* device_state : states) {
    for (int i = 0; i < 2; ++i) {
      RunOptions run;
      run.rng = {7, 1, device_state};
      const auto r = f.Run({Make(DType::kF32, {1000})}, run);
      ASSERT_TRUE(r.ok()) << r.status().message();
    }
  }
  EXPECT_EQ(f.stats().verified, 4);  // seeds by value and from memory are executables of their own
}

TEST_F(VerifyGpuTest, CapturedCallsAreNotCompared) {
  Function f = Compiled(kScale, 1);
  const std::vector<Array> in = {Make(DType::kF32, {1000})}, out = {Make(DType::kF32, {1000})};
  ASSERT_TRUE(f.Warm(in).ok());
  const jitfuse_test::StreamOfGpu0 stream;
  RunOptions run;
  run.stream = stream.get();
  void* instance = jitfuse_test::Captured(stream.get(), [&] {
    const Status s = f.RunInto(in, out, run);
    EXPECT_TRUE(s.ok()) << s.message();
  });
  EXPECT_EQ(f.stats().fallbacks.at("verify_skipped"), 1);
  EXPECT_EQ(f.stats().verified, 0);
  jitfuse_test::Replay(instance, stream.get());
  EXPECT_TRUE(f.RunInto(in, out, run).ok());
  EXPECT_EQ(f.stats().verified, 1);
}

TEST_F(VerifyGpuTest, WrongKernelsAreFoundAndAnsweredFor) {
  // Memory that both the host and the GPU reach, so that a function of the interpreter's kind takes
  // it.
  auto allocate =
      jitfuse_test::DriverFunction<int (*)(std::uintptr_t*, size_t, unsigned)>("cuMemAllocManaged");
  ASSERT_NE(allocate, nullptr);
  const jitfuse_test::StreamOfGpu0 stream;
  std::uintptr_t memory[2] = {0, 0};
  for (std::uintptr_t& m : memory) ASSERT_EQ(allocate(&m, 4096, 1), 0);
  auto* x = reinterpret_cast<float*>(memory[0]);
  auto* y = reinterpret_cast<float*>(memory[1]);
  for (int i = 0; i < 100; ++i) x[i] = static_cast<float>(i);
  const std::vector<Array> in = {Array::View(x, DType::kF32, {100})},
                           out = {Array::View(y, DType::kF32, {100})};
  const Status status = Wrong(kScale, {{0, 99}}, false).RunInto(in, out);
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("verify: graph scale on cuda:"));
  EXPECT_THAT(status.message(), HasSubstr("output 0, element [99]: got 9865, expected 9801"));
  EXPECT_THAT(status.message(), HasSubstr("--backend cuda --check"));
  Function f = Wrong(kScale, {{0, 99}}, true);
  SetLog(-1, [](int, const std::string&) {});
  EXPECT_TRUE(f.RunInto(in, out).ok());
  SetLog(-1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(y[i], static_cast<float>(i * i));
  EXPECT_EQ(f.stats().fallbacks.at("verify_fallback"), 1);
}

}  // namespace
}  // namespace jitfuse
