// The 16-bit float formats by hand: f16 (IEEE binary16) and bf16, to and from wider floats,
// exactly.
//
// Conversions into f16/bf16 round once, to nearest even, from f32, f64 or long double (the
// evaluator's type), also for subnormals; overflow gives infinity; NaN stays NaN (quiet).
// Conversions out are exact. Header-only, constexpr-free, no dependence on compiler half types (gcc
// 12 lacks std::float16_t).
#ifndef JITFUSE_IR_SUPPORT_FLOAT_BITS_H_
#define JITFUSE_IR_SUPPORT_FLOAT_BITS_H_

#include <bit>
#include <cmath>
#include <cstdint>

namespace jitfuse::internal {

inline float F32FromBF16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

inline float F32FromF16(uint16_t bits) {
  uint32_t sign = static_cast<uint32_t>(bits & 0x8000) << 16;
  uint32_t exponent = (bits >> 10) & 31;
  uint32_t fraction = bits & 1023;
  if (exponent == 31)
    return std::bit_cast<float>(sign | 0x7f800000u | (fraction << 13) | (fraction ? 0x400000u : 0));
  if (exponent == 0) {
    float magnitude = static_cast<float>(fraction) * 0x1p-24f;
    return sign != 0 ? -magnitude : magnitude;
  }
  return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
}

// `value` rounded to nearest even on the grid of a float format with `digits` significant bits and
// smallest normal exponent `min_exponent` (2^min_exponent is the smallest normal number); no
// overflow handling.
template <typename T>
T RoundToGrid(T value, int digits, int min_exponent) {
  if (value == 0 || !std::isfinite(value)) return value;
  int exponent = std::ilogb(value);
  int ulp_exponent = (exponent < min_exponent ? min_exponent : exponent) - (digits - 1);
  return std::scalbn(std::nearbyint(std::scalbn(value, -ulp_exponent)), ulp_exponent);
}

template <typename T>
uint16_t BF16FromFloat(T value) {
  if (std::isnan(value)) return static_cast<uint16_t>(0x7fc0 | (std::signbit(value) ? 0x8000 : 0));
  // Every bf16 value is an f32 value, and so is every rounded one: f32 then holds it exactly (or
  // overflows to inf).
  float rounded = static_cast<float>(RoundToGrid(value, 8, -126));
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(rounded) >> 16);
}

template <typename T>
uint16_t F16FromFloat(T value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  if (std::isnan(value)) return static_cast<uint16_t>(sign | 0x7e00);
  auto magnitude = static_cast<float>(std::fabs(RoundToGrid(value, 11, -14)));
  if (magnitude >= 65536.0f) return static_cast<uint16_t>(sign | 0x7c00);
  if (magnitude < 0x1p-14f)
    return static_cast<uint16_t>(sign | static_cast<uint16_t>(magnitude * 0x1p24f));
  uint32_t bits = std::bit_cast<uint32_t>(magnitude);
  return static_cast<uint16_t>(sign | ((((bits >> 23) - 112) << 10) | ((bits >> 13) & 1023)));
}

}  // namespace jitfuse::internal

#endif  // JITFUSE_IR_SUPPORT_FLOAT_BITS_H_
