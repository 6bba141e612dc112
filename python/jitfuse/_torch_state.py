"""What torch's own state means to a call: whose random numbers it draws, and the modes in which it
would be lost. Loaded where a call has torch's tensors and asks for one of these."""

from __future__ import annotations

import sys
import threading
from typing import Any

import torch  # type: ignore[import-not-found,unused-ignore]

from ._fork import ForkLock

_MASK = 2**64 - 1
# The versions whose C++ functions python/bindings/torch_cxx.cc was run with: their names do not say
# what they return.
_FIRST, _LAST = (2, 11), (2, 13)
_drawing = ForkLock()
_own = threading.local()


def draw(tensor: Any, count: int) -> tuple[int, int, Any]:
    """Seed, offset and, in place of both, a tensor with them or None: for a call of a function
    with so many random ops, from torch's generator for the tensor's device, which moves on.

    On a GPU seed and offset are the generator's, as they are for torch's own kernels. While a CUDA
    graph is captured they cannot be asked for: then an operator of torch draws both in the graph,
    anew in every replay.
    """
    if not tensor.is_cuda:
        return _word().random_().item(), 0, None
    if is_capturing():
        state = torch.empty(2, dtype=torch.int64, device=tensor.device).random_()
        return 0, 0, state
    generator = torch.cuda.default_generators[tensor.device.index]
    with _drawing:
        offset = generator.get_offset()
        generator.set_offset(offset + (count + 3) // 4 * 4)  # torch wants multiples of 4
    return mixed(generator.initial_seed()), offset, None


def _word() -> Any:
    """This thread's place to draw into: to make one takes longer than to draw."""
    try:
        return _own.word
    except AttributeError:
        with torch.inference_mode(False):
            _own.word = torch.empty((), dtype=torch.int64, device="cpu")
        return _own.word


def is_capturing() -> bool:
    return bool(torch.cuda.is_current_stream_capturing())


def mixed(seed: int) -> int:
    """Another key than torch's own kernels have, which use the same generator, Philox, and count
    otherwise: no numbers of theirs come again. (The last steps of SplitMix64.)"""
    z = (seed + 0x9E3779B97F4A7C15) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def samples() -> list[Any]:
    """Tensors on which torch's C++ functions are tried that a call uses in place of Python's: of
    several layouts, with a gradient and without, negative and not. None of a torch that they were
    not run with."""
    if not _FIRST <= tuple(map(int, torch.__version__.split(".")[:2])) <= _LAST:
        return []
    with (
        torch._C._DisableTorchDispatch(),
        torch._C._DisableFuncTorch(),
        torch.inference_mode(False),
        torch.no_grad(),
    ):
        made = [
            torch.ones(3, device="cpu"),
            torch.ones(2, 5, dtype=torch.float64, device="cpu", requires_grad=True),
            torch.ones((), dtype=torch.bfloat16, device="cpu"),
            torch.ones(2, 1, 2, 1, 2, 1, dtype=torch.int16, device="cpu").transpose(0, 5),
            torch.nn.Parameter(torch.ones(4, device="cpu")),
        ]
        return made + [torch._neg_view(t) for t in made] + [t[:0] for t in made if t.dim() > 0]


def check_not_recorded(name: str) -> None:
    """RuntimeError where torch records operators, among which a call would not be: its results
    would be constants of what is recorded."""
    recorder = _recorder()
    if recorder is not None:
        raise RuntimeError(
            f"{name}: {recorder} is recording torch's operators, and would keep the results of a "
            "jitted function as constants; record the function without jitfuse.jit, or call "
            "the jitted one outside of what is recorded"
        )


def _recorder() -> str | None:
    tracer = sys.modules.get("torch.jit")
    if tracer is not None and tracer.is_tracing():
        return "torch.jit.trace"
    proxies = sys.modules.get("torch.fx.experimental.proxy_tensor")
    if proxies is not None and proxies.get_proxy_mode() is not None:
        return "make_fx (a ProxyTorchDispatchMode)"
    return None


def check_tensor(tensor: Any, place: str) -> None:
    """An error for a tensor that has no memory of its own, where that is known: it belongs to a
    transform of torch.func, or torch knows it to be zero. place: "f: argument 0 'x'"."""
    functorch = torch._C._functorch
    if functorch.is_functorch_wrapped_tensor(tensor) or torch._is_functional_tensor(tensor):
        raise RuntimeError(f"{place}: it {TRANSFORMED}")
    if tensor._is_zerotensor():
        raise ValueError(
            f"{place}: it has no memory, since torch knows all of it to be zero "
            "(torch._efficientzerotensor, gradients that torch made); pass .clone()"
        )


TRANSFORMED = (
    "is in a transform of torch.func (grad, vjp, jacrev, jvp, vmap, functionalize ...), which "
    "jitted functions do not take part in; use jitfuse.grad or jitfuse.vjp, and for vmap a "
    "function of the whole batch"
)
