"""jit(verify=N): calls compared with the reference evaluator, what is reported, and what a wrong result leads to.

Kernels of the CPU are right, so that wrong results come from the fake GPU (fake_gpu.c), a driver that launches nothing: there results
are what the memory held. NVRTC compiles for it.
"""

import json
import os
import pathlib
import shlex
import subprocess
import sys
import threading

import numpy as np
import pytest

import jitfuse as jf
from jitfuse import _core

HERE = pathlib.Path(__file__).resolve().parent


def layer(x, w, b):
    return jf.nn.gelu(x @ w + b)


def arguments(n=8):
    rng = np.random.default_rng(3)
    return tuple(rng.normal(size=s).astype(np.float32) for s in ((n, 16), (16, 4), (4,)))


def test_the_first_calls_are_compared_and_reported():
    f = jf.jit(layer, verify=2)
    for _ in range(4):
        f(*arguments())
    (report,) = f.verify_report()
    assert (report["verified"], report["sampled"], report["skipped"], report["mismatches"]) == (2, 0, 0, 0)
    assert not report["fallback"] and report["backend"] == "cpu"
    (out,) = report["outputs"]
    assert (out["elements"], out["compared"]) == (32, 64)
    assert 0 <= out["mean_difference"] <= out["max_difference"] < 1e-5
    assert 0 <= out["mean_of_bound"] <= out["max_of_bound"] <= 1
    assert len(out["checksums"]) == 2 and len(set(out["checksums"])) == 1
    low = f.lower(*arguments())
    assert low.cost_analysis()["verify"]["outputs"][0]["checksums"] == out["checksums"]
    assert "verify: 2 calls compared with the evaluator, 0 of them wrong" in low.explain()
    stats = low.compile().stats()
    assert stats["verified"] == 2 and stats["mismatches"] == 0 and stats["verify"] == [report]


def test_another_batch_is_of_the_same_executable():
    f = jf.jit(layer, verify=3)
    for n in (8, 5, 7, 6):
        f(*arguments(n))
    assert [r["verified"] for r in f.verify_report()] == [3]
    f(*arguments(1))  # one row is an executable of its own
    assert sorted(r["verified"] for r in f.verify_report()) == [1, 3]


def test_results_are_those_without_it():
    want = jf.jit(layer)(*arguments())
    np.testing.assert_array_equal(jf.jit(layer, verify=1)(*arguments()), want)
    out = np.empty((8, 4), np.float32)
    assert jf.jit(layer, verify=1)(*arguments(), out=out) is out
    np.testing.assert_array_equal(out, want)
    x = arguments()[0]
    square = jf.jit(lambda x: x * x, verify=2)
    want = x * x
    np.testing.assert_array_equal(square(x, out=x), want)
    assert square.verify_report()[0]["verified"] == 1


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int64", "uint64", "float16", "float32", "float64"])
def test_dtypes(dtype):
    x = np.array([0, 1, 1, 0, 1]).astype(dtype)
    f = jf.jit(lambda x: jf.where(x == x, x, x), verify=1)
    np.testing.assert_array_equal(f(x), x)
    assert f.verify_report()[0]["verified"] == 1


def test_off_there_is_nothing():
    f = jf.jit(layer)
    f(*arguments())
    assert f.verify_report() == [] and "verify" not in f.lower(*arguments()).cost_analysis()


def test_nests_statics_random_numbers_and_torch():
    torch = pytest.importorskip("torch")
    jf.random.seed(5)
    f = jf.jit(lambda p, act: {"y": jf.nn.dropout(p["x"], 0.5) if act else p["x"] + 1}, static_argnames="act", verify=2)
    for _ in range(3):
        assert type(f({"x": torch.ones(64)}, act=True)["y"]) is torch.Tensor
    f({"x": torch.ones(64)}, act=False)
    drawn, plain = f.verify_report()
    assert drawn["verified"] == 2 and len(set(drawn["outputs"][0]["checksums"])) == 2 and plain["verified"] == 1


def test_large_outputs_by_rows():
    f = jf.jit(lambda x: jf.nn.softmax(x, -1), verify=1)
    f(np.ones((3000, 1000), np.float32))
    (report,) = f.verify_report()
    assert report["sampled"] == 1 and 100 < report["outputs"][0]["compared"] < 300000
    assert report["outputs"][0]["elements"] == 3000000
    assert "note verify_sampled" in f.lower(np.ones((3000, 1000), np.float32)).explain()


