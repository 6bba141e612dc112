// fork(): the child of a process whose other threads are in the middle of everything can work.
#include "ir/support/fork.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "ir/support/dump.h"
#include "ir/support/stack.h"
#include "ir/text.h"
#include "jit/call_cache.h"
#include "tests/test_util/idle_backend.h"

namespace jitfuse::internal {
namespace {

// Whether `work` succeeds in a child; a hang ends the child with a signal.
bool InChild(const std::function<bool()>& work) {
  pid_t child = fork();
  if (child == 0) {
    alarm(60);
    _exit(work() ? 0 : 1);
  }
  int status = -1;
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

Graph Exp() {
  return *ParseGraph("graph f(%a: f32[n]) -> (f32[n]) {\n %0 = exp(%a) : f32[n]\n return %0\n}");
}

bool Finds(CallCache* cache, int64_t n) {
  std::vector<int64_t> dims = {n};
  TensorView view{nullptr, DType::kF32, dims, {}};
  return cache->Find({&view, 1}, {}).ok();
}

TEST(ForkTest, LocksThatOthersHoldAreFreeInTheChild) {
  std::atomic<bool> done{false};
  std::vector<std::thread> holders;
  for (int which = 0; which < static_cast<int>(ForkLock::kCount); ++which) {
    holders.emplace_back([&, which] {
      while (!done) {
        std::lock_guard<std::mutex> lock(LockOf(static_cast<ForkLock>(which)));
        std::this_thread::sleep_for(std::chrono::microseconds(200));
      }
    });
  }
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(InChild([] {
      for (int which = 0; which < static_cast<int>(ForkLock::kCount); ++which)
        std::lock_guard<std::mutex> lock(LockOf(static_cast<ForkLock>(which)));
      return true;
    }));
  }
  done = true;
  for (std::thread& t : holders) t.join();
}

// Plans as the interpreter does, slowly, so that a fork falls into it.
class SlowBackend : public IdleBackend {
 public:
  std::string_view name() const override { return "slow"; }
  std::string CompilerId() const override { return "slow"; }
  absl::StatusOr<KernelSource> Emit(const KernelPlan& plan) const override {
    absl::StatusOr<KernelSource> source = IdleBackend::Emit(plan);
    if (source.ok()) source->lang = SourceLang::kLlvm;  // so that the kernel cache keeps it
    return source;
  }
  absl::StatusOr<CompiledKernel> Compile(const KernelSource&) const override {
    compiling = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return CompiledKernel{};
  }

  mutable std::atomic<bool> compiling{false};
};

// The fork waits until nobody is inside a compiler; what is in flight all the same (here: a thread
// that waits for another's class, and classes not yet finished) is made again by the child.
TEST(ForkTest, TheChildCompilesWhatAnotherThreadWasCompiling) {
  SlowBackend backend;
  KernelCache kernels;
  CallCache cache(Exp(), Options{}, &backend, &kernels);
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) threads.emplace_back([&] { EXPECT_TRUE(Finds(&cache, 5)); });
  while (!backend.compiling) std::this_thread::yield();
  const int before = ForkGeneration();
  EXPECT_TRUE(InChild([&] {
    return ForkGeneration() == before + 1 && Finds(&cache, 5) && Finds(&cache, 7) &&
           cache.stats().compiles >= 1;
  }));
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(ForkGeneration(), before);
}

TEST(ForkTest, ALogSinkMayFork) {
  SlowBackend backend;
  KernelCache kernels;
  CallCache cache(Exp(), Options{}, &backend, &kernels);
  int children = 0;
  SetLogLevel(1);
  SetLogSink([&](int, std::string_view) { children += InChild([] { return true; }); });
  {
    CompileGate gate;
    Log(1, "from inside a compiler");
  }
  EXPECT_TRUE(Finds(&cache, 5));  // logs too
  SetLogSink({});
  SetLogLevel(-1);
  EXPECT_EQ(children, 2);
}

// Where some thread is inside at any time, a fork would wait for ever if it let others enter.
TEST(ForkTest, CompilersThatNeverRestLetAForkPass) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now(), deadline = start + std::chrono::seconds(20);
  std::atomic<bool> done{false};
  std::atomic<int> inside{0};
  std::vector<std::thread> compilers;
  for (int t = 0; t < 4; ++t) {
    compilers.emplace_back([&] {
      while (!done && Clock::now() < deadline) {
        CompileGate gate;
        ++inside;
        for (int turn = 0; turn < 1000 && inside == 1 && !done; ++turn)  // until another is in too
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
        --inside;
      }
    });
  }
  while (inside == 0) std::this_thread::yield();
  EXPECT_TRUE(InChild([] {
    CompileGate gate;
    return true;
  }));
  EXPECT_LT(Clock::now(), deadline);
  done = true;
  for (std::thread& t : compilers) t.join();
}

TEST(ForkTest, ThreadsInsideMayForkAtOnce) {
  std::atomic<int> inside{0}, children{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 2; ++t) {
    threads.emplace_back([&] {
      CompileGate gate;
      ++inside;
      while (inside < 2) std::this_thread::yield();
      children += InChild([] {
        CompileGate again;
        return true;
      });
    });
  }
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(children, 2);
}

// Python's os.fork holds the lock that a sink in Python waits for.
void ForksWhileASinkWaits(const std::function<void()>& log) {
  std::atomic<bool> waiting{false}, forked{false}, in_time{false};
  SetLogLevel(1);
  SetLogSink([&](int, std::string_view) {
    waiting = true;
    for (int turn = 0; turn < 20000 && !forked; ++turn)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    in_time = forked.load();
  });
  std::thread compiler([&] {
    CompileGate gate;
    log();
  });
  while (!waiting) std::this_thread::yield();
  EXPECT_TRUE(InChild([] {
    CompileGate gate;
    return true;
  }));
  forked = true;
  compiler.join();
  SetLogSink({});
  SetLogLevel(-1);
  EXPECT_TRUE(in_time);
  EXPECT_TRUE(InChild([] { return true; }));  // as many are inside as before: none
}

TEST(ForkTest, ASinkMayWaitForTheThreadThatForks) {
  ForksWhileASinkWaits([] { Log(1, "from inside a compiler"); });
}

TEST(ForkTest, SoMayOneOfAThreadThatACompilerMade) {
  ForksWhileASinkWaits([] {
    pthread_attr_t small;
    pthread_attr_init(&small);
    ASSERT_EQ(pthread_attr_setstacksize(&small, 512 * 1024), 0);
    pthread_t thread;
    const auto run = [](void*) -> void* {
      CompileGate gate;
      RunWithStack([] { Log(1, "from a thread of its own"); });
      return nullptr;
    };
    OutsideGates outside;  // the gate is that of the small thread
    ASSERT_EQ(pthread_create(&thread, &small, run, nullptr), 0);
    pthread_join(thread, nullptr);
    pthread_attr_destroy(&small);
  });
}

TEST(LogTest, ASinkMayLogAndUseTheLibrary) {
  int calls = 0;
  SetLogLevel(1);
  SetLogSink([&](int, std::string_view) {
    ++calls;
    Log(1, "from the sink (this goes to stderr)");
    SetLogLevel(1);
  });
  Log(1, "once");
  SetLogSink({});
  SetLogLevel(-1);
  EXPECT_EQ(calls, 1);
}

}  // namespace
}  // namespace jitfuse::internal
