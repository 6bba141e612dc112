"""The operators of a traced array: each is the function of the module with the standard's name."""

from __future__ import annotations

from typing import Any

import jitfuse as jf

from ._arguments import describe, is_number
from ._dims import Dim


def _binary(function: Any, a: Any, b: Any) -> Any:
    """NotImplemented beside an operand that is no array or number, so that its own operator gets a
    turn."""
    for operand in (a, b):
        if isinstance(operand, (Operators, Dim)) or is_number(operand):
            continue
        if describe(operand) is None:
            return NotImplemented
    return function(a, b)


class Operators:
    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return _binary(jf.add, self, other)

    def __radd__(self, other: Any) -> Any:
        return _binary(jf.add, other, self)

    def __sub__(self, other: Any) -> Any:
        return _binary(jf.subtract, self, other)

    def __rsub__(self, other: Any) -> Any:
        return _binary(jf.subtract, other, self)

    def __mul__(self, other: Any) -> Any:
        return _binary(jf.multiply, self, other)

    def __rmul__(self, other: Any) -> Any:
        return _binary(jf.multiply, other, self)

    def __truediv__(self, other: Any) -> Any:
        return _binary(jf.divide, self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return _binary(jf.divide, other, self)

    def __floordiv__(self, other: Any) -> Any:
        return _binary(jf.floor_divide, self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return _binary(jf.floor_divide, other, self)

    def __mod__(self, other: Any) -> Any:
        return _binary(jf.remainder, self, other)

    def __rmod__(self, other: Any) -> Any:
        return _binary(jf.remainder, other, self)

    def __pow__(self, other: Any) -> Any:
        return _binary(jf.pow, self, other)

    def __rpow__(self, other: Any) -> Any:
        return _binary(jf.pow, other, self)

    def __and__(self, other: Any) -> Any:
        return _binary(jf.bitwise_and, self, other)

    def __rand__(self, other: Any) -> Any:
        return _binary(jf.bitwise_and, other, self)

    def __or__(self, other: Any) -> Any:
        return _binary(jf.bitwise_or, self, other)

    def __ror__(self, other: Any) -> Any:
        return _binary(jf.bitwise_or, other, self)

    def __xor__(self, other: Any) -> Any:
        return _binary(jf.bitwise_xor, self, other)

    def __rxor__(self, other: Any) -> Any:
        return _binary(jf.bitwise_xor, other, self)

    def __lshift__(self, other: Any) -> Any:
        return _binary(jf.bitwise_left_shift, self, other)

    def __rlshift__(self, other: Any) -> Any:
        return _binary(jf.bitwise_left_shift, other, self)

    def __rshift__(self, other: Any) -> Any:
        return _binary(jf.bitwise_right_shift, self, other)

    def __rrshift__(self, other: Any) -> Any:
        return _binary(jf.bitwise_right_shift, other, self)

    def __matmul__(self, other: Any) -> Any:
        return _binary(jf.matmul, self, other)

    def __rmatmul__(self, other: Any) -> Any:
        return _binary(jf.matmul, other, self)

    def __eq__(self, other: Any) -> Any:  # type: ignore[override]
        return _binary(jf.equal, self, other)

    def __ne__(self, other: Any) -> Any:  # type: ignore[override]
        return _binary(jf.not_equal, self, other)

    def __lt__(self, other: Any) -> Any:
        return _binary(jf.less, self, other)

    def __le__(self, other: Any) -> Any:
        return _binary(jf.less_equal, self, other)

    def __gt__(self, other: Any) -> Any:
        return _binary(jf.greater, self, other)

    def __ge__(self, other: Any) -> Any:
        return _binary(jf.greater_equal, self, other)

    def __divmod__(self, other: Any) -> Any:
        return self // other, self % other

    def __rdivmod__(self, other: Any) -> Any:
        return other // self, other % self

    def __neg__(self) -> Any:
        return jf.negative(self)

    def __pos__(self) -> Any:
        return jf.positive(self)

    def __abs__(self) -> Any:
        return jf.abs(self)

    def __invert__(self) -> Any:
        return jf.bitwise_invert(self)
