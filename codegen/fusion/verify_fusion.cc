// VerifyFusionPlan: see codegen/fusion/partition.h. Knows nothing of how plans are made.
#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "codegen/fusion/gemm_match.h"
#include "codegen/fusion/partition.h"
#include "codegen/fusion/relation.h"
#include "codegen/fusion/view_chain.h"
#include "ir/op_enum.h"
#include "ir/support/status.h"
#include "ir/view_index.h"

namespace jitfuse::internal {
namespace {

bool IsGiven(const Node& node) {
  return node.kind() == OpKind::kInput || node.kind() == OpKind::kScalar;
}

// Pulls the outputs of one group through index maps.
class Puller {
 public:
  Puller(const Graph& graph, const Group& group)
      : graph_(graph),
        group_(group),
        inside_(group.nodes.begin(), group.nodes.end()),
        inputs_(group.inputs.begin(), group.inputs.end()) {
    for (size_t a = 0; a < group.domain.size(); ++a) {
      bool reduced = std::find(group.reduce_axes.begin(), group.reduce_axes.end(),
                               static_cast<int>(a)) != group.reduce_axes.end();
      (reduced ? row_ : parallel_).push_back(group.domain[a]);
      if (!reduced) other_axes_.push_back(static_cast<int>(a));
    }
  }

  absl::Status Check() {
    for (int a : group_.reduce_axes) {
      if (a < 0 || a >= static_cast<int>(group_.domain.size()))
        return InternalError("reduce axis ", a, " is no axis of the domain");
    }
    if (!std::is_sorted(group_.reduce_axes.begin(), group_.reduce_axes.end()))
      return InternalError("reduce axes are not ascending");
    if (group_.output_maps.size() != group_.outputs.size())
      return InternalError("there must be one output map for each output");
    JF_RETURN_IF_ERROR(CheckColumnSums());
    for (size_t i = 0; i < group_.outputs.size(); ++i) {
      const bool of_columns = of_columns_.contains(group_.outputs[i].node);
      JF_RETURN_IF_ERROR(of_columns ? CheckColumn(group_.outputs[i], group_.output_maps[i])
                                    : CheckStorable(group_.outputs[i], group_.output_maps[i]));
      todo_.push_back({group_.outputs[i], group_.output_maps[i]});
    }
    while (!todo_.empty()) {
      auto [value, map] = std::move(todo_.back());
      todo_.pop_back();
      JF_RETURN_IF_ERROR(Step(value, map));
    }
    return CheckAllUsed();
  }

 private:
  std::string Describe(Value v) const {
    return absl::StrCat("%", v.node, " ", ToAbsl(graph_.node(v).def().name), " ",
                        graph_.TypeString(v));
  }

  absl::Status CheckStorable(Value v, const IndexMap& map) const {
    const Shape& shape = graph_.type(v).dims;
    if (map.coords.size() != shape.size())
      return InternalError(Describe(v), ": output map of the wrong rank");
    bool row = !group_.reduce_axes.empty() && !UsesAxes(map, group_.reduce_axes);
    if (!SameNumElements(graph_, shape, row ? parallel_ : group_.domain)) {
      return InternalError(Describe(v), ": stored from ",
                           ShapeToString(row ? parallel_ : group_.domain, graph_.symbols().names),
                           " points");
    }
    if (row || NumElements(shape).Is(0)) return absl::OkStatus();
    // One to one: what the map reads, read back, is the domain again (the map may be a permutation
    // of a reshape).
    std::vector<bool> used(group_.domain.size());
    for (const IndexExpr& e : map.coords) {
      for (const IndexTerm& t : e.terms) {
        for (const auto& [axis, factor] : t.linear.coefs) used[static_cast<size_t>(axis)] = true;
      }
    }
    for (size_t a = 0; a < used.size(); ++a) {
      if (!used[a] && !group_.domain[a].Is(1))
        return InternalError(Describe(v), ": the output map does not depend on axis ", a);
    }
    return absl::OkStatus();
  }

  absl::Status Step(Value v, const IndexMap& map) {
    const Node& node = graph_.node(v);
    if (node.kind() == OpKind::kConstant || node.kind() == OpKind::kIota || inputs_.contains(v)) {
      seen_.insert(v.node);
      return absl::OkStatus();
    }
    if (!inside_.contains(v.node))
      return InternalError(Describe(v), " is neither a node nor an input of the group");
    std::vector<IndexMap>& maps = maps_[v];
    if (std::find(maps.begin(), maps.end(), map) != maps.end()) return absl::OkStatus();
    maps.push_back(map);
    seen_.insert(v.node);
    switch (node.kind()) {
      case OpKind::kPointwise:
        for (Value in : node.in) todo_.push_back({in, map});
        return absl::OkStatus();
      case OpKind::kView:
      case OpKind::kJoin:
        return Pull(v, node, map);
      case OpKind::kGather:
        return Gather(v, node, map);
      case OpKind::kSegment:
        return Segment(v, node, map);
      case OpKind::kReduce:
        return Reduce(v, map);
      case OpKind::kScan:
        return Scan(v, node, map);
      default:
        return InternalError(Describe(v), " in a loop group");
    }
  }

