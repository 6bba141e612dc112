"""Manipulation, gathers and scatters, linear algebra and creation against NumPy."""

import numpy as np
import pytest

import jitfuse as jf
from support import INTS, make, run, same

X = make((3, 4, 5), "float32")


def check(function, want, *args):
    same(run(function, *args), want)


def test_shapes_and_axes():
    check(lambda x: jf.reshape(x, (4, -1)), X.reshape(4, -1), X)
    check(lambda x: x.reshape(2, 30), X.reshape(2, 30), X)
    check(lambda x: jf.permute_dims(x, (2, 0, 1)), X.transpose(2, 0, 1), X)
    check(lambda x: jf.matrix_transpose(x), X.swapaxes(1, 2), X)
    check(lambda x: x.T, X.T, X)
    check(lambda x: x.mT, X.swapaxes(1, 2), X)
    check(lambda x: jf.moveaxis(x, 0, -1), np.moveaxis(X, 0, -1), X)
    check(lambda x: jf.moveaxis(x, (0, 1), (-1, 0)), np.moveaxis(X, (0, 1), (-1, 0)), X)
    check(lambda x: jf.expand_dims(x, axis=1), X[:, None], X)
    check(lambda x: jf.expand_dims(x, axis=-1), X[..., None], X)
    check(lambda x: jf.squeeze(x[:, :1], 1), X[:, 0], X)
    check(lambda x: x[:, :1].squeeze(), X[:, 0], X)
    check(lambda x: jf.broadcast_to(x, (2, 3, 4, 5)), np.broadcast_to(X, (2, 3, 4, 5)), X)
    check(lambda x: jf.flip(x, axis=1), X[:, ::-1], X)
    check(lambda x: jf.flip(x), X[::-1, ::-1, ::-1], X)
    check(lambda x: x.flatten(), X.reshape(-1), X)
    check(lambda x: x.swapaxes(0, 2), X.swapaxes(0, 2), X)


def test_joining_and_repeating():
    y = make((3, 2, 5), "float32", 1)
    check(lambda x, y: jf.concat([x, y], axis=1), np.concatenate([X, y], 1), X, y)
    check(lambda x, y: jf.concat([x, y], axis=None), np.concatenate([X, y], None), X, y)
    check(lambda x: jf.stack([x, x * 2], axis=-1), np.stack([X, X * 2], -1), X)
    check(lambda x: jf.tile(x, (2, 1, 1, 3)), np.tile(X, (2, 1, 1, 3)), X)
    check(lambda x: jf.tile(x, (2,)), np.tile(X, (2,)), X)
    check(lambda x: jf.repeat(x, 3, axis=1), np.repeat(X, 3, axis=1), X)
    check(lambda x: jf.repeat(x, 2), np.repeat(X, 2), X)
    check(lambda x: jf.roll(x, 2, axis=1), np.roll(X, 2, axis=1), X)
    check(lambda x: jf.roll(x, (1, -2), axis=(0, 2)), np.roll(X, (1, -2), axis=(0, 2)), X)
    check(lambda x: jf.roll(x, 7), np.roll(X, 7), X)
    parts = run(lambda x: jf.unstack(x, axis=1), X)
    assert isinstance(parts, tuple) and len(parts) == 4
    same(parts[2], X[:, 2])
    for cuts in (2, [1, 3]):
        for g, w in zip(run(lambda x: jf.split(x, cuts, axis=1), X), np.split(X, cuts, axis=1)):
            same(g, w)
    a, b = run(lambda x, y: jf.broadcast_arrays(x, y), X, X[0])
    same(b, np.broadcast_to(X[0], X.shape))
    for indexing in ("xy", "ij"):
        for g, w in zip(
            run(lambda a, b: jf.meshgrid(a, b, indexing=indexing), X[0, 0], X[0, :, 0]),
            np.meshgrid(X[0, 0], X[0, :, 0], indexing=indexing),
        ):
            same(g, w)


def test_concat_promotes():
    same(
        run(lambda x, i: jf.concat([x, i]), X[0, 0], make((2,), "int32")),
        np.concatenate([X[0, 0], make((2,), "int32").astype(np.float32)]),
    )


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
def test_pad(mode):
    kw = {"constant_values": 7} if mode == "constant" else {}
    for width in (1, (1, 2), ((0, 1), (2, 0), (1, 1))):
        check(lambda x: jf.pad(x, width, mode, **kw), np.pad(X, width, mode, **kw), X)


