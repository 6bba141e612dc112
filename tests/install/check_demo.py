#!/usr/bin/env python3
"""check_demo.py DEMO: what the demo prints on the CPU is complete and so; and it fails where the labels are wrong or the data is.

Complete: the accuracy, the labels beside the reference's, every group with what it holds, moves and took to compile, the reason of
every boundary, and the time of a batch fused and with one kernel per op.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

DATA = pathlib.Path(__file__).resolve().parents[2] / "examples" / "data"


def one(pattern, text):
    """The groups of the only line that matches."""
    found = re.findall(pattern, text, re.M)
    assert len(found) == 1, f"expected one line like {pattern!r}, found {len(found)} in:\n{text}"
    return found[0]


def in_bytes(number, unit):
    return float(number) * {"B": 1, "KiB": 2**10, "MiB": 2**20}[unit]


def check_groups(text, count):
    """Every group of the explanation; gives the number of kernels that were compiled."""
    heads = re.findall(r"^  group (\d+) \((gemm|loop)\) over \[", text, re.M)
    assert [int(number) for number, _ in heads] == list(range(count)), (heads, count)
    bodies = re.split(r"^  group \d+ .*$", text.split("\n  boundary ")[0], flags=re.M)[1:]
    ops, kernels, saved = "", 0, 0.0
    for (_, kind), body in zip(heads, bodies):
        lines = re.findall(r"^      %\S.* = (\w+)\(", body, re.M)
        assert lines, f"a group without ops:\n{body}"
        ops += " " + " ".join(lines)
        fused, fused_unit, unfused, unfused_unit = one(r"^    moves ([\d.]+) (\w+); one kernel per op would move ([\d.]+) (\w+)$", body)
        assert 0 < in_bytes(fused, fused_unit) <= in_bytes(unfused, unfused_unit), body
        saved += in_bytes(unfused, unfused_unit) - in_bytes(fused, fused_unit)
        library = re.search(r"^    library call: \S", body, re.M)
        assert kind == "gemm" or not library, body
        if not library:
            assert float(one(r"^    kernel \w+, compiled in ([\d.]+) ms(?:; .*)?$", body)) > 0, body
            kernels += 1
    for op, times in [("matmul", 3), ("relu", 1), ("moments", 1), ("gelu", 1), ("max_sumexp", 1), ("argmax", 1)]:
        assert ops.split().count(op) == times, (op, times, ops)
    assert saved > 0, "fusing saved no bytes"
    return kernels


def check(text):
    """Raises AssertionError where the demo's output lacks something or says something wrong; gives a line that sums it up."""
    accuracy, right, total = one(r"^test accuracy +([\d.]+) \((\d+) of (\d+)\)$", text)
    assert int(total) == 359 and abs(float(accuracy) - int(right) / int(total)) < 1e-3 and float(accuracy) >= 0.95, (accuracy, right, total)
    assert one(r"^labels as reference +(\d+) of (\d+)$", text) == (total, total), text
    one(r"^Running on the (?:CPU|GPU)\.$", text)
    groups = int(one(r"^graph digits_mlp on \w+:\S+: (\d+) groups, ", text))
    kernels = check_groups(text, groups)
    boundaries = re.findall(r"^  boundary (.*)\n(?:    (\w+): \S.*$)?", text, re.M)
    assert len(boundaries) > groups and all(reason for _, reason in boundaries), boundaries
    first = float(one(r"^first call, compiling +([\d.]+) ms$", text))
    fused = float(one(r"^batch of 359, fused +([\d.]+) ms$", text))
    unfused, ratio = map(float, one(r"^one kernel per op +([\d.]+) ms +\(([\d.]+)x\)$", text))
    assert first > 0 and fused > 0 and unfused > 0, (first, fused, unfused)
    assert abs(ratio - unfused / fused) < 0.02 * ratio + 0.006, (ratio, unfused, fused)
    return f"accuracy {accuracy}, labels as reference {total} of {total}, {groups} groups, {kernels} kernels, {len(boundaries)} boundaries"


def main():
    demo = sys.argv[1]
    environment = {**os.environ, "JITFUSE_BACKEND": "cpu"}

    def run(*args):
        done = subprocess.run([demo, *args], env=environment, capture_output=True, text=True, timeout=120)
        return done.returncode, done.stdout, done.stderr

    code, printed, errors = run()
    assert code == 0, (code, errors)
    print(check(printed))

    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder, "data")
        shutil.copytree(DATA, copy)
        truth = (copy / "digits_test_y.npy").read_bytes()
        values = len(truth) - 8 * 359  # i64, after the header
        (copy / "digits_test_y.npy").write_bytes(truth[:values] + truth[values + 8:] + truth[values:values + 8])  # each the next image's
        code, printed, errors = run(str(copy))
        assert (code, errors) == (1, "demo: the accuracy is below 0.95\n"), (code, errors)
        assert float(one(r"^test accuracy +([\d.]+) ", printed)) < 0.95, printed
        (copy / "digits_weights" / "w2.npy").unlink()
        code, printed, errors = run(str(copy))
        assert code == 1 and errors.startswith("demo: ") and "w2.npy" in errors and not printed, (code, printed, errors)


if __name__ == "__main__":
    main()
