"""The command jitfuse: the C++ command's main, with Python functions where it takes a file.

An entry is "module:function" or "path/file.py:function"; each --arg says what one argument is:

    NAME:f32[n,1024]    an array: dtype, and sizes or names of symbols; f32 alone is a NumPy scalar
    NAME:float          a Python number (float, int, bool), passed with each call
    NAME=VALUE          this value itself, a Python literal or a string

Without a NAME they stand for the parameters in order. NAME.key and NAME.0 build dicts and lists.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.util
import inspect
import os
import re
import signal
import sys
import traceback
from collections.abc import Callable
from typing import Any

from . import _core, _logging
from ._dtypes import BY_CODE, DType, find_dtype
from ._errors import PACKAGE, TracingError
from ._jit import JitFunction, jit
from ._pytree import flatten
from ._sizes import Classes
from ._tracer import Leaf, Tracer, leaf_names

_NUMBERS = {"float": float, "int": int, "bool": bool}
_ARGUMENT = re.compile(
    r"(?:(?P<name>[^\W\d]\w*(?:\.\w+)*)(?=[:=]))?(?P<sign>[:=]?)(?P<rest>.*)", re.S
)
_ARRAY = re.compile(r"(?P<dtype>\w+)(?P<sizes>\[[^\[\]]*\])?")
_EXAMPLE = "expected NAME:f32[n,1024] for an array, NAME:float for a number, or NAME=VALUE"


class UsageError(Exception):
    """The command line is wrong."""


class _Value:
    """A leaf of the arguments that is passed as it is, whatever it is."""

    def __init__(self, value: Any):
        self.value = value


class _Spec:
    """A leaf that is traced; `dims` has ints and names of symbols."""

    def __init__(self, kind: str, dtype: DType | None = None, dims: tuple[Any, ...] = ()):
        self.kind = kind
        self.dtype = dtype
        self.dims = dims
        self.scalar_type: type | None = None


def main(words: list[str] | None = None) -> int:
    """Runs the command with these words (those of the process); its exit code."""
    for name in ("SIGINT", "SIGPIPE"):  # as in any other program: ^C, and `| head`
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    _core.set_log(_logging.library_level(), None)
    sys.path.insert(0, os.getcwd())
    words = sys.argv[1:] if words is None else words
    for word in words:
        if not word.isprintable() and any("\ud800" <= c <= "\udfff" for c in word):
            print(f"jitfuse: {ascii(word)}: expected UTF-8", file=sys.stderr)
            return 2
    return _core.command(words, _answer)


def _answer(
    entry: str, arguments: list[str], sizes: dict[str, int], size: int, as_called: bool
) -> dict[str, Any]:
    """trace or trace_call, with what goes wrong as a message."""
    try:
        with contextlib.redirect_stdout(sys.stderr):  # stdout is for what the command prints
            if as_called:
                return trace_call(entry, arguments, sizes)
            return trace(entry, arguments, sizes, size)
    except UsageError as error:
        return {"error": str(error), "usage": True}
    except TracingError as error:
        return {"error": f"{entry}: {error}", "usage": False}
    except BaseException as error:
        return {"error": f"{entry} failed:\n{_traceback(error)}", "usage": False}


def _traceback(error: BaseException) -> str:
    """Without the frames of Jitfuse and of Python's import."""
    shown = traceback.TracebackException.from_exception(error)
    shown.stack = traceback.StackSummary.from_list(
        [f for f in shown.stack if not f.filename.startswith((PACKAGE, "<frozen importlib"))]
    )
    return "".join(shown.format()).rstrip()


def trace(entry: str, arguments: list[str], sizes: dict[str, int], size: int) -> dict[str, Any]:
    """The graph of an entry for these arguments; symbols are `sizes` in the call that is traced,
    `size` where that has none."""
    function, tracer, leaves, symbols = _tracer(entry, arguments, sizes, size)
    dims = [x.dims if isinstance(x, _Spec) and x.kind == "array" else None for x in leaves]
    _equalize(tracer, dims, symbols, sizes)
    found, (tensors, _, _), held = tracer.run_with(dims, symbols)
    left = {d for own in held if own for d in own if isinstance(d, str)}
    made = _graph(function, found, tensors)
    _tell(tracer, dims, held)
    return {**made, "symbols": {name: value for name, value in sizes.items() if name in left}}


def trace_call(entry: str, arguments: list[str], sizes: dict[str, int]) -> dict[str, Any]:
    """The graph that a call of the entry with arrays of these sizes compiles, and the values of its
    symbols, which are those that jitfuse.jit makes."""
    function, tracer, _, symbols = _tracer(entry, arguments, sizes, 0)
    for name in symbols:
        if name not in sizes:
            raise UsageError(f"{entry}: expected sizes of {name}, which its arguments have")
    found, (tensors, _, _), held = tracer.run(function._dynamic)
    values = {
        dim: size
        for leaf, dims in zip(tracer.leaves, held)
        for dim, size in zip(dims or (), leaf.shape)
        if isinstance(dim, str)
    }
    return {**_graph(function, found, tensors), "symbols": values}


