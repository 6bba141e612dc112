#!/usr/bin/env python3
"""Writes tests/data/numpy_vectors.json: graphs, inputs, and the results NumPy gives for them.

An oracle that shares nothing with the project: float results are computed in float64 from the stored inputs, integer ones exactly.
Arrays are hex of their little-endian bytes; equal ones are stored once. Rerun with:  tools/make_numpy_vectors.py tests/data/numpy_vectors.json
"""
import json
import math
import sys

import numpy as np

NAMES = {"f16": np.float16, "f32": np.float32, "f64": np.float64, "i8": np.int8, "i32": np.int32, "i64": np.int64, "u8": np.uint8,
         "bool": np.bool_}
DTYPES = {np.dtype(v): k for k, v in NAMES.items()}
FLOATS = ("f16", "f32", "f64")
rng = np.random.default_rng(7)
cases = []
arrays = []  # what the cases' numbers speak of
known = {}


def pack(a):
    a = np.asarray(a, order="C")
    entry = {"dtype": DTYPES[a.dtype], "dims": list(a.shape), "hex": a.astype(a.dtype.newbyteorder("<")).tobytes().hex()}
    key = json.dumps(entry)
    if key not in known:
        known[key] = len(arrays)
        arrays.append(entry)
    return known[key]


def type_of(a):
    return f"{DTYPES[a.dtype]}[{','.join(map(str, a.shape))}]"


def case(op, inputs, dtype, reference, attrs="", types=None, pick=0):
    """One op: reference is float64 (or exact integers); dtype is that of the graph's result. types: of every result, if it is one of
    several, of which it is number `pick`."""
    reference = np.asarray(reference)
    result = f"{dtype}[{','.join(map(str, reference.shape))}]"
    types = types or [result]
    args = ", ".join(f"%x{i}: {type_of(a)}" for i, a in enumerate(inputs))
    names = ", ".join(f"%x{i}" for i in range(len(inputs)))
    results = ", ".join(f"%r{i}" for i in range(len(types)))
    text = (f"graph f({args}) -> ({result}) {{\n  {results} = {op}({names}){attrs} : {', '.join(types)}\n  return %r{pick}\n}}\n")
    exact = not np.issubdtype(reference.dtype, np.floating)
    cases.append({"graph": text, "inputs": [pack(a) for a in inputs],
                  "result": pack(reference if exact else reference.astype(np.float64))})


