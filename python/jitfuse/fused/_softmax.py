"""Softmax with scale, mask and dropout; attention; losses."""

from __future__ import annotations

import math
from typing import Any

import jitfuse as jf

from ._make import fused

_MASKED = -10000.0  # what Megatron's and Apex's kernels put where the mask is set


def _causal(x: Any) -> Any:
    """True where the key (last axis) is not after the query (the one before)."""
    return jf.tril(jf.full((int(x.shape[-2]), int(x.shape[-1])), True))


@fused
def fused_softmax(input: Any, dim: int = -1) -> Any:
    """softmax along an axis (Triton's tutorial, Liger, xFormers)."""
    return jf.nn.softmax(input, dim=dim)


@fused
def fused_log_softmax(input: Any, dim: int = -1) -> Any:
    """log_softmax along an axis."""
    return jf.nn.log_softmax(input, dim=dim)


@fused
def scaled_softmax(input: Any, scale: Any = 1.0) -> Any:
    """softmax(input * scale) over the last axis (Apex, Megatron). scale: a number, passed with each
    call."""
    return jf.nn.softmax(jf.multiply(input, scale), dim=-1)


@fused
def scaled_masked_softmax(input: Any, mask: Any, scale: Any = 1.0) -> Any:
    """softmax(input * scale) over the last axis, with -10000 where the bool mask is True (Apex,
    Megatron; generic_scaled_masked_softmax is the same): mask broadcasts to input."""
    scaled = jf.multiply(input, scale)
    return jf.nn.softmax(jf.where(mask, _MASKED, scaled), dim=-1)


@fused
def scaled_upper_triang_masked_softmax(input: Any, scale: Any = 1.0) -> Any:
    """softmax(input * scale) over the last axis of [..., queries, keys], where keys after the query
    count as nothing (Apex, Megatron; PaddlePaddle: softmax_mask_fuse_upper_triangle)."""
    scaled = jf.multiply(input, scale)
    return jf.nn.softmax(jf.where(_causal(scaled), scaled, float("-inf")), dim=-1)


@fused
def softmax_mask_fuse(input: Any, mask: Any) -> Any:
    """softmax(input + mask) over the last axis; mask broadcasts (PaddlePaddle; ONNX Runtime:
    BiasSoftmax)."""
    return jf.nn.softmax(jf.add(input, mask), dim=-1)


@fused
def fused_softmax_dropout(input: Any, p: float = 0.1, dim: int = -1, training: bool = True) -> Any:
    """dropout(softmax(input), p)."""
    return jf.nn.dropout(jf.nn.softmax(input, dim=dim), p, training)


@fused
def fused_attention_score(
    input: Any, attn_mask: Any = None, scale: Any = 1.0, p: float = 0.0, training: bool = True
) -> Any:
    """dropout(softmax(input * scale + attn_mask), p) over the last axis: from the products of
    queries and keys [..., queries, keys] to what weighs the values. A bool mask is True where a key
    counts, as torch's; it broadcasts. Rows of nothing but -inf become zeros, as in torch's
    scaled_dot_product_attention."""
    scores = jf.multiply(input, scale)
    if attn_mask is not None:
        mask = jf.asarray(attn_mask)
        scores = jf.where(mask, scores, float("-inf")) if mask.dtype == jf.bool else scores + mask
    weights = jf.ops.softmax(scores, axis=-1, zero_rows=True)
    return jf.nn.dropout(weights, p, training) if p else weights


@fused
def fused_attention(
    query: Any,
    key: Any,
    value: Any,
    attn_mask: Any = None,
    p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
) -> Any:
    """torch's scaled_dot_product_attention, as two products and one kernel between them: the scores
    are stored, unlike in FlashAttention. query [..., queries, n], key [..., keys, n], value [...,
    keys, m]."""
    return jf.nn.scaled_dot_product_attention(query, key, value, attn_mask, p, is_causal, scale)


# Losses. reduction: "mean", "sum" or "none".


