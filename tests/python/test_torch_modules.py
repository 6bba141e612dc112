"""jitfuse.torch without gradients: values, parameters, what plain torch takes over, and copies. (test_torch_training.py has gradients.)"""

import copy
import logging
import pickle
import re
import subprocess
import sys
import threading

import pytest

import jitfuse as jf

torch = pytest.importorskip("torch", reason="the modules are torch's, and torch is not installed")
from torch import nn  # noqa: E402
from torch.nn.utils import prune  # noqa: E402

import jitfuse.torch as jt  # noqa: E402

F = nn.functional
FLOATS = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


@pytest.fixture(autouse=True)
def without_gradients():
    torch.manual_seed(0)
    with torch.no_grad():
        yield


def close(got, want, factor=16):
    assert got.dtype == want.dtype and got.shape == want.shape
    eps = torch.finfo(got.dtype).eps
    torch.testing.assert_close(got, want, rtol=factor * eps, atol=factor * eps * float(want.abs().max() if want.numel() else 1))


def sequential(sizes=(8, 16, 12, 4), activation=nn.ReLU, dropout=0.0):
    modules = []
    for i in range(len(sizes) - 1):
        modules.append(nn.Linear(sizes[i], sizes[i + 1]))
        if i + 2 < len(sizes):
            modules += [activation(), *([nn.Dropout(dropout)] if dropout else [])]
    return nn.Sequential(*modules)


def computed(module, *inputs):
    """The result, and whether Jitfuse computed it."""
    before = _fused_calls()
    result = module(*inputs)
    return result, _fused_calls() > before


def _fused_calls():
    info = jt._run._fused.cache_info()
    return info.hits + info.misses


# Values.


@pytest.mark.parametrize("activation", [None, *jt.ACTIVATIONS])
def test_every_activation_is_that_of_torch(activation):
    torch.manual_seed(1)
    module = jt.FusedLinear(10, 7, activation, dtype=torch.float64)
    x = torch.randn(5, 10, dtype=torch.float64)
    result, fused = computed(module, x)
    assert fused
    close(result, jt._run.plain(x, module.chain()), 64)


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("shape", [(8,), (5, 8), (1, 8), (0, 8), (3, 5, 8), (2, 0, 8), (2, 3, 4, 8)])
@pytest.mark.parametrize("bias", [True, False])
def test_shapes_and_dtypes(dtype, shape, bias):
    module = jt.FusedLinearReLU(8, 6, bias, dtype=dtype)
    linear = nn.Linear(8, 6, bias, dtype=dtype)
    linear.load_state_dict(module.state_dict())
    x = torch.randn(shape, dtype=torch.float64).to(dtype)
    result, fused = computed(module, x)
    assert fused
    close(result, F.relu(linear(x)))


def test_strided_inputs_and_other_batches():
    module = jt.FusedLinearReLU(6, 4)
    x = torch.randn(6, 10).t()
    close(module(x), F.relu(F.linear(x, module.weight, module.bias)))
    x = torch.randn(4, 5, 6).transpose(0, 1)
    close(module(x), F.relu(F.linear(x, module.weight, module.bias)))
    entries = jt._run._fused.cache_info().entries
    for batch in (3, 9, 33):
        module(torch.randn(batch, 6))
        module(torch.randn(batch, 2, 6))
    assert jt._run._fused.cache_info().entries <= entries + 1


@pytest.mark.parametrize("dtype", FLOATS)
@pytest.mark.parametrize("name", ["relu", "gelu", "silu", "tanh"])
def test_mlp_is_the_sequential(dtype, name):
    modules = {"relu": nn.ReLU, "gelu": nn.GELU, "silu": nn.SiLU, "tanh": nn.Tanh}
    plain = sequential(activation=modules[name]).to(dtype)
    mlp = jt.FusedMLP.from_sequential(plain)
    for shape in ((7, 8), (2, 3, 8), (8,), (0, 8)):
        x = torch.randn(shape, dtype=torch.float64).to(dtype)
        result, fused = computed(mlp, x)
        assert fused
        close(result, plain(x))


def test_an_mlp_is_one_call():
    mlp = jt.FusedMLP([8, 16, 16, 4])
    x = torch.randn(5, 8)
    mlp(x)
    before = _fused_calls()
    mlp(x)
    assert _fused_calls() == before + 1


