"""Errors of tracing, and where in the user's code they come from."""

from __future__ import annotations

import linecache
import os
import sys
from types import FrameType

PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class TracingError(TypeError):
    """A traced array was used where its values are needed, or outside its trace."""


def user_place() -> tuple[str, int]:
    """File and line of the innermost frame that is not Jitfuse's, NumPy's or torch's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(PACKAGE) and not _is_library(frame.f_globals.get("__name__", "")):
            return name, frame.f_lineno
        frame = frame.f_back
    return "?", 0


def _is_library(module: str) -> bool:
    return module.split(".")[0] in ("numpy", "torch")


def describe_place(place: tuple[str, int]) -> str:
    """'file.py:12: `if x > 0:`'."""
    line = linecache.getline(*place).strip()
    return f"{place[0]}:{place[1]}" + (f": `{line}`" if line else "")


def needs_values(what: str, array: object, instead: str) -> TracingError:
    """The error of an operation that needs the numbers which a traced array does not have yet."""
    return TracingError(
        f"{what} needs the values of {array!r}, which are not known while the function is traced, "
        "at\n"
        f"  {describe_place(user_place())}\n{instead}"
    )
