"""Jitted functions in torch's autograd: gradients of calls on tensors that require grad."""

import gc
import weakref

import numpy as np
import pytest

import jitfuse as jf

torch = pytest.importorskip("torch", reason="tests torch's autograd, and torch is not installed")
F = torch.nn.functional


def draw(*shape, seed=0, dtype=torch.float64, grad=True):
    made = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return made.to(dtype).requires_grad_(grad)


def layer(x, w, b):
    return F.gelu(F.linear(x, w, b), approximate="tanh")


def compare(function, *args, rtol=1e-9, atol=1e-12):
    """Values and gradients of the jitted function against torch's own."""
    own = [a.detach().clone().requires_grad_(a.requires_grad) if isinstance(a, torch.Tensor) else a for a in args]
    got, want = jf.jit(function)(*args), function(*own)
    got, want = (x if isinstance(x, tuple) else (x,) for x in (got, want))
    weights = [draw(*g.shape, seed=i, dtype=g.dtype, grad=False) for i, g in enumerate(want)]
    for g, w in zip(got, want):
        torch.testing.assert_close(g.detach(), w.detach(), rtol=rtol, atol=atol)
    torch.autograd.backward(got, weights)
    torch.autograd.backward(want, weights)
    for a, o in zip(args, own):
        if isinstance(a, torch.Tensor) and a.requires_grad:
            torch.testing.assert_close(a.grad, o.grad, rtol=rtol, atol=atol)
            a.grad = None


def test_a_layer():
    compare(layer, draw(4, 3), draw(5, 3, seed=1), draw(5, seed=2))
    for dtype, tolerance in ((torch.float32, 1e-5), (torch.bfloat16, 3e-2), (torch.float16, 4e-3)):
        compare(layer, draw(4, 3, dtype=dtype), draw(5, 3, seed=1, dtype=dtype), draw(5, seed=2, dtype=dtype), rtol=tolerance, atol=tolerance)


def test_only_what_requires_grad():
    x, w, b = draw(4, 3, grad=False), draw(5, 3, seed=1), draw(5, seed=2, grad=False)
    f = jf.jit(layer)
    y = f(x, w, b)
    assert y.requires_grad and y.grad_fn.name() == "JitfuseFunctionBackward"
    y.sum().backward()
    assert x.grad is None and b.grad is None and w.grad is not None
    assert not f(x, w.detach(), b).requires_grad
    w.grad = None
    compare(layer, x, w, b)
    compare(layer, x, w.detach(), draw(5, seed=2))
    with torch.no_grad():
        assert not f(x, w, b).requires_grad
    with torch.inference_mode():
        assert not f(x, w, b).requires_grad
    assert f.cache_info().entries == 1


def test_in_the_middle_of_a_graph():
    x, w = draw(4, 3), draw(3, 5, seed=1)
    f = jf.jit(lambda x, w: torch.tanh(x @ w))
    for call in (f, lambda x, w: torch.tanh(x @ w)):
        x.grad = w.grad = None
        h = call(x * 2, w.exp())
        (call(h, w.T.sin()).square().sum() + h.sum()).backward()
        got = (x.grad, w.grad) if call is f else got  # noqa: F821
    torch.testing.assert_close(got[0], x.grad)
    torch.testing.assert_close(got[1], w.grad)


def test_several_outputs():
    def f(x, y):
        return x * y, torch.sum(x, dim=0), torch.exp(y)

    compare(f, draw(4, 3), draw(4, 3, seed=1))
    x, y = draw(4, 3), draw(4, 3, seed=1)
    product, total, _ = jf.jit(f)(x, y)
    product.sum().backward(retain_graph=True)  # the others get no cotangent
    torch.testing.assert_close(x.grad, y)
    x.grad = None
    total.sum().backward()
    torch.testing.assert_close(x.grad, torch.ones_like(x))


def test_nests_and_outputs_without_gradients():
    def f(params, x):
        y = x @ params["w"]
        return {"y": y, "best": jf.argmax(y, axis=1), "positive": y > 0, "name": "f", "same": (y, y)}

    w, x = draw(3, 5), draw(4, 3, seed=1)
    out = jf.jit(f)({"w": w}, x)
    assert not out["best"].requires_grad and out["best"].dtype == torch.int64
    assert not out["positive"].requires_grad and out["name"] == "f"
    (out["y"].sum() + 2 * out["same"][0].sum() + 3 * out["same"][1].sum()).backward()
    torch.testing.assert_close(w.grad, 6 * x.detach().sum(0)[:, None].expand(3, 5))
    only = jf.jit(lambda x: jf.argmax(x, axis=0))(x)
    assert only.dtype == torch.int64 and not only.requires_grad


