"""jitfuse.fused beyond the page: activations, dropout, empty and strided arrays, wrong arguments."""

import threading

import numpy as np
import pytest

import jitfuse as jf
from jitfuse import fused
from support import make, same


@pytest.mark.parametrize("name", fused.ACTIVATIONS)
def test_activations_are_those_of_torch(name, torch):
    F = torch.nn.functional
    x, b = make((6, 9), "float64"), make((9,), "float64", 1)
    own = {"gelu_tanh": lambda t: F.gelu(t, approximate="tanh"), "squared_relu": lambda t: F.relu(t).square()}
    want = own.get(name) or getattr(F, name)
    same(fused.fused_bias_act(x, b, activation=name), want(torch.from_numpy(x + b)).numpy(), ulps=64, atol=1e-14)
    w = make((4, 9), "float64", 2, low=-0.5, high=0.5)  # below 20, where torch's softplus leaves the function
    same(fused.fused_linear_activation(x, w, activation=name), want(torch.from_numpy(x @ w.T)).numpy(), ulps=64, atol=1e-13)


def test_no_activation():
    x, b = make((6, 9), "float32"), make((9,), "float32", 1)
    same(fused.fused_bias_act(x, b, activation=None), x + b)


# Dropout.

DROPPED = [
    ("fused_dropout", (), lambda x: x),
    ("fused_relu_dropout", (), lambda x: np.maximum(x, 0)),
    ("fused_bias_dropout", (np.full(64, 0.5),), lambda x: x + 0.5),
    ("fused_softmax_dropout", (), None),
    ("fused_linear_relu_dropout", (np.eye(64), np.full(64, 0.5)), lambda x: np.maximum(x + 0.5, 0)),
]


@pytest.mark.parametrize(("name", "others", "plain"), DROPPED, ids=[d[0] for d in DROPPED])
def test_dropout(name, others, plain):
    f = getattr(fused, name)
    x = make((200, 64), "float64") + 10.0  # nothing is 0 before it is dropped
    whole = f(x, *others, p=0.0)
    if plain is not None:
        same(whole, plain(x), ulps=4)
    jf.random.seed(11)
    first, second = f(x, *others, p=0.25), f(x, *others, p=0.25)
    jf.random.seed(11)
    np.testing.assert_array_equal(f(x, *others, p=0.25), first)
    assert (first != second).any()
    kept = first != 0
    assert abs(kept.mean() - 0.75) < 0.03
    np.testing.assert_allclose(first[kept], whole[kept] / 0.75, rtol=1e-14)
    same(f(x, *others, p=0.25, training=False), whole, ulps=4)
    assert (f(x, *others, p=1.0) == 0).all()
    with pytest.raises(ValueError, match="p is 1.5, expected a probability from 0 to 1"):
        f(x, *others, p=1.5)


def test_one_seed_one_mask_in_every_function_and_dtype():
    """A mask depends on the seed, the number of the call and the place, on nothing else."""
    masks = []
    for dtype in ("float16", "float32", "float64"):
        x = np.ones((37, 24), dtype)
        for f in (fused.fused_dropout, fused.fused_relu_dropout, lambda x, p: fused.fused_bias_dropout(x, x[0] * 0, p=p)):
            jf.random.seed(5)
            masks.append(f(x, p=0.5) != 0)
    for mask in masks[1:]:
        np.testing.assert_array_equal(mask, masks[0])


# Arrays of other kinds.


def test_empty_strided_and_scalar_arrays():
    assert fused.elementwise_add_relu(np.ones((0, 4), "f"), np.ones((0, 4), "f")).shape == (0, 4)
    assert fused.fused_linear_relu(np.ones((0, 4), "f"), np.ones((3, 4), "f")).shape == (0, 3)
    x = make((12, 10), "float32")
    same(fused.elementwise_add_relu(x[::2, ::-1], x[1::2].astype("f")), np.maximum(x[::2, ::-1] + x[1::2], 0))
    same(fused.elementwise_mul_tanh(x, 0.5), np.tanh(x * np.float32(0.5)), ulps=4)
    assert fused.fused_linear_relu(x[0], np.ones((3, 10), "f")).shape == (3,)


def test_integers_where_there_is_no_reason_against_them():
    i = np.array([[-3, 2], [5, -7]])
    same(fused.elementwise_add_relu(i, i), np.maximum(i + i, 0))
    same(fused.reduce_sum_squared(i, dim=1), (i * i).sum(1))


def test_out_and_lower():
    x = make((5, 8), "float32")
    out = np.empty_like(x)
    assert fused.fused_bias_gelu(x, x[0], out=out) is out
    assert "gelu" in fused.fused_bias_gelu.lower(x, x[0]).text()


