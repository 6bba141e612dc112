#include "ir/view_index.h"

namespace jitfuse::internal {

std::optional<IndexMap> IndexBroadcast(const Graph& graph, const Node& node, const IndexMap& out,
                                       const IndexSpace&) {
  const Shape& from = graph.type(node.in[0]).dims;
  size_t lead = out.coords.size() - from.size();
  IndexMap map;
  for (size_t i = 0; i < from.size(); ++i) {
    map.coords.push_back(from[i].Is(1) ? IndexExpr{} : out.coords[lead + i]);
  }
  return map;
}

std::optional<IndexMap> IndexReshape(const Graph& graph, const Node& node, const IndexMap& out,
                                     const IndexSpace& space) {
  return ReshapeCoords(out, node.types[0].dims, graph.type(node.in[0]).dims, space);
}

std::optional<IndexMap> IndexTranspose(const Graph&, const Node& node, const IndexMap& out,
                                       const IndexSpace&) {
  const auto& perm = node.Get<std::vector<int64_t>>("perm");
  IndexMap map;
  map.coords.resize(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) map.coords[static_cast<size_t>(perm[i])] = out.coords[i];
  return map;
}

}  // namespace jitfuse::internal
