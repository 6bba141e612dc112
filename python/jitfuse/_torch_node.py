"""The torch.autograd.Function of a split computation; loaded where torch is."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch  # type: ignore[import-not-found,unused-ignore]

from ._autograd import Differentiable, Rng, as_torch, draw
from ._outside import outside
from ._torch_state import TRANSFORMED
from ._trace import FLOATS


class Node:
    """One computation and the inputs whose gradients are asked for.

    Second derivatives. Where all that backward reads are arguments and outputs of the call, these
    are differentiable tensors themselves, and so is backward as a function of them: nothing more is
    kept. Else the gradient is computed again as a function of all arguments, and those of them that
    it reads are kept beside what backward reads.
    """

    def __init__(self, graph: Differentiable, wrt: tuple[int, ...]):
        split = graph.split(wrt)
        self.graph = graph
        self.wrt = wrt
        self.forward = split.forward
        self.backward = split.backward
        self.saved: list[tuple[bool, int]] = split.saved
        self.cotangents: list[int] = split.cotangents
        self.num_inputs: int = self.forward.num_inputs
        self.num_outputs = len(graph.outputs)
        self.integers = [i for i, o in enumerate(graph.outputs) if o["dtype"] not in FLOATS]
        self.no_hidden = all(own or i < self.num_outputs for own, i in self.saved)
        self.more: list[int] = [] if self.no_hidden else self._read_by_second()

    def _read_by_second(self) -> list[int]:
        """The arguments that the gradient as a function of all of them reads, and backward does
        not."""
        try:
            read = self.graph.read_by_gradient(self.wrt)
        except (ValueError, NotImplementedError):  # there is none, which is an error when asked for
            return []
        kept = {i for own, i in self.saved if own}
        return [i for i in range(self.num_inputs) if i in read and i not in kept]

    def __call__(self, arguments: tuple[Any, ...], rng: Rng | None) -> tuple[Any, ...]:
        try:
            found = _apply(self, rng, *arguments)
        except RuntimeError as error:
            if "functorch" not in str(error):
                raise
            raise RuntimeError(f"{self.graph.name}: an argument {TRANSFORMED}") from error
        return found if type(found) is tuple else (found,)

    def in_place(self, gradients: Sequence[Any]) -> tuple[Any, ...]:
        """What JitfuseFunction.backward returns: an entry for each argument of forward."""
        out: list[Any] = [None] * (2 + self.num_inputs)
        for i, g in zip(self.wrt, gradients):
            out[2 + i] = g if type(g) is torch.Tensor else as_torch(g)
        return tuple(out)

    def save(self, ctx: Any, arguments: Sequence[Any], results: Sequence[Any]) -> None:
        """What backward reads, then what only second derivatives do."""
        kept = [arguments[i] if own else results[i] for own, i in self.saved]
        kept += [arguments[i] for i in self.more]
        others = {at: x for at, x in enumerate(kept) if not isinstance(x, torch.Tensor)}
        for at in others:
            kept[at] = None
        ctx.save_for_backward(*kept)
        ctx.others = others

    def kept(self, ctx: Any) -> Sequence[Any]:
        try:
            found = ctx.saved_tensors
        except RuntimeError:
            if not self.more or torch.is_grad_enabled():
                raise
            # One may have been changed in place that first derivatives do not read.
            found = _each(ctx._raw_saved_tensors[: len(self.saved)])
            if found is None:
                raise
        return [ctx.others.get(at, x) for at, x in enumerate(found)] if ctx.others else found

    def gradients(
        self, kept: Sequence[Any], cotangents: Sequence[Any], rng: Rng | None
    ) -> Sequence[Any]:
        if torch.is_grad_enabled():
            return self._gradients_with_graph(kept, cotangents, rng)
        found: Sequence[Any] = self.backward.call((*kept[: len(self.saved)], *cotangents), rng=rng)
        return found

    def _gradients_with_graph(
        self, kept: Sequence[Any], cotangents: Sequence[Any], rng: Rng | None
    ) -> tuple[Any, ...]:
        """As tensors that can be differentiated again."""
        if self.no_hidden:
            return self.graph.backward(self.wrt)(*kept, *cotangents, rng=rng)
        try:
            gradient = self.graph.gradient(self.wrt)
        except (ValueError, NotImplementedError) as error:
            raise RuntimeError(
                f"{self.graph.name}: there are no second derivatives (create_graph=True): {error}. "
                "Make both with jitfuse.grad in one jitted function"
            ) from error
        arguments: dict[int, Any] = dict(zip(self.more, kept[len(self.saved) :]))
        arguments.update({i: x for (own, i), x in zip(self.saved, kept) if own})
        return gradient(*[arguments[i] for i in gradient.read], *cotangents, rng=rng)


def _each(saved: Sequence[Any]) -> list[Any] | None:
    """The tensors of torch's SavedTensors, those alone; None where torch does not give them."""
    try:
        return [s.unpack() for s in saved]
    except (AttributeError, RuntimeError):
        return None


class JitfuseFunction(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, node: Node, rng: Any, *arguments: Any) -> Any:
        if rng is None:
            rng = draw(node.forward, arguments)
        ctx.node, ctx.rng = node, rng
        results = node.forward.call(arguments, rng=rng)
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
    @outside
    def backward(ctx: Any, *gradients: Any) -> Any:
        node = ctx.node
        if gradients[0] is None and all(g is None for g in gradients):
            return (None,) * (2 + node.num_inputs)
        kept = node.kept(ctx)
        cotangents = gradients if node.num_outputs == 1 else _cotangents(ctx, gradients)
        try:
            found = node.gradients(kept, cotangents, ctx.rng)
        except (TypeError, ValueError):
            if any(map(_is_transformed, cotangents)):
                raise RuntimeError(f"{node.graph.name}: a cotangent {TRANSFORMED}") from None
            if not any(map(_is_odd, cotangents)):
                raise
            found = node.gradients(kept, [_plain(ct) for ct in cotangents], ctx.rng)
        return node.in_place(found)


_apply = JitfuseFunction.apply


def _is_transformed(t: Any) -> bool:
    """Whether it is of torch.func, or of the vmap before it, which is_grads_batched=True uses."""
    return bool(
        torch._C._functorch.is_functorch_wrapped_tensor(t)
        or "Batched" in str(torch._C._dispatch_keys(t))
    )


def _is_odd(t: Any) -> bool:
    """Whether its memory, if it has any, is not its value."""
    return t.layout is not torch.strided or t.is_neg() or t._is_zerotensor()


def _plain(t: Any) -> Any:
    if t.layout is not torch.strided:
        return t.to_dense()
    if t._is_zerotensor():
        return torch.zeros(t.shape, dtype=t.dtype, device=t.device)
    return t.resolve_neg()


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
