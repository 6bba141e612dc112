"""jitfuse.fused and jitfuse.torch on torch's CUDA tensors: values, kernels, gradients, dropout, streams, captured graphs. Skipped where
there is no GPU."""

import copy

import numpy as np
import pytest

import jitfuse as jf
from jitfuse import _core
from seed_page import ODD, arguments, evaluate, lowered, rows

torch = pytest.importorskip("torch", reason="GPU work is given as torch's tensors, and torch is not installed")
import jitfuse.torch as jt  # noqa: E402

DEVICE = "cuda"
pytestmark = pytest.mark.skipif(_core.device_error(DEVICE) != "", reason="needs a GPU")
nn = torch.nn
ROWS = pytest.mark.parametrize("row", rows(), ids=lambda row: row.name)
DTYPES = [torch.float32, torch.bfloat16, torch.float16]


def close(got, want, factor=16.0, eps=None):
    """By the dtype's eps of |want| + rms(want); got may be wider than what was computed in."""
    eps = eps or torch.finfo(got.dtype).eps
    want = want.double()
    assert got.shape == want.shape
    scale = want.abs() + want.square().mean().sqrt() + 1e-30
    worst = ((got.double() - want).abs() / scale).max().item() if got.numel() else 0.0
    assert worst <= factor * eps, f"off by {worst / eps:.1f} eps"


def given(value, dtype):
    if isinstance(value, list):
        return [given(v, dtype) for v in value]
    tensor = torch.from_numpy(np.asarray(value))
    return (tensor.to(dtype) if tensor.is_floating_point() else tensor).to(DEVICE)


def on_host(value):
    if isinstance(value, list):
        return [on_host(v) for v in value]
    return value.cpu().double() if value.is_floating_point() else value.cpu()


# jitfuse.fused.


@ROWS
def test_formulas(row):
    for dtype in DTYPES:
        arrays, options = arguments(row, ODD)
        tensors = {name: given(value, dtype) for name, value in arrays.items()}
        with jf.random.seeded(7):
            want = evaluate(row, {name: on_host(value) for name, value in tensors.items()}, options, ODD)
            got = row.function(**tensors, **options)
        for g, w in zip(got if isinstance(got, tuple) else (got,), want):
            assert g.device.type == DEVICE
            if g.dtype is torch.int8:
                assert (g.cpu() - w).abs().max() <= 1
                continue
            scale = max(1.0, float(w.abs().max()))
            sums = 256 * 2.0**-24 if "linear(" in row.formula or "@" in row.formula else 0.0
            error = float((g.cpu().double() - w).abs().max()) / scale
            assert error <= 32 * torch.finfo(dtype).eps + sums, f"{row.name} {dtype}: {error}"


@ROWS
def test_kernels_are_those_of_the_page(row):
    if torch.cuda.get_device_capability() != (9, 0):
        pytest.skip("the page counts for sm_90")
    cost = lowered(row, lambda a: torch.empty(a.shape, dtype=torch.from_numpy(a.ravel()[:0]).dtype, device=DEVICE)).cost_analysis()
    assert sum(len(g["kernels"]) for g in cost["groups"]) == row.gpu, cost["groups"]


# jitfuse.torch.


def pair(dtype, activation=nn.GELU, sizes=(96, 192, 160, 32)):
    torch.manual_seed(0)
    modules = []
    for i in range(len(sizes) - 1):
        modules += [nn.Linear(sizes[i], sizes[i + 1]), *([activation()] if i + 2 < len(sizes) else [])]
    plain = nn.Sequential(*modules).to(DEVICE, dtype)
    return plain, jt.FusedMLP.from_sequential(copy.deepcopy(plain))


def gradients(module, x, weight):
    x = x.detach().clone().requires_grad_()
    module.zero_grad()
    (module(x) * weight).sum().backward()
    return [x.grad, *[p.grad.clone() for p in module.parameters()]]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("activation", [nn.ReLU, nn.GELU, nn.SiLU, lambda: nn.GELU("tanh")], ids=["relu", "gelu", "silu", "gelu_tanh"])
def test_forward(dtype, activation):
    plain, mlp = pair(dtype, activation)
    wide = copy.deepcopy(plain).double()
    with torch.no_grad():
        for shape in ((1, 96), (33, 96), (4, 9, 96), (0, 96), (96,)):
            x = torch.randn(shape, device=DEVICE, dtype=dtype)
            assert mlp.why_plain(x) is None
            close(mlp(x), wide(x.double()), 32)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("activation", [nn.ReLU, nn.GELU, nn.SiLU], ids=["relu", "gelu", "silu"])
