#include "jit/cuda/device.h"

#include "ir/support/status.h"

namespace jitfuse::internal {

absl::Status CheckGeneration(int generation) {
  if (ForkGeneration() == generation) return absl::OkStatus();
  return absl::FailedPreconditionError(
      "CUDA cannot be used in a process forked from one that uses it: start the child with spawn, "
      "or use the CPU there");
}

unsigned long long IdOf(const DriverApi& driver, CuContext context) {
  unsigned long long id = 0;
  return driver.CtxGetId != nullptr && driver.CtxGetId(context, &id) == kCuSuccess ? id : 0;
}

absl::Status ScopedContext::Enter() {
  JF_RETURN_IF_ERROR(device_.CheckFork());
  CuContext current = nullptr;
  JF_RETURN_IF_ERROR(device_.Check(device_.driver->CtxGetCurrent(&current), "cuCtxGetCurrent"));
  if (current == device_.context) return absl::OkStatus();
  JF_RETURN_IF_ERROR(
      device_.Check(device_.driver->CtxPushCurrent(device_.context), "cuCtxPushCurrent"));
  pushed_ = true;
  return absl::OkStatus();
}

}  // namespace jitfuse::internal
