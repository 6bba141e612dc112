// The CUDA back end: EmitCuda, NVRTC, the driver and cuBLASLt behind the Backend interface.
//
// One back end belongs to one context: every call that touches the device makes that context
// current for its duration where it is not, and restores what was (jit/cuda/cuda_backends.h has one
// for each context that is met). Launches go to the caller's stream and nothing else happens there:
// no synchronisation, legal while a stream is being captured. After fork() the child gets a clear
// error. What is missing (NVRTC, cuBLASLt) is reported by the call that needs it, with what was
// searched. An offline back end has no driver: it emits and compiles for any architecture, and
// refuses to load or launch.
#ifndef JITFUSE_JIT_CUDA_CUDA_BACKEND_H_
#define JITFUSE_JIT_CUDA_CUDA_BACKEND_H_

#include <memory>

#include "absl/status/statusor.h"
#include "codegen/target.h"
#include "jit/backend.h"
#include "jit/cuda/cublaslt_api.h"
#include "jit/cuda/driver_api.h"

namespace jitfuse::internal {

// With given tables, which must outlive the back end; cublaslt null: it is looked for when needed.
// `device`: that of the context.
absl::StatusOr<std::unique_ptr<Backend>> MakeCudaBackend(const DriverApi& driver,
                                                         const CublasLtApi* cublaslt,
                                                         CuContext context, CuDevice device);
// cuda: NVRTC of this major version of CUDA and no other compiles, if the architecture is one of
// its; 0: whichever is found.
absl::StatusOr<std::unique_ptr<Backend>> CreateOfflineCudaBackend(const Target& target,
                                                                  int cuda = 0);
// Whether there is a compiler for that back end's code.
absl::Status CheckOfflineCompiler(const Target& target, int cuda);

// What the driver says of a device.
absl::StatusOr<Target> TargetOfDevice(const DriverApi& driver, CuDevice device);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CUDA_CUDA_BACKEND_H_
