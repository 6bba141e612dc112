"""bind: functions with fixed arguments."""

import inspect
import threading

import numpy as np
import pytest

import jitfuse as jf
from jitfuse import fused

torch = pytest.importorskip("torch")


def layer(x, w, b):
    return jf.nn.relu(jf.nn.linear(x, w, b))


def arrays(n=24, k=16, m=5, seed=0):
    r = np.random.default_rng(seed)
    return tuple(r.standard_normal(s).astype(np.float32) for s in ((m, k), (n, k), (n,)))


def expected(x, w, b):
    return np.maximum(x @ w.T + b, 0)


def test_a_bound_function_takes_the_rest_and_gives_the_same():
    f = jf.jit(layer)
    x, w, b = arrays()
    for g in (f.bind(w=w, b=b), f.bind("w", w).bind("b", b), f.bind("b", b, w=w)):
        for _ in range(2):  # traced, then warm
            np.testing.assert_allclose(g(x), expected(x, w, b), rtol=1e-5, atol=1e-5)
        np.testing.assert_allclose(g(x=x), expected(x, w, b), rtol=1e-5, atol=1e-5)
        assert list(inspect.signature(g).parameters) == ["x"]
    assert g.cache_info().hits >= 1


def test_another_batch_compiles_nothing_and_packs_nothing():
    x, w, b = arrays(n=256, k=128, m=64)
    g = jf.jit(layer).bind(w=w, b=b)
    for m in (64, 65, 66):
        g(np.repeat(x, 2, 0)[:m])
    stats = g.lower(x).compile().stats()
    assert stats["compiles"] == 1
    assert stats["prepared"] == stats["fallbacks"].get("bound_packed", 0) <= 1
    text = g.lower(x).explain()
    assert "bound_input" in text and "%w: f32[256,128]" in text and "%b: f32[256]" in text


def test_what_depends_on_bound_arrays_alone_is_computed_once():
    def f(x, w, s):
        return jf.matmul(x, jf.exp(w * s))

    x, w, _ = arrays()
    g = jf.jit(f).bind(w=np.ascontiguousarray(w.T), s=np.float32(0.5))
    np.testing.assert_allclose(g(x), x @ np.exp(w.T * 0.5), rtol=1e-4)
    lowered = g.lower(x)
    assert [group.get("once", False) for group in lowered.cost_analysis()["groups"]].count(True) == 1
    assert lowered.compile().stats()["prepared"] >= 1


