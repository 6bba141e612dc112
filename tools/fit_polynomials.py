#!/usr/bin/env python3
"""Prints the polynomial coefficients of ir/scalar_decomps.h. Needs mpmath.

Each fit minimises the largest weighted error of sum c_k x^k against a function over an interval: weighted least squares at Chebyshev
nodes, the weights raised where the error is large (Lawson). Then the coefficients are rounded to the format one after the other,
lowest power first, the remaining ones fitted again around those already fixed. Ratios of two polynomials are fitted alike (the
divisor's last coefficient is 1; its values of the round before weigh the equations).
Usage: tools/fit_polynomials.py [NAME ...]   (names: see FITS and RATIOS; some take a minute)
"""
import sys

import mpmath as mp

mp.mp.dps = 50


def round_to(c, bits):
    if c == 0:
        return mp.mpf(0)
    mantissa, exponent = mp.frexp(c)
    return mp.ldexp(mp.nint(mp.ldexp(mantissa, bits)), exponent - bits)


def solve(f, powers, weight, lo, hi, rounds):
    """Coefficients for `powers` and their largest weighted error."""
    n = 12 * len(powers) + 20
    nodes = [(lo + hi) / 2 + (hi - lo) / 2 * mp.cos(mp.pi * mp.mpf(2 * i + 1) / (2 * n)) for i in range(n)]
    target = [f(x) * weight(x) for x in nodes]
    basis = [[x**k * weight(x) for k in powers] for x in nodes]
    emphasis, best = [mp.mpf(1)] * n, None
    for _ in range(rounds):
        root = [mp.sqrt(e) for e in emphasis]
        a = mp.matrix([[b * r for b in row] for row, r in zip(basis, root)])
        b = mp.matrix([t * r for t, r in zip(target, root)])
        c = list(mp.lu_solve(a.T * a, a.T * b))
        error = [abs(mp.fdot(c, row) - t) for row, t in zip(basis, target)]
        worst = max(error)
        if best is None or worst < best[1]:
            best = (c, worst)
        if worst == 0:
            break
        emphasis = [w * (e / worst + mp.mpf("0.01")) for w, e in zip(emphasis, error)]
        mean = mp.fsum(emphasis) / n
        emphasis = [w / mean for w in emphasis]
    return best


def fit(f, degree, weight, lo, hi, bits):
    lo, hi = mp.mpf(lo), mp.mpf(hi)
    fixed = []
    for k in range(degree + 1):
        rest = lambda x: f(x) - mp.fsum(c * x**j for j, c in enumerate(fixed))
        c, _ = solve(rest, list(range(k, degree + 1)), weight, lo, hi, 6 if k else 12)
        fixed.append(round_to(c[0], bits))
    points = [lo + (hi - lo) * mp.mpf(i) / 2000 for i in range(2001)]
    return fixed, max(abs(weight(x) * (mp.polyval(fixed[::-1], x) - f(x))) for x in points)


