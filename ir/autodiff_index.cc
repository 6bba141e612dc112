// Rules of gathers, of sums by index, of pooling and of random masks. Declared in autodiff_rules.h.
#include <limits>

#include "ir/autodiff_rules.h"
#include "ir/expand_pool.h"
#include "ir/op_enum.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

// What a gather took, added up at the places it came from, in ascending order.
void AddAtIndices(GradRule& r, Op op) {
  Value zeros = r.Fill(r.dtype(), 0, r.Type(r.Operand(0)).dims);
  r.Give(0,
         r.Apply(op, {zeros, r.Operand(1), r.RawG()}, {{"axis", r.node().Get<int64_t>("axis")}}));
}

void TakeFromIndices(GradRule& r, Op op) {
  r.Give(0, r.RawG());
  if (!r.Wants(2)) return;
  // Of no elements there are no sums, and nothing to take from.
  const Shape dims = r.Type(r.Operand(2)).dims;
  if (NumElements(dims).Is(0)) return;
  r.Give(2, r.Apply(op, {r.RawG(), r.Operand(1)}, {{"axis", r.node().Get<int64_t>("axis")}}));
}

}  // namespace

void GradTake(GradRule& r) { AddAtIndices(r, Op::kIndexAdd); }
void GradTakeAlongAxis(GradRule& r) { AddAtIndices(r, Op::kScatterAdd); }

// The padding's row is made 0 afterwards, whichever index it was taken by.
void GradEmbedding(GradRule& r) {
  if (!r.Wants(1)) return;
  const TensorType weight = r.Type(r.Operand(1));
  Value zeros = r.Fill(weight.dtype, 0, weight.dims);
  Value sums = r.Apply(Op::kIndexAdd, {zeros, r.Operand(0), r.RawG()}, {{"axis", int64_t{0}}});
  if (const auto padding = r.node().Get<int64_t>("padding_idx"); padding >= 0) {
    Value row = r.Iota(weight.dims[0], 0, 2, DType::kI64);
    Value is_padding = r.Apply(Op::kEqual, {row, r.graph()->AddConstantInt(DType::kI64, padding)});
    sums = r.Where(is_padding, r.Number(weight.dtype, 0), sums);
  }
  r.Give(1, sums);
}
namespace {

// The result of group_positions that v is: itself, or of groups of a vector that all rows along
// `axis` share, as index_add expands. Of node -1 if it is none.
Value GroupsOf(const Graph& graph, Value v, int64_t axis) {
  const size_t rank = graph.type(v).dims.size();
  if (graph.node(v).op == Op::kBroadcast) v = graph.node(v).in[0];
  if (graph.node(v).op == Op::kReshape) {
    const Shape& dims = graph.type(v).dims;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (static_cast<int64_t>(i) != axis && !dims[i].Is(1)) return {};
    }
    if (dims.size() != rank) return {};
    v = graph.node(v).in[0];
    if (graph.type(v).dims.size() != 1) return {};
  } else if (graph.type(v).dims.size() != rank) {
    return {};
  }
  const Node& node = graph.node(v);
  if (node.op != Op::kGroupPositions) return {};
  return node.Get<int64_t>("axis") == (graph.type(v).dims.size() == rank ? axis : 0) ? v : Value{};
}

}  // namespace

// Where each element of src went is what group_positions grouped; order, begin and end alone do not
// tell.
void GradSegmentAdd(GradRule& r) {
  r.Give(0, r.RawG());
  const auto axis = r.node().Get<int64_t>("axis");
  const Shape dims = r.Type(r.Operand(1)).dims;
  if (!r.Wants(1) || NumElements(dims).Is(0)) return;
  const Value order = GroupsOf(*r.graph(), r.Operand(2), axis);
  for (int32_t k = 0; k < 3; ++k) {
    const Value v = GroupsOf(*r.graph(), r.Operand(2 + static_cast<size_t>(k)), axis);
    if (v.node >= 0 && v.node == order.node && v.result == k) continue;
    return r.Fail(
        InvalidArgument("order, begin and end are not the results of one group_positions "
                        "along the axis, so where each element of src went is not known"));
  }
  Value indices = r.graph()->node(order).in[0];
  if (r.Type(indices).dims.size() != dims.size()) {
    Shape along(dims.size(), Dim(1));
    along[static_cast<size_t>(axis)] = dims[static_cast<size_t>(axis)];
    indices = r.Reshape(indices, along);
  }
  indices =
      r.Apply(Op::kBroadcast, {indices}, {{"shape", std::vector<Dim>(dims.begin(), dims.end())}});
  r.Give(1, r.Apply(Op::kTakeAlongAxis, {r.RawG(), indices}, {{"axis", axis}}));
}

