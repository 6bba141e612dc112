"""Activations, softmax and its kin."""

from __future__ import annotations

from typing import Any

from .._apply import apply, astype, pointwise, to_array
from .._array import Array
from .._dtypes import as_dtype
from .._elementwise import tanh as _tanh


def relu(input: Any, inplace: bool = False) -> Array:
    """maximum(x, 0); NaN stays."""
    return pointwise("relu", [input])


def relu6(input: Any, inplace: bool = False) -> Array:
    """x clamped to 0..6."""
    return pointwise("relu6", [input])


def leaky_relu(input: Any, negative_slope: float = 0.01, inplace: bool = False) -> Array:
    """x, or negative_slope * x where x is negative."""
    return pointwise("leaky_relu", [input], {"slope": float(negative_slope)})


def elu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Array:
    """x, or alpha * (exp(x) - 1) where x is negative."""
    return pointwise("elu", [input], {"alpha": float(alpha)})


def selu(input: Any, inplace: bool = False) -> Array:
    """elu of alpha 1.6733 scaled by 1.0507."""
    return pointwise("selu", [input])


def celu(input: Any, alpha: float = 1.0, inplace: bool = False) -> Array:
    """x, or alpha * (exp(x / alpha) - 1) where x is negative."""
    return pointwise("celu", [input], {"alpha": float(alpha)})


def prelu(input: Any, weight: Any) -> Array:
    """x, or weight * x where x is negative; a weight for each channel (axis 1), or one for all."""
    input, weight = to_array(input, "prelu"), to_array(weight, "prelu")
    if weight.ndim == 1 and weight.shape[0] != 1 and input.ndim > 2:
        weight = weight.reshape((weight.shape[0], *[1] * (input.ndim - 2)))
    return pointwise("prelu", [input, weight])


def threshold(input: Any, threshold: float, value: float, inplace: bool = False) -> Array:
    """x where it is above the threshold, else value; NaN stays."""
    limits = {"threshold": threshold, "value": value}
    return pointwise(
        "threshold", [input], {k: v if isinstance(v, int) else float(v) for k, v in limits.items()}
    )


def hardtanh(
    input: Any, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False
) -> Array:
    """x limited to min_val..max_val; NaN stays."""
    return pointwise("hardtanh", [input], {"min": float(min_val), "max": float(max_val)})


def hardswish(input: Any, inplace: bool = False) -> Array:
    """x * relu6(x + 3) / 6."""
    return pointwise("hardswish", [input])


def hardsigmoid(input: Any, inplace: bool = False) -> Array:
    """relu6(x + 3) / 6."""
    return pointwise("hardsigmoid", [input])


def hardshrink(input: Any, lambd: float = 0.5) -> Array:
    """x, or 0 within lambd of it; NaN stays."""
    return pointwise("hardshrink", [input], {"lambd": float(lambd)})


def softshrink(input: Any, lambd: float = 0.5) -> Array:
    """x brought nearer to 0 by lambd; 0 within lambd of it; NaN stays."""
    return pointwise("softshrink", [input], {"lambd": float(lambd)})


def tanhshrink(input: Any) -> Array:
    """x - tanh(x), by its series where that would cancel."""
    return pointwise("tanhshrink", [input])


def silu(input: Any, inplace: bool = False) -> Array:
    """x * sigmoid(x)."""
    return pointwise("silu", [input])


def mish(input: Any, inplace: bool = False) -> Array:
    """x * tanh(softplus(x))."""
    return pointwise("mish", [input])


def gelu(input: Any, approximate: str = "none") -> Array:
    """x times the normal distribution function: with erf ("none"), or its "tanh" approximation."""
    if approximate not in ("none", "tanh"):
        raise ValueError(f"gelu: approximate={approximate!r}, expected 'none' or 'tanh'")
    return pointwise("gelu_tanh" if approximate == "tanh" else "gelu", [input])


def sigmoid(input: Any) -> Array:
    """1 / (1 + exp(-x))."""
    return pointwise("sigmoid", [input], floats=True)


def tanh(input: Any) -> Array:
    """Hyperbolic tangent."""
    return _tanh(input)


def logsigmoid(input: Any) -> Array:
    """log(sigmoid(x)) with no overflow."""
    return pointwise("logsigmoid", [input])


def softplus(input: Any, beta: float = 1, threshold: float = 20) -> Array:
    """log(1 + exp(beta * x)) / beta; x itself where beta * x is above the threshold."""
    x = to_array(input, "softplus")
    if beta == 1 and threshold == 20:
        return pointwise("softplus", [x])  # beyond 20 torch gives x, which is 2e-9 off at most
    scaled = pointwise("multiply", [x, float(beta)])
    soft = pointwise("divide", [pointwise("softplus", [scaled]), float(beta)])
    return pointwise("where", [pointwise("greater", [scaled, float(threshold)]), x, soft])


def softsign(input: Any) -> Array:
    """x / (1 + abs(x))."""
    return pointwise("softsign", [input])


def softmax(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Array:
    """exp(x) divided by its sum along an axis, with no overflow."""
    return _along_axis("softmax", input, dim, dtype)


def log_softmax(
    input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None
) -> Array:
    """Logarithm of softmax, with no cancellation to -inf."""
    return _along_axis("log_softmax", input, dim, dtype)


def softmin(input: Any, dim: int | None = None, _stacklevel: int = 3, dtype: Any = None) -> Array:
    """softmax of -x."""
    return _along_axis("softmax", -to_array(input, "softmin"), dim, dtype)


def _along_axis(op: str, input: Any, dim: int | None, dtype: Any) -> Array:
    x = to_array(input, op)
    if dtype is not None:
        x = astype(x, as_dtype(dtype))
    if dim is None:
        raise TypeError(f"{op}: expected dim, the axis that sums to 1, such as dim=-1")
    return apply(op, [x], {"axis": dim})


# Gated units.


def glu(input: Any, dim: int = -1) -> Array:
    """The first half of x along an axis times sigmoid of the second."""
    return _gated("glu", input, None, dim)


def reglu(input: Any, gate: Any = None, dim: int = -1) -> Array:
    """x * relu(gate); without gate, of the two halves of x along an axis."""
    return _gated("reglu", input, gate, dim)


def geglu(input: Any, gate: Any = None, dim: int = -1) -> Array:
    """x * gelu(gate); without gate, of the two halves of x along an axis."""
    return _gated("geglu", input, gate, dim)


def swiglu(input: Any, gate: Any = None, dim: int = -1) -> Array:
    """x * silu(gate); without gate, of the two halves of x along an axis."""
    return _gated("swiglu", input, gate, dim)


def _gated(op: str, input: Any, gate: Any, dim: int) -> Array:
    if gate is None:
        x = to_array(input, op)
        axis = dim % x.ndim if -x.ndim <= dim < x.ndim else dim
        if axis >= x.ndim or int(x.shape[axis]) % 2:
            raise ValueError(
                f"{op}: expected an axis of even size to halve, got dim={dim} of {x!r}"
            )
        half = int(x.shape[axis]) // 2
        before = (slice(None),) * axis
        input, gate = x[(*before, slice(None, half))], x[(*before, slice(half, None))]
    return pointwise(op, [input, gate])
