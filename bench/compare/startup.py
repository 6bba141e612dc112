"""Time to a first result in a fresh process with empty caches, and what imports take. Each run is a process of its own."""

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
print(json.dumps({"numpy_ms": (t1 - t0) * 1e3, "import_ms": (t2 - t1) * 1e3, "first_ms": (t3 - t2) * 1e3}))
"""
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
GOALS = {"wall_ms": 400, "import_ms": 60}  # Jitfuse's, on the CPU without a disk cache


def program(name, device):
    imports, body = PROGRAMS[name]
    if name == "jitfuse" and device == "cuda":  # its GPU arrays are torch's
        imports, body = "import torch; t1 = time.perf_counter(); import jitfuse", TENSORS + body[len(ARRAYS):]
    return HEAD + imports + "\nt2 = time.perf_counter()\n" + body.replace("{device!r}", repr(device)) + TAIL


def fresh_environment(folder):
    """Every cache on disk that we know of is a new folder."""
    names = ("HOME", "XDG_CACHE_HOME", "JITFUSE_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR", "CUPY_CACHE_DIR", "CUDA_CACHE_PATH",
             "JAX_COMPILATION_CACHE_DIR")
    return os.environ | dict.fromkeys(names, folder) | {"TORCHINDUCTOR_FORCE_DISABLE_CACHES": "1"}


def once(name, device):
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        begin = time.perf_counter()
        done = subprocess.run([sys.executable, "-c", program(name, device)], capture_output=True, text=True, timeout=300,
                              env=fresh_environment(folder), check=False)
        wall = (time.perf_counter() - begin) * 1e3
    if done.returncode != 0:
        raise RuntimeError((done.stderr.strip().splitlines() or ["no message"])[-1][:300])
    return {"wall_ms": wall, **json.loads(done.stdout.splitlines()[-1])}


def run(names, device, rounds):
    """One row per peer: medians over rounds in which each has its turn."""
    names = [n for n in PROGRAMS if n in names]
    seen, failed = {n: [] for n in names}, {}
    for _ in range(rounds):
        for name in names:
            if name not in failed:
                try:
                    seen[name].append(once(name, device))
                except (RuntimeError, subprocess.TimeoutExpired) as error:
                    failed[name] = str(error)
    rows = []
    for name in names:
        if name in failed:
            rows.append({"peer": name, "device": device, "failed": failed[name]})
            continue
        rows.append({"peer": name, "device": device, "rounds": rounds} |
                    {key: statistics.median(s[key] for s in seen[name]) for key in seen[name][0]})
        if name == "jitfuse" and device == "cpu":
            rows[-1]["goals"] = GOALS
    return rows
