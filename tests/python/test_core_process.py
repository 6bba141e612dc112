"""jitfuse._core and the process: threads and the GIL, fork, what is missing on a machine."""
import os
import shutil
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from jitfuse import _core


def chain(ops, dtype="f32", depth=1):
    b = _core.Builder("chain")
    y = b.input("x", dtype, ["n"])
    for _ in range(depth):
        for op in ops:
            (y,) = b.apply(op, (y,), {})
    return b.compile([y], device="cpu")


class Ticker:
    """A thread that notes the time whenever it has the GIL."""

    def __enter__(self):
        self.times, self.stop = [], False
        self.thread = threading.Thread(target=self._run)
        self.thread.start()
        while not self.times:
            time.sleep(0.001)
        return self

    def _run(self):
        while not self.stop:
            self.times.append(time.perf_counter())
            time.sleep(0.0005)

    def __exit__(self, *args):
        self.stop = True
        self.thread.join()

    def during(self, call):
        """Ticks while a call lasts, and how long it lasts; not those at its edges."""
        begin = time.perf_counter()
        call()
        end = time.perf_counter()
        return sum(begin + 0.002 < t < end - 0.002 for t in self.times), end - begin


def test_other_threads_run_while_a_call_compiles_or_runs_long():
    with Ticker() as ticker:
        f = chain(["erf", "tanh", "sin", "log1p", "exp", "gelu"], "f64", depth=6)
        ticks, seconds = ticker.during(lambda: f.call((np.ones(4),)))
        assert seconds > 0.01 and ticks > 0, (ticks, seconds)  # compiles
        x = np.full(4_000_000, 0.5)
        f.call((x,))
        ticks, seconds = ticker.during(lambda: f.call((x,)))
        assert seconds > 0.01 and ticks > 0, (ticks, seconds)  # runs


def test_threads_share_functions_and_see_their_own_results():
    f = chain(["square", "negative"])
    wrong = []

    def work(seed):
        rng = np.random.default_rng(seed)
        for _ in range(150):
            x = rng.standard_normal(int(rng.integers(1, 60000)), dtype=np.float32)
            if not np.array_equal(f.call((x,))[0], -(x * x)):
                wrong.append(x.size)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(6)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert not wrong
    assert f.stats()["compiles"] <= 3  # classes: 1, and larger ones


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_goes_on():
    f = chain(["square"])
    x = np.full(50_000, 3, np.float32)
    f.call((x,))
    child = os.fork()
    if child == 0:
        good = (f.call((x,))[0] == 9).all() and (chain(["exp"]).call((np.zeros(3, np.float32),))[0] == 1).all()
        os._exit(0 if good else 1)
    assert os.waitpid(child, 0)[1] == 0


def run(script, **environment):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **environment}
    return subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=120)


CORE = f"""
import importlib.util, sys
spec = importlib.util.spec_from_file_location("jitfuse._core", {_core.__file__!r})
_core = importlib.util.module_from_spec(spec)
spec.loader.exec_module(_core)
b = _core.Builder()
f = b.compile(b.apply("square", (b.input("x", "f32", ["n"]),), {{}}), device="cpu")
"""


def test_without_cuda_compiler_and_home():
    script = CORE + "import numpy; print(f.call((numpy.full(3, 2, 'f'),))[0].tolist(), f.device)"
    bare = {"HOME": "/proc/none", "XDG_CACHE_HOME": "/proc/none", "PATH": "/none", "JITFUSE_BACKEND": "cpu"}
    done = run(script, JITFUSE_NVRTC_PATH="/none/libnvrtc.so", CUDA_VISIBLE_DEVICES="", **bare)
    assert (done.stdout, done.stderr) == ("[4.0, 4.0, 4.0] cpu\n", "")


def test_without_numpy():
    script = CORE.replace("import importlib.util, sys", "import importlib.util, sys; sys.modules['numpy'] = None")
    done = run(script + "import array; y = f.call((array.array('f', [1, 3]),))[0]; print(type(y).__name__, memoryview(y).tolist())")
    assert (done.stdout, done.stderr) == ("Array [1.0, 9.0]\n", "")
    assert run(CORE + "print('numpy' in sys.modules)").stdout == "False\n"  # it is not imported for nothing