def test_output_activation_and_no_biases():
    mlp = jt.FusedMLP([8, 16, 4], "gelu_tanh", bias=False, output_activation="sigmoid")
    x = torch.randn(5, 8)
    w = list(mlp.parameters())
    assert len(w) == 2
    close(mlp(x), torch.sigmoid(F.gelu(x @ w[0].T, approximate="tanh") @ w[1].T))


def test_inference_mode_and_frozen_parameters():
    module = jt.FusedLinearReLU(8, 4)
    x = torch.randn(3, 8)
    want = module(x)
    with torch.inference_mode():
        close(module(x), want)
    with torch.enable_grad():
        result, fused = computed(module.requires_grad_(False), x)
    assert fused and not result.requires_grad
    close(result, want)


# Parameters are nn.Linear's.


def test_parameters_are_those_of_linear():
    torch.manual_seed(3)
    linear = nn.Linear(9, 5, dtype=torch.float64)
    torch.manual_seed(3)
    module = jt.FusedLinear(9, 5, "gelu", dtype=torch.float64)
    assert list(module.state_dict()) == list(linear.state_dict()) == ["weight", "bias"]
    for name, value in linear.state_dict().items():
        assert torch.equal(value, module.state_dict()[name])
    linear.reset_parameters()
    module.load_state_dict(linear.state_dict())
    linear.load_state_dict(module.state_dict())
    assert torch.equal(module.weight, linear.weight)
    with pytest.raises(RuntimeError, match="size mismatch"):
        module.load_state_dict(nn.Linear(8, 5).state_dict())
    without = jt.FusedLinear(9, 5, bias=False)
    assert without.bias is None and list(without.state_dict()) == ["weight"]
    torch.manual_seed(4)
    plain = sequential((4, 6, 3))
    torch.manual_seed(4)
    mlp = jt.FusedMLP([4, 6, 3])
    assert list(mlp.state_dict()) == ["layers.0.weight", "layers.0.bias", "layers.1.weight", "layers.1.bias"]
    for a, b in zip(plain.parameters(), mlp.parameters()):
        assert torch.equal(a, b)


def test_from_linear_shares():
    linear = nn.Linear(6, 4).eval()
    module = jt.FusedLinear.from_linear(linear, "silu", dropout=0.5)
    assert module.weight is linear.weight and module.bias is linear.bias
    assert not module.training and (module.in_features, module.out_features) == (6, 4)
    x = torch.randn(3, 6)
    linear.weight.mul_(2)
    close(module(x), F.silu(linear(x)))
    assert jt.FusedLinearReLU.from_linear(linear).activation == "relu"
    assert jt.FusedLinear.from_linear(nn.Linear(2, 3, bias=False)).bias is None


def test_from_tensors_shares_memory():
    weight, bias = torch.randn(4, 6), torch.randn(4)
    module = jt.FusedLinear.from_tensors(weight, bias, "relu")
    assert module.weight.data_ptr() == weight.data_ptr() and module.weight.requires_grad
    parameter = nn.Parameter(weight, requires_grad=False)
    assert jt.FusedLinearReLU.from_tensors(parameter).weight is parameter
    x = torch.randn(3, 6)
    close(module(x), F.relu(F.linear(x, weight, bias)))


def test_from_sequential():
    plain = nn.Sequential(nn.Linear(4, 5), nn.GELU("tanh"), nn.Dropout(0.25), nn.Sequential(nn.Identity(), nn.Linear(5, 6), nn.LeakyReLU()), nn.Linear(6, 2))
    mlp = jt.FusedMLP.from_sequential(plain.eval())
    assert [(m.activation, m.dropout) for m in mlp.layers] == [("gelu_tanh", 0.25), ("leaky_relu", 0.0), (None, 0.0)]
    assert all(a is b for a, b in zip(mlp.parameters(), plain.parameters()))
    assert not mlp.training and not mlp.layers[0].training
    x = torch.randn(7, 4)
    close(mlp(x), plain(x))


def test_copies():
    for module in (jt.FusedLinear(4, 3, "gelu", dropout=0.5), jt.FusedLinearReLU(4, 3), jt.FusedMLP([4, 8, 3], dropout=0.25)):
        module.eval()
        x = torch.randn(5, 4)
        want = module(x)
        for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module)), copy.copy(module)):
            assert type(other) is type(module) and repr(other) == repr(module) and not other.training
            assert torch.equal(other(x), want)
        other = copy.deepcopy(module)
        next(other.parameters()).zero_()
        assert torch.equal(module(x), want)