def spread(dtype, n=40):
    """Values of all sizes that keep f16 finite, and the edges."""
    x = np.concatenate([rng.uniform(-4, 4, n // 2), rng.uniform(-12, 12, n // 4), rng.normal(0, 1e-2, n - n // 2 - n // 4)])
    return np.concatenate([x, [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, -3.0, 6.0]]).astype(NAMES[dtype])


try:
    from scipy import special  # for lgamma; math.lgamma is as good
    lgamma = special.gammaln
except ImportError:
    lgamma = np.vectorize(math.lgamma, otypes=[np.float64])
erf = np.vectorize(math.erf, otypes=[np.float64])
erfc = np.vectorize(math.erfc, otypes=[np.float64])
sigmoid = lambda x: np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), np.exp(-np.abs(x)) / (1 + np.exp(-np.abs(x))))
softplus = lambda x: np.logaddexp(x, 0)
UNARY = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "tanh": np.tanh, "erf": erf, "erfc": erfc,
    "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc, "round": np.rint, "abs": np.abs, "negative": np.negative, "square": np.square,
    "sign": np.sign, "relu": lambda x: np.maximum(x, 0), "relu6": lambda x: np.clip(x, 0, 6), "sigmoid": sigmoid,
    "silu": lambda x: x * sigmoid(x), "gelu": lambda x: x * 0.5 * erfc(-x / math.sqrt(2)), "softplus": softplus,
    "mish": lambda x: x * np.tanh(softplus(x)), "elu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x), "softsign": lambda x: x / (1 + np.abs(x)),
    "hardswish": lambda x: x * np.clip(x + 3, 0, 6) / 6, "hardsigmoid": lambda x: np.clip(x + 3, 0, 6) / 6,
    "sin": np.sin, "cos": np.cos, "tan": np.tan, "atan": np.arctan, "sinh": np.sinh, "cosh": np.cosh, "asinh": np.arcsinh,
    "asin": lambda x: np.arcsin(x), "acos": lambda x: np.arccos(x), "signbit": np.signbit,
    "selu": lambda x: 1.0507009873554804934193349852946 * np.where(x > 0, x, 1.6732632423543772848170429916717 * np.expm1(np.minimum(x, 0))),
    "celu": lambda x: np.where(x > 0, x, np.expm1(np.minimum(x, 0))), "hardtanh": lambda x: np.clip(x, -1, 1),
    "logsigmoid": lambda x: -np.logaddexp(-x, 0), "tanhshrink": lambda x: np.where(np.abs(x) > 1e-2, x - np.tanh(x), x**3 / 3 - 2 * x**5 / 15),
    "softshrink": lambda x: np.sign(x) * np.maximum(np.abs(x) - 0.5, 0), "hardshrink": lambda x: np.where(np.abs(x) <= 0.5, 0, x),
    "gelu_tanh": lambda x: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
}
UNIT = ("asin", "acos")  # taken on [-1, 1]
POSITIVE = {"log": np.log, "log2": np.log2, "log10": np.log10, "lgamma": lgamma, "acosh": np.arccosh, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x), "reciprocal": lambda x: 1 / x}
BINARY = {"add": np.add, "subtract": np.subtract, "multiply": np.multiply, "divide": np.divide, "minimum": np.minimum, "maximum": np.maximum, "atan2": np.arctan2, "hypot": np.hypot, "copysign": np.copysign, "logaddexp": np.logaddexp,
          "prelu": lambda x, w: np.where(x > 0, x, x * w), "glu": lambda x, g: x * sigmoid(g), "reglu": lambda x, g: x * np.maximum(g, 0),
          "geglu": lambda x, g: x * g * 0.5 * erfc(-g / math.sqrt(2)), "swiglu": lambda x, g: x * g * sigmoid(g),
          "gelu_backward": lambda g, x: g * (0.5 * erfc(-x / math.sqrt(2)) + x * np.exp(-x * x / 2) / math.sqrt(2 * math.pi))}


def pointwise():
    for dtype in FLOATS:
        x = spread(dtype)
        wide = x.astype(np.float64)
        for op, f in UNARY.items():
            u = np.clip(x, -1, 1) if op in UNIT else x
            y = f(u.astype(np.float64))
            case(op, [u], "bool" if y.dtype == np.bool_ else dtype, y)
        p = np.abs(x) + NAMES[dtype](0.01)
        for op, f in POSITIVE.items():
            q = p + NAMES[dtype](1) if op == "acosh" else p
            case(op, [q], dtype, f(q.astype(np.float64)))
        case("log1p", [np.abs(x)], dtype, np.log1p(np.abs(wide)))
        y = rng.permutation(x)
        y[y == 0] = 2
        for op, f in BINARY.items():
            case(op, [x, y], dtype, f(wide, y.astype(np.float64)))
        case("atanh", [(x / NAMES[dtype](13))], dtype, np.arctanh((x / NAMES[dtype](13)).astype(np.float64)))
        case("xlogy", [x, p], dtype, np.where(wide == 0, 0, wide * np.log(p.astype(np.float64))))
        w = y.astype(np.float64)
        case("threshold", [x], dtype, np.where(wide > 0.25, wide, 20), " {threshold=0.25, value=20}")
        case("lerp", [x, y, p], dtype, wide + p.astype(np.float64) * (w - wide))
        case("fma", [x, y, p], dtype, (x.astype(np.longdouble) * y.astype(np.longdouble) + p.astype(np.longdouble)).astype(np.float64))
        case("addcmul", [x, y, p], dtype, wide + 0.5 * w * p.astype(np.float64), " {value=0.5}")
        case("addcdiv", [x, y, p], dtype, wide + 0.5 * w / p.astype(np.float64), " {value=0.5}")
        case("isclose", [x, x + NAMES[dtype](0.25) * (y > 0)], "bool", np.isclose(x, x + NAMES[dtype](0.25) * (y > 0), rtol=0, atol=0.125), " {rtol=0, atol=0.125}")
        case("nextafter", [x, y], dtype, np.nextafter(x, y))
        q = rng.uniform(-2, 2, x.size).astype(NAMES[dtype])
        case("pow", [p, q], dtype, np.power(p.astype(np.float64), q.astype(np.float64)))
        for op, f in {"equal": np.equal, "less": np.less, "greater_equal": np.greater_equal, "not_equal": np.not_equal,
                      "greater": np.greater, "less_equal": np.less_equal}.items():
            case(op, [x, y], "bool", f(x, y))


