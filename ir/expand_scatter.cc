// Expansions of sums by index: the positions are grouped by where they go, then each element of the
// result adds its group.
#include <utility>

#include "ir/builder.h"
#include "ir/expand.h"
#include "ir/op_enum.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

// `indices` are grouped along their axis `grouped`; `rows`: the dims of src. Where indices are a
// vector, all rows of src share its groups.
Expansion AddGroups(Graph* graph, Value x, Value indices, int64_t grouped, Value src,
                    int64_t axis) {
  const Shape dims = graph->type(x).dims, rows = graph->type(src).dims;
  const auto at = static_cast<size_t>(axis);
  JF_ASSIGN_OR_RETURN(Value order,
                      graph->Add(Op::kGroupPositions, {indices},
                                 {{"axis", grouped}, {"size", std::vector<Dim>{dims[at]}}}));
  Value in[3] = {order, {order.node, 1}, {order.node, 2}};
  const bool shared = graph->type(indices).dims.size() == 1;
  for (size_t k = 0; k < 3; ++k) {
    const Shape& full = k == 0 ? rows : dims;
    if (shared) {
      Shape along(full.size(), Dim(1));
      along[at] = full[at];
      JF_ASSIGN_OR_RETURN(in[k], ReshapeTo(graph, in[k], along));
    }
    JF_ASSIGN_OR_RETURN(in[k], BroadcastTo(graph, in[k], full));
  }
  JF_ASSIGN_OR_RETURN(Value sum,
                      graph->Add(Op::kSegmentAdd, {x, src, in[0], in[1], in[2]}, {{"axis", axis}}));
  return absl::InlinedVector<Value, 1>{sum};
}

}  // namespace

Expansion ExpandIndexAdd(Graph* graph, const Node& node) {
  const auto axis = node.Get<int64_t>("axis");
  const Dim count = NumElements(graph->type(node.in[1]).dims);
  Shape rows = graph->type(node.in[0]).dims;
  rows[static_cast<size_t>(axis)] = count;
  JF_ASSIGN_OR_RETURN(Value indices, ReshapeTo(graph, node.in[1], {count}));
  JF_ASSIGN_OR_RETURN(Value src, ReshapeTo(graph, node.in[2], rows));
  return AddGroups(graph, node.in[0], indices, 0, src, axis);
}

Expansion ExpandScatterAdd(Graph* graph, const Node& node) {
  const auto axis = node.Get<int64_t>("axis");
  return AddGroups(graph, node.in[0], node.in[1], axis, node.in[2], axis);
}

}  // namespace jitfuse::internal
