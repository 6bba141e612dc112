"""Trace: one graph under construction while a user's function runs on traced arrays.

It declares the graph's inputs and remembers where the values of each come from: a leaf of the
call's arguments, or an array that the function refers to from outside (a captured array). Scalars
are declared where they are first used, once for each dtype, so that a number takes the dtype of
what it meets. Must not know: arrays' operators, caches.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from . import _core
from ._arguments import describe
from ._array import Array
from ._dims import evaluate, symbols_of
from ._dtypes import DType, float64, int64
from ._dtypes import bool_ as bool_dtype
from ._errors import TracingError, describe_place, user_place

FLOATS = ("f16", "bf16", "f32", "f64")
WEAK_DTYPES = {bool: bool_dtype, int: int64, float: float64}


class Trace:
    def __init__(self, name: str):
        self.name = name
        self.builder = _core.Builder(name if name.isidentifier() and name.isascii() else "f")
        self.alive = True
        self.sources: list[
            tuple[str, int]
        ] = []  # of each declared input: ("leaf" | "captured", its number)
        self.inputs: list[Any] = []  # their tensors
        self.captured: list[Any] = []
        self.differentiated: list[tuple[int | str, ...]] = []  # sizes of what gradients are for
        self.symbols: dict[str, int] = {}  # each symbol's value in the call being traced
        self.specialized: dict[str, tuple[str, int]] = {}  # whose number was asked for, and where
        self._by_id: dict[int, Array] = {}
        self._names: set[str] = set()

    # Inputs.

    def array_argument(
        self, leaf: int, name: str, dtype: DType, dims: tuple[int | str, ...]
    ) -> Array:
        tensor = self.builder.input(self._unique(name), dtype.code, list(dims))
        self._declared(tensor, "leaf", leaf)
        return Array(self, tensor)

    def scalar_argument(self, leaf: int, name: str, dtype: DType) -> Array:
        """A number with a dtype of its own (a NumPy scalar)."""
        return Array(self, self._declare_scalar(leaf, name, dtype))

    def weak_argument(self, leaf: int, name: str, scalar_type: type) -> Array:
        """A Python number: it takes the dtype of what it meets."""
        return WeakArgument(self, leaf, name, scalar_type)

    def _declare_scalar(self, leaf: int, name: str, dtype: DType) -> Any:
        tensor = self.builder.scalar(self._unique(name), dtype.code)
        self._declared(tensor, "leaf", leaf)
        return tensor

    def _declared(self, tensor: Any, where: str, number: int) -> None:
        self.inputs.append(tensor)
        self.sources.append((where, number))

    def capture(self, array: Any, name: str = "") -> Array:
        """An array from outside the function: an input that every call passes by itself."""
        known = self._by_id.get(id(array))
        if known is None:
            try:
                found = describe(array)
            except (TypeError, ValueError) as error:
                raise type(error)(
                    f"{self.name}: an array from outside of the function: {error}"
                ) from None
            if found is None:
                raise TypeError(
                    f"{self.name}: expected an array or a number, got {array!r} of type "
                    f"{type(array).__name__}"
                )
            dtype, shape = found
            unique = self._unique(name or f"captured_{len(self.captured)}")
            tensor = self.builder.input(unique, dtype.code, list(shape))
            self._declared(tensor, "captured", len(self.captured))
            self.captured.append(array)
            known = self._by_id[id(array)] = Array(self, tensor)
        return known

    def _unique(self, name: str) -> str:
        clean = (
            "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name) or "arg"
        )
        if not (clean[0].isalpha() or clean[0] == "_"):
            clean = "_" + clean
        made, count = clean, 1
        while made in self._names:
            count += 1
            made = f"{clean}_{count}"
        self._names.add(made)
        return made

    # Sizes.

    def specialize(self, size: int | str) -> int:
        """The value of a size, whose symbols count as constants from now on."""
        for name in symbols_of(size):
            self.specialized.setdefault(name, user_place())
        return self.size_value(size)

    def size_value(self, size: int | str) -> int:
        return evaluate(size, self.symbols)

    # torch's gradient mode.

    def settle(self, tensors: Iterable[Any]) -> list[Any]:
        """Results of ops: constants to gradients where the function has switched torch's off."""
        made = list(tensors)
        if not is_recording():
            made = [
                self.builder.apply("stop_gradient", [t], {})[0] if t.dtype in FLOATS else t
                for t in made
            ]
        return made

    # State.

    def check_alive(self, array: Array) -> None:
        if self.alive:
            return
        raise TracingError(
            f"an array traced in {self.name!r} is used after that trace has ended, at\n"
            f"  {describe_place(user_place())}\n"
            f"it was made at\n  {describe_place(array._place)}\n"
            "A traced array lives only while its function is traced: return it from the function "
            "instead of "
            "keeping it in a global, an attribute or a list outside."
        )


class WeakArray(Array):
    """Made of Python numbers only, and built in each dtype in which it is used."""

    def __init__(self, trace: Trace, scalar_type: type):
        self._trace = trace
        self._scalar_type = scalar_type
        self._weak = scalar_type
        self._place = user_place()
        self._made: dict[DType, Any] = {}

    def _build(self, dtype: DType) -> Any:
        """The builder's tensor in a dtype that holds the numbers."""
        raise NotImplementedError

    @property
    def dtype(self) -> DType:
        return WEAK_DTYPES[self._scalar_type]

    @property
    def _tensor(self) -> Any:  # type: ignore[override]
        return self._tensor_as(self.dtype)

    def _tensor_as(self, dtype: DType) -> Any:
        """None where the dtype may not hold the numbers, floats as integers: the caller casts."""
        if self._scalar_type is float and dtype.kind != "float":
            return None
        if dtype not in self._made:
            self._made[dtype] = self._build(dtype)
        return self._made[dtype]


class WeakArgument(WeakArray):
    """A Python number passed as an argument."""

    def __init__(self, trace: Trace, leaf: int, name: str, scalar_type: type):
        super().__init__(trace, scalar_type)
        self._leaf = leaf
        self._name = name

    def _build(self, dtype: DType) -> Any:
        return self._trace._declare_scalar(self._leaf, self._name, dtype)

    @property
    def shape(self) -> tuple[Any, ...]:
        return ()

    @property
    def ndim(self) -> int:
        return 0


def is_recording() -> bool:
    """False under torch.no_grad() and torch.inference_mode()."""
    enabled = getattr(sys.modules.get("torch"), "is_grad_enabled", None)
    return enabled is None or bool(enabled())


@contextmanager
def recording() -> Iterator[None]:
    """Torch's gradient mode switched on: what is traced is for calls in either, so that only what
    the function itself switches off counts."""
    torch = sys.modules.get("torch")
    if is_recording() or torch is None:
        yield
        return
    with torch.inference_mode(False), torch.enable_grad():
        yield


_state = threading.local()


def current_trace() -> Trace | None:
    """The trace that this thread is in, or None."""
    stack = getattr(_state, "stack", None)
    return stack[-1] if stack else None


@contextmanager
def tracing(trace: Trace) -> Iterator[Trace]:
    stack = _state.__dict__.setdefault("stack", [])
    stack.append(trace)
    try:
        yield trace
    finally:
        stack.pop()
        trace.alive = False
