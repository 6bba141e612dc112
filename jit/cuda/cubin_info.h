// What a cubin says of a kernel in it: registers, local and shared memory, code. Needs no GPU.
//
// In: the bytes of a cubin and the compiler's remarks (bytes of any origin: what cannot be read is
// kUnknown). The attributes that are read are of the section .nv.info, which NVIDIA does not
// document; tests compare them with what ptxas prints, and on a GPU with what the driver says.
// Occupancy follows from them and from the limits of the architecture.
#ifndef JITFUSE_JIT_CUDA_CUBIN_INFO_H_
#define JITFUSE_JIT_CUDA_CUBIN_INFO_H_

#include <string_view>

#include "codegen/plan/kernel_source.h"
#include "codegen/target.h"
#include "jit/backend.h"
#include "jit/cuda/driver_api.h"

namespace jitfuse::internal {

// NVRTC is told this, so that spills are among its remarks.
inline constexpr std::string_view kWarnOfSpills = "--ptxas-options=--warn-on-spills";

// All but blocks_per_sm.
KernelResources ResourcesOfCubin(const KernelSource& source, const CompiledKernel& compiled,
                                 const Target& target);
// Whether the kernel `name` has local memory and no remark says that it is for spills: it is not,
// or there are no remarks.
bool HasUnsaidLocalMemory(const CompiledKernel& compiled, std::string_view name);
// Puts what the driver says of a loaded kernel in place of what the cubin says, and blocks_per_sm;
// what it cannot say stays. Must run in the kernel's context.
void AskDriver(const DriverApi& driver, CuFunction function, KernelResources* resources);
// Blocks that a multiprocessor of this architecture holds at once; kUnknown if what decides it is.
int64_t BlocksPerSm(const KernelResources& resources, const Target& target);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CUDA_CUBIN_INFO_H_
