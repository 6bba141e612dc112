#!/usr/bin/env python3
"""The stored vectors (tests/data/numpy_vectors.json) against oracles that share nothing with the project.

usage: oracle_test.py REPOSITORY

NumPy makes the vectors (tools/make_numpy_vectors.py), with a case for every row of the op table; the C++ tests hold every executor to
them. Here it is checked that the script still makes them, and that PyTorch and SciPy, where they are installed (./dev test oracles),
give the same results from the same inputs in float64, so that a slip in a NumPy formula is seen as well. PEERS has their names; an op
without a line there has NumPy alone, and is listed. Exit status 77: NumPy is missing.
"""
import importlib.util
import json
import re
import sys
from pathlib import Path

try:
    import numpy as np
except ImportError:
    print("oracles: NumPy is not installed, nothing is compared")
    sys.exit(77)
try:
    import torch
    import torch.nn.functional as F
except ImportError:
    torch = F = None
try:
    from scipy import special
except ImportError:
    special = None

REPOSITORY = Path(sys.argv[1]) if __name__ == "__main__" else Path(__file__).resolve().parents[2]


def nothing(*_, **__):
    raise NotImplementedError


def t(name):
    """torch.NAME or torch.nn.functional.NAME, called with the operands alone."""
    return lambda *x, **_: (getattr(torch, name, None) or getattr(F, name))(*x)


def s(name):
    """scipy.special.NAME."""
    return lambda *x, **_: torch.from_numpy(np.asarray(getattr(special, name)(*(v.numpy() for v in x))))


def reduced(f, **fixed):
    """A reduction over the attribute axes (every axis if there is none)."""
    def run(x, axes=None, keepdims=False, **_):
        return f(x, dim=tuple(axes) if axes else tuple(range(x.dim())), keepdim=keepdims, **fixed)
    return run


def along_each(f):
    """A reduction that PyTorch has for one axis only, from the last to the first."""
    def run(x, axes=None, keepdims=False, **_):
        for a in sorted(axes or range(x.dim()), reverse=True):
            x = f(x, a, keepdims)
        return x
    return run


def loss(f):
    return lambda *x, reduction=1, **k: f(*x, reduction=("none", "mean", "sum", "batchmean")[reduction], **k)


def deviations(f):
    return lambda x, axes=None, correction=0, **_: f(x, dim=tuple(axes) if axes else None, correction=correction)


def pad(mode):
    def run(x, low, high, value=0.0):
        sides = [n for pair in zip(reversed(low), reversed(high)) for n in pair]
        if mode == "constant":
            return F.pad(x, sides, value=value)
        return F.pad(x[None, None], sides, mode=mode)[0, 0]
    return run


def kl_div(x, y, reduction, **k):
    mean = reduction == "mean"  # of all elements; PyTorch warns that it will mean another thing
    return (torch.mean if mean else lambda v: v)(F.kl_div(x, y, reduction="none" if mean else reduction, **k))


def batch_norm_training(x, m, v, w, b, momentum, eps):
    m, v = m.clone(), v.clone()
    y = F.batch_norm(x, m, v, w, b, True, momentum, eps)
    return y, x.mean((0, 2)), x.var((0, 2), correction=0), m, v


def shifted(x, shifts, axes):
    return torch.roll(x, shifts, axes)


def sliced(x, starts=None, stops=None, steps=None):
    a = x.numpy()
    far = 9223372036854775807
    return torch.from_numpy(a[tuple(slice(p, None if q == far or (r < 0 and q < -n) else q, r)
                                    for p, q, r, n in zip(starts, stops, steps, a.shape))].copy())


def python_division(f):
    return lambda a, b, **_: torch.from_numpy(np.array(
        [f(int(p), int(q)) for p, q in zip(a.numpy().ravel(), b.numpy().ravel())], a.numpy().dtype))


def cast(x, dtype):
    kind = {"f16": torch.float16, "f32": torch.float32, "f64": torch.float64, "i8": torch.int8, "i32": torch.int32, "i64": torch.int64,
            "bool": torch.bool}[dtype]
    return x.to(kind)


def scan(f, neutral=0):
    def run(x, axis, exclusive=False, reverse=False):
        y = f(x.flip(axis) if reverse else x, axis)
        y = y if isinstance(y, torch.Tensor) else y.values
        if exclusive:
            y = torch.cat([torch.full_like(y.narrow(axis, 0, 1), neutral), y.narrow(axis, 0, x.shape[axis] - 1)], axis)
        return y.flip(axis) if reverse else y
    return run


