"""Gradients of the functions that Python code calls, against torch's autograd in float64, and against finite differences.

Each case is one function, traced by Jitfuse and run by torch; all of a group are one jitted function, which is fewer compilations.
"""

import numpy as np
import pytest

import jitfuse as jf

torch = pytest.importorskip("torch", reason="compares with torch's autograd, and torch is not installed")
F = torch.nn.functional

torch.manual_seed(0)
X = torch.rand(4, 6, dtype=torch.float64) * 0.8 + 0.1  # within every function's domain, and no ties
Y = torch.rand(4, 6, dtype=torch.float64) * 0.8 + 0.1
W = torch.randn(3, 6, dtype=torch.float64)
I = torch.tensor([[0, 5], [2, 1], [3, 3], [4, 0]])
T = torch.tensor([0, 5, 2, 3])

UNARY = (
    "abs acos asin asinh atan atanh ceil cos cosh erf erfc exp exp2 expm1 floor lgamma log log10 log1p log2 neg "
    "positive reciprocal round rsqrt sigmoid sign sin sinh sqrt square tan tanh trunc relu selu"
).split()
BINARY = "add atan2 copysign div hypot logaddexp maximum minimum mul pow sub xlogy fmod remainder".split()
ACTIVATIONS = (
    "celu elu gelu hardshrink hardswish hardtanh leaky_relu mish relu6 silu softplus softshrink softsign tanhshrink"
).split()
REDUCTIONS = {
    "sum": lambda x: torch.sum(x, dim=0), "mean": lambda x: torch.mean(x, dim=1), "prod": lambda x: torch.prod(x, 1),
    "amax": lambda x: torch.amax(x, dim=1), "amin": lambda x: torch.amin(x, dim=0), "var": lambda x: torch.var(x, dim=1),
    "std": lambda x: torch.std(x, dim=0), "logsumexp": lambda x: torch.logsumexp(x, dim=1),
    "norm": lambda x: torch.linalg.vector_norm(x, dim=1), "norm1": lambda x: torch.linalg.vector_norm(x, ord=1, dim=1),
    "cumsum": lambda x: torch.cumsum(x, dim=1), "cumprod": lambda x: torch.cumprod(x, dim=1),
    "logcumsumexp": lambda x: torch.logcumsumexp(x, dim=0), "max": lambda x: torch.max(x), "all": lambda x: torch.sum(x),
}  # fmt: skip
VIEWS = {
    "slice": lambda x: x[1:, ::2], "flip": lambda x: torch.flip(x, (0, 1)), "roll": lambda x: torch.roll(x, 2, 1),
    "tile": lambda x: torch.tile(x, (2, 3)), "repeat": lambda x: torch.repeat_interleave(x, 3, dim=1),
    "reshape": lambda x: torch.reshape(x, (3, 8)), "permute": lambda x: torch.permute(x, (1, 0)),
    "expand": lambda x: torch.broadcast_to(x[:, None], (4, 5, 6)), "cat": lambda x: torch.cat([x, Y, x], dim=1),
    "stack": lambda x: torch.stack([x, 2 * x]), "split": lambda x: torch.split(x, [1, 3])[1], "tril": lambda x: torch.tril(x),
    "pad": lambda x: F.pad(x, (1, 2)), "unbind": lambda x: torch.unbind(x)[2], "row": lambda x: x[-1], "new": lambda x: x[:, None, 2],
}  # fmt: skip
INDEXED = {
    "gather": lambda x: torch.gather(x, 1, I), "index_select": lambda x: torch.index_select(x, 1, I[:, 0]),
    "embedding": lambda x: F.embedding(I, x.reshape(6, 4)), "scatter_add": lambda x: torch.scatter_add(x, 1, I, Y[:, :2]),
    "scatter_added": lambda x: torch.scatter_add(Y, 1, I, x[:, :2]), "index_add": lambda x: torch.index_add(Y, 0, T % 4, x),
    "where": lambda x: torch.where(x > 0.5, x * x, Y), "masked_fill": lambda x: torch.masked_fill(x, x > 0.5, 0.0),
    "max_pool": lambda x: F.max_pool1d(x, 2), "avg_pool": lambda x: F.avg_pool1d(x, 3),
}  # fmt: skip
PRODUCTS = {
    "matmul": lambda x: x @ W.T, "left": lambda x: W @ x.T, "square": lambda x: x @ x.T, "batched": lambda x: torch.stack([x, 2 * x]) @ W.T,
    "linear": lambda x: F.linear(x, W, W[:, 0]), "weight": lambda x: F.linear(Y, x), "addmm": lambda x: torch.addmm(x[:, :3], x, W.T, alpha=2),
    "outer": lambda x: torch.outer(x[0], x[1]), "dot": lambda x: torch.dot(x[0], x[1]), "mv": lambda x: torch.mv(x, W[0]),
    "einsum": lambda x: torch.einsum("ij,kj->ik", x, W),
}  # fmt: skip
LAYERS = {
    "softmax": lambda x: F.softmax(x, dim=-1), "log_softmax": lambda x: F.log_softmax(x, dim=0), "softmin": lambda x: F.softmin(x, dim=1),
    "layer_norm": lambda x: F.layer_norm(x, (6,)), "layer_norm_affine": lambda x: F.layer_norm(x, (6,), Y[0], Y[1]),
    "layer_norm_weight": lambda x: F.layer_norm(Y, (6,), x[0], x[1]), "rms_norm": lambda x: F.rms_norm(x, (6,), Y[0]),
    "batch_norm": lambda x: F.batch_norm(x, Y[0], Y[1], Y[2], Y[3]), "group_norm": lambda x: F.group_norm(x, 3, Y[0], Y[1]),
    "glu": lambda x: F.glu(x), "normalize": lambda x: (jf.nn if isinstance(x, jf.Array) else F).normalize(x, dim=1),
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"),
    "dropout_off": lambda x: F.dropout(x, 0.5, training=False),
    "logsigmoid": lambda x: (jf.nn if isinstance(x, jf.Array) else F).logsigmoid(x),
    "cosine": lambda x: F.cosine_similarity(x, Y, dim=1), "lerp": lambda x: torch.lerp(x, Y, 0.3), "prelu": lambda x: F.prelu(x - 0.5, Y[0]),
}  # fmt: skip
LOSSES = {
    "mse": lambda x: F.mse_loss(x, Y), "l1": lambda x: F.l1_loss(x, Y), "smooth_l1": lambda x: F.smooth_l1_loss(x, Y, beta=0.3),
    "huber": lambda x: F.huber_loss(x, Y, delta=0.2), "cross_entropy": lambda x: F.cross_entropy(x, T),
    "smoothed": lambda x: F.cross_entropy(x, T, label_smoothing=0.1), "sums": lambda x: F.cross_entropy(x, T, reduction="sum"),
    "nll": lambda x: F.nll_loss(F.log_softmax(x, dim=1), T), "bce": lambda x: F.binary_cross_entropy(x, Y),
    "bce_logits": lambda x: F.binary_cross_entropy_with_logits(x, Y), "kl": lambda x: F.kl_div(torch.log(x), Y, reduction="batchmean"),
}  # fmt: skip


