"""Writes the tables of docs/benchmarks.md from bench/results/*.json, between the markers; `--check` fails if the page is stale.

    python3 tools/bench_table.py [--check]
"""

import json
import pathlib
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
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
    line = f"`./dev bench {path.stem.split('_')[0]} --out {out}`"
    return line + (f" (elsewhere: `bundle/run bench gpu --out {path.name}`)" if path.stem.startswith("gpu_") else "")


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


def table(path):
    result = json.loads(path.read_text())
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
