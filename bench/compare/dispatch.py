"""Host time of warm calls: relu(a * b + c) of three arrays of 16 f32, so that the call is all there is."""

import statistics
import time

import bare
import check
import dialects
import peers
from cases import Case, Spec

SIZES = (16, 48, 16, 48)
CHAIN = Case("relu(a*b+c) of 16 f32", "dispatch", 16, lambda n: [Spec((n,))] * 3,
             lambda F, a, b, c: F.relu(a * b + c), numexpr=("where(a * b + c > 0, a * b + c, 0)",))
GOALS = {("jitfuse, NumPy", "cpu"): 2000, ("jitfuse, NumPy, alternating", "cpu"): 2000, ("jitfuse, torch", "cpu"): 2500,
         ("jitfuse, torch, alternating", "cpu"): 2500}
BARE = "bare launch"
OVER_BARE = {"jitfuse, torch, out=": 1500, "jitfuse, torch": 3000, "jitfuse, torch, alternating": 3000}  # ns, on a GPU


def caller(call, arguments, out=None):
    """A function that makes so many calls as a user writes them: with nothing around them that costs time but the loop."""
    a, b, c = arguments

    def new(times):
        for _ in range(times):
            call(a, b, c)

    def into(times):
        for _ in range(times):
            call(a, b, c, out=out)

    return new if out is None else into


def variants(found, device):
    """Name -> (function that repeats something so many times, calls in it)."""
    table, failed = {}, {}
    inputs = [check.draw([Spec((n,))] * 3, 17 + i, device) for i, n in enumerate(SIZES)]

    def add(name, call, sets, out=None):
        table[name] = (caller(call, sets[0], out), 1)
        table[name][0](1)

        def alternate(times):
            for _ in range(times):
                for a, b, c in sets:
                    call(a, b, c)

        if out is None:
            alternate(1)
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

                def one_op(times, relu=torch.relu, x=args[0]):
                    for _ in range(times):
                        relu(x)

                table["torch.relu, one op"] = (one_op, 1)
            if peer.name == "torch.compile" and device == "cuda":
                import torch

                ops = dialects.torch_ops()
                add("reduce-overhead", torch.compile(lambda a, b, c: ops.relu(a * b + c), mode="reduce-overhead"), kinds[""])
        except Exception as error:
            failed[peer.name] = str(error).splitlines()[0] if str(error) else type(error).__name__
    if device == "cuda" and check.torch_or_none():
        try:
            add_nvfuser(table, inputs[0])
        except ImportError:
            pass
        except Exception as error:
            failed["nvFuser"] = str(error).splitlines()[0] if str(error) else type(error).__name__
    return table, failed


def add_nvfuser(table, inputs):
    """The same chain by nvFuser's Python front end, where that can be imported."""
    try:
        from nvfuser_direct import FusionDefinition
    except ImportError:
        from nvfuser import FusionDefinition
    with FusionDefinition() as fusion:
        a, b, c = (fusion.from_pytorch(x) for x in inputs)
        fusion.add_output(fusion.ops.relu(fusion.ops.add(fusion.ops.mul(a, b), c)))
    fusion.execute(list(inputs))

    def execute(times):
        for _ in range(times):
            fusion.execute(list(inputs))

    table["nvFuser"] = (execute, 1)


def synchronize(device):
    if device == "cuda":
        import torch

        torch.cuda.synchronize()


def measure(run, calls, repeats, device):
    """ns of a call; the device's queue is emptied before, and never so long that the host would wait for it."""
    synchronize(device)
    begin = time.perf_counter_ns()
    run(repeats)
    took = (time.perf_counter_ns() - begin) / (repeats * calls)
    synchronize(device)
    return took


def bare_launches(device, failed):
    if device != "cuda":
        return None
    try:
        import torch

        return bare.Bare(torch, SIZES[0])
    except Exception as error:
        failed[BARE] = str(error).splitlines()[0] if str(error) else type(error).__name__
        return None


def run(found, device, rounds, repeats=100):
    table, failed = variants(found, device)
    launches = bare_launches(device, failed)
    times = {name: [] for name in ([BARE] if launches else []) + list(table)}
    for _ in range(rounds):
        if launches:
            launches.once(5)
            times[BARE].append(launches.once(repeats))
        for name, (call, calls) in table.items():
            measure(call, calls, 5, device)
            times[name].append(measure(call, calls, repeats, device))
    rows = []
    for name, seen in times.items():
        rows.append({"call": name, "device": device, "ns": statistics.median(seen), "rounds": rounds})
        if (name, device) in GOALS:
            rows[-1]["goal_ns"] = GOALS[name, device]
        elif launches and name in OVER_BARE:
            rows[-1]["goal_ns"] = statistics.median(times[BARE]) + OVER_BARE[name]
    return rows + [{"call": name, "device": device, "failed": why} for name, why in failed.items()]
