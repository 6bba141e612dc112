// A trial: one small matrix product on the device, to see what an algorithm makes of NaN.
//
// In: how large the buffers are, and the launch. Out: D as it is afterwards. Every float of A is
// NaN, everything else is zero. The trial has its own memory and stream and waits for it; other
// streams, also ones that are being captured, do not notice. Must run with a current CUDA context.
// Must not know: what is launched.
#ifndef JITFUSE_JIT_CUDA_GEMM_TRIAL_H_
#define JITFUSE_JIT_CUDA_GEMM_TRIAL_H_

#include <cstddef>
#include <functional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "jit/backend.h"
#include "jit/cuda/driver_api.h"

namespace jitfuse::internal {

struct GemmTrial {
  size_t a_bytes = 0, b_bytes = 0, c_bytes = 0, bias_bytes = 0, d_bytes = 0, workspace_bytes = 0;
  std::function<absl::Status(const GemmBuffers&, StreamHandle)> launch;
};
using GemmTrialFn = std::function<absl::StatusOr<std::string>(const GemmTrial&)>;

absl::StatusOr<std::string> RunTrial(const DriverApi& driver, const GemmTrial& trial);

}  // namespace jitfuse::internal

#endif  // JITFUSE_JIT_CUDA_GEMM_TRIAL_H_
