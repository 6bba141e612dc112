"""torch's functions on traced arrays: torch.relu(t), F.gelu(t), tensor + t ... by
__torch_function__.

torch.nn.functional's names go to jitfuse.nn, which has its signatures. The rest are in a table by
name, with torch's argument names (input, dim, keepdim).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jitfuse as jf

from ._dtypes import DType, as_dtype, find_dtype, promote
from ._suggest import unsupported

_UNARY = (
    "abs acos acosh asin asinh atan atanh ceil cos cosh erf erfc exp exp2 expm1 floor isfinite "
    "isinf isnan lgamma log log10 "
    "log1p log2 logical_not negative positive reciprocal round rsqrt sigmoid sign signbit sin "
    "sinh sqrt square tan tanh trunc"
).split()
_UNARY_NAMES = {
    "absolute": "abs", "arccos": "acos", "arccosh": "acosh", "arcsin": "asin", "arcsinh": "asinh",
    "arctan": "atan", "arctanh": "atanh", "neg": "negative", "fix": "trunc", "sgn": "sign",
    "bitwise_not": "bitwise_invert", "conj": "conj",
}  # fmt: skip
_BINARY_NAMES = {
    "atan2": "atan2", "arctan2": "atan2", "bitwise_and": "bitwise_and", "bitwise_or": "bitwise_or",
    "bitwise_xor": "bitwise_xor", "bitwise_left_shift": "bitwise_left_shift",
    "bitwise_right_shift": "bitwise_right_shift", "copysign": "copysign", "eq": "equal",
    "floor_divide": "floor_divide", "fmod": "fmod", "ge": "greater_equal", "greater": "greater",
    "greater_equal": "greater_equal", "gt": "greater", "hypot": "hypot", "le": "less_equal",
    "less": "less", "less_equal": "less_equal", "logaddexp": "logaddexp",
    "logical_and": "logical_and", "logical_or": "logical_or", "logical_xor": "logical_xor",
    "lt": "less", "matmul": "matmul", "maximum": "maximum", "minimum": "minimum", "mm": "matmul",
    "bmm": "matmul", "mul": "multiply", "multiply": "multiply", "ne": "not_equal",
    "nextafter": "nextafter", "not_equal": "not_equal", "pow": "pow", "remainder": "remainder",
    "xlogy": "xlogy",
}  # fmt: skip
_OPERATORS = {  # of torch.Tensor, where the tensor stands on the left
    "__matmul__": "matmul", "__and__": "bitwise_and", "__or__": "bitwise_or",
    "__xor__": "bitwise_xor", "__eq__": "equal", "__ne__": "not_equal", "__lt__": "less",
    "__le__": "less_equal", "__gt__": "greater", "__ge__": "greater_equal", "__add__": "add",
    "__sub__": "subtract", "__mul__": "multiply", "__truediv__": "divide",
    "__floordiv__": "floor_divide", "__mod__": "remainder", "__pow__": "pow",
    "__lshift__": "bitwise_left_shift", "__rshift__": "bitwise_right_shift",
}  # fmt: skip


def _unary(target: str) -> Callable[..., Any]:
    def call(input: Any, *, out: Any = None) -> Any:
        _no_out(target, out)
        return getattr(jf if hasattr(jf, target) else jf.nn, target)(input)

    return call


def _binary(target: str) -> Callable[..., Any]:
    def call(input: Any, other: Any, *, out: Any = None) -> Any:
        _no_out(target, out)
        return getattr(jf, target)(input, other)

    return call


def _no_out(name: str, out: Any) -> None:
    if out is not None:
        raise TypeError(
            f"torch.{name}: out= cannot be given for traced arrays, which never change; use the "
            "result"
        )


def _scaled(function: str) -> Callable[..., Any]:
    """add and sub, whose second operand may have a factor."""

    def call(input: Any, other: Any, *, alpha: Any = 1, out: Any = None) -> Any:
        _no_out(function, out)
        scaled = (
            other
            if type(alpha) in (int, float) and alpha == 1
            else jf.multiply(jf.asarray(other), alpha)
        )
        return getattr(jf, function)(input, scaled)

    return call


def _div(input: Any, other: Any, *, rounding_mode: str | None = None, out: Any = None) -> Any:
    _no_out("div", out)
    if rounding_mode is None:
        return jf.divide(input, other)
    if rounding_mode == "floor":
        return jf.floor_divide(input, other)
    x = jf.asarray(input)
    return jf.trunc_divide(x, other) if x.dtype.kind != "float" else jf.trunc(jf.divide(x, other))


def _reduction(target: str) -> Callable[..., Any]:
    def call(
        input: Any,
        dim: Any = None,
        keepdim: bool = False,
        *,
        dtype: Any = None,
        out: Any = None,
        **names: Any,
    ) -> Any:
        _no_out(target, out)
        dim, keepdim = names.pop("axis", dim), names.pop("keepdims", keepdim)
        x = input if dtype is None else jf.astype(input, dtype)
        axis = None if dim == () or dim == [] else dim  # torch: every dim
        x, axis, keepdim = _along(x, tuple(axis) if isinstance(axis, list) else axis, keepdim)
        return getattr(jf, target)(x, axis=axis, keepdims=keepdim)

    return call


def _along(input: Any, dim: Any, keepdim: bool = False) -> tuple[Any, Any, bool]:
    """What a reduction takes. An array of rank 0 has a dim 0 in torch, also called -1, of which
    nothing is kept."""
    if input.ndim == 0 and (dim if isinstance(dim, tuple) else (dim,)) in ((0,), (-1,)):
        return input.reshape(1), 0, False
    return input, dim, keepdim


def _of_bools(of_floats: Callable[..., Any]) -> Callable[..., Any]:
    """An extreme, for bools too, whose values are bools."""

    def call(input: Any, *args: Any, **kwargs: Any) -> Any:
        if input.dtype is not jf.bool:
            return of_floats(input, *args, **kwargs)
        result = of_floats(jf.astype(input, jf.uint8), *args, **kwargs)
        if isinstance(result, tuple):
            return (jf.astype(result[0], jf.bool), *result[1:])
        return jf.astype(result, jf.bool)

    return call


def _extreme(target: str, pair: str, of_all: str, with_index: str) -> Callable[..., Any]:
    """max and min: of all, of two arrays, or (values, indices) along a dim."""
    first = _of_bools(lambda x: getattr(jf.ops, of_all)(x))
    along = _of_bools(
        lambda x, axis, keep: getattr(jf.ops, with_index)(x, axis=axis, keepdims=keep)
    )

    def call(
        input: Any, dim: Any = None, keepdim: bool = False, *, other: Any = None, out: Any = None
    ) -> Any:
        _no_out(target, out)
        if other is not None or (dim is not None and not isinstance(dim, int)):
            return getattr(jf, pair)(input, dim if other is None else other)
        return first(input) if dim is None else along(*_along(input, dim, keepdim))

    return call


def _variance(target: str) -> Callable[..., Any]:
    def call(
        input: Any,
        dim: Any = None,
        unbiased: Any = None,
        keepdim: bool = False,
        *,
        correction: Any = None,
    ) -> Any:
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        if correction is None:
            correction = 1 if unbiased is None or unbiased else 0
        x, axis, keep = _along(input, tuple(dim) if isinstance(dim, list) else dim, keepdim)
        return getattr(jf, target)(x, axis=axis, correction=correction, keepdims=keep)

    return call


def _scan(target: str) -> Callable[..., Any]:
    def call(input: Any, dim: int, *, dtype: Any = None, out: Any = None) -> Any:
        _no_out(target, out)
        x, axis, _ = _along(input if dtype is None else jf.astype(input, dtype), dim)
        result = getattr(jf, target)(x, axis=axis)
        return jf.reshape(result, ()) if input.ndim == 0 else result

    return call


def _clamp(input: Any, min: Any = None, max: Any = None, *, out: Any = None) -> Any:
    _no_out("clamp", out)
    return jf.clip(input, min, max)


def _masked_fill(input: Any, mask: Any, value: Any) -> Any:
    if _rank(value) == 0:
        value = jf.astype(jf.asarray(value), input.dtype)
    return jf.where(mask, value, input)


def _expand(input: Any, *sizes: Any) -> Any:
    """broadcast_to, where -1 leaves an axis as it is."""
    shape = list(sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes)
    for axis in range(1, input.ndim + 1):
        if isinstance(shape[-axis], int) and shape[-axis] == -1:
            shape[-axis] = input.shape[-axis]
    return jf.broadcast_to(input, tuple(shape))


def _transpose(input: Any, dim0: int, dim1: int) -> Any:
    return input.swapaxes(dim0, dim1)


def _split(tensor: Any, split_size_or_sections: Any, dim: int = 0) -> Any:
    size = int(tensor.shape[dim])
    sizes = split_size_or_sections
    if isinstance(sizes, int):
        sizes = [sizes] * (size // sizes) + ([size % sizes] if size % sizes else [])
    cuts = [sum(sizes[: i + 1]) for i in range(len(sizes) - 1)]
    return tuple(jf.split(tensor, cuts, axis=dim))


def _chunk(input: Any, chunks: int, dim: int = 0) -> Any:
    return _split(input, -(-int(input.shape[dim]) // chunks), dim)


def _to(input: Any, *args: Any, **kwargs: Any) -> Any:
    for option in (*args, *kwargs.values()):
        if find_dtype(option) is not None:
            return jf.astype(input, option)
    return input


def _times(x: Any, factor: Any) -> Any:
    """x times beta or alpha; None for a factor of 0, with which x counts for nothing, its NaNs
    too. Of integers the factor is one as well."""
    if type(factor) is float and x.dtype.kind != "float":
        factor = int(factor)
    if type(factor) in (int, float) and factor in (0, 1):
        return x if factor == 1 else None
    return x * factor


def _add_product(
    name: str, factors: tuple[str, str], product: Callable[[Any, Any], Any]
) -> Callable[..., Any]:
    """beta * input + alpha * product(a, b), where input broadcasts to the product."""

    def call(
        input: Any, *args: Any, beta: Any = 1, alpha: Any = 1, out: Any = None, **named: Any
    ) -> Any:
        _no_out(name, out)
        given = {**dict(zip(factors, args)), **named}
        if len(args) + len(named) != 2 or set(given) != set(factors):
            raise TypeError(
                f"torch.{name}: expected input, {' and '.join(factors)}, got {len(args)} arrays "
                f"beside input and the names {sorted(named)}"
            )
        input, *both = [jf.asarray(a) for a in (input, *[given[n] for n in factors])]
        if name != "addr" and any(a.dtype is not input.dtype for a in both):
            dtypes = ", ".join([str(a.dtype) for a in (input, *both)])
            raise TypeError(
                f"torch.{name}: expected input, {' and '.join(factors)} of one dtype, got {dtypes}"
            )
        result = product(*both)
        jf.broadcast_to(input, result.shape)  # or an error
        terms = [t for t in (_times(result, alpha), _times(input, beta)) if t is not None]
        if not terms:
            return jf.zeros_like(result)
        if len(terms) == 2:
            return terms[0] + terms[1]
        return jf.broadcast_to(terms[0], result.shape)

    return call


def _filled_like(target: str) -> Callable[..., Any]:
    def call(input: Any, *value: Any, dtype: Any = None, **options: Any) -> Any:
        return getattr(jf, target)(input, *value, dtype=dtype)

    return call


def _norm(
    input: Any,
    ord: Any = 2,
    dim: Any = None,
    keepdim: bool = False,
    *,
    dtype: Any = None,
    out: Any = None,
) -> Any:
    _no_out("linalg.vector_norm", out)
    return jf.linalg.vector_norm(
        input, ord=ord, axis=tuple(dim) if isinstance(dim, list) else dim, keepdims=keepdim
    )


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{n: _unary(n) for n in _UNARY}, **{n: _unary(t) for n, t in _UNARY_NAMES.items()},
    **{n: _binary(t) for n, t in _BINARY_NAMES.items()},
    **{n: _binary(t) for n, t in _OPERATORS.items()}, "add": _scaled("add"),
    "sub": _scaled("subtract"), "subtract": _scaled("subtract"), "rsub": lambda a,
    b: jf.subtract(b, a), "__radd__": lambda a, b: jf.add(b, a), "__rmul__": lambda a,
    b: jf.multiply(b, a), "__rsub__": lambda a, b: jf.subtract(b, a), "div": _div, "divide": _div,
    "true_divide": _div, "clamp": _clamp, "clip": _clamp, "clamp_min": lambda input,
    min: jf.clip(input, min), "clamp_max": lambda input, max: jf.clip(input, None, max),
    **{
        n: _reduction(n)
        for n in "sum prod mean any all argmax argmin count_nonzero logsumexp".split()
    },
    "amax": _of_bools(_reduction("max")), "amin": _of_bools(_reduction("min")),
    "max": _extreme("max", "maximum", "max_of_all", "max_with_index"),
    "min": _extreme("min", "minimum", "min_of_all", "min_with_index"),
    "var": _variance("var"), "std": _variance("std"),
    "linalg_vector_norm": _norm, "cumsum": _scan("cumulative_sum"),
    "cumprod": _scan("cumulative_prod"), "logcumsumexp": _scan("logcumsumexp"),
    "where": lambda condition, input, other: jf.where(condition, input, other),
    "masked_fill": _masked_fill, "lerp": lambda input,
    end, weight: jf.lerp(input, end, weight), "addcmul": lambda input, tensor1, tensor2, *,
    value=1: jf.addcmul(input, tensor1, tensor2, value=value), "addcdiv": lambda input, tensor1,
    tensor2, *, value=1: jf.addcdiv(input, tensor1, tensor2, value=value),
    "addmm": _add_product("addmm", ("mat1", "mat2"), jf.matmul),
    "baddbmm": _add_product("baddbmm", ("batch1", "batch2"), jf.matmul),
    "addbmm": _add_product("addbmm", ("batch1", "batch2"), lambda a,
    b: jf.sum(jf.matmul(a, b), axis=0)), "addmv": _add_product("addmv", ("mat", "vec"), jf.matmul),
    "addr": _add_product("addr", ("vec1", "vec2"), jf.linalg.outer),
    "matrix_transpose": lambda input: input.mT, "t": lambda input: input.T, "reshape": lambda input,
    *shape, **kw: input.reshape(*shape, *kw.values()), "transpose": _transpose,
    "swapaxes": _transpose, "permute": lambda input, dims: jf.permute_dims(input, dims),
    "expand": _expand,
    "squeeze": lambda input, dim=None: input.squeeze(dim), "unsqueeze": lambda input,
    dim: jf.expand_dims(input, axis=dim), "flatten": lambda input, start_dim=0,
    end_dim=-1: _flatten(input, start_dim, end_dim), "ravel": lambda input: input.flatten(),
    "broadcast_to": lambda input, size: jf.broadcast_to(input, size), "cat": lambda tensors, dim=0,
    *, out=None: jf.concat(list(tensors), axis=dim), "concat": lambda tensors,
    dim=0: jf.concat(list(tensors), axis=dim), "concatenate": lambda tensors,
    dim=0: jf.concat(list(tensors), axis=dim), "stack": lambda tensors,
    dim=0: jf.stack(list(tensors), axis=dim), "unbind": lambda input,
    dim=0: jf.unstack(input, axis=dim), "split": _split, "chunk": _chunk, "flip": lambda input,
    dims: jf.flip(input, axis=dims), "roll": lambda input, shifts,
    dims=None: jf.roll(input, shifts, axis=dims), "tile": lambda input, dims: jf.tile(input, dims),
    "repeat_interleave": lambda input, repeats, dim=None: jf.repeat(input, repeats, axis=dim),
    "tril": lambda input, diagonal=0: jf.tril(input, k=diagonal), "triu": lambda input,
    diagonal=0: jf.triu(input, k=diagonal), "gather": lambda input, dim, index, *,
    sparse_grad=False: jf.take_along_axis(input, index, axis=dim), "index_select": lambda input,
    dim, index: jf.take(input, index, axis=dim), "index_add": lambda input, dim, index, source, *,
    alpha=1: jf.index_add(input, index, source * alpha, axis=dim), "scatter_add": lambda input, dim,
    index, src: jf.scatter_add(input, index, src, axis=dim), "dot": lambda input,
    tensor: jf.vecdot(input, tensor), "mv": jf.matmul, "outer": jf.linalg.outer,
    "isclose": lambda input, other, rtol=1e-5,
    atol=1e-8: jf.isclose(input, other, rtol=rtol, atol=atol),
    **{n: _filled_like(n) for n in ("zeros_like", "ones_like", "full_like", "empty_like")},
    "to": _to, "clone": lambda input, **_: input, "detach": jf.stop_gradient,
    "numel": lambda input: input.size, "einsum": lambda equation, *operands: jf.einsum(
        equation, *operands
    ),
}  # fmt: skip


def _flatten(x: Any, start: int, end: int) -> Any:
    if x.ndim == 0:
        return x.reshape(1)
    start, end = start % x.ndim, end % x.ndim
    merged: Any = 1
    for d in x.shape[start : end + 1]:
        merged = merged * d
    return jf.reshape(x, (*x.shape[:start], merged, *x.shape[end + 1 :]))


def find_function(name: str, module: str = "") -> Callable[..., Any] | None:
    """Jitfuse's function for one of torch's; jitfuse.nn's first for torch.nn.functional's."""
    own = getattr(jf.nn, name) if name in jf.nn.__all__ else None
    if own is not None and (
        module.startswith(("torch.nn", "torch._C._nn")) or name not in _FUNCTIONS
    ):
        return own
    return _FUNCTIONS.get(name)


# Methods of torch.Tensor whose operands stand in another order than those of torch's function.
_METHODS: dict[str, Callable[..., Any]] = {
    "where": lambda input, condition, other: jf.where(condition, input, other)
}


def find_method(name: str) -> Callable[..., Any] | None:
    """The function that a method of this name of torch.Tensor is, or None."""
    return _METHODS.get(name) or find_function(name)


# Functions whose operands meet in one dtype, `where` in all but the first.
_MEETING = frozenset(_BINARY_NAMES) - {"matmul", "mm", "bmm"} | frozenset(
    "add sub subtract rsub div divide true_divide clamp clip clamp_min clamp_max addcmul "
    "addcdiv lerp where".split()
)


def _is_method(func: Any) -> bool:
    """Of a torch tensor, as its operators are too: `s + t` comes as Tensor.add. They promote as a
    traced array's own, so that the order of the operands decides nothing."""
    owner = getattr(func, "__qualname__", "").rpartition(".")[0]
    return owner.lstrip("_") in ("Tensor", "TensorBase")


