#include "jit/cuda/cuda_backends.h"

#include <mutex>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/support/fork.h"
#include "ir/support/status.h"
#include "jit/cuda/cuda_backend.h"
#include "jit/cuda/device.h"

namespace jitfuse::internal {
namespace {

// Whether a context was current when this thread asked last. The id of none is an error, which
// those who watch the driver (compute-sanitizer) would report for every call.
thread_local bool t_had_context = false;

absl::Status InitDriver(const DriverApi& driver) {
  const CuResult result = driver.Init(0);
  if (result == kCuErrorNotInitialized)
    return absl::FailedPreconditionError(
        "cuInit failed: CUDA_ERROR_NOT_INITIALIZED. CUDA cannot be used in a process forked from "
        "one that uses it: start the child with spawn, or use the CPU there");
  JF_RETURN_IF_ERROR(DriverStatus(driver, result, "cuInit"));
  int count = 0;
  JF_RETURN_IF_ERROR(DriverStatus(driver, driver.DeviceGetCount(&count), "cuDeviceGetCount"));
  if (count > 0) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("the CUDA driver (", driver.path, ") sees no GPU"));
}

absl::StatusOr<CuDevice> DeviceOfCurrent(const DriverApi& driver) {
  CuDevice device = 0;
  JF_RETURN_IF_ERROR(DriverStatus(driver, driver.CtxGetDevice(&device), "cuCtxGetDevice"));
  return device;
}

// Retained for good.
absl::StatusOr<CuContext> PrimaryOf(const DriverApi& driver, int index, CuDevice* device) {
  int count = 0;
  JF_RETURN_IF_ERROR(DriverStatus(driver, driver.DeviceGetCount(&count), "cuDeviceGetCount"));
  if (index < 0 || index >= count)
    return InvalidArgument("there is no GPU ", index, ": the CUDA driver sees ", count);
  JF_RETURN_IF_ERROR(DriverStatus(driver, driver.DeviceGet(device, index), "cuDeviceGet"));
  CuContext context = nullptr;
  JF_RETURN_IF_ERROR(DriverStatus(driver, driver.DevicePrimaryCtxRetain(&context, *device),
                                  "cuDevicePrimaryCtxRetain"));
  return context;
}

}  // namespace

absl::StatusOr<std::unique_ptr<Backend>> CreateCudaBackendWith(const DriverApi& driver,
                                                               const CublasLtApi* cublaslt) {
  JF_RETURN_IF_ERROR(InitDriver(driver));
  CuContext context = nullptr;
  CuDevice device = 0;
  JF_RETURN_IF_ERROR(DriverStatus(driver, driver.CtxGetCurrent(&context), "cuCtxGetCurrent"));
  if (context == nullptr) {
    JF_ASSIGN_OR_RETURN(context, PrimaryOf(driver, 0, &device));
  } else {
    JF_ASSIGN_OR_RETURN(device, DeviceOfCurrent(driver));
  }
  return MakeCudaBackend(driver, cublaslt, context, device);
}

absl::StatusOr<std::unique_ptr<Backend>> CreateCudaBackend() {
  JF_ASSIGN_OR_RETURN(const DriverApi* driver, LoadDriverApi());
  return CreateCudaBackendWith(*driver);
}

// A list that only grows; read without a lock.
struct CudaBackends::Made {
  CuContext context;
  unsigned long long id;
  int index;
  std::unique_ptr<const Backend> backend;  // null where only the device was asked for
  const Made* next;
};

CudaBackends::CudaBackends(const DriverApi& driver, const CublasLtApi* cublaslt)
    : driver_(driver), cublaslt_(cublaslt) {}

CudaBackends::~CudaBackends() {
  for (const Made* m = made_.load(std::memory_order_acquire); m != nullptr;) {
    const Made* next = m->next;
    delete m;
    m = next;
  }
}

const CudaBackends::Made* CudaBackends::Find(CuContext context, unsigned long long id) const {
  const Made* m = made_.load(std::memory_order_acquire);
  while (m != nullptr && (m->context != context || m->id != id)) m = m->next;
  return m;
}

