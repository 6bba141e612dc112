"""The linear algebra extension of the Array API standard, as far as fused kernels have it."""

from __future__ import annotations

from ._linalg import diagonal, matmul, matrix_transpose, outer, tensordot, trace, vecdot
from ._reductions import vector_norm

__all__ = [
    "diagonal",
    "matmul",
    "matrix_transpose",
    "outer",
    "tensordot",
    "trace",
    "vecdot",
    "vector_norm",
]


def __getattr__(name: str) -> object:
    from ._suggest import missing

    advice = "" if name.startswith("_") else missing(name)
    raise AttributeError(
        f"module 'jitfuse.linalg' has no attribute {name!r}" + (f": {advice}" if advice else "")
    )
