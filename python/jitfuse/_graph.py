"""Graph: graph text (docs/text.md) as a function."""

from __future__ import annotations

from typing import Any

from . import _core
from ._arguments import device_of
from ._lowered import Explanation
from ._outside import outside


class Graph:
    """A graph from its text: `Graph.parse(text).run(x, y)`."""

    def __init__(self, text: str, inputs: list[dict[str, Any]]):
        self._text = text
        self._inputs = inputs
        self._functions: dict[Any, Any] = {}

    @classmethod
    def parse(cls, text: str) -> Graph:
        """The graph; a ValueError with line and column if the text is none."""
        return cls(text, _core.parse_inputs(text))

    @property
    def text(self) -> str:
        return self._text

    @property
    def inputs(self) -> list[dict[str, Any]]:
        """Name, dtype, dims of each input, in the order of run's arguments."""
        return self._inputs

    def __repr__(self) -> str:
        return f"<jitfuse.Graph of {', '.join(i['name'] for i in self._inputs)}>"

    def run(self, *args: Any, out: Any = None, **options: Any) -> Any:
        """The results for these arguments: one, or a tuple. options: those of jit but dynamic and
        static ones."""
        return _run(self, args, out, options)

    def explain(self, *args: Any, **options: Any) -> Explanation:
        """What was fused into which kernels for these arguments, and why not more."""
        return Explanation(self._compiled(args, options).explain(args))

    def source(
        self, *args: Any, stage: str = "cuda", arch: str = "", **options: Any
    ) -> Explanation:
        """The source of a stage: graph, groups, plan, cuda, llvm, ptx or sass."""
        options["device"] = device_of(options.get("device", "auto"), args)
        return Explanation(_core.source_of(self._text, args, stage, arch, **options))

    def evaluate(self, *args: Any) -> Any:
        """The results by the reference evaluator: slow, and what the ops mean."""
        results = tuple(_core.evaluate(self._text, args))
        return results[0] if len(results) == 1 else results

    def _compiled(self, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        options = {**options, "device": device_of(options.get("device", "auto"), args)}
        key = tuple(sorted(options.items()))
        if key not in self._functions:
            self._functions[key] = _core.compile_text(self._text, **options)
        return self._functions[key]


@outside
def _run(graph: Graph, args: tuple[Any, ...], out: Any, options: dict[str, Any]) -> Any:
    outs = None if out is None else tuple(out) if isinstance(out, (tuple, list)) else (out,)
    results = tuple(graph._compiled(args, options).call(args, outs))
    return results[0] if len(results) == 1 else results
