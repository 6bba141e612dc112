"""What a jitted function makes of given arguments: text, groups, sources, costs."""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from . import _core
from ._jit import place_statics
from ._pytree import unflatten
from ._outside import Outside
from ._tracer import Entry

if TYPE_CHECKING:
    from ._bound import BoundFunction
    from ._jit import Call, JitFunction


class Explanation(str):
    """The text of an explanation: printed as it is, in a notebook in a fixed-width block."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(str(self))}</pre>"


class Lowered:
    """One function for one set of arguments, before it is compiled."""

    def __init__(self, function: JitFunction, call: Call, entry: Entry):
        self._function = function
        self._call = call
        self._entry = entry
        if entry.function is None:
            raise ValueError(f"{function!r} returns no arrays, so nothing is compiled")
        self._arguments = entry.arguments(call.leaves)
        self._all_arguments = entry.all_arguments(call.leaves)

    def __repr__(self) -> str:
        return f"<jitfuse.Lowered of {self._function!r}>"

    def text(self) -> Explanation:
        """The graph, as graph text (docs/text.md)."""
        return Explanation(self._entry.text)

    def explain(self) -> Explanation:
        """What was fused into which kernels, the bytes that they move, and the reason of every
        boundary."""
        notes = "".join(f"note: {note}\n" for note in self._entry.notes)
        return Explanation(self._entry.function.explain(self._arguments) + notes)

    def source(self, stage: str = "cuda", arch: str = "") -> Explanation:
        """The source of a stage: graph, groups, plan, cuda, llvm, ptx or sass; for an architecture
        such as sm_90."""
        return Explanation(
            _core.source_of(
                self._entry.text, self._all_arguments, stage, arch, **self._entry.options
            )
        )

    def cost_analysis(self) -> dict[str, Any]:
        """The numbers of explain() as a dict (docs/explain.md lists the keys)."""
        import json

        return json.loads(self._entry.function.explain_json(self._arguments))

    def bind(self, name: str | None = None, value: Any = None, /, **arrays: Any) -> Lowered:
        """The function with these arguments bound (JitFunction.bind), lowered for the others."""
        return _lower_bound(self._function, self._call, self._function.bind(name, value, **arrays))

    def compile(self) -> Compiled:
        """Compiles now, and gives what runs for these arguments' class without looking for the
        entry."""
        self._entry.function.warm(self._arguments)
        return Compiled(self._function, self._call, self._entry)


class Compiled(Outside):
    """A compiled function. It takes arguments of the structure, dtypes, sizes and static values it
    was lowered for."""

    def __init__(self, function: JitFunction, call: Call, entry: Entry):
        self._function = function
        self._call = call
        self._entry = entry

    def __repr__(self) -> str:
        return f"<jitfuse.Compiled of {self._function!r}>"

    def _call_slow(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        return self._entry.run(self._read(args, kwargs).leaves, out)

    def _read(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        """The arguments of a call that this was compiled for; else a TypeError."""
        call = self._function._read(args, kwargs)
        if call.key != self._call.key or not self._entry.matches(call.shapes):
            raise TypeError(
                f"{self._function!r} was compiled for other arguments: expected the same nesting, "
                "dtypes, ranks, "
                f"static values and constant sizes as in lower(); the graph is\n{self._entry.text}"
            )
        return call

    def bind(self, name: str | None = None, value: Any = None, /, **arrays: Any) -> Compiled:
        """The function with these arguments bound (JitFunction.bind), compiled for the others.
        They are of the dtypes and sizes that this was compiled for."""
        bound = self._function.bind(name, value, **arrays)
        given = {**_arguments_of(self._function, self._call), **bound.bound}
        whole = inspect.BoundArguments(self._function._signature, given)  # type: ignore[arg-type]
        self._read(whole.args, whole.kwargs)
        return _lower_bound(self._function, self._call, bound).compile()

    def stats(self) -> dict[str, Any]:
        """Counters of the library for this function: compiled, found, fallen back."""
        return self._entry.function.stats()


def _arguments_of(function: JitFunction, call: Call) -> dict[str, Any]:
    """The arguments of a call by name."""
    args, kwargs = unflatten(call.structure, iter(call.leaves))
    args = list(args)
    place_statics(call.static, args, kwargs)
    return dict(function._signature.bind(*args, **kwargs).arguments)


def _lower_bound(function: JitFunction, call: Call, bound: BoundFunction) -> Lowered:
    given = _arguments_of(function, call)
    rest = {n: v for n, v in given.items() if n in bound._signature.parameters}
    arguments = inspect.BoundArguments(bound._signature, rest)  # type: ignore[arg-type]
    return bound.lower(*arguments.args, **arguments.kwargs)