def two(name):
    return lambda x: getattr(torch, name)(x, Y) + getattr(torch, name)(Y + 0.1, x)


GROUPS = {
    "unary": {n: (lambda x, n=n: getattr(torch, n)(x)) for n in UNARY},
    "binary": {n: two(n) for n in BINARY},
    "activations": {n: (lambda x, n=n: getattr(F, n)(x * 4 - 2)) for n in ACTIVATIONS},
    "reductions": REDUCTIONS, "views": VIEWS, "indexed": INDEXED, "products": PRODUCTS, "layers": LAYERS, "losses": LOSSES,
}  # fmt: skip


def weights(results):
    """A cotangent for each result."""
    made = np.random.default_rng(5)
    return {n: torch.from_numpy(np.asarray(made.uniform(-1, 1, tuple(r.shape)))) for n, r in results.items()}


@pytest.fixture(params=GROUPS)
def group(request):
    functions = GROUPS[request.param]
    want, cotangents, x = {}, weights({n: f(X) for n, f in functions.items()}), X.clone().requires_grad_()
    for n, f in functions.items():
        y = f(x)
        (want[n],) = torch.autograd.grad(y, x, cotangents[n]) if y.requires_grad else (torch.zeros_like(x),)
    return functions, cotangents, want


def close(got, want, what):
    torch.testing.assert_close(got, want, rtol=1e-9, atol=1e-11, msg=lambda m: f"{what}: {m}")


