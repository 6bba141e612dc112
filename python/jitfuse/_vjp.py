"""vjp: a function's value, and what multiplies cotangents with its derivative.

Inside of a trace the gradient's ops are appended to the graph. On real arrays the function and its
gradient are compiled as two functions, and what the second needs of the first is kept between them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ._apply import to_array
from ._arguments import describe, is_number
from ._array import Array
from ._autograd import as_torch, draw, is_torch
from ._dtypes import DType
from ._errors import TracingError
from ._gradients import differentiate, jit_as, root_of, settled
from ._jit import Call, JitFunction, jit
from ._outside import Outside, outside
from ._pytree import LEAF, Structure, flatten, paths, unflatten
from ._trace import FLOATS, Trace, current_trace, recording

if TYPE_CHECKING:
    from ._tracer import Entry


@outside
def vjp(function: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """(value, pull): the function's value, and a function that gives the sum over all elements of
    cotangent * d value / d primal, a tuple with one entry for each primal, of its form.

    pull takes one cotangent, of the form of the value; None stands for zeros. What has no gradient,
    integers say, gets None. has_aux: the function returns (value, aux); then (value, pull, aux) is
    returned.
    """
    name = getattr(function, "__name__", "f")
    if not callable(function):
        raise TypeError(f"vjp: expected a function, got {function!r}")
    if not primals:
        raise TypeError(f"vjp of {name}: expected arguments of the function behind it, got none")
    trace = current_trace()
    if trace is not None:
        value, pull, aux = _traced(trace, function, primals, has_aux, f"vjp of {name}")
    else:
        value, pull, aux = _compiled(function, primals, has_aux, f"vjp of {name}")
    return (value, pull, aux) if has_aux else (value, pull)


def cotangents_for(
    what: str, structure: Structure, given: Any, role: str = "the cotangent"
) -> list[Any]:
    """One for each leaf of the value; None: zeros."""
    out: list[Any] = []
    _match(what, structure, given, role, out)
    return out


def _match(what: str, structure: Structure, given: Any, place: str, out: list[Any]) -> None:
    if structure is LEAF:
        own = flatten(given)[1]
        if given is not None and own is not LEAF:
            raise TypeError(f"{what}: {place} is {_form(own, given)}, expected an array or None")
        out.append(given)
        return
    if structure is None:
        if given is not None:
            raise TypeError(f"{what}: {place} is {given!r}, expected None as the value has it")
        return
    kind, keys, children = structure
    if given is None:
        for child in children:
            _match(what, child, None, place, out)
        return
    leaves, own = flatten(given)
    if own is LEAF or own[0] != kind or own[1] != keys or len(own[2]) != len(children):
        raise TypeError(
            f"{what}: {place} is {_form(own, given)}, expected {_form(structure, None)}"
        )
    items = given if keys is None else [_item(given, key) for key in keys]
    names = range(len(children)) if keys is None else keys
    for child, item, name in zip(children, items, names):
        _match(what, child, item, f"{place}[{name!r}]", out)


def _item(given: Any, key: Any) -> Any:
    return given[key] if isinstance(given, dict) else getattr(given, key)


def _form(structure: Structure, leaf: Any) -> str:
    if structure is LEAF:
        return f"a {type(leaf).__name__}"
    kind, keys, children = structure
    name = getattr(kind, "__name__", "dict")
    return f"a {name} of {len(children)}" if keys is None else f"a {name} with {list(keys)!r}"


def _split_aux(what: str, returned: Any, has_aux: bool) -> tuple[Any, Any]:
    if not has_aux:
        return returned, None
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise TypeError(
            f"{what}: with has_aux=True expected a pair (value, aux), got a "
            f"{type(returned).__name__}"
        )
    return returned


def gradients_by_form(
    structures: list[Structure], numbers: list[int | None], found: list[Any]
) -> tuple[Any, ...]:
    """The gradients in the form of the primals; leaf number -> its place in `found`, or None."""
    leaves = iter([None if n is None else found[n] for n in numbers])
    return tuple([unflatten(structure, leaves) for structure in structures])


def rooted(
    trace: Trace, what: str, primals: Any, fresh: bool
) -> tuple[list[Any], list[Array], list[Structure], list[int | None]]:
    """Arguments to call with, the arrays that have gradients, the forms of the primals, and of each
    leaf the number of its gradient."""
    args: list[Any] = []
    wrt: list[Array] = []
    structures: list[Structure] = []
    numbers: list[int | None] = []
    for i, primal in enumerate(primals):
        leaves, structure = flatten(primal)
        values = []
        for leaf, path in zip(leaves, paths(structure, f"arg{i}")):
            root = root_of(trace, leaf, f"{what}: argument {path!r}", fresh)
            numbers.append(None if root is None else len(wrt))
            values.append(leaf if root is None else root)
            if root is not None:
                wrt.append(root)
        args.append(unflatten(structure, iter(values)))
        structures.append(structure)
    return args, wrt, structures, numbers


def _traced(
    trace: Trace, function: Callable[..., Any], primals: Any, has_aux: bool, what: str
) -> tuple[Any, Any, Any]:
    args, wrt, structures, numbers = rooted(trace, what, primals, fresh=True)
    with recording():  # as Gradient has it
        value, aux = _split_aux(what, function(*args), has_aux)
    leaves, form = flatten(value)

    def pull(cotangent: Any, /) -> tuple[Any, ...]:
        outputs, weights = [], []
        for leaf, ct in zip(leaves, cotangents_for(what, form, cotangent)):
            if not isinstance(leaf, Array) or leaf.dtype.kind != "float":
                _no_cotangent(what, leaf, ct)
            elif ct is not None:
                outputs.append(leaf._tensor)
                weights.append(_like(what, ct, leaf))
        if not outputs:
            outputs, weights = _nothing(trace)
        found = differentiate(trace, outputs, weights, wrt)
        return gradients_by_form(structures, numbers, found)

    value, aux = settled(trace, (value, aux))
    return value, pull, aux


def _no_cotangent(what: str, leaf: Any, ct: Any) -> None:
    if ct is not None:
        kind = leaf.dtype.name if isinstance(leaf, Array) else type(leaf).__name__
        raise TypeError(
            f"{what}: a cotangent is {ct!r}, but the value there is of {kind}, which has none; "
            "expected None"
        )


def _nothing(trace: Trace) -> tuple[list[Any], list[Any]]:
    """An output that depends on nothing."""
    zero = trace.builder.constant("f32", 0.0)
    return [zero], [zero]


def _like(what: str, ct: Any, leaf: Array) -> Any:
    """The tensor of a cotangent; numbers take the dtype."""
    made = to_array(ct, "vjp", leaf.dtype if type(ct) in (int, float) else None)
    if made._weak is not None:
        made = to_array(made, "vjp", leaf.dtype)
    return made._tensor


def _compiled(
    function: Callable[..., Any], primals: Any, has_aux: bool, what: str
) -> tuple[Any, Any, Any]:
    def run(*args: Any) -> Any:
        trace = current_trace()
        assert trace is not None
        args = tuple(rooted(trace, what, args, fresh=False)[0])
        return _split_aux(what, function(*args), has_aux)

    functools.update_wrapper(run, function, updated=())
    jitted = jit_as(run, function)
    call = jitted._read(primals, {})
    entry = jitted._entry(call)
    if entry.function is None:
        raise TypeError(f"{what}: the value has no arrays, so that nothing has a gradient")
    pull = _Pull(what, entry, call)
    value, aux = entry.result(pull.outputs)
    pull.form = flatten(value)[1]
    return value, pull, aux


class _Pull(Outside):
    """What vjp of real arrays gives: holds what the backward function reads."""

    def __init__(self, what: str, entry: Entry, call: Call):
        self._what = what
        arguments = entry.all_arguments(call.leaves)
        of_leaf = {
            number: at for at, (where, number) in enumerate(entry.sources) if where == "leaf"
        }
        assert entry.graph is not None
        floats = [info["dtype"] in FLOATS for info in entry.graph.inputs]
        wrt = [at for at in of_leaf.values() if floats[at]]
        self._split = entry.graph.split(tuple(wrt))
        forward = self._split.forward
        self._rng = draw(forward, arguments)
        results = forward.call(arguments, rng=self._rng)
        self.outputs = results[: entry.function.num_outputs]
        self.form: Structure = None
        self._leaves = entry.out_leaves
        self._saved = [(arguments if own else results)[i] for own, i in self._split.saved]
        self._names = [
            f"argument {forward.inputs[i]['name']!r}" if own else f"result {i}"
            for own, i in self._split.saved
        ]
        self._versions = [_version(x) for x in self._saved]
        self._structures = list(call.structure[2][0][2])
        places = {at: n for n, at in enumerate(wrt)}
        self._numbers = [places.get(of_leaf.get(i, -1)) for i in range(len(call.leaves))]
        self._like = next((x for x in arguments if is_torch(x)), None)

    def __repr__(self) -> str:
        return f"<jitfuse.{self._what}: a function of the cotangent>"

    def _call_slow(self, cotangent: Any, /) -> tuple[Any, ...]:
        given = cotangents_for(self._what, self.form, cotangent)
        by_output: dict[int, Any] = {}
        for leaf, ct in zip(self._leaves, given):
            if isinstance(ct, Array):
                raise TracingError(
                    f"{self._what}: it was taken of real arrays, and its cotangent is {ct!r}; take "
                    "the vjp inside of the traced function"
                )
            if isinstance(leaf, list) or leaf not in self._split.cotangents:
                _no_cotangent(self._what, leaf[0] if isinstance(leaf, list) else None, ct)
            elif ct is not None:
                by_output[leaf] = self._checked(ct, self.outputs[leaf])
        cts = [
            by_output[i] if i in by_output else _zeros_like()(self.outputs[i])
            for i in self._split.cotangents
        ]
        self._check_unchanged()
        found = self._split.backward.call((*self._saved, *cts), rng=self._rng)
        if self._like is not None:
            found = tuple([as_torch(g) for g in found])
        return gradients_by_form(self._structures, self._numbers, list(found))

    def _check_unchanged(self) -> None:
        for x, name, version in zip(self._saved, self._names, self._versions):
            now = _version(x)
            if now != version:
                raise RuntimeError(
                    f"{self._what}: {name}, which the gradient is computed from, was changed in "
                    f"place since (it is at version {now}, and was at {version}); take the vjp of "
                    "a clone, or call the function that it gave before the change"
                )

    def _checked(self, ct: Any, output: Any) -> Any:
        """A cotangent that is like its output. The backward function knows no more of an output's
        sizes than it reads."""
        dtype, shape = expected = _described(output)
        if is_number(ct) and shape == ():
            return ct
        got = None if is_number(ct) else describe(ct)
        if got != expected:
            form = f"a {type(ct).__name__}" if got is None else f"{got[0].name}{list(got[1])}"
            raise TypeError(
                f"{self._what}: a cotangent is {form}, expected {dtype.name}{list(shape)} as the "
                "value is there"
            )
        return ct


def _version(x: Any) -> int | None:
    """How often a torch tensor was changed in place; None of what does not tell."""
    return int(x._version) if is_torch(x) and not x.is_inference() else None


def _described(array: Any) -> tuple[DType, tuple[int, ...]]:
    found = describe(array)
    assert found is not None
    return found


@functools.cache
def _zeros_like() -> JitFunction:
    import jitfuse

    made: JitFunction = jit(jitfuse.zeros_like)
    return made
