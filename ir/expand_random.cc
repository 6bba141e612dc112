// Expansions of random ops: bits of the philox op at each element's lanes (semantics.md, "Random
// numbers"), turned into numbers.
#include <cmath>
#include <numbers>
#include <utility>

#include "ir/expand_kit.h"
#include "ir/support/status.h"

namespace jitfuse::internal {
namespace {

// Bits for the elements of a tensor of some shape. `first`: which operand is the seed.
class Bits {
 public:
  Bits(Calc* c, Graph* graph, size_t first, const Shape& shape)
      : c_(c), graph_(graph), first_(first) {
    Value flat = c->Iota(NumElements(shape), 0, 1, DType::kU64);
    element_ = c->Reshape(flat, shape);
  }

  // The linear index of each element.
  Value element() const { return element_; }
  Value U64(uint64_t v) { return graph_->AddConstantBits(DType::kU64, ScalarValue::FromBits(v)); }
  Value U32(uint32_t v) { return graph_->AddConstantBits(DType::kU32, ScalarValue::FromBits(v)); }
  Value Shr(Value v, Value by) { return c_->Apply(Op::kBitwiseRightShift, {v, by}); }
  Value Shl(Value v, Value by) { return c_->Apply(Op::kBitwiseLeftShift, {v, by}); }
  Value And(Value a, Value b) { return c_->Apply(Op::kBitwiseAnd, {a, b}); }
  Value Or(Value a, Value b) { return c_->Apply(Op::kBitwiseOr, {a, b}); }
  // The 32-bit lane of that number.
  Value Lane(Value lane) {
    const Node& node = c_->node();
    return c_->Apply(Op::kPhilox, {lane, node.in[first_], node.in[first_ + 1]},
                     {{"stream", node.Get<int64_t>("stream")}});
  }
  // Two lanes, the lower first.
  Value Wide(Value lane) {
    Value low = c_->Cast(Lane(lane), DType::kU64);
    Value high = c_->Cast(Lane(Or(lane, U64(1))), DType::kU64);
    return Or(low, Shl(high, U64(32)));
  }
  // The 16-bit lane of each element.
  Value Half() {
    Value word = Lane(Shr(element_, U64(1)));
    Value shift = c_->Cast(And(element_, U64(1)), DType::kU32);
    Value at_the_end = Shr(word, Shl(shift, U32(4)));
    return And(at_the_end, U32(0xffff));
  }
  // In [0, 1), or with `above` in (0, 1], as many bits as the type has; `lane` of the tensor's own
  // elements, or (two lanes) of f64.
  Value Unit(DType dtype, Value lane, bool above = false) {
    const int digits = dtype == DType::kF64    ? 53
                       : dtype == DType::kF16  ? 11
                       : dtype == DType::kBF16 ? 8
                                               : 24;
    const bool wide = dtype == DType::kF64;
    Value bits = wide ? Wide(lane) : Lane(lane);
    bits = Shr(bits, wide ? U64(64 - 53) : U32(static_cast<uint32_t>(32 - digits)));
    if (above) bits = c_->Add(bits, wide ? U64(1) : U32(1));
    const DType compute = ComputeType(dtype);
    Value whole = c_->Cast(bits, compute);
    return c_->Mul(whole, c_->Number(compute, std::ldexp(1.0, -digits)));
  }

