"""torch tensors that are the negative of what is in their memory: the bit is looked for once, and torch is asked where it is not found."""

import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="borrows torch's tensors, and torch is not installed")
if not hasattr(torch.Tensor, "__dlpack_c_exchange_api__"):
    pytest.skip("torch lends its tensors without a table", allow_module_level=True)

SCRIPT = """
import sys
import torch
import jitfuse as jf
from jitfuse import _torch_state

def tensors(dtype):
    return [torch.ones(n, dtype=dtype) for n in (1, 2, 3)]

plain, wide = tensors(torch.float32), tensors(torch.complex64)
pairs = {
    "one bit": _torch_state.negative_and_not(),
    "no bit": (plain, tensors(torch.float32)),
    "two bits": ([torch._neg_view(t).conj() for t in wide], wide),
    "no tensors": ([], []),
}
_torch_state.negative_and_not = lambda: pairs[sys.argv[1]]
asked = 0
is_neg = torch.Tensor.is_neg

def counted(tensor):
    global asked
    asked += 1
    return is_neg(tensor)

torch.Tensor.is_neg = counted
f = jf.jit(lambda x: x + 1)
x = torch.rand(5)
for _ in range(3):
    assert torch.equal(f(x), x + 1)
plainly = asked
try:
    f(torch._neg_view(x))
except ValueError as e:
    assert "its negative bit is set" in str(e), e
else:
    raise AssertionError("its sign was lost")
assert asked > plainly  # what is set is confirmed
print(plainly)
"""


@pytest.mark.parametrize("found, often", [("one bit", False), ("no bit", True), ("two bits", True), ("no tensors", True)])
def test_torch_is_asked_where_the_bit_is_not_found(found, often):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run([sys.executable, "-c", SCRIPT, found], env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    asked = int(done.stdout)
    assert asked >= 3 if often else asked == 0
