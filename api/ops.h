// The ops, as functions on Tensors. GENERATED from ir/ops.inc by tools/gen_ops_header.cc; do not edit.
//
// Operands of different dtypes are promoted (Array API lattice); shapes broadcast as in NumPy. A wrong shape, dtype or attribute gives an invalid Tensor and an
// error in the Builder. Trailing operands with a default may be left out. Reference: docs/ops.md.
#ifndef JITFUSE_API_OPS_H_
#define JITFUSE_API_OPS_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "ops_support.h"
#include "tensor.h"

namespace jitfuse {
inline namespace v1 {

// Each element's own coordinate along one axis.
inline Tensor Iota(const Builder& builder, const std::vector<DimSpec>& shape, std::int64_t axis = 0, DType dtype = DType::kI64) {
  return detail::Apply("iota", builder, {{"shape", shape}, {"axis", axis}, {"dtype", dtype}});
}
// Sum of two tensors; integers wrap.
inline Tensor Add(const Tensor& x, const Tensor& y) {
  return detail::Apply("add", {x, y}, {});
}
// Difference of two tensors; integers wrap.
inline Tensor Subtract(const Tensor& x, const Tensor& y) {
  return detail::Apply("subtract", {x, y}, {});
}
// Product of two tensors; integers wrap.
inline Tensor Multiply(const Tensor& x, const Tensor& y) {
  return detail::Apply("multiply", {x, y}, {});
}
// Quotient of two float tensors, correctly rounded.
inline Tensor Divide(const Tensor& x, const Tensor& y) {
  return detail::Apply("divide", {x, y}, {});
}
// Integer quotient rounded toward minus infinity; 0 where y is 0.
inline Tensor FloorDivide(const Tensor& x, const Tensor& y) {
  return detail::Apply("floor_divide", {x, y}, {});
}
// Integer remainder with the sign of y; 0 where y is 0.
inline Tensor Remainder(const Tensor& x, const Tensor& y) {
  return detail::Apply("remainder", {x, y}, {});
}
// Integer quotient rounded toward zero; 0 where y is 0.
inline Tensor TruncDivide(const Tensor& x, const Tensor& y) {
  return detail::Apply("trunc_divide", {x, y}, {});
}
// Integer remainder with the sign of x; 0 where y is 0.
inline Tensor Fmod(const Tensor& x, const Tensor& y) {
  return detail::Apply("fmod", {x, y}, {});
}
// x / y rounded toward minus infinity, of the quotient before it is rounded; exact where that is below 2^24 (f64: 2^53).
inline Tensor FloatFloorDivide(const Tensor& x, const Tensor& y) {
  return detail::Apply("float_floor_divide", {x, y}, {});
}
// x - floor(x / y) * y, with the sign of y, rounded once, whatever x / y is (y itself for a small x of the other sign); NaN where y is 0.
inline Tensor FloatRemainder(const Tensor& x, const Tensor& y) {
  return detail::Apply("float_remainder", {x, y}, {});
}
// x - trunc(x / y) * y, with the sign of x, exact whatever x / y is; NaN where y is 0.
inline Tensor FloatFmod(const Tensor& x, const Tensor& y) {
  return detail::Apply("float_fmod", {x, y}, {});
}
// The value with its sign flipped.
inline Tensor Negative(const Tensor& x) {
  return detail::Apply("negative", {x}, {});
}
// Absolute value.
inline Tensor Abs(const Tensor& x) {
  return detail::Apply("abs", {x}, {});
}
// The smaller of two values; NaN if either is.
inline Tensor Minimum(const Tensor& x, const Tensor& y) {
  return detail::Apply("minimum", {x, y}, {});
}
// The larger of two values; NaN if either is.
inline Tensor Maximum(const Tensor& x, const Tensor& y) {
  return detail::Apply("maximum", {x, y}, {});
}
// The value times itself.
inline Tensor Square(const Tensor& x) {
  return detail::Apply("square", {x}, {});
}
// One divided by the value.
inline Tensor Reciprocal(const Tensor& x) {
  return detail::Apply("reciprocal", {x}, {});
}
// -1, 0 or 1; NaN stays.
inline Tensor Sign(const Tensor& x) {
  return detail::Apply("sign", {x}, {});
}
// The magnitude of x with the sign of y, a zero's too; of a NaN it is either.
inline Tensor Copysign(const Tensor& x, const Tensor& y) {
  return detail::Apply("copysign", {x, y}, {});
}
// The number next to x in the direction of y; y where they are equal.
inline Tensor Nextafter(const Tensor& x, const Tensor& y) {
  return detail::Apply("nextafter", {x, y}, {});
}
// The largest integer that is not larger.
inline Tensor Floor(const Tensor& x) {
  return detail::Apply("floor", {x}, {});
}
// The smallest integer that is not smaller.
inline Tensor Ceil(const Tensor& x) {
  return detail::Apply("ceil", {x}, {});
}
// The integer part.
inline Tensor Trunc(const Tensor& x) {
  return detail::Apply("trunc", {x}, {});
}
// The nearest integer, ties to even.
inline Tensor Round(const Tensor& x) {
  return detail::Apply("round", {x}, {});
}
// True where the values are equal.
inline Tensor Equal(const Tensor& x, const Tensor& y) {
  return detail::Apply("equal", {x, y}, {});
}
// True where the values differ.
inline Tensor NotEqual(const Tensor& x, const Tensor& y) {
  return detail::Apply("not_equal", {x, y}, {});
}
// True where x is smaller.
inline Tensor Less(const Tensor& x, const Tensor& y) {
  return detail::Apply("less", {x, y}, {});
}
// True where x is smaller or equal.
inline Tensor LessEqual(const Tensor& x, const Tensor& y) {
  return detail::Apply("less_equal", {x, y}, {});
}
// True where x is larger.
inline Tensor Greater(const Tensor& x, const Tensor& y) {
  return detail::Apply("greater", {x, y}, {});
}
// True where x is larger or equal.
inline Tensor GreaterEqual(const Tensor& x, const Tensor& y) {
  return detail::Apply("greater_equal", {x, y}, {});
}
// True where both are.
inline Tensor LogicalAnd(const Tensor& x, const Tensor& y) {
  return detail::Apply("logical_and", {x, y}, {});
}
// True where either is.
inline Tensor LogicalOr(const Tensor& x, const Tensor& y) {
  return detail::Apply("logical_or", {x, y}, {});
}
// True where exactly one is.
inline Tensor LogicalXor(const Tensor& x, const Tensor& y) {
  return detail::Apply("logical_xor", {x, y}, {});
}
// True where the value is false.
inline Tensor LogicalNot(const Tensor& x) {
  return detail::Apply("logical_not", {x}, {});
}
// And of each bit.
inline Tensor BitwiseAnd(const Tensor& x, const Tensor& y) {
  return detail::Apply("bitwise_and", {x, y}, {});
}
// Or of each bit.
inline Tensor BitwiseOr(const Tensor& x, const Tensor& y) {
  return detail::Apply("bitwise_or", {x, y}, {});
}
// Exclusive or of each bit.
inline Tensor BitwiseXor(const Tensor& x, const Tensor& y) {
  return detail::Apply("bitwise_xor", {x, y}, {});
}
// Each bit flipped.
inline Tensor BitwiseNot(const Tensor& x) {
  return detail::Apply("bitwise_not", {x}, {});
}
// x shifted left by y bits; 0 where y is negative or at least the width.
inline Tensor BitwiseLeftShift(const Tensor& x, const Tensor& y) {
  return detail::Apply("bitwise_left_shift", {x, y}, {});
}
// x shifted right by y bits, copies of the sign coming in; all of them where y is negative or at least the width.
inline Tensor BitwiseRightShift(const Tensor& x, const Tensor& y) {
  return detail::Apply("bitwise_right_shift", {x, y}, {});
}
// x where cond is true, else y.
inline Tensor Where(const Tensor& cond, const Tensor& x, const Tensor& y) {
  return detail::Apply("where", {cond, x, y}, {});
}
// The value converted to another dtype; never elided.
inline Tensor Cast(const Tensor& x, DType dtype) {
  return detail::Apply("cast", {x}, {{"dtype", dtype}});
}
// True where the value is NaN.
inline Tensor Isnan(const Tensor& x) {
  return detail::Apply("isnan", {x}, {});
}
// True where the value is an infinity.
inline Tensor Isinf(const Tensor& x) {
  return detail::Apply("isinf", {x}, {});
}
// True where the value is neither NaN nor an infinity.
inline Tensor Isfinite(const Tensor& x) {
  return detail::Apply("isfinite", {x}, {});
}
// True where the sign bit is set, that of -0 too; of a NaN it is either.
inline Tensor Signbit(const Tensor& x) {
  return detail::Apply("signbit", {x}, {});
}
// True where abs(x - y) <= atol + rtol * abs(y); infinities are close to themselves.
inline Tensor Isclose(const Tensor& x, const Tensor& y, double rtol = 1e-05, double atol = 1e-08) {
  return detail::Apply("isclose", {x, y}, {{"rtol", rtol}, {"atol", atol}});
}
// e to the power x.
inline Tensor Exp(const Tensor& x) {
  return detail::Apply("exp", {x}, {});
}
// 2 to the power x.
inline Tensor Exp2(const Tensor& x) {
  return detail::Apply("exp2", {x}, {});
}
// exp(x) - 1, exact near 0.
inline Tensor Expm1(const Tensor& x) {
  return detail::Apply("expm1", {x}, {});
}
// Natural logarithm.
inline Tensor Log(const Tensor& x) {
  return detail::Apply("log", {x}, {});
}
// Logarithm to base 2.
inline Tensor Log2(const Tensor& x) {
  return detail::Apply("log2", {x}, {});
}
// Logarithm to base 10.
inline Tensor Log10(const Tensor& x) {
  return detail::Apply("log10", {x}, {});
}
// log(1 + x), exact near 0.
inline Tensor Log1p(const Tensor& x) {
  return detail::Apply("log1p", {x}, {});
}
// Square root, correctly rounded.
inline Tensor Sqrt(const Tensor& x) {
  return detail::Apply("sqrt", {x}, {});
}
// One divided by the square root.
inline Tensor Rsqrt(const Tensor& x) {
  return detail::Apply("rsqrt", {x}, {});
}
// x to the power y.
inline Tensor Pow(const Tensor& x, const Tensor& y) {
  return detail::Apply("pow", {x, y}, {});
}
// Sine; in f64 NaN beyond 2^45.
inline Tensor Sin(const Tensor& x) {
  return detail::Apply("sin", {x}, {});
}
// Cosine; in f64 NaN beyond 2^45.
inline Tensor Cos(const Tensor& x) {
  return detail::Apply("cos", {x}, {});
}
// Tangent; in f64 NaN beyond 2^45.
inline Tensor Tan(const Tensor& x) {
  return detail::Apply("tan", {x}, {});
}
// Inverse sine; NaN beyond 1.
inline Tensor Asin(const Tensor& x) {
  return detail::Apply("asin", {x}, {});
}
// Inverse cosine; NaN beyond 1.
inline Tensor Acos(const Tensor& x) {
  return detail::Apply("acos", {x}, {});
}
// Inverse tangent.
inline Tensor Atan(const Tensor& x) {
  return detail::Apply("atan", {x}, {});
}
// Angle of the point (y, x): the inverse tangent of x / y in its quadrant.
inline Tensor Atan2(const Tensor& x, const Tensor& y) {
  return detail::Apply("atan2", {x, y}, {});
}
// Hyperbolic sine.
inline Tensor Sinh(const Tensor& x) {
  return detail::Apply("sinh", {x}, {});
}
// Hyperbolic cosine.
inline Tensor Cosh(const Tensor& x) {
  return detail::Apply("cosh", {x}, {});
}
// Inverse hyperbolic sine.
inline Tensor Asinh(const Tensor& x) {
  return detail::Apply("asinh", {x}, {});
}
// Inverse hyperbolic cosine; NaN below 1.
inline Tensor Acosh(const Tensor& x) {
  return detail::Apply("acosh", {x}, {});
}
// Inverse hyperbolic tangent; NaN beyond 1.
inline Tensor Atanh(const Tensor& x) {
  return detail::Apply("atanh", {x}, {});
}
// Hyperbolic tangent.
inline Tensor Tanh(const Tensor& x) {
  return detail::Apply("tanh", {x}, {});
}
// Error function.
inline Tensor Erf(const Tensor& x) {
  return detail::Apply("erf", {x}, {});
}
// 1 - erf(x), exact in the tail.
inline Tensor Erfc(const Tensor& x) {
  return detail::Apply("erfc", {x}, {});
}
// Logarithm of the magnitude of the gamma function; in f64 the bound is in ulps of 16 where the result is smaller.
inline Tensor Lgamma(const Tensor& x) {
  return detail::Apply("lgamma", {x}, {});
}
// sqrt(x * x + y * y) with no overflow on the way.
inline Tensor Hypot(const Tensor& x, const Tensor& y) {
  return detail::Apply("hypot", {x, y}, {});
}
// log(exp(x) + exp(y)) with no overflow.
inline Tensor Logaddexp(const Tensor& x, const Tensor& y) {
  return detail::Apply("logaddexp", {x, y}, {});
}
// x * log(y); 0 where x is 0 and y is not NaN.
inline Tensor Xlogy(const Tensor& x, const Tensor& y) {
  return detail::Apply("xlogy", {x, y}, {});
}
// x + weight * (y - x), exact at both ends.
inline Tensor Lerp(const Tensor& x, const Tensor& y, const Tensor& weight) {
  return detail::Apply("lerp", {x, y, weight}, {});
}
// x * y + z, rounded once (in f16 and bf16 once more, to the dtype).
inline Tensor Fma(const Tensor& x, const Tensor& y, const Tensor& z) {
  return detail::Apply("fma", {x, y, z}, {});
}
// x + value * y * z.
inline Tensor Addcmul(const Tensor& x, const Tensor& y, const Tensor& z, double value = 1.0) {
  return detail::Apply("addcmul", {x, y, z}, {{"value", value}});
}
// x + value * y / z.
inline Tensor Addcdiv(const Tensor& x, const Tensor& y, const Tensor& z, double value = 1.0) {
  return detail::Apply("addcdiv", {x, y, z}, {{"value", value}});
}
// maximum(x, 0); NaN stays.
inline Tensor Relu(const Tensor& x) {
  return detail::Apply("relu", {x}, {});
}
// x clamped to 0..6.
inline Tensor Relu6(const Tensor& x) {
  return detail::Apply("relu6", {x}, {});
}
// x, or slope * x where x is negative.
inline Tensor LeakyRelu(const Tensor& x, double slope = 0.01) {
  return detail::Apply("leaky_relu", {x}, {{"slope", slope}});
}
// x, or alpha * (exp(x) - 1) where x is negative.
inline Tensor Elu(const Tensor& x, double alpha = 1.0) {
  return detail::Apply("elu", {x}, {{"alpha", alpha}});
}
// x, or weight * x where x is negative; weight broadcasts as NumPy does (PyTorch aligns it with dim 1).
inline Tensor Prelu(const Tensor& x, const Tensor& weight) {
  return detail::Apply("prelu", {x, weight}, {});
}
// Elu of alpha 1.6733 scaled by 1.0507.
inline Tensor Selu(const Tensor& x) {
  return detail::Apply("selu", {x}, {});
}
// x, or alpha * (exp(x / alpha) - 1) where x is negative.
inline Tensor Celu(const Tensor& x, double alpha = 1.0) {
  return detail::Apply("celu", {x}, {{"alpha", alpha}});
}
// x where it is above the threshold, else a fixed value; NaN stays.
inline Tensor Threshold(const Tensor& x, const Number& threshold, const Number& value) {
  return detail::Apply("threshold", {x}, {{"threshold", detail::ArgOf(threshold)}, {"value", detail::ArgOf(value)}});
}
// x limited to min..max; NaN stays.
inline Tensor Clamp(const Tensor& x, const Number& min = -std::numeric_limits<double>::infinity(), const Number& max = std::numeric_limits<double>::infinity()) {
  return detail::Apply("clamp", {x}, {{"min", detail::ArgOf(min)}, {"max", detail::ArgOf(max)}});
}
// x, but no less than min; NaN if either is. Unlike maximum's, the gradient is all x's where both are equal.
inline Tensor ClampMin(const Tensor& x, const Tensor& min) {
  return detail::Apply("clamp_min", {x, min}, {});
}
// x, but no more than max; NaN if either is. Unlike minimum's, the gradient is all x's where both are equal.
inline Tensor ClampMax(const Tensor& x, const Tensor& max) {
  return detail::Apply("clamp_max", {x, max}, {});
}
// x limited to min..max, which are tensors; max where max is below min; NaN if any is. The gradient goes to what was chosen, to x at its limits.
inline Tensor Clip(const Tensor& x, const Tensor& min, const Tensor& max) {
  return detail::Apply("clip", {x, min, max}, {});
}
// 1 / (1 + exp(-x)).
inline Tensor Sigmoid(const Tensor& x) {
  return detail::Apply("sigmoid", {x}, {});
}
// x * sigmoid(x).
inline Tensor Silu(const Tensor& x) {
  return detail::Apply("silu", {x}, {});
}
// x times the normal distribution function, with erf.
inline Tensor Gelu(const Tensor& x) {
  return detail::Apply("gelu", {x}, {});
}
// grad times the derivative of gelu at x.
inline Tensor GeluBackward(const Tensor& grad, const Tensor& x) {
  return detail::Apply("gelu_backward", {grad, x}, {});
}
// The tanh approximation of gelu.
inline Tensor GeluTanh(const Tensor& x) {
  return detail::Apply("gelu_tanh", {x}, {});
}
// x * tanh(softplus(x)).
inline Tensor Mish(const Tensor& x) {
  return detail::Apply("mish", {x}, {});
}
// x * relu6(x + 3) / 6.
inline Tensor Hardswish(const Tensor& x) {
  return detail::Apply("hardswish", {x}, {});
}
// relu6(x + 3) / 6.
inline Tensor Hardsigmoid(const Tensor& x) {
  return detail::Apply("hardsigmoid", {x}, {});
}
// log(1 + exp(x)).
inline Tensor Softplus(const Tensor& x) {
  return detail::Apply("softplus", {x}, {});
}
// x / (1 + abs(x)).
inline Tensor Softsign(const Tensor& x) {
  return detail::Apply("softsign", {x}, {});
}
// x limited to min..max; NaN stays.
inline Tensor Hardtanh(const Tensor& x, double min = -1.0, double max = 1.0) {
  return detail::Apply("hardtanh", {x}, {{"min", min}, {"max", max}});
}
// log(sigmoid(x)) with no overflow.
inline Tensor Logsigmoid(const Tensor& x) {
  return detail::Apply("logsigmoid", {x}, {});
}
// x - tanh(x), by its series where that would cancel.
inline Tensor Tanhshrink(const Tensor& x) {
  return detail::Apply("tanhshrink", {x}, {});
}
// x brought nearer to 0 by lambd; 0 within lambd of it; NaN stays.
inline Tensor Softshrink(const Tensor& x, double lambd = 0.5) {
  return detail::Apply("softshrink", {x}, {{"lambd", lambd}});
}
// x, or 0 within lambd of it; NaN stays.
inline Tensor Hardshrink(const Tensor& x, double lambd = 0.5) {
  return detail::Apply("hardshrink", {x}, {{"lambd", lambd}});
}
// x * sigmoid(gate).
inline Tensor Glu(const Tensor& x, const Tensor& gate) {
  return detail::Apply("glu", {x, gate}, {});
}
// x * relu(gate).
inline Tensor Reglu(const Tensor& x, const Tensor& gate) {
  return detail::Apply("reglu", {x, gate}, {});
}
// x * gelu(gate).
inline Tensor Geglu(const Tensor& x, const Tensor& gate) {
  return detail::Apply("geglu", {x, gate}, {});
}
// x * silu(gate).
inline Tensor Swiglu(const Tensor& x, const Tensor& gate) {
  return detail::Apply("swiglu", {x, gate}, {});
}
// x repeated along new leading dims and dims of size 1.
inline Tensor Broadcast(const Tensor& x, const std::vector<DimSpec>& shape) {
  return detail::Apply("broadcast", {x}, {{"shape", shape}});
}
// The elements in the same row-major order in another shape.
inline Tensor Reshape(const Tensor& x, const std::vector<DimSpec>& shape) {
  return detail::Apply("reshape", {x}, {{"shape", shape}});
}
// Dim i of the result is dim perm[i] of x; reversed by default.
inline Tensor Transpose(const Tensor& x, const std::vector<std::int64_t>& perm = {}) {
  return detail::Apply("transpose", {x}, {{"perm", perm}});
}
// Every step-th element from start up to stop along each axis, as NumPy's x[start:stop:step]: negative positions count from the end.
inline Tensor Slice(const Tensor& x, const std::vector<std::int64_t>& starts = {}, const std::vector<std::int64_t>& stops = {}, const std::vector<std::int64_t>& steps = {}) {
  return detail::Apply("slice", {x}, {{"starts", starts}, {"stops", stops}, {"steps", steps}});
}
// The elements in reverse order along some axes.
inline Tensor Flip(const Tensor& x, const std::vector<std::int64_t>& axes = {}) {
  return detail::Apply("flip", {x}, {{"axes", axes}});
}
// The elements shifted along some axes; those that leave at the end come back at the begin.
inline Tensor Roll(const Tensor& x, const std::vector<std::int64_t>& shifts, const std::vector<std::int64_t>& axes) {
  return detail::Apply("roll", {x}, {{"shifts", shifts}, {"axes", axes}});
}
// Copies of x side by side.
inline Tensor Tile(const Tensor& x, const std::vector<std::int64_t>& reps) {
  return detail::Apply("tile", {x}, {{"reps", reps}});
}
// Each element several times, one after the other.
inline Tensor Repeat(const Tensor& x, std::int64_t repeats, std::int64_t axis = 0) {
  return detail::Apply("repeat", {x}, {{"repeats", repeats}, {"axis", axis}});
}
// Sliding windows: the axis counts the whole windows, a new last axis the elements of each (PyTorch's unfold).
inline Tensor Windows(const Tensor& x, std::int64_t axis, std::int64_t size, std::int64_t stride = 1, std::int64_t dilation = 1) {
  return detail::Apply("windows", {x}, {{"axis", axis}, {"size", size}, {"stride", stride}, {"dilation", dilation}});
}
// The operands one after the other along an axis; their other dims are equal.
inline Tensor Concatenate(const std::vector<Tensor>& xs, std::int64_t axis = 0) {
  return detail::Apply("concatenate", xs, {{"axis", axis}});
}
// x in the middle of a larger tensor of one value.
inline Tensor Pad(const Tensor& x, const std::vector<DimSpec>& low, const std::vector<DimSpec>& high, double value = 0.0) {
  return detail::Apply("pad", {x}, {{"low", low}, {"high", high}, {"value", value}});
}
// x[..., indices, ...]: the slices of x at these positions along an axis; the dims of indices stand in its place. Positions out of range are moved to the border by kernels and are an error for the evaluator.
inline Tensor Take(const Tensor& x, const Tensor& indices, std::int64_t axis = 0) {
  return detail::Apply("take", {x, indices}, {{"axis", axis}});
}
// For each element of indices the element of x at that position along the axis and the same place otherwise. Positions out of range: as for take.
inline Tensor TakeAlongAxis(const Tensor& x, const Tensor& indices, std::int64_t axis) {
  return detail::Apply("take_along_axis", {x, indices}, {{"axis", axis}});
}
// The positions along an axis ordered by the index there, equal ones in their own order; and for each index where its positions begin and end. Negative indices count from the end; those out of range: as for take.
inline std::vector<Tensor> GroupPositions(const Tensor& indices, std::int64_t axis, const std::vector<DimSpec>& size) {
  return detail::ApplyAll("group_positions", {indices}, {{"axis", axis}, {"size", size}}, 3);
}
// x plus the elements of src whose positions along the axis are order[begin] to order[end - 1], added one after the other in the compute type; positions out of range: as for take.
inline Tensor SegmentAdd(const Tensor& x, const Tensor& src, const Tensor& order, const Tensor& begin, const Tensor& end, std::int64_t axis) {
  return detail::Apply("segment_add", {x, src, order, begin, end}, {{"axis", axis}});
}
// x with the slices of src added at these positions along an axis, in ascending order; the dims of indices stand in its place in src: what take takes, given back. Positions out of range: as for take.
inline Tensor IndexAdd(const Tensor& x, const Tensor& indices, const Tensor& src, std::int64_t axis = 0) {
  return detail::Apply("index_add", {x, indices, src}, {{"axis", axis}});
}
// x with each element of src added at the position along the axis that indices give, in ascending order, and the same place otherwise: what take_along_axis takes, given back. Positions out of range: as for take.
inline Tensor ScatterAdd(const Tensor& x, const Tensor& indices, const Tensor& src, std::int64_t axis) {
  return detail::Apply("scatter_add", {x, indices, src}, {{"axis", axis}});
}
// Sum; f16, bf16 and f32 accumulate in f32, integers in 64 bits.
inline Tensor Sum(const Tensor& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false) {
  return detail::Apply("sum", {x}, {{"axes", axes}, {"keepdims", keepdims}});
}
// Product; accumulates as sum does.
inline Tensor Prod(const Tensor& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false) {
  return detail::Apply("prod", {x}, {{"axes", axes}, {"keepdims", keepdims}});
}
// Mean; accumulates in f32 or f64 and never overflows through its sum; NaN if empty.
inline Tensor Mean(const Tensor& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false) {
  return detail::Apply("mean", {x}, {{"axes", axes}, {"keepdims", keepdims}});
}
// Largest value; NaN if any is.
inline Tensor Max(const Tensor& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false) {
  return detail::Apply("max", {x}, {{"axes", axes}, {"keepdims", keepdims}});
}
// Smallest value; NaN if any is.
inline Tensor Min(const Tensor& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false) {
  return detail::Apply("min", {x}, {{"axes", axes}, {"keepdims", keepdims}});
}
// True if any value is not 0.
inline Tensor Any(const Tensor& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false) {
  return detail::Apply("any", {x}, {{"axes", axes}, {"keepdims", keepdims}});
}
// True if no value is 0.
inline Tensor All(const Tensor& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false) {
  return detail::Apply("all", {x}, {{"axes", axes}, {"keepdims", keepdims}});
}
// Position of the first largest value within the reduced axes; the first NaN wins.
inline Tensor Argmax(const Tensor& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false) {
  return detail::Apply("argmax", {x}, {{"axes", axes}, {"keepdims", keepdims}});
}
// Position of the first smallest value within the reduced axes; the first NaN wins.
inline Tensor Argmin(const Tensor& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false) {
  return detail::Apply("argmin", {x}, {{"axes", axes}, {"keepdims", keepdims}});
}
// Largest value m, and the sum of exp(x - m): what softmax and logsumexp need.
inline std::vector<Tensor> MaxSumexp(const Tensor& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false) {
  return detail::ApplyAll("max_sumexp", {x}, {{"axes", axes}, {"keepdims", keepdims}}, 2);
}
// Mean, and mean of the squared distance from it (the biased variance).
inline std::vector<Tensor> Moments(const Tensor& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false) {
  return detail::ApplyAll("moments", {x}, {{"axes", axes}, {"keepdims", keepdims}}, 2);
}
// Running sum; f16, bf16 and f32 accumulate in f32, integers in 64 bits.
inline Tensor Cumsum(const Tensor& x, std::int64_t axis, bool exclusive = false, bool reverse = false) {
  return detail::Apply("cumsum", {x}, {{"axis", axis}, {"exclusive", exclusive}, {"reverse", reverse}});
}
// Running product; accumulates as cumsum does.
inline Tensor Cumprod(const Tensor& x, std::int64_t axis, bool exclusive = false, bool reverse = false) {
  return detail::Apply("cumprod", {x}, {{"axis", axis}, {"exclusive", exclusive}, {"reverse", reverse}});
}
// Largest value so far; NaN from the first NaN on.
inline Tensor Cummax(const Tensor& x, std::int64_t axis, bool exclusive = false, bool reverse = false) {
  return detail::Apply("cummax", {x}, {{"axis", axis}, {"exclusive", exclusive}, {"reverse", reverse}});
}
// Smallest value so far; NaN from the first NaN on.
inline Tensor Cummin(const Tensor& x, std::int64_t axis, bool exclusive = false, bool reverse = false) {
  return detail::Apply("cummin", {x}, {{"axis", axis}, {"exclusive", exclusive}, {"reverse", reverse}});
}
// log(cumsum(exp(x))), without overflow of the exponentials.
inline Tensor Logcumsumexp(const Tensor& x, std::int64_t axis, bool exclusive = false, bool reverse = false) {
  return detail::Apply("logcumsumexp", {x}, {{"axis", axis}, {"exclusive", exclusive}, {"reverse", reverse}});
}
// Matrix product over the last two dims, leading dims broadcast; f16, bf16 and f32 accumulate in f32.
inline Tensor Matmul(const Tensor& a, const Tensor& b, bool transpose_a = false, bool transpose_b = false) {
  return detail::Apply("matmul", {a, b}, {{"transpose_a", transpose_a}, {"transpose_b", transpose_b}});
}
// x without the given axes of size 1.
inline Tensor Squeeze(const Tensor& x, const std::vector<std::int64_t>& axes) {
  return detail::Apply("squeeze", {x}, {{"axes", axes}});
}
// x with axes of size 1 put in, at the positions they have in the result.
inline Tensor Unsqueeze(const Tensor& x, const std::vector<std::int64_t>& axes) {
  return detail::Apply("unsqueeze", {x}, {{"axes", axes}});
}
// Largest value along an axis, NaN if any is, and the position of the first one, which gets all of the gradient.
inline std::vector<Tensor> MaxWithIndex(const Tensor& x, std::int64_t axis, bool keepdims = false) {
  return detail::ApplyAll("max_with_index", {x}, {{"axis", axis}, {"keepdims", keepdims}}, 2);
}
// Smallest value along an axis, NaN if any is, and the position of the first one, which gets all of the gradient.
inline std::vector<Tensor> MinWithIndex(const Tensor& x, std::int64_t axis, bool keepdims = false) {
  return detail::ApplyAll("min_with_index", {x}, {{"axis", axis}, {"keepdims", keepdims}}, 2);
}
// Largest of all elements; NaN if any is, and then the NaNs share the gradient.
inline Tensor MaxOfAll(const Tensor& x) {
  return detail::Apply("max_of_all", {x}, {});
}
// Smallest of all elements; NaN if any is, and then the NaNs share the gradient.
inline Tensor MinOfAll(const Tensor& x) {
  return detail::Apply("min_of_all", {x}, {});
}
// Variance: the squared distances from the mean, summed and divided by n - correction.
inline Tensor Var(const Tensor& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false, double correction = 0.0) {
  return detail::Apply("var", {x}, {{"axes", axes}, {"keepdims", keepdims}, {"correction", correction}});
}
// Square root of the variance.
inline Tensor Std(const Tensor& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false, double correction = 0.0) {
  return detail::Apply("std", {x}, {{"axes", axes}, {"keepdims", keepdims}, {"correction", correction}});
}
// Number of elements that are not 0.
inline Tensor CountNonzero(const Tensor& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false) {
  return detail::Apply("count_nonzero", {x}, {{"axes", axes}, {"keepdims", keepdims}});
}
// Vector norm over the axes.
inline Tensor VectorNorm(const Tensor& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false, double ord = 2.0) {
  return detail::Apply("vector_norm", {x}, {{"axes", axes}, {"keepdims", keepdims}, {"ord", ord}});
}
// log(sum(exp(x))) with no overflow.
inline Tensor Logsumexp(const Tensor& x, const std::vector<std::int64_t>& axes = {}, bool keepdims = false) {
  return detail::Apply("logsumexp", {x}, {{"axes", axes}, {"keepdims", keepdims}});
}
// exp(x) divided by its sum along an axis, with no overflow.
inline Tensor Softmax(const Tensor& x, std::int64_t axis = -1, bool zero_rows = false) {
  return detail::Apply("softmax", {x}, {{"axis", axis}, {"zero_rows", zero_rows}});
}
// Logarithm of softmax, with no cancellation to -inf.
inline Tensor LogSoftmax(const Tensor& x, std::int64_t axis = -1) {
  return detail::Apply("log_softmax", {x}, {{"axis", axis}});
}
// (x - mean) / sqrt(var + eps) over the last dims, times weight, plus bias.
inline Tensor LayerNorm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, std::int64_t norm_dims = 1, double eps = 1e-05) {
  return detail::Apply("layer_norm", {x, weight, bias}, {{"norm_dims", norm_dims}, {"eps", eps}});
}
// x / sqrt(mean(x * x) + eps) over the last dims, times weight.
inline Tensor RmsNorm(const Tensor& x, const Tensor& weight = {}, std::int64_t norm_dims = 1, double eps = 1e-06) {
  return detail::Apply("rms_norm", {x, weight}, {{"norm_dims", norm_dims}, {"eps", eps}});
}
// (x - mean) / sqrt(var + eps) over the channels of a group and all dims after dim 1, times weight, plus bias, one of each a channel.
inline Tensor GroupNorm(const Tensor& x, std::int64_t groups, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-05) {
  return detail::Apply("group_norm", {x, weight, bias}, {{"groups", groups}, {"eps", eps}});
}
// (x - mean) / sqrt(var + eps) over all dims after the channels, dim 1, times weight, plus bias, one of each a channel.
inline Tensor InstanceNorm(const Tensor& x, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-05) {
  return detail::Apply("instance_norm", {x, weight, bias}, {{"eps", eps}});
}
// (x - mean) / sqrt(var + eps) with given statistics, times weight, plus bias, one of each a channel (inference).
inline Tensor BatchNorm(const Tensor& x, const Tensor& mean, const Tensor& var, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-05, std::int64_t axis = 1) {
  return detail::Apply("batch_norm", {x, mean, var, weight, bias}, {{"eps", eps}, {"axis", axis}});
}
// Batch norm with the batch's statistics; gives y, the batch's mean and biased variance, and the running mean and unbiased variance brought up to date.
inline std::vector<Tensor> BatchNormTraining(const Tensor& x, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight = {}, const Tensor& bias = {}, double eps = 1e-05, double momentum = 0.1, std::int64_t axis = 1) {
  return detail::ApplyAll("batch_norm_training", {x, running_mean, running_var, weight, bias}, {{"eps", eps}, {"momentum", momentum}, {"axis", axis}}, 5);
}
// x times weight transposed, plus bias: weight is [out, in] as in PyTorch.
inline Tensor Linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {}) {
  return detail::Apply("linear", {x, weight, bias}, {});
}
// The operands, all of one shape, side by side along a new axis.
inline Tensor Stack(const std::vector<Tensor>& xs, std::int64_t axis = 0) {
  return detail::Apply("stack", xs, {{"axis", axis}});
}
// x with a border that mirrors it, without the elements at its edge.
inline Tensor PadReflect(const Tensor& x, const std::vector<std::int64_t>& low, const std::vector<std::int64_t>& high) {
  return detail::Apply("pad_reflect", {x}, {{"low", low}, {"high", high}});
}
// x with a border that repeats the elements at its edge.
inline Tensor PadEdge(const Tensor& x, const std::vector<std::int64_t>& low, const std::vector<std::int64_t>& high) {
  return detail::Apply("pad_edge", {x}, {{"low", low}, {"high", high}});
}
// x with a border taken from its other end.
inline Tensor PadWrap(const Tensor& x, const std::vector<std::int64_t>& low, const std::vector<std::int64_t>& high) {
  return detail::Apply("pad_wrap", {x}, {{"low", low}, {"high", high}});
}
// The rows of weight [rows, features] at these positions; out of range as for take.
inline Tensor Embedding(const Tensor& indices, const Tensor& weight, std::int64_t padding_idx = -1) {
  return detail::Apply("embedding", {indices, weight}, {{"padding_idx", padding_idx}});
}
// The largest value of each window; NaN if any is.
inline Tensor MaxPool(const Tensor& x, const std::vector<std::int64_t>& kernel, const std::vector<std::int64_t>& stride = {}, const std::vector<std::int64_t>& padding = {}, const std::vector<std::int64_t>& dilation = {}, bool ceil_mode = false, bool channels_last = false) {
  return detail::Apply("max_pool", {x}, {{"kernel", kernel}, {"stride", stride}, {"padding", padding}, {"dilation", dilation}, {"ceil_mode", ceil_mode}, {"channels_last", channels_last}});
}
// The mean of each window.
inline Tensor AvgPool(const Tensor& x, const std::vector<std::int64_t>& kernel, const std::vector<std::int64_t>& stride = {}, const std::vector<std::int64_t>& padding = {}, bool ceil_mode = false, bool count_include_pad = true, bool channels_last = false) {
  return detail::Apply("avg_pool", {x}, {{"kernel", kernel}, {"stride", stride}, {"padding", padding}, {"ceil_mode", ceil_mode}, {"count_include_pad", count_include_pad}, {"channels_last", channels_last}});
}
// Squared difference.
inline Tensor MseLoss(const Tensor& x, const Tensor& target, std::int64_t reduction = 1) {
  return detail::Apply("mse_loss", {x, target}, {{"reduction", reduction}});
}
// Absolute difference.
inline Tensor L1Loss(const Tensor& x, const Tensor& target, std::int64_t reduction = 1) {
  return detail::Apply("l1_loss", {x, target}, {{"reduction", reduction}});
}
// d * d / (2 * beta) where the absolute difference d is below beta, else d - beta / 2.
inline Tensor SmoothL1Loss(const Tensor& x, const Tensor& target, double beta = 1.0, std::int64_t reduction = 1) {
  return detail::Apply("smooth_l1_loss", {x, target}, {{"beta", beta}, {"reduction", reduction}});
}
// d * d / 2 where the absolute difference d is at most delta, else delta * (d - delta / 2).
inline Tensor HuberLoss(const Tensor& x, const Tensor& target, double delta = 1.0, std::int64_t reduction = 1) {
  return detail::Apply("huber_loss", {x, target}, {{"delta", delta}, {"reduction", reduction}});
}
// -(target * log(x) + (1 - target) * log(1 - x)), logarithms kept above -100, times weight.
inline Tensor BinaryCrossEntropy(const Tensor& x, const Tensor& target, const Tensor& weight = {}, std::int64_t reduction = 1) {
  return detail::Apply("binary_cross_entropy", {x, target, weight}, {{"reduction", reduction}});
}
// Binary cross entropy of sigmoid(x), with no overflow; pos_weight multiplies the part of target 1.
inline Tensor BinaryCrossEntropyWithLogits(const Tensor& x, const Tensor& target, const Tensor& weight = {}, const Tensor& pos_weight = {}, std::int64_t reduction = 1) {
  return detail::Apply("binary_cross_entropy_with_logits", {x, target, weight, pos_weight}, {{"reduction", reduction}});
}
// target * (log(target) - x), where x is a logarithm.
inline Tensor KlDiv(const Tensor& x, const Tensor& target, bool log_target = false, std::int64_t reduction = 1) {
  return detail::Apply("kl_div", {x, target}, {{"log_target", log_target}, {"reduction", reduction}});
}
// -x at the target's class, times that class's weight; mean divides by the sum of the weights; NaN where the target is no class.
inline Tensor NllLoss(const Tensor& x, const Tensor& target, const Tensor& weight = {}, std::int64_t axis = 1, std::int64_t ignore_index = -100, std::int64_t reduction = 1) {
  return detail::Apply("nll_loss", {x, target, weight}, {{"axis", axis}, {"ignore_index", ignore_index}, {"reduction", reduction}});
}
// -log_softmax(x) at the target's class, as nll_loss; label_smoothing gives that share to all classes alike.
inline Tensor CrossEntropy(const Tensor& x, const Tensor& target, const Tensor& weight = {}, std::int64_t axis = 1, std::int64_t ignore_index = -100, double label_smoothing = 0.0, std::int64_t reduction = 1) {
  return detail::Apply("cross_entropy", {x, target, weight}, {{"axis", axis}, {"ignore_index", ignore_index}, {"label_smoothing", label_smoothing}, {"reduction", reduction}});
}
// Random bits: 32-bit lane (lane % 4) of Philox4x32-10 with key seed and counter (lane / 4, offset + stream).
inline Tensor Philox(const Tensor& lane, const Tensor& seed, const Tensor& offset, std::int64_t stream) {
  return detail::Apply("philox", {lane, seed, offset}, {{"stream", stream}});
}
// Uniform in [low, high): low + (high - low) u, rounded, for u in [0, 1) of 24 random bits (f64 53, f16 11, bf16 8); what rounds to high becomes the number below it, and low = high gives low.
inline Tensor RandomUniform(const Tensor& seed, const Tensor& offset, const std::vector<DimSpec>& shape, std::int64_t stream, double low = 0.0, double high = 1.0, DType dtype = DType::kF32) {
  return detail::Apply("random_uniform", {seed, offset}, {{"shape", shape}, {"stream", stream}, {"low", low}, {"high", high}, {"dtype", dtype}});
}
// Normally distributed numbers, by Box and Muller on pairs of lanes.
inline Tensor RandomNormal(const Tensor& seed, const Tensor& offset, const std::vector<DimSpec>& shape, std::int64_t stream, double mean = 0.0, double std = 1.0, DType dtype = DType::kF32) {
  return detail::Apply("random_normal", {seed, offset}, {{"shape", shape}, {"stream", stream}, {"mean", mean}, {"std", std}, {"dtype", dtype}});
}
// 1 with probability p, else 0: a uniform number of 24 random bits (f64 53) is below p.
inline Tensor Bernoulli(const Tensor& p, const Tensor& seed, const Tensor& offset, std::int64_t stream) {
  return detail::Apply("bernoulli", {p, seed, offset}, {{"stream", stream}});
}
// 0 with probability p, else x / (1 - p); p is rounded to 2^-16 where that moves it little, else to 2^-32.
inline Tensor Dropout(const Tensor& x, const Tensor& seed, const Tensor& offset, std::int64_t stream, const Tensor& p_scalar = {}, double p = 0.5) {
  return detail::Apply("dropout", {x, seed, offset, p_scalar}, {{"p", p}, {"stream", stream}});
}
// x itself; its gradient is zero, so that x counts as a constant.
inline Tensor StopGradient(const Tensor& x) {
  return detail::Apply("stop_gradient", {x}, {});
}
// x itself, a result of a part of the graph whose gradient is given beside the graph.
inline Tensor GradientMark(const Tensor& x, std::int64_t id) {
  return detail::Apply("gradient_mark", {x}, {{"id", id}});
}
// The matrices of the last two dims, with 0 above diagonal k.
inline Tensor Tril(const Tensor& x, std::int64_t k = 0) {
  return detail::Apply("tril", {x}, {{"k", k}});
}
// The matrices of the last two dims, with 0 below diagonal k.
inline Tensor Triu(const Tensor& x, std::int64_t k = 0) {
  return detail::Apply("triu", {x}, {{"k", k}});
}
// 1 where the position along the new last dim is x, else 0.
inline Tensor OneHot(const Tensor& x, std::int64_t num_classes, DType dtype = DType::kI64) {
  return detail::Apply("one_hot", {x}, {{"num_classes", num_classes}, {"dtype", dtype}});
}
// 1 on diagonal k, else 0.
inline Tensor Eye(const Builder& builder, const std::vector<DimSpec>& shape, std::int64_t k = 0, DType dtype = DType::kF32) {
  return detail::Apply("eye", builder, {{"shape", shape}, {"k", k}, {"dtype", dtype}});
}
// start, start + step ... before stop.
inline Tensor Arange(const Builder& builder, double stop, double start = 0.0, double step = 1.0, DType dtype = DType::kI64) {
  return detail::Apply("arange", builder, {{"start", start}, {"stop", stop}, {"step", step}, {"dtype", dtype}});
}
// num numbers from start to stop, evenly spaced.
inline Tensor Linspace(const Builder& builder, double start, double stop, std::int64_t num, bool endpoint = true, DType dtype = DType::kF32) {
  return detail::Apply("linspace", builder, {{"start", start}, {"stop", stop}, {"num", num}, {"endpoint", endpoint}, {"dtype", dtype}});
}

