"""What needs values, and traced arrays outside their trace: errors that name the line and the way
out."""

import operator
import re

import numpy as np
import pytest

import jitfuse as jf
from support import make, run

X = make((4, 3), "float32")


def with_if(x):
    if x.sum() > 0:  # the line that the error names
        return x
    return -x


def test_if_names_the_line_and_what_to_use():
    with pytest.raises(jf.TracingError) as caught:
        run(with_if, X)
    message = str(caught.value)
    assert (
        "test_trace_errors.py:" in message
        and "`if x.sum() > 0:  # the line that the error names`" in message
    )
    assert "jitfuse.where" in message and "static_argnames" in message and "Array(bool[]" in message


@pytest.mark.parametrize(
    "function, instead",
    [
        (lambda x: int(x[0, 0]), "astype"),
        (lambda x: float(x[0, 0]), "astype"),
        (lambda x: complex(x[0, 0]), "complex"),
        (lambda x: range(x[0, 0].astype(int)), "jitfuse.take"),
        (lambda x: list(x), "jitfuse.unstack"),
        (lambda x: x[0, 0].item(), "Return the array"),
        (lambda x: x.tolist(), "Return the array"),
        (lambda x: np.asarray(x), "function of the same name"),
        (lambda x: 1.0 in x, "jitfuse.any"),
        (lambda x: operator.setitem(x, 0, 1), "jitfuse.where"),
        (lambda x: x and x, "jitfuse.where"),
        (lambda x: [1, 2][x[0, 0]], "jitfuse.take"),
        (lambda x: not x, "jitfuse.where"),
        (lambda x: x[x > 0], "jitfuse.where"),
        (lambda x: 0 < x < 1, "jitfuse.where"),
        (lambda x: np.from_dlpack(x), "Return the array"),
    ],
)
def test_what_needs_values(function, instead):
    with pytest.raises(jf.TracingError, match=re.escape(instead)) as caught:
        run(function, X)
    assert "test_trace_errors.py:" in str(caught.value)


def test_a_leaked_array_names_both_lines():
    kept = []

    @jf.jit
    def leaking(x):
        kept.append(x * 2)  # where it was made
        return x

    leaking(X)
    with pytest.raises(jf.TracingError) as caught:
        kept[-1] + 1  # where it is used
    message = str(caught.value)
    assert (
        "# where it was made" in message
        and "# where it is used" in message
        and "'leaking'" in message
    )
    assert repr(kept[-1]) == "<leaked traced array of leaking>"
    for use in (
        lambda: jf.exp(kept[-1]),
        lambda: run(lambda x, y: x + y, X, kept[-1]),
        lambda: run(lambda x: x + kept[-1], X),
        lambda: np.tanh(kept[-1]),
    ):
        with pytest.raises(jf.TracingError):
            use()
    with pytest.raises(jf.TracingError):
        run(lambda x: kept[-1], X)


def test_bad_arguments_are_named():
    with pytest.raises(TypeError, match=r"argument 'x_a_1' is <object .* static_argnames"):
        run(lambda x: x, {"a": [X, object()]})
    with pytest.raises(TypeError, match="argument 'y' is {1}|argument 'y' is"):
        run(lambda x, y: x, X, {1, 2})
    with pytest.raises(TypeError, match="complex"):
        run(lambda x: x + 1j, X)
    with pytest.raises(TypeError):
        run(lambda x: x + "a", X)
    with pytest.raises(TypeError, match="expected an array or a number"):
        run(lambda x: jf.add(x, "a"), X)


def test_shape_errors_name_op_and_shapes():
    with pytest.raises(ValueError, match=r"add\(f32\[4,3\], f32\[4,2\]\)"):
        run(lambda x, y: x + y, X, X[:, :2])
    with pytest.raises(ValueError, match=r"matmul"):
        run(lambda x: x @ x, X)
    with pytest.raises(ValueError, match="reshape"):
        run(lambda x: x.reshape(5, 5), X)


def test_the_users_own_errors_pass_through():
    def broken(x):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        run(broken, X)
    f = jf.jit(broken)
    for _ in range(2):  # nothing is left half made
        with pytest.raises(KeyError):
            f(X)
    assert f.cache_info().entries == 0


def test_repr_shows_dtype_and_shape():
    seen = []
    f = jf.jit(lambda x, s: seen.append((repr(x), repr(s), str(x.shape))) or x * s)
    f(X, 2.0)
    assert seen[-1] == (
        "Array(float32[n, 3], traced in <lambda>)",
        "Array(float64[], traced in <lambda>, weak)",
        "(n, 3)",
    )


def test_hash_and_operators_with_strangers():
    with pytest.raises(TypeError, match="unhashable"):
        run(lambda x: {x: 1}, X)

    class Stranger:
        def __radd__(self, other):
            return other * 5

    assert np.array_equal(run(lambda x: x + Stranger(), X), X * 5)


@pytest.mark.parametrize(
    "name, message",
    [
        ("sort", "no sorting op; max, min"),
        ("unique_values", "of small integers jitfuse.scatter_add"),
        ("nonzero", "use jitfuse.where"),
        ("searchsorted", "counts the edges below x"),
        ("expp", "did you mean jitfuse.exp?"),
        ("relu", "did you mean jitfuse.nn.relu?"),
        ("linalg.svd", "no factorizations and solvers"),
        ("linalg.vectornorm", "did you mean jitfuse.linalg.vector_norm?"),
        ("linalg._nothing", "has no attribute '_nothing'"),
    ],
)
def test_names_that_are_not_there_say_what_to_use(name, message):
    with pytest.raises(AttributeError) as error:
        eval(f"jf.{name}")
    assert message in str(error.value)


def test_the_ways_out_that_errors_name_are_right():
    x, edges = np.array([0.5, 2.0, 9.0]), np.array([0.0, 1.0, 2.0])
    got = jf.jit(lambda x, edges: jf.sum(x[..., None] > edges, axis=-1))(x, edges)
    assert got.tolist() == np.searchsorted(edges, x).tolist()
    i = np.array([3, 0, 3, 1])
    count = jf.jit(lambda i: jf.scatter_add(jf.zeros(5), i, jf.ones(4)))(i)
    assert count.tolist() == np.bincount(i, minlength=5).tolist()
    a, b = np.array([1.0, 2.0, 3.0]), np.array([-2.0, 0.5, 4.0])
    cross = jf.jit(lambda a, b: jf.roll(a, -1) * jf.roll(b, 1) - jf.roll(a, 1) * jf.roll(b, -1))
    assert cross(a, b).tolist() == np.cross(a, b).tolist()
    m, n = np.arange(6.0).reshape(2, 3), np.arange(4.0).reshape(2, 2)
    kron = jf.jit(lambda a, b: jf.reshape(jf.einsum("ij,kl->ikjl", a, b), (4, 6)))
    assert np.array_equal(kron(m, n), np.kron(m, n))
