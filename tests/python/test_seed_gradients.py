"""Gradients of jitfuse.fused through torch's autograd: those of the formulas on docs/seed_features.md, in float64."""

import numpy as np
import pytest

import jitfuse as jf
from seed_page import SMALL, arguments, evaluate, rows

torch = pytest.importorskip("torch", reason="gradients are compared with torch's, and torch is not installed")


CONSTANT = ("running_mean", "running_var", "target")  # which torch, or the formula, has no gradient of


def leaves(value):
    return [leaf for v in value for leaf in leaves(v)] if isinstance(value, (list, tuple)) else [value]


def prepared(name, value):
    if isinstance(value, list):
        return [prepared(name, v) for v in value]
    tensor = torch.from_numpy(np.array(value))
    return tensor.requires_grad_() if tensor.is_floating_point() and name not in CONSTANT else tensor


def gradients(results, weights, inputs):
    total = sum((r * w).sum() for r, w in zip(results, weights) if r.is_floating_point() and r.requires_grad)
    return torch.autograd.grad(total, inputs, allow_unused=True)


@pytest.mark.parametrize("row", rows(), ids=lambda row: row.name)
def test_gradients(row):
    arrays, options = arguments(row, SMALL, np.random.default_rng(3))
    tensors = {name: prepared(name, value) for name, value in arrays.items()}
    named = [(name, t) for name, value in tensors.items() for t in leaves([value]) if t.requires_grad]
    inputs = [t for _, t in named]
    with jf.random.seeded(7):
        want = evaluate(row, tensors, options, SMALL)
        got = row.function(**tensors, **options)
    got = got if isinstance(got, tuple) else (got,)
    if row.name == "rms_norm_quantize":  # q is of integers; the scale has a gradient
        want, got = want[1:], got[1:]
    generator = torch.Generator().manual_seed(1)
    weights = [torch.randn(w.shape, generator=generator, dtype=torch.float64) for w in want]
    for (name, x), g, w in zip(named, gradients(got, weights, inputs), gradients(want, weights, inputs)):
        g, w = (torch.zeros_like(x) if t is None else t for t in (g, w))
        torch.testing.assert_close(g, w, rtol=1e-11, atol=1e-11, msg=lambda m: f"{row.name}, of {name}: {m}")
