"""Gradients where they are a matter of choice: ties, limits, multiples, zeros, masked rows, NaN. PyTorch's CPU kernels say what is right."""

import itertools

import numpy as np
import pytest

import jitfuse as jf

torch = pytest.importorskip("torch", reason="compares with torch's autograd, and torch is not installed")
F = torch.nn.functional
INF, NAN = float("inf"), float("nan")


def tensor(*values):
    return torch.tensor(values, dtype=torch.float64)


def grid(*axes):
    """Every combination of some values, as one vector for each operand."""
    return [torch.tensor(v, dtype=torch.float64) for v in zip(*itertools.product(*axes))]


def results_and_gradients(f, operands, traced):
    xs = [x.detach().clone().requires_grad_(x.is_floating_point()) for x in operands]
    results = (jf.jit(lambda *xs: f(*xs)) if traced else f)(*xs)
    results = results if isinstance(results, tuple) else (results,)
    generator = torch.Generator().manual_seed(1)
    weights = [torch.rand(r.shape, generator=generator, dtype=torch.float64) + 0.5 for r in results]
    smooth = [(r, w) for r, w in zip(results, weights) if r.requires_grad]
    wanted = [x for x in xs if x.requires_grad]
    got = [None] * len(wanted)
    if smooth:
        got = torch.autograd.grad([r for r, _ in smooth], wanted, [w for _, w in smooth], allow_unused=True)
    return [r.detach() for r in results], [torch.zeros_like(x) if g is None else g for g, x in zip(got, wanted)]


def as_in_torch(f, *operands):
    """f of Jitfuse (traced) and of torch: the same results and gradients, NaNs too."""
    (got, of_got), (want, of_want) = (results_and_gradients(f, operands, traced) for traced in (True, False))
    for g, w in zip(got + of_got, want + of_want):
        torch.testing.assert_close(g, w, rtol=1e-12, atol=1e-12, equal_nan=True)


# max and min.

ROWS = tensor([1, 3, 3, 2], [2, 2, 2, 2], [NAN, 1, NAN, 2], [INF, INF, 1, 0], [-INF] * 4, [NAN] * 4, [0.0, -0.0, -1, -0.0])


@pytest.mark.parametrize("dim", [0, 1, -2])
@pytest.mark.parametrize("keepdim", [False, True])
def test_extremes_along_a_dim_give_all_to_the_index_they_return(dim, keepdim):
    def along(x):
        return (*torch.max(x, dim, keepdim), *torch.min(x, dim, keepdim=keepdim), *x.max(dim=dim, keepdim=keepdim), *x.min(dim=dim))

    as_in_torch(along, ROWS)
    as_in_torch(along, torch.stack([ROWS, ROWS.flip(0), ROWS * 0 + 1]))


def test_extremes_of_all_and_amax_share():
    for row in ROWS:
        as_in_torch(lambda x: (torch.max(x), torch.min(x), x.max(), x.min()), row)
        as_in_torch(lambda x: (torch.amax(x, 0), torch.amin(x, dim=0), torch.amax(x, dim=0, keepdim=True)), row)
    ties = tensor([1, 3, 3], [3, 0, 1])
    shared = [[0, 1 / 3, 1 / 3], [1 / 3, 0, 0]]
    for f in (jf.max, lambda x: jf.max(x, axis=(0, 1)), lambda x: np.max(x), lambda x: torch.max(x)):
        np.testing.assert_allclose(jf.grad(f)(ties.numpy()), shared)


def test_the_second_derivative_of_a_max():
    x = tensor([1, 3, 3], [5, 2, 5])

    def of_gradient(x):
        slope = jf.grad(lambda x: jf.sum(torch.max(x * x, 1)[0] * x[:, 0]))
        return jf.sum(slope(x) ** 2)

    x.requires_grad_()
    (g,) = torch.autograd.grad((torch.max(x * x, 1)[0] * x[:, 0]).sum(), x, create_graph=True)
    (want,) = torch.autograd.grad((g**2).sum(), x)
    torch.testing.assert_close(jf.grad(of_gradient)(x.detach()), want)


def kernels(f, *args):
    low = f.lower(*args)
    return sum(len(g["kernels"]) for g in low.cost_analysis()["groups"]), low.source("cuda", "sm_90").count("__global__")


def test_a_max_and_its_gradient_are_one_kernel():
    x = np.ones((512, 256), np.float32)
    row = jf.jit(lambda x: jf.vjp(lambda x: torch.max(jf.tanh(x), 1)[0], x)[1](x[:, 0])[0])
    assert kernels(row, x) == (1, 1)
    assert kernels(jf.jit(lambda x: torch.max(x, 1)), x) == (1, 1)
    assert kernels(jf.jit(lambda x: torch.max(x, 1)[0]), x) == (1, 1)