# One line an op.
PEERS = {
    "iota": lambda shape, axis=0, **_: torch.arange(shape[axis]).reshape([-1 if d == axis else 1 for d in range(len(shape))]).expand(shape),
    "add": t("add"), "subtract": t("sub"), "multiply": t("mul"), "divide": t("div"),
    "floor_divide": t("floor_divide"), "remainder": t("remainder"), "fmod": t("fmod"),
    "float_remainder": t("remainder"), "float_fmod": t("fmod"),
    "float_floor_divide": lambda x, y: torch.div(x, y, rounding_mode="floor"),
    "trunc_divide": lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    "negative": t("neg"), "abs": t("abs"), "minimum": t("minimum"), "maximum": t("maximum"), "square": t("square"),
    "reciprocal": t("reciprocal"), "sign": t("sign"), "copysign": t("copysign"), "nextafter": t("nextafter"),
    "floor": t("floor"), "ceil": t("ceil"), "trunc": t("trunc"), "round": t("round"),
    "equal": t("eq"), "not_equal": t("ne"), "less": t("lt"), "less_equal": t("le"), "greater": t("gt"), "greater_equal": t("ge"),
    "logical_and": t("logical_and"), "logical_or": t("logical_or"), "logical_xor": t("logical_xor"), "logical_not": t("logical_not"),
    "bitwise_and": t("bitwise_and"), "bitwise_or": t("bitwise_or"), "bitwise_xor": t("bitwise_xor"), "bitwise_not": t("bitwise_not"),
    "bitwise_left_shift": t("bitwise_left_shift"), "bitwise_right_shift": t("bitwise_right_shift"),
    "where": t("where"), "cast": cast, "isnan": t("isnan"), "isinf": t("isinf"), "isfinite": t("isfinite"), "signbit": t("signbit"),
    "isclose": lambda x, y, rtol=1e-5, atol=1e-8: torch.isclose(x, y, rtol=rtol, atol=atol),
    "exp": t("exp"), "exp2": t("exp2"), "expm1": t("expm1"), "log": t("log"), "log2": t("log2"), "log10": t("log10"), "log1p": t("log1p"),
    "sqrt": t("sqrt"), "rsqrt": t("rsqrt"), "pow": t("pow"), "sin": t("sin"), "cos": t("cos"), "tan": t("tan"),
    "asin": t("asin"), "acos": t("acos"), "atan": t("atan"), "atan2": t("atan2"), "sinh": t("sinh"), "cosh": t("cosh"),
    "asinh": t("asinh"), "acosh": t("acosh"), "atanh": t("atanh"), "tanh": t("tanh"), "erf": s("erf"), "erfc": s("erfc"),
    "lgamma": s("gammaln"), "hypot": t("hypot"), "logaddexp": t("logaddexp"), "xlogy": s("xlogy"),
    "lerp": t("lerp"), "fma": lambda x, y, z: torch.addcmul(z, x, y), "addcmul": lambda x, y, z, value=1: torch.addcmul(x, y, z, value=value),
    "addcdiv": lambda x, y, z, value=1: torch.addcdiv(x, y, z, value=value),
    "relu": t("relu"), "relu6": t("relu6"), "leaky_relu": lambda x, slope=0.01: F.leaky_relu(x, slope), "elu": t("elu"),
    "prelu": lambda x, w: torch.where(x > 0, x, w * x), "selu": t("selu"), "celu": t("celu"),
    "threshold": lambda x, threshold, value: F.threshold(x, threshold, value),
    "clamp": lambda x, min=None, max=None: torch.clamp(x, min, max), "clamp_min": lambda x, y: torch.clamp(x, min=y),
    "clamp_max": lambda x, y: torch.clamp(x, max=y), "clip": t("clamp"), "sigmoid": t("sigmoid"), "silu": t("silu"), "gelu": t("gelu"),
    "gelu_backward": lambda grad, x: torch.ops.aten.gelu_backward(grad, x),
    "gelu_tanh": lambda x: F.gelu(x, approximate="tanh"), "mish": t("mish"), "hardswish": t("hardswish"), "hardsigmoid": t("hardsigmoid"),
    "softplus": lambda x: F.softplus(x, threshold=1e9), "softsign": t("softsign"), "hardtanh": t("hardtanh"), "logsigmoid": t("logsigmoid"),
    "tanhshrink": lambda x: torch.where(x.abs() > 1e-2, F.tanhshrink(x), x**3 / 3 - 2 * x**5 / 15),
    "softshrink": t("softshrink"), "hardshrink": t("hardshrink"),
    "glu": lambda x, g: F.glu(torch.cat([x, g]), 0), "reglu": lambda x, g: x * F.relu(g), "geglu": lambda x, g: x * F.gelu(g),
    "swiglu": lambda x, g: x * F.silu(g),
    "broadcast": lambda x, shape: torch.broadcast_to(x, shape), "reshape": lambda x, shape: torch.reshape(x, shape),
    "transpose": lambda x, perm=None: torch.permute(x, perm or list(reversed(range(x.dim())))),
    "slice": sliced, "flip": lambda x, axes=None: torch.flip(x, axes or list(range(x.dim()))), "roll": shifted,
    "tile": lambda x, reps: torch.tile(x, reps), "repeat": lambda x, repeats, axis=0: torch.repeat_interleave(x, repeats, axis),
    "windows": lambda x, axis, size, stride=1, dilation=1: x.unfold(axis, size, stride),
    "concatenate": lambda *x, axis=0: torch.cat(x, axis), "pad": pad("constant"),
    "take": lambda x, i, axis=0: x.index_select(axis, (i.ravel() % x.shape[axis])).reshape(
        (*x.shape[:axis], *i.shape, *x.shape[axis + 1:])),
    "index_add": lambda x, i, s, axis=0: x.index_add(
        axis, i.ravel() % x.shape[axis], s.reshape((*x.shape[:axis], i.numel(), *x.shape[axis + 1:]))),
    "scatter_add": lambda x, i, s, axis: x.scatter_add(axis, i.long() % x.shape[axis], s),
    "group_positions": lambda i, axis, size: tuple([torch.argsort(i % size[0], dim=axis, stable=True)] + [
        torch.nn.functional.one_hot((i % size[0]).movedim(axis, -1).long(), size[0]).sum(-2).cumsum(-1).movedim(-1, axis) - less
        for less in [torch.nn.functional.one_hot((i % size[0]).movedim(axis, -1).long(), size[0]).sum(-2).movedim(-1, axis), 0]]),
    "take_along_axis": lambda x, i, axis: torch.take_along_dim(x, i.long(), axis),
    "sum": reduced(lambda x, **k: torch.sum(x, **k)), "mean": reduced(lambda x, **k: torch.mean(x, **k)),
    "max": reduced(lambda x, **k: torch.amax(x, **k)), "min": reduced(lambda x, **k: torch.amin(x, **k)),
    "prod": along_each(lambda x, a, k: torch.prod(x, a, keepdim=k)), "any": along_each(lambda x, a, k: torch.any(x, a, keepdim=k)),
    "all": along_each(lambda x, a, k: torch.all(x, a, keepdim=k)), "argmax": lambda x, axes: torch.argmax(x, axes[0]),
    "argmin": lambda x, axes: torch.argmin(x, axes[0]),
    "max_sumexp": lambda x, axes: (torch.amax(x, axes), torch.exp(torch.logsumexp(x, axes) - torch.amax(x, axes))),
    "moments": lambda x, axes: (torch.mean(x, axes), torch.var(x, axes, correction=0)),
    "matmul": t("matmul"), "squeeze": lambda x, axes: torch.squeeze(x, axes), "unsqueeze": lambda x, axes: x[:, None, :, None],
    "var": deviations(lambda *x, **k: torch.var(*x, **k)), "std": deviations(lambda *x, **k: torch.std(*x, **k)),
    "count_nonzero": lambda x, axes=None: torch.count_nonzero(x, axes),
    "vector_norm": lambda x, axes=None, ord=2: torch.linalg.vector_norm(x, float(ord), axes),
    "logsumexp": lambda x, axes: torch.logsumexp(x, axes),
    "softmax": lambda x, axis=-1, zero_rows=False: (torch.ops.aten._safe_softmax if zero_rows else torch.softmax)(x, axis),
    "max_with_index": lambda x, axis: torch.max(x, axis), "min_with_index": lambda x, axis: torch.min(x, axis),
    "max_of_all": t("max"), "min_of_all": t("min"),
    "log_softmax": lambda x, axis=-1: torch.log_softmax(x, axis),
    "layer_norm": lambda x, w, b, eps: F.layer_norm(x, x.shape[-1:], w, b, eps), "rms_norm": lambda x, w, eps: F.rms_norm(x, x.shape[-1:], w, eps),
    "group_norm": lambda x, w, b, groups, eps: F.group_norm(x, groups, w, b, eps),
    "instance_norm": lambda x, w, b, eps: F.instance_norm(x, weight=w, bias=b, eps=eps),
    "batch_norm": lambda x, m, v, w, b, eps: F.batch_norm(x, m, v, w, b, False, 0, eps), "batch_norm_training": batch_norm_training,
    "cumsum": scan(lambda *x: torch.cumsum(*x)), "cumprod": scan(lambda *x: torch.cumprod(*x), 1),
    "cummax": scan(lambda *x: torch.cummax(*x)), "cummin": scan(lambda *x: torch.cummin(*x)),
    "logcumsumexp": scan(lambda *x: torch.logcumsumexp(*x)), "stop_gradient": lambda x: x.detach(), "gradient_mark": lambda x, id: x,
    "linear": t("linear"), "stack": lambda *x, axis=0: torch.stack(x, axis),
    "pad_reflect": pad("reflect"), "pad_edge": pad("replicate"), "pad_wrap": pad("circular"),
    "embedding": lambda i, x, padding_idx=None: F.embedding(i, x, padding_idx=padding_idx),
    "max_pool": lambda x, kernel, stride=None, padding=0: F.max_pool1d(x[None], kernel, stride, padding)[0],
    "avg_pool": lambda x, kernel, stride=None, padding=0: F.avg_pool1d(x[None], kernel, stride, padding)[0],
    "mse_loss": loss(lambda *x, **k: F.mse_loss(*x, **k)), "l1_loss": loss(lambda *x, **k: F.l1_loss(*x, **k)),
    "smooth_l1_loss": loss(lambda *x, **k: F.smooth_l1_loss(*x, **k)), "huber_loss": loss(lambda *x, **k: F.huber_loss(*x, **k)),
    "binary_cross_entropy": loss(lambda x, y, w=None, **k: F.binary_cross_entropy(x, y, w, **k)),
    "binary_cross_entropy_with_logits": loss(
        lambda x, y, w=None, p=None, **k: F.binary_cross_entropy_with_logits(x, y, w, pos_weight=p, **k)),
    "kl_div": loss(kl_div), "nll_loss": loss(lambda x, y, w=None, **k: F.nll_loss(x, y.long(), w, **k)),
    "cross_entropy": loss(lambda x, y, w=None, **k: F.cross_entropy(x, y.long(), w, **k)),
    "tril": lambda x, k=0: torch.tril(x, k), "triu": lambda x, k=0: torch.triu(x, k),
    "one_hot": lambda x, num_classes: (x[..., None] == torch.arange(num_classes)).long(),
    "eye": lambda shape, k=0: torch.diag_embed(torch.ones(64), k)[:shape[0], :shape[1]],
    "arange": lambda stop, start=0, step=1, dtype="i64": torch.arange(start, stop, step, dtype=torch.float64 if dtype != "i64" else torch.int64),
    "linspace": lambda start, stop, num, endpoint=True, **_: torch.linspace(start, stop, num + (not endpoint), dtype=torch.float64)[:num],
}
SOURCES = ("input", "scalar", "constant")
# Known answers of the generator, and statistics, are in tests/null/ir/random_test.cc.
RANDOM = ("philox", "random_uniform", "random_normal", "bernoulli", "dropout")
DTYPES = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "i32": np.int32, "i64": np.int64, "u8": np.uint8,
          "bool": np.bool_}


