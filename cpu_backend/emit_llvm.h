// EmitLlvm: a kernel plan with a CpuSchedule -> LLVM 19 IR text with explicit vectors.
//
// In: a scheduled plan and a CPU target. Out: a KernelSource whose entry has the CPU calling
// convention of kernel_source.h. Pure; needs no LLVM. Every value of the inner loop is a vector
// <lanes x T>; what does not depend on the vectorised axis is a scalar, made before the loop. A
// Flat plan is a loop over rows and a vector loop over columns; a Row plan runs its stages one
// after another for each row, with the last inner axis vectorised. The text calls no library: what
// has no instruction is spelt out (conversions, polynomials, fma where the CPU has none). It has no
// fast-math flags and no `contract`. Nothing is read or written outside a tensor's own elements.
// Texts of several kernels may be concatenated into one module if their entries differ. Must not
// know: LLVM's headers, buffers, threads.
#ifndef JITFUSE_CPU_BACKEND_EMIT_LLVM_H_
#define JITFUSE_CPU_BACKEND_EMIT_LLVM_H_

#include "absl/status/statusor.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/kernel_source.h"
#include "codegen/target.h"

namespace jitfuse::internal {

absl::StatusOr<KernelSource> EmitLlvm(const KernelPlan& plan, const Target& target);

// What the emitter asks of a CPU, from the level's name or the host's feature strings.
struct CpuFeatures {
  bool f16c = false;
  bool fma = false;
  bool avx2 = false;    // masked loads and stores of 32- and 64-bit elements
  bool avx512 = false;  // F, BW, DQ and VL: masked loads and stores of all types
};
CpuFeatures FeaturesOf(const Target& target);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CPU_BACKEND_EMIT_LLVM_H_
