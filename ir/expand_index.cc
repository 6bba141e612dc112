// Expansions of ops that are made of coordinates: triangles, one-hot rows, ranges.
#include <algorithm>
#include <utility>

#include "absl/numeric/int128.h"
#include "ir/expand_kit.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

// Column less row of a matrix of these sizes.
Value Diagonal(Calc* c, const Dim& rows, const Dim& columns) {
  Value column = c->Iota(columns, 1, 2, DType::kI64), row = c->Iota(rows, 0, 2, DType::kI64);
  return c->Sub(column, row);
}

Expansion Triangle(Graph* graph, const Node& node, Op keep) {
  Calc c(graph, node);
  const Shape& dims = node.types[0].dims;
  Value diagonal = Diagonal(&c, dims[dims.size() - 2], dims[dims.size() - 1]);
  Value k = graph->AddConstantInt(DType::kI64, node.Get<int64_t>("k"));
  Value kept = c.Apply(keep, {diagonal, k}), zero = c.Number(c.dtype(), 0);
  return c.Results({c.Where(kept, node.in[0], zero)});
}

}  // namespace

Expansion ExpandTril(Graph* graph, const Node& node) {
  return Triangle(graph, node, Op::kLessEqual);
}
Expansion ExpandTriu(Graph* graph, const Node& node) {
  return Triangle(graph, node, Op::kGreaterEqual);
}

Expansion ExpandEye(Graph* graph, const Node& node) {
  Calc c(graph, node);
  const Shape& dims = node.types[0].dims;
  Value k = graph->AddConstantInt(DType::kI64, node.Get<int64_t>("k"));
  return c.Results({c.Apply(Op::kEqual, {Diagonal(&c, dims[0], dims[1]), k})});
}

Expansion ExpandOneHot(Graph* graph, const Node& node) {
  Calc c(graph, node);
  const size_t rank = node.types[0].dims.size();
  Shape dims = node.types[0].dims;
  dims.back() = Dim(1);
  Value at = c.Cast(c.Reshape(node.in[0], dims), DType::kI64);
  Value classes = c.Iota(node.types[0].dims.back(), rank - 1, rank, DType::kI64);
  return c.Results({c.Apply(Op::kEqual, {at, classes})});
}

// start + i * step; f64 for floats, as NumPy computes it. Integers wrap: those of u64 beyond i64
// are right when they are u64 again.
Expansion ExpandArange(Graph* graph, const Node& node) {
  Calc c(graph, node);
  const DType type = IsInt(c.dtype()) ? DType::kI64 : DType::kF64;
  auto number = [&](const char* attr) {
    const double v = node.Get<double>(attr);
    if (type == DType::kF64) return c.Number(type, v);
    const auto whole = static_cast<absl::int128>(std::clamp(v, -0x1p66, 0x1p66));
    return graph->AddConstantInt(type, static_cast<int64_t>(absl::Int128Low64(whole)));
  };
  Value i = c.Cast(c.Iota(node.types[0].dims[0], 0, 1, DType::kI64), type);
  Value step = number("step"), start = number("start");
  return c.Results({c.Add(c.Mul(i, step), start)});
}

// The last number is `stop` itself, whatever the step rounds to.
Expansion ExpandLinspace(Graph* graph, const Node& node) {
  Calc c(graph, node);
  const int64_t num = node.Get<int64_t>("num");
  const double start = node.Get<double>("start"), stop = node.Get<double>("stop");
  const bool endpoint = node.Get<bool>("endpoint");
  const int64_t steps = endpoint ? num - 1 : num;
  Value i = c.Iota(Dim(num), 0, 1, DType::kI64);
  Value step = c.Number(DType::kF64, steps > 0 ? (stop - start) / static_cast<double>(steps) : 0);
  Value first = c.Number(DType::kF64, start);
  Value y = c.Add(c.Mul(c.Cast(i, DType::kF64), step), first);
  if (!endpoint || steps < 1) return c.Results({y});
  Value last = c.Apply(Op::kEqual, {i, graph->AddConstantInt(DType::kI64, steps)});
  return c.Results({c.Where(last, c.Number(DType::kF64, stop), y)});
}

}  // namespace jitfuse::internal
