#include "codegen/fusion/view_chain.h"

#include <utility>

#include "ir/support/status.h"
#include "ir/view_index.h"

namespace jitfuse::internal {
namespace {

absl::StatusOr<ViewChain> OneStep(const Graph& graph, NodeId id) {
  const Node& node = graph.node(id);
  const Shape& shape = node.types[0].dims;
  std::optional<IndexMap> map = PullStep(graph, id, 0, IdentityOf(shape), IndexSpace{shape});
  if (!map) {
    return InternalError(ToAbsl(node.def().name), "(", graph.TypeString(node.in[0]), ") -> ",
                         graph.TypeString({id, 0}), " has no affine index map");
  }
  ViewChain chain{node.in[0], 1, *std::move(map), std::nullopt};
  chain.inverse = Invert(graph, chain.map, shape, graph.type(node.in[0]).dims);
  return chain;
}

// `step` on top of `below`, the chain of its operand. Maps are pulled step by step, as plans do, so
// that what holds here holds there.
std::optional<ViewChain> Join(const Graph& graph, const ViewChain& below, const ViewChain& step,
                              const Shape& shape) {
  if (below.length >= kMaxViewChain) return std::nullopt;
  ViewChain chain{below.base, below.length + 1, step.map, std::nullopt};
  for (Value v = step.base; v != below.base; v = graph.node(v).in[0]) {
    std::optional<IndexMap> map = PullStep(graph, v.node, 0, chain.map, IndexSpace{shape});
    if (!map) return std::nullopt;
    chain.map = *std::move(map);
  }
  if (below.inverse && step.inverse)
    chain.inverse = Through(*step.inverse, *below.inverse, shape, graph.type(below.base).dims);
  return chain;
}

// Whether a loop over the node's own shape can read operand `operand` through its views.
bool Reads(const Graph& graph, NodeId id, int operand, Value base) {
  const Node& node = graph.node(id);
  const Shape& shape = node.types[0].dims;
  IndexSpace space = SpaceOf(graph, id, operand, shape);
  std::optional<IndexMap> at = PullStep(graph, id, operand, IdentityOf(shape), space);
  for (Value v = node.in [static_cast<size_t>(operand)]; v != base && at; v = graph.node(v).in[0])
    at = PullStep(graph, v.node, 0, *at, space);
  return at.has_value();
}

}  // namespace

IndexSpace SpaceOf(const Graph& graph, NodeId id, int operand, const Shape& domain) {
  const Node& node = graph.node(id);
  return {domain, IsGathered(node, static_cast<size_t>(operand)) ? GatheredExtent(graph, node)
                                                                 : SizeExpr(0)};
}

std::optional<IndexMap> PullStep(const Graph& graph, NodeId id, int operand, const IndexMap& at,
                                 const IndexSpace& space) {
  const Node& node = graph.node(id);
  std::optional<IndexMap> map = PullOperand(graph, node, operand, at, space);
  if (map) {
    map = Through(IdentityMap(static_cast<int>(map->coords.size())), *map,
                  graph.type(node.in[static_cast<size_t>(operand)]).dims, space.extents);
  }
  return map;
}

absl::StatusOr<Views> Views::Of(const Graph& graph) {
  Views views;
  views.chains_.resize(static_cast<size_t>(graph.size()));
  views.cut_.resize(static_cast<size_t>(graph.size()));
  for (NodeId id = 0; id < graph.size(); ++id) {
    const Node& node = graph.node(id);
    if (node.kind() == OpKind::kJoin || node.kind() == OpKind::kGather ||
        node.kind() == OpKind::kSegment) {
      for (size_t k = 0; k < node.in.size(); ++k) {
        const ViewChain* chain = views.Chain(node.in[k]);
        if (chain != nullptr && !Reads(graph, id, static_cast<int>(k), chain->base))
          views.cut_[static_cast<size_t>(node.in[k].node)] = true;
      }
    }
    if (node.kind() != OpKind::kView) continue;
    JF_ASSIGN_OR_RETURN(ViewChain chain, OneStep(graph, id));
    if (const ViewChain* below = views.Chain(node.in[0])) {
      if (auto joined = Join(graph, *below, chain, node.types[0].dims)) {
        chain = *std::move(joined);
      } else {
        views.cut_[static_cast<size_t>(node.in[0].node)] = true;
      }
    }
    views.chains_[static_cast<size_t>(id)] = std::make_unique<ViewChain>(std::move(chain));
  }
  return views;
}

}  // namespace jitfuse::internal