def test_triangles_and_diff():
    for k in (-1, 0, 2):
        check(lambda x: jf.tril(x, k=k), np.tril(X, k), X)
        check(lambda x: jf.triu(x, k=k), np.triu(X, k), X)
    check(lambda x: jf.diff(x, axis=1, n=2), np.diff(X, axis=1, n=2), X)
    check(lambda x: jf.diff(x, axis=0, prepend=x[:1]), np.diff(X, axis=0, prepend=X[:1]), X)


def test_gathers_and_scatters():
    i = np.array([2, 0, -1, 1])
    check(lambda x, i: jf.take(x, i, axis=1), np.take(X, i, axis=1), X, i)
    j = np.argsort(X, axis=2)
    check(lambda x, j: jf.take_along_axis(x, j), np.take_along_axis(X, j, axis=-1), X, j)
    into, rows = np.zeros((6, 5), np.float32), np.array([5, 0, 5])
    want = into.copy()
    np.add.at(want, rows, X[:, 0])
    check(lambda z, r, s: jf.index_add(z, r, s), want, into, rows, np.ascontiguousarray(X[:, 0]))
    want = np.zeros((3, 4, 5), np.float32)
    for a, b, c in np.ndindex(3, 4, 5):
        want[a, b, j[a, b, c]] += X[a, b, c]
    check(lambda z, j, s: jf.scatter_add(z, j, s, axis=2), want, np.zeros_like(X), j, X)
    check(
        lambda x: jf.windows(x, axis=2, size=3),
        np.lib.stride_tricks.sliding_window_view(X, 3, axis=2),
        X,
    )
    with pytest.raises(TypeError, match="integer dtype"):
        run(lambda x, i: jf.take(x, i, axis=0), X, X[0, 0])


@pytest.mark.parametrize(
    "key",
    [
        0,
        -1,
        (1, 2, 3),
        slice(1, None),
        slice(None, None, 2),
        slice(None, None, -1),
        (slice(2, 0, -1), 1),
        (Ellipsis, 2),
        (slice(None), None, 1),
        (None, Ellipsis),
        Ellipsis,
        (),
        (slice(1, 1),),
        (slice(-2, None), slice(None, -1)),
        (0, Ellipsis, -1),
        (slice(None), slice(10, None)),
        (slice(None), slice(3, 0, -2)),
        (slice(-10, 2),),
        np.int64(1),
        [2, 0],
        (slice(None), [1, 1, 0]),
    ],
    ids=str,
)
def test_index(key):
    for dynamic in (None, "none", "all"):
        same(run(lambda x: x[key] * 1, X, dynamic=dynamic), X[key])


def test_index_by_arrays():
    i, j = np.array([[0, 2], [1, -1]]), np.array([3, -2])
    check(lambda x, i: x[i], X[i], X, i)
    check(lambda x, i: x[:, i], X[:, i], X, i)
    check(lambda x, i, j: x[i, j], X[i, j], X, i, j)
    check(lambda x, i, j: x[:, i, j], X[:, i, j], X, i, j)
    check(lambda x, i, j: x[i, :, j], X[i, :, j], X, i, j)
    check(lambda x, i, j: x[i, 1:3, None], X[i, 1:3, None], X, i, j)


def test_bad_indices():
    for key, error in [
        (3, "out of range"),
        ((0, 0, 0, 0), "4 indices"),
        ((0, Ellipsis, Ellipsis), r"'\.\.\.'"),
        ("a", "as an index"),
        (True, "True and False"),
    ]:
        with pytest.raises(IndexError, match=error):
            run(lambda x: x[key], X)
    with pytest.raises(TypeError, match="jitfuse.where"):
        run(lambda x: x[x > 0], X)


# Linear algebra.


@pytest.mark.parametrize(
    "shapes",
    [
        ((5,), (5,)),
        ((3, 5), (5,)),
        ((5,), (5, 4)),
        ((3, 5), (5, 4)),
        ((2, 3, 5), (5, 4)),
        ((2, 1, 3, 5), (7, 5, 4)),
    ],
)
def test_matmul(shapes):
    a, b = make(shapes[0], "float64", 1), make(shapes[1], "float64", 2)
    same(run(lambda a, b: a @ b, a, b), a @ b, ulps=64, atol=1e-14)


@pytest.mark.parametrize("dtype", INTS)
def test_matmul_of_integers(dtype):
    a, b = make((3, 5), dtype, 1), make((5, 4), dtype, 2)
    same(run(lambda a, b: a @ b, a, b), a @ b)


