"""Two or three arrays and an activation; gates; scales."""

from __future__ import annotations

from typing import Any

import jitfuse as jf

from ._make import activate, fused, halves, per_channel


@fused
def elementwise_add_relu(input: Any, other: Any) -> Any:
    """relu(input + other). Shapes that broadcast, numbers of any dtype."""
    return jf.nn.relu(jf.add(input, other))


@fused
def elementwise_add_sigmoid(input: Any, other: Any) -> Any:
    """sigmoid(input + other). Shapes that broadcast."""
    return jf.nn.sigmoid(jf.add(input, other))


@fused
def elementwise_add_tanh(input: Any, other: Any) -> Any:
    """tanh(input + other). Shapes that broadcast."""
    return jf.tanh(jf.add(input, other))


@fused
def elementwise_add_gelu(input: Any, other: Any, approximate: str = "none") -> Any:
    """gelu(input + other), with erf ("none") or "tanh". Shapes that broadcast."""
    return jf.nn.gelu(jf.add(input, other), approximate=approximate)


@fused
def elementwise_add_silu(input: Any, other: Any) -> Any:
    """silu(input + other), x * sigmoid(x). Shapes that broadcast."""
    return jf.nn.silu(jf.add(input, other))


@fused
def elementwise_add_leaky_relu(input: Any, other: Any, negative_slope: float = 0.01) -> Any:
    """leaky_relu(input + other). Shapes that broadcast."""
    return jf.nn.leaky_relu(jf.add(input, other), negative_slope)


@fused
def elementwise_add_mul(input: Any, other: Any, scale: Any) -> Any:
    """(input + other) * scale. Shapes that broadcast; scale may be a number."""
    return jf.multiply(jf.add(input, other), scale)


@fused
def elementwise_mul_relu(input: Any, other: Any) -> Any:
    """relu(input * other). Shapes that broadcast, numbers of any dtype."""
    return jf.nn.relu(jf.multiply(input, other))


@fused
def elementwise_mul_sigmoid(input: Any, other: Any) -> Any:
    """sigmoid(input * other). Shapes that broadcast."""
    return jf.nn.sigmoid(jf.multiply(input, other))


@fused
def elementwise_mul_tanh(input: Any, other: Any) -> Any:
    """tanh(input * other). Shapes that broadcast."""
    return jf.tanh(jf.multiply(input, other))


@fused
def elementwise_mul_add(input: Any, other: Any, addend: Any) -> Any:
    """input * other + addend. Shapes that broadcast; numbers may stand for any of them."""
    return jf.add(jf.multiply(input, other), addend)


@fused
def elementwise_mul_add_relu(input: Any, other: Any, addend: Any) -> Any:
    """relu(input * other + addend). Shapes that broadcast."""
    return jf.nn.relu(jf.add(jf.multiply(input, other), addend))


@fused
def elementwise_sub_square(input: Any, other: Any) -> Any:
    """square(input - other): the squared error of each element. Shapes that broadcast."""
    return jf.square(jf.subtract(input, other))


@fused
def fused_axpby(x: Any, y: Any, a: Any = 1.0, b: Any = 1.0) -> Any:
    """a * x + b * y (Apex: multi_tensor_axpby). a and b: numbers, passed with each call."""
    return jf.add(jf.multiply(x, a), jf.multiply(y, b))


# A bias, which broadcasts: [features] against the last axis, where nothing else is said.


@fused
def fused_bias_relu(input: Any, bias: Any) -> Any:
    """relu(input + bias): input [..., n], bias [n]."""
    return jf.nn.relu(jf.add(input, bias))


@fused
def fused_bias_gelu(input: Any, bias: Any, approximate: str = "none") -> Any:
    """gelu(input + bias): input [..., n], bias [n]. Megatron's and DeepSpeed's bias_gelu has
    approximate="tanh"; the default is torch's, with erf."""
    return jf.nn.gelu(jf.add(input, bias), approximate=approximate)


@fused
def fused_bias_silu(input: Any, bias: Any) -> Any:
    """silu(input + bias): input [..., n], bias [n]."""
    return jf.nn.silu(jf.add(input, bias))


@fused
def fused_bias_tanh(input: Any, bias: Any) -> Any:
    """tanh(input + bias): input [..., n], bias [n]."""
    return jf.tanh(jf.add(input, bias))


