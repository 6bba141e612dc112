"""How functions of this package are made, and what several of them use."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import jitfuse as jf

from .._jit import JitFunction, jit

Shape = int | tuple[int, ...]


def fused(function: Callable[..., Any]) -> JitFunction:
    """jit. Parameters annotated `Any` are arrays (or numbers that are passed with each call); all
    others are options, each value of which is traced by itself."""
    parameters = inspect.signature(function).parameters.values()
    options = [p.name for p in parameters if p.annotation not in ("Any", Any)]
    made = jit(function, static_argnames=options)
    assert isinstance(made, JitFunction)
    return made


_ACTIVATIONS: dict[str, Callable[[Any], Any]] = {
    "elu": lambda x: jf.nn.elu(x),
    "gelu": lambda x: jf.nn.gelu(x),
    "gelu_tanh": lambda x: jf.nn.gelu(x, approximate="tanh"),
    "hardswish": lambda x: jf.nn.hardswish(x),
    "leaky_relu": lambda x: jf.nn.leaky_relu(x),
    "mish": lambda x: jf.nn.mish(x),
    "relu": lambda x: jf.nn.relu(x),
    "relu6": lambda x: jf.nn.relu6(x),
    "selu": lambda x: jf.nn.selu(x),
    "sigmoid": lambda x: jf.nn.sigmoid(x),
    "silu": lambda x: jf.nn.silu(x),
    "softplus": lambda x: jf.nn.softplus(x),
    "squared_relu": lambda x: jf.square(jf.nn.relu(x)),
    "tanh": lambda x: jf.tanh(x),
}
ACTIVATIONS = tuple(sorted(_ACTIVATIONS))  # the names that `activation` may have, besides None


def activate(what: str, x: Any, activation: str | None) -> Any:
    """x under the activation of a name; None: x itself."""
    if activation is None:
        return x
    if activation not in _ACTIVATIONS:
        raise ValueError(
            f"{what}: activation={activation!r}, expected None or one of {', '.join(ACTIVATIONS)}"
        )
    return _ACTIVATIONS[activation](x)


def halves(what: str, x: Any) -> tuple[Any, Any]:
    """The two halves of the last axis."""
    if x.ndim == 0 or int(x.shape[-1]) % 2:
        raise ValueError(f"{what}: expected a last axis of even size to halve, got {x!r}")
    half = int(x.shape[-1]) // 2
    return x[..., :half], x[..., half:]


def per_channel(x: Any, values: Any) -> Any:
    """[channels] so that it meets axis 1 of x; what has another rank is left as it is."""
    if values.ndim != 1 or x.ndim <= 2:
        return values
    return values.reshape((values.shape[0], *[1] * (x.ndim - 2)))
