"""From a Python function and the arguments of a call to an Entry: a compiled function and how to
call it.

Sizes. By default the leading size of the first result that can have one is symbolic, and with it
the sizes of the arguments that it comes from; where no result has one (a loss), those that the
arguments begin with. All others are constants. To find them the function is traced with
every leading size of an argument a symbol of its own, the equalities that the ops needed are read
off the graph, and the function is traced again with what is left. dynamic="all" leaves every size
symbolic; "none" none. Sizes 0 and 1 stay constants, since broadcasting treats them apart.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from . import _logging
from ._arguments import describe, is_number, is_numpy_scalar, is_on_gpu
from ._array import Array
from ._autograd import Differentiable, draw, wants_grad
from ._dims import Dim
from ._dtypes import DType, as_dtype
from ._errors import TracingError, describe_place
from ._pytree import Structure, flatten, paths, unflatten
from ._sizes import Classes, Dims, symbol_name
from ._trace import Trace, recording, tracing


@dataclass
class Leaf:
    """What tracing knows of one leaf of the arguments."""

    name: str
    kind: str  # "array", "number" (a Python scalar), "scalar" (a NumPy scalar), "static"
    value: Any = None  # of a static leaf
    dtype: DType | None = None
    shape: tuple[int, ...] = ()
    on_gpu: bool = False
    scalar_type: type | None = None


@dataclass
class Entry:
    """One compiled function, and what turns a call's leaves into its arguments and back."""

    function: Any  # _core.Function; None where nothing that is returned is an array
    text: str
    dims: tuple[Dims | None, ...]  # of each leaf that is an array: what its sizes must be
    sources: tuple[tuple[str, int], ...]  # of each input: ("leaf" | "captured", number)
    captured: tuple[Any, ...]
    out_structure: Structure
    out_leaves: tuple[
        Any, ...
    ]  # of each leaf of the result: the output's number, or a constant in a list
    options: dict[str, Any]
    notes: tuple[str, ...]
    graph: Differentiable | None  # None as the function is; it takes all inputs
    bound: frozenset[int] = frozenset()  # inputs that `function` has bound, and does not take

    def all_arguments(self, leaves: list[Any]) -> tuple[Any, ...]:
        """One for each input, of those that are bound too."""
        return tuple(
            [leaves[i] if where == "leaf" else self.captured[i] for where, i in self.sources]
        )

    def arguments(self, leaves: list[Any]) -> tuple[Any, ...]:
        """What the function takes."""
        given = self.all_arguments(leaves)
        return tuple([a for i, a in enumerate(given) if i not in self.bound])

    @property
    def taken(self) -> tuple[tuple[str, int], ...]:
        """The sources of what the function takes."""
        return tuple([s for i, s in enumerate(self.sources) if i not in self.bound])

    @property
    def recorded(self) -> Callable[..., Any] | None:
        """As graph, of what the function takes."""
        if self.graph is None or not self.bound:
            return self.graph
        graph = self.graph
        fixed = {i: self.captured[self.sources[i][1]] for i in self.bound}

        def with_bound(*arguments: Any, **options: Any) -> tuple[Any, ...]:
            for i, array in fixed.items():
                if wants_grad((array,)):  # it has been made to since it was bound
                    raise ValueError(
                        f"{graph.name}: argument {graph.inputs[i]['name']!r} requires grad, and "
                        "gradients for what is bound would be lost: bind .detach() of it, or pass "
                        "it to each call"
                    )
            given = iter(arguments)
            whole = [fixed[i] if i in fixed else next(given) for i in range(len(self.sources))]
            return graph(*whole, **options)

        return with_bound

    def matches(self, shapes: tuple[tuple[int, ...] | None, ...]) -> bool:
        symbols: dict[str, int] = {}
        for dims, shape in zip(self.dims, shapes):
            if dims is None or shape is None:
                continue
            for d, size in zip(dims, shape):
                if (symbols.setdefault(d, size) if isinstance(d, str) else d) != size:
                    return False
        return True

    def run(self, leaves: list[Any], out: Any = None) -> Any:
        outs = (
            out
            if out is None or isinstance(out, tuple)
            else tuple(out)
            if isinstance(out, list)
            else (out,)
        )
        if self.function is None:
            if outs:
                raise TypeError(f"out=: expected none, since no array is returned, got {len(outs)}")
            return self.result(())
        arguments = self.arguments(leaves)
        recorded = self.recorded
        if recorded is not None and wants_grad(arguments):
            if outs is not None:
                raise ValueError(
                    f"{self.function.name}: out= cannot be given where an argument requires grad; "
                    "use the results, or call it under torch.no_grad()"
                )
            return self.result(recorded(*arguments))
        rng = draw(self.function, arguments)
        return self.result(self.function.call(arguments, outs, rng=rng))

    def result(self, outputs: Any) -> Any:
        leaves = (leaf[0] if isinstance(leaf, list) else outputs[leaf] for leaf in self.out_leaves)
        return unflatten(self.out_structure, leaves)


