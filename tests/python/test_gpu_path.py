"""What a call on a GPU asks of the frameworks and of the driver, on machines without one: streams, memory, what is waited for.

fake_gpu.c is the driver and the arrays, fake_frameworks.py torch, CuPy and JAX. Kernels are compiled by NVRTC and run nowhere, so
values say nothing here. Each test runs in a process of its own, with the fakes in place of the real libraries.
"""

import os
import pathlib
import struct
import subprocess
import sys

import pytest

from jitfuse import _core

HERE = pathlib.Path(__file__).resolve().parent
pytestmark = pytest.mark.skipif(not any(f["found"] for f in _core.doctor() if f["what"] == "NVRTC"), reason="NVRTC compiles the kernels, and was not found")

PRELUDE = """
import fake_frameworks as F
import jitfuse as jf
from jitfuse import _core
from fake_frameworks import asked, calls, make, Tensor, Foreign, ndarray, ArrayImpl

assert _core.device_error("cuda") == "", _core.device_error("cuda")
f = jf.jit(lambda x, y: jf.nn.relu(x * y))
scratch = jf.jit(lambda x: jf.sum(jf.nn.softmax(x, -1), axis=1), fuse=False)

def fresh():
    asked.clear()
    F.fake_gpu.take_log()

def error(call, kind):
    try:
        call()
    except kind as e:
        return str(e)
    raise AssertionError(f"no {kind.__name__}")
"""


