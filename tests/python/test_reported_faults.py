"""Faults that users of other fusers have met, of those that Python alone can express (numbers as in docs/reported_faults.md)."""

import numpy as np
import pytest

import jitfuse as jf

NAN = float("nan")


class Module:
    """With a parameter that no result needs."""

    def __init__(self, as_array):
        self.weight, self.unused = as_array(2.0), as_array(NAN)

    def __call__(self, x, unused):
        y = x * self.weight
        return y, None, 3, x.shape[0], {"none": None, "rows": (x.shape[0] * 2, x.shape)}


def frameworks():
    yield pytest.param(np.float32, lambda rows: np.arange(rows * 4, dtype=np.float32).reshape(rows, 4), id="numpy")
    try:
        import torch
    except ImportError:
        return
    yield pytest.param(lambda v: torch.tensor(v), lambda rows: torch.arange(rows * 4.0).reshape(rows, 4), id="torch")


@pytest.mark.parametrize("as_array, make", list(frameworks()))
def test_case48_none_and_unused_results_and_arguments(as_array, make):
    f = jf.jit(Module(as_array))
    for rows in (3, 5, 3, 1, 7):  # sizes that are results are those of the call, not of the first one
        x = make(rows)
        y, none, three, size, rest = f(x, x)
        assert type(y) is type(x) and np.array_equal(np.asarray(y), 2 * np.asarray(x))
        assert none is None and (three, size) == (3, rows) and type(three) is type(size) is int
        assert rest == {"none": None, "rows": (2 * rows, (rows, 4))}
        assert all(type(n) is int for n in (rest["rows"][0], *rest["rows"][1]))


def test_case48_nothing_but_sizes():
    f = jf.jit(lambda x: (None, x.shape[0]))
    assert [f(np.zeros((n, 2))) for n in (4, 6)] == [(None, 4), (None, 6)]


def test_case88_addmm_with_beta_0_does_not_read_c():
    torch = pytest.importorskip("torch", reason="calls torch.addmm, and torch is not installed")
    a, b = torch.arange(6.0).reshape(2, 3), torch.arange(12.0).reshape(3, 4)
    for c in (torch.full((2, 4), NAN), torch.full((4,), NAN), torch.full((), NAN), torch.full((2, 1), float("inf"))):
        got = jf.jit(lambda c, a, b: torch.addmm(c, a, b, beta=0))(c, a, b)
        assert torch.equal(got, torch.addmm(c, a, b, beta=0)) and torch.equal(got, a @ b)
        halved = jf.jit(lambda c, a, b: torch.addmm(c, a, b, beta=0, alpha=0.5))(c, a, b)
        assert torch.equal(halved, a @ b * 0.5)
        assert not torch.isfinite(jf.jit(lambda c, a, b: torch.addmm(c, a, b, beta=0.5))(c, a, b)).any()
    with pytest.raises(ValueError, match="broadcast"):  # it has to fit all the same
        jf.jit(lambda c, a, b: torch.addmm(c, a, b, beta=0))(torch.zeros(3), a, b)