def normalisations():
    for dtype in FLOATS:
        x = rng.normal(0, 3, (2, 40)).astype(NAMES[dtype])
        w, b = (rng.normal(1, 0.2, 40).astype(NAMES[dtype]) for _ in range(2))
        v = x.astype(np.float64)
        e = np.exp(v - v.max(1, keepdims=True))
        case("softmax", [x], dtype, e / e.sum(1, keepdims=True))
        case("log_softmax", [x], dtype, v - v.max(1, keepdims=True) - np.log(e.sum(1, keepdims=True)))
        case("logsumexp", [x], dtype, v.max(1) + np.log(e.sum(1)), " {axes=[1]}")
        norm = (v - v.mean(1, keepdims=True)) / np.sqrt(v.var(1, keepdims=True) + 1e-5)
        case("layer_norm", [x, w, b], dtype, norm * w.astype(np.float64) + b.astype(np.float64), " {eps=1e-05}")
        rms = v / np.sqrt((v * v).mean(1, keepdims=True) + 1e-6)
        case("rms_norm", [x, w], dtype, rms * w.astype(np.float64), " {eps=1e-06}")
        m = rng.normal(0, 1, (40, 5)).astype(NAMES[dtype])
        case("matmul", [x, m], dtype, v @ m.astype(np.float64))
        case("linear", [x, m.T.copy(), m[0].copy()], dtype, v @ m.astype(np.float64) + m[0].astype(np.float64))


def channels():
    """Normalisations with statistics of channels."""
    for dtype in FLOATS:
        x = rng.normal(1, 2, (3, 6, 5)).astype(NAMES[dtype])
        w, b, m = (rng.normal(1, 0.3, 6).astype(NAMES[dtype]) for _ in range(3))
        s = rng.uniform(0.5, 2, 6).astype(NAMES[dtype])
        v, wide = x.astype(np.float64), lambda a: a.astype(np.float64)[None, :, None]
        norm = lambda a, axes: (a - a.mean(axes, keepdims=True)) / np.sqrt(a.var(axes, keepdims=True) + 1e-5)
        grouped = norm(v.reshape(3, 2, 15), 2).reshape(3, 6, 5)
        case("group_norm", [x, w, b], dtype, grouped * wide(w) + wide(b), " {groups=2, eps=1e-05}")
        case("instance_norm", [x, w, b], dtype, norm(v, 2) * wide(w) + wide(b), " {eps=1e-05}")
        case("batch_norm", [x, m, s, w, b], dtype, (v - wide(m)) / np.sqrt(wide(s) + 1e-5) * wide(w) + wide(b), " {eps=1e-05}")
        mean, var = v.mean((0, 2)), v.var((0, 2))
        results = [norm(v, (0, 2)) * wide(w) + wide(b), mean, var, 0.9 * m.astype(np.float64) + 0.1 * mean,
                   0.9 * s.astype(np.float64) + 0.1 * v.var((0, 2), ddof=1)]
        types = [type_of(x)] + [type_of(w)] * 4
        for i, r in enumerate(results):
            case("batch_norm_training", [x, m, s, w, b], dtype, r, " {momentum=0.1, eps=1e-05}", types, i)


