"""jit: what is traced once, nested arguments and results, static arguments, scalars, sizes,
out=."""

import collections
import dataclasses
import threading

import numpy as np
import pytest

import jitfuse as jf
from jitfuse import _core
from support import make, run, same

X = make((8, 5), "float32")
W = make((5, 3), "float32", 1)
Pair = collections.namedtuple("Pair", "a b")


@dataclasses.dataclass
class Params:
    w: object
    scale: float
    name: str = "layer"


@dataclasses.dataclass(frozen=True)
class Frozen:
    x: object
    y: object


def test_traces_once_for_all_batches():
    traces = []

    @jf.jit
    def f(x, w):
        traces.append(x.shape)
        return jf.tanh(x @ w)

    for n in (8, 3, 2, 17):
        x = make((n, 5), "float32", n)
        same(f(x, W), np.tanh(x @ W), ulps=64, atol=1e-6)
    assert f.cache_info() == (3, 1, 1) and 1 <= len(traces) <= 2
    f(X.astype(np.float64), W)  # another dtype
    f(X[0], W)  # another rank
    f(X[:1], W)  # a batch of 1 fits the entry too
    assert f.cache_info().entries == 3
    f(make((8, 6), "float32"), make((6, 3), "float32"))  # an inner size is a constant
    assert f.cache_info().entries == 4
    f.cache_clear()
    assert f.cache_info() == (0, 0, 0)


@pytest.mark.parametrize(
    "function, shapes, want",
    [
        (
            lambda x, w, b: jf.nn.gelu(x @ w + b),
            [(8, 5), (5, 3), (3,)],
            "(f32[n,5], f32[5,3], f32[3]) -> f32[n,3]",
        ),
        (
            lambda x, w, b: jf.nn.gelu(x @ w + b),
            [(5, 5), (5, 3), (3,)],
            "(f32[n,5], f32[5,3], f32[3]) -> f32[n,3]",
        ),
        (lambda x, w: jf.nn.linear(x, w), [(8, 5), (3, 5)], "(f32[n,5], f32[3,5]) -> f32[n,3]"),
        (lambda x, y: x + y, [(8, 5), (8, 5)], "(f32[n,5], f32[n,5]) -> f32[n,5]"),
        (lambda x, y: x + y, [(8, 5), (5,)], "(f32[n,5], f32[5]) -> f32[n,5]"),
        (lambda x, y: x + y, [(8, 5), (1, 5)], "(f32[n,5], f32[1,5]) -> f32[n,5]"),
        (lambda x: jf.sum(x, axis=0), [(8, 5)], "(f32[n,5]) -> f32[5]"),
        (lambda x: jf.sum(x), [(8, 5)], "(f32[n,5]) -> f32[]"),
        (
            lambda x, w, b, y: jf.nn.mse_loss(x @ w + b, y),
            [(8, 5), (5, 3), (3,), (8, 3)],
            "(f32[n,5], f32[5,3], f32[3], f32[n,3]) -> f32[]",
        ),
        (
            lambda x, w: (jf.mean(x @ w), x @ w),
            [(8, 5), (5, 3)],
            "(f32[n,5], f32[5,3]) -> f32[], f32[n,3]",
        ),
        (lambda x, y: jf.sum(x) / y.shape[0], [(8, 5), (4,)], "(f32[n,5], f32[4]) -> f32[]"),
        (lambda *g: sum([jf.sum(x) for x in g]), [(2,), (3,)], "(f32[n], f32[m]) -> f32[]"),
        (lambda x, y: jf.concat([x, y]), [(8, 5), (4, 5)], "(f32[n,5], f32[m,5]) -> f32[n+m,5]"),
        (lambda x: jf.reshape(x, (-1,)), [(8, 5)], "(f32[n,5]) -> f32[n*5]"),
        (lambda x: jf.reshape(x, (x.shape[0] * 5, 1)), [(8, 5)], "(f32[n,5]) -> f32[n*5,1]"),
        (lambda x: x[1:] * 2, [(8, 5)], "(f32[n,5]) -> f32[max(n-1,0),5]"),
        (lambda x: x / x.shape[0], [(8, 5)], "(f32[8,5]) -> f32[8,5]"),
        (lambda x: x.T @ x, [(8, 5)], "(f32[n,5]) -> f32[5,5]"),
    ],
)
def test_which_sizes_are_symbolic(function, shapes, want):
    text = jf.jit(function).lower(*[make(s, "float32") for s in shapes]).text()
    inputs, results = text.splitlines()[0].removeprefix("graph f").rstrip(" {").split(" -> ")
    plain = ", ".join(part.split(": ")[1] for part in inputs.strip("()").split(", %"))
    assert f"({plain}) -> {results.strip('()')}" == want


