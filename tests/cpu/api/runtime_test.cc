// What surrounds a call on the CPU: statistics, verification, locks, forks, devices, environment.
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <future>
#include <limits>
#include <mutex>
#include <string>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "api/function_state.h"
#include "api/inspect.h"
#include "api/jitfuse.h"
#include "api/runtime.h"
#include "ir/support/fork.h"
#include "ir/text.h"
#include "tests/test_util/idle_backend.h"

namespace jitfuse {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// An environment variable for the life of this object.
class Env {
 public:
  Env(const char* name, const char* value) : name_(name) {
    const char* before = std::getenv(name);
    had_ = before != nullptr;
    if (had_) before_ = before;
    setenv(name, value, 1);
  }
  ~Env() { had_ ? setenv(name_, before_.c_str(), 1) : unsetenv(name_); }

 private:
  const char* name_;
  bool had_;
  std::string before_;
};

constexpr char kScale[] =
    "graph scale(%x: f32[n]) -> (f32[n]) {\n %0 = multiply(%x, %x) : f32[n]\n return %0\n}";

Function Compiled(const char* text) {
  CompileOptions options;
  options.device = DeviceKind::kCpu;
  return *CompileText(text, options);
}

Array Values(std::vector<double> v) {
  return *Array::FromValues(DType::kF32, {static_cast<std::int64_t>(v.size())}, v);
}

TEST(StatsTest, OfAFunctionAndOfTheProcess) {
  const Stats before = TotalStats();
  CompileOptions options;
  options.device = DeviceKind::kCpu;
  options.numerics = Numerics::kFast;
  const char* text =
      "graph g(%x: f32[n], %y: i32[3,4], %z: i32[4,5]) -> (f32[n], i32[3,5]) {\n %0 = "
      "multiply(%x, %x) : f32[n]\n %1 = matmul(%y, %z) : i32[3,5]\n return %0, %1\n}";
  Function f = *CompileText(text, options), again = *CompileText(text, options);
  std::vector<Array> in = {Values({1, 2}), *Array::Empty(DType::kI32, {3, 4}),
                           *Array::Empty(DType::kI32, {4, 5})};
  ASSERT_TRUE(f.Warm(in).ok());
  ASSERT_TRUE(f.Warm(in).ok());
  ASSERT_TRUE(again.Warm(in).ok());
  const Stats first = f.stats(), second = again.stats(), after = TotalStats();
  EXPECT_EQ(first.compiles, 1);
  EXPECT_EQ(first.compiled + first.memory_hits, 2);
  EXPECT_EQ(second.compiled, 0);
  EXPECT_EQ(second.memory_hits, 2);
  EXPECT_EQ(first.fallbacks.at("gemm_dtype"), 1);
  EXPECT_EQ(first.fallbacks.at("numerics_fast_same"), 1);
  EXPECT_GE(first.boundaries.at("graph_output"), 2);
  EXPECT_EQ(first.fallbacks.count("offsets_64"), 0u);
  EXPECT_GE(after.compiles, before.compiles + 2);
  EXPECT_GE(after.fallbacks.at("gemm_dtype"), 2);
  EXPECT_GE(after.memory_hits, before.memory_hits + 2);
  EXPECT_GE(after.kernels, 2);
  EXPECT_EQ(Function().stats().compiles, 0);
}

// The checked mode: kernels move an index that is out of range to the border.
TEST(VerifyTest, OfEveryCallAnIndexOutOfRangeIsAnError) {
  constexpr char kTake[] =
      "graph f(%x: f32[4], %i: f32[2]) -> (f32[2]) { %0 = cast(%i) {dtype=i64} : i64[2] %1 = "
      "take(%x, %0) : f32[2] return %1 }";
  for (const char* mode : {"1", "2"}) {
    Env verify("JITFUSE_VERIFY", mode);
    Function f = Compiled(kTake);
    const Array x = Values({1, 2, 3, 4});
    for (int i = 0; i < 2; ++i) EXPECT_TRUE(f.Run({x, Values({1, -1})}).ok());
    const auto last = f.Run({x, Values({1, 9})});
    EXPECT_EQ(f.stats().verified, mode[0] == '1' ? 1 : 2);
    EXPECT_EQ(last.ok(), mode[0] == '1');
    if (!last.ok()) {
      EXPECT_THAT(last.status().message(),
                  HasSubstr("index 9 is out of range for axis 0 of size 4"));
    } else {
      EXPECT_THAT(*(*last)[0].ToVector(), ElementsAre(2, 4));
    }
  }
}

TEST(VerifyTest, FirstCallsAreComparedAndWrongResultsAreErrors) {
  Env verify("JITFUSE_VERIFY", "1");
  Function f = Compiled(kScale);
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(f.Run({Values({1, 2, 3})}).ok());
  EXPECT_EQ(f.stats().verified, 1);
  Array in_place = Values({1, 2, 3});
  EXPECT_TRUE(f.RunInto({in_place}, {in_place}).ok());
  EXPECT_THAT(*in_place.ToVector(), ElementsAre(1, 4, 9));
  EXPECT_EQ(f.stats().verified, 2);

  // A back end that does nothing leaves what was in the result.
  class Idle : public internal::IdleBackend {
   public:
    std::string_view name() const override { return "idle"; }
    std::string CompilerId() const override { return ""; }
    absl::StatusOr<internal::CompiledKernel> Compile(const internal::KernelSource&) const override {
      return internal::CompiledKernel{};
    }
  } idle;
  internal::KernelCache kernels;
  Function wrong = FunctionAccess::Make(std::make_shared<detail::FunctionState>(
      DeviceKind::kInterpret, *internal::ParseGraph(kScale), internal::Options{}, &idle, &kernels));
  Array out = Values({7, 7, 7});
  Status status = wrong.RunInto({Values({1, 2, 3})}, {out});
  EXPECT_EQ(status.code(), StatusCode::kInternal);
  EXPECT_THAT(status.message(), HasSubstr("verify: graph scale on idle"));
  EXPECT_THAT(status.message(), HasSubstr("got 7, expected 1 +-"));
  EXPECT_THAT(status.message(), HasSubstr(".jf"));
}

TEST(LockTest, AWarmCallTakesNoLockButTheAllocators) {
  Function f = Compiled(kScale);
  Array x = Values({1, 2, 3}), y = Values({0, 0, 0});
  std::promise<void> warmed, locked;
  auto calls = std::async(std::launch::async, [&] {
    bool ok = f.Run({x}).ok() && f.RunInto({x}, {y}).ok();
    warmed.set_value();
    locked.get_future().wait();
    return ok && f.Run({x}).ok() && f.RunInto({x}, {y}).ok();
  });
  warmed.get_future().wait();
  bool in_time;
  {
    using internal::ForkLock;
    std::lock_guard<std::mutex> a(internal::LockOf(ForkLock::kBackends)),
        b(internal::LockOf(ForkLock::kCaches)), c(internal::LockOf(ForkLock::kLibraries)),
        d(internal::LockOf(ForkLock::kLog));
    locked.set_value();
    in_time = calls.wait_for(std::chrono::seconds(20)) == std::future_status::ready;
  }
  EXPECT_TRUE(in_time);
  EXPECT_TRUE(calls.get());
}

// Threads compile and call all the time; each child of a fork must be able to do both.
TEST(ForkTest, TheCpuWorksInTheChild) {
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; !done; ++i) {
        Builder b("fork");
        Tensor x = b.Input("x", DType::kF32, {"n"});
        CompileOptions options;
        options.device = DeviceKind::kCpu;
        Function f = *b.Compile({x * (t * 1000.0 + i) + 0.5}, options);
        EXPECT_TRUE(f.Run({Values({1, 2})}).ok());
      }
    });
  }
  Function f = Compiled(kScale);
  for (int i = 0; i < 10; ++i) {
    pid_t child = fork();
    if (child == 0) {
      alarm(60);
      Function own = Compiled(
          "graph own(%x: f32[n]) -> (f32[n]) {\n %0 = negative(%x) : "
          "f32[n]\n return %0\n}");
      auto y = f.Run({Values({3})}), z = own.Run({Values({3})});
      _exit(y.ok() && z.ok() && (*(*y)[0].ToVector())[0] == 9 && (*(*z)[0].ToVector())[0] == -3
                ? 0
                : 1);
    }
    int status = -1;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
    EXPECT_EQ(WEXITSTATUS(status), 0);
  }
  done = true;
  for (std::thread& t : threads) t.join();
}

