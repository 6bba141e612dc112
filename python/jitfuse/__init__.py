"""Jitfuse: chains of array operations as fused kernels, for NumPy, torch, CuPy and JAX arrays.

    import jitfuse as jf

    @jf.jit
    def f(x, w, b):
        return jf.nn.gelu(x @ w + b)

`f` takes and returns arrays of those libraries, on the CPU or a GPU. Inside of it arrays are traced
(jitfuse.Array): the functions of this module are those of the Python Array API standard, jitfuse.nn
has torch.nn.functional's, and NumPy's and torch's own functions work on traced arrays too.
"""

from __future__ import annotations

import math as _math
from typing import TYPE_CHECKING

from . import _core, _logging
from ._array import Array
from ._config import cuda_available, show_config
from ._creation import (
    arange, asarray, empty, empty_like, eye, from_dlpack, full, full_like, linspace, meshgrid, ones,
    ones_like, zeros, zeros_like,
)  # fmt: skip
from ._dtypes import (
    DType, bfloat16, can_cast, float16, float32, float64, int8, int16, int32, int64, isdtype,
    result_type, uint8, uint16, uint32, uint64,
)  # fmt: skip
from ._dtypes import bool_ as bool
from ._elementwise import (
    abs, acos, acosh, add, addcdiv, addcmul, asin, asinh, astype, atan, atan2, atanh, bitwise_and,
    bitwise_invert, bitwise_left_shift, bitwise_or, bitwise_right_shift, bitwise_xor, ceil, clip,
    conj, copysign, cos, cosh, divide, equal, erf, erfc, exp, exp2, expm1, floor, floor_divide, fma,
    fmod, greater, greater_equal, hypot, imag, isclose, isfinite, isinf, isnan, lerp, less,
    less_equal, lgamma, log, log1p, log2, log10, logaddexp, logical_and, logical_not, logical_or,
    logical_xor, maximum, minimum, multiply, negative, nextafter, not_equal, positive, pow, real,
    reciprocal, remainder, round, rsqrt, sign, signbit, sin, sinh, sqrt, square, stop_gradient,
    subtract, tan, tanh, trunc, trunc_divide, where, xlogy,
)  # fmt: skip
from ._errors import TracingError
from ._fork import loading as _loading
from ._jit import CacheInfo, JitFunction, jit
from ._linalg import matmul, matrix_transpose, tensordot, vecdot
from ._manipulation import (
    broadcast_arrays, broadcast_shapes, broadcast_to, concat, diff, expand_dims, flip, index_add,
    moveaxis, pad, permute_dims, repeat, reshape, roll, scatter_add, split, squeeze, stack, take,
    take_along_axis, tile, tril, triu, unstack, windows,
)  # fmt: skip
from ._reductions import (
    all, any, argmax, argmin, count_nonzero, cummax, cummin, cumulative_prod, cumulative_sum, isin,
    logcumsumexp, logsumexp, max, mean, min, moments, prod, std, sum, var,
)  # fmt: skip

if TYPE_CHECKING:  # loaded when they are first asked for: __getattr__
    from . import fused, linalg, nn, ops, random
    from ._custom import custom_gradient
    from ._einsum import einsum
    from ._gradients import grad, value_and_grad
    from ._graph import Graph
    from ._info import __array_namespace_info__, finfo, iinfo
    from ._lowered import Compiled, Explanation, Lowered
    from ._one_liner import elementwise
    from ._profile import profile, stats
    from ._vjp import vjp

_LATER = {
    "Compiled": "_lowered", "Explanation": "_lowered", "Graph": "_graph", "Lowered": "_lowered",
    "__array_namespace_info__": "_info", "custom_gradient": "_custom", "einsum": "_einsum",
    "elementwise": "_one_liner", "finfo": "_info", "fused": "", "grad": "_gradients",
    "iinfo": "_info", "linalg": "", "nn": "", "ops": "", "profile": "_profile", "random": "",
    "stats": "_profile", "value_and_grad": "_gradients", "vjp": "_vjp",
}  # fmt: skip

_logging.start()

e = _math.e
inf = _math.inf
nan = _math.nan
newaxis = None
pi = _math.pi

__version__ = _core.version
__array_api_version__ = "2024.12"
__all__ = [
    "Array", "CacheInfo", "Compiled", "DType", "Explanation", "Graph", "JitFunction", "Lowered",
    "TracingError", "__array_namespace_info__", "abs", "acos", "acosh", "add", "addcdiv", "addcmul",
    "all", "any", "arange", "argmax", "argmin", "asarray", "asin", "asinh", "astype", "atan",
    "atan2", "atanh", "bfloat16", "bitwise_and", "bitwise_invert", "bitwise_left_shift",
    "bitwise_or", "bitwise_right_shift", "bitwise_xor", "bool", "broadcast_arrays",
    "broadcast_shapes", "broadcast_to", "can_cast", "ceil", "clip", "concat", "conj", "copysign",
    "cos", "cosh", "count_nonzero", "cuda_available", "cummax", "cummin", "cumulative_prod",
    "cumulative_sum", "custom_gradient", "diff", "divide", "e", "einsum", "elementwise", "empty",
    "empty_like", "equal", "erf", "erfc", "exp", "exp2", "expand_dims", "expm1", "eye", "finfo",
    "flip", "float16", "float32", "float64", "floor", "floor_divide", "fma", "fmod", "from_dlpack",
    "full", "full_like", "fused", "grad", "greater", "greater_equal", "hypot", "iinfo", "imag",
    "index_add", "inf", "int16", "int32", "int64", "int8", "isclose", "isdtype", "isfinite", "isin",
    "isinf", "isnan", "jit", "lerp", "less", "less_equal", "lgamma", "linalg", "linspace", "log",
    "log10", "log1p", "log2", "logaddexp", "logcumsumexp", "logical_and", "logical_not",
    "logical_or", "logical_xor", "logsumexp", "matmul", "matrix_transpose", "max", "maximum",
    "mean", "meshgrid", "min", "minimum", "moments", "moveaxis", "multiply", "nan", "negative",
    "newaxis", "nextafter", "nn", "not_equal", "ones", "ones_like", "ops", "pad", "permute_dims",
    "pi", "positive", "pow", "prod", "profile", "random", "real", "reciprocal", "remainder",
    "repeat", "reshape", "result_type", "roll", "round", "rsqrt", "scatter_add", "show_config",
    "sign", "signbit", "sin", "sinh", "split", "sqrt", "square", "squeeze", "stack", "stats", "std",
    "stop_gradient", "subtract", "sum", "take", "take_along_axis", "tan", "tanh", "tensordot",
    "tile", "tril", "triu", "trunc", "trunc_divide", "uint16", "uint32", "uint64", "uint8",
    "unstack", "value_and_grad", "var", "vecdot", "vjp", "where", "windows", "xlogy", "zeros",
    "zeros_like",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name == "CUDA_AVAILABLE":
        return cuda_available()
    if name not in _LATER:
        with _loading:
            from ._suggest import missing

        advice = "" if name.startswith("_") else missing(name)
        raise AttributeError(
            f"module 'jitfuse' has no attribute {name!r}" + (f": {advice}" if advice else "")
        )
    from importlib import import_module

    home = _LATER[name]
    with _loading:
        module = import_module(f"{__name__}.{home or name}")
    found = globals()[name] = getattr(module, name) if home else module
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
