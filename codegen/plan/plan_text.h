// PlanToString: a kernel plan written down, for explain(), dumps and golden tests.
//
// One line per parameter, axis, instruction, reduction and store, in the order in which they
// happen; deterministic. Symbols print with the given names.
#ifndef JITFUSE_CODEGEN_PLAN_PLAN_TEXT_H_
#define JITFUSE_CODEGEN_PLAN_PLAN_TEXT_H_

#include <string>

#include "codegen/plan/kernel_plan.h"

namespace jitfuse::internal {

std::string PlanToString(const KernelPlan& plan);
std::string InstToString(const KernelPlan& plan, int id);  // "%4 f32 = fma %1, %2, %3"

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_PLAN_PLAN_TEXT_H_
