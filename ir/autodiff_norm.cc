// Rules of normalisations, by their closed forms. Statistics and standardised values are spelled as
// the expansions spell them (ir/expand.cc, ir/expand_norm.cc), so that forward and backward in one
// graph compute them once. Declared in autodiff_rules.h.
#include <utility>

#include "ir/autodiff_rules.h"
#include "ir/op_enum.h"

namespace jitfuse::internal {
namespace {

using Ints = std::vector<int64_t>;

// y = from * scale over `axes`, where from is x - mean, or x without `centred`.
struct Standard {
  Ints axes;
  Value from, scale, y;
  bool centred = true;
};

Ints LastAxes(size_t rank, int64_t count) {
  Ints axes;
  for (int64_t i = static_cast<int64_t>(rank) - count; i < static_cast<int64_t>(rank); ++i)
    axes.push_back(i);
  return axes;
}

Standard Standardize(GradRule& r, Value x, Ints axes) {
  auto [mean, var] = r.Reduce(Op::kMoments, x, axes, true);
  Value centred = r.Sub(x, mean);
  Value scale = r.InverseDeviation(var);
  return {std::move(axes), centred, scale, r.Mul(centred, scale), true};
}

Value Mean(GradRule& r, Value v, const Ints& axes) {
  return r.Reduce(Op::kMean, v, axes, true).first;
}

// A mean of gradients as a sum, which a mean with its care for sums that overflow takes twice.
Value MeanOfGradients(GradRule& r, Value v, const Ints& axes) {
  if (!r.ok()) return v;
  Dim n(1);
  for (int64_t axis : axes) n = n * r.Type(v).dims[static_cast<size_t>(axis)];
  if (!n.IsConstant()) return Mean(r, v, axes);
  Value sum = r.Sum(v, axes, true);
  return r.Div(sum, r.Number(static_cast<double>(n.constant())));
}

// The gradient of x where that of y is g: scale * (g - mean(g) - y * mean(g * y)). The second mean
// is taken of what is not yet scaled, so that one pass over a row finds it and the deviation.
Value Unstandardize(GradRule& r, const Standard& s, Value g) {
  Value dot = MeanOfGradients(r, r.Mul(g, s.from), s.axes);
  Value along = r.Mul(s.y, r.Mul(dot, s.scale));
  if (s.centred) g = r.Sub(g, MeanOfGradients(r, g, s.axes));
  return r.Mul(s.scale, r.Sub(g, along));
}

// y of operand 0's shape -> gradients of a weight and a bias that multiply and shift it; in the
// shape of y: the operands' own broadcasting sums them.
void GiveAffine(GradRule& r, Value y, size_t weight, size_t bias, const Ints& axes) {
  auto give = [&](size_t operand, Value v) {
    if (!r.Wants(operand)) return;
    v = axes.empty() ? v : r.Sum(v, axes, false);
    r.Give(operand, r.ok() ? r.Reshape(v, r.Type(r.Operand(operand)).dims) : v);
  };
  if (r.Wants(weight)) give(weight, r.Mul(r.G(), y));
  if (r.Wants(bias)) give(bias, r.G());
}

}  // namespace

void GradSoftmax(GradRule& r) {
  const bool row = !r.node().types[0].dims.empty();
  Value g = r.G(), y = r.Out();
  Value dot = r.Mul(g, y);
  if (row) dot = r.Sum(dot, {r.node().Get<int64_t>("axis")}, true);
  r.Give(0, r.Mul(y, r.Sub(g, dot)));
}

void GradLogSoftmax(GradRule& r) {
  const bool row = !r.node().types[0].dims.empty();
  Value g = r.G(), p = r.Exp(r.Out());
  Value sum = row ? r.Sum(g, {r.node().Get<int64_t>("axis")}, true) : g;
  r.Give(0, r.Sub(g, r.Mul(p, sum)));
}

namespace {

// Norms over the last dims, whose weight and bias have the shape of those.
void GradRowNorm(GradRule& r, const Standard& s) {
  const size_t rank = r.node().types[0].dims.size();
  Ints batch;
  for (size_t i = 0; i + s.axes.size() < rank; ++i) batch.push_back(static_cast<int64_t>(i));
  Value g = r.G();
  if (r.Wants(0)) {
    if (r.Has(1)) g = r.Mul(g, r.In(1));
    r.Give(0, Unstandardize(r, s, g));
  }
  GiveAffine(r, s.y, 1, 2, batch);
}

// Norms whose weight and bias are vectors along `axis`.
void GradChannelNorm(GradRule& r, const Standard& s, size_t weight, size_t bias, int64_t axis) {
  const Shape dims = r.node().types[0].dims;
  if (!r.ok()) return;
  const Shape inner = r.Type(s.y).dims;
  if (r.Wants(0)) {
    Value g = r.G();
    if (r.Has(weight)) g = r.Mul(g, r.Along(r.In(weight), static_cast<size_t>(axis), dims.size()));
    r.Give(0, r.Reshape(Unstandardize(r, s, r.Reshape(g, inner)), dims));
  }
  GiveAffine(r, r.Reshape(s.y, dims), weight, bias, AxesBut(dims.size(), axis));
}

}  // namespace

void GradLayerNorm(GradRule& r) {
  GradRowNorm(
      r, Standardize(r, r.In(0),
                     LastAxes(r.node().types[0].dims.size(), r.node().Get<int64_t>("norm_dims"))));
}

void GradRmsNorm(GradRule& r) {
  Ints axes = LastAxes(r.node().types[0].dims.size(), r.node().Get<int64_t>("norm_dims"));
  Value x = r.In(0);
  Value mean_square = Mean(r, r.Apply(Op::kSquare, {x}), axes);
  Value scale = r.InverseDeviation(mean_square);
  GradRowNorm(r, {std::move(axes), x, scale, r.Mul(x, scale), false});
}

void GradGroupNorm(GradRule& r) {
  const Shape dims = r.node().types[0].dims;
  const Dim groups(r.node().Get<int64_t>("groups"));
  Dim inner = *dims[1].DivExact(groups);
  for (size_t i = 2; i < dims.size(); ++i) inner = inner * dims[i];
  Value x = r.Reshape(r.In(0), {dims[0], groups, inner});
  GradChannelNorm(r, Standardize(r, x, {2}), 1, 2, 1);
}

void GradInstanceNorm(GradRule& r) {
  const size_t rank = r.node().types[0].dims.size();
  GradChannelNorm(r, Standardize(r, r.In(0), LastAxes(rank, static_cast<int64_t>(rank) - 2)), 1, 2,
                  1);
}

// The batch's statistics are results too, as they are and within the running ones.
void GradBatchNormTraining(GradRule& r) {
  const int64_t axis = r.node().Get<int64_t>("axis");
  const size_t rank = r.node().types[0].dims.size();
  const double momentum = r.node().Get<double>("momentum");
  const Ints axes = AxesBut(rank, axis);
  Value x = r.In(0), n = r.Count(x, axes, true);
  if (r.HasG(0)) GradChannelNorm(r, Standardize(r, x, axes), 3, 4, axis);
  auto along = [&](size_t result) { return r.Along(r.G(result), static_cast<size_t>(axis), rank); };
  // The cotangents of mean and variance, each from two results.
  auto total = [&](size_t own, size_t running, Value share) -> Value {
    Value sum;
    if (r.HasG(own)) sum = along(own);
    if (r.HasG(running)) {
      Value part = r.Mul(along(running), share);
      sum = sum.node < 0 ? part : r.Add(sum, part);
    }
    return sum;
  };
  Value of_mean = total(1, 3, r.Number(momentum));
  Value unbiased = r.Div(n, r.Sub(n, r.Number(1)));
  Value of_var = total(2, 4, r.Mul(unbiased, r.Number(momentum)));
  if (r.Wants(0) && of_mean.node >= 0) {
    const Shape dims = r.Type(r.Operand(0)).dims;
    r.Give(0, r.Apply(Op::kBroadcast, {r.Div(of_mean, n)},
                      {{"shape", std::vector<Dim>(dims.begin(), dims.end())}}));
  }
  if (r.Wants(0) && of_var.node >= 0) {
    Value mean = r.Reduce(Op::kMoments, x, axes, true).first;
    Value g = r.Div(r.Mul(of_var, r.Number(2)), n);
    r.Give(0, r.Mul(g, r.Sub(x, mean)));
  }
  for (size_t running : {size_t{1}, size_t{2}}) {
    if (!r.HasG(running + 2)) continue;
    Value g = r.G(running + 2);
    r.Give(running, r.Mul(g, r.Number(1 - momentum)));
  }
}

}  // namespace jitfuse::internal
