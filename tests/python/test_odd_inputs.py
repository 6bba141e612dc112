"""Arguments that nobody expects: values that == takes for equal, classes of dict and tuple that
their items do not make, buffers that name their byte order, what a library refuses to describe,
threads that trace each other's functions."""

import collections
import ctypes
import threading
import time

import numpy as np
import pytest
from support import run, same

import jitfuse as jf

X = np.arange(6, dtype=np.float32).reshape(2, 3)


@pytest.mark.parametrize(
    "values",
    [(1, True, 1.0), (0.0, -0.0), ((1,), (True,), (1.0,)), (((0.0, 2),), ((-0.0, 2),))],
)
def test_static_arguments_of_other_types_are_others(values):
    f = jf.jit(lambda x, a: x + len(repr(a)), static_argnums=1)
    for value in values * 2:
        same(f(X, value), X + len(repr(value)), what=repr(value))
    assert f.cache_info().entries == len(values)


def test_defaultdicts_keep_their_factory():
    made = jf.jit(lambda d: d)
    given = collections.defaultdict(list, a=X)
    for _ in range(3):
        got = made(given)
        assert type(got) is collections.defaultdict and got.default_factory is list
        same(got["a"], X)
    assert made(collections.defaultdict(dict, a=X)).default_factory is dict

    @jf.jit
    def uses(d):
        d["b"].append(d["a"])
        return d["b"][0] + 1

    same(uses(given), X + 1)
    assert list(given) == ["a"]


class Tagged(dict):
    tag = 1


class Needs(dict):
    def __init__(self, needed):
        super().__init__()


def test_classes_of_dict_that_hold_more_are_refused():
    f = jf.jit(lambda d: d["a"] * d.tag)
    same(f(Tagged(a=X)), X)
    tagged = Tagged(a=X)
    tagged.tag = 2
    for _ in range(2):  # after a call that was taken, too
        with pytest.raises(TypeError, match="Tagged has the attribute 'tag' beside its items"):
            f(tagged)
    needs = Needs(3)
    needs["a"] = X
    with pytest.raises(TypeError, match="without arguments.*'needed'"):
        run(lambda d: d["a"], needs)


class One(collections.namedtuple("One", "a b")):
    def __new__(cls, a):
        return super().__new__(cls, a, a)


def test_namedtuples_whose_new_takes_others():
    f = jf.jit(lambda t: t)
    for _ in range(3):
        got = f(One(X))
        assert type(got) is One
        same(got.b, X)


def test_ctypes_arrays_are_taken_cold_as_warm():
    values = (ctypes.c_float * 3)(1, 2, 3)
    f = jf.jit(lambda x: x + 1)
    for _ in range(2):
        same(f(values), np.array([2, 3, 4], np.float32))
    same(run(lambda x: x + 1, ((ctypes.c_double * 2) * 2)()), np.ones((2, 2)))


class DLPack:
    def __init__(self, array, device=None):
        self.array, self.device = array, device

    def __dlpack__(self, **_):
        return self.array.__dlpack__() if isinstance(self.array, np.ndarray) else self.array

    def __dlpack_device__(self):
        return self.device or (1, 0)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (X.astype(complex), "complex128"),
        (X.astype(">f4"), ">f4"),
        (np.zeros(3, [("a", "f4")]), "'a'"),
        (np.ma.array(X, mask=X > 2), "mask would be lost"),
        (np.longdouble(1), "float128|longdouble"),
        (memoryview(b"abc").cast("c"), "format 'c'"),
        (DLPack(X.astype(complex)), "128 bits"),
        (DLPack(np.ones((1,) * 9, np.float32)), "rank of 0 to 8, got 9"),
        (DLPack(3), "cannot be borrowed"),
        (DLPack(X, "cpu"), "no pair of ints"),
    ],
)
def test_errors_name_the_argument(value, message):
    def f(first, second):
        return first + second

    with pytest.raises((TypeError, ValueError), match=message) as error:
        run(f, X, value)
    assert "'second'" in str(error.value), error.value


def test_out_without_a_result_is_refused():
    with pytest.raises(TypeError, match="expected none, since no array is returned, got 1"):
        jf.jit(lambda x: None)(X, out=np.empty(3))


def test_more_types_than_are_remembered():
    f = jf.jit(lambda t: t)
    for i in range(300):
        f(collections.namedtuple(f"T{i}", "a")(1.0))

    class Late(np.ndarray):
        pass

    add = jf.jit(lambda a, b: a + b)
    for _ in range(3):
        assert type(add(DLPack(X), X.view(Late))) is jf._core.Array


def test_threads_that_trace_each_others_functions_end():
    inside = threading.Barrier(2, timeout=5)
    ready = threading.local()

    def body(other):
        def function(x):
            if not getattr(ready, "nested", False):
                ready.nested = True
                inside.wait()  # both are in their first trace now
                time.sleep(0.01)
                other()(np.ones(2, np.float32))
            return x + 1

        return function

    functions = {}
    functions["a"] = jf.jit(body(lambda: functions["b"]))
    functions["b"] = jf.jit(body(lambda: functions["a"]))
    got = {}

    def call(name):
        got[name] = functions[name](X)

    threads = [threading.Thread(target=call, args=(name,), daemon=True) for name in "ab"]
    for t in threads:
        t.start()
    for t in threads:
        t.join(20)
    assert sorted(got) == ["a", "b"]
    for result in got.values():
        same(result, X + 1)


