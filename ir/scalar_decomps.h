// The decompositions that rows of scalar_ops.inc name: scalar bodies in terms of primitives that
// every CPU has as vector instructions.
//
// Branch-free, exact in their special cases (NaN, infinities, zeros and their signs, subnormals);
// the ulp bounds are those of the table, swept by tests. Polynomials are weighted minimax fits
// whose coefficients were rounded one by one: tools/fit_polynomials.py prints them. Arguments are
// a, b, c; "poly(x, c0, c1 ...)" is Horner's scheme in fma. The trigonometric ones are in
// ir/scalar_decomps_trig.h.
#ifndef JITFUSE_IR_SCALAR_DECOMPS_H_
#define JITFUSE_IR_SCALAR_DECOMPS_H_

#include <string_view>

namespace jitfuse::internal::decomp {

// In two factors, so that the last product alone rounds subnormal results. (AVX2 has no arithmetic
// shift of 64-bit integers.)
inline constexpr std::string_view kScalePow2F32 =
    "i = bitcast_int(b); j = shr_raw(i, 1); s = bitcast_float(shl_raw(j, 23) + 0x3f800000); "
    "a * s * bitcast_float(shl_raw(i - j, 23) + 0x3f800000)";

inline constexpr std::string_view kScalePow2F64 =
    "i = cast_u64(bitcast_int(b)); j = shr_raw(i, 1); "
    "s = bitcast_float(cast_i64(shl_raw(j, 52) + 0x3ff0000000000000)); "
    "a * s * bitcast_float(cast_i64(shl_raw(i - j, 52) + 0x3ff0000000000000))";

// e^a = 2^n e^r with n = round(a / ln 2). Adding 1.5 * 2^23 leaves n in the low bits of t.
// Comparisons are written such that NaN passes the clamps.
inline constexpr std::string_view kExpF32 =
    "h = select(a > 89, 89, a); x = select(h < -104, -104, h); t = fma(x, 0x1.715476p+0, "
    "0x1.8p+23); "
    "n = t - 0x1.8p+23; r = fma(n, 0x1.05c61p-29, fma(n, -0x1.62e43p-1, x)); "
    "p = fma(fma(poly(r, 0x1.fffffcp-2, 0x1.55549p-3, 0x1.5558a8p-5, 0x1.123aecp-7, "
    "0x1.6a5802p-10), r, 1), r, "
    "1); scale_pow2_raw(p, t)";

inline constexpr std::string_view kExpF64 =
    "h = select(a > 710, 710, a); x = select(h < -746, -746, h); t = fma(x, 0x1.71547652b82fep+0, "
    "0x1.8p+52); "
    "n = t - 0x1.8p+52; r = fma(n, -0x1.abc9e3b39803fp-56, fma(n, -0x1.62e42fefa39efp-1, x)); "
    "p = 1 + fma(poly(r, 0x1.000000000000ap-1, 0x1.55555555554fep-3, 0x1.555555555065p-5, "
    "0x1.1111111126addp-7, "
    "0x1.6c16c1849c2f4p-10, 0x1.a01a01304284ep-13, 0x1.a01998e0f8fa3p-16, 0x1.71df17922590bp-19, "
    "0x1.28ae82e582cd9p-22, 0x1.ad9654f86c593p-26), r * r, r); scale_pow2_raw(p, t)";

// The same with r = a - n exact.
inline constexpr std::string_view kExp2F32 =
    "h = select(a > 129, 129, a); x = select(h < -151, -151, h); t = x + 0x1.8p+23; r = x - (t - "
    "0x1.8p+23); "
    "p = fma(poly(r, 0x1.62e43p-1, 0x1.ebfbdcp-3, 0x1.c6af7ap-5, 0x1.3b2dd6p-7, 0x1.5f0952p-10, "
    "0x1.417616p-13), "
    "r, 1); scale_pow2_raw(p, t)";

inline constexpr std::string_view kExp2F64 =
    "h = select(a > 1025, 1025, a); x = select(h < -1076, -1076, h); t = x + 0x1.8p+52; r = x - (t "
    "- 0x1.8p+52); "
    "p = fma(poly(r, 0x1.62e42fefa39efp-1, 0x1.ebfbdff82c58ep-3, 0x1.c6b08d704a1cfp-5, "
    "0x1.3b2ab6fba5187p-7, "
    "0x1.5d87fe7875d33p-10, 0x1.430912f76426dp-13, 0x1.ffcbfd402d7b2p-17, 0x1.62c026e4e7f15p-20, "
    "0x1.b52347588d25cp-24, 0x1.e4bc9a3506e9cp-28, 0x1.ec4f18376cea2p-32, 0x1.df838073944b6p-36), "
    "r, 1); scale_pow2_raw(p, t)";

// With p = e^r - 1: 2^n p + (2^n - 1), halved so that 2^n cannot overflow before the result does. n
// = 0 must give p itself.
inline constexpr std::string_view kExpm1F32 =
    "h = select(a > 89, 89, a); x = select(h < -18, -18, h); t = fma(x, 0x1.715476p+0, 0x1.8p+23); "
    "n = t - 0x1.8p+23; r = fma(n, 0x1.05c61p-29, fma(n, -0x1.62e43p-1, x)); "
    "p = fma(poly(r, 0x1.fffffep-2, 0x1.5554bp-3, 0x1.55572ep-5, 0x1.1227ep-7, 0x1.6b5828p-10), r "
    "* r, r); "
    "s = bitcast_float(shl_raw(bitcast_int(t), 23) + 0x3f000000); "
    "copysign(select(n == 0, p, 2 * fma(p, s, s - 0.5)), a)";

inline constexpr std::string_view kExpm1F64 =
    "h = select(a > 710, 710, a); x = select(h < -38, -38, h); t = fma(x, 0x1.71547652b82fep+0, "
    "0x1.8p+52); "
    "n = t - 0x1.8p+52; r = fma(n, -0x1.abc9e3b39803fp-56, fma(n, -0x1.62e42fefa39efp-1, x)); "
    "p = fma(poly(r, 0x1p-1, 0x1.5555555555559p-3, 0x1.555555555554ep-5, 0x1.111111110f63bp-7, "
    "0x1.6c16c16c1a472p-10, 0x1.a01a01b01566dp-13, 0x1.a01a019000699p-16, 0x1.71ddf7d262c5ap-19, "
    "0x1.27e50f3a5fb9cp-22, 0x1.af5fae96d0c6ap-26, 0x1.1f2048ba190b1p-29), r * r, r); "
    "s = bitcast_float(shl_raw(bitcast_int(t), 52) + 0x3fe0000000000000); "
    "copysign(select(n == 0, p, 2 * fma(p, s, s - 0.5)), a)";

// a = 2^e m with m in [sqrt(1/2), sqrt 2): subtracting the bits of sqrt(1/2) puts e into the
// exponent field. log m = f - f^2/2 + f^3 P(f). Subnormals are scaled up first.
inline constexpr std::string_view kLogF32 =
    "small = a < 0x1p-126; x = select(small, a * 0x1p+23, a); i = bitcast_int(x) - 0x3f3504f3; "
    "k = shr_raw(i, 23); m = bitcast_float(i - shl_raw(k, 23) + 0x3f3504f3); n = cast_f32(k); "
    "e = select(small, n - 23, n); f = m - 1; z = f * f; "
    "w = fma(poly(f, 0x1.555554p-2, -0x1.00022ap-2, 0x1.99a01ap-3, -0x1.547172p-3, 0x1.22d91ep-3, "
    "-0x1.0d8d32p-3, 0x1.0561b8p-3, -0x1.3892c6p-4), f, -0.5); "
    "y = fma(e, 0x1.62e43p-1, f + fma(e, -0x1.05c61p-29, z * w)); "
    "select(a > 0, select(a < inf, y, a), select(a == 0, -inf, nan))";

// In f64: log m = 2 atanh(s) with s = f / (2 + f), arranged as f - (f^2/2 - s (f^2/2 + R(s^2))).
// 64-bit integers stay unsigned, with a biased exponent that becomes a number by way of 2^52: AVX2
// has no arithmetic shift and no conversion for them.
inline constexpr std::string_view kLogF64 =
    "small = a < 0x1p-1022; x = select(small, a * 0x1p+54, a); i = cast_u64(bitcast_int(x)) + "
    "0x95f619980c433; "
    "k = shr_raw(i, 52); m = bitcast_float(cast_i64((i & 0xfffffffffffff) + 0x3fe6a09e667f3bcd)); "
    "n = bitcast_float(cast_i64(k | 0x4330000000000000)) - 0x1.00000000003ffp+52; e = "
    "select(small, n - 54, n); "
    "f = m - 1; h = 0.5 * f * f; s = f / (2 + f); z = s * s; "
    "y = fma(e, 0x1.62e42fefa39efp-1, f - (h - fma(s, h + z * poly(z, 0x1.5555555555593p-1, "
    "0x1.999999997fa7fp-2, 0x1.249249421d403p-2, 0x1.c71c51e5e7bcep-3, 0x1.746646348ea49p-3, "
    "0x1.39a0fc32acfccp-3, 0x1.2f0d04637a076p-3), e * 0x1.abc9e3b39803fp-56))); "
    "select(a > 0, select(a < inf, y, a), select(a == 0, -inf, nan))";

// log2 m = log m / ln 2 with 1 / ln 2 in two parts.
inline constexpr std::string_view kLog2F32 =
    "small = a < 0x1p-126; x = select(small, a * 0x1p+23, a); i = bitcast_int(x) - 0x3f3504f3; "
    "k = shr_raw(i, 23); m = bitcast_float(i - shl_raw(k, 23) + 0x3f3504f3); n = cast_f32(k); "
    "e = select(small, n - 23, n); f = m - 1; z = f * f; "
    "w = fma(poly(f, 0x1.555554p-2, -0x1.00022ap-2, 0x1.99a01ap-3, -0x1.547172p-3, 0x1.22d91ep-3, "
    "-0x1.0d8d32p-3, 0x1.0561b8p-3, -0x1.3892c6p-4), f, -0.5); "
    "y = e + fma(f, 0x1.715476p+0, fma(f, 0x1.4ae0cp-26, z * w * 0x1.715476p+0)); "
    "select(a > 0, select(a < inf, y, a), select(a == 0, -inf, nan))";

inline constexpr std::string_view kLog2F64 =
    "small = a < 0x1p-1022; x = select(small, a * 0x1p+54, a); i = cast_u64(bitcast_int(x)) + "
    "0x95f619980c433; "
    "k = shr_raw(i, 52); m = bitcast_float(cast_i64((i & 0xfffffffffffff) + 0x3fe6a09e667f3bcd)); "
    "n = bitcast_float(cast_i64(k | 0x4330000000000000)) - 0x1.00000000003ffp+52; e = "
    "select(small, n - 54, n); "
    "f = m - 1; h = 0.5 * f * f; s = f / (2 + f); z = s * s; c = f - h; "
    "d = (f - c) - h + s * (h + z * poly(z, 0x1.5555555555593p-1, 0x1.999999997fa7fp-2, "
    "0x1.249249421d403p-2, "
    "0x1.c71c51e5e7bcep-3, 0x1.746646348ea49p-3, 0x1.39a0fc32acfccp-3, 0x1.2f0d04637a076p-3)); "
    "p = c * 0x1.71547652b82fep+0; "
    "q = fma(c, 0x1.71547652b82fep+0, -p) + fma(c, 0x1.777d0ffda0d24p-56, d * "
    "0x1.71547652b82fep+0); v = e + p; "
    "y = v + ((e - v) + p + q); select(a > 0, select(a < inf, y, a), select(a == 0, -inf, nan))";

// log10 m = log m / ln 10; that and log10 2 are in two parts each, in f64 the first part of log10 2
// short, so that its product with e is exact.
inline constexpr std::string_view kLog10F32 =
    "small = a < 0x1p-126; x = select(small, a * 0x1p+23, a); i = bitcast_int(x) - 0x3f3504f3; "
    "k = shr_raw(i, 23); m = bitcast_float(i - shl_raw(k, 23) + 0x3f3504f3); n = cast_f32(k); "
    "e = select(small, n - 23, n); f = m - 1; z = f * f; w = fma(poly(f, 0x1.555554p-2, "
    "-0x1.00022ap-2, 0x1.99a01ap-3, -0x1.547172p-3, 0x1.22d91ep-3, -0x1.0d8d32p-3, "
    "0x1.0561b8p-3, -0x1.3892c6p-4), f, -0.5); y = fma(e, 0x1.344136p-2, fma(f, 0x1.bcb7b2p-2, "
    "fma(e, -0x1.ec10cp-27, fma(f, -0x1.5b235ep-27, z * w * 0x1.bcb7b2p-2)))); select(a > 0, "
    "select(a < inf, y, a), select(a == 0, -inf, nan))";

inline constexpr std::string_view kLog10F64 =
    "small = a < 0x1p-1022; x = select(small, a * 0x1p+54, a); i = cast_u64(bitcast_int(x)) + "
    "0x95f619980c433; k = shr_raw(i, 52); m = bitcast_float(cast_i64((i & 0xfffffffffffff) + "
    "0x3fe6a09e667f3bcd)); n = bitcast_float(cast_i64(k | 0x4330000000000000)) - "
    "0x1.00000000003ffp+52; e = select(small, n - 54, n); f = m - 1; h = 0.5 * f * f; s = f / "
    "(2 + f); z = s * s; c = f - h; d = (f - c) - h + s * (h + z * poly(z, "
    "0x1.5555555555593p-1, 0x1.999999997fa7fp-2, 0x1.249249421d403p-2, 0x1.c71c51e5e7bcep-3, "
    "0x1.746646348ea49p-3, 0x1.39a0fc32acfccp-3, 0x1.2f0d04637a076p-3)); p = c * "
    "0x1.bcb7b1526e50ep-2; q = fma(c, 0x1.bcb7b1526e50ep-2, -p) + fma(c, "
    "0x1.95355baaafad3p-57, d * 0x1.bcb7b1526e50ep-2) + e * -0x1.80433b83b532ap-44; u = e * "
    "0x1.34413509f8p-2; v = u + p; y = v + ((u - v) + p + q); select(a > 0, select(a < inf, y, "
    "a), select(a == 0, -inf, nan))";

// 1 + a = 2^k m; f = m - 1 comes from a itself, scaled by subtracting k from its exponent, plus
// 2^-k - 1 (by way of 4 * 2^-k, which is never subnormal).
inline constexpr std::string_view kLog1pF32 =
    "i = bitcast_int(1 + a) - 0x3f3504f3; k = shr_raw(i, 23); j = shl_raw(k, 23); e = cast_f32(k); "
    "f = bitcast_float(bitcast_int(a) - j) + fma(0.25, bitcast_float(0x40800000 - j), -1); z = f * "
    "f; "
    "w = fma(poly(f, 0x1.555554p-2, -0x1.00022ap-2, 0x1.99a01ap-3, -0x1.547172p-3, 0x1.22d91ep-3, "
    "-0x1.0d8d32p-3, 0x1.0561b8p-3, -0x1.3892c6p-4), f, -0.5); "
    "y = fma(e, 0x1.62e43p-1, f + fma(e, -0x1.05c61p-29, z * w)); "
    "select(a > -1, select(a < inf, copysign(y, a), a), select(a == -1, -inf, nan))";

inline constexpr std::string_view kLog1pF64 =
    "i = cast_u64(bitcast_int(1 + a)) + 0x95f619980c433; k = shr_raw(i, 52); "
    "j = cast_i64(shl_raw(k, 52)) - 0x3ff0000000000000; "
    "e = bitcast_float(cast_i64(k | 0x4330000000000000)) - 0x1.00000000003ffp+52; "
    "f = bitcast_float(bitcast_int(a) - j) + fma(0.25, bitcast_float(0x4010000000000000 - j), -1); "
    "h = 0.5 * f * f; s = f / (2 + f); z = s * s; "
    "y = fma(e, 0x1.62e42fefa39efp-1, f - (h - fma(s, h + z * poly(z, 0x1.5555555555593p-1, "
    "0x1.999999997fa7fp-2, 0x1.249249421d403p-2, 0x1.c71c51e5e7bcep-3, 0x1.746646348ea49p-3, "
    "0x1.39a0fc32acfccp-3, 0x1.2f0d04637a076p-3), e * 0x1.abc9e3b39803fp-56))); "
    "select(a > -1, select(a < inf, copysign(y, a), a), select(a == -1, -inf, nan))";

// -E / (E + 2) with E = e^(-2|a|) - 1 = 2^n p + (2^n - 1), n <= 0; the denominator is put together
// from the same parts, so that it rounds once.
inline constexpr std::string_view kTanhF32 =
    "x = -2 * abs(a); h = select(x < -20, -20, x); t = fma(h, 0x1.715476p+0, 0x1.8p+23); n = t - "
    "0x1.8p+23; "
    "r = fma(n, 0x1.05c61p-29, fma(n, -0x1.62e43p-1, h)); p = fma(poly(r, 0x1.fffffep-2, "
    "0x1.5554bp-3, "
    "0x1.55572ep-5, 0x1.1227ep-7, 0x1.6b5828p-10), r * r, r); s = "
    "bitcast_float(shl_raw(bitcast_int(t), "
    "23) + 0x3f800000); copysign(fma(p, s, s - 1) / fma(p, s, s + 1), a)";

// -E / (E + 2) with E = e^(-2|a|) - 1.
inline constexpr std::string_view kTanhF64 =
    "x = -2 * abs(a); e = expm1(x); copysign(e / (e + 2), a)";

// erf(x) = 1 - 2^q for x >= 0, where q(x) = log2(erfc(x)) is x times a polynomial: accurate near 0
// as well. The leading terms go into the last fma of each sum.
inline constexpr std::string_view kErfF32 =
    "v = abs(a); x = select(v > 3.94, 3.94, v); q = fma(x, -0x1.a0be84p+0, x * x * poly(x, "
    "-0x1.d63ec2p-1, "
    "-0x1.2fac2p-3, 0x1.c4be44p-6, 0x1.e1d0fp-13, -0x1.3b12b6p-9, 0x1.de6ebcp-11, -0x1.63c32ep-13, "
    "0x1.bff14ap-17)); t = q + 0x1.8p+23; r = q - (t - 0x1.8p+23); p = fma(r, 0x1.62e43p-1, r * r "
    "* poly(r, "
    "0x1.ebfbdep-3, 0x1.c6afap-5, 0x1.3b2c66p-7, 0x1.5ef38ap-10, 0x1.42694p-13)); "
    "s = bitcast_float(shl_raw(bitcast_int(t), 23) + 0x3f800000); copysign(fma(p, s, s - 1), a)";

// A polynomial below 1, 1 - erfc above.
inline constexpr std::string_view kErfF64 =
    "x = abs(a); z = a * a; "
    "select(x < 1, fma(a, poly(z, 0x1.06eba8214db69p-3, -0x1.812746b0379aep-2, "
    "0x1.ce2f21a04065bp-4, "
    "-0x1.b82ce311e4f3cp-6, 0x1.565bccf6cd148p-8, -0x1.c02dafed91b44p-11, 0x1.f9a2b3dfc4307p-14, "
    "-0x1.f4c9ed8c54e34p-17, 0x1.b97c62f491ff4p-20, -0x1.5bf357fa70d75p-23, 0x1.d69944c00426cp-27, "
    "-0x1.aa3cff40c0a9p-31), a), copysign(1 - erfc(x), a))";

// erfc(x) = e^(-x^2) G(c) / (x + k) with c = (x - k) / (x + k), right to the last bit by a step of
// refinement: near x = 0 its error would be the largest. e^(-x^2) as in exp, with the part of x^2
// that rounding loses taken off the reduced argument; the powers of two last.
inline constexpr std::string_view kErfcF32 =
    "v = abs(a); x = select(v > 10.1, 10.1, v); i = 1 / (x + 3); j = (x - 3) * i; c = fma(i, "
    "fma(-x, j, "
    "fma(j + 1, -3, x)), j); q = x * x; t = fma(q, -0x1.715476p+0, 0x1.8p+23); n = t - 0x1.8p+23; "
    "r = fma(n, "
    "0x1.05c61p-29, fma(n, -0x1.62e43p-1, -q)) - fma(x, x, -q); p = fma(fma(poly(r, 0x1.fffffcp-2, "
    "0x1.55549p-3, "
    "0x1.5558a8p-5, 0x1.123aecp-7, 0x1.6a5802p-10), r, 1), r, 1); "
    "y = scale_pow2_raw(poly(c, 0x1.12f21ep+0, -0x1.c44c48p-1, 0x1.2e325cp-1, -0x1.3deadcp-2, "
    "0x1.e99a42p-4, "
    "-0x1.b7b5c2p-6, "
    "-0x1.43792ap-10, 0x1.92e83p-9, -0x1.f4f11ep-12, -0x1.4ff276p-12) * i * p, t); select(a < "
    "0, 2 - y, y)";

// t P(t) exp(-a^2) with t = 1 / (1 + 0.51 |a|); P is good to 1.1e-6 of its value for |a| < 10.6.
// The exponential is taken as a square, so that a result below the normal numbers is not lost.
inline constexpr std::string_view kErfc16 =
    "x = abs(a); t = 1 / fma(x, 0.51, 1); e = exp(x * x * -0.5); y = poly(t, 0x1.26d0d4p-2, "
    "0x1.2322f2p-2, "
    "0x1.1ce09ep-2, 0x1.d5fed6p-5, 0x1.6bae2ap-2, -0x1.6d572ep-2, "
    "0x1.80527ep-4) * t * e * e; select(a < 0, 2 - y, y)";

inline constexpr std::string_view kErfcF64 =
    "v = abs(a); x = select(v > 27.3, 27.3, v); i = 1 / (x + 4); j = (x - 4) * i; c = fma(i, "
    "fma(-x, j, "
    "fma(j + 1, -4, x)), j); q = x * x; t = fma(q, -0x1.71547652b82fep+0, 0x1.8p+52); n = t - "
    "0x1.8p+52; "
    "r = fma(n, -0x1.abc9e3b39803fp-56, fma(n, -0x1.62e42fefa39efp-1, -q)) - fma(x, x, -q); p = 1 "
    "+ fma(poly(r, "
    "0x1.000000000000ap-1, 0x1.55555555554fep-3, 0x1.555555555065p-5, 0x1.1111111126addp-7, "
    "0x1.6c16c1849c2f4p-10, 0x1.a01a01304284ep-13, 0x1.a01998e0f8fa3p-16, 0x1.71df17922590bp-19, "
    "0x1.28ae82e582cd9p-22, 0x1.ad9654f86c593p-26), r * r, r); "
    "y = scale_pow2_raw(poly(c, 0x1.18932bf08e154p+0, -0x1.f3fe31ecb49bfp-1, "
    "0x1.8be202d26c795p-1, "
    "-0x1.14eacb1ad037ep-1, 0x1.52cac2370cd43p-2, -0x1.645fd8a4ba3ccp-3, 0x1.38dbd2c9d5e09p-4, "
    "-0x1.b00c052c72f4dp-6, 0x1.908f468f8842dp-8, -0x1.269b53be282a2p-12, -0x1.dd280fdbc7146p-12, "
    "0x1.72cdd322a7417p-13, -0x1.e8481dba2cb68p-19, -0x1.3c76487b29a58p-16, 0x1.3b738a12e16ddp-18, "
    "0x1.7fb0577ae101p-20, -0x1.ca9c698da54c1p-21, -0x1.69d60cb7fe93cp-24, 0x1.15ee05ecaf8fcp-23, "
    "0x1.2af7e1c341d84p-27, -0x1.1590323b915e1p-26, -0x1.7e2218f9e155dp-29, "
    "0x1.7c5f88dcc05f2p-32) * i * p, t); select(a < 0, 2 - y, y)";

// What the normal distribution has beyond a: 2^(-c x^2) P(x) / Q(x) with x = |a| and c = log2(e) /
// 2, whose rounding P / Q makes good. c x^2 becomes an integer and a rest that is right to its last
// bit; else the far tail would miss by the rounding of the exponent.
inline constexpr std::string_view kNormalTailF32 =
    "v = abs(a); x = select(v > 14.5, 14.5, v); w = x * -0x1.715476p-1; t = fma(w, x, "
    "0x1.8p+23); n = t - 0x1.8p+23; r = fma(fma(x, -0x1.715476p-1, -w), x, fma(w, x, -n)); p = "
    "poly(r, 1, 0x1.62e42ap-1, 0x1.ebf9bcp-3, 0x1.c6b6aap-5, 0x1.3cea72p-7, 0x1.5bf48ap-10); q = "
    "fma(fma(fma(x + 0x1.d9aa2ep+2, x, 0x1.86f924p+4), x, 0x1.4168b4p+5), x, 0x1.b136cap+4); y = "
    "scale_pow2_raw(poly(x, 0x1.b136c6p+3, 0x1.292aacp+3, 0x1.7a9f56p+1, 0x1.984062p-2, "
    "0x1.590858p-18) / q * p, t); select(a < 0, 1 - y, y)";

// The exponent uncorrected, shorter polynomials.
inline constexpr std::string_view kNormalTail16 =
    "v = abs(a); x = select(v > 14.5, 14.5, v); w = x * -0x1.715476p-1; t = fma(w, x, "
    "0x1.8p+23); n = t - 0x1.8p+23; r = fma(w, x, -n); p = poly(r, 1, 0x1.62e12ap-1, "
    "0x1.ec0354p-3, 0x1.c9fd2p-5, 0x1.3a0a92p-7); q = fma(fma(fma(x + 0x1.d51fdcp+2, x, "
    "0x1.7fb366p+4), x, 0x1.38c66cp+5), x, 0x1.a23f64p+4); y = scale_pow2_raw(poly(x, "
    "0x1.a23f6p+3, 0x1.23d6f8p+3, 0x1.76ba2p+1, 0x1.986c06p-2) / q * p, t); select(a < 0, 1 - y, "
    "y)";

// As erfc(a / sqrt 2) / 2, with the exponential of a^2 / 2 itself.
inline constexpr std::string_view kNormalTailF64 =
    "v = abs(a); u = select(v > 38.6, 38.6, v); x = u * 0x1.6a09e667f3bcdp-1; i = 1 / (x + 4); j "
    "= (x - 4) * i; c = fma(i, fma(-x, j, fma(j + 1, -4, x)), j); q = u * u; h = 0.5 * q; t = "
    "fma(h, -0x1.71547652b82fep+0, 0x1.8p+52); n = t - 0x1.8p+52; r = fma(n, "
    "-0x1.abc9e3b39803fp-56, fma(n, -0x1.62e42fefa39efp-1, -h)) - 0.5 * fma(u, u, -q); p = 1 + "
    "fma(poly(r, 0x1.000000000000ap-1, 0x1.55555555554fep-3, 0x1.555555555065p-5, "
    "0x1.1111111126addp-7, 0x1.6c16c1849c2f4p-10, 0x1.a01a01304284ep-13, 0x1.a01998e0f8fa3p-16, "
    "0x1.71df17922590bp-19, 0x1.28ae82e582cd9p-22, 0x1.ad9654f86c593p-26), r * r, r); y = "
    "scale_pow2_raw(poly(c, 0x1.18932bf08e154p+0, -0x1.f3fe31ecb49bfp-1, 0x1.8be202d26c795p-1, "
    "-0x1.14eacb1ad037ep-1, 0x1.52cac2370cd43p-2, -0x1.645fd8a4ba3ccp-3, 0x1.38dbd2c9d5e09p-4, "
    "-0x1.b00c052c72f4dp-6, 0x1.908f468f8842dp-8, -0x1.269b53be282a2p-12, "
    "-0x1.dd280fdbc7146p-12, 0x1.72cdd322a7417p-13, -0x1.e8481dba2cb68p-19, "
    "-0x1.3c76487b29a58p-16, 0x1.3b738a12e16ddp-18, 0x1.7fb0577ae101p-20, "
    "-0x1.ca9c698da54c1p-21, -0x1.69d60cb7fe93cp-24, 0x1.15ee05ecaf8fcp-23, "
    "0x1.2af7e1c341d84p-27, -0x1.1590323b915e1p-26, -0x1.7e2218f9e155dp-29, "
    "0x1.7c5f88dcc05f2p-32) * i * p * 0.5, t); select(a < 0, 1 - y, y)";

// With p = e^r - 1 and |a| = n ln 2 + r: e^|a| = 2^n (1 + p) and e^-|a| = 2^-n (1 - p / (1 + p)).
// Powers of two are halved twice (s, u), so that 2^n cannot overflow before the result does.
inline constexpr std::string_view kSinhF32 =
    "x = abs(a); h = select(x > 89.5, 89.5, x); t = fma(h, 0x1.715476p+0, 0x1.8p+23); n = t - "
    "0x1.8p+23; r = fma(n, 0x1.05c61p-29, fma(n, -0x1.62e43p-1, h)); p = fma(poly(r, "
    "0x1.fffffep-2, 0x1.5554bp-3, 0x1.55572ep-5, 0x1.1227ep-7, 0x1.6b5828p-10), r * r, r); w = "
    "p / (1 + p); i = bitcast_int(t); j = bitcast_int(select(n > 40, 0x1.80005p+23, t)); s = "
    "bitcast_float(shl_raw(i, 23) + 0x3e800000); u = bitcast_float(0x3e800000 - shl_raw(j, "
    "23)); copysign(select(x < 0x1p-12, x, 2 * fma(p, s, fma(w, u, s - u))), a)";

inline constexpr std::string_view kSinhF64 =
    "x = abs(a); h = select(x > 710.5, 710.5, x); t = fma(h, 0x1.71547652b82fep+0, 0x1.8p+52); "
    "n = t - 0x1.8p+52; r = fma(n, -0x1.abc9e3b39803fp-56, fma(n, -0x1.62e42fefa39efp-1, h)); "
    "p = fma(poly(r, 0x1p-1, 0x1.5555555555559p-3, 0x1.555555555554ep-5, 0x1.111111110f63bp-7, "
    "0x1.6c16c16c1a472p-10, 0x1.a01a01b01566dp-13, 0x1.a01a019000699p-16, "
    "0x1.71ddf7d262c5ap-19, 0x1.27e50f3a5fb9cp-22, 0x1.af5fae96d0c6ap-26, "
    "0x1.1f2048ba190b1p-29), r * r, r); w = p / (1 + p); i = bitcast_int(t); j = "
    "bitcast_int(select(n > 80, 0x1.800000000005p+52, t)); s = bitcast_float(shl_raw(i, 52) + "
    "0x3fd0000000000000); u = bitcast_float(0x3fd0000000000000 - shl_raw(j, 52)); "
    "copysign(select(x < 0x1p-28, x, 2 * fma(p, s, fma(w, u, s - u))), a)";

inline constexpr std::string_view kCoshF32 =
    "x = abs(a); h = select(x > 89.5, 89.5, x); t = fma(h, 0x1.715476p+0, 0x1.8p+23); n = t - "
    "0x1.8p+23; r = fma(n, 0x1.05c61p-29, fma(n, -0x1.62e43p-1, h)); p = fma(poly(r, "
    "0x1.fffffep-2, 0x1.5554bp-3, 0x1.55572ep-5, 0x1.1227ep-7, 0x1.6b5828p-10), r * r, r); w = "
    "p / (1 + p); i = bitcast_int(t); j = bitcast_int(select(n > 40, 0x1.80005p+23, t)); s = "
    "bitcast_float(shl_raw(i, 23) + 0x3e800000); u = bitcast_float(0x3e800000 - shl_raw(j, "
    "23)); 2 * ((s + u) + fma(p, s, -w * u))";

inline constexpr std::string_view kCoshF64 =
    "x = abs(a); h = select(x > 710.5, 710.5, x); t = fma(h, 0x1.71547652b82fep+0, 0x1.8p+52); "
    "n = t - 0x1.8p+52; r = fma(n, -0x1.abc9e3b39803fp-56, fma(n, -0x1.62e42fefa39efp-1, h)); "
    "p = fma(poly(r, 0x1p-1, 0x1.5555555555559p-3, 0x1.555555555554ep-5, 0x1.111111110f63bp-7, "
    "0x1.6c16c16c1a472p-10, 0x1.a01a01b01566dp-13, 0x1.a01a019000699p-16, "
    "0x1.71ddf7d262c5ap-19, 0x1.27e50f3a5fb9cp-22, 0x1.af5fae96d0c6ap-26, "
    "0x1.1f2048ba190b1p-29), r * r, r); w = p / (1 + p); i = bitcast_int(t); j = "
    "bitcast_int(select(n > 80, 0x1.800000000005p+52, t)); s = bitcast_float(shl_raw(i, 52) + "
    "0x3fd0000000000000); u = bitcast_float(0x3fd0000000000000 - shl_raw(j, 52)); 2 * ((s + u) "
    "+ fma(p, s, -w * u))";

// By way of log1p; f32 in f64, where nothing cancels or overflows. Above 2^54 asinh x and acosh x
// are log(2 x).
inline constexpr std::string_view kAsinhF32 =
    "x = cast_f64(abs(a)); z = x * x; y = cast_f32(log1p(x + z / (sqrt(z + 1) + 1))); "
    "copysign(select(abs(a) < inf, y, abs(a)), a)";

inline constexpr std::string_view kAsinhF64 =
    "x = abs(a); big = x > 0x1p+54; z = x * x; y = log1p(select(big, x, x + z / (sqrt(z + 1) + "
    "1))); copysign(y + select(big, 0x1.62e42fefa39efp-1, 0), a)";

inline constexpr std::string_view kAcoshF32 =
    "x = cast_f64(a); select(a >= 1, cast_f32(log(x + sqrt((x - 1) * (x + 1)))), nan)";

inline constexpr std::string_view kAcoshF64 =
    "t = a - 1; big = a > 0x1p+54; y = log1p(select(big, t, t + sqrt(t * (t + 2)))) + "
    "select(big, 0x1.62e42fefa39efp-1, 0); select(a >= 1, y, nan)";

inline constexpr std::string_view kAtanhF32 =
    "x = cast_f64(abs(a)); copysign(cast_f32(0.5 * log1p(2 * x / (1 - x))), a)";

inline constexpr std::string_view kAtanhF64 =
    "x = abs(a); copysign(0.5 * log1p(2 * x / (1 - x)), a)";

// log |Gamma(x)| for x >= 8 by Stirling's series; below, x - 1 is brought into [0, 1) by steps of 1
// whose product goes under the logarithm, and log Gamma(1 + w) = w (w - 1) Q(w). Reflected for
// negative a, with sin(pi d) of the distance d from an integer: there an error of some units in the
// last place of lgamma(|a|) remains, which is large beside the result where that is next to 0.
inline constexpr std::string_view kLgammaF64 =
    "x = abs(a); small = x < 1; large = x >= 8; minus = a < 0; w0 = select(small, x, "
    "select(large, 0.5, x - 1)); c0 = w0 >= 1; p1 = select(c0, w0, 1); w1 = select(c0, w0 - 1, "
    "w0); c1 = w1 >= 1; p2 = select(c1, p1 * w1, p1); w2 = select(c1, w1 - 1, w1); c2 = w2 >= "
    "1; p3 = select(c2, p2 * w2, p2); w3 = select(c2, w2 - 1, w2); c3 = w3 >= 1; p4 = "
    "select(c3, p3 * w3, p3); w4 = select(c3, w3 - 1, w3); c4 = w4 >= 1; p5 = select(c4, p4 * "
    "w4, p4); w5 = select(c4, w4 - 1, w4); c5 = w5 >= 1; p6 = select(c5, p5 * w5, p5); w6 = "
    "select(c5, w5 - 1, w5); q = w6 * (w6 - 1) * poly(w6, 0x1.2788cfc6fb619p-1, "
    "-0x1.f6465978d451bp-3, 0x1.3e5452046e28ap-3, -0x1.d7a3e69fbcc8dp-4, 0x1.79cf9b359664ep-4, "
    "-0x1.3cb1e5fad65e4p-4, 0x1.11545a215bfacp-4, -0x1.e1725479fdfcbp-5, 0x1.ae26d05b9cdcfp-5, "
    "-0x1.83a01567c27edp-5, 0x1.5cd49d170c03p-5, -0x1.3383fd6dfafd3p-5, 0x1.013df9bab10f2p-5, "
    "-0x1.8752300b30532p-6, 0x1.01c4eb55ee46fp-6, -0x1.17325b75ebde9p-7, 0x1.d514de4af252p-9, "
    "-0x1.1b3b635114251p-10, 0x1.b20255c7def1cp-13, -0x1.3b426016d4936p-16); l = "
    "log(select(large, x, select(small, select(minus, 1, x), p6))); i = 1 / x; t = (x - 0.5) * "
    "(l - 1) + (0x1.acfe390c97d69p-2 + i * poly(i * i, 0x1.5555555555555p-4, "
    "-0x1.6c16c16c08512p-9, 0x1.a01a00cb2daa7p-11, -0x1.3812513922a52p-11, "
    "0x1.b87fc04a5155ep-11, -0x1.d0f5993062042p-10, -0x1.d91bb57974e4fp-13, "
    "0x1.83e238260fe34p-4)); core = select(large, t, select(small, q - l, q + l)); d = x - "
    "round_even(x); e = abs(d) * poly(d * d, 0x1.921fb54442d18p+1, -0x1.4abbce625be17p+2, "
    "0x1.466bc67758815p+1, -0x1.32d2cce52aaf3p-1, 0x1.50783410a630ap-4, -0x1.e30712d1c9d3ap-8, "
    "0x1.e8e2a3232c43ap-12, -0x1.6cfd40053e86bp-16, 0x1.4ff1b6df74386p-21); m = -log(e * "
    "select(small, 1, x) * 0x1.45f306dc9c883p-2) - core; select((x == inf) | (minus & (d == "
    "0)), inf, select(minus, m, core))";

inline constexpr std::string_view kLgammaF32 = "cast_f32(lgamma(cast_f64(a)))";

// The bits of a float count up with its magnitude.
inline constexpr std::string_view kNextAfterF32 =
    "y = bitcast_float(bitcast_int(a) + select((a < b) == (a > 0), 1, -1)); select((a != a) | "
    "(b != b), a + b, select(a == b, b, select(a == 0, copysign(0x1p-149, b), y)))";

inline constexpr std::string_view kNextAfterF64 =
    "y = bitcast_float(bitcast_int(a) + select((a < b) == (a > 0), 1, -1)); select((a != a) | "
    "(b != b), a + b, select(a == b, b, select(a == 0, copysign(0x1p-1074, b), y)))";

// 2^(b log2 |a|) in f64, then C's special cases.
inline constexpr std::string_view kPowF32 =
    "x = abs(a); v = cast_f32(exp2(cast_f64(b) * log2(cast_f64(x)))); half = b * 0.5; whole = "
    "floor(b) == b; "
    "odd = whole & (floor(half) != half); inv = (a < 0) & (x < inf) & !whole; "
    "o = select(odd & (bitcast_int(a) < 0), -v, v); g = select((a != a) | (b != b), a + b, "
    "select(inv, nan, o)); "
    "select((b == 0) | (a == 1) | ((x == 1) & (abs(b) == inf)), 1, g)";

// log |a| as an unevaluated sum of two doubles (s, its square and its cube carry their rounding
// errors), times b, then as exp.
inline constexpr std::string_view kPowF64 =
    "x = abs(a); small = x < 0x1p-1022; c0 = select(small, x * 0x1p+54, x); "
    "i = cast_u64(bitcast_int(c0)) + 0x95f619980c433; k = shr_raw(i, 52); "
    "m = bitcast_float(cast_i64((i & 0xfffffffffffff) + 0x3fe6a09e667f3bcd)); "
    "n = bitcast_float(cast_i64(k | 0x4330000000000000)) - 0x1.00000000003ffp+52; e = "
    "select(small, n - 54, n); "
    "f = m - 1; d = 2 + f; s = f / d; sl = fma(-s, f - (d - 2), fma(-s, d, f)) / d; z = s * s; "
    "zl = fma(s, s, -z) + 2 * s * sl; c = z * s; cl = fma(z, s, -c) + (zl * s + z * sl); "
    "q = c * 0x1.5555555555555p-1; "
    "ql = fma(c, 0x1.5555555555555p-1, -q) + (c * 0x1.5555555555555p-55 + cl * "
    "0x1.5555555555555p-1); "
    "r5 = z * c * poly(z, 0x1.9999999999b33p-2, 0x1.24924924577d8p-2, 0x1.c71c722de1d07p-3, "
    "0x1.745ce9b8c6b54p-3, 0x1.3b1ef3cd868fap-3, 0x1.0f7f32475ee36p-3, 0x1.0e496bdf0b742p-3); s2 = "
    "2 * s; "
    "w = s2 + q; wl = (q - (w - s2)) + (2 * sl + ql + r5); p1 = e * 0x1.62e42fefa38p-1; g1 = p1 + "
    "w; "
    "gl = (w - (g1 - p1)) + (wl + e * 0x1.ef35793c7673p-45); lh = g1 + gl; ll = gl - (lh - g1); ph "
    "= b * lh; "
    "pl = select(abs(ph) < 800, fma(b, lh, -ph) + b * ll, 0); h1 = select(ph > 710, 710, ph); "
    "y = select(h1 < -746, -746, h1); t = fma(y, 0x1.71547652b82fep+0, 0x1.8p+52); n1 = t - "
    "0x1.8p+52; "
    "r = fma(n1, -0x1.abc9e3b39803fp-56, fma(n1, -0x1.62e42fefa39efp-1, y)) + pl; "
    "p = 1 + fma(poly(r, 0x1.000000000000ap-1, 0x1.55555555554fep-3, 0x1.555555555065p-5, "
    "0x1.1111111126addp-7, "
    "0x1.6c16c1849c2f4p-10, 0x1.a01a01304284ep-13, 0x1.a01998e0f8fa3p-16, 0x1.71df17922590bp-19, "
    "0x1.28ae82e582cd9p-22, 0x1.ad9654f86c593p-26), r * r, r); "
    "v = select(x == 0, select(b < 0, inf, 0), select(x < inf, scale_pow2_raw(p, t), select(b < 0, "
    "0, "
    "inf))); "
    "half = b * 0.5; whole = floor(b) == b; odd = whole & (floor(half) != half); "
    "inv = (a < 0) & (x < inf) & !whole; o = select(odd & (bitcast_int(a) < 0), -v, v); "
    "g = select((a != a) | (b != b), a + b, select(inv, nan, o)); "
    "select((b == 0) | (a == 1) | ((x == 1) & (abs(b) == inf)), 1, g)";

// The product is exact in f64; the sum is rounded to odd there, so that rounding to f32 is the only
// rounding.
inline constexpr std::string_view kFmaF32 =
    "p = cast_f64(a) * cast_f64(b); q = cast_f64(c); s = p + q; t = s - p; d = (p - (s - t)) + (q "
    "- t); "
    "i = bitcast_int(s); u = select(((d > 0) | (d < 0)) & ((i & 1) == 0), select((d > 0) == (s > "
    "0), 1, -1), 0); "
    "cast_f32(bitcast_float(i + u))";

// Dekker's product, then Boldo and Melquiond's sum with its last part rounded to odd. Where a step
// could overflow or underflow: a * b + c.
inline constexpr std::string_view kFmaF64 =
    "m = a * 134217729; ah = m - (m - a); al = a - ah; k = b * 134217729; bh = k - (k - b); bl = b "
    "- bh; "
    "p = a * b; e = ((ah * bh - p) + ah * bl + al * bh) + al * bl; u = c + e; v = u - c; "
    "ul = (c - (u - v)) + (e - v); h = p + u; w = h - p; hl = (p - (h - w)) + (u - w); s = hl + "
    "ul; t = s - hl; "
    "d = (hl - (s - t)) + (ul - t); i = bitcast_int(s); "
    "r = bitcast_float(i + select(((d > 0) | (d < 0)) & ((i & 1) == 0), select((d > 0) == (s > 0), "
    "1, -1), 0)); "
    "safe = (abs(a) < 0x1p+970) & (abs(b) < 0x1p+970) & (abs(c) < 0x1p+1000) & (abs(p) < "
    "0x1p+1000) & (abs(p) > 0x1p-900); "
    "select(safe, h + r, p + c)";

// -1, 0, 1, NaN.
inline constexpr std::string_view kSign =
    "select(a > 0, 1, select(a < 0, -1, select(a == a, 0, a)))";

inline constexpr std::string_view kSignInt = "select(a > 0, 1, select(a < 0, -1, 0))";

// One widening multiplication on every CPU.
inline constexpr std::string_view kMulHi = "cast_u32(shr_raw(cast_u64(a) * cast_u64(b), 32))";

// Shift counts are made valid before the instruction sees them.
inline constexpr std::string_view kShl =
    "ok = (b >= 0) & (b < width); select(ok, shl_raw(a, select(ok, b, 0)), 0)";

inline constexpr std::string_view kShr =
    "ok = (b >= 0) & (b < width); select(ok, shr_raw(a, select(ok, b, 0)), select(a < 0, -1, 0))";

// Divisors that would trap are replaced by 1: the quotient of the lowest value by -1 is then right,
// that by 0 is discarded. For unsigned types the comparisons with -1 and 0 are harmless (0 / max is
// 0) or fold away.
inline constexpr std::string_view kTruncDivide =
    "d = select((b == 0) | ((a == lowest) & (b == -1)), 1, b); q = div_raw(a, d); select(b == 0, "
    "0, q)";

inline constexpr std::string_view kFmod =
    "d = select((b == 0) | ((a == lowest) & (b == -1)), 1, b); q = div_raw(a, d); select(b == 0, "
    "0, a - q * d)";

// Of floats. The quotient n may be one too large, as it was rounded up to a whole number: one step
// of b mends that. Where it is below a limit every step is exact, as what is left is a multiple of
// b's last place: in f32 by fma; in f64, where fma has no exact form for CPUs without it, n has 26
// bits, b's halves 26 and 27, and their products 53. Else the loop does all.
inline constexpr std::string_view kFmodF32 =
    "p = abs(a); q = abs(b); n = trunc(p / q); r = fma(-n, q, p); m = select(r < 0, r + q, r); "
    "copysign(fmod_raw(select(n < 0x1p+24, select(p < q, p, m), p), q), a)";

inline constexpr std::string_view kFmodF64 =
    "p = abs(a); q = abs(b); n = trunc(p / q); h = bitcast_float(bitcast_int(q) & -0x8000000); "
    "r = (p - n * h) - n * (q - h); m = select(r < 0, r + q, r); "
    "copysign(fmod_raw(select(n < 0x1p+26, select(p < q, p, m), p), q), a)";

// The loop of fmod_raw: what is left and the divisor (harmless where the result is NaN), and
// whether there is a result; steps as long as |what is left| is not below the divisor; the result.
inline constexpr std::string_view kFmodBegin =
    "ok = (b > 0) & (a < inf); {select(ok, a, 0), select(ok, b, 1), ok}";
inline constexpr std::string_view kFmodEnd = "select(c, select(a < 0, a + b, a), nan)";

// One step, of a and the divisor: the upper 12 bits (f64: 26) of the quotient, rounded to either
// side, by both halves of d, which is b or so large a multiple that a / d does not overflow.
inline constexpr std::string_view kFmodStepF32 =
    "x = abs(a); s = b * 0x1p+100; e = select(x >= s, s, b); t = e * 0x1p+100; "
    "d = select(x >= t, t, e); n = trunc(bitcast_float(bitcast_int(a / d) & -0x1000)); "
    "h = bitcast_float(bitcast_int(d) & -0x1000); select(x >= b, (a - n * h) - n * (d - h), a)";
inline constexpr std::string_view kFmodStepF64 =
    "x = abs(a); s = b * 0x1p+1000; e = select(x >= s, s, b); t = e * 0x1p+1000; "
    "d = select(x >= t, t, e); n = trunc(bitcast_float(bitcast_int(a / d) & -0x8000000)); "
    "h = bitcast_float(bitcast_int(d) & -0x8000000); select(x >= b, (a - n * h) - n * (d - h), a)";

inline constexpr std::string_view kFloorDivide =
    "d = select((b == 0) | ((a == lowest) & (b == -1)), 1, b); q = div_raw(a, d); r = a - q * d; "
    "select(b == 0, 0, select((r != 0) & ((r ^ d) < 0), q - 1, q))";

inline constexpr std::string_view kRemainder =
    "d = select((b == 0) | ((a == lowest) & (b == -1)), 1, b); q = div_raw(a, d); r = a - q * d; "
    "select(b == 0, 0, select((r != 0) & ((r ^ d) < 0), r + d, r))";

}  // namespace jitfuse::internal::decomp

#endif  // JITFUSE_IR_SCALAR_DECOMPS_H_
