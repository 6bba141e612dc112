// Target: what planning and emission may know of a device, as a value.
//
// In: a name ("sm_90", "x86-64-v3", "host") or a device found at run time. Out: the facts below.
// Sources and cache keys depend on `kind`, `arch` and the budgets that follow from arch alone;
// sm_count, dram_gbps and l2_bytes act only through sizes computed at launch. The static table of
// known architectures lets a machine without a GPU plan and compile for one. Budgets live here so
// that codegen/fusion needs no plan types.
#ifndef JITFUSE_CODEGEN_TARGET_H_
#define JITFUSE_CODEGEN_TARGET_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace jitfuse::internal {

enum class TargetKind : uint8_t { kInterpret, kCpu, kCuda };

struct Target {
  TargetKind kind = TargetKind::kInterpret;
  std::string arch;  // "sm_90"; "x86-64-v4"; "znver5" (host: the CPU's LLVM name); "interpret"
  std::vector<std::string>
      features;  // CPU only: LLVM feature strings of the exact host, sorted ("+avx512bf16")
  int sm = 0;    // 90; 0 on the CPU
  int vec_bits =
      128;  // widest useful memory access of one lane group: CUDA 128, CPU vector register width
  int smem_per_block = 48 * 1024;  // usable without opting in
  int smem_per_sm = 100 * 1024;
  int regs_per_sm = 65536;
  int max_threads_per_sm = 2048;

  // Budgets of one kernel; a group that would pass one is split, never refused.
  int max_params = 120;  // pointers of one kernel
  int max_insts = 1024;  // scalar instructions of one kernel
  int max_live = 96;     // values alive at once per element, a proxy for registers
  int64_t max_row_bytes_kept = 32 * 1024;  // a row kept on chip between stages (registers; a row
                                           // buffer on the CPU), counted at compute width

  // Launch-time only.
  int sm_count = 0;
  int num_threads = 1;  // CPU
  double dram_gbps = 0;
  int64_t l2_bytes = 0;
};

// Known names: sm_75 80 86 87 88 89 90 100 103 110 120 121; x86-64-v2, x86-64-v3, x86-64-v4;
// interpret. Anything else is InvalidArgument and lists what is known. ("host" is resolved by
// cpu_backend, which asks LLVM.)
absl::StatusOr<Target> TargetFor(std::string_view arch);
// All CUDA architectures of the table, ascending.
std::vector<std::string> KnownCudaArchs();
std::string TargetToString(const Target& target);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_TARGET_H_
