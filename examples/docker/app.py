"""Calls the model with several batch sizes, and says that nothing was compiled for it."""

import os
import time

import numpy as np
from model import scaled, scores

started = time.perf_counter()
if os.environ.get("APP_DEVICE") == "cuda":
    import cupy as xp
else:
    xp = np
gain, shift = xp.ones(256, dtype=xp.float32), xp.zeros(256, dtype=xp.float32)
for batch in (1, 7, 64):
    x = xp.ones((batch, 256), dtype=xp.float32)
    result = scaled(scores(x, gain, shift), 0.5)
stats = [f.lower(*args).compile().stats() for f, args in ((scores, (x, gain, shift)), (scaled, (x, 0.5)))]
print(f"first value {float(result[0, 0]):.6f}, {1000 * (time.perf_counter() - started):.0f} ms")
print(f"kernels: {sum(s['layer_hits'] for s in stats)} found in the layer, {sum(s['compiled'] for s in stats)} compiled")
