"""grad, value_and_grad and vjp: what they give, inside of jit and outside, and their errors."""

import collections

import numpy as np
import pytest

import jitfuse as jf
from support import make, same

X = make((4, 3), "float64", seed=1)
W = make((3, 5), "float64", seed=2)
B = make((5,), "float64", seed=3)
T = make((4, 5), "float64", seed=4)


def loss(params, x, t):
    return jf.mean(jf.square(jf.tanh(x @ params["w"] + params["b"]) - t))


def by_differences(function, x, step=1e-6):
    """The gradient of a function of a float64 array, by central differences."""
    out = np.zeros_like(x)
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += step
        down[i] -= step
        out[i] = (float(function(up)) - float(function(down))) / (2 * step)
    return out


def close(got, want, rtol=1e-7, atol=1e-9):
    got = np.asarray(got)
    assert got.shape == np.shape(want) and got.dtype == np.asarray(want).dtype
    np.testing.assert_allclose(got, want, rtol=rtol, atol=atol)


# What they give.


def test_gradient_of_nests_is_a_nest():
    params = {"w": W, "b": B}
    got = jf.grad(loss)(params, X, T)
    assert list(got) == ["w", "b"]
    close(got["w"], by_differences(lambda w: jf.jit(loss)({"w": w, "b": B}, X, T), W))
    close(got["b"], by_differences(lambda b: jf.jit(loss)({"w": W, "b": b}, X, T), B))
    Params = collections.namedtuple("Params", "w b")
    named = jf.grad(lambda p, x, t: loss(p._asdict(), x, t))(Params(W, B), X, T)
    assert type(named) is Params and np.array_equal(named.w, got["w"])


def test_argnums():
    def f(a, b, c):
        return jf.sum(a * b**2) + 3 * jf.sum(c)

    a, b, c = (make((6,), "float32", seed=i) for i in range(3))
    same(jf.grad(f)(a, b, c), b**2)
    same(jf.grad(f, 1)(a, b, c), 2 * a * b)
    same(jf.grad(f, -1)(a, b, c), np.full(6, 3, "f4"))
    got = jf.grad(f, argnums=(2, 0))(a, b, c)
    assert type(got) is tuple
    same(got[0], np.full(6, 3, "f4"))
    same(got[1], b**2)
    one = jf.grad(f, argnums=(0,))(a, b, c)
    assert type(one) is tuple and len(one) == 1
    same(jf.grad(f, argnums=1)(a, c=c, b=b), 2 * a * b)  # by keyword
    same(jf.grad(lambda *all: jf.sum(all[2] * all[0]), argnums=-1)(a, b, c), a)


def test_value_and_aux():
    def f(x, scale):
        y = x * scale
        return jf.sum(y * y), {"y": y, "name": "f", "count": 3}

    x = make((5,), "float32")
    gradient, aux = jf.grad(f, has_aux=True)(x, scale=np.float32(2))
    same(gradient, 8 * x)
    same(aux["y"], 2 * x)
    assert aux["name"] == "f" and aux["count"] == 3
    (value, aux), gradient = jf.value_and_grad(f, has_aux=True)(x, np.float32(2))
    same(value, np.sum(4 * x * x))
    same(gradient, 8 * x)
    value, (dx, ds) = jf.value_and_grad(lambda x, s: f(x, s)[0], argnums=(0, 1))(x, np.float32(2))
    same(value, np.sum(4 * x * x))
    same(dx, 8 * x)
    same(ds, np.sum(4 * x * x))


def test_numbers_are_arguments():
    assert jf.grad(lambda x: x**3)(2.0) == pytest.approx(12.0)
    x = make((4,), "float32")
    got = jf.grad(lambda s, x: jf.sum(s * x * s), argnums=0)(3.0, x)
    assert float(got) == pytest.approx(6 * float(np.sum(x)), rel=1e-6)
    same(jf.grad(lambda x, s: jf.sum(s * x))(x, 0.5), np.full(4, 0.5, "f4"))  # stays float32
    step = jf.jit(lambda x, lr: x - lr * jf.grad(lambda x: jf.sum(x * x))(x))
    same(step(x, 0.25), x - 0.5 * x)
    inner = jf.jit(lambda s, x: x * jf.grad(lambda s: jf.sum(s * x))(s))
    same(inner(2.0, x), x * np.sum(x))


