"""The stub of jitfuse._core is that of the module that was built.

    python tests/python/test_core_stub.py --update     # writes python/jitfuse/_core.pyi
"""
import difflib
import importlib.metadata
import pathlib
import re
import sys

import pytest

STUB = pathlib.Path(__file__).resolve().parents[2] / "python" / "jitfuse" / "_core.pyi"
HEAD = '"""What jitfuse\'s Python sources stand on; no public interface. Made by tests/python/test_core_stub.py."""\n\n'


def made():
    stubgen = pytest.importorskip("nanobind.stubgen")
    version = importlib.metadata.version("nanobind")
    if not version.startswith("3.1."):
        pytest.skip(f"the stub is written by nanobind 3.1, and {version} is here")
    from jitfuse import _core

    generator = stubgen.StubGen(module=_core, quiet=True)
    generator.put(_core)
    # What CPython says of its own slots, which differs by version, is no part of the interface.
    text = generator.get().replace("(self, /, *args, **kwargs):", "(self, /, *args: Any, **kwargs: Any) -> Any:")
    text = text.replace("__init__(self, /, *args: Any, **kwargs: Any) -> Any", "__init__(self, /, *args: Any, **kwargs: Any) -> None")
    text = re.sub(r'    def __(release_)?buffer__\(.*?""".*?"""\n\n', "", text, flags=re.DOTALL)  # from 3.12 on
    lines = [line.rstrip() for line in text.splitlines() if "__vectorcalloffset__" not in line]
    return HEAD + "\n".join(lines).rstrip() + "\n"


def test_stub_is_that_of_the_module():
    want, got = made().splitlines(), STUB.read_text().splitlines()
    assert want == got, "run tests/python/test_core_stub.py --update:\n" + "\n".join(difflib.unified_diff(got, want, lineterm=""))


def test_stub_is_clean_for_mypy():
    api = pytest.importorskip("mypy.api")
    out, err, code = api.run(["--strict", "--no-incremental", "--cache-dir=/dev/null", str(STUB)])
    assert code == 0, out + err


def test_package_is_clean_for_mypy():
    api = pytest.importorskip("mypy.api")
    out, err, code = api.run(["--no-incremental", "--cache-dir=/dev/null", str(STUB.parent)])
    assert code == 0, out + err


if __name__ == "__main__" and sys.argv[1:] == ["--update"]:
    STUB.write_text(made())
