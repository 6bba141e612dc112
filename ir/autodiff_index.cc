// Rules of gathers, of sums by index, of pooling and of random masks. Declared in autodiff_rules.h.
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

// As PyTorch: the first of the largest elements of a window takes it all.
void GradMaxPool(GradRule& r) {
  absl::StatusOr<PoolWindows> pool = MaxPoolWindows(r.graph(), r.node());
  if (!pool.ok()) return r.Fail(pool.status());
  const Shape dims = r.Type(pool->windows).dims;
  Value top = r.Reduce(Op::kArgmax, pool->windows, pool->axes, true).first;
  Shape elements(dims.size(), Dim(1));
  for (int64_t axis : pool->axes)
    elements[static_cast<size_t>(axis)] = dims[static_cast<size_t>(axis)];
  Value at = r.Reshape(r.Iota(NumElements(elements), 0, 1, DType::kI64), elements);
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
