// ParallelFor: chunks of independent work on the CPU's threads.
//
// In: a number of chunks and a function of a chunk's number. Out: it has been called once for each,
// on this thread and others, when ParallelFor returns. Results must not depend on who runs what.
// Exceptions must not leave the function. Threads: OpenMP's (the pool that oneDNN uses),
// NumThreads() of them: JITFUSE_NUM_THREADS, else the CPUs this process may use. Several callers at
// once share them out. Inside a parallel region the work runs on the calling thread. After fork,
// OpenMP's pool is gone and waiting for it would hang: the child uses a small pool of its own, as
// do builds for ThreadSanitizer, which cannot see into OpenMP. Must not know: kernels.
#ifndef JITFUSE_CPU_BACKEND_PARALLEL_H_
#define JITFUSE_CPU_BACKEND_PARALLEL_H_

#include <cstdint>
#include <functional>

namespace jitfuse::internal {

int NumThreads();
void ParallelFor(int64_t chunks, const std::function<void(int64_t chunk)>& body);

// How often this process is the child of a fork since the library was loaded; 0: never. OpenMP's
// pool may be used only at 0.
int ForkGeneration();

}  // namespace jitfuse::internal

#endif  // JITFUSE_CPU_BACKEND_PARALLEL_H_
