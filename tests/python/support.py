"""What the Python tests share: arrays of every dtype, and comparison within the ops' bounds."""

import numpy as np

import jitfuse as jf

FLOATS = ["float16", "float32", "float64"]
SIGNED = ["int8", "int16", "int32", "int64"]
UNSIGNED = ["uint8", "uint16", "uint32", "uint64"]
INTS = SIGNED + UNSIGNED
SHAPES = [(), (0,), (1,), (7,), (3, 5), (2, 0, 3), (2, 3, 5), (33, 17)]
EPS = {"float16": 2.0**-10, "bfloat16": 2.0**-7, "float32": 2.0**-23, "float64": 2.0**-52}


def make(shape, dtype, seed=0, low=-3.0, high=3.0):
    """Reproducible values of a dtype; of a float one in low..high."""
    rng = np.random.default_rng(seed)
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype in UNSIGNED:
        return rng.integers(0, 100, shape).astype(dtype)
    if dtype in SIGNED:
        return rng.integers(-50, 50, shape).astype(dtype)
    return np.asarray(rng.uniform(low, high, shape)).astype(dtype)


def same(got, want, ulps=8, what="", atol=0.0):
    """Equal dtype and shape; floats within so many ulps of the dtype, else exactly equal."""
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape, f"{what}: shape {got.shape}, expected {want.shape}"
    assert got.dtype == want.dtype, f"{what}: dtype {got.dtype}, expected {want.dtype}"
    eps = EPS.get(got.dtype.name)
    if eps is None:
        np.testing.assert_array_equal(got, want, err_msg=what)
        return
    got, want = got.astype(np.float64), want.astype(np.float64)
    tiny = {2.0**-10: 2.0**-24, 2.0**-7: 2.0**-133, 2.0**-23: 2.0**-149}.get(eps, 2.0**-1074)
    np.testing.assert_allclose(
        got, want, rtol=ulps * eps, atol=max(atol, ulps * tiny), err_msg=what
    )


def run(function, *args, **options):
    """function under jit, called once."""
    return jf.jit(function, **options)(*args)
