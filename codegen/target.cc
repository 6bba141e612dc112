#include "codegen/target.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

struct CudaRow {
  int sm;
  int smem_per_sm;  // bytes
  int max_threads_per_sm;
};

// CUDA C++ Programming Guide, "Technical Specifications per Compute Capability".
constexpr std::array<CudaRow, 12> kCuda = {{{75, 65536, 1024},
                                            {80, 167936, 2048},
                                            {86, 102400, 1536},
                                            {87, 167936, 1536},
                                            {88, 102400, 1536},
                                            {89, 102400, 1536},
                                            {90, 233472, 2048},
                                            {100, 233472, 2048},
                                            {103, 233472, 2048},
                                            {110, 233472, 1536},
                                            {120, 102400, 1536},
                                            {121, 102400, 1536}}};

struct CpuRow {
  std::string_view name;
  int vec_bits;
};
constexpr std::array<CpuRow, 3> kCpu = {
    {{"x86-64-v2", 128}, {"x86-64-v3", 256}, {"x86-64-v4", 512}}};

Target CudaTarget(const CudaRow& row) {
  Target t;
  t.kind = TargetKind::kCuda;
  t.arch = absl::StrCat("sm_", row.sm);
  t.sm = row.sm;
  t.smem_per_sm = row.smem_per_sm;
  t.max_threads_per_sm = row.max_threads_per_sm;
  return t;
}

Target CpuTarget(const CpuRow& row) {
  Target t;
  t.kind = TargetKind::kCpu;
  t.arch = std::string(row.name);
  t.vec_bits = row.vec_bits;
  t.max_row_bytes_kept = 128 * 1024;
  return t;
}

}  // namespace

absl::StatusOr<Target> TargetFor(std::string_view arch) {
  for (const CudaRow& row : kCuda) {
    if (arch == absl::StrCat("sm_", row.sm)) return CudaTarget(row);
  }
  for (const CpuRow& row : kCpu) {
    if (arch == row.name) return CpuTarget(row);
  }
  if (arch == "interpret") {
    Target t;
    t.arch = "interpret";
    return t;
  }
  return InvalidArgument("unknown architecture '", ToAbsl(arch),
                         "'; known: ", absl::StrJoin(KnownCudaArchs(), ", "),
                         ", x86-64-v2, x86-64-v3, x86-64-v4, host, interpret");
}

std::vector<std::string> KnownCudaArchs() {
  std::vector<std::string> out;
  for (const CudaRow& row : kCuda) out.push_back(absl::StrCat("sm_", row.sm));
  return out;
}

std::string TargetToString(const Target& target) {
  std::string_view kind = target.kind == TargetKind::kCuda  ? "cuda"
                          : target.kind == TargetKind::kCpu ? "cpu"
                                                            : "interpret";
  return absl::StrCat(ToAbsl(kind), ":", target.arch, target.features.empty() ? "" : " ",
                      absl::StrJoin(target.features, ","));
}

}  // namespace jitfuse::internal
