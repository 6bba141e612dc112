"""Random ops on torch's tensors draw from torch's generator; all others from jitfuse.random's stream."""

import threading

import numpy as np
import pytest

import jitfuse as jf

torch = pytest.importorskip("torch", reason="tests torch's generator, and torch is not installed")
F = torch.nn.functional

X = torch.ones(200, 50)
noisy = jf.jit(lambda x: F.dropout(x, 0.5, training=True))
drawn = jf.jit(lambda x: jf.random.normal(x.shape) + x)
pair = jf.jit(lambda x: (jf.nn.dropout(x, 0.5), jf.nn.dropout(x, 0.5)))


@pytest.mark.parametrize("f", [noisy, drawn], ids=["dropout", "normal"])
@pytest.mark.parametrize("grad", [False, True])
def test_manual_seed_repeats(f, grad):
    x = X.clone().requires_grad_(grad)
    torch.manual_seed(5)
    first, second, after = f(x), f(x), torch.rand(2)
    assert not torch.equal(first, second)
    torch.manual_seed(5)
    assert torch.equal(f(x), first) and torch.equal(f(x), second) and torch.equal(torch.rand(2), after)
    torch.manual_seed(6)
    assert not torch.equal(f(x), first)
    jf.random.seed(5)  # is not theirs
    torch.manual_seed(5)
    assert torch.equal(f(x), first)


def test_the_first_call_is_as_the_others():
    torch.manual_seed(1)
    first = jf.jit(lambda x: F.dropout(x, 0.5, training=True))(X)
    torch.manual_seed(1)
    assert torch.equal(noisy(X), first)
    torch.manual_seed(1)
    assert torch.equal(noisy(X.clone().requires_grad_()), first)
    torch.manual_seed(1)
    assert torch.equal(noisy.lower(X).compile()(X), first)
    torch.manual_seed(1)
    value, pull = jf.vjp(lambda x: F.dropout(x, 0.5, training=True), X)
    assert torch.equal(value, first) and torch.equal(pull(X)[0], first)


def test_states_of_torch():
    state = torch.get_rng_state()
    first = noisy(X)
    torch.set_rng_state(state)
    with torch.random.fork_rng():
        assert torch.equal(noisy(X), first)
        noisy(X)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.equal(noisy(X), first)
    torch.set_rng_state(state)
    with torch.inference_mode():
        assert torch.equal(noisy(X), first)
        noisy(X)
    noisy(X)  # and back


def test_two_ops_of_a_call_draw_apart():
    a, b = pair(X)
    assert not torch.equal(a, b)
    keep = torch.cat([pair(X)[i].flatten() != 0 for _ in range(10) for i in range(2)]).float().mean()
    assert 0.49 < keep < 0.51


def test_seeded_is_stronger():
    state = torch.get_rng_state()
    with jf.random.seeded(4):
        first, second = noisy(X), noisy(X.clone().requires_grad_())
    with jf.random.seeded(4):
        assert torch.equal(noisy(X), first) and torch.equal(noisy(X), second)
    with jf.random.seeded(4):
        assert np.array_equal(jf.jit(lambda x: jf.nn.dropout(x, 0.5))(X.numpy()), first.numpy())
    assert torch.equal(torch.get_rng_state(), state)
    assert not torch.equal(noisy(X), first)


def test_other_arrays_keep_their_stream():
    f = jf.jit(lambda x: jf.nn.dropout(x, 0.5))
    state = torch.get_rng_state()
    jf.random.seed(2)
    first = f(X.numpy())
    jf.random.seed(2)
    noisy(X)
    assert np.array_equal(f(X.numpy()), first)  # torch's call has not moved it
    torch.set_rng_state(state)
    f(X.numpy())
    jf.jit(lambda: jf.random.uniform((3,)))()
    assert torch.equal(torch.get_rng_state(), state)
    jf.jit(lambda n, x: jf.nn.dropout(n * x, 0.5))(X.numpy(), X)  # among others one of torch
    assert not torch.equal(torch.get_rng_state(), state)


def test_functions_without_random_ops_move_nothing():
    state = torch.get_rng_state()
    f = jf.jit(lambda x: F.dropout(x, 0.5, training=False))
    for x in (X, X.clone().requires_grad_()):
        f(x)
    assert torch.equal(torch.get_rng_state(), state)


def test_threads_draw_different_numbers():
    found = []

    def draw():
        for _ in range(20):
            found.append(noisy(X).flatten()[:64].tolist())

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert len({tuple(f) for f in found}) == 80


def test_checkpoint_with_dropout_is_that_without():
    from torch.utils.checkpoint import checkpoint

    w = torch.linspace(-1, 1, 50 * 50).reshape(50, 50)
    block = jf.jit(lambda x, w: F.dropout(torch.tanh(x @ w), 0.3, training=True))
    found = []
    for run in (lambda x, w: block(block(x, w), w), lambda x, w: checkpoint(block, checkpoint(block, x, w, use_reentrant=False), w, use_reentrant=False)):
        torch.manual_seed(9)
        x, own = X.clone().requires_grad_(), w.clone().requires_grad_()
        run(x, own).sum().backward()
        found.append((x.grad, own.grad))
    assert torch.equal(found[0][0], found[1][0]) and torch.equal(found[0][1], found[1][1])


def test_keys_on_a_gpu_are_others_than_torchs():
    from jitfuse._torch_state import mixed

    assert len({mixed(s) for s in range(1000)} | set(range(1000))) == 2000
    assert mixed(0) == 0xE220A8397B1DCDAF  # SplitMix64's first number of seed 0
