"""jitfuse._core.JitFunction: calls that are known do no Python work."""
import collections
import dataclasses
import gc
import weakref

import numpy as np
import pytest

from jitfuse import _core

LEAF = "*"


class Jit(_core.JitFunction):
    """relu(a * b + s), told to the front by hand; counts the slow calls."""

    def __init__(self, positions=(), names=()):
        self.slow = 0
        _core.jit_statics(self, positions, names)

    def function(self, dtype):
        b = _core.Builder("f")
        x = b.input("x", dtype, ["n", 4])
        y = b.input("y", dtype, ["n", 4])
        s = b.scalar("s", dtype)
        (xy,) = b.apply("multiply", (x, y), {})
        (z,) = b.apply("add", (xy, s), {})
        return b.compile([b.apply("relu", (z,), {})[0], xy], device="cpu")

    def add(self, args, kwargs, order=None, structure=(tuple, None, (LEAF, LEAF)), leaves=(0, 1), finish=None, sources=None):
        f = self.function("f64" if getattr(args[0], "dtype", None) == np.float64 else "f32")
        dims = (("n", 4), ("n", 4), None)
        sources = sources or (("leaf", 0), ("leaf", 1), ("leaf", 2))
        return _core.jit_add(self, args, kwargs, order, f, dims, sources, (), structure, leaves, finish)

    def _call_slow(self, *args, **kwargs):
        self.slow += 1
        return "slow"


def arrays(n, dtype=np.float32, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 4)).astype(dtype), rng.standard_normal((n, 4)).astype(dtype)


def expected(x, y, s):
    return np.maximum(x * y + x.dtype.type(s), 0), x * y


def check(got, x, y, s):
    for g, e in zip(got, expected(x, y, s)):
        np.testing.assert_allclose(g, e, rtol=1e-6, atol=1e-6)


def test_a_known_call_goes_past_python():
    jit = Jit()
    x, y = arrays(3)
    assert jit(x, y, 1.0) == "slow"
    assert jit.add((x, y, 1.0), {})
    check(jit(x, y, 2.5), x, y, 2.5)
    x, y = arrays(7)  # another size
    check(jit(x, y, 2.5), x, y, 2.5)
    assert (jit.slow, _core.jit_hits(jit)) == (1, 2)
    for other in [
        (x.astype(np.float64), y, 2.5),
        (x, y, 2),  # an int is another kind of number
        (x[0], y[0], 2.5),
        (x[:2], y, 2.5),  # sizes of one symbol differ
        (x[:, :3], y[:, :3], 2.5),
        (x, y),
        (x, y, 2.5, None),
        ([x], y, 2.5),
        (x, y, np.float32(2.5)),
        (x, y, "2.5"),
    ]:
        assert jit(*other) == "slow"
    assert jit(x, y, s=2.5) == "slow"
    d = arrays(2, np.float64)
    assert jit.add((*d, 1.0), {})  # the other dtype beside it
    for _ in range(3):
        check(jit(x, y, 0.5), x, y, 0.5)
        check(jit(*d, 0.5), *d, 0.5)
        assert jit(*d, 0.5)[0].dtype == np.float64
    _core.jit_clear(jit)
    assert jit(x, y, 2.5) == "slow"


def test_nests_and_keywords():
    jit = Jit()
    x, y = arrays(3)
    params = {"w": [x], "s": 0.5}
    assert jit.add((params,), {"y": y}, order=[0, 2, 1], structure=(dict, ("a", "b"), (LEAF, (list, None, (LEAF, None)))), leaves=(1, 0))
    got = jit({"w": [x], "s": 1.5}, y=y)
    assert list(got) == ["a", "b"] and got["b"][1] is None
    check((got["b"][0], got["a"]), x, y, 1.5)
    out = np.empty_like(x), np.empty_like(x)
    got = jit(params, y=y, out=out)
    assert got["a"] is out[1] and got["b"][0] is out[0]
    check(out, x, y, 0.5)
    for args, kwargs in [(({"s": 0.5, "w": [x]},), {"y": y}), ((params, y), {}), (({"w": (x,), "s": 0.5},), {"y": y})]:
        assert jit(*args, **kwargs) == "slow"


