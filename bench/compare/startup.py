"""Time to a first result in a fresh process with empty caches ("NAME, warm": with those that a process before left), what imports
take, and on a GPU making the context, apart. Each run is a process of its own."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time

HEAD = """
import json, time
t0 = time.perf_counter()
import numpy as np
t1 = time.perf_counter()
"""
TAIL = """
t3 = time.perf_counter()
print(json.dumps({"numpy_ms": (t1 - t0) * 1e3, "import_ms": (t2 - t1) * 1e3, "context_ms": (tc - t2) * 1e3, "first_ms": (t3 - tc) * 1e3}))
"""
CONTEXT = "torch.empty(1, device='cuda')\ntorch.cuda.synchronize()\n"  # of programs with torch; the others' is part of their first result
ARRAYS = "a, b, c = (np.random.rand(1000, 1000).astype(np.float32) for _ in range(3))\n"
TENSORS = "a, b, c = (torch.rand(1000, 1000, device={device!r}) for _ in range(3))\n"
WAIT = "float(y.ravel()[0])\n"
PROGRAMS = {  # imports, then the first result of relu(a * b + c)
    "jitfuse": ("import jitfuse", ARRAYS + "y = jitfuse.jit(lambda a, b, c: jitfuse.nn.relu(a * b + c))(a, b, c)\n" + WAIT),
    "torch": ("import torch", TENSORS + "y = torch.relu(a * b + c)\n" + WAIT),
    "torch.compile": ("import torch", TENSORS + "y = torch.compile(lambda a, b, c: torch.relu(a * b + c))(a, b, c)\n" + WAIT),
    "JAX": ("import jax", ARRAYS + "y = jax.jit(lambda a, b, c: jax.numpy.maximum(a * b + c, 0))(a, b, c)\n" + WAIT),
    "CuPy": ("import cupy", ARRAYS + "y = cupy.fuse(kernel_name='chain')(lambda a, b, c: cupy.maximum(a * b + c, 0))(*map(cupy.asarray, (a, b, c)))\n" + WAIT),
    "numexpr": ("import numexpr", ARRAYS + "y = numexpr.evaluate('where(a * b + c > 0, a * b + c, 0)')\n" + WAIT),
}
WARM = {"jitfuse": "jitfuse, warm", "torch.compile": "torch.compile, warm"}
# Jitfuse's, by row and device; wall and import on the CPU are without a disk cache.
GOALS = {("jitfuse", "cpu"): {"wall_ms": 400, "import_ms": 60}, ("jitfuse", "cuda"): {"first_ms": 150}, ("jitfuse, warm", "cpu"): {"first_ms": 40},
         ("jitfuse, warm", "cuda"): {"first_ms": 30}}


def program(name, device):
    imports, body = PROGRAMS[name]
    if name == "jitfuse" and device == "cuda":  # its GPU arrays are torch's
        imports, body = "import torch; t1 = time.perf_counter(); import jitfuse", TENSORS + body[len(ARRAYS):]
    context = CONTEXT if device == "cuda" and "import torch" in imports else ""
    return (HEAD + imports + "\nt2 = time.perf_counter()\n" + context + "tc = time.perf_counter()\n" + body.replace("{device!r}", repr(device)) +
            TAIL)


def environment(folder, warm):
    """Every cache on disk that we know of is in this folder; torch's are off unless they may be warm."""
    names = ("HOME", "XDG_CACHE_HOME", "JITFUSE_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "CUPY_CACHE_DIR", "CUDA_CACHE_PATH",
             "JAX_COMPILATION_CACHE_DIR")
    return os.environ | dict.fromkeys(names, folder) | {"JITFUSE_NO_CACHE": "0"} | ({} if warm else {"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"})


def once(name, device, warm=None):
    """`warm`: a folder of caches that is kept."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as fresh:
        begin = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", program(name, device)], capture_output=True, text=True, timeout=300,
                              env=environment(warm or fresh, warm is not None), check=False)
        wall = (time.perf_counter() - begin) * 1e3
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1][:300])
    return {"wall_ms": wall, **json.loads(done.stdout.splitlines()[-1])}


def run(names, device, rounds):
    """One row per peer, and per warm one: medians over rounds in which each has its turn."""
    names = [n for n in PROGRAMS if n in names]
    rows = names + [WARM[n] for n in names if n in WARM]
    seen, failed = {r: [] for r in rows}, {}
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as caches:
        turns = {n: (lambda n=n: once(n, device)) for n in names}
        turns |= {WARM[n]: (lambda n=n: once(n, device, os.path.join(caches, n))) for n in names if n in WARM}
        for round_ in range(-1, rounds):  # the first fills what is to be warm
            for row, turn in turns.items():
                if row in failed or (round_ < 0 and row in names):
                    continue
                try:
                    got = turn()
                    if round_ >= 0:
                        seen[row].append(got)
                except (RuntimeError, subprocess.TimeoutExpired) as error:
                    failed[row] = str(error)
    return [result(row, device, rounds, seen[row], failed.get(row)) for row in rows]


def result(row, device, rounds, seen, failed):
    if failed is not None:
        return {"peer": row, "device": device, "failed": failed}
    out = {"peer": row, "device": device, "rounds": rounds} | {key: statistics.median(s[key] for s in seen) for key in seen[0]}
    if (row, device) in GOALS:
        out["goals"] = GOALS[row, device]
    return out