def test_repr():
    assert repr(jt.FusedLinearReLU(4, 3, dropout=0.5)) == "FusedLinearReLU(in_features=4, out_features=3, bias=True, activation='relu', dropout=0.5)"
    assert "(1): FusedLinear(in_features=8, out_features=3, bias=True, activation=None)" in repr(jt.FusedMLP([4, 8, 3]))


def test_to_and_half():
    module, x = jt.FusedMLP([4, 8, 3]), torch.randn(5, 4)
    module(x)
    assert module.half()(x.half()).dtype is torch.float16
    assert module.double()(x.double()).dtype is torch.float64
    assert module.to(torch.bfloat16)(x.bfloat16()).dtype is torch.bfloat16
    assert jt.FusedLinear(4, 3, device="meta").weight.is_meta


# Autocast.


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
def test_autocast(dtype):
    plain = sequential()
    mlp = jt.FusedMLP.from_sequential(plain)
    x = torch.randn(6, 8)
    for given in (x, x.to(dtype)):
        with torch.autocast("cpu", dtype=dtype):
            result, fused = computed(mlp, given)
            want = plain(given)
        assert fused and result.dtype is dtype
        close(result, want)
        if dtype is torch.bfloat16:
            assert (result.float() - plain(x)).abs().max() > 1e-5  # it was computed in it
    with torch.autocast("cpu", dtype=dtype, enabled=False):
        assert mlp(x).dtype is torch.float32
    with torch.autocast("cpu", dtype=dtype):  # float64 is left as it is
        assert copy.deepcopy(mlp).double()(x.double()).dtype is torch.float64


# Dropout.


@pytest.mark.parametrize("make", [lambda p: jt.FusedLinearReLU(16, 64, dropout=p), lambda p: jt.FusedLinear(16, 64, "silu", dropout=p)])
def test_dropout(make):
    module = make(0.25)
    x = torch.randn(100, 16)
    whole = module.eval()(x)
    torch.testing.assert_close(whole, module.eval()(x), rtol=0, atol=0)
    module.train()
    torch.manual_seed(5)
    first, second = module(x), module(x)
    torch.manual_seed(5)
    assert torch.equal(module(x), first) and not torch.equal(first, second)
    kept = (first != 0) | (whole == 0)
    assert abs(float((first[whole != 0] != 0).double().mean()) - 0.75) < 0.03
    torch.testing.assert_close(first[kept], whole[kept] / 0.75, rtol=1e-5, atol=1e-7)
    module.dropout = 1.0
    assert not module(x).any()
    module.dropout = 0.0
    torch.testing.assert_close(module(x), whole, rtol=0, atol=0)


def test_dropout_of_an_mlp():
    mlp = jt.FusedMLP([16, 64, 64, 32], dropout=0.5)
    x = torch.randn(50, 16)
    torch.manual_seed(5)
    first = mlp(x)
    torch.manual_seed(5)
    assert torch.equal(mlp(x), first) and not torch.equal(mlp(x), first)
    assert first.all()  # none behind the last layer
    mlp.eval()
    close(mlp(x), jt._run.plain(x, mlp._together()))


def test_dropout_where_new_tensors_are_elsewhere_by_default():
    module, x = jt.FusedLinearReLU(16, 64, dropout=0.5), torch.randn(20, 16)
    torch.manual_seed(5)
    want = module(x)
    torch.manual_seed(5)
    with torch.device("meta"):
        assert torch.equal(module(x), want)


def test_dropout_leaves_the_streams_of_others_alone():
    module, x = jt.FusedLinearReLU(4, 4, dropout=0.5), torch.randn(3, 4)
    jf.random.seed(9)
    module(x)
    assert jf.random.get_state() == (9, 0)


def test_checkpoint_state_of_torch_repeats_masks():
    module, x = jt.FusedLinearReLU(16, 64, dropout=0.5), torch.randn(20, 16)
    state = torch.get_rng_state()
    first = module(x)
    torch.set_rng_state(state)
    assert torch.equal(module(x), first)


