// Compiling in the background: what calls run meanwhile, hot shapes, failures, and ends. The back
// end of these tests compiles when it is let.
#include "jit/background.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "ir/support/status.h"
#include "ir/text.h"
#include "jit/call_cache.h"
#include "tests/test_util/general_backend.h"
#include "tests/test_util/idle_backend.h"

namespace jitfuse::internal {
namespace {

class GatedBackend : public IdleBackend {
 public:
  explicit GatedBackend(std::string_view arch = "sm_90") : target_(*TargetFor(arch)) {}
  std::string_view name() const override { return "gated"; }
  std::string CompilerId() const override { return "gated"; }
  const Target& target() const override { return target_; }
  absl::StatusOr<CompiledKernel> Compile(const KernelSource& source) const override {
    std::unique_lock<std::mutex> lock(mutex_);
    const int mine = ++arrived_;
    changed_.notify_all();
    changed_.wait(lock, [&] { return open_ && mine != held_; });
    if (failing_) return InvalidArgument("no code for ", source.entry);
    return CompiledKernel{};
  }

  void Shut() { Set(false, false); }
  void Open(bool failing = false) { Set(true, failing); }
  // For the next one alone.
  void ShutOnce() {
    std::lock_guard<std::mutex> lock(mutex_);
    held_ = arrived_ + 1;
  }
  void WaitForArrivals(int n) {
    std::unique_lock<std::mutex> lock(mutex_);
    changed_.wait(lock, [&] { return arrived_ >= n; });
  }
  int arrived() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return arrived_;
  }

 private:
  void Set(bool open, bool failing) {
    std::lock_guard<std::mutex> lock(mutex_);
    open_ = open;
    failing_ = failing;
    held_ = 0;
    changed_.notify_all();
  }
  const Target target_;
  mutable std::mutex mutex_;
  mutable std::condition_variable changed_;
  mutable int arrived_ = 0;
  int held_ = 0;
  bool open_ = true, failing_ = false;
};

constexpr std::string_view kSoftmax =
    "graph f(%x: f32[n,m]) -> (f32[n,m]) { %0 = softmax(%x) : f32[n,m] return %0 }";

class BackgroundConcurrencyTest : public testing::Test {
 protected:
  // `specialize_after` 0 with `background`; else without.
  std::unique_ptr<CallCache> Make(bool background, int64_t specialize_after = 0) {
    Options options;
    options.background = background;
    options.specialize_after = specialize_after;
    return std::make_unique<CallCache>(*ParseGraph(kSoftmax), options, &backend_, &kernels_);
  }
  static absl::StatusOr<std::shared_ptr<const BoundCall>> Find(CallCache* cache, int64_t n,
                                                               int64_t m, bool wait = false) {
    const std::vector<int64_t> dims = {n, m};
    const TensorView view{nullptr, DType::kF32, dims, {}};
    return cache->Find({&view, 1}, {}, nullptr, nullptr, wait);
  }
  static std::optional<Reason> Meanwhile(CallCache* cache, int64_t n, int64_t m) {
    const auto bound = Find(cache, n, m);
    EXPECT_TRUE(bound.ok()) << bound.status();
    if (!bound.ok() || !(*bound)->meanwhile) return std::nullopt;
    return (*bound)->meanwhile->reason;
  }
  static int64_t Count(const CallCache& cache, Reason reason) {
    return cache.stats().fallbacks[static_cast<size_t>(reason)];
  }

