// What a plan is called and what stands above its source: a name from the group's ops, and the
// group as graph text.
//
// Deterministic; comments only, nothing depends on them.
#ifndef JITFUSE_CODEGEN_PLAN_PLAN_HEAD_H_
#define JITFUSE_CODEGEN_PLAN_PLAN_HEAD_H_

#include <string>

#include "codegen/fusion/group.h"
#include "ir/graph.h"
#include "ir/value_names.h"

namespace jitfuse::internal {

std::string PlanName(const Graph& graph, const Group& group,
                     int index);  // "k0_multiply_add_relu", an identifier of at most 60 characters
std::string GroupText(const Graph& graph, const Group& group);
std::string GroupText(const Graph& graph, const Group& group, const ValueNamer& name);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_PLAN_PLAN_HEAD_H_