def test_sizes_of_many_parameters_are_constants_and_those_of_a_batch_are_not():
    def total(*arrays):
        return sum([jf.sum(x) for x in arrays]) + jf.sum(arrays[0] + arrays[1])

    def inputs(sizes):
        arrays = [make((n,), "float32") for n in sizes]
        return [i["dims"] for i in jf.Graph.parse(jf.jit(total).lower(*arrays).text()).inputs]

    assert inputs([2, 2, 3, 4]) == [("n",), ("n",), ("m",), ("k",)]
    assert inputs([2, 2, *range(3, 11)]) == [("n",), ("n",), *[(str(n),) for n in range(3, 11)]]


@pytest.mark.parametrize(
    "loss",
    [
        lambda x, y: jf.nn.mse_loss(x, y),
        lambda x, y: jf.nn.cross_entropy(x, y),
        lambda x, y: jf.nn.cross_entropy(x, jf.argmax(y, axis=1)),
        lambda x, y: jf.nn.huber_loss(x, y),
        lambda x, y: jf.nn.kl_div(x, y, reduction="batchmean"),
        lambda x, y: jf.mean(x * y, axis=0),
        lambda x, y: jf.std(x - y, axis=0, correction=1),
        lambda x, y: jf.logsumexp(x, axis=0),
        lambda x, y: jf.argmax(x, axis=0),
        lambda x, y: x.T @ y,
        lambda x, y: jf.linalg.vector_norm(x - y),
    ],
)
def test_what_reduces_the_batch_is_traced_once_for_all(loss):
    f, constant = jf.jit(loss), jf.jit(loss, dynamic="none")
    for n in (8, 3, 1, 40, 2000):
        x, y = make((n, 5), "float64"), abs(make((n, 5), "float64", 1))
        same(f(x, y), constant(x, y), ulps=64)
    assert (f.cache_info().entries, constant.cache_info().entries) == (1, 5)


def test_dynamic():
    f = jf.jit(lambda x: jf.nn.softmax(x, dim=-1), dynamic="all")
    for shape in ((8, 5), (3, 7), (4, 100)):
        x = make(shape, "float64")
        same(f(x), np.exp(x) / np.exp(x).sum(-1, keepdims=True), ulps=32)
    assert f.cache_info().entries == 1
    f = jf.jit(lambda x: x + 1, dynamic="none")
    f(X), f(X[:3])
    assert f.cache_info().entries == 2
    with pytest.raises(ValueError, match="dynamic='some'"):
        jf.jit(lambda x: x, dynamic="some")


def test_sizes_can_be_used_as_numbers():
    def f(x):
        n, m = x.shape
        assert (
            n == 8 and n > 7 and len(x) == 8 and range(n)[-1] == 7 and f"{n:d}" == "8"
            if isinstance(n, int)
            else True
        )
        return x * (1.0 / n) + jf.arange(n)[:, None].astype(x.dtype) + x.size

    want = X * np.float32(1 / 8) + np.arange(8, dtype=np.float32)[:, None] + np.float32(40)
    same(run(f, X), want)
    g = jf.jit(lambda x: jf.full(x.shape, 2.0) * x + jf.ones((x.shape[0], 1)))
    same(g(X), X * 2 + 1)
    same(g(X[:3]), X[:3] * 2 + 1)
    assert g.cache_info().entries == 1


