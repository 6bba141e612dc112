"""Norms with what comes before and after them.

normalized_shape: the sizes of the last axes, an int or a tuple, as of torch's layer_norm; weight
and bias have that shape or are None. Functions that add a residual return the norm and the sum that
it is of, which the next layer adds to.
"""

from __future__ import annotations

from typing import Any

import jitfuse as jf

from ._make import Shape, fused


@fused
def fused_layer_norm(
    input: Any, normalized_shape: Shape, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """layer_norm (Apex: fused_layer_norm_affine, FusedLayerNorm; Liger, xFormers, Triton's
    tutorial)."""
    return jf.nn.layer_norm(input, normalized_shape, weight, bias, eps)


@fused
def fused_layer_norm_relu(
    input: Any, normalized_shape: Shape, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """relu(layer_norm(input))."""
    return jf.nn.relu(jf.nn.layer_norm(input, normalized_shape, weight, bias, eps))


@fused
def fused_layer_norm_silu(
    input: Any, normalized_shape: Shape, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """silu(layer_norm(input))."""
    return jf.nn.silu(jf.nn.layer_norm(input, normalized_shape, weight, bias, eps))


@fused
def fused_layer_norm_gelu(
    input: Any,
    normalized_shape: Shape,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    approximate: str = "none",
) -> Any:
    """gelu(layer_norm(input))."""
    return jf.nn.gelu(
        jf.nn.layer_norm(input, normalized_shape, weight, bias, eps), approximate=approximate
    )


@fused
def fused_layer_norm_gelu_dropout(
    input: Any,
    normalized_shape: Shape,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    p: float = 0.1,
    training: bool = True,
) -> Any:
    """dropout(gelu(layer_norm(input)), p)."""
    normal = jf.nn.layer_norm(input, normalized_shape, weight, bias, eps)
    return jf.nn.dropout(jf.nn.gelu(normal), p, training)


@fused
def fused_add_layer_norm(
    input: Any,
    residual: Any,
    normalized_shape: Shape,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
) -> tuple[Any, Any]:
    """(layer_norm(s), s) of s = input + residual."""
    total = jf.add(input, residual)
    return jf.nn.layer_norm(total, normalized_shape, weight, bias, eps), total


@fused
def skip_layer_norm(
    input: Any,
    skip: Any,
    normalized_shape: Shape,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
) -> Any:
    """layer_norm(input + skip), the norm alone (ONNX Runtime: SkipLayerNormalization)."""
    return jf.nn.layer_norm(jf.add(input, skip), normalized_shape, weight, bias, eps)


@fused
def dropout_add_layer_norm(
    input: Any,
    residual: Any,
    normalized_shape: Shape,
    weight: Any = None,
    bias: Any = None,
    p: float = 0.1,
    eps: float = 1e-5,
    training: bool = True,
) -> tuple[Any, Any]:
    """(layer_norm(s), s) of s = dropout(input, p) + residual (FlashAttention)."""
    total = jf.add(jf.nn.dropout(input, p, training), residual)
    return jf.nn.layer_norm(total, normalized_shape, weight, bias, eps), total


@fused
def fused_bias_dropout_residual_layer_norm(
    input: Any,
    bias: Any,
    residual: Any,
    normalized_shape: Shape,
    weight: Any = None,
    norm_bias: Any = None,
    p: float = 0.1,
    eps: float = 1e-5,
    training: bool = True,
) -> Any:
    """layer_norm(residual + dropout(input + bias, p)) (PaddlePaddle)."""
    total = jf.add(residual, jf.nn.dropout(jf.add(input, bias), p, training))
    return jf.nn.layer_norm(total, normalized_shape, weight, norm_bias, eps)


@fused
def fused_adaptive_layer_norm(input: Any, shift: Any, scale: Any, eps: float = 1e-6) -> Any:
    """layer_norm(input) * (1 + scale) + shift over the last axis, as in diffusion transformers:
    shift and scale broadcast."""
    input = jf.asarray(input)
    normal = jf.nn.layer_norm(input, input.shape[-1:], eps=eps)
    return jf.add(jf.multiply(normal, jf.add(1, scale)), shift)


@fused
def embedding_layer_norm(
    ids: Any, table: Any, positions: Any, weight: Any, bias: Any = None, eps: float = 1e-5
) -> Any:
    """layer_norm(table[ids] + positions) (ONNX Runtime: EmbedLayerNormalization): ids [..., t] of
    integers, table [words, n], positions [t, n], weight and bias [n]."""
    total = jf.add(jf.nn.embedding(ids, table), positions)
    return jf.nn.layer_norm(total, total.shape[-1:], weight, bias, eps)


@fused
def fused_rms_norm(
    input: Any,
    normalized_shape: Shape,
    weight: Any = None,
    eps: float | None = None,
    offset: float = 0.0,
) -> Any:
    """input / sqrt(mean(input * input) + eps) * (weight + offset) (Apex, Liger; Gemma has an offset
    of 1). eps None: that of the dtype, as in torch."""
    if weight is not None and offset:
        weight = jf.add(weight, offset)
    return jf.nn.rms_norm(input, normalized_shape, weight, eps)


@fused
def rms_norm_gelu(
    input: Any,
    normalized_shape: Shape,
    weight: Any = None,
    eps: float | None = None,
    approximate: str = "none",
) -> Any:
    """gelu(rms_norm(input))."""
    return jf.nn.gelu(jf.nn.rms_norm(input, normalized_shape, weight, eps), approximate=approximate)


@fused
def rms_norm_silu(
    input: Any, normalized_shape: Shape, weight: Any = None, eps: float | None = None
) -> Any:
    """silu(rms_norm(input))."""
    return jf.nn.silu(jf.nn.rms_norm(input, normalized_shape, weight, eps))


@fused
def fused_add_rms_norm(
    input: Any,
    residual: Any,
    normalized_shape: Shape,
    weight: Any = None,
    eps: float | None = None,
) -> tuple[Any, Any]:
    """(rms_norm(s), s) of s = input + residual (vLLM, Liger; xFormers: rms_norm_add)."""
    total = jf.add(input, residual)
    return jf.nn.rms_norm(total, normalized_shape, weight, eps), total


@fused
def dropout_add_rms_norm(
    input: Any,
    residual: Any,
    normalized_shape: Shape,
    weight: Any = None,
    p: float = 0.1,
    eps: float | None = None,
    training: bool = True,
) -> tuple[Any, Any]:
    """(rms_norm(s), s) of s = dropout(input, p) + residual (FlashAttention)."""
    total = jf.add(jf.nn.dropout(input, p, training), residual)
    return jf.nn.rms_norm(total, normalized_shape, weight, eps), total


@fused
def fused_add_norm(
    input: Any,
    residual: Any,
    weight: Any,
    bias: Any = None,
    norm: str = "layer",
    eps: float = 1e-5,
) -> tuple[Any, Any]:
    """(norm(s), s) of s = input + residual over the last axis (Mamba): norm is "layer" or "rms",
    weight and bias [n]; "rms" has no bias."""
    if norm not in ("layer", "rms"):
        raise ValueError(f"fused_add_norm: norm={norm!r}, expected 'layer' or 'rms'")
    total = jf.add(input, residual)
    if norm == "layer":
        return jf.nn.layer_norm(total, total.shape[-1:], weight, bias, eps), total
    if bias is not None:
        raise ValueError("fused_add_norm: norm='rms' takes no bias")
    return jf.nn.rms_norm(total, total.shape[-1:], weight, eps), total


@fused
def fused_rms_norm_gated(
    input: Any, gate: Any, weight: Any, eps: float = 1e-5, norm_before_gate: bool = True
) -> Any:
    """rms_norm(input) * silu(gate) over the last axis; norm_before_gate False: rms_norm(input *
    silu(gate)) (Mamba 2: RMSNormGated)."""
    input, gate = jf.asarray(input), jf.nn.silu(gate)
    if not norm_before_gate:
        input = input * gate
    normal = jf.nn.rms_norm(input, input.shape[-1:], weight, eps)
    return normal * gate if norm_before_gate else normal


@fused
def rms_norm_quantize(input: Any, weight: Any, eps: float = 1e-6) -> tuple[Any, Any]:
    """(q, scale): rms_norm over the last axis as int8, with a scale for each row (vLLM:
    rms_norm_dynamic_per_token_quant): q = round(norm / scale), scale = max(abs(norm)) / 127."""
    input = jf.asarray(input)
    normal = jf.nn.rms_norm(input, input.shape[-1:], weight, eps)
    scale = jf.max(jf.abs(normal), axis=-1, keepdims=True) / 127
    return jf.astype(jf.round(normal / scale), jf.int8), scale


# By channels (axis 1).


@fused
def batch_norm_relu(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
) -> Any:
    """relu(batch_norm(input)) with the running statistics: input [n, channels, ...], the others
    [channels]. With the batch's statistics: batch_norm_relu_training."""
    return jf.nn.relu(
        jf.nn.batch_norm(input, running_mean, running_var, weight, bias, False, eps=eps)
    )


@fused
def batch_norm_silu(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
) -> Any:
    """silu(batch_norm(input)) with the running statistics, as batch_norm_relu."""
    return jf.nn.silu(
        jf.nn.batch_norm(input, running_mean, running_var, weight, bias, False, eps=eps)
    )


@fused
def batch_norm_add_relu(
    input: Any,
    residual: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
) -> Any:
    """relu(batch_norm(input) + residual) with the running statistics (Apex: bn_add_relu)."""
    normal = jf.nn.batch_norm(input, running_mean, running_var, weight, bias, False, eps=eps)
    return jf.nn.relu(jf.add(normal, residual))


@fused
def batch_norm_relu_training(
    input: Any,
    running_mean: Any,
    running_var: Any,
    weight: Any = None,
    bias: Any = None,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> tuple[Any, Any, Any]:
    """(relu(batch_norm(input)), new running_mean, new running_var) with the batch's statistics."""
    y, _, _, mean, var = jf.nn.batch_norm_training(
        input, running_mean, running_var, weight, bias, momentum, eps
    )
    return jf.nn.relu(y), mean, var


@fused
def group_norm_silu(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """silu(group_norm(input)): input [n, channels, ...], weight and bias [channels] (Apex:
    GroupNorm with act="silu")."""
    return jf.nn.silu(jf.nn.group_norm(input, num_groups, weight, bias, eps))


@fused
def group_norm_relu(
    input: Any, num_groups: int, weight: Any = None, bias: Any = None, eps: float = 1e-5
) -> Any:
    """relu(group_norm(input)), as group_norm_silu."""
    return jf.nn.relu(jf.nn.group_norm(input, num_groups, weight, bias, eps))


@fused
def instance_norm_relu(input: Any, weight: Any = None, bias: Any = None, eps: float = 1e-5) -> Any:
    """relu(instance_norm(input)): input [n, channels, ...], weight and bias [channels]."""
    return jf.nn.relu(jf.nn.instance_norm(input, None, None, weight, bias, eps=eps))
