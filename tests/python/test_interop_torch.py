"""torch's functions on traced arrays, and torch tensors in and out."""

import operator

import numpy as np
import pytest

import jitfuse as jf

torch = pytest.importorskip("torch", reason="calls torch's functions, and torch is not installed")
F = torch.nn.functional

torch.manual_seed(0)
X = torch.rand(4, 6, dtype=torch.float64) * 0.8 + 0.1
Y = torch.rand(4, 6, dtype=torch.float64) * 0.8 + 0.1
W = torch.rand(3, 6, dtype=torch.float64)
I = torch.tensor([[0, 5], [2, 1], [3, 3], [4, 0]])

UNARY = (
    "abs absolute acos arccos acosh asin arcsin asinh atan arctan atanh ceil cos cosh erf erfc "
    "exp exp2 expm1 floor isfinite "
    "isinf isnan lgamma log log10 log1p log2 logical_not neg negative positive reciprocal round "
    "rsqrt sigmoid sign signbit sin "
    "sinh sqrt square tan tanh trunc relu selu"
).split()
BINARY = (
    "add atan2 copysign div divide eq floor_divide ge gt hypot le logaddexp lt maximum minimum "
    "mul multiply ne nextafter pow "
    "remainder sub subtract true_divide xlogy fmod"
).split()
FUNCTIONS = {
    "sum": lambda x: torch.sum(x, dim=0), "sum_all": lambda x: torch.sum(x),
    "mean": lambda x: torch.mean(x, dim=-1, keepdim=True), "var": lambda x: torch.var(x, dim=1),
    "std": lambda x: torch.std(x), "var0": lambda x: torch.var(x, 1, correction=0),
    "amax": lambda x: torch.amax(x, dim=1), "max": lambda x: torch.max(x),
    "max_dim": lambda x: torch.max(x, dim=1)[1], "max_pair": lambda x: torch.max(x, Y),
    "argmin": lambda x: torch.argmin(x, dim=1), "any": lambda x: torch.any(x > 0.5, dim=1),
    "all": lambda x: torch.all(x > 0), "logsumexp": lambda x: torch.logsumexp(x, dim=1),
    "cumsum": lambda x: torch.cumsum(x, dim=1), "clamp": lambda x: torch.clamp(x, min=0.2, max=0.5),
    "where": lambda x: torch.where(x > 0.5, x, 0.0), "lerp": lambda x: torch.lerp(x, Y, 0.3),
    "masked_fill": lambda x: torch.masked_fill(x, x > 0.5, 0.0),
    "addcmul": lambda x: torch.addcmul(x, x, Y, value=0.5),
    "addmm": lambda x: torch.addmm(x[:, :3], x, W.T), "matmul": lambda x: torch.matmul(x, W.T),
    "mm": lambda x: torch.mm(x, W.T), "reshape": lambda x: torch.reshape(x, (3, 8)),
    "flatten": lambda x: torch.flatten(x[None], 1), "transpose": lambda x: torch.transpose(x, 0, 1),
    "permute": lambda x: torch.permute(x, (1, 0)), "squeeze": lambda x: torch.squeeze(x[:, :1]),
    "unsqueeze": lambda x: torch.unsqueeze(x, 1), "cat": lambda x: torch.cat([x, Y], dim=1),
    "stack": lambda x: torch.stack([x, Y]), "chunk": lambda x: torch.chunk(x, 4, dim=1)[-1],
    "split": lambda x: torch.split(x, [1, 3])[1], "flip": lambda x: torch.flip(x, (0,)),
    "roll": lambda x: torch.roll(x, 1, 0), "tile": lambda x: torch.tile(x, (2, 1)),
    "tril": lambda x: torch.tril(x), "gather": lambda x: torch.gather(x, 1, I),
    "index_select": lambda x: torch.index_select(x, 1, I[0]),
    "scatter_add": lambda x: torch.scatter_add(x, 1, I, Y[:, :2]),
    "index_add": lambda x: torch.index_add(x, 0, torch.tensor([1, 1]), Y[:2]),
    "zeros_like": lambda x: torch.zeros_like(x) + x,
    "repeat_interleave": lambda x: torch.repeat_interleave(x, 2, dim=0),
    "unbind": lambda x: torch.unbind(x)[2], "outer": lambda x: torch.outer(x[0], x[1]),
    "softmax": lambda x: torch.softmax(x, dim=-1),
    "log_softmax": lambda x: F.log_softmax(x, dim=-1),
    "gelu": lambda x: F.gelu(x, approximate="tanh"),
    "layer_norm": lambda x: F.layer_norm(x, (6,), Y[0], Y[1]), "linear": lambda x: F.linear(x, W),
    "silu": lambda x: F.silu(x), "mse": lambda x: F.mse_loss(x, Y),
    "cross_entropy": lambda x: F.cross_entropy(x, I[:, 0]),
    "dropout": lambda x: F.dropout(x, 0.5, training=False),
    "leaky": lambda x: F.leaky_relu(x - 0.5, 0.2), "glu": lambda x: F.glu(x),
    "embedding": lambda x: F.embedding(I, x.reshape(6, 4)), "pad": lambda x: F.pad(x, (1, 2)),
    "pool": lambda x: F.max_pool1d(x, 2), "batch_norm": lambda x: F.batch_norm(x, Y[0], Y[1]),
    "norm": lambda x: torch.linalg.vector_norm(x, dim=1), "left": lambda x: Y * x + (1 - x) / Y - Y,
    "left_matmul": lambda x: W @ x.T, "rsub": lambda x: torch.rsub(x, 1.0),
    "rounding": lambda x: torch.div(x, 0.3, rounding_mode="floor"),
    "method": lambda x: x.unsqueeze(0).float().double(),
}  # fmt: skip