def test_modules_and_parameters():
    torch.manual_seed(0)
    nn = torch.nn
    model = nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.LayerNorm(16), nn.Linear(16, 3))
    f = jf.jit(model)
    x, t = torch.rand(8, 6), torch.randint(0, 3, (8,))
    F.cross_entropy(f(x), t).backward()
    got = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    F.cross_entropy(model(x), t).backward()
    for g, p in zip(got, model.parameters()):
        torch.testing.assert_close(g, p.grad, rtol=1e-5, atol=1e-6)


def test_a_training_loop():
    torch.manual_seed(0)
    x = torch.rand(64, 4)
    t = (x @ torch.tensor([1.0, -2.0, 0.5, 3.0]))[:, None]
    model = torch.nn.Sequential(torch.nn.Linear(4, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1))
    loss = jf.jit(lambda x, t: F.mse_loss(model(x), t))
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    values = []
    for step in range(150):
        optimizer.zero_grad()
        value = loss(x[: 64 - step % 3], t[: 64 - step % 3])
        value.backward()
        optimizer.step()
        values.append(value.item())
    assert values[-1] < values[0] / 50
    assert loss.cache_info().entries == 1


FUNCTIONS = {
    "softmax": lambda x: F.softmax(x, dim=-1), "layer_norm": lambda x: F.layer_norm(x, (6,)),
    "reductions": lambda x: torch.logsumexp(x, dim=1) * torch.mean(x, dim=1) + torch.amax(x, dim=1),
    "views": lambda x: torch.cat([x[:, ::2], torch.flip(x, (0,))[:, :2]], dim=1).T,
    "matmul": lambda x: x @ x.T, "indices": lambda x: x[1] * torch.index_select(x, 0, torch.tensor([0, 0, 2])),
    "scan": lambda x: torch.cumsum(torch.tanh(x), dim=1), "two": lambda x: (torch.sin(x), torch.sum(x * x)),
    "scalar": lambda x: torch.sum(torch.exp(x)), "std": lambda x: torch.std(x, dim=0),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONS)
def test_gradcheck(name):
    """Finite differences, second derivatives too; a transposed argument as well."""
    f = jf.jit(FUNCTIONS[name])
    assert torch.autograd.gradcheck(f, draw(4, 6))
    assert torch.autograd.gradgradcheck(f, draw(4, 6))
    assert torch.autograd.gradcheck(f, draw(6, 4, seed=1, grad=False).T.requires_grad_())


def test_gradcheck_of_several_arguments():
    args = (draw(4, 3), draw(5, 3, seed=1), draw(5, seed=2))
    assert torch.autograd.gradcheck(jf.jit(layer), args)
    assert torch.autograd.gradgradcheck(jf.jit(layer), args)
    assert torch.autograd.gradcheck(jf.jit(lambda x, s: x * s), (draw(3), 2.0))


def test_dropout_draws_one_mask():
    x = torch.ones(200, 50, requires_grad=True)
    f = jf.jit(lambda x: F.dropout(x * 3, 0.4, training=True))
    first, second = f(x), f(x)
    assert 0.3 < (first == 0).float().mean() < 0.5
    assert not torch.equal(first, second)
    first.backward(torch.ones_like(x), retain_graph=True)
    torch.testing.assert_close(x.grad, first.detach())  # 3 / (1 - p) where it keeps
    x.grad = None
    second.backward(torch.ones_like(x))
    torch.testing.assert_close(x.grad, second.detach())
    x.grad = None
    first.backward(torch.ones_like(x))  # again, after others have drawn
    torch.testing.assert_close(x.grad, first.detach())
    torch.manual_seed(3)
    with_grad = f(x)
    torch.manual_seed(3)
    assert torch.equal(f(x.detach()), with_grad)  # the same numbers as without grad
    grad = torch.autograd.grad((f(x) ** 3).sum(), x, create_graph=True)[0]
    y = f(x.detach())
    assert grad.requires_grad and y.shape == grad.shape


