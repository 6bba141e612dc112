"""Clocks, and rounds in which every call has its turn. Pure but for the clocks themselves.

A clock gives the milliseconds of one call. The GPU's clears the L2 before each call with writes that also keep the device busy
while the host issues the call, so that what is measured is the device's time alone; where the host was slower than that, the call
is timed again, behind more of them.
"""

import math
import statistics
import time

FLUSH_BYTES = 256 << 20  # more than five times the L2 of an H100
TRIES = 5  # of a call that the host issues more slowly than it did before


class HostClock:
    """For the CPU, and (`after` waits for the device) for libraries whose stream we cannot have."""

    name = "host"

    def __init__(self, after=None, before=None, least_ms=2.0):
        self.after, self.before, self.least_ms, self.repeats = after, before, least_ms, {}

    def __call__(self, call, args):
        repeats = self.repeats.get(id(call))
        if repeats is None:  # a short call many times, so that the clock's own time is nothing
            repeats = self.repeats[id(call)] = 1 if self.before else max(1, math.ceil(self.least_ms / max(self.once(call, args), 1e-4)))
        return self.once(call, args, repeats)

    def forget(self):
        """What is known of calls, before others may get their ids."""
        self.repeats.clear()

    def once(self, call, args, repeats=1):
        if self.before:
            self.before()
        begin = time.perf_counter_ns()
        for _ in range(repeats):
            result = call(*args)
            if self.after:
                self.after(result)
        return (time.perf_counter_ns() - begin) / 1e6 / repeats


class CudaClock:
    """By events on torch's current stream, on which Jitfuse, torch and CuPy (told so) work."""

    name = "events, L2 flushed"

    def __init__(self, torch):
        self.torch, self.flush_ms, self.host_ms = torch, None, {}
        self.junk = torch.empty(FLUSH_BYTES // 4, dtype=torch.int32, device="cuda")

    def forget(self):
        self.host_ms.clear()

    def flush(self):
        self.junk.zero_()

    def between(self, work):
        """Milliseconds of the device, and when the host had issued the work."""
        begin, end = (self.torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        result = work()
        end.record()
        issued = time.perf_counter_ns()
        end.synchronize()
        del result
        return begin.elapsed_time(end), issued

    def __call__(self, call, args):
        if self.flush_ms is None:
            self.flush_ms = min(self.between(self.flush)[0] for _ in range(5))
        for _ in range(TRIES):
            # Until then the device has nothing but the flushes to do.
            flushes = 1 + math.ceil(1.5 * self.host_ms.get(id(call), 0) / self.flush_ms)
            self.torch.cuda.synchronize()
            start = time.perf_counter_ns()
            for _ in range(flushes):
                self.flush()
            ms, issued = self.between(lambda: call(*args))
            host_ms = (issued - start) / 1e6
            if host_ms < 0.9 * flushes * self.flush_ms:
                break
            self.host_ms[id(call)] = host_ms  # the device may have waited for the host: once more
        return ms


def warm(calls, args, seconds, clock=time.perf_counter):
    """Calls all in turn until the time is over, so that clocks and caches are as they are in long runs."""
    end = clock() + seconds
    while True:
        for name, call in calls.items():
            call(*args[name][0])
        if clock() >= end:
            return


def interleave(calls, args, clocks, rounds):
    """Milliseconds of each round by name. args[name] is a list of argument tuples, another one each round; round r begins with
    the r-th call, so that none has always the same before it."""
    names = list(calls)
    times = {name: [] for name in names}
    for r in range(rounds):
        first = r % len(names) if names else 0
        for name in names[first:] + names[:first]:
            sets = args[name]
            times[name].append(clocks[name](calls[name], sets[r % len(sets)]))
    return times


def summary(times):
    """Median, and the spread of the middle half, in parts of it."""
    median = statistics.median(times)
    if len(times) < 4:
        return {"ms": median, "spread": None, "rounds": len(times)}
    quarter, _, three = statistics.quantiles(times, n=4)
    return {"ms": median, "spread": (three - quarter) / median, "rounds": len(times)}


def geomean(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None
