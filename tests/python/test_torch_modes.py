"""Jitted functions where torch is in some mode: gradients off inside of them, transforms, tracers, torch.compile."""

import subprocess
import sys

import pytest

import jitfuse as jf

torch = pytest.importorskip("torch", reason="tests torch's modes, and torch is not installed")
F = torch.nn.functional


def draw(*shape, seed=0, grad=True):
    made = torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return made.requires_grad_(grad)


def double(x):
    return torch.tanh(x) * 2


def warm(function, *args):
    """The function jitted, and called with such arguments before."""
    f = jf.jit(function)
    for call in (torch.no_grad()(f), f):
        call(*args)
    return f


# Gradients that are switched off inside of the function.


@torch.no_grad()
def decorated(x):
    return torch.sin(x)


def inner_no_grad(x, w):
    with torch.no_grad():
        mask = x * w + 1
    return torch.sum(torch.tanh(x) * mask)


def inner_inference(x, w):
    with torch.inference_mode():
        scale = torch.amax(torch.exp(x), dim=-1, keepdim=True)
    return torch.sum(x / scale + w)


def inner_enabled(x, w):
    with torch.no_grad():
        y = x * w
        with torch.enable_grad():
            z = torch.sin(x)
    return torch.sum(y * z)


def set_off(x, w):
    torch.set_grad_enabled(False)
    try:
        y = torch.cat([x, w]).T @ torch.cat([x, w])
    finally:
        torch.set_grad_enabled(True)
    return torch.sum(y) + torch.sum(x * w)


INNER = [inner_no_grad, inner_enabled, set_off, lambda x, w: torch.sum(decorated(x) * w), lambda x, w: torch.sum(x * w) + 0 * torch.sum(decorated(w))]


@pytest.mark.parametrize("function", INNER, ids=range(len(INNER)))
@pytest.mark.parametrize("before", ["recorded", "no_grad", "inference_mode"])
def test_what_is_computed_without_gradients_is_a_constant(function, before):
    args = [draw(4, 3), draw(4, 3, seed=1)]
    f = jf.jit(function)
    if before != "recorded":  # the mode in which it is traced has no part in it
        with getattr(torch, before)():
            f(*args)
    own = [a.detach().clone().requires_grad_() for a in args]
    got, want = f(*args), function(*own)
    torch.testing.assert_close(got, want)
    found = torch.autograd.grad(got, args)
    for g, w in zip(found, torch.autograd.grad(want, own, allow_unused=True)):
        torch.testing.assert_close(g, torch.zeros_like(g) if w is None else w)
    assert f.cache_info().entries == 1


def test_inference_mode_inside():
    x, w = draw(4, 3), draw(4, 3, seed=1)
    jf.jit(inner_inference)(x, w).backward()
    scale = torch.exp(x.detach()).amax(-1, keepdim=True)
    torch.testing.assert_close(x.grad, (1 / scale).expand(4, 3))


def test_gradients_of_jitfuse_see_it_too():
    x = draw(5, grad=False)

    def loss(y):
        with torch.no_grad():
            c = y * y
        return jf.sum(c * y)

    torch.testing.assert_close(jf.grad(loss)(x), x * x)
    torch.testing.assert_close(jf.vjp(loss, x)[1](1.0)[0], x * x)
    torch.testing.assert_close(jf.jit(lambda x: jf.vjp(loss, x)[1](1.0)[0])(x), x * x)


def test_gradients_inside_of_no_grad_are_computed_and_are_constants():
    """As torch.func has it."""

    def f(x):
        with torch.no_grad():
            value, slope = jf.value_and_grad(lambda y: jf.sum(y**3))(x)
            again, pull = jf.vjp(lambda y: jf.sum(y**2), x)
            other = pull(1.0)[0]
        return jf.sum((slope + other) * x) + value + again

    x = draw(5)
    jf.jit(f)(x).backward()
    torch.testing.assert_close(x.grad, 3 * x.detach() ** 2 + 2 * x.detach())


def test_custom_gradients_and_no_grad():
    @jf.custom_gradient
    def rounded(x):
        with torch.no_grad():  # as torch.autograd.Function's forward is run
            y = torch.round(x)
        return y, lambda g: g * 2

    x = draw(5)
    rounded(x).sum().backward()
    torch.testing.assert_close(x.grad, torch.full_like(x, 2))
    with torch.no_grad():
        y = rounded(x)
    assert not y.requires_grad and torch.equal(y, torch.round(x.detach()))

    @jf.jit
    def inside(x):
        with torch.no_grad():
            y = rounded(x)
        return jf.sum(y * x)

    x.grad = None
    inside(x).backward()
    torch.testing.assert_close(x.grad, torch.round(x.detach()))

    @jf.custom_gradient
    def same(x):
        return x, lambda g: g * 7

    with torch.no_grad():
        first = jf.jit(lambda x: jf.sum(same(x) * x))
        first(x)
    x.grad = None
    first(x).backward()
    torch.testing.assert_close(x.grad, 8 * x.detach())


