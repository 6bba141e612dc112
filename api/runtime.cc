#include "api/runtime.h"

#include <cstdlib>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "cpu_backend/cpu_backend.h"
#include "ir/support/flags.h"
#include "ir/support/status.h"
#include "jit/cuda/cuda_backend.h"
#include "jit/interpret_backend.h"

namespace jitfuse::internal {
namespace {

// One back end of each kind, made on first use and kept for good.
struct Slot {
  std::mutex mu;
  std::unique_ptr<Backend> backend;
};

Slot& SlotOf(DeviceKind kind) {
  static auto* slots = new Slot[4];
  return slots[static_cast<int>(kind)];
}

absl::StatusOr<std::unique_ptr<Backend>> Create(DeviceKind kind) {
  switch (kind) {
    case DeviceKind::kCpu:
      return absl::StatusOr<std::unique_ptr<Backend>>(CreateCpuBackend());
    case DeviceKind::kCuda:
      return CreateCudaBackend();
    case DeviceKind::kInterpret:
      return CreateInterpretBackend();
    case DeviceKind::kAuto:
      break;
  }
  return InvalidArgument("unknown device kind ", static_cast<int>(kind));
}

}  // namespace

absl::Status CheckBackendVariable() {
  std::string wanted = EnvString("BACKEND");
  if (wanted.empty() || wanted == "auto" || wanted == "cpu" || wanted == "cuda" ||
      wanted == "interpret")
    return absl::OkStatus();
  return InvalidArgument("JITFUSE_BACKEND: unknown backend '", wanted,
                         "'; known: auto, cpu, cuda, interpret");
}

absl::StatusOr<const Backend*> GetBackend(DeviceKind kind) {
  if (kind == DeviceKind::kAuto) {
    JF_RETURN_IF_ERROR(CheckBackendVariable());
    kind = ResolveAuto();
  }
  Slot& slot = SlotOf(kind);
  std::lock_guard<std::mutex> lock(slot.mu);
  if (slot.backend == nullptr) {
    JF_ASSIGN_OR_RETURN(slot.backend, Create(kind));
  }
  return static_cast<const Backend*>(slot.backend.get());
}

DeviceKind ResolveAuto() {
  std::string wanted = EnvString("BACKEND");
  if (wanted == "cpu") return DeviceKind::kCpu;
  if (wanted == "cuda") return DeviceKind::kCuda;
  if (wanted == "interpret") return DeviceKind::kInterpret;
  return GetBackend(DeviceKind::kCuda).ok() ? DeviceKind::kCuda : DeviceKind::kCpu;
}

KernelCache* SharedKernels() {
  static auto* cache = new KernelCache;
  return cache;
}

absl::StatusOr<std::unique_ptr<Backend>> BackendForArch(DeviceKind kind, const std::string& arch) {
  if (arch.empty() || arch == "host") return Create(kind);
  JF_ASSIGN_OR_RETURN(Target target, TargetFor(arch));
  switch (target.kind) {
    case TargetKind::kCpu:
      return CreateCpuBackendFor(arch);
    case TargetKind::kCuda:
      return CreateOfflineCudaBackend(target);
    case TargetKind::kInterpret:
      return CreateInterpretBackend();
  }
  return InvalidArgument("unknown target kind");
}

}  // namespace jitfuse::internal