def test_torch_tensors_whose_memory_is_not_their_value():
    torch = pytest.importorskip("torch", reason="passes torch's tensors, and torch is not installed")
    f = jf.jit(lambda x: x + 1)
    f(torch.ones(2))
    z = torch.tensor([1 + 2j, 3 - 1j]).conj()
    for negative in (z.imag, z[0].imag, z[:1].imag, z.reshape(2, 1).imag.T):
        for g in (f, jf.jit(lambda x: x + 1)):
            with pytest.raises(ValueError, match=r"'x': its negative bit .* pass .resolve_neg\(\)"):
                g(negative)
        assert torch.equal(f(negative.resolve_neg()), negative + 1)
    assert torch.equal(f(z.real), z.real + 1)
    nested = torch.nested.nested_tensor([torch.ones(3), torch.ones(2)])
    for odd in (torch.ones(2).to_sparse(), torch.ones(2, device="meta"), nested):
        with pytest.raises((TypeError, ValueError), match="argument.*'x'"):
            f(odd)


def negative_tensors(torch):
    """Dense ones whose negative bit is set."""
    x = torch.arange(1.0, 4)
    yield torch._neg_view(x)
    yield torch._neg_view(x.double())
    yield torch._neg_view(x).view_as(x)
    yield torch._neg_view(torch.ones(2, 3).T.contiguous())[:, :1]
    yield torch._neg_view(torch.nn.Parameter(x)).detach()
    with torch.inference_mode():
        yield torch._neg_view(torch.ones(3))


def test_the_negative_bit_is_seen_wherever_an_array_comes_in():
    torch = pytest.importorskip("torch", reason="passes torch's tensors, and torch is not installed")
    f, two = jf.jit(lambda x: x * 2), jf.jit(lambda x, y: x * y)
    f(torch.ones(3))
    for t in negative_tensors(torch):
        assert t.is_neg()
        like = t.resolve_neg()
        held = jf.jit(lambda x, t=t: x + t)
        pull = jf.vjp(lambda x: x * 3, like)[1]
        for call in (
            lambda: f(t),
            lambda: jf.jit(lambda x: x * 2)(t),
            lambda: two(like, t),
            lambda: jf.jit(lambda pair: pair[0] + pair[1])((like, t)),
            lambda: f(like, out=t),
            lambda: jf.grad(lambda x: jf.sum(x * x))(t),
            lambda: jf.vjp(lambda x: x * x, t),
            lambda: pull(t),
            lambda: two.bind(y=t),
            lambda: held(like),
            lambda: f.lower(t).compile(),
        ):
            with pytest.raises(ValueError, match=r"negative bit is set \(is_neg\(\)\).*pass .resolve_neg\(\)"):
                call()
        assert torch.equal(f(like), t * 2)
        assert torch.equal(f(torch._neg_view(t)), -t * 2)  # twice: the bit is clear


def test_modules_and_cotangents_with_the_negative_bit():
    torch = pytest.importorskip("torch", reason="passes torch's tensors, and torch is not installed")
    import jitfuse.torch as jt

    module, x = jt.FusedMLP([3, 4, 2]), torch.arange(6.0).reshape(2, 3)
    torch.testing.assert_close(module(torch._neg_view(x)), module(-x))
    f, leaf = jf.jit(lambda x: jf.sin(x)), torch.ones(2, 3, requires_grad=True)
    f(leaf).backward(torch._neg_view(x))
    torch.testing.assert_close(leaf.grad, -x * torch.cos(torch.ones(2, 3)))


def test_torch_is_not_asked_for_the_negative_bit_of_ordinary_tensors(monkeypatch):
    torch = pytest.importorskip("torch", reason="passes torch's tensors, and torch is not installed")
    f = jf.jit(lambda x, y: x + y)
    x = torch.ones(3)
    f(x, x)
    asked = []
    is_neg = torch.Tensor.is_neg
    monkeypatch.setattr(torch.Tensor, "is_neg", lambda self: asked.append(1) or is_neg(self), raising=False)
    for t in (x, torch.nn.Parameter(x), x.view(3, 1), torch.ones(2, 3).T[:, :1], torch.ones((), dtype=torch.int64)):
        f(t.detach(), x)
    assert not asked
    with pytest.raises(ValueError, match="negative bit"):
        f(torch._neg_view(x), x)


def test_tensors_that_torch_knows_to_be_zero():
    torch = pytest.importorskip("torch", reason="passes torch's tensors, and torch is not installed")
    zeros = torch._efficientzerotensor(3)
    f = jf.jit(lambda x: x + 1)
    for _ in range(2):
        with pytest.raises(ValueError, match=r"argument.*'x'.*has no memory.*zero.*pass .clone\(\)"):
            f(zeros)
        assert torch.equal(f(zeros.clone()), torch.ones(3))


def test_an_interrupt_in_a_library_is_no_type_error():
    class Interrupted(DLPack):
        def __dlpack__(self, **_):
            raise KeyboardInterrupt

    f = jf.jit(lambda x: x + 1)
    for _ in range(2):  # before and after there is something to find
        with pytest.raises(KeyboardInterrupt):
            f(Interrupted(X))
        same(f(X), X + 1)
