// Windows: vectors that begin where memory is aligned though rows, or what vectors are counted
// from, begin anywhere.
//
// In: plans and their accesses (schedules are not looked at). Out: which accesses can be read and
// written so. In a window, the vectors of a row begin at multiples of `vec` elements of the
// buffer: the first may begin before the row and the last end behind it. Shared by the schedule
// and the emitter. Must not know: targets.
#ifndef JITFUSE_CODEGEN_PLAN_WINDOW_H_
#define JITFUSE_CODEGEN_PLAN_WINDOW_H_

#include "codegen/plan/kernel_plan.h"

namespace jitfuse::internal {

// Of a plan of rows: the first elem access that walks the inner points one element after another,
// from a buffer that is aligned to `vec` of them (or to 16 bytes); windows follow its rows. Null:
// there is none.
const AccessMap* WindowOf(const KernelPlan& plan, int vec);

// Whether vectors of the window of `leader` lie aligned in `a` as well.
bool FitsWindow(const KernelPlan& plan, const AccessMap& a, const AccessMap& leader, int vec);

// Whether an access that does not fit walks the row as densely, so that a vector of the window lies
// in neighbouring pieces of 8 bytes that are aligned in `a`.
bool CrossesWindow(const KernelPlan& plan, const AccessMap& a, const AccessMap& leader, int vec);

// Whether a flat plan's linear index is, up to a constant, the offset itself, and vectors that
// begin at its multiples of `vec` lie aligned.
bool IsDenseAccess(const KernelPlan& plan, const AccessMap& a, int vec);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_PLAN_WINDOW_H_
