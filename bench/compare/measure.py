"""One case through all peers: compile, check, time interleaved, check again on new inputs, count kernels and memory.

`run_case` gives a dict ready for JSON. A peer that cannot do the case has "unable", one that fails "failed", one whose result is
outside the tolerance "wrong" (and its time counts for nothing).
"""

import statistics
import time

import cases
import check
import peers
import timing


def peak_memory(peer, call, args):
    """Bytes that a call needs at its peak beyond what was there before, results included; None where that cannot be known."""
    if peer.device == "cuda":
        import torch

        if not peer.torch_memory:
            return None
        torch.cuda.synchronize()
        torch.cuda.reset_peak_memory_stats()
        before = torch.cuda.memory_allocated()
        result = call(*args)
        torch.cuda.synchronize()
        del result
        return torch.cuda.max_memory_allocated() - before
    try:
        with open("/proc/self/clear_refs", "w") as file:
            file.write("5")  # the peak of resident memory begins anew
        before = resident("VmRSS")
        result = call(*args)
        peak = resident("VmHWM") - before
        del result
        return max(0, peak)
    except OSError:
        return None


def count_allocations(peer, call, args):
    """Blocks that a call takes from torch's allocator on a GPU; None where that cannot be seen."""
    if peer.device != "cuda" or not peer.torch_memory:
        return None
    import torch

    def taken():
        return torch.cuda.memory_stats()["allocation.all.allocated"]

    before = taken()
    call(*args)
    return taken() - before


def resident(field):
    with open("/proc/self/status") as file:
        return next(int(line.split()[1]) << 10 for line in file if line.startswith(field))


def count_kernels(peer, call, args):
    if peer.device != "cuda":
        return peer.kernels(call, args)
    import torch
    from torch.profiler import ProfilerActivity, profile

    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as prof:
        call(*args)
        torch.cuda.synchronize()
    return sum(e.device_type == torch.autograd.DeviceType.CUDA for e in prof.events())


def first_call(peer, case, args):
    """The callable, its first result, and the milliseconds until that was there."""
    begin = time.perf_counter()
    call = peer.make(case)
    generated = generated_kernels() if isinstance(peer, peers.TorchCompile) else None
    result = call(*args)
    if peer.device == "cuda":
        import torch

        torch.cuda.synchronize()
    took = (time.perf_counter() - begin) * 1e3
    return call, result, took, None if generated is None else generated_kernels() - generated


def generated_kernels():
    from torch._inductor import metrics

    return metrics.generated_kernel_count


class Plan:
    """What holds for a whole run: device, rounds, limits of size."""

    def __init__(self, device, rounds, warm_s, most_bytes, most_flops, seed, sets=2):
        self.device, self.rounds, self.warm_s, self.seed, self.sets = device, rounds, warm_s, seed, sets
        self.most_bytes, self.most_flops = most_bytes, most_flops
        self.counting_s = 0.0
        if device == "cuda":
            import torch

            self.clock = timing.CudaClock(torch)
        else:
            self.clock = timing.HostClock()

    def timed(self, count, most_s=40.0):
        """What `count` gives, unless counting has taken so long already: a profiler may be slow."""
        if self.counting_s > most_s:
            raise TimeoutError(f"not counted, as counting took {self.counting_s:.0f} s before")
        begin = time.perf_counter()
        try:
            return count()
        finally:
            self.counting_s += time.perf_counter() - begin


def prepare(case, found, inputs, plan, row):
    """Name -> callable of the peers that can do the case and are right at first."""
    calls, args = {}, {}
    want = check.reference(case, inputs[0])
    for peer in found:
        entry = row["peers"][peer.name] = {}
        try:
            args[peer.name] = [peer.convert(i) for i in inputs]
            call, result, entry["first_ms"], entry["kernels"] = first_call(peer, case, args[peer.name][0])
            if not isinstance(peer, peers.Bare):
                entry["error"], right = check.result_error(case, result, want, inputs[0], plan.device)
                if not right:
                    entry["wrong"] = f"before timing: error {entry['error']:.2g}"
                    continue
            del result
            calls[peer.name] = call
        except (peers.Unable, AttributeError) as error:
            entry["unable"] = first_line(error)
        except Exception as error:  # a peer that breaks must not end the run
            entry["failed"] = f"{type(error).__name__}: {first_line(error)}"
    return calls, args