@pytest.fixture
def run(library):
    def run(script, **environment):
        path = os.pathsep.join([str(library.parent), str(HERE), *sys.path])
        env = os.environ | {"PYTHONPATH": path, "JITFUSE_CUDA_PATH": str(library), "PYTHONDONTWRITEBYTECODE": "1", **environment}
        env.pop("JITFUSE_BACKEND", None)
        done = subprocess.run([sys.executable, "-c", PRELUDE + script], env=env, capture_output=True, text=True, timeout=120, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    return run


def test_torch(run):
    run("""
x, y = make(Tensor, 256), make(Tensor, 256)
f(x, y)
for give in (lambda z: {}, lambda z: {"out": z}):
    z = make(Tensor, 256)
    fresh()
    got = f(x, y, **give(z))
    seen = calls()
    assert type(got) is Tensor and got.shape == (256,)
    if got is z:
        assert seen == [("launch", 0x100, 0)], seen
    else:
        assert seen == [("torch alloc", 0x100, 1024), ("launch", 0x100, 0)], seen
    del got, z
F.fake_gpu.set_stream(0x110)
f(x, y)
assert [s for c, s, _ in calls("launch")] == [0x110]
""")


def test_scratch_memory_is_torchs_and_given_back(run):
    run("""
x = make(Tensor, 64, 1024)
scratch(x)
for out in (None, make(Tensor, 64)):
    fresh()
    scratch(x, out=out)
    seen = calls()
    kinds = [c for c, _, _ in seen]
    assert "driver alloc" not in kinds and "wait" not in kinds, seen
    assert kinds.count("table alloc") == kinds.count("table free") > 0, seen
    assert sum(n for c, _, n in seen if c == "table alloc") >= 64 * 1024 * 4
    assert kinds.count("torch alloc") == (1 if out is None else 0), seen
    assert all(s == 0x100 for c, s, _ in seen if c == "launch") and kinds.count("launch") > 4
""")


@pytest.mark.parametrize("old", [False, True])
def test_versions_of_outs_are_counted(run, old):
    run(f"""
def of_one(tensor):  # torch's before 2.6
    if type(tensor) is not Tensor:
        raise RuntimeError("increment_version expect a Tensor as input")
    asked.append(("torch", "increment_version", None))
if {old}:
    F.torch._C._increment_version = of_one
two = jf.jit(lambda x: (x + x, x * x))
x, a, b = (make(Tensor, 8) for _ in range(3))
two(x)
for _ in range(3):
    fresh()
    two(x, out=(a, b))
    assert asked.count(("torch", "increment_version", None)) == 2, asked
""")


def test_torch_without_its_compilers_functions(run):
    run("""
del F.guards._empty_strided_cuda
z = f(make(Tensor, 8), make(Tensor, 8))
assert type(z) is Tensor and asked == [("torch", "empty_strided", "cuda:0")], asked
""")


def test_a_framework_with_a_table_that_is_not_torch(run):
    run("""
F.fake_gpu.set_type(Foreign)
x = make(Foreign, 8)
f(x, x)
fresh()
z = f(x, x)
seen = calls()
assert type(z) is Foreign and [c for c, _, _ in seen] == ["table alloc", "launch"], seen
""")


def test_cupy(run):
    run("""
x = make(ndarray, 256)
f(x, x)
fresh()
z = f(x, x)
assert type(z) is ndarray and z.shape == (256,)
assert asked[:2] == [("cupy", "__dlpack__", 0x200)] * 2 and ("cupy", "empty", (256,)) in asked, asked
assert calls("launch", "wait", "driver alloc") == [("launch", 0x200, 0)]
F.streams.cupy = 0
fresh()
f(x, x, out=z)
assert asked[0] == ("cupy", "__dlpack__", 1), asked  # the legacy default stream, as DLPack says it
assert calls("launch", "wait", "driver alloc") == [("launch", 0, 0)]
F.streams.cupy = 0x200
x = make(ndarray, 64, 1024)
scratch(x)
fresh()
scratch(x)
taken = [n for _, what, n in asked if what == "alloc"]
assert sum(taken) >= 64 * 1024 * 4 and sum(what == "free" for _, what, _ in asked) == len(taken), asked
assert not calls("wait", "driver alloc")
""")


def test_jax(run):
    run("""
x = make(ArrayImpl, 256)
f(x, x)
fresh()
z = f(x, x)
assert type(z) is ArrayImpl
assert asked == [("jax", "__dlpack__", 1)] * 2 + [("jax", "from_dlpack", (2, 0))], asked
seen = calls("launch", "wait")
assert seen == [("launch", 0, 0), ("wait", 0, 0)], seen  # over before JAX has the result
assert "out 0 is read-only" in error(lambda: f(x, x, out=z), ValueError)
ArrayImpl.broken_streams = True
fresh()
f(x, x)
assert asked[:3] == [("jax", "__dlpack__", 1), ("jax", "block_until_ready", None), ("jax", "__dlpack__", None)], asked
""")


def test_arrays_of_two_frameworks(run):
    run("""
t, c, j = make(Tensor, 256), make(ndarray, 256), make(ArrayImpl, 256)
f(t, t)
for args, kind, own, other in [((t, c), Tensor, 0x100, 0x200), ((c, t), ndarray, 0x200, 0x100), ((t, j), Tensor, 0x100, 0), ((j, t), ArrayImpl, 0, 0x100)]:
    fresh()
    z = f(*args)
    seen = calls("launch", "wait")
    assert type(z) is kind
    assert seen[:2] == [("wait", other, 0), ("launch", own, 0)] and seen[-1] == ("wait", own, 0), (kind, seen)
fresh()
f(t, t, out=c)
assert calls("launch", "wait") == [("wait", 0x200, 0), ("launch", 0x100, 0), ("wait", 0x100, 0)]
c2 = make(type("Derived", (ndarray,), {}), 256)
f(c, c2)
fresh()
f(c, c2)
assert calls("launch", "wait") == [("launch", 0x200, 0)]  # one framework, two types
g = jf.jit(lambda s: jf.zeros((256,), dtype=jf.float32) + s, device="cuda")
g(1.0, out=t)
fresh()
g(2.0, out=t)
assert calls("launch", "wait") == [("launch", 0x100, 0)]  # out alone says the stream
fresh()
f(t, t, out=make(Tensor, 256))
assert calls("launch", "wait") == [("launch", 0x100, 0)]
""")


def test_nothing_is_kept(run):
    run("""
import gc
sets = [[make(kind, 16, 8) for _ in range(2)] for kind in (Tensor, ndarray, ArrayImpl)]
big = make(Tensor, 4, 1024)

def round():
    for x, y in sets:
        f(x, y)
        error(lambda: f(x, y, out=make(type(x), 3, 8)), ValueError)
    f(*sets[0], out=sets[0][0])
    scratch(big)

round()
gc.collect()
before = F.fake_gpu.alive()
for _ in range(50):
    round()
gc.collect()
assert F.fake_gpu.alive() == before, (before, F.fake_gpu.alive())
""")


def test_devices(run):
    run("""
import numpy as np
t, n = make(Tensor, 8), np.ones(8, np.float32)
assert "input 1 is on the CPU" in error(lambda: f(t, n), ValueError)
assert "input 0 is on the CPU" in error(lambda: f(n, t), ValueError)
assert "is on GPU 0" in error(lambda: jf.jit(lambda x: x + 1, device="cpu")(t), ValueError)
assert "on the CPU" in error(lambda: jf.jit(lambda x: x + 1, device="cuda")(n), ValueError)
assert type(f(n, n)) is np.ndarray and f(n, n)[0] == 1  # the same function on the CPU
g = jf.Graph.parse("graph f(%x: f32[n]) -> (f32[n]) {\\n  %0 = exp(%x) : f32[n]\\n  return %0\\n}")
assert type(g.run(t)) is Tensor and abs(g.run(n)[0] - np.e) < 1e-5
""")


def without_search_path(elf):
    """The bytes of an ELF library whose RPATH and RUNPATH are gone."""
    data = bytearray(elf)
    at, size, count = struct.unpack_from("<Q", data, 32)[0], *struct.unpack_from("<HH", data, 54)
    for header in range(at, at + size * count, size):
        kind, offset, length = struct.unpack_from("<I", data, header)[0], *(struct.unpack_from("<Q", data, header + i)[0] for i in (8, 32))
        if kind == 2:  # PT_DYNAMIC
            for entry in range(offset, offset + length, 16):
                if struct.unpack_from("<Q", data, entry)[0] in (15, 29):
                    struct.pack_into("<Q", data, entry, 21)  # DT_DEBUG, which says nothing of a library
    return bytes(data)


def test_an_nvrtc_that_does_not_look_beside_itself(run, tmp_path):
    """pip's 13.0 has no RPATH, and opens libnvrtc-builtins by its bare name."""
    where = pathlib.Path(next(f["where"] for f in _core.doctor() if f["what"] == "NVRTC"))
    builtins = list(where.resolve().parent.glob("libnvrtc-builtins.so.*"))
    if not builtins:
        pytest.skip("its second library is not beside it here")
    (tmp_path / where.name).write_bytes(without_search_path(where.read_bytes()))
    for other in builtins:
        (tmp_path / other.name).symlink_to(other)
    run("x = make(Tensor, 8); f(x, x); assert calls('launch')", JITFUSE_NVRTC_PATH=str(tmp_path / where.name))


def test_random_numbers_are_of_torchs_generator(run):
    """Its offset moves on; in a capture an operator of torch draws, and what reads that was compiled before."""
    run("""
(generator,) = F.torch.cuda.default_generators
noisy = jf.jit(lambda x: [jf.nn.dropout(x, 0.5) for _ in range(5)])
x = make(Tensor, 256)
state = jf.random.get_state()
noisy(x)
assert generator.offset == 16, generator.offset
noisy(x)
assert generator.offset == 24 and jf.random.get_state() == state
with jf.random.seeded(3):
    noisy(x)
assert generator.offset == 24
before = _core.total_stats()["compiles"]
fresh()
F.capturing.on = True
noisy(x)
assert generator.offset == 24
assert [a for a in asked if a[0] == "torch"][:2] == [("torch", "empty", (2, "int64")), ("torch", "random_", (2,))], asked
assert any(call[0] == "launch" and call[1] == 0x100 for call in F.fake_gpu.take_log())
assert _core.total_stats()["compiles"] == before
""")


def test_what_depends_on_bound_arrays_is_computed_once(run):
    run("""
x, w = make(Tensor, 8, 64), make(Tensor, 64)
g = jf.jit(lambda x, w: x * jf.exp(w), fuse=False).bind(w=w)
fresh()
z = g(x)
first = calls("launch", "wait")
# The array is made ready, what depends on it is computed and waited for, then the call.
assert [c for c, _, _ in first] == ["wait", "launch", "wait", "launch"], first
assert all(s == 0x100 for _, s, _ in first) and type(z) is Tensor and z.shape == (8, 64)
for rows in (8, 5):
    x = make(Tensor, rows, 64)
    fresh()
    g(x)
    assert calls("launch", "wait") == [("launch", 0x100, 0)], calls()
every = jf.jit(lambda x, w: x * w).bind(x=x, w=w)
every()
fresh()
z = every()
assert type(z) is Tensor and calls("launch", "wait", "torch alloc") == [("torch alloc", 0x100, 5 * 64 * 4), ("launch", 0x100, 0)], calls()
""")


def test_a_trace_has_a_row_for_the_gpu(run, tmp_path):
    run("""
import json
x, y = make(Tensor, 256), make(Tensor, 256)
f(x, y)
with jf.profile(PATH):
    f(x, y)
    f(x, y)
events = json.load(open(PATH))
kinds = [e.get("cat") for e in events]
assert kinds.count("launch") == kinds.count("device") == 2, kinds
assert [e["args"]["name"] for e in events if e["name"] == "thread_name"] == ["GPU 0, stream 100"]
""".replace("PATH", repr(str(tmp_path / "t.json"))))
