// wide::Name: each primitive on long double (ir/scalar_functions.h).
#include <cmath>

#include "ir/scalar_functions.h"

namespace jitfuse::internal::wide {
namespace {

using Wide = long double;

constexpr Wide kSqrtHalf = 0.707106781186547524400844362104849039L;

bool Precedes(Wide a, Wide b) { return a < b || (a == b && std::signbit(a) && !std::signbit(b)); }

}  // namespace

#define JF_WIDE1(Name, expr)  \
  Wide Name(const Wide* in) { \
    const Wide a = in[0];     \
    return expr;              \
  }
#define JF_WIDE2(Name, expr)         \
  Wide Name(const Wide* in) {        \
    const Wide a = in[0], b = in[1]; \
    return expr;                     \
  }

JF_WIDE2(Add, a + b)
JF_WIDE2(Sub, a - b)
JF_WIDE2(Mul, a* b)
JF_WIDE2(Div, a / b)
JF_WIDE1(Neg, -a)
JF_WIDE1(Abs, std::fabs(a))
JF_WIDE1(Sign, a > 0 ? 1 : a < 0 ? -1 : a == 0 ? 0 : a)
JF_WIDE2(CopySign, std::copysign(a, b))
JF_WIDE2(Minimum, a != a ? a : b != b ? b : Precedes(b, a) ? b : a)
JF_WIDE2(Maximum, a != a ? a : b != b ? b : Precedes(a, b) ? b : a)
JF_WIDE2(Eq, a == b)
JF_WIDE2(Ne, a != b)
JF_WIDE2(Lt, a < b)
JF_WIDE2(Le, a <= b)
JF_WIDE2(Gt, a > b)
JF_WIDE2(Ge, a >= b)
JF_WIDE1(IsNan, std::isnan(a))
JF_WIDE1(IsInf, std::isinf(a))
JF_WIDE1(IsFinite, std::isfinite(a))
JF_WIDE1(Floor, std::floor(a))
JF_WIDE1(Ceil, std::ceil(a))
JF_WIDE1(Trunc, std::trunc(a))
JF_WIDE1(RoundEven, std::nearbyint(a))
JF_WIDE1(Sqrt, std::sqrt(a))
JF_WIDE1(Rsqrt, 1 / std::sqrt(a))
JF_WIDE1(Reciprocal, 1 / a)
JF_WIDE1(Exp, std::exp(a))
JF_WIDE1(Exp2, std::exp2(a))
JF_WIDE1(Expm1, std::expm1(a))
JF_WIDE1(Log, std::log(a))
JF_WIDE1(Log2, std::log2(a))
JF_WIDE1(Log10, std::log10(a))
JF_WIDE1(Log1p, std::log1p(a))
JF_WIDE1(Sin, std::sin(a))
JF_WIDE1(Cos, std::cos(a))
JF_WIDE1(Tan, std::tan(a))
JF_WIDE1(Asin, std::asin(a))
JF_WIDE1(Acos, std::acos(a))
JF_WIDE1(Atan, std::atan(a))
JF_WIDE2(Atan2, std::atan2(a, b))
JF_WIDE2(Fmod, std::fmod(a, b))
JF_WIDE1(Sinh, std::sinh(a))
JF_WIDE1(Cosh, std::cosh(a))
JF_WIDE1(Asinh, std::asinh(a))
JF_WIDE1(Acosh, std::acosh(a))
JF_WIDE1(Atanh, std::atanh(a))
JF_WIDE1(Tanh, std::tanh(a))
JF_WIDE1(Erf, std::erf(a))
JF_WIDE1(Erfc, std::erfc(a))
JF_WIDE1(NormalTail, std::erfc(a* kSqrtHalf) / 2)

#undef JF_WIDE1
#undef JF_WIDE2

// The sign apart: glibc's powl takes -2^63 for an odd number (pow(-inf, -2^63) gives -0 or inf).
Wide Pow(const Wide* in) {
  const Wide a = in[0], b = in[1];
  if (!std::signbit(a) || std::isnan(a) || std::isnan(b) || b == 0) return std::pow(a, b);
  const bool whole = std::isinf(b) || b == std::trunc(b);
  if (!whole && a != 0 && !std::isinf(a)) return std::pow(a, b);  // NaN
  const bool odd = whole && !std::isinf(b) && std::fmod(b, Wide{2}) != 0;
  const Wide size = std::pow(-a, b);
  return odd ? -size : size;
}
Wide Lgamma(const Wide* in) {
  int sign;
  return lgammal_r(in[0], &sign);  // std::lgamma writes a global
}
Wide Fma(const Wide* in) { return std::fma(in[0], in[1], in[2]); }
Wide Select(const Wide* in) { return in[0] != 0 ? in[1] : in[2]; }

}  // namespace jitfuse::internal::wide
