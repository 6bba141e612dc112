// The `index` column of ir/ops.inc: where an element of a view, a join or a gather comes from.
//
// PullOperand is how everyone asks: the coordinates of one operand's element, as expressions of a
// loop domain's axes, for those of the result's element; nullopt where an IndexMap cannot say it
// (then the planner puts a boundary there). Masks of the result's map are carried on. For operand 0
// of a gather, and src and order of a segment sum, the coordinate that is read from memory is
// kIndirectAxis.
// Must not know: layouts, groups.
#ifndef JITFUSE_IR_VIEW_INDEX_H_
#define JITFUSE_IR_VIEW_INDEX_H_

#include <optional>

#include "ir/graph.h"
#include "ir/index_map.h"

namespace jitfuse::internal {

std::optional<IndexMap> PullOperand(const Graph& graph, const Node& node, int operand,
                                    const IndexMap& out, const IndexSpace& space);
// The masks alone that a join puts on an operand (those that always hold included): the operand
// gives the element where they hold.
std::optional<std::vector<IndexMask>> JoinMasks(const Graph& graph, const Node& node, int operand,
                                                const IndexMap& out, const IndexSpace& space);
// Whether the operand is read at positions that come from memory: operand 0 of a gather, src and
// order of a segment sum.
bool IsGathered(const Node& node, size_t operand);
// How many elements the gathered axis of such operands has.
const Dim& GatheredExtent(const Graph& graph, const Node& node);

std::optional<IndexMap> IndexBroadcast(const Graph& graph, const Node& node, int operand,
                                       const IndexMap& out, const IndexSpace& space);
std::optional<IndexMap> IndexReshape(const Graph& graph, const Node& node, int operand,
                                     const IndexMap& out, const IndexSpace& space);
std::optional<IndexMap> IndexTranspose(const Graph& graph, const Node& node, int operand,
                                       const IndexMap& out, const IndexSpace& space);
std::optional<IndexMap> IndexSlice(const Graph& graph, const Node& node, int operand,
                                   const IndexMap& out, const IndexSpace& space);
std::optional<IndexMap> IndexFlip(const Graph& graph, const Node& node, int operand,
                                  const IndexMap& out, const IndexSpace& space);
std::optional<IndexMap> IndexRoll(const Graph& graph, const Node& node, int operand,
                                  const IndexMap& out, const IndexSpace& space);
std::optional<IndexMap> IndexTile(const Graph& graph, const Node& node, int operand,
                                  const IndexMap& out, const IndexSpace& space);
std::optional<IndexMap> IndexRepeat(const Graph& graph, const Node& node, int operand,
                                    const IndexMap& out, const IndexSpace& space);
std::optional<IndexMap> IndexWindows(const Graph& graph, const Node& node, int operand,
                                     const IndexMap& out, const IndexSpace& space);
std::optional<IndexMap> IndexConcatenate(const Graph& graph, const Node& node, int operand,
                                         const IndexMap& out, const IndexSpace& space);
std::optional<IndexMap> IndexPad(const Graph& graph, const Node& node, int operand,
                                 const IndexMap& out, const IndexSpace& space);
std::optional<IndexMap> IndexTake(const Graph& graph, const Node& node, int operand,
                                  const IndexMap& out, const IndexSpace& space);
std::optional<IndexMap> IndexTakeAlongAxis(const Graph& graph, const Node& node, int operand,
                                           const IndexMap& out, const IndexSpace& space);
std::optional<IndexMap> IndexSegmentAdd(const Graph& graph, const Node& node, int operand,
                                        const IndexMap& out, const IndexSpace& space);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_VIEW_INDEX_H_
