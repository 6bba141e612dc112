"""Element-wise functions of the standard against NumPy, in every dtype and odd shapes."""

import numpy as np
import pytest

import jitfuse as jf
from support import FLOATS, INTS, SHAPES, SIGNED, make, run, same

# name -> NumPy's name and the interval of the argument.
UNARY_FLOAT = {
    "acos": ("arccos", -1, 1), "acosh": ("arccosh", 1, 4), "asin": ("arcsin", -1, 1),
    "asinh": ("arcsinh", -3, 3), "atan": ("arctan", -3, 3), "atanh": ("arctanh", -0.9, 0.9),
    "cos": ("cos", -3, 3), "cosh": ("cosh", -3, 3), "exp": ("exp", -3, 3), "exp2": ("exp2", -3, 3),
    "expm1": ("expm1", -3, 3), "log": ("log", 0.1, 9), "log1p": ("log1p", -0.9, 9),
    "log2": ("log2", 0.1, 9), "log10": ("log10", 0.1, 9), "reciprocal": ("reciprocal", 0.5, 3),
    "sin": ("sin", -3, 3), "sinh": ("sinh", -3, 3), "sqrt": ("sqrt", 0, 9),
    "tan": ("tan", -1.5, 1.5), "tanh": ("tanh", -3, 3), "ceil": ("ceil", -3, 3),
    "floor": ("floor", -3, 3), "round": ("round", -3, 3), "trunc": ("trunc", -3, 3),
    "isfinite": ("isfinite", -3, 3), "isinf": ("isinf", -3, 3), "isnan": ("isnan", -3, 3),
    "signbit": ("signbit", -3, 3), "abs": ("abs", -3, 3), "negative": ("negative", -3, 3),
    "sign": ("sign", -3, 3), "square": ("square", -3, 3), "positive": ("positive", -3, 3),
}  # fmt: skip
UNARY_INT = ["abs", "negative", "sign", "square", "positive", "bitwise_invert"]
BINARY_FLOAT = [
    "add", "subtract", "multiply", "divide", "maximum", "minimum", "hypot", "logaddexp", "copysign",
    "atan2", "floor_divide", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal",
    "remainder",
]  # fmt: skip
BINARY_INT = [
    "add", "subtract", "multiply", "maximum", "minimum", "bitwise_and", "bitwise_or", "bitwise_xor",
    "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "floor_divide",
    "remainder",
]  # fmt: skip
NUMPY_NAMES = {"atan2": "arctan2", "bitwise_invert": "invert"}


def numpy_function(name):
    return getattr(np, NUMPY_NAMES.get(name, name))


def in_wide(function, *args):
    """NumPy in float64, rounded once: what a float16 or float32 result is compared with."""
    out = function(*[a.astype(np.float64) for a in args])
    return out if out.dtype == bool else out.astype(args[0].dtype)


@pytest.mark.parametrize("dtype", FLOATS)
def test_unary_functions_of_floats(dtype):
    args = {n: make((5, 7), dtype, low=low, high=high) for n, (_, low, high) in UNARY_FLOAT.items()}
    got = run(lambda xs: {n: getattr(jf, n)(x) for n, x in xs.items()}, args)
    for name, x in args.items():
        same(got[name], in_wide(getattr(np, UNARY_FLOAT[name][0]), x), what=name)


@pytest.mark.parametrize("dtype", INTS)
def test_unary_functions_of_integers(dtype):
    x = make((5, 7), dtype)
    names = [n for n in UNARY_INT if n != "negative" or dtype in SIGNED]
    got = run(lambda x: {n: getattr(jf, n)(x) for n in names}, x)
    for name in names:
        same(got[name], numpy_function(name)(x), what=name)


@pytest.mark.parametrize("dtype", FLOATS)
def test_binary_functions_of_floats(dtype):
    x, y = make((3, 5), dtype, 1), make((5,), dtype, 2)
    y[0], x[0, 1] = 2.0, y[1]
    got = run(lambda x, y: {n: getattr(jf, n)(x, y) for n in BINARY_FLOAT}, x, y)
    for name in BINARY_FLOAT:
        # logaddexp near 0 cancels: its table row promises no ulps.
        atol = 1e-3 if dtype == "float16" else 1e-6
        same(
            got[name],
            in_wide(numpy_function(name), x, y),
            what=name,
            atol=atol if name == "logaddexp" else 0,
        )


@pytest.mark.parametrize("dtype", INTS)
def test_binary_functions_of_integers(dtype):
    x, y = make((3, 5), dtype, 1), make((5,), dtype, 2)
    y[y == 0] = 3
    got = run(lambda x, y: {n: getattr(jf, n)(x, y) for n in BINARY_INT}, x, y)
    for name in BINARY_INT:
        same(got[name], numpy_function(name)(x, y), what=name)


@pytest.mark.parametrize("dtype", INTS)
def test_shifts(dtype):
    x, y = make((9,), dtype, 1), (make((9,), "uint8", 2) % 8).astype(dtype)
    left, right = run(lambda x, y: (x << y, x >> y), x, y)
    same(left, x << y)
    same(right, x >> y)


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes(shape):
    x = make(shape, "float32")
    got = run(lambda x: jf.exp(x) + 1, x)
    same(got, np.exp(x) + np.float32(1))


