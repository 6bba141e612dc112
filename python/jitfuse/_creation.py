"""Creation functions of the Array API standard. They make arrays inside a trace: nothing is
stored."""

from __future__ import annotations

from array import array
from typing import Any

from ._apply import astype, lift, source, to_array
from ._arguments import is_number
from ._array import Array
from ._dims import Dim
from ._dtypes import DType, as_dtype, float32, int64
from ._dtypes import bool_ as bool_dtype
from ._manipulation import broadcast_to, expand_dims, permute_dims, reshape, stack

_BUFFER_FORMATS = {bool: "?", int: "q", float: "f"}
_DEFAULTS = {bool: bool_dtype, int: int64, float: float32}


def _default(dtype: Any, otherwise: DType) -> DType:
    return otherwise if dtype is None else as_dtype(dtype)


def _shape(shape: Any) -> tuple[Any, ...]:
    return tuple(shape) if isinstance(shape, (tuple, list)) else (shape,)


def full(shape: Any, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """An array of this shape that is fill_value everywhere."""
    if dtype is None and is_number(fill_value):
        dtype = _DEFAULTS[type(fill_value)]
    return broadcast_to(to_array(fill_value, "full", dtype), _shape(shape))


def zeros(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """An array of this shape that is 0 everywhere."""
    return full(shape, 0, dtype=_default(dtype, float32))


def ones(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """An array of this shape that is 1 everywhere."""
    return full(shape, 1, dtype=_default(dtype, float32))


def empty(shape: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """An array of this shape; its values are 0, since nothing in a fused kernel is left
    undefined."""
    return zeros(shape, dtype=dtype)


def full_like(x: Any, /, fill_value: Any, *, dtype: Any = None, device: Any = None) -> Array:
    """fill_value in the shape, and by default the dtype, of x."""
    x = to_array(x, "full_like")
    return full(x.shape, fill_value, dtype=_default(dtype, x.dtype))


def zeros_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Array:
    """0 in the shape, and by default the dtype, of x."""
    return full_like(x, 0, dtype=dtype)


def ones_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Array:
    """1 in the shape, and by default the dtype, of x."""
    return full_like(x, 1, dtype=dtype)


def empty_like(x: Any, /, *, dtype: Any = None, device: Any = None) -> Array:
    """As zeros_like."""
    return full_like(x, 0, dtype=dtype)


def arange(
    start: Any, /, stop: Any = None, step: Any = 1, *, dtype: Any = None, device: Any = None
) -> Array:
    """start, start + step ... before stop (with one argument: 0, 1 ... before it)."""
    if stop is None:
        start, stop = 0, start
    default = float32 if any(isinstance(v, float) for v in (start, stop, step)) else int64
    target = _default(dtype, default)
    if isinstance(stop, Dim) and start == 0 and step == 1:
        return source("iota", {"shape": [stop], "axis": 0, "dtype": target})
    attrs = {"start": float(start), "stop": float(stop), "step": float(step), "dtype": target}
    if target.kind != "float" and default is float32:
        return astype(source("arange", {**attrs, "dtype": float32}), target)
    return source("arange", attrs)


def linspace(
    start: Any,
    stop: Any,
    /,
    num: int,
    *,
    dtype: Any = None,
    device: Any = None,
    endpoint: bool = True,
) -> Array:
    """num numbers from start to stop, evenly spaced."""
    attrs = {
        "start": float(start),
        "stop": float(stop),
        "num": int(num),
        "endpoint": bool(endpoint),
    }
    return source("linspace", {**attrs, "dtype": _default(dtype, float32)})


def eye(
    n_rows: Any, n_cols: Any = None, /, *, k: int = 0, dtype: Any = None, device: Any = None
) -> Array:
    """1 on diagonal k, else 0."""
    shape = [n_rows, n_rows if n_cols is None else n_cols]
    return source("eye", {"shape": shape, "k": k, "dtype": _default(dtype, float32)})


def meshgrid(*arrays: Any, indexing: str = "xy") -> list[Array]:
    """Arrays of coordinates, one for each one-dimensional array."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: indexing {indexing!r}, expected 'xy' or 'ij'")
    trace, items, _ = lift(list(arrays), "meshgrid")
    shape = tuple(x.shape[0] for x in items)
    out = []
    for i, x in enumerate(items):
        others = tuple(a for a in range(len(items)) if a != i)
        wide = broadcast_to(expand_dims(x, axis=others) if others else x, shape)
        if indexing == "xy" and len(items) > 1:
            wide = permute_dims(wide, (1, 0, *range(2, len(items))))
        out.append(wide)
    return out


def asarray(
    obj: Any, /, *, dtype: Any = None, device: Any = None, copy: bool | None = None
) -> Array:
    """An array of the trace: of an array (used by reference), a number, or nested lists of
    numbers."""
    target = None if dtype is None else as_dtype(dtype)
    if isinstance(obj, (list, tuple)):
        return _from_lists(obj, target)
    if is_number(obj) and target is None:
        target = _DEFAULTS[type(obj)]
    return to_array(obj, "asarray", target)


def from_dlpack(x: Any, /, *, device: Any = None, copy: bool | None = None) -> Array:
    """An array of the trace made of any array that has DLPack; it is used by reference."""
    return asarray(x)


def _from_lists(obj: Any, dtype: DType | None) -> Array:
    """Nested lists of Python numbers as a captured buffer; with traced arrays among them:
    stacked."""
    shape: list[int] = []
    flat: Any = [obj]
    while flat and isinstance(flat[0], (list, tuple)):
        size = len(flat[0])
        if any(not isinstance(row, (list, tuple)) or len(row) != size for row in flat):
            raise ValueError("asarray: the nested lists are ragged; expected rows of one length")
        shape.append(size)
        flat = [item for row in flat for item in row]
    if any(isinstance(item, Array) for item in flat):
        made = reshape(stack(flat), (*shape, *stack(flat).shape[1:]))
        return made if dtype is None else astype(made, dtype)
    if not all(is_number(item) for item in flat):
        raise TypeError("asarray: expected nested lists of Python numbers or traced arrays")
    kind = next((t for t in (float, int, bool) if any(type(v) is t for v in flat)), float)
    dtype = dtype or _DEFAULTS[kind]
    if not flat:
        return zeros(shape, dtype=dtype)
    values = bytearray(flat) if kind is bool else array(_BUFFER_FORMATS[kind], flat)
    flat_buffer: Any = memoryview(values).cast("B")
    buffer = flat_buffer.cast(_BUFFER_FORMATS[kind], shape)
    return to_array(buffer, "asarray", dtype)