def describe_leaf(value: Any, name: str) -> Leaf:
    """What a leaf of the arguments is; a TypeError says what to do about one that is nothing."""
    if isinstance(value, Array):
        raise TracingError(
            f"argument {name!r} is {value!r}, which is not of the trace that is going on"
        )
    if is_number(value):
        return Leaf(name, "number", scalar_type=type(value))
    if is_numpy_scalar(value):
        return Leaf(name, "scalar", dtype=as_dtype(value.dtype))
    if isinstance(value, (str, bytes, type, DType)):
        return Leaf(name, "static", value=value)
    found = describe(value)
    if found is None:
        raise TypeError(
            f"argument {name!r} is {value!r} of type {type(value).__name__}; expected an array, a "
            "number, or a tuple, "
            "list, dict or dataclass of them. Name it in static_argnames if it is an option of "
            "the function"
        )
    return Leaf(name, "array", dtype=found[0], shape=found[1], on_gpu=is_on_gpu(value))


def leaf_names(structure: Structure, parameters: list[str]) -> list[str]:
    """Names of the leaves of ((args...), {kwargs})."""
    (_, _, (positional, keywords)) = structure
    names: list[str] = []
    for i, child in enumerate(positional[2]):
        names.extend(paths(child, parameters[i] if i < len(parameters) else f"arg{i}"))
    for key, child in zip(keywords[1], keywords[2]):
        names.extend(paths(child, str(key)))
    return names


