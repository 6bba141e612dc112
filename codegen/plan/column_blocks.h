// Column sums: sums over the rows of a plan, beside what it computes of each row.
//
// In: a group with column sums (a normalisation's backward pass: the gradients of weight and bias
// beside that of x). Out: what BuildPlan needs to make two plans of it: one goes through the rows
// in blocks and adds up, for each place of a row, what its block has there; the other joins the
// blocks. How many rows a block has is arithmetic over sizes, so that the sums depend neither on
// the number of threads nor on the device. Must not know: emitters.
#ifndef JITFUSE_CODEGEN_PLAN_COLUMN_BLOCKS_H_
#define JITFUSE_CODEGEN_PLAN_COLUMN_BLOCKS_H_

#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "codegen/plan/plan_emit.h"

namespace jitfuse::internal {

// The group as it is best planned for the target. Where a CPU would walk down columns of elements
// that it stores as well, it goes through rows instead, and the group's sums are column sums.
Group InRowsFor(const Target& target, const Graph& graph, const Group& group);

// Enough blocks for the target's cores, and so few rows in each that rounding errors stay small.
SizeExpr BlockRows(const KernelPlan& plan, const Target& target);

// By node of the graph: whether it is a column sum of the group or made of one within it.
std::vector<bool> MadeOfColumnSums(const Graph& graph, const Group& group);

// The draft of the second plan, and what the first one has to add up for it.
struct JoinDraft {
  PlanDraft draft;
  std::vector<PlanEmitter::ColumnSums> sums;
};
// `outputs`: with their maps, over the axes of `first` (the first plan's draft, which has axes and
// block_rows yet, no instructions).
absl::StatusOr<JoinDraft> DraftJoin(const Graph& graph, const Group& group,
                                    const EdgeLayouts& layouts, const KernelPlan& first,
                                    absl::Span<const std::pair<Value, IndexMap>> outputs);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_PLAN_COLUMN_BLOCKS_H_