def _tracer(
    entry: str, arguments: list[str], sizes: dict[str, int], size: int
) -> tuple[JitFunction, Tracer, list[Any], dict[str, int]]:
    """What traces an entry, the leaves of its arguments, and the sizes that their symbols have."""
    function = _load(entry)
    if not isinstance(function, JitFunction):
        function = jit(function)
    args, kwargs = _bind(function, entry, arguments)
    leaves, structure = flatten((args, kwargs))
    names = leaf_names(structure, function._positional)
    symbols: dict[str, int] = {}
    described = [_leaf(x, name, symbols, sizes, size) for x, name in zip(leaves, names)]
    for name in sizes:
        if name not in symbols:
            known = ", ".join(symbols) or "none"
            raise UsageError(f"--set {name}: no --arg has a size {name}; their symbols: {known}")
    tracer = Tracer(
        lambda args, kwargs: function._function(*args, **kwargs),
        function._name,
        structure,
        described,
    )
    return function, tracer, leaves, symbols


def _graph(function: JitFunction, found: Any, tensors: list[Any]) -> dict[str, Any]:
    if not tensors:
        raise ValueError(f"{function._name} returns no array that depends on its arguments")
    text = found.builder.to_text(tensors)
    inputs = zip(_core.parse_inputs(text), found.sources)
    return {
        "text": text,
        "given": {i["name"]: found.captured[n] for i, (of, n) in inputs if of == "captured"},
        "options": function._options,
    }


def _equalize(
    tracer: Tracer, dims: list[Any], symbols: dict[str, int], sizes: dict[str, int]
) -> None:
    """Gives symbols that the function needs equal one value, that of --set; where that has several,
    it is wrong."""
    try:
        classes = Classes(tracer.trace(dims, symbols)[0])
    except Exception:  # the traces that follow say what is wrong
        return
    chosen: dict[str, str] = {}  # by class, the symbol that --set names
    for name in sizes:
        other = chosen.setdefault(classes.root(name), name)
        if sizes[name] != sizes[other]:
            raise UsageError(
                f"--set {name}={sizes[name]}: the function needs {other} and {name} equal, "
                f"and {other} is {sizes[other]}"
            )
    for name in symbols:
        symbols[name] = symbols[chosen.get(classes.root(name), name)]
    for leaf, own in zip(tracer.leaves, dims):
        if own is not None:
            leaf.shape = tuple(symbols[d] if isinstance(d, str) else d for d in own)


def _tell(tracer: Tracer, dims: list[Any], held: list[Any]) -> None:
    """What became of symbols that the graph does not have, on stderr."""
    became: dict[str, Any] = {}
    for before, after in zip(dims, held):
        became.update(
            {b: a for b, a in zip(before or (), after or ()) if isinstance(b, str) and a != b}
        )
    for name, now in became.items():
        if isinstance(now, str):
            print(
                f"jitfuse: note: {name} is {now}, since the function needs them equal",
                file=sys.stderr,
            )
        else:
            print(f"jitfuse: note: {name} is the constant {now}", file=sys.stderr)
    for note in dict.fromkeys(tracer.notes):
        print(f"jitfuse: note: {note}", file=sys.stderr)


def _load(entry: str) -> Callable[..., Any]:
    place, _, name = entry.rpartition(":")
    if place.endswith(".py"):
        found: Any = _load_file(place)
    else:
        try:
            found = importlib.import_module(place)
        except ModuleNotFoundError as error:
            if error.name is None or not (place + ".").startswith(error.name + "."):
                raise  # one that the module itself imports
            raise UsageError(f"there is no module {place!r} in this folder or installed") from None
    for part in name.split("."):
        if not hasattr(found, part):
            own = [
                n
                for n in (vars(found) if hasattr(found, "__dict__") else {}) or dir(found)
                if not n.startswith("_") and callable(inspect.getattr_static(found, n, None))
            ]
            has = ", ".join(own[:20]) or "none"
            raise UsageError(f"{entry}: {found!r} has no {part!r}; its functions: {has}")
        found = getattr(found, part)
    if not callable(found):
        raise UsageError(
            f"{entry}: expected a function, got {found!r} of type {type(found).__name__}"
        )
    return found


def _load_file(path: str) -> Any:
    if not os.path.isfile(path):
        raise UsageError(f"cannot read {path}: there is no such file")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    name = os.path.basename(path).removesuffix(".py")
    if name in sys.modules or name in sys.stdlib_module_names:  # random.py is not `random`
        name = f"_jitfuse_entry_{name}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses and pickle look there
    spec.loader.exec_module(module)
    return module


# Arguments.


