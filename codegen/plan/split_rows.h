// SplitRows: few long rows as many short ones, and then as few again.
//
// In: a plan before scheduling whose rows are reduced, and of whose results no element is made.
// Out: where its rows are too few for the target's cores and long enough to share, two plans: one
// reduces chunks of rows, a chunk an element of scratch buffers, and stores what is stored per
// element (masked where the last chunk ends beyond the row); the other reduces those in order and
// does what is per row. So the gradient of x + bias behind an activation is one pass: that of x is
// stored by the kernel that sums its columns for the bias. The number of chunks is arithmetic over
// sizes, so that symbolic ones are settled when a call binds; it depends on no device, so that
// results do not either. Else the plan as it was, with Note few_long_rows where its rows cannot be
// split. Must not know: emitters, graphs.
#ifndef JITFUSE_CODEGEN_PLAN_SPLIT_ROWS_H_
#define JITFUSE_CODEGEN_PLAN_SPLIT_ROWS_H_

#include <vector>

#include "codegen/plan/kernel_plan.h"
#include "codegen/target.h"

namespace jitfuse::internal {

// `offset_bits`: as in PlanOptions. The plan that writes outputs of rows is the last one.
std::vector<KernelPlan> SplitRows(KernelPlan plan, const Target& target, int offset_bits);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_PLAN_SPLIT_ROWS_H_
