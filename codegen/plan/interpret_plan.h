// InterpretPlan: runs a kernel plan on host memory, one point after the other.
//
// In: a plan (scheduled, or at least with its stages' lists filled), one host pointer per param,
// ScalarValue bits per host scalar, the symbols' values. Out: the buffers of the plan's outputs. It
// means what an emitted kernel must mean: stages in order, kept values stored per row and read
// back, others computed again, reductions in blocked pairwise order. A value that a stage reads but
// neither lists nor keeps is an Internal error, as is an offset beyond offset_bits. Must not know:
// graphs, devices.
#ifndef JITFUSE_CODEGEN_PLAN_INTERPRET_PLAN_H_
#define JITFUSE_CODEGEN_PLAN_INTERPRET_PLAN_H_

#include <cstdint>

#include "absl/status/status.h"
#include "absl/types/span.h"
#include "codegen/plan/kernel_plan.h"

namespace jitfuse::internal {

absl::Status InterpretPlan(const KernelPlan& plan, absl::Span<void* const> buffers,
                           absl::Span<const uint64_t> scalars, absl::Span<const int64_t> symbols);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_PLAN_INTERPRET_PLAN_H_
