#include "ir/support/fork.h"

#include <pthread.h>

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <new>

namespace jitfuse::internal {
namespace {

// How long a thread outside lets forks go first. Not for ever: a thread that is inside may be
// waiting for this one, which it has made (RunWithStack).
constexpr std::chrono::seconds kForksFirst{10};

thread_local int gates_of_this_thread = 0;

// Never destroyed: threads may outlive static objects.
struct State {
  std::array<std::mutex, static_cast<size_t>(ForkLock::kCount)> locks;
  std::atomic<int> generation{0};
  std::condition_variable caches;
  std::mutex gate;
  std::condition_variable gate_changed;
  int inside = 0;  // CompileGates, without those of threads that fork
  int forks = 0;   // under way or waiting
};

State& Get();

// The lock is kept until the fork is over, so that no one enters meanwhile.
void Prepare() {
  State& s = Get();
  std::unique_lock<std::mutex> lock(s.gate);
  ++s.forks;
  s.inside -= gates_of_this_thread;
  s.gate_changed.notify_all();  // two threads that are inside may fork at once
  s.gate_changed.wait(lock, [&] { return s.inside == 0; });
  lock.release();
  for (std::mutex& m : s.locks) m.lock();
}

void Release() {
  State& s = Get();
  for (size_t i = s.locks.size(); i-- > 0;) s.locks[i].unlock();
  --s.forks;
  s.inside += gates_of_this_thread;
  s.gate_changed.notify_all();
  s.gate.unlock();
}

// Conditions remember who waits; those threads are not here, and neither are their forks. A new
// object is put over the old one, whose destructor would wait for them.
void InChild() {
  State& s = Get();
  new (&s.caches) std::condition_variable;
  new (&s.gate_changed) std::condition_variable;
  s.forks = 1;
  s.generation.fetch_add(1, std::memory_order_relaxed);
  Release();
}

State& Get() {
  static State* const state = [] {
    auto* made = new State;
    pthread_atfork(Prepare, Release, InChild);
    return made;
  }();
  return *state;
}

void Enter(int gates) {
  if (gates == 0) return;
  State& s = Get();
  std::unique_lock<std::mutex> lock(s.gate);
  if (gates_of_this_thread == 0)
    s.gate_changed.wait_for(lock, kForksFirst, [&s] { return s.forks == 0; });
  s.inside += gates;
  gates_of_this_thread += gates;
}

void Leave(int gates) {
  if (gates == 0) return;
  State& s = Get();
  std::lock_guard<std::mutex> lock(s.gate);
  s.inside -= gates;
  gates_of_this_thread -= gates;
  s.gate_changed.notify_all();
}

}  // namespace

std::mutex& LockOf(ForkLock which) { return Get().locks[static_cast<size_t>(which)]; }

int ForkGeneration() { return Get().generation.load(std::memory_order_relaxed); }

void WaitForCaches(std::unique_lock<std::mutex>* lock) { Get().caches.wait(*lock); }

void NotifyCaches() { Get().caches.notify_all(); }

CompileGate::CompileGate() { Enter(1); }
CompileGate::~CompileGate() { Leave(1); }

OutsideGates::OutsideGates() : gates_(gates_of_this_thread) { Leave(gates_); }
OutsideGates::~OutsideGates() { Enter(gates_); }

int GatesOfThisThread() { return gates_of_this_thread; }
void TakeGates(int gates) { gates_of_this_thread = gates; }

}  // namespace jitfuse::internal
