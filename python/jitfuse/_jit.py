"""jit: a Python function over arrays as one compiled function.

The first call with a combination of dtypes, ranks and static arguments traces the function; later
ones find the entry and call it. An entry holds for all sizes that its symbols allow (_tracer.py);
other sizes trace again.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
from collections.abc import Callable, Iterator
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, NamedTuple

from . import _core, _logging
from ._arguments import describe_named, is_numpy_scalar, is_on_gpu, is_torch
from ._array import Array
from ._fork import ForkLock, loading
from ._outside import outside
from ._pytree import flatten, unflatten

if TYPE_CHECKING:
    from ._bound import BoundFunction
    from ._lowered import Lowered
    from ._tracer import Entry, Leaf

_DYNAMIC = (None, "all", "none")
_NUMERICS = ("default", "fast")
_VERIFY_ACTIONS = ("error", "fallback")
_MANY_ENTRIES = 32  # for different sizes alone: a warning
_MAX_SHAPES = 4096  # remembered for each combination; then forgotten and found again


class Call(NamedTuple):
    """The arguments of a call, read."""

    leaves: list[Any]
    structure: Any
    static: Any
    key: Any  # structure, dtypes, ranks and devices, static values
    shapes: tuple[Any, ...]  # of each leaf; None of what is no array


class _Static:
    """A static argument in a key: equal where value and types are, so that 1, True and 1.0 are
    three, and -0.0 is not 0.0."""

    def __init__(self, value: Any):
        self.value = value
        self._typed = _typed(value)

    def __hash__(self) -> int:
        return hash(self._typed)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Static) and self._typed == other._typed


def place_statics(static: Any, args: list[Any], kwargs: dict[str, Any]) -> None:
    """Puts the static arguments of a call where they were given."""
    for place, value in static:
        given = value.value if isinstance(value, _Static) else value
        if isinstance(place, int):
            args[place] = given
        else:
            kwargs[place] = given


def _typed(value: Any) -> Any:
    """The value with the types that == does not look at."""
    kind = type(value)
    bases: tuple[Any, ...] = (tuple, frozenset)
    for base in bases:
        if isinstance(value, base):
            items = base([_typed(item) for item in base.__iter__(value)])
            plain = kind.__eq__ is base.__eq__ and kind.__hash__ is base.__hash__
            return (kind, items) if plain else (kind, items, value)  # whose own == is asked, too
    if isinstance(value, (float, complex)):
        return kind, value, repr(value)
    return kind, value


class CacheInfo(NamedTuple):
    hits: int  # calls that found their entry
    misses: int  # calls that traced
    entries: int  # compiled functions


class _Group:
    """The entries of one combination of structure, dtypes, ranks and static arguments."""

    def __init__(self) -> None:
        self.entries: list[Entry] = []
        self.by_shapes: dict[Any, Entry] = {}

    def find(self, shapes: Any) -> Entry | None:
        found = self.by_shapes.get(shapes)
        if found is None:
            found = next((e for e in self.entries if e.matches(shapes)), None)
            if found is not None:
                if len(self.by_shapes) >= _MAX_SHAPES:
                    self.by_shapes.clear()
                self.by_shapes[shapes] = found
        return found


class JitFunction(_core.JitFunction):
    """A function under jitfuse.jit: call it as the function; `lower` shows what is made of it.

    Calls of a kind that was seen before are answered by the base class, in C++; others come to
    _call_slow.
    """

    def __init__(
        self,
        function: Callable[..., Any],
        static_argnums: Any,
        static_argnames: Any,
        dynamic: str | None,
        options: dict[str, Any],
    ):
        functools.update_wrapper(self, function, updated=())
        self._function = function
        self._name = getattr(function, "__name__", "f")
        self._signature = _signature_of(function)
        self._parameters = list(self._signature.parameters)
        self._positional = [
            name
            for name, p in self._signature.parameters.items()
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)
        ]
        own_out = self._signature.parameters.get("out")
        if own_out is not None and own_out.default is not None:  # NumPy's ufuncs have out=None
            raise TypeError(
                f"jit: {self._name} has a parameter 'out', which every jitted function takes for "
                "its results"
            )
        self._static = self._static_names(static_argnums, static_argnames)
        _core.jit_statics(
            self,
            [i for i, name in enumerate(self._positional) if name in self._static],
            sorted(self._static),
        )
        self._dynamic = dynamic
        self._options = options
        self._groups: dict[Any, _Group] = {}
        self._lock = ForkLock()
        self._hits = 0
        self._misses = 0

    def __repr__(self) -> str:
        return f"<jitfuse.jit of {self._name}{self._signature}>"

    def __reduce__(self) -> str:
        """Pickled by its name, as a function is."""
        return str(self._function.__qualname__)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    if TYPE_CHECKING:

        def __call__(self, *args: Any, out: Any = None, **kwargs: Any) -> Any: ...

    def _call_slow(self, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        traced, static = self._split(args, kwargs)
        leaves, structure = flatten(traced)
        for leaf in leaves:
            if isinstance(leaf, Array):
                return self._inline(leaf, args, kwargs, out)
        if any(map(is_torch, leaves)):
            with loading:
                from ._torch_state import check_not_recorded

            check_not_recorded(self._name)  # before torch warns of what is asked of its tensors
        call = self._describe(leaves, structure, static)
        entry = self._entry(call)
        result = entry.run(leaves, out)
        if entry.function is not None:
            _core.jit_add(
                self, args, kwargs, self._leaf_order(args, kwargs), entry.function, entry.dims,
                entry.taken, entry.captured, entry.out_structure, entry.out_leaves, entry.recorded,
            )  # fmt: skip
        return result

    def lower(self, *args: Any, **kwargs: Any) -> Lowered:
        """What a call with these arguments compiles: its text, groups, sources and costs."""
        found: Lowered = _lower(self, args, kwargs)
        return found

    def tune(self, *args: Any, **kwargs: Any) -> str:
        """Times, on a GPU, what calls like this one may choose from: algorithms of the matrix
        library, and which ops behind a product it computes. From now on they run what was the
        fastest; results may differ from those of earlier calls in the last bits. The arguments are
        read, nothing is written. Not while a CUDA graph is captured. Gives the record of what was
        tried as text, for use_tuning; "" where there is nothing to choose from. Where torch records
        a call for backward(), that has its own functions, which `autotune=True` times."""
        call = self._read(args, kwargs)
        entry = self._entry(call)
        return entry.function.tune(entry.arguments(call.leaves)) if entry.function else ""

    def use_tuning(self, record: str, *args: Any, **kwargs: Any) -> None:
        """As if tune had given this record for these arguments: nothing is timed. ValueError where
        it is of another function, kind of arguments, GPU or version of the library, or where the
        library refuses an algorithm of it."""
        if not isinstance(record, str):
            raise TypeError(
                "use_tuning: expected a record, the str that tune gives, got "
                f"{type(record).__name__}"
            )
        call = self._read(args, kwargs)
        entry = self._entry(call)
        if entry.function is None:
            raise ValueError(f"{self!r} returns no arrays, so nothing is tuned")
        entry.function.use_tuning(entry.arguments(call.leaves), record)

    def bind(self, name: str | None = None, value: Any = None, /, **arrays: Any) -> BoundFunction:
        """This function with arguments fixed, such as weights: bind(w=array) or bind("w", array).

        The result takes the other arguments, in their order. A value may be a nesting of arrays.
        What depends on bound arrays alone is computed once; the right operands of matrix products
        get the layout that the library likes best. Sizes of bound arrays are constants. The arrays
        are used where they lie and must not change while they are bound (rebind() after a change).
        Gradients are for the other arguments.
        """
        with loading:
            from ._bound import _given, bind

        return bind(self, _given("bind", name, value, arrays))

    def cache_info(self) -> CacheInfo:
        """Calls that found their entry, calls that traced, and entries."""
        return CacheInfo(
            self._hits + _core.jit_hits(self),
            self._misses,
            sum(len(g.entries) for g in self._groups.values()),
        )

    def verify_report(self) -> list[dict[str, Any]]:
        """What comparing calls with the reference evaluator has shown (verify=), one dict for each
        executable that had such calls."""
        entries = [entry for group in self._groups.values() for entry in group.entries]
        return [
            report
            for entry in entries
            if entry.graph is not None
            for function in (entry.function, *entry.graph.functions())
            for report in function.stats()["verify"]
        ]

    def cache_clear(self) -> None:
        """Forgets all traces (compiled kernels stay in the caches of the library)."""
        with self._lock:
            _core.jit_clear(self)
            self._groups.clear()
            self._hits = -_core.jit_hits(self)  # which goes on counting
            self._misses = 0

    # Arguments.

    def _static_names(self, argnums: Any, argnames: Any) -> frozenset[str]:
        nums = (argnums,) if isinstance(argnums, int) else tuple(argnums or ())
        names = (argnames,) if isinstance(argnames, str) else tuple(argnames or ())
        for n in nums:
            if not -len(self._parameters) <= n < len(self._parameters):
                raise ValueError(
                    f"jit: static_argnums has {n}, but {self._name} has {len(self._parameters)} "
                    "parameters"
                )
        takes_any = any(p.kind is p.VAR_KEYWORD for p in self._signature.parameters.values())
        for name in names:
            if name not in self._parameters and not takes_any:
                raise ValueError(
                    f"jit: static_argnames has {name!r}, but {self._name}{self._signature} has no "
                    "such parameter"
                )
        return frozenset([self._parameters[n] for n in nums]) | frozenset(names)

    def _split(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, tuple[Any, ...]]:
        """((positional), {keyword}) with None in place of static arguments; those as (place, value)
        pairs."""
        if not kwargs and not self._static:
            return (args, kwargs), ()
        bound = self._signature.bind(*args, **kwargs)
        positional, keywords = list(bound.args), dict(bound.kwargs)
        static: list[tuple[int | str, Any]] = []
        for i in range(min(len(positional), len(self._positional))):
            if self._positional[i] in self._static:
                static.append((i, self._hashable(self._positional[i], positional[i])))
                positional[i] = None
        for name in keywords.keys() & self._static:
            static.append((name, self._hashable(name, keywords[name])))
            keywords[name] = None
        static.sort(key=lambda pair: str(pair[0]))
        return (tuple(positional), keywords), tuple(static)

    def _hashable(self, name: str, value: Any) -> Any:
        try:
            hash(value)
        except TypeError:
            raise TypeError(
                f"{self._name}: static argument {name!r} is {value!r} of type "
                f"{type(value).__name__}, which has no hash; "
                "expected a hashable value (a tuple in place of a list)"
            ) from None
        return value if type(value) is str else _Static(value)

    def _inline(self, leaf: Array, args: Any, kwargs: Any, out: Any) -> Any:
        """Called while another function is traced: its ops become part of that trace."""
        leaf._trace.check_alive(leaf)
        if out is not None:
            raise TypeError(f"{self._name}: out= has no meaning inside another traced function")
        return self._function(*args, **kwargs)

    def _leaf_order(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[int] | None:
        """For each leaf as _split orders them, its number among the leaves of (args, kwargs) as
        given; None: the same."""
        if not kwargs:
            return None
        raw_args = tuple(
            [
                None if name in self._static else a
                for name, a in zip_longest(self._positional[: len(args)], args)
            ]
        )
        raw_kwargs = {name: None if name in self._static else a for name, a in kwargs.items()}
        leaves, structure = flatten((raw_args, raw_kwargs))
        numbered = unflatten(structure, iter(range(len(leaves))))
        return flatten(self._split(*numbered)[0])[0]

    # Entries.

    def _read(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Call:
        traced, static = self._split(args, kwargs)
        leaves, structure = flatten(traced)
        return self._describe(leaves, structure, static)

    def _describe(self, leaves: list[Any], structure: Any, static: Any) -> Call:
        kinds: list[Any] = []
        shapes: list[Any] = []
        for leaf in leaves:
            if type(leaf) in (bool, int, float):
                kinds.append(type(leaf))
                shapes.append(None)
            elif (found := self._describe_leaf(leaf, len(kinds), structure)) is None:
                kinds.append(leaf)
                shapes.append(None)
            else:
                dtype, shape, on_gpu = found
                place = "number" if is_numpy_scalar(leaf) else "gpu" if on_gpu else "cpu"
                kinds.append((dtype, len(shape), place))
                shapes.append(shape)
        return Call(leaves, structure, static, (structure, tuple(kinds), static), tuple(shapes))

    def _describe_leaf(self, leaf: Any, i: int, structure: Any) -> Any:
        """describe and is_on_gpu, whose errors get the name of the argument."""

        def name() -> str:
            with loading:
                from ._tracer import leaf_names

            return f"{self._name}: argument {leaf_names(structure, self._positional)[i]!r}"

        found = describe_named(leaf, name)
        return found and (*found, is_on_gpu(leaf))

    def _entry(self, call: Call) -> Entry:
        try:
            group = self._groups.get(call.key)
        except TypeError:  # a leaf that has no hash, so nothing Jitfuse knows: tracing names it
            group = None
        entry = group.find(call.shapes) if group is not None else None
        if entry is not None:
            self._hits += 1
            return entry
        return self._trace(call)

    def _trace(self, call: Call) -> Entry:
        with loading:
            from ._tracer import describe_leaf, leaf_names

        names = leaf_names(call.structure, self._positional)
        described: list[Leaf] = [
            describe_leaf(value, name) for value, name in zip(call.leaves, names)
        ]
        with self._tracing_alone():
            group = self._groups.setdefault(call.key, _Group())
            entry = group.find(call.shapes)  # another thread may have been first
            if entry is None:
                entry = self._compile(described, call.structure, call.static)
                group.entries.append(entry)
                self._misses += 1
                if len(group.entries) == _MANY_ENTRIES:
                    _logging.warning(
                        "%s has been traced for %d combinations of sizes, the last %s; "
                        "dynamic='all' makes one function serve all sizes, and "
                        "lower(...).explain() says why sizes are constants",
                        self._name, _MANY_ENTRIES, call.shapes,
                    )  # fmt: skip
        return entry

    @contextlib.contextmanager
    def _tracing_alone(self) -> Iterator[None]:
        """One thread traces at a time. One that is inside of another trace does not wait: two that
        call each other's functions would wait for ever."""
        from ._trace import current_trace

        taken = self._lock.acquire(blocking=current_trace() is None)
        try:
            yield
        finally:
            if taken:
                self._lock.release()

    def _compile(self, leaves: list[Leaf], structure: Any, static: tuple[Any, ...]) -> Entry:
        from ._tracer import Tracer  # _trace has loaded it

        def call(args: Any, kwargs: Any) -> Any:
            args = list(args)
            place_statics(static, args, kwargs)
            return self._function(*args, **kwargs)

        return Tracer(call, self._name, structure, leaves).compile(self._dynamic, self._options)


