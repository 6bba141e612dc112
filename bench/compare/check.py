"""Inputs, the float64 reference, and whether a result is right.

Arrays are torch tensors where torch is importable, else NumPy's. The reference is the case's body in float64, by torch or NumPy,
of the very inputs; of a case with gradients by torch's autograd. The error of a result is the largest |got - want| / (|want| + rms(want)): one for the whole, so that
cancellation near zero counts against the size of what is usual. Of a case with gradients it is rms(got - want) / rms(want), of the worst result: where rounding puts
a relu's argument on the other side of 0, one element's gradient is another, in every library.
"""

import dialects
from cases import flat

TOLERANCE = {"f32": 2e-4, "bf16": 3e-2}


def torch_or_none():
    try:
        import torch
    except ImportError:
        return None
    return torch


def scale(s):
    return (2 / s.shape[-1]) ** 0.5 if s.kind == "weight" else 1.0


def draw(specs, seed, device="cpu"):
    """Inputs of these specs, another for each seed."""
    torch = torch_or_none()
    if torch is None:
        return draw_numpy(specs, seed)
    generator = torch.Generator(device=device).manual_seed(seed)
    dtypes = {"f32": torch.float32, "bf16": torch.bfloat16}
    made = []
    for s in specs:
        if s.kind == "index":
            made.append(torch.randint(0, s.below, s.shape, generator=generator, device=device))
        elif s.kind == "positive":
            made.append((torch.rand(s.shape, generator=generator, device=device) + 0.5).to(dtypes[s.dtype]))
        else:
            made.append(torch.randn(s.shape, generator=generator, device=device, dtype=dtypes[s.dtype]).mul_(scale(s)))
    return made


def draw_numpy(specs, seed):
    import numpy as np

    rng = np.random.default_rng(seed)
    made = []
    for s in specs:
        if s.dtype == "bf16":
            raise TypeError("NumPy has no bfloat16, and torch is not importable")
        if s.kind == "index":
            made.append(rng.integers(0, s.below, s.shape))
        elif s.kind == "positive":
            made.append(rng.random(s.shape, dtype=np.float32) + np.float32(0.5))
        else:
            made.append(rng.standard_normal(s.shape, dtype=np.float32) * np.float32(scale(s)))
    return made


def to64(x, device="cpu"):
    """A result of any peer as a float64 array of torch, or of NumPy."""
    torch = torch_or_none()
    if torch is None or not isinstance(x, torch.Tensor):
        import numpy as np

        if device == "cuda" and hasattr(x, "__dlpack__") and not isinstance(x, np.ndarray):
            return torch.from_dlpack(x).double()
        x = np.asarray(x).astype(np.float64)
        return x if torch is None else torch.from_numpy(x).to(device)
    return x.detach().double() if x.is_floating_point() else x


def reference(case, inputs):
    torch = torch_or_none()
    ops = dialects.numpy_ops() if torch is None else dialects.torch_ops()
    as64 = [to64(x, getattr(x, "device", "cpu")) if "int" not in str(x.dtype) else x for x in inputs]
    if not case.backward:
        return flat(case.body(ops, *as64))
    *args, cotangent = [x.detach() for x in as64]
    wrt = [x.requires_grad_() for x in args if x.is_floating_point()]
    result = case.body(ops, *args)
    return [result.detach(), *torch.autograd.grad(result, wrt, cotangent)]


def error(got, want):
    """Of two float64 arrays; infinite where a shape differs or what is finite is not."""
    if tuple(got.shape) != tuple(want.shape):
        return float("inf")
    usual = float((want * want).mean()) ** 0.5
    worst = float((abs(got - want) / (abs(want) + (usual or 1.0))).max())
    return worst if worst == worst else float("inf")


def norm_error(got, want):
    """Of two float64 arrays: the root mean square of the difference, in parts of that of `want`."""
    if tuple(got.shape) != tuple(want.shape):
        return float("inf")
    usual = float((want * want).mean()) ** 0.5
    found = float(((got - want) ** 2).mean()) ** 0.5 / (usual or 1.0)
    return found if found == found else float("inf")


def dropout_error(got, want):
    """Of a dropout at the end: what is kept by its value, and how far the share of zeros is off, in parts of the tolerance."""
    kept = got != 0
    count = kept.size if hasattr(kept, "nbytes") and not hasattr(kept, "numel") else kept.numel()
    expected = want / dialects.KEEP * kept
    share = float(kept.sum()) / count
    sigma = (dialects.KEEP * (1 - dialects.KEEP) / count) ** 0.5
    if abs(share - dialects.KEEP) > 6 * sigma + 1e-3:
        return float("inf")
    return error(got, expected)


def normalized_error(got, w, b):
    """Of a layer_norm after a dropout, whose values are random: rows of (y - b) / w have mean 0 and mean square 1."""
    plain = (got - b) / w
    mean, square = plain.mean(-1), (plain * plain).mean(-1)
    worst = max(float(abs(mean).max()), float(abs(square - 1).max()))
    return worst if worst == worst else float("inf")


def result_error(case, result, want, inputs, device="cpu"):
    """(error, whether it is within the tolerance)."""
    got = [to64(r, device) for r in flat(result)]
    if len(got) != len(want):
        return float("inf"), False
    if case.check == "dropout":
        worst = dropout_error(got[0], want[0])
    elif case.check == "normalized":
        worst = normalized_error(got[0], to64(inputs[-2], device), to64(inputs[-1], device))
    else:
        of = norm_error if case.backward else error
        worst = max(of(g, w) for g, w in zip(got, want, strict=True))
    return worst, worst <= TOLERANCE[case.dtype] * case.tolerance
