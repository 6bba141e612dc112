#include "api/runtime.h"

#include <atomic>
#include <mutex>

#include "absl/strings/str_cat.h"
#include "cpu_backend/cpu_backend.h"
#include "ir/support/flags.h"
#include "ir/support/fork.h"
#include "ir/support/status.h"
#include "jit/cuda/cuda_backend.h"
#include "jit/cuda/cuda_backends.h"
#include "jit/disk_cache.h"
#include "jit/interpret_backend.h"

namespace jitfuse::internal {
namespace {

// Of the CPU and the interpreter, made on first use and kept for good.
template <typename Make>
const Backend* Only(Make make) {
  static std::atomic<const Backend*> made{nullptr};
  if (const Backend* there = made.load(std::memory_order_acquire)) return there;
  std::lock_guard<std::mutex> lock(LockOf(ForkLock::kBackends));
  if (made.load(std::memory_order_relaxed) == nullptr)
    made.store(make().release(), std::memory_order_release);
  return made.load(std::memory_order_relaxed);
}

std::atomic<CudaBackends*> cuda_backends{nullptr};

absl::StatusOr<const Backend*> GetCudaBackend(int index, bool* in_context) {
  CudaBackends* all = cuda_backends.load(std::memory_order_acquire);
  if (all == nullptr) {
    JF_ASSIGN_OR_RETURN(const DriverApi* driver, LoadDriverApi());
    std::lock_guard<std::mutex> lock(LockOf(ForkLock::kBackends));
    all = cuda_backends.load(std::memory_order_acquire);
    if (all == nullptr) cuda_backends.store(all = new CudaBackends(*driver));
  }
  return all->Get(index, in_context);
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

absl::StatusOr<const Backend*> GetBackend(DeviceKind kind, int index, bool* in_context) {
  if (kind == DeviceKind::kAuto) {
    JF_ASSIGN_OR_RETURN(kind, ResolveAuto());
  }
  switch (kind) {
    case DeviceKind::kCpu:
      return Only([] { return CreateCpuBackend(); });
    case DeviceKind::kCuda:
      return GetCudaBackend(index, in_context);
    case DeviceKind::kInterpret:
      return Only([] { return CreateInterpretBackend(); });
    case DeviceKind::kAuto:
      break;
  }
  return InvalidArgument("unknown device kind ", static_cast<int>(kind));
}

absl::StatusOr<DeviceKind> ResolveAuto() {
  const std::string wanted = EnvString("BACKEND");
  if (wanted == "cpu") return DeviceKind::kCpu;
  if (wanted == "cuda") return DeviceKind::kCuda;
  if (wanted == "interpret") return DeviceKind::kInterpret;
  if (!wanted.empty() && wanted != "auto")
    return InvalidArgument("JITFUSE_BACKEND: unknown backend '", wanted,
                           "'; known: auto, cpu, cuda, interpret");
  return GetBackend(DeviceKind::kCuda).ok() ? DeviceKind::kCuda : DeviceKind::kCpu;
}

void UseDriverForTests(const DriverApi* driver) {
  cuda_backends.store(driver == nullptr ? nullptr : new CudaBackends(*driver));
}

KernelCache* SharedKernels() {
  static auto* cache = new KernelCache(SharedDiskCache());
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