  absl::Status Pull(Value v, const Node& node, const IndexMap& map) {
    for (size_t k = 0; k < node.in.size(); ++k) {
      std::optional<IndexMap> in =
          PullStep(graph_, v.node, static_cast<int>(k), map, IndexSpace{group_.domain});
      if (!in) return InternalError(Describe(v), ": the chain of views has no affine index map");
      todo_.push_back({node.in[k], *std::move(in)});
    }
    return absl::OkStatus();
  }

  // What is read at positions from memory lies beneath views and is no value of the group.
  absl::Status CheckGathered(Value v, const Node& node, size_t operand, const IndexMap& map) {
    IndexSpace space = SpaceOf(graph_, v.node, static_cast<int>(operand), group_.domain);
    std::optional<IndexMap> at = PullStep(graph_, v.node, static_cast<int>(operand), map, space);
    Value base = node.in[operand];
    while (at && inside_.contains(base.node) && !inputs_.contains(base) &&
           graph_.node(base).kind() == OpKind::kView) {
      seen_.insert(base.node);
      at = PullStep(graph_, base.node, 0, *at, space);
      base = graph_.node(base).in[0];
    }
    if (!at) return InternalError(Describe(v), ": the chain of views has no affine index map");
    OpKind kind = graph_.node(base).kind();
    bool number = kind == OpKind::kConstant || kind == OpKind::kIota;
    if (!inputs_.contains(base) && (!number || node.kind() == OpKind::kSegment))
      return InternalError(Describe(v), " picks from ", Describe(base), ", which is not in memory");
    seen_.insert(base.node);
    return absl::OkStatus();
  }

  // The indices are pulled like any operand.
  absl::Status Gather(Value v, const Node& node, const IndexMap& map) {
    JF_RETURN_IF_ERROR(CheckGathered(v, node, 0, map));
    std::optional<IndexMap> index = PullStep(graph_, v.node, 1, map, IndexSpace{group_.domain});
    if (!index) return InternalError(Describe(v), ": the chain of views has no affine index map");
    todo_.push_back({node.in[1], *std::move(index)});
    return absl::OkStatus();
  }

  absl::Status Segment(Value v, const Node& node, const IndexMap& map) {
    if (!group_.reduce_axes.empty()) return InternalError(Describe(v), " in a group that reduces");
    for (size_t k = 0; k < node.in.size(); ++k) {
      if (IsGathered(node, k)) {
        JF_RETURN_IF_ERROR(CheckGathered(v, node, k, map));
      } else {
        todo_.push_back({node.in[k], map});
      }
    }
    return absl::OkStatus();
  }

  bool IsColumnSum(NodeId id) const {
    return std::find(group_.column_sums.begin(), group_.column_sums.end(), id) !=
           group_.column_sums.end();
  }

  // Sums over all rows, and what is made of them: no part of what a row is made of.
  absl::Status CheckColumnSums() {
    for (NodeId id : group_.column_sums) {
      if (graph_.node(id).op != Op::kSum || !inside_.contains(id) || inputs_.contains({id, 0}))
        return InternalError("%", id, " is no sum of the group");
    }
    for (NodeId id : group_.nodes) {
      const Node& node = graph_.node(id);
      const bool reads = std::any_of(node.in.begin(), node.in.end(), [&](Value in) {
        return of_columns_.contains(in.node) && !inputs_.contains(in);
      });
      if (reads && (node.kind() == OpKind::kReduce || node.kind() == OpKind::kScan))
        return InternalError(Describe({id, 0}), " reduces what is made of column sums");
      if (reads || IsColumnSum(id)) of_columns_.insert(id);
    }
    return absl::OkStatus();
  }

  absl::Status CheckColumn(Value v, const IndexMap& map) const {
    if (map.coords.size() != graph_.type(v).dims.size() || UsesAxes(map, other_axes_) ||
        !SameNumElements(graph_, graph_.type(v).dims, row_))
      return InternalError(Describe(v), ": what is made of column sums has an element a place");
    return absl::OkStatus();
  }

