#include "codegen/fusion/relation.h"

#include <algorithm>
#include <utility>

namespace jitfuse::internal {
namespace {

void ZeroUnits(const Shape& shape, IndexMap* map) {
  for (size_t i = 0; i < shape.size(); ++i) {
    if (shape[i].Is(1)) map->coords[i] = IndexExpr{};
  }
}

void DropUnitAxes(const Shape& domain, IndexMap* map) {
  auto drop = [&](IndexExpr* e) {
    std::erase_if(e->terms, [&](const IndexTerm& t) {
      int axis = t.linear.coefs.empty() ? kIndirectAxis : t.linear.coefs[0].first;
      return t.IsPlain() && axis != kIndirectAxis && domain[static_cast<size_t>(axis)].Is(1);
    });
  };
  for (IndexExpr& e : map->coords) drop(&e);
  for (IndexMask& m : map->masks) drop(&m.e);
}

IndexMap InOneForm(IndexMap map, const Shape& shape, const Shape& domain) {
  ZeroUnits(shape, &map);
  DropUnitAxes(domain, &map);
  return map;
}

bool IsPlainIdentity(const IndexMap& map) {
  if (!map.masks.empty()) return false;
  for (size_t i = 0; i < map.coords.size(); ++i) {
    if (PlainAxis(map.coords[i]) != static_cast<int>(i)) return false;
  }
  return true;
}

std::optional<IndexMap> InvertPermutation(const Graph& graph, const IndexMap& map,
                                          const Shape& from, const Shape& to) {
  IndexMap inverse;
  inverse.coords.resize(from.size());
  std::vector<bool> seen(from.size());
  for (size_t d = 0; d < to.size(); ++d) {
    if (to[d].Is(1)) continue;
    std::optional<int> axis = PlainAxis(map.coords[d]);
    if (!axis || seen[static_cast<size_t>(*axis)]) return std::nullopt;
    if (!graph.SameDim(from[static_cast<size_t>(*axis)], to[d])) return std::nullopt;
    seen[static_cast<size_t>(*axis)] = true;
    inverse.coords[static_cast<size_t>(*axis)] = AxisExpr(static_cast<int>(d));
  }
  for (size_t a = 0; a < from.size(); ++a) {
    if (!seen[a] && !from[a].Is(1)) return std::nullopt;
  }
  return inverse;
}

std::optional<IndexMap> Reshaped(const Shape& from, const Shape& to) {
  std::optional<IndexMap> map = ReshapeCoords(IdentityOf(from), from, to, IndexSpace{from});
  if (!map) return std::nullopt;
  return InOneForm(*std::move(map), to, from);
}

}  // namespace

std::optional<int> PlainAxis(const IndexExpr& e) {
  if (e.terms.size() != 1 || !e.constant.Is(0)) return std::nullopt;
  const IndexTerm& t = e.terms[0];
  if (!t.IsPlain() || !t.coef.Is(1) || t.linear.coefs.size() != 1 ||
      !t.linear.coefs[0].second.Is(1))
    return std::nullopt;
  return t.linear.coefs[0].first;
}

bool UsesAxes(const IndexMap& map, absl::Span<const int> axes) {
  auto uses = [&](const IndexExpr& e) {
    for (const IndexTerm& t : e.terms) {
      for (const auto& [axis, factor] : t.linear.coefs) {
        if (std::find(axes.begin(), axes.end(), axis) != axes.end()) return true;
      }
    }
    return false;
  };
  return std::any_of(map.coords.begin(), map.coords.end(), uses) ||
         std::any_of(map.masks.begin(), map.masks.end(),
                     [&](const IndexMask& m) { return uses(m.e); });
}

IndexMap IdentityOf(const Shape& shape) {
  IndexMap map = IdentityMap(static_cast<int>(shape.size()));
  ZeroUnits(shape, &map);
  return map;
}

Frame IdentityFrame(const Shape& shape) {
  return {shape, IdentityOf(shape), IdentityOf(shape), false};
}

std::optional<IndexMap> Through(const IndexMap& map, const IndexMap& to, const Shape& shape,
                                const Shape& domain) {
  if (IsPlainIdentity(map) && map.coords.size() == to.coords.size())
    return InOneForm(to, shape, domain);
  std::optional<IndexMap> out = Compose(map, to, IndexSpace{domain});
  if (!out) return std::nullopt;
  return InOneForm(*std::move(out), shape, domain);
}

std::optional<IndexMap> Invert(const Graph& graph, const IndexMap& map, const Shape& from,
                               const Shape& to) {
  if (!map.masks.empty()) return std::nullopt;
  if (auto inverse = InvertPermutation(graph, map, from, to)) return inverse;
  SizeExpr elements = NumElements(from);
  if (elements.Is(0) || !(elements == NumElements(to))) return std::nullopt;
  std::optional<IndexMap> around = ReshapeCoords(map, to, from, IndexSpace{from});
  if (!around || !(InOneForm(*around, from, from) == IdentityOf(from))) return std::nullopt;
  return Reshaped(to, from);
}

bool SameNumElements(const Graph& graph, const Shape& a, const Shape& b) {
  return graph.SameShape(a, b) || graph.SameDim(NumElements(a), NumElements(b));
}

std::optional<Frame> ReshapeFrame(const Graph& graph, const Shape& domain, const Shape& shape) {
  if (graph.SameShape(domain, shape)) return IdentityFrame(shape);
  if (!SameNumElements(graph, domain, shape) || NumElements(shape).Is(0)) return std::nullopt;
  std::optional<IndexMap> map = Reshaped(domain, shape);
  std::optional<IndexMap> inverse = Reshaped(shape, domain);
  if (!map || !inverse) return std::nullopt;
  return Frame{shape, *std::move(map), *std::move(inverse), false};
}

std::optional<Frame> ReshapeRowFrame(const Graph& graph, const Shape& domain,
                                     absl::Span<const int> reduced, const Shape& shape) {
  Shape rows;
  IndexMap kept;  // coordinates in `rows` by the domain's axes
  std::vector<size_t> axes;
  for (size_t a = 0; a < domain.size(); ++a) {
    if (std::find(reduced.begin(), reduced.end(), static_cast<int>(a)) != reduced.end()) continue;
    rows.push_back(domain[a]);
    kept.coords.push_back(AxisExpr(static_cast<int>(a)));
    axes.push_back(a);
  }
  std::optional<Frame> frame = ReshapeFrame(graph, rows, shape);
  if (!frame) return std::nullopt;
  std::optional<IndexMap> map = Through(frame->map, kept, shape, domain);
  if (!map) return std::nullopt;
  IndexMap inverse;
  inverse.coords.resize(domain.size());
  for (size_t i = 0; i < axes.size(); ++i) inverse.coords[axes[i]] = frame->inverse.coords[i];
  return Frame{shape, *std::move(map), std::move(inverse), true};
}

std::vector<int> WithoutUnits(absl::Span<const int> axes, const Shape& domain) {
  std::vector<int> out;
  for (int a : axes) {
    if (!domain[static_cast<size_t>(a)].Is(1)) out.push_back(a);
  }
  return out;
}

std::optional<std::vector<int>> MatchAxes(const Graph& graph, const IndexMap& map,
                                          const Shape& shape, absl::Span<const int64_t> axes,
                                          const Shape& domain) {
  std::vector<int> out;
  std::vector<bool> reduced(shape.size());
  for (int64_t d : axes) {
    auto dim = static_cast<size_t>(d);
    reduced[dim] = true;
    if (shape[dim].Is(1)) continue;
    std::optional<int> axis = PlainAxis(map.coords[dim]);
    if (!axis || (!out.empty() && *axis <= out.back())) return std::nullopt;
    if (!graph.SameDim(shape[dim], domain[static_cast<size_t>(*axis)])) return std::nullopt;
    out.push_back(*axis);
  }
  IndexMap others;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (!reduced[d]) others.coords.push_back(map.coords[d]);
  }
  if (UsesAxes(others, out)) return std::nullopt;
  return out;
}

}  // namespace jitfuse::internal
