// Background: one thread of the process, which does what no call has to wait for.
//
// In: jobs, each with an owner. Out: they run one after the other, in the order given, on a thread
// that the first one starts; none is ever dropped but by its owner's end. Safe for any number of
// threads. A fork's child begins with no jobs and makes a thread of its own when it has one. The
// process ends (exit, return from main) after the job that runs then; those behind it are not
// begun. Compilers have state that exit() takes down: that is after the job, if the main thread has
// asked for one and calls exit(); from another thread it is, but for what a compiler's first job is
// just making. Must not know: what jobs do.
#ifndef JITFUSE_JIT_BACKGROUND_H_
#define JITFUSE_JIT_BACKGROUND_H_

#include <cstddef>
#include <functional>

#include "jit/backend.h"

namespace jitfuse::internal {

// False if there is no thread and none can be made, or the process is about to end: the job will
// not run. `compiler`: the back end whose compiler the job uses. Jobs must not throw. Not to be
// called with LockOf(ForkLock::kCaches).
bool RunInBackground(const void* owner, const Backend* compiler, std::function<void()> job);

// Drops the owner's jobs that have not begun, and waits for the one that runs, if any. Not to be
// called from a job, nor with LockOf(ForkLock::kCaches).
void EndBackgroundOf(const void* owner);

// For tests: waits until there is no job; how many jobs have not begun.
void FinishBackground();
size_t WaitingInBackground();

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_BACKGROUND_H_
