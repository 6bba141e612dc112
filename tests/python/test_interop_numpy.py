"""NumPy's functions on traced arrays, by __array_ufunc__ and __array_function__."""

import numpy as np
import pytest

import jitfuse as jf
from support import make, run, same

X = make((4, 6), "float64", low=0.1, high=0.9)
Y = make((4, 6), "float64", 1, low=0.1, high=0.9)
I = make((4, 6), "int64", 2)

UFUNCS_1 = (
    "abs absolute arccos arcsin arcsinh arctan arctanh cbrt ceil conj cos cosh deg2rad degrees "
    "exp exp2 expm1 fabs floor "
    "isfinite isinf isnan log log10 log1p log2 negative positive rad2deg radians reciprocal rint "
    "sign signbit sin sinh sqrt "
    "square tan tanh trunc logical_not"
).split()
UFUNCS_2 = (
    "add arctan2 copysign divide equal floor_divide greater greater_equal hypot less less_equal "
    "logaddexp logical_and "
    "logical_or logical_xor maximum minimum multiply nextafter not_equal power remainder mod "
    "subtract true_divide"
).split()
FUNCTIONS = {
    "sum": lambda x: np.sum(x, axis=0), "sum32": lambda x: np.sum(x, dtype=np.float32),
    "mean": lambda x: np.mean(x, axis=1, keepdims=True), "var": lambda x: np.var(x, ddof=1),
    "std": lambda x: np.std(x, axis=0), "max": lambda x: np.max(x, axis=1),
    "amin": lambda x: np.amin(x), "any": lambda x: np.any(x > 0.5, axis=0),
    "all": lambda x: np.all(x > 0), "argmax": lambda x: np.argmax(x, axis=1),
    "count_nonzero": lambda x: np.count_nonzero(x > 0.5, axis=1),
    "cumsum": lambda x: np.cumsum(x, axis=1), "cumsum_flat": lambda x: np.cumsum(x),
    "concatenate": lambda x: np.concatenate([x, x], axis=1),
    "stack": lambda x: np.stack([x, x * 2], axis=-1), "vstack": lambda x: np.vstack([x, x]),
    "hstack": lambda x: np.hstack([x, x]), "clip": lambda x: np.clip(x, 0.2, 0.5),
    "where": lambda x: np.where(x > 0.5, x, 0.0), "round": lambda x: np.round(x),
    "reshape": lambda x: np.reshape(x, (3, 8)), "ravel": lambda x: np.ravel(x),
    "transpose": lambda x: np.transpose(x), "swapaxes": lambda x: np.swapaxes(x, 0, 1),
    "expand_dims": lambda x: np.expand_dims(x, 1), "squeeze": lambda x: np.squeeze(x[:, :1]),
    "moveaxis": lambda x: np.moveaxis(x, 0, 1), "flip": lambda x: np.flip(x, 0),
    "roll": lambda x: np.roll(x, 1, axis=1), "tile": lambda x: np.tile(x, (2, 1)),
    "repeat": lambda x: np.repeat(x, 2, axis=0), "pad": lambda x: np.pad(x, 1),
    "broadcast_to": lambda x: np.broadcast_to(x, (2, 4, 6)), "tril": lambda x: np.tril(x),
    "diff": lambda x: np.diff(x, axis=1), "dot": lambda x: np.dot(x, x.T),
    "matmul": lambda x: np.matmul(x, x.T), "tensordot": lambda x: np.tensordot(x, x, axes=2),
    "outer": lambda x: np.outer(x[0], x[1]), "inner": lambda x: np.inner(x, x),
    "trace": lambda x: np.trace(x), "diagonal": lambda x: np.diagonal(x),
    "norm": lambda x: np.linalg.norm(x, axis=1), "zeros_like": lambda x: np.zeros_like(x),
    "full_like": lambda x: np.full_like(x, 3),
    "take": lambda x: np.take(x, np.array([1, 0]), axis=1),
    "isclose": lambda x: np.isclose(x, x + 1e-12), "split": lambda x: np.split(x, 2)[1],
    "add.reduce": lambda x: np.add.reduce(x, axis=1),
    "maximum.reduce": lambda x: np.maximum.reduce(x), "prod": lambda x: np.prod(x, axis=0),
    "operators": lambda x: np.float64(2) * x + X - 1 / x,
    "shape": lambda x: x * np.shape(x)[1] * np.ndim(x),
}  # fmt: skip


def test_unary_ufuncs():
    names = [n for n in UFUNCS_1 if n != "cbrt"]
    got = run(lambda x: {n: getattr(np, n)(x) for n in names}, X)
    for n in names:
        same(got[n], getattr(np, n)(X), ulps=16, what=n)


def test_binary_ufuncs():
    got = run(lambda x, y: {n: getattr(np, n)(x, y) for n in UFUNCS_2}, X, Y)
    for n in UFUNCS_2:
        same(got[n], getattr(np, n)(X, Y), ulps=32, what=n, atol=1e-15)
    names = ["bitwise_and", "bitwise_or", "bitwise_xor", "floor_divide", "remainder"]
    got = run(
        lambda i: (
            {n: getattr(np, n)(i, 7) for n in names}
            | {"invert": np.invert(i), "shift": np.left_shift(i, 2)}
        ),
        I,
    )
    for n in names:
        same(got[n], getattr(np, n)(I, 7), what=n)
    same(got["invert"], ~I), same(got["shift"], I << 2)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    same(run(FUNCTIONS[name], X), FUNCTIONS[name](X), ulps=64, what=name, atol=1e-15)


def test_numpy_arrays_on_the_left():
    same(run(lambda x: X * x + np.ones(6) - x, X), X * X + 1 - X, ulps=4)
    same(run(lambda x: X @ x.T, X), X @ X.T, ulps=64)
    assert run(lambda x: X > x, X).dtype == bool


@pytest.mark.parametrize(
    "function, message",
    [
        (lambda x: np.cbrt(x), r"numpy\.cbrt does not take traced arrays"),
        (lambda x: np.sort(x), "no sorting op"),
        (lambda x: np.linalg.svd(x), r"numpy\.linalg\.svd"),
        (lambda x: np.nan_to_num(x), "jitfuse.where"),
        (lambda x: np.unique(x), "of small integers jitfuse.scatter_add counts"),
        (lambda x: np.linalg.inv(x), "no factorizations and solvers"),
        (lambda x: np.median(x), "no sorting op; max, min"),
        (lambda x: np.searchsorted(x, x), "counts the edges below x"),
        (lambda x: np.nonzero(x), "depend on values"),
        (lambda x: np.add.accumulate(x), r"numpy\.add\.accumulate"),
        (lambda x: np.add(x, 1, out=np.empty(3)), "out= cannot be given"),
        (lambda x: np.add(x, 1, where=x > 0), "where= is not"),
        (
            lambda x: (
                np.cumulative_logsumexp(x) if hasattr(np, "cumulative_logsumexp") else np.unwrap(x)
            ),
            "traced arrays",
        ),
    ],
)
def test_what_is_not_there_names_the_way_out(function, message):
    with pytest.raises(TypeError, match=message) as caught:
        run(function, X)
    assert isinstance(caught.value, jf.TracingError) or "traced arrays" in str(caught.value)
