// GraphRewriter: building a graph anew from another one, node by node. The base of every Graph ->
// Graph pass.
//
// In: a graph `from`, and for each of its nodes, in order, either Copy(id) or Set(old, new) with
// any value of the new graph; a node that nothing needs may get neither. Out: the new graph, with
// the name, symbols, guards and all inputs of `from` in the same order and its outputs mapped.
// Copying hash-conses, so a copied graph has no two equal nodes. Invariant: `from` outlives the
// rewriter and is not changed. No recursion. Must not know: which rewrites there are.
#ifndef JITFUSE_IR_REWRITE_REBUILD_H_
#define JITFUSE_IR_REWRITE_REBUILD_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "ir/graph.h"

namespace jitfuse::internal {

class GraphRewriter {
 public:
  explicit GraphRewriter(const Graph& from);

  const Graph& from() const { return from_; }
  Graph& to() { return to_; }
  const Graph& to() const { return to_; }

  bool IsMapped(Value old) const { return MapSlot(old).node >= 0; }
  Value Map(Value old) const;  // only if IsMapped
  void Set(Value old, Value now);
  // The node again, on mapped operands; all its results are mapped. Inputs and scalars are mapped
  // already and stay as they are.
  absl::Status Copy(NodeId id);
  // The new graph. Every output must be mapped.
  absl::StatusOr<Graph> Finish() &&;

 private:
  const Value& MapSlot(Value old) const {
    return map_[static_cast<size_t>(first_[static_cast<size_t>(old.node)] + old.result)];
  }

  const Graph& from_;
  Graph to_;
  absl::Status status_;         // of adding the inputs
  std::vector<int32_t> first_;  // by old node: where its results begin in map_
  std::vector<Value> map_;
};

// By node: does some output need it? (Inputs that none needs count as dead too.)
std::vector<bool> LiveNodes(const Graph& graph);
// The graph without dead nodes; inputs stay.
absl::StatusOr<Graph> RemoveDeadNodes(const Graph& graph);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_REWRITE_REBUILD_H_
