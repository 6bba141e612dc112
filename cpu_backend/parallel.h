// ParallelFor: chunks of independent work on the CPU's threads.
//
// In: a number of chunks and a function of a chunk's number. Out: it has been called once for each,
// on this thread and others, when ParallelFor returns. Results must not depend on who runs what.
// Exceptions must not leave the function. Threads: OpenMP's (the pool that oneDNN uses),
// NumThreads() of them (ir/support/threads.h). Several callers at once share them out. Inside a
// parallel region the work runs on the calling thread. Where the system has no thread left, libgomp
// ends the process; our own pool goes on with fewer. That pool takes over where OpenMP's would not
// do: for a while after a caller has waited a millisecond or more for one of its threads (another
// process has the CPU, and OpenMP waits for every thread at every barrier, ours only for those that
// have work in hand); after fork, since the child has none of its threads; and in builds for
// ThreadSanitizer, which cannot see into OpenMP. No waiting loop here lasts longer than some tens
// of microseconds. Must not know: kernels.
#ifndef JITFUSE_CPU_BACKEND_PARALLEL_H_
#define JITFUSE_CPU_BACKEND_PARALLEL_H_

#include <cstdint>
#include <functional>

#include "ir/support/threads.h"

namespace jitfuse::internal {

// Parallel regions so far, by who ran them; those that one thread ran alone are not counted.
struct ParallelRegions {
  int64_t openmp = 0, own_pool = 0;
};
ParallelRegions Regions();

void ParallelFor(int64_t chunks, const std::function<void(int64_t chunk)>& body);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CPU_BACKEND_PARALLEL_H_
