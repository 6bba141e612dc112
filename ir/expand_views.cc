// Composites made of views, joins and gathers. Declared in expand.h.
#include <limits>
#include <utility>
#include <vector>

#include "ir/builder.h"
#include "ir/expand.h"
#include "ir/expand_pool.h"
#include "ir/infer.h"
#include "ir/op_enum.h"
#include "ir/slicing.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

using Ints = std::vector<int64_t>;

Expansion Done(const Chain& c, Value v) {
  if (!c.ok()) return c.status();
  return absl::InlinedVector<Value, 1>{v};
}

// x[start:stop:step] along one axis.
Value SliceAlong(Chain* c, Value x, size_t axis, int64_t start, int64_t stop, int64_t step = 1) {
  if (!c->ok()) return {};
  size_t rank = c->type(x).dims.size();
  Ints starts(rank, 0), stops(rank, kEnd), steps(rank, 1);
  starts[axis] = start;
  stops[axis] = stop;
  steps[axis] = step;
  return c->Add(
      Op::kSlice, {x},
      {{"starts", std::move(starts)}, {"stops", std::move(stops)}, {"steps", std::move(steps)}});
}

// The n elements of x along `axis` at positions first, first + step ..., by a gather: its type says
// n also where the axis is a symbol, of which a slice might have fewer.
Value TakeAlong(Chain* c, Value x, size_t axis, int64_t n, int64_t first, int64_t step) {
  Value at =
      c->Add(Op::kIota, {},
             {{"shape", std::vector<Dim>{Dim(n)}}, {"axis", int64_t{0}}, {"dtype", DType::kI64}});
  at = c->Add(Op::kMultiply, {at, c->Constant(DType::kI64, static_cast<double>(step))});
  at = c->Add(Op::kAdd, {at, c->Constant(DType::kI64, static_cast<double>(first))});
  return c->Add(Op::kTake, {x, at}, {{"axis", static_cast<int64_t>(axis)}});
}

// Axis by axis: what `before` and `behind` make of x, joined with it. They get the axis and the
// number of elements; `first` and `step` say the same of axes whose size is a symbol.
struct Border {
  int64_t first, step;
};
template <typename Before, typename Behind>
Expansion PadFrom(Graph* graph, const Node& node, const Before& before, const Behind& behind,
                  Border (*low_border)(int64_t), Border high_border) {
  Chain c(graph);
  const auto &low = node.Get<Ints>("low"), &high = node.Get<Ints>("high");
  Value x = node.in[0];
  for (size_t axis = 0; axis < low.size() && c.ok(); ++axis) {
    std::vector<Value> parts;
    const bool known = c.type(x).dims[axis].IsConstant();
    const Border ahead = low_border(low[axis]);
    if (low[axis] > 0)
      parts.push_back(known ? before(&c, x, axis, low[axis])
                            : TakeAlong(&c, x, axis, low[axis], ahead.first, ahead.step));
    parts.push_back(x);
    if (high[axis] > 0)
      parts.push_back(
          known ? behind(&c, x, axis, high[axis])
                : TakeAlong(&c, x, axis, high[axis], high_border.first, high_border.step));
    if (parts.size() > 1)
      x = c.Add(Op::kConcatenate, parts, {{"axis", static_cast<int64_t>(axis)}});
  }
  return Done(c, x);
}

Value Windows(Chain* c, Value x, const PoolAxis& axis) {
  return c->Add(Op::kWindows, {x},
                {{"axis", static_cast<int64_t>(axis.dim)},
                 {"size", axis.kernel},
                 {"stride", axis.stride},
                 {"dilation", axis.dilation}});
}

absl::StatusOr<Pooling> PoolingOfNode(const Graph& graph, const Node& node) {
  const TensorType& x = graph.type(node.in[0]);
  InferContext context{node.def(), absl::MakeConstSpan(&x, 1), node.attrs, graph.symbols().names,
                       [](const Dim& a, const Dim&) -> absl::StatusOr<Dim> { return a; }};
  return PoolingOf(context);
}

// Each pooled dim takes one more for its windows; where there are not so many, what stands before
// the pooled dims is one. The result gets the shape of the node's again at the end.
Value RoomForWindows(Chain* c, Value x, Pooling* pooling) {
  const Shape dims = c->type(x).dims;
  if (dims.size() + pooling->axes.size() <= kMaxRank) return x;
  const size_t first = pooling->axes.front().dim;
  Shape merged = {NumElements(absl::MakeConstSpan(dims).first(first))};
  merged.insert(merged.end(), dims.begin() + static_cast<std::ptrdiff_t>(first), dims.end());
  for (PoolAxis& axis : pooling->axes) axis.dim -= first - 1;
  return c->Reshape(x, merged);
}

