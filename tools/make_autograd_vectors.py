#!/usr/bin/env python3
"""Writes tests/data/autograd_vectors.json: graphs in f64, inputs, a cotangent, and the gradients that PyTorch's autograd gives.

The cases are those of tests/data/numpy_vectors.json whose op has a peer in tests/oracles/oracle_test.py, one of each graph, with all floats
as f64: their inputs hold the edges (zeros of both signs, ties, kinks), at which the gradients are PyTorch's too. Then activations at NaN and
the infinities, three elements: PyTorch's vectorised CPU loops, which begin with four, treat NaN otherwise than its scalar ones and
those for CUDA do; windows of max_pool with nothing but -inf, or with NaN; and rows and pairs with NaN, infinities and zeros.
Arrays are hex of their little-endian bytes, null where autograd has no gradient. Needs torch. Rerun with:
  tools/make_autograd_vectors.py tests/data/autograd_vectors.json
"""
import importlib.util
import json
import re
import sys
from pathlib import Path

import numpy as np
import torch

REPOSITORY = Path(__file__).resolve().parents[1]
spec = importlib.util.spec_from_file_location("oracle_test", REPOSITORY / "tests/oracles/oracle_test.py")
oracle = importlib.util.module_from_spec(spec)
spec.loader.exec_module(oracle)
DTYPES = {"float64": "f64", "int64": "i64", "int32": "i32", "int8": "i8", "uint8": "u8", "bool": "bool"}


def sliced(x, starts, stops, steps):
    far = 9223372036854775807
    for axis, (p, q, r) in enumerate(zip(starts, stops, steps)):
        n = x.shape[axis]
        at = range(n)[slice(p, None if q == far or (r < 0 and q < -n) else q, r)]
        x = x.index_select(axis, torch.tensor(list(at), dtype=torch.int64))
    return x


# Where the oracle leaves torch, which would end the gradient.
PEERS = dict(oracle.PEERS, erf=torch.erf, erfc=torch.erfc, lgamma=torch.lgamma, xlogy=torch.xlogy, slice=sliced,
             vector_norm=lambda x, axes=None, ord=2: torch.linalg.vector_norm(x, float(ord), axes))
# Not autograd's: nextafter has none there, dtypes of a cast are not f64.
LEFT_OUT = ("nextafter", "cast")
AT_NAN = ("relu relu6 leaky_relu elu selu celu threshold clamp hardtanh hardsigmoid hardswish softshrink hardshrink abs sigmoid tanh "
          "softplus logsigmoid silu gelu mish sign floor sqrt").split()
POOLED = [([-np.inf] * 6, 3, 2, 1), ([-np.inf] * 6, 2, 2, 1), ([-np.inf, -np.inf, 1, 2, -np.inf, -np.inf], 3, 1, 1),
          ([np.nan, 1, np.nan, 2, np.nan, np.nan], 3, 3, 1), ([np.nan, 1, np.nan, 2, np.nan, -np.inf], 3, 1, 0),
          ([-np.inf, 0, -np.inf, -np.inf, np.inf, np.inf], 2, 1, 0)]
ROWS = [[np.nan, 1, np.nan, 2], [np.inf, np.inf, 1, 0], [-np.inf] * 4, [np.nan] * 4]
EDGES = [np.nan, np.inf, -np.inf, 0, -0.0, 2]
arrays, known = [], {}


def pack(a):
    a = np.asarray(a, order="C")
    entry = {"dtype": DTYPES[a.dtype.name], "dims": list(a.shape), "hex": a.astype(a.dtype.newbyteorder("<")).tobytes().hex()}
    key = json.dumps(entry)
    if key not in known:
        known[key] = len(arrays)
        arrays.append(entry)
    return known[key]