def table_rows():
    text = "\n".join(line for line in (REPOSITORY / "ir/ops.inc").read_text().splitlines() if not line.startswith("//"))
    return re.findall(r'JF_OP\(\s*\w+,\s*"(\w+)",', text)


def unpack(entry):
    return np.frombuffer(bytes.fromhex(entry["hex"]), np.dtype(DTYPES[entry["dtype"]]).newbyteorder("<")).reshape(entry["dims"]).copy()


def value(text):
    if text.startswith("["):
        return [int(v) for v in text[1:-1].split(",") if v]
    if text in ("true", "false"):
        return text == "true"
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text


def parse(graph):
    """op, attributes, which result."""
    line = graph.split("\n")[1]
    op = re.search(r"= (\w+)\(", line).group(1)
    attrs = re.search(r"\) \{(.*)\} :", line)
    pairs = re.findall(r"(\w+)=(\[[^\]]*\]|[^,]+)", attrs.group(1)) if attrs else []
    return op, {k: value(v) for k, v in pairs}, int(re.search(r"return %r(\d+)", graph).group(1))


def check_names(cases):
    """Every row has a case, no line of PEERS is left over; and the ops that NumPy alone speaks for."""
    rows, seen = set(table_rows()) - set(SOURCES) - set(RANDOM), {parse(c["graph"])[0] for c in cases}
    assert len(rows) > 100
    out = [f"{op}: no case in tools/make_numpy_vectors.py" for op in sorted(rows - seen)]
    out += [f"{op}: a line in PEERS, but no row in the table" for op in sorted(PEERS.keys() - rows)]
    return out, sorted(rows - PEERS.keys())


