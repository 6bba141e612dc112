// Column sums: groups that sum over rows become part of groups that reduce those rows.
//
// In: groups as Sweep has written them, not yet in order. A normalisation's backward pass is two of
// them: one reduces rows (the gradient of x), one sums over rows (those of weight and bias), and
// both read x and g. Out: the second one's nodes moved into the first, its sums listed in
// Group::column_sums, where the domains are the same, the reduced axes are the others, no third
// group stands between them, and the row with its sums fits a target's registers or a core's
// caches. A joined group is one that VerifyFusionPlan accepts. Must not know: plans.
#ifndef JITFUSE_CODEGEN_FUSION_COLUMN_SUMS_H_
#define JITFUSE_CODEGEN_FUSION_COLUMN_SUMS_H_

#include <vector>

#include "codegen/fusion/group.h"
#include "codegen/target.h"
#include "ir/graph.h"

namespace jitfuse::internal {

// `insts`: by group, scalar instructions. At most `limit` joins. Returns, by group, whether it is
// gone (part of another one).
std::vector<bool> JoinColumnSums(const Graph& graph, const Target& target, int64_t limit,
                                 std::vector<int> insts, std::vector<Group>* groups);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_FUSION_COLUMN_SUMS_H_
