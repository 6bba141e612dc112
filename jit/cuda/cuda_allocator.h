// The CUDA back end's own allocators.
//
// MakeCudaAllocator: stream-ordered memory from a pool of our own, which keeps what it has; without
// pools (some virtual GPUs), plain allocations, whose freeing waits. MakeHeldCudaAllocator: plain
// allocations for what outlives calls (Backend::held_allocator), also while a stream of the process
// is captured; what lay in a context that was destroyed is gone with it. Errors are logged and give
// null. The device must outlive them.
#ifndef JITFUSE_JIT_CUDA_CUDA_ALLOCATOR_H_
#define JITFUSE_JIT_CUDA_CUDA_ALLOCATOR_H_

#include <memory>

#include "absl/status/statusor.h"
#include "jit/backend.h"
#include "jit/cuda/device.h"

namespace jitfuse::internal {

absl::StatusOr<std::unique_ptr<Allocator>> MakeCudaAllocator(const Device& device);
std::unique_ptr<Allocator> MakeHeldCudaAllocator(const Device& device);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CUDA_CUDA_ALLOCATOR_H_
