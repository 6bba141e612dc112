"""jitfuse._core on a GPU: the framework's stream, its memory, its kinds of arrays. Skipped where there is no GPU."""
import numpy as np
import pytest

from jitfuse import _core

pytestmark = pytest.mark.skipif(_core.device_error("cuda") != "", reason="needs a GPU")


def chain(dtype="f32"):
    b = _core.Builder("chain")
    x, y = b.input("x", dtype, ["n"]), b.input("y", dtype, ["n"])
    (z,) = b.apply("add", (b.apply("multiply", (x, y), {})[0], b.scalar("s", dtype)), {})
    return b.compile(b.apply("relu", (z,), {}), device="cuda")


def long_sum():
    """A sum over all that takes scratch memory."""
    b = _core.Builder("long_sum")
    return b.compile(b.apply("sum", (b.input("x", "f32", ["n"]),), {}), device="cuda")


def test_torch_results(torch):
    f = chain()
    x, y = torch.randn(1000, device="cuda"), torch.randn(1000, device="cuda")
    (z,) = f.call((x, y, 0.5))
    assert type(z) is torch.Tensor and z.device == x.device
    torch.testing.assert_close(z, torch.relu(x * y + 0.5))
    torch.testing.assert_close(f.call((x[::2], y[1::2], 0))[0], torch.relu(x[::2] * y[1::2]))
    out = torch.zeros(1000, device="cuda")
    assert f.call((x, y, 0.5), (out,))[0] is out and torch.equal(out, z)
    assert f.call((x[:0], y[:0], 0))[0].shape == (0,)
    h = chain("bf16").call((x.bfloat16(), y.bfloat16(), 0))[0]
    assert h.dtype == torch.bfloat16
    for args, text in [((x.cpu(), y, 0), "argument|input 0"), ((x, y.cpu(), 0), "input 1 is on the CPU"), ((x.cpu(), y.cpu(), 0), "on the CPU")]:
        with pytest.raises(ValueError, match=text):
            f.call(args)
    with pytest.raises(ValueError, match="output 0 is on the CPU"):
        f.call((x, y, 0), (out.cpu(),))
    with pytest.raises(ValueError, match="requires grad"):
        f.call((x.requires_grad_(), y, 0))


def test_torch_memory_is_torchs(torch):
    f = chain()
    x = torch.randn(1 << 20, device="cuda")
    f.call((x, x, 0))
    torch.cuda.synchronize()
    before = torch.cuda.memory_allocated()
    (z,) = f.call((x, x, 0))
    assert torch.cuda.memory_allocated() - before == 4 << 20
    del z
    assert torch.cuda.memory_allocated() == before
    g = long_sum()
    big = torch.ones(1 << 26, device="cuda")
    for _ in range(2):
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        assert g.call((big,))[0].item() == 1 << 26
        assert torch.cuda.max_memory_allocated() > before + 512  # more than the result: scratch memory too


def test_torch_current_stream(torch):
    f = chain()
    x, zero = torch.zeros(1 << 20, device="cuda"), torch.zeros(1 << 20, device="cuda")
    f.call((x, zero, 1.0))
    side = torch.cuda.Stream()
    for _ in range(20):
        with torch.cuda.stream(side):
            torch.cuda._sleep(3_000_000)
            x.fill_(7)
            one = zero + 1
            (y,) = f.call((x, one, 1.0))
            x.fill_(0)
        side.synchronize()
        assert (y == 8).all()


def test_torch_graph_capture(torch):
    f = chain()
    x, y = torch.ones(4096, device="cuda"), torch.ones(4096, device="cuda")
    f.call((x, y, 1.0))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        (z,) = f.call((x, y, 1.0))
    x.fill_(5)
    graph.replay()
    torch.cuda.synchronize()
    assert (z == 6).all()


def test_cupy():
    cupy = pytest.importorskip("cupy")
    f = chain()
    x, y = cupy.arange(1000, dtype="float32"), cupy.ones(1000, dtype="float32")
    (z,) = f.call((x, y, 0.5))
    assert type(z) is cupy.ndarray
    np.testing.assert_array_equal(z.get(), np.arange(1000, dtype=np.float32) + 0.5)
    pool = cupy.get_default_memory_pool()
    before = pool.used_bytes()
    z = f.call((x, y, 0.5))[0]
    assert pool.used_bytes() > before or z is not None
    side = cupy.cuda.Stream(non_blocking=True)
    with side:
        x.fill(3)
        (z,) = f.call((x, y, 1.0))
    side.synchronize()
    assert (z.get() == 4).all()
    out = cupy.zeros(1000, dtype="float32")
    assert f.call((x, y, 0), (out,))[0] is out and (out.get() == 3).all()


def test_jax():
    jax = pytest.importorskip("jax")
    if jax.default_backend() != "gpu":
        pytest.skip("JAX has no GPU")
    f = chain()
    x = jax.numpy.arange(1000, dtype="float32")
    (z,) = f.call((x, x, 0.0))
    assert isinstance(z, jax.Array)
    np.testing.assert_array_equal(np.asarray(z), np.arange(1000, dtype=np.float32) ** 2)


def test_numpy_goes_to_the_cpu_only():
    f = chain()
    x = np.ones(3, np.float32)
    with pytest.raises(ValueError, match="on the CPU"):
        f.call((x, x, 0))
