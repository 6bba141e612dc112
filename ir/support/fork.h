// What keeps a child of fork() able to work: the process-wide locks of Jitfuse, held across a fork.
//
// A child has only the thread that forked. A lock that another thread held would stay locked there
// for good, and what it guarded might be half changed. So fork() waits for the locks below and
// takes them, and parent and child give them back: what they guard is whole in the child. While
// holding one, a thread takes only later ones of the list. Compilers (ours, LLVM, oneDNN) have
// locks that nobody here can take: a CompileGate is held around their work, and a fork waits until
// no thread is inside; while it waits, none enters. A thread that forks while it is inside does not
// wait for itself, nor do two such threads for each other. A log sink is called outside of gates:
// it may wait for what the thread that forks holds (Python's lock). Work in flight at the fork
// never ends in the child: who waits for it compares generations.
#ifndef JITFUSE_IR_SUPPORT_FORK_H_
#define JITFUSE_IR_SUPPORT_FORK_H_

#include <mutex>

namespace jitfuse::internal {

enum class ForkLock { kBackends, kCaches, kLibraries, kMemory, kLog, kTrace, kCount };
std::mutex& LockOf(ForkLock which);

// How often this process is the child of a fork since the first call of anything here; 0: never.
int ForkGeneration();

// One condition for all that LockOf(kCaches) guards; `lock` holds it. Returns now and then without
// cause, as conditions do.
void WaitForCaches(std::unique_lock<std::mutex>* lock);
void NotifyCaches();

class CompileGate {
 public:
  CompileGate();
  ~CompileGate();
  CompileGate(const CompileGate&) = delete;
  CompileGate& operator=(const CompileGate&) = delete;
};

// While it lives, this thread counts as outside of the gates that it is in; no fork waits for it.
class OutsideGates {
 public:
  OutsideGates();
  ~OutsideGates();
  OutsideGates(const OutsideGates&) = delete;
  OutsideGates& operator=(const OutsideGates&) = delete;

 private:
  const int gates_;
};

// Of a thread that another one makes to work in its place, and waits for: the gates that one is in
// are this one's, until it ends.
int GatesOfThisThread();
void TakeGates(int gates);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_SUPPORT_FORK_H_
