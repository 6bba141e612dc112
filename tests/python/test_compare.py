"""bench/compare: its table of cases, checks, rounds and reports; and a quick run of the whole with Jitfuse and NumPy."""

import json
import math
import pathlib
import shutil
import subprocess
import sys
import types

import numpy as np
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "bench" / "compare"
if not FOLDER.is_dir():
    pytest.skip("bench/compare is not here", allow_module_level=True)
sys.path.append(str(FOLDER))

import bare  # noqa: E402
import cases  # noqa: E402
import check  # noqa: E402
import compare  # noqa: E402
import dispatch  # noqa: E402
import measure  # noqa: E402
import peers  # noqa: E402
import report  # noqa: E402
import startup  # noqa: E402
import timing  # noqa: E402

ALL = cases.all_cases()
SMALL = (64 << 10, 1e6)


def test_names_of_cases_are_unique_and_groups_are_known():
    assert len({c.name for c in ALL}) == len(ALL)
    assert {c.group for c in ALL} == {"memory", "gemm", "mlp", "cpu"}


@pytest.mark.parametrize("case", ALL, ids=lambda c: c.name)
def test_fit_halves_only_what_is_too_large(case):
    assert cases.fit(case) == case.n
    n = cases.fit(case, *SMALL)
    assert 1 <= n <= case.n
    grown = sum(s.bytes for s in case.inputs(n)) - sum(s.bytes for s in case.inputs(0))
    assert n == 1 or (grown <= SMALL[0] and case.flops(n) <= SMALL[1])


@pytest.mark.parametrize("case", [c for c in ALL if c.group != "mlp"], ids=lambda c: c.name)
def test_jitfuse_is_right_by_the_reference(case, torch):
    n = min(2, case.n)
    if sum(s.bytes for s in case.inputs(n)) > 24 << 20:
        pytest.skip("large")
    inputs = check.draw(case.inputs(n), 1)
    call = peers.Jitfuse("jitfuse", "cpu").make(case)
    found, right = check.result_error(case, call(*inputs), check.reference(case, inputs), inputs)
    assert right, found


def test_gradients_of_a_case(torch):
    """By each peer that has them; a gradient that is wrong is seen."""

    def inputs(n):
        return [cases.Spec((n, 16)), cases.Spec((16, 16)), cases.Spec((16,)), cases.Spec((n, 16))]

    assert {c.group for c in ALL if c.backward} == {"memory", "mlp"}
    case = cases.Case("t", "mlp", 8, inputs, cases.mlp_body, backward=True)
    args = check.draw(inputs(8), 1)
    want = check.reference(case, args)
    assert [tuple(w.shape) for w in want] == [(8, 16), (8, 16), (16, 16), (16,)]
    for peer in (peers.Jitfuse("jitfuse", "cpu"), peers.Torch("torch", "cpu")):
        found = peer.make(case)(*args)
        assert check.result_error(case, found, want, args)[1]
        assert not check.result_error(case, (*found[:-1], found[-1] + 1), want, args)[1]
        assert not check.result_error(case, (found[0], -found[1], *found[2:]), want, args)[1]
    with pytest.raises(peers.Unable, match="no gradients"):
        peers.NumPy("NumPy", "cpu").make(case)


def of(n=8, check_="values"):
    return cases.Case("t", "memory", n, cases.rows("x", m=4), lambda F, x: F.relu(x), check=check_)


def test_a_wrong_result_is_seen():
    case = of()
    x = np.linspace(-1, 1, 32, dtype=np.float32).reshape(8, 4)
    want = [check.to64(np.maximum(x, 0))]
    assert check.result_error(case, np.maximum(x, 0), want, [x])[1]
    assert not check.result_error(case, np.maximum(x, 0) + 0.01, want, [x])[1]
    assert not check.result_error(case, np.full_like(x, np.nan), want, [x])[1]
    assert check.result_error(case, x[:4], want, [x]) == (math.inf, False)
    assert check.result_error(case, (x, x), want, [x]) == (math.inf, False)


def test_a_wrong_dropout_is_seen():
    rng = np.random.default_rng(0)
    want = check.to64(rng.standard_normal(100000) + 3)
    kept = check.to64((rng.random(100000) < 0.9).astype(np.float64))
    assert check.dropout_error(want / 0.9 * kept, want) < 1e-9
    assert check.dropout_error(want * kept, want) > 0.01  # not scaled
    assert check.dropout_error(want / 0.9, want) == math.inf  # nothing dropped


def test_inputs_are_others_for_each_seed_and_the_same_for_one():
    specs = [cases.Spec((5,)), cases.Spec((5,), "i64", "index", 9), cases.Spec((5,), "f32", "positive")]
    first, again, other = (check.draw(specs, s) for s in (1, 1, 2))
    assert all((np.asarray(a) == np.asarray(b)).all() for a, b in zip(first, again, strict=True))
    assert (np.asarray(first[0]) != np.asarray(other[0])).all()
    assert ((np.asarray(first[1]) >= 0) & (np.asarray(first[1]) < 9)).all()


