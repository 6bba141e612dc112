"""Losses. reduction is "none", "mean" or "sum"; size_average and reduce, which torch deprecates,
are not taken."""

from __future__ import annotations

from typing import Any

from .._apply import apply, lift, to_array
from .._array import Array
from .._creation import full
from .._elementwise import index_array, multiply
from .._reductions import sum as _sum

_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def _reduction(
    what: str, name: str, size_average: Any, reduce: Any, also: dict[str, int] | None = None
) -> int:
    if size_average is not None or reduce is not None:
        raise TypeError(
            f"{what}: size_average and reduce are not supported; use reduction='none', 'mean' or "
            "'sum'"
        )
    known = {**_REDUCTIONS, **(also or {})}
    if name not in known:
        raise ValueError(
            f"{what}: reduction={name!r}, expected one of {', '.join(map(repr, known))}"
        )
    return known[name]


def _difference(
    op: str,
    input: Any,
    target: Any,
    weight: Any,
    reduction: int,
    by_weight: bool = True,
    **attrs: float,
) -> Array:
    """A loss of the difference; a mean with a weight for each element is divided by their sum, or
    by their number."""
    trace, operands, _ = lift([input, target], op)
    if weight is None:
        return apply(op, operands, {"reduction": reduction, **attrs})
    weight = to_array(weight, op)
    loss = multiply(apply(op, operands, {"reduction": 0, **attrs}), weight)
    if reduction == 0:
        return loss
    total = _sum(loss)
    if reduction == 2:
        return total
    return total / _sum(weight) if by_weight else loss.mean()


def mse_loss(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Any = None,
) -> Array:
    """Squared difference."""
    return _difference(
        "mse_loss", input, target, weight, _reduction("mse_loss", reduction, size_average, reduce)
    )


def l1_loss(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    weight: Any = None,
) -> Array:
    """Absolute difference."""
    return _difference(
        "l1_loss", input, target, weight, _reduction("l1_loss", reduction, size_average, reduce)
    )


def smooth_l1_loss(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Array:
    """d * d / (2 * beta) where the absolute difference d is below beta, else d - beta / 2."""
    number = _reduction("smooth_l1_loss", reduction, size_average, reduce)
    return _difference("smooth_l1_loss", input, target, None, number, beta=float(beta))


def huber_loss(
    input: Any, target: Any, reduction: str = "mean", delta: float = 1.0, weight: Any = None
) -> Array:
    """d * d / 2 where the absolute difference d is at most delta, else delta * (d - delta / 2)."""
    number = _reduction("huber_loss", reduction, None, None)
    return _difference(
        "huber_loss", input, target, weight, number, by_weight=False, delta=float(delta)
    )


def binary_cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Array:
    """-(target * log(x) + (1 - target) * log(1 - x)), logarithms kept above -100, times weight."""
    number = _reduction("binary_cross_entropy", reduction, size_average, reduce)
    trace, operands, _ = lift([input, target], "binary_cross_entropy")
    weight = None if weight is None else to_array(weight, "binary_cross_entropy")
    return apply("binary_cross_entropy", [*operands, weight], {"reduction": number})


def binary_cross_entropy_with_logits(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    pos_weight: Any = None,
) -> Array:
    """Binary cross entropy of sigmoid(x), with no overflow; pos_weight multiplies the part of
    target 1."""
    what = "binary_cross_entropy_with_logits"
    number = _reduction(what, reduction, size_average, reduce)
    trace, operands, _ = lift([input, target], what)
    if weight is None and pos_weight is not None:
        weight = full((), 1, dtype=operands[0].dtype)  # only operands at the end can be left out
    others = [None if t is None else to_array(t, what) for t in (weight, pos_weight)]
    return apply(what, [*operands, *others], {"reduction": number})


def kl_div(
    input: Any,
    target: Any,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Array:
    """target * (log(target) - x), where x is a logarithm; "batchmean": the sum divided by the size
    of axis 0."""
    number = _reduction("kl_div", reduction, size_average, reduce, {"batchmean": 3})
    trace, operands, _ = lift([input, target], "kl_div")
    return apply("kl_div", operands, {"log_target": bool(log_target), "reduction": number})


def _class_operands(
    what: str, input: Any, target: Any, weight: Any
) -> tuple[list[Array | None], int]:
    """The operands, and the axis of the classes."""
    x = to_array(input, what)
    weight = None if weight is None else to_array(weight, what)
    return [x, to_array(target, what), weight], 0 if x.ndim == 1 else 1


def nll_loss(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
) -> Array:
    """-x at the target's class, times that class's weight; mean divides by the sum of the
    weights."""
    number = _reduction("nll_loss", reduction, size_average, reduce)
    operands, axis = _class_operands("nll_loss", input, target, weight)
    operands[1] = index_array(operands[1], "nll_loss")
    return apply(
        "nll_loss", operands, {"axis": axis, "ignore_index": ignore_index, "reduction": number}
    )


def cross_entropy(
    input: Any,
    target: Any,
    weight: Any = None,
    size_average: Any = None,
    ignore_index: int = -100,
    reduce: Any = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Array:
    """-log_softmax(x) at the target's class; target: classes, or probabilities in the shape of
    x."""
    number = _reduction("cross_entropy", reduction, size_average, reduce)
    operands, axis = _class_operands("cross_entropy", input, target, weight)
    if operands[1].dtype.kind == "float":  # type: ignore[union-attr]
        return _soft_cross_entropy(operands, axis, number, float(label_smoothing))
    attrs = {
        "axis": axis,
        "ignore_index": ignore_index,
        "label_smoothing": float(label_smoothing),
        "reduction": number,
    }
    return apply("cross_entropy", operands, attrs)


def _soft_cross_entropy(operands: Any, axis: int, reduction: int, smoothing: float) -> Array:
    """With probabilities as the target. The mean is over all places but the classes."""
    x, target, weight = operands
    classes = int(x.shape[axis])
    if smoothing:
        target = target * (1 - smoothing) + smoothing / classes
    terms = apply("log_softmax", [x], {"axis": axis}) * target
    if weight is not None:
        terms = terms * weight.reshape((classes, *[1] * (x.ndim - axis - 1)))
    loss = -_sum(terms, axis=axis)
    if reduction == 0:
        return loss
    return loss.sum() if reduction == 2 else loss.mean()