def test_logical_functions_take_numbers_too():
    x, y = make((11,), "bool", 1), make((11,), "int32", 2) % 3
    got = run(
        lambda x, y: [
            jf.logical_and(x, y),
            jf.logical_or(x, y),
            jf.logical_xor(x, y),
            jf.logical_not(y),
        ],
        x,
        y,
    )
    for g, w in zip(
        got, [np.logical_and(x, y), np.logical_or(x, y), np.logical_xor(x, y), np.logical_not(y)]
    ):
        same(g, w)


def test_special_values():
    x = np.array([np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0], np.float32)
    names = ["isnan", "isinf", "isfinite", "signbit", "sign", "abs", "floor", "sqrt", "exp", "tanh"]
    got = run(lambda x: {n: getattr(jf, n)(x) for n in names}, x)
    with np.errstate(all="ignore"):
        for n in names:
            where = ~np.isnan(x) if n == "signbit" else slice(None)
            same(got[n][where], getattr(np, n)(x)[where], what=n)
    same(run(lambda x: jf.maximum(x, 0.0), x), np.maximum(x, np.float32(0)))


@pytest.mark.parametrize(
    "name", ["isnan", "isinf", "isfinite", "floor", "ceil", "round", "trunc", "signbit"]
)
def test_functions_of_floats_on_integers(name):
    x = make((6,), "int32")
    want = x < 0 if name == "signbit" else getattr(np, name)(x)
    same(run(getattr(jf, name), x), want.astype(x.dtype) if want.dtype != bool else want)


def test_integers_become_float32_in_float_functions():
    x = make((6,), "int32", low=1)
    x = np.abs(x) + 1
    for function, want in [
        (jf.sqrt, np.sqrt),
        (jf.log, np.log),
        (lambda x: x / 2, lambda x: x / 2),
    ]:
        same(run(function, x), want(x.astype(np.float32)))


