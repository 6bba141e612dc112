"""NumPy's functions on traced arrays: np.tanh(t), np.sum(t, axis=0) ... by NumPy's own protocols.

A table gives for each NumPy name the function of Jitfuse, with NumPy's signature where that
differs. What is in neither table is a TypeError that names the nearest spelling of Jitfuse.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import jitfuse as jf

from ._suggest import unsupported

_SAME_UFUNCS = (
    "add bitwise_and bitwise_or bitwise_xor ceil copysign cos cosh divide equal exp exp2 expm1 "
    "floor floor_divide fmod "
    "greater greater_equal hypot isfinite isinf isnan less less_equal log log10 log1p log2 "
    "logaddexp logical_and "
    "logical_not logical_or logical_xor matmul maximum minimum multiply negative nextafter "
    "not_equal positive reciprocal "
    "remainder sign signbit sin sinh sqrt square subtract tan tanh trunc vecdot"
).split()
_RENAMED_UFUNCS = {
    "absolute": "abs", "fabs": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin",
    "arcsinh": "asinh", "arctan": "atan", "arctan2": "atan2", "arctanh": "atanh",
    "conjugate": "conj", "invert": "bitwise_invert", "left_shift": "bitwise_left_shift",
    "power": "pow", "right_shift": "bitwise_right_shift", "rint": "round", "true_divide": "divide",
    "mod": "remainder",
}  # fmt: skip
_REDUCE = {
    "add": "sum", "multiply": "prod", "maximum": "max", "minimum": "min", "logical_and": "all",
    "logical_or": "any", "logaddexp": "logsumexp",
}  # fmt: skip
_OTHER_UFUNCS: dict[str, Callable[..., Any]] = {
    "deg2rad": lambda x: jf.multiply(x, math.pi / 180),
    "radians": lambda x: jf.multiply(x, math.pi / 180),
    "rad2deg": lambda x: jf.multiply(x, 180 / math.pi),
    "degrees": lambda x: jf.multiply(x, 180 / math.pi),
    "divmod": lambda x, y: (jf.floor_divide(x, y), jf.remainder(x, y)),
    "clip": lambda x, low, high: jf.clip(x, low, high),
}


def _find_ufunc(name: str) -> Callable[..., Any] | None:
    if name in _OTHER_UFUNCS:
        return _OTHER_UFUNCS[name]
    name = _RENAMED_UFUNCS.get(name, name if name in _SAME_UFUNCS else "")
    return getattr(jf, name) if name else None


def call_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = f"numpy.{ufunc.__name__}"
    dtype = kwargs.pop("dtype", None)
    if method == "reduce" and ufunc.__name__ in _REDUCE:
        return _call_reduce(ufunc.__name__, inputs[0], dtype, kwargs)
    if method != "__call__":
        raise unsupported(f"{name}.{method}", ufunc.__name__)
    _refuse(name, kwargs)
    function = _find_ufunc(ufunc.__name__)
    if function is None:
        raise unsupported(name, ufunc.__name__)
    result = function(*inputs)
    return result if dtype is None else jf.astype(result, dtype)


def _call_reduce(name: str, x: Any, dtype: Any, kwargs: dict[str, Any]) -> Any:
    axis = kwargs.pop("axis", 0)
    keepdims = bool(kwargs.pop("keepdims", False))
    _refuse(f"numpy.{name}.reduce", kwargs)
    x = x if dtype is None else jf.astype(x, dtype)
    return getattr(jf, _REDUCE[name])(x, axis=axis, keepdims=keepdims)


def _refuse(name: str, kwargs: dict[str, Any]) -> None:
    """Arguments that change what comes out; those with their default value mean nothing."""
    for key, value in kwargs.items():
        if key == "out" and value is not None:
            raise TypeError(
                f"{name}: out= cannot be given for traced arrays, which never change; use the "
                "result"
            )
        if key == "where" and value is not True:
            raise TypeError(f"{name}: where= is not supported for traced arrays; use jitfuse.where")
        if key not in ("out", "where", "casting", "order", "subok", "signature", "initial") or (
            key == "initial" and not _is_default(value)
        ):
            raise TypeError(f"{name}: argument {key!r} is not supported for traced arrays")


def _is_default(value: Any) -> bool:
    return value is None or type(value).__name__ == "_NoValueType"


# Functions: by numpy.NAME or numpy.linalg.NAME, with NumPy's signatures.


def _axis_reduction(name: str) -> Callable[..., Any]:
    def call(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        keepdims: Any = False,
        **rest: Any,
    ) -> Any:
        _refuse(f"numpy.{name}", {"out": out, **rest})
        a = a if dtype is None else jf.astype(a, dtype)
        return getattr(jf, name)(
            a, axis=axis, keepdims=False if _is_default(keepdims) else bool(keepdims)
        )

    return call


def _plain_reduction(name: str, target: str = "") -> Callable[..., Any]:
    def call(a: Any, axis: Any = None, out: Any = None, keepdims: Any = False, **rest: Any) -> Any:
        _refuse(f"numpy.{name}", {"out": out, **rest})
        return getattr(jf, target or name)(
            a, axis=axis, keepdims=False if _is_default(keepdims) else bool(keepdims)
        )

    return call


def _variance(name: str) -> Callable[..., Any]:
    def call(
        a: Any,
        axis: Any = None,
        dtype: Any = None,
        out: Any = None,
        ddof: float = 0,
        keepdims: Any = False,
        **rest: Any,
    ) -> Any:
        correction = rest.pop("correction", None)
        _refuse(
            f"numpy.{name}", {"out": out, **{k: v for k, v in rest.items() if not _is_default(v)}}
        )
        correction = ddof if correction is None or _is_default(correction) else correction
        a = a if dtype is None else jf.astype(a, dtype)
        return getattr(jf, name)(a, axis=axis, correction=correction, keepdims=keepdims is True)

    return call


def _scan(target: str) -> Callable[..., Any]:
    def call(a: Any, axis: Any = None, dtype: Any = None, out: Any = None) -> Any:
        _refuse(f"numpy.{target}", {"out": out})
        a, axis = (jf.reshape(a, (-1,)), 0) if axis is None else (a, axis)
        return getattr(jf, target)(a, axis=axis, dtype=dtype)

    return call


def _concatenate(
    arrays: Any, axis: Any = 0, out: Any = None, *, dtype: Any = None, casting: Any = None
) -> Any:
    _refuse("numpy.concatenate", {"out": out})
    joined = jf.concat(list(arrays), axis=axis)
    return joined if dtype is None else jf.astype(joined, dtype)


def _stack(
    arrays: Any, axis: int = 0, out: Any = None, *, dtype: Any = None, casting: Any = None
) -> Any:
    _refuse("numpy.stack", {"out": out})
    stacked = jf.stack(list(arrays), axis=axis)
    return stacked if dtype is None else jf.astype(stacked, dtype)


def _clip(a: Any, a_min: Any = None, a_max: Any = None, out: Any = None, **rest: Any) -> Any:
    low, high = rest.pop("min", a_min), rest.pop("max", a_max)
    _refuse("numpy.clip", {"out": out, **rest})
    return jf.clip(a, None if _is_default(low) else low, None if _is_default(high) else high)


def _round(a: Any, decimals: int = 0, out: Any = None) -> Any:
    _refuse("numpy.round", {"out": out})
    if decimals:
        raise TypeError(
            "numpy.round: decimals is not supported for traced arrays; use jitfuse.round(x * 10) "
            "/ 10"
        )
    return jf.round(a)


def _where(condition: Any, *values: Any) -> Any:
    if len(values) != 2:
        raise unsupported("numpy.where with one argument", "nonzero")
    return jf.where(condition, *values)


def _take(a: Any, indices: Any, axis: Any = None, out: Any = None, mode: str = "raise") -> Any:
    _refuse("numpy.take", {"out": out})
    return jf.take(jf.reshape(a, (-1,)) if axis is None else a, indices, axis=axis or 0)


def _transpose(a: Any, axes: Any = None) -> Any:
    return a.T if axes is None else jf.permute_dims(a, axes)


def _squeeze(a: Any, axis: Any = None) -> Any:
    return a.squeeze(axis)


def _reshape(
    a: Any, /, shape: Any = None, order: str = "C", *, newshape: Any = None, copy: Any = None
) -> Any:
    if order != "C":
        raise TypeError(f"numpy.reshape: order={order!r} is not supported for traced arrays")
    return jf.reshape(a, newshape if shape is None else shape)


def _like(target: str) -> Callable[..., Any]:
    def call(a: Any, *value: Any, dtype: Any = None, **rest: Any) -> Any:
        return getattr(jf, target)(a, *value, dtype=dtype)

    return call


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    if (
        axis is None
        and ord is not None
        and x.ndim != 1
        or isinstance(axis, tuple)
        and ord is not None
    ):
        raise unsupported("numpy.linalg.norm of matrices", "vector_norm")
    return jf.linalg.vector_norm(x, axis=axis, ord=2 if ord is None else ord, keepdims=keepdims)


def _einsum(subscripts: Any, *operands: Any, optimize: Any = False, **rest: Any) -> Any:
    """The order is found in any case, so `optimize` has no effect."""
    _refuse("numpy.einsum", rest)
    return jf.einsum(subscripts, *operands)


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{n: _axis_reduction(n) for n in ("sum", "prod", "mean")},
    **{n: _plain_reduction(n) for n in "max min any all argmax argmin count_nonzero".split()},
    "amax": _plain_reduction("max"), "amin": _plain_reduction("min"), "var": _variance("var"),
    "std": _variance("std"), "cumsum": _scan("cumulative_sum"), "cumprod": _scan("cumulative_prod"),
    "concatenate": _concatenate, "concat": _concatenate, "stack": _stack, "clip": _clip,
    "round": _round, "around": _round, "where": _where, "take": _take, "transpose": _transpose,
    "permute_dims": _transpose, "squeeze": _squeeze, "reshape": _reshape, "vstack": lambda tup,
    **_: jf.concat([x if x.ndim > 1 else jf.reshape(x, (1, -1)) for x in tup], axis=0),
    "hstack": lambda tup, **_: jf.concat(list(tup), axis=0 if tup[0].ndim == 1 else 1),
    "ravel": lambda a, order="C": jf.reshape(a, (-1,)), "swapaxes": lambda a, axis1,
    axis2: a.swapaxes(axis1, axis2), "expand_dims": lambda a, axis: jf.expand_dims(a, axis=axis),
    "moveaxis": lambda a, source, destination: jf.moveaxis(a, source, destination),
    "flip": lambda m, axis=None: jf.flip(m, axis=axis), "flipud": lambda m: jf.flip(m, axis=0),
    "fliplr": lambda m: jf.flip(m, axis=1), "roll": lambda a, shift,
    axis=None: jf.roll(a, shift, axis=axis), "tile": lambda A,
    reps: jf.tile(A, (reps,) if isinstance(reps, int) else reps), "repeat": lambda a, repeats,
    axis=None: jf.repeat(a, repeats, axis=axis), "split": lambda ary, indices_or_sections,
    axis=0: jf.split(ary, indices_or_sections, axis=axis), "pad": lambda array, pad_width,
    mode="constant", **kw: jf.pad(array, pad_width, mode, **kw), "broadcast_to": lambda array,
    shape, subok=False: jf.broadcast_to(array, shape), "broadcast_arrays": lambda *args,
    subok=False: tuple(jf.broadcast_arrays(*args)), "meshgrid": lambda *xi, indexing="xy",
    **_: jf.meshgrid(*xi, indexing=indexing), "take_along_axis": lambda arr, indices,
    axis=-1: jf.take_along_axis(arr, indices, axis=axis), "tril": lambda m, k=0: jf.tril(m, k=k),
    "triu": lambda m, k=0: jf.triu(m, k=k), "diff": lambda a, n=1, axis=-1,
    **kw: jf.diff(a, n=n, axis=axis, **{k: v for k, v in kw.items() if not _is_default(v)}),
    "diagonal": lambda a, offset=0: jf.linalg.diagonal(a, offset=offset), "trace": lambda a,
    offset=0: jf.linalg.trace(a, offset=offset), "dot": lambda a, b,
    out=None: jf.multiply(a, b) if 0 in (a.ndim, b.ndim) else jf.matmul(a, b), "inner": lambda a,
    b: jf.tensordot(a, b, axes=([-1], [-1])), "outer": lambda a, b,
    out=None: jf.linalg.outer(jf.reshape(a, (-1,)), jf.reshape(b, (-1,))), "tensordot": lambda a, b,
    axes=2: jf.tensordot(a, b, axes=axes), "isclose": lambda a, b, rtol=1e-5,
    atol=1e-8: jf.isclose(a, b, rtol=rtol, atol=atol), "astype": lambda x, dtype, /,
    **_: jf.astype(x, dtype), "real": jf.positive, "imag": jf.imag, "copy": lambda a, **_: a,
    **{n: _like(n) for n in ("zeros_like", "ones_like", "full_like", "empty_like")},
    "einsum": _einsum, "shape": lambda a: a.shape, "ndim": lambda a: a.ndim, "size": lambda a,
    axis=None: a.size if axis is None else a.shape[axis], "linalg.norm": _norm,
    "linalg.vector_norm": lambda x, /, **kw: jf.linalg.vector_norm(x, **kw),
    "linalg.vecdot": lambda a, b, /, axis=-1: jf.vecdot(a, b, axis=axis),
    "linalg.matmul": jf.matmul, "linalg.outer": jf.linalg.outer,
    "matrix_transpose": jf.matrix_transpose, "linalg.matrix_transpose": jf.matrix_transpose,
}  # fmt: skip


def call_function(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    module = getattr(func, "__module__", "numpy") or "numpy"
    name = f"{module}.{func.__name__}".removeprefix("numpy.")
    function = _FUNCTIONS.get(name)
    if function is None:
        raise unsupported(f"numpy.{name}", func.__name__)
    return function(*args, **kwargs)