# vjp and changes in place.


def test_pull_notices_changes_in_place():
    x, w = draw(4, 3, grad=False), draw(3, 5, seed=1, grad=False)
    for name in ("argument 'x'", "argument 'w'", "result 0"):
        value, pull = jf.vjp(lambda x, w: jf.tanh(x @ w), x, w)
        pull(torch.ones_like(value))
        changed = {"argument 'x'": x, "argument 'w'": w}.get(name, value)
        changed[0] += 1
        with pytest.raises(RuntimeError, match=rf"vjp of .*{name}.*changed in place since"):
            pull(torch.ones_like(value))
    y, pull = jf.vjp(lambda x: x * 3, x)
    x += 1  # is not read
    assert torch.equal(pull(torch.ones_like(x))[0], torch.full_like(x, 3))
    with torch.inference_mode():
        z = torch.ones(3)
        y, pull = jf.vjp(lambda x: x * x, z)
        assert pull(torch.ones(3))[0].tolist() == [2.0] * 3  # without versions, and not changed


# Transforms and tracers.

TRANSFORMS = {
    "grad": lambda f, x: torch.func.grad(lambda x: f(x).sum())(x), "vjp": lambda f, x: torch.func.vjp(f, x), "jacrev": lambda f, x: torch.func.jacrev(f)(x),
    "jacfwd": lambda f, x: torch.func.jacfwd(f)(x), "jvp": lambda f, x: torch.func.jvp(f, (x,), (x,)), "vmap": lambda f, x: torch.func.vmap(f)(x),
    "vmap of grad": lambda f, x: torch.func.vmap(torch.func.grad(lambda x: f(x).sum()))(x), "hessian": lambda f, x: torch.func.hessian(lambda x: f(x).sum())(x),
    "functionalize": lambda f, x: torch.func.functionalize(f)(x), "grad under no_grad": lambda f, x: torch.func.grad(lambda x: torch.no_grad()(f)(x).sum())(x),
}  # fmt: skip


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_of_torch_func_say_what_to_use(name):
    x = draw(4, 3, grad=False)
    for f in (jf.jit(double), warm(double, x), warm(double, x[0]), warm(lambda x: F.dropout(x, 0.5, training=True), x)):
        with pytest.raises(RuntimeError, match=r"transform of torch.func .*use jitfuse.grad or jitfuse.vjp"):
            TRANSFORMS[name](f, x)


def test_what_a_transform_does_not_change_is_as_ever():
    x, y = draw(4, grad=False), draw(4, seed=1, grad=False)
    f = warm(double, x)
    got = torch.func.grad(lambda x: (f(y) * x).sum())(x)
    torch.testing.assert_close(got, double(y))


def record(name, f, x):
    from torch.fx.experimental.proxy_tensor import make_fx

    class Module(torch.nn.Module):
        def forward(self, x):
            return f(x) + 1

    if name == "jit.trace":
        return torch.jit.trace(lambda x: f(x) + 1, (x,))
    if name == "fx":
        return torch.fx.symbolic_trace(Module())
    if name == "export":
        return torch.export.export(Module(), (x,), strict=False)
    return make_fx(lambda x: f(x) + 1, tracing_mode=name)(x)


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "error::torch.jit.TracerWarning")
@pytest.mark.parametrize("name", ["jit.trace", "real", "fake", "symbolic", "export", "fx"])
@pytest.mark.parametrize("grad", [False, True])
def test_results_are_no_constants_of_what_is_recorded(name, grad):
    x = draw(4, 3, grad=grad)
    for f in (jf.jit(double), warm(double, x)):
        with pytest.raises((RuntimeError, TypeError), match=r"is recording torch's operators.*jitted function|cannot record a jitted function"):
            record(name, f, x)
        torch.testing.assert_close(f(x), double(x))


def test_other_dispatch_modes_are_no_hindrance():
    from torch.utils.flop_counter import FlopCounterMode

    x = draw(4, 3)
    f = warm(double, x)
    with FlopCounterMode(display=False):
        torch.testing.assert_close(f(x), double(x))


