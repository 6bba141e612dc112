#!/usr/bin/env python3
"""README.md shows examples/quickstart.cc and what it prints: check_readme.py PATH_OF_QUICKSTART"""

import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def without_the_machine(text):
    text = re.sub(r"[0-9.]+ ms", "T ms", text)
    text = re.sub(r", disk cache looked through in T ms", "", text)  # tests have none
    text = re.sub(r"\(graph [0-9.]+, fusion [0-9.]+\)", "(graph T, fusion T)", text)
    text = re.sub(r"[0-9]+ bytes of (stack|code)", r"N bytes of \1", text)  # as the compiler for this CPU makes them
    return re.sub(r" on cpu:[^:]+:", " on cpu:NAME:", text)


readme = (ROOT / "README.md").read_text()
if (ROOT / "examples/quickstart.cc").read_text() not in readme:
    sys.exit("README.md does not show examples/quickstart.cc")
printed = subprocess.run(
    [sys.argv[1]], env={**os.environ, "JITFUSE_BACKEND": "cpu"}, check=True, capture_output=True, text=True
).stdout
if without_the_machine(printed) not in without_the_machine(readme):
    sys.exit("README.md does not show what the example prints:\n" + printed)
