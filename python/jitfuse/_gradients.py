"""grad and value_and_grad: gradients of Python functions over arrays.

Inside of a trace they append to the graph that is being built, so that values and gradients are one
compiled function and can be differentiated again. On real arrays they trace and compile, as jit
does.

What gradients are for becomes a tensor of its own first (Builder.gradient_root): the function may
refer to the same array, or to what was made of it, from outside, which is then a constant.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from ._apply import as_operand, to_array
from ._array import Array
from ._dtypes import DType, float64
from ._errors import TracingError
from ._jit import JitFunction, jit
from ._outside import Outside
from ._pytree import Structure, flatten, paths, unflatten
from ._trace import Trace, WeakArray, current_trace, is_recording, recording


class WeakRoot(WeakArray):
    """A Python float that a gradient is for: in every dtype a cast of one number."""

    def __init__(self, trace: Trace, tensor: Any):
        super().__init__(trace, float)
        self._root = tensor

    def _build(self, dtype: Any) -> Any:
        if dtype.code == self._root.dtype:
            return self._root
        trace = self._trace
        return trace.settle(trace.builder.apply("cast", [self._root], {"dtype": dtype.code}))[0]

    @property
    def shape(self) -> tuple[Any, ...]:
        return ()

    @property
    def ndim(self) -> int:
        return 0


def root_of(trace: Trace, value: Any, place: str, fresh: bool) -> Array | None:
    """The value as an array that gradients are for; None of what has none, an integer say.

    fresh: a new tensor; else an argument's own.
    """
    if isinstance(value, (str, bytes, type, DType)):
        return None
    if not isinstance(value, Array):
        value = as_operand(value, trace)
        if type(value) is float:
            tensor = trace.builder.constant(float64.code, value)
            return WeakRoot(trace, trace.builder.gradient_root(tensor))
        if not isinstance(value, Array):
            return None
    trace.check_alive(value)
    if value._trace is not trace:
        raise TracingError(f"{place} is {value!r}, which belongs to another trace")
    if value.dtype.kind != "float":
        return None
    tensor = value._tensor_as(float64) if isinstance(value, WeakArray) else value._tensor
    if fresh:
        tensor = trace.builder.gradient_root(tensor)
    if isinstance(value, WeakArray):
        return WeakRoot(trace, tensor)
    return Array(trace, tensor, value._weak)


def no_gradient(what: str, place: str, value: Any) -> TypeError:
    if isinstance(value, Array) and value._weak in (bool, int):
        got = f"a number of type {value._weak.__name__}, and only floats have gradients"
        advice = "Pass a float, or leave it out of argnums"
    elif isinstance(value, Array):
        got = f"an array of {value.dtype.name}, and only floats have gradients"
        advice = "Convert it (x.astype(jitfuse.float32)), or leave it out of argnums"
    elif type(value) in (bool, int):
        got = f"the {type(value).__name__} {value!r}, and only floats have gradients"
        advice = f"Pass {float(value)!r}, or leave it out of argnums"
    else:
        got = f"{value!r} of type {type(value).__name__}, which is no array of floats"
        advice = "Leave it out of argnums"
    return TypeError(f"{what}: {place} is {got}. {advice}")


def differentiate(trace: Trace, outputs: Any, cotangents: Any, wrt: list[Array]) -> list[Array]:
    """The gradients of wrt, by the builder."""
    tensors = [w._tensor for w in wrt]
    trace.differentiated += [t.dims for t in tensors]
    found = trace.settle(trace.builder.vjp(outputs, cotangents, tensors) if tensors else ())
    return [Array(trace, t, w._weak) for t, w in zip(found, wrt)]


def settled(trace: Trace, nest: Any) -> Any:
    """What was computed with torch's gradients switched on, as it is to what goes on now."""
    if is_recording():
        return nest
    leaves, structure = flatten(nest)
    return unflatten(structure, iter([_settled(trace, leaf) for leaf in leaves]))


def _settled(trace: Trace, leaf: Any) -> Any:
    if not isinstance(leaf, Array) or isinstance(leaf, WeakArray) or leaf._trace is not trace:
        return leaf
    return Array(trace, trace.settle([leaf._tensor])[0], leaf._weak)


def _kind(value: Any) -> str:
    return repr(value) if isinstance(value, (Array, int, float)) else f"a {type(value).__name__}"


