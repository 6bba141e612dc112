"""What lets a child of fork() call jitted functions, whatever other threads were doing.

A child has only the thread that forked, so a lock that another thread held stays locked there for
good. Locks of this package are ForkLocks. Python's own lock of a module that is being imported
cannot be made anew, so a fork waits for imports that calls cause: whoever imports inside of a
function that a call may reach does it under `loading`.
"""

from __future__ import annotations

import os
import threading
from types import TracebackType
from weakref import WeakSet


class ForkLock:
    """A lock that a thread may take several times; a child of fork() finds it free, unless the
    thread that forked has it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def acquire(self, blocking: bool = True) -> bool:
        return self._lock.acquire(blocking)

    def release(self) -> None:
        self._lock.release()

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        self._lock.release()

    def renew(self) -> None:
        """In a child, whose only thread calls: frees it of a thread that is not here."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()


_locks: WeakSet[ForkLock] = WeakSet()
loading = ForkLock()


def _in_child() -> None:
    loading.release()
    for lock in _locks:
        lock.renew()


os.register_at_fork(
    before=loading.acquire, after_in_parent=loading.release, after_in_child=_in_child
)
