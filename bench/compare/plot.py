"""The picture of a run: share of the copy ceiling by case, and speed-up over each peer."""

import pathlib

import report


def draw(result, path) -> str:
    """Writes a PNG; says what was done, or why not."""
    try:
        import matplotlib
    except ImportError:
        return "no picture: matplotlib is not importable"
    matplotlib.use("Agg")
    from matplotlib import pyplot

    rows = [r for r in result["cases"] if report.time_of(r, "jitfuse")][::-1]
    if not rows:
        return "no picture: no case was timed"
    names = [n for n in report.peer_names(rows) if n != "jitfuse"]
    figure, (left, right) = pyplot.subplots(1, 2, sharey=True, figsize=(14, 2 + 0.32 * len(rows)), layout="constrained")
    shared = [report.copy_share(r) for r in rows]
    left.barh(range(len(rows)), [s or 0 for s in shared], color="#4878a8")
    left.axvline(1, color="black", linewidth=0.8)
    left.set_yticks(range(len(rows)), [report.label(r) for r in rows], fontsize=8)
    left.set_xlabel("Jitfuse: share of a copy's speed by minimal bytes")
    for i, name in enumerate(names):
        points = [(report.speed_up(r, name), y) for y, r in enumerate(rows)]
        points = [p for p in points if p[0]]
        if points:
            right.plot(*zip(*points, strict=True), "o", markersize=5, label=name, color=f"C{i}")
    right.axvline(1, color="black", linewidth=0.8)
    right.set_xscale("log")
    right.set_xlabel("speed-up of Jitfuse (left of 1 it loses)")
    right.legend(fontsize=8)
    busy = " - THE MACHINE WAS BUSY" if result["busy"] else ""
    figure.suptitle(f"{result['machine']}, {result['date']}, {result['commit']}{busy}", fontsize=9)
    figure.savefig(pathlib.Path(path), dpi=110)
    pyplot.close(figure)
    return f"wrote {path}"
