"""show_config: versions, and the libraries that were found and missed."""

from __future__ import annotations

import platform
import sys

from . import _core


def show_config() -> None:
    """Prints versions, and what was found where, what is missing and how to get it."""
    print(
        f"jitfuse {_core.version}, Python {platform.python_version()}, {platform.machine()} "
        f"{sys.platform}"
    )
    for finding in _core.doctor():
        mark = "found  " if finding["found"] else "missing"
        print(f"{mark} {finding['what']} {finding['version']}".rstrip())
        for key in ("where", "remedy"):
            if finding[key] and (key == "where" or not finding["found"]):
                print(f"        {finding[key]}")


def cuda_available() -> bool:
    """True if functions can run on a CUDA device; show_config() says what is missing."""
    return _core.device_error("cuda") == ""
