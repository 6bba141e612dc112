// How long the device takes for what is enqueued on a stream, by two events.
//
// In: a stream that is not being captured, and what enqueues work on it. Out: microseconds from the
// first to the last of that work. Waits for the stream; other streams, also ones that are being
// captured, do not notice. Must run with a current CUDA context. Must not know: what is timed.
#ifndef JITFUSE_JIT_CUDA_DEVICE_TIME_H_
#define JITFUSE_JIT_CUDA_DEVICE_TIME_H_

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jit/cuda/driver_api.h"

namespace jitfuse::internal {

absl::StatusOr<double> TimeOnStream(const DriverApi& driver, CuStream stream,
                                    absl::FunctionRef<absl::Status()> work);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CUDA_DEVICE_TIME_H_
