// Schedules: how a plan is laid onto a machine, by the rules measured in docs (flat, row in
// registers, row re-read, columns, tiles).
//
// In: a plan without a schedule and the facts of a target that follow from its arch. Out: the
// plan's schedule, what is kept between stages, and what each stage lists. Pure. Never refuses:
// where vectors do not fit, accesses are scalar (Note scalar_access, transposed_access); where a
// row does not, it is read again (row_reread). ApplySchedule may be called again on a scheduled
// plan, for another target. Must not know: emitters.
#ifndef JITFUSE_CODEGEN_PLAN_SCHEDULE_H_
#define JITFUSE_CODEGEN_PLAN_SCHEDULE_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "codegen/plan/kernel_plan.h"
#include "codegen/target.h"

namespace jitfuse::internal {

// Picks for a plan whose `keep` and stages are final. `notes`: reasons for slow choices are
// appended, if given.
CudaSchedule PickCudaSchedule(const KernelPlan& plan, const Target& target,
                              std::vector<Note>* notes = nullptr);
CpuSchedule PickCpuSchedule(const KernelPlan& plan, const Target& target,
                            std::vector<Note>* notes = nullptr);

// Whether a row of the plan (its inner points) can be held on chip with `values` values of `bytes`
// bytes alive per point.
bool RowFits(const KernelPlan& plan, const Target& target, int values, int bytes);

// Whether rows are so long that scanning each in order is worth a note (ScanInOrder).
inline constexpr int64_t kLongScan = 64 * 1024;
bool HasLongScan(const KernelPlan& plan);
// The number of inner points if constant, else its bound, else 0.
int64_t InnerPoints(const KernelPlan& plan);

// Fills elem_insts of each stage, keep and schedule (none for the interpreter, which needs none).
absl::Status ApplySchedule(KernelPlan* plan, const Target& target);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_PLAN_SCHEDULE_H_