  absl::Status Reduce(Value v, const IndexMap& map) {
    if (IsColumnSum(v.node)) {
      JF_RETURN_IF_ERROR(CheckColumn(v, map));
      return Summed(v, map, other_axes_);
    }
    if (group_.reduce_axes.empty())
      return InternalError(Describe(v), " in a group that reduces nothing");
    if (UsesAxes(map, group_.reduce_axes))
      return InternalError(Describe(v), ": result read along reduced axes");
    auto [first, is_new] = reduce_map_.try_emplace(v.node, map);
    if (!is_new && !(first->second == map))
      return InternalError(Describe(v), ": result read at two maps");
    if (!SameNumElements(graph_, graph_.type(v).dims, parallel_))
      return InternalError(Describe(v), ": rows are not the parallel axes");
    return Summed(v, map, group_.reduce_axes);
  }

  // The operand, at `map` in the dims that are not reduced, along these axes in the others.
  absl::Status Summed(Value v, const IndexMap& map, const std::vector<int>& along) {
    const Node& node = graph_.node(v);
    const Shape& shape = graph_.type(node.in[0]).dims;
    const auto& axes = node.Get<std::vector<int64_t>>("axes");
    std::vector<int> reduced = WithoutUnits(along, group_.domain);
    bool keepdims = node.types[0].dims.size() == shape.size();
    IndexMap element;
    size_t kept = 0, next = 0;
    for (size_t d = 0; d < shape.size(); ++d) {
      bool is_reduced = std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
      if (!is_reduced || keepdims) element.coords.push_back(map.coords[kept++]);
      if (!is_reduced) continue;
      if (!keepdims) element.coords.emplace_back();
      element.coords[d] = IndexExpr{};
      if (shape[d].Is(1)) continue;
      if (next == reduced.size())
        return InternalError(Describe(v), ": reduces more axes than the group");
      const Dim& extent = group_.domain[static_cast<size_t>(reduced[next])];
      if (!graph_.SameDim(shape[d], extent))
        return InternalError(Describe(v), ": reduced extent ", shape[d].ToString(), " against ",
                             extent.ToString());
      element.coords[d] = AxisExpr(reduced[next++]);
    }
    if (next != reduced.size())
      return InternalError(Describe(v), ": reduces fewer axes than the group");
    todo_.push_back({node.in[0], std::move(element)});
    return absl::OkStatus();
  }

  absl::Status Scan(Value v, const Node& node, const IndexMap& map) {
    const std::vector<int> inner = WithoutUnits(group_.reduce_axes, group_.domain);
    const auto axis = static_cast<size_t>(node.Get<int64_t>("axis"));
    IndexMap others = map;
    others.coords[axis] = IndexExpr{};
    if (inner.size() != 1 || !(map.coords[axis] == AxisExpr(inner[0])) || UsesAxes(others, inner))
      return InternalError(Describe(v), ": the group does not walk along the scanned axis");
    const Dim& extent = group_.domain[static_cast<size_t>(inner[0])];
    if (!graph_.SameDim(graph_.type(v).dims[axis], extent))
      return InternalError(Describe(v), ": scanned extent against ", extent.ToString());
    todo_.push_back({node.in[0], map});
    return absl::OkStatus();
  }

  absl::Status CheckAllUsed() const {
    for (NodeId id : group_.nodes) {
      if (!seen_.contains(id))
        return InternalError("%", id, " ", ToAbsl(graph_.node(id).def().name),
                             " is in the group but not needed");
    }
    for (Value v : group_.inputs) {
      if (!seen_.contains(v.node)) return InternalError(Describe(v), " is an input but not read");
    }
    return absl::OkStatus();
  }