def test_calls_are_counted_over_threads():
    f = jf.jit(lambda x: x * 2, verify=5)
    f(np.ones(10, np.float32))
    threads = [threading.Thread(target=lambda: [f(np.ones(10, np.float32)) for _ in range(5)]) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert sum(r["verified"] for r in f.verify_report()) == 5


def test_the_log_has_differences_and_checksums():
    script = """
import logging, numpy as np, jitfuse as jf
logging.basicConfig(level=logging.DEBUG, format="%(name)s %(message)s")
f = jf.jit(lambda x: jf.exp(x), verify=1)
f(np.ones(4, np.float32))
print(f.verify_report()[0]["outputs"][0]["checksums"][0])
"""
    done = subprocess.run([sys.executable, "-c", script], env=os.environ | {"JITFUSE_LOG": "1"}, capture_output=True, text=True, check=True)
    assert "output 0: difference at most " in done.stderr and f"checksum {done.stdout.strip()}" in done.stderr
    # The same bytes give the same checksum here.
    f = jf.jit(lambda x: jf.exp(x), verify=1)
    f(np.ones(4, np.float32))
    assert f.verify_report()[0]["outputs"][0]["checksums"] == [done.stdout.strip()]


def test_options_that_are_none_are_errors():
    for wrong in (-1, 1.5, "1", True, None, 2**63):
        with pytest.raises(ValueError, match="expected a number of calls, 0 or more"):
            jf.jit(layer, verify=wrong)
    with pytest.raises(ValueError, match="verify_action='stop', expected one of"):
        jf.jit(layer, verify=1, verify_action="stop")


def test_graph_and_elementwise_take_it_too():
    g = jf.Graph.parse("graph f(%x: f32[n]) -> (f32[n]) { %0 = exp(%x) : f32[n] return %0 }")
    g.run(np.ones(4, np.float32), verify=1)
    assert "verify: 1 calls compared" in g.explain(np.ones(4, np.float32), verify=1)
    f = jf.elementwise("y = a * 2", verify=1)
    f(np.ones(4, np.float32))
    assert f.verify_report()[0]["verified"] == 1


def test_the_command(tmp_path):
    (tmp_path / "f.jf").write_text("graph f(%x: f32[n]) -> (f32[n]) { %0 = exp(%x) : f32[n] return %0 }")
    run = [sys.executable, "-m", "jitfuse", "run", str(tmp_path / "f.jf"), "--backend", "cpu"]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    done = subprocess.run([*run, "--verify", "3", "--stats"], env=env, capture_output=True, text=True, check=True)
    assert "verify: 3 calls compared, 0 of them wrong; 0 skipped" in done.stdout
    assert done.stdout.count("verify output 0: checksum ") == 3 and "3 calls verified, 0 of them wrong" in done.stdout
    for words in (["--verify", "0"], ["--verify", "two"], ["--verify", "1", "--verify-action", "stop"]):
        assert subprocess.run([*run, *words], env=env, capture_output=True, check=False).returncode == 2


# Wrong results: of a GPU that computes nothing.

needs_nvrtc = pytest.mark.skipif(not any(f["found"] for f in _core.doctor() if f["what"] == "NVRTC"), reason="NVRTC compiles the kernels, and was not found")

PRELUDE = """
import ctypes, json, logging
import numpy as np
import fake_frameworks as F
import jitfuse as jf
from fake_frameworks import make, Tensor

def memory(t, n):
    return np.ctypeslib.as_array((ctypes.c_float * n).from_address(t.pointer))

def filled(*values):
    t = make(Tensor, len(values))
    memory(t, len(values))[:] = values
    return t
"""


@pytest.fixture
def environment(library, tmp_path):
    path = os.pathsep.join([str(library.parent), str(HERE), *(p for p in sys.path if p)])
    env = os.environ | {"PYTHONPATH": path, "JITFUSE_CUDA_PATH": str(library), "JITFUSE_DUMP_DIR": str(tmp_path), "PYTHONDONTWRITEBYTECODE": "1"}
    env.pop("JITFUSE_BACKEND", None)
    return env


def run(script, env):
    done = subprocess.run([sys.executable, "-c", PRELUDE + script], env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@needs_nvrtc
def test_a_wrong_result_is_an_error_that_can_be_repeated(environment):
    done = run("""
f = jf.jit(lambda x, s: jf.exp(x) * s, verify=1, dynamic="none")
try:
    f(filled(0, 1, 2), 3.0, out=filled(3, 9, 9))
except RuntimeError as e:
    print(json.dumps([str(e), f.verify_report()]))
f(filled(0, 1, 2), 3.0)  # the second call
""", environment)
    message, (report,) = json.loads(done.stdout)
    assert "output 0, element [2]: got 9, expected 22.1671682" in message or "output 0, element [1]: got 9, expected 8.154845" in message, message
    assert "2 of 3 elements are beyond their bounds" in message and "verify: graph" in message and " on cuda:sm_90" in message
    assert report["mismatches"] == 1 and report["outputs"][0]["max_difference"] == pytest.approx(9 - 3 * np.exp(2), abs=1e-4) or report["outputs"][0]["max_difference"] > 1
    (command,) = report["reproducers"]
    assert message.endswith("reproduce it with: " + command)
    words = shlex.split(command)
    assert words[:2] == ["jitfuse", "run"] and words[-3:] == ["--backend", "cuda", "--check"]
    arrays = np.load(words[4])
    np.testing.assert_array_equal(arrays["x"], np.array([0, 1, 2], np.float32))
    assert arrays["s"].shape == () and arrays["s"] == 3 and set(arrays.files) == {"x", "s"}
    # It shows the mismatch where it came from, and agreement on the CPU.
    again = subprocess.run([sys.executable, "-m", *words], env=environment, capture_output=True, text=True, check=False)
    assert again.returncode == 1 and "check output 0: FAILED" in again.stdout, again.stdout + again.stderr
    words[words.index("cuda")] = "cpu"
    right = subprocess.run([sys.executable, "-m", *words], env=environment, capture_output=True, text=True, check=False)
    assert right.returncode == 0 and "check output 0: ok" in right.stdout, right.stdout + right.stderr


@needs_nvrtc
def test_the_reproducer_has_the_numbers_of_random_ops(environment):
    done = run("""
f = jf.jit(lambda x: jf.nn.dropout(x, 0.5), verify=1)
try:
    with jf.random.seeded(11):
        f(filled(*range(1, 9)), out=filled(*[100] * 8))
except RuntimeError as e:
    print(json.dumps([str(e), f.verify_report()]))
""", environment)
    _, (report,) = json.loads(done.stdout)
    words = shlex.split(report["reproducers"][0])
    arrays = np.load(words[4])
    assert arrays["rng_seed"] == 11 and arrays["rng_seed"].dtype == np.uint64 and "rng_offset" in arrays.files
    words[words.index("cuda")] = "cpu"
    again = subprocess.run([sys.executable, "-m", *words], env=environment, capture_output=True, text=True, check=False)
    assert again.returncode == 0 and "check output 0: ok" in again.stdout, again.stdout + again.stderr


@needs_nvrtc
def test_with_fallback_the_evaluator_answers(environment):
    done = run("""
logging.basicConfig(level=logging.WARNING, format="%(name)s %(message)s")
f = jf.jit(lambda x: x * x, verify=2, verify_action="fallback")
for values in ((1, 2, 3), (4, 5, 6)):
    out = filled(-1, -1, -1)
    assert f(filled(*values), out=out) is out
    assert memory(out, 3).tolist() == [v * v for v in values], memory(out, 3)
low = f.lower(filled(1, 2, 3))
assert sum(c == "launch" for c, _, _ in F.fake_gpu.take_log()) == 1
(report,) = f.verify_report()
assert report["fallback"] and report["fallback_calls"] == 2 and report["verified"] == 1, report
stats = low.compile().stats()
assert stats["fallbacks"]["verify_fallback"] == 2, stats
""", environment)
    assert done.stderr.count("verify_fallback") == 1 and "reproduce it with: jitfuse run" in done.stderr, done.stderr


@needs_nvrtc
def test_the_command_finds_it_and_falls_back(environment, tmp_path):
    (tmp_path / "f.jf").write_text("graph f(%x: f32[n]) -> (f32[n]) { %0 = exp(%x) : f32[n] return %0 }")
    command = [sys.executable, "-m", "jitfuse", "run", str(tmp_path / "f.jf"), "--backend", "cuda", "--verify", "2"]
    wrong = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert wrong.returncode == 1 and "verify: graph f on cuda:" in wrong.stderr
    assert "verify: 1 calls compared, 1 of them wrong" in wrong.stdout and "verify: reproduce it with: jitfuse run " in wrong.stdout
    answered = subprocess.run([*command, "--verify-action", "fallback", "--check"], env=environment, capture_output=True, text=True, check=False)
    assert answered.returncode == 0 and "check output 0: ok" in answered.stdout, answered.stdout + answered.stderr
    assert "verify: 2 calls answered by the evaluator (verify_fallback)" in answered.stdout