def test_dropout_in_second_derivatives():
    x = torch.linspace(1, 2, 400, dtype=torch.float64, requires_grad=True)
    y = jf.jit(lambda x: F.dropout(x**3, 0.5, training=True))(x)
    kept = (y.detach() != 0).double() * 2
    first = torch.autograd.grad(y.sum(), x, create_graph=True)[0]
    torch.testing.assert_close(first.detach(), kept * 3 * x.detach() ** 2)
    second = torch.autograd.grad(first.sum(), x)[0]
    torch.testing.assert_close(second, kept * 6 * x.detach())


@pytest.mark.parametrize("name", ["tanh between", "linear"])
def test_random_numbers_in_second_derivatives_of_results(name):
    """With a value from inside that is kept, and without."""
    w = draw(6, 5, seed=1, grad=False)
    body = {"tanh between": lambda x: F.dropout(torch.tanh(F.dropout(x, 0.3, training=True)), 0.5, training=True), "linear": lambda x: F.dropout(x @ w, 0.5, training=True) ** 2}
    f = jf.jit(body[name])

    def seeded(x):
        with jf.random.seeded(3):
            return f(x * 1.1)

    assert torch.autograd.gradgradcheck(seeded, draw(4, 6))


def test_second_derivatives():
    x = draw(5)
    y = jf.jit(lambda x: torch.sum(x**4))(x)
    first = torch.autograd.grad(y, x, create_graph=True)[0]
    second = torch.autograd.grad(first.sum(), x, create_graph=True)[0]
    third = torch.autograd.grad(second.sum(), x)[0]
    torch.testing.assert_close(first, 4 * x**3)
    torch.testing.assert_close(second, 12 * x**2)
    torch.testing.assert_close(third, 24 * x.detach())
    model = torch.nn.Sequential(torch.nn.Linear(5, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1)).double()
    f = jf.jit(model)
    got = []
    for call in (f, model):  # a gradient penalty
        model.zero_grad()
        slope = torch.autograd.grad(call(x[None]).sum(), x, create_graph=True)[0]
        slope.square().sum().backward()
        got.append([p.grad.clone() for p in model.parameters() if p.grad is not None])
    for a, b in zip(*got):
        torch.testing.assert_close(a, b)


def middle(function, *args):
    """Second and third derivatives where the arguments are results of other operations."""
    jitted = jf.jit(function)
    found = []
    for call in (jitted, function):
        own = [a.detach().clone().requires_grad_() for a in args]
        sizes = []
        with torch.autograd.graph.saved_tensors_hooks(lambda t: sizes.append(t.numel()) or t, lambda t: t):
            inside = [a.sin() for a in own]
            before = len(sizes)
            y = call(*inside)
            saved = sum(sizes[before:])
        weight = draw(*y.shape, seed=7, dtype=y.dtype)
        first = torch.autograd.grad(y, own, weight, create_graph=True)
        second = torch.autograd.grad(sum((g * g).sum() for g in first), [*own, weight], create_graph=True, allow_unused=True)
        third = torch.autograd.grad(sum((g * g).sum() for g in second if g is not None), own)
        found.append((first, second, third, saved))
    for got, want in zip(found[0][:3], found[1][:3]):
        for g, w in zip(got, want):
            torch.testing.assert_close(0 * args[0] if g is None else g, 0 * g if w is None else w)
    return found[0][3], found[1][3]


def norm(x):
    if not isinstance(x, torch.Tensor):
        return F.layer_norm(x, (6,))
    centred = x - x.mean(-1, keepdim=True)  # the third derivative of torch's own is wrong
    return centred / torch.sqrt(centred.square().mean(-1, keepdim=True) + 1e-5)


SECOND = {
    "tanh": (lambda x: torch.tanh(x), 1), "softmax": (lambda x: F.softmax(x, dim=-1), 1), "exp": (lambda x: torch.exp(x) * 2, 1),
    "sigmoid": (lambda x: torch.sigmoid(x), 1), "square": (lambda x: x * x, 1), "norm": (norm, 1),
    "product": (lambda x, y: torch.tanh(x @ y.T), 2), "bias": (lambda x, y: F.gelu(x @ y.T) @ y + y.sum(), 2), "sum": (lambda x: torch.sum(torch.tanh(x), dim=0), 1),
    "linear": (lambda x, y: x * 3 + torch.sum(y, dim=0), 2),
}  # fmt: skip


@pytest.mark.parametrize("name", SECOND)
def test_second_derivatives_in_the_middle_of_a_graph(name):
    function, count = SECOND[name]
    middle(function, *[draw(4, 6, seed=i) for i in range(count)])


