// Turn: one thread of a process at a time, where what is done takes long and may compile.
//
// In: an int that all who take turns share, -1 at first. A mutex would stay locked in the child of
// a fork whose parent had it locked in another thread; a Turn is the maker's ForkGeneration, so
// that a child does not wait for its parent's threads. Must be taken without
// LockOf(ForkLock::kCaches), which guards the int, and inside of no CompileGate.
#ifndef JITFUSE_JIT_TURN_H_
#define JITFUSE_JIT_TURN_H_

#include <mutex>

#include "ir/support/fork.h"

namespace jitfuse::internal {

class Turn {
 public:
  explicit Turn(int* taker) : taker_(taker) {
    std::unique_lock<std::mutex> lock(LockOf(ForkLock::kCaches));
    while (*taker_ == ForkGeneration()) WaitForCaches(&lock);
    *taker_ = ForkGeneration();
  }
  ~Turn() {
    std::lock_guard<std::mutex> lock(LockOf(ForkLock::kCaches));
    *taker_ = -1;
    NotifyCaches();
  }
  Turn(const Turn&) = delete;
  Turn& operator=(const Turn&) = delete;

 private:
  int* const taker_;
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_TURN_H_
