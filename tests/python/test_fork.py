"""A child of fork() calls jitted functions, whatever other threads of its parent were doing.

Each test runs in a process of its own, whose child ends itself with an alarm where it hangs.
"""

import importlib.util
import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

HEAD = '''
import os, signal, sys, threading, time
from importlib.machinery import PathFinder
import numpy as np
import jitfuse as jf

x = np.ones((4, 3), "f")

def in_child(work):
    child = os.fork()
    if child == 0:
        signal.alarm(60)
        os._exit(0 if work() else 1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

def runs_first(name, function):
    """The module, when it is loaded, calls the function first. (While it is found, Python's own fork waits.)"""
    class Finder:
        def find_spec(self, wanted, path=None, target=None):
            if wanted != name:
                return None
            spec = PathFinder.find_spec(name, path)
            run = spec.loader.exec_module
            def both(module):
                function()
                run(module)
            spec.loader.exec_module = both
            return spec

    sys.meta_path.insert(0, Finder())
'''


def run(script):
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p), "JITFUSE_BACKEND": "cpu"}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", HEAD + script], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize("how", ["f", "jf.grad(lambda x: jf.sum(f(x)))", "lambda x: f.lower(x).compile()(x)"], ids=["call", "grad", "lower"])
def test_another_thread_traces_at_the_fork(how):
    script = f"""
begun, go_on = threading.Event(), threading.Event()
def waits(x):
    if threading.current_thread() is not threading.main_thread():
        begun.set()
        go_on.wait(100)
    return x * 2

f = jf.jit(waits)
call = {how}
thread = threading.Thread(target=call, args=(x,))
thread.start()
begun.wait()
print(in_child(lambda: (np.asarray(call(x)) == 2).all()))
go_on.set()
thread.join()
print((np.asarray(call(x)) == 2).all())
"""
    assert run(script) == "0\nTrue\n"


# What a call loads when it needs it, and a function that needs it.
BOUND = "lambda x: jf.jit(lambda x, y: x * y).bind(y=x * 2)(x)"
LOADED = [
    ("jitfuse._tracer", "jf.jit(lambda x: x * 2)"),
    ("jitfuse._indexing", "jf.jit(lambda x: x[1:] * 2)"),
    ("jitfuse._numpy", "jf.jit(lambda x: np.multiply(x, 2))"),
    ("jitfuse.nn", "jf.jit(lambda x: jf.nn.relu(x * 2))"),
    ("jitfuse._bound", BOUND),
    ("jitfuse._torch_state", "jf.jit(lambda x: x * 2)"),
    ("jitfuse._torch_state", BOUND),
    ("jitfuse._torch_node", "jf.jit(lambda x: x * 2)"),
    ("jitfuse._torch", "jf.jit(lambda x: torch.mul(x, 2))"),
]


@pytest.mark.parametrize("module, function", LOADED)
def test_another_thread_imports_at_the_fork(module, function):
    of_torch = module.startswith("jitfuse._torch")
    if of_torch and importlib.util.find_spec("torch") is None:
        pytest.skip("torch is not installed")
    script = f"""
{"import torch" if of_torch else ""}
{"x = torch.ones(4, 3, requires_grad=" + str(module == "jitfuse._torch_node") + ")" if of_torch else ""}
def slowly():
    begun.set()
    time.sleep(0.5)

begun = threading.Event()
runs_first({module!r}, slowly)
assert {module!r} not in sys.modules
f = {function}
thread = threading.Thread(target=f, args=(x,))
thread.start()
assert begun.wait(60)
print(in_child(lambda: (f(x) == 2).all()))
thread.join()
print(bool((f(x) == 2).all()))
"""
    assert run(script) == "0\nTrue\n"


@pytest.mark.parametrize("forks", [False, True])
def test_threads_that_import_do_not_wait_for_each_other(forks):
    """One has the lock of a module that another, inside of `loading`, waits for, and comes to `loading` itself; a fork waits for both."""
    script = f"""
signal.alarm(100)
holds = threading.Event()
def then_another():
    holds.set()
    time.sleep(0.5)
    jf.linalg

def imports():
    import jitfuse.nn

runs_first("jitfuse.nn", then_another)
first = threading.Thread(target=imports)
first.start()
holds.wait()
second = threading.Thread(target=lambda: jf.nn)
second.start()
time.sleep(0.2)
print(in_child(lambda: bool(jf.nn.relu and jf.linalg)) if {forks} else 0)
first.join()
second.join()
"""
    assert run(script) == "0\n"


def test_a_function_that_forks_while_it_is_traced():
    script = """
def forks(x):
    if not forked:
        forked.append(os.fork())
    return x * 2

forked = []
f = jf.jit(forks)
good = (f(x) == 2).all()
if forked[0] == 0:
    signal.alarm(60)
    f.cache_clear()
    results = []
    other = threading.Thread(target=lambda: results.append((f(x) == 2).all()))
    other.start()
    other.join()
    os._exit(0 if good and results == [True] and f.cache_info().misses == 1 else 1)
print(good, os.waitstatus_to_exitcode(os.waitpid(forked[0], 0)[1]))
"""
    assert run(script) == "True 0\n"


def test_locks_in_a_child():
    script = """
from jitfuse._fork import ForkLock

ours, theirs, free = ForkLock(), ForkLock(), ForkLock()
taken, go_on = threading.Event(), threading.Event()
def takes():
    with theirs:
        taken.set()
        go_on.wait(100)

def others_get(lock):
    got = []
    thread = threading.Thread(target=lambda: got.append(lock.acquire(blocking=False)))
    thread.start()
    thread.join()
    return got[0]

def child():
    seen = [others_get(lock) for lock in (ours, theirs, free)]
    ours.release()
    return seen == [False, True, True] and others_get(ours)

thread = threading.Thread(target=takes)
thread.start()
taken.wait()
with ours:
    print(in_child(child))
    print(others_get(ours), others_get(theirs), others_get(free))
go_on.set()
thread.join()
"""
    assert run(script) == "0\nFalse False True\n"