void GradIndexAdd(GradRule& r) { TakeFromIndices(r, Op::kTake); }
void GradScatterAdd(GradRule& r) { TakeFromIndices(r, Op::kTakeAlongAxis); }

namespace {

// The windows' cotangents back through windows and borders to x.
void GiveFromWindows(GradRule& r, Value windows, Value g) {
  r.Give(0, r.PullBack(windows, g, r.Operand(0)));
}

// `v` of the pooled shape, one element a window, broadcast over the windows' elements.
Value OverWindows(GradRule& r, Value v, const PoolWindows& pool) {
  if (!r.ok() || r.Type(v).dims.empty()) return v;
  Shape dims = r.Type(pool.windows).dims;
  for (int64_t axis : pool.axes) dims[static_cast<size_t>(axis)] = Dim(1);
  return r.Reshape(v, dims);
}

}  // namespace

// As PyTorch: the first of the largest elements of a window takes it all; of NaNs the last. The
// border takes nothing, also where it comes first and all elements are its -inf.
void GradMaxPool(GradRule& r) {
  absl::StatusOr<PoolWindows> pool = MaxPoolWindows(r.graph(), r.node());
  if (!pool.ok()) return r.Fail(pool.status());
  absl::StatusOr<Value> is_element = MaxPoolElements(r.graph(), r.node());
  if (!is_element.ok()) return r.Fail(is_element.status());
  const Shape dims = r.Type(pool->windows).dims;
  Value top = r.Reduce(Op::kArgmax, pool->windows, pool->axes, true).first;
  Shape elements(dims.size(), Dim(1));
  for (int64_t axis : pool->axes)
    elements[static_cast<size_t>(axis)] = dims[static_cast<size_t>(axis)];
  Value at = r.Reshape(r.Iota(NumElements(elements), 0, 1, DType::kI64), elements);
  Value is_nan = r.Apply(Op::kIsNan, {pool->windows});
  Value nans = r.Where(is_nan, at, r.Number(DType::kI64, -1));
  Value last_nan = r.Reduce(Op::kMax, nans, pool->axes, true).first;
  Value any_nan = r.Apply(Op::kGreaterEqual, {last_nan, r.Number(DType::kI64, 0)});
  top = r.Where(any_nan, last_nan, top);
  if (is_element->node >= 0) {
    Value first = r.Reduce(Op::kArgmax, *is_element, pool->axes, true).first;
    Value most = r.Reduce(Op::kMax, pool->windows, pool->axes, true).first;
    Value least = r.Number(r.dtype(), -std::numeric_limits<double>::infinity());
    Value are_least = r.Apply(Op::kEqual, {most, least});
    top = r.Where(are_least, first, top);
  }
  Value is_top = r.Apply(Op::kEqual, {at, top});
  Value g = OverWindows(r, r.RawG(), *pool);
  GiveFromWindows(r, pool->windows, r.Where(is_top, g, r.Number(r.dtype(), 0)));
}

void GradAvgPool(GradRule& r) {
  absl::StatusOr<PoolWindows> pool = AvgPoolWindows(r.graph(), r.node());
  if (!pool.ok()) return r.Fail(pool.status());
  Value g = OverWindows(r, r.G(), *pool);
  g = r.Div(g, OverWindows(r, pool->count, *pool));
  if (!r.ok()) return;
  const Shape dims = r.Type(pool->windows).dims;
  g = r.Apply(Op::kBroadcast, {g}, {{"shape", std::vector<Dim>(dims.begin(), dims.end())}});
  GiveFromWindows(r, pool->windows, g);
}

// The mask is that of the same seed, offset and stream again.
void GradDropout(GradRule& r) {
  const Node& node = r.node();
  std::vector<Value> in(node.in.begin(), node.in.end());
  in[0] = r.Cast(r.RawG(), r.dtype());
  if (!r.ok()) return;
  absl::StatusOr<Value> g = r.graph()->Add(node.op, in, node.attrs);
  if (!g.ok()) return r.Fail(g.status());
  r.Give(0, *g);
}

}  // namespace jitfuse::internal
