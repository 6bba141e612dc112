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


class Loading:
    """Imports that go on: `with loading: import x`. A fork waits until no other thread is inside.
    Any number of threads may be, also while a fork waits: one may hold the lock of a module that
    another imports."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._inside: dict[int, int] = {}  # by thread, how often

    def __enter__(self) -> None:
        me = threading.get_ident()
        with self._changed:
            self._inside[me] = self._inside.get(me, 0) + 1

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        me = threading.get_ident()
        with self._changed:
            self._inside[me] -= 1
            if self._inside[me] == 0:
                del self._inside[me]
                self._changed.notify_all()

    def before_fork(self) -> None:
        self._changed.acquire()
        self._changed.wait_for(lambda: self._inside.keys() <= {threading.get_ident()})

    def after_in_parent(self) -> None:
        self._changed.release()

    def after_in_child(self) -> None:
        self._changed = threading.Condition()  # without those that wait in the parent


_locks: WeakSet[ForkLock] = WeakSet()
loading = Loading()


def _after_in_child() -> None:
    loading.after_in_child()
    for lock in _locks:
        lock.renew()


os.register_at_fork(
    before=loading.before_fork,
    after_in_parent=loading.after_in_parent,
    after_in_child=_after_in_child,
)
