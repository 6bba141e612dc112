"""apply: one op of the table on arrays, numbers and None; what all functions of the module stand
on.

Numbers take the dtype that promotion gives them beside the arrays (a Python scalar never widens a
dtype of its own kind); arrays of different dtypes are promoted by the builder. Arrays from outside
the trace become captured inputs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from . import _core
from ._arguments import is_number, is_numpy_scalar
from ._array import Array
from ._dims import Dim, as_text
from ._dtypes import DType, as_dtype, float32, promote, weak_dtype
from ._errors import TracingError, describe_place, user_place
from ._trace import WEAK_DTYPES, Trace, WeakArray, current_trace

_RANK = {bool: 0, int: 1, float: 2}


def require_trace(operands: Sequence[Any], what: str) -> Trace:
    """The trace of the arrays among the operands, else the one that is going on."""
    found: Trace | None = None
    for x in operands:
        if not isinstance(x, Array):
            continue
        x._trace.check_alive(x)
        if found is not None and found is not x._trace:
            raise TracingError(
                f"{what}: {x!r} belongs to another trace than {found.name!r}, at\n"
                f"  {describe_place(user_place())}\n"
                "Pass it to the inner function as an argument."
            )
        found = x._trace
    found = found or current_trace()
    if found is None:
        raise TracingError(
            f"jitfuse.{what} builds fused kernels and works on traced arrays only; it was called "
            "outside of one, at\n"
            f"  {describe_place(user_place())}\n"
            "Put the computation into a function under @jitfuse.jit and call that."
        )
    return found


def as_operand(x: Any, trace: Trace) -> Any:
    """An Array of this trace, or a Python number."""
    if isinstance(x, Array) or is_number(x):
        return x
    if isinstance(x, Dim):
        return x.value()
    if is_numpy_scalar(x):
        return Array(trace, _constant(trace, as_dtype(x.dtype), x.item()))
    return trace.capture(x)


def _constant(trace: Trace, dtype: DType, value: Any) -> Any:
    return trace.builder.constant(dtype.code, float(value) if dtype.kind == "float" else value)


def _cast(trace: Trace, tensor: Any, dtype: DType) -> Any:
    if tensor.dtype == dtype.code:
        return tensor
    return trace.settle(trace.builder.apply("cast", [tensor], {"dtype": dtype.code}))[0]


def _in_dtype(x: Any, dtype: DType, trace: Trace) -> Any:
    """The builder's tensor of a weak operand in a dtype."""
    if not isinstance(x, Array):
        return _constant(trace, dtype, x)
    tensor = x._tensor_as(dtype) if isinstance(x, WeakArray) else None
    return _cast(trace, x._tensor, dtype) if tensor is None else tensor


def common_dtype(operands: Sequence[Any]) -> tuple[DType, type | None]:
    """What these operands meet in; and the Python type it stands for if none is a typed array."""
    strong: DType | None = None
    weak: type = bool
    for x in operands:
        scalar_type = x._weak if isinstance(x, Array) else type(x)
        if scalar_type is None:
            strong = x.dtype if strong is None else promote(strong, x.dtype)
        elif _RANK[scalar_type] >= _RANK[weak]:
            weak = scalar_type
    if strong is None:
        return WEAK_DTYPES[weak], weak
    if any((x._weak if isinstance(x, Array) else type(x)) is not None for x in operands):
        strong = weak_dtype(weak, strong)
    return strong, None


def lift(
    operands: Sequence[Any], what: str, floats: bool = False
) -> tuple[Trace, list[Array], type | None]:
    """The operands as Arrays of one trace, the numbers among them in the dtype that all meet in.

    floats: integers and bools become float32 (Python ints: weak floats), as in torch.
    """
    trace = require_trace(operands, what)
    items = [as_operand(x, trace) for x in operands]
    dtype, weak = common_dtype(items)
    if floats and dtype.kind != "float":
        dtype, weak = (float32, None) if weak is None else (WEAK_DTYPES[float], float)
        return (
            trace,
            [astype(x if isinstance(x, Array) else _as_array(x, trace), dtype) for x in items],
            weak,
        )
    out = []
    for x in items:
        if isinstance(x, Array) and x._weak is None:
            out.append(x)
        else:
            out.append(Array(trace, _in_dtype(x, dtype, trace)))
    return trace, out, weak


def _as_array(x: Any, trace: Trace, dtype: DType | None = None) -> Array:
    """An operand as an Array; a number in its own Python type, weak, unless a dtype is given."""
    x = as_operand(x, trace)
    if dtype is not None:
        return (
            astype(x, dtype) if isinstance(x, Array) else Array(trace, _constant(trace, dtype, x))
        )
    if isinstance(x, Array):
        return x
    return Array(trace, _constant(trace, WEAK_DTYPES[type(x)], x), type(x))


def to_array(x: Any, what: str, dtype: Any = None) -> Array:
    """Any operand as an Array of the trace that is going on."""
    return _as_array(x, require_trace([x], what), None if dtype is None else as_dtype(dtype))


def astype(x: Array, dtype: DType) -> Array:
    if isinstance(x, WeakArray):
        tensor = x._tensor_as(dtype)
        if tensor is not None:
            return Array(x._trace, tensor)
    return Array(x._trace, _cast(x._trace, x._tensor, dtype))


def apply_all(
    op: str, operands: Sequence[Array | None], attrs: dict[str, Any], what: str = ""
) -> tuple[Array, ...]:
    """All results of an op on Arrays of one trace."""
    trace = require_trace(operands, what or op)
    return run_op(trace, op, [None if x is None else x._tensor for x in operands], attrs)


def source(op: str, attrs: dict[str, Any], what: str = "") -> Array:
    """The result of an op without operands."""
    return run_op(require_trace([], what or op), op, [], attrs)[0]


def run_op(trace: Trace, op: str, tensors: list[Any], attrs: dict[str, Any]) -> tuple[Array, ...]:
    made = trace.settle(trace.builder.apply(op, tensors, plain_attrs(attrs)))
    return tuple([Array(trace, t) for t in made])


def apply(
    op: str, operands: Sequence[Array | None], attrs: dict[str, Any] | None = None, what: str = ""
) -> Array:
    """The first result of an op on Arrays of one trace."""
    return apply_all(op, operands, attrs or {}, what)[0]


def plain_attrs(attrs: dict[str, Any]) -> dict[str, Any]:
    """Attributes as the builder takes them: names of dtypes, sizes as ints or text; None: left
    out."""
    out: dict[str, Any] = {}
    for key, value in attrs.items():
        if isinstance(value, DType):
            out[key] = value.code
        elif isinstance(value, (tuple, list)):
            out[key] = [as_text(v) for v in value]
        elif value is not None:
            out[key] = value
    return out


def pointwise(
    op: str, operands: Sequence[Any], attrs: dict[str, Any] | None = None, floats: bool = False
) -> Array:
    """A pointwise op on operands of any kind, promoted together."""
    trace, arrays, weak = lift(operands, op, floats)
    result = apply(op, arrays, attrs)
    if weak is not None:
        result._weak = bool if result.dtype.kind == "bool" else weak
    return result


def table() -> dict[str, dict[str, Any]]:
    """The rows of the op table by name, read once."""
    if not _table:
        _table.update({row["name"]: row for row in _core.list_ops()})
    return _table


_table: dict[str, dict[str, Any]] = {}
