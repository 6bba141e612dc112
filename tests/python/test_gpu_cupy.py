"""CuPy's arrays on a GPU: arguments, results, its stream and its pool. Skipped where there is no GPU or no CuPy."""

import gc

import numpy as np
import pytest

import jitfuse as jf
from jitfuse import _core

if _core.device_error("cuda") != "":
    pytest.skip("needs a GPU", allow_module_level=True)
cupy = pytest.importorskip("cupy", reason="CuPy is not installed")
SLEEP = 150_000_000


def test_arguments_and_results():
    f = jf.jit(lambda x, y, s: jf.nn.relu(x * y + s))
    x, y = cupy.arange(1000, dtype="float32") - 500, cupy.ones(1000, dtype="float32")
    for a, b in [(x, y), (x[::2], y[::2]), (x.reshape(20, 50).T, y.reshape(50, 20)), (x[:0], y[:0]), (x[3], y[4])]:
        z = f(a, b, 0.5)
        assert type(z) is cupy.ndarray and z.shape == a.shape and z.dtype == a.dtype
        np.testing.assert_array_equal(z.get(), np.maximum(a.get() * b.get() + np.float32(0.5), 0))


@pytest.mark.parametrize("dtype", ["float16", "float64", "int32", "int64", "uint8", "bool"])
def test_dtypes(dtype):
    x = (cupy.arange(100) % 7).astype(dtype)
    z = jf.jit(lambda x: jf.where(x == x, x, x))(x)
    assert type(z) is cupy.ndarray and z.dtype == x.dtype
    np.testing.assert_array_equal(z.get(), x.get())


def test_several_results_and_out():
    x = cupy.arange(12, dtype="float32").reshape(3, 4)
    f = jf.jit(lambda x: (x + 1, jf.sum(x, axis=1)))
    a, b = f(x)
    np.testing.assert_array_equal(a.get(), x.get() + 1)
    np.testing.assert_array_equal(b.get(), x.get().sum(1))
    outs = cupy.zeros((3, 8), "float32")[:, ::2], cupy.zeros(3, "float32")
    got = f(x, out=outs)
    assert got[0] is outs[0] and got[1] is outs[1]
    np.testing.assert_array_equal(outs[0].get(), x.get() + 1)
    np.testing.assert_array_equal(outs[1].get(), x.get().sum(1))


def test_softmax_and_matmul():
    rng = np.random.default_rng(0)
    x, w = rng.standard_normal((64, 100), np.float32), rng.standard_normal((100, 32), np.float32)
    got = jf.jit(lambda x, w: jf.nn.softmax(x @ w, -1))(cupy.asarray(x), cupy.asarray(w)).get()
    logits = x.astype(np.float64) @ w
    want = np.exp(logits - logits.max(-1, keepdims=True))
    np.testing.assert_allclose(got, want / want.sum(-1, keepdims=True), rtol=2e-4, atol=1e-6)


def test_functions_of_cupy_are_numpys_names():
    x = cupy.linspace(0, 1, 50, dtype="float32")
    np.testing.assert_allclose(jf.jit(lambda x: np.tanh(x) * np.exp(x))(x).get(), np.tanh(x.get()) * np.exp(x.get()), rtol=1e-6)


def test_current_stream():
    torch = pytest.importorskip("torch", reason="its _sleep keeps a stream busy, and torch is not installed")
    f = jf.jit(lambda x: x + 1)
    x = cupy.zeros(1 << 20, "float32")
    side = cupy.cuda.Stream(non_blocking=True)
    with side:
        kept = [f(x) for _ in range(3)]
    side.synchronize()
    del kept
    for _ in range(3):
        with side:
            with torch.cuda.stream(torch.cuda.ExternalStream(side.ptr)):
                torch.cuda._sleep(SLEEP)
            x.fill(7)
            y = f(x)
            assert not side.done, "the call waited for its stream"
            x.fill(0)
        side.synchronize()
        wrong = y.get() != 8
        assert not wrong.any(), f"{wrong.sum()} wrong, first {y.get()[wrong][:3]}"


class Watch(cupy.cuda.MemoryHook):
    name = "Watch"

    def __init__(self):
        self.sizes = []

    def malloc_preprocess(self, **arguments):
        self.sizes.append(arguments["size"])


def test_results_and_scratch_are_of_cupys_pool():
    f = jf.jit(lambda x: jf.sum(jf.nn.softmax(x, -1), axis=1), fuse=False)
    x = cupy.ones((1024, 1024), "float32")
    assert "0 B of scratch" not in f.lower(x).explain()
    f(x)
    pool = cupy.get_default_memory_pool()
    gc.collect()
    before = pool.used_bytes()
    with Watch() as watch:
        y = f(x)
    assert 4096 in watch.sizes, f"the result is not of the pool: {watch.sizes}"
    assert max(watch.sizes) >= 4 << 20, f"scratch memory is not of the pool: {watch.sizes}"
    assert pool.used_bytes() - before == 4096
    np.testing.assert_allclose(y.get(), np.ones(1024), rtol=1e-6)
    del y
    gc.collect()
    assert pool.used_bytes() == before


def test_errors():
    f = jf.jit(lambda x, y: x + y)
    x = cupy.ones(4, "float32")
    with pytest.raises(ValueError, match="is on"):
        f(x, np.ones(4, np.float32))
    with pytest.raises(ValueError, match="is on|CPU"):
        f(x, x, out=np.ones(4, np.float32))
    with pytest.raises(TypeError, match="complex64"):
        f(x, x.astype("complex64"))
    with pytest.raises(TypeError, match="float32|f32"):
        f(x, x, out=cupy.zeros(4, "float64"))


def test_beside_torch():
    """Arrays of both in one call: results are of the first's kind, and both streams are waited for."""
    torch = pytest.importorskip("torch", reason="torch is not installed")
    f = jf.jit(lambda x, y: x + y)
    x, t = cupy.zeros(1 << 20, "float32"), torch.zeros(1 << 20, device="cuda")
    ours, theirs = cupy.cuda.Stream(non_blocking=True), torch.cuda.Stream()
    assert type(f(x, t)) is cupy.ndarray and type(f(t, x)) is torch.Tensor
    for first in (x, t):
        second = t if first is x else x
        torch.cuda.synchronize()
        with ours, torch.cuda.stream(theirs):
            torch.cuda._sleep(SLEEP)
            t.fill_(5)
            with torch.cuda.stream(torch.cuda.ExternalStream(ours.ptr)):
                torch.cuda._sleep(SLEEP // 2)
            x.fill(3)
            z = f(first, second)
            x.fill(0)
            t.fill_(0)
        torch.cuda.synchronize()
        values = z.get() if first is x else z.cpu().numpy()
        assert (values == 8).all(), np.unique(values)
        out = torch.zeros(1 << 20, device="cuda")
        assert f(x, x + 1, out=out) is out and (out == 1).all()
