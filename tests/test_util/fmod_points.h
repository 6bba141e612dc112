// Operands on which a remainder may go wrong: quotients of every size, next to multiples,
// subnormals, and what is no number.
#ifndef JITFUSE_TESTS_TEST_UTIL_FMOD_POINTS_H_
#define JITFUSE_TESTS_TEST_UTIL_FMOD_POINTS_H_

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>

#include "ir/scalar_expr.h"

namespace jitfuse::internal {

class FmodPoints {
 public:
  explicit FmodPoints(DType dtype) : dtype_(dtype) {}

  // Values of the dtype.
  std::pair<double, double> Next() {
    const double y = Any();
    switch (count_++ % 6) {
      case 0:
        return {Any(), y};
      case 1:  // small quotients
        return {Rounded(std::ldexp(y, static_cast<int>(rng_() % 30)) * Factor()), y};
      case 2:    // a multiple
      case 3: {  // next to one
        const double d = Short(y), x = Multiple(d);
        return {count_ % 2 == 1 ? x : Beside(x), d};
      }
      case 4:
        return {Any(), Rounded(smallest() * static_cast<double>(rng_() % 1000))};
      default:
        return {Special(), Special()};
    }
  }

  static double Exact(double x, double y) { return std::fmod(x, y); }  // of f32 values too
  static bool Same(double a, double b) {
    return (std::isnan(a) && std::isnan(b)) || (a == b && std::signbit(a) == std::signbit(b));
  }

 private:
  bool f64() const { return dtype_ == DType::kF64; }
  double smallest() const { return f64() ? 0x1p-1074 : 0x1p-149; }
  double Rounded(double v) const { return ScalarToDouble(dtype_, ScalarFromDouble(dtype_, v)); }
  double Factor() { return 1 + std::ldexp(static_cast<double>(rng_() >> 12), -52); }
  double Any() {
    const uint64_t bits = rng_();
    return f64() ? std::bit_cast<double>(bits)
                 : double{std::bit_cast<float>(static_cast<uint32_t>(bits))};
  }
  // Of few significant bits, so that its multiples are values too.
  double Short(double y) {
    const uint64_t low = (uint64_t{1} << (f64() ? rng_() % 53 : 29 + rng_() % 24)) - 1;
    return std::bit_cast<double>(std::bit_cast<uint64_t>(y) & ~low);
  }
  // Quotients of all sizes: below 2^53, where shortcuts end, and with a power of two far above.
  double Multiple(double y) {
    const auto quotient = static_cast<double>(rng_() >> (11 + rng_() % 53));
    const int power = rng_() % 2 == 0 ? 0 : static_cast<int>(rng_() % (1 << rng_() % 11));
    return Rounded(std::ldexp(y * quotient, power));
  }
  double Beside(double v) {
    const double to = rng_() % 2 == 0 ? 0 : std::numeric_limits<double>::infinity();
    return f64() ? std::nextafter(v, to)
                 : double{std::nextafter(static_cast<float>(v), static_cast<float>(to))};
  }
  double Special() {
    constexpr double kInf = std::numeric_limits<double>::infinity();
    const double largest =
        f64() ? std::numeric_limits<double>::max() : double{std::numeric_limits<float>::max()};
    const double values[] = {0,
                             -0.0,
                             1,
                             -1,
                             3,
                             smallest(),
                             -smallest() * 3,
                             f64() ? 0x1p-1022 : 0x1p-126,
                             largest,
                             -largest,
                             kInf,
                             -kInf,
                             std::numeric_limits<double>::quiet_NaN()};
    return values[rng_() % std::size(values)];
  }

  DType dtype_;
  std::mt19937_64 rng_{17};
  int count_ = 0;
};

}  // namespace jitfuse::internal

#endif  // JITFUSE_TESTS_TEST_UTIL_FMOD_POINTS_H_
