"""A compiled function as a node of torch's autograd.

Where an argument of a call requires grad, the computation runs as two functions: forward, which
also gives what the backward one reads, and backward, when torch asks for gradients, with the random
numbers of the forward call. They are made once for each set of arguments that require grad. Saved
tensors are torch's (save_for_backward), so that changes in place are noticed and hooks work. Second
derivatives (create_graph=True) come from the gradient as a function of its own.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from . import _core

FLOATS = ("f16", "bf16", "f32", "f64")


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
        self._gradients: dict[tuple[int, ...], Differentiable] = {}
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
        for gradient in list(self._gradients.values()):
            found += gradient.functions()
        return found

    def gradient(self, wrt: tuple[int, ...]) -> Differentiable:
        """The gradients of these inputs as a function of all inputs, then the cotangents."""
        found = self._gradients.get(wrt)
        if found is None:
            text = _core.gradient_text(self._text, self.names(wrt))
            function = _core.compile_text(text, **self._options)
            found = self._gradients[wrt] = Differentiable(function, text, self._options)
        return found

    def __call__(self, *arguments: Any, rng: tuple[int, int] | None = None) -> tuple[Any, ...]:
        """The outputs for these arguments, some of which are tensors that require grad.

        rng: seed and offset of random numbers; None: the next of the process.
        """
        if not self._has_floats:
            return self._unrecorded(arguments, rng)
        wrt = tuple([i for i, a in enumerate(arguments) if getattr(a, "requires_grad", False)])
        node = self._nodes.get(wrt)
        if node is None:
            from ._torch_node import Node

            node = self._nodes[wrt] = Node(self, wrt)
        found: tuple[Any, ...] = node(arguments, rng)
        return found

    def _unrecorded(self, arguments: Any, rng: tuple[int, int] | None) -> tuple[Any, ...]:
        import torch

        seed, offset = rng or _core.rng_advance(self._function.random_ops)
        with torch.no_grad():
            found: tuple[Any, ...] = self._function.call(arguments, seed=seed, offset=offset)
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
