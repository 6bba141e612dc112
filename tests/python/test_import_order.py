"""Jitfuse in one process with other libraries that bring LLVM, OpenMP or a compiler: torch, numba, llvmlite, triton.

Each pair is imported in both orders, and both work, twice in turn. Threads are counted: what Jitfuse adds is bounded by the CPUs it
may use, is none where one thread is asked for, and no more than those CPUs work at once.
"""

import importlib.util
import os
import subprocess
import sys

import pytest

WORK = '''
import os, sys, threading, time

def threads():
    return len(os.listdir("/proc/self/task"))

def work_of_jitfuse():
    import jitfuse as jf, numpy as np
    f = jf.jit(lambda x, w: jf.nn.gelu(jf.exp(-x * x) @ w))  # LLVM and oneDNN
    rng = np.random.default_rng(0)
    x, w = rng.random((300, 256), "f"), rng.random((256, 300), "f")
    a = np.exp(-x.astype("d") ** 2) @ w
    want = a * 0.5 * (1 + np.vectorize(__import__("math").erf)(a / 2**0.5))
    assert np.allclose(f(x, w), want, rtol=1e-4)
    many = jf.jit(lambda x: jf.tanh(x) * 2)(np.ones(1_000_000, "f"))  # OpenMP
    assert np.allclose(many, 1.5231884, rtol=1e-5)

def work_of_torch():
    import torch
    a, b = torch.rand(300, 256), torch.rand(256, 300)
    torch.testing.assert_close(torch.relu(a @ b), (a.double() @ b.double()).relu().float(), rtol=1e-4, atol=1e-4)
    assert torch.tanh(torch.ones(1_000_000)).sum() > 700_000

def work_of_numba():
    import numba, numpy as np
    @numba.njit(parallel=True)
    def total(x):
        s = 0.0
        for i in numba.prange(x.size):
            s += x[i]
        return s
    assert total(np.ones(1_000_000)) == 1e6

def work_of_llvmlite():
    import ctypes, llvmlite.binding as llvm
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    module = llvm.parse_assembly("define i32 @f(i32 %a) { %r = add i32 %a, 41\\n ret i32 %r }")
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine())
    engine.finalize_object()
    assert ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(engine.get_function_address("f"))(1) == 42

def work_of_triton():
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource
    import kernel_for_triton
    types = {"x": "*fp32", "y": "*fp32", "n": "i32", "B": "constexpr"}
    made = triton.compile(ASTSource(fn=kernel_for_triton.k, signature=types, constexprs={"B": 1024}), target=GPUTarget("cuda", 90, 32))
    assert ".visible .entry k" in made.asm["ptx"]  # for a GPU that need not be here

def both(order):
    for name in order:
        __import__(name)
    for name in order * 2:
        globals()["work_of_" + name]()
    print("good")
'''

KERNEL = '''
import triton, triton.language as tl
@triton.jit
def k(x, y, n, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(y + i, tl.exp(tl.load(x + i, mask=i < n)), mask=i < n)
'''

CPUS = len(os.sched_getaffinity(0))


@pytest.fixture
def run(tmp_path):
    (tmp_path / "work.py").write_text(WORK)
    (tmp_path / "kernel_for_triton.py").write_text(KERNEL)

    def call(script, **environment):
        env = {k: v for k, v in os.environ.items() if k not in ("OMP_NUM_THREADS", "JITFUSE_NUM_THREADS")}
        env |= {"PYTHONPATH": os.pathsep.join([str(tmp_path), *(p for p in sys.path if p)]), "TRITON_CACHE_DIR": str(tmp_path / "cache")}
        env |= {"JITFUSE_BACKEND": "cpu", "PYTHONWARNINGS": "ignore", **environment}
        done = subprocess.run([sys.executable, "-c", "from work import *\n" + script], env=env, capture_output=True, text=True, timeout=300)
        assert done.returncode == 0, done.stderr
        return done.stdout

    return call


def need(*names):
    for name in names:
        if importlib.util.find_spec(name) is None:
            pytest.skip(f"{name} is not installed")


@pytest.mark.parametrize("other", ["torch", "numba", "llvmlite", "triton"])
@pytest.mark.parametrize("first", [True, False], ids=["jitfuse_first", "jitfuse_last"])
def test_both_orders(run, other, first):
    need(other)
    assert run(f"both({['jitfuse', other] if first else [other, 'jitfuse']})") == "good\n"


@pytest.mark.parametrize("first", [True, False], ids=["jitfuse_first", "jitfuse_last"])
def test_all_of_them(run, first):
    others = [n for n in ("torch", "numba", "llvmlite", "triton") if importlib.util.find_spec(n)]
    if len(others) < 2:
        pytest.skip("of torch, numba, llvmlite and triton at most one is installed")
    assert run(f"both({['jitfuse', *others] if first else [*others, 'jitfuse']})") == "good\n"


@pytest.mark.parametrize("other", [None, "torch", "numba"])
def test_threads_that_jitfuse_adds_are_bounded(run, other):
    if other:
        need(other)
    first = f"import numpy, jitfuse\n{f'work_of_{other}()' if other else ''}\nbefore = threads()\n"
    script = first + "for _ in range(5): work_of_jitfuse()\nprint(threads() - before)"
    # OpenMP's, those of our own pool, which takes over on a busy machine, and compilers' helpers that have not ended yet.
    assert int(run(script)) <= 3 * (CPUS - 1)
    assert int(run(script, OMP_NUM_THREADS="1")) == 0
    assert int(run(script, JITFUSE_NUM_THREADS="1")) == 0


@pytest.mark.parametrize("other", ["torch", "numba"])
def test_no_more_threads_than_cpus_work_at_once(run, other):
    need(other)
    script = f"""
import jitfuse as jf, numpy as np
f, x = jf.jit(lambda x: jf.tanh(jf.exp(x)) * 2), np.ones(1_000_000, "f")
end = threading.Event()

def calls():
    while not end.is_set():
        f(x)

def working():  # of those that can run, without this one
    count = -1
    for task in os.listdir("/proc/self/task"):
        try:
            count += open(f"/proc/self/task/{{task}}/stat").read().rsplit(")", 1)[1].split()[0] == "R"
        except OSError:  # it has ended
            pass
    return count

work_of_{other}()
calling = threading.Thread(target=calls)
calling.start()
time.sleep(0.3)
seen = []
for _ in range(60):
    seen.append(working())
    time.sleep(0.003)
end.set()
calling.join()
print(sorted(seen)[len(seen) // 2])
"""
    assert int(run(script)) <= CPUS
