"""A chain of linear layers as one jitted function of torch tensors; or by plain torch, and why.

What a call costs matters here: only the input is looked at before a call. Parameters that the
kernels do not take make the call fail, and the reason is looked for then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch  # type: ignore[import-not-found,unused-ignore]
import torch.nn.functional as F  # type: ignore[import-not-found,unused-ignore]

import jitfuse as jf

from .. import _logging
from .._array import Array
from ..fused._make import ACTIVATIONS, activate

_PLAIN: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(F, name) for name in ACTIVATIONS if name not in ("gelu_tanh", "squared_relu")},
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "squared_relu": lambda x: F.relu(x).square(),
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
}
_FLOATS = frozenset([torch.float16, torch.bfloat16, torch.float32, torch.float64])
_NAMES = {torch.float16: "float16", torch.bfloat16: "bfloat16", torch.float32: "float32"}
_TENSORS = (torch.Tensor, torch.nn.Parameter)
_logged: set[tuple[str, str]] = set()


class Layer(NamedTuple):
    """One linear layer and what follows it."""

    weight: Any
    bias: Any
    activation: str | None
    p: float  # of dropout; 0 where there is none, or in evaluation


def _chain(
    input: Any,
    parameters: Any,
    activations: tuple[str | None, ...],
    drops: tuple[float, ...],
    dtype: str | None,
) -> Any:
    """The layers on traced arrays; dtype: that of autocast, which all are cast to."""

    def cast(x: Any) -> Any:
        return x if dtype is None or x is None else jf.astype(x, getattr(jf, dtype))

    x = cast(jf.asarray(input))
    for i, (activation, p) in enumerate(zip(activations, drops)):
        weight, bias = [None if t is None else jf.asarray(t) for t in parameters[2 * i : 2 * i + 2]]
        weight, bias = cast(weight), cast(bias)
        if weight.dtype != x.dtype or (bias is not None and bias.dtype != x.dtype):
            raise ValueError("linear: input, weight and bias differ in dtype")  # as torch has it
        x = activate("linear", jf.nn.linear(x, weight, bias), activation)
        if p:
            x = jf.nn.dropout(x, p)
    return x


_fused = jf.jit(_chain, static_argnames=("activations", "drops", "dtype"))


def plain(input: Any, layers: Sequence[Layer]) -> Any:
    """The layers by torch's own functions."""
    for layer in layers:
        input = F.linear(input, layer.weight, layer.bias)
        if layer.activation is not None:
            input = _PLAIN[layer.activation](input)
        if layer.p:
            input = F.dropout(input, layer.p)
    return input


def _unfit_mode() -> str | None:
    """A state of torch in which its own functions are to be seen."""
    if torch._C._get_tracing_state() is not None:
        return "torch.jit.trace is recording"
    if torch._C._functorch.peek_interpreter_stack() is not None:
        return "a transform of torch.func (vmap, grad, jvp ...) is going on"
    if torch._C._len_torch_dispatch_stack():
        return "a TorchDispatchMode is on"
    if torch.autograd.forward_ad._current_level >= 0:
        return "forward-mode differentiation is going on"
    return None


def _unfit(what: str, t: Any) -> str | None:
    """Why a tensor is none for the kernels."""
    if type(t) not in _TENSORS:
        return f"{what} is of type {type(t).__name__}, not torch.Tensor itself"
    if t.dtype not in _FLOATS:
        return f"{what} has dtype {t.dtype}; kernels take float16, bfloat16, float32, float64"
    if t.layout is not torch.strided:
        return f"{what} has layout {t.layout}, expected torch.strided"
    if t.device.type not in ("cpu", "cuda"):
        return f"{what} is on device {t.device}; kernels run on cpu and cuda"
    return None


