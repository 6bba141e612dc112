"""What the process has compiled and found (stats), and when (profile)."""

from __future__ import annotations

import os
from types import TracebackType
from typing import Any

from . import _core


def stats() -> dict[str, Any]:
    """Counts of all functions of this process so far.

    Kernels: `compiled`, `memory_hits`, `disk_hits` and `layer_hits` (found in the disk cache, in a
    read-only layer of it), `healed` (compiled in place of a damaged entry), `compile_ms` in
    compilers. `fallbacks` and `boundaries` count the reason codes of explain(). docs/explain.md has
    the other counts. A call whose shapes its thread has had before counts nothing.
    """
    counts = _core.total_stats()
    del counts["verify"]  # which is of single functions
    return counts


class profile:
    """Writes a trace of what runs inside of a with statement, as JSON that Perfetto shows.

    with jitfuse.profile("trace.json"):
        f(x)

    Stages of compiling, calls and launches by thread, and on a GPU what it did when. One at a time
    in a process. "%p" in the path becomes the number of the process. docs/trace.md.
    """

    def __init__(self, path: str | bytes | os.PathLike[str] | os.PathLike[bytes]):
        self._path = os.fsencode(path)

    def __enter__(self) -> profile:
        _core.start_trace(self._path)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        _core.stop_trace()
