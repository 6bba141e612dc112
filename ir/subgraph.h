// Subgraph: the part of a graph that computes some values from others, as a graph of its own.
//
// In: a graph, the values that become inputs (a source keeps its kind, any other value becomes an
// input of its type) with their names, and the results. Out: a graph with the names, symbols and
// guards of the first, its inputs before its ops, and no node that no result needs. A name that is
// taken gets "_" behind it. Reaching a source that is none of the inputs is an error.
// Must not know: why a graph is cut.
#ifndef JITFUSE_IR_SUBGRAPH_H_
#define JITFUSE_IR_SUBGRAPH_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph.h"

namespace jitfuse::internal {

struct SubgraphInput {
  Value value;
  std::string name;
};
absl::StatusOr<Graph> Subgraph(const Graph& from, absl::Span<const SubgraphInput> inputs,
                               absl::Span<const Value> outputs);

// Puts the nodes of `from` into `to`; `inputs` are values of `to`, of the types of from's inputs.
// Gives from's outputs. Symbols go by name.
absl::StatusOr<std::vector<Value>> Inline(const Graph& from, absl::Span<const Value> inputs,
                                          Graph* to);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_SUBGRAPH_H_
