"""The standard's names are there with its arguments; every op of the table is reached by some
function."""

import inspect
import pathlib

import pytest

import jitfuse as jf
from jitfuse import _core

# Functions of the standard that sort, or whose results' shapes depend on values.
ABSENT = {
    "nonzero",
    "searchsorted",
    "unique_all",
    "unique_counts",
    "unique_inverse",
    "unique_values",
    "argsort",
    "sort",
}
# What other rows are made of; no function of its own.
INTERNAL = {
    "input", "scalar", "constant", "philox", "group_positions", "segment_add", "max_sumexp", "gradient_mark",
    "gelu_backward",
}


def test_standard_names_and_arguments():
    strict = pytest.importorskip(
        "array_api_strict", reason="compares with array-api-strict, which is not installed"
    )
    missing, different = [], []
    for name in strict.__all__:
        target = getattr(strict, name)
        if (
            name.startswith("_")
            or not callable(target)
            or inspect.isclass(target)
            or name in ABSENT
        ):
            continue
        if name in (
            "get_array_api_strict_flags",
            "set_array_api_strict_flags",
            "reset_array_api_strict_flags",
            "ArrayAPIStrictFlags",
            "Device",
        ):
            continue
        if not hasattr(jf, name):
            missing.append(name)
            continue
        want = list(inspect.signature(target).parameters.values())
        got = inspect.signature(getattr(jf, name)).parameters
        keyword = [p.name for p in want if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)]
        different += [f"{name}({p})" for p in keyword if p not in got]
        positional = [p for p in want if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        own = [p for p in got.values() if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        different += [f"{name}: {len(own)} positional"] * (len(own) < len(positional))
    assert not missing, missing
    assert not different, different


def test_every_op_is_reached():
    sources = "".join(
        p.read_text() for p in pathlib.Path(jf.__file__).resolve().parent.rglob("*.py")
    )
    ops = {row["name"] for row in _core.list_ops()} - INTERNAL
    assert len(ops) > 150
    assert not [op for op in sorted(ops) if f'"{op}"' not in sources]


def test_every_function_has_a_docstring():
    for module in (jf, jf.nn, jf.linalg, jf.random):
        for name in module.__all__:
            thing = getattr(module, name)
            if callable(thing) and not name.startswith("_"):
                assert (thing.__doc__ or "").strip(), f"{module.__name__}.{name}"


def test_constants():
    import math

    assert (jf.pi, jf.e, jf.inf, jf.newaxis) == (math.pi, math.e, math.inf, None) and math.isnan(
        jf.nan
    )