def test_state_is_updated_in_place_by_out():
    p, g, m, v = (make((40,), "float32", i, low=0.1) for i in range(4))
    want = fused.fused_adamw(p, g, m, v, 1, lr=0.1)
    got = fused.fused_adamw(p, g, m, v, 1, lr=0.1, out=(p, m, v))
    assert got[0] is p
    for a, b in zip((p, m, v), want):
        np.testing.assert_array_equal(a, b)
    before = fused.fused_adamw.cache_info().entries
    fused.fused_adamw(p, g, m, v, 2, lr=0.05)
    assert fused.fused_adamw.cache_info().entries == before


# Options that the page's rows leave alone.


def test_rotation_of_pairs():
    x, angle = make((4, 6, 8), "float64"), make((6, 4), "float64", 1)
    cos, sin = np.repeat(np.cos(angle), 2, axis=-1), np.repeat(np.sin(angle), 2, axis=-1)
    z = (x[..., ::2] + 1j * x[..., 1::2]) * np.exp(1j * angle)
    same(fused.fused_rope(x, cos, sin, interleaved=True), np.stack([z.real, z.imag], -1).reshape(x.shape), ulps=8, atol=1e-15)


def test_rms_norm_offset_and_gate_before_norm():
    x, w = make((4, 6), "float64"), make((6,), "float64", 1)
    rms = np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6)
    same(fused.fused_rms_norm(x, 6, w, 1e-6, offset=1.0), x / rms * (w + 1), ulps=16)
    gated = x * (w / (1 + np.exp(-w)))
    want = gated / np.sqrt((gated * gated).mean(-1, keepdims=True) + 1e-5) * w
    same(fused.fused_rms_norm_gated(x, np.broadcast_to(w, x.shape), w, norm_before_gate=False), want, ulps=16)
    total = x + x
    want = total / np.sqrt((total * total).mean(-1, keepdims=True) + 1e-5) * w
    same(fused.fused_add_norm(x, x, w, norm="rms")[0], want, ulps=16)


def test_matmul_bias_transposed():
    x, y, b = make((6, 4), "float64"), make((3, 6), "float64", 1), make((3,), "float64", 2)
    same(fused.fused_matmul_bias(x, y, b, True, True), x.T @ y.T + b, ulps=16, atol=1e-14)


def test_attention_with_a_mask_of_bools(torch):
    q, k, v = (torch.from_numpy(make((2, 5, 8), "float64", i)) for i in range(3))
    mask = torch.tril(torch.ones(5, 5, dtype=torch.bool))
    want = torch.nn.functional.scaled_dot_product_attention(q, k, v, mask)
    same(fused.fused_attention(q, k, v, mask).numpy(), want.numpy(), ulps=64, atol=1e-14)
    same(fused.fused_attention(q, k, v, is_causal=True).numpy(), want.numpy(), ulps=64, atol=1e-14)
    weights = fused.fused_attention_score(q @ k.mT, mask, 8**-0.5)
    same((weights @ v).numpy(), want.numpy(), ulps=64, atol=1e-14)


@pytest.mark.parametrize("reduction", ["mean", "sum", "none"])
def test_losses_by_reduction(reduction, torch):
    F = torch.nn.functional
    x, t = torch.from_numpy(make((9, 5), "float64")), torch.arange(9) % 5
    t[3] = -100
    same(fused.fused_softmax_cross_entropy(x, t, reduction=reduction, label_smoothing=0.1).numpy(),
         F.cross_entropy(x, t, reduction=reduction, label_smoothing=0.1).numpy(), ulps=64)
    p = F.softmax(x, 1)
    same(fused.fused_kl_div(x, p, reduction=reduction).numpy(), F.kl_div(x, p, reduction=reduction).numpy(), ulps=64)
    terms = (x - p).abs() * 0.5
    want = terms if reduction == "none" else getattr(terms, reduction)()
    same(fused.fused_tvd(x, p, reduction=reduction).numpy(), want.numpy(), ulps=64)


def test_mlp_of_one_layer_and_without_biases():
    x, w = make((5, 4), "float64"), [make((6, 4), "float64", 1), make((2, 6), "float64", 2)]
    same(fused.fused_mlp(x, w[:1]), x @ w[0].T, ulps=16, atol=1e-14)
    same(fused.fused_mlp(x, w), np.maximum(x @ w[0].T, 0) @ w[1].T, ulps=16, atol=1e-14)


@pytest.mark.parametrize("beta", [0.5, 0.1])
def test_jsd_of_probabilities_that_f32_does_not_hold(beta):
    x, y = (np.array([[-200.0, 0.0, -150.0], [-1.0, -200.0, 0.0]], "float32") * s for s in (1, 0.75))

    def wanted(x, y):
        m = np.logaddexp(y + np.log(beta), x + np.log(1 - beta))
        return (beta * np.exp(y) * (y - m) + (1 - beta) * np.exp(x) * (x - m)).sum() / len(x)

    want = np.float32(wanted(x.astype("float64"), y.astype("float64")))
    same(fused.fused_jsd(x, y, beta), want, ulps=16, atol=2e-7)  # differences of numbers about 1
    gradient = jf.grad(lambda x: fused.fused_jsd(x, y, beta))(x)
    assert np.isfinite(gradient).all()
    step = np.zeros((2, 3))
    step[1, 0] = 1e-4
    slope = (wanted(x + step, y.astype("float64")) - wanted(x - step, y.astype("float64"))) / 2e-4
    np.testing.assert_allclose(gradient[1, 0], slope, rtol=1e-4)