  GatedBackend backend_;
  KernelCache kernels_;
};

TEST_F(BackgroundConcurrencyTest, GeneralCodeRunsWhileOwnIsCompiled) {
  const auto cache = Make(true);
  EXPECT_EQ(Meanwhile(cache.get(), 4, 64), Reason::kBackgroundWaited);
  FinishBackground();  // code for more sizes is there
  backend_.Shut();
  EXPECT_EQ(Meanwhile(cache.get(), 4, 65), Reason::kBackgroundGeneral);
  EXPECT_EQ(Meanwhile(cache.get(), 4, 66), Reason::kBackgroundGeneral);
  backend_.Open();
  FinishBackground();
  EXPECT_EQ(Meanwhile(cache.get(), 4, 65), std::nullopt);
  EXPECT_EQ(Meanwhile(cache.get(), 9, 65), std::nullopt);
  EXPECT_EQ(Count(*cache, Reason::kBackgroundWaited), 1);
  EXPECT_EQ(Count(*cache, Reason::kBackgroundGeneral), 2);
  EXPECT_EQ(cache->executables().size(), 4u);
}

TEST_F(BackgroundConcurrencyTest, HotShapesGetCodeOfTheirOwnAndNoCallWaits) {
  const auto cache = Make(false, 3);
  EXPECT_EQ(Meanwhile(cache.get(), 4, 64), std::nullopt);
  EXPECT_EQ(Meanwhile(cache.get(), 5, 64), std::nullopt);
  EXPECT_EQ(Meanwhile(cache.get(), 4, 64), std::nullopt);
  const int before = backend_.arrived();
  backend_.Shut();
  EXPECT_EQ(Meanwhile(cache.get(), 4, 64), std::nullopt);  // the third of this shape
  backend_.WaitForArrivals(before + 1);
  EXPECT_EQ(Meanwhile(cache.get(), 4, 64), std::nullopt);
  backend_.Open();
  FinishBackground();
  EXPECT_EQ(Meanwhile(cache.get(), 4, 64), Reason::kHotShape);
  EXPECT_EQ(Meanwhile(cache.get(), 5, 64), std::nullopt);
  const auto hot = Find(cache.get(), 4, 64);
  EXPECT_TRUE(NumElements((*hot)->executable->outputs[0].dims).Is(256));
  EXPECT_EQ(Count(*cache, Reason::kHotShape), 1);
}

TEST_F(BackgroundConcurrencyTest, AFailureIsToldByTheNextCallThatNeedsTheCode) {
  const auto cache = Make(true);
  EXPECT_EQ(Meanwhile(cache.get(), 4, 64), Reason::kBackgroundWaited);
  FinishBackground();
  backend_.Open(/*failing=*/true);
  EXPECT_EQ(Meanwhile(cache.get(), 4, 65), Reason::kBackgroundGeneral);
  FinishBackground();
  EXPECT_EQ(Count(*cache, Reason::kBackgroundFailed), 1);
  const auto failed = Find(cache.get(), 4, 65);
  EXPECT_EQ(failed.status().code(), absl::StatusCode::kInvalidArgument) << failed.status();
  backend_.Open();
  EXPECT_EQ(Meanwhile(cache.get(), 4, 65), std::nullopt);
}

TEST_F(BackgroundConcurrencyTest, TheEndOfAFunctionWaitsForItsCompile) {
  auto cache = Make(true);
  EXPECT_EQ(Meanwhile(cache.get(), 4, 64), Reason::kBackgroundWaited);
  FinishBackground();
  const int before = backend_.arrived();
  backend_.Shut();
  for (int64_t m : {65, 66, 68}) Meanwhile(cache.get(), 4, m);
  backend_.WaitForArrivals(before + 1);
  std::atomic<bool> ended{false};
  std::thread end([&] {
    cache = nullptr;
    ended = true;
  });
  while (WaitingInBackground() > 0) std::this_thread::yield();  // what is behind it is dropped
  EXPECT_FALSE(ended);
  backend_.Open();
  end.join();
  EXPECT_EQ(backend_.arrived(), before + 1);
}

TEST_F(BackgroundConcurrencyTest, ManyThreadsAndShapes) {
  const auto cache = Make(true, 4);
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t call = 0; call < 60; ++call) {
        const auto bound = Find(cache.get(), 2 + call % 3, 60 + (call + t) % 5);
        EXPECT_TRUE(bound.ok()) << bound.status();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  FinishBackground();
  EXPECT_EQ(Meanwhile(cache.get(), 2, 60), Reason::kHotShape);
  EXPECT_EQ(Count(*cache, Reason::kHotShape), 15);
  EXPECT_EQ(Count(*cache, Reason::kBackgroundFailed), 0);
}

TEST_F(BackgroundConcurrencyTest, OnTheCpuTheInterpreterRunsMeanwhile) {
  GatedBackend cpu("x86-64-v3");
  Options options;
  options.background = true;
  CallCache cache(*ParseGraph(kSoftmax), options, &cpu, &kernels_);
  cpu.Shut();
  const auto first = Find(&cache, 4, 64);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_EQ((*first)->meanwhile->reason, Reason::kBackgroundInterpreted);
  EXPECT_EQ((*first)->executable->backend->name(), "interpret");
  cpu.Open();
  FinishBackground();
  const auto second = Find(&cache, 4, 64);
  EXPECT_EQ((*second)->meanwhile, std::nullopt);
  EXPECT_EQ((*second)->executable->backend, &cpu);
  // What would take the interpreter longer than the compiler waits.
  Options large = options;
  large.fuse = false;
  CallCache other(*ParseGraph(kSoftmax), large, &cpu, &kernels_);
  EXPECT_EQ(Meanwhile(&other, 8192, 1000), Reason::kBackgroundWaited);
}

// As for Warm and WorkspaceBytes.
TEST_F(BackgroundConcurrencyTest, ACallThatWaitsGetsItsOwnCode) {
  GatedBackend cpu("x86-64-v3");
  Options options;
  options.background = true;
  CallCache cache(*ParseGraph(kSoftmax), options, &cpu, &kernels_);
  const auto expect_own = [&](int64_t m, bool wait) {
    const auto bound = Find(&cache, 4, m, wait);
    ASSERT_TRUE(bound.ok()) << bound.status();
    EXPECT_EQ((*bound)->meanwhile, std::nullopt) << m;
    EXPECT_EQ((*bound)->executable->backend, &cpu) << m;
  };
  expect_own(40, /*wait=*/true);
  EXPECT_EQ(cache.executables().size(), 1u);
  EXPECT_EQ(WaitingInBackground(), 0u);
  cpu.ShutOnce();
  const int before = cpu.arrived();
  EXPECT_EQ(Meanwhile(&cache, 4, 64), Reason::kBackgroundInterpreted);
  cpu.WaitForArrivals(before + 1);  // what else is compiled in the background is behind that
  EXPECT_EQ(Meanwhile(&cache, 4, 65), Reason::kBackgroundInterpreted);
  expect_own(65, /*wait=*/true);
  EXPECT_EQ(Meanwhile(&cache, 4, 66), Reason::kBackgroundInterpreted);
  std::thread([&] { expect_own(66, /*wait=*/true); }).join();
  expect_own(66, /*wait=*/false);  // where another thread has waited, too
  EXPECT_EQ(Count(cache, Reason::kBackgroundInterpreted), 3);
  cpu.Open();
  FinishBackground();
}

TEST_F(BackgroundConcurrencyTest, WhatCompositesStandForDecidesWhetherTheInterpreterRuns) {
  GatedBackend cpu("x86-64-v3");
  Options options;
  options.background = true;
  const auto meanwhile = [&](int64_t n) {
    CallCache cache(*ParseGraph("graph f(%x: f32[n,64], %w: f32[64,64]) -> (f32[n,64]) {\n"
                                "  %0 = linear(%x, %w) : f32[n,64]\n  return %0\n}"),
                    options, &cpu, &kernels_);
    const std::vector<int64_t> dims = {n, 64}, weight = {64, 64};
    const std::vector<TensorView> views = {{nullptr, DType::kF32, dims, {}},
                                           {nullptr, DType::kF32, weight, {}}};
    const auto bound = cache.Find(views, {});
    EXPECT_TRUE(bound.ok()) << bound.status();
    return bound.ok() && (*bound)->meanwhile ? (*bound)->meanwhile->reason : Reason::kCount;
  };
  EXPECT_EQ(meanwhile(4), Reason::kBackgroundInterpreted);
  EXPECT_EQ(meanwhile(1024), Reason::kBackgroundWaited);  // 64 K results, each a sum of 64 products
}

TEST_F(BackgroundConcurrencyTest, NothingIsHotWhereEveryShapeHasItsOwnCode) {
  Options options;
  options.specialize_after = 2;
  CallCache constant(
      *ParseGraph(
          "graph f(%x: f32[4,64]) -> (f32[4,64]) { %0 = softmax(%x) : f32[4,64] return %0 }"),
      options, &backend_, &kernels_);
  options.dynamic = Dynamic::kNone;
  CallCache none(*ParseGraph(kSoftmax), options, &backend_, &kernels_);
  for (CallCache* cache : {&constant, &none}) {
    for (int call = 0; call < 4; ++call) EXPECT_EQ(Meanwhile(cache, 4, 64), std::nullopt);
    FinishBackground();
    std::thread([&] { EXPECT_EQ(Meanwhile(cache, 4, 64), std::nullopt); }).join();
    EXPECT_EQ(cache->executables().size(), 1u);
    EXPECT_EQ(Count(*cache, Reason::kHotShape), 0);
  }
}

// With JITFUSE_REQUIRE_CACHE nothing is compiled, so that there is nothing to wait for.
TEST_F(BackgroundConcurrencyTest, WhatMustBeInTheCacheIsNotCompiledInTheBackground) {
  const TempFolder folder;
  const GeneralBackend cpu("x86-64-v3", "x86-64-v3");
  Options options;
  {
    DiskCache disk(In(folder.path));
    KernelCache kernels(&disk);
    CallCache fill(*ParseGraph(kSoftmax), options, &cpu, &kernels);
    ASSERT_TRUE(Find(&fill, 4, 64).ok());
  }
  options.background = true;
  options.specialize_after = 1;
  DiskCacheOptions required = In(folder.path);
  required.require = true;
  DiskCache disk(required);
  KernelCache kernels(&disk);
  CallCache cache(*ParseGraph(kSoftmax), options, &cpu, &kernels);
  const int compiled = cpu.compiles;
  for (int call = 0; call < 2; ++call) EXPECT_EQ(Meanwhile(&cache, 4, 64), std::nullopt);
  EXPECT_THAT(std::string(Find(&cache, 1, 65).status().message()),
              testing::HasSubstr("is not in the cache"));
  FinishBackground();
  EXPECT_EQ(cpu.compiles, compiled);
  EXPECT_EQ(cache.stats().disk_hits, 1);
  EXPECT_EQ(Count(cache, Reason::kBackgroundFailed), 0);
}

// What a compiler makes in a job, and exit() takes down: not while a job runs.
std::atomic<bool> in_job{false};
void RegisterHandler() {
  std::atexit([] {
    if (in_job) _exit(3);
  });
}
void LongJob() {
  in_job = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  in_job = false;
}
void AwaitJob() {
  while (!in_job) std::this_thread::yield();
}
// What the child that does `work` says; 0: exit() waited.
int StatusOfChild(const std::function<void()>& work) {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    work();
    std::exit(4);
  }
  int status = -1;
  EXPECT_EQ(waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(BackgroundConcurrencyTest, ExitOfTheMainThreadWaitsBeforeWhatTheJobMadeIsTakenDown) {
  EXPECT_EQ(StatusOfChild([this] {
              const auto job = [] {
                RegisterHandler();
                LongJob();
              };
              if (!RunInBackground(this, &backend_, job)) _exit(5);
              AwaitJob();
              std::exit(0);
            }),
            0);
}

TEST_F(BackgroundConcurrencyTest, ExitOfAnotherThreadWaitsBeforeWhatTheFirstJobMadeIsTakenDown) {
  static const GatedBackend compiler;  // whose first job it is
  EXPECT_EQ(StatusOfChild([] {
              std::thread([] {
                if (!RunInBackground(&compiler, &compiler, RegisterHandler)) _exit(5);
                FinishBackground();
                if (!RunInBackground(&compiler, &compiler, LongJob)) _exit(5);
                AwaitJob();
                std::exit(0);
              }).join();
            }),
            0);
}

TEST_F(BackgroundConcurrencyTest, TheEndOfAThreadThatAskedIsNotThatOfTheProcess) {
  std::thread([this] { EXPECT_TRUE(RunInBackground(this, &backend_, [] {})); }).join();
  std::atomic<bool> ran{false};
  EXPECT_TRUE(RunInBackground(this, &backend_, [&ran] { ran = true; }));
  FinishBackground();
  EXPECT_TRUE(ran);
}

TEST_F(BackgroundConcurrencyTest, AChildOfForkHasAThreadOfItsOwn) {
  const auto cache = Make(true);
  EXPECT_EQ(Meanwhile(cache.get(), 4, 64), Reason::kBackgroundWaited);
  FinishBackground();
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    const bool general = Meanwhile(cache.get(), 4, 65) == Reason::kBackgroundGeneral;
    FinishBackground();
    _exit(general && Meanwhile(cache.get(), 4, 65) == std::nullopt ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

}  // namespace
}  // namespace jitfuse::internal
