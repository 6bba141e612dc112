"""custom_gradient: a function whose gradient its author gives."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ._apply import to_array
from ._array import Array
from ._gradients import WeakRoot, jit_as, settled
from ._jit import JitFunction
from ._outside import Outside
from ._pytree import Structure, flatten, paths, unflatten
from ._trace import Trace, WeakArray, current_trace, is_recording
from ._vjp import cotangents_for


def custom_gradient(function: Callable[..., Any]) -> CustomGradient:
    """A function with a gradient of its own, as a decorator:

        @jitfuse.custom_gradient
        def clipped(x):
            return x, lambda g: jitfuse.clip(g, -1.0, 1.0)

    The function returns (value, gradient). `gradient` takes the cotangent of the value, of its form
    (None in place of what is no float), and gives a tuple with the gradient of each positional
    argument, of the argument's form; None stands for zeros, and for what is no float. That of a
    single argument need not be in a tuple. It may use what the function has computed, and can be
    differentiated again. What the function reads besides its positional arguments is a constant.
    """
    return CustomGradient(function)


class CustomGradient(Outside):
    """What custom_gradient returns: call it as the function; it gives the value alone."""

    def __init__(self, function: Callable[..., Any]):
        if not callable(function):
            raise TypeError(f"custom_gradient: expected a function, got {function!r}")
        functools.update_wrapper(self, function, updated=())
        self._function = function
        self._what = f"custom_gradient of {getattr(function, '__name__', 'f')}"
        self._jitted: JitFunction | None = None

    def __repr__(self) -> str:
        return f"<jitfuse.{self._what}>"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def _call_slow(self, *args: Any, **kwargs: Any) -> Any:
        trace = current_trace()
        if trace is not None:
            return self._inline(trace, args, kwargs)
        if self._jitted is None:

            def call(*args: Any, **kwargs: Any) -> Any:
                trace = current_trace()
                assert trace is not None
                return self._inline(trace, args, kwargs)

            functools.update_wrapper(call, self._function, updated=())
            self._jitted = jit_as(call, self._function)
        return self._jitted(*args, **kwargs)

    def _inline(self, trace: Trace, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        leaves, structure = flatten(args)
        values = [_one_tensor(x) for x in leaves]
        inputs = [
            i for i, x in enumerate(values) if isinstance(x, Array) and x.dtype.kind == "float"
        ]
        returned = self._function(*unflatten(structure, iter(values)), **kwargs)
        if not isinstance(returned, tuple) or len(returned) != 2 or not callable(returned[1]):
            raise TypeError(
                f"{self._what}: expected a pair (value, gradient) with a function as the second, "
                f"got {returned!r}"
            )
        value, gradient = returned
        if not is_recording():  # under torch.no_grad() the value is a constant
            return settled(trace, value)
        out, form = flatten(value)
        outputs: list[Any] = []
        weights: list[Any] = []
        cotangents: list[Any] = []
        for leaf in out:
            cotangents.append(None)
            if isinstance(leaf, Array) and leaf.dtype.kind == "float":
                # Each a tensor of its own: leaves that are given twice, or computed alike, are one.
                outputs.append(trace.builder.gradient_root(leaf._tensor))
                weights.append(trace.builder.gradient_root(_zeros(leaf)._tensor))
                cotangents[-1] = Array(trace, weights[-1])
        given = gradient(unflatten(form, iter(cotangents)))
        gradients = self._gradients(given, values, inputs, structure, len(args))
        if not outputs:
            return value
        marks = trace.builder.custom_gradient(
            [values[i]._tensor for i in inputs], outputs, weights, gradients
        )
        rest = iter(marks)
        new = [leaf if ct is None else Array(trace, next(rest), leaf._weak)
               for leaf, ct in zip(out, cotangents)]  # fmt: skip
        return unflatten(form, iter(new))

    def _gradients(
        self, given: Any, values: list[Any], inputs: list[int], structure: Structure, count: int
    ) -> list[Any]:
        """The tensors of the gradients of inputs; None: zero."""
        if count == 1 and not (isinstance(given, tuple) and len(given) == 1):
            given = (given,)
        if not isinstance(given, tuple) or len(given) != count:
            got = f"{len(given)} of them" if isinstance(given, tuple) else repr(given)
            raise TypeError(
                f"{self._what}: expected a tuple with the gradients of {count} arguments, got {got}"
            )
        found = cotangents_for(self._what, structure, given, "the gradient")
        names = list(paths(structure, "arg"))
        out: list[Any] = []
        for i, g in enumerate(found):
            if i in inputs:
                out.append(None if g is None else self._as(g, values[i], names[i]))
            elif g is not None:
                raise TypeError(
                    f"{self._what}: argument {names[i]!r} is no float and has no gradient, "
                    f"expected None, got {g!r}"
                )
        return out

    def _as(self, gradient: Any, value: Array, name: str) -> Any:
        made = to_array(gradient, "custom_gradient")
        if made._weak is not None:
            made = to_array(made, "custom_gradient", value.dtype)
        if made.dtype != value.dtype or made._tensor.dims != value._tensor.dims:
            raise TypeError(
                f"{self._what}: the gradient of {name!r} is {made!r}, expected one like {value!r}"
            )
        return made._tensor


def _one_tensor(value: Any) -> Any:
    """A Python number that was passed becomes one tensor, which its gradient is for."""
    if isinstance(value, WeakArray) and value.dtype.kind == "float":
        return WeakRoot(value._trace, value._tensor_as(value.dtype))
    return value


def _zeros(like: Array) -> Array:
    import jitfuse

    return jitfuse.zeros_like(like)
