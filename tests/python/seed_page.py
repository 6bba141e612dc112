"""docs/seed_features.md, read: its rows, arguments made as they say, and formulas evaluated by torch in float64."""

import ast
import dataclasses
import pathlib
import re

import numpy as np

import jitfuse as jf

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "seed_features.md"
ROW = re.compile(r"^\| `(\w+)` \| `(.*)` \| `(.*)` \| (\d+) \| (\d+) \| (.*?) \| (.*?) \|$", re.MULTILINE)
COUNTED = {"n": 1024, "d": 512, "o": 256, "c": 64, "h": 16, "w": 16, "k": 64, "q": 64, "t": 128, "v": 1000}
SMALL = {"n": 5, "d": 7, "o": 3, "c": 3, "h": 2, "w": 5, "k": 3, "q": 4, "t": 3, "v": 11}
ODD = {"n": 33, "d": 129, "o": 65, "c": 5, "h": 3, "w": 7, "k": 17, "q": 9, "t": 5, "v": 40}


@dataclasses.dataclass
class Row:
    name: str
    arguments: str
    formula: str
    cpu: int
    gpu: int
    status: str
    known: str

    @property
    def function(self):
        return getattr(jf.fused, self.name)

    @property
    def random(self):
        return "dropout(" in self.formula


def rows():
    return [Row(m[0], m[1], m[2], int(m[3]), int(m[4]), m[5], m[6]) for m in ROW.findall(PAGE.read_text())]


SPEC = re.compile(r"(\+|01|bool|i64)?\[([^\]]*)\](?: < (\w))?$")


def _shape(text, sizes):
    return tuple(eval(d, {}, sizes) for d in text.split(",") if d)


def _array(spec, sizes, rng):
    """float64 (or bool, int64) values for `+[n,d]`, `i64[n] < d` ...; of a list of specs a list."""
    if spec.startswith("("):
        return [_array(part, sizes, rng) for part in re.findall(r"\[[^\]]*\]", spec)]
    kind, dims, limit = SPEC.match(spec).groups()
    shape = _shape(dims, sizes)
    if kind == "bool":
        mask = rng.random(shape) < 0.4
        mask[..., 0] = False  # a row keeps something
        return mask
    if kind == "i64":
        return rng.integers(0, sizes[limit], shape)
    if kind == "01":
        draw = rng.uniform(0.0, 1.0, shape)
        return (draw < 0.5).astype(draw.dtype)
    return rng.uniform(0.1, 2.0, shape) if kind == "+" else rng.uniform(-2.0, 2.0, shape)


def arguments(row, sizes, rng=None):
    """({name: array}, {name: option}) of the row."""
    rng = rng or np.random.default_rng(0)
    arrays, options = {}, {}
    for part in row.arguments.split("; "):
        if ": " in part:
            name, spec = part.split(": ")
            arrays[name] = _array(spec, sizes, rng)
        else:
            name, value = part.split("=", 1)
            options[name] = sizes[value] if value in sizes else ast.literal_eval(value)
    return arrays, options


class Scope(dict):
    """Names of a formula that are not arguments: torch.nn.functional's, torch's, Python's."""

    def __missing__(self, name):
        import builtins

        import torch

        for module in (torch.nn.functional, torch, builtins):
            if hasattr(module, name):
                return getattr(module, name)
        raise KeyError(name)


def keeps(shape, p):
    """What dropout multiplies with: 0, or 1 / (1 - p), as the seed in force says."""
    import torch

    state = jf.random.get_state()
    mask = jf.jit(lambda x: jf.nn.dropout(x, p))(np.ones(shape))
    jf.random.set_state(state)
    return torch.from_numpy(mask)


def quantized(y):
    import torch

    scale = y.abs().amax(-1, keepdim=True) / 127
    return torch.round(y / scale), scale


def adam(param, grad, exp_avg, exp_avg_sq, step, lr, weight_decay=0.0):
    first, second = 0.9 * exp_avg + 0.1 * grad, 0.999 * exp_avg_sq + 0.001 * grad**2
    direction = first / (1 - 0.9**step) / ((second / (1 - 0.999**step)) ** 0.5 + 1e-8)
    return param * (1 - lr * weight_decay) - lr * direction, first, second


def lamb(param, grad, exp_avg, exp_avg_sq, step, lr):
    first, second = 0.9 * exp_avg + 0.1 * grad, 0.999 * exp_avg_sq + 0.001 * grad**2
    u = first / (1 - 0.9**step) / ((second / (1 - 0.999**step)) ** 0.5 + 1e-6) + 0.01 * param
    return param - lr * param.norm() / u.norm() * u, first, second


def evaluate(row, tensors, options, sizes):
    """The formula on float64 tensors; a tuple of results."""
    import torch

    own = {
        "threshold_": lambda x, t: torch.where(x > t, x, 0.0),
        "dropout": lambda x, p: x * keeps(tuple(x.shape), p),
        "ones": lambda *shape: torch.ones(shape),
        "abs": torch.abs, "float": float, "sum": torch.sum, "round": torch.round, "quantized": quantized, "adam": adam, "lamb": lamb,
    }
    result = eval(row.formula, {}, Scope({**own, **sizes, **options, **tensors}))
    return result if isinstance(result, tuple) else (result,)


class _NoValues:
    """A generator of arrays whose values nobody looks at."""

    def random(self, shape):
        return np.empty(shape)

    def uniform(self, low, high, shape):
        return np.empty(shape, np.float32)

    def integers(self, low, high, shape):
        return np.empty(shape, np.int64)


def lowered(row, convert=lambda array: array):
    """The row for sizes that its kernels are counted at."""
    arrays, options = arguments(row, COUNTED, _NoValues())
    arrays = {name: [convert(a) for a in v] if isinstance(v, list) else convert(v) for name, v in arrays.items()}
    return row.function.lower(**arrays, **options)


def counts(row):
    """(kernels on the CPU, those for sm_90, status)."""
    low = lowered(row)
    cost = low.cost_analysis()
    cpu = sum(len(g["kernels"]) for g in cost["groups"])
    gpu = low.source("cuda", "sm_90").count("__global__") + len(re.findall(r"^group \d+: gemm", low.source("groups", "sm_90"), re.MULTILINE))
    reasons = {b["reason"] for b in cost["boundaries"] if b["from"] >= 0 and b["to"] >= 0}
    if any(len(g["kernels"]) > 1 for g in cost["groups"]):
        reasons.add("few_long_rows")  # in chunks, which a second kernel joins
    reasons |= {n["reason"] for n in cost["notes"]} & {"gemm_apart"}  # there is no boundary between them
    return cpu, gpu, ", ".join(sorted(reasons)) if cpu > 1 else "fused"


def has_gemm_library():
    f = jf.jit(lambda x: x @ x)
    return "library" in f.lower(np.ones((64, 64), np.float32)).cost_analysis()["groups"][0]["kernels"][0]


def update():
    text = PAGE.read_text()
    for row in rows():
        cpu, gpu, status = counts(row)
        old = next(line for line in text.split("\n") if line.startswith(f"| `{row.name}` |"))
        new = f"| `{row.name}` | `{row.arguments}` | `{row.formula}` | {cpu} | {gpu} | {status} | {row.known} |"
        text = text.replace(old + "\n", new + "\n")
    PAGE.write_text(text)
