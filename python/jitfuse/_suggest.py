"""The error of a NumPy or torch function that traced arrays do not have, with the nearest
spelling."""

from __future__ import annotations

import difflib

import jitfuse as jf

from ._errors import TracingError, describe_place, user_place

# What other libraries call what Jitfuse has, or what takes its place.
_INSTEAD = {
    "nonzero": "the shape would depend on values; use jitfuse.where(condition, a, b)",
    "einsum": "use jitfuse.matmul, jitfuse.tensordot or jitfuse.permute_dims",
    "sort": "there is no sorting op; max, min, argmax, argmin and cummax are there",
    "argsort": "there is no sorting op; max, min, argmax, argmin and cummax are there",
    "median": "there is no sorting op; jitfuse.mean, jitfuse.max and jitfuse.min are there",
    "unique": "the shape would depend on values",
    "nan_to_num": "use jitfuse.where(jitfuse.isnan(x), 0, x)",
    "conv1d": "convolutions are not supported; jitfuse.windows gives sliding windows",
    "conv2d": "convolutions are not supported; jitfuse.windows gives sliding windows",
}


def unsupported(what: str, name: str) -> TracingError:
    """`what` is the full name, for the message; `name` what is looked for in Jitfuse."""
    advice = _INSTEAD.get(name)
    if advice is None:
        spellings = {n: f"jitfuse.{n}" for n in jf.__all__}
        spellings.update({n: f"jitfuse.nn.{n}" for n in jf.nn.__all__ if n not in spellings})
        near = difflib.get_close_matches(name, list(spellings), n=1, cutoff=0.75)
        advice = (
            f"the nearest spelling is {spellings[near[0]]}"
            if near
            else "help(jitfuse) lists what there is"
        )
    return TracingError(
        f"{what} does not take traced arrays, at\n  {describe_place(user_place())}\n{advice}"
    )
