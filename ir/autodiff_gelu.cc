// Gradients of what holds the normal distribution: with an op of its own for the derivative of
// gelu, the results of 16 bits are rounded once and need no more than they show.
#include "ir/autodiff_rules.h"
#include "ir/op_enum.h"

namespace jitfuse::internal {

void GradGelu(GradRule& r) {
  const Value g = r.Cast(r.RawG(), r.dtype());
  r.Give(0, r.Apply(Op::kGeluBackward, {g, r.Operand(0)}));
}

// The derivative of Phi(x) + x phi(x) is phi(x) (2 - x^2).
void GradGeluBackward(GradRule& r) {
  if (r.Wants(0)) {
    const Value g = r.Cast(r.RawG(), r.dtype());
    r.Give(0, r.Apply(Op::kGeluBackward, {g, r.Operand(1)}));
  }
  if (!r.Wants(1)) return;
  Value x = r.In(1), square = r.Apply(Op::kSquare, {x});
  Value phi = r.Exp(r.Mul(square, r.Number(-0.5)));
  phi = r.Mul(phi, r.Number(0.3989422804014327));
  Value slope = r.Sub(r.Number(2), square);
  slope = r.Mul(phi, slope);
  Value g = r.G(), grad = r.In(0);
  g = r.Mul(g, grad);
  r.Give(1, r.Mul(g, slope));
}

void GradGeglu(GradRule& r) {
  Value x = r.In(0), gate = r.In(1), g = r.G();
  if (r.Wants(0)) {
    const Value gelu = r.Apply(Op::kGelu, {gate});
    r.Give(0, r.Mul(g, gelu));
  }
  if (r.Wants(1)) {
    g = r.Mul(g, x);
    r.Give(1, r.Apply(Op::kGeluBackward, {g, gate}));
  }
}

}  // namespace jitfuse::internal