def test_remainder_and_floor_divide_follow_python():
    x = np.array([7.0, -7.0, 7.0, -7.0, 5.5, -0.5, 1e6, 3.0, -3.0, 6.0], np.float64)
    y = np.array([3.0, 3.0, -3.0, -3.0, 0.1, 3.0, 0.3, np.inf, np.inf, -3.0], np.float64)
    got = run(lambda x, y: (x % y, x // y), x, y)
    same(got[0], np.remainder(x, y))
    same(np.signbit(got[0]), np.signbit(np.remainder(x, y)))
    same(got[1], np.floor_divide(x, y))
    i, j = np.array([7, -7, 7, -7, 5], np.int32), np.array([3, 3, -3, -3, 0], np.int32)
    got = run(lambda i, j: (i % j, i // j, jf.fmod(i, j), jf.trunc_divide(i, j)), i, j)
    for g, w in zip(
        got, ([1, 2, -2, -1, 0], [2, -3, -3, 2, 0], [1, -1, 1, -1, 0], [2, -2, -2, 2, 0])
    ):
        assert g.tolist() == w


def test_pow():
    x = make((9,), "float32", low=0.1)
    same(run(lambda x: (x**2, x**3, x**-1, x**0.5, 2.0**x)[1], x), in_wide(lambda x: x**3, x))
    for e in (0, 1, 2, 5, 13):
        i = make((9,), "int32")
        same(run(lambda i: i**e, i), i**e)
    same(run(lambda i: 2**i, np.arange(40)), 2 ** np.arange(40))


@pytest.mark.parametrize("dtype", INTS)
def test_pow_of_integers(dtype):
    x, e = make((40,), dtype, 1), np.abs(make((40,), dtype, 2)) % 9
    same(run(lambda x, e: x**e, x, e), x**e)
    if dtype in SIGNED:
        x, e = np.array([1, -1, -1, 2, 0], dtype), np.array([-3, -3, -2, -1, -1], dtype)
        assert run(lambda x, e: x**e, x, e).tolist() == [1, -1, 1, 0, 0]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "uint8"])
def test_clip_and_where(dtype):
    x = make((4, 6), dtype)
    same(run(lambda x: jf.clip(x, 1, 2), x), np.clip(x, 1, 2))
    same(run(lambda x: jf.clip(x, min=2), x), np.maximum(x, np.asarray(2, x.dtype)))
    same(run(lambda x: jf.clip(x, max=2), x), np.minimum(x, np.asarray(2, x.dtype)))
    same(run(lambda x: jf.clip(x, x * 0, x * 0 + 1), x), np.clip(x, x * 0, x * 0 + 1))
    same(run(lambda x: jf.where(x > 1, x, 0), x), np.where(x > 1, x, np.asarray(0, x.dtype)))


def test_other_functions_of_the_table():
    x, y, z = (make((8,), "float64", s, low=0.1) for s in (1, 2, 3))
    from math import erf, erfc, lgamma

    got = run(
        lambda x, y, z: {
            "erf": jf.erf(x),
            "erfc": jf.erfc(x),
            "lgamma": jf.lgamma(x),
            "rsqrt": jf.rsqrt(x),
            "xlogy": jf.xlogy(x, y),
            "fma": jf.fma(x, y, z),
            "lerp": jf.lerp(x, y, 0.25),
            "addcmul": jf.addcmul(x, y, z, value=0.5),
            "addcdiv": jf.addcdiv(x, y, z, value=0.5),
            "isclose": jf.isclose(x, x + 1e-9),
            "nextafter": jf.nextafter(x, y),
            "logsumexp": jf.logsumexp(x),
            "imag": jf.imag(x),
        },
        x,
        y,
        z,
    )
    want = {
        "erf": np.vectorize(erf)(x), "erfc": np.vectorize(erfc)(x),
        "lgamma": np.vectorize(lgamma)(x), "rsqrt": 1 / np.sqrt(x), "xlogy": x * np.log(y),
        "fma": x * y + z, "lerp": x + 0.25 * (y - x), "addcmul": x + 0.5 * y * z,
        "addcdiv": x + 0.5 * y / z, "isclose": np.ones(8, bool), "nextafter": np.nextafter(x, y),
        "logsumexp": np.log(np.exp(x).sum()), "imag": x * 0,
    }  # fmt: skip
    for name in want:
        same(got[name], want[name], ulps=32, what=name, atol=1e-15)


def test_astype():
    x = np.array([1.7, -1.7, 300.0, np.nan, -5.0, 0.0], np.float32)
    got = run(
        lambda x: (x.astype(jf.int8), jf.astype(x, "uint8"), x.astype(np.float64), x.astype(bool)),
        x,
    )
    assert got[0].tolist() == [1, -1, 127, 0, -5, 0]  # toward zero, saturating, NaN to 0
    assert got[1].tolist() == [1, 0, 255, 0, 0, 0]
    same(got[2], x.astype(np.float64))
    assert got[3].tolist() == [True, True, True, True, True, False]


def test_bfloat16():
    ml_dtypes = pytest.importorskip("ml_dtypes", reason="NumPy has no bfloat16 without ml_dtypes")
    x = make((4, 5), "float32").astype(ml_dtypes.bfloat16)
    got = run(lambda x: jf.exp(x) * 2 + 1, x)
    assert got.dtype == x.dtype
    same(got, (np.exp(x.astype(np.float32)) * 2 + 1).astype(x.dtype), ulps=1)


@pytest.mark.parametrize("name", [*FLOATS, "bfloat16"])
def test_remainders_of_large_quotients(name):
    if name == "bfloat16":
        ml_dtypes = pytest.importorskip("ml_dtypes", reason="NumPy has no bfloat16 without ml_dtypes")
        dtype, info = np.dtype(ml_dtypes.bfloat16), ml_dtypes.finfo(ml_dtypes.bfloat16)
    else:
        dtype, info = np.dtype(name), np.finfo(name)
    rng = np.random.default_rng(5)
    edges = [info.max, -info.max, info.smallest_normal, info.smallest_subnormal, -3 * float(info.smallest_subnormal), 0.0, -0.0, 3, -7, 0.1, np.inf, -np.inf, np.nan]
    x, y = (a.ravel() for a in np.meshgrid(np.asarray(edges, dtype), np.asarray(edges, dtype)))
    sizes = np.log2(float(info.max)) - 1
    far = [np.asarray(rng.choice([-1, 1], 4000) * 2.0 ** rng.uniform(-sizes, sizes, 4000), dtype) for _ in range(2)]
    x, y = np.concatenate([x, far[0]]), np.concatenate([y, far[1]])
    mod, fmod, quotient = run(lambda x, y: (x % y, jf.fmod(x, y), x // y), x, y)
    with np.errstate(all="ignore"):
        exact = np.fmod(x, y)
        for got, want in ((fmod, exact), (mod, np.remainder(x, y))):
            same(got, want, ulps=0)
            numbers = ~np.isnan(want)
            np.testing.assert_array_equal(np.signbit(got[numbers]), np.signbit(want[numbers]))
        near = np.isfinite(x) & np.isfinite(quotient) & (abs(quotient) < 2.0**20) & np.isfinite(y)
        wide = [a[near].astype(np.float64) for a in (x, y)]
        np.testing.assert_array_equal(quotient[near], np.floor_divide(*wide).astype(dtype))


@pytest.mark.parametrize("dtype", FLOATS)
def test_fmod_of_floats(dtype):
    x = np.asarray([5.5, -5.5, 0.0, -0.0, 7, -7, 1, np.inf, np.nan, 3, 100.25, -0.375], dtype)
    y = np.asarray([2, 2, -3, 3, -2.5, 2.5, 0, 2, 1, -np.inf, 0.75, 0.125], dtype)
    got = run(lambda x, y: jf.fmod(x, y), x, y)
    with np.errstate(invalid="ignore"):
        want = np.fmod(x, y)
    same(got, want, ulps=0)
    np.testing.assert_array_equal(np.signbit(got[2:4]), [False, True])
    same(run(lambda x: np.fmod(x, 2), x[:6]), np.fmod(x[:6], np.asarray(2, dtype)), ulps=0)