def test_nested_arguments_and_results():
    def f(tree, p, q):
        return {
            "sum": tree["x"] + tree["y"][0],
            "pair": Pair(tree["y"][1] * p.scale, None),
            "list": [p.w, (q.x - q.y,)],
            "name": p.name,
        }

    got = run(f, {"x": X, "y": (X, X)}, Params(W, 2.0), Frozen(X, X))
    assert list(got) == ["sum", "pair", "list", "name"] and got["name"] == "layer"
    same(got["sum"], X + X)
    assert isinstance(got["pair"], Pair) and got["pair"].b is None
    same(got["pair"].a, X * 2)
    same(got["list"][0], W)
    same(got["list"][1][0], X * 0)
    got = run(lambda p: Params(p.w * p.scale, 1.0, "new"), Params(W, 2.0))
    assert isinstance(got, Params) and got.name == "new" and got.scale == 1.0
    same(got.w, W * 2)
    assert run(lambda x: None, X) is None
    assert run(lambda x: (), X) == () and run(lambda x: [1, {"a": "b"}], X) == [1, {"a": "b"}]
    with pytest.raises(ValueError, match="returns no arrays"):
        jf.jit(lambda x: None).lower(X)


def test_other_structures_trace_again():
    f = jf.jit(lambda t: t[0] + t[1])
    f((X, X)), f([X, X])
    assert f.cache_info().entries == 2


def test_keyword_and_default_arguments():
    f = jf.jit(
        lambda x, y=None, *, scale=1.0, **rest: (
            (x if y is None else x + y) * scale + sum(rest.values())
        )
    )
    same(f(X), X)
    same(f(X, X), X + X)
    same(f(X, y=X, scale=3.0), (X + X) * 3)
    same(f(scale=2.0, x=X, extra=X), X * 2 + X)
    assert f.cache_info().misses == 4
    with pytest.raises(TypeError, match="argument"):
        f()


def test_static_arguments():
    @jf.jit(static_argnums=1, static_argnames=("mode",))
    def f(x, power, mode="up"):
        for _ in range(power):
            x = x * x
        return x if mode == "up" else -x

    same(f(X, 2), X**4, ulps=4)
    same(f(X, 1, mode="down"), -(X * X))
    same(f(X, power=1, mode="down"), -(X * X))
    same(f(mode="down", power=1, x=X), -(X * X))
    assert f.cache_info() == (2, 2, 2)
    with pytest.raises(
        TypeError, match=r"static argument 'mode' is \['down'\] of type list, which has no hash"
    ):
        f(X, 1, mode=["down"])
    with pytest.raises(ValueError, match="static_argnames has 'nope'"):
        jf.jit(lambda x: x, static_argnames="nope")
    with pytest.raises(ValueError, match="static_argnums has 3"):
        jf.jit(lambda x: x, static_argnums=3)
    g = jf.jit(lambda n, x, /: x * n, static_argnums=0)
    same(g(3, X), X * 3)


class Scale(tuple):
    """A tuple whose value is more than its items."""

    def __new__(cls, items, by):
        made = super().__new__(cls, items)
        made.by = by
        return made

    def __eq__(self, other):
        return isinstance(other, Scale) and tuple(self) == tuple(other) and self.by == other.by

    def __hash__(self):
        return hash((tuple(self), self.by))


class ScaleSet(frozenset):
    def __new__(cls, items, by):
        made = super().__new__(cls, items)
        made.by = by
        return made

    def __eq__(self, other):
        return isinstance(other, ScaleSet) and frozenset(self) == frozenset(other) and self.by == other.by

    def __hash__(self):
        return hash((frozenset(self), self.by))


@pytest.mark.parametrize("kind", [Scale, ScaleSet])
def test_static_collections_with_a_value_of_their_own(kind):
    f = jf.jit(lambda x, scale: x * scale.by + sum(scale), static_argnums=1)
    for _ in range(2):
        for by in (2.0, 3.0, 2.0):
            same(f(X, kind((1, 2), by)), X * np.float32(by) + np.float32(3))
    assert f.cache_info().misses == 2  # equal ones are traced once
    same(f(X, kind((4,), 2.0)), X * 2 + 4)
    g = jf.jit(lambda x, pair: x * pair[0].by, static_argnums=1)
    for by in (2.0, 3.0):
        same(g(X, (kind((1,), by), 1)), X * np.float32(by))


def test_static_namedtuples_are_their_items():
    class Sub(Pair):  # has a __dict__
        pass

    for kind in (Pair, Sub):
        f = jf.jit(lambda x, p: x * p.a + p.b, static_argnums=1)
        same(f(X, kind(2, 1.0)), X * 2 + 1)
        same(f(X, kind(2, 2.0)), X * 2 + 2)
        hits = _core.jit_hits(f)
        same(f(X, kind(2, 1.0)), X * 2 + 1)
        assert _core.jit_hits(f) == hits + 1 and f.cache_info().misses == 2