def test_threads_with_dropout():
    module, x = jt.FusedLinearReLU(16, 64, dropout=0.5), torch.randn(50, 16)
    want = module.eval()(x) / 0.5
    module.train()
    wrong = []

    def work():
        with torch.no_grad():
            for _ in range(20):
                y = module(x)
                if not torch.all((y == 0) | ((y - want).abs() < 1e-5)):
                    wrong.append(y)

    threads = [threading.Thread(target=work) for _ in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert not wrong and jf.random.get_state()[1] == 0


# Plain torch, with a reason.


class Subclass(torch.Tensor):
    pass


def plainly(module, x, reason):
    assert re.search(reason, module.why_plain(x)), module.why_plain(x)
    want = jt._run.plain(x, module.chain())
    torch.testing.assert_close(module(x), want)
    result, fused = computed(module, x)  # the parameters are looked at before, now that a call has failed
    assert not fused
    torch.testing.assert_close(result, want)


def test_tensors_that_kernels_do_not_take():
    module = jt.FusedLinear(4, 3, "tanh")
    x = torch.randn(5, 4)
    assert module.why_plain(x) is None
    plainly(module, x.as_subclass(Subclass), "type Subclass")
    assert module.why_plain(x.to("meta")) == "the input is on device meta; kernels run on cpu and cuda"
    assert copy.deepcopy(module).to("meta")(x.to("meta")).shape == (5, 3)
    complex_module = jt.FusedLinear.from_tensors(torch.randn(3, 4, dtype=torch.complex64), activation="tanh")
    plainly(complex_module, torch.randn(5, 4, dtype=torch.complex64), "dtype torch.complex64")
    sparse = jt.FusedLinear.from_tensors(torch.randn(3, 4).to_sparse_csr(), activation="relu")
    plainly(sparse, x, "weight has layout torch.sparse_csr")
    negative = jt.FusedLinear.from_tensors(torch.randn(3, 4, dtype=torch.complex64).conj().imag)
    assert negative.weight.is_neg()
    plainly(negative, x, "weight has the negative bit set")
    plainly(module, torch.randn(5, 4, dtype=torch.complex64).conj().imag, "the input has the negative bit set")


def test_logged_once_with_the_reason(caplog):
    jt._run._logged.clear()
    module, x = jt.FusedLinear(4, 3, "tanh"), torch.randn(5, 4).as_subclass(Subclass)
    with caplog.at_level(logging.WARNING, logger="jitfuse"):
        module(x), module(x), module(x)
    assert [r.getMessage() for r in caplog.records] == [
        "FusedLinear is computed by plain torch: the input is of type Subclass, not torch.Tensor itself"
    ]


@pytest.mark.parametrize(
    ("x", "message"),
    [
        (torch.ones(5, 3), "cannot be multiplied"),
        (torch.ones(5, 4, dtype=torch.float64), "dtype"),
        (torch.ones(5, 4, dtype=torch.int64), "dtype"),
        (torch.ones(()), "at least 1D"),
    ],
    ids=["features", "f64", "i64", "rank0"],
)
def test_errors_are_those_of_torch(x, message):
    module = jt.FusedLinearReLU(4, 3)
    assert module.why_plain(x) is not None
    for _ in range(2):
        with pytest.raises(RuntimeError, match=message):
            module(x)
    with pytest.raises(RuntimeError, match=message):
        jt.FusedMLP([4, 3, 2])(x)


def test_transforms_and_modes():
    module, x = jt.FusedLinear(4, 3, "silu"), torch.randn(5, 4)
    want = module(x)
    torch.testing.assert_close(torch.func.vmap(module)(x), want)
    tangent = torch.func.jvp(module, (x,), (x,))[1]
    assert tangent.shape == want.shape and tangent.any()
    with torch.autograd.forward_ad.dual_level():
        assert "forward-mode" in module.why_plain(x)
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter:
        module(x)
    assert counter.get_total_flops() == 2 * 5 * 4 * 3
    with torch.device("cpu"):  # a function mode that changes no tensors
        assert computed(module, x)[1]
    params = {k: v * 2 for k, v in module.state_dict().items()}
    close(torch.func.functional_call(module, params, (x,)), F.silu(F.linear(x, params["weight"], params["bias"])))


def test_tracers():
    mlp, x = jt.FusedMLP([4, 8, 3], "gelu"), torch.randn(5, 4)
    want = mlp(x)
    torch.testing.assert_close(torch.fx.symbolic_trace(mlp)(x), want)
    torch.testing.assert_close(torch.jit.trace(mlp, x)(x), want)
    torch.testing.assert_close(torch.compile(mlp, backend="eager", fullgraph=True)(x), want)
    torch.testing.assert_close(torch.export.export(mlp, (x,)).module()(x), want)


def test_inside_a_jitted_function():
    mlp, x = jt.FusedMLP([4, 8, 3], "gelu"), torch.randn(5, 4)
    f = jf.jit(lambda x: jf.nn.softmax(mlp(x), dim=-1))
    close(f(x), F.softmax(mlp(x), -1))
    assert "gelu" in f.lower(x).text()


# Hooks and replaced layers.


def test_hooks_fire():
    mlp, x = jt.FusedMLP([4, 8, 3]), torch.randn(5, 4)
    want, seen = mlp(x), []
    handle = mlp.layers[0].register_forward_hook(lambda m, args, out: seen.append(out.shape))
    assert "hooks" in mlp.why_plain(x)
    close(mlp(x), want)
    assert seen == [(5, 8)]
    handle.remove()
    assert mlp.why_plain(x) is None
    mlp.register_forward_pre_hook(lambda m, args: (args[0] * 0,))
    close(mlp(x), mlp(x * 0))
    every = nn.modules.module.register_module_forward_hook(lambda m, args, out: seen.append(type(m)))
    mlp(x)
    every.remove()
    assert seen.count(jt.FusedLinear) == 2


def test_replaced_and_parametrized_layers():
    mlp, x = jt.FusedMLP([4, 8, 3]), torch.randn(5, 4)
    mlp.layers[1] = nn.Linear(8, 2)
    assert mlp(x).shape == (5, 2)
    module = jt.FusedLinear(4, 3, "tanh")
    nn.utils.parametrizations.weight_norm(module)
    module.parametrizations.weight.original0.mul_(2)
    close(module(x), torch.tanh(F.linear(x, module.weight, module.bias)))
    pruned = jt.FusedLinear(4, 3)
    prune.random_unstructured(pruned, "weight", 0.5)
    close(pruned(x), F.linear(x, pruned.weight, pruned.bias))


# Wrong arguments.


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: jt.FusedLinear(4, 3, "rely"), ValueError, "FusedLinear: activation='rely', expected None or one of elu"),
        (lambda: jt.FusedLinear(4, 3, dropout=1.5), ValueError, "dropout=1.5, expected a probability"),
        (lambda: jt.FusedMLP([4]), ValueError, r"sizes=\[4\], expected two or more"),
        (lambda: jt.FusedMLP([4, 3], output_activation="x"), ValueError, "activation='x'"),
        (lambda: jt.FusedLinear.from_linear(nn.Conv1d(1, 1, 1)), TypeError, "expected a torch.nn.Linear, got Conv1d"),
        (lambda: jt.FusedLinear.from_linear(nn.LazyLinear(3)), TypeError, "lazy|no weight"),
        (lambda: jt.FusedLinear.from_linear(nn.utils.parametrizations.weight_norm(nn.Linear(2, 2))), TypeError, "parametrized"),
        (lambda: jt.FusedLinear.from_tensors(torch.ones(3)), ValueError, r"weight has shape \(3,\)"),
        (lambda: jt.FusedLinear.from_tensors(torch.ones(3, 2), torch.ones(2)), ValueError, r"bias has shape \(2,\), expected \(3,\)"),
        (lambda: jt.FusedLinear.from_tensors([1]), TypeError, "weight is a list"),
        (lambda: jt.FusedMLP.from_sequential(nn.Linear(2, 2)), TypeError, "expected a torch.nn.Sequential, got Linear"),
        (lambda: jt.FusedMLP.from_sequential(nn.Sequential(nn.ReLU())), ValueError, r"expected a Linear before ReLU"),
        (lambda: jt.FusedMLP.from_sequential(nn.Sequential()), ValueError, "expected one Linear at least"),
        (lambda: jt.FusedMLP.from_sequential(nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))), ValueError, "BatchNorm1d.* is no layer that is fused"),
        (lambda: jt.FusedMLP.from_sequential(nn.Sequential(nn.Linear(2, 2), nn.ELU(0.5))), ValueError, "default options"),
        (lambda: jt.FusedMLP.from_sequential(nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Tanh())), ValueError, "follows 'relu'"),
        (lambda: jt.FusedMLP.from_sequential(nn.Sequential(nn.Linear(2, 2), nn.Linear(3, 2))), ValueError, "layer 1 takes 3 features, and layer 0 gives 2"),
    ],
)
def test_wrong_arguments(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_hooks_are_not_lost_in_silence():
    linear = nn.Linear(2, 2)
    linear.register_forward_hook(lambda *a: None)
    with pytest.raises(ValueError, match="has hooks"):
        jt.FusedLinear.from_linear(linear)
    with pytest.raises(ValueError, match="has hooks"):
        jt.FusedMLP.from_sequential(nn.Sequential(linear))


def hooked(module):
    module.register_forward_hook(lambda module, args, output: output * 2)
    return module


def patched(module):
    forward = module.forward
    module.forward = lambda *args: forward(*args) * 2
    return module


class Doubled(nn.Sequential):
    def forward(self, x):
        return super().forward(x) * 2


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: hooked(nn.Sequential(nn.Linear(2, 2))), "has hooks"),
        (lambda: nn.Sequential(hooked(nn.Sequential(nn.Linear(2, 2)))), "has hooks"),
        (lambda: nn.Sequential(nn.Linear(2, 2), hooked(nn.Identity())), "has hooks"),
        (lambda: nn.Sequential(nn.Linear(2, 2), hooked(nn.ReLU())), "has hooks"),
        (lambda: Doubled(nn.Linear(2, 2)), "Doubled has a forward of its own"),
        (lambda: nn.Sequential(Doubled(nn.Linear(2, 2))), "Doubled has a forward of its own"),
        (lambda: patched(nn.Sequential(nn.Linear(2, 2))), "Sequential has a forward of its own"),
        (lambda: nn.Sequential(nn.Linear(2, 2), patched(nn.Identity())), "Identity has a forward of its own"),
        (lambda: nn.Sequential(nn.Linear(2, 2), patched(nn.ReLU())), "ReLU has a forward of its own"),
        (lambda: nn.Sequential(patched(nn.Linear(2, 2))), "Linear has a forward of its own"),
        (lambda: nn.Sequential(nn.Linear(2, 2), nn.Dropout(0.5).eval()), "Dropout.* is in eval mode and the Linear before it in training mode"),
        (lambda: nn.Sequential(nn.Linear(2, 2).eval(), nn.Dropout(0.5)), "Dropout.* is in training mode and the Linear before it in eval mode"),
    ],
)
def test_what_a_sequential_does_besides_is_not_lost_in_silence(make, message):
    with pytest.raises(ValueError, match=message):
        jt.FusedMLP.from_sequential(make())