def test_every_float_dtype():
    torch = pytest.importorskip("torch")
    for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64):
        x = torch.linspace(-2, 2, 9).to(dtype)
        got = jf.grad(lambda x: jf.sum(jf.tanh(x) * x))(x)
        y = x.double().requires_grad_()
        (y.tanh() * y).sum().backward()
        assert got.dtype == dtype and not got.requires_grad
        torch.testing.assert_close(got.double(), y.grad, rtol=2e-2 if dtype.itemsize == 2 else 1e-6, atol=0)


def test_results_are_the_kind_that_went_in():
    torch = pytest.importorskip("torch")
    x = np.ones(3, "f4")
    assert type(jf.grad(lambda x: jf.sum(x))(x)) is np.ndarray
    assert type(jf.grad(lambda x: jf.sum(x))(torch.from_numpy(x))) is torch.Tensor


# Inside of jit, and of each other.


def test_inside_jit():
    @jf.jit
    def step(params, x, t, lr):
        value, grads = jf.value_and_grad(loss)(params, x, t)
        return value, {k: p - lr * grads[k] for k, p in params.items()}

    params = {"w": W, "b": B}
    want, grads = jf.value_and_grad(loss)(params, X, T)
    value, new = step(params, X, T, 0.1)
    close(value, want)
    close(new["w"], W - 0.1 * grads["w"])
    close(new["b"], B - 0.1 * grads["b"])
    for n in (7, 2, 31):  # the batch is symbolic, the parameters' sizes are not
        x, t = make((n, 3), "float64"), make((n, 5), "float64")
        got = step(params, x, t, 0.1)[1]["b"]
        close(got, B - 0.1 * by_differences(lambda b: jf.jit(loss)({"w": W, "b": b}, x, t), B))
    assert step.cache_info().entries == 1
    assert "f64[n,3]" in step.lower(params, X, T, 0.1).text()
    assert "w: f64[3,5]" in step.lower(params, X, T, 0.1).text()


def test_one_trace_for_all_batches_outside_of_jit():
    calls = []

    def f(w, x):
        calls.append(1)
        return jf.sum(jf.square(x @ w))

    gradient = jf.grad(f)
    for n in (4, 6, 5):
        x = make((n, 3), "float64")
        close(gradient(W, x), 2 * x.T @ (x @ W))
    first = len(calls)
    gradient(W, make((9, 3), "float64"))
    assert len(calls) == first


def test_gradients_of_gradients():
    x = make((5,), "float64")
    second = jf.grad(lambda x: jf.sum(jf.grad(lambda y: jf.sum(jf.sin(y)))(x)))(x)
    close(second, -np.sin(x))
    assert jf.grad(jf.grad(jf.grad(lambda x: x**4)))(1.5) == pytest.approx(24 * 1.5)
    hessian = jf.jit(lambda x: jf.stack([jf.grad(lambda x, i=i: jf.grad(lambda x: jf.sum(x**3 * jf.flip(x)))(x)[i])(x) for i in range(3)]))
    z = make((3,), "float64")
    want = [by_differences(lambda x, i=i: jf.grad(lambda x: jf.sum(x**3 * jf.flip(x)))(x)[i], z) for i in range(3)]
    close(hessian(z), np.stack(want), rtol=1e-6)


def test_what_is_read_from_outside_is_constant():
    """Also the argument itself, and what was made of it before."""
    x = make((4,), "float64")

    @jf.jit
    def f(x):
        square = x * x
        alone = jf.grad(lambda a: jf.sum(a * x))(x)
        made = jf.grad(lambda a: jf.sum(a * square))(x)
        inner = jf.grad(lambda a: jf.sum(a * jf.grad(lambda b: jf.sum(a * b))(x)))(x)
        twice = jf.grad(lambda a, b: jf.sum(a * b), argnums=(0, 1))(x, x * 3)
        return alone, made, inner, twice

    alone, made, inner, twice = f(x)
    close(alone, x)
    close(made, x * x)
    close(inner, 2 * x)
    close(twice[0], 3 * x)
    close(twice[1], x)
    w = make((4,), "float64", seed=5)
    close(jf.grad(lambda x: jf.sum(x * w))(x), w)  # an array from outside the function
    close(jf.grad(lambda x: jf.sum(x * x))(w), 2 * w)


