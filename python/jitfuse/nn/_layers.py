"""linear, embedding, dropout, attention and what else torch.nn.functional has that one expression
gives."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .._apply import apply, astype, lift, require_trace, to_array
from .._array import Array
from .._creation import full
from .._dtypes import DType, float32, int64
from .._elementwise import index_array, maximum, multiply, sqrt, where
from .._linalg import matmul, widened
from .._manipulation import matrix_transpose, tril
from .._manipulation import pad as _pad
from .._reductions import sum as _sum
from .._reductions import vector_norm


def linear(
    input: Any, weight: Any, bias: Any = None, *, preferred_element_type: Any = None
) -> Array:
    """x times weight transposed, plus bias: weight is [out, in]. preferred_element_type: as of
    matmul."""
    given = [t for t in (input, weight, bias) if t is not None]
    trace, operands, _ = lift(widened(given, preferred_element_type, "linear"), "linear")
    return apply("linear", operands)


def bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Array:
    """x1 W x2 for each W of weight [out, in1, in2], plus bias."""
    x1, x2, w = (to_array(t, "bilinear") for t in (input1, input2, weight))
    left = matmul(x1.reshape((*x1.shape[:-1], 1, 1, x1.shape[-1])), w)  # [..., out, 1, in2]
    result = _sum(
        left.reshape((*x1.shape[:-1], w.shape[0], w.shape[2]))
        * x2.reshape((*x2.shape[:-1], 1, x2.shape[-1])),
        axis=-1,
    )
    return result if bias is None else result + bias


def embedding(
    input: Any,
    weight: Any,
    padding_idx: int | None = None,
    max_norm: float | None = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
    sparse: bool = False,
) -> Array:
    """The rows of weight at these positions. The row padding_idx gets no gradient; sparse is not
    looked at: gradients are dense."""
    if max_norm is not None:
        raise NotImplementedError(
            "embedding: max_norm, which changes weight in place, is not supported"
        )
    if scale_grad_by_freq:
        raise NotImplementedError(
            "embedding: scale_grad_by_freq=True, which divides gradients by how often a row is "
            "taken, is not supported"
        )
    weight = to_array(weight, "embedding")
    attrs = {"padding_idx": None if padding_idx is None else _padding_row(padding_idx, weight)}
    return apply("embedding", [index_array(input, "embedding"), weight], attrs)


def _padding_row(padding_idx: int, weight: Array) -> int:
    """Negative ones count from the end. The number of rows is a constant then."""
    rows = int(weight.shape[0])
    if not -rows <= padding_idx < rows:
        raise ValueError(f"embedding: padding_idx is {padding_idx}, but weight has {rows} rows")
    return padding_idx % rows


def one_hot(tensor: Any, num_classes: int = -1) -> Array:
    """1 where the position along a new last axis is x, else 0; num_classes is to be given."""
    if num_classes < 0:
        raise ValueError(
            "one_hot: expected num_classes; to find it would need the values of a traced array"
        )
    return apply(
        "one_hot", [index_array(tensor, "one_hot")], {"num_classes": num_classes, "dtype": int64}
    )


def pad(
    input: Any, pad: Sequence[int], mode: str = "constant", value: float | None = None
) -> Array:
    """x with a border: pad is (before, after) of the last axis, then of the one before it ...
    Negative: cut off."""
    x = to_array(input, "pad")
    if len(pad) % 2 or len(pad) > 2 * x.ndim:
        raise ValueError(f"pad: expected pairs for at most {x.ndim} axes, got {tuple(pad)}")
    pairs = [(pad[i], pad[i + 1]) for i in range(0, len(pad), 2)]
    pairs = [(0, 0)] * (x.ndim - len(pairs)) + pairs[::-1]
    modes = {"constant": "constant", "reflect": "reflect", "replicate": "edge", "circular": "wrap"}
    if mode not in modes:
        raise ValueError(f"pad: mode={mode!r}, expected one of {', '.join(modes)}")
    cuts = tuple(slice(-min(a, 0), min(b, 0) or None) for a, b in pairs)
    x = x[cuts] if any(c != slice(0, None) for c in cuts) else x
    return _pad(
        x, [(max(a, 0), max(b, 0)) for a, b in pairs], modes[mode], constant_values=value or 0.0
    )


# Random.


def dropout(input: Any, p: Any = 0.5, training: bool = True, inplace: bool = False) -> Array:
    """0 with probability p (a number, or a float array of rank 0), else x / (1 - p); seed:
    jitfuse.random."""
    x = to_array(input, "dropout")
    _check_probability("dropout", p)
    if not training:
        return x
    if isinstance(p, Array):
        return apply("dropout", lift([x, p], "dropout")[1])
    return apply("dropout", [x], {"p": float(p)})


def _check_probability(what: str, p: Any) -> None:
    if not isinstance(p, Array) and not 0 <= p <= 1:
        raise ValueError(f"{what}: p is {p}, expected a probability from 0 to 1")


def _channel_dropout(what: str, rank: int, input: Any, p: float, training: bool) -> Array:
    """One decision for each channel: dropout of ones, broadcast over the axes behind."""
    x = to_array(input, what)
    _check_probability(what, p)
    if not training:
        return x
    if x.ndim not in (rank + 1, rank + 2):
        raise ValueError(f"{what}: expected {rank + 1} or {rank + 2} axes, got {x!r}")
    shape = (*x.shape[: x.ndim - rank], *[1] * rank)
    return multiply(x, dropout(full(shape, 1, dtype=x.dtype), p))


def dropout1d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Array:
    """dropout of whole channels of [N, C, L]."""
    return _channel_dropout("dropout1d", 1, input, p, training)


def dropout2d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Array:
    """dropout of whole channels of [N, C, H, W]."""
    return _channel_dropout("dropout2d", 2, input, p, training)


def dropout3d(input: Any, p: float = 0.5, training: bool = True, inplace: bool = False) -> Array:
    """dropout of whole channels of [N, C, D, H, W]."""
    return _channel_dropout("dropout3d", 3, input, p, training)


def alpha_dropout(
    input: Any, p: float = 0.5, training: bool = False, inplace: bool = False
) -> Array:
    """dropout that keeps mean and variance of what selu gives."""
    x = to_array(input, "alpha_dropout")
    _check_probability("alpha_dropout", p)
    if not training or p == 0:
        return x
    if p == 1:
        return multiply(x, 0)
    low = -1.7580993408473766
    a = ((1 - p) * (1 + p * low**2)) ** -0.5
    keep = apply("bernoulli", [full(x.shape, 1 - p, dtype=x.dtype)])
    return multiply(where(keep != 0, x, low), a) + (-a * low * p)


# Attention and distances.


def scaled_dot_product_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Array:
    """softmax(query key^T * scale + mask) value; not fused into one kernel.

    A query all of whose scores are -inf gets zeros, and gives no gradient, as in torch. What a bool
    mask leaves out counts for nothing, even a NaN, which torch adds -inf to.
    """
    require_trace([query, key, value], "scaled_dot_product_attention")
    query, key = to_array(query, "attention"), to_array(key, "attention")
    if enable_gqa:
        raise NotImplementedError(
            "scaled_dot_product_attention: enable_gqa is not supported; use jitfuse.repeat on key "
            "and value"
        )
    factor = int(query.shape[-1]) ** -0.5 if scale is None else scale
    scores = matmul(query, matrix_transpose(key)) * factor
    low = float("-inf")
    if is_causal:
        shape = (int(query.shape[-2]), int(key.shape[-2]))
        scores = where(tril(full(shape, True)), scores, low)
    if attn_mask is not None:
        mask = _attention_mask(attn_mask, query.dtype)
        boolean = mask.dtype.kind == "bool"
        scores = where(mask, scores, low) if boolean else astype(scores + mask, scores.dtype)
    weights = apply("softmax", [scores], {"axis": -1, "zero_rows": True})
    return matmul(dropout(weights, dropout_p) if dropout_p else weights, value)


def _attention_mask(attn_mask: Any, dtype: DType) -> Array:
    """Of a dtype that torch takes."""
    mask = to_array(attn_mask, "attention")
    if mask.dtype.kind != "bool" and mask.dtype not in (float32, dtype):
        raise TypeError(
            "scaled_dot_product_attention: expected attn_mask of bool, float32 or query's dtype "
            f"{dtype}, got {mask.dtype}"
        )
    return mask


def cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-08) -> Array:
    """The cosine of the angle between vectors along an axis."""
    trace, (x1, x2), _ = lift([x1, x2], "cosine_similarity")
    squares = _sum(x1 * x1, axis=dim), _sum(x2 * x2, axis=dim)
    return _sum(x1 * x2, axis=dim) / (
        sqrt(maximum(squares[0], eps * eps)) * sqrt(maximum(squares[1], eps * eps))
    )


def pairwise_distance(
    x1: Any, x2: Any, p: float = 2.0, eps: float = 1e-06, keepdim: bool = False
) -> Array:
    """The p-norm of x1 - x2 + eps along the last axis."""
    trace, (x1, x2), _ = lift([x1, x2], "pairwise_distance")
    return vector_norm(x1 - x2 + eps, axis=-1, ord=p, keepdims=keepdim)
