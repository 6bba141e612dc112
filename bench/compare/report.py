"""The tables of a run as text. Pure: a result (the dict that goes to JSON) in, lines out."""

import timing


def time_of(row, peer):
    """Milliseconds, or None where the peer has no right result."""
    entry = row["peers"].get(peer, {})
    return None if "wrong" in entry or "failed" in entry else entry.get("ms")


def copy_share(row, peer="jitfuse"):
    """Minimal bytes through the time, in parts of what a copy of as many bytes does in the same run."""
    ms = time_of(row, peer)
    return row["copy_ms"] / ms if ms and row.get("copy_ms") else None


def speed_up(row, peer):
    ours, theirs = time_of(row, "jitfuse"), time_of(row, peer)
    return theirs / ours if ours and theirs else None


def peer_names(rows):
    return list(dict.fromkeys(name for row in rows for name, entry in row["peers"].items() if "ms" in entry or "wrong" in entry or "failed" in entry))


def geomeans(rows):
    """Group -> peer -> (geometric mean of the speed-ups over it, of how many cases); "all" is every group."""
    found = {}
    for group in [*dict.fromkeys(r["group"] for r in rows), "all"]:
        of = [r for r in rows if group in (r["group"], "all")]
        for peer in peer_names(rows):
            ratios = [s for s in (speed_up(r, peer) for r in of) if s]
            if peer != "jitfuse" and ratios:
                found.setdefault(group, {})[peer] = (timing.geomean(ratios), len(ratios))
    return found


def table(head, lines):
    widths = [max(len(line[i]) for line in [head, *lines]) for i in range(len(head))]
    cells = [[c.ljust(w) if i == 0 else c.rjust(w) for i, (c, w) in enumerate(zip(line, widths, strict=True))] for line in [head, *lines]]
    return ["  ".join(line).rstrip() for line in [*cells[:1], ["-" * w for w in widths], *cells[1:]]]


def number(x, form="{:.3g}"):
    return "" if x is None else form.format(x)


def label(row):
    return row["case"] + ("" if row["n"] == row["of"] else f" [{row['n']} of {row['of']}]")


def cell(entry):
    for word in ("wrong", "failed"):
        if word in entry:
            return word.upper()
    return number(entry.get("ms")) or "-"


def case_tables(rows):
    timed = [r for r in rows if not r["missing"]]
    names = peer_names(timed)
    if not timed:
        return []
    lines = ["Milliseconds, medians; share: of a copy's speed by minimal bytes (memory and CPU cases); [n of N]: cut down to this machine", ""]
    lines += table(["case", *names, "share"], [[label(r), *(cell(r["peers"].get(n, {})) for n in names), number(copy_share(r), "{:.0%}")] for r in timed])
    others = [n for n in names if n != "jitfuse"]
    ratios = [[label(r), *(number(speed_up(r, n), "{:.2f}") for n in others)] for r in timed]
    for group, means in geomeans(timed).items():
        ratios.append([f"geomean, {group}", *("{:.2f} ({})".format(*means[n]) if n in means else "" for n in others)])
    lines += ["", "Speed-up of Jitfuse over the peer (below 1 it loses), and geometric means (of so many cases)", "", *table(["case", *others], ratios)]
    used = [[label(r), *(usage(r["peers"].get(n, {})) for n in names)] for r in timed]
    lines += ["", "Kernels per call / peak MiB beyond the arguments / blocks allocated on a GPU (?: not known; on a CPU growth of resident memory, so what is",
              "kept for reuse is 0, and of torch.compile the kernels that it generated, without library calls)", "", *table(["case", *names], used)]
    return lines + error_table(timed)


def usage(entry):
    if "ms" not in entry:
        return ""
    return " / ".join([number(entry.get("kernels"), "{}") or "?", mebibytes(entry), number(entry.get("allocations"), "{}") or "?"])


