"""docs/python.md, docs/gradients.md, docs/verify.md and README.md: every block of Python runs, in order, and prints what the page says."""

import contextlib
import io
import pathlib
import re

import jitfuse as jf
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "python.md"
BLOCK = re.compile(r"```python\n(.*?)```\n(?:```\n(.*?)```\n)?", re.DOTALL)


PAGES = {"guide": (PAGE, 10), "gradients": (ROOT / "docs" / "gradients.md", 3), "verify": (ROOT / "docs" / "verify.md", 1), "readme": (ROOT / "README.md", 1)}


@pytest.mark.parametrize(("page", "least"), PAGES.values(), ids=list(PAGES))
def test_the_blocks_run_and_print_what_is_said(page, least, tmp_path):
    blocks = BLOCK.findall(page.read_text())
    assert len(blocks) >= least
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