def check_vectors(stored):
    """The script makes these vectors."""
    spec = importlib.util.spec_from_file_location("make_numpy_vectors", REPOSITORY / "tools/make_numpy_vectors.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    made = module.make()
    out = []
    if [c["graph"] for c in made["cases"]] != [c["graph"] for c in stored["cases"]]:
        return ["tests/data/numpy_vectors.json: other cases than tools/make_numpy_vectors.py makes; run it"]
    for a, b in zip(made["cases"], stored["cases"]):
        x, y = unpack(made["arrays"][a["result"]]), unpack(stored["arrays"][b["result"]])
        if x.shape != y.shape or not np.allclose(x, y, rtol=1e-13, atol=1e-300, equal_nan=True):
            out.append(f"NumPy {np.__version__} gives another result than is stored:\n{a['graph']}")
    return out


def check_autograd():
    """PyTorch, where it is installed, gives the gradients that tests/data/autograd_vectors.json has."""
    if torch is None:
        return [], 0
    spec = importlib.util.spec_from_file_location("make_autograd_vectors", REPOSITORY / "tools/make_autograd_vectors.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    stored, made = json.loads((REPOSITORY / "tests/data/autograd_vectors.json").read_text()), module.make()
    if [c["graph"] for c in made["cases"]] != [c["graph"] for c in stored["cases"]]:
        return ["tests/data/autograd_vectors.json: other cases than tools/make_autograd_vectors.py makes; run it"], 0
    out = []
    for a, b in zip(made["cases"], stored["cases"]):
        for i, j in zip(a["gradients"], b["gradients"]):
            if (i is None) != (j is None) or (i is not None and not np.allclose(
                    unpack(made["arrays"][i]), unpack(stored["arrays"][j]), rtol=1e-9, atol=1e-12, equal_nan=True)):
                out.append(f"torch {torch.__version__} gives another gradient than is stored:\n{a['graph']}")
    return out, len(stored["cases"])


def peer_result(op, inputs, attrs, pick):
    """None where the peer is not installed."""
    f = PEERS.get(op)
    if torch is None or f is None or (special is None and f.__qualname__.startswith("s.")):
        return None
    wide = [torch.from_numpy(x.astype(np.float64) if x.dtype.kind == "f" and op not in ("nextafter", "cast") else x) for x in inputs]
    result = f(*wide, **attrs)
    result = result[pick] if isinstance(result, tuple) else result
    return result.to(torch.float64).numpy() if result.dtype == torch.float16 else result.numpy()


def check_peers(stored):
    out, compared = [], set()
    arrays = stored["arrays"]
    for c in stored["cases"]:
        op, attrs, pick = parse(c["graph"])
        want = unpack(arrays[c["result"]])
        try:
            got = peer_result(op, [unpack(arrays[i]) for i in c["inputs"]], attrs, pick)
        except Exception as e:  # whatever a peer raises is about this case
            out.append(f"{op}: {type(e).__name__}: {e}\n{c['graph']}")
            continue
        if got is None:
            continue
        compared.add(op)
        exact = want.dtype.kind in "iub"
        scale = 0 if exact else 1e-11 * max(1.0, float(np.abs(want).max(initial=0)))
        if got.shape != want.shape or not np.allclose(got.astype(want.dtype), want, rtol=0 if exact else 1e-11, atol=scale):
            out.append(f"{op}: {want.ravel()[:4]} by NumPy, {got.ravel()[:4]} by its peer\n{c['graph']}")
    return out, compared


def main():
    stored = json.loads((REPOSITORY / "tests/data/numpy_vectors.json").read_text())
    errors, alone = check_names(stored["cases"])
    errors += check_vectors(stored)
    failed, compared = check_peers(stored)
    errors += failed
    failed, gradients = check_autograd()
    errors += failed
    for e in errors[:40]:
        print("oracles:", e)
    peers = f"torch {torch.__version__}" if torch else "no torch"
    peers += f", scipy {sys.modules['scipy'].__version__}" if special else ", no scipy"
    if alone:
        print("oracles: only NumPy speaks for", ", ".join(alone))
    ops = {parse(c["graph"])[0] for c in stored["cases"]}
    print(f"oracles: {len(ops)} ops, {len(stored['cases'])} cases by numpy {np.__version__}; {len(compared)} ops compared with {peers}; {gradients} gradients; "
          f"{len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":  # tools/make_autograd_vectors.py takes PEERS from here
    sys.exit(main())