// Views of x, one after the other along an axis, with these sizes: together all of it.
std::vector<Tensor> Split(const Tensor& x, const std::vector<std::int64_t>& sizes, std::int64_t axis = 0);

// Operators. A number beside a Tensor takes the Tensor's dtype (a fraction beside an integer Tensor is f32).
#define JF_API_OPERATOR(op, Function)                                                                                     \
  inline Tensor operator op(const Tensor& a, const Tensor& b) { return Function(a, b); }                                   \
  inline Tensor operator op(const Tensor& a, const Number& b) { return Function(a, detail::LiteralLike(b, a)); }           \
  inline Tensor operator op(const Number& a, const Tensor& b) { return Function(detail::LiteralLike(a, b), b); }
JF_API_OPERATOR(+, Add)
JF_API_OPERATOR(-, Subtract)
JF_API_OPERATOR(*, Multiply)
JF_API_OPERATOR(/, Divide)
JF_API_OPERATOR(<, Less)
JF_API_OPERATOR(<=, LessEqual)
JF_API_OPERATOR(>, Greater)
JF_API_OPERATOR(>=, GreaterEqual)
#undef JF_API_OPERATOR
inline Tensor operator-(const Tensor& a) { return Negative(a); }

}  // namespace v1
}  // namespace jitfuse

#endif  // JITFUSE_API_OPS_H_
