"""bind: a jitted function of which some arguments are fixed, such as a model's weights.

A BoundFunction is traced as a function of the remaining arguments, in which the bound arrays are
captured ones; the compiled function then has these bound (_core.Function.bind), so that what
depends on them alone is computed once. Calls that torch records go to the function of all inputs.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from typing import Any

from ._arguments import describe, describe_named
from ._array import Array
from ._jit import JitFunction
from ._pytree import flatten, unflatten
from ._trace import current_trace
from ._tracer import Entry, Leaf, leaf_names


def bind(function: JitFunction, arrays: Mapping[str, Any]) -> BoundFunction:
    """What JitFunction.bind returns."""
    taken = function.bound if isinstance(function, BoundFunction) else {}
    whole = function.unbind() if isinstance(function, BoundFunction) else function
    for name in arrays:
        if name in taken:
            raise ValueError(f"{whole._name}: argument {name!r} is bound already; use rebind()")
        _check_name(whole, name)
    return BoundFunction(whole, {**taken, **arrays})


def _check_name(whole: JitFunction, name: str) -> None:
    parameters = whole._signature.parameters
    named = [
        n
        for n, p in parameters.items()
        if p.kind not in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    ]
    if name not in named:
        expected = (
            f"expected one of {', '.join(named)}"
            if named
            else (
                "it takes *args and **kwargs, of which none can be bound; jit a function that "
                "names its arguments"
            )
        )
        raise TypeError(f"{whole._name}: no argument is called {name!r}; {expected}")


class BoundFunction(JitFunction):
    """A jitted function with arguments fixed by bind(): it takes the others.

    The arrays are used where they lie and must not change: what calls read may have been computed
    of them before. After a change, rebind().
    """

    def __init__(self, whole: JitFunction, bound: dict[str, Any]):
        self._whole = whole
        self._bound = bound
        self._arrays = [
            (name, leaf) for name, value in bound.items() for leaf in _checked(whole, name, value)
        ]
        super().__init__(
            _of_the_rest(whole, bound),
            (),
            tuple(sorted(whole._static - bound.keys())),
            whole._dynamic,
            whole._options,
        )

    def __repr__(self) -> str:
        return f"<jitfuse.jit of {self._name}{self._signature}, bound: {', '.join(self._bound)}>"

    def __reduce__(self) -> Any:
        return BoundFunction, (self._whole, self._bound)

    @property
    def bound(self) -> dict[str, Any]:
        """The bound arguments by name."""
        return dict(self._bound)

    def rebind(self, name: str | None = None, value: Any = None, /, **arrays: Any) -> BoundFunction:
        """A function with other values, or the same arrays with other contents, for bound
        arguments: rebind(w=array) or rebind("w", array). This one goes on as it was."""
        given = _given("rebind", name, value, arrays)
        for n in given:
            if n not in self._bound:
                raise ValueError(f"{self._name}: argument {n!r} is not bound; use bind()")
        return BoundFunction(self._whole, {**self._bound, **given})

    def unbind(self, *names: str) -> JitFunction:
        """The function that takes these arguments again; without names, that of all arguments."""
        for n in names:
            if n not in self._bound:
                raise ValueError(f"{self._name}: argument {n!r} is not bound")
        rest = {n: v for n, v in self._bound.items() if n not in names}
        return BoundFunction(self._whole, rest) if names and rest else self._whole

    def _compile(self, leaves: list[Leaf], structure: Any, static: tuple[Any, ...]) -> Entry:
        entry = super()._compile(leaves, structure, static)
        if entry.function is None:
            return entry
        ours = {id(array) for _, array in self._arrays}
        positions = [
            i
            for i, (where, number) in enumerate(entry.sources)
            if where == "captured" and id(entry.captured[number]) in ours
        ]
        names = [entry.function.inputs[i]["name"] for i in positions]
        arrays = [entry.captured[entry.sources[i][1]] for i in positions]
        return dataclasses.replace(
            entry,
            function=entry.function.bind(names, arrays) if positions else entry.function,
            bound=frozenset(positions),
        )


def _given(what: str, name: str | None, value: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    """The arguments of bind(name, value) or bind(name=value, ...)."""
    if name is None:
        given = arrays
    elif isinstance(name, str):
        given = {name: value, **arrays}
    else:
        raise TypeError(f"{what}: expected the name of an argument, got {name!r}")
    if not given:
        raise TypeError(f"{what}: expected arguments, as in {what}(w=array) or {what}('w', array)")
    return given


def _checked(whole: JitFunction, name: str, value: Any) -> list[Any]:
    """The arrays in a bound value. What requires grad is refused, since its gradient would be
    lost."""
    arrays = []
    leaves, structure = flatten(((value,), {}))
    for leaf, leaf_name in zip(leaves, leaf_names(structure, [name])):
        where = f"{whole._name}: argument {leaf_name!r}"
        if isinstance(leaf, Array):
            raise TypeError(
                f"{where} is a traced array, which cannot be bound; bind the function outside of "
                "the trace"
            )
        if isinstance(leaf, _NUMBERS) or describe_named(leaf, lambda: where) is None:
            continue
        if getattr(leaf, "requires_grad", False) is True:
            raise ValueError(
                f"{where} requires grad, and gradients for what is bound would be lost: bind "
                ".detach() of it, or pass it to each call"
            )
        arrays.append(leaf)
    return arrays


def describe_or_none(leaf: Any) -> Any:
    return None if isinstance(leaf, _NUMBERS) else describe(leaf)


_NUMBERS = (str, bytes, bool, int, float)  # and what else is no array


def _of_the_rest(whole: JitFunction, bound: dict[str, Any]) -> Callable[..., Any]:
    """The function of the arguments that are not bound; runs while it is traced."""
    signature = whole._signature.replace(
        parameters=[p for n, p in whole._signature.parameters.items() if n not in bound]
    )

    def of_the_rest(*args: Any, **kwargs: Any) -> Any:
        rest = signature.bind(*args, **kwargs).arguments
        fixed = {name: _captured(name, value) for name, value in bound.items()}
        arguments = {n: {**rest, **fixed}[n] for n in whole._parameters if n in rest or n in fixed}
        call = inspect.BoundArguments(whole._signature, arguments)
        return whole._function(*call.args, **call.kwargs)

    of_the_rest.__name__ = whole._name
    of_the_rest.__qualname__ = getattr(whole._function, "__qualname__", whole._name)
    of_the_rest.__doc__ = whole._function.__doc__
    of_the_rest.__module__ = whole._function.__module__
    of_the_rest.__signature__ = signature  # type: ignore[attr-defined]
    return of_the_rest


def _captured(name: str, value: Any) -> Any:
    trace = current_trace()
    assert trace is not None
    leaves, structure = flatten(value)
    names = leaf_names(flatten(((value,), {}))[1], [name])
    traced = (
        leaf if describe_or_none(leaf) is None else trace.capture(leaf, n)
        for n, leaf in zip(names, leaves)
    )
    return unflatten(structure, traced)
