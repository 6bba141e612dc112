"""Reductions of an expression. dim: None (of all elements), an axis, or a tuple of axes."""

from __future__ import annotations

from typing import Any

import jitfuse as jf

from ._make import fused

Dim = int | tuple[int, ...] | None


@fused
def reduce_sum_squared(input: Any, dim: Dim = None, keepdim: bool = False) -> Any:
    """sum(input * input)."""
    return jf.sum(jf.square(input), axis=dim, keepdims=keepdim)


@fused
def reduce_mean_squared(input: Any, dim: Dim = None, keepdim: bool = False) -> Any:
    """mean(input * input)."""
    return jf.mean(jf.square(input), axis=dim, keepdims=keepdim)


@fused
def reduce_sum_abs(input: Any, dim: Dim = None, keepdim: bool = False) -> Any:
    """sum(abs(input)): the 1-norm."""
    return jf.sum(jf.abs(input), axis=dim, keepdims=keepdim)


@fused
def reduce_mean_abs(input: Any, dim: Dim = None, keepdim: bool = False) -> Any:
    """mean(abs(input))."""
    return jf.mean(jf.abs(input), axis=dim, keepdims=keepdim)


@fused
def reduce_max_abs(input: Any, dim: Dim = None, keepdim: bool = False) -> Any:
    """max(abs(input)), as scales of quantisation need it; NaN if any is."""
    return jf.max(jf.abs(input), axis=dim, keepdims=keepdim)


@fused
def reduce_sum_exp(input: Any, dim: Dim = None, keepdim: bool = False) -> Any:
    """sum(exp(input)); reduce_logsumexp does not overflow."""
    return jf.sum(jf.exp(input), axis=dim, keepdims=keepdim)


@fused
def reduce_logsumexp(input: Any, dim: Dim = None, keepdim: bool = False) -> Any:
    """log(sum(exp(input))) with no overflow."""
    return jf.logsumexp(input, axis=dim, keepdims=keepdim)


@fused
def reduce_rms(input: Any, dim: Dim = None, keepdim: bool = False) -> Any:
    """sqrt(mean(input * input))."""
    return jf.sqrt(jf.mean(jf.square(input), axis=dim, keepdims=keepdim))


@fused
def reduce_l2_norm(input: Any, dim: Dim = None, keepdim: bool = False) -> Any:
    """sqrt(sum(input * input)), with no overflow on the way (Apex: multi_tensor_l2norm)."""
    return jf.linalg.vector_norm(input, axis=dim, keepdims=keepdim)


@fused
def reduce_sum_mul(input: Any, other: Any, dim: Dim = None, keepdim: bool = False) -> Any:
    """sum(input * other): the dot product. Shapes that broadcast."""
    return jf.sum(jf.multiply(input, other), axis=dim, keepdims=keepdim)


@fused
def reduce_sum_squared_difference(
    input: Any, other: Any, dim: Dim = None, keepdim: bool = False
) -> Any:
    """sum(square(input - other)). Shapes that broadcast."""
    return jf.sum(jf.square(jf.subtract(input, other)), axis=dim, keepdims=keepdim)


@fused
def reduce_var_mean(
    input: Any, dim: Dim = None, correction: int = 1, keepdim: bool = False
) -> tuple[Any, Any]:
    """(variance, mean), as torch.var_mean: the variance divides by count - correction."""
    return (
        jf.var(input, axis=dim, correction=correction, keepdims=keepdim),
        jf.mean(input, axis=dim, keepdims=keepdim),
    )


@fused
def fused_l2_normalize(input: Any, dim: int = -1, eps: float = 1e-12) -> Any:
    """input / max(norm, eps), the norm along an axis."""
    return jf.nn.normalize(input, dim=dim, eps=eps)


@fused
def fused_cosine_similarity(input: Any, other: Any, dim: int = -1, eps: float = 1e-8) -> Any:
    """The cosine of the angle between vectors along an axis, as torch's cosine_similarity."""
    return jf.nn.cosine_similarity(input, other, dim=dim, eps=eps)


@fused
def fused_standardize(input: Any, dim: int = -1, eps: float = 0.0) -> Any:
    """(input - mean) / (std + eps) along an axis; std divides by count - 1."""
    input = jf.asarray(input)
    centred = input - jf.mean(input, axis=dim, keepdims=True)
    return centred / (jf.std(input, axis=dim, correction=1, keepdims=True) + eps)


@fused
def clip_by_norm(input: Any, max_norm: Any, eps: float = 1e-6) -> Any:
    """input * min(max_norm / (norm + eps), 1), the norm of all elements: what
    torch.nn.utils.clip_grad_norm_ makes of one gradient."""
    input = jf.asarray(input)
    return input * jf.minimum(max_norm / (jf.linalg.vector_norm(input) + eps), 1)
