// Algebra: identities, absorbing constants, equal operands, double negation, exact strength
// reduction. Only what holds for NaN, infinities and both zeros is here: x * 0, x - x and x + 0.0
// on floats are not.
#include <cmath>
#include <limits>

#include "ir/op_enum.h"
#include "ir/rewrite/rule.h"
#include "ir/scalar_expr.h"

namespace jitfuse::internal {
namespace {

// ---- Tests of the constant operand.
bool IsOne(DType d, ScalarValue v) { return ScalarToDouble(d, v) == 1; }
bool IsZeroBits(DType, ScalarValue v) { return v.u == 0; }  // +0.0, 0, false
bool IsMinusZero(DType d, ScalarValue v) { return ScalarToDouble(d, v) == 0 && v.u != 0; }
bool IsInfinity(DType d, ScalarValue v) {
  return ScalarToDouble(d, v) == std::numeric_limits<double>::infinity();
}
bool IsMinusInfinity(DType d, ScalarValue v) {
  return ScalarToDouble(d, v) == -std::numeric_limits<double>::infinity();
}

ScalarValue AllOnes(DType d) {
  return d == DType::kBool ? ScalarFromInt(d, 1) : ScalarFromInt(d, -1);
}
bool IsAllOnes(DType d, ScalarValue v) { return v.u == AllOnes(d).u; }

ScalarValue Lowest(DType d) {
  if (!IsSigned(d)) return ScalarFromInt(d, 0);
  return ScalarFromInt(d, -(int64_t{1} << (8 * ItemSize(d) - 2)) * 2);
}
bool IsLowest(DType d, ScalarValue v) { return v.u == Lowest(d).u; }
bool IsHighest(DType d, ScalarValue v) {
  return IsSigned(d) ? v.i == -1 - Lowest(d).i : v.u == AllOnes(d).u;
}

// 2^k whose reciprocal is a value of the dtype too (it may be subnormal).
bool IsInvertiblePowerOfTwo(DType d, ScalarValue v) {
  double x = ScalarToDouble(d, v);
  int exponent = 0;
  if (!std::isfinite(x) || std::fabs(std::frexp(x, &exponent)) != 0.5) return false;
  return ScalarToDouble(d, ScalarFromDouble(d, 1 / x)) == 1 / x && std::isfinite(1 / x);
}

// ---- What to do.
std::optional<Value> First(RuleContext& c) { return c.in(0); }
std::optional<Value> TheConstant(RuleContext& c) {
  return c.AddUniform(c.type(), *c.Uniform(c.in(1)));
}
std::optional<Value> Zero(RuleContext& c) {
  return c.AddUniform(c.type(), ScalarFromInt(c.dtype(), 0));
}

std::optional<Value> ReluOfFirst(RuleContext& c) { return c.Add(Op::kRelu, {c.in(0)}); }

std::optional<Value> FirstIfSame(RuleContext& c) {
  if (c.in(0) != c.in(1)) return std::nullopt;
  return c.in(0);
}

std::optional<Value> ZeroIfSame(RuleContext& c) {
  if (c.in(0) != c.in(1)) return std::nullopt;
  return Zero(c);
}

std::optional<Value> TrueIfSame(RuleContext& c) {
  if (c.in(0) != c.in(1)) return std::nullopt;
  return c.AddUniform(c.type(), ScalarFromInt(DType::kBool, 1));
}

std::optional<Value> Involution(RuleContext& c) {
  if (c.in_op(0) != c.node().op) return std::nullopt;
  return c.in_node(0).in[0];
}

std::optional<Value> Idempotent(RuleContext& c) {
  if (c.in_op(0) != c.node().op) return std::nullopt;
  return c.in(0);
}

// f(-x) and f(|x|) for an even f.
std::optional<Value> EvenOfSign(RuleContext& c) {
  if (c.in_op(0) != Op::kNegative && c.in_op(0) != Op::kAbs) return std::nullopt;
  if (c.in_op(0) == c.node().op) return std::nullopt;
  return c.Add(c.node().op, {c.in_node(0).in[0]});
}

std::optional<Value> ConstantRight(RuleContext& c) {
  if (c.node().in.size() != 2 || !IsCommutative(c.node().op)) return std::nullopt;
  if (!c.Uniform(c.in(0)) || c.Uniform(c.in(1))) return std::nullopt;
  return c.Add(c.node().op, {c.in(1), c.in(0)});
}

std::optional<Value> AddNegative(RuleContext& c) {
  if (c.in_op(1) == Op::kNegative) return c.Add(Op::kSubtract, {c.in(0), c.in_node(1).in[0]});
  if (c.in_op(0) == Op::kNegative) return c.Add(Op::kSubtract, {c.in(1), c.in_node(0).in[0]});
  return std::nullopt;
}

std::optional<Value> SubtractNegative(RuleContext& c) {
  if (c.in_op(1) != Op::kNegative) return std::nullopt;
  return c.Add(Op::kAdd, {c.in(0), c.in_node(1).in[0]});
}

// -x * -y and -x / -y.
std::optional<Value> BothNegative(RuleContext& c) {
  if (c.in_op(0) != Op::kNegative || c.in_op(1) != Op::kNegative) return std::nullopt;
  return c.Add(c.node().op, {c.in_node(0).in[0], c.in_node(1).in[0]});
}

std::optional<Value> MultiplyByReciprocal(RuleContext& c) {
  TensorType type = c.graph().type(c.in(1));
  ScalarValue inverse =
      ScalarFromDouble(type.dtype, 1 / ScalarToDouble(type.dtype, *c.Uniform(c.in(1))));
  std::optional<Value> constant = c.AddUniform(type, inverse);
  if (!constant) return std::nullopt;
  return c.Add(Op::kMultiply, {c.in(0), *constant});
}

std::optional<Value> NotOfEqual(RuleContext& c) {
  if (c.in_op(0) != Op::kEqual && c.in_op(0) != Op::kNotEqual) return std::nullopt;
  Op opposite = c.in_op(0) == Op::kEqual ? Op::kNotEqual : Op::kEqual;
  return c.Add(opposite, {c.in_node(0).in[0], c.in_node(0).in[1]});
}

std::optional<Value> WhereConstant(RuleContext& c) {
  std::optional<ScalarValue> condition = c.Uniform(c.in(0));
  if (!condition) return std::nullopt;
  return condition->b ? c.in(1) : c.in(2);
}

std::optional<Value> WhereSame(RuleContext& c) {
  if (c.in(1) != c.in(2)) return std::nullopt;
  return c.in(1);
}

std::optional<Value> WhereNot(RuleContext& c) {
  if (c.in_op(0) != Op::kLogicalNot) return std::nullopt;
  return c.Add(Op::kWhere, {c.in_node(0).in[0], c.in(2), c.in(1)});
}

constexpr DTypeSet kBits = kInts | kBools;

constexpr RewriteRule kRules[] = {
    {"constant_right", Op::kCount, kAnyDType, nullptr, ConstantRight,
     "f(c, x) -> f(x, c) for commutative f", "f is commutative bit for bit"},

    // Neutral constants.
    {"add_zero", Op::kAdd, kInts, IsZeroBits, First, "add(x, 0) -> x", "integers"},
    {"add_minus_zero", Op::kAdd, kFloats, IsMinusZero, First, "add(x, -0.0) -> x",
     "-0 + -0 is -0 and +0 + -0 is +0"},
    {"subtract_zero", Op::kSubtract, kNumeric, IsZeroBits, First, "subtract(x, 0) -> x",
     "-0 - +0 is -0 and +0 - +0 is +0"},
    {"multiply_one", Op::kMultiply, kNumeric, IsOne, First, "multiply(x, 1) -> x",
     "a product with 1 is exact"},
    {"divide_one", Op::kDivide, kFloats, IsOne, First, "divide(x, 1) -> x",
     "a quotient by 1 is exact"},
    {"floor_divide_one", Op::kFloorDivide, kInts, IsOne, First, "floor_divide(x, 1) -> x",
     "integers"},
    {"trunc_divide_one", Op::kTruncDivide, kInts, IsOne, First, "trunc_divide(x, 1) -> x",
     "integers"},
    {"and_all_ones", Op::kBitwiseAnd, kBits, IsAllOnes, First, "bitwise_and(x, all ones) -> x",
     "bits"},
    {"or_zero", Op::kBitwiseOr, kBits, IsZeroBits, First, "bitwise_or(x, 0) -> x", "bits"},
    {"xor_zero", Op::kBitwiseXor, kBits, IsZeroBits, First, "bitwise_xor(x, 0) -> x", "bits"},
    {"logical_and_true", Op::kLogicalAnd, kBools, IsAllOnes, First, "logical_and(x, true) -> x",
     "bools"},
    {"logical_or_false", Op::kLogicalOr, kBools, IsZeroBits, First, "logical_or(x, false) -> x",
     "bools"},
    {"logical_xor_false", Op::kLogicalXor, kBools, IsZeroBits, First, "logical_xor(x, false) -> x",
     "bools"},
    {"maximum_lowest", Op::kMaximum, kInts, IsLowest, First, "maximum(x, lowest) -> x", "integers"},
    {"maximum_zero", Op::kMaximum, kNumeric, IsZeroBits, ReluOfFirst, "maximum(x, 0) -> relu(x)",
     "relu is maximum(x, +0)"},
    {"minimum_highest", Op::kMinimum, kInts, IsHighest, First, "minimum(x, highest) -> x",
     "integers"},
    {"maximum_minus_inf", Op::kMaximum, kFloats, IsMinusInfinity, First, "maximum(x, -inf) -> x",
     "NaN stays NaN on both sides"},
    {"minimum_inf", Op::kMinimum, kFloats, IsInfinity, First, "minimum(x, inf) -> x",
     "NaN stays NaN on both sides"},

    // Absorbing constants: integers and bools only, since NaN * 0 is NaN.
    {"multiply_zero", Op::kMultiply, kInts, IsZeroBits, TheConstant, "multiply(x, 0) -> 0",
     "integers"},
    {"and_zero", Op::kBitwiseAnd, kBits, IsZeroBits, TheConstant, "bitwise_and(x, 0) -> 0", "bits"},
    {"or_all_ones", Op::kBitwiseOr, kBits, IsAllOnes, TheConstant,
     "bitwise_or(x, all ones) -> all ones", "bits"},
    {"logical_and_false", Op::kLogicalAnd, kBools, IsZeroBits, TheConstant,
     "logical_and(x, false) -> false", "bools"},
    {"logical_or_true", Op::kLogicalOr, kBools, IsAllOnes, TheConstant,
     "logical_or(x, true) -> true", "bools"},
    {"maximum_highest", Op::kMaximum, kInts, IsHighest, TheConstant,
     "maximum(x, highest) -> highest", "integers"},
    {"minimum_lowest", Op::kMinimum, kInts, IsLowest, TheConstant, "minimum(x, lowest) -> lowest",
     "integers"},
    {"remainder_one", Op::kRemainder, kInts, IsOne, Zero, "remainder(x, 1) -> 0", "integers"},
    {"fmod_one", Op::kFmod, kInts, IsOne, Zero, "fmod(x, 1) -> 0", "integers"},

    // Equal operands: comparisons of floats stay where NaN decides.
    {"maximum_same", Op::kMaximum, kNumeric, nullptr, FirstIfSame, "maximum(x, x) -> x",
     "one of two equal values"},
    {"minimum_same", Op::kMinimum, kNumeric, nullptr, FirstIfSame, "minimum(x, x) -> x",
     "one of two equal values"},
    {"and_same", Op::kBitwiseAnd, kBits, nullptr, FirstIfSame, "bitwise_and(x, x) -> x", "bits"},
    {"or_same", Op::kBitwiseOr, kBits, nullptr, FirstIfSame, "bitwise_or(x, x) -> x", "bits"},
    {"xor_same", Op::kBitwiseXor, kBits, nullptr, ZeroIfSame, "bitwise_xor(x, x) -> 0", "bits"},
    {"logical_and_same", Op::kLogicalAnd, kBools, nullptr, FirstIfSame, "logical_and(x, x) -> x",
     "bools"},
    {"logical_or_same", Op::kLogicalOr, kBools, nullptr, FirstIfSame, "logical_or(x, x) -> x",
     "bools"},
    {"subtract_same", Op::kSubtract, kInts, nullptr, ZeroIfSame, "subtract(x, x) -> 0",
     "integers; inf - inf is NaN"},
    {"equal_same", Op::kEqual, kBits, nullptr, TrueIfSame, "equal(x, x) -> true",
     "integers and bools; NaN differs from itself"},
    {"less_same", Op::kLess, kNumeric, nullptr, ZeroIfSame, "less(x, x) -> false",
     "false for NaN too"},
    {"greater_same", Op::kGreater, kNumeric, nullptr, ZeroIfSame, "greater(x, x) -> false",
     "false for NaN too"},

    // One op twice.
    {"negative_twice", Op::kNegative, kNumeric, nullptr, Involution, "negative(negative(x)) -> x",
     "the sign bit flips twice"},
    {"bitwise_not_twice", Op::kBitwiseNot, kBits, nullptr, Involution,
     "bitwise_not(bitwise_not(x)) -> x", "bits"},
    {"logical_not_twice", Op::kLogicalNot, kBools, nullptr, Involution,
     "logical_not(logical_not(x)) -> x", "bools"},
    {"abs_twice", Op::kAbs, kNumeric, nullptr, Idempotent, "abs(abs(x)) -> abs(x)",
     "the sign is clear already"},
    {"relu_twice", Op::kRelu, kNumeric, nullptr, Idempotent, "relu(relu(x)) -> relu(x)",
     "a maximum with 0 is no less than 0, or NaN"},
    {"relu6_twice", Op::kRelu6, kFloats, nullptr, Idempotent, "relu6(relu6(x)) -> relu6(x)",
     "a clamped value is within the limits"},
    {"floor_twice", Op::kFloor, kFloats, nullptr, Idempotent, "floor(floor(x)) -> floor(x)",
     "an integer already"},
    {"ceil_twice", Op::kCeil, kFloats, nullptr, Idempotent, "ceil(ceil(x)) -> ceil(x)",
     "an integer already"},
    {"trunc_twice", Op::kTrunc, kFloats, nullptr, Idempotent, "trunc(trunc(x)) -> trunc(x)",
     "an integer already"},
    {"round_twice", Op::kRound, kFloats, nullptr, Idempotent, "round(round(x)) -> round(x)",
     "an integer already"},
    {"sign_twice", Op::kSign, kNumeric, nullptr, Idempotent, "sign(sign(x)) -> sign(x)",
     "-1, 0, 1 and NaN are their own signs"},

    // Signs.
    {"abs_of_negative", Op::kAbs, kFloats | kSigned, nullptr, EvenOfSign,
     "abs(negative(x)) -> abs(x)", "the sign bit is cleared anyhow"},
    {"square_of_sign", Op::kSquare, kNumeric, nullptr, EvenOfSign,
     "square(negative(x)) -> square(x), also of abs", "the product of equal signs is positive"},
    {"add_negative", Op::kAdd, kNumeric, nullptr, AddNegative,
     "add(x, negative(y)) -> subtract(x, y)", "IEEE defines x - y as x + -y"},
    {"subtract_negative", Op::kSubtract, kNumeric, nullptr, SubtractNegative,
     "subtract(x, negative(y)) -> add(x, y)", "IEEE defines x - y as x + -y"},
    {"multiply_negatives", Op::kMultiply, kNumeric, nullptr, BothNegative,
     "multiply(negative(x), negative(y)) -> multiply(x, y)",
     "the sign is the exclusive or of both"},
    {"divide_negatives", Op::kDivide, kFloats, nullptr, BothNegative,
     "divide(negative(x), negative(y)) -> divide(x, y)", "the sign is the exclusive or of both"},

    {"divide_by_power", Op::kDivide, kFloats, IsInvertiblePowerOfTwo, MultiplyByReciprocal,
     "divide(x, 2^k) -> multiply(x, 2^-k)",
     "both round the same real number once; 2^-k is a value of the dtype"},

    {"not_of_equal", Op::kLogicalNot, kBools, nullptr, NotOfEqual,
     "logical_not(equal(x, y)) -> not_equal(x, y), and back",
     "NaN is unequal to everything; the same does not hold for less"},
    {"where_constant", Op::kWhere, kBools, nullptr, WhereConstant,
     "where(true, x, y) -> x, where(false, x, y) -> y", "a choice"},
    {"where_same", Op::kWhere, kBools, nullptr, WhereSame, "where(p, x, x) -> x", "a choice"},
    {"where_not", Op::kWhere, kBools, nullptr, WhereNot,
     "where(logical_not(p), x, y) -> where(p, y, x)", "a choice"},
};

}  // namespace

absl::Span<const RewriteRule> AlgebraRules() { return kRules; }

}  // namespace jitfuse::internal
