"""jitfuse._core on a GPU, with torch: its stream, its memory, its graphs. Skipped where there is no GPU.

Each test asks for what cannot come out right by chance: where order matters, the stream that must be waited for sleeps.
"""

import gc

import numpy as np
import pytest

from jitfuse import _core

torch = pytest.importorskip("torch", reason="GPU work is given as torch's tensors, and torch is not installed")
pytestmark = pytest.mark.skipif(_core.device_error("cuda") != "", reason="needs a GPU")
SLEEP = 150_000_000  # cycles: some 80 ms
MB = 1 << 20


def chain(dtype="f32"):
    b = _core.Builder("chain")
    x, y = b.input("x", dtype, ["n"]), b.input("y", dtype, ["n"])
    (z,) = b.apply("add", (b.apply("multiply", (x, y), {})[0], b.scalar("s", dtype)), {})
    return b.compile(b.apply("relu", (z,), {}), device="cuda")


def with_scratch():
    """softmax and sum op by op: what is between them takes scratch memory."""
    b = _core.Builder("with_scratch")
    (y,) = b.apply("softmax", (b.input("x", "f32", ["n", 1024]),), {"axis": 1})
    return b.compile(b.apply("sum", (y,), {"axes": [1]}), device="cuda", fuse=False)


def settled():
    """Bytes that torch's allocator has given out, when nothing is left to be collected."""
    gc.collect()
    torch.cuda.synchronize()
    return torch.cuda.memory_allocated()


def warmed_stream(work):
    """A stream for which torch has memory, so that none is asked of the driver, which might wait."""
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        kept = [work() for _ in range(4)]
    side.synchronize()
    del kept
    return side


def test_results():
    f = chain()
    x, y = torch.randn(1000, device="cuda"), torch.randn(1000, device="cuda")
    (z,) = f.call((x, y, 0.5))
    assert type(z) is torch.Tensor and z.device == x.device and not z.requires_grad
    torch.testing.assert_close(z, torch.relu(x * y + 0.5))
    torch.testing.assert_close(f.call((x[::2], y[1::2], 0))[0], torch.relu(x[::2] * y[1::2]))
    out = torch.zeros(1000, device="cuda")
    assert f.call((x, y, 0.5), (out,))[0] is out and torch.equal(out, z)
    assert f.call((x[:0], y[:0], 0))[0].shape == (0,)


@pytest.mark.parametrize("dtype", ["bf16", "f16", "f64"])
def test_dtypes(dtype):
    kind = {"bf16": torch.bfloat16, "f16": torch.float16, "f64": torch.float64}[dtype]
    x, y = torch.randn(1000, device="cuda").to(kind), torch.randn(1000, device="cuda").to(kind)
    (z,) = chain(dtype).call((x, y, 0))
    assert z.dtype == kind
    torch.testing.assert_close(z, torch.relu(x * y))


def test_errors_name_the_argument():
    f = chain()
    x, y = torch.randn(1000, device="cuda"), torch.randn(1000, device="cuda")
    for args, text in [((x.cpu(), y, 0), "input 0 is on the CPU"), ((x, y.cpu(), 0), "input 1 is on the CPU"), ((x.cpu(), y.cpu(), 0), "on the CPU")]:
        with pytest.raises(ValueError, match=text):
            f.call(args)
    with pytest.raises(ValueError, match="output 0 is on the CPU"):
        f.call((x, y, 0), (torch.zeros(1000),))
    with pytest.raises(ValueError, match="requires grad"):
        f.call((x.clone().requires_grad_(), y, 0))
    with pytest.raises(ValueError, match="on the CPU"):
        f.call((np.ones(3, np.float32), np.ones(3, np.float32), 0))
    assert f.call((x, y, 0))[0].shape == (1000,)  # and it goes on


def test_results_are_of_torchs_allocator():
    f = chain()
    x = torch.randn(MB, device="cuda")
    f.call((x, x, 0))
    before = settled()
    (z,) = f.call((x, x, 0))
    assert torch.cuda.memory_allocated() - before == 4 * MB
    assert z.untyped_storage().resizable()  # torch's own, not memory that was handed to it
    assert z.untyped_storage().nbytes() == 4 * MB
    del z
    assert settled() == before


def test_scratch_is_of_torchs_allocator_and_given_back():
    f = with_scratch()
    x = torch.ones(1024, 1024, device="cuda")
    assert "0 B of scratch" not in f.explain((x,)), f.explain((x,))
    f.call((x,))
    for out in (None, (torch.empty(1024, device="cuda"),)):
        before = settled()
        torch.cuda.reset_peak_memory_stats()
        (y,) = f.call((x,), out)
        peak = torch.cuda.max_memory_allocated() - before
        torch.testing.assert_close(y, torch.ones_like(y))
        assert peak >= 4 * MB, f"peak {peak}: scratch memory for 4 MB between the ops was not torch's"
        del y
        assert settled() == before