def fit_ratio(f, top, bottom, weight, lo, hi, bits):
    """Coefficients of p and q, of degrees `top` and `bottom`, with p / q near f; the nodes are denser next to `lo`."""
    lo, hi = mp.mpf(lo), mp.mpf(hi)
    n = 16 * (top + bottom)
    nodes = [lo + (hi - lo) * ((1 - mp.cos(mp.pi * mp.mpf(i) / n)) / 2) ** 2 for i in range(n + 1)]
    value, scale = [f(x) for x in nodes], [weight(x) for x in nodes]
    fixed = {("q", bottom): mp.mpf(1)}
    q_before = [mp.mpf(1)] * len(nodes)

    def terms(i, side, k):  # the coefficient's factor in (p - f q) weight / q
        power = nodes[i] ** k * scale[i] / q_before[i]
        return power if side == "p" else -value[i] * power

    def best(rounds):
        nonlocal q_before
        free = [c for k in range(max(top, bottom) + 1) for c in (("q", k), ("p", k)) if k <= (top if c[0] == "p" else bottom) and c not in fixed]
        emphasis, found = [mp.mpf(1)] * len(nodes), None
        for _ in range(rounds):
            rows = [[terms(i, *c) * mp.sqrt(e) for c in free] for i, e in enumerate(emphasis)]
            rest = [-mp.fsum(v * terms(i, *c) for c, v in fixed.items()) * mp.sqrt(e) for i, e in enumerate(emphasis)]
            a, b = mp.matrix(rows), mp.matrix(rest)
            c = dict(fixed) | dict(zip(free, mp.lu_solve(a.T * a, a.T * b)))
            q_before = [mp.fsum(v * x**k for (side, k), v in c.items() if side == "q") for x in nodes]
            error = [abs(mp.fsum(v * terms(i, *key) for key, v in c.items())) for i in range(len(nodes))]
            worst = max(error)
            if found is None or worst < found[1]:
                found = (c, worst)
            emphasis = [w * (e / worst + mp.mpf("0.02")) for w, e in zip(emphasis, error)]
            mean = mp.fsum(emphasis) / len(nodes)
            emphasis = [w / mean for w in emphasis]
        return free, *found

    free, c, worst = best(40)
    while free:
        fixed[free[0]] = round_to(c[free[0]], bits)
        if len(free) == 1:
            break
        free, c, worst = best(12)
    p, q = ([fixed[side, k] for k in range(d + 1)] for side, d in (("p", top), ("q", bottom)))
    error = max(abs(weight(x) * (mp.polyval(p[::-1], x) / mp.polyval(q[::-1], x) - f(x))) for x in nodes)
    return p, q, error


def near(limit, series, f):
    """f, but its series where cancellation would spoil f."""
    return lambda x: series(x) if abs(x) < limit else f(x)


R = mp.log(2) / 2 * mp.mpf("1.002")  # |r| after e^x = 2^n e^r
exp_tail = near(1e-20, lambda r: mp.mpf(1) / 2 + r / 6, lambda r: (mp.expm1(r) - r) / r**2)
expm1_weight = near(1e-20, abs, lambda r: r * r / mp.expm1(r))
exp2_tail = near(1e-25, lambda r: mp.log(2), lambda r: (mp.power(2, r) - 1) / r)
log_tail = near(1e-15, lambda f: mp.mpf(1) / 3 - f / 4, lambda f: (mp.log1p(f) - f + f * f / 2) / f**3)
log_weight = near(1e-30, abs, lambda f: f**3 / mp.log1p(f))
SPLIT = mp.sqrt(mp.mpf("0.5")) - 1, mp.sqrt(2) - 1  # f = m - 1 for m in [sqrt(1/2), sqrt 2)
Z = mp.mpf("0.17164") ** 2  # s^2 for s = f / (2 + f)
atanh_tail = near(1e-25, lambda z: mp.mpf(2) / 3 + 2 * z / 5, lambda z: (2 * mp.atanh(mp.sqrt(z)) / mp.sqrt(z) - 2) / z)
pow_tail = near(1e-15, lambda z: mp.mpf(2) / 5 + 2 * z / 7, lambda z: (atanh_tail(z) - mp.mpf(2) / 3) / z)
erf_ratio = near(1e-20, lambda z: 2 / mp.sqrt(mp.pi) * (1 - z / 3), lambda z: mp.erf(mp.sqrt(z)) / mp.sqrt(z))
log2_erfc = near(1e-18, lambda x: -2 / mp.sqrt(mp.pi) / mp.log(2) * (1 + x / mp.sqrt(mp.pi)), lambda x: mp.log(mp.erfc(x), 2) / x)
log2_erfc_weight = near(1e-18, lambda x: mp.mpf("0.614"), lambda x: mp.erfc(x) * mp.log(2) * x / mp.erf(x))
TRIG = (mp.pi / 4 * mp.mpf("1.001")) ** 2
sin_tail = near(1e-20, lambda z: -mp.mpf(1) / 6 + z / 120, lambda z: (mp.sin(mp.sqrt(z)) - mp.sqrt(z)) / mp.sqrt(z) ** 3)
sin_weight = near(1e-30, abs, lambda z: z * mp.sqrt(z) / mp.sin(mp.sqrt(z)))
cos_tail = near(1e-12, lambda z: mp.mpf(1) / 24 - z / 720, lambda z: (mp.cos(mp.sqrt(z)) - 1 + z / 2) / z**2)
cos_weight = lambda z: z * z / mp.cos(mp.sqrt(z))

