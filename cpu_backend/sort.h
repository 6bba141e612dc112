// Grouping positions by their index on the CPU, for sums by index.
//
// In: a SortProblem and its buffers. Out: for each line the positions in ascending order of their
// index, equal ones in their own order, and where each index begins and ends. Two passes over a
// line that count and place (no comparisons), linear in positions and groups; lines run in
// parallel, one line on one core. Indices count from the end if negative; those out of range are
// moved to the border. Nothing is allocated. Must not know: graphs, plans.
#ifndef JITFUSE_CPU_BACKEND_SORT_H_
#define JITFUSE_CPU_BACKEND_SORT_H_

#include "codegen/fusion/group.h"
#include "jit/backend.h"

namespace jitfuse::internal {

void GroupPositions(const SortProblem& problem, const SortBuffers& buffers);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CPU_BACKEND_SORT_H_