def _meet(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """The operands, where those of rank 0 have the dtype that torch gives them: beside others they
    do not widen a dtype of their kind."""
    ranked = [as_dtype(a.dtype) for a in (*args, *kwargs.values()) if _rank(a)]
    if not ranked:
        return list(args), kwargs
    common = functools.reduce(promote, ranked)

    def settle(a: Any) -> Any:
        if _rank(a) != 0:
            return a
        own = as_dtype(a.dtype)
        return jf.astype(jf.asarray(a), promote(common, own) if _wider(own, common) else common)

    return [settle(a) for a in args], {name: settle(a) for name, a in kwargs.items()}


def _rank(x: Any) -> int | None:
    """None of a number, also of one that is traced."""
    weak = isinstance(x, jf.Array) and x._weak is not None
    return None if weak or not hasattr(x, "dtype") else getattr(x, "ndim", None)


def _wider(a: DType, b: DType) -> bool:
    """Whether a is of a kind above b's: bools, integers, floats."""
    order = ("bool", "unsigned", "signed", "float")
    above = order.index(a.kind) > order.index(b.kind)
    return above and (b.kind, a.kind) != ("unsigned", "signed")


def call_function(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    module = getattr(func, "__module__", None) or ""
    is_method = _is_method(func)
    function = find_method(func.__name__) if is_method else find_function(func.__name__, module)
    if function is None:
        raise unsupported(f"{module or 'torch'}.{func.__name__}", func.__name__)
    if func.__name__ in _MEETING and not is_method:
        first = args[: func.__name__ == "where"]
        rest, kwargs = _meet(args[len(first) :], kwargs)
        return function(*first, *rest, **kwargs)
    return function(*args, **kwargs)