def same(got, want, what=""):
    assert isinstance(got, torch.Tensor), what
    assert got.shape == want.shape and got.dtype == want.dtype, (
        f"{what}: {got.dtype}{tuple(got.shape)}, expected {want.dtype}{tuple(want.shape)}"
    )
    torch.testing.assert_close(
        got, want, rtol=1e-12, atol=1e-14, equal_nan=True, msg=lambda m: f"{what}: {m}"
    )


def test_unary_functions():
    got = jf.jit(lambda x: {n: getattr(torch, n)(x) for n in UNARY})(X)
    for n in UNARY:
        same(got[n], getattr(torch, n)(X), n)


def test_binary_functions():
    got = jf.jit(lambda x, y: {n: getattr(torch, n)(x, y) for n in BINARY})(X, Y)
    for n in BINARY:
        same(got[n], getattr(torch, n)(X, Y), n)
    got = jf.jit(lambda i: [torch.fmod(i, 3), torch.bitwise_and(i, 1), torch.bitwise_not(i)])(I)
    for g, w in zip(got, [torch.fmod(I, 3), I & 1, ~I]):
        same(g, w)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    same(jf.jit(FUNCTIONS[name])(X), FUNCTIONS[name](X), name)


def test_scalars_and_dtypes():
    x = torch.rand(5)
    same(jf.jit(lambda x: torch.sum(x, dtype=torch.float64))(x), torch.sum(x, dtype=torch.float64))
    same(jf.jit(lambda x: x.to(torch.bfloat16) * 2)(x), x.to(torch.bfloat16) * 2)
    same(jf.jit(lambda x, s: torch.add(x, x, alpha=3) * s)(x, 2.0), torch.add(x, x, alpha=3) * 2.0)
    i = torch.arange(5)
    same(jf.jit(lambda i: i / 2)(i), i / 2)
    same(jf.jit(lambda i: i * 0.5)(i), i * 0.5)


def test_torch_and_numpy_arrays_mix():
    y = np.ones(6)
    same(jf.jit(lambda x, y: x + y)(X, y), X + 1)


B = torch.tensor([[True, False, True], [False, False, False]])


