"""Outside: a callable whose Python code torch's compiler does not look at.

A function under torch.compile that calls one is cut in two there (a graph break), as it is at calls
of jitted functions. What Jitfuse does in Python, tracing say, would be compiled itself otherwise,
or fail in the compiler.
"""

from __future__ import annotations

import copyreg
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from . import _core

F = TypeVar("F", bound=Callable[..., Any])


class Outside(_core.JitFunction):
    """Calls come to _call_slow, with torch's compiler switched off: the base class sees to it."""

    if TYPE_CHECKING:

        def __call__(self, *args: Any, **kwargs: Any) -> Any: ...

    def __reduce__(self) -> Any:
        return copyreg.__newobj__, (type(self),), self.__dict__  # type: ignore[attr-defined]


class _Function(Outside):
    def __init__(self, function: Callable[..., Any]):
        functools.update_wrapper(self, function)
        self._call_slow = function

    def __repr__(self) -> str:
        return repr(self._call_slow)

    def __reduce__(self) -> str:
        return str(self._call_slow.__qualname__)


def outside(function: F) -> F:
    """The function as an Outside; a decorator. Not for methods."""
    return cast(F, _Function(function))
