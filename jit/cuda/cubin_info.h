// What a cubin says of its kernel: registers and local memory of a thread.
//
// In: the bytes of a cubin, trusted no further than their bounds. Out: the figures of the function
// with this name, or nothing where they are not found: the format is NVIDIA's own, so that a later
// CUDA may write it another way. Local memory is what ptxas calls the stack frame: spilled
// registers and arrays that are indexed by variables. Must not know: how the cubin was made.
#ifndef JITFUSE_JIT_CUDA_CUBIN_INFO_H_
#define JITFUSE_JIT_CUDA_CUBIN_INFO_H_

#include <optional>
#include <string_view>

namespace jitfuse::internal {

struct CubinInfo {
  int registers = 0;
  int local_bytes = 0;
};
std::optional<CubinInfo> ReadCubinInfo(std::string_view cubin, std::string_view kernel);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CUDA_CUBIN_INFO_H_