@fused
def fused_bias_sigmoid(input: Any, bias: Any) -> Any:
    """sigmoid(input + bias): input [..., n], bias [n]."""
    return jf.nn.sigmoid(jf.add(input, bias))


@fused
def fused_bias_act(input: Any, bias: Any, activation: str | None = "gelu") -> Any:
    """activation(input + bias), one of ACTIVATIONS or None (PaddlePaddle: fused_bias_act): input
    [..., n], bias [n]."""
    return activate("fused_bias_act", jf.add(input, bias), activation)


@fused
def fused_leaky_relu(
    input: Any, bias: Any, negative_slope: float = 0.2, scale: float = 2**0.5
) -> Any:
    """scale * leaky_relu(input + bias) (StyleGAN2): input [n, channels, ...], bias [channels]."""
    input, bias = jf.asarray(input), jf.asarray(bias)
    return jf.nn.leaky_relu(jf.add(input, per_channel(input, bias)), negative_slope) * scale


@fused
def prelu_bias(input: Any, bias: Any, weight: Any) -> Any:
    """prelu(input + bias, weight): bias and weight [channels] of axis 1 (of a matrix: the last
    axis), weight may also be [1]."""
    input, bias = jf.asarray(input), jf.asarray(bias)
    return jf.nn.prelu(jf.add(input, per_channel(input, bias)), weight)


# Gates: an activation of one array times another.


@fused
def swish_multiply(input: Any, other: Any) -> Any:
    """silu(input) * other. Shapes that broadcast."""
    return jf.multiply(jf.nn.silu(input), other)


@fused
def gelu_multiply(input: Any, other: Any, approximate: str = "none") -> Any:
    """gelu(input) * other. Shapes that broadcast."""
    return jf.multiply(jf.nn.gelu(input, approximate=approximate), other)


@fused
def sigmoid_multiply(input: Any, other: Any) -> Any:
    """sigmoid(input) * other. Shapes that broadcast."""
    return jf.multiply(jf.nn.sigmoid(input), other)


@fused
def mish_scale(input: Any, scale: Any) -> Any:
    """mish(input) * scale; scale: a number, or an array that broadcasts."""
    return jf.multiply(jf.nn.mish(input), scale)


@fused
def fused_swiglu(gate: Any, up: Any) -> Any:
    """silu(gate) * up, of two arrays of one shape (Liger, xFormers; of the halves of one array:
    silu_and_mul)."""
    return jf.nn.swiglu(up, gate)


@fused
def fused_geglu(gate: Any, up: Any, approximate: str = "tanh") -> Any:
    """gelu(gate) * up (Liger: with tanh, which is the default here too)."""
    return jf.multiply(jf.nn.gelu(gate, approximate=approximate), up)


@fused
def fused_reglu(gate: Any, up: Any) -> Any:
    """relu(gate) * up, of two arrays of one shape."""
    return jf.nn.reglu(up, gate)


@fused
def silu_and_mul(input: Any) -> Any:
    """silu(first half) * second half of the last axis, [..., 2n] to [..., n] (vLLM)."""
    gate, up = halves("silu_and_mul", jf.asarray(input))
    return jf.nn.silu(gate) * up


@fused
def mul_and_silu(input: Any) -> Any:
    """first half * silu(second half) of the last axis, [..., 2n] to [..., n] (vLLM)."""
    up, gate = halves("mul_and_silu", jf.asarray(input))
    return up * jf.nn.silu(gate)


@fused
def gelu_and_mul(input: Any, approximate: str = "none") -> Any:
    """gelu(first half) * second half of the last axis, [..., 2n] to [..., n] (vLLM)."""
    gate, up = halves("gelu_and_mul", jf.asarray(input))
    return jf.nn.gelu(gate, approximate=approximate) * up


@fused
def gelu_tanh_and_mul(input: Any) -> Any:
    """gelu_and_mul with the tanh form (vLLM)."""
    gate, up = halves("gelu_tanh_and_mul", jf.asarray(input))
    return jf.nn.gelu(gate, approximate="tanh") * up


@fused
def fatrelu_and_mul(input: Any, threshold: float = 0.0) -> Any:
    """The first half of the last axis where it is above the threshold, else 0, times the second
    half (vLLM)."""
    gate, up = halves("fatrelu_and_mul", jf.asarray(input))
    return jf.nn.threshold(gate, threshold, 0.0) * up


