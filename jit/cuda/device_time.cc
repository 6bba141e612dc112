#include "jit/cuda/device_time.h"

#include "ir/support/status.h"
#include "jit/cuda/device.h"

namespace jitfuse::internal {
namespace {

struct Event {
  explicit Event(const DriverApi& d) : driver(d) {}
  ~Event() {
    if (handle != nullptr) driver.EventDestroy(handle);
  }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

  const DriverApi& driver;
  CuEvent handle = nullptr;
};

}  // namespace

absl::StatusOr<double> TimeOnStream(const DriverApi& driver, CuStream stream,
                                    absl::FunctionRef<absl::Status()> work) {
  RelaxedCapture relaxed(driver);
  Event begin(driver), end(driver);
  auto check = [&](CuResult result, std::string_view call) {
    return DriverStatus(driver, result, call, "timing");
  };
  JF_RETURN_IF_ERROR(check(driver.EventCreate(&begin.handle, 0), "cuEventCreate"));
  JF_RETURN_IF_ERROR(check(driver.EventCreate(&end.handle, 0), "cuEventCreate"));
  JF_RETURN_IF_ERROR(check(driver.EventRecord(begin.handle, stream), "cuEventRecord"));
  JF_RETURN_IF_ERROR(work());
  JF_RETURN_IF_ERROR(check(driver.EventRecord(end.handle, stream), "cuEventRecord"));
  JF_RETURN_IF_ERROR(check(driver.EventSynchronize(end.handle), "cuEventSynchronize"));
  float ms = 0;
  JF_RETURN_IF_ERROR(
      check(driver.EventElapsedTime(&ms, begin.handle, end.handle), "cuEventElapsedTime"));
  return double{ms} * 1e3;
}

}  // namespace jitfuse::internal
