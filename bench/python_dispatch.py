"""Host time of a warm call from Python: jitted functions beside what NumPy and torch take for one op.

    ./dev python bench/python_dispatch.py [--rounds 15] [--json FILE]

relu(a * b + c) of three arrays of 16 f32, so that the call is all there is. Every round times every case in turn; medians over
the rounds, in ns. "alternating" calls with arrays of two sizes in turn, other arrays each time.
"""
import argparse
import json
import statistics
import time

import numpy as np

import jitfuse


def chain(a, b, c):
    return jitfuse.nn.relu(a * b + c)


def alternating(call, sets):
    def run():
        for args in sets:
            call(*args)

    return run, len(sets)


def once(call, *args, **kwargs):
    return (lambda: call(*args, **kwargs)), 1


def cases():
    """Name -> (what to time, how many calls it makes, goal in ns or None)."""
    f = jitfuse.jit(chain)
    sizes = (16, 48, 16, 48, 16, 48)
    arrays = [[np.random.rand(n).astype(np.float32) for _ in range(3)] for n in sizes]
    out = np.empty(16, np.float32)
    found = {
        "numpy.add": (*once(np.add, *arrays[0][:2]), None),
        "numpy, three ops": (*once(lambda a, b, c: np.maximum(a * b + c, 0), *arrays[0]), None),
        "jitfuse, NumPy": (*once(f, *arrays[0]), 2000),
        "jitfuse, NumPy, alternating": (*alternating(f, arrays), 2000),
        "jitfuse, NumPy, out=": (*once(f, *arrays[0], out=out), None),
    }
    try:
        import torch
    except ImportError:
        return found
    tensors = [[torch.from_numpy(a) for a in args] for args in arrays]
    found |= {
        "torch.add": (*once(torch.add, *tensors[0][:2]), None),
        "torch, three ops": (*once(lambda a, b, c: torch.relu(a * b + c), *tensors[0]), None),
        "jitfuse, torch": (*once(f, *tensors[0]), 2500),
        "jitfuse, torch, alternating": (*alternating(f, tensors), 2500),
        "jitfuse, torch, out=": (*once(f, *tensors[0], out=torch.empty(16)), None),
    }
    return found


def measure(run, calls, repeats=2000):
    begin = time.perf_counter_ns()
    for _ in range(repeats):
        run()
    return (time.perf_counter_ns() - begin) / (repeats * calls)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", help="also write the medians there")
    options = parser.parse_args()
    table = cases()
    times = {name: [] for name in table}
    for name, (run, calls, _) in table.items():
        measure(run, calls, 200)  # traces, compiles, warms
    for _ in range(options.rounds):
        for name, (run, calls, _) in table.items():
            times[name].append(measure(run, calls))
    medians = {name: statistics.median(t) for name, t in times.items()}
    for name, median in medians.items():
        goal = table[name][2]
        print(f"{name:30} {median:8.0f} ns" + (f"   goal {goal}: {'met' if median <= goal else 'MISSED'}" if goal else ""))
    if options.json:
        with open(options.json, "w") as file:
            json.dump(medians, file, indent=1)


if __name__ == "__main__":
    main()
