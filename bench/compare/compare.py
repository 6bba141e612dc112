"""Jitfuse beside every peer that can be imported here, in one process, interleaved.

    ./dev python bench/compare/compare.py [--quick] [--filter WORDS] [--report FILE] [--out FILE.json]

Cases: memory-bound fusions, GEMM and tail, MLPs, the CPU's, start-up, dispatch. On a machine without a GPU (or without torch,
whose tensors GPU work is done on) all run on the CPU, cut down to a size that it can do.
"""

import argparse
import datetime
import json
import math
import os
import pathlib
import platform
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [p for p in (str(HERE), str(HERE.parent)) if p not in sys.path]

LIMITS = {True: (1 << 20, 1e8), False: (128 << 20, 2e10)}  # on a CPU, by quick: bytes of inputs, flops


def arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few rounds, small on a CPU, no max-autotune: to see that all works")
    parser.add_argument("--filter", default="", help="only cases with one of these comma-separated words in group or name")
    parser.add_argument("--peers", default="", help="only these, comma-separated (Jitfuse always)")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--rounds", type=int, help="default 31, quick 5")
    parser.add_argument("--threads", type=int, help="of every library, on the CPU; default: the CPUs that this process may use")
    parser.add_argument("--seed", type=int, help="default: another one each run; it is in the result")
    parser.add_argument("--out", help="JSON; default bench/results/compare_CARD.json where the run is whole, else none")
    parser.add_argument("--report", help="one file with tables and JSON, to send to somebody")
    parser.add_argument("--plot", help="PNG; default: beside --out")
    return parser.parse_args(argv)


def wanted(options, group, name):
    words = [w.strip().lower() for w in options.filter.split(",") if w.strip()]
    return not words or any(w in f"{group} {name}".lower() for w in words)


def set_environment(count):
    """Before anything is imported: pools are made once, and JAX takes most of a GPU's memory unless told not to."""
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    for name in ("JITFUSE_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMEXPR_NUM_THREADS"):
        os.environ[name] = str(count)


def commit():
    recorded = HERE.parent.parent / "commit"
    if recorded.exists():  # the bundle's
        return recorded.read_text().strip()
    done = subprocess.run(["git", "-C", str(HERE), "describe", "--always", "--dirty", "--abbrev=12", "--exclude=*"],
                          capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def processor():
    try:
        with open("/proc/cpuinfo") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def machine(device, threads):
    found = f"{processor()}, {threads} threads"
    if device == "cuda":
        import torch

        driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True, check=False)
        found = f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}, driver {driver.stdout.splitlines()[0]}; {found}"
    return found


def main_device(asked):
    if asked != "auto":
        return asked
    try:
        import torch
    except ImportError:
        return "cpu"
    return "cuda" if torch.cuda.is_available() else "cpu"


