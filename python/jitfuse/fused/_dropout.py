"""Dropout with what comes before and after it.

p is the probability that an element becomes 0; what stays is divided by 1 - p. training False: no
dropout. Which elements stay is a function of the seed (jitfuse.random.seed), of the number of the
call and of the element's place, on every device alike.
"""

from __future__ import annotations

from typing import Any

import jitfuse as jf

from ._make import activate, fused


@fused
def fused_dropout(input: Any, p: float = 0.5, training: bool = True) -> Any:
    """dropout whose mask is never stored (Triton's tutorial: seeded_dropout)."""
    return jf.nn.dropout(input, p, training)


@fused
def fused_relu_dropout(input: Any, p: float = 0.5, training: bool = True) -> Any:
    """dropout(relu(input), p)."""
    return jf.nn.dropout(jf.nn.relu(input), p, training)


@fused
def fused_gelu_dropout(
    input: Any, p: float = 0.5, training: bool = True, approximate: str = "none"
) -> Any:
    """dropout(gelu(input), p)."""
    return jf.nn.dropout(jf.nn.gelu(input, approximate=approximate), p, training)


@fused
def fused_dropout_add(input: Any, residual: Any, p: float = 0.5, training: bool = True) -> Any:
    """dropout(input, p) + residual (PaddlePaddle)."""
    return jf.add(jf.nn.dropout(input, p, training), residual)


@fused
def fused_bias_dropout(
    input: Any, bias: Any, activation: str | None = None, p: float = 0.5, training: bool = True
) -> Any:
    """dropout(activation(input + bias), p): input [..., n], bias [n] (xFormers: FusedDropoutBias;
    ONNX Runtime: BiasDropout)."""
    hidden = activate("fused_bias_dropout", jf.add(input, bias), activation)
    return jf.nn.dropout(hidden, p, training)


@fused
def fused_bias_gelu_dropout(
    input: Any, bias: Any, p: float = 0.5, training: bool = True, approximate: str = "none"
) -> Any:
    """dropout(gelu(input + bias), p): input [..., n], bias [n]."""
    return jf.nn.dropout(jf.nn.gelu(jf.add(input, bias), approximate=approximate), p, training)


@fused
def fused_bias_dropout_add(
    input: Any, bias: Any, residual: Any, p: float = 0.5, training: bool = True
) -> Any:
    """dropout(input + bias, p) + residual: input and residual [..., n], bias [n] or None (Megatron:
    bias_dropout_add_fused_train, and with training=False ..._inference)."""
    total = input if bias is None else jf.add(input, bias)
    return jf.add(jf.nn.dropout(total, p, training), residual)
