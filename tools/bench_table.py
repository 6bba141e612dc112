"""Writes the tables of docs/benchmarks.md from bench/results/*.json, between the markers; `--check` fails if the page is stale.

    python3 tools/bench_table.py [--check]
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "bench" / "compare"))
import report  # noqa: E402  (bench/compare's, which imports no library)

PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- results: begin -->\n", "<!-- results: end -->\n"


def number(x):
    if x == int(x):
        return f"{x:.0f}"
    return f"{x:.3g}" if abs(x) < 100 else f"{x:.0f}"


def goal(row):
    if "goal" not in row:
        return ""
    missed = row["share"] > row["goal"] if row["goal_is_max"] else row["share"] < row["goal"]
    return f"{'<=' if row['goal_is_max'] else '>='} {number(row['goal'])}{' **missed**' if missed else ''}"


def command(path):
    """Of results NAME.json or, as of a GPU, NAME_DEVICE.json."""
    out = path.relative_to(ROOT)
    name, *device = path.stem.split("_")
    line = f"`./dev bench {name} --out {out}`"
    return line + (f" (elsewhere: `bundle/run bench {name} --out {path.name}`)" if device and name in ("gpu", "launches", "shapes", "startup") else "")


def head(result, path):
    lines = [f"### {result['benchmark']}, {result['machine']}, {result['date']}", "", command(path), ""]
    made_by = sorted(result.get("built_from", {}).items(), key=lambda pair: pair[0] != "commit")
    return lines + ["Made by " + (", ".join(f"{what} {name}" for what, name in made_by) or "what was not recorded") + ".", ""]


def wide_table(result):
    cells = [[c if isinstance(c, str) else number(c) for c in row] for row in result["rows"]]
    return ["| " + " | ".join(result["columns"]) + " |", "|---" * len(result["columns"]) + "|"] + ["| " + " | ".join(row) + " |" for row in cells]


def peer_table(result):
    lines = ["| case | measured | beside it, same run | share | goal |", "|---|---|---|---|---|"]
    for row in result["rows"]:
        peer = f"{number(row['peer_value'])} {row['unit']} {row['peer']}" if "peer" in row else ""
        share = f"{row['share']:.3f}" if "share" in row else ""
        lines.append(f"| {row['name']} | {number(row['value'])} {row['unit']} | {peer} | {share} | {goal(row)} |")
    return lines


def markdown(columns, rows):
    return ["| " + " | ".join(columns) + " |", "|---" * len(columns) + "|"] + ["| " + " | ".join(row) + " |" for row in rows]


def compared_cell(row, peer):
    """Milliseconds, and how many times ours that is."""
    entry = row["peers"].get(peer, {})
    ratio = report.speed_up(row, peer)
    return report.cell(entry) + (f" ({ratio:.2f})" if ratio and peer != "jitfuse" else "")


def beside_torch(row, shown):
    """What `shown` makes of Jitfuse's entry, and of torch's where that differs."""
    ours, theirs = (shown(row["peers"].get(name, {})) for name in ("jitfuse", "torch"))
    return ours + (f" ({theirs})" if theirs not in (ours, "?") else "")


def compare_tables(result, path):
    """Of bench/compare: every case beside every peer, start-up and dispatch."""
    rows = [r for r in result["cases"] if not r["missing"] and not r.get("broken")]
    peers = report.peer_names(rows)
    out = path.relative_to(ROOT)
    only = f' --filter "{result["filter"]}"' if result.get("filter") else ""
    lines = [f"### bench/compare, {result['machine']}, {result['date']}", "",
             f"`./dev python bench/compare/compare.py{only} --out {out}` (elsewhere: `bundle/run compare{only} --out {path.name}`)", "",
             f"Made by commit {result['commit']}, " + ", ".join(f"{k} {v}" for k, v in result["versions"].items()) +
             f"; {result['rounds']} rounds, seed {result['seed']}." + (f" **The machine was busy: {result['busy']}.**" if result["busy"] else ""), ""]
    if path.with_suffix(".png").exists():
        lines += [f"![share of a copy's speed, and speed-up over each peer](../{out.with_suffix('.png')})", ""]
    if rows:
        lines += ["Milliseconds; in brackets how many times ours that is (below 1 Jitfuse loses). Share: of a copy's speed by minimal bytes. Kernels, peak MiB beyond the "
                  "arguments, and blocks allocated on a GPU are Jitfuse's, in brackets those of torch's eager mode where they differ.", ""]
        body = []
        for r in rows:
            body.append([report.label(r), *(compared_cell(r, p) for p in peers), report.number(report.copy_share(r), "{:.0%}"),
                         beside_torch(r, lambda e: str(e.get("kernels") or "?")), beside_torch(r, report.mebibytes),
                         beside_torch(r, lambda e: report.number(e.get("allocations"), "{}") or "?")])
        for group, means in report.geomeans(rows).items():
            body.append([f"geomean, {group}", *("" if p not in means else "({:.2f} of {})".format(*means[p]) for p in peers), "", "", "", ""])
        lines += [*markdown(["case", *peers, "share", "kernels", "peak MiB", "blocks"], body), ""]
    if result["startup"]:
        lines += [*markdown(["first result in a fresh process, ms", "wall", "import beyond NumPy's", "context", "first call"],
                            [[r["peer"], "failed", "", "", ""] if "failed" in r else
                             [r["peer"], *(report.number(r[k], "{:.0f}") for k in ("wall_ms", "import_ms")), report.context(r),
                              report.number(r["first_ms"], "{:.0f}")] for r in result["startup"]]), ""]
    if result["dispatch"]:
        lines += [*markdown(["host time of a warm call", "ns", "goal"],
                            [[r["call"], "failed", ""] if "failed" in r else
                             [r["call"], f"{r['ns']:.0f}", compare_goal(r)] for r in result["dispatch"]]), ""]
    return lines + [f"* {why}" for why in report.reasons(result)]


def compare_goal(row):
    if "goal_ns" not in row:
        return ""
    return f"<= {row['goal_ns']:.0f}{' **missed**' if row['ns'] > row['goal_ns'] else ''}"


def table(path):
    result = json.loads(path.read_text())
    if "compare" in result:
        return "\n".join(compare_tables(result, path)) + "\n"
    if "benchmark" not in result:  # what a benchmark reads, not what one wrote
        return None
    return "\n".join(head(result, path) + (wide_table(result) if "columns" in result else peer_table(result))) + "\n"


def main():
    page = PAGE.read_text()
    before, rest = page.split(BEGIN)
    _, after = rest.split(END)
    tables = "\n".join(filter(None, map(table, sorted((ROOT / "bench" / "results").glob("*.json")))))
    fresh = before + BEGIN + tables + END + after
    if "--check" in sys.argv[1:]:
        if fresh != page:
            sys.exit("docs/benchmarks.md is stale: run python3 tools/bench_table.py")
        return
    PAGE.write_text(fresh)


if __name__ == "__main__":
    main()
