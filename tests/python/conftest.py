"""What the tests of the Python package share."""

import os
import pathlib
import subprocess
import sysconfig

import pytest

os.environ.setdefault("JITFUSE_NO_CACHE", "1")  # tests of the disk cache have folders of their own

HERE = pathlib.Path(__file__).resolve().parent
DLPACK = [HERE.parents[1] / "third_party" / "dlpack", HERE.parents[3] / "include" / "jitfuse" / "dlpack"]


@pytest.fixture
def torch():
    """torch, where it is installed."""
    return pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def fresh_seed():
    import jitfuse

    jitfuse.random.seed(0)


@pytest.fixture(scope="session")
def library(tmp_path_factory):
    """The fake GPU, compiled."""
    folder = tmp_path_factory.mktemp("fake_gpu")
    include = sysconfig.get_paths()["include"]
    if not pathlib.Path(include, "Python.h").exists():
        pytest.skip("compiles a fake GPU, and there is no Python.h")
    header = next((d for d in DLPACK if (d / "dlpack.h").exists()), None)
    if header is None:
        pytest.skip("compiles a fake GPU, and there is no dlpack.h")
    command = [*(os.environ.get("CC") or "cc").split(), "-shared", "-fPIC", "-O1", "-I", include, "-I", str(header), str(HERE / "fake_gpu.c"), "-o", str(folder / "fake_gpu.so")]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except FileNotFoundError:
        pytest.skip("compiles a fake GPU, and there is no C compiler")
    assert done.returncode == 0, done.stderr
    return folder / "fake_gpu.so"
