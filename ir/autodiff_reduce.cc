// Rules of reductions and norms. Declared in autodiff_rules.h.
#include <cmath>
#include <limits>
#include <utility>

#include "ir/autodiff_rules.h"
#include "ir/op_enum.h"

namespace jitfuse::internal {
namespace {

using Ints = std::vector<int64_t>;

// A reduction's results in the shape that keeps the reduced axes.
class Kept {
 public:
  explicit Kept(GradRule* r) : r_(r), axes_(r->node().Get<Ints>("axes")) {
    dims_ = r->Type(r->Operand(0)).dims;
    for (int64_t axis : axes_) dims_[static_cast<size_t>(axis)] = Dim(1);
  }
  const Ints& axes() const { return axes_; }
  Value G(size_t result = 0) { return r_->Reshape(r_->G(result), dims_); }
  Value Out(size_t result = 0) { return r_->Reshape(r_->Out(result), dims_); }
  Value Sum(Value v) { return r_->Sum(v, axes_, true); }
  Value Count(Value x) { return r_->Count(x, axes_, true); }

 private:
  GradRule* r_;
  Ints axes_;
  Shape dims_;
};

// g, shared equally by the elements that are the top, of which there are `ties`.
Value Share(GradRule& r, Value is_top, Value ties, Value g) {
  Value share = r.Where(is_top, g, r.Number(0));
  return r.Div(share, ties);
}

// As amax: NaN where no element is equal to `top`, which is where top is NaN.
Value ShareTies(GradRule& r, Kept& kept, Value x, Value top, Value g) {
  Value is_top = r.Apply(Op::kEqual, {x, top});
  return Share(r, is_top, kept.Sum(r.Cast(is_top, r.compute())), g);
}

void GradExtreme(GradRule& r) {
  Kept kept(&r);
  Value x = r.In(0), top = kept.Out(), g = kept.G();
  r.Give(0, ShareTies(r, kept, x, top, g));
}

// Where the position is that of result 1.
void GradWithIndex(GradRule& r) {
  if (!r.HasG()) return;
  const auto axis = static_cast<size_t>(r.node().Get<int64_t>("axis"));
  Shape kept = r.Type(r.Operand(0)).dims;
  const size_t rank = kept.size();
  Value at = r.Iota(kept[axis], axis, rank, DType::kI64);
  kept[axis] = Dim(1);
  Value is_first = r.Apply(Op::kEqual, {at, r.Reshape(r.RawOut(1), kept)});
  Value g = r.Reshape(r.RawG(), kept);
  r.Give(0, r.Where(is_first, g, r.Number(r.dtype(), 0)));
}

// As PyTorch's max of all elements: NaNs are the top where there are some.
void GradOfAll(GradRule& r) {
  Value x = r.In(0), top = r.Out(), g = r.G();
  Value is_equal = r.Apply(Op::kEqual, {x, top});
  Value top_is_nan = r.Apply(Op::kIsNan, {top});
  Value is_nan = r.Apply(Op::kLogicalAnd, {top_is_nan, r.Apply(Op::kIsNan, {x})});
  Value is_top = r.Apply(Op::kLogicalOr, {is_equal, is_nan});
  r.Give(0, Share(r, is_top, r.SumAll(r.Cast(is_top, r.compute())), g));
}

}  // namespace

void GradMax(GradRule& r) { GradExtreme(r); }
void GradMin(GradRule& r) { GradExtreme(r); }
void GradMaxWithIndex(GradRule& r) { GradWithIndex(r); }
void GradMinWithIndex(GradRule& r) { GradWithIndex(r); }
void GradMaxOfAll(GradRule& r) { GradOfAll(r); }
void GradMinOfAll(GradRule& r) { GradOfAll(r); }

// The product of all others, by products from both ends: right also where elements are 0.
void GradProd(GradRule& r) {
  const Shape dims = r.Type(r.Operand(0)).dims;
  const Ints& axes = r.node().Get<Ints>("axes");
  Kept kept(&r);
  if (axes.empty()) return r.Give(0, r.G());
  // The reduced axes come last, as one.
  Ints perm, back(dims.size());
  for (size_t i = 0, next = 0; i < dims.size(); ++i) {
    if (next < axes.size() && axes[next] == static_cast<int64_t>(i)) {
      ++next;
    } else {
      perm.push_back(static_cast<int64_t>(i));
    }
  }
  const size_t rows = perm.size();
  perm.insert(perm.end(), axes.begin(), axes.end());
  for (size_t i = 0; i < perm.size(); ++i)
    back[static_cast<size_t>(perm[i])] = static_cast<int64_t>(i);
  Value x = r.Apply(Op::kTranspose, {r.In(0)}, {{"perm", perm}});
  if (!r.ok()) return;
  const Shape moved = r.Type(x).dims;
  Shape flat(moved.begin(), moved.begin() + static_cast<long>(rows));
  flat.push_back(NumElements(absl::MakeConstSpan(moved).subspan(rows)));
  x = r.Reshape(x, flat);
  const auto along = static_cast<int64_t>(rows);
  Value before = r.Apply(Op::kCumprod, {x}, {{"axis", along}, {"exclusive", true}});
  Value behind =
      r.Apply(Op::kCumprod, {x}, {{"axis", along}, {"exclusive", true}, {"reverse", true}});
  Value others = r.Reshape(r.Mul(before, behind), moved);
  others = r.Apply(Op::kTranspose, {others}, {{"perm", back}});
  r.Give(0, r.Mul(kept.G(), others));
}

// Results m and s = sum(exp(x - m)): m moves s too, by -s.
void GradMaxSumexp(GradRule& r) {
  Kept kept(&r);
  const double infinity = std::numeric_limits<double>::infinity();
  Value x = r.In(0), m = kept.Out(0), of_max;
  if (r.HasG(1)) {
    Value g = kept.G(1);
    Value low = r.Apply(Op::kEqual, {m, r.Number(-infinity)});
    Value shift = r.Where(low, r.Number(0), m);
    Value e = r.Exp(r.Sub(x, shift));
    r.Give(0, r.Mul(g, e));
    of_max = r.Neg(r.Mul(g, kept.Out(1)));
  }
  if (r.HasG(0)) {
    Value g = kept.G(0);
    of_max = r.HasG(1) ? r.Add(g, of_max) : g;
  }
  r.Give(0, ShareTies(r, kept, x, m, of_max));
}

void GradMoments(GradRule& r) {
  Kept kept(&r);
  Value x = r.In(0), n = kept.Count(x);
  if (r.HasG(0)) {
    const Shape dims = r.Type(r.Operand(0)).dims;
    Value g = r.Div(kept.G(0), n);
    r.Give(0,
           r.Apply(Op::kBroadcast, {g}, {{"shape", std::vector<Dim>(dims.begin(), dims.end())}}));
  }
  if (r.HasG(1)) {
    Value g = kept.G(1), two = r.Number(2);
    g = r.Div(r.Mul(g, two), n);
    r.Give(0, r.Mul(g, r.Sub(x, kept.Out(0))));
  }
}

// As PyTorch: 0 where the deviation is 0.
void GradStd(GradRule& r) {
  Kept kept(&r);
  const double correction = r.node().Get<double>("correction");
  Value x = r.In(0);
  Value mean = r.Reduce(Op::kMoments, x, kept.axes(), true).first;
  Value n = kept.Count(x);
  if (correction != 0) n = r.Apply(Op::kMaximum, {r.Sub(n, r.Number(correction)), r.Number(0)});
  Value out = kept.Out(), zero = r.Number(0), g = kept.G();
  g = r.Div(g, r.Mul(out, n));
  g = r.Where(r.Apply(Op::kEqual, {out, zero}), zero, g);
  r.Give(0, r.Mul(g, r.Sub(x, mean)));
}

void GradLogsumexp(GradRule& r) {
  Kept kept(&r);
  Value x = r.In(0), g = kept.G();
  r.Give(0, r.Mul(g, r.Exp(r.Sub(x, kept.Out()))));
}

// As PyTorch: 0 where the norm is 0, and for ord < 1 where the element is.
void GradVectorNorm(GradRule& r) {
  const double ord = r.node().Get<double>("ord");
  if (ord == 0) return;
  Kept kept(&r);
  Value x = r.In(0), g = kept.G(), zero = r.Number(0);
  Value sign = r.Apply(Op::kSign, {x});
  if (ord == 1) return r.Give(0, r.Mul(sign, g));
  Value out = kept.Out();
  Value size = r.Apply(Op::kAbs, {x});
  if (std::isinf(ord)) return r.Give(0, r.Mul(sign, ShareTies(r, kept, size, out, g)));
  Value is_zero = r.Apply(Op::kEqual, {out, zero});
  if (ord == 2) return r.Give(0, r.Mul(x, r.Where(is_zero, zero, r.Div(g, out))));
  Value power = r.Number(ord - 1);
  Value scale = r.Div(g, r.Apply(Op::kPow, {out, power}));
  scale = r.Where(is_zero, zero, scale);
  Value of_element = r.Apply(Op::kPow, {size, power});
  if (ord < 1) of_element = r.Where(r.Apply(Op::kEqual, {x, zero}), zero, of_element);
  r.Give(0, r.Mul(r.Mul(sign, of_element), scale));
}

}  // namespace jitfuse::internal
