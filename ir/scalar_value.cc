// Registers from and to memory and numbers, and the cast rules.
#include "ir/scalar_value.h"

#include <cmath>
#include <cstring>
#include <limits>

#include "ir/support/float_bits.h"

namespace jitfuse::internal {
namespace {

// Truncates toward zero, saturates, NaN becomes 0.
template <typename To, typename From>
To FloatToInt(From x) {
  if (std::isnan(x)) return 0;
  const From limit = std::ldexp(From{1}, std::numeric_limits<To>::digits);  // max + 1, exact
  const From truncated = std::trunc(x);
  if (truncated >= limit) return std::numeric_limits<To>::max();
  if (truncated < static_cast<From>(std::numeric_limits<To>::min()))
    return std::numeric_limits<To>::min();
  return static_cast<To>(truncated);
}

template <typename From>
ScalarValue ConvertFrom(From x, DType to) {
  if (to == DType::kF16 || to == DType::kBF16) {
    // Every register is exact in long double, so this rounds once, integers included.
    auto wide = static_cast<long double>(x);
    return Put<float>(to == DType::kF16 ? F32FromF16(F16FromFloat(wide))
                                        : F32FromBF16(BF16FromFloat(wide)));
  }
  return OnType(to, [x](auto tag) {
    using To = decltype(tag);
    if constexpr (std::is_same_v<To, bool>) {
      return Put<bool>(x != 0);
    } else if constexpr (std::is_floating_point_v<From> && !std::is_floating_point_v<To>) {
      return Put<To>(FloatToInt<To>(x));
    } else {
      return Put<To>(static_cast<To>(x));
    }
  });
}

template <typename T>
T LoadRaw(const void* address) {
  T x;
  std::memcpy(&x, address, sizeof x);
  return x;
}

}  // namespace

ScalarValue ScalarValue::FromBits(uint64_t bits) {
  ScalarValue v;
  v.u = bits;
  return v;
}

ScalarValue ScalarFromDouble(DType dtype, double v) { return ConvertFrom(v, dtype); }

ScalarValue ScalarFromInt(DType dtype, int64_t v) { return ConvertFrom(v, dtype); }

ScalarValue ScalarFromLongDouble(DType dtype, long double v) {
  if (IsFloat(dtype) || dtype == DType::kBool || v != std::trunc(v)) return ConvertFrom(v, dtype);
  if (v >= 0 && v < 0x1p64L) return ConvertFrom(static_cast<uint64_t>(v), dtype);
  if (v < 0 && v >= -0x1p63L) return ConvertFrom(static_cast<int64_t>(v), dtype);
  return ConvertFrom(v, dtype);
}

double ScalarToDouble(DType dtype, ScalarValue v) {
  return OnType(dtype, [v](auto tag) { return static_cast<double>(Get<decltype(tag)>(v)); });
}

long double ScalarToLongDouble(DType dtype, ScalarValue v) {
  return OnType(dtype, [v](auto tag) { return static_cast<long double>(Get<decltype(tag)>(v)); });
}

ScalarValue LoadScalar(DType dtype, const void* address) {
  if (dtype == DType::kF16) return Put<float>(F32FromF16(LoadRaw<uint16_t>(address)));
  if (dtype == DType::kBF16) return Put<float>(F32FromBF16(LoadRaw<uint16_t>(address)));
  if (dtype == DType::kBool) return Put<bool>(LoadRaw<uint8_t>(address) != 0);
  return OnType(
      dtype, [address](auto tag) { return Put<decltype(tag)>(LoadRaw<decltype(tag)>(address)); });
}

void StoreScalar(DType dtype, ScalarValue v, void* address) {
  if (dtype == DType::kF16 || dtype == DType::kBF16) {
    uint16_t bits = dtype == DType::kF16 ? F16FromFloat(v.f32) : BF16FromFloat(v.f32);
    std::memcpy(address, &bits, sizeof bits);
    return;
  }
  OnType(dtype, [v, address](auto tag) {
    auto x = Get<decltype(tag)>(v);
    std::memcpy(address, &x, sizeof x);
  });
}

ScalarValue ConvertScalar(DType from, DType to, ScalarValue v) {
  return OnType(from, [v, to](auto tag) { return ConvertFrom(Get<decltype(tag)>(v), to); });
}

}  // namespace jitfuse::internal