def test_errors_of_extremes():
    with pytest.raises(ValueError, match="axis 1 has size 0, and max_with_index of nothing has no value"):
        jf.jit(lambda x: torch.max(x, 1))(np.ones((2, 0)))
    with pytest.raises(ValueError, match="axis 0 has size 0, and min_of_all of nothing has no value"):
        jf.jit(lambda x: torch.min(x))(np.ones((0, 2)))


# Limits.

VALUES, LIMITS = [0.0, 1, 2, 3, NAN, INF], [1.0, 2, NAN, -INF, INF]


def test_limits_that_are_arrays():
    x, low, high = grid(VALUES, LIMITS, LIMITS)
    as_in_torch(torch.clamp, x, low, high)
    as_in_torch(lambda x, low, high: x.clamp(low, high), x, low, high)
    x, low = grid(VALUES, LIMITS)
    as_in_torch(lambda x, v: (torch.clamp(x, min=v), torch.clamp(x, max=v), torch.clamp_min(x, v), torch.clamp_max(x, v)), x, low)


def test_limits_that_broadcast_and_numbers():
    x = tensor([0, 1, 2], [3, 1, 0])
    as_in_torch(torch.clamp, x, tensor(1, 0, 1), tensor([2], [1]))
    as_in_torch(lambda x: torch.clamp(x, 1, 2), x)
    # A number beside an array, which torch does not take.
    got = jf.grad(lambda x, v: jf.sum(jf.clip(x, 1.0, v)), argnums=(0, 1))(x.numpy(), np.array([2.0, 1, 1]))
    assert [g.tolist() for g in got] == [[[0, 1, 0], [0, 1, 0]], [1, 0, 1]]
    got = jf.grad(lambda x, v: jf.sum(np.clip(x, v, None)), argnums=(0, 1))(x.numpy(), np.array(1.0))
    assert [g.tolist() for g in got] == [[[0, 1, 1], [1, 1, 0]], 2]


@pytest.mark.parametrize("dtype", [np.int8, np.int64, np.uint16, np.float16, np.float32])
def test_values_of_limits_that_are_arrays(dtype):
    x, low, high = (np.asarray(v).astype(dtype) for v in grid([0, 1, 5, 7], [1, 2, 9], [3, 1]))
    got = jf.jit(lambda x, a, b: (jf.clip(x, a, b), jf.clip(x, a), jf.clip(x, None, b), jf.clip(x, 2, b), jf.clip(x)))(x, low, high)
    want = (np.minimum(np.maximum(x, low), high), np.maximum(x, low), np.minimum(x, high), np.minimum(np.maximum(x, dtype(2)), high), x)
    for g, w in zip(got, want):
        assert g.dtype == w.dtype
        np.testing.assert_array_equal(g, w)


# Remainders, and what is 0 / 0.


@pytest.mark.parametrize("name", ["remainder", "fmod"])
def test_remainders(name):
    f = getattr(torch, name)
    x, y = grid([6.0, -6, 7, -7, 5.5, 0.0], [3.0, -3, 2.75, 1, INF, -INF, 0])
    results, gradients = results_and_gradients(f, [x, y], True)
    want, of_want = results_and_gradients(f, [x, y], False)
    torch.testing.assert_close(results, want, rtol=0, atol=0, equal_nan=True)
    torch.testing.assert_close(gradients, of_want, rtol=1e-14, atol=0, equal_nan=True)
    as_in_torch(f, *grid([NAN, INF, -INF, 1], [NAN, 2]))
    as_in_torch(lambda x: f(x, 3), x)
    as_in_torch(lambda x: x % 2, x)
    x, y = torch.randn(2, 500, dtype=torch.float64, generator=torch.Generator().manual_seed(3))
    as_in_torch(f, x * 50, y)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32])
def test_remainders_of_narrow_floats(dtype):
    x, y = (v.to(dtype) for v in grid([6.0, -6, 7, 5.5, 1000], [3.0, -3, 0.25]))
    for f in (torch.remainder, torch.fmod):
        assert torch.equal(jf.jit(lambda x, y, f=f: f(x, y))(x, y), f(x, y))
        got = jf.grad(lambda x, y, f=f: jf.sum(f(x, y)), argnums=(0, 1))(x, y)
        n = (x.double() - f(x.double(), y.double())) / y.double()
        assert torch.equal(got[0], torch.ones_like(x)) and torch.equal(got[1], (-n).to(dtype))


