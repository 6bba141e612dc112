// Compiling CUDA sources with NVRTC, to a cubin for the exact architecture of the source.
//
// In: a KernelSource of kind kCuda. Out: the cubin and the compiler's log, or an error with the log
// and the path of the source, which is written to a file then. Needs no GPU. Thread-safe, and
// parallel calls do run in parallel.
#ifndef JITFUSE_JIT_CUDA_NVRTC_COMPILE_H_
#define JITFUSE_JIT_CUDA_NVRTC_COMPILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "jit/backend.h"
#include "jit/cuda/nvrtc_api.h"

namespace jitfuse::internal {

absl::StatusOr<CompiledKernel> CompileCuda(const NvrtcApi& nvrtc, const KernelSource& source);
// For reading.
absl::StatusOr<std::string> CompileCudaToPtx(const NvrtcApi& nvrtc, const KernelSource& source);
// What it is told: the source's options that this version knows, and those of every source.
std::vector<std::string> NvrtcOptions(const NvrtcApi& nvrtc, const KernelSource& source);
// FailedPrecondition names what it does compile for.
absl::Status CheckNvrtcArch(const NvrtcApi& nvrtc, const std::string& arch);
std::string NvrtcId(const NvrtcApi& nvrtc);  // "nvrtc 13.0"

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CUDA_NVRTC_COMPILE_H_
