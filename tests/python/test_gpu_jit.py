"""jitfuse.jit on torch's CUDA tensors: values, arguments, options, errors. Skipped where there is no GPU."""

import threading

import numpy as np
import pytest

import jitfuse as jf
from jitfuse import _core, fused

torch = pytest.importorskip("torch", reason="GPU work is given as torch's tensors, and torch is not installed")
DEVICE = "cuda"
pytestmark = pytest.mark.skipif(_core.device_error(DEVICE) != "", reason="needs a GPU")
F = torch.nn.functional
EPS = {torch.float16: 2.0**-10, torch.bfloat16: 2.0**-7, torch.float32: 2.0**-23, torch.float64: 2.0**-52}


def draw(*shape, dtype=torch.float32, seed=0):
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64).to(dtype).to(DEVICE)


def close(got, want, ulps=8.0, what=""):
    """`got`, of any float dtype, against `want` in float64; by the dtype's ulps of |want| + rms(want)."""
    assert type(got) is torch.Tensor and got.device.type == DEVICE, f"{what}: {type(got)} on {getattr(got, 'device', None)}"
    assert tuple(got.shape) == tuple(want.shape), f"{what}: shape {tuple(got.shape)}, expected {tuple(want.shape)}"
    want = want.double()
    scale = want.abs() + want.square().mean().sqrt()
    worst = ((got.double() - want).abs() / scale.clamp(min=1e-30)).max().item() if got.numel() else 0.0
    assert worst <= ulps * EPS[got.dtype], f"{what}: error {worst:.3g}, {worst / EPS[got.dtype]:.1f} ulps of {got.dtype}, expected at most {ulps}"


DTYPES = pytest.mark.parametrize("dtype", list(EPS), ids=lambda d: str(d)[6:])


@DTYPES
@pytest.mark.parametrize("n", [0, 1, 17, 1000, 100003])
def test_pointwise(dtype, n):
    x, y = draw(n, dtype=dtype), draw(n, dtype=dtype, seed=1)
    got = jf.jit(lambda x, y: jf.nn.gelu(x * y + 0.5) - jf.tanh(y))(x, y)
    assert got.dtype == dtype
    close(got, F.gelu(x.double() * y.double() + 0.5) - torch.tanh(y.double()), 16)


