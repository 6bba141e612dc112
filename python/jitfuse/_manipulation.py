"""Functions that rearrange: the Array API standard's manipulation functions, pad, tril, gathers and
scatters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ._apply import apply, lift, pointwise, to_array
from ._array import Array
from ._dims import Dim
from ._elementwise import index_array


def _axis(axis: int, rank: int, what: str) -> int:
    if not -rank <= axis < rank:
        raise IndexError(f"{what}: axis is {axis}, expected one from {-rank} to {rank - 1}")
    return axis % rank


def _axes(axis: Any) -> list[int]:
    return [int(a) for a in axis] if isinstance(axis, (tuple, list)) else [int(axis)]


def reshape(x: Any, /, shape: Any, *, copy: bool | None = None) -> Array:
    """The elements in the same row-major order in another shape; one size may be -1."""
    shape = shape if isinstance(shape, (tuple, list)) else (shape,)
    return apply("reshape", [to_array(x, "reshape")], {"shape": list(shape)})


def permute_dims(x: Any, /, axes: Sequence[int]) -> Array:
    """Axis i of the result is axis axes[i] of x."""
    x = to_array(x, "permute_dims")
    axes = [_axis(int(a), x.ndim, "permute_dims") for a in axes]
    if not axes and x.ndim:
        raise ValueError(f"permute_dims({x!r}): axes is (), expected all {x.ndim} axes")
    return apply("transpose", [x], {"perm": axes}) if axes else x


def matrix_transpose(x: Any, /) -> Array:
    """The last two axes exchanged."""
    x = to_array(x, "matrix_transpose")
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: expected at least 2 axes, got {x!r}")
    order = list(range(x.ndim))
    return permute_dims(x, (*order[:-2], order[-1], order[-2]))


def moveaxis(x: Any, source: Any, destination: Any, /) -> Array:
    """Axes moved to other places; the rest keep their order."""
    x = to_array(x, "moveaxis")
    sources = [_axis(a, x.ndim, "moveaxis") for a in _axes(source)]
    places = [_axis(a, x.ndim, "moveaxis") for a in _axes(destination)]
    if (
        len(sources) != len(places)
        or len(set(sources)) != len(sources)
        or len(set(places)) != len(places)
    ):
        raise ValueError(f"moveaxis: source {source} and destination {destination} do not pair up")
    order = [a for a in range(x.ndim) if a not in sources]
    for place, axis in sorted(zip(places, sources)):
        order.insert(place, axis)
    return permute_dims(x, order)


def expand_dims(x: Any, /, axis: Any = 0) -> Array:
    """x with an axis of size 1 put in at this position of the result (or several)."""
    return apply("unsqueeze", [to_array(x, "expand_dims")], {"axes": _axes(axis)})


def squeeze(x: Any, /, axis: Any) -> Array:
    """x without these axes of size 1."""
    axes = _axes(axis)
    x = to_array(x, "squeeze")
    return apply("squeeze", [x], {"axes": axes}) if axes else x


def broadcast_to(x: Any, /, shape: Any) -> Array:
    """x repeated along new leading axes and axes of size 1."""
    return apply("broadcast", [to_array(x, "broadcast_to")], {"shape": list(shape)})


def broadcast_arrays(*arrays: Any) -> list[Array]:
    """The arrays, all broadcast to their common shape."""
    items = [to_array(x, "broadcast_arrays") for x in arrays]
    shape = broadcast_shapes(*[x.shape for x in items])
    return [broadcast_to(x, shape) for x in items]


def broadcast_shapes(*shapes: Any) -> tuple[Any, ...]:
    """The common shape that arrays of these shapes are broadcast to."""
    out: tuple[Any, ...] = ()
    for shape in shapes:
        rank = max(len(out), len(shape))
        a, b = (1,) * (rank - len(out)) + out, (1,) * (rank - len(shape)) + tuple(shape)
        out = tuple(_broadcast_sizes(m, n, shapes) for m, n in zip(a, b))
    return out


def _broadcast_sizes(m: Any, n: Any, shapes: Any) -> Any:
    """A symbolic size is not taken for 1, and is left to the op that broadcasts to compare."""
    if isinstance(m, int) and m == 1:
        return n
    if isinstance(m, int) and isinstance(n, int) and n not in (1, m):
        raise ValueError(f"shapes {', '.join(map(str, shapes))} do not broadcast together")
    return m


def concat(arrays: Sequence[Any], /, *, axis: int | None = 0) -> Array:
    """The arrays one after the other along an axis (None: flattened first)."""
    trace, items, _ = lift(list(arrays), "concat")
    if axis is None:
        items, axis = [reshape(x, (-1,)) for x in items], 0
    return apply("concatenate", items, {"axis": axis})


def stack(arrays: Sequence[Any], /, *, axis: int = 0) -> Array:
    """The arrays, all of one shape, side by side along a new axis."""
    trace, items, _ = lift(list(arrays), "stack")
    return apply("stack", items, {"axis": axis})


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Array, ...]:
    """The slices of x along an axis, which has a known size."""
    x = to_array(x, "unstack")
    axis = _axis(axis, x.ndim, "unstack")
    before = (slice(None),) * axis
    return tuple(x[(*before, i)] for i in range(int(x.shape[axis])))


def split(x: Any, indices_or_sections: Any, /, *, axis: int = 0) -> list[Array]:
    """Parts of x along an axis: so many of one size, or ending at these positions (as in NumPy)."""
    x = to_array(x, "split")
    axis = _axis(axis, x.ndim, "split")
    before = (slice(None),) * axis
    if isinstance(indices_or_sections, int):
        size = int(x.shape[axis])
        if indices_or_sections < 1 or size % indices_or_sections:
            raise ValueError(
                f"split: axis {axis} of size {size} in {indices_or_sections} parts of one size"
            )
        step = size // indices_or_sections
        cuts: list[Any] = list(range(step, size, step)) if step else [0] * (indices_or_sections - 1)
    else:
        cuts = list(indices_or_sections)
    return [x[(*before, slice(a, b))] for a, b in zip([None, *cuts], [*cuts, None])]


def flip(x: Any, /, *, axis: Any = None) -> Array:
    """The elements in reverse order along an axis, several, or all."""
    x = to_array(x, "flip")
    axes = None if axis is None else [_axis(a, x.ndim, "flip") for a in _axes(axis)]
    return x if axes == [] or x.ndim == 0 else apply("flip", [x], {"axes": axes})


def roll(x: Any, /, shift: Any, *, axis: Any = None) -> Array:
    """The elements shifted along axes, coming back at the other end (axis None: of the flattened
    x)."""
    x = to_array(x, "roll")
    if axis is None:
        flat = apply("roll", [reshape(x, (-1,))], {"shifts": _axes(shift), "axes": [0]})
        return reshape(flat, x.shape)
    shifts, axes = _axes(shift), _axes(axis)
    shifts = shifts * len(axes) if len(shifts) == 1 else shifts
    if len(axes) == 1 and len(shifts) > 1:
        shifts = [sum(shifts)]  # one after the other along the same axis
    return apply("roll", [x], {"shifts": shifts, "axes": axes})


def tile(x: Any, repetitions: Sequence[int], /) -> Array:
    """Copies of x side by side, so many along each axis."""
    x = to_array(x, "tile")
    reps = [int(r) for r in repetitions]
    return apply("tile", [x], {"reps": [1] * (x.ndim - len(reps)) + reps})


def repeat(x: Any, repeats: int, /, *, axis: int | None = None) -> Array:
    """Each element several times, one after the other (axis None: of the flattened x)."""
    if not isinstance(repeats, int):
        raise TypeError(f"repeat: expected one int for all elements, got {repeats!r}")
    x = to_array(x, "repeat")
    if axis is None:
        x, axis = reshape(x, (-1,)), 0
    return apply("repeat", [x], {"repeats": repeats, "axis": axis})


_PAD_OPS = {"constant": "pad", "reflect": "pad_reflect", "edge": "pad_edge", "wrap": "pad_wrap"}


def pad(x: Any, pad_width: Any, mode: str = "constant", *, constant_values: float = 0) -> Array:
    """x with a border: pad_width is n, (before, after), or one such pair for each axis (as in
    NumPy)."""
    if mode not in _PAD_OPS:
        raise ValueError(f"pad: mode {mode!r}, expected one of {', '.join(_PAD_OPS)}")
    x = to_array(x, "pad")
    pairs = _pad_pairs(pad_width, x.ndim)
    attrs: dict[str, Any] = {"low": [p[0] for p in pairs], "high": [p[1] for p in pairs]}
    if mode == "constant":
        attrs["value"] = float(constant_values)
    return apply(_PAD_OPS[mode], [x], attrs)


def _pad_pairs(width: Any, rank: int) -> list[tuple[Any, Any]]:
    if isinstance(width, (int, Dim)):
        return [(width, width)] * rank
    width = [tuple(w) if isinstance(w, (tuple, list)) else w for w in width]
    if not any(isinstance(w, tuple) for w in width):
        return [(width[0], width[-1])] * rank
    if len(width) == 1:
        width = width * rank
    if len(width) != rank or any(len(w) != 2 for w in width):
        raise ValueError(f"pad: expected {rank} pairs (before, after), got {width}")
    return width


def tril(x: Any, /, *, k: int = 0) -> Array:
    """The matrices of the last two axes, with 0 above diagonal k."""
    return apply("tril", [to_array(x, "tril")], {"k": k})


def triu(x: Any, /, *, k: int = 0) -> Array:
    """The matrices of the last two axes, with 0 below diagonal k."""
    return apply("triu", [to_array(x, "triu")], {"k": k})


# By position.


def take(x: Any, indices: Any, /, *, axis: int | None = None) -> Array:
    """The slices of x at these positions along an axis, which a rank above 1 must name."""
    x = to_array(x, "take")
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: an array of rank {x.ndim} needs an axis")
        axis = 0
    return apply("take", [x, index_array(indices, "take")], {"axis": axis})


def take_along_axis(x: Any, indices: Any, /, *, axis: int = -1) -> Array:
    """For each element of indices the element of x at that position along the axis."""
    operands = [to_array(x, "take_along_axis"), index_array(indices, "take_along_axis")]
    return apply("take_along_axis", operands, {"axis": axis})


def index_add(x: Any, indices: Any, source: Any, /, *, axis: int = 0) -> Array:
    """x with the slices of source added at these positions along an axis, always in the same
    order."""
    trace, (x, source), _ = lift([x, source], "index_add")
    return apply("index_add", [x, index_array(indices, "index_add"), source], {"axis": axis})


def scatter_add(x: Any, indices: Any, source: Any, /, *, axis: int = -1) -> Array:
    """x with each element of source added at the position along the axis that indices give."""
    trace, (x, source), _ = lift([x, source], "scatter_add")
    return apply("scatter_add", [x, index_array(indices, "scatter_add"), source], {"axis": axis})


def windows(x: Any, /, *, axis: int, size: int, stride: int = 1, dilation: int = 1) -> Array:
    """Sliding windows along an axis; a new last axis holds the elements of each (torch's
    unfold)."""
    attrs = {"axis": axis, "size": size, "stride": stride, "dilation": dilation}
    return apply("windows", [to_array(x, "windows")], attrs)


def diff(
    x: Any, /, *, axis: int = -1, n: int = 1, prepend: Any = None, append: Any = None
) -> Array:
    """The differences of neighbours along an axis, n times."""
    x = to_array(x, "diff")
    axis = _axis(axis, x.ndim, "diff")
    parts = [p for p in (prepend, x, append) if p is not None]
    x = concat(parts, axis=axis) if len(parts) > 1 else x
    op = "not_equal" if x.dtype.kind == "bool" else "subtract"
    before = (slice(None),) * axis
    for _ in range(n):
        x = pointwise(op, [x[(*before, slice(1, None))], x[(*before, slice(None, -1))]])
    return x
