// What `doctor` says of the CUDA side.
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "jit/cuda/cublaslt_api.h"
#include "jit/cuda/cuda_backend.h"
#include "jit/cuda/disassemble.h"
#include "jit/cuda/driver_api.h"
#include "jit/cuda/dynlib.h"
#include "jit/cuda/nvrtc_api.h"

namespace jitfuse::internal {
namespace {

// The remedy stands at the end of a NotFound's message.
LibraryFinding NotFoundFinding(std::string what, const absl::Status& status,
                               const std::vector<std::string>& searched) {
  LibraryFinding f;
  f.what = std::move(what);
  f.where = searched.empty() ? std::string(status.message()) : absl::StrJoin(searched, "; ");
  const std::string message(status.message());
  if (size_t at = message.rfind("To get it"); at != std::string::npos)
    f.remedy = message.substr(message.find(": ", at) + 2);
  return f;
}

LibraryFinding Found(std::string what, std::string version, std::string where) {
  return {std::move(what), true, std::move(version), std::move(where), ""};
}

LibraryFinding DeviceFinding(const DriverApi& driver) {
  LibraryFinding f;
  f.what = "CUDA device";
  int count = 0;
  CuDevice device = 0;
  absl::Status status = DriverStatus(driver, driver.Init(0), "cuInit");
  if (status.ok()) status = DriverStatus(driver, driver.DeviceGetCount(&count), "cuDeviceGetCount");
  if (status.ok() && count == 0) status = absl::NotFoundError("the driver sees no GPU");
  if (status.ok()) status = DriverStatus(driver, driver.DeviceGet(&device, 0), "cuDeviceGet");
  char name[256] = "";
  if (status.ok())
    status = DriverStatus(driver, driver.DeviceGetName(name, sizeof name - 1, device),
                          "cuDeviceGetName");
  if (status.ok()) {
    absl::StatusOr<Target> target = TargetOfDevice(driver, device);
    if (target.ok())
      return Found("CUDA device", target->arch, absl::StrCat(name, ", ", target->sm_count, " SMs"));
    status = target.status();
  }
  f.where = std::string(status.message());
  f.remedy = "check nvidia-smi; in a container, run it with --gpus all";
  return f;
}

}  // namespace

std::vector<LibraryFinding> CudaFindings() {
  std::vector<LibraryFinding> out;
  std::vector<std::string> searched;
  int driver_major = 0;
  absl::StatusOr<const DriverApi*> driver = LoadDriverApi(&searched);
  if (driver.ok()) {
    int version = 0;
    (*driver)->DriverGetVersion(&version);
    driver_major = version / 1000;
    out.push_back(Found("CUDA driver", absl::StrCat(driver_major, ".", version % 1000 / 10),
                        (*driver)->path));
    out.push_back(DeviceFinding(**driver));
  } else {
    out.push_back(NotFoundFinding("CUDA driver", driver.status(), searched));
  }
  searched.clear();
  absl::StatusOr<const NvrtcApi*> nvrtc = LoadNvrtcApi(driver_major, &searched);
  out.push_back(nvrtc.ok() ? Found("NVRTC", absl::StrCat((*nvrtc)->major, ".", (*nvrtc)->minor),
                                   (*nvrtc)->path)
                           : NotFoundFinding("NVRTC", nvrtc.status(), searched));
  searched.clear();
  absl::StatusOr<const CublasLtApi*> lt = LoadCublasLtApi(driver_major, &searched);
  out.push_back(lt.ok() ? Found("cuBLASLt", (*lt)->version, (*lt)->path)
                        : NotFoundFinding("cuBLASLt", lt.status(), searched));
  absl::StatusOr<std::string> nvdisasm = FindNvdisasm();
  out.push_back(nvdisasm.ok() ? Found("nvdisasm", NvdisasmVersion(*nvdisasm), *nvdisasm)
                              : NotFoundFinding("nvdisasm", nvdisasm.status(),
                                                {"PATH", "/usr/local/cuda*/bin"}));
  return out;
}

}  // namespace jitfuse::internal
