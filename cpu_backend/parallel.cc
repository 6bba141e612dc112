#include "cpu_backend/parallel.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "ir/support/fork.h"

#if defined(_OPENMP) && !defined(JF_TSAN)
#include <omp.h>
#define JF_OPENMP 1
#else
#define JF_OPENMP 0
#endif

namespace jitfuse::internal {
namespace {

std::atomic<int> active_callers{0};
struct {
  std::atomic<int64_t> openmp{0}, own_pool{0};
} regions;
thread_local bool inside = false;  // of some ParallelFor's body

// The other callers of a parent are not in its child.
void RegisterForkHandler() {
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(nullptr, nullptr, [] { active_callers.store(0, std::memory_order_relaxed); });
  });
}

// Waits a little for what is usually there in a moment, so that neither side has to ask the system
// to sleep or wake; never long, since another process may want the CPU.
template <typename Ready>
void SpinFor(const Ready& ready) {
  constexpr int kTurns = 1000;  // some 10 to 30 microseconds
  for (int i = 0; i < kTurns && !ready(); ++i) __builtin_ia32_pause();
}

struct Job {
  const std::function<void(int64_t)>* body;
  int64_t chunks;
  std::atomic<int64_t> next{0};
  std::atomic<int64_t> finished{0};
  std::mutex mutex;
  std::condition_variable all_finished;

  void Work() {
    for (int64_t chunk; (chunk = next.fetch_add(1, std::memory_order_relaxed)) < chunks;) {
      (*body)(chunk);
      if (finished.fetch_add(1, std::memory_order_acq_rel) + 1 == chunks) {
        std::lock_guard<std::mutex> lock(mutex);
        all_finished.notify_all();
      }
    }
  }
  void Wait() {
    auto all = [&] { return finished.load(std::memory_order_acquire) == chunks; };
    SpinFor(all);
    if (all()) return;
    std::unique_lock<std::mutex> lock(mutex);
    all_finished.wait(lock, all);
  }
};

// Helpers wait for jobs; a caller queues its job once per helper it may have, and works on it
// itself, so that it never waits for a thread to become free. A pool has the helpers that the
// system gives, maybe none. Pools are never destroyed: their threads end with the process.
class Pool {
 public:
  explicit Pool(int threads) {
    try {
      for (; helpers_ < threads - 1; ++helpers_) std::thread([this] { Help(); }).detach();
    } catch (const std::exception&) {  // NOLINT(bugprone-empty-catch): no more threads, or memory
    }
  }
  void Run(const std::shared_ptr<Job>& job, int helpers) {
    helpers = std::min(helpers, helpers_);
    {
      std::lock_guard<std::mutex> lock(mutex_);
      for (int i = 0; i < helpers; ++i) jobs_.push_back(job);
      queued_.fetch_add(helpers, std::memory_order_relaxed);
    }
    wake_.notify_all();
    job->Work();
    job->Wait();
  }

 private:
  void Help() {
    inside = true;
    for (;;) {
      SpinFor([&] { return queued_.load(std::memory_order_relaxed) > 0; });
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [&] { return !jobs_.empty(); });
      std::shared_ptr<Job> job = std::move(jobs_.front());
      jobs_.pop_front();
      queued_.fetch_sub(1, std::memory_order_relaxed);
      lock.unlock();
      job->Work();
    }
  }
  int helpers_ = 0;  // written before anybody else has the pool
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Job>> jobs_;
  std::atomic<int> queued_{0};  // jobs_.size(), for those who look without the lock
};

// The pool of this process; a forked child leaves its parent's, whose threads it does not have, and
// makes its own.
Pool& OwnPool() {
  struct Slot {
    int generation;
    Pool pool;
  };
  static std::atomic<Slot*> current{nullptr};
  int generation = ForkGeneration();
  Slot* slot = current.load(std::memory_order_acquire);
  while (slot == nullptr || slot->generation != generation) {
    auto* made = new Slot{generation, Pool(NumThreads())};
    if (current.compare_exchange_strong(slot, made, std::memory_order_acq_rel)) return made->pool;
    // Another thread was faster: its pool is used, and this one idles for good. Only the first
    // callers of a process can get here.
  }
  return slot->pool;
}

