"""What products can be asked for: a dtype of their own, and timing, of which a CPU has nothing to choose from."""

import numpy as np
import pytest

import jitfuse as jf
from jitfuse import nn

RNG = np.random.default_rng(5)
X = RNG.standard_normal((7, 33)).astype(np.float16)
W = RNG.standard_normal((33, 5)).astype(np.float16)


def exact(x, w):
    return x.astype(np.float64) @ w.astype(np.float64)


def test_sums_of_16_bit_products_in_float32():
    wide = jf.jit(lambda x, w: jf.matmul(x, w, preferred_element_type="float32"))(X, W)
    narrow = jf.jit(lambda x, w: jf.astype(jf.matmul(x, w), jf.float32))(X, W)
    assert wide.dtype == np.float32 and narrow.dtype == np.float32
    assert np.abs(wide - exact(X, W)).max() < 1e-4
    assert np.array_equal(narrow, narrow.astype(np.float16).astype(np.float32))  # what is rounded stays rounded
    assert not np.array_equal(wide, narrow)


def test_linear_in_float32():
    bias = RNG.standard_normal(5).astype(np.float16)
    got = jf.jit(lambda x, w, b: nn.linear(x, w, b, preferred_element_type=jf.float32))(X, W.T.copy(), bias)
    assert got.dtype == np.float32
    assert np.abs(got - (exact(X, W) + bias)).max() < 1e-4


def test_gradients_are_of_the_operands_dtypes():
    def loss(x, w):
        return jf.sum(jf.matmul(x, w, preferred_element_type="float32") ** 2)

    dx, dw = jf.grad(loss, argnums=(0, 1))(X, W)
    assert dx.dtype == np.float16 and dw.dtype == np.float16
    y = 2 * exact(X, W)
    assert np.abs(dx - y @ W.T.astype(np.float64)).max() < 2e-3 * np.abs(y @ W.T).max()
    assert np.abs(dw - X.T.astype(np.float64) @ y).max() < 2e-3 * np.abs(X.T @ y).max()


def test_a_dtype_that_does_not_hold_the_operands():
    with pytest.raises(TypeError, match="matmul: preferred_element_type=.*float16, expected a dtype that holds"):
        jf.jit(lambda x, w: jf.matmul(x, w, preferred_element_type="float16"))(X.astype(np.float32), W)


def test_a_cpu_has_nothing_to_time():
    f = jf.jit(lambda x, w: jf.matmul(x, w), autotune=True)
    x, w = X.astype(np.float32), W.astype(np.float32)
    got = f(x, w)
    assert np.abs(got - exact(X, W)).max() < 1e-4
    assert "note tune_nothing: " in f.lower(x, w).explain()
    assert f.tune(x, w) == ""
    plain = jf.jit(lambda x, w: jf.matmul(x, w))
    assert np.array_equal(plain(x, w), got)
    assert "tune" not in plain.lower(x, w).explain()
    assert plain.tune(x, w) == ""
    assert "note tune_nothing: " in plain.lower(x, w).explain()


def test_wrong_tuning():
    f = jf.jit(lambda x, w: jf.matmul(x, w))
    with pytest.raises(ValueError, match="a tuning record, line 1: expected a line 'jitfuse tuning ...', got 'no'"):
        f.use_tuning("no", X, W)
    record = "jitfuse tuning 1\ngraph a\ncall b\ntarget c\nlibrary d\nchosen 0\nplan 1 -\n"
    with pytest.raises(ValueError, match="the tuning record is of another graph"):
        f.use_tuning(record, X, W)
    with pytest.raises(ValueError, match="jit: autotune='yes', expected True or False"):
        jf.jit(lambda x: x, autotune="yes")


def test_a_record_is_text():
    with pytest.raises(TypeError, match="use_tuning: expected a record, the str that tune gives, got NoneType"):
        jf.jit(lambda x: x + 1).use_tuning(None, np.ones(3))
