"""The library's log in Python's logger "jitfuse"; JITFUSE_LOG=1..3 sets how much, as in C++.

Warnings always go there. Without JITFUSE_LOG the level of the logger decides what is shown; with it
the logger is opened as far, and a handler for stderr is added if there is none.
"""

from __future__ import annotations

import logging
import os

from . import _core

logger = logging.getLogger("jitfuse")
_LEVELS = {0: logging.WARNING, 1: logging.INFO}  # 2 and 3: debug


def _sink(level: int, message: str) -> None:
    logger.log(_LEVELS.get(level, logging.DEBUG), "%s", message)


def start() -> None:
    """Called once, at import."""
    text = os.environ.get("JITFUSE_LOG", "")
    level = int(text) if text.isdigit() else 0
    _core.set_log(level, _sink)
    if level:
        logger.setLevel(_LEVELS.get(level, logging.DEBUG))
        if not logger.hasHandlers():
            logger.addHandler(logging.StreamHandler())