class Tracer:
    """Traces one function(args, kwargs) for one structure of arguments."""

    def __init__(
        self, function: Callable[..., Any], name: str, structure: Structure, leaves: list[Leaf]
    ):
        self.function = function
        self.name = name
        self.structure = structure
        self.leaves = leaves
        self.notes: list[str] = []  # why sizes are constants that the policy would make symbolic

    def trace(self, dims: list[Dims | None], symbols: dict[str, int]) -> tuple[Trace, Any]:
        """Runs the function on traced arguments of these sizes; the trace and what it returned."""
        trace = Trace(self.name)
        trace.symbols = symbols
        with tracing(trace), recording():
            values = []
            for i, (leaf, d) in enumerate(zip(self.leaves, dims)):
                if leaf.kind == "array":
                    assert leaf.dtype is not None and d is not None
                    values.append(trace.array_argument(i, leaf.name, leaf.dtype, d))
                elif leaf.kind == "number":
                    assert leaf.scalar_type is not None
                    values.append(trace.weak_argument(i, leaf.name, leaf.scalar_type))
                elif leaf.kind == "scalar":
                    assert leaf.dtype is not None
                    values.append(trace.scalar_argument(i, leaf.name, leaf.dtype))
                else:
                    values.append(leaf.value)
            args, kwargs = unflatten(self.structure, iter(values))
            returned = self.function(args, kwargs)
            return trace, self._results(trace, returned)

    def _results(self, trace: Trace, returned: Any) -> tuple[list[Any], Structure, list[Any]]:
        """The output tensors, the structure, and each leaf as an output's number or [constant]."""
        leaves, structure = flatten(returned)
        tensors: list[Any] = []
        out: list[Any] = []
        for leaf in leaves:
            if isinstance(leaf, Array):
                trace.check_alive(leaf)
                if leaf._trace is not trace:
                    raise TracingError(
                        f"{self.name} returns {leaf!r}, which belongs to another trace"
                    )
                out.append(len(tensors))
                tensors.append(leaf._tensor)
            else:
                out.append([leaf.value() if isinstance(leaf, Dim) else leaf])
        return tensors, structure, out

    def compile(self, dynamic: str | None, options: dict[str, Any]) -> Entry:
        trace, (tensors, structure, leaves), dims = self.run(dynamic)
        options = {**options, "device": self._device(options["device"], trace)}
        function, text, graph = None, "", None
        if tensors:
            function = trace.builder.compile(tensors, **options)
            text = trace.builder.to_text(tensors)
            builder, inputs = trace.builder, trace.inputs

            def split(wrt: tuple[int, ...]) -> Any:
                return builder.split(tensors, [inputs[i] for i in wrt], **options)

            graph = Differentiable(function, text, options, split)
        return Entry(
            function=function,
            text=text,
            dims=tuple(dims),
            sources=tuple(trace.sources),
            captured=tuple(trace.captured),
            out_structure=structure,
            out_leaves=tuple(leaves),
            options=options,
            notes=tuple(self.notes),
            graph=graph,
        )

    def _device(self, device: str, trace: Trace) -> str:
        """Of "auto": where arguments and captured arrays are, if the environment says nothing."""
        if device != "auto" or os.environ.get("JITFUSE_BACKEND"):
            return device
        on_gpu = any(leaf.on_gpu for leaf in self.leaves) or any(map(is_on_gpu, trace.captured))
        return "cuda" if on_gpu else "cpu"

    # Sizes.

    def constants(self) -> list[Dims | None]:
        return [leaf.shape if leaf.kind == "array" else None for leaf in self.leaves]

    def symbolic(
        self, axes: Callable[[tuple[int, ...]], range]
    ) -> tuple[list[Dims | None], dict[str, int]]:
        """Every size above 1 on these axes as a symbol of its own."""
        dims: list[Dims | None] = []
        symbols: dict[str, int] = {}
        for leaf in self.leaves:
            if leaf.kind != "array":
                dims.append(None)
                continue
            own: list[Any] = list(leaf.shape)
            for axis in axes(leaf.shape):
                if own[axis] > 1:
                    name = symbol_name(len(symbols))
                    symbols[name] = own[axis]
                    own[axis] = name
            dims.append(tuple(own))
        return dims, symbols

    def run(self, dynamic: str | None) -> tuple[Trace, Any, list[Dims | None]]:
        """The trace to compile, its results, and the sizes it holds for."""
        if dynamic != "none":
            try:
                found = self._run_symbolic(dynamic)
            except Exception as error:  # the trace with numbers says what is wrong, if anything is
                _logging.debug("%s: traced with constant sizes, since: %s", self.name, error)
                self.notes = [f"all sizes are constants, since symbolic ones failed: {error}"]
                found = None
            if found is not None:
                return found
        dims = self.constants()
        return (*self.trace(dims, {}), dims)

    def _run_symbolic(self, dynamic: str | None) -> tuple[Trace, Any, list[Dims | None]] | None:
        everything = dynamic == "all"
        dims, symbols = self.symbolic(
            lambda shape: range(len(shape) if everything else min(1, len(shape)))
        )
        return self._settle(dims, symbols, everything)

    def run_with(
        self, dims: list[Dims | None], symbols: dict[str, int]
    ) -> tuple[Trace, Any, list[Dims | None]]:
        """As run, with symbols that the caller chose; those that are equal get their first name."""
        found = self._settle(dims, symbols, everything=True, keep_names=True) if symbols else None
        return found or (*self.trace(self.constants(), {}), self.constants())

    def _settle(
        self,
        dims: list[Dims | None],
        symbols: dict[str, int],
        everything: bool,
        keep_names: bool = False,
    ) -> tuple[Trace, Any, list[Dims | None]] | None:
        """Traces until the symbols are those that the trace allows; None if that leaves none."""
        for _ in range(4):
            if not symbols:
                return None
            trace, results = self.trace(dims, symbols)
            classes = Classes(trace)
            wanted = set(symbols) if everything else classes.by_default(results, dims)
            self.notes += [
                f"a size is a constant, since its number was asked for at {describe_place(place)}"
                for place in classes.asked(wanted)
            ]
            new_dims, new_symbols = classes.resolve(dims, symbols, wanted, keep_names)
            if (new_dims, new_symbols) == (dims, symbols):
                return trace, results, dims
            dims, symbols = new_dims, new_symbols
        return None
