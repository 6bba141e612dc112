"""What to use in place of a function that is not there, of NumPy, of torch or of this package: the
nearest spelling, or another way."""

from __future__ import annotations

import difflib

import jitfuse as jf

from ._errors import TracingError, describe_place, user_place

_SORT = (
    "there is no sorting op; max, min, argmax, argmin and cummax are there; sort before or after "
    "the jitted function, with the library of the arrays"
)
_VALUES = (
    "the shape of the result would depend on values, which are not known while a function is "
    "traced; "
)
_SOLVE = (
    "there are no factorizations and solvers; call those of the library of the arrays before or "
    "after the jitted function"
)
_CONVOLUTION = "convolutions are not supported; jitfuse.windows gives sliding windows"

# What the standard and other libraries call what Jitfuse has not, and what takes its place.
_INSTEAD = {
    **dict.fromkeys(("sort", "argsort", "lexsort", "msort", "partition", "argpartition"), _SORT),
    **dict.fromkeys(("topk", "kthvalue", "median", "nanmedian", "quantile", "percentile"), _SORT),
    **dict.fromkeys(
        ("searchsorted", "digitize", "bucketize"),
        "there is no search; jitfuse.sum(x[..., None] > edges, axis=-1) counts the edges below x",
    ),
    **dict.fromkeys(
        ("nonzero", "argwhere", "flatnonzero", "masked_select", "extract", "compress"),
        _VALUES + "use jitfuse.where(condition, a, b), or count_nonzero for their number",
    ),
    **dict.fromkeys(
        ("unique", "unique_all", "unique_counts", "unique_inverse", "unique_values"),
        _VALUES + "call it before or after the jitted function; of small integers "
        "jitfuse.scatter_add counts how often each is there",
    ),
    **dict.fromkeys(
        ("bincount", "histogram"),
        "use jitfuse.scatter_add(jitfuse.zeros(size), indices, ones), of as many bins as size says",
    ),
    "nan_to_num": "use jitfuse.where(jitfuse.isnan(x), 0, x)",
    **dict.fromkeys(("conv1d", "conv2d", "conv3d", "convolve", "correlate"), _CONVOLUTION),
    **dict.fromkeys(
        "cholesky cholesky_solve det logdet slogdet eig eigh eigvals eigvalsh inv lstsq lu "
        "matrix_rank pinv qr solve svd svdvals".split(),
        _SOLVE,
    ),
    **dict.fromkeys(
        ("complex64", "complex128", "fft", "ifft", "rfft"), "there are no complex dtypes"
    ),
    "cross": "use jitfuse.roll along the axis of 3: roll(a, -1) * roll(b, 1) - roll(a, 1) * "
    "roll(b, -1)",
    "torch": "the modules for torch are there after `import jitfuse.torch`",
    "kron": "use jitfuse.einsum('ij,kl->ikjl', a, b) and jitfuse.reshape",
}


def missing(name: str) -> str:
    """What to use in place of a name that a module of Jitfuse has not; "" if nothing is near."""
    if name in _INSTEAD:
        return _INSTEAD[name]
    near = difflib.get_close_matches(name, _spellings(), n=1, cutoff=0.75)
    return f"did you mean {_spellings()[near[0]]}?" if near else ""


def _spellings() -> dict[str, str]:
    return {
        **{n: f"jitfuse.fused.{n}" for n in jf.fused.__all__},
        **{n: f"jitfuse.linalg.{n}" for n in jf.linalg.__all__},
        **{n: f"jitfuse.nn.{n}" for n in jf.nn.__all__},
        **{n: f"jitfuse.{n}" for n in jf.__all__},
    }


def unsupported(what: str, name: str) -> TracingError:
    """`what` is the full name, for the message; `name` what is looked for in Jitfuse."""
    advice = _INSTEAD.get(name)
    if advice is None:
        spellings = _spellings()
        near = difflib.get_close_matches(name, list(spellings), n=1, cutoff=0.75)
        advice = (
            f"the nearest spelling is {spellings[near[0]]}"
            if near
            else "help(jitfuse) lists what there is"
        )
    return TracingError(
        f"{what} does not take traced arrays, at\n  {describe_place(user_place())}\n{advice}"
    )
