"""Every op of the table under the table's own name (docs/ops.md), new rows included.

`jitfuse.ops.NAME(operands ..., attribute=value ...)`: what the rest of the package is written with,
for what has no function under a name of the standard or of torch. Operands that may be left out
are None by default; numbers among the operands take the dtype of the arrays. A row with several
results gives a tuple.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from ._apply import apply_all, lift, require_trace, run_op, table
from ._dtypes import as_dtype

_SOURCES = ("input", "scalar", "constant")  # made by tracing, not by functions
_made: dict[str, Callable[..., Any]] = {}


def __getattr__(name: str) -> Callable[..., Any]:
    if name not in _made:
        row = table().get(name)
        if row is None or name in _SOURCES:
            raise AttributeError(
                f"the op table has no {name!r}; dir(jitfuse.ops) lists what it has"
            )
        _made[name] = _function(row)
    return _made[name]


def __dir__() -> list[str]:
    return sorted(set(table()) - set(_SOURCES))


def _function(row: dict[str, Any]) -> Callable[..., Any]:
    signature = _signature(row)
    name = row["name"]
    variadic = bool(row["args"]) and row["args"][0].endswith("...")
    dtypes = [a["name"] for a in row["attr_infos"] if a["type"] == "dtype"]

    def call(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        attrs = {key: given[key] for key in row["attrs"] if given.get(key) is not None}
        for key in dtypes:
            if key in attrs:
                attrs[key] = as_dtype(attrs[key])
        if variadic:
            operands = list(given.get(row["args"][0].removesuffix("..."), ()))
        else:
            operands = [given.get(p) for p in signature.parameters if p not in row["attrs"]]
        results = _run(name, operands, attrs)
        return results[0] if row["num_results"] == 1 else results

    call.__name__ = call.__qualname__ = name
    call.__module__ = "jitfuse.ops"
    call.__doc__ = _doc(row)
    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


def _run(name: str, operands: list[Any], attrs: dict[str, Any]) -> tuple[Any, ...]:
    while operands and operands[-1] is None:
        operands.pop()
    if not operands:
        return run_op(require_trace([], name), name, [], attrs)
    trace, lifted, _ = lift([x for x in operands if x is not None], name)
    arrays = iter(lifted)
    return apply_all(name, [None if x is None else next(arrays) for x in operands], attrs)


def _is_random(row: dict[str, Any]) -> bool:
    """The builder gives these their seed, offset and stream."""
    return "seed" in row["args"] and "stream" in row["attrs"]


def _signature(row: dict[str, Any]) -> inspect.Signature:
    parameters = []
    for arg in row["args"]:
        name = arg.rstrip("?.")
        if _is_random(row) and name in ("seed", "offset"):
            continue
        if arg.endswith("..."):
            parameters.append(inspect.Parameter(name, inspect.Parameter.VAR_POSITIONAL))
            continue
        default = None if arg.endswith("?") else inspect.Parameter.empty
        parameters.append(
            inspect.Parameter(name, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)
        )
    for attr in row["attr_infos"]:
        if _is_random(row) and attr["name"] == "stream":
            continue
        default = inspect.Parameter.empty if attr["required"] else attr["default"]
        if default == []:  # not given
            default = None
        parameters.append(
            inspect.Parameter(attr["name"], inspect.Parameter.KEYWORD_ONLY, default=default)
        )
    return inspect.Signature(parameters)


def _doc(row: dict[str, Any]) -> str:
    attrs = "".join(f"\n    {a['name']}: {a['doc']}" for a in row["attr_infos"])
    return f"{row['doc']}\n\n    {row['example']}" + (f"\n{attrs}" if attrs else "")