def test_rounds_interleave_and_rotate():
    order = []
    calls = {"a": "A", "b": "B"}
    args = {"a": [(0,), (1,)], "b": [(0,), (1,)]}
    clock = lambda call, args: order.append((call, args[0])) or len(order)  # noqa: E731
    times = timing.interleave(calls, args, {"a": clock, "b": clock}, 3)
    assert order == [("A", 0), ("B", 0), ("B", 1), ("A", 1), ("A", 0), ("B", 0)]
    assert times == {"a": [1, 4, 5], "b": [2, 3, 6]}


def test_medians_and_geomeans():
    assert timing.summary([1.0, 9.0, 2.0])["ms"] == 2.0
    assert timing.summary([1.0, 2.0, 3.0, 4.0, 5.0])["spread"] == pytest.approx(1.0)
    assert timing.geomean([2.0, 8.0]) == pytest.approx(4.0)
    assert timing.geomean([]) is None


def result(**entries):
    row = {"case": "c", "group": "memory", "device": "cpu", "n": 8, "of": 8, "missing": None, "copy_ms": 1.0, "peers": entries}
    return {"date": "d", "commit": "c", "machine": "m", "versions": {}, "seed": 1, "rounds": 1, "busy": "", "absent": {"cpu": {"CuPy": "why"}},
            "cases": [row, row | {"case": "gone", "peers": {}, "missing": "jitfuse.grad is not there yet"}], "startup": [], "dispatch": []}


def test_a_wrong_peer_counts_for_nothing():
    made = result(jitfuse={"ms": 2.0, "kernels": 1}, torch={"ms": 6.0}, JAX={"ms": 1.0, "wrong": "after timing: error 1"})
    row = made["cases"][0]
    assert report.speed_up(row, "torch") == 3.0
    assert report.speed_up(row, "JAX") is None
    assert report.copy_share(row) == 0.5
    assert report.geomeans([row]) == {"memory": {"torch": (pytest.approx(3.0), 1)}, "all": {"torch": (pytest.approx(3.0), 1)}}
    shown = report.text(made)
    for words in ("WRONG", "missing: gone: jitfuse.grad", "wrong: c: JAX: after timing", "not here: cpu: CuPy: why", "50%"):
        assert words in shown
    assert "BUSY" not in shown
    assert "BUSY" in report.text(made | {"busy": "load 9"})


def test_goals_are_judged():
    rows = [{"call": "jitfuse, NumPy", "device": "cpu", "ns": 2100.0, "goal_ns": 2000}]
    assert "MISSED" in "\n".join(report.dispatch_table(rows))
    rows = [{"peer": "jitfuse", "device": "cpu", "wall_ms": 300.0, "import_ms": 80.0, "first_ms": 9.0, "goals": startup.GOALS["jitfuse", "cpu"]}]
    shown = "\n".join(report.startup_table(rows))
    assert "wall <= 400: met" in shown and "import <= 60: MISSED" in shown


def test_filter():
    options = compare.arguments(["--filter", "softmax,startup"])
    assert compare.wanted(options, "memory", "softmax bf16") and compare.wanted(options, "startup", "")
    assert not compare.wanted(options, "memory", "layer_norm")


def test_dispatch_and_startup_measure_jitfuse():
    rows = dispatch.run([peers.Jitfuse("jitfuse", "cpu")], "cpu", 1, 5)
    assert rows and all("ns" in r for r in rows) and any("out=" in r["call"] for r in rows)
    rows = startup.run(["jitfuse"], "cpu", 1)
    assert [r["peer"] for r in rows] == ["jitfuse", "jitfuse, warm"]
    for row in rows:
        assert "failed" not in row and row["wall_ms"] > row["first_ms"] > 0 and row["goals"]


def test_a_case_that_needs_what_is_not_there_is_missing():
    case = next(c for c in ALL if c.needs)
    row = measure.run_case(cases.dataclasses.replace(case, needs=("no_such_thing",)), [], measure.Plan("cpu", 1, 0, *SMALL, 1))
    assert row["missing"] == "jitfuse.no_such_thing is not there yet"


