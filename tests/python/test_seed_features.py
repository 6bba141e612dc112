"""docs/seed_features.md against jitfuse.fused: names, formulas in every float dtype, kernel counts.

`python test_seed_features.py --update` counts anew.
"""

import inspect
import sys

import numpy as np
import pytest

import jitfuse as jf
import seed_page
from seed_page import ODD, SMALL, arguments, counts, evaluate, rows

ROWS = rows()
EPS = {"float64": 2.0**-52, "float32": 2.0**-23, "float16": 2.0**-10, "bfloat16": 2.0**-7}


def by_name(row):
    return row.name


def test_the_page_names_every_function_and_no_other():
    names = [row.name for row in ROWS]
    assert len(names) == len(set(names))
    functions = {n for n in jf.fused.__all__ if isinstance(getattr(jf.fused, n), jf.JitFunction)}
    assert set(names) == functions
    assert set(jf.fused.__all__) - functions == {"ACTIVATIONS"}
    lines = [line for line in seed_page.PAGE.read_text().split("\n") if line.startswith("| `")]
    assert len(lines) == len(names)  # none that the pattern does not match


def test_names_that_users_look_for():
    """From the questions of users of older libraries."""
    asked = """elementwise_add_relu elementwise_mul_tanh fused_bias_gelu reduce_sum_squared reduce_mean_abs fused_layer_norm_relu
        fused_gelu_dropout fused_attention_score batch_norm_relu rms_norm_gelu swish_multiply mish_scale prelu_bias fused_linear_activation
        fused_add_norm elementwise_add_sigmoid fused_bias_dropout_add fused_softmax_cross_entropy scaled_masked_softmax"""
    assert set(asked.split()) <= {row.name for row in ROWS}


@pytest.mark.parametrize("row", ROWS, ids=by_name)
def test_every_function_has_a_docstring_and_names_its_arguments(row):
    doc = inspect.getdoc(row.function)
    assert doc and len(doc) > 15
    assert row.function.__module__.startswith("jitfuse.fused.")
    named = {part.split(": ")[0].split("=")[0] for part in row.arguments.split("; ")}
    assert named <= set(inspect.signature(row.function).parameters)


@pytest.mark.parametrize("row", ROWS, ids=by_name)
def test_kernel_counts_and_status(row):
    cpu, gpu, status = counts(row)
    assert gpu == row.gpu, f"{row.name}: {gpu} kernels for sm_90; --update writes the page anew"
    if row.gpu == row.cpu == 1 or seed_page.has_gemm_library():
        assert (cpu, status) == (row.cpu, row.status), f"{row.name}: --update writes the page anew"


def test_what_is_not_fused_says_why():

    codes = (seed_page.PAGE.parent / "explain.md").read_text()
    for row in ROWS:
        assert (row.status == "fused") == (row.cpu == 1)
        if row.status != "fused":
            assert all(f"`{code}`" in codes for code in row.status.split(", ")), row


def to_torch(torch, value, dtype):
    if isinstance(value, list):
        return [to_torch(torch, v, dtype) for v in value]
    tensor = torch.from_numpy(np.asarray(value))
    return tensor.to(dtype) if tensor.is_floating_point() else tensor


def widen(value):
    if isinstance(value, list):
        return [widen(v) for v in value]
    return value.double() if value.is_floating_point() else value


def check(torch, row, dtype, sizes):
    arrays, options = arguments(row, sizes, np.random.default_rng(len(row.name)))
    given = {name: to_torch(torch, value, dtype) for name, value in arrays.items()}
    with jf.random.seeded(7):
        want = evaluate(row, {name: widen(value) for name, value in given.items()}, options, sizes)
        got = row.function(**given, **options)
    got = got if isinstance(got, tuple) else (got,)
    assert len(got) == len(want)
    eps = EPS[str(dtype).split(".")[1]]
    sums = 256 * (eps if eps < 1e-12 else 2.0**-24) if "linear(" in row.formula or "@" in row.formula else 0.0
    for g, w in zip(got, want):
        assert isinstance(g, torch.Tensor) and g.shape == w.shape
        if g.dtype == torch.int8:  # a quotient beside a tie may round either way
            assert (g - w).abs().max() <= (0 if eps < 1e-12 else 1)
            continue
        assert g.dtype == dtype
        scale = max(1.0, float(w.abs().max()))
        error = float((g.double() - w).abs().max()) / scale
        assert error <= 32 * eps + sums, f"{row.name} {dtype} {sizes}: off by {error / eps:.1f} eps"


@pytest.mark.parametrize("row", ROWS, ids=by_name)
def test_formula(row, torch):
    for sizes in (SMALL, ODD):
        for dtype in (torch.float64, torch.float32, torch.float16, torch.bfloat16):
            check(torch, row, dtype, sizes)


@pytest.mark.parametrize("row", ROWS, ids=by_name)
def test_numpy_arrays_and_traced_ones(row):
    """NumPy in, NumPy out; inside another jitted function the same function is part of its graph."""
    arrays, options = arguments(row, SMALL)
    as_f32 = {k: [a.astype("f4") for a in v] if isinstance(v, list) else v.astype("f4") if v.dtype == np.float64 else v for k, v in arrays.items()}
    jf.random.seed(3)
    got = row.function(**as_f32, **options)
    jf.random.seed(3)
    inside = jf.jit(lambda given: row.function(**given, **options))(as_f32)
    for g, w in zip(*[r if isinstance(r, tuple) else (r,) for r in (got, inside)]):
        assert isinstance(g, np.ndarray) and g.dtype == (np.int8 if g.dtype == np.int8 else np.float32)
        np.testing.assert_array_equal(g, w)


@pytest.mark.parametrize("row", [r for r in ROWS if r.arguments.startswith("input: [n,d]") and not r.random], ids=by_name)
def test_another_batch_compiles_nothing(row):
    row.function.cache_clear()
    for n in (5, 9, 6):
        arrays, options = arguments(row, {**SMALL, "n": n})
        row.function(**arrays, **options)
    assert row.function.cache_info().entries == 1


if __name__ == "__main__" and sys.argv[1:] == ["--update"]:
    seed_page.update()
