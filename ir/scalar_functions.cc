// eval::Name: each primitive in its declared type (ir/scalar_functions.h).
#include "ir/scalar_functions.h"

#include <bit>
#include <cmath>
#include <limits>
#include <type_traits>

#include "ir/scalar_value.h"

namespace jitfuse::internal::eval {
namespace {

// The type in which integers of type T wrap without undefined behaviour (int promotion of u16 would
// overflow).
template <typename T>
using Wrap = std::conditional_t<(sizeof(T) > 4), uint64_t, uint32_t>;

template <typename T>
bool IsNegative(T x) {
  if constexpr (std::is_signed_v<T>) {
    return x < 0;
  } else {
    return false;
  }
}

// Applies f(a, b) in the operand type and keeps the result in it.
template <typename F>
ScalarValue Binary(DType operand, const ScalarValue* in, F f) {
  return OnType(operand, [&](auto tag) {
    using T = decltype(tag);
    return Put<T>(static_cast<T>(f(Get<T>(in[0]), Get<T>(in[1]))));
  });
}

template <typename F>
ScalarValue Unary(DType operand, const ScalarValue* in, F f) {
  return OnType(operand, [&](auto tag) {
    using T = decltype(tag);
    return Put<T>(static_cast<T>(f(Get<T>(in[0]))));
  });
}

template <typename F>
ScalarValue Compare(DType operand, const ScalarValue* in, F f) {
  return OnType(operand, [&](auto tag) {
    using T = decltype(tag);
    return Put<bool>(f(Get<T>(in[0]), Get<T>(in[1])));
  });
}

template <typename F>
ScalarValue Float(DType operand, const ScalarValue* in, F f) {
  if (operand == DType::kF64) return Put<double>(f(in[0].f64));
  return Put<float>(f(in[0].f32));
}

template <typename F>
ScalarValue FloatPredicate(DType operand, const ScalarValue* in, F f) {
  return Put<bool>(operand == DType::kF64 ? f(in[0].f64) : f(in[0].f32));
}

// f(a, b) for integers and bool; floats are outside the domain.
template <typename F>
ScalarValue IntBinary(DType operand, const ScalarValue* in, F f) {
  return Binary(operand, in, [&](auto a, auto b) -> decltype(a) {
    if constexpr (std::is_floating_point_v<decltype(a)>) {
      return a;
    } else {
      return static_cast<decltype(a)>(f(a, b));
    }
  });
}

template <typename T>
struct QuotientRemainder {
  T quotient = 0, remainder = 0;
};

// C's quotient and remainder, with 0 and 0 for division by zero, and wrapping for the lowest value
// by -1.
template <typename T>
QuotientRemainder<T> Divide(T a, T b) {
  if (b == 0) return {};
  if constexpr (std::is_signed_v<T>) {
    if (b == -1) return {static_cast<T>(Wrap<T>{0} - static_cast<Wrap<T>>(a)), 0};
  }
  return {static_cast<T>(a / b), static_cast<T>(a % b)};
}

template <typename T>
bool RoundsDown(T remainder, T b) {
  return remainder != 0 && IsNegative(remainder) != IsNegative(b);
}

template <typename T>
bool ValidShift(T b) {
  return !IsNegative(b) && static_cast<uint64_t>(b) < sizeof(T) * 8;
}

// The sign decides between equal values: -0 is less than +0.
template <typename T>
bool Precedes(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a < b || (a == b && std::signbit(a) && !std::signbit(b));
  } else {
    return a < b;
  }
}

template <typename T>
T RoundToEven(T x) {
  return std::nearbyint(x);  // the process runs in round-to-nearest
}

}  // namespace

#define JF_WRAPPING(Name, op)                                                      \
  ScalarValue Name(DType operand, DType, const ScalarValue* in) {                  \
    return Binary(operand, in, [](auto a, auto b) {                                \
      using T = decltype(a);                                                       \
      if constexpr (std::is_floating_point_v<T>) {                                 \
        return a op b;                                                             \
      } else {                                                                     \
        return static_cast<T>(static_cast<Wrap<T>>(a) op static_cast<Wrap<T>>(b)); \
      }                                                                            \
    });                                                                            \
  }