def test_the_program(tmp_path):
    out, sent = tmp_path / "o.json", tmp_path / "sent.txt"
    done = subprocess.run(command("--filter", "tanh(a", "--out", str(out), "--report", str(sent)), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    made = json.loads(out.read_text())
    (row,) = made["cases"]
    assert row["peers"]["jitfuse"]["ms"] > 0 and row["peers"]["jitfuse"]["kernels"] == 1 and row["peers"]["NumPy"]["ms"] > 0
    assert made["machine"] and made["commit"] and made["versions"]["jitfuse"]
    assert "geomean, cpu" in done.stdout and "tanh(a*b)" in sent.read_text()
    assert out.with_suffix(".png").exists() or "matplotlib is not importable" in done.stdout


def command(*more):
    return [sys.executable, str(FOLDER / "compare.py"), "--quick", "--device", "cpu", "--threads", "1", "--peers", "NumPy", "--rounds", "2", *more]


def test_a_run_out_of_time_says_what_was_not_run(tmp_path):
    out = tmp_path / "o.json"
    done = subprocess.run(command("--budget", "0", "--filter", "tanh(a,softmax f32", "--out", str(out)), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    made = json.loads(out.read_text())
    assert made["cases"] == [] and made["not_run"] == ["cpu: tanh(a*b) f32 4096^2", "cpu: softmax f32 4096^2"]
    assert "not run, as the time was over: cpu: tanh(a*b) f32 4096^2" in done.stdout
    shown = subprocess.run([*command(), "--show", str(out)], capture_output=True, text=True, timeout=120, check=False)
    assert shown.returncode == 0 and shown.stdout == done.stdout.split("\nwrote ")[0]


def test_a_run_that_is_cut_off_keeps_what_it_has(monkeypatch):
    run = compare.Run.__new__(compare.Run)
    run.options = compare.arguments([])
    run.result = {"cases": [], "not_run": []}
    saved = []

    def second():
        raise KeyboardInterrupt

    run.steps = lambda: [("first", lambda: run.result["cases"].append("first") or "said"), ("second", second)]
    with pytest.raises(KeyboardInterrupt):
        run.all(lambda result: saved.append(list(result["cases"])))
    assert saved == [["first"]]


def test_json_is_written_at_once_or_not_at_all(tmp_path):
    path = tmp_path / "o.json"
    compare.write_json({"a": 1}, path)
    with pytest.raises(TypeError):
        compare.write_json({"a": object()}, path)
    assert json.loads(path.read_text()) == {"a": 1}


def test_goals_over_a_bare_launch(monkeypatch):
    class Launches:
        def once(self, repeats):
            return 2000.0

    table = {"jitfuse, torch, out=": (lambda times: None, 1), "jitfuse, torch": (lambda times: None, 1), "torch": (lambda times: None, 1)}
    monkeypatch.setattr(dispatch, "variants", lambda found, device: (table, {"CuPy": "why"}))
    monkeypatch.setattr(dispatch, "bare_launches", lambda device, failed: Launches())
    rows = {r["call"]: r for r in dispatch.run([], "no device", 2, 3)}
    assert rows["bare launch"]["ns"] == 2000 and rows["jitfuse, torch, out="]["goal_ns"] == 3500 and rows["jitfuse, torch"]["goal_ns"] == 5000
    assert "goal_ns" not in rows["torch"] and rows["CuPy"]["failed"] == "why"


def test_the_bare_kernel_is_ptx(tmp_path):
    found = shutil.which("ptxas") or next(iter(sorted(map(str, pathlib.Path("/usr/local").glob("cuda*/bin/ptxas")))), None)
    if found is None:
        pytest.skip("ptxas is not installed")
    (tmp_path / "k.ptx").write_text(bare.PTX)
    done = subprocess.run([found, "-arch=sm_90", "k.ptx", "-o", "k.cubin"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_counting_kernels_does_not_take_for_ever():
    plan = measure.Plan("cpu", 1, 0, *SMALL, 1)
    assert plan.timed(lambda: 3) == 3
    plan.counting_s = 100.0
    with pytest.raises(TimeoutError, match="100 s"):
        plan.timed(lambda: 3)


def test_what_json_has_not_becomes_text():
    assert compare.json_ready({"a": [math.inf, 1.0, {"b": math.nan}]}) == {"a": ["inf", 1.0, {"b": "nan"}]}


def test_the_name_of_the_file_has_the_card():
    assert compare.file_name({"device": "cuda", "machine": "NVIDIA H100 80GB HBM3, CUDA 13.0"}) == "compare_h100.json"
    assert compare.file_name({"device": "cpu", "machine": "any"}) == "compare_cpu.json"


def test_a_clock_forgets():
    clock = timing.HostClock(least_ms=0.01)
    clock(lambda: None, ())
    assert clock.repeats
    clock.forget()
    assert not clock.repeats


class Machine:
    """A host and a device of a test, in milliseconds: what the host issues begins when the device is through with what was before."""

    def __init__(self):
        self.host, self.device = 0.0, 0.0
        self.cuda, self.int32 = self, None

    def perf_counter_ns(self):
        return round(self.host * 1e6)

    def issue(self, host_ms, device_ms):
        self.host += host_ms
        self.device = max(self.device, self.host) + device_ms

    def synchronize(self):
        self.host = max(self.host, self.device)

    def empty(self, *_, **__):
        return types.SimpleNamespace(zero_=lambda: self.issue(0.005, 0.1))

    def Event(self, enable_timing):  # noqa: N802 (torch's name)
        event = types.SimpleNamespace(at=None, synchronize=self.synchronize)
        event.record = lambda: setattr(event, "at", max(self.host, self.device))
        event.elapsed_time = lambda other: other.at - event.at
        return event


def test_the_device_alone_is_timed_where_the_host_is_slow(monkeypatch):
    machine = Machine()
    monkeypatch.setattr(timing, "time", machine)
    clock = timing.CudaClock(machine)
    host_ms = 0.0

    def call():  # ten launches, which the device is through with at once
        for _ in range(10):
            machine.issue(host_ms / 10, 0.001)

    for host_ms in (0.01, 0.3, 2.0, 0.3):
        assert clock(call, ()) == pytest.approx(0.01), host_ms
