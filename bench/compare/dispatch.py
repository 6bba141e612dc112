"""Host time of warm calls: relu(a * b + c) of three arrays of 16 f32, so that the call is all there is."""

import statistics
import time

import check
import dialects
import peers
from cases import Case, Spec

SIZES = (16, 48, 16, 48)
CHAIN = Case("relu(a*b+c) of 16 f32", "dispatch", 16, lambda n: [Spec((n,))] * 3,
             lambda F, a, b, c: F.relu(a * b + c), numexpr=("where(a * b + c > 0, a * b + c, 0)",))
GOALS = {("jitfuse, NumPy", "cpu"): 2000, ("jitfuse, NumPy, alternating", "cpu"): 2000, ("jitfuse, torch", "cpu"): 2500,
         ("jitfuse, torch, alternating", "cpu"): 2500}


def variants(found, device):
    """Name -> (callable of no arguments, calls it makes)."""
    table, failed = {}, {}
    inputs = [check.draw([Spec((n,))] * 3, 17 + i, device) for i, n in enumerate(SIZES)]

    def add(name, call, sets, **more):
        call(*sets[0], **more)
        table[name] = (lambda: call(*sets[0], **more), 1)

        def alternate():
            for args in sets:
                call(*args)

        if not more:
            alternate()
            table[name + ", alternating"] = (alternate, len(sets))

    for peer in found:
        if isinstance(peer, (peers.Bare, peers.Kernels)) or peer.name == "max-autotune":
            continue
        try:
            call = peer.make(CHAIN)
            kinds = {"": [peer.convert(i) for i in inputs]}
            if peer.name == "jitfuse":
                kinds = {", torch": kinds[""]} if check.torch_or_none() else {", NumPy": kinds[""]}
                if device == "cpu" and ", torch" in kinds:
                    kinds[", NumPy"] = [tuple(peers.as_numpy(x) for x in i) for i in inputs]
            for kind, sets in kinds.items():
                add(peer.name + kind, call, sets)
                if peer.name == "jitfuse":
                    out = call(*sets[0])
                    add(peer.name + kind + ", out=", call, sets, out=out)
            if peer.name == "torch":
                import torch

                args = kinds[""][0]
                table["torch.relu, one op"] = ((lambda x=args[0]: torch.relu(x)), 1)
            if peer.name == "torch.compile" and device == "cuda":
                import torch

                ops = dialects.torch_ops()
                add("reduce-overhead", torch.compile(lambda a, b, c: ops.relu(a * b + c), mode="reduce-overhead"), kinds[""])
        except Exception as error:
            failed[peer.name] = str(error).splitlines()[0] if str(error) else type(error).__name__
    return table, failed


def synchronize(device):
    if device == "cuda":
        import torch

        torch.cuda.synchronize()


def measure(run, calls, repeats, device):
    """ns of a call; the device's queue is emptied before, and never so long that the host would wait for it."""
    synchronize(device)
    begin = time.perf_counter_ns()
    for _ in range(repeats):
        run()
    took = (time.perf_counter_ns() - begin) / (repeats * calls)
    synchronize(device)
    return took


def run(found, device, rounds, repeats=100):
    table, failed = variants(found, device)
    times = {name: [] for name in table}
    for _ in range(rounds):
        for name, (call, calls) in table.items():
            measure(call, calls, 5, device)
            times[name].append(measure(call, calls, repeats, device))
    rows = []
    for name, seen in times.items():
        rows.append({"call": name, "device": device, "ns": statistics.median(seen), "rounds": rounds})
        if (name, device) in GOALS:
            rows[-1]["goal_ns"] = GOALS[name, device]
    return rows + [{"call": name, "device": device, "failed": why} for name, why in failed.items()]