JF_WRAPPING(Add, +)
JF_WRAPPING(Sub, -)
JF_WRAPPING(Mul, *)
#undef JF_WRAPPING

#define JF_COMPARE(Name, op)                                            \
  ScalarValue Name(DType operand, DType, const ScalarValue* in) {       \
    return Compare(operand, in, [](auto a, auto b) { return a op b; }); \
  }
JF_COMPARE(Eq, ==)
JF_COMPARE(Ne, !=)
JF_COMPARE(Lt, <)
JF_COMPARE(Le, <=)
JF_COMPARE(Gt, >)
JF_COMPARE(Ge, >=)
#undef JF_COMPARE

#define JF_BITWISE(Name, op)                                              \
  ScalarValue Name(DType operand, DType, const ScalarValue* in) {         \
    return IntBinary(operand, in, [](auto a, auto b) { return a op b; }); \
  }
JF_BITWISE(And, &)
JF_BITWISE(Or, |)
JF_BITWISE(Xor, ^)
#undef JF_BITWISE

#define JF_FLOAT(Name, expr)                                      \
  ScalarValue Name(DType operand, DType, const ScalarValue* in) { \
    return Float(operand, in, [](auto x) { return expr; });       \
  }
JF_FLOAT(Floor, std::floor(x))
JF_FLOAT(Ceil, std::ceil(x))
JF_FLOAT(Trunc, std::trunc(x))
JF_FLOAT(RoundEven, RoundToEven(x))
JF_FLOAT(Sqrt, std::sqrt(x))
#undef JF_FLOAT

#define JF_PREDICATE(Name, expr)                                     \
  ScalarValue Name(DType operand, DType, const ScalarValue* in) {    \
    return FloatPredicate(operand, in, [](auto x) { return expr; }); \
  }
JF_PREDICATE(IsNan, std::isnan(x))
JF_PREDICATE(IsInf, std::isinf(x))
JF_PREDICATE(IsFinite, std::isfinite(x))
#undef JF_PREDICATE

ScalarValue Div(DType operand, DType, const ScalarValue* in) {
  if (operand == DType::kF64) return Put<double>(in[0].f64 / in[1].f64);
  return Put<float>(in[0].f32 / in[1].f32);
}

ScalarValue Fma(DType operand, DType, const ScalarValue* in) {
  if (operand == DType::kF64) return Put<double>(std::fma(in[0].f64, in[1].f64, in[2].f64));
  return Put<float>(std::fma(in[0].f32, in[1].f32, in[2].f32));
}

ScalarValue Neg(DType operand, DType, const ScalarValue* in) {
  return Unary(operand, in, [](auto x) {
    using T = decltype(x);
    if constexpr (std::is_floating_point_v<T>) {
      return -x;
    } else {
      return static_cast<T>(Wrap<T>{0} - static_cast<Wrap<T>>(x));
    }
  });
}

ScalarValue Abs(DType operand, DType, const ScalarValue* in) {
  return Unary(operand, in, [](auto x) {
    using T = decltype(x);
    if constexpr (std::is_floating_point_v<T>) {
      return std::fabs(x);
    } else {
      return IsNegative(x) ? static_cast<T>(Wrap<T>{0} - static_cast<Wrap<T>>(x)) : x;
    }
  });
}

ScalarValue NextAfter(DType operand, DType, const ScalarValue* in) {
  if (operand == DType::kF64) return Put<double>(std::nextafter(in[0].f64, in[1].f64));
  return Put<float>(std::nextafter(in[0].f32, in[1].f32));
}

ScalarValue MulHi(DType, DType, const ScalarValue* in) {
  return Put<uint32_t>(static_cast<uint32_t>(in[0].u * in[1].u >> 32));
}