@pytest.mark.parametrize("name", ["max", "min", "amax", "amin"])
def test_extremes_of_bools(name):
    def all_forms(t):
        f = getattr(torch, name)
        forms = [f(t), *(f(t, d, keepdim=k) for d in (0, 1, -1) for k in (False, True))]
        return [r for form in forms for r in (form if isinstance(form, tuple) else (form,))]

    for t in (B, B[0], B.T):
        if t.ndim > 1:
            for got, want in zip(jf.jit(all_forms)(t), all_forms(t), strict=True):
                same(got, want, name)
        same(jf.jit(lambda t: getattr(torch, name)(t))(t), getattr(torch, name)(t), name)


@pytest.mark.parametrize("name", ["max", "min", "amax", "amin", "argmax", "argmin", "sum", "mean", "prod", "logsumexp", "cumsum"])
def test_dims_of_what_has_none(name):
    f = getattr(torch, name)
    for t in (torch.tensor(3.5, dtype=torch.float64), torch.tensor(True)):
        if t.dtype == torch.bool and name in ("argmax", "argmin", "mean", "logsumexp"):
            continue
        for options in ({}, {"keepdim": True}):
            for dim in (0, -1) if name != "cumsum" or not options else ():
                got, want = jf.jit(lambda t: f(t, dim, **options))(t), f(t, dim, **options)
                for g, w in zip(*((r if isinstance(r, tuple) else (r,)) for r in (got, want)), strict=True):
                    same(g, w, name)
        with pytest.raises((ValueError, TypeError), match="rank is 0|no axis"):
            jf.jit(lambda t: f(t, 1))(t)


SCALARS = [torch.tensor(0.3, dtype=d) for d in (torch.float64, torch.float32, torch.bfloat16)]
SCALARS += [torch.tensor(2, dtype=d) for d in (torch.int64, torch.int8, torch.uint8)] + [torch.tensor(True)]
MEETING = (
    "add sub mul div floor_divide remainder fmod maximum minimum pow atan2 hypot copysign logaddexp xlogy eq lt clamp"
).split()


@pytest.mark.parametrize("name", [*MEETING, "where"])
def test_tensors_of_rank_0_do_not_widen_others_of_their_kind(name):
    f = getattr(torch, name)
    mask = torch.tensor([True, False, True])
    count = 0
    for t in [torch.tensor([1.5, 2, 0.25]).to(d) for d in (torch.bfloat16, torch.float32)] + [
        torch.tensor([1, 2, 3], dtype=d) for d in (torch.int16, torch.uint8, torch.bool)
    ]:
        for s in SCALARS:
            if t.dtype == s.dtype == torch.bool and name != "where":
                continue  # arithmetic of bools alone is not there
            calls = [lambda t, s: f(mask, t, s), lambda t, s: f(mask, s, t)] if name == "where" else [f, lambda t, s: f(s, t)]
            for call in calls[: 1 if name == "clamp" else 2]:
                try:
                    want = call(t, s)
                except RuntimeError:  # torch has none of these dtypes
                    continue
                count += 1
                got = jf.jit(call)(t, s)
                assert got.dtype == want.dtype, f"{name}({t.dtype}[3], {s.dtype}[]): {got.dtype}, expected {want.dtype}"
    assert count > 8


OPERATORS = "add sub mul truediv floordiv mod pow".split()


@pytest.mark.parametrize("name", [*OPERATORS, "Tensor.add", "Tensor.remainder"])
def test_operators_of_captured_tensors_promote_alike_in_both_orders(name):
    """Whose operator it is, that of the torch tensor on the left or the traced array's, decides nothing."""
    call = getattr(operator, name, None) or (lambda a, b: getattr(a, name.removeprefix("Tensor."))(b))
    for t in (torch.tensor([1.5, 2, 0.25], dtype=torch.bfloat16), torch.tensor([1, 2, 3], dtype=torch.int16)):
        for s in SCALARS:
            if s.dtype == torch.bool:
                continue  # arithmetic of bools is not there
            dtypes = {}
            for which, f, x in (
                ("s, t with s captured", lambda x: call(s, x), t),
                ("t, s with s captured", lambda x: call(x, s), t),
                ("s, t with t captured", lambda x: call(x, t), s),
                ("t, s with t captured", lambda x: call(t, x), s),
            ):
                dtypes[which] = jf.jit(f)(x).dtype
            both = jf.jit(call)(t, s).dtype
            assert set(dtypes.values()) == {both}, f"{name} of t {t.dtype}[3], s {s.dtype}[]: {dtypes}, both traced {both}"
    if name == "add":
        assert jf.jit(lambda x: SCALARS[0] + x)(torch.ones(3, dtype=torch.bfloat16)).dtype == torch.float64