def test_stop_gradient():
    x = make((4,), "float64")
    close(jf.grad(lambda x: jf.sum(x * jf.stop_gradient(x)))(x), x)
    close(jf.grad(lambda x: jf.sum(jf.stop_gradient(x)))(x), np.zeros(4))


def test_of_jitted_functions_and_static_arguments():
    @jf.jit(static_argnames="activation")
    def f(x, activation="tanh"):
        return jf.sum(jf.tanh(x) if activation == "tanh" else x * 2)

    x = make((4,), "float64")
    close(jf.grad(f)(x), 1 - np.tanh(x) ** 2)
    close(jf.grad(f)(x, activation="double"), np.full(4, 2.0))
    close(jf.grad(f)(x, "double"), np.full(4, 2.0))

    def power(x, n):
        return jf.sum(x * x if n == 2 else x)

    close(jf.jit(jf.grad(power), static_argnums=1)(x, 2), 2 * x)
    close(jf.jit(jf.grad(power), static_argnames="n")(x, n=1), np.ones(4))
    with pytest.raises(ValueError, match="'activation' is static"):
        jf.grad(f, argnums=1)(x, "tanh")
    fast = jf.jit(lambda x: jf.sum(x * x), device="interpret")
    close(jf.grad(fast)(x), 2 * x)


def test_methods_and_names():
    class Model:
        scale = 3.0

        @jf.grad
        def d(self_x, y):
            return jf.sum(self_x * y)

        def loss(self, x):
            """Doc."""
            return jf.sum(x) * self.scale

    x = np.ones(2)
    close(jf.grad(Model().loss)(x), np.full(2, 3.0))
    made = jf.value_and_grad(Model.loss, argnums=1)
    assert made.__name__ == "loss" and made.__doc__ == "Doc." and repr(made) == "<jitfuse.value_and_grad of loss>"
    close(Model.d(x, 2 * x), 2 * x)


def test_empty_nests_and_unused_arguments():
    x = make((3,), "float64")
    assert jf.grad(lambda p, x: jf.sum(x))({}, x) == {}
    close(jf.grad(lambda x, y: jf.sum(y))(x, x), np.zeros(3))
    close(jf.grad(lambda x: 2.0)(x), np.zeros(3))
    got = jf.grad(lambda p: jf.sum(p["a"]))({"a": x, "none": None})
    assert got["none"] is None
    close(got["a"], np.ones(3))
    empty = jf.grad(lambda x: jf.sum(x * x))(np.zeros((0, 3)))
    assert empty.shape == (0, 3)


# vjp.


def mixed(x, w, i):
    y = jf.tanh(x @ w)
    return {"y": y, "sums": [jf.sum(y, axis=0), jf.take(x, i, axis=0)], "i": i + 1}


def test_vjp_outside_and_inside():
    i = np.array([2, 0])
    cts = {"y": make((4, 5), "float64", 7), "sums": [make((5,), "float64", 8), make((2, 3), "float64", 9)], "i": None}
    value, pull = jf.vjp(mixed, X, W, i)
    close(value["y"], np.tanh(X @ W))
    close(value["sums"][1], X[i])
    assert np.array_equal(value["i"], i + 1)
    dx, dw, di = pull(cts)
    assert di is None

    def weighted(x, w):
        out = jf.jit(mixed)(x, w, i)
        return sum(np.sum(a * b) for a, b in zip([out["y"], *out["sums"]], [cts["y"], *cts["sums"]]))

    close(dx, by_differences(lambda x: weighted(x, W), X), rtol=1e-6)
    close(dw, by_differences(lambda w: weighted(X, w), W), rtol=1e-6)

    @jf.jit
    def inside(x, w, i, cts):
        value, pull = jf.vjp(mixed, x, w, i)
        return value, pull(cts)

    _, got = inside(X, W, i, cts)
    close(got[0], dx)
    close(got[1], dw)
    again = pull({"y": None, "sums": [np.ones(5), None], "i": None})  # None: zeros; and it may be called again
    close(again[1], X.T @ (1 - np.tanh(X @ W) ** 2))


