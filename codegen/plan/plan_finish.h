// The passes that turn a draft into a plan: fma, dead code, axes, index arithmetic, places of row
// values, offset width.
//
// In: a PlanDraft with all stores and reductions. Out: the KernelPlan, complete but for elem_insts,
// keep and schedule. Each pass is one function here; the order is that of FinishDraft. Nothing here
// changes what is computed, except that FormFma rounds once where two roundings were. Must not
// know: graphs.
#ifndef JITFUSE_CODEGEN_PLAN_PLAN_FINISH_H_
#define JITFUSE_CODEGEN_PLAN_PLAN_FINISH_H_

#include <vector>

#include "codegen/plan/build_plan.h"
#include "codegen/plan/plan_draft.h"

namespace jitfuse::internal {

// By instruction: how many instructions, reductions and stores read it, counting only readers that
// are needed themselves; 0: dead.
std::vector<int> CountUses(const KernelPlan& plan);
// add(mul(a, b), c) becomes fma(a, b, c) in float types where the product has no other use and c is
// no product.
void FormFma(KernelPlan* plan);
// Parallel axes in the order of the output's strides; neighbours that every access and index walks
// as one are merged; `flatten`: a flat plan whose outputs are dense becomes one axis even where
// inputs then need div and mod (vectors no longer break at row ends).
void SimplifyAxes(PlanDraft* draft, bool flatten);
// A copy without dead instructions and with index expressions spelled out in kIndex and i64
// arithmetic.
PlanDraft Rebuild(const PlanDraft& draft);
// Every store in the last stage: an output that may share an input's buffer is written when nothing
// is read any more.
void DelayStores(KernelPlan* plan);
// row_insts_before and row_insts_after of each stage: as late as their first reader allows, results
// of a stage right after it.
void PlaceRowInsts(PlanDraft* draft);
int OffsetBits(const KernelPlan& plan, int if_symbolic);

KernelPlan FinishDraft(PlanDraft draft, const Target& target, const PlanOptions& options);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_PLAN_PLAN_FINISH_H_
