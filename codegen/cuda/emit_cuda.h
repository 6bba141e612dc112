// EmitCuda: a kernel plan as CUDA C++.
//
// In: a plan with a CudaSchedule, a target. Out: header-free source for NVRTC (the parts of our own
// prelude that it uses, then one extern "C" kernel), its size arguments, launch shape and options.
// One statement per value, named after its instruction (v12 is instruction 12), so that a plan's
// text and its source can be read side by side. Pure and deterministic. The idioms: Flat (one
// thread, some vectors of the parallel points), Row (threads share the inner points of a parallel
// point; each reduction is a loop per thread, shuffles, one shared slot per warp and one barrier),
// Column (the same for vectors of parallel points that lie side by side, threads meeting in shared
// memory) and Tile (squares of parallel points, transposed through shared memory). A plan that the
// emitter cannot take (no CUDA schedule, sizes that do not fit together) is an InternalError: plans
// are made by us. Must not know: NVRTC, the driver, graphs.
#ifndef JITFUSE_CODEGEN_CUDA_EMIT_CUDA_H_
#define JITFUSE_CODEGEN_CUDA_EMIT_CUDA_H_

#include <string>

#include <string_view>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/plan/kernel_source.h"
#include "codegen/target.h"

namespace jitfuse::internal {

// An option of sources that are as good without ptxas's last passes. NVRTC knows it since 12.9.
inline constexpr std::string_view kQuickOption = "--Ofast-compile=min";

absl::StatusOr<KernelSource> EmitCuda(const KernelPlan& plan, const Target& target);

// Many kernels in one source (their plans' names must differ): one prelude, one compilation. For
// sweeps over many plans; text, arch and the options that all of them have are set, the rest is per
// kernel and not here.
absl::StatusOr<KernelSource> EmitCudaBatch(absl::Span<const KernelPlan> plans,
                                           const Target& target);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_CUDA_EMIT_CUDA_H_