def losses():
    reduced = (lambda v: v, np.mean, np.sum)
    for dtype in FLOATS:
        x, t = (rng.normal(0, 2, (4, 6)).astype(NAMES[dtype]) for _ in range(2))
        p, q = (rng.uniform(0.05, 0.95, (4, 6)).astype(NAMES[dtype]) for _ in range(2))
        a, b, c, d = (v.astype(np.float64) for v in (x, t, p, q))
        e = np.abs(a - b)
        logits = (1 - d) * a + np.logaddexp(-a, 0)
        for i, f in enumerate(reduced):
            r = f" {{reduction={i}}}"
            case("mse_loss", [x, t], dtype, f((a - b) ** 2), r)
            case("l1_loss", [x, t], dtype, f(e), r)
            case("smooth_l1_loss", [x, t], dtype, f(np.where(e < 0.5, e * e, e - 0.25)), r[:-1] + ", beta=0.5}")
            case("huber_loss", [x, t], dtype, f(np.where(e <= 0.5, e * e / 2, 0.5 * (e - 0.25))), r[:-1] + ", delta=0.5}")
            case("binary_cross_entropy", [p, q, p], dtype, f(-c * (d * np.log(c) + (1 - d) * np.log1p(-c))), r)
            case("binary_cross_entropy_with_logits", [x, q], dtype, f(logits), r)
            case("kl_div", [x, q], dtype, f(d * (np.log(d) - a)), r)
        soft = (1 - d) * a + (1 + (c - 1) * d) * np.logaddexp(-a, 0)
        case("binary_cross_entropy_with_logits", [x, q, q, p], dtype, d * soft, " {reduction=0}")
        case("kl_div", [x, t], dtype, (np.exp(b) * (b - a)).sum() / 4, " {reduction=3, log_target=true}")
        k = np.array([2, 0, -100, 5])
        w = rng.uniform(0.5, 2, 6).astype(NAMES[dtype])
        wide = w.astype(np.float64)
        logp = a - a.max(1, keepdims=True)
        logp = logp - np.log(np.exp(logp).sum(1, keepdims=True))
        used = k >= 0
        at = np.where(used, k, 0)
        for op, source in (("cross_entropy", logp), ("nll_loss", a)):
            picked = np.where(used, -source[np.arange(4), at], 0)
            weighted, total = picked * wide[at], (used * wide[at]).sum()
            case(op, [x, k], dtype, picked, " {reduction=0}")
            case(op, [x, k], dtype, picked.sum() / used.sum(), " {reduction=1}")
            case(op, [x, k, w], dtype, weighted.sum() / total, " {reduction=1}")
            case(op, [x, k.astype(np.int32), w], dtype, weighted.sum(), " {reduction=2}")
        smooth = np.where(used, 0.9 * -logp[np.arange(4), at] + 0.1 * -logp.mean(1), 0)
        case("cross_entropy", [x, k], dtype, smooth.sum() / used.sum(), " {label_smoothing=0.1}")
        smooth = np.where(used, 0.9 * -(logp * wide)[np.arange(4), at] + 0.1 * -(logp * wide).mean(1), 0)
        case("cross_entropy", [x, k, w], dtype, smooth.sum() / total, " {label_smoothing=0.1}")
        y = rng.normal(0, 2, (2, 5, 3)).astype(NAMES[dtype])
        z = y.astype(np.float64)
        z = z - np.log(np.exp(z).sum(1, keepdims=True))
        k2 = rng.integers(0, 5, (2, 3))
        case("cross_entropy", [y, k2], dtype, -np.take_along_axis(z, k2[:, None, :], 1).mean())


def coordinates():
    x = rng.normal(0, 1, (2, 3, 4)).astype(np.float32)
    i = rng.integers(-1, 6, (2, 3)).astype(np.int32)
    for k in (-1, 0, 2):
        case("tril", [x], "f32", np.tril(x, k).astype(np.float64), f" {{k={k}}}")
        case("triu", [x], "f32", np.triu(x, k).astype(np.float64), f" {{k={k}}}")
        case("eye", [], "f32", np.eye(3, 4, k), f" {{shape=[3,4], k={k}}}")
    case("one_hot", [i], "i64", (i[..., None] == np.arange(5)).astype(np.int64), " {num_classes=5}")
    case("arange", [], "i64", np.arange(-3, 10, 4), " {start=-3, stop=10, step=4}")
    case("arange", [], "f32", np.arange(0, 1, 0.1), " {stop=1, step=0.1, dtype=f32}")
    case("linspace", [], "f64", np.linspace(-1, 2, 7), " {start=-1, stop=2, num=7, dtype=f64}")
    case("linspace", [], "f32", np.linspace(0, 1, 10, endpoint=False), " {start=0, stop=1, num=10, endpoint=false}")


