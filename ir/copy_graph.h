// CopyGraph: a graph's nodes once more, in their order, with other sources or attributes.
//
// In: the graph, an empty one that has the names and symbols it shall have, `source` (makes input
// or scalar number `position` of the copy; the node is the original's) and `change` (may alter a
// node's attributes). Out: every node and output, inferred anew; the first error ends it. Passes
// that drop or replace nodes have rebuilders of their own (ir/expand.cc, ir/rewrite/rebuild.h).
// Must not know: why a graph is copied.
#ifndef JITFUSE_IR_COPY_GRAPH_H_
#define JITFUSE_IR_COPY_GRAPH_H_

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "ir/graph.h"
#include "ir/support/status.h"

namespace jitfuse::internal {

template <typename MakeSource, typename ChangeAttrs>
absl::Status CopyGraph(const Graph& from, const MakeSource& source, const ChangeAttrs& change,
                       Graph* to) {
  std::vector<NodeId> map(static_cast<size_t>(from.size()), -1);
  auto mapped = [&map](Value v) { return Value{map[static_cast<size_t>(v.node)], v.result}; };
  int position = 0;
  for (NodeId id = 0; id < from.size(); ++id) {
    const Node& node = from.node(id);
    absl::StatusOr<Value> made;
    if (node.kind() == OpKind::kInput || node.kind() == OpKind::kScalar) {
      made = source(node, position++);
    } else if (node.kind() == OpKind::kConstant) {
      made = to->AddConstantBits(node.types[0].dtype, from.ConstantValue(id));
    } else {
      std::vector<Value> in;
      for (Value v : node.in) in.push_back(mapped(v));
      Attrs attrs = node.attrs;
      change(&attrs);
      made = to->Add(node.op, in, std::move(attrs));
    }
    if (!made.ok()) return made.status();
    map[static_cast<size_t>(id)] = made->node;
  }
  for (Value v : from.outputs()) JF_RETURN_IF_ERROR(to->AddOutput(mapped(v)));
  return absl::OkStatus();
}

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_COPY_GRAPH_H_