TEST(DeviceTest, ArraysElsewhereAreNamed) {
  Function f = Compiled(kScale);
  float data[3] = {};
  auto message = [&](Device device) {
    return f.Run({Array::View(data, DType::kF32, {3}, {}, device)}).status().message();
  };
  EXPECT_EQ(message({DeviceKind::kCuda, 2}),
            "scale: input 0 is on GPU 2, but this function runs on the CPU");
  EXPECT_THAT(message({DeviceKind::kInterpret, 0}), HasSubstr("is on the interpreter, but"));
  EXPECT_THAT(message({DeviceKind::kAuto, 0}), HasSubstr("is on any device, but"));
  EXPECT_THAT(message({static_cast<DeviceKind>(17), 0}), HasSubstr("is on device kind 17, but"));
  for (DeviceKind kind : {DeviceKind::kInterpret, DeviceKind::kAuto, static_cast<DeviceKind>(17)}) {
    EXPECT_EQ(Array::Empty(DType::kF32, {3}, {kind, 0}).status().code(),
              StatusCode::kInvalidArgument);
  }
  EXPECT_EQ(DeviceStatus(static_cast<DeviceKind>(17)).code(), StatusCode::kInvalidArgument);
}

TEST(EnvironmentTest, ABadBackendIsAnErrorEverywhere) {
  Env backend("JITFUSE_BACKEND", "gpu");
  for (const Status& s :
       {DefaultDevice().status(), SourceOf(kScale, {Values({1})}, "plan", "").status(),
        SourceOf(kScale, {Values({1})}, "graph", "").status(), DeviceStatus(DeviceKind::kAuto)}) {
    EXPECT_EQ(s.code(), StatusCode::kInvalidArgument);
    EXPECT_EQ(s.message(),
              "JITFUSE_BACKEND: unknown backend 'gpu'; known: auto, cpu, cuda, interpret");
  }
  setenv("JITFUSE_BACKEND", "interpret", 1);
  EXPECT_EQ(*DefaultDevice(), DeviceKind::kInterpret);
}

TEST(ScalarShapesTest, SoftmaxOfRankZero) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  Function f = Compiled(
      "graph s(%x: f32[]) -> (f32[], f32[]) {\n %0 = softmax(%x) : f32[]\n %1 = log_softmax(%x) "
      "{axis=0} : f32[]\n return %0, %1\n}");
  auto of = [&](double v) {
    auto y = f.Run({*Array::FromValues(DType::kF32, {}, {v})});
    EXPECT_TRUE(y.ok()) << y.status().message();
    return std::pair((*y)[0].ToVector()->at(0), (*y)[1].ToVector()->at(0));
  };
  EXPECT_EQ(of(3), std::pair(1.0, 0.0));
  EXPECT_EQ(of(-100), std::pair(1.0, 0.0));
  for (double v : {kInf, -kInf}) EXPECT_TRUE(std::isnan(of(v).first) && std::isnan(of(v).second));
}

}  // namespace
}  // namespace jitfuse
