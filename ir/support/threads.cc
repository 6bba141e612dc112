#include "ir/support/threads.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <mutex>
#include <thread>
#include <vector>

#include "ir/support/flags.h"
#include "ir/support/fork.h"

namespace jitfuse::internal {
namespace {

std::atomic<int> helpers{0};

// The number that programs with several processes give all of them (torchrun, joblib, dask); of a
// list, one for each nesting depth, the first. It can only lower ours: all else that it may be is
// OpenMP's business.
int OpenMpLimit() {
  const char* text = std::getenv("OMP_NUM_THREADS");
  int limit = 0;
  if (text != nullptr) std::from_chars(text, text + std::strlen(text), limit);
  return limit > 0 ? limit : std::numeric_limits<int>::max();
}

int CountThreads() {
  constexpr int64_t kAll = 0;
  const absl::StatusOr<int64_t> wanted = ReadEnvInt("NUM_THREADS", kAll);
  if (wanted.ok() && *wanted != kAll) return static_cast<int>(std::min<int64_t>(*wanted, 1024));
  cpu_set_t set;
  int cpus = sched_getaffinity(0, sizeof(set), &set) == 0
                 ? CPU_COUNT(&set)
                 : static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, std::min(cpus, OpenMpLimit()));
}

// Up to `wanted` of those that are left.
int Take(int wanted) {
  // A child of fork() does not have its parent's helpers.
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(nullptr, nullptr, [] { helpers.store(0, std::memory_order_relaxed); });
  });
  int before = helpers.load(std::memory_order_relaxed), taken = 0;
  do {
    taken = std::clamp(NumThreads() - 1 - before, 0, std::max(wanted, 0));
  } while (!helpers.compare_exchange_weak(before, before + taken, std::memory_order_relaxed));
  return taken;
}

}  // namespace

int NumThreads() {
  static const int threads = CountThreads();
  // Said after the count is made: a log sink may ask for it.
  static std::atomic<bool> told{false};
  if (!told.load(std::memory_order_relaxed) && !told.exchange(true)) EnvInt("NUM_THREADS", threads);
  return threads;
}

void RunWithHelpers(int wanted, const std::function<void()>& work) {
  const int generation = ForkGeneration(), taken = Take(wanted - 1);
  std::vector<std::thread> threads;
  try {
    threads.reserve(static_cast<size_t>(taken));
    while (threads.size() < static_cast<size_t>(taken)) threads.emplace_back(work);
  } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): no more threads, or memory
  }
  work();
  for (std::thread& t : threads) t.join();
  if (ForkGeneration() == generation) helpers.fetch_sub(taken, std::memory_order_relaxed);
}

int HelpersAtWork() { return helpers.load(std::memory_order_relaxed); }

}  // namespace jitfuse::internal