# asin(s) = s + s z P(z) with z = s^2; atan the same; sin(pi d) / d; lgamma(1 + w) = w (w - 1) Q(w).
asin_tail = near(1e-20, lambda z: mp.mpf(1) / 6 + 3 * z / 40, lambda z: (mp.asin(mp.sqrt(z)) - mp.sqrt(z)) / mp.sqrt(z) ** 3)
asin_weight = near(1e-30, abs, lambda z: z * mp.sqrt(z) / mp.asin(mp.sqrt(z)))
atan_tail = near(1e-20, lambda z: -mp.mpf(1) / 3 + z / 5, lambda z: (mp.atan(mp.sqrt(z)) - mp.sqrt(z)) / mp.sqrt(z) ** 3)
atan_weight = near(1e-30, abs, lambda z: z * mp.sqrt(z) / mp.atan(mp.sqrt(z)))
sinpi_ratio = near(1e-20, lambda z: mp.pi - mp.pi**3 * z / 6, lambda z: mp.sin(mp.pi * mp.sqrt(z)) / mp.sqrt(z))


def lgamma_ratio(w):
    if abs(w) < mp.mpf("1e-25"):
        return mp.euler + w * (mp.euler - mp.zeta(2) / 2)
    if abs(w - 1) < mp.mpf("1e-25"):
        return 1 - mp.euler
    return mp.loggamma(1 + w) / (w * (w - 1))


def stirling_tail(z):
    """x (lgamma(x) - (x - 1/2) (log x - 1) + 1/2 - log(2 pi) / 2) as a function of z = x^-2."""
    if z < mp.mpf("1e-8"):
        return mp.mpf(1) / 12 - z / 360 + z * z / 1260
    x = 1 / mp.sqrt(z)
    return x * (mp.loggamma(x) - (x - mp.mpf("0.5")) * mp.log(x) + x - mp.log(2 * mp.pi) / 2)


def erfc_16(t):
    """e^(x^2) erfc(x) / t as a function of t = 1 / (1 + 0.51 x)."""
    x = (1 / t - 1) / mp.mpf("0.51")
    return mp.erfc(x) * mp.exp(x * x) / t


HALF_LOG2_E = round_to(mp.log(mp.e, 2) / 2, 24)


def normal_tail(x):
    """e^(x^2 / 2) times what the normal distribution has beyond x, with log2(e) / 2 rounded to f32."""
    return mp.erfc(x / mp.sqrt(2)) * mp.power(2, HALF_LOG2_E * x * x) / 2


def erfc_scaled(k):
    """(x + k) e^(x^2) erfc(x) as a function of t = (x - k) / (x + k)."""
    def g(t):
        x = k * (1 + t) / (1 - t)
        return (x + k) * mp.erfc(x) * mp.exp(x * x)
    return g


