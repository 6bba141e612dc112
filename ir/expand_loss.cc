// Expansions of losses.
#include <limits>
#include <utility>

#include "ir/class_loss.h"
#include "ir/expand_kit.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

enum Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2, kBatchMean = 3 };

// The loss of each element, reduced as the attribute says.
Expansion Reduced(Calc* c, Value loss) {
  const int64_t reduction = c->node().Get<int64_t>("reduction");
  if (!c->ok() || reduction == kNone) return c->Results({loss});
  if (reduction == kMean) return c->Results({c->Apply(Op::kMean, {loss})});
  Value sum = c->SumAll(loss);
  if (reduction == kSum) return c->Results({sum});
  const Shape dims = c->Dims(loss);
  if (dims.empty()) return c->Results({sum});
  return c->Results({c->Div(sum, c->Size(dims[0], c->compute()))});
}

Value Difference(Calc* c) {
  Value x = c->In(0), y = c->In(1);
  return c->Sub(x, y);
}
Value AbsDifference(Calc* c) { return c->Apply(Op::kAbs, {Difference(c)}); }

}  // namespace

ClassRows::ClassRows(Calc* c, const Graph& graph)
    : c_(c), axis_(c->node().Get<int64_t>("axis")), dims_(graph.type(c->node().in[0]).dims) {
  const auto axis = static_cast<size_t>(axis_);
  Shape rows = dims_;
  rows[axis] = Dim(1);
  Value target = c->Cast(c->Reshape(c->node().in[1], rows), DType::kI64);
  const Dim count = dims_[axis];
  const bool narrow = count.IsConstant() && count.constant() < (int64_t{1} << 31);
  const DType index = narrow ? DType::kI32 : DType::kI64;
  Value last = narrow ? c->Number(DType::kI64, static_cast<double>(count.constant() - 1))
                      : c->Apply(Op::kMax, {c->Iota(count, axis, dims_.size(), DType::kI64)});
  Value zero = c->Number(DType::kI64, 0);
  used_ = c->Apply(
      Op::kNotEqual,
      {target,
       c->Number(DType::kI64, static_cast<double>(c->node().Get<int64_t>("ignore_index")))});
  valid_ = c->Apply(Op::kLogicalAnd, {c->Apply(Op::kGreaterEqual, {target, zero}),
                                      c->Apply(Op::kLessEqual, {target, last})});
  Value at = c->Cast(c->Where(valid_, target, zero), index);
  hot_ = c->Apply(Op::kEqual, {at, c->Iota(count, axis, dims_.size(), index)});
}

Value ClassRows::Total(Value weight) {
  Value counts =
      weight.node < 0 ? c_->Cast(used_, c_->compute()) : c_->Where(used_, weight, c_->Number(0));
  return c_->SumAll(counts);
}

Expansion ClassRows::Finish(Value loss, Value weight) {
  Value nan = c_->Number(std::numeric_limits<double>::quiet_NaN()), zero = c_->Number(0);
  loss = c_->Where(used_, c_->Where(valid_, loss, nan), zero);
  const int64_t reduction = c_->node().Get<int64_t>("reduction");
  if (reduction == kNone) {
    Shape dims = dims_;
    dims.erase(dims.begin() + axis_);
    return c_->Results({c_->Reshape(loss, dims)});
  }
  Value sum = c_->SumAll(loss);
  if (reduction == kSum) return c_->Results({sum});
  return c_->Results({c_->Div(sum, Total(weight))});
}

Value ClassRows::RowCotangent(Value g, Value weight) {
  const int64_t reduction = c_->node().Get<int64_t>("reduction");
  if (reduction == kNone) {
    Shape rows = dims_;
    rows[static_cast<size_t>(axis_)] = Dim(1);
    g = c_->Reshape(g, rows);
  }
  if (reduction == kMean) g = c_->Div(g, Total(weight));
  Value counts = c_->Apply(Op::kLogicalAnd, {used_, valid_});
  return c_->Where(counts, g, c_->Number(0));
}

Expansion ExpandMseLoss(Graph* graph, const Node& node) {
  Calc c(graph, node);
  return Reduced(&c, c.Apply(Op::kSquare, {Difference(&c)}));
}

Expansion ExpandL1Loss(Graph* graph, const Node& node) {
  Calc c(graph, node);
  return Reduced(&c, AbsDifference(&c));
}

Expansion ExpandSmoothL1Loss(Graph* graph, const Node& node) {
  Calc c(graph, node);
  const double beta = node.Get<double>("beta");
  Value d = AbsDifference(&c);
  if (beta == 0) return Reduced(&c, d);
  Value half = c.Number(0.5), width = c.Number(beta);
  Value near = c.Div(c.Mul(c.Mul(d, d), half), width);
  Value is_near = c.Apply(Op::kLess, {d, width});
  return Reduced(&c, c.Where(is_near, near, c.Sub(d, c.Number(0.5 * beta))));
}