def error_table(rows):
    """Of products and MLPs: the largest difference to float64 of each peer, as check.error counts it."""
    rows = [r for r in rows if r["group"] in ("gemm", "mlp")]
    names = [n for n in peer_names(rows) if any("error" in r["peers"].get(n, {}) for r in rows)]
    lines = [[label(r), *(number(r["peers"].get(n, {}).get("error"), "{:.2g}") for n in names)] for r in rows]
    title = "Largest difference to float64, in parts of |value| + root mean square (with gradients: its root mean square, in parts of theirs)"
    return ["", title, "", *table(["case", *names], lines)] if lines else []


def mebibytes(entry):
    peak = entry.get("peak_bytes")
    return "?" if peak is None else f"{peak / 2**20:.1f}"


def goal(value, most):
    return "" if most is None else f"<= {most:g}: {'met' if value <= most else 'MISSED'}"


def context(row):
    """Milliseconds for a GPU's context, where they were taken apart."""
    return number(row["context_ms"], "{:.0f}") if row["device"] == "cuda" and "context_ms" in row else ""


def startup_table(rows):
    lines = []
    for r in rows:
        if "failed" in r:
            lines.append([f"{r['peer']}, {r['device']}", "FAILED", "", "", "", r["failed"][:60]])
            continue
        goals = r.get("goals", {})
        lines.append([f"{r['peer']}, {r['device']}", *(number(r[k], "{:.0f}") for k in ("wall_ms", "import_ms")), context(r), number(r["first_ms"], "{:.0f}"),
                      "; ".join(f"{k[:-3]} {goal(r[k], most)}" for k, most in goals.items())])
    return ["First result in a fresh process, caches empty unless it is said to be warm, ms (import: beyond NumPy's)", "",
            *table(["", "wall", "import", "context", "first call", "goal"], lines)] if rows else []


def dispatch_table(rows):
    lines = [[f"{r['call']}, {r['device']}", "FAILED" if "failed" in r else number(r["ns"], "{:.0f}"),
              r["failed"][:60] if "failed" in r else goal(r["ns"], r.get("goal_ns"))] for r in rows]
    return ["Host time of a warm call, ns", "", *table(["", "ns", "goal"], lines)] if rows else []


def reasons(result):
    """What was not compared, and why."""
    lines = [f"missing: {r['case']}: {r['missing']}" for r in result["cases"] if r["missing"]]
    lines += [f"broken: {r['case']}: {r['broken']}" for r in result["cases"] if r.get("broken")]
    for row in result["cases"]:
        for name, entry in row["peers"].items():
            lines += [f"{word}: {row['case']}: {name}: {entry[word]}" for word in ("wrong", "failed") if word in entry]
    unable = {}
    for row in result["cases"]:
        for name, entry in row["peers"].items():
            if "unable" in entry and name != "bare GEMM":
                unable.setdefault((name, entry["unable"]), []).append(row["case"])
    lines += [f"unable: {name}: {why} ({len(of)} cases)" for (name, why), of in unable.items()]
    lines += [f"not run, as the time was over: {name}" for name in result.get("not_run", [])]
    return lines + [f"not here: {device}: {name}: {why}" for device, absent in result["absent"].items() for name, why in absent.items()]


def head(result):
    made = ", ".join(f"{k} {v}" for k, v in result["versions"].items())
    lines = [f"Jitfuse compared, {result['date']}, commit {result['commit']}", result["machine"], made, f"seed {result['seed']}, {result['rounds']} rounds"]
    if result["busy"]:
        lines.append(f"THE MACHINE WAS BUSY ({result['busy']}): these times are not fit to be quoted, least of all those of peers with thread pools that wait by spinning")
    return lines


def text(result):
    parts = [head(result), case_tables(result["cases"]), startup_table(result["startup"]), dispatch_table(result["dispatch"]), reasons(result)]
    return "\n\n".join("\n".join(p) for p in parts if p) + "\n"
