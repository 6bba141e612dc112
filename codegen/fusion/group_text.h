// A fusion plan written down with given names of values (codegen/fusion/group.h writes numbers).
//
// One line per op, as codegen/plan/plan_head.h puts them above a kernel. Deterministic.
#ifndef JITFUSE_CODEGEN_FUSION_GROUP_TEXT_H_
#define JITFUSE_CODEGEN_FUSION_GROUP_TEXT_H_

#include <string>

#include "codegen/fusion/group.h"
#include "ir/value_names.h"

namespace jitfuse::internal {

std::string FusionPlanToString(const Graph& graph, const FusionPlan& plan, const ValueNamer& name);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_FUSION_GROUP_TEXT_H_
