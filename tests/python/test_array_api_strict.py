"""Dtypes, shapes and errors of the Array API's functions, against array-api-strict.

Dtypes and shapes are known while a function is traced, so each test is one trace of many calls and
compiles next to nothing. Where strict refuses, Jitfuse does too, but for what docs/python.md
promises beyond the standard: integers in functions of floats, mixed kinds, numbers as truths.
"""

import itertools

import numpy as np
import pytest

import jitfuse as jf

strict = pytest.importorskip(
    "array_api_strict", reason="compares with array-api-strict, which is not installed"
)

FLOATS = ["float32", "float64"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
NAMES = ["bool", *SIGNED, *UNSIGNED, *FLOATS]
SHAPES = [(), (1,), (3,), (0,), (1, 3), (2, 3), (2, 1), (0, 3), (4, 2, 3), (4, 1, 1), (2, 0, 3)]

UNARY = (
    "abs acos acosh asin asinh atan atanh bitwise_invert ceil cos cosh exp expm1 floor isfinite "
    "isinf isnan log log1p log2 log10 logical_not negative positive reciprocal round sign signbit "
    "sin sinh square sqrt tan tanh trunc"
).split()
BINARY = (
    "add atan2 bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor copysign "
    "divide equal floor_divide greater greater_equal hypot less less_equal logaddexp logical_and "
    "logical_or logical_xor maximum minimum multiply nextafter not_equal pow remainder subtract"
).split()
REDUCTIONS = (
    "all any argmax argmin count_nonzero max mean min prod std sum var "
    "cumulative_sum cumulative_prod"
).split()
# Beyond the standard: these take every dtype (docs/python.md).
OPEN = {name for name in [*UNARY, *BINARY] if not name.startswith("bitwise")}


def while_tracing(function, **arrays):
    """What function(arrays) returns, of dtypes and shapes, inside a trace."""
    found = []

    def body(xs):
        found.append(function(xs))
        return next(iter(xs.values()))

    jf.jit(body, dynamic="none")(arrays)
    return found[-1]


def outcome(function, *args, **options):
    """(dtype's name, shape) of each result, or the error."""
    try:
        result = function(*args, **options)
    except Exception as error:
        return error
    results = result if isinstance(result, (tuple, list)) else [result]
    return [(getattr(r.dtype, "_np_dtype", r.dtype).name, tuple(r.shape)) for r in results]


def of_shape(shape, dtype="float32"):
    return np.zeros(shape, dtype)


def check(cases, arrays, excused=lambda case: False):
    """Each case is (function's name, names of arrays or other arguments, options)."""
    ours = while_tracing(
        lambda xs: [outcome(_function(jf, n), *_pick(xs, a), **o) for n, a, o in cases], **arrays
    )
    theirs = {n: strict.asarray(x) for n, x in arrays.items()}
    wrong = []
    for case, got in zip(cases, ours):
        want = outcome(_function(strict, case[0]), *_pick(theirs, case[1]), **case[2])
        if isinstance(want, Exception):
            if isinstance(got, Exception):
                known = isinstance(got, (TypeError, ValueError, IndexError)) and str(got)
                wrong += [] if known else [f"{case}: {got!r}"]
            elif not excused(case):
                wrong.append(f"{case}: {got}, but strict: {want!r}")
        elif isinstance(got, Exception) or got != want:
            wrong.append(f"{case}: {got!r}, but strict: {want}")
    assert not wrong, f"{len(wrong)} of {len(cases)}:\n" + "\n".join(wrong[:60])


class Named(str):
    """The name of an array among the arguments of a case."""


def _pick(arrays, arguments):
    def pick(a):
        if isinstance(a, Named):
            return arrays[a]
        return [pick(x) for x in a] if isinstance(a, list) else a

    return [pick(a) for a in arguments]


def _function(module, name):
    for part in name.split("."):
        module = getattr(module, part)
    return module


BY_DTYPE = {n: np.ones(3, n) for n in NAMES}


def test_dtypes_of_unary_functions():
    cases = [(f, [Named(n)], {}) for f in UNARY for n in NAMES]
    check(cases, BY_DTYPE, lambda case: case[0] in OPEN)


def test_dtypes_of_binary_functions():
    pairs = list(itertools.product(NAMES, NAMES))
    cases = [(f, [Named(a), Named(b)], {}) for f in BINARY for a, b in pairs]
    check(cases, BY_DTYPE, lambda case: case[0] in OPEN or _mixed_integers(*case[1]))


def _mixed_integers(a, b):
    """uint64 with a signed dtype, and bool with an integer: the standard leaves them open."""
    return "bool" in (a, b) or "uint64" in (a, b)


def test_dtypes_of_where_and_clip():
    pairs = list(itertools.product(NAMES, NAMES))
    cases = [("where", [Named("bool"), Named(a), Named(b)], {}) for a, b in pairs]
    check(cases, BY_DTYPE, lambda case: True)


def test_dtypes_of_reductions():
    cases = [(f, [Named(n)], {}) for f in REDUCTIONS for n in NAMES]
    cases += [
        (f, [Named(n)], {"dtype": None}) for f in ("sum", "prod", "cumulative_sum") for n in NAMES
    ]
    check(cases, BY_DTYPE, lambda case: True)


def test_shapes_that_broadcast_and_that_do_not():
    arrays = {str(s): of_shape(s) for s in SHAPES}
    pairs = list(itertools.product(SHAPES, SHAPES))
    cases = [("add", [Named(str(a)), Named(str(b))], {}) for a, b in pairs]
    cases += [("broadcast_arrays", [Named(str(a)), Named(str(b))], {}) for a, b in pairs]
    cases += [("broadcast_to", [Named(str(a)), b], {}) for a, b in pairs]
    check(cases, arrays)


def test_shapes_of_reductions():
    shapes = [(), (3,), (2, 3), (4, 2, 3)]
    arrays = {str(s): of_shape(s) for s in shapes}
    axes = [None, 0, 1, 2, -1, -3, 3, -4, (0,), (0, 1), (0, -1), (1, 1), ()]
    cases = [
        (f, [Named(str(s))], {"axis": axis, "keepdims": keep})
        for f in ("sum", "max", "mean", "var", "all", "count_nonzero", "argmax")
        for s in shapes
        for axis in axes
        for keep in (False, True)
        if not (f == "argmax" and isinstance(axis, tuple))
    ]
    cases += [
        ("cumulative_sum", [Named(str(s))], {"axis": axis, "include_initial": initial})
        for s in shapes
        for axis in (None, 0, 1, -1, 3)
        for initial in (False, True)
        if s != ()
    ]
    # NumPy takes axis 0 of an array without axes; the standard has no such axis.
    check([c for c in cases if c[1] != ["()"] or c[2]["axis"] not in (0, -1)], arrays)


def test_shapes_of_manipulations():
    shapes = [(), (3,), (1, 3), (2, 3), (4, 1, 3), (0, 3)]
    arrays = {str(s): of_shape(s) for s in shapes}
    arguments = {
        "expand_dims": [{"axis": a} for a in (0, 1, -1, 3, -4, 5)],
        "squeeze": [{"axis": a} for a in (0, 1, -1, (0, 1), 4)],
        "flip": [{"axis": a} for a in (None, 0, -1, (0, 1), 4)],
        "roll": [
            {"shift": s, "axis": a}
            for s, a in ((1, None), (1, 0), ((1, 2), (0, 1)), (1, (0, 1)), ((1, 2), 0), (1, 5))
        ],
        "reshape": [{"shape": s} for s in ((-1,), (3, -1), (1, 1, -1), (6,), (-1, -1), (7,), ())],
        "permute_dims": [{"axes": a} for a in ((0,), (1, 0), (2, 0, 1), (0, 0), (1, 2), ())],
        "repeat": [{"repeats": 2, "axis": a} for a in (None, 0, -1, 4)],
        "unstack": [{"axis": a} for a in (0, 1, -1, 4)],
        "diff": [{"axis": a, "n": n} for a in (0, -1, 4) for n in (1, 2)],
        "tril": [{}],
        "triu": [{"k": 1}],
        "matrix_transpose": [{}],
    }
    cases = [
        (f, [Named(str(s))], o) for f, options in arguments.items() for o in options for s in shapes
    ]
    cases = [c for c in cases if c[:2] != ("squeeze", ["()"])]  # NumPy takes axis 0 there
    cases += [("moveaxis", [Named(str(s)), a, b], {}) for s in shapes for a, b in ((0, 1), (-1, 0))]
    cases += [("tile", [Named(str(s)), r], {}) for s in shapes for r in ((2,), (2, 1), (1, 2, 3))]
    for f in ("concat", "stack"):
        cases += [
            (f, [[Named(str(a)), Named(str(b))]], {"axis": axis})
            for a, b in itertools.product(shapes, shapes)
            for axis in (0, 1, -1, 3)
        ]
    check(cases, arrays)


def test_shapes_of_products():
    shapes = [(), (3,), (0,), (2, 3), (3, 2), (3, 3), (4, 2, 3), (1, 3, 2), (5, 3, 2)]
    arrays = {str(s): of_shape(s) for s in shapes}
    pairs = [[Named(str(a)), Named(str(b))] for a, b in itertools.product(shapes, shapes)]
    cases = [("matmul", p, {}) for p in pairs] + [("vecdot", p, {}) for p in pairs]
    cases += [("tensordot", p, {"axes": a}) for p in pairs for a in (0, 1, 2)]
    check(cases, arrays)


def test_indices_into_shapes():
    arrays = {"x": of_shape((4, 1, 3)), "i": np.asarray([0, 2, 1])}
    keys = [0, -1, 4, slice(1, 3), slice(None, None, -1), slice(0, 0), (0, 0), (..., 0), (0, ...),
            (slice(None), None, 0), (0, 0, 0), (0, 0, 0, 0), (..., ...)]  # fmt: skip

    def full(key, rank=3):  # strict wants an index for each axis, or an ellipsis
        key = key if isinstance(key, tuple) else (key,)
        given = sum(k is not None and k is not Ellipsis for k in key)
        return key if Ellipsis in key or given >= rank else (*key, ...)

    ours = while_tracing(lambda xs: [outcome(lambda: xs["x"][full(k)]) for k in keys], **arrays)
    x = strict.asarray(arrays["x"])
    for key, got in zip(keys, ours):
        want = outcome(lambda k=key: x[full(k)])
        if isinstance(want, Exception):
            assert isinstance(got, IndexError), (key, got, want)
        else:
            assert got == want, key
