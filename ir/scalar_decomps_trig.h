// The decompositions of sin, cos, tan and their inverses, written as those of ir/scalar_decomps.h.
#ifndef JITFUSE_IR_SCALAR_DECOMPS_TRIG_H_
#define JITFUSE_IR_SCALAR_DECOMPS_TRIG_H_

#include <string_view>

namespace jitfuse::internal::decomp {

// sin and cos. r = |a| - n pi/2, |r| <= pi/4; k = n mod 4 picks sin r or cos r (u, v) and the sign.
// In f32 for every a: |a| times each of 7 pieces of 2/pi (29 bits each: exact in f64) is reduced to
// its distance from the next integer; the running sum stays within 1/2, so that nothing is lost
// next to a multiple of pi/2.
#define JF_TRIG_F32                                                                                \
  "x = cast_f64(abs(a)); p0 = x * 0x1.45f306dp-1; n0 = round_even(p0); s0 = p0 - n0; "             \
  "q0 = fma(round_even(n0 * 0.25), -4, n0); p1 = x * 0x1.9391054p-30; n1 = round_even(p1); "       \
  "t1 = s0 + (p1 - n1); m1 = round_even(t1); s1 = t1 - m1; q1 = q0 + (fma(round_even(n1 * 0.25), " \
  "-4, "                                                                                           \
  "n1) + m1); p2 = x * 0x1.4fe13abp-59; n2 = round_even(p2); t2 = s1 + (p2 - n2); m2 = "           \
  "round_even(t2); "                                                                               \
  "s2 = t2 - m2; q2 = q1 + (fma(round_even(n2 * 0.25), -4, n2) + m2); p3 = x * 0x1.d1f534dp-88; "  \
  "n3 = round_even(p3); t3 = s2 + (p3 - n3); m3 = round_even(t3); s3 = t3 - m3; "                  \
  "q3 = q2 + (fma(round_even(n3 * 0.25), -4, n3) + m3); p4 = x * 0x1.b81b6c5p-117; n4 = "          \
  "round_even(p4); "                                                                               \
  "t4 = s3 + (p4 - n4); m4 = round_even(t4); s4 = t4 - m4; q4 = q3 + (fma(round_even(n4 * 0.25), " \
  "-4, "                                                                                           \
  "n4) + m4); p5 = x * 0x1.5993c4p-148; n5 = round_even(p5); t5 = s4 + (p5 - n5); m5 = "           \
  "round_even(t5); "                                                                               \
  "s5 = t5 - m5; q5 = q4 + (fma(round_even(n5 * 0.25), -4, n5) + m5); p6 = x * 0x1.c820ff3p-175; " \
  "n6 = round_even(p6); t6 = s5 + (p6 - n6); m6 = round_even(t6); s6 = t6 - m6; "                  \
  "q6 = q5 + (fma(round_even(n6 * 0.25), -4, n6) + m6); k = bitcast_int(q6 + 0x1.8p+52); "         \
  "r = s6 * 0x1.921fb54442d18p+0; z = r * r; u = fma(r * z, poly(z, -0x1.5555554c5b5b9p-3, "       \
  "0x1.1111085a9e3dfp-7, -0x1.a00f72c3fb761p-13, 0x1.6ccf09c5f4515p-19), r); v = fma(z, fma(z, "   \
  "poly(z, "                                                                                       \
  "0x1.555549fe2eeeep-5, -0x1.6c0c27d9967c9p-10, 0x1.99e83380ee16ep-16), -0.5), 1); "
// In f64 for |a| <= 2^45, with pi/2 in three parts: a - n P1 is exact, the rest is carried as r +
// l. Larger ones give NaN, not noise.
#define JF_TRIG_F64                                                                               \
  "x = select(abs(a) <= 0x1p+45, abs(a), nan); t = fma(x, 0x1.45f306dc9c883p-1, 0x1.8p+52); n = " \
  "t - 0x1.8p+52; k = bitcast_int(t); w = fma(n, "                                                \
  "-0x1.921fb54442d18p+0, x); p = n * 0x1.1a62633145c07p-54; g = fma(n, 0x1.1a62633145c07p-54, "  \
  "-p); h = w - p; "                                                                              \
  "j = h - w; e = (w - (h - j)) - (p + j) - g + n * 0x1.f1976b7ed8fbcp-110; r = h + e; l = e - "  \
  "(r - h); "                                                                                     \
  "z = r * r; u = r + fma(r * z, poly(z, -0x1.5555555555548p-3, 0x1.111111110f74bp-7, "           \
  "-0x1.a01a019bee943p-13, "                                                                      \
  "0x1.71de355b29188p-19, -0x1.ae5e50f764523p-26, 0x1.5d8d17e118b33p-33), fma(z, -0.5, 1) * l); " \
  "b = 0.5 * z; "                                                                                 \
  "c = 1 - b; v = c + ((1 - c) - b + fma(z * z, poly(z, 0x1.555555555554bp-5, "                   \
  "-0x1.6c16c16c1500ap-10, "                                                                      \
  "0x1.a01a019c8d36ap-16, -0x1.27e4f7efa911ap-22, 0x1.1ee9da37bc176p-29, "                        \
  "-0x1.8fa58fd56f971p-37), -r * l)); "
inline constexpr std::string_view kSinF32 = JF_TRIG_F32
    "cast_f32(select((k & 1) == 0, u, v) * select((k & 2) == 0, 1, -1)) * copysign(1, a)";
inline constexpr std::string_view kCosF32 =
    JF_TRIG_F32 "cast_f32(select((k & 1) == 0, v, u) * select(((k + 1) & 2) == 0, 1, -1))";
inline constexpr std::string_view kSinF64 =
    JF_TRIG_F64 "select((k & 1) == 0, u, v) * select((k & 2) == 0, 1, -1) * copysign(1, a)";
inline constexpr std::string_view kCosF64 =
    JF_TRIG_F64 "select((k & 1) == 0, v, u) * select(((k + 1) & 2) == 0, 1, -1)";
// tan: the quotient; where cos is next to 0, sin is next to 1.
inline constexpr std::string_view kTanF32 =
    JF_TRIG_F32 "cast_f32(select((k & 1) == 0, u / v, -v / u)) * copysign(1, a)";
inline constexpr std::string_view kTanF64 =
    JF_TRIG_F64 "select((k & 1) == 0, u / v, -v / u) * copysign(1, a)";
#undef JF_TRIG_F32
#undef JF_TRIG_F64

// asin x = s + s^3 P(s^2) with s = x, or above 1/2: pi/2 - 2 asin s with s = sqrt((1 - x) / 2). Pi
// is in two parts; pi/2 - 2 s is exact or nearly so.
inline constexpr std::string_view kAsinF32 =
    "x = abs(a); big = x > 0.5; z = select(big, fma(x, -0.5, 0.5), x * x); s = select(big, "
    "sqrt(z), x); v = s * z; p = poly(z, 0x1.5555cap-3, 0x1.33017ap-4, 0x1.748788p-5, "
    "0x1.8bd50ep-6, 0x1.59af62p-5); copysign(select(big, (0x1.921fb6p+0 - 2 * s) - fma(2 * v, "
    "p, 0x1.777a5cp-25), fma(v, p, s)), a)";

inline constexpr std::string_view kAsinF64 =
    "x = abs(a); big = x > 0.5; z = select(big, fma(x, -0.5, 0.5), x * x); s = select(big, "
    "sqrt(z), x); v = s * z; p = poly(z, 0x1.555555555539p-3, 0x1.333333336e7abp-4, "
    "0x1.6db6db42804c1p-5, 0x1.f1c72c36b9dc2p-6, 0x1.6e89f47a9f4e9p-6, 0x1.1c6bde07a6e39p-6, "
    "0x1.c6fe0bd93ef69p-7, 0x1.8ec106730e7f4p-7, 0x1.abe0cc54aeba4p-8, 0x1.3fe870178faebp-6, "
    "-0x1.09bf8be217916p-6, 0x1.056691adb9269p-5); copysign(select(big, (0x1.921fb54442d18p+0 "
    "- 2 * s) - fma(2 * v, p, -0x1.1a62633145c07p-54), fma(v, p, s)), a)";

inline constexpr std::string_view kAcosF32 =
    "x = abs(a); big = x > 0.5; z = select(big, fma(x, -0.5, 0.5), x * x); s = select(big, "
    "sqrt(z), x); r = fma(s * z, poly(z, 0x1.5555cap-3, 0x1.33017ap-4, 0x1.748788p-5, "
    "0x1.8bd50ep-6, 0x1.59af62p-5), s); select(big, select(a > 0, 2 * r, 0x1.921fb6p+1 - "
    "fma(2, r, 0x1.777a5cp-24)), 0x1.921fb6p+0 - (copysign(r, a) + 0x1.777a5cp-25))";

inline constexpr std::string_view kAcosF64 =
    "x = abs(a); big = x > 0.5; z = select(big, fma(x, -0.5, 0.5), x * x); s = select(big, "
    "sqrt(z), x); r = fma(s * z, poly(z, 0x1.555555555539p-3, 0x1.333333336e7abp-4, "
    "0x1.6db6db42804c1p-5, 0x1.f1c72c36b9dc2p-6, 0x1.6e89f47a9f4e9p-6, 0x1.1c6bde07a6e39p-6, "
    "0x1.c6fe0bd93ef69p-7, 0x1.8ec106730e7f4p-7, 0x1.abe0cc54aeba4p-8, 0x1.3fe870178faebp-6, "
    "-0x1.09bf8be217916p-6, 0x1.056691adb9269p-5), s); select(big, select(a > 0, 2 * r, "
    "0x1.921fb54442d18p+1 - fma(2, r, -0x1.1a62633145c07p-53)), 0x1.921fb54442d18p+0 - "
    "(copysign(r, a) + -0x1.1a62633145c07p-54))";

// atan on [0, 1]; pi/2 - atan(1 / x) above. atan2 divides the lesser magnitude by the greater.
inline constexpr std::string_view kAtanF32 =
    "x = abs(a); big = x > 1; q = select(big, 1 / x, x); z = q * q; r = fma(q * z, poly(z, "
    "-0x1.5554dcp-2, 0x1.9978e6p-3, -0x1.230a44p-3, 0x1.b4db86p-4, -0x1.3548dep-4, "
    "0x1.61d944p-5, -0x1.0bfaa4p-6, 0x1.7e671p-9), q); copysign(select(big, 0x1.921fb6p+0 - (r "
    "+ 0x1.777a5cp-25), r), a)";

inline constexpr std::string_view kAtanF64 =
    "x = abs(a); big = x > 1; q = select(big, 1 / x, x); z = q * q; r = fma(q * z, poly(z, "
    "-0x1.555555555544bp-2, 0x1.9999999983fbbp-3, -0x1.2492491f9d566p-3, 0x1.c71c709d11783p-4, "
    "-0x1.745d02201704p-4, 0x1.3b12b234398d7p-4, -0x1.110897c7582c9p-4, 0x1.e177def7ef6c1p-5, "
    "-0x1.ad31d90e889a5p-5, 0x1.7ee149d2df32ep-5, -0x1.4f3ee844957ccp-5, 0x1.170ab45b640b9p-5, "
    "-0x1.a707ff8e7e46ep-6, 0x1.160c30cdf1641p-6, -0x1.2cc56d0ec0328p-7, 0x1.f8fc1fa45a649p-9, "
    "-0x1.30d3b116a96f2p-10, 0x1.d318cdadd9129p-13, -0x1.5359d6ba58ep-16), q); "
    "copysign(select(big, 0x1.921fb54442d18p+0 - (r + -0x1.1a62633145c07p-54), r), a)";

inline constexpr std::string_view kAtan2F32 =
    "p = abs(a); q = abs(b); swap = p > q; n = select(swap, q, p); d = select(swap, p, q); t = "
    "select(d == 0, 0, select(n == inf, 1, n / d)); z = t * t; r = fma(t * z, poly(z, "
    "-0x1.5554dcp-2, 0x1.9978e6p-3, -0x1.230a44p-3, 0x1.b4db86p-4, -0x1.3548dep-4, "
    "0x1.61d944p-5, -0x1.0bfaa4p-6, 0x1.7e671p-9), t); u = select(swap, 0x1.921fb6p+0 - (r + "
    "0x1.777a5cp-25), r); v = select(bitcast_int(b) < 0, 0x1.921fb6p+1 - (u + 0x1.777a5cp-24), "
    "u); select((a != a) | (b != b), a + b, copysign(v, a))";

inline constexpr std::string_view kAtan2F64 =
    "p = abs(a); q = abs(b); swap = p > q; n = select(swap, q, p); d = select(swap, p, q); t = "
    "select(d == 0, 0, select(n == inf, 1, n / d)); z = t * t; r = fma(t * z, poly(z, "
    "-0x1.555555555544bp-2, 0x1.9999999983fbbp-3, -0x1.2492491f9d566p-3, 0x1.c71c709d11783p-4, "
    "-0x1.745d02201704p-4, 0x1.3b12b234398d7p-4, -0x1.110897c7582c9p-4, 0x1.e177def7ef6c1p-5, "
    "-0x1.ad31d90e889a5p-5, 0x1.7ee149d2df32ep-5, -0x1.4f3ee844957ccp-5, 0x1.170ab45b640b9p-5, "
    "-0x1.a707ff8e7e46ep-6, 0x1.160c30cdf1641p-6, -0x1.2cc56d0ec0328p-7, 0x1.f8fc1fa45a649p-9, "
    "-0x1.30d3b116a96f2p-10, 0x1.d318cdadd9129p-13, -0x1.5359d6ba58ep-16), t); u = "
    "select(swap, 0x1.921fb54442d18p+0 - (r + -0x1.1a62633145c07p-54), r); v = "
    "select(bitcast_int(b) < 0, 0x1.921fb54442d18p+1 - (u + -0x1.1a62633145c07p-53), u); "
    "select((a != a) | (b != b), a + b, copysign(v, a))";

}  // namespace jitfuse::internal::decomp

#endif  // JITFUSE_IR_SCALAR_DECOMPS_TRIG_H_