def test_atan2_at_zero():
    as_in_torch(torch.atan2, *grid([0.0, -0.0, 1, INF, NAN, 1e-200], [0.0, -0.0, 2, -2, INF, 1e-200]))


def test_lgamma_at_its_poles_and_selu_far_below_0():
    as_in_torch(torch.lgamma, tensor(-3, -1, 0, -1.5, 0.5, 2, -INF, INF, NAN))
    x = tensor(-30, -20, -1, 0, 2)
    gradient = jf.grad(lambda x: jf.sum(jf.nn.selu(x)))(x)
    own = x.clone().requires_grad_()
    F.selu(own).sum().backward()
    torch.testing.assert_close(gradient, own.grad, rtol=1e-13, atol=0)


# Rows that are padding.


def test_padding_idx_gets_no_gradient():
    w, i = torch.randn(5, 3, dtype=torch.float64), torch.tensor([[0, 2], [2, 4], [1, 2]])
    for padding_idx in (2, -3, -1, 4, None):
        as_in_torch(lambda i, w: F.embedding(i, w, padding_idx=padding_idx), i, w)
    layer = torch.nn.Embedding(5, 3, padding_idx=2, dtype=torch.float64)
    jf.jit(lambda i: layer(i))(i).sum().backward()
    assert layer.weight.grad[:, 0].tolist() == [1, 1, 0, 0, 1]
    back = jf.grad(lambda w, i: jf.sum(jf.nn.embedding(i, w, padding_idx=4)))(w.numpy(), np.array([-1, -5]))
    assert back[:, 0].tolist() == [1, 0, 0, 0, 0]  # -1 is row 4, and positions may be negative here
    plain, padded = (jf.jit(lambda i, w, p=p: jf.nn.embedding(i, w, padding_idx=p)) for p in (None, 2))
    assert kernels(plain, i.numpy(), w.numpy()) == kernels(padded, i.numpy(), w.numpy()) == (1, 1)


def test_what_embedding_refuses():
    w, i = np.ones((5, 3)), np.array([0, 2])
    with pytest.raises(NotImplementedError, match="scale_grad_by_freq=True, .* is not supported"):
        jf.jit(lambda i, w: jf.nn.embedding(i, w, scale_grad_by_freq=True))(i, w)
    for padding_idx in (5, -6):
        with pytest.raises(ValueError, match=f"padding_idx is {padding_idx}, but weight has 5 rows"):
            jf.jit(lambda i, w: jf.nn.embedding(i, w, padding_idx=padding_idx))(i, w)
    with pytest.raises(ValueError, match="padding_idx is 5, expected a row of 5 or -1 for none"):
        jf.jit(lambda i, w: jf.ops.embedding(i, w, padding_idx=5))(i, w)


# Masked rows.

MASK = torch.tensor([[1, 1, 0, 1, 1], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], dtype=torch.bool)
BIAS = torch.zeros(3, 5, dtype=torch.float64).masked_fill(~MASK, -INF)


def test_attention_of_a_query_that_sees_no_key():
    generator = torch.Generator().manual_seed(5)
    q, k, v = (torch.randn(2, n, 4, dtype=torch.float64, generator=generator) for n in (3, 5, 5))
    as_in_torch(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, MASK), q, k, v)
    as_in_torch(lambda q, k, v, b: F.scaled_dot_product_attention(q, k, v, b), q, k, v, BIAS)
    as_in_torch(lambda q, k, v: F.scaled_dot_product_attention(q, k, v), q, k, v)
    as_in_torch(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), q, k, v)
    low = torch.full((1, 1, 2), -INF, dtype=torch.float64)  # without a mask: scores that are -inf
    as_in_torch(lambda q, k, v: F.scaled_dot_product_attention(q, k, v).detach(), low, torch.ones(1, 3, 2, dtype=torch.float64), v[:1, :3])


def test_attention_scores_of_masked_rows():
    x = torch.randn(2, 3, 5, dtype=torch.float64, generator=torch.Generator().manual_seed(6))

    def own(x, mask):
        scores = x * 0.5 + (torch.zeros_like(x).masked_fill(~mask, -INF) if mask.dtype == torch.bool else mask)
        return torch.ops.aten._safe_softmax(scores, -1)

    for mask in (MASK, BIAS):
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        got, want = jf.fused.fused_attention_score(a, mask, scale=0.5), own(b, mask)
        weights = torch.rand_like(want)
        torch.testing.assert_close(got, want)
        assert (got[:, 1] == 0).all()
        torch.testing.assert_close(torch.autograd.grad(got, a, weights)[0], torch.autograd.grad(want, b, weights)[0])
    assert kernels(jf.fused.fused_attention_score, np.ones((2, 64, 64), np.float32), np.ones((64, 64), np.float32)) == (1, 1)


