"""x[...] of a traced array: ints, slices, ..., None, and arrays of integers, as in NumPy.

A boolean mask would give a shape that depends on values; it is refused with what to use instead.
"""

from __future__ import annotations

from typing import Any

from ._apply import apply
from ._arguments import describe
from ._array import Array
from ._dims import Dim
from ._elementwise import add, index_array, multiply, where
from ._errors import needs_values
from ._manipulation import broadcast_arrays, expand_dims, flip, permute_dims, reshape, squeeze, take

_END = 2**63 - 1


def index(x: Array, key: Any) -> Array:
    keys = _expand(x, key if isinstance(key, tuple) else (key,))
    x, keys = _slices(x, keys)
    return _arrays(x, keys)


def _expand(x: Array, keys: tuple[Any, ...]) -> list[Any]:
    """One entry for each axis, beside the Nones; the ellipsis written out."""
    keys = tuple(_checked(x, k) for k in keys)
    given = sum(k is not None and k is not Ellipsis for k in keys)
    if sum(k is Ellipsis for k in keys) > 1:
        raise IndexError("an index has at most one '...'")
    if given > x.ndim:
        raise IndexError(f"{given} indices for {x!r}, which has {x.ndim} axes")
    rest = [slice(None)] * (x.ndim - given)
    if not any(k is Ellipsis for k in keys):
        keys = (*keys, Ellipsis)
    out: list[Any] = []
    for k in keys:
        out.extend(rest if k is Ellipsis else [k])
    return out


def _checked(x: Array, key: Any) -> Any:
    if key is None or key is Ellipsis or isinstance(key, (slice, Dim)):
        return key
    if isinstance(key, bool):
        raise IndexError("True and False are no indices of a traced array")
    if isinstance(key, int):
        return key
    if isinstance(key, list):
        from ._creation import asarray

        key = asarray(key)
    if isinstance(key, Array) or describe(key) is not None:
        dtype = key.dtype if isinstance(key, Array) else describe(key)[0]  # type: ignore[index]
        if dtype.kind == "bool":
            raise needs_values(
                "a boolean mask",
                x,
                "The shape of x[mask] would depend on them. Use jitfuse.where(mask, x, 0), which "
                "has the shape of x (its sum is that of x[mask]); jitfuse.where(mask, value, x) in "
                "place of x[mask] = value; or x[mask] before or after the jitted function.",
            )
        return index_array(key, "index")
    if hasattr(key, "__index__"):
        return key.__index__()
    raise IndexError(
        f"expected an int, a slice, ..., None or an array of integers as an index, got {key!r}"
    )


def _slices(x: Array, keys: list[Any]) -> tuple[Array, list[Any]]:
    """Does ints, slices and Nones; what is left has one entry for each axis: slice(None) or an
    array."""
    starts: list[Any] = []
    stops: list[Any] = []
    steps: list[int] = []
    flips: list[int] = []
    for axis, k in enumerate(k for k in keys if k is not None):
        start, stop, step = 0, _END, 1
        if _is_position(k):
            start = _position(x, axis, k)
            stop = start + 1 if start != -1 else _END
        elif isinstance(k, slice):
            start, stop, step = _bounds(x, axis, k, flips)
        starts.append(start)
        stops.append(stop)
        steps.append(step)
    if flips:
        x = flip(x, axis=tuple(flips))
    if any(starts) or any(s != _END for s in stops) or any(s != 1 for s in steps):
        x = apply("slice", [x], {"starts": starts, "stops": stops, "steps": steps})
    x = _drop(x, [a for a, k in enumerate(k for k in keys if k is not None) if _is_position(k)])
    rest = [k for k in keys if not _is_position(k)]
    new = [i for i, k in enumerate(rest) if k is None]
    x = expand_dims(x, axis=tuple(new)) if new else x
    return x, [k if isinstance(k, Array) else slice(None) for k in rest]


def _is_position(key: Any) -> bool:
    return isinstance(key, (int, Dim))


def _drop(x: Array, axes: list[int]) -> Array:
    """x without axes on which one element is left; on a symbolic one each call checks that."""
    if all(isinstance(x.shape[a], int) for a in axes):
        return squeeze(x, tuple(axes))
    return reshape(x, tuple(d for a, d in enumerate(x.shape) if a not in axes))


def _position(x: Array, axis: int, k: Any) -> int:
    size = x.shape[axis]
    k = int(k)
    if isinstance(size, int):
        if not -size <= k < size:
            raise IndexError(f"index {k} is out of range for axis {axis} of size {size} of {x!r}")
        k %= size
    elif not -(value := size._trace.size_value(size.text)) <= k < value:
        raise IndexError(f"index {k} is out of range for axis {axis} of size {value} of {x!r}")
    return k


def _bounds(x: Array, axis: int, k: slice, flips: list[int]) -> tuple[int, int, int]:
    """start, stop, step of the op, for a positive step; a negative one flips the axis first."""
    step = 1 if k.step is None else int(k.step)
    if step == 0:
        raise ValueError("a slice's step cannot be 0")
    size = x.shape[axis]
    if step < 0:
        flips.append(axis)
        if k.start is None and k.stop is None:
            return 0, _END, -step
        size = int(size)
        start, stop, _ = slice(k.start, k.stop, step).indices(size)
        return size - 1 - start, max(size - 1 - stop, size - 1 - start), -step
    if isinstance(size, Dim) and not isinstance(k.start, Dim) and not isinstance(k.stop, Dim):
        return (
            (0 if k.start is None else int(k.start)),
            (_END if k.stop is None else int(k.stop)),
            step,
        )
    if k.stop is None or (
        isinstance(k.stop, Dim) and isinstance(size, Dim) and k.stop.text == size.text
    ):
        stop = _END
    else:
        stop = int(k.stop)
    start = 0 if k.start is None else int(k.start)
    if isinstance(size, int):
        start, stop, _ = slice(start, None if stop == _END else stop).indices(size)
        stop = _END if stop == size else max(stop, start)
    return start, stop, step


def _arrays(x: Array, keys: list[Any]) -> Array:
    """Indices that are arrays: they broadcast together, and their axes stand where the first
    stood."""
    axes = [a for a, k in enumerate(keys) if isinstance(k, Array)]
    if not axes:
        return x
    indices = [keys[a] for a in axes]
    if len(axes) == 1:
        return take(x, indices[0], axis=axes[0])
    adjacent = axes == list(range(axes[0], axes[-1] + 1))
    rest = [a for a in range(x.ndim) if a not in axes]
    at = axes[0] if adjacent else 0
    x = permute_dims(x, [*rest[:at], *axes, *rest[at:]])
    sizes = x.shape[at : at + len(axes)]
    flat = _linear(broadcast_arrays(*indices), sizes)
    return take(reshape(x, (*x.shape[:at], -1, *x.shape[at + len(axes) :])), flat, axis=at)


def _linear(indices: list[Array], sizes: tuple[Any, ...]) -> Array:
    """The row-major position of a tuple of indices, negative ones counted from the end."""
    flat: Array | None = None
    for i, size in zip(indices, sizes):
        size = int(size)
        i = where(i < 0, add(i.astype("int64"), size), i)
        flat = i if flat is None else add(multiply(flat, size), i)
    assert flat is not None
    return flat