# torch.compile.


def fresh(x):
    return jf.jit(double)(x * 2) + 1


known = jf.jit(double)
module = jf.jit(torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.GELU()).double())
line = jf.elementwise("y = tanh(a) * 2")


@jf.custom_gradient
def custom(x):
    return x * 3, lambda g: g * 5


def trains(x):
    y = x.detach().requires_grad_()
    known(y * 3).sum().backward()
    return y.grad * x


COMPILED = {
    "fresh": fresh, "known": lambda x: torch.sin(known(x * 2)) + 1, "twice": lambda x: known(torch.sin(known(x))), "module": lambda x: module(x.sin()) * 2,
    "grad": lambda x: jf.grad(lambda y: jf.sum(jf.tanh(y)))(x * 2) + 1, "custom": lambda x: custom(x * 2) + 1, "elementwise": lambda x: line(x * 2) + 1,
    "fused": lambda x: jf.fused.fused_bias_gelu(x * 2, x[0], approximate="tanh") + 1, "vjp": lambda x: jf.vjp(jf.tanh, x.detach() * 2)[1](x.detach())[0] * x,
    "lowered": lambda x: jf.jit(double).lower(x * 2).compile()(x * 2) + 1, "backward": trains,
}  # fmt: skip


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", COMPILED)
def test_compiled_code_that_calls_a_jitted_function(name, backend):
    torch._dynamo.reset()
    function, x = COMPILED[name], draw(4, 3)
    compiled = torch.compile(function, backend=backend)
    want = function(x)
    slope = torch.autograd.grad(want.sum(), x)[0]
    for _ in range(2):
        got = compiled(x)
        torch.testing.assert_close(got, want)
        torch.testing.assert_close(torch.autograd.grad(got.sum(), x)[0], slope)
    if name != "backward":
        with torch.no_grad():
            torch.testing.assert_close(compiled(x), want.detach())


def test_compiled_code_is_cut_at_the_call():
    torch._dynamo.reset()
    for name, calls in (("known", 1), ("grad", 1), ("custom", 1), ("vjp", 2)):
        said = torch._dynamo.explain(COMPILED[name])(draw(4, 3))
        assert (said.graph_break_count, said.graph_count) == (calls, calls + 1), said
    with pytest.raises(torch._dynamo.exc.Unsupported):
        torch.compile(COMPILED["known"], backend="eager", fullgraph=True)(draw(4, 3))


def test_compiled_code_and_random_numbers():
    torch._dynamo.reset()
    noisy = jf.jit(lambda x: F.dropout(x, 0.5, training=True))
    compiled = torch.compile(lambda x: torch.relu(noisy(x + 1)), backend="eager")
    x = draw(50, 20, grad=False)
    for _ in range(2):
        torch.manual_seed(3)
        want = torch.relu(noisy(x + 1))
        torch.manual_seed(3)
        assert torch.equal(compiled(x), want)


def test_the_compiler_is_not_loaded_for_it():
    script = """
import sys, torch, jitfuse as jf
f = jf.jit(lambda x: jf.nn.dropout(x, 0.5))
x = torch.ones(3, requires_grad=True)
f(x).sum().backward(); f(x.detach()); f(x.detach())
print("torch._dynamo" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


def test_callables_can_be_copied():
    import copy

    f = jf.grad(lambda x: jf.sum(x * x))
    x = draw(3, grad=False)
    f(x)
    for made in (copy.copy(f), copy.deepcopy(f)):
        torch.testing.assert_close(made(x), 2 * x)
    assert copy.deepcopy(jf.vjp) is jf.vjp and jf.vjp.__name__ == "vjp"



def test_make_fx_is_named():
    from torch.fx.experimental.proxy_tensor import make_fx

    x = draw(3, grad=False)
    with pytest.raises(RuntimeError, match=r"double: make_fx \(a ProxyTorchDispatchMode\) is recording"):
        make_fx(jf.jit(double), tracing_mode="real")(x)


def test_batched_cotangents_are_refused_by_name():
    f = jf.jit(lambda x: jf.tanh(x) * 2)
    x = torch.ones(3, requires_grad=True)
    y = f(x)
    with pytest.raises(RuntimeError, match=r"a cotangent is in a transform of torch.func"):
        torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True)
    with pytest.raises(RuntimeError, match=r"a cotangent is in a transform of torch.func"):
        torch.autograd.functional.jacobian(f, torch.ones(3), vectorize=True)