def test_cuda_that_is_not_there_is_an_error():
    if _core.device_error("cuda") == "":
        pytest.skip("there is a GPU")
    b = _core.Builder()
    x = b.input("x", "f32", ["n"])
    with pytest.raises(RuntimeError, match="libcuda"):
        b.compile(b.apply("relu", (x,), {}), device="cuda")
    assert _core.device_error("cpu") == "" and _core.default_device() == "cpu"


def test_log_goes_to_a_function():
    said = []
    _core.set_log(1, lambda level, message: said.append((level, message)))
    try:
        chain(["expm1", "square", "cos"]).call((np.ones(3, np.float32),))
    finally:
        _core.set_log(0, None)
    assert said and all(type(level) is int and "chain" in message for level, message in said)
    before = len(said)
    chain(["sin", "square", "cos"]).call((np.ones(3, np.float32),))
    assert len(said) == before
    done = run(CORE + "_core.set_log(1, lambda *a: 1 / 0); import array; print(f.call((array.array('f', [2]),))[0][0])")
    assert done.stdout == "4.0\n" and "ZeroDivisionError" in done.stderr  # said, but the call goes on
    assert run(CORE + "_core.set_log(2, print)").returncode == 0  # left set at the end


@pytest.mark.parametrize("order", ["torch, jitfuse", "jitfuse, torch"])
def test_import_order_with_torch(torch, order):
    script = f"""
import {order}
from jitfuse import _core
b = _core.Builder()
x, w = b.input("x", "f32", ["n", 64]), b.input("w", "f32", [64, 64])
f = b.compile(b.apply("relu", (b.apply("matmul", (x, w), {{}})[0],), {{}}), device="cpu")
a, c = torch.randn(200, 64), torch.randn(64, 64)
torch.testing.assert_close(f.call((a, c))[0], torch.relu(a @ c), rtol=1e-4, atol=1e-4)
print("good", torch.get_num_threads() >= 1)
"""
    done = run(script, JITFUSE_BACKEND="cpu")
    assert done.stdout == "good True\n", done.stderr


def test_import_loads_what_every_use_needs_and_no_more():
    later = ["logging", "html", "json", "dataclasses", "numpy", "jitfuse.nn", "jitfuse.linalg", "jitfuse._tracer", "jitfuse._one_liner"]
    done = run(f"import jitfuse, sys; print([m for m in {later} if m in sys.modules])")
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_what_is_loaded_later_is_there_by_every_name():
    done = run("import jitfuse; print(sorted(set(jitfuse.__all__) - set(dir(jitfuse))), [n for n in jitfuse._LATER if n not in jitfuse.__all__])")
    assert (done.stdout, done.stderr) == ("[] []\n", "")
    everything = "import jitfuse\nfrom jitfuse import *\nprint(all is jitfuse.all, nn is jitfuse.nn, elementwise is jitfuse.elementwise)"
    assert run(everything).stdout == "True True True\n"
    assert run("from jitfuse import nn, finfo; from jitfuse.nn import gelu; print(nn.gelu is gelu, finfo('float32').bits)").stdout == "True 32\n"
    missing = run("import jitfuse; jitfuse.no_such_name")
    assert "AttributeError: module 'jitfuse' has no attribute 'no_such_name'" in missing.stderr


def test_the_module_shows_its_entry_and_nothing_else():
    """A symbol of libstdc++ that it showed would be taken by libraries that are loaded with it."""
    nm = shutil.which("nm")
    if nm is None:
        pytest.skip("nm is not there")
    shown = subprocess.run([nm, "-D", "--defined-only", "-f", "posix", _core.__file__], capture_output=True, text=True, check=True)
    assert [line.split()[0] for line in shown.stdout.splitlines()] == ["PyInit__core"]