@pytest.mark.parametrize("dtype", [torch.int8, torch.uint8, torch.int32, torch.int64], ids=lambda d: str(d)[6:])
def test_integers(dtype):
    x = torch.arange(1, 101, device=DEVICE).to(dtype)
    got = jf.jit(lambda x: (x * 3 + 1) // 7)(x)
    assert got.dtype == dtype and torch.equal(got, (x * 3 + 1) // 7)
    mask = jf.jit(lambda x: (x > 50) & (x % 2 == 0))(x)
    assert mask.dtype == torch.bool and torch.equal(mask, (x > 50) & (x % 2 == 0))
    assert jf.jit(lambda x: jf.sum(x))(x).item() == x.sum(dtype=dtype if dtype == torch.int64 else None).item()


@DTYPES
@pytest.mark.parametrize("shape", [(1, 1), (5, 7), (64, 1024), (3, 40000)], ids=str)
def test_softmax_and_layer_norm(dtype, shape):
    x, w, b = draw(*shape, dtype=dtype), draw(shape[1], dtype=dtype, seed=1), draw(shape[1], dtype=dtype, seed=2)
    x64, w64, b64 = x.double(), w.double(), b.double()
    close(jf.jit(lambda x: jf.nn.softmax(x, -1))(x), torch.softmax(x64, -1), 16, "softmax")
    close(jf.jit(lambda x, w, b: jf.nn.layer_norm(x, w.shape, w, b))(x, w, b), F.layer_norm(x64, w.shape, w64, b64), 64, "layer_norm")
    close(jf.jit(lambda x, w: jf.nn.rms_norm(x, w.shape, w, 1e-5))(x, w), F.rms_norm(x64, w.shape, w64, 1e-5), 32, "rms_norm")


@pytest.mark.parametrize("shape", [(1, 1, 1), (64, 48, 80), (7, 129, 33), (512, 1024, 256)], ids=str)
@DTYPES
def test_matmul(dtype, shape):
    m, k, n = shape
    x, w, b = draw(m, k, dtype=dtype), draw(k, n, dtype=dtype, seed=1), draw(n, dtype=dtype, seed=2)
    want = F.gelu(x.double() @ w.double() + b.double())
    close(jf.jit(lambda x, w, b: jf.nn.gelu(x @ w + b))(x, w, b), want, 4 + 2 * k**0.5, "matmul, bias, gelu")
    loops = jf.jit(lambda x, w, b: jf.nn.gelu(x @ w + b), use_gemm_library=False)(x, w, b)
    close(loops, want, 4 + 2 * k**0.5, "the same by loop kernels")
    close(jf.jit(lambda x, w, b: jf.nn.linear(x, w, b))(x, w.T.contiguous(), b), F.linear(x.double(), w.T.double(), b.double()), 4 + 2 * k**0.5, "linear")


def test_batched_matmul():
    x, y = draw(6, 33, 40), draw(6, 40, 17, seed=1)
    close(jf.jit(lambda x, y: jf.matmul(x, y))(x, y), x.double() @ y.double(), 32)


def test_cross_entropy_and_gather():
    x = draw(40, 500, dtype=torch.bfloat16)
    target = torch.arange(40, device=DEVICE) * 7 % 500
    got = jf.jit(lambda x, t: jf.nn.cross_entropy(x, t, reduction="none"))(x, target)
    close(got, F.cross_entropy(x.double(), target, reduction="none"), 16)


@pytest.mark.parametrize("axis", [None, 0, 1, (0, 2), -1], ids=str)
def test_reductions(axis):
    x = draw(37, 65, 129)
    close(jf.jit(lambda x: jf.sum(x, axis=axis))(x), x.double().sum(axis) if axis is not None else x.double().sum(), 64, "sum")
    close(jf.jit(lambda x: jf.max(x, axis=axis))(x), torch.amax(x.double(), axis if axis is not None else (0, 1, 2)), 0, "max")
    assert torch.equal(jf.jit(lambda x: jf.argmax(x, axis=1))(x), x.argmax(1))
    close(jf.jit(lambda x: jf.cumulative_sum(x, axis=1))(x), x.double().cumsum(1), 64, "cumulative_sum")


def test_views_are_taken_as_they_are():
    x = draw(30, 40)
    f = jf.jit(lambda a, b: a * 2 + b)
    for name, a, b in [("transposed", x.T, x.T), ("steps", x[::2, 1::3], x[1::2, ::3][:, :13]), ("expanded", x[:1].expand(30, 40), x),
                       ("a column", x[:, 3], x[:, 5]), ("0-d", x[2, 3], x[4, 5]), ("offset by one", x.flatten()[1:], x.flatten()[:-1])]:
        a = a[..., : b.shape[-1]] if a.dim() else a
        close(f(a, b), a.double() * 2 + b.double(), 2, name)


def test_dropout():
    x = torch.ones(1000, 1000, device=DEVICE)
    f = jf.jit(lambda x: jf.nn.dropout(x, 0.25))
    with jf.random.seeded(7):
        first, second = f(x), f(x)
    for y in (first, second):
        share = (y != 0).double().mean().item()
        assert abs(share - 0.75) < 0.005, share
        kept = y[y != 0]
        assert torch.allclose(kept, torch.full_like(kept, 1 / 0.75)), (kept.min(), kept.max())
    assert not torch.equal(first, second)
    with jf.random.seeded(7):
        assert torch.equal(f(x), first)
    with jf.random.seeded(7):
        assert torch.equal(f(x.cpu()), first.cpu())  # the same numbers on every device


def test_several_results_and_out():
    x, y = draw(64, 32), draw(64, 32, seed=1)
    f = jf.jit(lambda x, y: {"sum": x + y, "pair": (x - y, [x * y])})
    got = f(x, y)
    assert torch.equal(got["sum"], x + y) and torch.equal(got["pair"][0], x - y) and torch.equal(got["pair"][1][0], x * y)
    outs = tuple(torch.zeros_like(x) for _ in range(3))
    again = f(x, y, out=outs)
    assert again["sum"] is outs[0] and again["pair"][0] is outs[1] and again["pair"][1][0] is outs[2]
    assert torch.equal(outs[0], x + y) and torch.equal(outs[2], x * y)
    wide = torch.zeros(64, 64, device=DEVICE)
    one = jf.jit(lambda x, y: x + y)
    assert one(x, y, out=wide[:, ::2]).data_ptr() == wide.data_ptr()
    assert torch.equal(wide[:, ::2], x + y) and (wide[:, 1::2] == 0).all()


def test_out_that_does_not_fit():
    x = draw(8, 4)
    f = jf.jit(lambda x: x + 1)
    for out, error, text in [(torch.zeros(8, 4), ValueError, "out 0|output 0"), (torch.zeros(8, 5, device=DEVICE), ValueError, "8"),
                             (torch.zeros(8, 4, device=DEVICE, dtype=torch.float64), TypeError, "f32"),
                             ((torch.zeros(8, 4, device=DEVICE),) * 2, TypeError, "1 array"), (np.zeros((8, 4), np.float32), ValueError, "CPU|out 0")]:
        with pytest.raises(error, match=text):
            f(x, out=out)
    base = torch.zeros(40, device=DEVICE)
    with pytest.raises(ValueError, match="overlap"):
        jf.jit(lambda x: jf.flip(x, axis=0))(base[:32].view(8, 4), out=base[2:34].view(8, 4))


def test_mixed_devices_are_an_error():
    x = draw(8, 4)
    f = jf.jit(lambda x, y: x + y)
    for args in [(x, x.cpu()), (x.cpu(), x), (x, np.ones((8, 4), np.float32)), (np.ones((8, 4), np.float32), x)]:
        with pytest.raises(ValueError, match="is on"):
            f(*args)
    f(x, x)  # and the other way round: an entry is there, and arguments that are not its own come
    with pytest.raises(ValueError, match="is on"):
        f(x, x.cpu())
    assert torch.equal(f(x, 2.0), x + 2)  # numbers are of no device
    assert torch.equal(f(x, np.float32(2)), x + 2)


def test_device_option():
    x = draw(8, 4)
    with pytest.raises(ValueError, match="on the CPU|is on"):
        jf.jit(lambda x: x + 1, device="cuda")(x.cpu())
    with pytest.raises(ValueError, match="is on"):
        jf.jit(lambda x: x + 1, device="cpu")(x)
    assert torch.equal(jf.jit(lambda x: x + 1, device="cuda")(x), x + 1)
    f = jf.jit(lambda x: x + 1)  # "auto": one function serves both, by where its arguments are
    assert f(x).device.type == DEVICE and f(x.cpu()).device.type == "cpu" and type(f(x.cpu().numpy())) is np.ndarray
    assert f.cache_info().entries == 2, f.cache_info()


def test_without_fusion_and_rewrites():
    x, w = draw(33, 65), draw(65, seed=1)
    body = lambda x, w: jf.nn.softmax(jf.nn.relu(x + w), -1)  # noqa: E731
    want = torch.softmax(torch.relu(x.double() + w.double()), -1)
    for options in ({}, {"fuse": False}, {"rewrite": False}, {"dynamic": "all"}, {"dynamic": "none"}, {"numerics": "fast"}):
        close(jf.jit(body, **options)(x, w), want, 16, str(options))


def test_gradients():
    """The rest is in test_gpu_grad.py."""
    x = draw(8)
    f = jf.jit(lambda x: x * x)
    wants = x.clone().requires_grad_()
    f(wants).sum().backward()
    assert torch.equal(wants.grad, 2 * x)
    with torch.no_grad():
        assert torch.equal(f(wants), x * x)
    with torch.inference_mode():
        assert torch.equal(f(x), x * x)
    assert not f(wants.detach()).requires_grad


def test_a_module():
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(32, 64), torch.nn.GELU(), torch.nn.LayerNorm(64), torch.nn.Linear(64, 8)).to(DEVICE)
    x = draw(20, 32)
    with torch.no_grad():
        f = jf.jit(module)
        close(f(x), module.double()(x.double()), 200)
        module.float()
        f(x)


def test_lower_says_what_runs_there():
    x = draw(64, 1000)
    low = jf.jit(lambda x: jf.nn.softmax(x, -1)).lower(x)
    assert "__global__" in low.source("cuda")
    assert ".entry" in low.source("ptx")
    assert low.cost_analysis()["groups"]
    assert "softmax" in low.text()
    close(low.compile()(x), torch.softmax(x.double(), -1), 16)


def test_machine_code_can_be_seen():
    try:
        assert "EXIT" in jf.jit(lambda x: x + 1).lower(draw(64)).source("sass")
    except RuntimeError as error:
        if "nvdisasm was not found" not in str(error):
            raise
        pytest.skip("nvdisasm was not found")


def test_graph_text():
    g = jf.Graph.parse("graph f(%x: f32[n,16]) -> (f32[n]) {\n  %0 = sum(%x) {axes=[1]} : f32[n]\n  return %0\n}")
    x = torch.ones(8, 16, device=DEVICE)
    assert g.run(x).device.type == DEVICE and g.run(x).tolist() == [16.0] * 8
    assert g.run(x.cpu()).device.type == "cpu"
    assert g.evaluate(x).tolist() == [16.0] * 8  # copied to the host


def test_captured_arrays():
    table = draw(10, 4)
    f = jf.jit(lambda x: x + table)
    x = draw(10, 4, seed=3)
    assert torch.equal(f(x), x + table)
    table.fill_(3)
    assert torch.equal(f(x), x + 3)


def test_threads_with_streams_of_their_own():
    f = jf.jit(lambda x, s: jf.nn.softmax(x * s, -1))
    wrong = []

    def work(i):
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                for step in range(40):
                    x = torch.randn(8 + (7 * i + step) % 50, 64 * (1 + i % 3), device=DEVICE)
                    got, want = f(x, 0.5 * (i + 1)), torch.softmax(x.double() * 0.5 * (i + 1), -1)
                    worst = (got.double() - want).abs().max().item()
                    if worst > 1e-6:
                        wrong.append((i, step, tuple(x.shape), worst))
        except Exception as error:
            wrong.append((i, f"{type(error).__name__}: {error}"))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    torch.cuda.synchronize()
    assert not wrong, wrong[:5]


def test_config_says_that_there_is_one(capsys):
    assert jf.CUDA_AVAILABLE
    jf.show_config()
    said = capsys.readouterr().out
    assert "found   CUDA" in said or "found" in said, said
    print(said)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32], ids=lambda d: str(d)[6:])
def test_bound_weights(dtype):
    x, w, b = draw(48, 64, dtype=dtype), draw(96, 64, dtype=dtype, seed=1), draw(96, dtype=dtype, seed=2)
    bound = jf.jit(lambda x, w, b: jf.nn.relu(jf.nn.linear(x, w, b))).bind(w=w, b=b)
    stream = torch.cuda.Stream()
    for m in (48, 1, 47):
        with torch.cuda.stream(stream):
            stream.wait_stream(torch.cuda.default_stream())
            got = bound(x[:m])
        stream.synchronize()
        close(got, torch.relu(F.linear(x[:m].double(), w.double(), b.double())), 32)
    every = jf.jit(lambda x, w: jf.matmul(x, w.mT)).bind(x=x, w=w)
    close(every(), x.double() @ w.double().T, 64)


def test_grouped_linear_of_bound_weights():
    x, ws = draw(33, 64), [draw(48, 64, seed=i) for i in range(3)]
    bound = fused.grouped_linear.bind(weights=ws)
    for got, w in zip(bound(x), ws):
        close(got, x.double() @ w.double().T, 64)
    assert "gemm_grouped" in bound.lower(x).explain()
