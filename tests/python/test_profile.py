"""jitfuse.stats, jitfuse.profile, JITFUSE_TRACE and JITFUSE_NVTX: what is counted, and what is written when."""

import collections
import json
import os
import pathlib
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import jitfuse as jf

HERE = pathlib.Path(__file__).resolve().parent
PROGRAM = """
import os, signal, sys
import numpy as np
import jitfuse as jf
f = jf.jit(lambda x: jf.tanh(x * x), device="cpu")
x = np.ones(10, np.float32)
f(x)
"""


def events(path):
    """Those that are no metadata, by category."""
    out = collections.defaultdict(list)
    for event in json.loads(pathlib.Path(path).read_text()):
        if event["ph"] != "M":
            out[event["cat"]].append(event)
    return out


def run(script, environment, returncode=0):
    env = {k: v for k, v in os.environ.items() if k not in ("JITFUSE_TRACE", "JITFUSE_NVTX", "NVTX_INJECTION64_PATH")}
    done = subprocess.run([sys.executable, "-c", PROGRAM + script], env=env | environment, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == returncode, done.stderr
    return done.stderr


def test_stats_is_a_mapping_of_the_whole_process():
    before = jf.stats()
    for name in ("compiled", "memory_hits", "disk_hits", "layer_hits", "healed", "compile_ms"):
        assert before[name] >= 0, name
    assert isinstance(before["fallbacks"], dict) and "verify" not in before
    f = jf.jit(lambda x: jf.exp(x) - 0.7235, device="cpu")
    f(np.ones(3, np.float32))
    after = jf.stats()
    assert after["compiled"] == before["compiled"] + 1 and after["compile_ms"] > before["compile_ms"]
    f(np.ones(3, np.float32))
    assert jf.stats() == after  # a warm call counts nothing


def test_profile_has_compiling_calls_and_launches(tmp_path):
    f = jf.jit(lambda x: jf.nn.softmax(x * 0.31, -1), device="cpu")
    x = np.ones((3, 5), np.float32)
    with jf.profile(tmp_path / "t.json"):
        f(x)
        f(x)
    f(x)
    seen = events(tmp_path / "t.json")
    assert len(seen["call"]) == len(seen["launch"]) == 2
    names = [e["name"] for e in seen["compile"]]
    assert {"graph", "fuse", "plan", "emit", "compiler cpu", "load"} <= set(names)
    assert all(e["dur"] >= 0 and e["pid"] == os.getpid() for e in seen["compile"])
    begin, end = (seen["call"][0][k] for k in ("ts", "dur"))
    launch = seen["launch"][0]
    assert begin <= launch["ts"] and launch["ts"] + launch["dur"] <= begin + end + 0.01


def test_profile_ends_with_an_exception_and_nests_in_none(tmp_path):
    with pytest.raises(ZeroDivisionError), jf.profile(tmp_path / "a.json"):
        raise ZeroDivisionError
    with jf.profile(os.fspath(tmp_path / "b.json")):
        with pytest.raises(RuntimeError, match="a trace is being written to .*b.json"), jf.profile(tmp_path / "c.json"):
            pass
    for name in ("a.json", "b.json"):
        assert not events(tmp_path / name)
    assert not (tmp_path / "c.json").exists()
    with pytest.raises((RuntimeError, OSError), match="no/c.json cannot be written"), jf.profile(tmp_path / "no" / "c.json"):
        pass
    with pytest.raises(TypeError):
        jf.profile(3)


@pytest.mark.parametrize("path", [b"t.json", "x\udcff.json", b"x\xff-%p.json"])
def test_profile_takes_every_path(tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    with jf.profile(path):
        pass
    assert os.listdir(b".") == [os.fsencode(path).replace(b"%p", str(os.getpid()).encode())]


def test_paths_that_profile_refuses(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    os.mkfifo("fifo")
    for path, message in [
        ("nul\0.json", r'a NUL in it: "nul\\x00.json"'),
        ("no\udcff/t.json", r"the trace no\\xff/t.json cannot be written"),
        ("fifo", "the trace fifo cannot be written: it is no file"),
    ]:
        with pytest.raises((ValueError, RuntimeError), match=message), jf.profile(path):
            pass
    assert os.listdir(".") == ["fifo"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_second_profile_of_a_path_while_a_child_lives(tmp_path):
    f = jf.jit(lambda x: jf.tanh(x) + 0.375, device="cpu")
    x = np.ones(3, np.float32)
    f(x)
    wait, end = os.pipe()
    with jf.profile(tmp_path / "t.json"):
        child = os.fork()
        if child == 0:
            os.close(end)
            os.read(wait, 1)
            os._exit(0)
    with jf.profile(tmp_path / "t.json"):
        f(x)
    os.close(end)
    os.close(wait)
    assert os.waitpid(child, 0)[1] == 0
    assert os.listdir(tmp_path) == ["t.json"] and len(events(tmp_path / "t.json")["call"]) == 1


def test_a_trace_that_cannot_be_ended_is_an_error():
    with pytest.raises(RuntimeError, match="no trace is being written"):
        jf._core.stop_trace()


def test_a_disk_that_fills_up_ends_no_call(tmp_path):
    script = f"""
import resource
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
signal.alarm(60)
try:
    with jf.profile({str(tmp_path / "t.json")!r}):
        resource.setrlimit(resource.RLIMIT_FSIZE, (65536, 65536))
        for i in range(2000):
            f(x)
except RuntimeError as e:
    assert "t.json" in str(e), e
    print("ended", file=sys.stderr)
"""
    said = run(script, {})
    assert said.count("the rest of it is lost") == 1 and said.endswith("ended\n"), said


def test_profile_of_threads(tmp_path):
    f = jf.jit(lambda x: jf.tanh(x) + 0.125, device="cpu")
    x = np.ones(100, np.float32)
    f(x)
    with jf.profile(tmp_path / "t.json"):
        threads = [threading.Thread(target=lambda: [f(x) for _ in range(50)]) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
    calls = events(tmp_path / "t.json")["call"]
    assert len(calls) == 200 and len({e["tid"] for e in calls}) == 4


def test_the_variable_traces_to_the_end_of_the_process(tmp_path):
    run("f(x)", {"JITFUSE_TRACE": str(tmp_path / "t-%p.json")})
    (file,) = tmp_path.iterdir()
    seen = events(file)
    assert len(seen["call"]) == 2 and seen["compile"]


def test_a_killed_process_leaves_json(tmp_path):
    script = "while jf.stats()['compiled'] < 40:\n    jf.jit(lambda x, n=jf.stats()['compiled']: x * (n + 0.5), device='cpu')(x)\nos.kill(os.getpid(), signal.SIGKILL)"
    run(script, {"JITFUSE_TRACE": str(tmp_path / "t.json")}, returncode=-signal.SIGKILL)
    assert len(events(tmp_path / "t.json")["compile"]) > 10


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forks_child_writes_a_file_of_its_own(tmp_path):
    run(
        "child = os.fork()\nf(x)\nif child: os.waitpid(child, 0)\nelse: jf._core.stop_trace(); os._exit(0)",
        {"JITFUSE_TRACE": str(tmp_path / "t.json")},
    )
    files = sorted(tmp_path.iterdir())
    assert [len(events(f)["call"]) for f in files] == [2, 1], files


def test_a_trace_that_cannot_be_written_is_warned_of(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for name in ("no/t.json", "fifo"):
        said = run("f(x)", {"JITFUSE_TRACE": str(tmp_path / name)})
        assert said.count(f"{name} cannot be written") == 1


@pytest.fixture(scope="module")
def nvtx(tmp_path_factory):
    library = tmp_path_factory.mktemp("nvtx") / "fake_nvtx.so"
    command = [*(os.environ.get("CC") or "cc").split(), "-shared", "-fPIC", str(HERE / "fake_nvtx.c"), "-o", str(library)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("compiles a fake profiler, and there is no C compiler")
    assert done.returncode == 0, done.stderr
    return str(library)


def test_nvtx_ranges_nest_in_a_profiler(nvtx):
    said = run("", {"JITFUSE_NVTX": "1", "NVTX_INJECTION64_PATH": nvtx}).splitlines()
    pushed = [line for line in said if line.startswith("push")]
    assert len(pushed) == said.count("pop") and "push jitfuse compiler cpu" in said
    (call,) = [i for i, line in enumerate(said) if line.startswith("push jitfuse call")]
    assert said[call + 1].startswith("push") and said[call + 2 :] == ["pop", "pop"]
    assert run("", {"NVTX_INJECTION64_PATH": nvtx}) == ""  # not asked for


def test_nvtx_that_is_not_there_is_warned_of(nvtx, tmp_path):
    for environment, message in [
        ({"NVTX_INJECTION64_PATH": str(tmp_path / "none.so")}, "NVTX_INJECTION64_PATH: "),
        ({"NVTX_INJECTION64_PATH": nvtx, "FAKE_NVTX": "refuse"}, "is no tool for NVTX"),
    ]:
        said = run("f(x)", {"JITFUSE_NVTX": "1"} | environment)
        assert said.count(message) == 1, said


@pytest.mark.parametrize(
    ("variable", "value", "wanted"),
    [
        ("JITFUSE_NVTX", "2", "0 or 1"),
        ("JITFUSE_LOG", "x", "a whole number from 0 on"),
        ("JITFUSE_LOG", "\u00b2", "a whole number from 0 on"),  # a digit, and no number
        ("JITFUSE_LOG", "+1", "a whole number from 0 on"),
        ("JITFUSE_LOG", "-1", "a whole number from 0 on"),
        ("JITFUSE_LOG", "2147483648", "a whole number from 0 on"),
        ("JITFUSE_NUM_THREADS", "0", "a whole number from 1 on"),
    ],
)
def test_switches_with_other_values_are_warned_of(variable, value, wanted):
    said = run("f(x)", {variable: value})
    assert said == f"{variable}={value}: expected {wanted}; the variable counts as not set\n"


@pytest.mark.parametrize("value", ["0" * 5000, "-0"])  # Python limits the digits of a number
def test_levels_of_the_log_with_zeros_are_taken(value):
    assert run("f(x)", {"JITFUSE_LOG": value}) == ""
    assert "compiled" in run("f(x)", {"JITFUSE_LOG": value.removeprefix("-") + "1"})


def test_the_command_traces_a_run(tmp_path):
    graph = tmp_path / "f.jf"
    graph.write_text("graph f(%x: f32[n]) -> (f32[n]) {\n  %r = tanh(%x) : f32[n]\n  return %r\n}\n")
    command = [sys.executable, "-m", "jitfuse", "run", str(graph), "--backend", "cpu", "--trace"]
    done = subprocess.run([*command, str(tmp_path / "t.json")], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    seen = events(tmp_path / "t.json")
    assert len(seen["call"]) == len(seen["launch"]) == 1 and "compile f" in [e["name"] for e in seen["compile"]]
    done = subprocess.run([*command, str(tmp_path)], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 1 and "cannot be written" in done.stderr


def test_explain_of_another_architecture_has_resources(tmp_path):
    graph = tmp_path / "f.jf"
    graph.write_text("graph f(%x: f32[n]) -> (f32[n]) {\n  %r = tanh(%x) : f32[n]\n  return %r\n}\n")
    done = subprocess.run([sys.executable, "-m", "jitfuse", "explain", str(graph), "--arch", "x86-64-v3"], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0 and "bytes of stack" in done.stdout, done.stdout + done.stderr
