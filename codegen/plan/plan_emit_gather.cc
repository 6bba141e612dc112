// What reads at positions that are values: gathers, and sums of segments.
#include <optional>
#include <utility>

#include "codegen/plan/plan_emit.h"
#include "ir/support/status.h"
#include "ir/view_index.h"

namespace jitfuse::internal {

// The position that index i means: counted from the end if negative, moved into 0..extent-1.
int PlanEmitter::InRange(int index, const SizeExpr& extent) {
  int size = draft_.AddSize(extent), zero = draft_.AddSize(0), last = draft_.AddSize(extent - 1);
  int negative = draft_.AddOp(ScalarOp::kLt, DType::kBool, {index, zero});
  int from_end = draft_.AddOp(ScalarOp::kAdd, DType::kI64, {index, size});
  int at = draft_.AddOp(ScalarOp::kSelect, DType::kI64, {negative, from_end, index});
  at = draft_.AddOp(ScalarOp::kMaximum, DType::kI64, {at, zero});
  return draft_.AddOp(ScalarOp::kMinimum, DType::kI64, {at, last});
}

// Where `*base`, what lies beneath the views of a gathered operand, is read.
std::optional<IndexMap> PlanEmitter::PullGathered(const Node& node, int operand, int map,
                                                  const IndexSpace& space, Value* base) const {
  std::optional<IndexMap> at = PullOperand(graph_, node, operand, maps_.at(map), space);
  *base = node.in[static_cast<size_t>(operand)];
  while (at && inside_.contains(base->node) && graph_.node(*base).kind() == OpKind::kView) {
    at = PullOperand(graph_, graph_.node(*base), 0, *at, space);
    *base = graph_.node(*base).in[0];
  }
  if (!at) return at;
  const Shape& dims = graph_.type(*base).dims;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d].Is(1)) at->coords[d] = IndexExpr{};
  }
  return at;
}

// An access of the gathered operand; the draft's number of it.
absl::StatusOr<int> PlanEmitter::AddAccess(const Node& node, int operand, int map) {
  IndexSpace space = space_;
  space.indirect = GatheredExtent(graph_, node);
  Value base;
  std::optional<IndexMap> at = PullGathered(node, operand, map, space, &base);
  if (!at) return InternalError(Describe(base), ": the chain of views has no affine index map");
  OpKind kind = graph_.node(base).kind();
  if (inside_.contains(base.node) || kind == OpKind::kConstant || kind == OpKind::kScalar ||
      kind == OpKind::kIota)
    return InternalError(Describe(base), " is picked from, but lies in no buffer");
  return draft_.accesses.Add(Access(base, *at, space));
}

absl::StatusOr<std::optional<int>> PlanEmitter::Segment(const Key& key, Ask* ask) {
  const auto& [v, map] = key;
  const Node& node = graph_.node(v);
  if (!draft_.IsFlat()) return InternalError(Describe(v), ": a sum of segments in a reduction");
  std::optional<int> in[3];
  for (size_t k = 0; k < 3; ++k) {
    Value operand = node.in[k == 0 ? 0 : k + 2];
    in[k] = Known(operand, Intern(operand, maps_.at(map)), ask);
  }
  if (!ask->empty()) return std::optional<int>();
  const Dim& count = GatheredExtent(graph_, node);
  if (count.Is(0)) return in[0];
  Inst i = Leaf(Inst::Kind::kSegment, ComputeType(node.types[0].dtype), true);
  JF_ASSIGN_OR_RETURN(i.access, AddAccess(node, 1, map));
  JF_ASSIGN_OR_RETURN(i.order, AddAccess(node, 2, map));
  i.in[0] = *in[0];
  i.in[1] = draft_.AddOp(ScalarOp::kMaximum, DType::kI64, {*in[1], draft_.AddSize(0)});
  i.in[2] = draft_.AddOp(ScalarOp::kMinimum, DType::kI64, {*in[2], draft_.AddSize(count)});
  return std::optional<int>(draft_.AddInst(i, 0));
}

absl::StatusOr<std::optional<int>> PlanEmitter::Gather(const Key& key, Ask* ask) {
  const auto& [v, map] = key;
  const Node& node = graph_.node(v);
  std::optional<int> index_map = OperandOf(node, 1, map);
  IndexSpace space = space_;
  space.indirect = GatheredExtent(graph_, node);
  Value base;
  std::optional<IndexMap> at = PullGathered(node, 0, map, space, &base);
  if (!index_map || !at)
    return InternalError(Describe(v), ": the chain of views has no affine index map");
  OpKind kind = graph_.node(base).kind();
  if (kind == OpKind::kConstant || kind == OpKind::kScalar) return Known(base, map, ask);
  if (space.indirect.Is(0)) {  // nothing is there to be picked
    DType type = ComputeType(node.types[0].dtype);
    return std::optional<int>(draft_.AddConst(type, 0, draft_.IsFlat()));
  }
  std::optional<int> index = Known(node.in[1], *index_map, ask);
  if (!index) return std::optional<int>();
  DType type = graph_.type(node.in[1]).dtype;
  if (type == DType::kU64) {  // the largest ones are no negative positions
    int most = draft_.AddConst(type, static_cast<uint64_t>(INT64_MAX), draft_.IsFlat());
    index = draft_.AddOp(ScalarOp::kMinimum, type, {*index, most});
  }
  int position = draft_.AddConvert(*index, DType::kI64);
  if (kind == OpKind::kIota) {
    return std::optional<int>(Iota(graph_.node(base), *at, InRange(position, space.indirect)));
  }
  // Of an axis that may be empty nothing can be read.
  if (!(space.indirect - 1).IsKnownNonNegative() || !space.indirect.IsConstant())
    at->masks.push_back({IndexExpr{}, 0, space.indirect});
  return std::optional<int>(Load(base, *at, space, position));
}

}  // namespace jitfuse::internal
