// Rules of losses whose expansion would lose numbers or read a row again; the others are
// differentiated as they expand. Declared in autodiff_rules.h.
#include <utility>

#include "ir/autodiff_rules.h"
#include "ir/class_loss.h"
#include "ir/op_enum.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

enum Reduction : int64_t { kNone = 0, kMean = 1, kSum = 2, kBatchMean = 3 };

// The cotangent of each element's loss: a mean is over the dims of all operands together.
Value ElementG(GradRule& r) {
  const int64_t reduction = r.node().Get<int64_t>("reduction");
  if (reduction == kNone || reduction == kSum) return r.G();
  Value all = r.In(0);
  for (size_t i = 1; i < r.node().in.size(); ++i) all = r.Add(all, r.In(i));
  if (!r.ok()) return {};
  const Shape dims = r.Type(all).dims;
  Value g = r.G();
  if (reduction == kBatchMean && dims.empty()) return g;
  return r.Div(g, r.Size(reduction == kMean ? NumElements(dims) : dims[0], r.compute()));
}

}  // namespace

// As PyTorch: the divisor is kept above 1e-12.
void GradBceLoss(GradRule& r) {
  Value g = ElementG(r);
  Value x = r.In(0), t = r.In(1), one = r.Number(1), least = r.Number(-100);
  Value weighted = r.Has(2) ? r.Mul(g, r.In(2)) : g;
  if (r.Wants(0)) {
    Value spread = r.Mul(r.Sub(one, x), x);
    spread = r.Apply(Op::kMaximum, {spread, r.Number(1e-12)});
    r.Give(0, r.Div(r.Mul(weighted, r.Sub(x, t)), spread));
  }
  if (!r.Wants(1) && !r.Wants(2)) return;
  Value yes = r.Apply(Op::kMaximum, {r.Apply(Op::kLog, {x}), least});
  Value no = r.Apply(Op::kMaximum, {r.Apply(Op::kLog1p, {r.Neg(x)}), least});
  if (r.Wants(1)) r.Give(1, r.Mul(weighted, r.Sub(no, yes)));
  if (r.Wants(2)) {
    Value of_no = r.Mul(r.Sub(t, one), no), of_yes = r.Mul(t, yes);
    r.Give(2, r.Mul(g, r.Sub(of_no, of_yes)));
  }
}

// Of (1 - t) x + (1 + (p - 1) t) softplus(-x): (1 - t + p t) sigmoid(x) - p t, with no cancellation
// where x is far from 0.
void GradBceWithLogitsLoss(GradRule& r) {
  Value g = ElementG(r);
  Value x = r.In(0), t = r.In(1), one = r.Number(1);
  Value positive = r.Has(3) ? r.Mul(r.In(3), t) : t;
  Value weighted = r.Has(2) ? r.Mul(g, r.In(2)) : g;
  if (r.Wants(0)) {
    Value s = r.Apply(Op::kSigmoid, {x});
    if (r.Has(3)) s = r.Mul(r.Add(r.Sub(one, t), positive), s);
    r.Give(0, r.Mul(weighted, r.Sub(s, positive)));
  }
  if (!r.Wants(1) && !r.Wants(2) && !r.Wants(3)) return;
  Value soft = r.Apply(Op::kSoftplus, {r.Neg(x)});
  if (r.Wants(1)) {
    Value slope = r.Neg(x);
    if (r.Has(3)) slope = r.Add(slope, r.Mul(r.Sub(r.In(3), one), soft));
    r.Give(1, r.Mul(weighted, slope));
  }
  if (r.Wants(2)) {
    Value rest = r.Mul(r.Sub(one, t), x);
    Value factor = r.Has(3) ? r.Add(r.Sub(one, t), positive) : one;
    r.Give(2, r.Mul(g, r.Add(rest, r.Mul(factor, soft))));
  }
  if (r.Wants(3)) r.Give(3, r.Mul(weighted, r.Mul(t, soft)));
}

// As PyTorch: 0 where the target is 0.
void GradKlDivLoss(GradRule& r) {
  Value g = ElementG(r);
  Value x = r.In(0), t = r.In(1), one = r.Number(1), zero = r.Number(0);
  if (r.node().Get<bool>("log_target")) {
    Value of_target = r.Mul(g, r.Exp(t));
    r.Give(0, r.Neg(of_target));
    r.Give(1, r.Mul(of_target, r.Add(r.Sub(t, x), one)));
    return;
  }
  r.Give(0, r.Neg(r.Mul(g, t)));
  if (!r.Wants(1)) return;
  Value some = r.Apply(Op::kGreater, {t, zero});
  Value log = r.Apply(Op::kLog, {r.Where(some, t, one)});
  Value slope = r.Sub(r.Add(log, one), x);
  r.Give(1, r.Mul(g, r.Where(some, slope, zero)));
}

// Softmax less the smoothed target, by the row's weight. The weights' own gradient is that of the
// expansion.
void GradCrossEntropy(GradRule& r) {
  if (r.Wants(2)) return r.UseExpansion();
  ClassRows rows(&r, *r.graph());
  const double smoothing = r.node().Get<double>("label_smoothing");
  Value x = r.In(0);
  auto [m, s] = r.Reduce(Op::kMaxSumexp, x, {r.node().Get<int64_t>("axis")}, true);
  Value weight;
  if (r.Has(2)) weight = rows.Pick(rows.Weights());
  Value g = rows.RowCotangent(r.G(), weight);
  Value e = r.Exp(r.Sub(x, m));
  Value p = r.Mul(e, r.Apply(Op::kReciprocal, {s}));
  Value miss = r.Sub(p, rows.Hot());
  if (r.Has(2)) miss = r.Mul(miss, weight);
  if (smoothing > 0) {
    Value count = rows.NumClasses(x), all;
    if (r.Has(2)) {
      all = r.Mul(p, rows.SumRow(rows.Weights()));
      all = r.Sub(all, rows.Weights());
    } else {
      all = r.Mul(p, count);
      all = r.Sub(all, r.Number(1));
    }
    miss = r.Mul(miss, r.Number(1 - smoothing));
    all = r.Div(all, count);
    all = r.Mul(all, r.Number(smoothing));
    miss = r.Add(miss, all);
  }
  r.Give(0, r.Mul(g, miss));
}

}  // namespace jitfuse::internal
