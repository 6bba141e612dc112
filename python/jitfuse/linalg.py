"""The linear algebra extension of the Array API standard, as far as fused kernels have it."""

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
