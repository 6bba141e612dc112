#include "codegen/plan/column_blocks.h"

#include <algorithm>

#include "codegen/plan/schedule.h"
#include "ir/op_enum.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

bool Reduces(const Group& group, size_t axis) {
  return std::find(group.reduce_axes.begin(), group.reduce_axes.end(), static_cast<int>(axis)) !=
         group.reduce_axes.end();
}

bool UsesAny(const IndexMap& map, const std::vector<int>& axes) {
  for (const IndexExpr& e : map.coords) {
    for (const IndexTerm& t : e.terms) {
      for (const auto& [axis, coef] : t.linear.coefs) {
        if (std::find(axes.begin(), axes.end(), axis) != axes.end()) return true;
      }
    }
  }
  return false;
}

// The group's reductions, if they are sums and it stores elements too, of which none is made of
// them.
std::vector<NodeId> SumsBesideElements(const Graph& graph, Group group) {
  for (NodeId id : group.nodes) {
    const Node& node = graph.node(id);
    if (node.kind() == OpKind::kScan || (node.kind() == OpKind::kReduce && node.op != Op::kSum))
      return {};
    if (node.kind() == OpKind::kReduce) group.column_sums.push_back(id);
  }
  const std::vector<bool> made = MadeOfColumnSums(graph, group);
  bool elements = false;
  for (size_t i = 0; i < group.outputs.size(); ++i) {
    const bool of_elements = UsesAny(group.output_maps[i], group.reduce_axes);
    if (of_elements == made[static_cast<size_t>(group.outputs[i].node)]) return {};
    elements = elements || of_elements;
  }
  for (NodeId id : group.column_sums) {
    if (made[static_cast<size_t>(graph.node(id).in[0].node)]) return {};
  }
  return elements ? group.column_sums : std::vector<NodeId>();
}

}  // namespace

Group InRowsFor(const Target& target, const Graph& graph, const Group& group) {
  constexpr int64_t kShortRow = 64;
  if (target.kind != TargetKind::kCpu || group.kind != GroupKind::kLoop ||
      group.reduce_axes.empty() || !group.column_sums.empty() ||
      group.output_maps.size() != group.outputs.size())
    return group;
  Group out = group;
  out.column_sums = SumsBesideElements(graph, group);
  if (out.column_sums.empty()) return group;
  out.reduce_axes.clear();
  SizeExpr row(1);
  bool inner = false;  // the innermost axis is one of a row
  for (size_t axis = 0; axis < group.domain.size(); ++axis) {
    if (!group.domain[axis].Is(1)) inner = !Reduces(group, axis);
    if (Reduces(group, axis)) continue;
    out.reduce_axes.push_back(static_cast<int>(axis));
    row = row * group.domain[axis];
  }
  const bool is_short = row.IsConstant() && row.constant() < kShortRow;
  return inner && !is_short ? out : group;
}

SizeExpr BlockRows(const KernelPlan& plan, const Target& target) {
  // Fewer rows are more blocks; each writes a row of f32s for each sum, and has it read again.
  constexpr int64_t kFewestOnCpu = 8, kFewestOnGpu = 4, kMostRows = 512;
  constexpr int64_t kCpuBlocks = 64, kGpuBlocks = 256;  // the latter of 512 threads each
  constexpr int64_t kGpuElements = int64_t{1} << 20;    // of the rows that are worked on at once
  constexpr int64_t kShortRow = 256;
  const bool gpu = target.kind == TargetKind::kCuda;
  const int64_t blocks =
      gpu ? std::max(kGpuBlocks, kGpuElements / std::max(kShortRow, InnerPoints(plan)))
          : kCpuBlocks;
  const SizeExpr fewest(gpu ? kFewestOnGpu : kFewestOnCpu);
  return Min(Max(CeilDiv(NumElements(plan.parallel), blocks), fewest), kMostRows);
}

std::vector<bool> MadeOfColumnSums(const Graph& graph, const Group& group) {
  std::vector<bool> made(static_cast<size_t>(graph.size()), false);
  for (NodeId id : group.column_sums) made[static_cast<size_t>(id)] = true;
  for (NodeId id : group.nodes) {
    for (Value in : graph.node(id).in) {
      if (made[static_cast<size_t>(in.node)]) made[static_cast<size_t>(id)] = true;
    }
  }
  return made;
}

namespace {

void MoveAxes(int by, IndexMap* map) {
  for (IndexExpr& e : map->coords) {
    for (IndexTerm& t : e.terms) {
      for (auto& [axis, coef] : t.linear.coefs) axis += by;
    }
  }
}

}  // namespace

absl::StatusOr<JoinDraft> DraftJoin(const Graph& graph, const Group& group,
                                    const EdgeLayouts& layouts, const KernelPlan& first,
                                    absl::Span<const std::pair<Value, IndexMap>> outputs) {
  JoinDraft out;
  out.draft.plan.parallel = first.inner;
  out.draft.plan.inner = {first.Blocks()};
  PlanEmitter emitter(graph, group, layouts, /*two_pass=*/false, &out.draft);
  emitter.JoinColumnSums(group.column_sums);
  for (auto [v, map] : outputs) {
    MoveAxes(-first.num_parallel(), &map);
    JF_RETURN_IF_ERROR(emitter.Store(v, emitter.Intern(v, std::move(map))));
  }
  out.sums = emitter.column_sums();
  for (PlanEmitter::ColumnSums& sum : out.sums) MoveAxes(first.num_parallel(), &sum.map);
  return out;
}

}  // namespace jitfuse::internal
