"""jit(verify=N) on torch's CUDA tensors. Skipped where there is no GPU."""

import numpy as np
import pytest

import jitfuse as jf
from jitfuse import _core

torch = pytest.importorskip("torch", reason="GPU work is given as torch's tensors, and torch is not installed")
pytestmark = pytest.mark.skipif(_core.device_error("cuda") != "", reason="needs a GPU")


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float32, torch.float64], ids=lambda d: str(d)[6:])
def test_calls_are_compared(dtype):
    f = jf.jit(lambda x, w, b: jf.nn.gelu(x @ w + b), verify=2)
    x, w, b = (torch.randn(s, dtype=dtype, device="cuda") for s in ((32, 64), (64, 48), (48,)))
    for _ in range(3):
        f(x, w, b)
    (report,) = f.verify_report()
    assert (report["backend"], report["verified"], report["mismatches"]) == ("cuda", 2, 0)
    assert report["outputs"][0]["max_of_bound"] <= 1 and len(set(report["outputs"][0]["checksums"])) == 1


def test_large_outputs_by_rows():
    f = jf.jit(lambda x: jf.nn.softmax(x, -1), verify=1)
    f(torch.randn(8192, 4096, device="cuda"))
    (report,) = f.verify_report()
    assert report["sampled"] == 1 and 0 < report["outputs"][0]["compared"] < 8192 * 4096


def test_dropout_and_in_place_results():
    f = jf.jit(lambda x: jf.nn.dropout(x, 0.5) * 2, verify=2)
    x = torch.randn(1000, device="cuda")
    f(x)
    f(x, out=x)
    assert sum(r["verified"] for r in f.verify_report()) == 2


def test_captured_calls_are_not_compared():
    f = jf.jit(lambda x: x * x, verify=2)
    x, out = torch.randn(1000, device="cuda"), torch.empty(1000, device="cuda")
    f(x, out=out)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        f(x, out=out)
    graph.replay()
    torch.cuda.synchronize()
    np.testing.assert_array_equal(out.cpu(), (x * x).cpu())
    (report,) = f.verify_report()
    assert (report["verified"], report["skipped"], report["skip_reason"]) == (1, 1, "its stream is being captured")
