// What values are called where graphs are shown to people: the user's own names where a value is
// the user's, numbers elsewhere; one name for a value in every stage of explain().
//
// In: a graph, and the names that its author gave to some of its values (ParseGraph with `names`).
// Graphs themselves hold no names but those of inputs: nothing that is compiled, cached or compared
// depends on what a value is called. FindNames finds the author's values again in a graph that
// passes made of theirs: it is given the same passes' result with each named value as an output
// too, and takes a value as the same where all that it is computed by is equal, node by node. A
// value that fusing or rewriting took apart has no name then. Numbers start above the author's own,
// so that none is taken twice. Must not know: passes, groups.
#ifndef JITFUSE_IR_VALUE_NAMES_H_
#define JITFUSE_IR_VALUE_NAMES_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "ir/graph.h"

namespace jitfuse::internal {

using ValueNames = absl::flat_hash_map<Value, std::string>;  // without the %

// Also the names of the text's results. Of several names for one value the first.
absl::StatusOr<Graph> ParseGraph(std::string_view text, ValueNames* names);

// "%x" of an input, "%mean" of a named value, else "%14", or "%14_1" of one of several results.
class ValueNamer {
 public:
  explicit ValueNamer(const Graph& graph, ValueNames names = {});
  std::string operator()(Value v) const;

 private:
  const Graph* graph_;
  ValueNames names_;
  absl::flat_hash_set<std::string> taken_;
  int64_t first_ = 0;  // the number of node 0
};

// The text of GraphToString, with these names.
std::string GraphToString(const Graph& graph, const ValueNamer& name);
// A value as it stands in a line: its name, or the literal of a constant.
std::string OperandToString(const Graph& graph, Value v, const ValueNamer& name);
// "%mean, %var = moments(%x, axes=[1], keepdims=true) : f32[n,1], f32[n,1]": as in graph text, but
// with every attribute, and constants in place.
std::string NodeToString(const Graph& graph, NodeId id, const ValueNamer& name);

// The graph with one more output for each named value, and their names in the order of these.
std::pair<Graph, std::vector<std::string>> WithNamedOutputs(const Graph& graph,
                                                            const ValueNames& names);
// `marked`: what passes made of WithNamedOutputs; `graph`: what they made of the graph itself.
ValueNames FindNames(const Graph& marked, absl::Span<const std::string> names, const Graph& graph);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_VALUE_NAMES_H_
