"""custom_gradient: functions whose gradient their author gives."""

import numpy as np
import pytest

import jitfuse as jf
from support import make

X = make((4, 3), "float64", seed=1)


def close(got, want):
    got = np.asarray(got)
    assert got.shape == np.shape(want)
    np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-14)


@jf.custom_gradient
def rounded(x):
    """Passes the gradient as if it had not rounded."""
    return jf.round(x), lambda g: g


@jf.custom_gradient
def scaled(x, y):
    e = jf.exp(x)
    return e * y, lambda g: (10 * g * e, 100 * g)


def test_values_and_names():
    close(rounded(X), np.round(X))
    close(jf.jit(rounded)(X), np.round(X))
    close(jf.jit(lambda x: rounded(x) + x)(X), np.round(X) + X)
    assert rounded.__name__ == "rounded" and rounded.__doc__.startswith("Passes") and repr(rounded) == "<jitfuse.custom_gradient of rounded>"


def test_gradients():
    close(jf.grad(lambda x: jf.sum(rounded(x) * 3))(X), np.full_like(X, 3))
    dx, dy = jf.grad(lambda x, y: jf.sum(scaled(x, y)), argnums=(0, 1))(X, X)
    close(dx, 10 * np.exp(X))
    close(dy, np.full_like(X, 100))
    dx = jf.grad(lambda x: jf.sum(scaled(x * 2, x)))(X)  # through both arguments
    close(dx, 2 * 10 * np.exp(2 * X) + 100)
    dx = jf.jit(lambda x: jf.vjp(lambda x: scaled(x, x), x)[1](2 * x)[0])(X)
    close(dx, 2 * X * 10 * np.exp(X) + 200 * X)


def test_gradients_of_the_gradient():
    """Through what the function has computed: d/dx of 10 e(x)."""
    inner = jf.grad(lambda x: jf.sum(scaled(x, jf.ones_like(x))))
    close(jf.grad(lambda x: jf.sum(inner(x) * x))(X), 10 * np.exp(X) * (1 + X))


def test_nests_numbers_and_integers():
    @jf.custom_gradient
    def f(params, i, s):
        y = params["w"] * s
        out = {"y": y, "best": jf.argmax(y, axis=1), "name": "f"}

        def gradient(ct):
            assert ct["best"] is None and ct["name"] is None
            return {"w": ct["y"] * 5, "unused": None}, None, jf.sum(ct["y"]) * 7

        return out, gradient

    params = {"w": X, "unused": X}

    def loss(params, s):
        out = f(params, np.arange(3), s)
        return jf.sum(out["y"]) + 0 * jf.sum(out["best"])

    dp, ds = jf.grad(loss, argnums=(0, 1))(params, 2.0)
    close(dp["w"], np.full_like(X, 5))
    close(dp["unused"], np.zeros_like(X))
    assert float(ds) == 7 * X.size
    assert f(params, np.arange(3), 2.0)["name"] == "f"


def test_one_output_twice_and_an_input_as_output():
    @jf.custom_gradient
    def twice(x):
        y = x * 2
        return (y, y, x), lambda g: 2 * g[0] + 3 * g[1] + g[2]

    y, z, x = jf.jit(twice)(X)
    close(z, 2 * X)
    close(x, X)
    for i, slope in enumerate((2, 3, 1)):
        close(jf.grad(lambda x, i=i: jf.sum(twice(x)[i]))(X), np.full_like(X, slope))


def test_what_it_reads_from_outside_is_constant():
    @jf.jit
    def f(x):
        outside = x * x

        @jf.custom_gradient
        def inner(y):
            return y * outside, lambda g: g * outside

        return jf.grad(lambda x: jf.sum(inner(x)))(x)

    close(f(X), X * X)
    table = np.arange(3.0)

    @jf.custom_gradient
    def from_table(x):
        return x * table, lambda g: g * table * 2

    close(jf.grad(lambda x: jf.sum(from_table(x)))(X), np.broadcast_to(2 * table, X.shape))


def test_random_numbers_in_a_gradient():
    @jf.custom_gradient
    def noisy(x):
        return x * 1, lambda g: g * jf.nn.dropout(jf.ones_like(x), 0.5)

    x = np.ones((40, 50), "f4")
    f = jf.grad(lambda x: jf.sum(noisy(x)))
    jf.random.seed(1)
    got = np.asarray(f(x))
    assert set(np.unique(got)) == {0.0, 2.0} and 0.4 < np.mean(got == 0) < 0.6
    jf.random.seed(1)
    np.testing.assert_array_equal(f(x), got)


def test_methods():
    class Layer:
        slope = 3.0

        @jf.custom_gradient
        def forward(x, y):
            return x * y, lambda g: (g * y, None)

    close(jf.grad(lambda x: jf.sum(Layer.forward(x, x)))(X), X)


def test_in_torch_autograd(torch):
    x = torch.from_numpy(X).requires_grad_()
    y = torch.from_numpy(X).requires_grad_()
    scaled(x, y).sum().backward()
    close(x.grad, 10 * np.exp(X))
    close(y.grad, np.full_like(X, 100))
    x.grad = None
    jf.jit(lambda x: torch.tanh(rounded(x)))(x).sum().backward()
    close(x.grad, 1 - np.tanh(np.round(X)) ** 2)


def bad(gradient, value=lambda x: x * 2):
    return jf.grad(lambda x: jf.sum(jf.custom_gradient(lambda x: (value(x), gradient))(x)))(X)


@pytest.mark.parametrize(
    "call, error, message",
    [
        (lambda: jf.custom_gradient(3), TypeError, "custom_gradient: expected a function, got 3"),
        (lambda: jf.custom_gradient(lambda x: x)(X), TypeError, r"custom_gradient of <lambda>: expected a pair \(value, gradient\)"),
        (lambda: bad(lambda g: (g, g)), TypeError, r"the gradient\[0\] is a tuple of 2, expected an array or None"),
        (lambda: bad(lambda g: jf.sum(g)), TypeError, r"the gradient of 'arg_0' is Array\(float64\[\].*expected one like Array\(float64\[4, 3\]"),
        (lambda: bad(lambda g: jf.astype(g, jf.float32)), TypeError, r"the gradient of 'arg_0' is Array\(float32"),
        (lambda: bad(lambda g: [g]), TypeError, r"the gradient\[0\] is a list of 1, expected an array or None"),
        (lambda: jf.jit(lambda i: jf.custom_gradient(lambda i: (i * 2, lambda g: jf.zeros_like(i)))(i))(np.arange(3)), TypeError,
         "argument 'arg_0' is no float and has no gradient"),
        (lambda: jf.grad(lambda x: jf.sum(scaled(x)))(X), TypeError, "missing 1 required positional argument: 'y'"),
        (lambda: jf.grad(lambda x: jf.sum(jf.custom_gradient(lambda x, y: (x * y, lambda g: g))(x, x)))(X), TypeError,
         "expected a tuple with the gradients of 2 arguments, got Array"),
    ],
)
def test_errors(call, error, message):
    with pytest.raises(error, match=message):
        call()
