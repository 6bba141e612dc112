"""Runs the Python tests so that one log tells all: the GPU's first, and none can take the others along.

    python tests/python/run_tests.py [PYTEST_ARG...]

pytest runs in a process of its own, which reports each test as it begins and ends. Where that process dies (a signal), hangs
(LIMIT_S without a test's end) or loses the GPU (an error that stays, as of an illegal address), the test that was running
counts as failed and a fresh process goes on with the rest. The last line: "python: N passed, N failed, N skipped".
"""

import collections
import importlib.metadata
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
JOURNAL = "JITFUSE_TEST_JOURNAL"
LIMIT_S = float(os.environ.get("JITFUSE_TEST_LIMIT_S", "300"))
GPU_LOST = 42


# --- in pytest's process: a plugin ---------------------------------------------------------------------------------------------
def journal(**line):
    with open(os.environ[JOURNAL], "a") as file:
        file.write(json.dumps(line) + "\n")


def gpu_is_lost():
    torch = sys.modules.get("torch")
    if torch is None or not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return False
    try:
        torch.cuda.synchronize()
        return False
    except Exception:
        return True


terminal = None  # of pytest, which shows what is written past its capturing


def pytest_sessionstart(session):
    global terminal
    terminal = session.config.pluginmanager.getplugin("terminalreporter")


def pytest_collection_modifyitems(config, items):
    done = {line["test"] for line in read(os.environ[JOURNAL])}
    gone = [item for item in items if item.nodeid in done]
    items[:] = sorted((item for item in items if item.nodeid not in done), key=lambda item: "gpu" not in item.nodeid)
    config.hook.pytest_deselected(items=gone)


def pytest_runtest_logstart(nodeid):
    journal(test=nodeid, at=time.time())


def note(report):
    """Into the journal; a failure's text at once, as the process may not live to its end."""
    why = str(report.longrepr[2]).removeprefix("Skipped: ") if report.skipped and isinstance(report.longrepr, tuple) else ""
    journal(test=report.nodeid, outcome=report.outcome, why=why)
    if report.failed:
        terminal.write_line(f"\n---- {report.nodeid}, {report.when if hasattr(report, 'when') else 'collected'}")
        terminal.write_line(report.longreprtext)
        for title, text in report.sections:
            terminal.write_line(f"-- {title}\n{text[-3000:]}")


def pytest_runtest_logreport(report):
    if report.when == "call" or report.outcome != "passed":
        note(report)
    if report.failed and "gpu" in report.nodeid and gpu_is_lost():
        import pytest

        pytest.exit("the GPU is lost to this process; a fresh one goes on", GPU_LOST)


def pytest_collectreport(report):
    if not report.passed:
        note(report)


# --- around it -----------------------------------------------------------------------------------------------------------------
def read(path):
    with open(path) as file:
        return [json.loads(line) for line in file]


def outcomes(lines):
    """Test -> passed, failed, skipped, or "" where it began and did not end. A failure of its teardown counts."""
    found = {}
    for line in lines:
        if found.get(line["test"]) != "failed":
            found[line["test"]] = line.get("outcome", found.get(line["test"], ""))
    return found


def watch(process, path):
    """Ends a process in which no test has begun for too long."""
    begun = time.time()
    while process.poll() is None:
        time.sleep(1)
        begun = max([begun, *(line.get("at", 0) for line in read(path)[-2:])])
        if time.time() - begun > LIMIT_S:
            print(f"\nno test began for {LIMIT_S:.0f} s: ending this process", flush=True)
            process.kill()


def say_where():
    """What a log has to say about the machine."""
    found = []
    for name in ("numpy", "torch", "cupy-cuda13x", "cupy-cuda12x", "jax", "onnx", "array-api-strict", "pytest"):
        try:
            found.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            pass
    print(f"Python {platform.python_version()}, {', '.join(found)}")
    done = subprocess.run([sys.executable, "-c", "import jitfuse; jitfuse.show_config()"], capture_output=True, text=True, check=False)
    print(done.stdout + done.stderr, flush=True)


def run_once(args, path):
    command = [sys.executable, "-u", "-m", "pytest", "-q", "--no-summary", "--continue-on-collection-errors", "--tb=short", "-p", "run_tests", "-p", "no:cacheprovider",
               "-o", f"faulthandler_timeout={LIMIT_S * 0.8:.0f}", f"--rootdir={HERE.parents[1]}", *args]
    environment = os.environ | {JOURNAL: path, "PYTHONDONTWRITEBYTECODE": "1", "PYTHONFAULTHANDLER": "1",
                                "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]),
                                "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
    process = subprocess.Popen(command, env=environment)
    threading.Thread(target=watch, args=(process, path), daemon=True).start()
    return process.wait()


def main(args):
    if not any(pathlib.Path(a.split("::")[0]).exists() for a in args):
        args = [str(HERE), *args]
    say_where()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "journal")
        open(path, "w").close()
        died, code = {}, -1
        while True:
            before = len(read(path))
            code = run_once(args, path)
            running = [test for test, outcome in outcomes(read(path)).items() if outcome == ""]
            for test in set(running) - set(died):
                died[test] = f"its process ended with {code}"
            if code in (0, 1, 2, 3, 4, 5) or len(read(path)) == before:
                break
        lines = read(path)
    found = outcomes(lines)
    counts = collections.Counter("failed" if test in died else outcome for test, outcome in found.items())
    for why, n in collections.Counter(line["why"] for line in lines if line.get("outcome") == "skipped").most_common():
        print(f"skipped {n}: {why}")
    for test, outcome in found.items():
        if outcome == "failed" or test in died:
            print(f"FAILED {test} {died.get(test, '')}")
    print(f"python: {counts['passed']} passed, {counts['failed']} failed, {counts['skipped']} skipped")
    return 1 if counts["failed"] or not counts["passed"] or code not in (0, 1, 5) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