def test_python_scalars_are_passed_with_each_call():
    f = jf.jit(lambda x, lr, step, flag: jf.where(flag, x * lr, x) + step)
    for lr, step, flag in [(0.5, 1, True), (0.25, 7, False), (3.0, -2, True)]:
        same(f(X, lr, step, flag), (X * np.float32(lr) if flag else X) + np.float32(step), ulps=1)
    assert f.cache_info() == (2, 1, 1)
    f(X, 1, 1, True)  # an int where a float was
    assert f.cache_info().entries == 2


def test_one_scalar_in_several_dtypes():
    f = jf.jit(lambda x, i, a: (x * a, i * a, x.astype(jf.float64) * a))
    i = make((4,), "int32")
    for a in (2.5, 0.1):
        got = f(X, i, a)
        same(got[0], X * np.float32(a))
        same(got[1], i.astype(np.float32) * np.float32(a))
        same(got[2], X.astype(np.float64) * a)
    assert f.cache_info().entries == 1


def test_captured_arrays_are_used_by_reference():
    weight = W.copy()
    f = jf.jit(lambda x: x @ weight)
    same(f(X), X @ weight, ulps=64, atol=1e-6)
    weight[:] = 1
    same(f(X), X @ weight, ulps=64, atol=1e-6)
    assert f.cache_info().entries == 1 and "captured_0" in f.lower(X).text()


def test_jit_inside_jit_is_one_graph():
    inner = jf.jit(lambda x, k: x * k, static_argnums=1)
    f = jf.jit(lambda x: inner(x, 3) + inner(x, k=4))
    same(f(X), X * 3 + X * 4)
    assert inner.cache_info().entries == 0


def test_results_may_be_arguments_and_repeat():
    y = X * 2
    got = run(lambda x: (x, x, x * 2, 3, "s"), X)
    same(got[0], X), same(got[1], X), same(got[2], y)
    assert got[3:] == (3, "s")
    a, b = run(lambda x, s: (s, x), X, 2.5)
    assert float(a) == 2.5 and a.dtype == np.float64


def test_out():
    f = jf.jit(lambda x: (x + 1, x * 2))
    outs = np.empty_like(X), np.empty_like(X)
    got = f(X, out=outs)
    assert got[0] is outs[0] and got[1] is outs[1]
    same(outs[0], X + 1), same(outs[1], X * 2)
    g = jf.jit(lambda x: {"y": x + 1})
    out = np.empty_like(X)
    assert g(X, out=out)["y"] is out
    same(out, X + 1)
    with pytest.raises(TypeError, match="parameter 'out'"):
        jf.jit(lambda x, out: x)
    with pytest.raises(TypeError, match="out= with 2 arrays, got 1"):
        f(X, out=(np.empty_like(X),))
    with pytest.raises(TypeError):
        g(X, out=np.empty(X.shape, np.float64))


def test_methods_bind():
    class Model:
        def __init__(self):
            self.w = W

        @jf.jit(static_argnums=0)
        def forward(self, x):
            return x @ self.w

    same(Model().forward(X), X @ W, ulps=64, atol=1e-6)


def test_options():
    for options in (
        {"numerics": "fast"},
        {"fuse": False},
        {"rewrite": False},
        {"use_gemm_library": False},
        {"device": "interpret"},
    ):
        same(
            jf.jit(lambda x, w: jf.tanh(x @ w), **options)(X, W), np.tanh(X @ W), ulps=64, atol=1e-6
        )
    with pytest.raises(ValueError, match="numerics='exact'"):
        jf.jit(lambda x: x, numerics="exact")
    with pytest.raises(ValueError, match=r"numerics='quick', expected one of \('default', 'fast'\)"):
        jf.jit(lambda x: x + 1, numerics="quick")
    with pytest.raises(NotImplementedError):
        jf.jit(lambda x: x + 1, numerics="strict")(X)
    with pytest.raises(TypeError, match="expected a function"):
        jf.jit(3)


def test_threads():
    f = jf.jit(lambda x, k: jf.sum(x * k, axis=1))
    wrong = []

    def work(k):
        for _ in range(50):
            if not np.allclose(f(X, float(k)), (X * k).sum(1), atol=1e-4):
                wrong.append(k)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(8)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong and f.cache_info().entries == 1


