// SplitRows: few long rows as many short ones, and then as few again.
//
// In: a plan before scheduling whose rows are reduced and wanted per row only. Out: where its rows
// are too few for the target's cores and long enough to share, two plans: one reduces chunks of
// rows, a chunk an element of scratch buffers; the other reduces those in order and does the rest.
// The number of chunks is arithmetic over sizes, so that symbolic ones are settled when a call
// binds; it depends on no device, so that results do not either. Else the plan as it was, with Note
// few_long_rows where its rows cannot be split. Must not know: emitters, graphs.
#ifndef JITFUSE_CODEGEN_PLAN_SPLIT_ROWS_H_
#define JITFUSE_CODEGEN_PLAN_SPLIT_ROWS_H_

#include <vector>

#include "codegen/plan/kernel_plan.h"
#include "codegen/target.h"

namespace jitfuse::internal {

// `offset_bits`: as in PlanOptions. The plan that writes the outputs is the last one.
std::vector<KernelPlan> SplitRows(KernelPlan plan, const Target& target, int offset_bits);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_PLAN_SPLIT_ROWS_H_