def test_values_beside_tensors_of_rank_0():
    t, s = torch.tensor([1.5, 2, 0.25], dtype=torch.bfloat16), torch.tensor(0.3)
    same(jf.jit(torch.remainder)(t, s), torch.remainder(t, s))
    same(jf.jit(torch.clamp)(t, s), torch.clamp(t, s))
    same(jf.jit(lambda t: torch.clamp(t, max=s))(t), torch.clamp(t, max=s))  # captured
    same(jf.jit(lambda t, s: torch.masked_fill(t, t > 1, s))(t, s), torch.masked_fill(t, t > 1, s))
    same(jf.jit(lambda t, s: torch.addcmul(t, t, s))(t, s), torch.addcmul(t, t, s))
    same(jf.jit(lambda t: torch.mul(t, 0.5))(t), t * 0.5)


def test_dtypes_of_products_that_something_is_added_to():
    i, f = torch.arange(4).reshape(2, 2), torch.rand(2, 2)
    for factors in ({"alpha": 1.5}, {"beta": 1.5}, {"alpha": 0.5}, {"alpha": 2.0, "beta": -1.5}):
        same(jf.jit(lambda a: torch.addmm(a, a, a, **factors))(i), torch.addmm(i, i, i, **factors), str(factors))
    for given in ((f.double(), f, f), (f, f.double(), f), (f, f, f.bfloat16()), (i, f, f)):
        with pytest.raises(RuntimeError):
            torch.addmm(*given)
        with pytest.raises(TypeError, match="torch.addmm: expected input, mat1 and mat2 of one dtype, got "):
            jf.jit(torch.addmm)(*given)
    assert jf.jit(torch.addr)(f.double(), f[0], f[1]).dtype == torch.addr(f.double(), f[0], f[1]).dtype


def test_dtypes_of_attention_masks():
    q = torch.rand(1, 2, 4, 8)
    call = jf.jit(lambda q, m: F.scaled_dot_product_attention(q, q, q, attn_mask=m))
    for dtype in (torch.int64, torch.uint8, torch.float64, torch.float16):
        with pytest.raises(TypeError, match="expected attn_mask of bool, float32 or query's dtype float32, got"):
            call(q, torch.ones(4, 4, dtype=dtype))
    mask = torch.rand(4, 4)
    torch.testing.assert_close(call(q, mask), F.scaled_dot_product_attention(q, q, q, attn_mask=mask))
    half = q.bfloat16()
    got, want = call(half, mask), F.scaled_dot_product_attention(half, half, half, attn_mask=mask)
    assert got.dtype == want.dtype == torch.bfloat16
    torch.testing.assert_close(got, want, rtol=2e-2, atol=2e-2)


def test_padding_rows_are_rows():
    weight = torch.rand(6, 3)
    for indices in (torch.tensor([1, 5]), torch.empty(0, dtype=torch.int64), torch.tensor(1)):
        for row in (6, -7):
            for dynamic in (None, "all", "none"):
                with pytest.raises(ValueError, match=f"padding_idx is {row}, but weight has 6 rows"):
                    jf.jit(lambda i, w: F.embedding(i, w, padding_idx=row), dynamic=dynamic)(indices, weight)
        same(jf.jit(lambda i, w: F.embedding(i, w, padding_idx=-1))(indices, weight), F.embedding(indices, weight, padding_idx=-1))