def test_vjp_against_torch(group):
    functions, cotangents, want = group

    @jf.jit
    def gradients(x, cotangents):
        return {n: jf.vjp(f, x)[1](cotangents[n])[0] for n, f in functions.items()}

    for n, got in gradients(X, cotangents).items():
        close(got, want[n], n)


def test_backward_against_torch(group):
    """The same through torch's autograd: values that are kept, and values that are computed again."""
    functions, cotangents, want = group
    x = X.clone().requires_grad_()
    results = jf.jit(lambda x: {n: f(x) for n, f in functions.items()})(x)
    for n, y in results.items():
        torch.testing.assert_close(y.detach(), functions[n](X), rtol=1e-12, atol=1e-13, msg=lambda m: f"{n}: {m}")
        close(torch.autograd.grad(y, x, cotangents[n], retain_graph=True)[0], want[n], n)


def mlp(params, x):
    for w, b in params[:-1]:
        x = jf.nn.gelu(jf.nn.linear(x, w, b))
    return jf.nn.linear(x, *params[-1])


def attention(q, k, v):
    return jf.nn.softmax(q @ k.T / 6**0.5, -1) @ v


FUNCTIONS = {
    "attention": lambda x: attention(x, x * 0.5, jf.tanh(x)),
    "norm_residual": lambda x: jf.nn.layer_norm(x + jf.nn.gelu(x), (6,)),
    "rope": lambda x: x * jf.cos(x[:, :1]) + jf.concat([-x[:, 3:], x[:, :3]], axis=1) * jf.sin(x[:, :1]),
    "hardsigmoid": lambda x: jf.nn.hardsigmoid(x * 4 - 2),  # torch's has 1/6 as a float32, in float64 too
    "swiglu": lambda x: jf.nn.silu(x[:, :3]) * x[:, 3:],
    "moments": lambda x: (x - jf.mean(x, axis=1, keepdims=True)) / jf.std(x, axis=1, keepdims=True),
    "fused_names": lambda x: jf.ops.leaky_relu(x - 0.5, slope=0.2) + jf.erf(x) * jf.rsqrt(x),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_against_finite_differences(name):
    f, x = FUNCTIONS[name], X.numpy()
    cotangent = np.random.default_rng(3).uniform(-1, 1, jf.jit(f)(x).shape)
    value = jf.jit(lambda x: jf.sum(f(x) * cotangent))
    got, want = jf.grad(lambda x: jf.sum(f(x) * cotangent))(x), np.zeros_like(x)
    for i in np.ndindex(x.shape):
        up, down = x.copy(), x.copy()
        up[i] += 1e-6
        down[i] -= 1e-6
        want[i] = (float(value(up)) - float(value(down))) / 2e-6
    np.testing.assert_allclose(got, want, rtol=1e-6, atol=1e-8)


def test_an_mlp_in_low_precision():
    """Gradients of bfloat16 parameters have their dtype, and torch's accuracy."""
    torch.manual_seed(1)
    params = [(torch.randn(32, 16) * 0.3, torch.randn(32) * 0.1), (torch.randn(4, 32) * 0.3, torch.randn(4) * 0.1)]
    x, t = torch.randn(24, 16), torch.randint(0, 4, (24,))
    own = [tuple(p.double().requires_grad_() for p in layer) for layer in params]
    F.cross_entropy(F.linear(F.gelu(F.linear(x.double(), *own[0])), *own[1]), t).backward()
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.bfloat16, 4e-2)):
        low = [tuple(p.to(dtype) for p in layer) for layer in params]
        got = jf.grad(lambda p, x: jf.nn.cross_entropy(mlp(p, x), t))(low, x.to(dtype))
        for g, o in zip(got, own):
            for a, b in zip(g, o):
                assert a.dtype == dtype
                assert (a.double() - b.grad).abs().max() <= tolerance * b.grad.abs().max()


def test_ties_are_shared_as_in_torch():
    x = torch.tensor([[1.0, 3.0, 3.0], [2.0, 2.0, 2.0]], dtype=torch.float64)
    for f in (lambda x: torch.amax(x, dim=1), lambda x: torch.maximum(x, torch.full_like(x, 2.0)), lambda x: torch.clamp(x, 2.0, 3.0), lambda x: torch.relu(x - 2)):
        own, ours = x.clone().requires_grad_(), x.clone().requires_grad_()
        f(own).sum().backward()
        jf.jit(f)(ours).sum().backward()
        close(ours.grad, own.grad, "ties")
