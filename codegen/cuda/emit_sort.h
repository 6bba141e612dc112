// Grouping positions by their index on a GPU, for sums by index: a stable radix sort.
//
// In: a SortProblem. Out: sources of its kernels (one per dtype of indices, whatever the sizes),
// and the launches that a problem takes: keys of line and index, three kernels for each four bits
// that keys may have, then the order of the positions and where each index begins and ends. Stable
// and without atomics: two runs give the same bits. Linear in positions, groups and passes. Indices
// count from the end if negative; those out of range are moved to the border. Pure; a launch is
// what the caller's function makes of it. Must not know: the driver, graphs.
#ifndef JITFUSE_CODEGEN_CUDA_EMIT_SORT_H_
#define JITFUSE_CODEGEN_CUDA_EMIT_SORT_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "codegen/plan/kernel_source.h"
#include "codegen/target.h"

namespace jitfuse::internal {

// size_args say how many sizes a launch has; their values come with the launch, as does the grid.
std::vector<KernelSource> EmitCudaSort(DType indices, const Target& target);
// Number of passes over the keys.
int CudaSortPasses(const SortProblem& problem);
int64_t CudaSortWorkspaceBytes(const SortProblem& problem);

// kernel: of EmitCudaSort's list. A grid of 0 is no launch.
using SortLaunchFn = absl::FunctionRef<absl::Status(size_t kernel, absl::Span<void* const> buffers,
                                                    absl::Span<const int64_t> sizes, int64_t grid)>;
// buffers: indices, order, begin, end.
absl::Status ForEachSortLaunch(const SortProblem& problem, absl::Span<void* const> buffers,
                               void* workspace, SortLaunchFn launch);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_CUDA_EMIT_SORT_H_