def test_current_stream():
    f = chain()
    x, zero = torch.zeros(MB, device="cuda"), torch.zeros(MB, device="cuda")
    f.call((x, zero, 1.0))
    torch.cuda.synchronize()
    side = warmed_stream(lambda: f.call((x, zero, 1.0)))
    for _ in range(3):
        with torch.cuda.stream(side):
            torch.cuda._sleep(SLEEP)
            x.fill_(7)
            one = zero + 1
            (y,) = f.call((x, one, 1.0))  # on another stream it would read x before it is 7, or after it is 0
            assert not side.query(), "the call waited for its stream"
            x.fill_(0)
        side.synchronize()
        assert (y == 8).all(), f"{(y != 8).sum().item()} of {y.numel()} wrong, first {y[y != 8][:3].tolist()}"


def test_record_stream():
    """Memory of a result that another stream uses is not given out again before that stream is done."""
    f = chain()
    x = torch.ones(2 * MB, device="cuda")
    some = [f.call((x, x, 1.0)) for _ in range(5)]
    del some
    side = warmed_stream(lambda: x + 0)
    torch.cuda.synchronize()
    (z,) = f.call((x, x, 1.0))
    side.wait_stream(torch.cuda.current_stream())
    address = z.data_ptr()
    with torch.cuda.stream(side):
        torch.cuda._sleep(SLEEP)
        kept = z + 0
    z.record_stream(side)
    del z
    others = [f.call((x, x, -1.0))[0] for _ in range(3)]  # of the same size, on the first stream
    assert not side.query(), "the sleep was too short for this test"
    assert address not in [o.data_ptr() for o in others]
    side.synchronize()
    assert (kept == 2).all()


def test_memory_is_given_out_in_the_order_of_the_stream():
    """What torch gives out again at once is written only after the kernels that read it."""
    f, x = chain(), torch.ones(2 * MB, device="cuda")
    f.call((x, x, 0))
    torch.cuda._sleep(SLEEP)
    seen = []
    for i in range(20):
        (z,) = f.call((x, x, float(i)))
        (w,) = f.call((z, x, 1.0))
        del z  # while nothing has run
        seen.append((i, w[::4096].clone()))
        del w
    for i, w in seen:
        assert (w == i + 2).all(), (i, w.unique().tolist())


@pytest.mark.parametrize("name", ["chain", "with_scratch"])
def test_graph_capture(name):
    if name == "chain":
        f, x = chain(), torch.ones(4096, device="cuda")
        call, want = (lambda: f.call((x, x, 1.0))[0]), [2.0, 26.0]
    else:
        f, x = with_scratch(), torch.ones(256, 1024, device="cuda")
        call, want = (lambda: f.call((x,))[0]), [1.0, 1.0]
    call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        z = call()
    for value, expected in zip((1.0, 5.0), want, strict=True):
        x.fill_(value)
        z.zero_()
        graph.replay()
        torch.cuda.synchronize()
        torch.testing.assert_close(z, torch.full_like(z, expected))


def test_graph_capture_of_a_matrix_product():
    b = _core.Builder("mlp")
    x, w = b.input("x", "bf16", ["n", 256]), b.input("w", "bf16", [256, 128])
    f = b.compile(b.apply("relu", b.apply("matmul", (x, w), {}), {}), device="cuda")
    x, w = torch.randn(64, 256, device="cuda").bfloat16(), torch.randn(256, 128, device="cuda").bfloat16()
    f.call((x, w))
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        (z,) = f.call((x, w))
    x.copy_(torch.randn(64, 256, device="cuda"))
    graph.replay()
    torch.cuda.synchronize()
    torch.testing.assert_close(z.double(), torch.relu(x.double() @ w.double()), rtol=2e-2, atol=0.2)


def test_arrays_without_a_framework():
    """Of no arguments but numbers: results are jitfuse's own, which torch takes."""
    b = _core.Builder("filled")
    (y,) = b.apply("exp", b.apply("broadcast", (b.scalar("s", "f32"),), {"shape": [6]}), {})
    (got,) = b.compile([y], device="cuda").call((0.0,))
    assert type(got) is _core.Array and got.__dlpack_device__()[0] == 2
    t = torch.from_dlpack(got)
    assert t.device.type == "cuda" and t.tolist() == [1.0] * 6
    with pytest.raises(BufferError, match="GPU"):
        memoryview(got)


def test_many_calls_do_not_keep_memory():
    f, g = chain(), with_scratch()
    x, y = torch.ones(1000, device="cuda"), torch.ones(64, 1024, device="cuda")
    f.call((x, x, 0)), g.call((y,))
    before = settled()
    for i in range(3000):
        f.call((x, x, i)), g.call((y,))
    assert settled() == before