# name: (function, degree, weight, from, to, bits)
FITS = {
    "exp_f32": (exp_tail, 4, lambda r: r * r / mp.exp(r), -R, R, 24),
    "exp_f64": (exp_tail, 9, lambda r: r * r / mp.exp(r), -R, R, 53),
    "expm1_f32": (exp_tail, 4, expm1_weight, -R, R, 24),
    "expm1_f64": (exp_tail, 10, expm1_weight, -R, R, 53),
    "exp2_f32": (exp2_tail, 5, lambda r: r / mp.power(2, r), "-0.5001", "0.5001", 24),
    "exp2_f64": (exp2_tail, 11, lambda r: r / mp.power(2, r), "-0.5001", "0.5001", 53),
    "exp2_short_f32": (exp2_tail, 4, lambda r: r / mp.power(2, r), "-0.5001", "0.5001", 24),
    "exp2_16": (exp2_tail, 3, lambda r: r / mp.power(2, r), "-0.5001", "0.5001", 24),
    "exp2m1_f32": (exp2_tail, 5, lambda r: 1 / exp2_tail(r), "-0.5001", "0.5001", 24),
    "log_f32": (log_tail, 7, log_weight, SPLIT[0] * mp.mpf("1.0005"), SPLIT[1] * mp.mpf("1.0005"), 24),
    "log_f64": (atanh_tail, 6, lambda z: z / 2, 0, Z, 53),
    "pow_f64": (pow_tail, 6, lambda z: z * z / 2, 0, Z, 53),
    "erf_f32": (log2_erfc, 8, log2_erfc_weight, 0, "3.94", 24),
    "erf_f64": (erf_ratio, 11, lambda z: 1 / erf_ratio(z), 0, "1.002", 53),
    "erfc_f32": (erfc_scaled(3), 9, lambda t: 1 / erfc_scaled(3)(t), mp.mpf(-1) + mp.mpf("1e-12"), mp.mpf("7.1") / mp.mpf("13.1"), 24),
    "erfc_f64": (erfc_scaled(4), 22, lambda t: 1 / erfc_scaled(4)(t), mp.mpf(-1) + mp.mpf("1e-15"), mp.mpf("23.3") / mp.mpf("31.3"), 53),
    "erfc_16": (erfc_16, 6, lambda t: 1 / erfc_16(t), 1 / (1 + mp.mpf("0.51") * mp.mpf("10.6")), 1, 24),
    "asin_f32": (asin_tail, 4, asin_weight, 0, "0.2502", 24),
    "asin_f64": (asin_tail, 11, asin_weight, 0, "0.25001", 53),
    "atan_f32": (atan_tail, 7, atan_weight, 0, "1.0001", 24),
    "atan_f64": (atan_tail, 18, atan_weight, 0, "1.00001", 53),
    "sinpi_f64": (sinpi_ratio, 8, lambda z: 1 / sinpi_ratio(z), 0, "0.25001", 53),
    "lgamma_f64": (lgamma_ratio, 19, lambda w: 1 / lgamma_ratio(w), 0, "1.0001", 53),
    "stirling_f64": (stirling_tail, 7, lambda z: mp.mpf(12), "1e-9", mp.mpf(1) / 64, 53),
    "sin_f32": (sin_tail, 3, sin_weight, 0, TRIG, 53),
    "cos_f32": (cos_tail, 2, cos_weight, 0, TRIG, 53),
    "sin_f64": (sin_tail, 5, sin_weight, 0, TRIG, 53),
    "cos_f64": (cos_tail, 5, cos_weight, 0, TRIG, 53),
}

# name: (function, degree above, degree below, weight, from, to, bits)
RATIOS = {
    "normal_tail_f32": (normal_tail, 4, 4, lambda x: 1 / normal_tail(x), 0, "14.5", 24),
    "normal_tail_16": (normal_tail, 3, 4, lambda x: 1 / normal_tail(x) / (1 + x * x / 8), 0, "14.5", 24),
}

for name in sys.argv[1:] or [*FITS, *RATIOS]:
    *parts, error = fit_ratio(*RATIOS[name]) if name in RATIOS else fit(*FITS[name])
    print(f"{name}: largest error 2^{float(mp.log(error, 2)):.2f}")
    for coefficients in parts:
        print("  " + ", ".join(float(c).hex() for c in coefficients))
