#include "gpu_name.h"

#include "jit/cuda/driver_api.h"

namespace jitfuse_bench {

std::string GpuName() {
  const auto driver = jitfuse::internal::LoadDriverApi();
  char name[256] = "";
  if (!driver.ok() || (*driver)->Init(0) != jitfuse::internal::kCuSuccess ||
      (*driver)->DeviceGetName(name, sizeof name, 0) != jitfuse::internal::kCuSuccess)
    return "no GPU";
  return name;
}

}  // namespace jitfuse_bench
