// Expansions of statistics and of the normalisations by channels.
#include <cmath>
#include <utility>

#include "ir/expand_kit.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

// Of a reduction's attributes.
Pair ReduceAs(Calc* c, Op op, Value x) {
  const Node& node = c->node();
  return c->Reduce(op, x, node.Get<std::vector<int64_t>>("axes"), node.Get<bool>("keepdims"));
}

// As PyTorch: never a negative divisor.
Value Variance(Calc* c) {
  const double correction = c->node().Get<double>("correction");
  Value x = c->In(0);
  Value var = ReduceAs(c, Op::kMoments, x).second;
  if (correction == 0) return var;
  Value n =
      c->Count(x, c->node().Get<std::vector<int64_t>>("axes"), c->node().Get<bool>("keepdims"));
  Value rest = c->Apply(Op::kMaximum, {c->Sub(n, c->Number(correction)), c->Number(0)});
  return c->Mul(var, c->Div(n, rest));
}

Value Standardized(Calc* c, Value x, Value mean, Value var) {
  Value centred = c->Sub(x, mean), scale = c->InverseDeviation(var);
  return c->Mul(centred, scale);
}

}  // namespace

Expansion ExpandVar(Graph* graph, const Node& node) {
  Calc c(graph, node);
  return c.Results({Variance(&c)});
}

Expansion ExpandStd(Graph* graph, const Node& node) {
  Calc c(graph, node);
  return c.Results({c.Apply(Op::kSqrt, {Variance(&c)})});
}

namespace {

Expansion WithIndex(Graph* graph, const Node& node, Op value, Op index) {
  Calc c(graph, node);
  const int64_t axis = node.Get<int64_t>("axis");
  const bool keepdims = node.Get<bool>("keepdims");
  Value top = c.Reduce(value, node.in[0], {axis}, keepdims).first;
  return c.Results({top, c.Reduce(index, node.in[0], {axis}, keepdims).first});
}

Expansion OfAll(Graph* graph, const Node& node, Op op) {
  Calc c(graph, node);
  return c.Results({c.Apply(op, {node.in[0]})});
}

}  // namespace

Expansion ExpandMaxWithIndex(Graph* graph, const Node& node) {
  return WithIndex(graph, node, Op::kMax, Op::kArgmax);
}
Expansion ExpandMinWithIndex(Graph* graph, const Node& node) {
  return WithIndex(graph, node, Op::kMin, Op::kArgmin);
}
Expansion ExpandMaxOfAll(Graph* graph, const Node& node) { return OfAll(graph, node, Op::kMax); }
Expansion ExpandMinOfAll(Graph* graph, const Node& node) { return OfAll(graph, node, Op::kMin); }

Expansion ExpandCountNonzero(Graph* graph, const Node& node) {
  Calc c(graph, node);
  Value x = node.in[0];
  Value yes = c.dtype() == DType::kBool ? x : c.Apply(Op::kNotEqual, {x, c.Number(c.dtype(), 0)});
  return c.Results({ReduceAs(&c, Op::kSum, c.Cast(yes, DType::kI64)).first});
}

Expansion ExpandVectorNorm(Graph* graph, const Node& node) {
  Calc c(graph, node);
  const double ord = node.Get<double>("ord");
  Value x = c.In(0);
  Value size = c.Apply(Op::kAbs, {x});
  if (std::isinf(ord)) return c.Results({ReduceAs(&c, ord > 0 ? Op::kMax : Op::kMin, size).first});
  if (ord == 0) {
    Value yes = c.Apply(Op::kNotEqual, {x, c.Number(0)});
    return c.Results({ReduceAs(&c, Op::kSum, c.Cast(yes, c.compute())).first});
  }
  if (ord == 1) return c.Results({ReduceAs(&c, Op::kSum, size).first});
  if (ord == 2) {
    Value sum = ReduceAs(&c, Op::kSum, c.Apply(Op::kSquare, {x})).first;
    return c.Results({c.Apply(Op::kSqrt, {sum})});
  }
  Value sum = ReduceAs(&c, Op::kSum, c.Apply(Op::kPow, {size, c.Number(ord)})).first;
  return c.Results({c.Apply(Op::kPow, {sum, c.Number(1 / ord)})});
}

Expansion ExpandGroupNorm(Graph* graph, const Node& node) {
  Calc c(graph, node);
  const Shape dims = node.types[0].dims;
  const Dim groups(node.Get<int64_t>("groups"));
  Dim inner = *dims[1].DivExact(groups);
  for (size_t i = 2; i < dims.size(); ++i) inner = inner * dims[i];
  Value x = c.Reshape(c.In(0), {dims[0], groups, inner});
  auto [mean, var] = c.Reduce(Op::kMoments, x, {2}, true);
  Value y = Standardized(&c, x, mean, var);
  return c.Results({c.Affine(c.Reshape(y, dims), 1, 2, 1)});
}

Expansion ExpandInstanceNorm(Graph* graph, const Node& node) {
  Calc c(graph, node);
  std::vector<int64_t> axes;
  for (size_t i = 2; i < node.types[0].dims.size(); ++i) axes.push_back(static_cast<int64_t>(i));
  Value x = c.In(0);
  auto [mean, var] = c.Reduce(Op::kMoments, x, axes, true);
  return c.Results({c.Affine(Standardized(&c, x, mean, var), 1, 2, 1)});
}

Expansion ExpandBatchNorm(Graph* graph, const Node& node) {
  Calc c(graph, node);
  const auto axis = static_cast<size_t>(node.Get<int64_t>("axis"));
  const size_t rank = node.types[0].dims.size();
  Value x = c.In(0), mean = c.Along(c.In(1), axis, rank);
  Value centred = c.Sub(x, mean);
  Value scale = c.InverseDeviation(c.Along(c.In(2), axis, rank));
  return c.Results({c.Affine(c.Mul(centred, scale), 3, 4, axis)});
}

// Results: y, the batch's mean and biased variance, and the running ones, whose variance is the
// unbiased one as in PyTorch.
Expansion ExpandBatchNormTraining(Graph* graph, const Node& node) {
  Calc c(graph, node);
  const int64_t axis = node.Get<int64_t>("axis");
  const size_t rank = node.types[0].dims.size();
  const double momentum = node.Get<double>("momentum");
  Value x = c.In(0);
  const std::vector<int64_t> axes = AxesBut(rank, axis);
  auto [mean, var] = c.Reduce(Op::kMoments, x, axes, true);
  Value y = c.Affine(Standardized(&c, x, mean, var), 3, 4, static_cast<size_t>(axis));
  Value n = c.Count(x, axes, true);
  Value unbiased = c.Mul(var, c.Div(n, c.Sub(n, c.Number(1))));
  const Shape channels = node.types[1].dims;
  auto follow = [&](size_t running, Value now) {
    Value before = c.In(running), kept = c.Number(1 - momentum);
    before = c.Mul(before, kept);
    Value here = c.Reshape(now, channels), share = c.Number(momentum);
    here = c.Mul(here, share);
    return c.Add(before, here);
  };
  return c.Results({y, c.Reshape(mean, channels), c.Reshape(var, channels), follow(1, mean),
                    follow(2, unbiased)});
}

}  // namespace jitfuse::internal
