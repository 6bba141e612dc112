// The CUDA back end: EmitCuda, NVRTC, the driver and cuBLASLt behind the Backend interface.
//
// It uses the context that is current on the thread that makes it, else the primary one of device
// 0; every call that touches the device makes that context current for its duration where it is
// not, and restores what was. Launches go to the caller's stream and nothing else happens there: no
// synchronisation, legal while a stream is being captured. After fork() the child gets a clear
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

absl::StatusOr<std::unique_ptr<Backend>> CreateCudaBackend();
absl::StatusOr<std::unique_ptr<Backend>> CreateOfflineCudaBackend(const Target& target);

// With given tables, which must outlive the back end; cublaslt null: it is looked for when needed.
absl::StatusOr<std::unique_ptr<Backend>> CreateCudaBackendWith(
    const DriverApi& driver, const CublasLtApi* cublaslt = nullptr);

// What the driver says of a device.
absl::StatusOr<Target> TargetOfDevice(const DriverApi& driver, CuDevice device);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CUDA_CUDA_BACKEND_H_