def test_products():
    a, b = make((3, 4, 5), "float64", 1), make((4, 5, 2), "float64", 2)
    same(run(lambda a, b: jf.tensordot(a, b), a, b), np.tensordot(a, b), ulps=64, atol=1e-14)
    same(
        run(lambda a, b: jf.tensordot(a, b, axes=([1], [0])), a, b),
        np.tensordot(a, b, axes=([1], [0])),
        ulps=64,
        atol=1e-14,
    )
    same(run(lambda a: jf.vecdot(a, a), a), (a * a).sum(-1), ulps=16)
    same(run(lambda a: jf.linalg.outer(a[0, 0], a[0, :, 0]), a), np.outer(a[0, 0], a[0, :, 0]))
    for k in (-1, 0, 2):
        same(run(lambda a: jf.linalg.diagonal(a, offset=k), a), np.diagonal(a, k, 1, 2))
        same(run(lambda a: jf.linalg.trace(a, offset=k), a), np.trace(a, k, 1, 2), ulps=16)


# Creation.


def test_creation():
    x = X[0, 0]
    got = run(
        lambda x: [
            jf.zeros((2, 3)),
            jf.ones(4, dtype=jf.int8),
            jf.full((2,), 3.5),
            jf.full((2,), True),
            jf.empty((0, 2)),
            jf.eye(3),
            jf.eye(2, 4, k=1, dtype="int32"),
            jf.arange(5),
            jf.arange(2, 11, 3),
            jf.arange(0.0, 1.0, 0.25),
            jf.linspace(0, 1, 5),
            jf.linspace(0, 1, 4, endpoint=False),
            jf.zeros_like(x),
            jf.ones_like(x, dtype=jf.uint8),
            jf.full_like(x, 2),
            jf.asarray([[1, 2], [3, 4]]),
            jf.asarray([1.5, 2.0]),
            jf.asarray([True, False]),
            jf.asarray(3),
            jf.asarray([]),
            jf.asarray([x, x * 2])[1] - x * 2,
            jf.full((2,), x.sum() * 0 + 1),
        ],
        x,
    )
    f4 = np.float32
    want = [
        np.zeros((2, 3), f4), np.ones(4, np.int8), np.full(2, 3.5, f4), np.full(2, True),
        np.empty((0, 2), f4), np.eye(3, dtype=f4), np.eye(2, 4, 1, np.int32), np.arange(5),
        np.arange(2, 11, 3), np.arange(0, 1, 0.25, f4), np.linspace(0, 1, 5, dtype=f4),
        np.linspace(0, 1, 4, endpoint=False, dtype=f4), np.zeros_like(x), np.ones_like(x, np.uint8),
        np.full_like(x, 2), np.array([[1, 2], [3, 4]]), np.array([1.5, 2.0], f4),
        np.array([True, False]), np.array(3), np.array([], f4), x * 0, np.ones(2, f4),
    ]  # fmt: skip
    for i, (g, w) in enumerate(zip(got, want)):
        same(g, w, what=str(i))


def test_creation_outside_a_trace_says_what_to_do():
    with pytest.raises(jf.TracingError, match="@jitfuse.jit"):
        jf.zeros((2, 3))
    with pytest.raises(jf.TracingError, match="@jitfuse.jit"):
        jf.exp(X)


def test_several_shifts_along_one_axis_add_up():
    x = make((3, 5), "float32")
    same(run(lambda x: jf.roll(x, (1, 3), axis=1), x), np.roll(x, (1, 3), axis=1))


def test_axes_that_are_not_there():
    x = make((3, 5), "float32")
    with pytest.raises(IndexError, match="flip: axis is 0"):
        run(lambda x: jf.flip(x, axis=0), np.float32(1))
    with pytest.raises(ValueError, match="permute_dims.* expected all 2 axes"):
        run(lambda x: jf.permute_dims(x, ()), x)


def test_products_of_sizes_that_do_not_match():
    a, b = make((2, 3), "float32"), make((3, 2), "float32")
    for dynamic in ("none", "all"):
        with pytest.raises(ValueError, match="axis 0 of x1 and axis 0 of x2 .* have 2 and 3"):
            run(lambda a, b: jf.tensordot(a, b), a, b, dynamic=dynamic)
        same(run(lambda a, b: jf.tensordot(a, b), a, a, dynamic=dynamic), np.tensordot(a, a))
    with pytest.raises(ValueError, match="vecdot.* same size along axis -1"):
        run(lambda a, b: jf.vecdot(a, b), a, np.float32(1))
    with pytest.raises(ValueError, match="vecdot.* same size along axis -1"):
        run(lambda a, b: jf.vecdot(a, b), a, a[:, :1].copy())
