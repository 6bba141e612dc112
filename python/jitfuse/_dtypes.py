"""The dtype objects (jitfuse.float32 ...), promotion, and which dtypes go together.

A DType equals the dtype of the same kind of NumPy, torch, CuPy or JAX, and its name as a string:
`x.dtype == np.float32` and `x.dtype == "float32"` hold. Nothing here needs a trace.
"""

from __future__ import annotations

import sys
from typing import Any


class DType:
    """The type of an array's elements."""

    __slots__ = ("name", "code", "kind", "itemsize")

    def __init__(self, name: str, code: str, kind: str, itemsize: int):
        self.name = name  # "float32", the standard's name
        self.code = code  # "f32", the name in graph text
        self.kind = kind  # "bool", "unsigned", "signed", "float"
        self.itemsize = itemsize  # bytes

    def __repr__(self) -> str:
        return f"jitfuse.{self.name}"

    def __str__(self) -> str:
        return self.name

    def __hash__(self) -> int:
        return hash(self.name)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, DType):
            return self is other
        found = find_dtype(other)
        return NotImplemented if found is None else self is found

    def __reduce__(self) -> Any:
        return (as_dtype, (self.name,))


bool_ = DType("bool", "bool", "bool", 1)
uint8 = DType("uint8", "u8", "unsigned", 1)
uint16 = DType("uint16", "u16", "unsigned", 2)
uint32 = DType("uint32", "u32", "unsigned", 4)
uint64 = DType("uint64", "u64", "unsigned", 8)
int8 = DType("int8", "i8", "signed", 1)
int16 = DType("int16", "i16", "signed", 2)
int32 = DType("int32", "i32", "signed", 4)
int64 = DType("int64", "i64", "signed", 8)
float16 = DType("float16", "f16", "float", 2)
bfloat16 = DType("bfloat16", "bf16", "float", 2)
float32 = DType("float32", "f32", "float", 4)
float64 = DType("float64", "f64", "float", 8)

ALL = (
    bool_, uint8, uint16, uint32, uint64, int8, int16, int32, int64, float16, bfloat16, float32,
    float64,
)  # fmt: skip
BY_NAME = {d.name: d for d in ALL}
BY_CODE = {d.code: d for d in ALL}
_PYTHON_TYPES = {"bool": bool_, "int": int64, "float": float64}
_cache: dict[Any, DType] = {}  # by a dtype object of another library


def find_dtype(obj: Any) -> DType | None:
    """The DType that a dtype object, a type or a name of any library stands for, or None."""
    if isinstance(obj, DType):
        return obj
    try:
        found = _cache.get(obj)
    except TypeError:  # not hashable, so no dtype
        return None
    if found is None:
        found = _find(obj)
        if found is not None:
            _cache[obj] = found
    return found


def _find(obj: Any) -> DType | None:
    if isinstance(obj, str):
        name = obj
    elif isinstance(obj, type):  # bool, int, float, numpy.float32, ml_dtypes.bfloat16
        if obj.__module__ == "builtins":
            return _PYTHON_TYPES.get(obj.__name__)
        name = obj.__name__
        name = "bool" if name == "bool_" else name
    else:
        if getattr(obj, "byteorder", "=") not in (
            "=",
            "|",
            "<" if sys.byteorder == "little" else ">",
        ):
            return None
        name = getattr(obj, "name", None) or str(obj)
        if not isinstance(name, str):
            return None
        name = name.removeprefix("torch.")
    return BY_NAME.get(name) or BY_CODE.get(name)


def as_dtype(obj: Any) -> DType:
    """The DType that `obj` stands for; a TypeError if it stands for none."""
    found = find_dtype(obj)
    if found is None:
        raise TypeError(f"{obj!r} is no dtype of Jitfuse; expected one of {', '.join(BY_NAME)}")
    return found


def promote(a: DType, b: DType) -> DType:
    """The dtype that arrays of dtypes a and b meet in."""
    if a is b or b.kind == "bool":
        return a
    if a.kind == "bool":
        return b
    if (a.kind == "float") != (b.kind == "float"):
        return a if a.kind == "float" else b
    if a.kind == b.kind:
        if a.itemsize == b.itemsize:
            return float32  # float16 with bfloat16
        return a if a.itemsize > b.itemsize else b
    signed, unsigned = (a, b) if a.kind == "signed" else (b, a)
    if signed.itemsize > unsigned.itemsize:
        return signed
    return {1: int16, 2: int32, 4: int64, 8: float64}[unsigned.itemsize]


def weak_dtype(scalar_type: type, beside: DType) -> DType:
    """The dtype of a Python scalar beside an array: it never widens a dtype of its own kind."""
    if scalar_type is float and beside.kind != "float":
        return float32
    if scalar_type is int and beside.kind == "bool":
        return int64
    return beside


def result_type(*arrays_and_dtypes: Any) -> DType:
    """The dtype that arithmetic on these arrays, dtypes and Python scalars gives."""
    strong: DType | None = None
    weak: list[type] = []
    for item in arrays_and_dtypes:
        if type(item).__name__ in _PYTHON_TYPES and type(item).__module__ == "builtins":
            weak.append(type(item))
            continue
        if getattr(item, "_weak", None) is not None:
            weak.append(item._weak)
            continue
        dtype = as_dtype(item.dtype if hasattr(item, "dtype") and hasattr(item, "shape") else item)
        strong = dtype if strong is None else promote(strong, dtype)
    if strong is None:
        raise ValueError("result_type needs at least one array or dtype")
    for scalar_type in weak:
        strong = weak_dtype(scalar_type, strong)
    return strong


_KINDS = {
    "bool": ("bool",),
    "signed integer": ("signed",),
    "unsigned integer": ("unsigned",),
    "integral": ("signed", "unsigned"),
    "real floating": ("float",),
    "complex floating": (),
    "numeric": ("signed", "unsigned", "float"),
}


def isdtype(dtype: Any, kind: Any) -> bool:
    """True if dtype is of this kind: a dtype, a name such as "real floating", or a tuple of
    such."""
    dtype = as_dtype(dtype)
    if isinstance(kind, tuple):
        return any(isdtype(dtype, k) for k in kind)
    if isinstance(kind, str) and kind in _KINDS:
        return dtype.kind in _KINDS[kind]
    if isinstance(kind, str) and kind not in BY_NAME:
        raise ValueError(f"unknown kind {kind!r}; expected a dtype or one of {', '.join(_KINDS)}")
    return dtype is as_dtype(kind)


def can_cast(from_: Any, to: Any, /) -> bool:
    """True if promotion may turn `from_` (an array or a dtype) into dtype `to`."""
    source = as_dtype(from_.dtype if hasattr(from_, "shape") else from_)
    target = as_dtype(to)
    same_group = (source.kind == "float") == (target.kind == "float")
    return source.kind == "bool" or (same_group and promote(source, target) is target)