WRONG = [
    (lambda x: fused.fused_bias_act(x, x, activation="rely"), r"fused_bias_act: activation='rely', expected None or one of elu, gelu"),
    (lambda x: fused.fused_linear_activation(x, x, activation="?"), r"fused_linear_activation: activation='\?'"),
    (lambda x: fused.silu_and_mul(x), r"silu_and_mul: expected a last axis of even size to halve"),
    (lambda x: fused.fused_rope(x, x, x), r"fused_rope: expected a last axis of even size"),
    (lambda x: fused.fused_rope(x, x, x, interleaved=True), r"fused_rope: expected a last axis of even size"),
    (lambda x: fused.fused_layer_norm(x, 4), r"normalized_shape \(4,\) is not the end of the shape"),
    (lambda x: fused.fused_add_norm(x, x, x[0], norm="batch"), r"norm='batch', expected 'layer' or 'rms'"),
    (lambda x: fused.fused_add_norm(x, x, x[0], x[0], norm="rms"), r"norm='rms' takes no bias"),
    (lambda x: fused.fused_mlp(x, []), r"fused_mlp: expected a weight and a bias for each .* 0 weights"),
    (lambda x: fused.fused_mlp(x, [x], [x, x]), r"1 weights and 2 biases"),
    (lambda x: fused.fused_jsd(x, x, beta=1.0), r"beta=1.0, expected a number between 0 and 1"),
    (lambda x: fused.fused_tvd(x, x, reduction="most"), r"fused_tvd: reduction='most', expected one of 'mean', 'sum', 'none', 'batchmean'"),
    (lambda x: fused.sigmoid_focal_loss(x, x, reduction="batchmean"), r"reduction='batchmean', expected one of 'mean', 'sum', 'none'"),
    (lambda x: fused.elementwise_add_relu(x, x[:2]), r"3.*2"),
    (lambda x: fused.elementwise_add_gelu(x, x, approximate="erf"), r"approximate='erf', expected 'none' or 'tanh'"),
]


@pytest.mark.parametrize("i", range(len(WRONG)))
def test_wrong_arguments(i):
    call, message = WRONG[i]
    with pytest.raises(ValueError, match=message):
        call(np.ones((3, 5), "f"))


def test_wrong_types():
    x = np.ones((3, 4), "f")
    with pytest.raises(TypeError, match=r"static argument .normalized_shape. is \[4\] .*a tuple in place of a list"):
        fused.fused_layer_norm(x, [4])
    with pytest.raises(TypeError):
        fused.fused_bias_gelu(x)
    with pytest.raises(AttributeError, match=r"no attribute 'fused_softmx': did you mean jitfuse.fused.fused_softmax\?"):
        fused.fused_softmx  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute 'bias_gelu': did you mean jitfuse.fused.fused_bias_gelu"):
        jf.bias_gelu  # noqa: B018
    assert not hasattr(fused, "__path_of_nothing__")


# A thread's own stream of random numbers.


def test_seeded():
    x = np.ones((9, 16), "f")
    jf.random.seed(4)
    fused.fused_dropout(x)
    state = jf.random.get_state()
    with jf.random.seeded(4):
        assert jf.random.get_state() == (4, 0)
        first = fused.fused_dropout(x)
        with jf.random.seeded(5):
            other = fused.fused_dropout(x)
        second = fused.fused_dropout(x)
    assert jf.random.get_state() == state
    jf.random.seed(4)
    np.testing.assert_array_equal(fused.fused_dropout(x), first)
    np.testing.assert_array_equal(fused.fused_dropout(x), second)
    assert (other != first).any()
    with pytest.raises(ZeroDivisionError), jf.random.seeded(-1):
        assert jf.random.get_state()[0] == 2**64 - 1
        1 / 0  # noqa: B018
    assert jf.random.get_state()[0] == 4
    with pytest.raises(TypeError):
        jf.random.seeded(0.5)
    with pytest.raises(ValueError, match="no stream of its own"):
        jf._core.rng_leave()


def test_a_stream_is_its_thread_s():
    seen = []
    with jf.random.seeded(7):
        thread = threading.Thread(target=lambda: seen.append(jf.random.get_state()))
        thread.start()
        thread.join()
    assert seen == [jf.random.get_state()] and seen[0][0] != 7
