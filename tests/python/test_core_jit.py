"""jitfuse._core.JitFunction: calls that are known do no Python work."""
import collections
import dataclasses
import gc
import typing
import weakref

import numpy as np
import pytest

import jitfuse
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

    def add(self, args, kwargs, order=None, structure=(tuple, None, (LEAF, LEAF)), leaves=(0, 1), sources=None):
        f = self.function("f64" if getattr(args[0], "dtype", None) == np.float64 else "f32")
        dims = (("n", 4), ("n", 4), None)
        sources = sources or (("leaf", 0), ("leaf", 1), ("leaf", 2))
        return _core.jit_add(self, args, kwargs, order, f, dims, sources, (), structure, leaves)

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


def test_static_tuples_are_their_items():
    class Size(tuple):
        pass

    jit = Jit(positions=(3,))
    x, y = arrays(3)
    assert jit.add((x, y, 1.0, (1, ("relu", None), 0.0)), {})
    check(jit(x, y, 2.0, (int("1"), ("".join(["re", "lu"]), None), 0.0)), x, y, 2.0)
    for other in ((1, ("relu", None)), (1, ("relu",), 0.0), (True, ("relu", None), 0.0), (1, ("relu", None), -0.0), (1, ["relu", None], 0.0),
                  Size((1, ("relu", None), 0.0)), (1, "relu", None, 0.0), ()):
        assert jit(x, y, 2.0, other) == "slow"
    deep = ()
    for _ in range(100):
        deep = (deep,)
    assert jit(x, y, 2.0, deep) == "slow"
    assert jit.add((x, y, 1.0, Size((4, 5))), {})
    check(jit(x, y, 2.0, Size([4, 5])), x, y, 2.0)
    assert jit(x, y, 2.0, (4, 5)) == "slow"


def test_constants_and_repeats():
    jit = Jit()
    x, y = arrays(3)
    assert jit.add((x, y, 1.0), {}, structure=(tuple, None, (LEAF, LEAF)), leaves=(1, ["three"]), sources=(("leaf", 0), ("leaf", 0), ("leaf", 2)))
    got = jit(x, y, 2.0)
    np.testing.assert_allclose(got[0], x * x, rtol=1e-6)
    assert got[1] == "three"


def test_wrong_uses_are_errors():
    jit = Jit()
    x, y = arrays(3)
    with pytest.raises(ValueError, match="no output 2"):
        jit.add((x, y, 1.0), {}, leaves=(0, 2))
    with pytest.raises(TypeError, match="expected a type in the structure, got str"):
        jit.add((x, y, 1.0), {}, structure=("a type of its own", None, (LEAF,)))
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


Pair = collections.namedtuple("Pair", "x y")
Other = collections.namedtuple("Other", "x y")


@dataclasses.dataclass(frozen=True)
class Point:
    x: object
    y: object = None
    kind: typing.ClassVar[str] = "point"  # this and the next are no fields
    start: dataclasses.InitVar[int] = 0

    def __post_init__(self, start):
        if start < 0:
            raise ValueError("start")


@dataclasses.dataclass(slots=True)
class Slotted:
    x: object
    y: object


@pytest.mark.parametrize("make", [Pair, Point, Slotted, lambda x, y: collections.OrderedDict(x=x, y=y),
                                  lambda x, y: collections.defaultdict(list, x=x, y=y)])  # fmt: skip
def test_classes_of_nests_are_known(make):
    x, y = arrays(3)
    kind = type(make(x, y))
    keys = None if kind is Pair else ("x", "y")
    jit = Jit()
    assert jit.add((make(x, y), 1.0), {}, structure=(kind, keys, (LEAF, LEAF)))
    x, y = arrays(5, seed=1)
    got = jit(make(x, y), 2.5)
    assert type(got) is kind
    check((got["x"], got["y"]) if isinstance(got, dict) else (got.x, got.y), x, y, 2.5)
    for other in [Other(x, y), (x, y), {"x": x, "y": y}, collections.OrderedDict(y=y, x=x), make(x, None), make(x, [y])]:
        assert jit(other, 2.5) == "slow"
    assert jit.slow == 6 and _core.jit_hits(jit) == 1


def test_the_order_of_an_ordered_dict_counts():
    x, y = arrays(3)
    jit = Jit()
    moved = collections.OrderedDict(y=y, x=x)
    moved.move_to_end("y")  # the dict below is in another order
    assert jit.add((collections.OrderedDict(x=x, y=y), 1.0), {})
    check(jit(moved, 2.0), x, y, 2.0)


def test_nests_in_nests_of_results():
    x, y = arrays(3)
    jit = Jit()
    structure = (Point, ("x", "y"), ((Pair, None, (LEAF, None)), (collections.OrderedDict, ("a",), (LEAF,))))
    assert jit.add((x, y, 1.0), {}, structure=structure)
    got = jit(x, y, 2.0)
    assert type(got) is Point and type(got.x) is Pair and got.x.y is None and type(got.y) is collections.OrderedDict
    check((got.x.x, got.y["a"]), x, y, 2.0)


