// written_activation: an activation that a user wrote out with smaller ops.
//
// In: a value, as the argument. Out: the node whose value is a known activation of it, if all that
// reads the argument leads there and nowhere else, through a few pointwise ops that are smooth
// (arithmetic, exp, tanh, erf, sigmoid, pow) with constants. Spellings are many: gelu alone is
// written in a dozen ways. So the ops are not compared but what they compute, in long double: at
// 500 points of both signs from 2^-20 to 2^10 (as far as exp is told), and at infinity, the result
// must be the activation's, relatively, within what rounding the formula's constants to the dtype
// makes of it. With erf only gelu comes into question, without it never. Pure. Must not know:
// groups.
#ifndef JITFUSE_CODEGEN_FUSION_WRITTEN_ACTIVATION_H_
#define JITFUSE_CODEGEN_FUSION_WRITTEN_ACTIVATION_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "codegen/fusion/group.h"
#include "codegen/fusion/view_chain.h"
#include "ir/graph.h"

namespace jitfuse::internal {

struct WrittenActivation {
  GemmActivation activation = GemmActivation::kNone;
  std::vector<NodeId> nodes;  // ascending; the last is the result
};
// `users`: ComputeUsers(graph). `wanted`: of gelu, gelu_tanh and silu, those that are looked for.
std::optional<WrittenActivation> FindWrittenActivation(
    const Graph& graph, const Views& views, const std::vector<std::vector<NodeId>>& users,
    Value argument, absl::Span<const GemmActivation> wanted);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_FUSION_WRITTEN_ACTIVATION_H_
