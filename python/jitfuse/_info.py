"""What the Array API's __array_namespace_info__ tells of this module."""

from __future__ import annotations

from typing import Any

from ._dtypes import ALL, DType, float32, int64, isdtype


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
