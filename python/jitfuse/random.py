"""Random numbers inside traced functions, and the seed that they and nn.dropout draw from.

Each call of a function with random ops draws other numbers: seed and position are passed with the
call. After `jitfuse.random.seed(s)` the same calls give the same numbers, on every device. Calls on
torch tensors draw from torch's generators instead, but inside of `seeded`.
"""

from __future__ import annotations

import operator
from typing import Any

from . import _core
from ._apply import apply, source, to_array
from ._array import Array
from ._dtypes import as_dtype, float32

__all__ = ["bernoulli", "get_state", "normal", "seed", "seeded", "set_state", "uniform"]


def seed(value: int) -> None:
    """Begins the stream of random numbers anew; value is an int. A process begins with seed(0).

    Of calls on torch tensors torch.manual_seed does so.
    """
    _core.rng_set(operator.index(value) % 2**64)


def get_state() -> tuple[int, int]:
    """(seed, offset): where the stream of random numbers is."""
    return _core.rng_state()


def set_state(state: tuple[int, int]) -> None:
    """Goes on from a place that get_state gave."""
    _core.rng_set(*state)


class seeded:
    """`with jitfuse.random.seeded(s):` calls of this thread draw from a stream of their own, which
    begins at seed s; behind it all is as if they had not been."""

    def __init__(self, value: int):
        self._seed = operator.index(value) % 2**64

    def __enter__(self) -> None:
        _core.rng_enter(self._seed)

    def __exit__(self, *exc: object) -> None:
        _core.rng_leave()


def _made(op: str, shape: Any, attrs: dict[str, Any]) -> Array:
    shape = shape if isinstance(shape, (tuple, list)) else (shape,)
    return source(op, {"shape": shape, **attrs}, f"random.{op.removeprefix('random_')}")


def uniform(shape: Any, low: float = 0.0, high: float = 1.0, *, dtype: Any = None) -> Array:
    """Uniform numbers in [low, high)."""
    target = float32 if dtype is None else as_dtype(dtype)
    return _made("random_uniform", shape, {"low": float(low), "high": float(high), "dtype": target})


def normal(shape: Any, mean: float = 0.0, std: float = 1.0, *, dtype: Any = None) -> Array:
    """Normally distributed numbers."""
    target = float32 if dtype is None else as_dtype(dtype)
    return _made("random_normal", shape, {"mean": float(mean), "std": float(std), "dtype": target})


def bernoulli(p: Any) -> Array:
    """1 with probability p, else 0, for each element of p and in its dtype."""
    return apply("bernoulli", [to_array(p, "bernoulli")])
