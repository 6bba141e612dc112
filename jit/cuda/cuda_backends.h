// Which CUDA back end a call runs on: that of the thread's current context, or of a device's
// primary one.
//
// In: the driver's table. Out: back ends (jit/cuda/cuda_backend.h), one for each context; primary
// contexts are retained for good. Errors say that there is no driver, no GPU, or that the process
// was forked from one that uses CUDA. Must not know: what back ends do.
#ifndef JITFUSE_JIT_CUDA_CUDA_BACKENDS_H_
#define JITFUSE_JIT_CUDA_CUDA_BACKENDS_H_

#include <atomic>
#include <memory>

#include "absl/status/statusor.h"
#include "jit/backend.h"
#include "jit/cuda/cublaslt_api.h"
#include "jit/cuda/driver_api.h"

namespace jitfuse::internal {

// Of the current context, else of the primary one of device 0.
absl::StatusOr<std::unique_ptr<Backend>> CreateCudaBackend();
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

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CUDA_CUDA_BACKENDS_H_
