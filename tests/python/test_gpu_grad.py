"""Gradients on a GPU: jitted functions in torch's autograd, and jitfuse.grad. Skipped where there is no GPU."""

import pytest

import jitfuse as jf
from jitfuse import _core

torch = pytest.importorskip("torch", reason="GPU work is given as torch's tensors, and torch is not installed")
DEVICE = "cuda"
pytestmark = pytest.mark.skipif(_core.device_error(DEVICE) != "", reason="needs a GPU")
F = torch.nn.functional


def draw(*shape, dtype=torch.float32, seed=0, grad=True):
    made = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return made.to(dtype).to(DEVICE).requires_grad_(grad)


def compare(function, *args, rtol, atol):
    """Values and gradients of the jitted function against torch's own in float64."""
    own = [a.detach().double().requires_grad_(a.requires_grad) if a.is_floating_point() else a for a in args]
    got, want = jf.jit(function)(*args), function(*own)
    weights = draw(*got.shape, seed=9, dtype=got.dtype, grad=False)
    torch.testing.assert_close(got.double(), want, rtol=rtol, atol=atol)
    got.backward(weights)
    want.backward(weights.double())
    for a, o in zip(args, own):
        if a.requires_grad:
            assert a.grad.dtype == a.dtype and a.grad.device == a.device
            torch.testing.assert_close(a.grad.double(), o.grad, rtol=rtol, atol=atol)


def layer(x, w, b):
    return F.gelu(F.linear(x, w, b), approximate="tanh")


def norm(x, w, b):
    return F.relu(F.layer_norm(x, w.shape, w, b))


@pytest.mark.parametrize(
    "dtype, rtol, atol",
    [(torch.float64, 1e-9, 1e-9), (torch.float32, 1e-4, 1e-4), (torch.bfloat16, 5e-2, 0.3), (torch.float16, 1e-2, 5e-2)],
    ids=lambda v: str(v)[6:] if isinstance(v, torch.dtype) else "",
)
def test_against_torch(dtype, rtol, atol):
    compare(layer, draw(64, 48, dtype=dtype), draw(32, 48, seed=1, dtype=dtype), draw(32, seed=2, dtype=dtype), rtol=rtol, atol=atol)
    compare(norm, draw(64, 256, dtype=dtype), draw(256, seed=1, dtype=dtype), draw(256, seed=2, dtype=dtype), rtol=rtol, atol=atol)
    compare(lambda x: F.softmax(x, dim=-1), draw(33, 1000, dtype=dtype), rtol=rtol, atol=atol)
    targets = torch.randint(0, 100, (50,), device=DEVICE)
    compare(lambda x, t: F.cross_entropy(x, t), draw(50, 100, dtype=dtype), targets, rtol=rtol, atol=atol)


EDGES = {
    "max": (lambda x: torch.max(x, 1)[0], [[1.0, 3, 3], [2, 2, 2], [float("nan"), 1, float("nan")]]),
    "min": (lambda x: x.min(dim=0)[0], [[1.0, 3, 3], [1, 2, 3], [float("nan"), 1, 3]]),
    "clip": (torch.clamp, [0.0, 1, 2, 3, 0, 2], [1.0, 1, 1, 1, 2, 2], [2.0, 2, 2, 2, 2, 1]),
    "remainder": (torch.remainder, [6.0, -6, 7, 5.5, 1], [3.0, 3, -3, 2.75, float("-inf")]),
    "fmod": (torch.fmod, [6.0, -6, 7, 5.5, 1], [3.0, 3, -3, 2.75, float("-inf")]),
    "atan2": (torch.atan2, [0.0, -0.0, 0, 1], [0.0, 0, -0.0, 2]),
    "embedding": (lambda i, w: F.embedding(i, w, padding_idx=2), [0, 2, 2, 1], [[1.0], [2], [3], [4]]),
    "attention": (F.scaled_dot_product_attention, [[[1.0, 2], [3, 4]]], [[[0.5, 1], [-1, 2], [1, 0]]], [[[1.0], [2], [3]]],
                  [[True, False, True], [False, False, False]]),
}  # fmt: skip


@pytest.mark.parametrize("name", EDGES)
def test_edges_are_those_of_torch_on_the_cpu(name):
    f, *values = EDGES[name]
    own = [torch.tensor(v) for v in values]
    own = [x.requires_grad_(x.is_floating_point()) for x in own]
    args = [x.detach().to(DEVICE).requires_grad_(x.requires_grad) for x in own]
    got, want = jf.jit(lambda *xs: f(*xs))(*args), f(*own)
    torch.testing.assert_close(got.cpu(), want, equal_nan=True)
    got.backward(torch.full_like(got, 0.75))
    want.backward(torch.full_like(want, 0.75))
    for a, o in zip(args, own):
        if o.requires_grad:
            torch.testing.assert_close(a.grad.cpu(), o.grad, equal_nan=True)


def test_gradcheck():
    args = (draw(4, 3, dtype=torch.float64), draw(5, 3, seed=1, dtype=torch.float64), draw(5, seed=2, dtype=torch.float64))
    assert torch.autograd.gradcheck(jf.jit(layer), args)
    assert torch.autograd.gradgradcheck(jf.jit(layer), args)


def test_dropout_draws_one_mask():
    x = torch.ones(300, 100, device=DEVICE, requires_grad=True)
    f = jf.jit(lambda x: F.dropout(x * 3, 0.4, training=True))
    first, second = f(x), f(x)
    assert 0.3 < (first == 0).float().mean() < 0.5 and not torch.equal(first, second)
    first.backward(torch.ones_like(x))
    torch.testing.assert_close(x.grad, first.detach())


def test_a_training_step_on_a_stream_of_its_own():
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.GELU(), torch.nn.Linear(256, 10)).to(DEVICE)
    x, t = torch.randn(128, 64, device=DEVICE), torch.randint(0, 10, (128,), device=DEVICE)
    f = jf.jit(lambda x, t: F.cross_entropy(model(x), t))
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(3):
            model.zero_grad()
            f(x, t).backward()
    torch.cuda.current_stream().wait_stream(stream)
    got = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    F.cross_entropy(model(x), t).backward()
    for g, p in zip(got, model.parameters()):
        torch.testing.assert_close(g, p.grad, rtol=1e-3, atol=1e-5)


def test_results_without_inputs_are_on_the_device():
    """The gradient of a sum reads nothing but the cotangent."""
    x = draw(5, 7)
    jf.jit(lambda x: torch.sum(x))(x).backward()
    assert torch.equal(x.grad, torch.ones_like(x))
    (got,) = jf.vjp(lambda x: jf.sum(x), x.detach())[1](torch.tensor(2.0, device=DEVICE))
    assert torch.equal(got, torch.full_like(x, 2))


def test_grad_functions():
    x, w = draw(64, 32, grad=False), draw(32, 8, seed=1, grad=False)
    value, (dx, dw) = jf.value_and_grad(lambda x, w: jf.sum(jf.tanh(x @ w)), argnums=(0, 1))(x, w)
    own = [a.clone().requires_grad_() for a in (x, w)]
    want = torch.tanh(own[0] @ own[1]).sum()
    want.backward()
    torch.testing.assert_close(value, want.detach(), rtol=1e-4, atol=1e-3)
    torch.testing.assert_close(dx, own[0].grad, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(dw, own[1].grad, rtol=1e-4, atol=1e-4)
    y, pull = jf.vjp(lambda x: jf.nn.softmax(x, -1), x)
    torch.testing.assert_close(pull(torch.ones_like(y))[0], torch.zeros_like(x), rtol=0, atol=1e-6)
