// Relations between index spaces: how a node's elements and a group's domain correspond.
//
// A Frame says where nodes of one shape sit in a domain: their coordinates by the domain's axes,
// and back. Full frames are one to one with the whole domain, row frames with its axes that are not
// reduced (their inverse gives 0 for the reduced ones). Maps are kept in one form (extents of 1 are
// coordinate 0), so that equal maps compare equal wherever ir/index_map's normal form shows it; an
// equality missed costs a fusion, never a wrong result. Must not know: groups, costs.
#ifndef JITFUSE_CODEGEN_FUSION_RELATION_H_
#define JITFUSE_CODEGEN_FUSION_RELATION_H_

#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "ir/graph.h"
#include "ir/index_map.h"
#include "ir/shape.h"

namespace jitfuse::internal {

struct Frame {
  Shape shape;
  IndexMap map;      // coordinates in `shape` by the domain's axes
  IndexMap inverse;  // the domain's coordinates by the axes of `shape`
  bool row = false;
};

IndexMap IdentityOf(const Shape& shape);
Frame IdentityFrame(const Shape& shape);
// map after `to`: the coordinates of a tensor `shape` by the axes of `domain`. nullopt: no affine
// map says it.
std::optional<IndexMap> Through(const IndexMap& map, const IndexMap& to, const Shape& shape,
                                const Shape& domain);
// `map` gives coordinates in `to` by the axes of `from`. The way back, where the map only permutes
// or only reshapes.
std::optional<IndexMap> Invert(const Graph& graph, const IndexMap& map, const Shape& from,
                               const Shape& to);
// The frame of `shape` in `domain` if both have the same number of elements: in row-major order,
// the two correspond.
std::optional<Frame> ReshapeFrame(const Graph& graph, const Shape& domain, const Shape& shape);
// The same for a domain's axes that are not in `reduced`.
std::optional<Frame> ReshapeRowFrame(const Graph& graph, const Shape& domain,
                                     absl::Span<const int> reduced, const Shape& shape);
bool SameNumElements(const Graph& graph, const Shape& a, const Shape& b);

// Which domain axes the dims `axes` of `shape` are, if each is exactly one axis, in ascending
// order, and no other dim depends on those axes. Dims of extent 1 are left out.
std::optional<std::vector<int>> MatchAxes(const Graph& graph, const IndexMap& map,
                                          const Shape& shape, absl::Span<const int64_t> axes,
                                          const Shape& domain);
std::vector<int> WithoutUnits(absl::Span<const int> axes, const Shape& domain);
// Whether the map depends on any of these axes.
bool UsesAxes(const IndexMap& map, absl::Span<const int> axes);
std::optional<int> PlainAxis(const IndexExpr& e);

}  // namespace jitfuse::internal

#endif  // JITFUSE_CODEGEN_FUSION_RELATION_H_
