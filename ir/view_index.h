// The `index` column of ir/ops.inc: where a view's element comes from.
//
// In: a view node and coordinates of its result's element, as expressions of a loop domain's axes.
// Out: the coordinates of the operand's element, or nullopt where an IndexMap cannot say it (then
// the planner puts a boundary there).
// Must not know: layouts, groups.
#ifndef JITFUSE_IR_VIEW_INDEX_H_
#define JITFUSE_IR_VIEW_INDEX_H_

#include <optional>

#include "ir/graph.h"
#include "ir/index_map.h"

namespace jitfuse::internal {

std::optional<IndexMap> IndexBroadcast(const Graph& graph, const Node& node, const IndexMap& out,
                                       const IndexSpace& space);
std::optional<IndexMap> IndexReshape(const Graph& graph, const Node& node, const IndexMap& out,
                                     const IndexSpace& space);
std::optional<IndexMap> IndexTranspose(const Graph& graph, const Node& node, const IndexMap& out,
                                       const IndexSpace& space);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_VIEW_INDEX_H_
