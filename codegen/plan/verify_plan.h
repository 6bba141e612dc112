// VerifyPlan: everything a finished plan promises, checked.
//
// In: a scheduled plan. Out: OK, or an Internal error that names the plan, the instruction or stage
// and the broken rule: SSA order, levels (row values read no elem values), operand types by the
// scalar table, every operand available in its stage (computed there, kept, or a row value), kept
// values computed before they are read, reductions well-formed, accesses within their axes,
// parameters used, outputs stored once, the schedule consistent with the plan. VerifyAccesses also
// checks static offsets against the tensors of the graph. Linear in the plan. Must not know:
// emitters.
#ifndef JITFUSE_CODEGEN_PLAN_VERIFY_PLAN_H_
#define JITFUSE_CODEGEN_PLAN_VERIFY_PLAN_H_

#include "absl/status/status.h"
#include "codegen/plan/build_plan.h"
#include "codegen/plan/kernel_plan.h"

namespace jitfuse::internal {

absl::Status VerifyPlan(const KernelPlan& plan);
// Offsets of every access lie within what the value's shape and layout span, wherever all sizes are
// constant.
absl::Status VerifyAccesses(const KernelPlan& plan, const Graph& graph, const EdgeLayouts& layouts);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_PLAN_VERIFY_PLAN_H_
