// The CUDA back end: EmitCuda, NVRTC, the driver and cuBLASLt behind the Backend interface.
//
// One back end belongs to one context: every call that touches the device makes that context
// current for its duration where it is not, and restores what was. CudaBackends has one for each
// context that is met. Launches go to the caller's stream and nothing else happens there: no
// synchronisation, legal while a stream is being captured. After fork() the child gets a clear
// error. What is missing (NVRTC, cuBLASLt) is reported by the call that needs it, with what was
// searched. An offline back end has no driver: it emits and compiles for any architecture, and
// refuses to load or launch.
#ifndef JITFUSE_JIT_CUDA_CUDA_BACKEND_H_
#define JITFUSE_JIT_CUDA_CUDA_BACKEND_H_

#include <atomic>
#include <memory>

#include "absl/status/statusor.h"
#include "codegen/target.h"
#include "jit/backend.h"
#include "jit/cuda/cublaslt_api.h"
#include "jit/cuda/driver_api.h"

namespace jitfuse::internal {

absl::StatusOr<std::unique_ptr<Backend>> CreateCudaBackend();
// cuda: NVRTC of this major version of CUDA and no other compiles, if the architecture is one of
// its; 0: whichever is found.
absl::StatusOr<std::unique_ptr<Backend>> CreateOfflineCudaBackend(const Target& target,
                                                                  int cuda = 0);
// Whether there is a compiler for that back end's code.
absl::Status CheckOfflineCompiler(const Target& target, int cuda);

// With given tables, which must outlive the back end; cublaslt null: it is looked for when needed.
absl::StatusOr<std::unique_ptr<Backend>> CreateCudaBackendWith(
    const DriverApi& driver, const CublasLtApi* cublaslt = nullptr);

// The back ends of a process, by context; made on first use, kept for good. A context that takes
// the address of a destroyed one is told apart by its id (drivers from 12.0 on).
class CudaBackends {
 public:
  // The tables must outlive this; cublaslt null: it is looked for when needed.
  explicit CudaBackends(const DriverApi& driver, const CublasLtApi* cublaslt = nullptr);
  ~CudaBackends();
  CudaBackends(const CudaBackends&) = delete;
  CudaBackends& operator=(const CudaBackends&) = delete;

  // Of the context that is current on this thread if it is one of device `index` (-1: of any), else
  // of the primary context of device `index` (-1: of device 0). No lock once it is made, and where
  // the context is current one question to the driver. After a fork: FailedPrecondition.
  // `is_current`, if set: true where the back end's context is known to be current.
  absl::StatusOr<const Backend*> Get(int index, bool* is_current = nullptr);

 private:
  struct Made;
  const Made* Find(CuContext context, unsigned long long id) const;
  const Made* OfCurrent() const;
  absl::StatusOr<const Backend*> Make(CuContext current, unsigned long long id, int index);
  absl::StatusOr<const Backend*> Add(CuContext context, unsigned long long id, CuDevice device);
  const Backend* Remember(CuContext context, unsigned long long id, CuDevice device,
                          std::unique_ptr<const Backend> backend);

  static constexpr int kMaxDevices = 64;
  const DriverApi& driver_;
  const CublasLtApi* const cublaslt_;
  std::atomic<int> generation_{-1};  // of the process that has initialised the driver; -1: none
  std::atomic<const Made*> made_{nullptr};
  std::atomic<const Backend*> primary_[kMaxDevices] = {};
};

// What the driver says of a device.
absl::StatusOr<Target> TargetOfDevice(const DriverApi& driver, CuDevice device);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CUDA_CUDA_BACKEND_H_
