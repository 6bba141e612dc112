"""Products of matrices with what follows them.

weight is [out, in], as torch's linear has it, where it is called weight; matrices on the right of a
product are [in, out]. input [..., in]. bias [out] or None.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jitfuse as jf

from ._make import activate, fused


@fused
def fused_linear(input: Any, weight: Any, bias: Any = None) -> Any:
    """input @ weight.T + bias (Apex: FusedDense, DenseNoBias; xFormers, PaddlePaddle)."""
    return jf.nn.linear(input, weight, bias)


@fused
def fused_linear_relu(input: Any, weight: Any, bias: Any = None) -> Any:
    """relu(linear(input))."""
    return jf.nn.relu(jf.nn.linear(input, weight, bias))


@fused
def fused_linear_gelu(input: Any, weight: Any, bias: Any = None, approximate: str = "none") -> Any:
    """gelu(linear(input))."""
    return jf.nn.gelu(jf.nn.linear(input, weight, bias), approximate=approximate)


@fused
def fused_linear_silu(input: Any, weight: Any, bias: Any = None) -> Any:
    """silu(linear(input))."""
    return jf.nn.silu(jf.nn.linear(input, weight, bias))


@fused
def fused_linear_activation(
    input: Any, weight: Any, bias: Any = None, activation: str | None = "relu"
) -> Any:
    """activation(linear(input)), one of ACTIVATIONS or None (PaddlePaddle:
    fused_linear_activation)."""
    return activate("fused_linear_activation", jf.nn.linear(input, weight, bias), activation)


@fused
def fused_linear_residual(input: Any, weight: Any, bias: Any, residual: Any) -> Any:
    """residual + linear(input); bias may be None."""
    return jf.add(residual, jf.nn.linear(input, weight, bias))


@fused
def fused_linear_relu_dropout(
    input: Any, weight: Any, bias: Any = None, p: float = 0.5, training: bool = True
) -> Any:
    """dropout(relu(linear(input)), p)."""
    return jf.nn.dropout(jf.nn.relu(jf.nn.linear(input, weight, bias)), p, training)


@fused
def fused_linear_activation_dropout(
    input: Any,
    weight: Any,
    bias: Any = None,
    activation: str | None = "relu",
    p: float = 0.5,
    training: bool = True,
) -> Any:
    """dropout(activation(linear(input)), p)."""
    hidden = jf.nn.linear(input, weight, bias)
    hidden = activate("fused_linear_activation_dropout", hidden, activation)
    return jf.nn.dropout(hidden, p, training)


@fused
def fused_matmul_bias(
    x: Any, y: Any, bias: Any = None, transpose_x: bool = False, transpose_y: bool = False
) -> Any:
    """x @ y + bias, x and y transposed before it where said (PaddlePaddle: fused_matmul_bias,
    fused_linear; ONNX Runtime: FusedMatMul)."""
    x, y = jf.asarray(x), jf.asarray(y)
    product = jf.matmul(x.mT if transpose_x else x, y.mT if transpose_y else y)
    return product if bias is None else jf.add(product, bias)


@fused
def matmul_leaky_relu(a: Any, b: Any, negative_slope: float = 0.01) -> Any:
    """leaky_relu(a @ b) (Triton's tutorial on matrix products)."""
    return jf.nn.leaky_relu(jf.matmul(a, b), negative_slope)


@fused
def addmm_relu(input: Any, mat1: Any, mat2: Any) -> Any:
    """relu(input + mat1 @ mat2) (torch: _addmm_activation): input [out] or [n, out], mat1 [n, in],
    mat2 [in, out]."""
    return jf.nn.relu(jf.add(input, jf.matmul(mat1, mat2)))


@fused
def fused_dense_gelu_dense(
    input: Any, weight1: Any, bias1: Any, weight2: Any, bias2: Any, approximate: str = "none"
) -> Any:
    """linear(gelu(linear(input))) (Apex: FusedDenseGeluDense)."""
    hidden = jf.nn.gelu(jf.nn.linear(input, weight1, bias1), approximate=approximate)
    return jf.nn.linear(hidden, weight2, bias2)


def mlp(
    what: str,
    input: Any,
    weights: Sequence[Any],
    biases: Sequence[Any] | None,
    activation: str | None,
    p: float = 0.0,
) -> Any:
    """Linear layers with an activation and dropout between them, on traced arrays."""
    if biases is None:
        biases = [None] * len(weights)
    if not weights or len(biases) != len(weights):
        raise ValueError(
            f"{what}: expected a weight and a bias for each of one or more layers, got "
            f"{len(weights)} weights and {len(biases)} biases"
        )
    for i, (weight, bias) in enumerate(zip(weights, biases)):
        input = jf.nn.linear(input, weight, bias)
        if i + 1 < len(weights):
            input = jf.nn.dropout(activate(what, input, activation), p, p > 0)
    return input


@fused
def fused_mlp(
    input: Any,
    weights: Any,
    biases: Any = None,
    activation: str | None = "relu",
    p: float = 0.0,
    training: bool = True,
) -> Any:
    """Linear layers with an activation, and dropout of p, between them (Apex: MLP): weights is a
    list of [out, in], biases one of [out] or None; nothing follows the last layer."""
    return mlp("fused_mlp", input, weights, biases, activation, p if training else 0.0)


@fused
def fused_swiglu_mlp(input: Any, gate_weight: Any, up_weight: Any, down_weight: Any) -> Any:
    """linear(silu(linear(input, gate_weight)) * linear(input, up_weight), down_weight) (xFormers:
    SwiGLU; Liger: LigerSwiGLUMLP): gate and up [hidden, in], down [out, hidden]."""
    gate = jf.nn.silu(jf.nn.linear(input, gate_weight))
    return jf.nn.linear(gate * jf.nn.linear(input, up_weight), down_weight)


@fused
def fused_geglu_mlp(input: Any, gate_weight: Any, up_weight: Any, down_weight: Any) -> Any:
    """fused_swiglu_mlp with gelu in its tanh form (Liger: LigerGEGLUMLP)."""
    gate = jf.nn.gelu(jf.nn.linear(input, gate_weight), approximate="tanh")
    return jf.nn.linear(gate * jf.nn.linear(input, up_weight), down_weight)


@fused
def grouped_linear(input: Any, weights: Any, biases: Any = None) -> Any:
    """The tuple of input @ w.T + b for w, b in zip(weights, biases), as the projections of an
    attention (q, k, v): weights is a list of [out, in], biases one of [out] or None. Bound
    (grouped_linear.bind(weights=[...])) they become one product with the weights put side by side
    once, where that makes fewer kernels; else each is a product. weights may be one array
    [layers, out, in] and biases one [layers, out]: then it is one batched product."""
    if isinstance(weights, (list, tuple)):
        added = [None] * len(weights) if biases is None else list(biases)
        if not weights or len(added) != len(weights):
            raise ValueError(
                "grouped_linear: expected a bias for each of one or more weights, or none, got "
                f"{len(weights)} weights and {len(added)} biases"
            )
        return tuple([jf.nn.linear(input, w, b) for w, b in zip(weights, added)])
    input, weights = jf.asarray(input), jf.asarray(weights)
    if weights.ndim != 3:
        raise ValueError(
            "grouped_linear: expected a list of weights [out, in] or one array [layers, out, in], "
            f"got one of shape {tuple(weights.shape)}"
        )
    rows = jf.reshape(input, (1, -1, input.shape[-1]))
    product = jf.matmul(rows, weights.mT)
    if biases is not None:
        product = jf.add(product, jf.expand_dims(jf.asarray(biases), axis=1))
    shape = (*input.shape[:-1], weights.shape[1])
    return tuple([jf.reshape(product[i], shape) for i in range(int(weights.shape[0]))])


@fused
def flash_norm(input: Any, weight: Any, bias: Any = None, eps: float = 1e-6) -> Any:
    """linear(rms_norm(input)) with the norm put off until after the product (FlashNorm): input @
    weight.T / sqrt(mean(input * input) + eps) + bias. The norm's own weight is folded into weight
    before: weight * norm_weight."""
    input = jf.asarray(input)
    scale = jf.rsqrt(jf.mean(jf.square(input), axis=-1, keepdims=True) + eps)
    product = jf.nn.linear(input, weight) * scale
    return product if bias is None else jf.add(product, bias)
