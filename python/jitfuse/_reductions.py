"""Reductions and scans: the Array API standard's statistical, utility and searching functions."""

from __future__ import annotations

from typing import Any

from ._apply import apply, apply_all, to_array
from ._apply import astype as _cast
from ._array import Array
from ._dtypes import as_dtype, float32
from ._elementwise import equal, logical_not
from ._manipulation import concat, reshape

Axis = Any  # None (every axis), an int, or a tuple of ints


def _prepare(x: Any, axis: Axis, what: str, floats: bool = False) -> tuple[Array, list[int] | None]:
    """The operand, and the attribute `axes`. No axes at all: a new one of size 1 is reduced."""
    x = to_array(x, what)
    if floats and x.dtype.kind != "float":
        x = _cast(x, float32)
    if axis is None:
        return x, None
    if isinstance(axis, (tuple, list)):
        if not axis:
            return apply("unsqueeze", [x], {"axes": [x.ndim]}), [x.ndim]
        return x, [int(a) for a in axis]
    return x, [int(axis)]


def _reduce(
    op: str, x: Any, axis: Axis, keepdims: bool, floats: bool = False, **attrs: Any
) -> Array:
    x, axes = _prepare(x, axis, op, floats)
    result = apply(op, [x], {"axes": axes, "keepdims": bool(keepdims), **attrs})
    if keepdims and isinstance(axis, (tuple, list)) and not axis:
        result = apply("squeeze", [result], {"axes": [result.ndim - 1]})
    return result


def _sum_like(op: str, x: Any, axis: Axis, dtype: Any, keepdims: bool) -> Array:
    if dtype is None:
        return _reduce(op, x, axis, keepdims)
    target = as_dtype(dtype)
    x = to_array(x, op)
    if target.kind == "float" or target.itemsize == 8:
        x = _cast(x, target)  # integers wrap alike before and after
    return _cast(_reduce(op, x, axis, keepdims), target)


def sum(x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Array:
    """Sum; float16, bfloat16 and float32 accumulate in float32, integers in 64 bits."""
    return _sum_like("sum", x, axis, dtype, keepdims)


def prod(x: Any, /, *, axis: Axis = None, dtype: Any = None, keepdims: bool = False) -> Array:
    """Product; accumulates as sum does."""
    return _sum_like("prod", x, axis, dtype, keepdims)


def mean(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Mean; accumulates in float32 or float64 and never overflows through its sum; NaN if empty."""
    return _reduce("mean", x, axis, keepdims, floats=True)


def var(x: Any, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Variance: the squared distances from the mean, summed and divided by n - correction."""
    return _reduce("var", x, axis, keepdims, floats=True, correction=float(correction))


def std(x: Any, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False) -> Array:
    """Square root of the variance."""
    return _reduce("std", x, axis, keepdims, floats=True, correction=float(correction))


def max(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Largest value; NaN if any is."""
    return _reduce("max", x, axis, keepdims)


def min(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Smallest value; NaN if any is."""
    return _reduce("min", x, axis, keepdims)


def any(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """True if any value is not 0."""
    return _reduce("any", x, axis, keepdims)


def all(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """True if no value is 0."""
    return _reduce("all", x, axis, keepdims)


def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Position of the first largest value along the axis; the first NaN wins."""
    return _reduce("argmax", x, axis, keepdims)


def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Position of the first smallest value along the axis; the first NaN wins."""
    return _reduce("argmin", x, axis, keepdims)


def isin(x1: Any, x2: Any, /, *, invert: bool = False) -> Array:
    """True where a value of x1 is among those of x2 (compared one by one: for short x2)."""
    x1, x2 = to_array(x1, "isin"), to_array(x2, "isin")
    among = any(equal(apply("unsqueeze", [x1], {"axes": [x1.ndim]}), reshape(x2, (-1,))), axis=-1)
    return logical_not(among) if invert else among


def count_nonzero(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Number of elements that are not 0."""
    return _reduce("count_nonzero", x, axis, keepdims)


def logsumexp(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """log(sum(exp(x))) with no overflow."""
    return _reduce("logsumexp", x, axis, keepdims, floats=True)


def vector_norm(x: Any, /, *, axis: Axis = None, keepdims: bool = False, ord: float = 2) -> Array:
    """(sum |x|^ord)^(1/ord) over the axes; ord inf and -inf: largest and smallest magnitude."""
    return _reduce("vector_norm", x, axis, keepdims, floats=True, ord=float(ord))


def moments(x: Any, /, *, axis: Axis = None, keepdims: bool = False) -> tuple[Array, ...]:
    """Mean, and mean of the squared distance from it (the biased variance), in one pass over x."""
    x, axes = _prepare(x, axis, "moments", floats=True)
    return apply_all("moments", [x], {"axes": axes, "keepdims": bool(keepdims)})


# Scans.


def _scan(op: str, x: Any, axis: int | None, **attrs: Any) -> Array:
    x = to_array(x, op)
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"{op}: an array of rank {x.ndim} needs an axis")
        axis = 0
    return apply(op, [x], {"axis": int(axis), **attrs})


def _cumulative(
    op: str, x: Any, axis: int | None, dtype: Any, include_initial: bool, first: int
) -> Array:
    from ._creation import full

    x = to_array(x, op)
    if dtype is not None:
        x = _cast(x, as_dtype(dtype))
    result = _scan(op, x, axis)
    if dtype is not None:
        result = _cast(result, as_dtype(dtype))
    if not include_initial:
        return result
    shape = list(result.shape)
    shape[axis or 0] = 1
    return concat([full(tuple(shape), first, dtype=result.dtype), result], axis=axis or 0)


def cumulative_sum(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Array:
    """Running sum; float16, bfloat16 and float32 accumulate in float32, integers in 64 bits."""
    return _cumulative("cumsum", x, axis, dtype, include_initial, 0)


def cumulative_prod(
    x: Any, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> Array:
    """Running product; accumulates as cumulative_sum does."""
    return _cumulative("cumprod", x, axis, dtype, include_initial, 1)


def cummax(x: Any, /, *, axis: int | None = None) -> Array:
    """Largest value so far; NaN from the first NaN on."""
    return _scan("cummax", x, axis)


def cummin(x: Any, /, *, axis: int | None = None) -> Array:
    """Smallest value so far; NaN from the first NaN on."""
    return _scan("cummin", x, axis)


def logcumsumexp(x: Any, /, *, axis: int | None = None) -> Array:
    """log(cumsum(exp(x))), without overflow of the exponentials."""
    return _scan("logcumsumexp", x, axis)
