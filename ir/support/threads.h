// Threads: how many this process uses, and help from others of them for work that any number can
// do.
//
// NumThreads: JITFUSE_NUM_THREADS, else the CPUs this process may use, or OMP_NUM_THREADS if that
// is less; read once. RunWithHelpers is for compilers (kernels have cpu_backend/parallel.h):
// however many threads call it at once, they have NumThreads() - 1 helpers among them, so that 64
// callers on 64 CPUs do not make 4,096 threads. Where none is left, or the system refuses one, the
// caller does the work alone: a helper that is missing costs time, never a result. Must not know:
// what it runs.
#ifndef JITFUSE_IR_SUPPORT_THREADS_H_
#define JITFUSE_IR_SUPPORT_THREADS_H_

#include <functional>

namespace jitfuse::internal {

int NumThreads();

// Calls `work` on this thread and on up to `wanted` - 1 helpers at once; all calls have ended when
// it returns. `work` must not throw.
void RunWithHelpers(int wanted, const std::function<void()>& work);
// Helpers at work now, of all callers.
int HelpersAtWork();

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_SUPPORT_THREADS_H_
