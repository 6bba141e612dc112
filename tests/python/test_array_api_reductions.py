"""Reductions and scans of the standard against NumPy: axes, keepdims, dtypes, empty arrays."""

import numpy as np
import pytest

import jitfuse as jf
from support import FLOATS, INTS, make, run, same

AXES = [None, 0, -1, (0, 2), (1,), ()]
WIDE = {"float16": np.float64, "float32": np.float64, "float64": np.float64}


def in_wide(function, x, **kwargs):
    return np.asarray(function(x.astype(np.float64), **kwargs)).astype(x.dtype)


@pytest.mark.parametrize("axis", AXES)
@pytest.mark.parametrize("keepdims", [False, True])
def test_axes_and_keepdims(axis, keepdims):
    x = make((3, 5, 4), "float32")
    names = ["sum", "prod", "mean", "max", "min", "var", "std"]
    kw = {"axis": axis, "keepdims": keepdims}
    got = run(lambda x: {n: getattr(jf, n)(x, **kw) for n in names}, x)
    for n in names:
        same(got[n], in_wide(getattr(np, n), x, **kw), ulps=64, what=n, atol=1e-6)
    flags = run(
        lambda x: (jf.any(x > 2, **kw), jf.all(x > -2, **kw), jf.count_nonzero(x > 0, **kw)), x
    )
    same(flags[0], np.any(x > 2, **kw))
    same(flags[1], np.all(x > -2, **kw))
    same(flags[2], np.asarray(np.count_nonzero(x > 0, **kw), np.int64))


@pytest.mark.parametrize("dtype", FLOATS)
def test_floats(dtype):
    x = make((7, 33), dtype, low=-1, high=1)
    got = run(
        lambda x: {
            n: getattr(jf, n)(x, axis=1)
            for n in ("sum", "mean", "max", "min", "var", "std", "logsumexp")
        },
        x,
    )
    for n in ("sum", "mean", "max", "min", "var", "std"):
        same(
            got[n],
            in_wide(getattr(np, n), x, axis=1),
            ulps=16,
            what=n,
            atol=4e-3 if dtype == "float16" else 1e-6,
        )
    same(got["logsumexp"], in_wide(lambda x, axis: np.log(np.exp(x).sum(axis)), x, axis=1), ulps=16)
    same(run(lambda x: jf.var(x, correction=1), x), in_wide(np.var, x, ddof=1), ulps=16)
    assert run(lambda x: jf.sum(x), x).dtype == dtype


@pytest.mark.parametrize("dtype", INTS)
def test_integers_sum_in_64_bits(dtype):
    x = make((6, 5), dtype)
    got = run(
        lambda x: (
            jf.sum(x),
            jf.prod(x, axis=0),
            jf.max(x, axis=1),
            jf.min(x),
            jf.cumulative_sum(x, axis=1),
        ),
        x,
    )
    same(got[0], np.sum(x, dtype=np.uint64 if dtype.startswith("u") else np.int64))
    same(got[1], np.prod(x, axis=0, dtype=np.uint64 if dtype.startswith("u") else np.int64))
    same(got[2], x.max(1))
    same(got[3], x.min())
    same(got[4], np.cumsum(x, axis=1, dtype=np.uint64 if dtype.startswith("u") else np.int64))


def test_dtype_argument():
    x = make((6, 5), "int32")
    same(run(lambda x: jf.sum(x, dtype=jf.float64), x), np.sum(x, dtype=np.float64))
    same(run(lambda x: jf.sum(x, dtype=jf.int8), x), np.sum(x, dtype=np.int8))
    y = make((6, 5), "float32")
    same(run(lambda y: jf.sum(y, dtype=jf.float64, axis=0), y), np.sum(y, axis=0, dtype=np.float64))
    same(
        run(lambda y: jf.cumulative_prod(y, axis=0, dtype=jf.float64), y),
        np.cumprod(y, axis=0, dtype=np.float64),
    )


def test_argmax_and_argmin():
    x = make((4, 7, 3), "float32")
    x[1, 2, 1] = x[1, 5, 1] = 9  # a tie: the first
    for axis in (None, 0, 1, 2, -1):
        got = run(lambda x: (jf.argmax(x, axis=axis), jf.argmin(x, axis=axis, keepdims=True)), x)
        same(got[0], np.asarray(np.argmax(x, axis=axis)))
        same(got[1], np.asarray(np.argmin(x, axis=axis, keepdims=True)))


def test_empty_arrays():
    x = np.zeros((0, 3), np.float32)
    got = run(lambda x: (jf.sum(x), jf.prod(x, axis=0), jf.any(x), jf.all(x), jf.mean(x)), x)
    assert (
        got[0] == 0 and got[1].tolist() == [1, 1, 1] and not got[2] and got[3] and np.isnan(got[4])
    )
    with pytest.raises(ValueError, match="max"):
        run(lambda x: jf.max(x, axis=0), x)


def test_nan_wins():
    x = np.array([[1, np.nan, 3], [4, 5, 6]], np.float32)
    got = run(lambda x: (jf.max(x, axis=1), jf.min(x, axis=1), jf.argmax(x, axis=1)), x)
    same(got[0], np.max(x, axis=1))
    same(got[1], np.min(x, axis=1))
    assert got[2].tolist() == [1, 2]


def test_scans():
    x = make((4, 9), "float64", low=0.5, high=1.5)
    got = run(
        lambda x: [
            jf.cumulative_sum(x, axis=1),
            jf.cumulative_prod(x, axis=0),
            jf.cumulative_sum(x, axis=1, include_initial=True),
            jf.cumulative_prod(x, axis=0, include_initial=True),
            jf.cummax(x, axis=1),
            jf.cummin(x, axis=0),
            jf.logcumsumexp(x, axis=1),
            jf.cumulative_sum(x[0]),
        ],
        x,
    )
    want = [
        np.cumsum(x, 1), np.cumprod(x, 0), np.concatenate([np.zeros((4, 1)), np.cumsum(x, 1)], 1),
        np.concatenate([np.ones((1, 9)), np.cumprod(x, 0)], 0), np.maximum.accumulate(x, 1),
        np.minimum.accumulate(x, 0), np.log(np.cumsum(np.exp(x), 1)), np.cumsum(x[0]),
    ]  # fmt: skip
    for g, w in zip(got, want):
        same(g, w, ulps=32)
    with pytest.raises(ValueError, match="needs an axis"):
        run(lambda x: jf.cumulative_sum(x), x)


def test_moments_and_norm():
    x = make((5, 8), "float64")
    mean, var = run(lambda x: jf.moments(x, axis=1, keepdims=True), x)
    same(mean, x.mean(1, keepdims=True), atol=1e-15)
    same(var, x.var(1, keepdims=True), ulps=32)
    for order in (1, 2, 3.5, 0, np.inf, -np.inf):
        got = run(lambda x: jf.linalg.vector_norm(x, axis=1, ord=order), x)
        same(got, np.linalg.norm(x, axis=1, ord=order), ulps=32)


def test_an_axis_out_of_range_is_named():
    with pytest.raises((ValueError, IndexError), match="axis|axes"):
        run(lambda x: jf.sum(x, axis=2), make((3, 4), "float32"))


def test_isin():
    x = make((4, 5), "int32") % 4
    same(run(lambda x: jf.isin(x, jf.asarray([1, 3])), x), np.isin(x, [1, 3]))
    same(run(lambda x: jf.isin(x, 2, invert=True), x), ~np.isin(x, [2]))