def moved():
    """Composites of views."""
    x, y = (rng.normal(0, 1, (4, 6)).astype(np.float32) for _ in range(2))
    case("stack", [x, y], "f32", np.stack([x, y], 1).astype(np.float64), " {axis=1}")
    case("stop_gradient", [x], "f32", x.astype(np.float64))
    case("gradient_mark", [x], "f32", x.astype(np.float64), " {id=3}")
    for op, mode in {"pad_reflect": "reflect", "pad_edge": "edge", "pad_wrap": "wrap"}.items():
        case(op, [x], "f32", np.pad(x, ((1, 0), (2, 3)), mode).astype(np.float64), " {low=[1,2], high=[0,3]}")
    i = rng.integers(0, 4, (2, 3))
    case("embedding", [i, x], "f32", x[i].astype(np.float64))
    wide = np.lib.stride_tricks.sliding_window_view
    case("max_pool", [x], "f32", wide(np.pad(x, ((0, 0), (1, 1)), constant_values=-np.inf), 3, 1)[:, ::2].max(-1).astype(np.float64),
         " {kernel=[3], stride=[2], padding=[1]}")
    case("avg_pool", [x], "f32", wide(x.astype(np.float64), 2, 1)[:, ::2].mean(-1), " {kernel=[2]}")


def views():
    """Elements put elsewhere: views, joins, gathers."""
    x = rng.normal(0, 1, (4, 6)).astype(np.float32)
    y, z = rng.normal(0, 1, (4, 2)).astype(np.float32), rng.normal(0, 1, (4, 1)).astype(np.float32)
    one = lambda op, inputs, result, attrs: case(op, inputs, "f32", result.astype(np.float64), attrs)
    one("broadcast", [z], np.broadcast_to(z, (3, 4, 5)), " {shape=[3,4,5]}")
    one("reshape", [x], x.reshape(2, 3, 4), " {shape=[2,3,4]}")
    one("reshape", [x], x.reshape(8, -1), " {shape=[8,-1]}")
    one("transpose", [x], x.T, "")
    t = rng.normal(0, 1, (2, 3, 4)).astype(np.float32)
    one("transpose", [t], t.transpose(2, 0, 1), " {perm=[2,0,1]}")
    one("slice", [x], x[1:4:2, -3:-1], " {starts=[1,-3], stops=[4,-1], steps=[2,1]}")
    one("slice", [x], x[::-1, 4:0:-3], " {starts=[3,4], stops=[-5,0], steps=[-1,-3]}")
    one("flip", [x], x[:, ::-1], " {axes=[1]}")
    one("flip", [t], np.flip(t), "")
    one("roll", [x], np.roll(x, (1, -2), (0, 1)), " {shifts=[1,-2], axes=[0,1]}")
    one("tile", [x], np.tile(x, (2, 1, 3)), " {reps=[2,1,3]}")
    one("repeat", [x], np.repeat(x, 3, 1), " {repeats=3, axis=1}")
    one("windows", [x], np.lib.stride_tricks.sliding_window_view(x, 3, 1)[:, ::2], " {axis=1, size=3, stride=2}")
    one("concatenate", [x, y, z], np.concatenate([x, y, z], 1), " {axis=1}")
    one("pad", [x], np.pad(x, ((1, 0), (2, 3)), constant_values=-1), " {low=[1,2], high=[0,3], value=-1}")
    i = rng.integers(-6, 6, (3, 2))
    one("take", [x, i], np.take(x, i, 1), " {axis=1}")
    k = rng.integers(0, 4, (2, 6)).astype(np.int32)
    one("take_along_axis", [x, k], np.take_along_axis(x, k, 0), " {axis=0}")
    one("squeeze", [z], z[:, 0], " {axes=[1]}")
    one("unsqueeze", [x], x[:, None, :, None], " {axes=[1,3]}")
    case("iota", [], "i64", np.broadcast_to(np.arange(5)[:, None], (5, 3)), " {shape=[5,3], axis=0}")


def rows():
    """What softmax and the norms are made of."""
    for dtype in FLOATS:
        x = rng.normal(0, 3, (3, 20)).astype(NAMES[dtype])
        v = x.astype(np.float64)
        types = [f"{dtype}[3]"] * 2
        top = v.max(1)
        for pick, result in enumerate((top, np.exp(v - top[:, None]).sum(1))):
            case("max_sumexp", [x], dtype, result, " {axes=[1]}", types, pick)
        for pick, result in enumerate((v.mean(1), v.var(1))):
            case("moments", [x], dtype, result, " {axes=[1]}", types, pick)


