#include "jit/background.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "ir/support/fork.h"

namespace jitfuse::internal {
namespace {

struct Job {
  const void* owner = nullptr;
  const Backend* compiler = nullptr;
  std::function<void()> run;
};

// Guarded by LockOf(ForkLock::kCaches). Never destroyed: the thread outlives static objects.
struct State {
  int generation = -1;            // the process whose thread this is
  std::thread* thread = nullptr;  // of that process; never destroyed in another
  bool ending = false;
  std::deque<Job> jobs;
  const void* running = nullptr;  // whose job it is
  std::vector<const Backend*> opened;
};

State& TheState() {
  static auto* state = new State;
  return *state;
}

using Lock = std::unique_lock<std::mutex>;
std::mutex& TheLock() { return LockOf(ForkLock::kCaches); }

// At exit: what runs may use code and data that later handlers take down.
void EndThread() {
  std::thread* thread = nullptr;
  {
    Lock lock(TheLock());
    State& s = TheState();
    if (s.generation != ForkGeneration()) return;
    s.ending = true;
    s.jobs.clear();
    thread = std::exchange(s.thread, nullptr);
    NotifyCaches();
  }
  if (thread == nullptr || thread->get_id() == std::this_thread::get_id()) return;
  thread->join();
  delete thread;
}

// Handlers of exit() run in the reverse order of their registration, and compilers register theirs
// whenever they first do something. But first of all exit() destroys what is thread_local in its
// own thread. Of another thread than the main one that does not say whether it ends alone.
struct EndsWithMainThread {
  ~EndsWithMainThread() {
    if (gettid() == getpid()) EndThread();
  }
};

// Where another thread calls exit(), most of a compiler's handlers have been registered by opening
// it and by its first job, before one more of ours each.
bool OpenCompiler(const Backend* backend) {
  {
    Lock lock(TheLock());
    std::vector<const Backend*>& opened = TheState().opened;
    if (std::find(opened.begin(), opened.end(), backend) != opened.end()) return false;
    opened.push_back(backend);
  }
  backend->CompilerId();
  std::atexit(EndThread);
  return true;
}

void Work() {
  State& s = TheState();
  while (true) {
    Job job;
    {
      Lock lock(TheLock());
      while (s.jobs.empty() && !s.ending) WaitForCaches(&lock);
      if (s.ending) return;
      job = std::move(s.jobs.front());
      s.jobs.pop_front();
      s.running = job.owner;
    }
    const bool first = OpenCompiler(job.compiler);
    job.run();
    if (first) std::atexit(EndThread);
    job = {};  // what it holds ends before its owner is told
    Lock lock(TheLock());
    s.running = nullptr;
    NotifyCaches();
  }
}

// Under the lock.
bool HasThread(State* s) {
  if (s->generation != ForkGeneration()) {  // the parent's thread and jobs are not here
    s->thread = nullptr;
    s->ending = false;
    s->running = nullptr;
    s->jobs.clear();
    s->generation = ForkGeneration();
  }
  if (s->ending) return false;
  if (s->thread != nullptr) return true;
  try {
    s->thread = new std::thread(Work);
  } catch (const std::system_error&) {
    return false;
  }
  std::atexit(EndThread);
  return true;
}

}  // namespace

bool RunInBackground(const void* owner, const Backend* compiler, std::function<void()> job) {
  thread_local const EndsWithMainThread ends;
  Lock lock(TheLock());
  State& s = TheState();
  if (!HasThread(&s)) return false;
  s.jobs.push_back({owner, compiler, std::move(job)});
  NotifyCaches();
  return true;
}

void EndBackgroundOf(const void* owner) {
  Lock lock(TheLock());
  State& s = TheState();
  if (s.generation != ForkGeneration()) return;
  std::erase_if(s.jobs, [owner](const Job& job) { return job.owner == owner; });
  while (s.running == owner) WaitForCaches(&lock);
}

void FinishBackground() {
  Lock lock(TheLock());
  State& s = TheState();
  if (s.generation != ForkGeneration()) return;
  while (!s.jobs.empty() || s.running != nullptr) WaitForCaches(&lock);
}

size_t WaitingInBackground() {
  const Lock lock(TheLock());
  return TheState().jobs.size();
}

}  // namespace jitfuse::internal