def test_a_forward_of_an_instance_is_not_lost_in_silence():
    for module in (jt.FusedLinear, jt.FusedLinearReLU):
        with pytest.raises(TypeError, match="forward of its own"):
            module.from_linear(patched(nn.Linear(2, 2)))


def test_a_named_class_of_sequential_is_taken():
    class Block(nn.Sequential):
        pass

    plain = Block(nn.Linear(2, 3), Block(nn.ReLU()), nn.Linear(3, 2))
    x = torch.randn(4, 2)
    close(jt.FusedMLP.from_sequential(plain)(x), plain(x))


@pytest.mark.parametrize("name", ["torch._C._functorch.peek_interpreter_stack", "torch._C._len_torch_dispatch_stack", "torch.autograd.forward_ad._current_level"])
def test_a_torch_that_does_not_tell_of_its_modes_computes_itself(name):
    where, _, last = name.rpartition(".")
    code = f"""
import torch
del {where}.{last}
import jitfuse.torch as jt
module, x = jt.FusedLinear(4, 3, "silu"), torch.randn(5, 4)
assert torch.equal(module(x), torch.nn.functional.silu(torch.nn.functional.linear(x, module.weight, module.bias)))
print(module.why_plain(x))
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert found.returncode == 0, found.stderr
    assert "does not tell of its modes" in found.stdout and last in found.stdout


def test_jitfuse_itself_does_not_import_torch():
    code = """
import sys, jitfuse
jitfuse.fused, jitfuse.nn
try:
    jitfuse.torch
except AttributeError as error:
    assert "after `import jitfuse.torch`" in str(error), error
assert "torch" not in sys.modules
import jitfuse.torch
assert "torch" in sys.modules and jitfuse.torch.FusedMLP
"""
    subprocess.run([sys.executable, "-c", code], check=True)