void RunOwnPool(int64_t chunks, int threads, const std::function<void(int64_t)>& body) {
  auto job = std::make_shared<Job>();
  job->body = &body;
  job->chunks = chunks;
  OwnPool().Run(job, threads - 1);
}

#if JF_OPENMP
using Clock = std::chrono::steady_clock;

// OpenMP's threads meet at barriers, so that one which has lost its CPU to another process keeps
// all others waiting for a time slice or more. Once that is seen, our own pool, where nobody waits
// for a helper that has no chunk, does the work for so much longer than the wait that waits are
// some percent at most; then OpenMP, which is quicker to start, is tried again.
std::atomic<int64_t> own_pool_until{0};  // Clock's ticks
constexpr int kBackOff = 32;
constexpr Clock::duration kLongWait = std::chrono::milliseconds(1),
                          kMaxBackOff = std::chrono::seconds(10);

bool MachineIsBusy() {
  int64_t until = own_pool_until.load(std::memory_order_relaxed);
  return until != 0 && Clock::now().time_since_epoch().count() < until;
}

// `waited`: how long the caller did nothing; `chunk`: the longest that a chunk took it.
void NoteWait(Clock::duration waited, Clock::duration chunk) {
  if (waited < kLongWait + 4 * chunk) return;
  Clock::time_point until = Clock::now() + std::min(kBackOff * waited, kMaxBackOff);
  own_pool_until.store(until.time_since_epoch().count(), std::memory_order_relaxed);
}

void RunOpenMp(int64_t chunks, int threads, const std::function<void(int64_t)>& body) {
  const Clock::time_point start = Clock::now();
  Clock::duration working{0}, longest{0};  // of this thread
#pragma omp parallel num_threads(threads)
  {
    const bool caller = omp_get_thread_num() == 0;
#pragma omp for schedule(dynamic, 1) nowait
    for (int64_t chunk = 0; chunk < chunks; ++chunk) {
      const Clock::time_point begin = caller ? Clock::now() : start;
      bool outer = inside;
      inside = true;
      body(chunk);
      inside = outer;
      if (caller) {
        const Clock::duration took = Clock::now() - begin;
        working += took;
        longest = std::max(longest, took);
      }
    }
  }
  NoteWait(Clock::now() - start - working, longest);
}
bool InOpenMp() { return omp_in_parallel() != 0; }
#else
bool InOpenMp() { return false; }
#endif

// One of those who share the threads, while this object lives.
class ActiveCaller {
 public:
  ActiveCaller() : now_(active_callers.fetch_add(1, std::memory_order_relaxed) + 1) {}
  ~ActiveCaller() { active_callers.fetch_sub(1, std::memory_order_relaxed); }
  ActiveCaller(const ActiveCaller&) = delete;
  ActiveCaller& operator=(const ActiveCaller&) = delete;
  int now() const { return now_; }

 private:
  const int now_;
};

}  // namespace

ParallelRegions Regions() {
  return {regions.openmp.load(std::memory_order_relaxed),
          regions.own_pool.load(std::memory_order_relaxed)};
}

void ParallelFor(int64_t chunks, const std::function<void(int64_t)>& body) {
  if (chunks <= 0) return;
  RegisterForkHandler();
  auto serial = [&] {
    for (int64_t chunk = 0; chunk < chunks; ++chunk) body(chunk);
  };
  if (chunks == 1 || NumThreads() == 1 || inside || InOpenMp()) return serial();
  const ActiveCaller caller;
  int threads =
      static_cast<int>(std::min<int64_t>(std::max(1, NumThreads() / caller.now()), chunks));
  if (threads == 1) {
    serial();
#if JF_OPENMP
  } else if (ForkGeneration() == 0 && !MachineIsBusy()) {
    regions.openmp.fetch_add(1, std::memory_order_relaxed);
    RunOpenMp(chunks, threads, body);
#endif
  } else {
    regions.own_pool.fetch_add(1, std::memory_order_relaxed);
    RunOwnPool(chunks, threads, body);
  }
}

}  // namespace jitfuse::internal