def json_ready(value):
    """Without infinities and NaN, which JSON does not have."""
    if isinstance(value, dict):
        return {k: json_ready(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [json_ready(v) for v in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def file_name(result):
    """compare_cpu.json, compare_h100.json."""
    if result["device"] == "cpu":
        return "compare_cpu.json"
    words = [w for w in result["machine"].split(",")[0].lower().split() if w not in ("nvidia", "tesla", "geforce")]
    return f"compare_{words[0]}.json"


class Progress:
    def __init__(self, total):
        self.total, self.done, self.tty = total, 0, sys.stderr.isatty()

    def step(self, name):
        bar = "#" * (20 * self.done // max(1, self.total))
        line = f"[{bar:20}] {self.done + 1}/{self.total} {name}"
        print(f"\r\033[K{line[:110]}" if self.tty else line, end="" if self.tty else "\n", file=sys.stderr, flush=True)
        self.done += 1

    def end(self):
        if self.tty:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


def run_cases(chosen, found, plans, progress):
    import measure

    rows = []
    for case in chosen:
        device = "cpu" if case.group == "cpu" else next(iter(plans))
        progress.step(f"{case.group}: {case.name}")
        try:
            row = measure.run_case(case, found[device], plans[device])
            if not row["missing"] and case.group in ("memory", "cpu"):
                row["copy_ms"] = measure.copy_ms(row["minimal_bytes"], plans[device])
        except Exception as error:  # one case (its reference, its memory) must not end the run
            row = {"case": case.name, "group": case.group, "device": device, "n": case.n, "of": case.n, "peers": {},
                   "missing": None, "broken": f"{type(error).__name__}: {measure.first_line(error)}"}
        rows.append(row)
    return rows


def run(options, threads):
    import cases
    import dispatch
    import measure
    import peers
    import startup

    device = main_device(options.device)
    names = [n.strip() for n in options.peers.split(",") if n.strip()] or [n for n in peers.TABLE if not (options.quick and n == "max-autotune")]
    rounds = options.rounds or (5 if options.quick else 31)
    seed = options.seed if options.seed is not None else int.from_bytes(os.urandom(3), "little")
    chosen = [c for c in cases.all_cases() if wanted(options, c.group, c.name)]
    devices = list(dict.fromkeys([device, *(["cpu"] if any(c.group == "cpu" for c in chosen) else [])]))
    found, absent = {}, {}
    for d in devices:
        found[d], absent[d] = peers.find(d, names)
    limits = LIMITS[options.quick]
    plans = {d: measure.Plan(d, rounds, 0.05 if options.quick else 0.3, *(limits if d == "cpu" else (float("inf"),) * 2), seed) for d in devices}
    load = os.getloadavg()[0]
    more = [g for g in ("startup", "dispatch") if wanted(options, g, "")]
    progress = Progress(len(chosen) + len(more))
    rows, started, called = run_cases(chosen, found, plans, progress), [], []
    if "startup" in more:
        progress.step("startup")
        started = startup.run([p.name for p in found[device]], device, 1 if options.quick else 5)
    if "dispatch" in more:
        progress.step("dispatch")
        called = dispatch.run(found[device], device, 5 if options.quick else 15)
    progress.end()
    cores = len(os.sched_getaffinity(0))
    busy = f"load {load:.1f} on {cores} CPUs before the run" if load > 0.25 * cores else ""
    return {"compare": 1, "machine": machine(device, threads), "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
            "commit": commit(), "versions": {"python": platform.python_version()} | peers.versions(found[device]), "seed": seed, "rounds": rounds,
            "quick": options.quick, "filter": options.filter, "busy": busy, "load_after": os.getloadavg()[0], "device": device,
            "absent": absent, "cases": rows, "startup": started, "dispatch": called}


def main(argv=None):
    options = arguments(argv)
    threads = options.threads or len(os.sched_getaffinity(0))
    set_environment(threads)
    try:
        import jitfuse  # noqa: F401
    except ImportError as error:
        sys.exit(f"compare: {error}; build the package first: ./dev build, or pip install .")
    import plot
    import report

    result = run(options, threads)
    shown = report.text(result)
    print(shown, end="")
    whole = not (options.quick or options.filter or options.peers)
    out = options.out or (str(HERE.parent / "results" / file_name(result)) if whole else None)
    as_json = json.dumps(json_ready(result), indent=1, allow_nan=False) + "\n"
    if out:
        pathlib.Path(out).write_text(as_json)
        print(f"\nwrote {out}")
    if options.report:
        pathlib.Path(options.report).write_text(f"{shown}\n{as_json}")
        print(f"wrote {options.report}")
    picture = options.plot or (str(pathlib.Path(out).with_suffix(".png")) if out else None)
    if picture:
        print(plot.draw(result, picture))
    entries = [e for r in result["cases"] for n, e in r["peers"].items() if n == "jitfuse"]
    return 1 if any("wrong" in e or "failed" in e for e in entries) or any(r.get("broken") for r in result["cases"]) else 0


if __name__ == "__main__":
    sys.exit(main())
