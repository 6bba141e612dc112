#include "cpu_backend/parallel.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "ir/support/flags.h"

#if defined(_OPENMP) && !defined(JF_TSAN)
#include <omp.h>
#define JF_OPENMP 1
#else
#define JF_OPENMP 0
#endif

namespace jitfuse::internal {
namespace {

std::atomic<int> fork_generation{0};
std::atomic<int> active_callers{0};
thread_local bool inside = false;  // of some ParallelFor's body

void RegisterForkHandler() {
  static std::once_flag once;
  std::call_once(once, [] {
    pthread_atfork(nullptr, nullptr, [] {
      fork_generation.fetch_add(1, std::memory_order_relaxed);
      active_callers.store(0, std::memory_order_relaxed);  // the other callers stayed in the parent
    });
  });
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
    std::unique_lock<std::mutex> lock(mutex);
    all_finished.wait(lock, [&] { return finished.load(std::memory_order_acquire) == chunks; });
  }
};

// Helpers wait for jobs; a caller queues its job once per helper it may have, and works on it
// itself, so that it never waits for a thread to become free. Pools are never destroyed: their
// threads end with the process.
class Pool {
 public:
  explicit Pool(int threads) {
    for (int i = 1; i < threads; ++i) {
      std::thread([this] { Help(); }).detach();
    }
  }
  void Run(const std::shared_ptr<Job>& job, int helpers) {
    {
      std::lock_guard<std::mutex> lock(mutex_);
      for (int i = 0; i < helpers; ++i) jobs_.push_back(job);
    }
    wake_.notify_all();
    job->Work();
    job->Wait();
  }

 private:
  void Help() {
    inside = true;
    for (;;) {
      std::unique_lock<std::mutex> lock(mutex_);
      wake_.wait(lock, [&] { return !jobs_.empty(); });
      std::shared_ptr<Job> job = std::move(jobs_.front());
      jobs_.pop_front();
      lock.unlock();
      job->Work();
    }
  }
  std::mutex mutex_;
  std::condition_variable wake_;
  std::deque<std::shared_ptr<Job>> jobs_;
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
void RunOpenMp(int64_t chunks, int threads, const std::function<void(int64_t)>& body) {
#pragma omp parallel for schedule(dynamic, 1) num_threads(threads)
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    bool outer = inside;
    inside = true;
    body(chunk);
    inside = outer;
  }
}
bool InOpenMp() { return omp_in_parallel() != 0; }
#else
bool InOpenMp() { return false; }
#endif

int CountThreads() {
  int64_t wanted = EnvInt("NUM_THREADS", 0);
  if (wanted > 0) return static_cast<int>(std::min<int64_t>(wanted, 1024));
  cpu_set_t set;
  int cpus = sched_getaffinity(0, sizeof(set), &set) == 0
                 ? CPU_COUNT(&set)
                 : static_cast<int>(std::thread::hardware_concurrency());
  return std::max(1, cpus);
}

}  // namespace

int NumThreads() {
  static const int threads = CountThreads();
  return threads;
}

int ForkGeneration() {
  RegisterForkHandler();
  return fork_generation.load(std::memory_order_relaxed);
}

void ParallelFor(int64_t chunks, const std::function<void(int64_t)>& body) {
  if (chunks <= 0) return;
  auto serial = [&] {
    for (int64_t chunk = 0; chunk < chunks; ++chunk) body(chunk);
  };
  if (chunks == 1 || NumThreads() == 1 || inside || InOpenMp()) return serial();
  int callers = active_callers.fetch_add(1, std::memory_order_relaxed) + 1;
  int threads = static_cast<int>(std::min<int64_t>(std::max(1, NumThreads() / callers), chunks));
  if (threads == 1) {
    serial();
#if JF_OPENMP
  } else if (ForkGeneration() == 0) {
    RunOpenMp(chunks, threads, body);
#endif
  } else {
    RunOwnPool(chunks, threads, body);
  }
  active_callers.fetch_sub(1, std::memory_order_relaxed);
}

}  // namespace jitfuse::internal
