#include "jit/cuda/gemm_trial.h"

#include "ir/support/status.h"
#include "jit/cuda/device.h"

namespace jitfuse::internal {
namespace {

struct Resources {
  explicit Resources(const DriverApi& d) : driver(d) {}
  ~Resources() {
    if (memory != 0) driver.MemFree(memory);
    if (stream != nullptr) driver.StreamDestroy(stream);
  }
  Resources(const Resources&) = delete;
  Resources& operator=(const Resources&) = delete;

  const DriverApi& driver;
  CuStream stream = nullptr;
  CuDevicePtr memory = 0;
};

}  // namespace

absl::StatusOr<std::string> RunTrial(const DriverApi& driver, const GemmTrial& trial) {
  RelaxedCapture relaxed(driver);
  Resources own(driver);
  auto check = [&](CuResult result, std::string_view call) {
    return DriverStatus(driver, result, call, "a trial of a matrix product");
  };
  size_t total = 0;
  auto place = [&](size_t bytes) {
    const size_t at = total;
    total += (bytes + 255) / 256 * 256;
    return at;
  };
  const size_t a = place(trial.a_bytes), b = place(trial.b_bytes), c = place(trial.c_bytes),
               bias = place(trial.bias_bytes), d = place(trial.d_bytes),
               workspace = place(trial.workspace_bytes);
  JF_RETURN_IF_ERROR(
      check(driver.StreamCreate(&own.stream, kCuStreamNonBlocking), "cuStreamCreate"));
  JF_RETURN_IF_ERROR(check(driver.MemAlloc(&own.memory, total), "cuMemAlloc"));
  JF_RETURN_IF_ERROR(
      check(driver.MemsetD8Async(own.memory, 0, total, own.stream), "cuMemsetD8Async"));
  JF_RETURN_IF_ERROR(check(driver.MemsetD8Async(own.memory + a, 0xff, trial.a_bytes, own.stream),
                           "cuMemsetD8Async"));
  auto at = [&](size_t offset) { return reinterpret_cast<void*>(own.memory + offset); };
  GemmBuffers buffers;
  buffers.a = at(a);
  buffers.b = at(b);
  buffers.c = at(c);
  buffers.bias = at(bias);
  buffers.d = at(d);
  buffers.workspace = at(workspace);
  JF_RETURN_IF_ERROR(trial.launch(buffers, own.stream));
  std::string out(trial.d_bytes, '\0');
  JF_RETURN_IF_ERROR(
      check(driver.MemcpyDtoHAsync(out.data(), own.memory + d, out.size(), own.stream),
            "cuMemcpyDtoHAsync"));
  JF_RETURN_IF_ERROR(check(driver.StreamSynchronize(own.stream), "cuStreamSynchronize"));
  return out;
}

}  // namespace jitfuse::internal