@outside
def _lower(function: JitFunction, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    with loading:
        from ._lowered import Lowered

    call = function._read(args, kwargs)
    return Lowered(function, call, function._entry(call))


def _signature_of(function: Callable[..., Any]) -> inspect.Signature:
    try:
        return inspect.signature(function)
    except ValueError:  # a builtin that has none
        return inspect.Signature(
            [
                inspect.Parameter("args", inspect.Parameter.VAR_POSITIONAL),
                inspect.Parameter("kwargs", inspect.Parameter.VAR_KEYWORD),
            ]
        )


def _checked_options(
    *, dynamic: str | None, numerics: str, verify: int, verify_action: str, autotune: bool,
    background: bool, specialize_after: int,
) -> dict[str, Any]:  # fmt: skip
    """These options of `jit`, as functions are compiled with them."""
    if dynamic not in _DYNAMIC:
        raise ValueError(f"jit: dynamic={dynamic!r}, expected one of {_DYNAMIC}")
    if numerics not in (*_NUMERICS, "strict"):
        raise ValueError(f"jit: numerics={numerics!r}, expected one of {_NUMERICS}")
    for name, count in {"verify": verify, "specialize_after": specialize_after}.items():
        if type(count) is not int or not 0 <= count < 2**63:
            raise ValueError(
                f"jit: {name}={count!r}, expected a number of calls, 0 or more and below 2**63"
            )
    if verify_action not in _VERIFY_ACTIONS:
        raise ValueError(f"jit: verify_action={verify_action!r}, expected one of {_VERIFY_ACTIONS}")
    if type(autotune) is not bool:
        raise ValueError(f"jit: autotune={autotune!r}, expected True or False")
    if type(background) is not bool:
        raise ValueError(f"jit: background={background!r}, expected True or False")
    return {
        "numerics": numerics, "verify": verify, "verify_action": verify_action,
        "autotune": autotune, "dynamic": "all" if dynamic == "all" else "leading",
        "background": background, "specialize_after": specialize_after,
    }  # fmt: skip


def jit(
    function: Callable[..., Any] | None = None,
    /,
    *,
    static_argnums: Any = (),
    static_argnames: Any = (),
    dynamic: str | None = None,
    numerics: str = "default",
    device: str = "auto",
    fuse: bool = True,
    rewrite: bool = True,
    use_gemm_library: bool = True,
    verify: int = 0,
    verify_action: str = "error",
    autotune: bool = False,
    background: bool = False,
    specialize_after: int = 0,
) -> Any:
    """Compiles a function over arrays into fused kernels: `@jitfuse.jit` or `@jitfuse.jit(...)`.

    The function is traced with arrays that have a dtype and a shape but no values, once for each
    combination of dtypes, ranks and static arguments; then kernels run. Arguments and results are
    arrays of any library with DLPack or the buffer protocol, numbers, and tuples, lists, dicts,
    namedtuples and dataclasses of them. `out=` takes the array(s) that results are written into.

    static_argnums, static_argnames: arguments that are options of the function: each value of them
        is traced by itself. Other Python numbers are passed with each call.
    dynamic: which sizes one compiled function serves. None: the leading size of the first result,
        and the sizes of arguments that it comes from; of a function that reduces it, as a loss
        does, the leading sizes of the arguments. "all": every size, by few kernels that take
        nearly any (docs/shapes.md); "none": no other.
    numerics: "default", or "fast" (less exact where that is faster). "strict" is a name for what
        is not there yet: NotImplementedError.
    device: "auto" (where the arguments are), "cpu", "cuda" or "interpret".
    fuse, rewrite, use_gemm_library: switch off to compare and to search for errors.
    verify: the first so many calls of each compiled executable are also computed by the reference
        evaluator and compared within its error bounds (docs/verify.md); on a GPU they wait.
    verify_action: what follows a wrong result. "error": RuntimeError with the command that repeats
        the call; "fallback": the evaluator's results, in this call and those that follow.
    autotune: the first call of each kind times, on a GPU, which algorithms of the matrix library
        and which kernels behind them are the fastest, before it runs (docs/gemm.md); `tune` does so
        for given arguments.
    background: a call whose code is not there runs what is, which may be slower, and its code is
        compiled in another thread (docs/shapes.md); where there is nothing to run, it waits.
    specialize_after: after so many calls of one shape it gets code of its own, compiled in another
        thread; 0: never.
    """
    options = _checked_options(
        dynamic=dynamic, numerics=numerics, verify=verify, verify_action=verify_action,
        autotune=autotune, background=background, specialize_after=specialize_after,
    )  # fmt: skip
    options |= {
        "device": device, "fuse": fuse, "rewrite": rewrite, "use_gemm_library": use_gemm_library,
    }  # fmt: skip
    if function is None:
        return lambda f: JitFunction(f, static_argnums, static_argnames, dynamic, options)
    if not callable(function):
        raise TypeError(f"jit: expected a function, got {function!r}")
    return JitFunction(function, static_argnums, static_argnames, dynamic, options)