@pytest.mark.parametrize(
    "function, message",
    [
        (lambda x: torch.sort(x), "no sorting op"),
        (lambda x: F.conv1d(x[None], x[None]), "convolutions"),
        (lambda x: torch.linalg.svd(x), "does not take traced arrays"),
        (lambda x: torch.add(x, x, out=torch.empty(1)), "out= cannot"),
        (lambda x: torch.special.bessel_j0(x), "does not take traced arrays"),
        (lambda x: torch.logdet(x), "does not take traced arrays"),
        (lambda x: torch.nonzero(x), "depend on values"),
    ],
)
def test_what_is_not_there_names_the_way_out(function, message):
    with pytest.raises(TypeError, match=message):
        jf.jit(function)(X)


@pytest.mark.parametrize(
    "call",
    [
        lambda s, t: s.where(t > 0, t),
        lambda s, t: s.where(t > 0, 0.5),
        lambda s, t: s.where(condition=t > 0, other=t),
        lambda s, t: torch.where(t > 0, s, t),
        lambda s, t: torch.where(t > 0, input=s, other=t),
    ],
)
def test_where_as_a_method_has_its_condition_second(call):
    s, t = torch.tensor([1.0, 0, 3]), torch.tensor([-1.0, 5, 7])
    for got in (jf.jit(call)(s, t), jf.jit(lambda t: call(s, t))(t), jf.jit(lambda s: call(s, t))(s)):
        same(got, call(s, t))


def test_modules_functions_trace():
    """A function written for torch runs as it is."""

    def block(x, w, b):
        h = F.gelu(F.linear(x, w, b))
        return F.layer_norm(h + torch.tanh(h), (h.shape[-1],))

    f = jf.jit(block)
    for n in (4, 2, 3):
        x = torch.rand(n, 6, dtype=torch.float64)
        same(f(x, W, W[:, 0]), block(x, W, W[:, 0]))
    assert f.cache_info().entries == 1


def test_methods_of_torch():
    def f(x):
        h = x.pow(2).mean(dim=-1, keepdim=True).add(1e-5).rsqrt() * x
        top, place = h.max(dim=1)
        return [
            h.softmax(-1), h.sigmoid().unsqueeze(0).expand(2, -1, -1), h.clamp(min=0.2),
            h.exp().log(), h.sum(dim=(0, 1)), h.var(dim=1, unbiased=False), h.var(dim=1), top,
            place, h.to(torch.float32), h.masked_fill(h > 1, 0.0), h.matmul(h.t()), h.any(dim=0),
            h.argmax(dim=1, keepdim=True), h.cumsum(dim=1), h[None].transpose(1, 2).reshape(3, -1),
            h.view(-1), h.std(0, keepdim=True),
        ]  # fmt: skip

    for g, w in zip(jf.jit(f)(X), f(X)):
        torch.testing.assert_close(g, w, rtol=1e-6, atol=1e-7)
    with pytest.raises(TypeError, match="is the matrix in NumPy and exchanges its axes in torch"):
        jf.jit(lambda x: x.transpose(0, 1))(X)
    with pytest.raises(AttributeError, match="no attribute 'frobnicate'"):
        jf.jit(lambda x: x.frobnicate())(X)
    assert not jf.jit(lambda x: 0 if hasattr(x, "__cuda_array_interface__") else None)(X)


def test_modules_and_builtins():
    """An nn.Module is a function; its parameters are captured by reference."""
    nn = torch.nn
    model = nn.Sequential(
        nn.Linear(6, 16),
        nn.GELU(),
        nn.LayerNorm(16),
        nn.Dropout(0.5),
        nn.Linear(16, 3),
        nn.Softmax(-1),
    ).eval()
    f = jf.jit(model)
    with torch.no_grad():
        for n in (4, 2, 7):
            x = torch.rand(n, 6)
            torch.testing.assert_close(f(x), model(x))
        model[0].weight.mul_(2)
        torch.testing.assert_close(f(x), model(x))
    assert f.cache_info().entries == 1
    f(x).sum().backward()
    assert all(p.grad is not None for p in model.parameters())
    torch.testing.assert_close(jf.jit(F.gelu)(x), F.gelu(x))
    torch.testing.assert_close(jf.jit(torch.relu)(x - 0.5), torch.relu(x - 0.5))


def test_numpy_ufuncs_as_functions():
    same(jf.jit(np.tanh)(X), torch.tanh(X))