 private:
  Calc* c_;
  Graph* graph_;
  size_t first_;
  Value element_;
};

}  // namespace

namespace {

// The greatest number of a float type below v, a number of it.
double Below(DType dtype, double v) {
  if (dtype == DType::kF64) return std::nextafter(v, -HUGE_VAL);
  // f16 and bf16 values are steps of their own, in whose bits neighbours are neighbours.
  uint32_t bits = 0;
  StoreScalar(dtype, ScalarFromDouble(dtype, v), &bits);
  const uint32_t sign = 1u << (8 * ItemSize(dtype) - 1);
  if (v == 0) {
    bits = sign | 1;
  } else {
    bits += (bits & sign) != 0 ? 1u : ~0u;
  }
  return ScalarToDouble(dtype, LoadScalar(dtype, &bits));
}

}  // namespace

// Rounding may lift what is just below `high` to it: that becomes the number below.
Expansion ExpandRandomUniform(Graph* graph, const Node& node) {
  Calc c(graph, node);
  const DType dtype = node.types[0].dtype, compute = ComputeType(dtype);
  Bits bits(&c, graph, 0, node.types[0].dims);
  Value lane = dtype == DType::kF64 ? bits.Shl(bits.element(), bits.U64(1)) : bits.element();
  Value u = bits.Unit(dtype, lane);
  auto rounded = [&](const char* attr) {
    return ScalarToDouble(dtype, ScalarFromDouble(dtype, node.Get<double>(attr)));
  };
  const double low = rounded("low"), high = rounded("high");
  if (low == 0 && high == 1) return c.Results({u});
  Value scaled = c.Mul(u, c.Number(compute, high - low));
  scaled = c.Add(scaled, c.Number(compute, low));
  const double most = low == high ? low : Below(dtype, high);
  return c.Results({c.Apply(Op::kMinimum, {scaled, c.Number(compute, most)})});
}

// Box and Muller: a pair of elements shares the radius and the angle of two lanes (four of f64).
Expansion ExpandRandomNormal(Graph* graph, const Node& node) {
  Calc c(graph, node);
  const DType compute = ComputeType(node.types[0].dtype);
  const bool wide = compute == DType::kF64;
  Bits bits(&c, graph, 0, node.types[0].dims);
  Value odd = bits.And(bits.element(), bits.U64(1));
  Value pair = bits.Shr(bits.element(), bits.U64(1));
  Value even = bits.Shl(pair, bits.U64(wide ? 2 : 1));
  Value u = bits.Unit(compute, even, /*above=*/true);
  Value v = bits.Unit(compute, bits.Or(even, bits.U64(wide ? 2 : 1)));
  Value log = c.Apply(Op::kLog, {u});
  Value r = c.Apply(Op::kSqrt, {c.Mul(log, c.Number(compute, -2))});
  Value angle = c.Mul(v, c.Number(compute, 2 * std::numbers::pi));
  Value is_odd = c.Apply(Op::kNotEqual, {odd, bits.U64(0)});
  Value sin = c.Apply(Op::kSin, {angle}), cos = c.Apply(Op::kCos, {angle});
  Value side = c.Where(is_odd, sin, cos);
  Value z = c.Mul(r, side);
  const double mean = node.Get<double>("mean"), std = node.Get<double>("std");
  if (mean != 0 || std != 1) {
    z = c.Mul(z, c.Number(compute, std));
    z = c.Add(z, c.Number(compute, mean));
  }
  return c.Results({z});
}

Expansion ExpandBernoulli(Graph* graph, const Node& node) {
  Calc c(graph, node);
  Bits bits(&c, graph, 1, node.types[0].dims);
  const bool wide = c.dtype() == DType::kF64;
  Value u = wide ? bits.Unit(DType::kF64, bits.Shl(bits.element(), bits.U64(1)))
                 : bits.Unit(DType::kF32, bits.element());
  return c.Results({c.Apply(Op::kLess, {u, c.In(0)})});
}

namespace {

// x / (1 - p), or 0 where `bits` is below p's share of 2^width.
Value Drop(Calc* c, Value bits, Value least, Value scale) {
  Value keep = c->Apply(Op::kGreaterEqual, {bits, least});
  Value kept = c->Mul(c->In(0), scale);
  return c->Where(keep, kept, c->Number(0));
}

// 32-bit lanes; p is a number of the call.
Expansion DropByScalar(Calc* c, Bits* bits) {
  Value p = c->Cast(c->node().in[3], DType::kF64);
  p = c->Apply(Op::kMaximum, {p, c->Number(DType::kF64, 0)});
  p = c->Apply(Op::kMinimum, {p, c->Number(DType::kF64, 1)});
  Value share = c->Apply(Op::kRound, {c->Mul(p, c->Number(DType::kF64, 0x1p32))});
  Value one = c->Number(DType::kF64, 1);
  Value rest = c->Sub(one, c->Mul(share, c->Number(DType::kF64, 0x1p-32)));
  Value scale = c->Cast(c->Div(one, rest), c->compute());
  Value lane = c->Cast(bits->Lane(bits->element()), DType::kU64);
  return c->Results({Drop(c, lane, c->Cast(share, DType::kU64), scale)});
}

}  // namespace

Expansion ExpandDropout(Graph* graph, const Node& node) {
  Calc c(graph, node);
  Bits bits(&c, graph, 1, node.types[0].dims);
  if (c.Has(3)) return DropByScalar(&c, &bits);
  const double p = node.Get<double>("p");
  const double rounded = std::nearbyint(p * 0x1p16) * 0x1p-16;
  const double moved = std::fabs(rounded - p);
  const bool half = moved <= 0.01 * p && moved <= 0.01 * (1 - p);
  const double share = half ? rounded * 0x1p16 : std::nearbyint(p * 0x1p32);
  const double kept = 1 - (half ? rounded : share * 0x1p-32);
  Value scale = c.Number(kept > 0 ? 1 / kept : 0);
  Value lane = half ? bits.Half() : c.Cast(bits.Lane(bits.element()), DType::kU64);
  Value least =
      half ? bits.U32(static_cast<uint32_t>(share)) : bits.U64(static_cast<uint64_t>(share));
  return c.Results({Drop(&c, lane, least, scale)});
}

}  // namespace jitfuse::internal
