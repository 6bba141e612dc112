// Casts: those that cannot change a bit go. A narrowing round trip (f32 -> bf16 -> f32) rounds and
// therefore stays.
#include "ir/op_enum.h"
#include "ir/rewrite/rule.h"

namespace jitfuse::internal {
namespace {

int SignificandBits(DType d) {
  if (!IsFloat(d)) return 0;
  if (d == DType::kF16) return 11;
  if (d == DType::kBF16) return 8;
  return d == DType::kF32 ? 24 : 53;
}

// Integer dtypes: bits of magnitude, sign apart.
int MagnitudeBits(DType d) {
  return d == DType::kBool ? 1 : 8 * ItemSize(d) - (IsSigned(d) ? 1 : 0);
}

// cast(cast(x, b), c) is cast(x, c) if b loses nothing of x. Integer to integer wraps but float to
// integer saturates, so an integer that passes through a float must fit the last type.
std::optional<Value> CastOfCast(RuleContext& context) {
  if (context.in_op(0) != Op::kCast) return std::nullopt;
  Value x = context.in_node(0).in[0];
  DType a = context.graph().type(x).dtype;
  DType b = context.graph().type(context.in(0)).dtype;
  DType c = context.dtype();
  if (!HoldsAllOf(b, a)) return std::nullopt;
  if (!IsFloat(a) && IsFloat(b) && IsInt(c) && !HoldsAllOf(c, a)) return std::nullopt;
  return context.Add(Op::kCast, {x}, {{"dtype", c}});
}

std::optional<Value> CastToSame(RuleContext& context) {
  if (context.graph().type(context.in(0)).dtype != context.dtype() ||
      !context.IsRounded(context.in(0)))
    return std::nullopt;
  return context.in(0);
}

constexpr RewriteRule kRules[] = {
    {"cast_of_cast", Op::kCast, kAnyDType, nullptr, CastOfCast,
     "cast(cast(x, b), c) -> cast(x, c) if b holds all of x's values",
     "the first cast changes nothing, so the second one rounds the same value"},
    {"cast_to_same", Op::kCast, kAnyDType, nullptr, CastToSame, "cast(x, dtype of x) -> x",
     "for f16 and bf16 only where x was rounded when it was made"},
};

}  // namespace

bool HoldsAllOf(DType to, DType from) {
  if (to == from || from == DType::kBool) return true;
  if (to == DType::kBool) return false;
  if (IsFloat(from)) {
    bool wider_exponent = from == DType::kF16 ? to != DType::kBF16 : to != DType::kF16;
    return IsFloat(to) && SignificandBits(to) >= SignificandBits(from) && wider_exponent;
  }
  if (IsFloat(to)) {
    // The lowest signed value is a power of two, so magnitude bits decide; f16 ends at 65504.
    return SignificandBits(to) >= MagnitudeBits(from);
  }
  if (IsSigned(from) && !IsSigned(to)) return false;
  return MagnitudeBits(to) >= MagnitudeBits(from);
}

absl::Span<const RewriteRule> CastRules() { return kRules; }

}  // namespace jitfuse::internal
