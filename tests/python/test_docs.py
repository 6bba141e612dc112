"""docs/python.md: every block of Python runs, in order, and prints what the page says."""

import contextlib
import io
import pathlib
import re

import jitfuse as jf

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "python.md"
BLOCK = re.compile(r"```python\n(.*?)```\n(?:```\n(.*?)```\n)?", re.DOTALL)


def test_the_blocks_run_and_print_what_is_said(tmp_path):
    blocks = BLOCK.findall(PAGE.read_text())
    assert len(blocks) >= 10
    scope = {"__name__": "page"}
    for i, (code, want) in enumerate(blocks):
        file = tmp_path / f"block_{i}.py"
        file.write_text(code)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(code, str(file), "exec"), scope)
        assert printed.getvalue().split() == want.split(), code


def test_the_table_of_options_is_complete():
    import inspect

    rows = re.findall(r"^\| (`.*?) \|", PAGE.read_text(), re.MULTILINE)
    named = set(re.findall(r"`(\w+)`", " ".join(rows)))
    assert named == {p for p in inspect.signature(jf.jit).parameters if p != "function"}
