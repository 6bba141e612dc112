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

// The nodes alone, into a graph that may have others. -> the copies of from's outputs.
template <typename MakeSource, typename ChangeAttrs>
absl::StatusOr<std::vector<Value>> CopyNodes(const Graph& from, const MakeSource& source,
                                             const ChangeAttrs& change, Graph* to) {
  std::vector<Value> map(static_cast<size_t>(from.size()));
  auto mapped = [&map](Value v) {
    const Value base = map[static_cast<size_t>(v.node)];
    return Value{base.node, base.result + v.result};  // of sources result 0 alone
  };
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
    map[static_cast<size_t>(id)] = *made;
  }
  std::vector<Value> outputs;
  for (Value v : from.outputs()) outputs.push_back(mapped(v));
  return outputs;
}

template <typename MakeSource, typename ChangeAttrs>
absl::Status CopyGraph(const Graph& from, const MakeSource& source, const ChangeAttrs& change,
                       Graph* to) {
  JF_ASSIGN_OR_RETURN(std::vector<Value> outputs, CopyNodes(from, source, change, to));
  for (Value v : outputs) JF_RETURN_IF_ERROR(to->AddOutput(v));
  return absl::OkStatus();
}

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_COPY_GRAPH_H_
