"""Products of matrices and vectors, and jitfuse.linalg's functions that the op table can
express."""

from __future__ import annotations

from typing import Any

from ._apply import apply, astype, lift, to_array
from ._array import Array
from ._dtypes import as_dtype, result_type
from ._elementwise import multiply
from ._manipulation import _axis, expand_dims, matrix_transpose, permute_dims, reshape, squeeze
from ._reductions import sum as _sum


def widened(operands: list[Any], preferred_element_type: Any, name: str) -> list[Any]:
    """The operands as this dtype, which has to hold all their values."""
    if preferred_element_type is None:
        return operands
    dtype = as_dtype(preferred_element_type)
    trace, operands, _ = lift(operands, name)
    for x in operands:
        if result_type(x.dtype, dtype) != dtype:
            raise TypeError(
                f"{name}: preferred_element_type={dtype}, expected a dtype that holds the values "
                f"of {x!r}"
            )
    return [astype(x, dtype) for x in operands]


def matmul(x1: Any, x2: Any, /, *, preferred_element_type: Any = None) -> Array:
    """Matrix product over the last two axes, leading ones broadcast; 16-bit floats accumulate in
    float32. preferred_element_type: the dtype of products, sums and the result, such as float32 of
    16-bit operands, without rounding to 16 bits."""
    x1, x2 = widened([x1, x2], preferred_element_type, "matmul")
    trace, (x1, x2), _ = lift([x1, x2], "matmul")
    if x1.ndim == 0 or x2.ndim == 0:
        raise ValueError(f"matmul({x1!r}, {x2!r}): expected arrays with at least one axis")
    rows, columns = x1.ndim == 1, x2.ndim == 1
    x1 = expand_dims(x1, axis=0) if rows else x1
    x2 = expand_dims(x2, axis=1) if columns else x2
    result = apply("matmul", [x1, x2])
    dropped = ([result.ndim - 2] if rows else []) + ([result.ndim - 1] if columns else [])
    return squeeze(result, tuple(dropped))


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """Sum of products along an axis, which has the same size in both."""
    trace, (x1, x2), _ = lift([x1, x2], "vecdot")
    if x1.ndim == 0 or x2.ndim == 0:
        raise ValueError(
            f"vecdot({x1!r}, {x2!r}): expected the same size along axis {axis} of both, "
            "got an array without axes"
        )
    own, other = (x._tensor.dims[_axis(axis, x.ndim, "vecdot")] for x in (x1, x2))
    known = isinstance(own, int) and isinstance(other, int)
    if own != other and (known or 1 in (own, other)):
        raise ValueError(
            f"vecdot({x1!r}, {x2!r}): expected the same size along axis {axis} of both, "
            f"got {own} and {other}"
        )
    return _sum(multiply(x1, x2), axis=axis)


def outer(x1: Any, x2: Any, /) -> Array:
    """All products of the elements of two vectors."""
    return multiply(expand_dims(x1, axis=1), expand_dims(x2, axis=0))


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Array:
    """Sum of products over the last axes of x1 and the first of x2, or over these pairs of axes."""
    trace, (x1, x2), _ = lift([x1, x2], "tensordot")
    if isinstance(axes, int):
        left, right = list(range(x1.ndim - axes, x1.ndim)), list(range(axes))
    else:
        left, right = ([a] if isinstance(a, int) else list(a) for a in axes)
    left = [_axis(a, x1.ndim, "tensordot") for a in left]
    right = [_axis(a, x2.ndim, "tensordot") for a in right]
    if len(left) != len(right):
        raise ValueError(
            f"tensordot: {len(left)} axes of x1 do not pair up with {len(right)} of x2"
        )
    for a, b in zip(left, right):
        sizes = x1.shape[a], x2.shape[b]
        known = all(isinstance(s, int) for s in sizes)
        if known or (len(left) > 1 and str(sizes[0]) != str(sizes[1])):
            if int(sizes[0]) != int(sizes[1]):
                raise ValueError(
                    f"tensordot({x1!r}, {x2!r}): axis {a} of x1 and axis {b} of x2 are summed "
                    f"together, but have {sizes[0]} and {sizes[1]} elements"
                )
    keep1 = [a for a in range(x1.ndim) if a not in left]
    keep2 = [a for a in range(x2.ndim) if a not in right]
    shape = [x1.shape[a] for a in keep1] + [x2.shape[a] for a in keep2]
    inner = _product([x2.shape[a] for a in right])
    rows = reshape(permute_dims(x1, keep1 + left), (_product([x1.shape[i] for i in keep1]), inner))
    columns = reshape(
        permute_dims(x2, right + keep2), (inner, _product([x2.shape[i] for i in keep2]))
    )
    return reshape(matmul(rows, columns), shape)


def _product(sizes: list[Any]) -> Any:
    result: Any = 1
    for s in sizes:
        result = result * s
    return result


def diagonal(x: Any, /, *, offset: int = 0) -> Array:
    """The diagonals of the matrices of the last two axes."""
    from ._creation import arange
    from ._manipulation import take

    x = to_array(x, "diagonal")
    rows, columns = (int(d) for d in x.shape[-2:])
    first = max(0, -offset)
    count = max(0, min(rows - first, columns - max(0, offset)))
    flat = reshape(x, (*x.shape[:-2], rows * columns))
    places = arange(count) * (columns + 1) + (first * columns + max(0, offset))
    return take(flat, places, axis=x.ndim - 2)


def trace(x: Any, /, *, offset: int = 0, dtype: Any = None) -> Array:
    """The sum of the diagonal."""
    return _sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


__all__ = ["diagonal", "matmul", "matrix_transpose", "outer", "tensordot", "trace", "vecdot"]