def _bind(
    function: JitFunction, entry: str, arguments: list[str]
) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The call's arguments, with _Spec and _Value as leaves."""
    named: dict[str, Any] = {}
    ordered: list[Any] = []
    for text in arguments:
        name, leaf = _parse(text)
        if name is None:
            ordered.append(leaf)
        else:
            _put(named, name.split("."), leaf, text)
    named = {name: _nest(name, value) for name, value in named.items()}
    signature = function._signature
    parameters = signature.parameters
    takes_any = any(p.kind is p.VAR_KEYWORD for p in parameters.values())
    for name in named:
        if name not in parameters and not takes_any:
            raise UsageError(
                f"--arg {name}: {entry} has no parameter {name!r}; "
                f"it is {function._name}{signature}"
            )
    free = [name for name in function._positional if name not in named]
    variadic = any(p.kind is p.VAR_POSITIONAL for p in parameters.values())
    if len(ordered) > len(free) and not variadic:
        raise UsageError(
            f"{entry}: expected at most {len(free)} arguments without a name, got {len(ordered)}"
        )
    # By position, since they may have no name, up to the first one that is missing.
    positional: list[Any] = []
    rest = iter(ordered)
    for name in function._positional:
        if name in named:
            positional.append(named.pop(name))
        elif (leaf := next(rest, None)) is not None:
            positional.append(leaf)
        else:
            break
    positional.extend(rest)
    try:
        bound = signature.bind(*positional, **named)
    except TypeError as error:
        raise UsageError(
            f"{entry}: {error}; it is {function._name}{signature}, and each --arg says what one "
            f"argument is: {_EXAMPLE}"
        ) from None
    given = {**bound.arguments, **bound.kwargs}
    for name in function._static & given.keys():
        if not isinstance(given[name], _Value):
            raise UsageError(f"{entry}: {name} is a static argument: expected --arg {name}=VALUE")
    return bound.args, bound.kwargs


def _parse(text: str) -> tuple[str | None, Any]:
    found = _ARGUMENT.fullmatch(text)
    assert found is not None  # it takes anything
    name, sign, rest = found["name"], found["sign"], found["rest"].strip()
    if sign == "=":
        try:
            return name, _Value(ast.literal_eval(rest))
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            return name, _Value(rest)
    return name, _parse_type(text, rest)


def _parse_type(text: str, rest: str) -> _Spec:
    if rest in _NUMBERS:
        made = _Spec("number")
        made.scalar_type = _NUMBERS[rest]
        return made
    found = _ARRAY.fullmatch("".join(rest.split()))
    dtype = found and find_dtype(found["dtype"])
    if not found:
        raise UsageError(f"--arg {text}: {_EXAMPLE}")
    if not dtype:
        raise UsageError(
            f"--arg {text}: {found['dtype']!r} is no dtype; expected one of {', '.join(BY_CODE)}"
        )
    if found["sizes"] is None:
        return _Spec("scalar", dtype)
    inside = found["sizes"][1:-1]
    return _Spec(
        "array", dtype, tuple([_size(text, s) for s in inside.split(",")] if inside else ())
    )


def _size(text: str, size: str) -> int | str:
    if size.isascii() and size.isdigit() and len(size) < 20:  # of 64 bits
        return int(size)
    if size.isascii() and size.isidentifier():
        return size
    raise UsageError(f"--arg {text}: expected a size such as 1024 or n, got {size!r}")


def _put(into: dict[str, Any], path: list[str], leaf: Any, text: str) -> None:
    for part in path[:-1]:
        into = into.setdefault(part, {})
        if not isinstance(into, dict):
            raise UsageError(f"--arg {text}: {part!r} was given as a whole before")
    if path[-1] in into:
        raise UsageError(f"--arg {text}: it is given twice")
    into[path[-1]] = leaf


def _nest(name: str, value: Any) -> Any:
    """Dicts whose keys are all numbers as lists."""
    if not isinstance(value, dict):
        return value
    items = {key: _nest(f"{name}.{key}", item) for key, item in value.items()}
    if not all(key.isascii() and key.isdigit() and len(key) < 20 for key in items):
        return items
    if sorted(map(int, items)) != list(range(len(items))):
        raise UsageError(
            f"--arg {name}: expected items 0 to {len(items) - 1}, got {', '.join(sorted(items))}"
        )
    return [items[key] for key in sorted(items, key=int)]


def _leaf(x: Any, name: str, symbols: dict[str, int], sizes: dict[str, int], size: int) -> Leaf:
    """What tracing knows of a leaf; its symbols are added to `symbols`."""
    if not isinstance(x, _Spec):
        return Leaf(name, "static", value=x.value)
    for d in x.dims:
        if isinstance(d, str):
            symbols.setdefault(d, sizes.get(d, size))
    shape = tuple(symbols[d] if isinstance(d, str) else d for d in x.dims)
    return Leaf(name, x.kind, dtype=x.dtype, shape=shape, scalar_type=x.scalar_type)
