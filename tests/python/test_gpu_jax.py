"""JAX's arrays, on the CPU where JAX is there, and on a GPU where it has one."""

import numpy as np
import pytest

import jitfuse as jf
from jitfuse import _core

jax = pytest.importorskip("jax", reason="JAX is not installed")
jnp = jax.numpy


def place(kind):
    if kind == "cpu":
        return jax.devices("cpu")[0]
    if _core.device_error("cuda") != "":
        pytest.skip("needs a GPU")
    try:
        return jax.devices("cuda")[0]
    except RuntimeError as error:
        pytest.skip(f"JAX has no GPU: {str(error).splitlines()[0]}")


@pytest.fixture(params=["cpu", "gpu"])
def on(request):
    """Makes an array of JAX on the device."""
    device = place(request.param)
    return lambda values, dtype=None: jax.device_put(jnp.asarray(values, dtype), device)


def is_jax(z, like):
    return isinstance(z, jax.Array) and z.devices() == like.devices()


def test_arguments_and_results(on):
    x = on(np.arange(1000, dtype=np.float32) - 500)
    f = jf.jit(lambda x, s: jf.nn.relu(x * x + s))
    z = f(x, -4.0)
    assert is_jax(z, x), (type(z), z.devices())
    np.testing.assert_array_equal(np.asarray(z), np.maximum(np.asarray(x) ** 2 - 4, 0))
    assert f(x[:0], 1.0).shape == (0,)
    z2 = jax.jit(lambda z: z + 1)(z)  # an array like any other
    np.testing.assert_array_equal(np.asarray(z2), np.asarray(z) + 1)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "int32", "uint8", "bool"])
def test_dtypes(on, dtype):
    x = on(np.arange(100) % 7, jnp.dtype(dtype))
    z = jf.jit(lambda x: jf.where(x == x, x, x))(x)
    assert is_jax(z, x) and z.dtype == x.dtype
    np.testing.assert_array_equal(np.asarray(z).astype("f"), np.asarray(x).astype("f"))


def test_several_results(on):
    x = on(np.random.default_rng(0).standard_normal((40, 100), np.float32))
    soft, total = jf.jit(lambda x: (jf.nn.softmax(x, -1), jf.sum(x, axis=0)))(x)
    assert is_jax(soft, x) and is_jax(total, x)
    np.testing.assert_allclose(np.asarray(soft), np.asarray(jax.nn.softmax(x, -1)), rtol=1e-5)
    np.testing.assert_allclose(np.asarray(total), np.asarray(x).astype("d").sum(0), rtol=1e-4, atol=1e-5)


def test_matmul(on):
    rng = np.random.default_rng(0)
    x, w = on(rng.standard_normal((64, 48), np.float32)), on(rng.standard_normal((48, 80), np.float32))
    z = jf.jit(lambda x, w: jf.nn.gelu(x @ w))(x, w)
    product = np.asarray(x).astype("d") @ np.asarray(w)
    np.testing.assert_allclose(np.asarray(z), np.asarray(jax.nn.gelu(jnp.asarray(product, "float32"), approximate=False)), rtol=1e-4, atol=1e-4)


def test_arguments_that_go_away(on):
    """Work on arrays whose last reference is dropped at once, while JAX computes others."""
    f = jf.jit(lambda x: jf.cumulative_sum(x * 2, axis=0))
    step = jax.jit(lambda x, i: x * 0 + i)
    x, found = on(np.zeros((512, 512), np.float32)), []
    for i in range(20):
        found.append(f(step(x, i)))  # its argument is gone when the call is over
        step(x, 1000.0)
    for i, z in enumerate(found):
        want = 2.0 * i * np.arange(1, 513, dtype=np.float32)[:, None]
        np.testing.assert_array_equal(np.asarray(z), np.broadcast_to(want, (512, 512)), err_msg=f"call {i}")


def test_its_arrays_are_not_written(on):
    x = on(np.ones(4, np.float32))
    with pytest.raises(ValueError, match="out 0 is read-only"):
        jf.jit(lambda x: x + 1)(x, out=on(np.zeros(4, np.float32)))


def test_out_of_another_library():
    x = jax.device_put(jnp.arange(4.0), place("cpu"))
    out = np.zeros(4, np.float32)
    assert jf.jit(lambda x: x + 1)(x, out=out) is out and out.tolist() == [1, 2, 3, 4]


def test_traced_arrays_of_jax_are_refused():
    with pytest.raises(TypeError, match="cannot be borrowed|argument"):
        jax.jit(lambda x: jf.jit(lambda y: y + 1)(x))(jnp.ones(3))


def test_mixed_devices_are_an_error():
    device = place("gpu")
    x = jax.device_put(jnp.ones(4), device)
    f = jf.jit(lambda x, y: x + y)
    with pytest.raises(ValueError, match="is on"):
        f(x, jax.device_put(jnp.ones(4), place("cpu")))
    with pytest.raises(ValueError, match="is on"):
        f(x, np.ones(4, np.float32))


def test_beside_torch():
    device = place("gpu")
    torch = pytest.importorskip("torch", reason="torch is not installed")
    if not torch.cuda.is_available():
        pytest.skip("torch has no GPU")
    f = jf.jit(lambda x, y: x + y)
    t = torch.zeros(1 << 20, device="cuda")
    x = jax.device_put(jnp.full(1 << 20, 3.0), device)
    with torch.cuda.stream(torch.cuda.Stream()):
        for first, second in ((x, t), (t, x)):
            torch.cuda._sleep(100_000_000)
            t.fill_(5)
            z = f(first, second)
            t.fill_(0)
            values = np.asarray(z) if first is x else z.cpu().numpy()
            assert (values == 8).all(), np.unique(values)
    assert is_jax(f(x, t), x) and type(f(t, x)) is torch.Tensor
    out = torch.zeros(1 << 20, device="cuda")
    assert f(x, x, out=out) is out and (out == 6).all()
