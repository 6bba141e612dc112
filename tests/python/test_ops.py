"""jitfuse.ops: every row of the table is a function, which its own example proves."""

import inspect
import re

import numpy as np
import pytest

import jitfuse as jf
from jitfuse import _core
from jitfuse._dtypes import BY_CODE

ROWS = {row["name"]: row for row in _core.list_ops() if row["example"]}
# The operands that examples in ir/ops.inc are written with.
OPERANDS = {
    "x": ("f32", (4, 8)), "y": ("f32", (4, 8)), "i": ("i32", (4, 8)), "j": ("i32", (4, 8)),
    "p": ("bool", (4, 8)), "q": ("bool", (4, 8)), "m": ("f32", (16, 8)), "w": ("f32", (8,)),
    "b": ("f32", (8,)), "c": ("f32", (16,)), "z": ("f32", (4, 1)), "t": ("f32", (2, 4, 8)),
    "k": ("i64", (4,)), "u": ("u64", ()),
}  # fmt: skip
EXAMPLE = re.compile(r".*= (\w+)\((.*?)\)(?: \{(.*)\})? : (.*)")


def attribute(text):
    if text.startswith("["):
        return [int(n) for n in text[1:-1].split(",") if n]
    if text in ("true", "false"):
        return text == "true"
    return text if text in BY_CODE else float(text) if set(text) & set(".e") else int(text)


@pytest.mark.parametrize("name", ROWS)
def test_the_example_of_the_row(name):
    row = ROWS[name]
    called, operands, attrs, types = EXAMPLE.fullmatch(row["example"]).groups()
    function = getattr(jf.ops, name)
    assert called == name and function.__name__ == name and row["doc"] in function.__doc__
    operands = [o.strip(" %") for o in operands.split(",") if o]
    attrs = dict(re.findall(r"(\w+)=(\[[^\]]*\]|[^,]+)", attrs or ""))
    if "seed" in row["args"] and "stream" in row["attrs"]:  # the builder gives these
        given = zip(operands, row["args"])
        operands = [o for o, arg in given if arg not in ("seed", "offset")]
        attrs.pop("stream")
    attrs = {k: attribute(v.strip()) for k, v in attrs.items()}
    arrays = [np.ones(OPERANDS[o][1], BY_CODE[OPERANDS[o][0]].name) for o in operands]
    arrays = [a * 0 if a.dtype.kind in "iu" else a for a in arrays]
    lowered = jf.jit(lambda *xs: function(*xs, **attrs), dynamic="none").lower(*arrays)
    got = [
        f"{o['dtype']}[{','.join(map(str, o['dims']))}]" for o in lowered._entry.function.outputs
    ]
    assert ", ".join(got) == types


def test_values_and_numbers():
    x = np.linspace(-2, 2, 12, dtype=np.float32).reshape(3, 4)
    f = jf.jit(lambda x: (jf.ops.leaky_relu(x, slope=0.5), jf.ops.add(x, 1), jf.ops.fma(x, 2, 0.5)))
    got = f(x)
    np.testing.assert_array_equal(got[0], np.where(x > 0, x, x * np.float32(0.5)))
    np.testing.assert_array_equal(got[1], x + 1)
    np.testing.assert_allclose(got[2], x * 2 + 0.5, rtol=1e-6)
    norm = jf.jit(lambda x, b: jf.ops.layer_norm(x, jf.ones(4), b, eps=0.0))(x, x[0] * 0 + 1)
    np.testing.assert_allclose(norm.mean(axis=1), 1, rtol=1e-6)


def test_signatures_and_errors():
    assert (
        str(inspect.signature(jf.ops.layer_norm))
        == "(x, weight=None, bias=None, *, norm_dims=1, eps=1e-05)"
    )
    assert str(inspect.signature(jf.ops.dropout)) == "(x, p_scalar=None, *, p=0.5)"
    assert str(inspect.signature(jf.ops.stack)) == "(*xs, axis=0)"
    assert "softmax" in dir(jf.ops) and "input" not in dir(jf.ops)
    x = np.ones((2, 3), np.float32)
    with pytest.raises(AttributeError, match="the op table has no 'frobnicate'"):
        jf.ops.frobnicate()
    with pytest.raises(TypeError, match=r"missing a required .*argument: 'dtype'"):
        jf.jit(lambda x: jf.ops.cast(x))(x)
    with pytest.raises(TypeError, match="unexpected keyword argument 'axis'"):
        jf.jit(lambda x: jf.ops.sum(x, axis=1))(x)
    with pytest.raises(jf.TracingError, match="@jitfuse.jit"):
        jf.ops.exp(x)


def test_integers_keep_all_their_digits():
    odd, most, top = 2**53 + 1, 2**63 - 1, 2**64 - 1
    x = np.array([most, most - 1, -most, odd, odd + 1, 5])
    u = np.array([top, top - 1, 3], np.uint64)

    def check(f, x, want):
        got = jf.jit(f)(x)
        np.testing.assert_array_equal(got, np.asarray(want, x.dtype))
        assert got.dtype == x.dtype

    for low, high in [(-odd, most - 1), (4, odd), (odd, odd + 1), (-most, most)]:
        want = [min(max(int(v), low), high) for v in x]
        for clip in (jf.clip, np.clip, lambda x, min, max: jf.ops.clamp(x, min=min, max=max)):  # fmt: skip
            check(lambda x: clip(x, low, high), x, want)
    check(lambda u: jf.ops.clamp(u, min=odd, max=2**63), u, [2**63, 2**63, odd])
    check(lambda u: jf.clip(u, odd, top - 1), u, [top - 1, top - 1, odd])
    check(lambda x: jf.nn.threshold(x, odd, -odd), x, [v if v > odd else -odd for v in x.tolist()])
    check(lambda x: jf.ops.clamp(x, max=2**63), x, x)
    with pytest.raises(ValueError, match="18446744073709551614 is beyond 2.63 and has more digits than f64 holds"):  # fmt: skip
        jf.jit(lambda u: jf.ops.clamp(u, max=top - 1))(u)
    with pytest.raises(ValueError, match="max is 9007199254740993, expected a number that f64 holds"):  # fmt: skip
        jf.jit(lambda x: jf.ops.clamp(x, max=odd))(np.ones(2))
    with pytest.raises(OverflowError):
        jf.jit(lambda x: jf.ops.clamp(x, max=2**64))(x)
