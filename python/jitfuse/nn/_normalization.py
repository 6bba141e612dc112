"""Normalisations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._apply import apply, apply_all, lift, pointwise, to_array
from .._array import Array
from .._creation import ones_like, zeros
from .._elementwise import maximum
from .._info import finfo
from .._reductions import vector_norm


def _optional(name: str, x: Any, *others: Any) -> list[Array | None]:
    """x and optional operands as Arrays. Only those at the end can be left out: a bias brings a
    weight of 1."""
    items = [None if t is None else to_array(t, name) for t in (x, *others)]
    if len(items) > 2 and items[-1] is not None and items[-2] is None:
        items[-2] = ones_like(items[-1])
    return items


def _norm_dims(what: str, x: Array, normalized_shape: Any) -> int:
    shape = (normalized_shape,) if isinstance(normalized_shape, int) else tuple(normalized_shape)
    own = x.shape[x.ndim - len(shape) :] if len(shape) <= x.ndim else ()
    if (
        not shape
        or len(own) != len(shape)
        or any(a is not b and a != b for a, b in zip(own, shape))
    ):
        raise ValueError(f"{what}: normalized_shape {shape} is not the end of the shape of {x!r}")
    return len(shape)


def layer_norm(
    input: Any,
    normalized_shape: int | Sequence[int],
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-05,
) -> Array:
    """(x - mean) / sqrt(var + eps) over the last axes, times weight, plus bias."""
    operands = _optional("layer_norm", input, weight, bias)
    dims = _norm_dims("layer_norm", operands[0], normalized_shape)  # type: ignore[arg-type]
    return apply("layer_norm", operands, {"norm_dims": dims, "eps": float(eps)})


def rms_norm(
    input: Any, normalized_shape: int | Sequence[int], weight: Any = None, eps: float | None = None
) -> Array:
    """x / sqrt(mean(x * x) + eps) over the last axes, times weight; eps None: that of the dtype."""
    x, weight = _optional("rms_norm", input, weight)
    assert x is not None
    dims = _norm_dims("rms_norm", x, normalized_shape)
    if eps is None:
        eps = (
            finfo(x.dtype).eps if x.dtype.itemsize > 2 else 2.0**-23
        )  # 16-bit floats compute in float32
    return apply("rms_norm", [x, weight], {"norm_dims": dims, "eps": float(eps)})


def group_norm(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-05
) -> Array:
    """(x - mean) / sqrt(var + eps) over each group of channels (axis 1) and all axes after it."""
    operands = _optional("group_norm", input, weight, bias)
    return apply("group_norm", operands, {"groups": num_groups, "eps": float(eps)})


def instance_norm(
    input: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Array:
    """(x - mean) / sqrt(var + eps) over all axes after the channels (axis 1), times weight, plus
    bias."""
    if not use_input_stats:
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    if running_mean is not None or running_var is not None:
        raise ValueError(
            "instance_norm: a traced function cannot update running_mean and running_var in "
            "place; pass None"
        )
    return apply(
        "instance_norm", _optional("instance_norm", input, weight, bias), {"eps": float(eps)}
    )


def batch_norm(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> Array:
    """(x - mean) / sqrt(var + eps) of each channel (axis 1), times weight, plus bias.

    training=False: with the given statistics. training=True: with the batch's; give None for
    running_mean and running_var, or call batch_norm_training, which returns them brought up to
    date.
    """
    if training:
        if running_mean is not None or running_var is not None:
            raise ValueError(
                "batch_norm: a traced function cannot update running_mean and running_var in "
                "place; "
                "jitfuse.nn.batch_norm_training returns (y, mean, var, running_mean, running_var)"
            )
        return _with_batch_statistics(input, weight, bias, eps)
    operands = _optional("batch_norm", input, running_mean, running_var, weight, bias)
    return apply("batch_norm", operands, {"eps": float(eps)})


def _with_batch_statistics(input: Any, weight: Any, bias: Any, eps: float) -> Array:
    x = to_array(input, "batch_norm")
    nothing = zeros((x.shape[1],), dtype=x.dtype)
    return batch_norm_training(x, nothing, nothing, weight, bias, eps=eps)[0]


def batch_norm_training(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    momentum: float = 0.1,
    eps: float = 1e-05,
) -> tuple[Array, ...]:
    """Batch norm with the batch's statistics: (y, mean, biased var, new running_mean, new
    running_var)."""
    operands = _optional("batch_norm_training", input, running_mean, running_var, weight, bias)
    return apply_all(
        "batch_norm_training", operands, {"eps": float(eps), "momentum": float(momentum)}
    )


def normalize(input: Any, p: float = 2.0, dim: Any = 1, eps: float = 1e-12) -> Array:
    """x divided by its p-norm along an axis, which counts as eps at least."""
    x = to_array(input, "normalize")
    norm = vector_norm(x, axis=dim, keepdims=True, ord=p)
    return pointwise("divide", lift([x, maximum(norm, float(eps))], "normalize")[1])
