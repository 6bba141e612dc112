"""elementwise: a kernel from an expression in a string, such as "y = a * tanh(b)"."""

from __future__ import annotations

import ast
import math
import textwrap
from typing import Any

import jitfuse as jf

from ._jit import JitFunction, jit

_ALLOWED = (
    ast.Module, ast.Assign, ast.Name, ast.Load, ast.Store, ast.Constant, ast.Call, ast.keyword,
    ast.BinOp, ast.UnaryOp, ast.Compare, ast.operator, ast.unaryop, ast.cmpop,
)  # fmt: skip
_CONSTANTS = {"pi": math.pi, "e": math.e, "inf": math.inf, "nan": math.nan}


def _functions() -> dict[str, Any]:
    names = {n: getattr(jf, n) for n in jf.__all__ if callable(getattr(jf, n))}
    return {**{n: getattr(jf.nn, n) for n in jf.nn.__all__}, **names}


def elementwise(code: str, /, *, name: str = "kernel", **options: Any) -> JitFunction:
    """A jitted function from assignments: `elementwise("y = a * tanh(b)")` is a function of a and
    b.

    Statements are separated by newlines or `;`. Names that are read before they are assigned are
    the parameters, in the order in which they appear; names that are assigned and not read again
    are the results: one, or a tuple. Functions are those of jitfuse and jitfuse.nn; pi, e, inf and
    nan are constants. Arguments are arrays or numbers and broadcast. options: those of jit.
    """
    try:
        tree = ast.parse(textwrap.dedent(code))
    except SyntaxError as error:
        raise ValueError(f"elementwise({code!r}): {error.msg}") from None
    functions = _functions()
    parameters, results = _names(code, tree, functions)
    body = "\n    ".join(ast.unparse(statement) for statement in tree.body)
    source = f"def {name}({', '.join(parameters)}):\n    {body}\n    return {', '.join(results)}\n"
    scope = {**_CONSTANTS, **functions}
    exec(compile(source, f"<elementwise {code!r}>", "exec"), scope)
    return jit(scope[name], **options)


def _names(code: str, tree: ast.Module, functions: dict[str, Any]) -> tuple[list[str], list[str]]:
    """Parameters and results; a ValueError for anything but assignments of expressions."""
    parameters: list[str] = []
    assigned: dict[str, bool] = {}  # name -> read since
    if not tree.body:
        raise ValueError(f"elementwise({code!r}): expected an assignment such as y = a * tanh(b)")
    for statement in tree.body:
        if (
            not isinstance(statement, ast.Assign)
            or len(statement.targets) != 1
            or not isinstance(statement.targets[0], ast.Name)
        ):
            raise ValueError(
                f"elementwise({code!r}): expected assignments such as y = a * tanh(b), got "
                f"{ast.unparse(statement)!r}"
            )
        for node in ast.walk(statement):
            if not isinstance(node, _ALLOWED):
                raise ValueError(
                    f"elementwise({code!r}): {type(node).__name__} is not allowed, in "
                    f"{ast.unparse(statement)!r}"
                )
        for name in _reads(code, statement.value, functions):
            if name in assigned:
                assigned[name] = True
            elif name not in parameters and name not in _CONSTANTS:
                parameters.append(name)
        assigned.pop(statement.targets[0].id, None)
        assigned[statement.targets[0].id] = False
    return parameters, [name for name, read in assigned.items() if not read]


def _reads(code: str, expression: ast.expr, functions: dict[str, Any]) -> list[str]:
    """The variables of an expression, in the order in which they stand in it."""
    called = set()
    names: list[ast.Name] = []
    for node in ast.walk(expression):
        if isinstance(node, ast.Call):
            if not isinstance(node.func, ast.Name) or node.func.id not in functions:
                raise ValueError(
                    f"elementwise({code!r}): there is no function {ast.unparse(node.func)!r} in "
                    "jitfuse or jitfuse.nn"
                )
            called.add(node.func)
        elif isinstance(node, ast.Name):
            names.append(node)
    names = [n for n in names if n not in called]
    return [n.id for n in sorted(names, key=lambda n: (n.lineno, n.col_offset))]
