"""The library's log in Python's logger "jitfuse"; JITFUSE_LOG=1..3 sets how much, as in C++.

Warnings always go there. Without JITFUSE_LOG the level of the logger decides what is shown; with it
the logger is opened as far, and a handler for stderr is added if there is none. The module logging
is imported with the first message, since that takes longer than the rest of jitfuse.
"""

from __future__ import annotations

import os
import sys
from typing import Any

from . import _core
from ._fork import loading

_WARNING, _INFO, _DEBUG = 30, 20, 10  # as in logging


def _level(library_level: int) -> int:
    """A level of logging; the library's are 0 (warnings), 1 (info), 2 and 3 (debug)."""
    return (_WARNING, _INFO, _DEBUG)[min(library_level, 2)]


def _log(level: int, message: str, *args: Any) -> None:
    with loading:
        import logging

    logging.getLogger("jitfuse").log(level, message, *args)


def _sink(level: int, message: str) -> None:
    _log(_level(level), "%s", message)


def warning(message: str, *args: Any) -> None:
    _log(_WARNING, message, *args)


def debug(message: str, *args: Any) -> None:
    if "logging" in sys.modules:  # else nobody has asked for it
        _log(_DEBUG, message, *args)


def library_level() -> int:
    """What JITFUSE_LOG says; 0 where it says nothing, or what the library does not take."""
    return _parse(os.environ.get("JITFUSE_LOG", "")) or 0


def _parse(text: str) -> int | None:
    """As ir/support/flags.cc takes it; None where it does not."""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit()):
        return None
    digits = digits.lstrip("0") or "0"
    if len(digits) > 10 or int(digits) >= 2**31 or (digits != "0" and text[0] == "-"):
        return None
    return int(digits)


def start() -> None:
    """Called once, at import."""
    level = library_level()
    _core.set_log(level, _sink)
    if level:
        import logging

        logger = logging.getLogger("jitfuse")
        logger.setLevel(_level(level))
        if not logger.hasHandlers():
            logger.addHandler(logging.StreamHandler())
    text = os.environ.get("JITFUSE_LOG", "")
    if text and _parse(text) is None:  # as ir/support/flags.cc says it
        warning(
            "JITFUSE_LOG=%s: expected a whole number from 0 on; the variable counts as not set",
            text,
        )
