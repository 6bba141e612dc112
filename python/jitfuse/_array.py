"""Array: an array while its function is traced. It has a dtype and a shape, and no values yet.

What needs values (if, int(), a loop over it) raises TracingError with the line. Operators and
methods are in _operators.py and _methods.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import jitfuse as jf

from ._dims import Dim
from ._dtypes import BY_CODE, DType
from ._errors import needs_values, user_place
from ._fork import loading
from ._methods import Methods
from ._operators import Operators

if TYPE_CHECKING:
    from ._trace import Trace

_USE_WHERE = "Use jitfuse.where(condition, a, b) to choose between values"


class Array(Operators, Methods):
    """A traced array: what a function under jitfuse.jit gets in place of its arguments."""

    __array_priority__ = 1000  # before NumPy's operators

    def __init__(self, trace: Trace, tensor: Any, weak: type | None = None):
        self._trace = trace
        self._tensor = tensor
        self._weak = (
            weak  # bool, int, float: made of Python numbers only, so it never widens others
        )
        self._place = user_place()

    # What is known of it.

    @property
    def dtype(self) -> DType:
        return BY_CODE[self._tensor.dtype]

    @property
    def shape(self) -> tuple[Any, ...]:
        """The sizes: ints, and a Dim where the size is symbolic."""
        return tuple(d if isinstance(d, int) else Dim(d, self._trace) for d in self._tensor.dims)

    @property
    def size(self) -> Any:
        """The number of elements."""
        count: Any = 1
        for d in self.shape:
            count = count * d
        return count

    @property
    def itemsize(self) -> int:
        return self.dtype.itemsize

    @property
    def device(self) -> str:
        """Where it will be is decided when the function is called."""
        return "traced"

    def to_device(self, device: Any, /, *, stream: Any = None) -> Array:
        if device != self.device:
            raise ValueError(
                f"a traced array cannot move to {device!r}; pass arguments that are there"
            )
        return self

    @property
    def mT(self) -> Array:
        """The last two axes exchanged."""
        return jf.matrix_transpose(self)

    def __repr__(self) -> str:
        if not self._trace.alive:
            return f"<leaked traced array of {self._trace.name}>"
        dims = ", ".join(str(d) for d in self._tensor.dims)
        weak = ", weak" if self._weak else ""
        return f"Array({self.dtype.name}[{dims}], traced in {self._trace.name}{weak})"

    def __array_namespace__(self, *, api_version: str | None = None) -> Any:
        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
            raise ValueError(f"array API version {api_version!r} is not supported; 2024.12 is")
        return jf

    # What needs values.

    def __bool__(self) -> bool:
        raise needs_values(
            "bool() (if, while, and, or, not)",
            self,
            f"{_USE_WHERE}, & | ~ between conditions, or make the argument static "
            "(static_argnums, static_argnames) if it is an option of the function.",
        )

    def __int__(self) -> int:
        raise needs_values(
            "int()", self, "Use x.astype(jitfuse.int64), or make the argument static."
        )

    def __float__(self) -> float:
        raise needs_values(
            "float()",
            self,
            "Use x.astype(jitfuse.float64), jitfuse.exp and the like in place of math.exp and the "
            "like, or make the argument static.",
        )

    def __complex__(self) -> complex:
        raise needs_values("complex()", self, "Jitfuse has no complex dtypes.")

    def __index__(self) -> int:
        raise needs_values(
            "an index, a size or range()",
            self,
            "Use jitfuse.take(x, index) to index by values, or make the argument static.",
        )

    def item(self) -> Any:
        raise needs_values("item()", self, "Return the array and take the item of the result.")

    def tolist(self) -> Any:
        raise needs_values("tolist()", self, "Return the array and convert the result.")

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise needs_values(
            "conversion to a NumPy array",
            self,
            "Use the function of the same name of jitfuse in place of the one that converts.",
        )

    def __dlpack__(self, **kwargs: Any) -> Any:
        raise needs_values("DLPack export", self, "Return the array and export the result.")

    def __dlpack_device__(self) -> Any:
        raise needs_values("DLPack export", self, "Return the array and export the result.")

    def __iter__(self) -> Any:
        raise needs_values(
            "iteration",
            self,
            "Use array operations on the whole, x[i] for i in range(n), or jitfuse.unstack(x).",
        )

    def __contains__(self, item: Any) -> bool:
        raise needs_values("'in'", self, "Use jitfuse.any(x == item).")

    def __setitem__(self, key: Any, value: Any) -> None:
        raise needs_values(
            "assignment to elements",
            self,
            f"{_USE_WHERE} (jitfuse.where(mask, value, x) for x[mask] = value), jitfuse.concat of "
            "the parts, or jitfuse.index_add; traced arrays never change.",
        )

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of a traced array of rank 0")
        return int(self.shape[0])

    __hash__ = None  # type: ignore[assignment]

    def __getitem__(self, key: Any) -> Array:
        with loading:
            from ._indexing import index

        return index(self, key)

    # Protocols of other libraries.

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
        with loading:
            from ._numpy import call_ufunc

        return call_ufunc(ufunc, method, inputs, kwargs)

    def __array_function__(self, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        with loading:
            from ._numpy import call_function

        return call_function(func, args, kwargs)

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        with loading:
            from ._torch import call_function

        return call_function(func, args, kwargs or {})