// By one question to the driver; null where that does not tell. After the thread's context was
// popped the driver answers once with an error, which compute-sanitizer reports; to ask for the
// current context first would be a second question in every call.
const CudaBackends::Made* CudaBackends::OfCurrent() const {
  if (!t_had_context || driver_.CtxGetId == nullptr) return nullptr;
  unsigned long long id = 0;
  if (driver_.CtxGetId(nullptr, &id) != kCuSuccess) return nullptr;
  const Made* m = made_.load(std::memory_order_acquire);
  while (m != nullptr && m->id != id) m = m->next;
  return m;
}

absl::StatusOr<const Backend*> CudaBackends::Get(int index, bool* is_current) {
  const int generation = generation_.load(std::memory_order_acquire);
  if (generation < 0) return Make(nullptr, 0, index);
  JF_RETURN_IF_ERROR(CheckGeneration(generation));
  const Made* made = OfCurrent();
  if (made == nullptr) {
    CuContext current = nullptr;
    JF_RETURN_IF_ERROR(DriverStatus(driver_, driver_.CtxGetCurrent(&current), "cuCtxGetCurrent"));
    t_had_context = current != nullptr;
    if (current != nullptr) {
      const unsigned long long id = IdOf(driver_, current);
      made = Find(current, id);
      if (made == nullptr) return Make(current, id, index);
    }
  }
  if (made != nullptr && (index < 0 || index == made->index)) {
    if (made->backend == nullptr) return Make(made->context, made->id, index);
    if (is_current != nullptr) *is_current = true;
    return made->backend.get();
  }
  const int wanted = index < 0 ? 0 : index;
  if (wanted < kMaxDevices) {
    if (const Backend* b = primary_[wanted].load(std::memory_order_acquire)) return b;
  }
  return Make(nullptr, 0, index);  // the current context, if any, is of another device
}

// The slow path of Get, under the lock of back ends.
absl::StatusOr<const Backend*> CudaBackends::Make(CuContext current, unsigned long long id,
                                                  int index) {
  std::lock_guard<std::mutex> lock(LockOf(ForkLock::kBackends));
  if (generation_.load(std::memory_order_relaxed) < 0) {
    JF_RETURN_IF_ERROR(InitDriver(driver_));
    generation_.store(ForkGeneration(), std::memory_order_release);
    JF_RETURN_IF_ERROR(DriverStatus(driver_, driver_.CtxGetCurrent(&current), "cuCtxGetCurrent"));
    if (current != nullptr) id = IdOf(driver_, current);
  }
  if (current != nullptr) {
    JF_ASSIGN_OR_RETURN(CuDevice device, DeviceOfCurrent(driver_));
    if (index < 0 || index == device) return Add(current, id, device);
    if (Find(current, id) == nullptr)
      Remember(current, id, device, nullptr);  // so that the next call need not ask
  }
  CuDevice device = 0;
  const int wanted = index < 0 ? 0 : index;
  JF_ASSIGN_OR_RETURN(CuContext primary, PrimaryOf(driver_, wanted, &device));
  JF_ASSIGN_OR_RETURN(const Backend* made, Add(primary, IdOf(driver_, primary), device));
  if (wanted < kMaxDevices) primary_[wanted].store(made, std::memory_order_release);
  return made;
}

absl::StatusOr<const Backend*> CudaBackends::Add(CuContext context, unsigned long long id,
                                                 CuDevice device) {
  if (const Made* there = Find(context, id); there != nullptr && there->backend != nullptr)
    return there->backend.get();
  JF_ASSIGN_OR_RETURN(std::unique_ptr<Backend> backend,
                      MakeCudaBackend(driver_, cublaslt_, context, device));
  return Remember(context, id, device, std::move(backend));
}

const Backend* CudaBackends::Remember(CuContext context, unsigned long long id, CuDevice device,
                                      std::unique_ptr<const Backend> backend) {
  const auto* made =
      new Made{context, id, device, std::move(backend), made_.load(std::memory_order_relaxed)};
  made_.store(made, std::memory_order_release);
  return made->backend.get();
}

}  // namespace jitfuse::internal
