#include "codegen/fusion/cost_model.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "ir/pointwise.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

constexpr int kFreeCost = 16;      // issue slots that hide behind the memory traffic of one element
constexpr int kBijectiveCost = 8;  // recompute instead of read, with one load either way
constexpr int kFewRepeats = 4;
constexpr int kReduceInsts =
    24;  // lift, combine and finalize of the largest row (moments), for both passes
constexpr int kJoinInsts = 3;      // of each operand: two compares and a select
constexpr int kGatherInsts = 4;    // the position, counted from either end and kept in range
constexpr int kSegmentInsts = 12;  // a loop of a gather and an addition
constexpr int64_t kFewRows = 16;
constexpr int64_t kLongRow = 64 * 1024;  // elements

bool IsTranscendental(const ScalarOpDef& def) { return def.cost >= 8 && def.max_ulp_f32 > 0.5; }

OpCost CostOf(const ScalarProgram& program) {
  OpCost cost{0, false};
  for (const ScalarInst& inst : program.insts) {
    if (inst.op == ScalarOp::kArg || inst.op == ScalarOp::kConst) continue;
    const ScalarOpDef& def = GetScalarOp(inst.op);
    cost.insts += def.cost;
    cost.dear |= IsTranscendental(def);
  }
  return cost;
}

}  // namespace

absl::StatusOr<OpCost> CostModel::Compute(const Node& node) const {
  switch (node.kind()) {
    case OpKind::kPointwise:
      break;
    case OpKind::kReduce:
    case OpKind::kScan:
      return OpCost{kReduceInsts, false};
    case OpKind::kJoin:
      return OpCost{kJoinInsts * static_cast<int>(node.in.size()), false};
    case OpKind::kSegment:
      return OpCost{kSegmentInsts, false};
    case OpKind::kGather:
      return OpCost{kGatherInsts, false};
    default:
      return OpCost{};
  }
  std::vector<DType> types;
  for (Value v : node.in) types.push_back(ComputeType(graph_.type(v).dtype));
  JF_ASSIGN_OR_RETURN(ScalarProgram program, PointwiseProgram(node, types, BodyForm::kOfResult));
  OpCost cost = CostOf(program);
  if (cost.insts == 0) cost.insts = 1;  // a cast is a convert of its argument
  return cost;
}

absl::StatusOr<OpCost> CostModel::Of(NodeId id) {
  const Node& node = graph_.node(id);
  if (node.kind() != OpKind::kPointwise) return Compute(node);
  std::string key =
      absl::StrCat(static_cast<int>(node.op), ":", static_cast<int>(node.types[0].dtype));
  for (Value v : node.in) absl::StrAppend(&key, ",", static_cast<int>(graph_.type(v).dtype));
  auto it = known_.find(key);
  if (it == known_.end()) {
    JF_ASSIGN_OR_RETURN(OpCost cost, Compute(node));
    it = known_.emplace(std::move(key), cost).first;
  }
  return it->second;
}

namespace {

// points / value where the quotient hardly depends on the symbols, as (n+1)*9 / (n*5): the same,
// rounded up, for all that are large, whichever is larger.
Repeats NearlyConstant(const SizeExpr& points, const SizeExpr& value) {
  std::vector<SymbolId> symbols;
  points.CollectSymbols(&symbols);
  value.CollectSymbols(&symbols);
  if (symbols.empty()) return {};
  auto count = static_cast<size_t>(*std::max_element(symbols.begin(), symbols.end())) + 1;
  Repeats out;
  for (int trial = 0; trial < 3; ++trial) {
    std::vector<int64_t> sizes(count, 1024);
    for (size_t i = 0; i < count && trial > 0; ++i)
      sizes[i] = int64_t{1000} * static_cast<int64_t>(trial == 1 ? 3 * i + 1 : 3 * (count - i));
    std::optional<int64_t> p = points.CheckedEval(sizes), v = value.CheckedEval(sizes);
    if (!p || !v || *v <= 0) return {};
    Repeats now{std::max<int64_t>(1, (*p + *v - 1) / *v), false, *p < *v};
    if (trial > 0 && now.times != out.times) return {};
    now.partial = now.partial && (trial == 0 || out.partial);
    out = now;
  }
  return out;
}

}  // namespace

Repeats RepeatsOf(const SizeExpr& points, const SizeExpr& value) {
  if (value.Is(1)) return {std::nullopt, true};
  // Up to a constant both are the same product of symbols, or nothing is known.
  int64_t factor = value.KnownDivisor();
  std::optional<SizeExpr> base = factor > 0 ? value.DivExact(factor) : std::nullopt;
  std::optional<SizeExpr> times = base ? points.DivExact(*base) : std::nullopt;
  if (!times || !times->IsConstant()) return NearlyConstant(points, value);
  int64_t n = times->constant();
  return {std::max<int64_t>(1, n / factor + (n % factor != 0 ? 1 : 0)), false, n < factor};
}

bool MayRecompute(const Cone& cone, const Repeats& repeats) {
  if (!cone.computable || cone.cost > kMaxConeCost || cone.loads > kMaxLoads) return false;
  if (repeats.single || (repeats.times && *repeats.times <= kFewRepeats)) return true;
  return cone.dear < 0 && cone.cost <= kFreeCost;
}

bool PrefersRecompute(const Cone& cone, const Repeats& repeats) {
  if (!MayRecompute(cone, repeats)) return false;
  bool bijective = repeats.times == 1 && !repeats.single && !repeats.partial;
  return !bijective || (cone.dear < 0 && cone.loads <= 1 && cone.cost <= kBijectiveCost);
}

std::string DescribeRecompute(const Graph& graph, const Cone& cone, const Repeats& repeats) {
  std::string what = cone.dear >= 0     ? std::string(graph.node(cone.dear).def().name)
                     : !cone.computable ? std::string("what the value is made of")
                                        : absl::StrCat(cone.cost, " instructions");
  return absl::StrCat("fusing recomputes ", what, " ",
                      repeats.times ? absl::StrCat(*repeats.times, " times") : "for each element");
}

bool TailWantsOwnKernel(const SizeExpr& rows, const SizeExpr& row_elements) {
  return rows.IsConstant() && row_elements.IsConstant() && rows.constant() < kFewRows &&
         row_elements.constant() >= kLongRow;
}

}  // namespace jitfuse::internal
