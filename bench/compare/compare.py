"""Jitfuse beside every peer that can be imported here, in one process, interleaved.

    ./dev python bench/compare/compare.py [--quick] [--filter WORDS] [--budget SECONDS] [--report FILE] [--out FILE.json]
    ./dev python bench/compare/compare.py --show FILE.json

Dispatch, memory-bound fusions, GEMM and tail, MLPs, start-up, the CPU's, in this order. On a machine without a GPU (or without
torch, whose tensors GPU work is done on) all run on the CPU, cut down to a size that it can do. The file of --out is written
anew after every case, so that a run that is cut off keeps what it has.
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
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [p for p in (str(HERE), str(HERE.parent)) if p not in sys.path]

LIMITS = {True: (1 << 20, 1e8), False: (128 << 20, 2e10)}  # on a CPU, by quick: bytes of inputs, flops


def arguments(argv=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="few rounds, small on a CPU, no max-autotune: to see that all works")
    parser.add_argument("--filter", default="", help="only cases with one of these comma-separated words in group or name")
    parser.add_argument("--peers", default="", help="only these, comma-separated (Jitfuse always)")
    parser.add_argument("--device", choices=("auto", "cpu", "cuda"), default="auto")
    parser.add_argument("--budget", type=float, help="seconds after which no other case begins; those not run are listed, max-autotune only runs "
                        "where --peers names it, and start-up is measured once")
    parser.add_argument("--show", metavar="FILE.json", help="only print the tables of a stored run (and, with --plot, draw it)")
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
    os.environ["JITFUSE_NO_CACHE"] = "1"  # what is measured is compiled here
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    os.environ.setdefault("XLA_PYTHON_CLIENT_MEM_FRACTION", "0.4")
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

        found = f"{torch.cuda.get_device_name()}, CUDA {torch.version.cuda}, driver {driver_version()}; {found}"
    return found


def driver_version():
    try:
        command = ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=30)
        return (done.stdout.split() or ["unknown"])[0]
    except (OSError, subprocess.TimeoutExpired):
        return "unknown"


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
        self.total, self.done, self.tty, self.begin = total, 0, sys.stderr.isatty(), time.perf_counter()

    def step(self, name):
        bar = "#" * (20 * self.done // max(1, self.total))
        line = f"[{bar:20}] {self.done + 1}/{self.total} {time.perf_counter() - self.begin:.0f} s: {name}"
        print(f"\r\033[K{line[:110]}" if self.tty else line, end="" if self.tty else "\n", file=sys.stderr, flush=True)
        self.done += 1

    def say(self, line):
        if not self.tty:
            print(f"    {line}", file=sys.stderr, flush=True)

    def end(self):
        if self.tty:
            print("\r\033[K", end="", file=sys.stderr, flush=True)


class Run:
    """The steps of a run, and the result, which grows with each."""

    def __init__(self, options, threads):
        import cases
        import measure
        import peers

        self.options, self.device = options, main_device(options.device)
        names = [n.strip() for n in options.peers.split(",") if n.strip()]
        brief = options.quick or options.budget is not None
        wanted_peers = names or [n for n in peers.TABLE if not (brief and n == "max-autotune")]
        rounds = options.rounds or (5 if options.quick else 31)
        seed = options.seed if options.seed is not None else int.from_bytes(os.urandom(3), "little")
        self.cases = [c for c in cases.all_cases() if wanted(options, c.group, c.name)]
        devices = list(dict.fromkeys([self.device, *(["cpu"] if any(c.group == "cpu" for c in self.cases) else [])]))
        self.found, absent = {}, {}
        for d in devices:
            self.found[d], absent[d] = peers.find(d, wanted_peers)
            if brief and not names:
                absent[d]["max-autotune"] = "left out where there is little time; --peers names it"
        self.limits = {d: LIMITS[options.quick] if d == "cpu" else (float("inf"),) * 2 for d in devices}
        self.plans = {d: measure.Plan(d, rounds, 0.05 if options.quick else 0.3, *self.limits[d], seed) for d in devices}
        cores, load = len(os.sched_getaffinity(0)), os.getloadavg()[0]
        busy = f"load {load:.1f} on {cores} CPUs before the run" if load > 0.25 * cores else ""
        self.result = {
            "compare": 1, "machine": machine(self.device, threads), "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"),
            "commit": commit(), "versions": {"python": platform.python_version()} | peers.versions(self.found[self.device]), "seed": seed,
            "rounds": rounds, "quick": options.quick, "filter": options.filter, "budget_s": options.budget, "busy": busy, "device": self.device,
            "absent": absent, "cases": [], "startup": [], "dispatch": [], "not_run": []}

    def steps(self):
        """(name, function of no arguments). Dispatch before all, as a profiler that has once run slows launches down."""
        steps = []
        if wanted(self.options, "dispatch", ""):
            steps.append(("dispatch", self.dispatch))
        last = [c for c in self.cases if c.group == "cpu"]
        for case in (c for c in self.cases if c.group != "cpu"):
            steps.append((f"{case.group}: {case.name}", lambda case=case: self.case(case)))
        if wanted(self.options, "startup", ""):
            steps.append(("startup", self.startup))
        return steps + [(f"cpu: {case.name}", lambda case=case: self.case(case)) for case in last]

    def dispatch(self):
        import dispatch

        self.result["dispatch"] = dispatch.run(self.found[self.device], self.device, 5 if self.options.quick else 15)
        return "; ".join(f"{r['call']} {r.get('ns', float('nan')):.0f} ns" for r in self.result["dispatch"])

    def startup(self):
        import startup

        rounds = 1 if self.options.quick or self.options.budget is not None else 5
        self.result["startup"] = startup.run([p.name for p in self.found[self.device]], self.device, rounds)
        return "; ".join(f"{r['peer']} {r.get('wall_ms', float('nan')):.0f} ms" for r in self.result["startup"])

    def case(self, case):
        import measure

        device = "cpu" if case.group == "cpu" else self.device
        begin = time.perf_counter()
        try:
            row = measure.run_case(case, self.found[device], self.plans[device])
            if not row["missing"] and case.group in ("memory", "cpu"):
                row["copy_ms"] = measure.copy_ms(row["minimal_bytes"], self.plans[device])
        except Exception as error:  # one case (its reference, its memory) must not end the run
            row = {"case": case.name, "group": case.group, "device": device, "n": case.n, "of": case.n, "peers": {},
                   "missing": None, "broken": f"{type(error).__name__}: {measure.first_line(error)}"}
        row["took_s"] = time.perf_counter() - begin
        self.result["cases"].append(row)
        return row["missing"] or row.get("broken") or "; ".join(said(name, entry) for name, entry in row["peers"].items() if "unable" not in entry)

    def all(self, save):
        steps = self.steps()
        progress = Progress(len(steps))
        for name, step in steps:
            if self.options.budget is not None and time.perf_counter() - progress.begin > self.options.budget:
                self.result["not_run"].append(name)
                continue
            progress.step(name)
            progress.say(step())
            save(self.result)
        progress.end()
        self.result["load_after"] = os.getloadavg()[0]
        return self.result


def said(name, entry):
    for word in ("wrong", "failed"):
        if word in entry:
            return f"{name} {word.upper()}: {entry[word]}"
    return f"{name} {entry['ms']:.4g} ms" if "ms" in entry else f"{name} -"


def write_json(result, path):
    """At once or not at all."""
    target = pathlib.Path(path)
    part = target.with_name(target.name + ".part")
    part.write_text(json.dumps(json_ready(result), indent=1, allow_nan=False) + "\n")
    part.replace(target)


def main(argv=None):
    options = arguments(argv)
    if options.show:
        import report

        result = json.loads(pathlib.Path(options.show).read_text())
        print(report.text(result), end="")
        if options.plot:
            import plot

            print(plot.draw(result, options.plot))
        return 0
    threads = options.threads or len(os.sched_getaffinity(0))
    set_environment(threads)
    try:
        import jitfuse  # noqa: F401
    except ImportError as error:
        sys.exit(f"compare: {error}; build the package first: ./dev build, or pip install .")
    import plot
    import report

    result = Run(options, threads).all(lambda result: write_json(result, options.out) if options.out else None)
    shown = report.text(result)
    print(shown, end="")
    whole = not (options.quick or options.filter or options.peers or result["not_run"])
    out = options.out or (str(HERE.parent / "results" / file_name(result)) if whole else None)
    if out:
        write_json(result, out)
        print(f"\nwrote {out}")
    if options.report:
        pathlib.Path(options.report).write_text(f"{shown}\n{json.dumps(json_ready(result), indent=1, allow_nan=False)}\n")
        print(f"wrote {options.report}")
    picture = options.plot or (str(pathlib.Path(out).with_suffix(".png")) if out else None)
    if picture:
        print(plot.draw(result, picture))
    entries = [e for r in result["cases"] for n, e in r["peers"].items() if n == "jitfuse"]
    return 1 if any("wrong" in e or "failed" in e for e in entries) or any(r.get("broken") for r in result["cases"]) else 0


if __name__ == "__main__":
    sys.exit(main())
