"""torch's own C++ functions in place of Python's: found and tried once, and where they are not, Python is asked with the same results."""

import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="borrows torch's tensors, and torch is not installed")
if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
    pytest.skip("torch lends its tensors without a table", allow_module_level=True)

from jitfuse import _torch_state  # noqa: E402

if not _torch_state.samples():
    pytest.skip(f"torch's functions were not run with torch {torch.__version__}", allow_module_level=True)

# How often torch was asked for the negative bit through Python, from `torch.Tensor.is_neg = counted` on.
COUNTED = """
asked = 0
is_neg = torch.Tensor.is_neg

def counted(tensor):
    global asked
    asked += 1
    return is_neg(tensor)
"""

SCRIPT = """
import sys
import torch
import jitfuse as jf
from jitfuse import _torch_state

class Liar(torch.Tensor):
    _cdata = 8

made = _torch_state.samples()
tables = {
    "all": made,
    "no samples": [],
    "another address": [t.as_subclass(Liar) for t in made],
    "no tensors": [1, 2],
}
_torch_state.samples = lambda: tables[sys.argv[1]]

""" + COUNTED + """
def refused(call, error, text):
    try:
        call()
    except error as e:
        assert text in str(e), e
    else:
        raise AssertionError(f"no error with {text!r}")

f = jf.jit(lambda x: x + 1)
x, out = torch.rand(5), torch.empty(5)
version = out._version
for _ in range(3):
    f(x, out=out)  # tries what there is
torch.Tensor.is_neg = counted
g = jf.jit(lambda x: x * 2)
for n in (3, 4, 5):
    y = torch.rand(n, 2)
    assert torch.equal(g(y), y * 2) and torch.equal(g(y.T), y.T * 2)
f(x, out=out)
assert torch.equal(out, x + 1)
assert out._version == version + 4
print(asked)

refused(lambda: f(torch._neg_view(x)), ValueError, "its negative bit is set")
refused(lambda: f(x, out=torch.empty(5, requires_grad=True)), ValueError, "requires grad")
refused(lambda: f(torch.sparse_coo_tensor([[0]], [1.0], (5,))), TypeError, "expected a dense tensor")
refused(lambda: torch.jit.trace(f, x), RuntimeError, "torch.jit.trace is recording")
w = torch.nn.Parameter(torch.rand(5))
f(w).sum().backward()
assert torch.equal(w.grad, torch.ones(5))
with torch.no_grad():
    assert not f(w).requires_grad
saved = (x * w).sum()  # has saved x
f(out, out=x)
refused(saved.backward, RuntimeError, "modified by an inplace operation")
"""


def asked_in(script, *args):
    """What a script prints last, in a process of its own."""
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", script, *args], env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.mark.parametrize("samples, in_python", [("all", False), ("no samples", True), ("another address", True), ("no tensors", True)])
def test_python_is_asked_where_torchs_functions_are_not_found(samples, in_python):
    asked = asked_in(SCRIPT, samples)
    assert asked >= 3 if in_python else asked == 0


FIRST_CALL_INSIDE_GRAD = """
import torch
import jitfuse as jf

f = jf.jit(lambda x: x + 1)
out = torch.empty(5)

def inside(x):
    f(torch.rand(5).detach(), out=out)
    return (x * x).sum()

try:
    torch.func.grad(inside)(torch.rand(5))
except (RuntimeError, TypeError, ValueError):
    pass  # the call may be refused there
""" + COUNTED + """
torch.Tensor.is_neg = counted
f(torch.rand(5), out=out)
print(asked)
"""


def test_a_first_call_inside_of_grad_finds_them_too():
    assert asked_in(FIRST_CALL_INSIDE_GRAD) == 0


def test_a_class_that_answers_for_its_gradient_is_asked():
    import jitfuse as jf

    class Answers(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if func == torch.Tensor.requires_grad.__get__:
                return True
            return super().__torch_function__(func, types, args, kwargs or {})

    x = torch.rand(3).as_subclass(Answers)
    assert x.requires_grad
    out = torch.empty(3)
    with pytest.raises((ValueError, RuntimeError)):
        jf.jit(lambda a: a + 1)(x, out=out)


def test_a_torch_that_was_not_tried_is_asked_through_python(monkeypatch):
    for version in ("2.10.1", "2.14.0+cu140", "3.0"):
        monkeypatch.setattr(torch, "__version__", version)
        assert _torch_state.samples() == []
