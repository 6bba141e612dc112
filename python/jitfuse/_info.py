"""What the Array API tells of a module and its dtypes: __array_namespace_info__, finfo, iinfo."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ._dtypes import ALL, DType, as_dtype, float32, int64, isdtype


class __array_namespace_info__:
    """Capabilities, dtypes and devices, as the Array API standard asks for them."""

    def capabilities(self) -> dict[str, Any]:
        return {"boolean indexing": False, "data-dependent shapes": False, "max dimensions": 8}

    def default_device(self) -> str:
        return "traced"

    def devices(self) -> list[str]:
        return ["traced"]

    def default_dtypes(self, *, device: Any = None) -> dict[str, DType]:
        return {"real floating": float32, "integral": int64, "indexing": int64}

    def dtypes(self, *, device: Any = None, kind: Any = None) -> dict[str, DType]:
        return {d.name: d for d in ALL if kind is None or isdtype(d, kind)}


@dataclass(frozen=True)
class FloatInfo:
    bits: int
    eps: float
    max: float
    min: float
    smallest_normal: float
    dtype: DType


@dataclass(frozen=True)
class IntegerInfo:
    bits: int
    max: int
    min: int
    dtype: DType


_DIGITS_AND_TOP = {"f16": (11, 16), "bf16": (8, 128), "f32": (24, 128), "f64": (53, 1024)}


def finfo(type: Any, /) -> FloatInfo:
    """What a float dtype (or an array of one) holds: bits, eps, max, min, smallest_normal."""
    dtype = as_dtype(type.dtype if hasattr(type, "shape") else type)
    if dtype.kind != "float":
        raise ValueError(f"finfo: expected a float dtype, got {dtype.name}")
    digits, top = _DIGITS_AND_TOP[dtype.code]
    largest = (2.0 - 2.0 ** (1 - digits)) * 2.0 ** (top - 1)
    return FloatInfo(
        8 * dtype.itemsize, 2.0 ** (1 - digits), largest, -largest, 2.0 ** (2 - top), dtype
    )


def iinfo(type: Any, /) -> IntegerInfo:
    """What an integer dtype (or an array of one) holds: bits, max, min."""
    dtype = as_dtype(type.dtype if hasattr(type, "shape") else type)
    bits = 8 * dtype.itemsize
    if dtype.kind == "signed":
        return IntegerInfo(bits, 2 ** (bits - 1) - 1, -(2 ** (bits - 1)), dtype)
    if dtype.kind == "unsigned":
        return IntegerInfo(bits, 2**bits - 1, 0, dtype)
    raise ValueError(f"iinfo: expected an integer dtype, got {dtype.name}")
