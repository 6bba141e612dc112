"""The methods of a traced array, with NumPy's names and arguments, and a few that torch code
uses."""

from __future__ import annotations

import functools
from typing import Any

import jitfuse as jf

from ._fork import loading


def _one_or_many(args: tuple[Any, ...]) -> tuple[Any, ...]:
    """f(2, 3) and f((2, 3)) alike."""
    return tuple(args[0]) if len(args) == 1 and isinstance(args[0], (tuple, list)) else args


def find_method(name: str) -> Any:
    """The function that a method of this name of torch.Tensor is, or None."""
    with loading:
        from . import _torch

    return _torch.find_method(name)


def call_method(
    name: str,
    x: Any,
    axis: Any,
    keepdims: bool,
    *,
    dim: Any = None,
    keepdim: bool = False,
    **rest: Any,
) -> Any:
    """A reduction with torch's arguments."""
    rest = {k: v for k, v in rest.items() if v is not None}
    return find_method(name)(x, axis if dim is None else dim, keepdim=keepdim or keepdims, **rest)


class Methods:
    __slots__ = ()
    _tensor: Any

    @property
    def T(self) -> Any:
        """All axes in reverse order."""
        return jf.permute_dims(self, tuple(reversed(range(self.ndim))))

    @property
    def ndim(self) -> int:
        return len(self._tensor.dims)

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        return jf.astype(self, dtype)

    def reshape(self, *shape: Any) -> Any:
        return jf.reshape(self, _one_or_many(shape))

    def transpose(self, *axes: Any) -> Any:
        """Axes in this order, reversed by default; two ints exchange those two, as in torch."""
        order = _one_or_many(axes)
        if len(axes) == 2:
            if self.ndim == 2 and order[0] % 2 == 0:
                raise TypeError(
                    f"transpose{axes} of a matrix is the matrix in NumPy and exchanges its axes in "
                    "torch; use x.T or jitfuse.permute_dims"
                )
            return self.swapaxes(*axes)
        return jf.permute_dims(self, order) if order else self.T

    def swapaxes(self, axis1: int, axis2: int) -> Any:
        order = list(range(self.ndim))
        order[axis1], order[axis2] = order[axis2], order[axis1]
        return jf.permute_dims(self, tuple(order))

    def flatten(self) -> Any:
        return jf.reshape(self, (-1,))

    ravel = flatten

    def squeeze(self, axis: Any = None) -> Any:
        if axis is None:
            axis = tuple(i for i, d in enumerate(self._tensor.dims) if d == 1)
        return jf.squeeze(self, axis)

    def repeat(self, repeats: int, axis: int | None = None) -> Any:
        return jf.repeat(self, repeats, axis=axis)

    def take(self, indices: Any, axis: int | None = None) -> Any:
        return jf.take(self.flatten() if axis is None else self, indices, axis=axis or 0)

    def clip(self, min: Any = None, max: Any = None) -> Any:
        return jf.clip(self, min, max)

    def round(self) -> Any:
        return jf.round(self)

    # With NumPy's arguments or torch's: x.sum(-1, keepdims=True), x.sum(dim=-1, keepdim=True).

    def sum(self, axis: Any = None, dtype: Any = None, keepdims: bool = False, **torch: Any) -> Any:
        if torch:
            return call_method("sum", self, axis, keepdims, dtype=dtype, **torch)
        return jf.sum(self, axis=axis, dtype=dtype, keepdims=keepdims)

    def prod(
        self, axis: Any = None, dtype: Any = None, keepdims: bool = False, **torch: Any
    ) -> Any:
        if torch:
            return call_method("prod", self, axis, keepdims, dtype=dtype, **torch)
        return jf.prod(self, axis=axis, dtype=dtype, keepdims=keepdims)

    def mean(
        self, axis: Any = None, dtype: Any = None, keepdims: bool = False, **torch: Any
    ) -> Any:
        if torch:
            return call_method("mean", self, axis, keepdims, dtype=dtype, **torch)
        return jf.mean(self if dtype is None else self.astype(dtype), axis=axis, keepdims=keepdims)

    def var(
        self, axis: Any = None, correction: Any = 0.0, keepdims: bool = False, **torch: Any
    ) -> Any:
        """As NumPy's: divided by n, unless torch's arguments are given (dim, unbiased, keepdim)."""
        if torch:
            return call_method("var", self, axis, keepdims, **torch)
        return jf.var(self, axis=axis, correction=correction, keepdims=keepdims)

    def std(
        self, axis: Any = None, correction: Any = 0.0, keepdims: bool = False, **torch: Any
    ) -> Any:
        """As NumPy's: divided by n, unless torch's arguments are given (dim, unbiased, keepdim)."""
        if torch:
            return call_method("std", self, axis, keepdims, **torch)
        return jf.std(self, axis=axis, correction=correction, keepdims=keepdims)

    def max(self, axis: Any = None, keepdims: bool = False, **torch: Any) -> Any:
        """The values; with torch's arguments (dim, keepdim) a pair of values and positions."""
        if torch or (axis is None and not keepdims):
            return call_method("max", self, axis, keepdims, **torch)
        return jf.max(self, axis=axis, keepdims=keepdims)

    def min(self, axis: Any = None, keepdims: bool = False, **torch: Any) -> Any:
        """The values; with torch's arguments (dim, keepdim) a pair of values and positions."""
        if torch or (axis is None and not keepdims):
            return call_method("min", self, axis, keepdims, **torch)
        return jf.min(self, axis=axis, keepdims=keepdims)

    def any(self, axis: Any = None, keepdims: bool = False, **torch: Any) -> Any:
        if torch:
            return call_method("any", self, axis, keepdims, **torch)
        return jf.any(self, axis=axis, keepdims=keepdims)

    def all(self, axis: Any = None, keepdims: bool = False, **torch: Any) -> Any:
        if torch:
            return call_method("all", self, axis, keepdims, **torch)
        return jf.all(self, axis=axis, keepdims=keepdims)

    def argmax(self, axis: int | None = None, keepdims: bool = False, **torch: Any) -> Any:
        if torch:
            return call_method("argmax", self, axis, keepdims, **torch)
        return jf.argmax(self, axis=axis, keepdims=keepdims)

    def argmin(self, axis: int | None = None, keepdims: bool = False, **torch: Any) -> Any:
        if torch:
            return call_method("argmin", self, axis, keepdims, **torch)
        return jf.argmin(self, axis=axis, keepdims=keepdims)

    def cumsum(self, axis: int | None = None, **torch: Any) -> Any:
        axis = torch.get("dim", axis)
        return jf.cumulative_sum(self.flatten() if axis is None else self, axis=axis or 0)

    def dot(self, other: Any) -> Any:
        return jf.matmul(self, other)

    def copy(self) -> Any:
        return self

    # As in torch; what is not here is looked up among torch's functions.

    def __getattr__(self, name: str) -> Any:
        method = None if name.startswith("_") else find_method(name)
        if method is None:
            raise AttributeError(f"a traced array has no attribute {name!r}")
        return functools.partial(method, self)

    def type_as(self, other: Any) -> Any:
        return jf.astype(self, other.dtype)

    def float(self) -> Any:
        return jf.astype(self, jf.float32)

    def half(self) -> Any:
        return jf.astype(self, jf.float16)

    def bfloat16(self) -> Any:
        return jf.astype(self, jf.bfloat16)

    def double(self) -> Any:
        return jf.astype(self, jf.float64)

    def view(self, *shape: Any) -> Any:
        return self.reshape(*shape)

    def permute(self, *axes: Any) -> Any:
        return jf.permute_dims(self, _one_or_many(axes))

    def contiguous(self) -> Any:
        return self

    def dim(self) -> int:
        return self.ndim