Expansion ExpandHuberLoss(Graph* graph, const Node& node) {
  Calc c(graph, node);
  const double delta = node.Get<double>("delta");
  Value d = AbsDifference(&c);
  Value half = c.Number(0.5), width = c.Number(delta);
  Value near = c.Mul(c.Mul(d, d), half);
  Value far = c.Mul(c.Sub(d, c.Number(0.5 * delta)), width);
  return Reduced(&c, c.Where(c.Apply(Op::kLessEqual, {d, width}), near, far));
}

// Logarithms are kept above -100, as in PyTorch.
Expansion ExpandBceLoss(Graph* graph, const Node& node) {
  Calc c(graph, node);
  Value x = c.In(0), t = c.In(1), least = c.Number(-100);
  Value yes = c.Apply(Op::kMaximum, {c.Apply(Op::kLog, {x}), least});
  Value no = c.Apply(Op::kMaximum, {c.Apply(Op::kLog1p, {c.Apply(Op::kNegative, {x})}), least});
  Value of_no = c.Mul(c.Sub(t, c.Number(1)), no), of_yes = c.Mul(t, yes);
  Value loss = c.Sub(of_no, of_yes);
  if (c.Has(2)) loss = c.Mul(loss, c.In(2));
  return Reduced(&c, loss);
}

// (1 - t) x + (1 + (pos_weight - 1) t) softplus(-x).
Expansion ExpandBceWithLogitsLoss(Graph* graph, const Node& node) {
  Calc c(graph, node);
  Value x = c.In(0), t = c.In(1);
  Value soft = c.Apply(Op::kSoftplus, {c.Apply(Op::kNegative, {x})});
  if (c.Has(3)) {
    Value pos_weight = c.In(3), one = c.Number(1);
    Value extra = c.Mul(c.Sub(pos_weight, one), t);
    soft = c.Mul(soft, c.Add(extra, one));
  }
  Value loss = c.Add(c.Mul(c.Sub(c.Number(1), t), x), soft);
  if (c.Has(2)) loss = c.Mul(loss, c.In(2));
  return Reduced(&c, loss);
}

Expansion ExpandKlDivLoss(Graph* graph, const Node& node) {
  Calc c(graph, node);
  Value x = c.In(0), t = c.In(1);
  if (node.Get<bool>("log_target")) {
    Value target = c.Apply(Op::kExp, {t}), distance = c.Sub(t, x);
    return Reduced(&c, c.Mul(target, distance));
  }
  Value entropy = c.Apply(Op::kXlogy, {t, t}), cross = c.Mul(t, x);
  return Reduced(&c, c.Sub(entropy, cross));
}

Expansion ExpandNllLoss(Graph* graph, const Node& node) {
  Calc c(graph, node);
  ClassRows classes(&c, *graph);
  Value loss = c.Apply(Op::kNegative, {classes.Pick(c.In(0))});
  if (!c.Has(2)) return classes.Finish(loss, {});
  Value weight = classes.Pick(classes.Weights());
  return classes.Finish(c.Mul(loss, weight), weight);
}

// -log softmax(x) at the target is log(sum exp(x - m)) - (x_target - m).
Expansion ExpandCrossEntropy(Graph* graph, const Node& node) {
  Calc c(graph, node);
  ClassRows classes(&c, *graph);
  Value x = c.In(0);
  auto [m, s] = c.Reduce(Op::kMaxSumexp, x, {node.Get<int64_t>("axis")}, true);
  Value log_sum = c.Apply(Op::kLog, {s});
  Value loss = c.Sub(log_sum, c.Sub(classes.Pick(x), m));
  Value weight;
  if (c.Has(2)) {
    weight = classes.Pick(classes.Weights());
    loss = c.Mul(loss, weight);
  }
  const double smoothing = node.Get<double>("label_smoothing");
  if (smoothing > 0) {
    Value all = c.Sub(log_sum, c.Sub(x, m));
    if (c.Has(2)) all = c.Mul(all, classes.Weights());
    Value sum = classes.SumRow(all), count = classes.NumClasses(x);
    Value mean = c.Div(sum, count);
    loss = c.Mul(loss, c.Number(1 - smoothing));
    mean = c.Mul(mean, c.Number(smoothing));
    loss = c.Add(loss, mean);
  }
  return classes.Finish(loss, weight);
}

}  // namespace jitfuse::internal