def test_vjp_of_numbers_aux_and_random_numbers():
    value, pull, aux = jf.vjp(lambda s, x: (s * x, jf.sum(x)), 3.0, B, has_aux=True)
    close(value, 3 * B)
    close(aux, np.sum(B))
    ds, dx = pull(T[0])
    assert float(ds) == pytest.approx(np.sum(B * T[0]))
    close(dx, 3 * T[0])
    x = np.ones((50, 40), "f4")
    value, pull = jf.vjp(lambda x: jf.nn.dropout(x * 3, 0.5), x)
    (got,) = pull(np.ones_like(x))
    assert 0.3 < np.mean(got == 0) < 0.7
    np.testing.assert_array_equal(got, value)  # one mask, and 3 / (1 - p) where it keeps
    value, pull = jf.vjp(lambda x: jf.sum(x), np.float32(2) * x)
    same(pull(2.5)[0], 2.5 * x)


def test_vjp_of_torch_tensors():
    torch = pytest.importorskip("torch")
    x = torch.randn(3, 4, dtype=torch.float64)
    value, pull = jf.vjp(lambda x: jf.sum(x, axis=0), x)
    (got,) = pull(torch.ones(4, dtype=torch.float64))
    assert type(value) is torch.Tensor and torch.equal(got, torch.ones_like(x))


# Errors.


def sum_all(x, y=None):
    return jf.sum(x)