def test_second_derivatives_cost_first_ones_nothing_where_outputs_do():
    """As torch: of tanh and softmax the result is kept, and of what is linear nothing."""
    for name in ("tanh", "softmax"):
        own, torchs = middle(SECOND[name][0], draw(4, 6))
        assert own == torchs == 24
    assert middle(lambda x: x * 3, draw(4, 6))[0] == 0


def test_arguments_that_only_second_derivatives_read():
    """They are saved by torch: hooks see them, and a change in place is an error where it matters."""
    f = jf.jit(lambda x, w, b: F.gelu(F.linear(x, w, b)) @ w)  # keeps linear's result, and not b
    args = [draw(4, 3), draw(5, 3, seed=1), draw(5, seed=2)]
    x, w, b = inside = [a * 1.5 for a in args]
    sizes = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: sizes.append(tuple(t.shape)) or t, lambda t: t):
        f(*inside)
    y = f(x, w, b)
    kept = (5,) in sizes
    assert kept
    with torch.no_grad():
        b.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        torch.autograd.grad(y.sum(), args, create_graph=True)
    if not hasattr(torch._C._autograd.SavedTensor, "unpack"):  # torch 2.11 unpacks all or none
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            torch.autograd.grad(y.sum(), args)
        return
    got = torch.autograd.grad(y.sum(), args)  # does not read b
    want = torch.autograd.grad((F.gelu(F.linear(args[0] * 1.5, args[1] * 1.5, args[2] * 1.5)) @ (args[1] * 1.5)).sum(), args)
    for g, v in zip(got, want):
        torch.testing.assert_close(g, v)


def test_a_second_backward_needs_the_graph_kept():
    f = jf.jit(lambda x, w, b: F.gelu(F.linear(x, w, b)) @ w)
    y = f(*[a * 1.5 for a in (draw(4, 3), draw(5, 3, seed=1), draw(5, seed=2))])
    y.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.sum().backward()


def test_second_derivatives_of_custom_gradients():
    @jf.custom_gradient
    def cube(x):
        return x**3, lambda g: g * 3 * x**2

    x = draw(5)
    first = torch.autograd.grad(jf.jit(cube)(x).sum(), x, create_graph=True)[0]
    torch.testing.assert_close(first.detach(), 3 * x.detach() ** 2)
    torch.testing.assert_close(torch.autograd.grad(first.sum(), x)[0], 6 * x.detach())

    hidden = jf.jit(lambda x, w: cube(F.gelu(x @ w)) @ w)  # keeps what is neither argument nor output
    w = draw(5, 5, seed=1)
    y = hidden(x[None], w)
    with pytest.raises(RuntimeError, match="no second derivatives .*custom gradient.*jitfuse.grad"):
        torch.autograd.grad(y.sum(), x, create_graph=True)
    torch.autograd.grad(y.sum(), x)


def test_gradients_by_jitfuse_inside():
    """jitfuse.grad of a tensor that requires grad is differentiated by torch."""
    x = draw(5)
    slope = jf.jit(lambda x: jf.grad(lambda y: jf.sum(y**3))(x) * x)(x)
    slope.sum().backward()
    torch.testing.assert_close(x.grad, 9 * x.detach() ** 2)
    x.grad = None
    jf.grad(lambda y: jf.sum(y**3))(x).sum().backward()
    torch.testing.assert_close(x.grad, 6 * x.detach())


@pytest.mark.parametrize("grad", [False, True])
def test_tangents_of_forward_mode_are_not_lost_in_silence(grad):
    fwd = torch.autograd.forward_ad
    f = jf.jit(lambda x, y: x * y)
    x, y = draw(5, grad=grad), draw(5, seed=1, grad=False)
    captured = jf.jit(lambda y: y * held)
    with fwd.dual_level():
        dual = held = fwd.make_dual(x, torch.ones_like(x))
        for _ in range(2):  # the first call and a known one
            for call, name in ((lambda: f(dual, y), "0 'x'"), (lambda: f(y, dual), "1 'y'"), (lambda: captured(y), "")):
                with pytest.raises(ValueError, match=rf"argument {name}.* has a tangent of torch.autograd.forward_ad.*jitfuse.grad"):
                    call()
            torch.testing.assert_close(f(x, y), x * y)  # what has no tangent is as ever
        primal = fwd.unpack_dual(dual).primal
        torch.testing.assert_close(f(primal, y), x * y)
    torch.testing.assert_close(f(x, y), x * y)


