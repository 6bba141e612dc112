// KernelResources: what a compiled kernel takes of the machine, for explain().
//
// Filled by back ends from what the compiler wrote (code and remarks), which needs no device, and
// where there is one from what the driver says. What is not known is kUnknown; nothing is guessed.
// Must not know: plans.
#ifndef JITFUSE_JIT_RESOURCES_H_
#define JITFUSE_JIT_RESOURCES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "codegen/fusion/group.h"

namespace jitfuse::internal {

struct KernelResources {
  static constexpr int64_t kUnknown = -1;
  int64_t code_bytes = kUnknown;
  int64_t stack_bytes = kUnknown;  // CPU: of the kernel's own frame

  int64_t registers = kUnknown;                             // GPU: of a thread
  int64_t local_bytes = kUnknown;                           // of a thread, with what is spilled
  int64_t spill_stores = kUnknown, spill_loads = kUnknown;  // bytes of a thread, in the code
  int64_t static_smem = kUnknown, dynamic_smem = kUnknown;  // bytes of a block
  int64_t threads = kUnknown;                               // of a block
  int64_t blocks_per_sm = kUnknown;                         // active at once
  int64_t max_threads_per_sm = kUnknown;

  // Share of the threads that a multiprocessor can hold; kUnknown without blocks_per_sm.
  double occupancy() const {
    if (blocks_per_sm < 0 || threads < 0 || max_threads_per_sm <= 0) return kUnknown;
    return static_cast<double>(blocks_per_sm * threads) / static_cast<double>(max_threads_per_sm);
  }
};

// What is to be said of a kernel that keeps values in local memory; nothing of others.
std::optional<Note> NoteOfResources(int group, const std::string& kernel,
                                    const KernelResources& resources);
// One line: "40 registers, 1024 + 0 bytes of shared memory, ...". Empty if nothing is known.
std::string ResourcesToString(const KernelResources& resources);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_RESOURCES_H_
