// Runs emitted CUDA sources on the CPU, to test the emitter where there is no GPU.
//
// In: plans with CUDA schedules, or sources. They are compiled as C++ by the machine's compiler
// ($CXX, else c++), with the prelude's PTX replaced; the threads of a block are fibers that switch
// at barriers and shuffles, which all threads must reach alike. Buffers given to Run should end at
// a guard page (GuardedBuffer), so that an access beyond them ends the process. Out: what a GPU
// would have written, transcendentals apart (they are the host's).
#ifndef JITFUSE_TESTS_SUPPORT_CUDA_ON_HOST_H_
#define JITFUSE_TESTS_SUPPORT_CUDA_ON_HOST_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/kernel_source.h"

namespace jitfuse::internal {

class CudaOnHost {
 public:
  // Unavailable where no compiler is found. The plans' names must differ.
  static absl::StatusOr<CudaOnHost> Compile(absl::Span<const KernelPlan> plans,
                                            const Target& target);
  // Kernels that are no plans', each with the number of its buffers; their texts may differ in the
  // prelude alone before the kernel.
  static absl::StatusOr<CudaOnHost> CompileSources(std::vector<KernelSource> sources,
                                                   absl::Span<const size_t> buffers);
  absl::Status Launch(size_t index, absl::Span<void* const> buffers,
                      absl::Span<const int64_t> sizes, int64_t grid) const;
  // One launch of plan `index`, with the sizes and the grid that the symbols give.
  absl::Status Run(size_t index, absl::Span<void* const> buffers,
                   absl::Span<const uint64_t> scalars, absl::Span<const int64_t> symbols) const;

 private:
  struct Entry {
    KernelSource source;
    void (*function)(void**) = nullptr;
  };
  absl::Status Build(const std::string& bodies, const std::string& wrappers);

  std::vector<Entry> entries_;
  int (*launch_)(void (*)(void**), void**, unsigned, unsigned) = nullptr;
};

// `bytes` bytes that end where an unreadable page begins (rounded so that the start is a multiple
// of `align`).
class GuardedBuffer {
 public:
  GuardedBuffer(size_t bytes, size_t align);
  ~GuardedBuffer();
  GuardedBuffer(GuardedBuffer&& other) noexcept;
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;
  char* data() { return data_; }
  size_t size() const { return bytes_; }

 private:
  void* mapping_ = nullptr;
  size_t mapped_ = 0, bytes_ = 0;
  char* data_ = nullptr;
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_SUPPORT_CUDA_ON_HOST_H_
