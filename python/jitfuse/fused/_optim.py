"""Steps of optimisers: a function of parameter, gradient and state to new ones, with no update in
place (give `out=` the old ones for that). Numbers that change from step to step (lr, step) are
passed with each call; so are the others."""

from __future__ import annotations

from typing import Any

import jitfuse as jf

from ._make import fused


@fused
def fused_sgd(
    param: Any,
    grad: Any,
    momentum_buffer: Any,
    lr: Any = 1e-3,
    momentum: Any = 0.9,
    weight_decay: Any = 0.0,
    nesterov: bool = False,
) -> tuple[Any, Any]:
    """(param, momentum_buffer) after a step of torch.optim.SGD without dampening (Apex:
    FusedSGD)."""
    grad = jf.add(grad, jf.multiply(param, weight_decay))
    buffer = jf.multiply(momentum_buffer, momentum) + grad
    step = grad + buffer * momentum if nesterov else buffer
    return jf.subtract(param, step * lr), buffer


def _moments(grad: Any, first: Any, second: Any, beta1: Any, beta2: Any) -> tuple[Any, Any]:
    first = jf.asarray(first) * beta1 + grad * (1 - beta1)
    second = jf.asarray(second) * beta2 + jf.square(grad) * (1 - beta2)
    return first, second


def _direction(first: Any, second: Any, beta1: Any, beta2: Any, eps: Any, step: Any) -> Any:
    corrected = first / (1 - jf.pow(beta1, step))
    return corrected / (jf.sqrt(second / (1 - jf.pow(beta2, step))) + eps)


@fused
def fused_adam(
    param: Any,
    grad: Any,
    exp_avg: Any,
    exp_avg_sq: Any,
    step: Any,
    lr: Any = 1e-3,
    beta1: Any = 0.9,
    beta2: Any = 0.999,
    eps: Any = 1e-8,
    weight_decay: Any = 0.0,
) -> tuple[Any, Any, Any]:
    """(param, exp_avg, exp_avg_sq) after a step of torch.optim.Adam (Apex: FusedAdam); step: 1 for
    the first one."""
    grad = jf.add(grad, jf.multiply(param, weight_decay))
    first, second = _moments(grad, exp_avg, exp_avg_sq, beta1, beta2)
    moved = _direction(first, second, beta1, beta2, eps, step) * lr
    return jf.subtract(param, moved), first, second


@fused
def fused_adamw(
    param: Any,
    grad: Any,
    exp_avg: Any,
    exp_avg_sq: Any,
    step: Any,
    lr: Any = 1e-3,
    beta1: Any = 0.9,
    beta2: Any = 0.999,
    eps: Any = 1e-8,
    weight_decay: Any = 0.01,
) -> tuple[Any, Any, Any]:
    """(param, exp_avg, exp_avg_sq) after a step of torch.optim.AdamW; step: 1 for the first one."""
    first, second = _moments(jf.asarray(grad), exp_avg, exp_avg_sq, beta1, beta2)
    moved = _direction(first, second, beta1, beta2, eps, step) * lr
    return jf.asarray(param) * (1 - lr * weight_decay) - moved, first, second


@fused
def fused_lamb(
    param: Any,
    grad: Any,
    exp_avg: Any,
    exp_avg_sq: Any,
    step: Any,
    lr: Any = 1e-3,
    beta1: Any = 0.9,
    beta2: Any = 0.999,
    eps: Any = 1e-6,
    weight_decay: Any = 0.01,
) -> tuple[Any, Any, Any]:
    """(param, exp_avg, exp_avg_sq) after a step of LAMB without clipping of gradients (Apex:
    FusedLAMB): Adam's direction u plus weight_decay * param, times lr * norm(param) / norm(u); the
    ratio is 1 where a norm is 0."""
    param = jf.asarray(param)
    first, second = _moments(jf.asarray(grad), exp_avg, exp_avg_sq, beta1, beta2)
    u = _direction(first, second, beta1, beta2, eps, step) + param * weight_decay
    p_norm, u_norm = jf.linalg.vector_norm(param), jf.linalg.vector_norm(u)
    ratio = jf.where((p_norm > 0) & (u_norm > 0), p_norm / u_norm, 1)
    return param - u * (ratio * lr), first, second


@fused
def fused_lion(
    param: Any,
    grad: Any,
    exp_avg: Any,
    lr: Any = 1e-4,
    beta1: Any = 0.9,
    beta2: Any = 0.99,
    weight_decay: Any = 0.0,
) -> tuple[Any, Any]:
    """(param, exp_avg) after a step of Lion."""
    grad, average = jf.asarray(grad), jf.asarray(exp_avg)
    direction = jf.sign(average * beta1 + grad * (1 - beta1))
    moved = jf.asarray(param) * (1 - lr * weight_decay) - direction * lr
    return moved, average * beta2 + grad * (1 - beta2)


@fused
def fused_rmsprop(
    param: Any, grad: Any, square_avg: Any, lr: Any = 1e-2, alpha: Any = 0.99, eps: Any = 1e-8
) -> tuple[Any, Any]:
    """(param, square_avg) after a step of torch.optim.RMSprop without momentum."""
    grad = jf.asarray(grad)
    average = jf.asarray(square_avg) * alpha + jf.square(grad) * (1 - alpha)
    return jf.subtract(param, grad / (jf.sqrt(average) + eps) * lr), average


@fused
def fused_adagrad(
    param: Any, grad: Any, state_sum: Any, lr: Any = 1e-2, eps: Any = 1e-10
) -> tuple[Any, Any]:
    """(param, state_sum) after a step of torch.optim.Adagrad (Apex: FusedAdagrad)."""
    grad = jf.asarray(grad)
    total = jf.add(state_sum, jf.square(grad))
    return jf.subtract(param, grad / (jf.sqrt(total) + eps) * lr), total


@fused
def fused_ema(average: Any, input: Any, decay: Any = 0.999) -> Any:
    """decay * average + (1 - decay) * input: an exponential moving average."""
    return jf.lerp(input, average, decay)