def scans():
    for dtype in FLOATS + ("i32", "i8"):
        x = rng.normal(0, 4, (2, 6, 3)).astype(NAMES[dtype])
        v = x.astype(np.float64) if dtype in FLOATS else x.astype(np.int64)
        total = dtype if dtype in FLOATS else "i64"
        small = (x / NAMES[dtype](4)) if dtype in FLOATS else np.sign(x)
        for axis in range(3):
            a = f" {{axis={axis}}}"
            case("cumsum", [x], total, v.cumsum(axis), a)
            case("cumsum", [x], total, v.cumsum(axis) - v, a[:-1] + ", exclusive=true}")
            case("cumsum", [x], total, np.flip(np.flip(v, axis).cumsum(axis), axis), a[:-1] + ", reverse=true}")
            case("cumprod", [small], total, small.astype(v.dtype).cumprod(axis), a)
            case("cummax", [x], dtype, np.maximum.accumulate(v, axis).astype(v.dtype if dtype in FLOATS else NAMES[dtype]), a)
            case("cummin", [x], dtype, np.minimum.accumulate(v, axis).astype(v.dtype if dtype in FLOATS else NAMES[dtype]), a)
            if dtype in FLOATS:
                case("logcumsumexp", [x], dtype, np.logaddexp.accumulate(v, axis), a)


def scatters():
    """Sums by index: what gathers take, given back."""
    def groups(i, axis, size):
        i = np.where(i < 0, i + size, i)
        order = np.argsort(i, axis, kind="stable")
        count = lambda f: np.moveaxis(np.apply_along_axis(lambda line: f(np.sort(line)), axis, i), axis, axis)
        return [order, *(count(lambda s: np.searchsorted(s, np.arange(size), side)) for side in ("left", "right"))]

    i = rng.integers(-5, 5, (4, 6)).astype(np.int32)
    for axis in (0, 1):
        for pick, result in enumerate(groups(i, axis, 5)):
            types = ["i64[4,6]"] + [f"i64[{','.join(map(str, d))}]" for d in [(5, 6) if axis == 0 else (4, 5)] * 2]
            case("group_positions", [i], "i64", result.astype(np.int64), f" {{axis={axis}, size=[5]}}", types, pick)
    for dtype in FLOATS + ("i8", "i32", "i64"):
        x, s = (rng.normal(0, 20, d).astype(NAMES[dtype]) for d in ((4, 5, 3), (4, 7, 3)))
        exact = dtype not in FLOATS
        v = lambda a: a if exact else a.astype(np.float64)
        where = [np.arange(n).reshape([-1 if d == k else 1 for k in range(3)]) for d, n in enumerate((4, 7, 3))]
        k = rng.integers(-5, 5, (4, 7, 3))
        y = v(x).copy()
        np.add.at(y, (where[0], k, where[2]), v(s))
        case("scatter_add", [x, k, s], dtype, y, " {axis=1}")
        order, begin, end = groups(k, 1, 5)
        case("segment_add", [x, s, order, begin, end], dtype, y, " {axis=1}")
        i = rng.integers(-5, 5, (2, 2))
        t = rng.normal(0, 20, (4, 2, 2, 3)).astype(NAMES[dtype])
        y = v(x).copy()
        np.add.at(y, (slice(None), i), v(t))
        case("index_add", [x, i, t], dtype, y, " {axis=1}")


def reductions():
    for dtype in FLOATS + ("i32", "i64"):
        x = rng.normal(0, 20, (3, 4, 5)).astype(NAMES[dtype])
        v = x.astype(np.float64) if dtype in FLOATS else x.astype(np.int64)
        for axes in ((0,), (1, 2), (0, 2), (0, 1, 2)):
            a = f" {{axes=[{','.join(map(str, axes))}]}}"
            case("sum", [x], dtype if dtype in FLOATS else "i64", v.sum(axes), a)
            case("max", [x], dtype, v.max(axes), a)
            case("min", [x], dtype, v.min(axes), a)
            if dtype in FLOATS:
                case("mean", [x], dtype, v.mean(axes), a)
                case("var", [x], dtype, v.var(axes, ddof=1), a[:-1] + ", correction=1}")
                case("std", [x], dtype, v.std(axes, ddof=1), a[:-1] + ", correction=1}")
                for order in (0, 1, 2, 3, np.inf, -np.inf):
                    m = np.abs(v)
                    norm = {0: (v != 0).sum(axes).astype(np.float64), np.inf: m.max(axes), -np.inf: m.min(axes)}.get(order)
                    norm = (m**order).sum(axes) ** (1 / order) if norm is None else norm
                    case("vector_norm", [x], dtype, norm, a[:-1] + f", ord={order}}}")
            case("count_nonzero", [np.trunc(x / NAMES[dtype](8))], "i64", np.count_nonzero(np.trunc(x / NAMES[dtype](8)), axes), a) \
                if dtype in FLOATS else case("count_nonzero", [x], "i64", np.count_nonzero(x, axes), a)
            small = (x / NAMES[dtype](20)) if dtype in FLOATS else np.sign(x)
            case("prod", [small], dtype if dtype in FLOATS else "i64", np.prod(small.astype(v.dtype), axes), a)
        case("argmax", [x], "i64", v.argmax(1), " {axes=[1]}")
        case("argmin", [x], "i64", v.argmin(2), " {axes=[2]}")
        case("any", [x > 15], "bool", (x > 15).any(1), " {axes=[1]}")
        case("all", [x > -25], "bool", (x > -25).all(2), " {axes=[2]}")


