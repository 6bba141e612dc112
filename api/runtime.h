// The back ends and the kernel cache of this process. Not installed. The only place that names
// concrete back ends.
//
// Made on first use, kept for the life of the process (never destroyed: threads may still hold
// kernels while it ends). Thread-safe. A back end that cannot be had is tried again on the next
// request, so that a library that appears later is found.
#ifndef JITFUSE_API_RUNTIME_H_
#define JITFUSE_API_RUNTIME_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "api/array.h"
#include "api/options.h"
#include "jit/backend.h"
#include "jit/cuda/driver_api.h"
#include "jit/kernel_cache.h"

namespace jitfuse::internal {

inline constexpr int kAnyDevice = -1;
// kAuto is resolved. On a GPU the back end of the context that is current on this thread, if that
// is one of device `index` (kAnyDevice: any), else of the primary context of that device
// (kAnyDevice: of device 0). Takes no lock once it is made. `in_context`, if set: true where that
// context is known to be the thread's.
absl::StatusOr<const Backend*> GetBackend(DeviceKind kind, int index = kAnyDevice,
                                          bool* in_context = nullptr);
// What kAuto stands for; an error that lists the known names if JITFUSE_BACKEND has another.
absl::StatusOr<DeviceKind> ResolveAuto();
// The driver that GetBackend uses from now on, for tests; null: the machine's.
void UseDriverForTests(const DriverApi* driver);
KernelCache* SharedKernels();
// A back end that can plan, emit and compile for `arch` ("sm_90", "x86-64-v3", "" for this
// machine's of that kind), though perhaps not run it.
absl::StatusOr<std::unique_ptr<Backend>> BackendForArch(DeviceKind kind, const std::string& arch);

}  // namespace jitfuse::internal

#endif  // JITFUSE_API_RUNTIME_H_
