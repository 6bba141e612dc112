"""Dim: a size that is known only when a traced function is called.

`x.shape` holds ints, and a Dim for each symbolic size. Arithmetic with ints and Dims stays symbolic
and is accepted wherever a shape is. Whatever needs the number itself (int(), a comparison, range())
gets that of the call being traced; the trace then takes the size for a constant, so that another
size traces anew: right, only less general.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Union

if TYPE_CHECKING:
    from ._trace import Trace

Size = Union[int, "Dim"]

_FUNCTIONS = {
    "__builtins__": {},
    "ceildiv": lambda a, b: -(-a // b),
    "floordiv": lambda a, b: a // b,
    "max": max,
    "min": min,
}


def symbols_of(expression: int | str) -> set[str]:
    """The names of symbols in a size expression."""
    if isinstance(expression, int):
        return set()
    names = compile(expression, "<size>", "eval").co_names
    return {n for n in names if n not in _FUNCTIONS}


def evaluate(expression: int | str, symbols: dict[str, int]) -> int:
    """The value of a size expression such as "ceildiv(n,8)*4"."""
    return expression if isinstance(expression, int) else eval(expression, _FUNCTIONS, symbols)


def as_text(size: Size) -> int | str:
    """What the builder takes: an int, or the text of an expression."""
    if isinstance(size, Dim):
        return size.text
    if isinstance(size, int):
        return size
    if hasattr(size, "__index__"):
        return size.__index__()
    raise TypeError(f"expected a size, an int, got {size!r}")


def _number(value: Any) -> Any:
    return value.value() if isinstance(value, Dim) else value


class Dim:
    """A symbolic size: an expression over sizes of the function's arguments."""

    __slots__ = ("text", "_trace")

    def __init__(self, text: str, trace: Trace):
        self.text = text
        self._trace = trace

    def __repr__(self) -> str:
        return self.text

    def _combine(self, other: Any, form: str, swap: bool = False) -> Any:
        if isinstance(other, bool) or not isinstance(other, (int, Dim)):
            return NotImplemented
        a, b = f"({self.text})", f"({as_text(other)})"
        return Dim(form.format(*((b, a) if swap else (a, b))), self._trace)

    def __add__(self, other: Any) -> Any:
        return self._combine(other, "{}+{}")

    __radd__ = __add__

    def __sub__(self, other: Any) -> Any:
        return self._combine(other, "{}-{}")

    def __rsub__(self, other: Any) -> Any:
        return self._combine(other, "{}-{}", swap=True)

    def __mul__(self, other: Any) -> Any:
        return self._combine(other, "{}*{}")

    __rmul__ = __mul__

    def __floordiv__(self, other: Any) -> Any:
        if isinstance(other, int) and other > 0:
            return self._combine(other, "floordiv({},{})")
        return int(self) // other

    def value(self) -> int:
        """The number in the call being traced; the trace takes it for a constant from now on."""
        return self._trace.specialize(self.text)

    def __int__(self) -> int:
        return self.value()

    __index__ = __int__

    def __hash__(self) -> int:  # as the number that it equals
        return hash(self.value())

    def __float__(self) -> float:
        return float(self.value())

    def __bool__(self) -> bool:
        return self.value() != 0

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Dim) and other.text == self.text:
            return True
        return self.value() == _number(other)

    def __lt__(self, other: Any) -> bool:
        return self.value() < _number(other)

    def __le__(self, other: Any) -> bool:
        return self.value() <= _number(other)

    def __gt__(self, other: Any) -> bool:
        return self.value() > _number(other)

    def __ge__(self, other: Any) -> bool:
        return self.value() >= _number(other)

    def __truediv__(self, other: Any) -> Any:
        return self.value() / other

    def __rtruediv__(self, other: Any) -> Any:
        return other / self.value()

    def __rfloordiv__(self, other: Any) -> Any:
        return other // self.value()

    def __mod__(self, other: Any) -> Any:
        return self.value() % other

    def __pow__(self, other: Any) -> Any:
        return self.value() ** other

    def __neg__(self) -> int:
        return -self.value()