// Elements before and behind each pooled dim: the padding, or what ceil_mode puts behind it.
Value Padded(Chain* c, Value x, const Pooling& pooling, bool padding, bool extra, double value) {
  if (!c->ok()) return {};
  size_t rank = c->type(x).dims.size();
  std::vector<Dim> low(rank, Dim(0)), high(rank, Dim(0));
  bool any = false;
  for (const PoolAxis& axis : pooling.axes) {
    int64_t before = padding ? axis.padding : 0;
    int64_t behind = before + (extra ? axis.extra : 0);
    low[axis.dim] = before;
    high[axis.dim] = behind;
    any = any || behind > 0;
  }
  if (!any) return x;
  return c->Add(Op::kPad, {x},
                {{"low", std::move(low)}, {"high", std::move(high)}, {"value", value}});
}

// The windows of x; each pooled dim takes one more, behind all others, for a window's elements.
PoolWindows WindowsOf(Chain* c, Value x, const Pooling& pooling) {
  if (!c->ok()) return {};
  PoolWindows out{x, {}, {}};
  auto rank = static_cast<int64_t>(c->type(x).dims.size());
  for (const PoolAxis& axis : pooling.axes) {
    out.windows = Windows(c, out.windows, axis);
    out.axes.push_back(rank++);
  }
  return out;
}

Value Pooled(Chain* c, Op reduce, Value x, const Pooling& pooling) {
  if (!c->ok()) return {};
  PoolWindows windows = WindowsOf(c, x, pooling);
  return c->Add(reduce, {windows.windows}, {{"axes", std::move(windows.axes)}});
}

}  // namespace

Expansion ExpandStack(Graph* graph, const Node& node) {
  Chain c(graph);
  auto rank = static_cast<int64_t>(node.types[0].dims.size());
  int64_t axis = node.Get<int64_t>("axis");
  if (axis < 0) axis += rank;
  std::vector<Value> parts;
  for (Value v : node.in) {
    Shape dims = graph->type(v).dims;
    dims.insert(dims.begin() + axis, Dim(1));
    parts.push_back(c.Reshape(v, dims));
    if (!c.ok()) return c.status();
  }
  return Done(c, c.Add(Op::kConcatenate, parts, {{"axis", axis}}));
}

Expansion ExpandPadReflect(Graph* graph, const Node& node) {
  auto before = [](Chain* c, Value x, size_t axis, int64_t n) {
    return SliceAlong(c, x, axis, n, 0, -1);  // n, n-1, .. 1
  };
  auto behind = [](Chain* c, Value x, size_t axis, int64_t n) {
    return SliceAlong(c, x, axis, -2, -2 - n, -1);
  };
  return PadFrom(graph, node, before, behind, [](int64_t n) { return Border{n, -1}; }, {-2, -1});
}

Expansion ExpandPadEdge(Graph* graph, const Node& node) {
  auto repeated = [](Chain* c, Value edge, size_t axis, int64_t n) {
    return c->Add(Op::kRepeat, {edge}, {{"repeats", n}, {"axis", static_cast<int64_t>(axis)}});
  };
  auto before = [&](Chain* c, Value x, size_t axis, int64_t n) {
    return repeated(c, SliceAlong(c, x, axis, 0, 1), axis, n);
  };
  auto behind = [&](Chain* c, Value x, size_t axis, int64_t n) {
    return repeated(c, SliceAlong(c, x, axis, -1, kEnd), axis, n);
  };
  return PadFrom(graph, node, before, behind, [](int64_t) { return Border{0, 0}; }, {-1, 0});
}

Expansion ExpandPadWrap(Graph* graph, const Node& node) {
  auto before = [](Chain* c, Value x, size_t axis, int64_t n) {
    return SliceAlong(c, x, axis, -n, kEnd);
  };
  auto behind = [](Chain* c, Value x, size_t axis, int64_t n) {
    return SliceAlong(c, x, axis, 0, n);
  };
  return PadFrom(graph, node, before, behind, [](int64_t n) { return Border{-n, 1}; }, {0, 1});
}

Expansion ExpandEmbedding(Graph* graph, const Node& node) {
  Chain c(graph);
  return Done(c, c.Add(Op::kTake, {node.in[1], node.in[0]}, {{"axis", int64_t{0}}}));
}

absl::StatusOr<PoolWindows> MaxPoolWindows(Graph* graph, const Node& node) {
  Chain c(graph);
  JF_ASSIGN_OR_RETURN(Pooling pooling, PoolingOfNode(*graph, node));
  // The least value of the dtype, as max itself begins with.
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  DType dtype = node.types[0].dtype;
  double least =
      IsFloat(dtype) ? -kInfinity : ScalarToDouble(dtype, ScalarFromDouble(dtype, -kInfinity));
  Value x = RoomForWindows(&c, node.in[0], &pooling);
  PoolWindows out = WindowsOf(&c, Padded(&c, x, pooling, true, true, least), pooling);
  if (!c.ok()) return c.status();
  return out;
}