ScalarValue Sign(DType operand, DType, const ScalarValue* in) {
  return Unary(operand, in, [](auto x) {
    using T = decltype(x);
    if (IsNegative(x)) return static_cast<T>(-1);
    if (x > 0) return T{1};
    return x == 0 ? T{0} : x;
  });
}

ScalarValue CopySign(DType operand, DType, const ScalarValue* in) {
  if (operand == DType::kF64) return Put<double>(std::copysign(in[0].f64, in[1].f64));
  return Put<float>(std::copysign(in[0].f32, in[1].f32));
}

ScalarValue Minimum(DType operand, DType, const ScalarValue* in) {
  return Binary(operand, in, [](auto a, auto b) {
    if (a != a) return a;
    if (b != b) return b;
    return Precedes(b, a) ? b : a;
  });
}

ScalarValue Maximum(DType operand, DType, const ScalarValue* in) {
  return Binary(operand, in, [](auto a, auto b) {
    if (a != a) return a;
    if (b != b) return b;
    return Precedes(a, b) ? b : a;
  });
}

ScalarValue Not(DType operand, DType, const ScalarValue* in) {
  return Unary(operand, in, [](auto x) {
    using T = decltype(x);
    if constexpr (std::is_floating_point_v<T>) {
      return x;
    } else if constexpr (std::is_same_v<T, bool>) {
      return !x;
    } else {
      return static_cast<T>(~x);
    }
  });
}

ScalarValue Shl(DType operand, DType, const ScalarValue* in) {
  return IntBinary(operand, in, [](auto a, auto b) {
    using T = decltype(a);
    return ValidShift(b) ? static_cast<T>(static_cast<Wrap<T>>(a) << b) : T{0};
  });
}

ScalarValue Shr(DType operand, DType, const ScalarValue* in) {
  return IntBinary(operand, in, [](auto a, auto b) {
    using T = decltype(a);
    if (ValidShift(b)) return static_cast<T>(a >> b);
    return static_cast<T>(IsNegative(a) ? -1 : 0);
  });
}

ScalarValue ShlRaw(DType operand, DType result, const ScalarValue* in) {
  return Shl(operand, result, in);
}
ScalarValue ShrRaw(DType operand, DType result, const ScalarValue* in) {
  return Shr(operand, result, in);
}

ScalarValue Select(DType, DType, const ScalarValue* in) { return in[0].u != 0 ? in[1] : in[2]; }

ScalarValue Bitcast(DType operand, DType result, const ScalarValue* in) {
  // f32 bits lie zero-extended in the register, i32 sign-extended; 64-bit types share their bits.
  if (operand == DType::kF32) return Put<int32_t>(std::bit_cast<int32_t>(in[0].f32));
  if (result == DType::kF32) return Put<float>(std::bit_cast<float>(Get<int32_t>(in[0])));
  return in[0];
}

ScalarValue TruncDivide(DType operand, DType, const ScalarValue* in) {
  return IntBinary(operand, in, [](auto a, auto b) { return Divide(a, b).quotient; });
}

ScalarValue Fmod(DType operand, DType, const ScalarValue* in) {
  if (operand == DType::kF64) return Put<double>(std::fmod(in[0].f64, in[1].f64));
  if (operand == DType::kF32) return Put<float>(std::fmod(in[0].f32, in[1].f32));
  return IntBinary(operand, in, [](auto a, auto b) { return Divide(a, b).remainder; });
}

ScalarValue FloorDivide(DType operand, DType, const ScalarValue* in) {
  return IntBinary(operand, in, [](auto a, auto b) {
    auto d = Divide(a, b);
    return RoundsDown(d.remainder, b) ? static_cast<decltype(a)>(d.quotient - 1) : d.quotient;
  });
}

ScalarValue Remainder(DType operand, DType, const ScalarValue* in) {
  return IntBinary(operand, in, [](auto a, auto b) {
    auto d = Divide(a, b);
    return RoundsDown(d.remainder, b) ? static_cast<decltype(a)>(d.remainder + b) : d.remainder;
  });
}

}  // namespace jitfuse::internal::eval
