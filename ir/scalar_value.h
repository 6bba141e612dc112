// Typed access to ScalarValue registers, and dispatch from a DType to the C++ type of its register.
//
// Get<T>(v) and Put<T>(x) read and write the member that belongs to T; Put leaves the unused bytes
// zero. OnType(dtype, f) calls f(T{}) with the register's C++ type (f16 and bf16: float) and
// returns what f returns. Must not know: ops.
#ifndef JITFUSE_IR_SCALAR_VALUE_H_
#define JITFUSE_IR_SCALAR_VALUE_H_

#include <cstdint>
#include <type_traits>

#include "ir/scalar_expr.h"

namespace jitfuse::internal {

template <typename T>
T Get(ScalarValue v) {
  if constexpr (std::is_same_v<T, bool>) {
    return v.u != 0;
  } else if constexpr (std::is_same_v<T, float>) {
    return v.f32;
  } else if constexpr (std::is_same_v<T, double>) {
    return v.f64;
  } else if constexpr (std::is_signed_v<T>) {
    return static_cast<T>(v.i);
  } else {
    return static_cast<T>(v.u);
  }
}

template <typename T>
ScalarValue Put(std::type_identity_t<T> x) {
  ScalarValue v;
  if constexpr (std::is_same_v<T, bool>) {
    v.u = x ? 1 : 0;
  } else if constexpr (std::is_same_v<T, float>) {
    v.f32 = x;
  } else if constexpr (std::is_same_v<T, double>) {
    v.f64 = x;
  } else if constexpr (std::is_signed_v<T>) {
    v.i = x;
  } else {
    v.u = x;
  }
  return v;
}

template <typename F>
auto OnType(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kBool:
      return f(bool{});
    case DType::kU8:
      return f(uint8_t{});
    case DType::kU16:
      return f(uint16_t{});
    case DType::kU32:
      return f(uint32_t{});
    case DType::kU64:
      return f(uint64_t{});
    case DType::kI8:
      return f(int8_t{});
    case DType::kI16:
      return f(int16_t{});
    case DType::kI32:
      return f(int32_t{});
    case DType::kI64:
      return f(int64_t{});
    case DType::kF64:
      return f(double{});
    case DType::kF16:
    case DType::kBF16:
    case DType::kF32:
      break;
  }
  return f(float{});
}

// A number that is not tied to a type yet (weak literals, attributes), as a register of `dtype`:
// floats round once; whole numbers wrap into integer types, others saturate as casts do.
ScalarValue ScalarFromLongDouble(DType dtype, long double v);
// The register's number; exact for every type.
long double ScalarToLongDouble(DType dtype, ScalarValue v);

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_SCALAR_VALUE_H_
