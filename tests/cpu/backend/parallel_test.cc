// ParallelFor: every chunk once, nested calls, many callers, and after fork.
#include "cpu_backend/parallel.h"

#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>
#include <vector>

#include "gtest/gtest.h"
#include "ir/support/fork.h"
#include "tests/support/refuse_threads.h"

namespace jitfuse::internal {
namespace {

void ExpectEachOnce(int64_t chunks) {
  std::vector<std::atomic<int>> times(static_cast<size_t>(chunks));
  ParallelFor(chunks, [&](int64_t chunk) { ++times[static_cast<size_t>(chunk)]; });
  for (const auto& t : times) ASSERT_EQ(t, 1);
}

TEST(ParallelFor, EachChunkOnce) {
  EXPECT_GE(NumThreads(), 1);
  for (int64_t chunks : {0, 1, 2, 3, 7, 1000}) ExpectEachOnce(chunks);
}

TEST(ParallelFor, Nested) {
  std::atomic<int> count{0};
  ParallelFor(10, [&](int64_t) { ParallelFor(10, [&](int64_t) { ++count; }); });
  EXPECT_EQ(count, 100);
}

TEST(ParallelConcurrency, ConcurrentCallers) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 64; ++t) {
    threads.emplace_back([] {
      for (int turn = 0; turn < 20; ++turn) ExpectEachOnce(17);
    });
  }
  for (std::thread& t : threads) t.join();
}

#if !defined(JF_TSAN)  // which is without OpenMP
// A thread of OpenMP's that is late, as one that has lost its CPU, keeps the caller waiting once;
// then our own pool runs what comes, until enough time has passed.
TEST(ParallelFor, ALateThreadSwitchesToTheOwnPoolForAWhile) {
  if (NumThreads() < 2) GTEST_SKIP() << "needs two threads";
  using Clock = std::chrono::steady_clock;
  const auto caller = std::this_thread::get_id();
  auto late = [&](int64_t) {
    if (std::this_thread::get_id() != caller)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  };
  Clock::time_point deadline = Clock::now() + std::chrono::seconds(30);
  ParallelRegions before = Regions();
  while (Regions().own_pool == before.own_pool) {  // whether a helper gets a chunk is its luck
    ASSERT_LT(Clock::now(), deadline) << "OpenMP is never left";
    ParallelFor(2, [&](int64_t chunk) {
      late(chunk);
      if (std::this_thread::get_id() == caller)
        std::this_thread::sleep_for(std::chrono::microseconds(100));
    });
  }
  before = Regions();
  ExpectEachOnce(64);
  EXPECT_EQ(Regions().own_pool, before.own_pool + 1);
  EXPECT_EQ(Regions().openmp, before.openmp);
  while (Regions().openmp == before.openmp) {
    ASSERT_LT(Clock::now(), deadline) << "OpenMP is never tried again";
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    ExpectEachOnce(64);
  }
}
#endif

// The child of a process that has used the pool must be able to work, in several threads, and so
// must its own child.
TEST(ParallelFork, ChildWorks) {
  ExpectEachOnce(100);
  int before = ForkGeneration();
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);  // a hang ends the child with a signal
    if (ForkGeneration() != before + 1) _exit(2);
    std::atomic<int> count{0};
    for (int turn = 0; turn < 10; ++turn) ParallelFor(64, [&](int64_t) { ++count; });
    if (count != 640) _exit(3);
    pid_t grandchild = fork();
    if (grandchild == 0) {
      alarm(60);
      ParallelFor(64, [&](int64_t) { ++count; });
      _exit(count == 704 ? 0 : 4);
    }
    int status = 0;
    waitpid(grandchild, &status, 0);
    _exit(WIFEXITED(status) ? WEXITSTATUS(status) : 5);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
  EXPECT_EQ(ForkGeneration(), before);
  ExpectEachOnce(100);
}

// Our own pool, which a forked child has, when the system gives it no thread.
TEST(ParallelFork, WithoutThreadsTheCallerDoesItAll) {
  if (!RefuseThreads::Works() || NumThreads() < 2) GTEST_SKIP() << "no thread would be refused";
  ForkGeneration();
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(60);
    RefuseThreads none;
    const int before = RefuseThreads::Refused();
    std::atomic<int> count{0};
    for (int turn = 0; turn < 10; ++turn) ParallelFor(64, [&](int64_t) { ++count; });
    if (RefuseThreads::Refused() == before) _exit(2);
    _exit(count == 640 ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status)) << "signal " << WTERMSIG(status);
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace jitfuse::internal
