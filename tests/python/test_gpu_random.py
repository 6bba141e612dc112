"""Random ops on torch's tensors on a GPU: torch's generator for the device, captured graphs. Skipped where there is no GPU."""

import pytest

import jitfuse as jf
from jitfuse import _core

torch = pytest.importorskip("torch", reason="GPU work is given as torch's tensors, and torch is not installed")
DEVICE = "cuda"
pytestmark = pytest.mark.skipif(_core.device_error(DEVICE) != "", reason="needs a GPU")
F = torch.nn.functional

noisy = jf.jit(lambda x: F.dropout(x * 2, 0.5, training=True))


@pytest.mark.parametrize("grad", [False, True])
def test_manual_seed_repeats(grad):
    x = torch.ones(300, 200, device=DEVICE, requires_grad=grad)
    torch.manual_seed(5)
    first, second, after = noisy(x), noisy(x), torch.rand(100, device=DEVICE)
    assert not torch.equal(first, second) and 0.48 < (first != 0).float().mean() < 0.52
    torch.manual_seed(5)
    assert torch.equal(noisy(x), first) and torch.equal(noisy(x), second)
    assert torch.equal(torch.rand(100, device=DEVICE), after)
    torch.cuda.manual_seed(6)
    assert not torch.equal(noisy(x), first)


def test_the_generator_moves_on_as_for_torchs_kernels():
    x = torch.ones(100, device=DEVICE)
    three = jf.jit(lambda x: [jf.nn.dropout(x, 0.5) for _ in range(5)])
    generator = torch.cuda.default_generators[x.device.index]
    host = torch.get_rng_state()
    before = generator.get_offset()
    three(x)
    assert generator.get_offset() == before + 8  # of five ops, in multiples of 4
    assert torch.equal(torch.get_rng_state(), host)
    with torch.random.fork_rng(devices=[x.device.index]):
        noisy(x)
    assert generator.get_offset() == before + 8


def test_backward_draws_the_mask_of_forward():
    x = torch.ones(300, 200, device=DEVICE, requires_grad=True)
    y = noisy(x)
    noisy(x)
    y.sum().backward()
    torch.testing.assert_close(x.grad, y.detach())


def test_checkpoint_with_dropout_is_that_without():
    from torch.utils.checkpoint import checkpoint

    block = jf.jit(lambda x: F.dropout(torch.tanh(x * 1.5), 0.3, training=True))
    found = []
    for run in (lambda x: block(block(x)), lambda x: checkpoint(block, checkpoint(block, x, use_reentrant=False), use_reentrant=False)):
        torch.manual_seed(9)
        x = torch.linspace(-1, 1, 10000, device=DEVICE).requires_grad_()
        run(x).sum().backward()
        found.append(x.grad)
    assert torch.equal(*found)


def warmed(call):
    """As torch asks for before a capture: calls on a side stream."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(side)


def test_replays_of_a_captured_graph_draw_anew():
    x = torch.ones(300, 200, device=DEVICE)
    warmed(lambda: noisy(x))
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = noisy(x)
        z = noisy(x)
    found = []
    for seed in (3, 3, 4):
        torch.cuda.manual_seed(seed)
        for _ in range(2):
            graph.replay()
            found.append((y.clone(), z.clone()))
    for a, b in found:
        assert not torch.equal(a, b) and 0.48 < (a != 0).float().mean() < 0.52
    assert not torch.equal(found[0][0], found[1][0])
    assert torch.equal(found[0][0], found[2][0]) and torch.equal(found[1][1], found[3][1])  # the seed repeats them
    assert not torch.equal(found[0][0], found[4][0])
    noisy(x)  # and outside of it all is as before


def test_a_captured_training_step():
    x = torch.ones(300, 200, device=DEVICE, requires_grad=True)

    def step():
        y = noisy(x)
        (slope,) = torch.autograd.grad(y.sum(), x)
        return y, slope

    warmed(step)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y, slope = step()
    seen = []
    for _ in range(3):
        graph.replay()
        torch.testing.assert_close(slope, y.detach())  # backward reads the mask's seed of this replay
        seen.append(y.detach().clone())
    assert not torch.equal(seen[0], seen[1]) and not torch.equal(seen[1], seen[2])


def test_seeded_in_a_captured_graph_repeats_its_numbers():
    x = torch.ones(300, 200, device=DEVICE)
    with jf.random.seeded(1):
        want = noisy(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph), jf.random.seeded(1):
        y = noisy(x)
    for _ in range(2):
        graph.replay()
        assert torch.equal(y, want)


def test_compiled_code_that_calls_a_jitted_function():
    f = jf.jit(lambda x: torch.tanh(x) * 2)
    compiled = torch.compile(lambda x: torch.sin(f(x * 2)) + 1, backend="eager")
    x = torch.randn(40, 30, device=DEVICE, requires_grad=True)
    for _ in range(2):
        got = compiled(x)
        want = torch.sin(torch.tanh(x * 2) * 2) + 1
        torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-5)
        torch.testing.assert_close(torch.autograd.grad(got.sum(), x)[0], torch.autograd.grad(want.sum(), x)[0], rtol=1e-3, atol=1e-4)


def test_cotangents_of_any_layout():
    x = torch.randn(40, 30, device=DEVICE, requires_grad=True)
    y = jf.jit(lambda x: torch.tanh(x))(x)
    want = torch.tanh(x)
    for ct in (torch.tensor(2.0, device=DEVICE).expand(40, 30), torch.randn(30, 40, device=DEVICE).T, torch.randn(1200, device=DEVICE).as_strided((40, 30), (1, 1)),
               torch.randn(40, 30, dtype=torch.complex64, device=DEVICE).conj().imag):  # fmt: skip
        got, expected = (torch.autograd.grad(v, x, ct, retain_graph=True)[0] for v in (y, want))
        torch.testing.assert_close(got, expected, rtol=1e-4, atol=1e-5)
