"""jitfuse.torch with gradients: against torch.nn's own modules and finite differences; dropout, autocast, DistributedDataParallel,
checkpoints, training of the digits."""

import copy
import importlib.util
import pathlib

import pytest

import jitfuse as jf

torch = pytest.importorskip("torch", reason="the modules are torch's, and torch is not installed")
from torch import nn  # noqa: E402

import jitfuse.torch as jt  # noqa: E402

EXAMPLE = pathlib.Path(__file__).resolve().parents[2] / "examples" / "train_mlp.py"


@pytest.fixture(autouse=True)
def seed():
    torch.manual_seed(0)


def close(got, want, eps=2.0**-52, factor=256):
    torch.testing.assert_close(got, want, rtol=factor * eps, atol=factor * eps * max(1.0, float(want.abs().max())))


def gradients(module, x, weight):
    """The gradients of sum(module(x) * weight): of x and of the parameters."""
    x = x.detach().clone().requires_grad_()
    module.zero_grad()
    (module(x) * weight).sum().backward()
    return [x.grad, *[p.grad.clone() for p in module.parameters()]]


def pair(activation=nn.GELU, dtype=torch.float64):
    plain = nn.Sequential(nn.Linear(6, 9), activation(), nn.Linear(9, 5), activation(), nn.Linear(5, 3)).to(dtype)
    return plain, jt.FusedMLP.from_sequential(copy.deepcopy(plain))


def of_jitfuse(module, x):
    """That the gradient is no plain torch's."""
    assert module.why_plain(x) is None
    name = type(module(x).grad_fn).__name__
    assert "Backward0" not in name, name


@pytest.mark.parametrize("activation", [nn.ReLU, nn.GELU, nn.SiLU, nn.Tanh, nn.Sigmoid, nn.Mish, nn.ELU, nn.LeakyReLU, nn.Hardswish])
def test_gradients_are_those_of_torch(activation):
    plain, mlp = pair(activation)
    for shape in ((7, 6), (2, 4, 6), (6,), (1, 6)):
        x, weight = torch.randn(shape, dtype=torch.float64), torch.randn(*shape[:-1], 3, dtype=torch.float64)
        for got, want in zip(gradients(mlp, x, weight), gradients(plain, x, weight)):
            close(got, want)
    of_jitfuse(mlp, torch.randn(7, 6, dtype=torch.float64))


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_gradients_in_other_dtypes(dtype):
    plain, mlp = pair(nn.SiLU, dtype)  # not relu, whose slope jumps where rounding moves a sign
    x, weight = torch.randn(7, 6, dtype=dtype), torch.randn(7, 3, dtype=dtype)
    wide = gradients(copy.deepcopy(plain).double(), x.double(), weight.double())
    for got, want in zip(gradients(mlp, x, weight), wide):
        assert got.dtype is dtype
        close(got.double(), want, torch.finfo(dtype).eps, 32)


def test_gradcheck():
    module = jt.FusedLinear(5, 4, "tanh", dtype=torch.float64)
    x = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda x, w, b: torch.func.functional_call(module, {"weight": w, "bias": b}, (x,)), (x, module.weight, module.bias))


def test_without_bias_frozen_and_no_input_gradient():
    linear = nn.Linear(5, 4, bias=False)
    module = jt.FusedLinearReLU.from_linear(linear)
    x = torch.randn(3, 5)
    module(x).sum().backward()
    want = torch.autograd.grad(torch.relu(x @ linear.weight.T).sum(), linear.weight)[0]
    close(linear.weight.grad, want, 2.0**-23, 8)
    frozen = jt.FusedMLP([5, 4, 3])
    frozen.layers[0].requires_grad_(False)
    frozen(x).sum().backward()
    assert all(p.grad is None for p in frozen.layers[0].parameters())
    assert all(p.grad is not None for p in frozen.layers[1].parameters())


def test_gradients_accumulate_and_hooks_of_parameters_fire():
    module, x, seen = jt.FusedLinearReLU(5, 4), torch.randn(3, 5), []
    module.weight.register_hook(lambda g: seen.append("hook") or g * 2)
    module.weight.register_post_accumulate_grad_hook(lambda p: seen.append("accumulated"))
    module(x).sum().backward()
    first = module.weight.grad.clone()
    module(x).sum().backward()
    close(module.weight.grad, 2 * first, 2.0**-23, 4)
    assert seen == ["hook", "accumulated"] * 2
    handle = module.register_full_backward_hook(lambda m, gi, go: seen.append("module"))
    module(x.requires_grad_()).sum().backward()
    handle.remove()
    assert "module" in seen


# Dropout.


@pytest.mark.parametrize("activation", [None, "relu", "gelu"])
def test_dropout_has_one_mask_forward_and_backward(activation):
    module = jt.FusedLinear(8, 32, activation, dtype=torch.float64, dropout=0.5)
    x = torch.randn(40, 8, dtype=torch.float64)
    torch.manual_seed(3)
    got = gradients(module, x, torch.ones(40, 32, dtype=torch.float64))
    torch.manual_seed(3)
    with torch.no_grad():
        result, whole = module(x), copy.deepcopy(module).eval()(x)
    mask = torch.where(whole == 0, 0.0, result / whole).round(decimals=6)  # 0 or 2
    assert set(mask.unique().tolist()) == {0.0, 2.0}
    want = gradients(copy.deepcopy(module).eval(), x, mask)
    for g, w in zip(got, want):
        close(g, w)