def _unfit_parameters(input: Any, layers: Sequence[Layer]) -> str | None:
    """Why parameters are none for the kernels beside this input."""
    size = input.shape[-1]
    for i, layer in enumerate(layers):
        for what, t in (("weight", layer.weight), ("bias", layer.bias)):
            name = what if len(layers) == 1 else f"{what} of layer {i}"
            if t is None:
                continue
            if reason := _unfit(name, t):
                return reason
            if t.is_neg():
                return f"{name} has the negative bit set"
            if t.device != input.device:
                return f"{name} is on {t.device}, and the input on {input.device}"
            mixed = t.dtype != input.dtype
            if mixed and (
                not torch.is_autocast_enabled(input.device.type)
                or torch.float64 in (t.dtype, input.dtype)
            ):
                return f"{name} has dtype {t.dtype}, and the input {input.dtype}"
        if layer.weight.ndim != 2 or layer.weight.shape[1] != size:
            return (
                f"weight has shape {tuple(layer.weight.shape)}, and what it meets {size} features"
            )
        size = layer.weight.shape[0]
        if layer.bias is not None and tuple(layer.bias.shape) != (size,):
            return f"bias has shape {tuple(layer.bias.shape)}, expected ({size},)"
    return None


def why_plain(input: Any, layers: Sequence[Layer], all_of_it: bool = True) -> str | None:
    """Why these layers are computed by plain torch; None: they are not."""
    if torch.compiler.is_compiling():
        return "torch.compile or torch.export is tracing"
    if isinstance(input, Array):
        return None
    if reason := _unfit("the input", input):
        return reason
    if input.ndim == 0:
        return "the input has rank 0"
    if reason := _unfit_mode():
        return reason
    if not all_of_it:
        return None
    if input.is_neg():
        return "the input has the negative bit set"
    if reason := _unfit_parameters(input, layers):
        return reason
    if input.device.type == "cuda" and not jf.CUDA_AVAILABLE:
        return "the input is on a GPU that Jitfuse cannot use; jitfuse.show_config() says why"
    return None


def _log_once(name: str, reason: str) -> None:
    if (name, reason) not in _logged:
        _logged.add((name, reason))
        _logging.warning("%s is computed by plain torch: %s", name, reason)


def _autocast(input: Any) -> str | None:
    """The dtype that autocast multiplies in, where it is on."""
    device = input.device.type
    if not torch.is_autocast_enabled(device) or input.dtype is torch.float64:
        return None
    return _NAMES[torch.get_autocast_dtype(device)]


def _seeded(function: Callable[[], Any]) -> Any:
    """A call whose masks depend on torch's generator, so that torch.manual_seed repeats them."""
    with jf.random.seeded(int(torch.empty((), dtype=torch.int64).random_())):
        return function()


def run(owner: Any, input: Any, layers: Sequence[Layer]) -> Any:
    """The layers on an input [..., features]; owner: the module, for the log."""
    if torch.compiler.is_compiling():
        return plain(input, layers)
    if isinstance(input, Array):  # inside of a jitted function: part of its graph
        return _call(input, layers, None)
    careful = owner.__dict__.get("_careful", False)  # a call has failed before
    reason = why_plain(input, layers, careful)
    if reason is None:
        try:
            return _call_torch(input, layers)
        except Exception:
            reason = why_plain(input, layers)
            if reason is None:
                raise
            owner.__dict__["_careful"] = True
    _log_once(type(owner).__name__, reason)
    return plain(input, layers)


def _call(input: Any, layers: Sequence[Layer], dtype: str | None) -> Any:
    parameters: list[Any] = []
    for layer in layers:
        parameters += layer.weight, layer.bias
    activations = tuple([layer.activation for layer in layers])
    return _fused(input, parameters, activations, tuple([layer.p for layer in layers]), dtype)


def _call_torch(input: Any, layers: Sequence[Layer]) -> Any:
    dtype = _autocast(input)
    rows = input.flatten(0, -2) if input.ndim > 2 else input
    if any(layer.p for layer in layers):
        result = _seeded(lambda: _call(rows, layers, dtype))
    else:
        result = _call(rows, layers, dtype)
    return result.view(*input.shape[:-1], result.shape[-1]) if input.ndim > 2 else result
