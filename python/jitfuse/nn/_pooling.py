"""Pooling over the last one to three axes."""

from __future__ import annotations

from typing import Any

from .._apply import apply, to_array
from .._array import Array
from .._elementwise import multiply


def _sizes(what: str, name: str, value: Any, count: int) -> list[Any]:
    sizes = [value] * count if value is None or isinstance(value, int) else list(value)
    if len(sizes) == 1:
        sizes *= count
    if len(sizes) != count:
        raise ValueError(f"{what}: {name} is {value}, expected one int or {count}")
    return sizes


def _operand(what: str, input: Any, count: int) -> Array:
    x = to_array(input, what)
    if x.ndim not in (count + 1, count + 2):
        raise ValueError(f"{what}: expected {count + 1} or {count + 2} axes, got {x!r}")
    return x


def _window(what: str, count: int, kernel_size: Any, stride: Any, padding: Any) -> dict[str, Any]:
    kernel = _sizes(what, "kernel_size", kernel_size, count)
    return {
        "kernel": kernel,
        "stride": kernel
        if stride is None or stride == []
        else _sizes(what, "stride", stride, count),
        "padding": _sizes(what, "padding", padding, count),
    }


def _no_indices(what: str, return_indices: bool) -> None:
    if return_indices:
        raise NotImplementedError(f"{what}: return_indices=True is not supported")


def _max_pool(
    count: int,
    input: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    ceil_mode: bool,
    indices: bool,
) -> Array:
    what = f"max_pool{count}d"
    _no_indices(what, indices)
    attrs = _window(what, count, kernel_size, stride, padding)
    attrs.update(dilation=_sizes(what, "dilation", dilation, count), ceil_mode=bool(ceil_mode))
    return apply("max_pool", [_operand(what, input, count)], attrs)


def _avg_pool(
    count: int,
    input: Any,
    kernel_size: Any,
    stride: Any,
    padding: Any,
    ceil_mode: bool,
    count_include_pad: bool,
    divisor: int | None,
) -> Array:
    what = f"avg_pool{count}d"
    attrs = _window(what, count, kernel_size, stride, padding)
    if divisor is None:
        attrs.update(ceil_mode=bool(ceil_mode), count_include_pad=bool(count_include_pad))
        return apply("avg_pool", [_operand(what, input, count)], attrs)
    if ceil_mode:
        raise NotImplementedError(f"{what}: divisor_override with ceil_mode=True is not supported")
    elements = 1
    for k in attrs["kernel"]:
        elements *= k
    mean = apply("avg_pool", [_operand(what, input, count)], {**attrs, "count_include_pad": True})
    return multiply(mean, elements / divisor)


def max_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Array:
    """The largest value of each window; NaN if any is."""
    return _max_pool(1, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Array:
    """The largest value of each window; NaN if any is."""
    return _max_pool(2, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def max_pool3d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Array:
    """The largest value of each window; NaN if any is."""
    return _max_pool(3, input, kernel_size, stride, padding, dilation, ceil_mode, return_indices)


def avg_pool1d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> Array:
    """The mean of each window."""
    return _avg_pool(1, input, kernel_size, stride, padding, ceil_mode, count_include_pad, None)


def avg_pool2d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """The mean of each window."""
    return _avg_pool(
        2, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def avg_pool3d(
    input: Any,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: int | None = None,
) -> Array:
    """The mean of each window."""
    return _avg_pool(
        3, input, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    )


def _adaptive(count: int, average: bool, input: Any, output_size: Any) -> Array:
    """Windows of one size only: the input's sizes are multiples of the output's."""
    what = f"adaptive_{'avg' if average else 'max'}_pool{count}d"
    x = _operand(what, input, count)
    sizes = [int(d) for d in x.shape[x.ndim - count :]]
    wanted = _sizes(what, "output_size", output_size, count)
    kernel = []
    for size, out in zip(sizes, wanted):
        out = size if out is None else out
        if out < 1 or size % out:
            raise NotImplementedError(
                f"{what}: output size {out} does not divide input size {size}, which needs windows "
                "of different sizes"
            )
        kernel.append(size // out)
    return apply("avg_pool" if average else "max_pool", [x], {"kernel": kernel})


def adaptive_avg_pool1d(input: Any, output_size: Any) -> Array:
    """The means of windows, so many as output_size says, which divides the size."""
    return _adaptive(1, True, input, output_size)


def adaptive_avg_pool2d(input: Any, output_size: Any) -> Array:
    """The means of windows, so many as output_size says, which divides the sizes."""
    return _adaptive(2, True, input, output_size)


def adaptive_avg_pool3d(input: Any, output_size: Any) -> Array:
    """The means of windows, so many as output_size says, which divides the sizes."""
    return _adaptive(3, True, input, output_size)


def adaptive_max_pool1d(input: Any, output_size: Any, return_indices: bool = False) -> Array:
    """The largest values of windows, so many as output_size says, which divides the size."""
    _no_indices("adaptive_max_pool1d", return_indices)
    return _adaptive(1, False, input, output_size)


def adaptive_max_pool2d(input: Any, output_size: Any, return_indices: bool = False) -> Array:
    """The largest values of windows, so many as output_size says, which divides the sizes."""
    _no_indices("adaptive_max_pool2d", return_indices)
    return _adaptive(2, False, input, output_size)


def adaptive_max_pool3d(input: Any, output_size: Any, return_indices: bool = False) -> Array:
    """The largest values of windows, so many as output_size says, which divides the sizes."""
    _no_indices("adaptive_max_pool3d", return_indices)
    return _adaptive(3, False, input, output_size)
