"""What a value is to Jitfuse: an array with dtype and shape, a number, or neither."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

from . import _core
from ._dtypes import BY_CODE, DType, find_dtype
from ._fork import loading

_DL_CUDA, _DL_CUDA_MANAGED = 2, 13
_KINDS_OF_ERROR = (TypeError, ValueError, RuntimeError)

# Of buffers that have a format but no dtype (memoryview, array.array).
_FORMATS = {"?": "bool", "e": "f16", "f": "f32", "d": "f64"}
_KINDS = {
    "b": "i",
    "h": "i",
    "i": "i",
    "l": "i",
    "q": "i",
    "B": "u",
    "H": "u",
    "I": "u",
    "L": "u",
    "Q": "u",
}


def describe(obj: Any) -> tuple[DType, tuple[int, ...]] | None:
    """dtype and shape of an array of any library, or of a buffer; None of anything else.

    A dtype that Jitfuse does not have (complex128, big-endian) is a TypeError.
    """
    try:
        dtype, shape = obj.dtype, obj.shape
    except AttributeError:
        return _describe_dlpack(obj) if hasattr(obj, "__dlpack__") else _describe_buffer(obj)
    found = find_dtype(dtype)
    if found is None:
        if isinstance(shape, tuple) and hasattr(dtype, "itemsize"):
            raise TypeError(
                f"arrays of dtype {dtype} are not supported; convert to one that is ({names()})"
            )
        return None
    return found, tuple(shape)


def describe_named(obj: Any, name: Callable[[], str]) -> tuple[DType, tuple[int, ...]] | None:
    """As describe. Errors, also of what cannot be borrowed, begin with what name() gives."""
    if isinstance(obj, str):
        return None
    try:
        if is_torch(obj):  # some describe themselves, and are empty
            _load_torch_state()
            _core.describe_array(obj)
        return describe(obj)
    except Exception as error:  # a library's own, too
        kind = type(error) if type(error) in _KINDS_OF_ERROR else TypeError
        said = str(error).removeprefix("array: ")  # as describe_array calls it
        raise kind(f"{name()}: {said}") from error


def _load_torch_state() -> None:
    """The bindings load it as well, when they meet the first tensor; no fork waits for that."""
    if "torch" in sys.modules:
        with loading:
            from . import _torch_state  # noqa: F401


def is_torch(obj: Any) -> bool:
    return hasattr(type(obj), "__torch_function__")


def names() -> str:
    return ", ".join(d.name for d in BY_CODE.values())


def _describe_dlpack(obj: Any) -> tuple[DType, tuple[int, ...]]:
    name, shape = _core.describe_array(obj)
    return BY_CODE[name], shape


def _describe_buffer(obj: Any) -> tuple[DType, tuple[int, ...]] | None:
    if isinstance(obj, (str, bytes, bytearray)):
        return None
    try:
        view = memoryview(obj)
    except TypeError:
        return None
    code = view.format.lstrip("@=<" if sys.byteorder == "little" else "@=>")  # ctypes says which
    name = _FORMATS.get(code) or (f"{_KINDS[code]}{8 * view.itemsize}" if code in _KINDS else None)
    if name is None:
        raise TypeError(f"buffers of format {view.format!r} are not supported")
    return BY_CODE[name], tuple(view.shape or ())


def is_on_gpu(obj: Any) -> bool:
    """True of an array in CUDA memory (also managed memory, which DLPack tells apart)."""
    device = getattr(obj, "__dlpack_device__", None)
    return device is not None and device()[0] in (_DL_CUDA, _DL_CUDA_MANAGED)


def device_of(device: str, arrays: Iterable[Any]) -> str:
    """Of "auto": where the arrays are, if the environment says nothing."""
    if device != "auto" or os.environ.get("JITFUSE_BACKEND"):
        return device
    return "cuda" if any(map(is_on_gpu, arrays)) else "cpu"


def is_number(obj: Any) -> bool:
    """A Python bool, int or float."""
    return type(obj) in (bool, int, float)


def is_numpy_scalar(obj: Any) -> bool:
    """numpy.float32(3) and the like: a number with a dtype of its own."""
    numpy = sys.modules.get("numpy")
    return numpy is not None and isinstance(obj, numpy.generic)