def first_line(error):
    return (str(error).strip().splitlines() or [type(error).__name__])[0][:300]


def copy_ms(nbytes, plan):
    """A copy that reads and writes so many bytes together, by torch or NumPy."""
    torch = check.torch_or_none()
    if torch is not None:
        source, target = (torch.zeros(max(1, nbytes // 2), dtype=torch.uint8, device=plan.device) for _ in range(2))
        call = target.copy_
    else:
        import numpy as np

        source, target = (np.zeros(max(1, nbytes // 2), np.uint8) for _ in range(2))

        def call(source):
            np.copyto(target, source)

    plan.clock.forget()
    return statistics.median(plan.clock(call, (source,)) for _ in range(9))


def run_case(case, found, plan):
    n = cases.fit(case, plan.most_bytes, plan.most_flops)
    specs = case.inputs(n)
    row = {"case": case.name, "group": case.group, "device": plan.device, "n": n, "of": case.n,
           "shapes": [f"{s.dtype}{list(s.shape)}" for s in specs], "peers": {}}
    row["missing"] = missing(case)
    if row["missing"]:
        return row
    seeds = [plan.seed * 1000 + i for i in range(plan.sets + 1)]
    inputs = [check.draw(specs, s, plan.device) for s in seeds[:-1]]
    reset_dynamo()
    plan.clock.forget()
    calls, args = prepare(case, found, inputs, plan, row)
    by_name = {p.name: p for p in found}
    clocks = {name: by_name[name].clock(plan.clock) for name in calls}
    if calls:
        timing.warm(calls, args, plan.warm_s)
    for name, times in timing.interleave(calls, args, clocks, plan.rounds).items():
        row["peers"][name].update(timing.summary(times), clock=clocks[name].name)
    for name, call in calls.items():
        entry = row["peers"][name]
        entry["peak_bytes"] = peak_memory(by_name[name], call, args[name][0])
        entry["allocations"] = count_allocations(by_name[name], call, args[name][0])
        try:
            entry["kernels"] = plan.timed(lambda: count_kernels(by_name[name], call, args[name][0])) or entry["kernels"]
        except Exception as error:
            entry["kernels_unknown"] = first_line(error)
    del inputs, args
    fresh = check.draw(specs, seeds[-1], plan.device)
    want = check.reference(case, fresh)
    row["minimal_bytes"] = sum(s.bytes for s in specs) + sum(w.size if isinstance(w.size, int) else w.numel() for w in want) * (
        cases.BYTES[case.dtype])
    for name, call in calls.items():
        entry = row["peers"][name]
        if name == "bare GEMM":
            continue
        try:
            error, right = check.result_error(case, call(*by_name[name].convert(fresh)), want, fresh, plan.device)
        except Exception as error:
            entry["failed"] = f"after timing: {type(error).__name__}: {first_line(error)}"
            continue
        entry["error"] = max(error, entry["error"])
        if not right:
            entry["wrong"] = f"after timing: error {error:.2g}"
    row["flops"] = case.flops(n)
    if plan.device == "cuda":  # CuPy and JAX have allocators of their own
        import torch

        torch.cuda.empty_cache()
    return row


def missing(case):
    import jitfuse

    names = [name for name in case.needs if not hasattr(jitfuse, name)]
    if names:
        return f"jitfuse.{', '.join(names)} is not there yet"
    if case.backward and check.torch_or_none() is None:
        return "its gradients are compared with those of torch, which is not there"
    return None


def reset_dynamo():
    torch = check.torch_or_none()
    if torch is not None and "_dynamo" in dir(torch):
        torch._dynamo.reset()
