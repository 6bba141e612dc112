// Doctor: what was found on this machine, where, and how to get what is missing.
#include "absl/strings/str_cat.h"
#include "api/convert.h"
#include "api/inspect.h"
#include "api/runtime.h"
#include "cpu_backend/onednn_primitive.h"
#include "ir/support/status.h"
#include "jit/cuda/dynlib.h"

namespace jitfuse {
inline namespace v1 {
namespace {

Finding CpuFinding() {
  absl::StatusOr<const internal::Backend*> cpu = internal::GetBackend(DeviceKind::kCpu);
  if (!cpu.ok()) return {"CPU", false, "", std::string(cpu.status().message()), ""};
  const internal::Target& target = (*cpu)->target();
  return {"CPU", true, target.arch,
          absl::StrCat(target.vec_bits, "-bit vectors, ", target.num_threads,
                       " threads, compiled by ", (*cpu)->CompilerId()),
          ""};
}

Finding OneDnnFinding() {
  internal::Reason reason = internal::Reason::kGemmNoLibrary;
  absl::StatusOr<const internal::Backend*> cpu = internal::GetBackend(DeviceKind::kCpu);
  bool found = cpu.ok() && (*cpu)->GemmSupport(internal::DType::kF32, &reason).ok();
  if (found) return {"oneDNN", true, internal::OnednnVersion(), "linked in", ""};
  return {"oneDNN", false, "", "this build has none: matrix products on the CPU are loop kernels",
          "apt-get install libdnnl-dev; then build again"};
}

}  // namespace

std::vector<Finding> Doctor() {
  std::vector<Finding> out = {CpuFinding(), OneDnnFinding()};
  for (const internal::LibraryFinding& f : internal::CudaFindings())
    out.push_back({f.what, f.found, f.version, f.where, f.remedy});
  return out;
}

}  // namespace v1
}  // namespace jitfuse