@fused
def fused_glu(input: Any) -> Any:
    """first half * sigmoid(second half) of the last axis: torch's glu, [..., 2n] to [..., n]."""
    return jf.nn.glu(jf.asarray(input))


@fused
def fused_bias_swiglu(input: Any, bias: Any) -> Any:
    """silu_and_mul(input + bias), [..., 2n] with [2n] to [..., n] (Megatron: bias_swiglu)."""
    gate, up = halves("fused_bias_swiglu", jf.add(input, bias))
    return jf.nn.silu(gate) * up


@fused
def fused_bias_geglu(input: Any, bias: Any) -> Any:
    """gelu_tanh_and_mul(input + bias), [..., 2n] with [2n] to [..., n] (Megatron: bias_geglu)."""
    gate, up = halves("fused_bias_geglu", jf.add(input, bias))
    return jf.nn.gelu(gate, approximate="tanh") * up


# Activations that others have kernels for.


@fused
def squared_relu(input: Any) -> Any:
    """square(relu(input)) (Megatron; Liger: relu_squared)."""
    return jf.square(jf.nn.relu(input))


@fused
def quick_gelu(input: Any) -> Any:
    """input * sigmoid(1.702 * input) (ONNX Runtime: QuickGelu; vLLM: gelu_quick)."""
    input = jf.asarray(input)
    return input * jf.nn.sigmoid(1.702 * input)


@fused
def gelu_new(input: Any) -> Any:
    """gelu in its tanh form (vLLM: gelu_new, gelu_fast; ONNX Runtime: FastGelu)."""
    return jf.nn.gelu(input, approximate="tanh")


@fused
def dynamic_tanh(input: Any, alpha: Any, weight: Any, bias: Any) -> Any:
    """weight * tanh(alpha * input) + bias, in place of a norm (Liger: DyT): input [..., n], alpha
    [1] or a number, weight and bias [n]."""
    return jf.add(jf.multiply(jf.tanh(jf.multiply(input, alpha)), weight), bias)


# Scales, residuals, quantisation, rotation.


@fused
def layer_scale_add(input: Any, gamma: Any, residual: Any) -> Any:
    """residual + gamma * input: input and residual [..., n], gamma [n]."""
    return jf.add(residual, jf.multiply(input, gamma))


@fused
def fused_modulate(input: Any, shift: Any, scale: Any) -> Any:
    """input * (1 + scale) + shift, as in diffusion transformers. Shapes that broadcast."""
    return jf.add(jf.multiply(input, jf.add(1, scale)), shift)


@fused
def fake_quantize(
    input: Any, scale: Any, zero_point: Any = 0, quant_min: int = -128, quant_max: int = 127
) -> Any:
    """(clamp(round(input / scale) + zero_point, quant_min, quant_max) - zero_point) * scale. scale
    and zero_point: numbers, or arrays that broadcast, of input's dtype."""
    q = jf.clip(jf.add(jf.round(jf.divide(input, scale)), zero_point), quant_min, quant_max)
    return jf.multiply(jf.subtract(q, zero_point), scale)


@fused
def fused_rope(input: Any, cos: Any, sin: Any, interleaved: bool = False) -> Any:
    """Rotary position embedding, input * cos + turned * sin: input [..., n]; cos and sin broadcast
    to it (Apex and Megatron: fused_apply_rotary_pos_emb; Liger: rope; FlashAttention:
    apply_rotary_emb). turned: of the halves (a, b) of the last axis (-b, a); interleaved: of
    each pair of neighbours. The result has input's dtype."""
    input = jf.asarray(input)
    if interleaved:
        if int(input.shape[-1]) % 2:
            raise ValueError(f"fused_rope: expected a last axis of even size, got {input!r}")
        pairs = input.reshape((*input.shape[:-1], int(input.shape[-1]) // 2, 2))
        turned = jf.stack([-pairs[..., 1], pairs[..., 0]], axis=-1).reshape(input.shape)
    else:
        low, high = halves("fused_rope", input)
        turned = jf.concat([-high, low], axis=-1)
    return jf.astype(jf.add(jf.multiply(input, cos), jf.multiply(turned, sin)), input.dtype)
