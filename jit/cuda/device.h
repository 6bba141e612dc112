// A device, one context of it, and how to make that context current.
//
// In: the driver's table and a context. A ScopedContext makes it current on this thread for as long
// as it lives, if it is not, and undoes that; after a fork its status is FailedPrecondition. Must
// not know: back ends.
#ifndef JITFUSE_JIT_CUDA_DEVICE_H_
#define JITFUSE_JIT_CUDA_DEVICE_H_

#include <string_view>

#include "absl/status/status.h"
#include "ir/support/fork.h"
#include "jit/backend.h"
#include "jit/cuda/driver_api.h"

namespace jitfuse::internal {

// A CUDA context does not survive a fork.
absl::Status CheckGeneration(int generation);
// Of a context; 0 where the driver cannot tell.
unsigned long long IdOf(const DriverApi& driver, CuContext context);

inline CuDevicePtr ToDevicePtr(const void* p) { return reinterpret_cast<CuDevicePtr>(p); }
inline CuStream ToStream(StreamHandle stream) { return static_cast<CuStream>(stream); }

struct Device {
  const DriverApi* driver = nullptr;
  CuContext context = nullptr;
  unsigned long long id = 0;  // of the context
  CuDevice ordinal = 0;
  int generation = ForkGeneration();

  absl::Status CheckFork() const { return CheckGeneration(generation); }
  // What was made in the context is still there to be given back: else it went with a context that
  // was destroyed, or is the parent's.
  bool HoldsWhatWasMade() const {
    return CheckFork().ok() && (id == 0 || IdOf(*driver, context) == id);
  }
  absl::Status Check(CuResult result, std::string_view call, std::string_view about = "") const {
    return DriverStatus(*driver, result, call, about);
  }
};

class ScopedContext {
 public:
  explicit ScopedContext(const Device& device) : device_(device), status_(Enter()) {}
  ~ScopedContext() {
    CuContext popped;
    if (pushed_) device_.driver->CtxPopCurrent(&popped);
  }
  ScopedContext(const ScopedContext&) = delete;
  ScopedContext& operator=(const ScopedContext&) = delete;
  const absl::Status& status() const { return status_; }

 private:
  absl::Status Enter();

  const Device& device_;
  bool pushed_ = false;
  absl::Status status_;
};

// Lets this thread allocate and wait while a stream of the process is being captured.
class RelaxedCapture {
 public:
  explicit RelaxedCapture(const DriverApi& driver) : driver_(driver) {
    driver_.ThreadExchangeStreamCaptureMode(&mode_);
  }
  ~RelaxedCapture() { driver_.ThreadExchangeStreamCaptureMode(&mode_); }
  RelaxedCapture(const RelaxedCapture&) = delete;
  RelaxedCapture& operator=(const RelaxedCapture&) = delete;

 private:
  const DriverApi& driver_;
  CuCaptureMode mode_ = kCuCaptureModeRelaxed;
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CUDA_DEVICE_H_