def test_changes_in_place_are_noticed():
    x = draw(5)
    h = x * 2
    y = jf.jit(lambda h: h * h)(h)
    h.add_(1)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    y = jf.jit(lambda x: x * x)(x)
    y.sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.sum().backward()


def test_other_arguments():
    """NumPy arrays, numbers and strided tensors beside those that require grad."""
    x, n = draw(4, 3), np.arange(12.0).reshape(4, 3)
    y = jf.jit(lambda n, x, s: n * x * s)(n, x, 2.0)
    assert isinstance(y, torch.Tensor)
    y.sum().backward()
    torch.testing.assert_close(x.grad, torch.from_numpy(2 * n))
    base = draw(3, 8)
    part = base[:, ::2]
    jf.jit(lambda x: x * x)(part).sum().backward()
    want = torch.zeros_like(base)
    want[:, ::2] = 2 * part.detach()
    torch.testing.assert_close(base.grad, want)
    zero = jf.jit(lambda x: torch.sum(x))(torch.zeros(0, 3, requires_grad=True))
    zero.backward()


def odd_cotangents(*shape):
    """Tensors of that shape that are not simply rows in memory."""
    size = int(np.prod(shape))
    yield torch.tensor(2.0, dtype=torch.float64).expand(shape)
    yield draw(shape[-1], grad=False).expand(shape)
    yield draw(*shape[::-1], grad=False).T
    yield draw(size, grad=False).as_strided(shape, (1, 1))  # overlaps itself
    yield draw(shape[0], 2 * shape[1], grad=False)[:, ::2]
    yield torch.randn(shape, dtype=torch.complex128).conj().imag  # has the negative bit
    yield torch._efficientzerotensor(shape, dtype=torch.float64)  # has no memory
    yield draw(*shape, grad=False).to_sparse()


@pytest.mark.parametrize("name", ["tanh", "softmax", "product", "linear"])
def test_cotangents_of_any_layout(name):
    function, count = SECOND[name]
    args = [draw(4, 6, seed=i) for i in range(count)]
    got, want = jf.jit(function)(*args), function(*args)
    for i, ct in enumerate(odd_cotangents(*got.shape)):
        dense = ct.to_dense().clone() if ct.layout is torch.sparse_coo else ct.resolve_neg() + 0
        for create in (False, True):
            first = torch.autograd.grad(got, args, ct, retain_graph=True, create_graph=create)
            expected = torch.autograd.grad(want, args, dense, retain_graph=True)
            for g, w in zip(first, expected):
                torch.testing.assert_close(g, w, msg=lambda m: f"cotangent {i}, create_graph={create}: {m}")


def test_what_results_do_not_depend_on_has_zeros():
    x, y = draw(3), draw(3, seed=1)
    jf.jit(lambda x, y: x * 2)(x, y).sum().backward()
    assert torch.equal(y.grad, torch.zeros(3, dtype=torch.float64))


def test_checkpoints():
    """A second forward run draws the same numbers, from torch's generator and from a seeded stream."""
    from torch.utils.checkpoint import checkpoint

    f = jf.jit(lambda x: F.dropout(torch.tanh(x) * 2, 0.5, training=True))

    def seeded(x):
        with jf.random.seeded(7):
            return f(x)

    x = draw(50, 40)
    for function in (f, seeded):
        for reentrant in (False, True):
            x.grad = None
            y = checkpoint(function, x, use_reentrant=reentrant)
            torch.rand(3)  # the generator has moved on
            f(x)
            y.sum().backward()
            torch.testing.assert_close(x.grad, (y.detach() != 0).double() * 4 * (1 - torch.tanh(x.detach()) ** 2))


def test_jacobians_of_torch_autograd():
    f = jf.jit(lambda x: torch.tanh(x))
    x = draw(4)
    jacobian = torch.autograd.functional.jacobian(f, x.detach())
    torch.testing.assert_close(jacobian, torch.diag(1 - torch.tanh(x.detach()) ** 2))


OPTIONS = {
    "device": ["auto", "cpu", "interpret"], "numerics": ["default", "fast"], "fuse": [True, False], "rewrite": [False], "use_gemm_library": [False],
    "verify": [2], "verify_action": ["fallback"], "autotune": [True],
    "background": [True], "specialize_after": [1], "dynamic": [None, "all", "none"], "static_argnums": [()], "static_argnames": [()],
}  # fmt: skip