def casts():
    values = {d: spread(d) * 10 for d in FLOATS}
    values["i32"] = rng.integers(-2**31, 2**31, 40).astype(np.int32)
    values["i64"] = rng.integers(-2**62, 2**62, 40)
    for source, x in values.items():
        for target in FLOATS + ("i32", "i64", "bool"):
            if source in ("i32", "i64") and target == "f16":
                continue  # overflows; its own test
            y = (x.astype(np.float64) if source in FLOATS else x).astype(NAMES[target])
            case("cast", [x], target, y, f" {{dtype={target}}}")
        if source in ("i32", "i64"):
            case("cast", [x], "i8", x.astype(np.int8), " {dtype=i8}")


def integer_division():
    for dtype in ("i8", "i32", "i64", "u8"):
        info = np.iinfo(NAMES[dtype])
        a = rng.integers(info.min, info.max, 60, dtype=NAMES[dtype], endpoint=True)
        b = np.concatenate([rng.integers(1, 9, 30), rng.integers(info.min, info.max, 30, dtype=NAMES[dtype], endpoint=True)]).astype(NAMES[dtype])
        if info.min < 0:
            b[:15] = -b[:15]
        b[b == 0] = 3
        b[b == NAMES[dtype](-1 if info.min < 0 else 0)] = 5
        quotient = [int(p) // int(q) for p, q in zip(a, b)]
        truncated = [abs(int(p)) // abs(int(q)) * (1 if (p < 0) == (q < 0) else -1) for p, q in zip(a, b)]
        case("floor_divide", [a, b], dtype, np.array(quotient, NAMES[dtype]))
        case("remainder", [a, b], dtype, np.array([int(p) % int(q) for p, q in zip(a, b)], NAMES[dtype]))
        case("trunc_divide", [a, b], dtype, np.array(truncated, NAMES[dtype]))
        case("fmod", [a, b], dtype, np.array([int(p) - t * int(q) for p, q, t in zip(a, b, truncated)], NAMES[dtype]))
        with np.errstate(over="ignore"):
            case("multiply", [a, b], dtype, a * b)
        case("bitwise_xor", [a, b], dtype, a ^ b)
        case("bitwise_and", [a, b], dtype, a & b)
        case("bitwise_or", [a, b], dtype, a | b)
        case("bitwise_not", [a], dtype, ~a)
        n = (np.arange(60) % np.iinfo(NAMES[dtype]).bits).astype(NAMES[dtype])
        case("bitwise_left_shift", [a, n], dtype, np.left_shift(a, n))
        case("bitwise_right_shift", [a, n], dtype, np.right_shift(a, n))


def truths():
    p, q = (rng.integers(0, 2, 20).astype(np.bool_) for _ in range(2))
    for op, f in {"logical_and": np.logical_and, "logical_or": np.logical_or, "logical_xor": np.logical_xor}.items():
        case(op, [p, q], "bool", f(p, q))
    case("logical_not", [p], "bool", ~p)
    x, y = (rng.normal(0, 1, 20).astype(np.float32) for _ in range(2))
    case("where", [p, x, y], "f32", np.where(p, x, y).astype(np.float64))
    z = np.array([np.nan, np.inf, -np.inf, 0, -1], np.float32)
    for op, f in {"isnan": np.isnan, "isinf": np.isinf, "isfinite": np.isfinite}.items():
        case(op, [z], "bool", f(z))
    case("clamp", [x], "f32", np.clip(x, -0.5, 0.75).astype(np.float64), " {min=-0.5, max=0.75}")


def ties():
    """Where gradients are a matter of choice, which tools/make_autograd_vectors.py asks PyTorch about: multiples, limits, zeros, ties."""
    grid = lambda *axes: [a.ravel() for a in np.meshgrid(*axes, indexing="ij")]
    for dtype in FLOATS:
        def stored(op, inputs, reference, attrs="", types=None, pick=0):
            inputs = [np.asarray(a, NAMES[dtype] if np.asarray(a).dtype.kind == "f" else None) for a in inputs]
            case(op, inputs, "i64" if pick else dtype, reference, attrs, types, pick)

        x, y = grid([-7.0, -6, -5.5, -3, -0.0, 0, 1.5, 3, 6, 7], [-3.0, -2, 1.5, 3])
        stored("float_remainder", [x, y], np.remainder(x, y))
        stored("float_fmod", [x, y], np.fmod(x, y))
        stored("float_floor_divide", [x, y], np.floor_divide(x, y))
        tiny = [float(np.finfo(NAMES[dtype]).smallest_subnormal), float(np.finfo(NAMES[dtype]).eps) ** 2]
        x, y = grid([-t for t in tiny] + tiny, [-3.0, -2, 1.5, 3])
        x = np.asarray(x, NAMES[dtype]).astype(np.float64)
        stored("float_remainder", [x, y], np.remainder(x, y))
        stored("float_floor_divide", [x, y], np.floor_divide(x, y))
        x, low, high = grid(*[[0.0, 1, 2]] * 3)
        stored("clamp_min", [x, low], np.maximum(x, low))
        stored("clamp_max", [x, high], np.minimum(x, high))
        stored("clip", [x, low, high], np.minimum(np.maximum(x, low), high))
        x, y = grid([-1.0, -0.0, 0, 2], [-1.0, -0.0, 0, 2])
        stored("atan2", [x, y], np.arctan2(x, y))
        x = np.array([[1.0, 3, 3, 2], [2, 2, 2, 2], [-1, 0, -0.0, -1]])
        for axis in (0, 1):
            types = [f"{dtype}[{x.shape[1 - axis]}]", f"i64[{x.shape[1 - axis]}]"]
            for pick, (most, least) in enumerate(((np.max, np.min), (np.argmax, np.argmin))):
                stored("max_with_index", [x], most(x, axis), f" {{axis={axis}}}", types, pick)
                stored("min_with_index", [x], least(x, axis), f" {{axis={axis}}}", types, pick)
        stored("max_of_all", [x], x.max())
        stored("min_of_all", [x], x.min())
        x[1] = -np.inf
        e = np.exp(x - np.where(np.arange(3) == 1, 0, x.max(1))[:, None])
        stored("softmax", [x], e / np.maximum(e.sum(1, keepdims=True), 1), " {zero_rows=true}")
        w = np.arange(8.0).reshape(4, 2)
        i = np.array([[0, 2], [2, 3]])
        stored("embedding", [i, w], w[i], " {padding_idx=2}")


def large_quotients():
    """Remainders where the quotient is more than a float of that type holds exactly, or than it holds at all."""
    for dtype in FLOATS:
        t = np.finfo(NAMES[dtype])
        x = np.array([t.max, -t.max, t.max / 3, 1e20 if dtype != "f16" else 6e4, -123456789 if dtype != "f16" else -12345, 1, -0.7], NAMES[dtype])
        y = np.array([3, -7, 0.1, t.smallest_normal * NAMES[dtype](1.37), -t.smallest_subnormal * NAMES[dtype](3)], NAMES[dtype])
        x, y = (a.ravel() for a in np.meshgrid(x, y, indexing="ij"))
        case("float_fmod", [x, y], dtype, np.fmod(x, y))
        case("float_remainder", [x, y], dtype, np.remainder(x, y))


def make():
    with np.errstate(all="ignore"):
        for group in (pointwise, normalisations, channels, losses, coordinates, moved, reductions, casts, integer_division, truths, views, rows,
                      scans, scatters, ties, large_quotients):
            group()
    return {"arrays": arrays, "cases": cases}


if __name__ == "__main__":
    with open(sys.argv[1], "w", encoding="ascii") as out:
        json.dump(make(), out, separators=(",", ":"))
        out.write("\n")
