// The API on a fake driver: contexts, devices, copies, captured streams. Kernels are compiled by
// the real NVRTC and launched by nobody, so that results mean nothing here.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/jitfuse.h"
#include "api/runtime.h"
#include "jit/cuda/nvrtc_api.h"
#include "tests/fake_driver.h"

namespace jitfuse {
namespace {

using internal::FakeDriver;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

class ContextsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (auto nvrtc = internal::LoadNvrtcApi(13); !nvrtc.ok()) GTEST_SKIP() << nvrtc.status();
    FakeDriver::current = nullptr;
    driver_->devices = 2;
    internal::UseDriverForTests(&driver_->api());
  }
  void TearDown() override { internal::UseDriverForTests(nullptr); }

  Array On(int index, std::vector<double> v) {
    Array host = *Array::FromValues(DType::kF32, {static_cast<std::int64_t>(v.size())}, v);
    return *host.CopyTo({DeviceKind::kCuda, index});
  }
  Function Add(CompileOptions options = {}) {
    Builder b("both");
    Tensor x = b.Input("x", DType::kF32, {"n"}), y = b.Input("y", DType::kF32, {"n"});
    options.device = DeviceKind::kCuda;
    StatusOr<Function> f = b.Compile({x + y}, options);
    EXPECT_TRUE(f.ok()) << f.status().message();
    return *f;
  }

  FakeDriver* driver_ = new FakeDriver;  // back ends of the process may outlive the test
};

TEST_F(ContextsTest, ACallRunsWhereItsInputsAre) {
  Function f = Add();
  std::vector<Array> here = *f.Run({On(0, {1, 2}), On(0, {3, 4})});
  EXPECT_EQ(here[0].device().index, 0);
  const long long compiled = TotalStats().compiled;
  std::vector<Array> there = *f.Run({On(1, {1, 2}), On(1, {3, 4})});
  EXPECT_EQ(there[0].device().index, 1);
  EXPECT_EQ(TotalStats().compiled, compiled);  // loaded again, not compiled again
  EXPECT_EQ(driver_->Calls("cuModuleLoadData"), 2);
  EXPECT_EQ(driver_->Calls("cuLaunchKernel"), 2);  // the fake refuses a module of another context
  EXPECT_EQ(f.stats().compiles, 2);
  EXPECT_EQ(FakeDriver::current, nullptr);
  // The thread's own context of that device is used, and stays.
  FakeDriver::current = FakeDriver::Context(9);
  EXPECT_TRUE(f.Run({On(0, {1, 2}), On(0, {3, 4})}).ok());
  EXPECT_EQ(driver_->Calls("cuModuleLoadData"), 3);
  EXPECT_EQ(FakeDriver::current, FakeDriver::Context(9));
}

TEST_F(ContextsTest, AWarmCallAsksTheDriverForItsContextOnceAndLaunches) {
  Function f = Add();
  const std::vector<Array> in = {On(0, {1, 2}), On(0, {3, 4})}, out = {On(0, {0, 0})};
  const auto asked = [&] {
    EXPECT_TRUE(f.RunInto(in, out).ok());
    driver_->ForgetCalls();
    EXPECT_TRUE(f.RunInto(in, out).ok());
    return driver_->AllCalls();
  };
  FakeDriver::current = FakeDriver::Context(1);  // the primary one, as frameworks have it
  EXPECT_THAT(asked(), ElementsAre(Pair("cuCtxGetId", 1), Pair("cuLaunchKernel", 1)));
  FakeDriver::current = FakeDriver::Context(9);  // a context of the user's own
  EXPECT_THAT(asked(), ElementsAre(Pair("cuCtxGetId", 1), Pair("cuLaunchKernel", 1)));
  FakeDriver::current = FakeDriver::Context(2);  // that of another device
  driver_->device_of[FakeDriver::current] = 1;
  EXPECT_THAT(asked(), ElementsAre(Pair("cuCtxGetCurrent", 1), Pair("cuCtxGetId", 1),
                                   Pair("cuCtxPopCurrent", 1), Pair("cuCtxPushCurrent", 1),
                                   Pair("cuLaunchKernel", 1)));
  EXPECT_EQ(FakeDriver::current, FakeDriver::Context(2));
}

// The id tells it apart, where the driver has ids.
TEST_F(ContextsTest, ACallKnowsAContextAtTheAddressOfADestroyedOne) {
  Function f = Add();
  FakeDriver::current = FakeDriver::Context(9);
  const std::vector<Array> in = {On(0, {1, 2}), On(0, {3, 4})}, out = {On(0, {0, 0})};
  ASSERT_TRUE(f.RunInto(in, out).ok());
  const int loaded = driver_->Calls("cuModuleLoadData");
  driver_->ids[FakeDriver::Context(9)] = 77;
  ASSERT_TRUE(f.RunInto(in, out).ok());
  EXPECT_EQ(driver_->Calls("cuModuleLoadData"), loaded + 1);
}

