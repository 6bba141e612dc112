#include "jit/cuda/cuda_allocator.h"

#include <cstdint>
#include <utility>

#include "absl/strings/str_cat.h"
#include "ir/support/dump.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

void* Allocated(const Device& device, CuResult result, CuDevicePtr ptr, size_t bytes) {
  if (result == kCuSuccess) return reinterpret_cast<void*>(ptr);
  Log(1,
      DriverStatus(*device.driver, result, "allocation", absl::StrCat(bytes, " bytes")).ToString());
  return nullptr;
}

// At the end of a process the driver may be gone already.
void LogFreed(const Device& device, CuResult result) {
  if (result != kCuSuccess && result != kCuErrorDeinitialized)
    Log(1, DriverStatus(*device.driver, result, "freeing").ToString());
}

class CudaAllocator : public Allocator {
 public:
  explicit CudaAllocator(const Device& device) : device_(device) {}

  absl::Status Init() {
    int supported = 0;
    JF_RETURN_IF_ERROR(device_.Check(
        device_.driver->DeviceGetAttribute(&supported, kCuMemoryPoolsSupported, device_.ordinal),
        "cuDeviceGetAttribute"));
    if (supported == 0) return absl::OkStatus();
    CuMemPoolProps props{};
    props.alloc_type = kCuMemAllocationPinned;
    props.location = {kCuMemLocationDevice, device_.ordinal};
    JF_RETURN_IF_ERROR(
        device_.Check(device_.driver->MemPoolCreate(&pool_, &props), "cuMemPoolCreate"));
    uint64_t keep = UINT64_MAX;
    return device_.Check(
        device_.driver->MemPoolSetAttribute(pool_, kCuMemPoolReleaseThreshold, &keep),
        "cuMemPoolSetAttribute");
  }

  void* Allocate(size_t bytes, StreamHandle stream) override {
    ScopedContext scope(device_);
    if (!scope.status().ok()) return nullptr;
    CuDevicePtr ptr = 0;
    const CuResult result = pool_ != nullptr ? device_.driver->MemAllocFromPoolAsync(
                                                   &ptr, bytes, pool_, ToStream(stream))
                                             : device_.driver->MemAlloc(&ptr, bytes);
    return Allocated(device_, result, ptr, bytes);
  }

  void Free(void* ptr, size_t, StreamHandle stream) override {
    if (ptr == nullptr) return;
    ScopedContext scope(device_);
    if (!scope.status().ok()) return;
    const CuResult result = pool_ != nullptr
                                ? device_.driver->MemFreeAsync(ToDevicePtr(ptr), ToStream(stream))
                                : device_.driver->MemFree(ToDevicePtr(ptr));
    LogFreed(device_, result);
  }

 private:
  const Device& device_;
  CuMemPool pool_ = nullptr;
};

class HeldCudaAllocator : public Allocator {
 public:
  explicit HeldCudaAllocator(const Device& device) : device_(device) {}

  void* Allocate(size_t bytes, StreamHandle) override {
    ScopedContext scope(device_);
    if (!scope.status().ok()) return nullptr;
    RelaxedCapture relaxed(*device_.driver);
    CuDevicePtr ptr = 0;
    const CuResult result = device_.driver->MemAlloc(&ptr, bytes);
    return Allocated(device_, result, ptr, bytes);
  }

  void Free(void* ptr, size_t, StreamHandle) override {
    if (ptr == nullptr || !device_.HoldsWhatWasMade()) return;
    ScopedContext scope(device_);
    if (!scope.status().ok()) return;
    RelaxedCapture relaxed(*device_.driver);
    LogFreed(device_, device_.driver->MemFree(ToDevicePtr(ptr)));  // waits for all streams
  }

 private:
  const Device& device_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Allocator>> MakeCudaAllocator(const Device& device) {
  auto allocator = std::make_unique<CudaAllocator>(device);
  JF_RETURN_IF_ERROR(allocator->Init());
  return std::unique_ptr<Allocator>(std::move(allocator));
}

std::unique_ptr<Allocator> MakeHeldCudaAllocator(const Device& device) {
  return std::make_unique<HeldCudaAllocator>(device);
}

}  // namespace jitfuse::internal
