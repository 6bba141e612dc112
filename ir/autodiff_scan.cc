// Rules of scans. What reaches element i of the operand comes from the results behind it: scans the
// other way. Declared in autodiff_rules.h.
#include <limits>
#include <utility>

#include "ir/autodiff_rules.h"
#include "ir/op_enum.h"

namespace jitfuse::internal {
namespace {

struct Direction {
  int64_t axis;
  bool exclusive, reverse;
};
Direction DirectionOf(const GradRule& r) {
  return {r.node().Get<int64_t>("axis"), r.node().Get<bool>("exclusive"),
          r.node().Get<bool>("reverse")};
}
Direction Back(Direction d) { return {d.axis, d.exclusive, !d.reverse}; }

Value Scan(GradRule& r, Op op, Value x, Direction d) {
  return r.Apply(op, {x}, {{"axis", d.axis}, {"exclusive", d.exclusive}, {"reverse", d.reverse}});
}

}  // namespace

void GradCumsum(GradRule& r) { r.Give(0, Scan(r, Op::kCumsum, r.G(), Back(DirectionOf(r)))); }

// Before the first 0 it is the scan of g * y, divided by x; at that 0 the scan of g times the
// products without it; behind it nothing.
void GradCumprod(GradRule& r) {
  const Direction d = DirectionOf(r);
  Value x = r.In(0), g = r.G(), zero = r.Number(0);
  Value is_zero = r.Apply(Op::kEqual, {x, zero});
  Value zeros = Scan(r, Op::kCumsum, r.Cast(is_zero, DType::kI64), {d.axis, false, d.reverse});
  Value one = r.Number(DType::kI64, 1);
  Value is_first = r.Apply(Op::kLogicalAnd, {is_zero, r.Apply(Op::kEqual, {zeros, one})});
  Value without = Scan(r, Op::kCumprod, r.Where(is_first, r.Number(1), x), d);
  Value at_first = Scan(r, Op::kCumsum, r.Mul(g, without), Back(d));
  Value ahead = Scan(r, Op::kCumsum, r.Mul(g, r.Out()), Back(d));
  Value none_yet = r.Apply(Op::kLess, {zeros, one});
  ahead = r.Div(ahead, r.Where(none_yet, x, r.Number(1)));
  at_first = r.Where(is_first, at_first, zero);
  r.Give(0, r.Where(none_yet, ahead, at_first));
}

namespace {

// As PyTorch: of equal values the latest counts, and of NaNs.
void GradRunningExtreme(GradRule& r, Op op) {
  const Direction d = DirectionOf(r);
  const auto axis = static_cast<size_t>(d.axis);
  Value x = r.In(0), g = r.G();
  if (!r.ok()) return;
  const Shape dims = r.Type(x).dims;
  if (dims[axis].Is(0)) return;
  if (d.reverse) {
    x = r.Flip(x, axis);
    g = r.Flip(g, axis);
  }
  if (d.exclusive)
    g = r.PadAlong(r.Slice(g, axis, 1, std::numeric_limits<int64_t>::max()), axis, Dim(0), Dim(1));
  Value y = Scan(r, op, x, {d.axis, false, false});
  Value is_top = r.Apply(Op::kLogicalOr, {r.Apply(Op::kEqual, {x, y}), r.Apply(Op::kIsNan, {x})});
  Value at = r.Iota(dims[axis], axis, dims.size(), DType::kI64);
  at = r.Where(is_top, at, r.Number(DType::kI64, 0));
  at = Scan(r, Op::kCummax, at, {d.axis, false, false});
  Value sum = r.Apply(Op::kScatterAdd, {r.Fill(r.compute(), 0, dims), at, g}, {{"axis", d.axis}});
  r.Give(0, d.reverse ? r.Flip(sum, axis) : sum);
}

}  // namespace

void GradCummax(GradRule& r) { GradRunningExtreme(r, Op::kCummax); }
void GradCummin(GradRule& r) { GradRunningExtreme(r, Op::kCummin); }

// exp(x) times the scan of g * exp(-y): of the positive and of the negative part of g, in
// logarithms, as PyTorch.
void GradLogcumsumexp(GradRule& r) {
  const Direction d = DirectionOf(r);
  Value x = r.In(0), g = r.G(), y = r.Out();
  Value zero = r.Number(0), one = r.Number(1);
  Value low = r.Number(-std::numeric_limits<double>::infinity());
  auto part = [&](Value v) {
    Value some = r.Apply(Op::kGreater, {v, zero});
    Value log = r.Apply(Op::kLog, {r.Where(some, v, one)});
    log = r.Where(some, r.Sub(log, y), low);
    return r.Exp(r.Add(Scan(r, Op::kLogcumsumexp, log, Back(d)), x));
  };
  Value up = part(g);
  Value down = part(r.Neg(g));
  r.Give(0, r.Sub(up, down));
}

}  // namespace jitfuse::internal
