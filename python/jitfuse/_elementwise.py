"""Element-wise functions: the Array API standard's, and the others of the op table by its names."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ._apply import apply, common_dtype, lift, pointwise, table, to_array
from ._apply import astype as _cast
from ._array import Array
from ._dtypes import DType, as_dtype, bool_, promote
from ._dtypes import int64 as _int64
from ._trace import WEAK_DTYPES, WeakArray


def _finish(function: Any, name: str, op: str) -> Any:
    function.__name__ = function.__qualname__ = name
    function.__module__ = "jitfuse"
    function.__doc__ = table()[op]["doc"]
    return function


def _unary(name: str, op: str = "", floats: bool = False) -> Callable[[Any], Array]:
    def function(x: Any, /) -> Array:
        return pointwise(op or name, [x], floats=floats)

    return _finish(function, name, op or name)


def _binary(name: str, op: str = "", floats: bool = False) -> Callable[[Any, Any], Array]:
    def function(x1: Any, x2: Any, /) -> Array:
        return pointwise(op or name, [x1, x2], floats=floats)

    return _finish(function, name, op or name)


def _rounding(name: str) -> Callable[[Any], Array]:
    """Integers round to themselves."""

    def function(x: Any, /) -> Array:
        x = to_array(x, name)
        return pointwise(name, [x]) if x.dtype.kind == "float" else x

    return _finish(function, name, name)


def _float_test(name: str, of_integers: bool) -> Callable[[Any], Array]:
    """isnan and the like, which are the same for every integer."""

    def function(x: Any, /) -> Array:
        x = to_array(x, name)
        if x.dtype.kind == "float":
            return pointwise(name, [x])
        return equal(x, x) if of_integers else not_equal(x, x)

    return _finish(function, name, name)


def _logical(name: str) -> Callable[[Any, Any], Array]:
    """Numbers count as true where they are not 0."""

    def function(x1: Any, x2: Any, /) -> Array:
        return pointwise(name, [_truth(x1, name), _truth(x2, name)])

    return _finish(function, name, name)


def _truth(x: Any, what: str) -> Array:
    return _cast(to_array(x, what), bool_)


acos = _unary("acos", floats=True)
acosh = _unary("acosh", floats=True)
asin = _unary("asin", floats=True)
asinh = _unary("asinh", floats=True)
atan = _unary("atan", floats=True)
atanh = _unary("atanh", floats=True)
cos = _unary("cos", floats=True)
cosh = _unary("cosh", floats=True)
erf = _unary("erf", floats=True)
erfc = _unary("erfc", floats=True)
exp = _unary("exp", floats=True)
exp2 = _unary("exp2", floats=True)
expm1 = _unary("expm1", floats=True)
lgamma = _unary("lgamma", floats=True)
log = _unary("log", floats=True)
log10 = _unary("log10", floats=True)
log1p = _unary("log1p", floats=True)
log2 = _unary("log2", floats=True)
reciprocal = _unary("reciprocal", floats=True)
rsqrt = _unary("rsqrt", floats=True)
sin = _unary("sin", floats=True)
sinh = _unary("sinh", floats=True)
sqrt = _unary("sqrt", floats=True)
tan = _unary("tan", floats=True)
tanh = _unary("tanh", floats=True)

abs = _unary("abs")
bitwise_invert = _unary("bitwise_invert", "bitwise_not")
negative = _unary("negative")
sign = _unary("sign")
square = _unary("square")
stop_gradient = _unary("stop_gradient")

ceil = _rounding("ceil")
floor = _rounding("floor")
round = _rounding("round")
trunc = _rounding("trunc")

isfinite = _float_test("isfinite", True)
isinf = _float_test("isinf", False)
isnan = _float_test("isnan", False)

add = _binary("add")
bitwise_and = _binary("bitwise_and")
bitwise_left_shift = _binary("bitwise_left_shift")
bitwise_or = _binary("bitwise_or")
bitwise_right_shift = _binary("bitwise_right_shift")
bitwise_xor = _binary("bitwise_xor")
equal = _binary("equal")
greater = _binary("greater")
greater_equal = _binary("greater_equal")
less = _binary("less")
less_equal = _binary("less_equal")
maximum = _binary("maximum")
minimum = _binary("minimum")
multiply = _binary("multiply")
not_equal = _binary("not_equal")
subtract = _binary("subtract")

atan2 = _binary("atan2", floats=True)
copysign = _binary("copysign", floats=True)
divide = _binary("divide", floats=True)
hypot = _binary("hypot", floats=True)
logaddexp = _binary("logaddexp", floats=True)
nextafter = _binary("nextafter", floats=True)
xlogy = _binary("xlogy", floats=True)
trunc_divide = _binary("trunc_divide")

logical_and = _logical("logical_and")
logical_or = _logical("logical_or")
logical_xor = _logical("logical_xor")


def logical_not(x: Any, /) -> Array:
    """True where the value is false (a number: where it is 0)."""
    return pointwise("logical_not", [_truth(x, "logical_not")])


def signbit(x: Any, /) -> Array:
    """True where the sign bit is set, that of -0 too; of a NaN it is either."""
    x = to_array(x, "signbit")
    return pointwise("signbit", [x]) if x.dtype.kind == "float" else less(x, 0)


def positive(x: Any, /) -> Array:
    """The value itself."""
    return to_array(x, "positive")


conj = real = positive


def imag(x: Any, /) -> Array:
    """The imaginary part: 0, since there are no complex dtypes."""
    return multiply(to_array(x, "imag"), 0)


def floor_divide(x1: Any, x2: Any, /) -> Array:
    """The quotient rounded toward minus infinity. Integers: 0 where x2 is 0.

    Floats: of the quotient before it is rounded (1 // 0.1 is 9); exact where that is below 2^24
    (float64: 2^53), to half an ulp beyond.
    """
    return _by_kind("floor_divide", "float_floor_divide", x1, x2)


def remainder(x1: Any, x2: Any, /) -> Array:
    """What the quotient rounded down leaves, with the sign of x2. Integers: 0 where x2 is 0.

    Floats: fmod, and x2 added where the signs differ: NumPy's, however large the quotient is.
    """
    return _by_kind("remainder", "float_remainder", x1, x2)


def fmod(x1: Any, x2: Any, /) -> Array:
    """What trunc_divide leaves, with the sign of x1. Integers: 0 where x2 is 0.

    Floats: exact, however large the quotient is.
    """
    return _by_kind("fmod", "float_fmod", x1, x2)


def _by_kind(of_ints: str, of_floats: str, x1: Any, x2: Any) -> Array:
    trace, (x1, x2), weak = lift([x1, x2], of_ints)
    floats = x1.dtype.kind == "float" or x2.dtype.kind == "float"
    return _weakly(pointwise(of_floats if floats else of_ints, [x1, x2]), weak)


def pow(x1: Any, x2: Any, /) -> Array:
    """x1 to the power x2. Integers wrap; to a negative power they are 0 but for 1 and -1."""
    if type(x2) is int and x2 == 2:
        return square(x1)
    if type(x2) is int and x2 >= 0 and isinstance(x1, Array) and x1.dtype.kind in _INTEGERS:
        return _constant_power(x1, x2)
    trace, (x1, x2), weak = lift([x1, x2], "pow")
    if x1.dtype.kind == "float" or x2.dtype.kind == "float":
        return _weakly(pointwise("pow", [x1, x2]), weak)
    return _weakly(_integer_power(x1, x2), weak)


_INTEGERS = ("signed", "unsigned")


def _constant_power(x: Array, exponent: int) -> Array:
    """By squaring, as many times as the exponent has bits."""
    result: Array | None = None
    while exponent:
        if exponent % 2:
            result = x if result is None else multiply(result, x)
        exponent //= 2
        x = multiply(x, x) if exponent else x
    return add(multiply(x, 0), 1) if result is None else result


def _integer_power(x: Array, exponent: Array) -> Array:
    """By squaring, with a select for each bit that an exponent of this dtype can have."""
    dtype = promote(x.dtype, exponent.dtype)
    if dtype.kind not in _INTEGERS:
        raise TypeError(f"pow({x.dtype}, {exponent.dtype}): no integer dtype holds both")
    x, exponent = _cast(x, dtype), _cast(exponent, dtype)
    bits = 8 * dtype.itemsize - (dtype.kind == "signed")
    result = add(multiply(x, 0), 1)
    factor = x
    for bit in range(bits):
        chosen = not_equal(bitwise_and(exponent, 1 << bit), 0)
        result = where(chosen, multiply(result, factor), result)
        factor = multiply(factor, factor)
    if dtype.kind == "unsigned":
        return result
    sign = where(not_equal(bitwise_and(exponent, 1), 0), x, 1)
    negative_power = where(equal(x, 1), 1, where(equal(x, -1), sign, 0))
    return where(less(exponent, 0), negative_power, result)


def _weakly(x: Array, weak: type | None) -> Array:
    if weak is not None:
        x._weak = weak
    return x


class _WeakChoice(WeakArray):
    """where() of two Python numbers: chosen in the dtype in which it is used, which is exact."""

    def __init__(self, condition: Array, x1: Any, x2: Any, scalar_type: type):
        super().__init__(condition._trace, scalar_type)
        self._operands = (condition, x1, x2)

    def _build(self, dtype: DType) -> Any:
        condition, x1, x2 = self._operands
        values = [to_array(x, "where", dtype) for x in (x1, x2)]
        return apply("where", [condition, *values])._tensor


def where(condition: Any, x1: Any, x2: Any, /) -> Array:
    """x1 where condition is true, else x2."""
    condition = _truth(condition, "where")
    if all(type(x) in WEAK_DTYPES or isinstance(x, WeakArray) for x in (x1, x2)):
        return _WeakChoice(condition, x1, x2, common_dtype([x1, x2])[1] or float)
    trace, arrays, weak = lift([x1, x2], "where")
    return _weakly(pointwise("where", [condition, *arrays]), weak)


def clip(x: Any, /, min: Any = None, max: Any = None) -> Array:
    """x limited to min..max, each a number, an array or None; NaN stays."""
    x = to_array(x, "clip")
    limits = {k: v for k, v in (("min", min), ("max", max)) if v is not None}
    if all_numbers(*limits.values()) and x.dtype.kind == "float":
        return pointwise("clamp", [x], {k: float(v) for k, v in limits.items()})
    if len(limits) == 2:
        return pointwise("clip", [x, min, max])
    for name, limit in limits.items():
        x = pointwise(f"clamp_{name}", [x, limit])
    return x


def all_numbers(*values: Any) -> bool:
    """True if each is a Python number or None."""
    return all(v is None or type(v) in (bool, int, float) for v in values)


def isclose(x1: Any, x2: Any, /, rtol: float = 1e-05, atol: float = 1e-08) -> Array:
    """True where abs(x1 - x2) <= atol + rtol * abs(x2); infinities are close to themselves."""
    return pointwise("isclose", [x1, x2], {"rtol": rtol, "atol": atol}, floats=True)


def lerp(x1: Any, x2: Any, weight: Any, /) -> Array:
    """x1 + weight * (x2 - x1), exact at both ends."""
    return pointwise("lerp", [x1, x2, weight], floats=True)


def fma(x1: Any, x2: Any, x3: Any, /) -> Array:
    """x1 * x2 + x3, rounded once (in float16 and bfloat16 once more, to the dtype)."""
    return pointwise("fma", [x1, x2, x3], floats=True)


def addcmul(x: Any, x1: Any, x2: Any, /, *, value: float = 1.0) -> Array:
    """x + value * x1 * x2."""
    return pointwise("addcmul", [x, x1, x2], {"value": value}, floats=True)


def addcdiv(x: Any, x1: Any, x2: Any, /, *, value: float = 1.0) -> Array:
    """x + value * x1 / x2."""
    return pointwise("addcdiv", [x, x1, x2], {"value": value}, floats=True)


def astype(x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    """x converted to a dtype. Floats to integers: toward zero, saturating, NaN to 0."""
    target = as_dtype(dtype)
    return _cast(to_array(x, "astype"), target)


def index_array(x: Any, what: str) -> Array:
    """Positions: an array of integers; a Python number is one of int64."""
    x = to_array(x, what)
    if x.dtype.kind not in ("signed", "unsigned"):
        raise TypeError(f"{what}: expected positions of an integer dtype, got {x!r}")
    return _cast(x, _int64) if x._weak else x
