"""The torch.autograd.Function of a split computation; loaded where torch is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch  # type: ignore[import-not-found,unused-ignore]

from . import _core
from ._autograd import FLOATS, Differentiable, as_torch


class Node:
    """One computation and the inputs whose gradients are asked for."""

    def __init__(self, graph: Differentiable, wrt: tuple[int, ...]):
        split = graph.split(wrt)
        self.graph = graph
        self.wrt = wrt
        self.forward = split.forward
        self.backward = split.backward
        self.random_ops = split.forward.random_ops
        self.saved: list[tuple[bool, int]] = split.saved
        self.cotangents: list[int] = split.cotangents
        self.num_inputs: int = self.forward.num_inputs
        self.num_outputs = len(graph.outputs)
        self.integers = [i for i, o in enumerate(graph.outputs) if o["dtype"] not in FLOATS]
        kept = {i for own, i in self.saved if own}
        self.not_kept = [i for i in range(self.num_inputs) if i not in kept]

    def __call__(self, arguments: tuple[Any, ...], rng: tuple[int, int] | None) -> tuple[Any, ...]:
        try:
            found = _apply(self, rng, *arguments)
        except RuntimeError as error:
            if "functorch" not in str(error):
                raise
            raise RuntimeError(
                f"{self.graph.name}: jitted functions take part in torch.autograd, not in the "
                "transforms of torch.func (grad, vjp, jacrev ...); use jitfuse.grad or jitfuse.vjp"
            ) from error
        return found if type(found) is tuple else (found,)

    def in_place(self, gradients: Sequence[Any]) -> tuple[Any, ...]:
        """What JitfuseFunction.backward returns: an entry for each argument of forward."""
        out: list[Any] = [None] * (2 + self.num_inputs)
        for i, g in zip(self.wrt, gradients):
            out[2 + i] = g if type(g) is torch.Tensor else as_torch(g)
        return tuple(out)

    def save(self, ctx: Any, arguments: Sequence[Any], results: Sequence[Any]) -> None:
        """What backward reads; and leaves, which live on anyway, as a rule, for second
        derivatives."""
        kept = [arguments[i] if own else results[i] for own, i in self.saved]
        more: list[int] = []
        for i in self.not_kept:
            x = arguments[i]
            if not isinstance(x, torch.Tensor) or x.is_leaf:
                more.append(i)
                kept.append(x)
        others = {at: x for at, x in enumerate(kept) if not isinstance(x, torch.Tensor)}
        for at in others:
            kept[at] = None
        ctx.save_for_backward(*kept)
        ctx.more, ctx.others = more, others

    def gradients_with_graph(
        self, kept: Sequence[Any], more: Sequence[int], cotangents: Sequence[Any], rng: Any
    ) -> tuple[Any, ...]:
        """As tensors that can be differentiated again. `kept`: what forward saved, then the inputs
        `more`."""
        arguments: dict[int, Any] = dict(zip(more, kept[len(self.saved) :]))
        arguments.update({i: x for (own, i), x in zip(self.saved, kept) if own})
        for i in self.not_kept:
            if i not in arguments:
                raise RuntimeError(
                    f"{self.graph.name}: second derivatives (create_graph=True) need argument "
                    f"{i} {self.graph.inputs[i]['name']!r} again, which is the result of another "
                    "operation and was not kept, since first ones do not; make both with "
                    "jitfuse.grad in one jitted function"
                )
        try:
            gradient = self.graph.gradient(self.wrt)
        except (ValueError, NotImplementedError) as error:
            raise RuntimeError(
                f"{self.graph.name}: there are no second derivatives (create_graph=True): {error}"
            ) from error
        return gradient(*[arguments[i] for i in range(self.num_inputs)], *cotangents, rng=rng)


class JitfuseFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, node: Node, rng: Any, *arguments: Any) -> Any:
        if rng is None and node.random_ops:
            rng = _core.rng_advance(node.random_ops)
        ctx.node, ctx.rng = node, rng
        if rng is None:
            results = node.forward.call(arguments)
        else:
            results = node.forward.call(arguments, seed=rng[0], offset=rng[1])
        if not isinstance(results[0], torch.Tensor):  # another library's array came first
            results = tuple([as_torch(r) for r in results])
        node.save(ctx, arguments, results)
        ctx.set_materialize_grads(False)
        if node.num_outputs == 1:
            return results[0]
        outputs = results[: node.num_outputs]
        ctx.forms = [(o.shape, o.dtype, o.device) for o in outputs]
        if node.integers:
            ctx.mark_non_differentiable(*[outputs[i] for i in node.integers])
        return outputs

    @staticmethod
    def jvp(ctx: Any, *tangents: Any) -> Any:
        """Refused; python/bindings/function.cc does so where nothing requires grad."""
        i = next(i for i, t in enumerate(tangents[2:]) if t is not None)
        graph = ctx.node.graph
        raise ValueError(
            f"{graph.name}: argument {i} {graph.inputs[i]['name']!r} has a tangent of "
            "torch.autograd.forward_ad, which would be lost: forward-mode differentiation does not "
            "go through Jitfuse; use jitfuse.grad or backward(), or pass unpack_dual(it).primal"
        )

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        node = ctx.node
        if gradients[0] is None and all(g is None for g in gradients):
            return (None,) * (2 + node.num_inputs)
        kept = ctx.saved_tensors
        if ctx.others:
            kept = [ctx.others.get(at, x) for at, x in enumerate(kept)]
        cotangents = gradients if node.num_outputs == 1 else _cotangents(ctx, gradients)
        if torch.is_grad_enabled():
            found = node.gradients_with_graph(kept, ctx.more, cotangents, ctx.rng)
        elif ctx.rng is None:
            found = node.backward.call((*kept[: len(node.saved)], *cotangents))
        else:
            seed, offset = ctx.rng
            arguments = (*kept[: len(node.saved)], *cotangents)
            found = node.backward.call(arguments, seed=seed, offset=offset)
        return node.in_place(found)


_apply = JitfuseFunction.apply


def _cotangents(ctx: Any, gradients: Sequence[Any]) -> list[Any]:
    """Those of float outputs; zeros where there is none."""
    out = []
    for i in ctx.node.cotangents:
        ct = gradients[i]
        if ct is None:
            shape, dtype, device = ctx.forms[i]
            ct = torch.zeros(shape, dtype=dtype, device=device)
        out.append(ct)
    return out