def test_nested_arrays_and_options_are_bound_too():
    def f(x, params, scale, mode="relu"):
        y = jf.nn.linear(x, params["w"], params["b"]) * scale
        return jf.nn.relu(y) if mode == "relu" else y

    x, w, b = arrays()
    j = jf.jit(f, static_argnames="mode")
    g = j.bind(params={"w": w, "b": b}, scale=2.0)
    np.testing.assert_allclose(g(x), 2 * expected(x, w, b), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(g(x, mode="none"), 2 * (x @ w.T + b), rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(g.bind(mode="none")(x), 2 * (x @ w.T + b), rtol=1e-5, atol=1e-5)
    assert set(g.bound) == {"params", "scale"}


def test_rebind_and_unbind():
    f = jf.jit(layer)
    x, w, b = arrays()
    g = f.bind(w=w, b=b)
    before = g(x)
    w *= 2
    again = g.rebind(w=w)
    np.testing.assert_allclose(again(x), expected(x, w, b), rtol=1e-5, atol=1e-5)
    assert before.shape == again(x).shape
    assert g.unbind() is f and g.unbind("w", "b") is f
    np.testing.assert_allclose(g.unbind("w")(x, w), expected(x, w, b), rtol=1e-5, atol=1e-5)
    assert list(inspect.signature(g.unbind("b")).parameters) == ["x", "b"]


def test_out_and_lowered_and_compiled():
    f = jf.jit(layer)
    x, w, b = arrays()
    out = np.empty((5, 24), np.float32)
    assert f.bind(w=w, b=b)(x, out=out) is out
    np.testing.assert_allclose(out, expected(x, w, b), rtol=1e-5, atol=1e-5)
    compiled = f.lower(x, w, b).compile().bind(w=w, b=b)
    np.testing.assert_allclose(compiled(x), expected(x, w, b), rtol=1e-5, atol=1e-5)
    assert "bound_input" in f.lower(x, w, b).bind(b=b).explain()
    assert "matmul" in f.lower(x, w, b).bind(w=w).source("graph")


@pytest.mark.parametrize(
    "make, error, message",
    [
        (lambda f, x, w, b: f.bind(u=w), TypeError, "no argument is called 'u'; expected one of x, w, b"),
        (lambda f, x, w, b: f.bind(), TypeError, r"expected arguments, as in bind\(w=array\)"),
        (lambda f, x, w, b: f.bind(3, w), TypeError, "expected the name of an argument, got 3"),
        (lambda f, x, w, b: f.bind(w=w).bind(w=w), ValueError, r"'w' is bound already; use rebind"),
        (lambda f, x, w, b: f.bind(w=w).rebind(b=b), ValueError, r"'b' is not bound; use bind"),
        (lambda f, x, w, b: f.bind(w=w).unbind("b"), ValueError, "'b' is not bound"),
        (lambda f, x, w, b: f.bind(w=torch.ones(2, requires_grad=True)), ValueError, "'w' requires grad"),
        (lambda f, x, w, b: f.bind(w=w[:, :3], b=b)(x), ValueError, "matmul|linear"),
    ],
)
def test_errors(make, error, message):
    with pytest.raises(error, match=message):
        make(jf.jit(layer), *arrays())


def test_a_traced_array_is_not_bound():
    f = jf.jit(layer)
    x, w, b = arrays()
    with pytest.raises(TypeError, match="traced array"):
        jf.jit(lambda x, w: f.bind(w=w)(x, b))(x, w)
    g = f.bind(w=w, b=b)
    np.testing.assert_allclose(jf.jit(lambda x: g(x) + 1)(x), expected(x, w, b) + 1, rtol=1e-5, atol=1e-5)


def test_results_are_of_the_kind_that_was_bound_where_nothing_else_says_it():
    x, w, b = map(torch.from_numpy, arrays())
    every = jf.jit(layer).bind(x=x, w=w, b=b)
    assert isinstance(every(), torch.Tensor)
    torch.testing.assert_close(every(), torch.relu(torch.nn.functional.linear(x, w, b)))


def test_gradients_are_for_what_is_passed():
    x, w, b = map(torch.from_numpy, arrays())
    g = jf.jit(layer).bind(w=w, b=b)
    x.requires_grad_()
    for _ in range(2):
        x.grad = None
        g(x).sum().backward()
        theirs = torch.autograd.grad(torch.relu(torch.nn.functional.linear(x, w, b)).sum(), x)[0]
        torch.testing.assert_close(x.grad, theirs)


def test_methods_and_pickles():
    x, w, b = arrays()
    g = jf.jit(module_layer).bind(w=w, b=b)
    assert "bound: w, b" in repr(g)
    assert g.__doc__ == module_layer.__doc__


def module_layer(x, w, b):
    """A layer."""
    return layer(x, w, b)


def test_arrays_stay_alive():
    x, w, b = arrays()
    g = jf.jit(layer).bind(w=w.copy(), b=b.copy())
    for _ in range(3):
        np.testing.assert_allclose(g(x), expected(x, w, b), rtol=1e-5, atol=1e-5)


def test_threads():
    x, w, b = arrays(n=64, k=32, m=16)
    g = jf.jit(layer).bind(w=w, b=b)
    wrong = []

    def call():
        for m in range(1, 17):
            if not np.allclose(g(x[:m]), expected(x[:m], w, b), rtol=1e-4, atol=1e-4):
                wrong.append(m)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong


def test_vjp_of_a_bound_function_is_for_what_is_passed():
    x, w, b = arrays()
    y, pull = jf.vjp(jf.jit(layer).bind(w=w, b=b), x)
    np.testing.assert_allclose(y, expected(x, w, b), rtol=1e-5, atol=1e-5)
    (grad,) = pull(np.ones_like(y))
    np.testing.assert_allclose(grad, (expected(x, w, b) > 0).astype(np.float32) @ w, rtol=1e-4, atol=1e-4)


# ---- grouped_linear.


def weights(sizes=(24, 24, 24), k=16):
    r = np.random.default_rng(1)
    return [r.standard_normal((n, k)).astype(np.float32) for n in sizes]


def products(f, *args):
    """How many products a call has."""
    groups = f.lower(*args).cost_analysis()["groups"]
    return sum("matmul" in group["ops"] for group in groups)


def test_grouped_linear_is_one_product_where_weights_are_bound():
    x, ws, bs = arrays()[0], weights(), [np.float32([i]).repeat(24) for i in range(3)]
    results = fused.grouped_linear(x, ws, bs)
    for y, w, b in zip(results, ws, bs):
        np.testing.assert_allclose(y, x @ w.T + b, rtol=1e-5, atol=1e-5)
    assert products(fused.grouped_linear, x, ws, bs) == 3
    bound = fused.grouped_linear.bind(weights=ws, biases=bs)
    for y, w, b in zip(bound(x), ws, bs):
        np.testing.assert_allclose(y, x @ w.T + b, rtol=1e-5, atol=1e-5)
    text = bound.lower(x).explain()
    if "library call" in text:
        assert products(bound, x) == 1 and "gemm_grouped" in text
        assert "gemm_apart" in fused.grouped_linear.lower(x, ws, bs).explain()


def test_grouped_linear_of_stacked_weights_is_one_batched_product():
    x, w = arrays()[0], np.stack(weights())
    b = np.arange(72, dtype=np.float32).reshape(3, 24)
    for given in (x, np.stack([x, x])):
        for y, wi, bi in zip(fused.grouped_linear(given, w, b), w, b):
            np.testing.assert_allclose(y, given @ wi.T + bi, rtol=1e-5, atol=1e-5)
        assert products(fused.grouped_linear, given, w, b) == 1


def test_grouped_linear_has_gradients():
    x = torch.from_numpy(arrays()[0]).requires_grad_()
    ws = [torch.from_numpy(w).requires_grad_() for w in weights()]
    sum((y * y).sum() for y in fused.grouped_linear(x, ws)).backward()
    theirs = torch.autograd.grad(sum((torch.nn.functional.linear(x, w) ** 2).sum() for w in ws), [x, *ws])
    for mine, other in zip([x, *ws], theirs):
        torch.testing.assert_close(mine.grad, other, rtol=1e-4, atol=1e-4)
    x.grad = None
    sum((y * y).sum() for y in fused.grouped_linear.bind(weights=[w.detach() for w in ws])(x)).backward()
    torch.testing.assert_close(x.grad, theirs[0], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    "call, message",
    [
        (lambda x: fused.grouped_linear(x, []), "0 weights"),
        (lambda x: fused.grouped_linear(x, [x, x], [x]), "2 weights and 1 biases"),
        (lambda x: fused.grouped_linear(x, x), r"\[layers, out, in\], got one of shape"),
    ],
)
def test_grouped_linear_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call(arrays()[0])


@pytest.mark.parametrize(
    "value, message",
    [
        (np.ones(3, np.complex64), "complex64"),
        (np.array([1, None]), "object"),
        (np.ones(3, ">f4"), ">f4"),
        (torch.ones(3, device="meta"), "meta|expected an array on the CPU"),
        (torch._neg_view(torch.ones(3)), "negative bit"),
        (torch.ones(3).to_sparse(), "dense tensor"),
    ],
)
def test_errors_of_what_cannot_be_bound_name_it(value, message):
    for given, name in ((value, "w"), ([np.ones(3), value], "w_1")):
        with pytest.raises((TypeError, ValueError), match=f"layer: argument '{name}'.*({message})"):
            jf.jit(layer).bind(w=given)


def test_a_compiled_function_binds_what_it_was_compiled_for():
    f = jf.jit(layer)
    x, w, b = arrays()
    compiled = f.lower(x, w, b).compile()
    before = f.cache_info()
    for other in (w.astype(np.float64), w[:, :3], w[0]):
        with pytest.raises(TypeError, match="was compiled for other arguments"):
            compiled.bind(w=other)
    assert f.cache_info() == before
    np.testing.assert_allclose(compiled.bind(w=2 * w)(x, b), expected(x, 2 * w, b), rtol=1e-5, atol=1e-5)
    with pytest.raises(TypeError, match="no argument is called 'u'"):
        compiled.bind(u=w)


def test_records_are_shown_by_their_beginning():
    f, args = jf.jit(layer), arrays()
    for record, message in (("x" * 5000, r"'x{60}\.\.\.'$"), ("a\0b", r"'a\\000b'$"), ("{}", r"'\{\}'$")):
        with pytest.raises(ValueError, match=r"a tuning record, line 1: expected .*, got " + message):
            f.use_tuning(record, *args)
    for record in (None, b"jitfuse tuning"):
        with pytest.raises(TypeError, match="use_tuning: expected a record, the str that tune gives, got"):
            f.use_tuning(record, *args)


def test_what_has_no_names_has_nothing_to_bind():
    with pytest.raises(TypeError, match=r"\*args and \*\*kwargs, of which none can be bound"):
        jf.jit(lambda *args: args[0]).bind(x=np.ones(3))
    with pytest.raises(TypeError, match=r"\*args and \*\*kwargs, of which none can be bound"):
        jf.jit(torch.nn.Linear(3, 2)).bind(input=np.ones((4, 3)))
    with pytest.raises(TypeError, match="Linear: no argument is called 'input'; expected one of in_features"):
        jf.jit(torch.nn.Linear).bind(input=np.ones((4, 3)))


@pytest.mark.parametrize("as_bound", [lambda w: w, torch.nn.Parameter], ids=["tensor", "parameter"])
@pytest.mark.parametrize("warm", [0, 3])
def test_what_is_bound_is_made_to_require_grad(as_bound, warm):
    x, w = torch.ones(2, 3), as_bound(torch.full((3,), 2.0)).requires_grad_(False)
    f = jf.jit(lambda x, w: x * w).bind(w=w)
    once = f.lower(x).compile()
    for _ in range(warm):
        assert not f(x).requires_grad
    w.requires_grad_()
    for given in (x, x.clone().requires_grad_(), x):
        with pytest.raises(ValueError, match="argument 'w' requires grad, and gradients for what is bound would be lost"):
            f(given)
    with pytest.raises(ValueError, match="argument 'w' requires grad"):
        once(x)
    with torch.no_grad():
        torch.testing.assert_close(f(x), x * 2)
    w.requires_grad_(False)
    y = f(x.clone().requires_grad_())
    assert y.requires_grad and not f(x).requires_grad