def test_every_option_of_jit():
    """Also of the functions behind a recorded call, and those of second derivatives."""
    import inspect

    assert set(OPTIONS) == set(inspect.signature(jf.jit).parameters) - {"function"}
    x = draw(4, 3)
    for name, values in OPTIONS.items():
        for value in values:
            f = jf.jit(lambda x: torch.tanh(x) @ x.T, **{name: value})
            slope = torch.autograd.grad(f(x).sum(), x, create_graph=True)[0]
            want = torch.autograd.grad((torch.tanh(x) @ x.T).sum(), x, create_graph=True)[0]
            torch.testing.assert_close(slope, want, msg=lambda m: f"{name}={value}: {m}")
            torch.testing.assert_close(torch.autograd.grad(slope.sum(), x)[0], torch.autograd.grad(want.sum(), x)[0])


def test_recorded_calls_are_verified():
    f = jf.jit(lambda x: torch.softmax(x, dim=1), verify=1)
    f(draw(4, 8)).sum().backward()
    assert len(f.verify_report()) == 2  # forward and backward


def test_out_is_refused():
    x = draw(3)
    f = jf.jit(lambda x: x * 2)
    out = torch.empty(3, dtype=torch.float64)
    for _ in range(2):  # the first call, and one whose entry is known
        with pytest.raises(ValueError, match=r"out= cannot be given where an argument requires grad"):
            f(x, out=out)
        f(x.detach())
    with torch.no_grad():
        assert f(x, out=out) is out


def test_out_counts_as_a_change_in_place():
    graph = jf.Graph.parse("graph f(%x: f64[3]) -> (f64[3]) {\n  %0 = exp(%x) : f64[3]\n  return %0\n}\n")
    compiled = jf.jit(lambda x: x * 2).lower(torch.zeros(3, dtype=torch.float64)).compile()
    pair = jf.jit(lambda x: (x, x * 2))
    known = jf.jit(lambda x: x * 2)
    known(torch.zeros(3, dtype=torch.float64))
    for write in (jf.jit(lambda x: x * 2), known, jf.elementwise("y = tanh(x)"), graph.run, compiled, lambda x, out: pair(x, out=(x.clone(), out))):
        x, kept = draw(3), torch.full((3,), 5.0, dtype=torch.float64)
        z = (x * kept).sum()
        write(torch.zeros(3, dtype=torch.float64), out=kept[:])  # a view has its base's version
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            z.backward()
    with torch.inference_mode():
        out = torch.empty(3, dtype=torch.float64)  # has no version
        assert known(torch.ones(3, dtype=torch.float64), out=out).tolist() == [2.0, 2.0, 2.0]


def test_what_is_compiled_by_hand_records_too():
    x = draw(3)
    lowered = jf.jit(lambda x: x * x).lower(x)
    assert "multiply" in lowered.explain() or "square" in lowered.explain()
    lowered.compile()(x).sum().backward()
    torch.testing.assert_close(x.grad, 2 * x.detach())
    graph = jf.Graph.parse("graph f(%x: f64[3]) -> (f64[3]) {\n  %0 = exp(%x) : f64[3]\n  return %0\n}\n")
    with pytest.raises(ValueError, match=r"'x' requires grad: call it under torch.no_grad\(\)"):
        graph.run(x)


def test_nothing_is_kept_when_the_graph_goes():
    f = jf.jit(lambda x: torch.tanh(x) * torch.exp(x))
    x = draw(1000)
    f(x).sum().backward()
    y = f(x)
    alive = weakref.ref(y)
    del y
    gc.collect()
    assert alive() is None


def test_threads_and_hooks():
    from concurrent.futures import ThreadPoolExecutor

    f = jf.jit(layer)

    def one(seed):
        x, w, b = draw(4, 3, seed=seed), draw(5, 3, seed=1), draw(5, seed=2)
        f(x, w, b).sum().backward()
        return x.grad, w.grad

    want = [one(i) for i in range(8)]
    with ThreadPoolExecutor(4) as pool:
        for (a, b), (c, d) in zip(pool.map(one, range(8)), want):
            assert torch.equal(a, c) and torch.equal(b, d)
    sizes = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: sizes.append(t.numel()) or t, lambda t: t):
        f(draw(4, 3), draw(5, 3), draw(5))
    assert sizes


def test_a_norm_keeps_two_numbers_a_row():
    kept = []
    f = jf.jit(lambda x: F.layer_norm(x, (64,)))
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(tuple(t.shape)) or t, lambda t: t):
        f(draw(8, 64))
    assert sorted(kept)[-1] == (8, 64) and sum(np.prod(s) for s in kept) <= 8 * 64 + 16
