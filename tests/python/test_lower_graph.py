"""lower, explain, source, cost_analysis, compile; Graph; elementwise; random; show_config."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import jitfuse as jf
from support import make, same

X, Y = make((8, 5), "float32"), make((8, 5), "float32", 1)
TEXT = """graph f(%x: f32[n,5], %y: f32[n,5]) -> (f32[n,5]) {
  %0 = tanh(%y) : f32[n,5]
  %1 = multiply(%x, %0) : f32[n,5]
  return %1
}
"""


def test_lower():
    f = jf.jit(lambda x, y, a: a * x * jf.tanh(y))
    low = f.lower(X, Y, 2.0)
    assert "tanh(%y)" in low.text() and "scalar f32" in low.text()
    assert "group 0 (loop)" in low.explain() and low.explain()._repr_html_().startswith(
        "<pre>graph"
    )
    assert repr(low.explain()) == str(low.explain())
    assert "__global__" in low.source("cuda", "sm_90") and "define" in low.source("llvm")
    costs = low.cost_analysis()
    assert costs["version"] and costs["groups"] and json.dumps(costs)
    with pytest.raises(ValueError, match="stage"):
        low.source("fortran")
    compiled = low.compile()
    same(compiled(X, Y, 3.0), f(X, Y, 3.0))
    same(compiled(X[:3], Y[:3], 3.0), f(X[:3], Y[:3], 3.0))
    out = np.empty_like(X)
    assert compiled(X, Y, 3.0, out=out) is out
    assert compiled.stats()["kernels"] >= 1
    for bad in ((X, Y, 3), (X, Y[0], 3.0), (X[:, :4], Y[:, :4], 3.0)):
        with pytest.raises(TypeError, match="compiled for other arguments"):
            compiled(*bad)


def test_lower_does_not_need_static_arguments_to_be_arrays():
    f = jf.jit(lambda x, mode: jf.exp(x) if mode == "e" else x, static_argnames="mode")
    same(f.lower(X, mode="e").compile()(X, mode="e"), f(X, mode="e"))


def test_graph():
    g = jf.Graph.parse(TEXT)
    assert [i["name"] for i in g.inputs] == ["x", "y"] and g.text == TEXT and "x, y" in repr(g)
    want = X * np.tanh(Y)
    same(g.run(X, Y), want)
    same(g.run(X, Y, fuse=False), want)
    same(g.evaluate(X, Y), want)
    out = np.empty_like(X)
    assert g.run(X, Y, out=out) is out
    assert "group 0" in g.explain(X, Y) and "define" in g.source(X, Y, stage="llvm")
    with pytest.raises(ValueError, match="did you mean 'tanh'"):
        jf.Graph.parse(TEXT.replace("tanh", "tanhh"))


@pytest.mark.parametrize(
    "code, args, want",
    [
        ("y = a * tanh(b)", (X, Y), X * np.tanh(Y)),
        ("y = a * x + b", (2.0, X, Y), 2 * X + Y),
        ("t = exp(x); y = t / (1 + t)", (X,), np.exp(X) / (1 + np.exp(X))),
        ("y = where(x > 0, x, 0.1 * x)\n", (X,), np.where(X > 0, X, np.float32(0.1) * X)),
        ("y = gelu(x, approximate='tanh') * 0 + pi", (X,), np.full_like(X, np.pi)),
        ("x = x + 1; x = x * 2", (X,), (X + 1) * 2),
        (
            "y = -x ** 2 + ~(i & 3)",
            (X, np.arange(5)),
            -(X**2) + ~(np.arange(5) & 3).astype(np.float32).astype(int),
        ),
    ],
)
def test_elementwise(code, args, want):
    same(jf.elementwise(code)(*args), want.astype(np.float32), ulps=16)


def test_elementwise_with_two_results():
    f = jf.elementwise("s = a + b; d = a - b", name="both")
    s, d = f(X, Y)
    same(s, X + Y), same(d, X - Y)
    assert "both(a, b)" in repr(f)


@pytest.mark.parametrize(
    "code, message",
    [
        ("a + b", "expected assignments"),
        ("y = a.b", "Attribute is not allowed"),
        ("y = foo(a)", "there is no function 'foo'"),
        ("y = [a]", "List is not allowed"),
        ("", "expected an assignment"),
        ("y = (", "elementwise"),
        ("y = __import__('os')", "no function"),
        ("a, b = c", "expected assignments"),
        ("y = (lambda: a)()", "Lambda is not allowed"),
        ("import os", "expected assignments"),
    ],
)
def test_elementwise_takes_expressions_only(code, message):
    with pytest.raises(ValueError, match=message):
        jf.elementwise(code)


def test_random():
    f = jf.jit(
        lambda x: (
            jf.random.uniform(x.shape, 2, 3),
            jf.random.normal((1000,), 1.0, 2.0, dtype=jf.float64),
            jf.random.bernoulli(jf.full((1000,), 0.25)),
        )
    )
    u, n, b = f(X)
    assert u.shape == X.shape and u.dtype == np.float32 and u.min() >= 2 and u.max() < 3
    assert n.dtype == np.float64 and abs(n.mean() - 1) < 0.3 and abs(n.std() - 2) < 0.3
    assert set(np.unique(b)) == {0.0, 1.0} and 0.15 < b.mean() < 0.35
    state = jf.random.get_state()
    assert state == (0, 3)
    again = f(X)
    assert not np.array_equal(again[0], u)
    jf.random.set_state(state)
    assert np.array_equal(f(X)[0], again[0])
    jf.random.seed(7)
    other = f(X)[0]
    jf.random.seed(7)
    assert np.array_equal(f(X)[0], other) and not np.array_equal(other, u)
    g = jf.jit(lambda x: jf.random.uniform((x.shape[0], 4)) + x[:, :1] * 0)
    assert g(X).shape == (8, 4) and g(X[:3]).shape == (3, 4) and g.cache_info().entries == 1


def test_show_config(capsys):
    jf.show_config()
    text = capsys.readouterr().out
    assert text.startswith(f"jitfuse {jf.__version__}") and "CPU" in text
    assert isinstance(jf.CUDA_AVAILABLE, bool) and not hasattr(jf, "nonsense")


LOGS = """
import logging, sys
logging.basicConfig(stream=sys.stdout, format="%(name)s %(levelname)s %(message)s")
import numpy, jitfuse
jitfuse.jit(lambda x: jitfuse.tanh(x) * 3)(numpy.ones((4, 5), "float32"))
"""


@pytest.mark.parametrize("level", ["", "1", "2"])
def test_the_library_logs_to_pythons_logging(level, tmp_path):
    env = {**os.environ, "JITFUSE_LOG": level, "JITFUSE_CACHE_DIR": str(tmp_path)}
    done = subprocess.run([sys.executable, "-c", LOGS], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert ("jitfuse INFO" in done.stdout or "jitfuse DEBUG" in done.stdout) == bool(level)
    assert not done.stderr