  const Graph& graph_;
  const Group& group_;
  absl::flat_hash_set<NodeId> inside_, seen_;
  absl::flat_hash_set<NodeId> of_columns_;  // column sums and what is made of them
  absl::flat_hash_set<Value> inputs_;
  Shape parallel_, row_;  // extents of the domain's axes that are not reduced, and that are
  std::vector<int> other_axes_;
  std::vector<std::pair<Value, IndexMap>> todo_;
  absl::flat_hash_map<Value, std::vector<IndexMap>> maps_;
  absl::flat_hash_map<NodeId, IndexMap> reduce_map_;
};

// What the call reads is of its type, where the product has f32 casts of that.
absl::Status CheckOperandTypes(const Graph& graph, const Node& product, const Group& group) {
  for (size_t i = 0; i < 2; ++i) {
    const bool cast = CastFrom16Bits(graph, product.in[i]) == group.gemm->dtype;
    if (graph.type(group.inputs[i]).dtype != group.gemm->dtype || cast < group.gemm->f32_result)
      return InternalError("a gemm call of ", ToAbsl(DTypeName(group.gemm->dtype)), " reads ",
                           graph.TypeString(group.inputs[i]), " for ",
                           graph.TypeString(product.in[i]));
  }
  if (product.types[0].dtype == group.gemm->result()) return absl::OkStatus();
  return InternalError("a gemm call writes ", ToAbsl(DTypeName(group.gemm->result())), " for ",
                       ToAbsl(DTypeName(product.types[0].dtype)));
}

// One product; all else is on the way to its operands or behind it, and nothing but the last node
// is seen outside.
absl::Status CheckGemm(const Graph& graph, const Group& group) {
  if (!group.gemm || group.outputs.size() != 1)
    return InternalError("a gemm group has a call and one output");
  const GemmEpilogue& epilogue = group.gemm->epilogue;
  const size_t inputs = 2 + (epilogue.has_c() ? 1u : 0u) + (epilogue.bias ? 1u : 0u);
  if (group.inputs.size() != inputs)
    return InternalError("a gemm group reads ", group.inputs.size(), " values, its call ", inputs);
  int products = 0, behind = 0;
  NodeId product = -1;
  for (NodeId id : group.nodes) {
    OpKind kind = graph.node(id).kind();
    if (kind == OpKind::kMatMul) product = id;
    products += kind == OpKind::kMatMul ? 1 : 0;
    behind += kind == OpKind::kPointwise ? 1 : 0;
    if (kind != OpKind::kMatMul && kind != OpKind::kView && kind != OpKind::kPointwise &&
        kind != OpKind::kConstant)
      return InternalError(ToAbsl(graph.node(id).def().name), " in a gemm group");
  }
  if (products != 1) return InternalError(products, " products in a gemm group");
  const auto& read = graph.node(product).in;
  JF_RETURN_IF_ERROR(CheckOperandTypes(graph, graph.node(product), group));
  if (group.gemm->f32_result) behind -= read[0] == read[1] ? 1 : 2;  // the casts
  if (epilogue.empty() != (behind == 0))
    return InternalError(behind, " nodes behind a product with the epilogue ",
                         EpilogueToString(epilogue));
  const OpKind last = graph.node(group.outputs[0]).kind();
  if (last != (behind > 0 ? OpKind::kPointwise : OpKind::kMatMul))
    return InternalError("a gemm group's output is not its last node");
  for (Value v : group.inputs) {
    OpKind kind = graph.node(v).kind();
    if (kind == OpKind::kScalar || kind == OpKind::kConstant)
      return InternalError("a gemm operand is not in memory");
  }
  return absl::OkStatus();
}

absl::Status CheckSort(const Graph& graph, const Group& group) {
  if (!group.sort || group.nodes.size() != 1 || group.inputs.size() != 1 ||
      group.outputs.size() != 3 || graph.node(group.nodes[0]).kind() != OpKind::kSort)
    return InternalError("a sort group has a call, one node, one input and three outputs");
  OpKind kind = graph.node(group.inputs[0]).kind();
  if (group.inputs[0] != graph.node(group.nodes[0]).in[0] || kind == OpKind::kScalar ||
      kind == OpKind::kConstant || kind == OpKind::kView)
    return InternalError("what a sort reads is not in memory");
  return absl::OkStatus();
}

absl::Status CheckNodes(const Graph& graph, const Group& group) {
  for (size_t i = 0; i < group.nodes.size(); ++i) {
    if (group.nodes[i] < 0 || group.nodes[i] >= graph.size())
      return InternalError("no node ", group.nodes[i]);
    if (i > 0 && group.nodes[i] <= group.nodes[i - 1])
      return InternalError("nodes are not ascending");
  }
  if (group.outputs.empty()) return InternalError("a group without outputs");
  return absl::OkStatus();
}

}  // namespace

absl::Status VerifyGroup(const Graph& graph, const Group& group) {
  JF_RETURN_IF_ERROR(CheckNodes(graph, group));
  return group.kind == GroupKind::kGemm   ? CheckGemm(graph, group)
         : group.kind == GroupKind::kSort ? CheckSort(graph, group)
                                          : Puller(graph, group).Check();
}

absl::Status VerifyFusionPlan(const Graph& graph, const FusionPlan& plan) {
  absl::flat_hash_map<Value, int> made;
  for (size_t g = 0; g < plan.groups.size(); ++g) {
    const Group& group = plan.groups[g];
    std::string where = absl::StrCat("group ", g);
    if (absl::Status s = VerifyGroup(graph, group); !s.ok()) return Annotate(s, where);
    for (Value v : group.inputs) {
      if (!IsGiven(graph.node(v)) && !made.contains(v))
        return InternalError(where, " reads %", v.node, " before it is made");
    }
    for (Value v : group.outputs) {
      auto [first, is_new] = made.try_emplace(v, static_cast<int>(g));
      if (!is_new)
        return InternalError("%", v.node, " is made by group ", first->second, " and by group ", g);
    }
  }
  for (Value v : graph.outputs()) {
    if (!made.contains(v)) return InternalError("the output %", v.node, " is made by no group");
  }
  return absl::OkStatus();
}

}  // namespace jitfuse::internal
