"""What the tests of the Python package share."""

import pytest


@pytest.fixture
def torch():
    """torch, where it is installed."""
    return pytest.importorskip("torch")


@pytest.fixture(autouse=True)
def fresh_seed():
    import jitfuse

    jitfuse.random.seed(0)
