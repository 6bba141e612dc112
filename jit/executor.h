// The executor: a BoundCall, pointers and a stream become launches. The hot path; it allocates
// nothing but the arena.
//
// In: a BoundCall, one pointer per input (scalars: 8-byte register bits in `scalars`), one per
// output, the arena. Out: work enqueued on the caller's stream in step order; nothing waits. Empty
// work (a size of 0) launches nothing. The caller keeps all buffers alive until the stream has
// passed them. Must not know: graphs, caches, who owns the memory.
#ifndef JITFUSE_JIT_EXECUTOR_H_
#define JITFUSE_JIT_EXECUTOR_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "jit/executable.h"

namespace jitfuse::internal {

struct CallBuffers {
  absl::Span<void* const> inputs;      // by signature position; null for scalars
  absl::Span<const uint64_t> scalars;  // by signature position; ScalarValue bits, 0 for tensors
  absl::Span<void* const> outputs;     // by output number
  void* arena = nullptr;  // call.arena_bytes bytes, aligned to 256; may be null if that is 0
  StreamHandle stream = nullptr;
  bool in_context = false;  // as that of LaunchArgs
};

// Of what allocators give, and of the arena.
inline constexpr uintptr_t kAllocationAlign = 256;
absl::Status CheckAlignment(const void* allocated, const std::string& graph);

absl::Status Execute(const BoundCall& call, const CallBuffers& buffers);

// Steps [first, last) alone; step `first`, if it is a product, by `gemm` if that is set, whose
// workspace the arena has to hold.
absl::Status ExecuteSteps(const BoundCall& call, const CallBuffers& buffers, size_t first,
                          size_t last, const PreparedGemm* gemm = nullptr);

// As above, with the arena taken from `allocator` for the duration of the call (stream-ordered).
absl::Status ExecuteWithAllocator(const BoundCall& call, CallBuffers buffers, Allocator* allocator);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_EXECUTOR_H_