def test_softmax_of_nothing_but_minus_infinity_is_nan():
    x = torch.stack([BIAS[0], BIAS[1], tensor(INF, 1, 2, INF, 0), tensor(NAN, 1, 2, 3, 4)])
    as_in_torch(lambda x: (torch.softmax(x, 1), torch.log_softmax(x, dim=1)), x)
    as_in_torch(lambda x: torch.logsumexp(x, 1), x)


# Remainders.


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16])
def test_remainders_that_round_to_the_divisor(dtype):
    least = torch.finfo(dtype).smallest_normal * torch.finfo(dtype).eps
    tiny = [least, 1e-40, 1e-20, 1e-10, 1e-6, 1.0, 2.5]
    x, y = torch.meshgrid(torch.tensor([*tiny, *[-t for t in tiny]], dtype=dtype), torch.tensor([3.0, -3, 1.5, -0.75], dtype=dtype), indexing="ij")
    got, quotient = jf.jit(lambda x, y: (x % y, x // y))(x, y)
    wide = (x.double(), y.double()) if dtype is not torch.float64 else (x, y)
    want = torch.from_numpy(np.remainder(*[t.numpy() for t in wide])).to(dtype)
    assert torch.equal(got, want) and torch.equal(got, torch.remainder(x, y))
    assert torch.equal(quotient, torch.floor_divide(x, y))
    assert torch.equal(quotient, torch.from_numpy(np.floor_divide(*[t.numpy() for t in wide])).to(dtype))
    x, y = (t.clone().requires_grad_() for t in (x, y))
    gradients = torch.autograd.grad(jf.jit(lambda x, y: x % y)(x, y), (x, y), torch.full_like(x, 2))
    assert torch.equal(gradients[0], torch.full_like(x, 2)) and torch.equal(gradients[1], -2 * quotient)


# Products that something is added to.


@pytest.mark.parametrize(("beta", "alpha"), [(1, 1), (0, 1), (2, 0.5), (1, 0), (0, 0), (0.0, 3)])
def test_products_that_something_is_added_to(beta, alpha):
    a, b, batch, v, w = (torch.randn(d, dtype=torch.float64) for d in ((3, 4), (4, 2), (5, 3, 4), (4,), (3,)))
    batch2 = torch.randn(5, 4, 2, dtype=torch.float64)
    scales = {"beta": beta, "alpha": alpha}
    for shape in ((3, 2), (2,), (3, 1), ()):
        c = torch.randn(shape, dtype=torch.float64)
        as_in_torch(lambda c, a, b: torch.addmm(c, a, b, **scales), c, a, b)
        as_in_torch(lambda c, a, b: torch.addbmm(c, a, b, **scales), c, batch, batch2)
        as_in_torch(lambda c, a, b: torch.baddbmm(c, batch1=a, batch2=b, **scales), c, batch, batch2)
    for shape in ((3,), (1,), ()):
        as_in_torch(lambda c, a, v: torch.addmv(c, a, v, **scales), torch.randn(shape, dtype=torch.float64), a, v)
    as_in_torch(lambda c, w, v: torch.addr(c, w, v, **scales), torch.randn(4, dtype=torch.float64), w, v)


def test_a_factor_of_0_reads_nothing():
    a, b, c = torch.ones(3, 4), torch.ones(4, 2), torch.full((2,), NAN)
    assert torch.equal(jf.jit(lambda c, a, b: torch.addmm(c, a, b, beta=0))(c, a, b), a @ b)
    assert torch.equal(jf.jit(lambda c, a, b: torch.addmm(c, a, b, alpha=0))(torch.ones(2), a * NAN, b), torch.ones(3, 2))


def test_errors_of_products_that_something_is_added_to():
    a, b = torch.ones(3, 4), torch.ones(4, 2)
    for shape in ((3,), (2, 3, 2), (4, 2)):
        with pytest.raises(ValueError, match="broadcast"):
            jf.jit(lambda c, a, b: torch.addmm(c, a, b))(torch.ones(shape), a, b)
    with pytest.raises(TypeError, match="torch.addmm: expected input, mat1 and mat2"):
        jf.jit(lambda c, a, b: jf.asarray(c).addmm(a))(a, a, b)