def test_static_arguments_are_values():
    jit = Jit(positions=(3,), names=("mode",))
    x, y = arrays(3)
    for static in (7, 2.5, True, "sum", (1, 2)):
        assert jit.add((x, y, 1.0, static), {"mode": "a"})
        check(jit(x, y, 2.0, static, mode="a"), x, y, 2.0)
        assert jit(x, y, 2.0, static, mode="b") == "slow"
    assert jit(x, y, 2.0, 8, mode="a") == "slow"
    assert jit(x, y, 2.0, "".join(["su", "m"]), mode="".join("a")) != "slow"  # equal, not the same
    assert jit(x, y, 2.0, 1, mode="a") == "slow"  # 1 is not True


def test_finish_constants_and_repeats():
    jit = Jit()
    x, y = arrays(3)
    made = []
    assert jit.add((x, y, 1.0), {}, structure=("a type of its own", None, (LEAF,)), leaves=(0,), finish=lambda t: made.append(t) or "made")
    assert jit(x, y, 2.0) == "made"
    check(made[0], x, y, 2.0)
    jit = Jit()
    assert jit.add((x, y, 1.0), {}, structure=(tuple, None, (LEAF, LEAF)), leaves=(1, ["three"]), sources=(("leaf", 0), ("leaf", 0), ("leaf", 2)))
    got = jit(x, y, 2.0)
    np.testing.assert_allclose(got[0], x * x, rtol=1e-6)
    assert got[1] == "three"


def test_wrong_uses_are_errors():
    jit = Jit()
    x, y = arrays(3)
    with pytest.raises(ValueError, match="no output 2"):
        jit.add((x, y, 1.0), {}, leaves=(0, 2))
    with pytest.raises(ValueError, match="more leaves"):
        jit.add((x, y, 1.0), {}, leaves=(0,))
    with pytest.raises(ValueError, match="expected sizes of 2 leaves, got those of 3"):
        jit.add((x, y, 1.0), {}, order=(0, 1))
    with pytest.raises(ValueError, match="no leaf 3"):
        jit.add((x, y, 1.0), {}, sources=(("leaf", 0), ("leaf", 1), ("leaf", 3)))
    with pytest.raises(ValueError, match="no leaf 9"):
        jit.add((x, y, 1.0), {}, order=(0, 1, 9))
    with pytest.raises(ValueError, match="expected 3 sources"):
        jit.add((x, y, 1.0), {}, sources=(("leaf", 0),))
    with pytest.raises(TypeError, match="expected a jitfuse._core.JitFunction"):
        _core.jit_clear(3)
    assert jit.add((x, y, 1.0), {})
    with pytest.raises(TypeError, match="out 0: expected an array"):
        jit(x, y, 1.0, out=("a", "b"))
    with pytest.raises(ValueError, match=r"out 0: expected f32\[n,4\]"):
        jit(x, y, 1.0, out=(x[0], y))
    with pytest.raises(TypeError, match="expected out= with 2 arrays, got 1"):
        jit(x, y, 1.0, out=x)


def test_nests_that_only_python_knows_stay_with_it():
    Pair = collections.namedtuple("Pair", "x y")

    @dataclasses.dataclass
    class Point:
        x: object

    jit = Jit()
    x, y = arrays(3)
    for nest in (Pair(x, y), Point(x), collections.OrderedDict(x=x)):
        assert not jit.add((nest, y, 1.0), {})
        assert jit(nest, y, 1.0) == "slow"


def test_is_collected_with_what_it_holds():
    jit = Jit()
    x, y = arrays(3)
    jit.add((x, y, 1.0), {}, structure=("other", None, ()), leaves=(), finish=lambda t: jit)  # noqa: F821  a cycle
    gone = weakref.ref(jit)
    del jit
    gc.collect()
    assert gone() is None
