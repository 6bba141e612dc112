// Machine code of a cubin as text, by NVIDIA's nvdisasm.
//
// In: the bytes of a cubin. Out: its SASS, or NotFound that says how to get nvdisasm. For reading:
// explain --stage sass and JITFUSE_DUMP=sass. Runs a program and writes temporary files; never on
// the way of a call.
#ifndef JITFUSE_JIT_CUDA_DISASSEMBLE_H_
#define JITFUSE_JIT_CUDA_DISASSEMBLE_H_

#include <string>

#include "absl/status/statusor.h"

namespace jitfuse::internal {

absl::StatusOr<std::string> Disassemble(const std::string& cubin);
// The program's path, on PATH or in /usr/local/cuda*/bin; NotFound says how to get it.
absl::StatusOr<std::string> FindNvdisasm();
std::string NvdisasmVersion(const std::string& path);  // "13.0", "unknown"

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CUDA_DISASSEMBLE_H_