@pytest.mark.parametrize("p", [0.0, 1.0])
def test_dropout_of_nothing_and_of_all(p):
    module = jt.FusedLinearReLU(8, 32, dropout=p)
    x = torch.randn(10, 8)
    got = gradients(module, x, torch.ones(10, 32))
    if p == 1.0:
        assert not any(g.any() for g in got)
    else:
        for g, w in zip(got, gradients(copy.deepcopy(module).eval(), x, torch.ones(10, 32))):
            close(g, w, 2.0**-23, 4)


def test_dropout_of_the_functions_too():
    x = torch.randn(30, 16, dtype=torch.float64, requires_grad=True)
    with jf.random.seeded(5):
        y = jf.fused.fused_bias_dropout_add(x, None, x, p=0.25)
    y.sum().backward()
    with jf.random.seeded(5):
        mask = jf.fused.fused_dropout(torch.ones(30, 16, dtype=torch.float64), p=0.25)
    close(x.grad, mask + 1)


@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoint_draws_the_same_mask(reentrant):
    from torch.utils.checkpoint import checkpoint

    mlp, x = jt.FusedMLP([8, 32, 4], "gelu", dropout=0.5, dtype=torch.float64), torch.randn(9, 8, dtype=torch.float64)
    torch.manual_seed(2)
    want = gradients(mlp, x, 1.0)
    torch.manual_seed(2)
    got = gradients_of(lambda x: checkpoint(mlp, x, use_reentrant=reentrant), mlp, x)
    for g, w in zip(got, want):
        close(g, w)


def gradients_of(function, module, x):
    x = x.detach().clone().requires_grad_()
    module.zero_grad()
    function(x).sum().backward()
    return [x.grad, *[p.grad.clone() for p in module.parameters()]]


# Autocast.


def test_autocast_trains():
    plain, mlp = pair(nn.SiLU, torch.float32)
    x, weight = torch.randn(7, 6), torch.randn(7, 3)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        y, want_y = mlp(x), plain(x)
        assert y.dtype is torch.bfloat16
    (y.float() * weight).sum().backward()
    (want_y.float() * weight).sum().backward()
    for g, w in zip(mlp.parameters(), plain.parameters()):
        assert g.grad.dtype is torch.float32
        close(g.grad, w.grad, 2.0**-8, 8)


# Others that look at modules.


def test_distributed_data_parallel(tmp_path):
    torch.distributed.init_process_group("gloo", init_method=f"file://{tmp_path}/rendezvous", rank=0, world_size=1)
    try:
        plain, mlp = pair()
        both = nn.parallel.DistributedDataParallel(mlp)
        x, weight, seen = torch.randn(7, 6, dtype=torch.float64), torch.randn(7, 3, dtype=torch.float64), []

        def hook(state, bucket):
            seen.append(bucket.buffer().numel())
            future = torch.futures.Future()
            future.set_result(bucket.buffer())
            return future

        both.register_comm_hook(None, hook)
        for _ in range(2):
            for got, want in zip(gradients(both, x, weight), gradients(plain, x, weight)):
                close(got, want)
        assert sum(seen) == 2 * sum(p.numel() for p in plain.parameters())
    finally:
        torch.distributed.destroy_process_group()


def test_double_backward_is_right_or_an_error():
    module = jt.FusedLinear(5, 4, "tanh", dtype=torch.float64)
    x = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    plain = lambda x: torch.tanh(nn.functional.linear(x, module.weight, module.bias))  # noqa: E731
    (want,) = torch.autograd.grad(plain(x).square().sum(), x, create_graph=True)
    (want,) = torch.autograd.grad(want.square().sum(), x)
    try:
        (got,) = torch.autograd.grad(module(x).square().sum(), x, create_graph=True)
        (got,) = torch.autograd.grad(got.square().sum(), x)
    except RuntimeError as error:
        assert "twice" in str(error) or "double" in str(error) or "once_differentiable" in str(error), error
    else:
        close(got, want)


def test_optimizers_change_what_is_computed():
    mlp = jt.FusedMLP([4, 8, 2])
    x, y = torch.randn(16, 4), torch.randint(0, 2, (16,))
    optimizer = torch.optim.SGD(mlp.parameters(), lr=0.5)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(mlp(x), y)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    assert losses[-1] < 0.3 * losses[0]


def test_an_mlp_trains_step_by_step_as_torch_s():
    plain, mlp = pair(nn.ReLU)
    x, y = torch.randn(32, 6, dtype=torch.float64), torch.randn(32, 3, dtype=torch.float64)
    for module in (plain, mlp):
        optimizer = torch.optim.AdamW(module.parameters(), lr=1e-2)
        for _ in range(10):
            optimizer.zero_grad()
            nn.functional.mse_loss(module(x), y).backward()
            optimizer.step()
    for a, b in zip(mlp.parameters(), plain.parameters()):
        torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-11)


def test_the_example_learns_the_digits(capsys):
    spec = importlib.util.spec_from_file_location("train_mlp", EXAMPLE)
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    example.main(6)
    printed = capsys.readouterr().out
    assert float(printed.split("test accuracy ")[1].split()[0]) > 0.93, printed