def make():
    stored = json.loads((REPOSITORY / "tests/data/numpy_vectors.json").read_text())
    rng = np.random.default_rng(11)
    cases, seen = [], set()
    for c in stored["cases"]:
        op, attrs, pick = oracle.parse(c["graph"])
        graph = re.sub(r"\bf(16|32)\b", "f64", c["graph"])
        if op not in PEERS or op in LEFT_OUT or graph in seen:
            continue
        inputs = [oracle.unpack(stored["arrays"][i]) for i in c["inputs"]]
        wide = [torch.tensor(x.astype(np.float64) if x.dtype.kind == "f" else x) for x in inputs]
        floats = [x for x in wide if x.dtype == torch.float64]
        cotangent = None
        # Of some operands (statistics, weights of classes) autograd has none: then of the first alone.
        for asked in (floats, floats[:1]):
            for x in floats:
                x.requires_grad_(any(x is y for y in asked))
            try:
                result = PEERS[op](*wide, **attrs)
                result = result[pick] if isinstance(result, tuple) else result
                if result.dtype != torch.float64 or not floats:
                    break
                cotangent = torch.from_numpy(np.asarray(rng.uniform(-1, 1, tuple(result.shape))))
                found = torch.autograd.grad(result, asked, cotangent, allow_unused=True) if result.requires_grad else []
                break
            except RuntimeError:
                if asked is not floats:
                    raise
        if cotangent is None:
            continue
        seen.add(graph)
        grads = list(found) + [None] * (len(floats) - len(found))
        cases.append({"graph": graph, "inputs": [pack(x.detach().numpy()) for x in wide], "cotangent": pack(cotangent.numpy()),
                      "gradients": [None if g is None else pack(g.numpy()) for g in grads]})
    return {"torch": torch.__version__, "arrays": arrays, "cases": cases + special(cases, rng)}


def special(cases, rng):
    graphs = {oracle.parse(c["graph"])[0]: c["graph"] for c in cases}
    wanted = [(re.sub(r"f64\[\d+\]", "f64[3]", graphs[op]), [np.nan, np.inf, -np.inf]) for op in AT_NAN]
    for row, kernel, stride, padding in POOLED:
        count = (6 + 2 * padding - kernel) // stride + 1
        wanted.append((f"graph f(%x0: f64[1,6]) -> (f64[1,{count}]) {{\n  %r0 = max_pool(%x0) {{kernel=[{kernel}], stride=[{stride}], "
                       f"padding=[{padding}]}} : f64[1,{count}]\n  return %r0\n}}\n", [row]))
    wanted = [(graph, [values]) for graph, values in wanted] + at_edges()
    out = []
    for graph, inputs in wanted:
        op, attrs, pick = oracle.parse(graph)
        xs = [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in inputs]
        result = PEERS[op](*xs, **attrs)
        result = result[pick] if isinstance(result, tuple) else result
        cotangent = torch.from_numpy(np.asarray(rng.uniform(0.5, 1, tuple(result.shape))))
        found = torch.autograd.grad(result, xs, cotangent)
        out.append({"graph": graph, "inputs": [pack(x.detach().numpy()) for x in xs], "cotangent": pack(cotangent.numpy()),
                    "gradients": [pack(g.numpy()) for g in found]})
    return out


def at_edges():
    """Extremes and softmax of rows with NaN and infinities, each row a case of its own; every pair (clip: triple) of edges."""
    out = []
    for row in ROWS:
        for op, attrs, types in (("max_with_index", " {axis=0}", ["f64[]", "i64[]"]), ("min_with_index", " {axis=0}", ["f64[]", "i64[]"]),
                                 ("max_of_all", "", ["f64[]"]), ("min_of_all", "", ["f64[]"]), ("max", "", ["f64[]"]), ("min", "", ["f64[]"]),
                                 ("softmax", " {axis=0}", ["f64[4]"]), ("softmax", " {axis=0, zero_rows=true}", ["f64[4]"]),
                                 ("log_softmax", " {axis=0}", ["f64[4]"]), ("logsumexp", " {axes=[0]}", ["f64[]"])):
            names = ", ".join(f"%r{i}" for i in range(len(types)))
            out.append((f"graph f(%x0: f64[4]) -> ({types[0]}) {{\n  {names} = {op}(%x0){attrs} : {', '.join(types)}\n  return %r0\n}}\n", [row]))
    for op, count in (("float_remainder", 2), ("float_fmod", 2), ("atan2", 2), ("maximum", 2), ("minimum", 2), ("clamp_min", 2), ("clamp_max", 2),
                      ("clip", 3)):
        values = [a.ravel() for a in np.meshgrid(*[EDGES] * count, indexing="ij")]
        t = f"f64[{len(EDGES) ** count}]"
        names = [f"%x{i}" for i in range(count)]
        out.append((f"graph f({', '.join(f'{n}: {t}' for n in names)}) -> ({t}) {{\n  %r0 = {op}({', '.join(names)}) : {t}\n  return %r0\n}}\n", values))
    return out


if __name__ == "__main__":
    made = make()
    Path(sys.argv[1]).write_text(json.dumps(made, separators=(",", ":")) + "\n")
    print(len(made["cases"]), "cases")