def test_classes_that_misbehave_are_errors():
    class Broken(dict):
        def items(self):
            raise RuntimeError("no items")

    class Short(dict):
        def items(self):
            return [("x",)]

    @dataclasses.dataclass
    class Lazy:
        x: object

    lazy = Lazy(1)
    del lazy.x
    x, y = arrays(3)
    jit = Jit()
    assert jit.add((x, y, 1.0), {})
    for nest in (Broken(x=x), Short(x=x), lazy):
        assert not jit.add((nest, y, 1.0), {}) and jit(nest, y, 1.0) == "slow"
    deep = x
    for _ in range(40):
        deep = Pair(deep, None)
    assert jit(deep, y, 1.0) == "slow"
    jit = Jit()

    class Picky(dict):
        def __setitem__(self, key, value):
            raise RuntimeError("picky")

    assert jit.add((x, y, 1.0), {}, structure=(Picky, ("x", "y"), (LEAF, LEAF)))
    with pytest.raises(RuntimeError, match="picky"):
        jit(x, y, 1.0)


def test_keys_that_are_numbers_are_known_by_value():
    x, y = arrays(3)
    jit = Jit()
    assert jit.add(({10**6: x, 2.5: y}, 1.0), {})
    check(jit({int("1000000"): x, float("2.5"): y}, 2.0), x, y, 2.0)
    assert jit({10**6 + 1: x, 2.5: y}, 2.0) == "slow"


def test_is_collected_with_what_it_holds():
    jit = Jit()
    x, y = arrays(3)
    jit.add((x, y, 1.0), {}, structure=(tuple, None, (LEAF, LEAF)), leaves=(0, [[jit]]))  # a cycle
    gone = weakref.ref(jit)
    del jit
    gc.collect()
    assert gone() is None


class Busy:
    """An array whose export to DLPack does something else first."""

    def __init__(self, array, work):
        self.array, self.work = array, work

    def __dlpack_device__(self):
        return self.array.__dlpack_device__()

    def __dlpack__(self, **kwargs):
        self.work()
        return self.array.__dlpack__(**kwargs)


def test_a_call_inside_a_call_has_arguments_of_its_own():
    """While a call is read, another is made."""
    f = jitfuse.jit(lambda x, y: x + 2 * y)
    a, b = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
    inner = []
    busy = Busy(b, lambda: inner.append(f(a, a)))
    for _ in range(3):
        result = f(a, busy)
        np.testing.assert_array_equal(np.from_dlpack(result) if not isinstance(result, np.ndarray) else result, a + 2)
    assert len(inner) >= 3
    for x in inner:
        np.testing.assert_array_equal(x, 3 * a)
    with pytest.raises((TypeError, ZeroDivisionError), match="division"):
        f(a, Busy(b, lambda: 1 // 0))
    np.testing.assert_array_equal(f(a, b), a + 2)


def test_calls_in_turn_have_views_of_their_own():
    """Views are used again from call to call: nothing of one call is seen in the next."""
    add = jitfuse.jit(lambda x, y: x - y)
    two = jitfuse.jit(lambda x, ys, n: (x + ys[0] * n, ys[1]))
    swapped = jitfuse.jit(lambda x, y: y - x)
    rng = np.random.default_rng(3)
    big = rng.standard_normal((6, 8)).astype(np.float32)
    shapes = [big[:4, :3], big[:3, :4].T, big[::-1], big[0], big[1, 2:3], big[2, 2, ...], big[:0], np.ascontiguousarray(big[:4, :3])]
    for _ in range(3):
        for x in shapes:
            for dtype in (np.float32, np.float64, np.int32):
                v = x if dtype is np.float32 else (4 * x).astype(dtype)
                y = v + dtype(1)
                np.testing.assert_array_equal(add(v, y), v - y)
                np.testing.assert_array_equal(swapped(v, y), y - v)
                out = np.full(v.shape, 7, dtype)
                assert add(y, v, out=out) is out
                np.testing.assert_array_equal(out, y - v)
            first, second = two(x, [x, x + 1], 2)
            np.testing.assert_allclose(first, 3 * x, rtol=1e-6)
            np.testing.assert_array_equal(second, x + 1)
    x, y = shapes[0], np.ones((4, 1), np.float32)
    outs = [np.empty_like(x) for _ in range(2)]
    for out in outs:
        add(x, y, out=out)
    for out in outs:
        np.testing.assert_array_equal(out, x - 1)


def test_an_argument_that_leaves_its_list_while_it_is_read():
    f = jitfuse.jit(lambda x, ys: x + 2 * ys[0])
    a, b = np.arange(4, dtype=np.float32), np.ones(4, np.float32)
    f(a, [Busy(b, lambda: None)])
    for _ in range(3):
        ys = []
        ys.append(Busy(b, ys.clear))
        np.testing.assert_array_equal(np.asarray(f(a, ys)), a + 2)
        assert not ys


def test_an_argument_that_is_two_inputs():
    f = jitfuse.jit(lambda x, y: x - y)
    a = np.arange(4, dtype=np.float32)
    for _ in range(3):
        np.testing.assert_array_equal(f(a, a), np.zeros(4))
        assert f(a, a, out=(a,)) is not None
        a = np.arange(4, dtype=np.float32)