TEST_F(ContextsTest, ArraysOfSeveralDevicesAreNamed) {
  Function f = Add();
  EXPECT_EQ(
      f.Run({On(0, {1, 2}), On(1, {3, 4})}).status().message(),
      "both: input 1 is on GPU 1, but this call runs on GPU 0, where its first input is; copy "
      "one of them");
  EXPECT_THAT(f.RunInto({On(1, {1}), On(1, {3})}, {On(0, {0})}).message(),
              HasSubstr("both: output 0 is on GPU 0, but this call runs on GPU 1"));
  EXPECT_THAT(f.Run({On(0, {1}), *Array::FromValues(DType::kF32, {1}, {1})}).status().message(),
              HasSubstr("both: input 1 is on the CPU, but this function runs on GPU 0"));
  EXPECT_THAT(Array::Empty(DType::kF32, {3}, {DeviceKind::kCuda, 5}).status().message(),
              HasSubstr("there is no GPU 5: the CUDA driver sees 2"));
}

TEST_F(ContextsTest, CopiesOfStridedArraysAndBetweenDevices) {
  Array x = On(1, {0, 1, 2, 3, 4, 5});
  auto* data = static_cast<float*>(x.data());
  Array columns = Array::View(data, DType::kF32, {3, 2}, {1, 3}, {DeviceKind::kCuda, 1}),
        backwards = Array::View(data + 5, DType::kF32, {3}, {-2}, {DeviceKind::kCuda, 1});
  EXPECT_THAT(*columns.CopyTo({})->ToVector(), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(*backwards.ToVector(), ElementsAre(5, 3, 1));
  for (int index : {0, 1}) {
    Array copy = *columns.CopyTo({DeviceKind::kCuda, index});
    EXPECT_EQ(copy.device().index, index);
    EXPECT_TRUE(copy.IsContiguous());
    EXPECT_THAT(*copy.ToVector(), ElementsAre(0, 3, 1, 4, 2, 5));
  }
  EXPECT_THAT(*x.CopyTo({DeviceKind::kCuda, 1})->ToVector(), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST_F(ContextsTest, VerificationReadsTheDeviceAndIsSkippedUnderCapture) {
  CompileOptions first;
  first.verify = 1;
  setenv("JITFUSE_VERIFY", "1", 1);
  Function by_environment = Add();
  unsetenv("JITFUSE_VERIFY");
  for (Function f : {by_environment, Add(first)}) {
    driver_->capturing = true;
    std::vector<Array> in = {On(0, {1, 2}), On(0, {3, 4})};
    const int syncs = driver_->Calls("cuStreamSynchronize");
    EXPECT_TRUE(f.RunInto(in, {On(0, {0, 0})}).ok());
    EXPECT_EQ(driver_->Calls("cuStreamSynchronize"), syncs + 1);  // the copy to the output alone
    EXPECT_EQ(f.stats().fallbacks.at("verify_skipped"), 1);
    EXPECT_EQ(f.stats().verify[0].skip_reason, "its stream is being captured");
    driver_->capturing = false;
    Status status = f.RunInto(in, {On(0, {0, 0})});  // the fake runs no kernel: a wrong result
    EXPECT_EQ(status.code(), StatusCode::kInternal);
    EXPECT_THAT(status.message(), HasSubstr("got 0, expected 4"));
    EXPECT_THAT(status.message(), HasSubstr("--backend cuda --check"));
    EXPECT_EQ(f.stats().verified, 1);
    EXPECT_TRUE(f.RunInto(in, {On(0, {0, 0})}).ok());  // the second one
    EXPECT_THAT(*f.Explain(in), HasSubstr("note verify_skipped"));
  }
}

TEST_F(ContextsTest, TheEvaluatorAnswersOnTheDeviceButNotUnderCapture) {
  CompileOptions options;
  options.verify = 1;
  options.verify_action = VerifyAction::kFallback;
  Function f = Add(options);
  std::vector<Array> in = {On(0, {1, 2, 5}), On(0, {3, 4, 6})};
  SetLog(-1, [](int, const std::string&) {});
  EXPECT_THAT(*(*f.Run(in))[0].ToVector(), ElementsAre(4, 6, 11));
  const int launched = driver_->Calls("cuLaunchKernel");
  EXPECT_THAT(*(*f.Run(in))[0].ToVector(), ElementsAre(4, 6, 11));
  // Into every second element, over zeros that stay.
  Array wide = On(0, {0, 0, 0, 0, 0, 0});
  Array strided =
      Array::View(static_cast<float*>(wide.data()), DType::kF32, {3}, {2}, {DeviceKind::kCuda, 0});
  Function g = Add(options);
  EXPECT_TRUE(g.RunInto(in, {strided}).ok());
  EXPECT_THAT(*wide.ToVector(), ElementsAre(4, 0, 6, 0, 11, 0));
  SetLog(-1);
  EXPECT_EQ(driver_->Calls("cuLaunchKernel"), launched + 1);  // g's first
  driver_->capturing = true;
  EXPECT_THAT(f.Run(in).status().message(), HasSubstr("cannot be captured"));
  EXPECT_EQ(f.Run(in).status().code(), StatusCode::kFailedPrecondition);
  driver_->capturing = false;
  EXPECT_EQ(f.stats().verify[0].backend, "cuda");
  EXPECT_EQ(f.stats().verify[0].fallback_calls, 2);
}

TEST_F(ContextsTest, InTheChildOfAForkTheGpuIsAnErrorAndTheCpuWorks) {
  Function gpu = Add();
  std::vector<Array> in = {On(0, {1, 2}), On(0, {3, 4})};
  ASSERT_TRUE(gpu.Run(in).ok());
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    Status run = gpu.Run(in).status(),
           empty = Array::Empty(DType::kF32, {3}, {DeviceKind::kCuda, 0}).status();
    CompileOptions options;
    options.device = DeviceKind::kCpu;
    Builder b("cpu");
    Function cpu = *b.Compile({b.Input("x", DType::kF32, {"n"}) + 1.0}, options);
    auto y = cpu.Run({*Array::FromValues(DType::kF32, {1}, {1})});
    bool right = run.message().find("forked") != std::string::npos &&
                 empty.message().find("forked") != std::string::npos && y.ok() &&
                 y->at(0).ToVector()->at(0) == 2;
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_TRUE(gpu.Run(in).ok());
}

// Kernels that read seed and offset from memory are others than those that get their values.
TEST_F(ContextsTest, WarmWorkspaceAndExplainAskForTheKernelsThatReadTheSeedFromMemory) {
  Builder b("random");
  CompileOptions options;
  options.device = DeviceKind::kCuda;
  const Tensor x = b.Input("x", DType::kF32, {"n"});
  auto fresh = [&] { return *b.Compile({Dropout(x, 0.5)}, options); };
  const std::vector<Array> in = {On(0, {1, 2, 3})};
  const Array state = *Array::Empty(DType::kU64, {2}, {DeviceKind::kCuda, 0});
  RunOptions from_memory;
  from_memory.rng.device_state = state.data();

  auto misses_after = [&](auto warm) {
    Function f = fresh();
    warm(f);
    EXPECT_EQ(f.stats().compiles, 1);
    EXPECT_TRUE(f.Run(in, from_memory).ok());
    return f.stats().compiles - 1;
  };
  EXPECT_EQ(misses_after([&](Function& f) { EXPECT_TRUE(f.Warm(in, from_memory).ok()); }), 0);
  EXPECT_EQ(misses_after([&](Function& f) { EXPECT_TRUE(f.WorkspaceBytes(in, from_memory).ok()); }),
            0);
  EXPECT_EQ(misses_after([&](Function& f) { EXPECT_TRUE(f.ExplainJson(in, from_memory).ok()); }),
            0);
  EXPECT_EQ(misses_after([&](Function& f) {
              auto text = f.Explain(in, from_memory);
              ASSERT_TRUE(text.ok());
              EXPECT_THAT(*text, HasSubstr("boundary %rng_seed : u64[]"));
            }),
            0);
  EXPECT_EQ(misses_after([&](Function& f) { EXPECT_TRUE(f.Warm(in).ok()); }), 1);
}

TEST_F(ContextsTest, TheSeedInMemoryIsReadByTheKernelAlone) {
  Builder b("random");
  CompileOptions options;
  options.device = DeviceKind::kCuda;
  Function f = *b.Compile({RandomUniform(b, {8})}, options);
  const Array state = *Array::Empty(DType::kU64, {2}, {DeviceKind::kCuda, 0});
  RunOptions run;
  run.rng.device_state = state.data();
  driver_->words_per_launch = 3;
  ASSERT_TRUE(f.Run({}, run).ok());
  const auto base = reinterpret_cast<std::uint64_t>(state.data());
  EXPECT_THAT(driver_->launches().back().words, ::testing::IsSupersetOf({base, base + 8}));
  run.rng.device_state = static_cast<char*>(state.data()) + 4;
  for (const Status& s : {f.Run({}, run).status(), f.Warm({}, run)}) {
    EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
    EXPECT_THAT(s.message(), HasSubstr("rng.device_state must be two 64-bit words"));
  }
}

}  // namespace
}  // namespace jitfuse
