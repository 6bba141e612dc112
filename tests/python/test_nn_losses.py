"""Losses against torch on the CPU, with every reduction."""

import numpy as np
import pytest

import jitfuse as jf
from support import make, run, same

torch = pytest.importorskip(
    "torch", reason="values are compared with torch.nn.functional, and torch is not installed"
)
F = torch.nn.functional

X, T = make((5, 7), "float64"), make((5, 7), "float64", 1)
P, Q = make((5, 7), "float64", 2, 0.05, 0.95), make((5, 7), "float64", 3, 0.05, 0.95)
WEIGHT = make((5, 7), "float64", 4, 0.1, 2.0)
CLASSES = np.array([0, 3, 6, -100, 2])


def compare(name, *args, **kwargs):
    arrays = {k: v for k, v in kwargs.items() if isinstance(v, np.ndarray)}
    rest = {k: v for k, v in kwargs.items() if k not in arrays}
    got = run(lambda args, arrays: getattr(jf.nn, name)(*args, **arrays, **rest), args, arrays)
    tensors = {k: torch.from_numpy(v) for k, v in arrays.items()}
    want = getattr(F, name)(*[torch.from_numpy(a) for a in args], **tensors, **rest)
    same(got, want.numpy(), ulps=256, what=f"{name} {list(kwargs)}", atol=1e-14)


@pytest.mark.filterwarnings("ignore:reduction")  # torch's advice on kl_div
@pytest.mark.parametrize("reduction", ["none", "mean", "sum"])
def test_losses(reduction):
    kw = {"reduction": reduction}
    compare("mse_loss", X, T, **kw)
    compare("l1_loss", X, T, **kw)
    compare("smooth_l1_loss", X, T, beta=0.7, **kw)
    compare("huber_loss", X, T, delta=0.7, **kw)
    compare("mse_loss", X, T, weight=WEIGHT, **kw)
    compare("l1_loss", X, T, weight=WEIGHT, **kw)
    compare("huber_loss", X, T, weight=WEIGHT, **kw)
    compare("binary_cross_entropy", P, Q, **kw)
    compare("binary_cross_entropy", P, Q, weight=WEIGHT, **kw)
    compare("binary_cross_entropy_with_logits", X, Q, **kw)
    compare("binary_cross_entropy_with_logits", X, Q, weight=WEIGHT, pos_weight=WEIGHT[0], **kw)
    compare("kl_div", np.log(P), Q, **kw)
    compare("kl_div", np.log(P), np.log(Q), log_target=True, **kw)
    for kw2 in ({}, {"weight": WEIGHT[0]}, {"ignore_index": 3}):
        compare(
            "nll_loss",
            np.log(P),
            np.abs(CLASSES) % 7 if "ignore_index" in kw2 else CLASSES,
            **kw,
            **kw2,
        )
        compare(
            "cross_entropy",
            X,
            np.abs(CLASSES) % 7 if "ignore_index" in kw2 else CLASSES,
            **kw,
            **kw2,
        )
    compare("cross_entropy", X, CLASSES, label_smoothing=0.1, **kw)
    compare("cross_entropy", X, CLASSES, label_smoothing=0.1, weight=WEIGHT[0], **kw)
    compare("cross_entropy", X, Q, **kw)
    compare("cross_entropy", X, Q, label_smoothing=0.2, weight=WEIGHT[0], **kw)
    image = make((2, 4, 3, 3), "float64")
    compare("cross_entropy", image, np.arange(18).reshape(2, 3, 3) % 4, **kw)
    compare("cross_entropy", X[0], np.array(3), **kw)


def test_batchmean():
    compare("kl_div", np.log(P), Q, reduction="batchmean")


def test_bad_arguments():
    with pytest.raises(
        ValueError, match="reduction='average', expected one of 'none', 'mean', 'sum'"
    ):
        run(lambda x, t: jf.nn.mse_loss(x, t, reduction="average"), X, T)
    with pytest.raises(TypeError, match="size_average and reduce"):
        run(lambda x, t: jf.nn.mse_loss(x, t, True), X, T)