def test_gradients(dtype, activation):
    plain, mlp = pair(dtype, activation)
    x, weight = torch.randn(33, 96, device=DEVICE, dtype=dtype), torch.randn(33, 32, device=DEVICE, dtype=dtype)
    wide = gradients(copy.deepcopy(plain).double(), x.double(), weight.double())
    for got, own, want in zip(gradients(mlp, x, weight), gradients(plain, x, weight), wide):
        assert got.dtype is dtype
        error, of_torch = [(t.double() - want).square().mean().sqrt() for t in (got, own)]  # relu's slope jumps, so no single elements
        assert error <= 2 * of_torch + torch.finfo(dtype).eps * want.square().mean().sqrt()


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16], ids=str)
def test_autocast(dtype):
    plain, mlp = pair(torch.float32)
    x = torch.randn(33, 96, device=DEVICE)
    with torch.autocast(DEVICE, dtype=dtype):
        y, want = mlp(x), plain(x)
        assert y.dtype is want.dtype is dtype
    y.float().sum().backward(), want.float().sum().backward()
    close(y.detach(), want.detach())
    for a, b in zip(mlp.parameters(), plain.parameters()):
        assert a.grad.dtype is torch.float32
        close(a.grad, b.grad, 16, torch.finfo(dtype).eps)


def test_dropout_repeats_by_torch_s_seed_and_is_that_of_the_cpu_where_seeded():
    module = jt.FusedLinearReLU(64, 512, device=DEVICE, dropout=0.5)
    x = torch.randn(100, 64, device=DEVICE)
    with torch.no_grad():
        torch.manual_seed(5)
        first, second = module(x), module(x)
        torch.manual_seed(5)
        assert torch.equal(module(x), first) and not torch.equal(first, second)
        with jf.random.seeded(5):
            host = copy.deepcopy(module).cpu()(x.cpu())
        with jf.random.seeded(5):
            first = module(x)
        whole = copy.deepcopy(module).eval()(x)
    clear = (whole > 1e-4).cpu()
    assert torch.equal((first.cpu() != 0)[clear], (host != 0)[clear])
    assert abs(float((first != 0)[clear.to(DEVICE)].double().mean()) - 0.5) < 0.02
    mask = torch.where(whole > 0, first / whole, 0.0).round(decimals=3)
    with jf.random.seeded(5):
        got = gradients(module, x, 1.0)
    for g, w in zip(got, gradients(copy.deepcopy(module).eval(), x, mask)):
        close(g, w, 64)


def test_streams():
    plain, mlp = pair(torch.float32)
    x = torch.randn(512, 96, device=DEVICE)
    want = plain(x).detach()
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream), torch.no_grad():
        results = [mlp(x) for _ in range(20)]
    torch.cuda.current_stream().wait_stream(stream)
    for result in results:
        close(result, want, 64)


def test_a_captured_graph():
    plain, mlp = pair(torch.float32)
    x = torch.randn(64, 96, device=DEVICE)
    with torch.no_grad():
        mlp(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            y = mlp(x)
        x.copy_(torch.randn(64, 96, device=DEVICE))
        graph.replay()
        close(y, plain(x), 64)


def test_devices_that_differ_are_torch_s_error():
    module = jt.FusedLinearReLU(8, 4, device=DEVICE)
    assert "is on cuda" in module.why_plain(torch.ones(2, 8))
    with pytest.raises(RuntimeError, match="same device"):
        module(torch.ones(2, 8))
    assert module.cpu()(torch.ones(2, 8)).device.type == "cpu"


def test_training_takes_no_more_memory_than_eager():
    plain, mlp = pair(torch.bfloat16, sizes=(1024, 1024, 1024, 1024))
    x = torch.randn(4096, 1024, device=DEVICE, dtype=torch.bfloat16)
    peaks = []
    for module in (plain, mlp):
        gradients(module, x, 1.0)
        torch.cuda.synchronize()
        before = torch.cuda.memory_allocated()
        torch.cuda.reset_peak_memory_stats()
        gradients(module, x, 1.0)
        peaks.append(torch.cuda.max_memory_allocated() - before)
    assert peaks[1] <= 1.05 * peaks[0], peaks
