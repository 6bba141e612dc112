"""A compiled function as a node of torch's autograd.

Where an argument of a call requires grad, the computation runs as two functions: forward, which
also gives what the backward one reads, and backward, when torch asks for gradients, with the random
numbers of the forward call. They are made once for each set of arguments that require grad. Saved
tensors are torch's (save_for_backward), so that changes in place are noticed and hooks work. Second
derivatives (create_graph=True) come from the gradient as a function of its own.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from . import _core
from ._fork import loading
from ._trace import FLOATS

Rng = tuple[int, int, Any]  # as _core.rng_draw gives it
_HIDDEN = ("rng_seed", "rng_offset")  # inputs that no caller passes


class Differentiable:
    """The graph of a compiled function, to be split into forward and backward."""

    def __init__(
        self,
        function: Any,
        text: str,
        options: dict[str, Any],
        split: Callable[[tuple[int, ...]], Any] | None = None,
    ):
        self._function = function  # the _core.Function of the graph
        self._text = text
        self._options = options
        self._make = split  # where the graph has more than its text
        self._splits: dict[tuple[int, ...], Any] = {}
        self._nodes: dict[tuple[int, ...], Any] = {}
        self._texts: dict[tuple[int, ...], tuple[str, list[int]]] = {}
        self._gradients: dict[tuple[int, ...], PartialGradient] = {}
        self._backwards: dict[tuple[int, ...], Differentiable] = {}
        self._has_floats = any(o["dtype"] in FLOATS for o in function.outputs)

    def names(self, wrt: Sequence[int]) -> list[str]:
        inputs = self.inputs
        return [inputs[i]["name"] for i in wrt]

    def split(self, wrt: tuple[int, ...]) -> Any:
        """The _core.Split for the gradients of these inputs."""
        found = self._splits.get(wrt)
        if found is None:
            if self._make is not None:
                found = self._make(wrt)
            else:
                found = _core.split_text(self._text, self.names(wrt), **self._options)
            self._splits[wrt] = found
        return found

    def functions(self) -> list[Any]:
        """Those that recorded calls have run: forward and backward ones."""
        found = [f for s in list(self._splits.values()) for f in (s.forward, s.backward)]
        for more in (*list(self._gradients.values()), *list(self._backwards.values())):
            found += more.functions()
        return found

    def backward(self, wrt: tuple[int, ...]) -> Differentiable:
        """The backward function of split(wrt), to be differentiated again."""
        found = self._backwards.get(wrt)
        if found is None:
            function = self.split(wrt).backward
            found = Differentiable(function, function.to_text(), self._options)
            self._backwards[wrt] = found
        return found

    def read_by_gradient(self, wrt: tuple[int, ...]) -> list[int]:
        """The inputs that the gradient of these reads."""
        return self._gradient_text(wrt)[1]

    def gradient(self, wrt: tuple[int, ...]) -> PartialGradient:
        """The gradients of these inputs as a function of the inputs that they need, then the
        cotangents."""
        found = self._gradients.get(wrt)
        if found is None:
            text, read = self._gradient_text(wrt)
            function = _core.compile_text(text, **self._options)
            found = self._gradients[wrt] = PartialGradient(function, text, self._options, read)
        return found

    def _gradient_text(self, wrt: tuple[int, ...]) -> tuple[str, list[int]]:
        found = self._texts.get(wrt)
        if found is None:
            text = _core.gradient_text(self._text, self.names(wrt))
            found = self._texts[wrt] = _without_unread(text, len(self.inputs))
        return found

    def __call__(self, *arguments: Any, rng: Rng | None = None) -> tuple[Any, ...]:
        """The outputs for these arguments, some of which may be tensors that require grad.

        rng: the random numbers; None: the next ones.
        """
        wrt = tuple([i for i, a in enumerate(arguments) if getattr(a, "requires_grad", False)])
        if not self._has_floats or not wrt:
            return self._unrecorded(arguments, rng)
        node = self._nodes.get(wrt)
        if node is None:
            with loading:
                from ._torch_node import Node

            node = self._nodes[wrt] = Node(self, wrt)
        found: tuple[Any, ...] = node(arguments, rng)
        return found

    def _unrecorded(self, arguments: Any, rng: Rng | None) -> tuple[Any, ...]:
        import torch

        if rng is None:
            rng = draw(self._function, arguments)
        with torch.no_grad():
            found: tuple[Any, ...] = self._function.call(arguments, rng=rng)
        return found

    @property
    def name(self) -> str:
        return str(self._function.name)

    @property
    def inputs(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._function.inputs
        return found

    @property
    def outputs(self) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self._function.outputs
        return found


class PartialGradient(Differentiable):
    """A gradient without the inputs that it does not need."""

    def __init__(self, function: Any, text: str, options: dict[str, Any], read: list[int]):
        super().__init__(function, text, options)
        self.read = read  # the inputs' numbers in the graph that the gradient is of


def _without_unread(text: str, count: int) -> tuple[str, list[int]]:
    """Graph text without those of the first `count` inputs that nothing reads and no size comes
    from; and the numbers of the others."""
    head, body = text.split("{", 1)
    before, rest = head.split("(", 1)
    signature, results = rest.rsplit(") -> (", 1)
    inputs = re.split(r",\s*(?=%)", signature.strip())
    names = [part[1 : part.index(":")] for part in inputs]
    words = set(re.findall(r"%(\w+)", body))
    dims = {i["name"]: {d for d in i["dims"] if not d.isdigit()} for i in _core.parse_inputs(text)}
    passed = [name for name in names if name not in _HIDDEN]
    needed = set(passed[count:]) | (words & set(passed))
    known = {d for name in needed for d in dims[name]}
    for name in passed:
        if name not in needed and not dims[name] <= known:
            needed.add(name)
            known |= dims[name]
    kept = [part for part, name in zip(inputs, names) if name in needed or name in _HIDDEN]
    made = f"{before}({', '.join(kept)}) -> ({results}{{{body}"
    return made, [i for i, name in enumerate(passed[:count]) if name in needed]


def draw(function: Any, arguments: Sequence[Any]) -> Rng | None:
    """The random numbers of a call of a _core.Function that has random ops."""
    count = function.random_ops
    return _core.rng_draw(arguments, count) if count else None


def is_torch(value: Any) -> bool:
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def as_torch(value: Any) -> Any:
    import torch

    return value if isinstance(value, torch.Tensor) else torch.from_dlpack(value)


def wants_grad(values: Sequence[Any]) -> bool:
    """Whether torch would record what is done with these."""
    torch = sys.modules.get("torch")
    if torch is None:
        return False
    return any(isinstance(v, torch.Tensor) and v.requires_grad for v in values) and bool(
        torch.is_grad_enabled()
    )
