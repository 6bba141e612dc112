// written_activation: an activation that a user wrote out with smaller ops.
//
// In: a value, as the argument. Out: the node whose value is a known activation of it, if all that
// reads the argument leads there and nowhere else, through a few pointwise ops that are smooth
// (arithmetic, exp, tanh, erf, sigmoid, pow) with constants. Spellings are many: gelu alone is
// written in a dozen ways. So the ops are not compared but what they compute: at 400 points and at
// infinity, in long double, the result must be the activation's within a few roundings of the
// dtype. With erf only gelu comes into question, without it never. Pure. Must not know: groups.
#ifndef JITFUSE_CODEGEN_FUSION_WRITTEN_ACTIVATION_H_
#define JITFUSE_CODEGEN_FUSION_WRITTEN_ACTIVATION_H_

#include <optional>
#include <vector>

#include "codegen/fusion/group.h"
#include "codegen/fusion/view_chain.h"
#include "ir/graph.h"

namespace jitfuse::internal {

struct WrittenActivation {
  GemmActivation activation = GemmActivation::kNone;
  std::vector<NodeId> nodes;  // ascending; the last is the result
};
// `users`: ComputeUsers(graph).
std::optional<WrittenActivation> FindWrittenActivation(
    const Graph& graph, const Views& views, const std::vector<std::vector<NodeId>>& users,
    Value argument);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_FUSION_WRITTEN_ACTIVATION_H_
