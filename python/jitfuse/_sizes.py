"""Symbolic sizes of a trace: which are equal, which turned out to be constants, which to keep."""

from __future__ import annotations

from typing import Any

from ._dims import symbols_of
from ._trace import Trace

Dims = tuple[Any, ...]  # of one argument: ints and names of symbols


_MOST_REDUCED = 8  # symbols for sizes that no result has


class Classes:
    """Which symbols a trace found equal, and which it found to be constants."""

    def __init__(self, trace: Trace):
        self._parent = {name: name for name in trace.symbols}
        self._fixed: set[str] = set()
        for a, b in trace.builder.guards():
            if a in self._parent and b in self._parent:
                self._parent[self.root(a)] = self.root(b)
            elif a in self._parent or b in self._parent:  # equal to a number, or to an expression
                self._fixed |= symbols_of(a) | symbols_of(b)
            # Between expressions (an index within a symbolic axis): each call compares them.
        self._fixed |= set(trace.specialized)
        self._fixed = {self.root(name) for name in self._fixed if name in self._parent}
        self._differentiated = trace.differentiated
        self._asked = {self.root(name): place for name, place in trace.specialized.items()}

    def root(self, name: str) -> str:
        while self._parent[name] != name:
            name = self._parent[name]
        return name

    def asked(self, names: set[str]) -> list[tuple[str, int]]:
        """The lines of the function that asked for the number of one of these sizes."""
        return [place for root, place in self._asked.items() if root in names]

    def of(self, size: int | str) -> set[str]:
        return {self.root(s) for s in symbols_of(size)}

    def by_default(self, results: Any, dims: list[Dims | None]) -> set[str]:
        """The classes that are to be symbolic: those in the leading size of the first result that
        has such a size.

        Where none has, all are reduced (a loss, sums of columns): those that arguments begin with.
        So it is where gradients are computed, but for the sizes of what they are for: parameters,
        as a rule.
        If they are many, they are rather sizes of parameters than of data; then those that several
        arguments begin with.
        """
        for tensor in results[0] if not self._differentiated else ():
            found = self.of(tensor.dims[0]) if tensor.dims else set()
            if found - self._fixed:
                return found
        leading = [self.root(own[0]) for own in dims if own and isinstance(own[0], str)]
        asked = {root for root in leading if root in self._asked}  # constants, for a reason to say
        free = {root for root in leading if root not in self._fixed}
        data = free - {root for own in self._differentiated for d in own[:1] for root in self.of(d)}
        free = data or free
        if len(free) > _MOST_REDUCED:
            free = {root for root in free if leading.count(root) > 1}
        return asked | (free if len(free) <= _MOST_REDUCED else set())

    def resolve(
        self,
        dims: list[Dims | None],
        symbols: dict[str, int],
        wanted: set[str],
        keep_names: bool = False,
    ) -> tuple[list[Dims | None], dict[str, int]]:
        """The sizes with one symbol a class, and numbers for those that are fixed or not wanted.

        A class is called n, m, ... in the order in which they are met, or keeps its first name.
        """
        kept = {self.root(w) for w in wanted} - self._fixed
        names: dict[str, str] = {}  # by root, in the order in which they are met
        left: dict[str, int] = {}
        out: list[Dims | None] = []
        for own in dims:
            if own is None:
                out.append(None)
                continue
            new: list[Any] = []
            for d in own:
                if isinstance(d, str):
                    name, root, size = d, self.root(d), symbols[d]
                    d = size
                    if root in kept and symbols[root] == size:
                        d = names.setdefault(root, name if keep_names else symbol_name(len(names)))
                        left[d] = size
                new.append(d)
            out.append(tuple(new))
        return out, left


def symbol_name(number: int) -> str:
    return "nmkl"[number] if number < 4 else f"n{number}"
