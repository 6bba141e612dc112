#include "ir/view_index.h"

#include <algorithm>
#include <utility>

#include "ir/slicing.h"

namespace jitfuse::internal {
namespace {

using Ints = std::vector<int64_t>;

IndexExpr Shifted(const IndexExpr& e, const SizeExpr& by) {
  IndexExpr out = e;
  out.constant = out.constant + by;
  return out;
}

IndexMap CoordsOf(const IndexMap& out) { return {out.coords, {}}; }

// Where nothing is read, any coordinate will do.
bool IsEmpty(const Node& node) { return NumElements(node.types[0].dims).Is(0); }

}  // namespace

std::optional<IndexMap> PullOperand(const Graph& graph, const Node& node, int operand,
                                    const IndexMap& out, const IndexSpace& space) {
  std::optional<IndexMap> in = node.def().index(graph, node, operand, out, space);
  if (!in) return std::nullopt;
  std::vector<IndexMask> masks = std::move(in->masks);
  in->masks = out.masks;
  for (IndexMask& m : masks) AddMask(std::move(m), space, &*in);
  return in;
}

std::optional<std::vector<IndexMask>> JoinMasks(const Graph& graph, const Node& node, int operand,
                                                const IndexMap& out, const IndexSpace& space) {
  std::optional<IndexMap> in = node.def().index(graph, node, operand, out, space);
  if (!in) return std::nullopt;
  return std::move(in->masks);
}

bool IsGathered(const Node& node, size_t operand) {
  return (node.kind() == OpKind::kGather && operand == 0) ||
         (node.kind() == OpKind::kSegment && (operand == 1 || operand == 2));
}

const Dim& GatheredExtent(const Graph& graph, const Node& node) {
  return graph.type(node.in[node.kind() == OpKind::kSegment ? 1 : 0])
      .dims[static_cast<size_t>(node.Get<int64_t>("axis"))];
}

std::optional<IndexMap> IndexBroadcast(const Graph& graph, const Node& node, int,
                                       const IndexMap& out, const IndexSpace&) {
  const Shape& from = graph.type(node.in[0]).dims;
  size_t lead = out.coords.size() - from.size();
  IndexMap map;
  for (size_t i = 0; i < from.size(); ++i) {
    map.coords.push_back(from[i].Is(1) ? IndexExpr{} : out.coords[lead + i]);
  }
  return map;
}

std::optional<IndexMap> IndexReshape(const Graph& graph, const Node& node, int, const IndexMap& out,
                                     const IndexSpace& space) {
  return ReshapeCoords(out, node.types[0].dims, graph.type(node.in[0]).dims, space);
}

std::optional<IndexMap> IndexTranspose(const Graph&, const Node& node, int, const IndexMap& out,
                                       const IndexSpace&) {
  const auto& perm = node.Get<Ints>("perm");
  IndexMap map;
  map.coords.resize(perm.size());
  for (size_t i = 0; i < perm.size(); ++i) map.coords[static_cast<size_t>(perm[i])] = out.coords[i];
  return map;
}

std::optional<IndexMap> IndexSlice(const Graph& graph, const Node& node, int, const IndexMap& out,
                                   const IndexSpace&) {
  std::vector<SliceAxis> axes = ResolveSlices(graph.type(node.in[0]).dims, node.Get<Ints>("starts"),
                                              node.Get<Ints>("stops"), node.Get<Ints>("steps"));
  IndexMap map;
  for (size_t d = 0; d < axes.size(); ++d)
    map.coords.push_back(Shifted(Scale(out.coords[d], axes[d].step), axes[d].start));
  return map;
}

std::optional<IndexMap> IndexFlip(const Graph& graph, const Node& node, int, const IndexMap& out,
                                  const IndexSpace&) {
  const Shape& dims = graph.type(node.in[0]).dims;
  IndexMap map = CoordsOf(out);
  for (int64_t axis : node.Get<Ints>("axes")) {
    auto d = static_cast<size_t>(axis);
    map.coords[d] = Shifted(Scale(out.coords[d], -1), dims[d] - 1);
  }
  return map;
}

// (o - shift) mod n as (o + back) % n with 0 <= back.
std::optional<IndexMap> IndexRoll(const Graph& graph, const Node& node, int, const IndexMap& out,
                                  const IndexSpace& space) {
  const Shape& dims = graph.type(node.in[0]).dims;
  const auto &shifts = node.Get<Ints>("shifts"), &axes = node.Get<Ints>("axes");
  IndexMap map = CoordsOf(out);
  for (size_t i = 0; i < axes.size() && !IsEmpty(node); ++i) {
    size_t d =
        static_cast<size_t>(axes[i] < 0 ? axes[i] + static_cast<int64_t>(dims.size()) : axes[i]);
    const Dim& n = dims[d];
    SizeExpr back;
    if (n.IsConstant()) {
      int64_t size = n.constant();
      back = (size - shifts[i] % size) % size;
    } else if (shifts[i] <= 0) {
      SizeExpr left(-shifts[i]);
      back = left - FloorDiv(left, n) * n;
    } else {
      SizeExpr right(shifts[i]);
      back = n - (right - FloorDiv(right, n) * n);
    }
    std::optional<IndexExpr> coord = DivMod(Shifted(map.coords[d], back), 1, n, space);
    if (!coord) return std::nullopt;
    map.coords[d] = *std::move(coord);
  }
  return map;
}

std::optional<IndexMap> IndexTile(const Graph& graph, const Node& node, int, const IndexMap& out,
                                  const IndexSpace& space) {
  const Shape& dims = graph.type(node.in[0]).dims;
  size_t lead = out.coords.size() - dims.size();
  IndexMap map{{out.coords.begin() + static_cast<std::ptrdiff_t>(lead), out.coords.end()}, {}};
  for (size_t d = 0; d < dims.size() && !IsEmpty(node); ++d) {
    if (dims[d] == node.types[0].dims[lead + d]) continue;
    std::optional<IndexExpr> coord = DivMod(map.coords[d], 1, dims[d], space);
    if (!coord) return std::nullopt;
    map.coords[d] = *std::move(coord);
  }
  return map;
}

std::optional<IndexMap> IndexRepeat(const Graph&, const Node& node, int, const IndexMap& out,
                                    const IndexSpace& space) {
  IndexMap map = CoordsOf(out);
  if (IsEmpty(node)) return map;
  IndexExpr& at = map.coords[static_cast<size_t>(node.Get<int64_t>("axis"))];
  std::optional<IndexExpr> coord = DivMod(at, node.Get<int64_t>("repeats"), 0, space);
  if (!coord) return std::nullopt;
  at = *std::move(coord);
  return map;
}

std::optional<IndexMap> IndexWindows(const Graph&, const Node& node, int, const IndexMap& out,
                                     const IndexSpace&) {
  IndexMap map{{out.coords.begin(), out.coords.end() - 1}, {}};
  IndexExpr& at = map.coords[static_cast<size_t>(node.Get<int64_t>("axis"))];
  at = Sum(Scale(at, node.Get<int64_t>("stride")),
           Scale(out.coords.back(), node.Get<int64_t>("dilation")));
  return map;
}

std::optional<IndexMap> IndexConcatenate(const Graph& graph, const Node& node, int operand,
                                         const IndexMap& out, const IndexSpace&) {
  auto axis = static_cast<size_t>(node.Get<int64_t>("axis"));
  SizeExpr before;
  for (int k = 0; k < operand; ++k)
    before = before + graph.type(node.in[static_cast<size_t>(k)]).dims[axis];
  const Dim& size = graph.type(node.in[static_cast<size_t>(operand)]).dims[axis];
  IndexMap map = CoordsOf(out);
  map.masks.push_back({out.coords[axis], before, before + size});
  map.coords[axis] = Shifted(out.coords[axis], SizeExpr(0) - before);
  return map;
}

std::optional<IndexMap> IndexPad(const Graph& graph, const Node& node, int, const IndexMap& out,
                                 const IndexSpace&) {
  const Shape& dims = graph.type(node.in[0]).dims;
  const auto& low = node.Get<std::vector<Dim>>("low");
  IndexMap map = CoordsOf(out);
  for (size_t d = 0; d < dims.size(); ++d) {
    map.masks.push_back({out.coords[d], low[d], low[d] + dims[d]});
    map.coords[d] = Shifted(out.coords[d], SizeExpr(0) - low[d]);
  }
  return map;
}

std::optional<IndexMap> IndexTake(const Graph& graph, const Node& node, int operand,
                                  const IndexMap& out, const IndexSpace&) {
  auto axis = static_cast<std::ptrdiff_t>(node.Get<int64_t>("axis"));
  auto rank = static_cast<std::ptrdiff_t>(graph.type(node.in[1]).dims.size());
  auto begin = out.coords.begin() + axis, end = begin + rank;
  if (operand == 1) return IndexMap{{begin, end}, {}};
  IndexMap map{{out.coords.begin(), begin}, {}};
  map.coords.push_back(AxisExpr(kIndirectAxis));
  map.coords.insert(map.coords.end(), end, out.coords.end());
  return map;
}

std::optional<IndexMap> IndexTakeAlongAxis(const Graph&, const Node& node, int operand,
                                           const IndexMap& out, const IndexSpace&) {
  IndexMap map = CoordsOf(out);
  if (operand == 0)
    map.coords[static_cast<size_t>(node.Get<int64_t>("axis"))] = AxisExpr(kIndirectAxis);
  return map;
}

std::optional<IndexMap> IndexSegmentAdd(const Graph&, const Node& node, int operand,
                                        const IndexMap& out, const IndexSpace&) {
  IndexMap map = CoordsOf(out);
  if (IsGathered(node, static_cast<size_t>(operand)))
    map.coords[static_cast<size_t>(node.Get<int64_t>("axis"))] = AxisExpr(kIndirectAxis);
  return map;
}

}  // namespace jitfuse::internal
