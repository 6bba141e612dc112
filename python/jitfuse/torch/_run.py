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

if not hasattr(torch, "get_autocast_dtype"):
    raise ImportError(f"jitfuse.torch needs torch 2.4 or later; torch {torch.__version__} is here")

_PLAIN: dict[str, Callable[[Any], Any]] = {
    **{name: getattr(F, name) for name in ACTIVATIONS if name not in ("gelu_tanh", "squared_relu")},
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "squared_relu": lambda x: F.relu(x).square(),
    "tanh": torch.tanh,
    "sigmoid": torch.sigmoid,
}


def _readers_of_modes() -> tuple[Any, Any, Any, Any]:
    """What tells of torch's modes; private names of torch, which a later one may not have."""
    readers = (
        torch._C._get_tracing_state,
        torch._C._functorch.peek_interpreter_stack,
        torch._C._len_torch_dispatch_stack,
        torch.autograd.forward_ad,
    )
    _ = readers[3]._current_level
    return readers


_unknown_modes: str | None = None
try:
    _tracing, _transforms, _dispatch_modes, _forward_ad = _readers_of_modes()
except AttributeError as _error:
    _unknown_modes = f"torch {torch.__version__} does not tell of its modes ({_error})"

_FLOATS = frozenset([torch.float16, torch.bfloat16, torch.float32, torch.float64])
_NAMES = {torch.float16: "float16", torch.bfloat16: "bfloat16", torch.float32: "float32"}
_TENSORS = (torch.Tensor, torch.nn.Parameter)
_logged: set[tuple[str, str]] = set()


class Chain(NamedTuple):
    """Linear layers and what follows each."""

    parameters: list[Any]  # weight and bias (or None) of the first, of the second ...
    activations: tuple[str | None, ...]
    drops: tuple[float, ...]  # p of dropout; 0 where there is none, or in evaluation


def linear_layers(
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


_fused = jf.jit(linear_layers, static_argnames=("activations", "drops", "dtype"))


def plain(input: Any, chain: Chain) -> Any:
    """The layers by torch's own functions."""
    for i, (activation, p) in enumerate(zip(chain.activations, chain.drops)):
        input = F.linear(input, chain.parameters[2 * i], chain.parameters[2 * i + 1])
        if activation is not None:
            input = _PLAIN[activation](input)
        if p:
            input = F.dropout(input, p)
    return input


def _unfit_mode() -> str | None:
    """A state of torch in which its own functions are to be seen."""
    if _unknown_modes is not None:
        return _unknown_modes
    if _tracing() is not None:
        return "torch.jit.trace is recording"
    if _transforms() is not None:
        return "a transform of torch.func (vmap, grad, jvp ...) is going on"
    if _dispatch_modes():
        return "a TorchDispatchMode is on"
    if _forward_ad._current_level >= 0:
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


def _unfit_parameters(input: Any, parameters: Sequence[Any]) -> str | None:
    """Why parameters are none for the kernels beside this input."""
    size = input.shape[-1]
    for i, t in enumerate(parameters):
        name = ("weight", "bias")[i % 2] + (f" of layer {i // 2}" if len(parameters) > 2 else "")
        if t is None:
            continue
        if reason := _unfit(name, t):
            return reason
        if t.is_neg():
            return f"{name} has the negative bit set"
        if t.device != input.device:
            return f"{name} is on {t.device}, and the input on {input.device}"
        if t.dtype != input.dtype and (
            not torch.is_autocast_enabled(input.device.type)
            or torch.float64 in (t.dtype, input.dtype)
        ):
            return f"{name} has dtype {t.dtype}, and the input {input.dtype}"
        shape = tuple(t.shape)
        if i % 2 == 0 and (len(shape) != 2 or shape[1] != size):
            return f"{name} has shape {shape}, and what it meets {size} features"
        if i % 2 and shape != (size,):
            return f"{name} has shape {shape}, expected ({size},)"
        size = shape[0]
    return None


def _unfit_input(input: Any) -> str | None:
    """What can be said before a call, and is said in each one."""
    if reason := _unfit("the input", input):
        return reason
    return "the input has rank 0" if input.ndim == 0 else _unfit_mode()


def why_plain(input: Any, chain: Chain) -> str | None:
    """Why these layers are computed by plain torch; None: they are not."""
    if torch.compiler.is_compiling():
        return "torch.compile or torch.export is tracing"
    if isinstance(input, Array):
        return None
    if reason := _unfit_input(input):
        return reason
    if input.is_neg():
        return "the input has the negative bit set"
    if reason := _unfit_parameters(input, chain.parameters):
        return reason
    if input.device.type == "cuda" and not jf.CUDA_AVAILABLE:
        return "the input is on a GPU that Jitfuse cannot use; jitfuse.show_config() says why"
    return None


def _log_once(name: str, reason: str) -> None:
    if (name, reason) not in _logged:
        _logged.add((name, reason))
        _logging.warning("%s is computed by plain torch: %s", name, reason)


def _autocast(device: str, input: Any) -> str | None:
    """The dtype that autocast multiplies in, where it is on."""
    if not torch.is_autocast_enabled(device) or input.dtype is torch.float64:
        return None
    return _NAMES[torch.get_autocast_dtype(device)]


def run(owner: Any, input: Any, chain: Chain) -> Any:
    """The layers on an input [..., features]; owner: the module, for the log."""
    if torch.compiler.is_compiling():
        return plain(input, chain)
    if isinstance(input, Array):  # inside of a jitted function: part of its graph
        return _fused(input, *chain, None)
    careful = "_careful" in owner.__dict__  # a call has failed before
    reason = why_plain(input, chain) if careful else _unfit_input(input)
    if reason is None:
        try:
            return _call(input, chain)
        except Exception:
            reason = why_plain(input, chain)
            if reason is None:
                raise
            owner.__dict__["_careful"] = True
    _log_once(type(owner).__name__, reason)
    return plain(input, chain)


def _call(input: Any, chain: Chain) -> Any:
    dtype = _autocast(input.device.type, input)
    rows = input.flatten(0, -2) if input.ndim > 2 else input
    result = _fused(rows, *chain, dtype)
    return result.view(*input.shape[:-1], result.shape[-1]) if input.ndim > 2 else result