@fused
def fused_softmax_cross_entropy(
    input: Any,
    target: Any,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """cross_entropy: input [n, classes], target [n] of integers (Apex: SoftmaxCrossEntropyLoss,
    Liger, FlashAttention, Megatron: vocab_parallel_cross_entropy of one rank)."""
    return jf.nn.cross_entropy(
        input,
        target,
        ignore_index=ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


@fused
def fused_linear_cross_entropy(
    input: Any,
    weight: Any,
    target: Any,
    bias: Any = None,
    ignore_index: int = -100,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Any:
    """cross_entropy(linear(input, weight, bias), target) (Liger; its order of arguments begins with
    weight): the logits are stored once."""
    return jf.nn.cross_entropy(
        jf.nn.linear(input, weight, bias),
        target,
        ignore_index=ignore_index,
        reduction=reduction,
        label_smoothing=label_smoothing,
    )


def _reduced(what: str, terms: Any, reduction: str, batchmean: bool = False) -> Any:
    known = ("mean", "sum", "none", "batchmean") if batchmean else ("mean", "sum", "none")
    if reduction not in known:
        raise ValueError(
            f"{what}: reduction={reduction!r}, expected one of {', '.join(map(repr, known))}"
        )
    if reduction == "none":
        return terms
    if reduction == "sum":
        return jf.sum(terms)
    per_row = math.prod(map(int, terms.shape[1:])) if reduction == "batchmean" else 1
    return jf.mean(terms) * per_row  # one reduction, of rows of any number


@fused
def sigmoid_focal_loss(
    input: Any, target: Any, alpha: float = 0.25, gamma: float = 2.0, reduction: str = "none"
) -> Any:
    """-a * (1 - q)^gamma * log(q), q being sigmoid(input) where target is 1 and 1 - sigmoid(input)
    where it is 0, a being alpha or 1 - alpha; alpha below 0: no a (torchvision; Apex: focal_loss).
    input and target of one shape and dtype."""
    input, target = jf.asarray(input), jf.asarray(target)
    entropy = jf.nn.binary_cross_entropy_with_logits(input, target, reduction="none")
    p = jf.nn.sigmoid(input)
    missed = p + target - 2 * p * target  # 1 - q
    loss = entropy * jf.pow(missed, gamma)
    if alpha >= 0:
        loss = loss * (alpha * target + (1 - alpha) * (1 - target))
    return _reduced("sigmoid_focal_loss", loss, reduction)


@fused
def fused_bce_with_logits(input: Any, target: Any, reduction: str = "mean") -> Any:
    """binary_cross_entropy_with_logits: input and target of one shape."""
    return jf.nn.binary_cross_entropy_with_logits(input, target, reduction=reduction)


@fused
def fused_kl_div(input: Any, target: Any, reduction: str = "batchmean") -> Any:
    """target * (log(target) - input), of log-probabilities and probabilities [n, classes] (Liger);
    "batchmean" divides the sum by n."""
    terms = jf.nn.kl_div(input, target, reduction="none")
    return _reduced("fused_kl_div", terms, reduction, batchmean=True)


@fused
def fused_jsd(input: Any, target: Any, beta: float = 0.5) -> Any:
    """The generalised Jensen-Shannon divergence of log-probabilities [n, classes], as a mean over
    the rows (Liger): beta * KL(target | m) + (1 - beta) * KL(input | m), m being beta * target +
    (1 - beta) * input; 0 < beta < 1."""
    if not 0 < beta < 1:
        raise ValueError(f"fused_jsd: beta={beta}, expected a number between 0 and 1")
    x, y = jf.asarray(input), jf.asarray(target)
    p, q = jf.exp(y), jf.exp(x)
    log_m = jf.logaddexp(y + math.log(beta), x + math.log1p(-beta))
    terms = beta * p * (y - log_m) + (1 - beta) * q * (x - log_m)
    return _reduced("fused_jsd", terms, "batchmean", batchmean=True)


@fused
def fused_tvd(input: Any, target: Any, reduction: str = "batchmean") -> Any:
    """The total variation distance 0.5 * abs(input - target) of probabilities [n, classes]:
    "batchmean" divides the sum by n (Liger)."""
    terms = jf.abs(jf.subtract(input, target)) * 0.5
    return _reduced("fused_tvd", terms, reduction, batchmean=True)