class Gradient(Outside):
    """What grad and value_and_grad return: call it as the function."""

    def __init__(
        self, function: Callable[..., Any], argnums: Any, has_aux: bool, what: str, with_value: bool
    ):
        if not callable(function):
            raise TypeError(f"{what}: expected a function, got {function!r}")
        functools.update_wrapper(self, function, updated=())
        self._function = function
        self._name = getattr(function, "__name__", "f")
        self._what = f"{what} of {self._name}"
        self._has_aux = has_aux
        self._with_value = with_value
        self._parameters = _parameters_of(function)
        self._one = isinstance(argnums, int) and not isinstance(argnums, bool)
        self._argnums = self._checked((argnums,) if self._one else argnums)
        self._jitted: JitFunction | None = None

    def __repr__(self) -> str:
        return f"<jitfuse.{self._what}>"

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def _call_slow(self, *args: Any, **kwargs: Any) -> Any:
        if current_trace() is not None:
            return self._inline(args, kwargs, fresh=True)
        if self._jitted is None:
            self._jitted = self._jit()
        return self._jitted(*args, **kwargs)

    def _jit(self) -> JitFunction:
        def gradient(*args: Any, **kwargs: Any) -> Any:
            return self._inline(args, kwargs, fresh=False)

        functools.update_wrapper(gradient, self._function, updated=())
        return jit_as(gradient, self._function)

    def _checked(self, argnums: Any) -> tuple[int, ...]:
        try:
            found = tuple(argnums)
        except TypeError:
            found = (None,)
        if not all(isinstance(n, int) and not isinstance(n, bool) for n in found):
            raise TypeError(f"{self._what}: argnums={argnums!r}, expected an int or ints")
        if self._parameters is not None:
            count = len(self._parameters)
            for n in found:
                if not -count <= n < count:
                    raise ValueError(
                        f"{self._what}: argnums has {n}, but it takes {count} positional arguments"
                    )
            found = tuple([n % count for n in found])
        if len(set(found)) != len(found):
            raise ValueError(f"{self._what}: argnums={argnums!r} names an argument twice")
        return found

    def _place(self, n: int, args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, str]:
        """Where argument n is, its position or its keyword; and its name."""
        at = n if n >= 0 else n + len(args)
        name = None
        if self._parameters is not None:
            name = self._parameters[n]
            if at >= len(args) and name in kwargs:
                return name, name
        if not 0 <= at < len(args):
            raise ValueError(
                f"{self._what}: argnums has {n}, but the call has {len(args)} positional arguments"
                + ("" if name is None else f" and no {name!r}")
            )
        return at, name or f"arg{at}"

    def _inline(self, args: Any, kwargs: Any, fresh: bool) -> Any:
        trace = current_trace()
        assert trace is not None
        args, kwargs = list(args), dict(kwargs)
        wrt: list[Array] = []
        structures: list[Structure] = []
        for n in self._argnums:
            place, name = self._place(n, args, kwargs)
            self._check_static(name)
            holder: Any = kwargs if isinstance(place, str) else args
            roots, structure = self._roots(trace, holder[place], name, fresh)
            holder[place] = unflatten(structure, iter(roots))
            wrt += roots
            structures.append(structure)
        with recording():  # torch.no_grad() around this counts for what comes out of it
            loss, aux = self._loss(self._function(*args, **kwargs), trace)
        one = trace.builder.constant(loss.dtype.code, 1.0)
        found = iter(differentiate(trace, [loss._tensor], [one], wrt))
        gradients: Any = tuple([unflatten(structure, found) for structure in structures])
        gradients = gradients[0] if self._one else gradients
        loss, aux = settled(trace, (loss, aux))
        if self._with_value:
            return ((loss, aux) if self._has_aux else loss), gradients
        return (gradients, aux) if self._has_aux else gradients

    def _check_static(self, name: str) -> None:
        if isinstance(self._function, JitFunction) and name in self._function._static:
            raise ValueError(f"{self._what}: argument {name!r} is static, so it has no gradient")

    def _roots(
        self, trace: Trace, value: Any, name: str, fresh: bool
    ) -> tuple[list[Array], Structure]:
        leaves, structure = flatten(value)
        roots = []
        for leaf, path in zip(leaves, paths(structure, name)):
            place = f"argument {path!r}"
            root = root_of(trace, leaf, place, fresh)
            if root is None:
                raise no_gradient(self._what, place, leaf)
            roots.append(root)
        return roots, structure

    def _loss(self, returned: Any, trace: Trace) -> tuple[Array, Any]:
        aux = None
        if self._has_aux:
            if not isinstance(returned, tuple) or len(returned) != 2:
                raise TypeError(
                    f"{self._what}: with has_aux=True expected a pair (loss, aux), got "
                    f"{_kind(returned)}"
                )
            returned, aux = returned
        if isinstance(returned, (tuple, list, dict)) or returned is None:
            pair = isinstance(returned, tuple) and len(returned) == 2 and not self._has_aux
            raise TypeError(
                f"{self._what}: expected one float of rank 0 from it, got {_kind(returned)}. "
                + ("For a pair (loss, aux) give has_aux=True" if pair else "Use jitfuse.vjp")
            )
        loss = to_array(returned, "grad")
        if loss.dtype.kind != "float" or loss.ndim != 0:
            raise TypeError(
                f"{self._what}: expected one float of rank 0 from it, got "
                f"{loss.dtype.name}[{', '.join(str(d) for d in loss.shape)}]. "
                + (
                    "Integers and bools have no gradient"
                    if loss.dtype.kind != "float"
                    else "Sum or average it, or use jitfuse.vjp, which weights the elements"
                )
            )
        return loss, aux


def _parameters_of(function: Callable[..., Any]) -> list[str] | None:
    """The positional ones; None where there may be any number of them."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a builtin that has none
        return None
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return None
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [p.name for p in parameters if p.kind in kinds]


def jit_as(function: Callable[..., Any], like: Callable[..., Any]) -> JitFunction:
    """The function jitted, with the options of `like` where that is jitted itself."""
    if isinstance(like, JitFunction):
        return JitFunction(function, (), tuple(like._static), like._dynamic, like._options)
    made: JitFunction = jit(function)
    return made


def grad(function: Callable[..., Any], argnums: Any = 0, has_aux: bool = False) -> Gradient:
    """A function of the same arguments that gives the gradient of `function`, whose result is a
    float of rank 0.

    argnums: the argument to differentiate with respect to, an int; or several, whose gradients come
        as a tuple. It may be a nest of arrays: the gradient is one of the same form.
    has_aux: `function` returns (loss, aux); then so (gradient, aux) is returned.
    """
    return Gradient(function, argnums, has_aux, "grad", with_value=False)


def value_and_grad(
    function: Callable[..., Any], argnums: Any = 0, has_aux: bool = False
) -> Gradient:
    """As grad, but it gives (value, gradient); with has_aux ((value, aux), gradient)."""
    return Gradient(function, argnums, has_aux, "value_and_grad", with_value=True)