def test_functools_attributes():
    @jf.jit
    def named(x):
        """Says what it does."""
        return x

    assert (
        named.__name__ == "named"
        and named.__doc__ == "Says what it does."
        and "named(x)" in repr(named)
    )


@jf.jit
def top_level(x):
    return x + 1


def test_pickle_by_name():
    import copy
    import pickle

    assert (
        pickle.loads(pickle.dumps(top_level)) is top_level and copy.deepcopy(top_level) is top_level
    )
    with pytest.raises((pickle.PicklingError, AttributeError)):
        pickle.dumps(jf.jit(lambda x: x))


def test_device_is_where_the_arguments_are(monkeypatch):
    monkeypatch.delenv("JITFUSE_BACKEND", raising=False)
    f = jf.jit(lambda x: x + 1)
    assert " on cpu:" in f.lower(X).explain()
    if not jf.CUDA_AVAILABLE:
        with pytest.raises(RuntimeError, match="libcuda"):
            jf.jit(lambda x: x + 1, device="cuda")(X)


def test_divmod():
    q, r = run(lambda x: divmod(x, 2), np.arange(-5, 5))
    same(q, np.arange(-5, 5) // 2), same(r, np.arange(-5, 5) % 2)
    q, r = run(lambda x: divmod(7, x), np.arange(1, 5))
    same(q, 7 // np.arange(1, 5)), same(r, 7 % np.arange(1, 5))


def test_explain_says_why_sizes_are_constants():
    text = jf.jit(lambda x: x / x.shape[0]).lower(X).explain()
    assert "note: a size is a constant, since its number was asked for at" in text
    assert "x / x.shape[0]" in text
    text = jf.jit(lambda x: jf.sum(x) / x.shape[0]).lower(X).explain()
    assert "jf.sum(x) / x.shape[0]" in text
    text = jf.jit(lambda x: (x, jf.unstack(x, axis=0))).lower(X).explain()
    assert "note: a size is a constant" in text
    assert "note" not in jf.jit(lambda x: x + 1).lower(X).explain()


def test_many_traces_warn(caplog):
    f = jf.jit(lambda x: x + 1, dynamic="none")
    for n in range(2, 40):
        f(np.zeros(n, np.float32))
    warnings = [r.getMessage() for r in caplog.records if r.levelname == "WARNING"]
    assert len(warnings) == 1 and "dynamic='all'" in warnings[0] and "(33,)" in warnings[0]


def test_an_index_on_a_symbolic_axis_is_checked_by_each_call():
    f = jf.jit(lambda x: x - x[3] + x[-2])
    for n in (8, 5, 4):
        same(f(X[:n]), X[:n] - X[3] + X[n - 2])
    assert f.cache_info().entries == 1
    with pytest.raises((ValueError, IndexError)):
        f(X[:3])
    with pytest.raises(IndexError, match="index 8 is out of range for axis 0 of size 8"):
        run(lambda x: x[8], X)
    with pytest.raises(IndexError, match="index -9 is out of range"):
        run(lambda x: x[-9], X)


def test_warm_calls_with_namedtuples_and_dataclasses_do_no_python_work():
    @jf.jit
    def f(p, q):
        return Pair(p.a * q["x"], p.b), collections.OrderedDict(x=p.a)

    x = np.ones((3, 4), np.float32)
    for n in (3, 4, 5):
        pair, made = f(Pair(x[:n], 2.0), collections.OrderedDict(x=x[:n]))
    assert type(pair) is Pair and type(made) is collections.OrderedDict
    assert jf._core.jit_hits(f) == 2


def test_a_call_needs_no_tuple_and_no_dict():
    """Py_TPFLAGS_HAVE_VECTORCALL: the interpreter hands over what is on its stack."""
    assert type(jf.jit(lambda x: x)).__flags__ & 1 << 11


def test_a_class_made_of_a_jitted_functions_may_have_a_call_of_its_own():
    class Counted(type(jf.jit(lambda x: x))):
        calls = 0

        def __call__(self, *args, **kwargs):
            self.calls += 1
            return super().__call__(*args, **kwargs)

    plain = jf.jit(lambda x: x + 1)
    f = Counted(plain._function, None, None, None, plain._options)
    x = np.zeros(3, np.float32)
    for _ in range(3):
        assert f(x).tolist() == [1, 1, 1]
    assert f.calls == 3
