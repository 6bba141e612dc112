// StreamMarks of a CUDA stream: events between launches, read when the device has passed them.
//
// In: a device and a stream that is not being captured. Out: for each Mark a row's entry of the
// trace, on the host's clock, once its event has come: with a later call's marks or when the trace
// ends, which waits for it. A mark costs an event; a call that finds 256 calls waiting waits for
// the oldest half of them. Host and device clocks are compared once for each context, to some
// microseconds. Marks of a context that is gone, or of before a fork, are dropped.
#ifndef JITFUSE_JIT_CUDA_STREAM_MARKS_H_
#define JITFUSE_JIT_CUDA_STREAM_MARKS_H_

#include <memory>

#include "jit/backend.h"
#include "jit/cuda/device.h"

namespace jitfuse::internal {

// Null if the driver makes no events.
std::unique_ptr<StreamMarks> MarkCudaStream(std::shared_ptr<const Device> device, CuStream stream);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CUDA_STREAM_MARKS_H_
