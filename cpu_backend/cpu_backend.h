// The CPU as a back end: LLVM IR through ORC, oneDNN for matrix products, OpenMP for threads.
//
// In and out as jit/backend.h says. The target is the host's exact CPU, unless JITFUSE_CPU_ARCH
// names another (host, x86-64-v2, x86-64-v3, x86-64-v4); a name that is not known makes every Emit
// fail with the list of those that are. Code for a CPU that the host is not can be compiled, and is
// refused by Load. The host's back end has more general ones beside it (GeneralBackends): of
// x86-64-v4, v3 and v2 those that the host is. Launches split the work into chunks of about
// grain_bytes; small ones run on the calling thread. Streams are ignored: all work is done when a
// call returns. Must not know: graphs, caches.
#ifndef JITFUSE_CPU_BACKEND_CPU_BACKEND_H_
#define JITFUSE_CPU_BACKEND_CPU_BACKEND_H_

#include <memory>
#include <optional>
#include <string_view>

#include "absl/status/statusor.h"
#include "codegen/target.h"
#include "jit/backend.h"

namespace jitfuse::internal {

std::unique_ptr<Backend> CreateCpuBackend();
// For `arch` as above, for tools. Without `bf16_products` oneDNN is asked what it computes on this
// machine; with it plans are the same on every machine: those of one where oneDNN multiplies bf16,
// which takes AVX-512, or where it does not.
absl::StatusOr<std::unique_ptr<Backend>> CreateCpuBackendFor(
    std::string_view arch, std::optional<bool> bf16_products = std::nullopt);
// The target that an arch names; "host" and "" are this machine's CPU with its exact features.
absl::StatusOr<Target> CpuTargetFor(std::string_view arch);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CPU_BACKEND_CPU_BACKEND_H_
