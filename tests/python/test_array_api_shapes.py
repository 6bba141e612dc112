"""Which shapes fit, and what comes out, against array-api-strict: pairs of shapes, all axes."""

import itertools

import numpy as np
import pytest

import jitfuse as jf
from jitfuse._dtypes import find_dtype

xp = pytest.importorskip(
    "array_api_strict", reason="compares with array-api-strict, which is not installed"
)
pytestmark = pytest.mark.filterwarnings("ignore::RuntimeWarning")  # means of nothing
SHAPES = [(), (0,), (1,), (3,), (1, 3), (2, 3), (2, 1), (2, 0), (4, 2, 3)]


def of_strict(call, arrays):
    """Shape and dtype of a result, or of several; None where it is refused."""
    try:
        made = call(xp, *[xp.asarray(a) for a in arrays])
    except (ValueError, TypeError, IndexError):
        return None
    made = made if isinstance(made, (tuple, list)) else [made]
    return [(m.shape, np.dtype(m.dtype._np_dtype).name) for m in made]


def of_jitfuse(call, arrays):
    """The same of the traced function, which need not be compiled for it."""
    try:
        lowered = jf.jit(lambda *xs: call(jf, *xs), dynamic="none").lower(*arrays)
    except (ValueError, TypeError, IndexError):
        return None
    return [
        (tuple(int(d) for d in o["dims"]), find_dtype(o["dtype"]).name)
        for o in lowered._entry.function.outputs
    ]


def compare(call, arrays, what):
    strict, got = of_strict(call, arrays), of_jitfuse(call, arrays)
    assert got == strict, f"{what}: got {got}, expected {strict}"


@pytest.mark.parametrize("name", ["add", "atan2", "matmul", "vecdot", "equal"])
def test_pairs(name):
    for a, b in itertools.product(SHAPES, SHAPES):
        if name == "vecdot" and () in (a, b):
            continue  # NumPy, under array-api-strict, takes what the standard does not
        arrays = [np.ones(a, np.float32), np.ones(b, np.float64)]
        compare(lambda ns, x, y: getattr(ns, name)(x, y), arrays, f"{name}{a}{b}")


@pytest.mark.parametrize("name", ["concat", "stack"])
def test_joins(name):
    for a, b in itertools.product(SHAPES, SHAPES):
        for axis in (0, 1, -1):
            arrays = [np.ones(a, np.float32), np.ones(b, np.float32)]
            compare(
                lambda ns, x, y: getattr(ns, name)([x, y], axis=axis), arrays, f"{name}{a}{b}{axis}"
            )


@pytest.mark.parametrize("name", ["sum", "mean", "any", "count_nonzero", "std"])
def test_reductions(name):
    for shape in SHAPES:
        for axis, keepdims in itertools.product((None, 0, 1, -1, -3, (0, 1), (), 3), (False, True)):
            if axis == () and name == "count_nonzero" or axis in (0, -1) and shape == ():
                continue  # array-api-strict cannot; NumPy takes an axis that is not there
            compare(
                lambda ns, x: getattr(ns, name)(x, axis=axis, keepdims=keepdims),
                [np.ones(shape, np.float32)],
                f"{name}{shape} axis={axis} keepdims={keepdims}",
            )


def test_shapes_of_views():
    calls = {
        "expand_dims": lambda ns, x, a: ns.expand_dims(x, axis=a),
        "squeeze": lambda ns, x, a: ns.squeeze(x, axis=a),
        "flip": lambda ns, x, a: ns.flip(x, axis=a),
        "roll": lambda ns, x, a: ns.roll(x, 2, axis=a),
        "repeat": lambda ns, x, a: ns.repeat(x, 2, axis=a),
        "unstack": lambda ns, x, a: ns.unstack(x, axis=a),
        "cumulative_sum": lambda ns, x, a: ns.cumulative_sum(x, axis=a, include_initial=True),
        "moveaxis": lambda ns, x, a: ns.moveaxis(x, a, 0),
        "diff": lambda ns, x, a: ns.diff(x, axis=a),
        "argmax": lambda ns, x, a: ns.argmax(x, axis=a),
    }
    for name, call in calls.items():
        for shape in SHAPES:
            if name in ("argmax", "unstack") and 0 in shape:
                continue  # of nothing there is no position, and no slices are nothing to lower
            for axis in (0, 1, -1, -2, 3):
                if name in ("cumulative_sum", "squeeze", "argmax", "repeat") and not shape:
                    continue  # NumPy takes an axis that is not there
                arrays = [np.ones(shape, np.float32)]
                compare(lambda ns, x: call(ns, x, axis), arrays, f"{name}{shape} axis={axis}")


def test_reshape_and_broadcast():
    for shape, new in itertools.product(SHAPES, [(), (0,), (-1,), (3, -1), (6,), (1, 1), (2, 4)]):
        arrays = [np.ones(shape, np.float32)]
        compare(lambda ns, x: ns.reshape(x, new), arrays, f"reshape{shape}{new}")
        if -1 not in new:
            compare(lambda ns, x: ns.broadcast_to(x, new), arrays, f"broadcast_to{shape}{new}")