I = np.arange(3)
F = np.ones(3)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: jf.grad(sum_all)(I), TypeError, r"grad of sum_all: argument 'x' is an array of int64, and only floats.*astype"),
        (lambda: jf.grad(sum_all)(3), TypeError, "argument 'x' is a number of type int, and only floats"),
        (lambda: jf.grad(sum_all)("a"), TypeError, "argument 'x' is 'a' of type str, which is no array of floats"),
        (lambda: jf.grad(sum_all)({"a": F, "b": [I]}), TypeError, "argument 'x_b_0' is an array of int64"),
        (lambda: jf.grad(lambda x: x * 2)(F), TypeError, r"expected one float of rank 0 from it, got float64\[3\]\. Sum or average it, or use jitfuse.vjp"),
        (lambda: jf.grad(lambda x: jf.argmax(x))(F), TypeError, r"got int64\[\]. Integers and bools have no gradient"),
        (lambda: jf.grad(lambda x: (jf.sum(x), x))(F), TypeError, "got a tuple. For a pair .* has_aux=True"),
        (lambda: jf.grad(lambda x: {"a": x})(F), TypeError, "got a dict. Use jitfuse.vjp"),
        (lambda: jf.grad(lambda x: None)(F), TypeError, "got a NoneType"),
        (lambda: jf.grad(lambda x: jf.sum(x), has_aux=True)(F), TypeError, r"has_aux=True expected a pair \(loss, aux\), got Array"),
        (lambda: jf.grad(sum_all, argnums=2), ValueError, "argnums has 2, but it takes 2 positional arguments"),
        (lambda: jf.grad(sum_all, argnums=-3), ValueError, "argnums has -3"),
        (lambda: jf.grad(sum_all, argnums=1)(F), ValueError, "argnums has 1, but the call has 1 positional arguments and no 'y'"),
        (lambda: jf.grad(lambda *a: jf.sum(a[0]), argnums=3)(F), ValueError, "argnums has 3, but the call has 1 positional"),
        (lambda: jf.grad(sum_all, argnums=(0, -2)), ValueError, "names an argument twice"),
        (lambda: jf.grad(sum_all, argnums="x"), TypeError, "argnums='x', expected an int or ints"),
        (lambda: jf.grad(sum_all, argnums=1.0), TypeError, "argnums=1.0, expected an int or ints"),
        (lambda: jf.grad(3), TypeError, "grad: expected a function, got 3"),
        (lambda: jf.vjp(3, F), TypeError, "vjp: expected a function, got 3"),
        (lambda: jf.vjp(sum_all), TypeError, "expected arguments of the function behind it, got none"),
        (lambda: jf.vjp(sum_all, F, has_aux=True), TypeError, r"has_aux=True expected a pair \(value, aux\)"),
        (lambda: jf.vjp(lambda x: [x, x], F)[1](F), TypeError, "the cotangent is a ndarray, expected a list of 2"),
        (lambda: jf.vjp(lambda x: [x, x], F)[1]([F]), TypeError, "the cotangent is a list of 1, expected a list of 2"),
        (lambda: jf.vjp(lambda x: {"a": x}, F)[1]({"b": F}), TypeError, r"a dict with \['b'\], expected a dict with \['a'\]"),
        (lambda: jf.vjp(lambda x: (x, jf.argmax(x)), F)[1]((F, 1)), TypeError, "which has none; expected None"),
        (lambda: jf.vjp(lambda x: x, F)[1](F.astype("f4")), TypeError, r"a cotangent is float32\[3\], expected float64\[3\]"),
        (lambda: jf.vjp(lambda x: x, F)[1](np.ones(4)), TypeError, r"a cotangent is float64\[4\], expected float64\[3\]"),
        (lambda: jf.vjp(lambda x: x, F)[1](1.0), TypeError, r"a cotangent is a float, expected float64\[3\]"),
        (lambda: jf.vjp(lambda x: jf.argmax(x), F), ValueError, "no result is a float"),
        (lambda: jf.vjp(lambda x: 3.0, F), TypeError, "the value has no arrays"),
        (lambda: jf.jit(lambda x: jf.vjp(lambda y: y * 2, x)[1](jf.sum(x)))(F), ValueError, r"Vjp: cotangent 0 is f64\[\], expected f64\[3\]"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_a_gradient_that_does_not_exist():
    """segment_add's takes an order that group_positions gave."""
    order = np.arange(3)
    with pytest.raises((NotImplementedError, ValueError), match="segment_add.*group_positions"):
        jf.grad(lambda x: jf.sum(jf.ops.segment_add(x, x, order, order, order, axis=0)))(F)


def test_traced_arrays_of_another_trace():
    kept = []
    jf.jit(lambda x: kept.append(x) or x)(F)
    with pytest.raises(jf.TracingError, match="after that trace has ended"):
        jf.grad(lambda x: jf.sum(x))(kept[0])
    value, pull = jf.vjp(lambda x: x * 2, F)
    with pytest.raises(jf.TracingError, match="taken of real arrays"):
        jf.jit(lambda x: pull(x))(F)


def test_custom_gradient_of_outputs_that_are_one_tensor():
    """Each has a cotangent of its own, whether given twice or computed alike."""
    x = make((4,), "float64", seed=6)

    @jf.custom_gradient
    def alike(x):
        return (x * 2, x * 2), lambda g: 3 * g[0] + 5 * g[1]

    @jf.custom_gradient
    def twice(x):
        y = x * 2
        return [y, y], lambda g: 3 * g[0] + 5 * g[1]

    @jf.custom_gradient
    def itself(x):
        return (x, x), lambda g: 3 * g[0] + 5 * g[1]

    for f, y in ((alike, 2 * x), (twice, 2 * x), (itself, x)):
        for got in f(x):
            close(got, y)
        for a, b in ((1, 0), (0, 1), (2, 7)):
            grad = jf.grad(lambda x, f=f, a=a, b=b: jf.sum(f(x)[0] * a + f(x)[1] * b))
            close(grad(x), np.full(4, 3.0 * a + 5.0 * b))


def test_custom_gradient_with_integers_among_the_outputs():
    x = make((4,), "float64", seed=6)

    @jf.custom_gradient
    def f(x):
        return (x * 2, jf.argmax(x), jf.argmax(x)), lambda g: g[0] if g[1] is g[2] is None else 1 / 0

    @jf.custom_gradient
    def integers(x):
        return (jf.argmax(x), jf.argmax(x)), lambda g: None

    close(jf.grad(lambda x: jf.sum(f(x)[0] * f(x)[1] * 0.5))(x), np.full(4, 0.5 * np.argmax(x)))
    assert [int(i) for i in f(x)[1:]] == [int(i) for i in integers(x)] == [np.argmax(x)] * 2
    close(jf.grad(lambda x: jf.sum(x) * integers(x)[0])(x), np.full(4, float(np.argmax(x))))