absl::StatusOr<Value> MaxPoolElements(Graph* graph, const Node& node) {
  Chain c(graph);
  JF_ASSIGN_OR_RETURN(Pooling pooling, PoolingOfNode(*graph, node));
  const Value x = RoomForWindows(&c, node.in[0], &pooling);
  if (!c.ok()) return c.status();
  const Shape dims = c.type(x).dims;
  const Value ones = c.Add(Op::kBroadcast, {c.Constant(DType::kI32, 1)},
                           {{"shape", std::vector<Dim>(dims.begin(), dims.end())}});
  const Value padded = Padded(&c, ones, pooling, true, true, 0);
  if (c.ok() && padded == ones) return Value{};
  const PoolWindows out = WindowsOf(&c, padded, pooling);
  if (!c.ok()) return c.status();
  return out.windows;
}

Expansion ExpandMaxPool(Graph* graph, const Node& node) {
  JF_ASSIGN_OR_RETURN(PoolWindows windows, MaxPoolWindows(graph, node));
  Chain c(graph);
  Value top = c.Add(Op::kMax, {windows.windows}, {{"axes", std::move(windows.axes)}});
  return Done(c, c.Reshape(top, node.types[0].dims));
}

namespace {

// An average pooling in its compute type.
struct Average {
  Pooling pooling;
  Value x;
  int64_t elements = 1;  // of a window
  bool include = true;   // padding counts
  bool varies = false;   // windows differ in how many elements count
};

absl::StatusOr<Average> AverageOf(Chain* c, const Graph& graph, const Node& node) {
  Average a;
  JF_ASSIGN_OR_RETURN(a.pooling, PoolingOfNode(graph, node));
  a.include = node.Get<bool>("count_include_pad");
  bool padded = false, reaches_beyond = false;
  for (const PoolAxis& axis : a.pooling.axes) {
    padded = padded || axis.padding > 0;
    reaches_beyond = reaches_beyond || axis.extra > 0;
    a.elements *= axis.kernel;
  }
  a.varies = (padded && !a.include) || reaches_beyond;
  Value x = RoomForWindows(c, node.in[0], &a.pooling);
  a.x = c->Cast(x, ComputeType(node.types[0].dtype));
  if (!c->ok()) return c->status();
  return a;
}

// By how many elements each window's sum is divided. Where that varies: ones in place of x (and of
// its padding), summed up likewise.
Value WindowElements(Chain* c, const Graph& graph, const Average& a) {
  if (!c->ok()) return {};
  const TensorType type = graph.type(a.x);
  if (!a.varies) return c->Constant(type.dtype, static_cast<double>(a.elements));
  Value ones = c->Add(Op::kBroadcast, {c->Constant(type.dtype, 1)},
                      {{"shape", std::vector<Dim>(type.dims.begin(), type.dims.end())}});
  if (a.include) ones = Padded(c, ones, a.pooling, true, false, 1);
  Pooling outer = a.pooling;
  for (PoolAxis& axis : outer.axes) axis.padding = a.include ? 0 : axis.padding;
  return Pooled(c, Op::kSum, Padded(c, ones, outer, true, true, 0), a.pooling);
}

}  // namespace

absl::StatusOr<PoolWindows> AvgPoolWindows(Graph* graph, const Node& node) {
  Chain c(graph);
  JF_ASSIGN_OR_RETURN(Average a, AverageOf(&c, *graph, node));
  PoolWindows out = WindowsOf(&c, Padded(&c, a.x, a.pooling, true, true, 0), a.pooling);
  out.count = WindowElements(&c, *graph, a);
  if (!c.ok()) return c.status();
  return out;
}

Expansion ExpandAvgPool(Graph* graph, const Node& node) {
  Chain c(graph);
  JF_ASSIGN_OR_RETURN(Average a, AverageOf(&c, *graph, node));
  const DType dtype = node.types[0].dtype, compute = ComputeType(dtype);
  const bool overflows = dtype != DType::kF16;  // whose f32 sum cannot
  auto pooled = [&](Op reduce, Value v) {
    return Pooled(&c, reduce, Padded(&c, v, a.pooling, true, true, 0), a.pooling);
  };
  auto finish = [&](Value mean) {
    return Done(c, c.Reshape(c.Cast(mean, dtype), node.types[0].dims));
  };
  if (!a.varies && overflows) return finish(pooled(Op::kMean, a.x));
  Value sum = pooled(Op::kSum, a.x);
  Value count = WindowElements(&c, *graph, a);
  Value mean = c.Add(Op::kDivide, {sum, count});
  if (overflows) {
    // A sum scaled by 2^-64 takes over where the plain one overflows, as in mean.
    Value scaled = c.Add(Op::kMultiply, {a.x, c.Constant(compute, 0x1p-64)});
    scaled = c.Add(Op::kDivide, {pooled(Op::kSum, scaled), count});
    scaled = c.Add(Op::kMultiply, {scaled, c.Constant(compute, 0x1p64)});
    Value finite = c.Add(Op::kIsFinite, {sum});
    mean = c.Add(Op::kWhere, {finite, mean, scaled});
  }
  return finish(mean);
}

}  // namespace jitfuse::internal
