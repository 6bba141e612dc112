"""The known chains (bench/common/known_chains.cc) in eager PyTorch: kernels and bytes, for bench_chains to put beside ours.

    python3 bench/torch_chains.py [--out bench/results/torch_chains.json] [--only NAME] [--verbose]

Bytes: each aten op that is more than a view or metadata reads its tensors once and writes its results once, at n = 1000, on
tensors that hold no data (so that no memory is needed). What is expanded counts what it holds, what a gather picks counts
what is picked. Numbers are free. Where eager on a GPU calls another op than elsewhere (dropout, rms_norm), it is the GPU's.

Kernels: on a machine with CUDA those that torch.profiler saw, copies and memsets of the device counted in, after a warm-up;
where n = 1000 would need more than 32 GiB, for less (the row says for how many). Elsewhere the number of those ops, which is
a lower bound: many an op is several kernels.
"""

import argparse
import contextlib
import datetime
import json
import pathlib
import platform
import subprocess

import torch
import torch.nn.functional as F
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

ROWS, COLS = 1000, 4096
MOST_BYTES = 32 << 30
F32, BF16, I64, BOOL = torch.float32, torch.bfloat16, torch.int64, torch.bool


def dropout(x):  # what F.dropout is on a GPU
    return torch.native_dropout(x, 0.1, True)[0]


@torch.library.custom_op("known_chains::rms_norm", mutates_args=())
def one_rms_norm(x: torch.Tensor, w: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    raise NotImplementedError("for tensors without data")


@one_rms_norm.register_fake
def _(x, w):
    return torch.empty_like(x), x.new_empty((x.shape[0], 1), dtype=F32)


def rms_norm(x, w):  # on a GPU one op, which also writes a number per row; elsewhere eager writes it out
    return one_rms_norm(x, w)[0] if x.device.type == "meta" else F.rms_norm(x, w.shape, w)


class Inputs:
    """Makes a chain's inputs on a device; `n` rows."""

    def __init__(self, n, device, fake):
        self.n, self.device, self.fake = n, device, fake

    def make(self, shape, dtype):
        if self.fake:
            return torch.empty(shape, dtype=dtype, device=self.device)
        return torch.rand(shape, device=self.device).to(dtype)

    def rows(self, dtype=F32):
        return self.make((self.n, COLS), dtype)

    def row(self, dtype=F32):
        return self.make((COLS,), dtype)

    def images(self):
        return self.make((self.n, 64, 28, 28), F32)

    def channels(self):
        return self.make((64,), F32)

    def indices(self, shape, below):
        if self.fake:
            return torch.empty(shape, dtype=I64, device=self.device)
        return torch.randint(0, below, shape, device=self.device)


# Each takes Inputs and gives (a function of no arguments). Scalars are Python numbers, as eager code has them.
CHAINS = {}


def chain(name):
    def add(function):
        CHAINS[name] = function
        return function

    return add


def of_rows(count, dtype, body):
    def build(i):
        xs = [i.rows(dtype) for _ in range(count)]
        return lambda: body(*xs)

    return build


CHAINS["relu(x+y)"] = of_rows(2, F32, lambda x, y: F.relu(x + y))
CHAINS["tanh(x*y)"] = of_rows(2, F32, lambda x, y: torch.tanh(x * y))
CHAINS["relu(x*y+z)"] = of_rows(3, F32, lambda x, y, z: F.relu(x * y + z))
CHAINS["sigmoid(x+y)"] = of_rows(2, F32, lambda x, y: torch.sigmoid(x + y))
CHAINS["dropout(gelu(x)) bf16"] = of_rows(1, BF16, lambda x: dropout(F.gelu(x)))
CHAINS["silu(x)*gate"] = of_rows(2, F32, lambda x, gate: F.silu(x) * gate)
CHAINS["gelu_tanh(gate)*x"] = of_rows(2, F32, lambda x, gate: F.gelu(gate, approximate="tanh") * x)
CHAINS["mish written out"] = of_rows(1, F32, lambda x: x * torch.tanh(torch.log1p(torch.exp(x))))
CHAINS["fake quantize"] = of_rows(1, F32, lambda x: torch.clamp(torch.round(x / 0.1), -128, 127) * 0.1)
CHAINS["exponential moving average"] = of_rows(2, F32, lambda average, x: torch.lerp(x, average, 0.9))
CHAINS["binary cross entropy with logits, each"] = of_rows(
    2, F32, lambda x, t: F.binary_cross_entropy_with_logits(x, t, reduction="none"))
CHAINS["smooth l1 loss, each"] = of_rows(2, F32, lambda x, t: F.smooth_l1_loss(x, t, reduction="none"))
CHAINS["softmax bf16"] = of_rows(1, BF16, lambda x: torch.softmax(x, 1))
CHAINS["log_softmax"] = of_rows(1, F32, lambda x: torch.log_softmax(x, 1))
CHAINS["softmax(x/temperature)"] = of_rows(1, F32, lambda x: torch.softmax(x / 0.7, 1))
CHAINS["l2 normalize rows"] = of_rows(1, F32, lambda x: F.normalize(x, dim=1))
CHAINS["cosine similarity of rows"] = of_rows(2, F32, lambda x, y: F.cosine_similarity(x, y, dim=1))
CHAINS["standardize rows"] = of_rows(1, F32, lambda x: (x - x.mean(1, keepdim=True)) / x.std(1, keepdim=True))
CHAINS["mean and variance of rows"] = of_rows(1, F32, lambda x: torch.var_mean(x, 1))
CHAINS["logsumexp of rows"] = of_rows(1, F32, lambda x: torch.logsumexp(x, 1))
CHAINS["argmax of softmax"] = of_rows(1, F32, lambda x: torch.argmax(torch.softmax(x, 1), 1))
CHAINS["sum of squares of rows"] = of_rows(1, F32, lambda x: torch.sum(torch.square(x), 1))
CHAINS["mean abs of columns"] = of_rows(1, F32, lambda x: torch.mean(torch.abs(x), 0))


@chain("gelu(x+bias) bf16")
def _(i):
    x, bias = i.rows(BF16), i.row(BF16)
    return lambda: F.gelu(x + bias)


@chain("dropout(x+bias)+residual")
def _(i):
    x, bias, residual = i.rows(), i.row(), i.rows()
    return lambda: dropout(x + bias) + residual


@chain("swiglu of the halves of a row, bf16")
def _(i):
    x = i.make((i.n, 2 * COLS), BF16)
    return lambda: F.silu(x[:, :COLS]) * x[:, COLS:]


@chain("mish(x)*scale")
def _(i):
    x, scale = i.rows(), i.row()
    return lambda: F.mish(x) * scale


@chain("prelu(x+bias)")
def _(i):
    x, bias, slope = i.rows(), i.row(), i.row()
    return lambda: F.prelu(x + bias, slope)


@chain("hardswish(x)*hardsigmoid(channel scale)")
def _(i):
    x, scale = i.images(), i.make((i.n, 64, 1, 1), F32)
    return lambda: F.hardswish(x) * F.hardsigmoid(scale)


@chain("gamma*x+residual")
def _(i):
    x, gamma, residual = i.rows(), i.row(), i.rows()
    return lambda: torch.addcmul(residual, gamma, x)


@chain("rotary embedding bf16")
def _(i):
    x = i.make((i.n, 2048, 32, 128), BF16)
    cosine, sine = i.make((2048, 1, 128), F32), i.make((2048, 1, 128), F32)
    return lambda: (x * cosine + torch.cat((-x[..., 64:], x[..., :64]), -1) * sine).to(BF16)


@chain("transpose(x)+y")
def _(i):
    x, y = i.make((COLS, i.n), F32), i.rows()
    return lambda: x.t() + y


@chain("SGD with momentum, two results")
def _(i):
    p, g, m = i.rows(), i.rows(), i.rows()

    def step():
        moved = m * 0.9 + g
        return p - 0.1 * moved, moved

    return step


@chain("AdamW, three results")
def _(i):
    p, g, m, v = i.rows(), i.rows(), i.rows(), i.rows()
    lr, c1, c2 = 1e-3, 0.1, 0.001

    def step():
        first, second = torch.lerp(m, g, 0.1), torch.lerp(v, torch.square(g), 0.001)
        change = (first / c1) / (torch.sqrt(second / c2) + 1e-8)
        return p * (1 - lr * 0.01) - lr * change, first, second

    return step


@chain("causal softmax bf16")
def _(i):
    x = i.make((i.n, 1024, 1024), BF16)

    def body():
        keep = torch.ones((1024, 1024), dtype=BOOL, device=x.device).tril()
        return torch.softmax(x.masked_fill(~keep, float("-inf")), -1)

    return body


@chain("attention scores: scale, mask, softmax, dropout, bf16")
def _(i):
    scores, mask = i.make((i.n, 16, 1024, 1024), BF16), i.make((i.n, 1, 1, 1024), BF16)
    return lambda: dropout(torch.softmax(scores * 0.125 + mask, -1))


def with_norm(body, dtype=F32):
    def build(i):
        x, w, bias = i.rows(dtype), i.row(dtype), i.row(dtype)
        return lambda: body(F.layer_norm(x, (COLS,), w, bias))

    return build


CHAINS["layer_norm, relu"] = with_norm(F.relu)
CHAINS["layer_norm, gelu, dropout"] = with_norm(lambda y: dropout(F.gelu(y)))


@chain("x+residual, layer_norm, two results")
def _(i):
    x, residual, w, bias = i.rows(), i.rows(), i.row(), i.row()

    def body():
        total = x + residual
        return F.layer_norm(total, (COLS,), w, bias), total

    return body


@chain("dropout, add, layer_norm bf16")
def _(i):
    x, residual, w, bias = i.rows(BF16), i.rows(BF16), i.row(BF16), i.row(BF16)
    return lambda: F.layer_norm(dropout(x) + residual, (COLS,), w, bias)


@chain("rms_norm, gelu")
def _(i):
    x, w = i.rows(), i.row()
    return lambda: F.gelu(rms_norm(x, w))


@chain("x+residual, rms_norm bf16, two results")
def _(i):
    x, residual, w = i.rows(BF16), i.rows(BF16), i.row(BF16)

    def body():
        total = x + residual
        return rms_norm(total, w), total

    return body


@chain("rms_norm, quantize to i8 by rows")
def _(i):
    x, w = i.rows(), i.row()

    def body():
        y = rms_norm(x, w)
        scale = torch.amax(torch.abs(y), 1, keepdim=True) / 127
        return torch.round(y / scale).to(torch.int8), scale

    return body


@chain("embedding, add, layer_norm")
def _(i):
    ids, table = i.indices((i.n, 512), 30000), i.make((30000, 768), F32)
    positions, w, bias = i.make((512, 768), F32), i.make((768,), F32), i.make((768,), F32)
    return lambda: F.layer_norm(F.embedding(ids, table) + positions, (768,), w, bias)


def cross_entropy(reduction):
    def build(i):
        x, target = i.rows(BF16), i.indices((i.n,), COLS)
        return lambda: F.cross_entropy(x, target, reduction=reduction)

    return build


CHAINS["cross entropy of each row, bf16"] = cross_entropy("none")
CHAINS["cross entropy, mean over rows, bf16"] = cross_entropy("mean")


def of_images(body):
    def build(i):
        x, channels = i.images(), [i.channels() for _ in range(4)]
        return lambda: body(x, *channels)

    return build


CHAINS["batch_norm (inference), relu"] = of_images(lambda x, mean, var, w, b: F.relu(F.batch_norm(x, mean, var, w, b)))
CHAINS["batch_norm (training), relu, five results"] = of_images(
    lambda x, mean, var, w, b: F.relu(F.batch_norm(x, mean, var, w, b, training=True)))
CHAINS["group_norm, silu"] = of_images(lambda x, w, b, *_: F.silu(F.group_norm(x, 8, w, b)))
CHAINS["instance_norm, relu"] = of_images(lambda x, w, b, *_: F.relu(F.instance_norm(x, weight=w, bias=b)))
CHAINS["max_pool 2x2, relu"] = of_images(lambda x, *_: F.relu(F.max_pool2d(x, 2)))
CHAINS["global average pool"] = of_images(lambda x, *_: torch.mean(x, (2, 3)))
CHAINS["clip by global norm"] = of_rows(1, F32, lambda x: x * torch.clamp(1.0 / torch.linalg.vector_norm(x), max=1.0))

# ---- Backward passes: aten's own ops, given what its forward passes keep.


@chain("gelu backward, bias gradient, bf16")
def _(i):
    x, g, bias = i.rows(BF16), i.rows(BF16), i.row(BF16)

    def body():
        dx = torch.ops.aten.gelu_backward(g, x + bias)
        return dx, dx.sum(0)

    return body


@chain("relu backward, bias gradient")
def _(i):
    x, g, bias = i.rows(), i.rows(), i.row()

    def body():
        dx = torch.ops.aten.threshold_backward(g, x + bias, 0)
        return dx, dx.sum(0)

    return body


@chain("layer_norm backward, three gradients, bf16")
def _(i):
    x, g, w, bias = i.rows(BF16), i.rows(BF16), i.row(BF16), i.row(BF16)
    mean, rstd = i.make((i.n, 1), F32), i.make((i.n, 1), F32)
    return lambda: torch.ops.aten.native_layer_norm_backward(g, x, (COLS,), mean, rstd, w, bias, [True, True, True])


@chain("rms_norm backward, two gradients")
def _(i):
    x, g, w = i.rows(), i.rows(), i.row()

    def body():
        scale = torch.rsqrt(torch.mean(x * x, 1, keepdim=True) + 1e-6)
        normal, gw = x * scale, g * w
        return scale * (gw - normal * torch.mean(gw * normal, 1, keepdim=True)), torch.sum(g * normal, 0)

    return body


@chain("softmax backward bf16")
def _(i):
    y, g = i.rows(BF16), i.rows(BF16)
    return lambda: torch.ops.aten._softmax_backward_data(g, y, 1, BF16)


@chain("cross entropy backward, each row, bf16")
def _(i):
    y, target, g, weight = i.rows(BF16), i.indices((i.n,), COLS), i.make((i.n,), BF16), i.make((), BF16)

    def body():
        dy = torch.ops.aten.nll_loss_backward(g, y, target, None, 0, -100, weight)
        return torch.ops.aten._log_softmax_backward_data(dy, y, 1, BF16)

    return body


# ---- Counting.

# Ops of no kernel whose schema does not say so.
METADATA = {"aten::empty", "aten::empty_like", "aten::empty_strided", "aten::new_empty", "aten::new_empty_strided",
            "aten::_unsafe_view", "aten::lift_fresh", "aten::lift", "aten::_local_scalar_dense",
            "aten::is_same_size", "aten::sym_size", "aten::sym_stride", "aten::sym_numel"}
PICKS = {"aten::embedding", "aten::gather", "aten::index", "aten::index_select", "aten::nll_loss_forward"}


def held_bytes(t):
    held = 1
    for size, stride in zip(t.shape, t.stride()):
        held *= size if stride != 0 or size == 0 else 1
    return held * t.element_size()


def tensors(values):
    for v in values:
        if isinstance(v, torch.Tensor):
            yield v
        elif isinstance(v, (list, tuple)):
            yield from tensors(v)


class CountOps(TorchDispatchMode):
    def __init__(self):
        super().__init__()
        self.ops, self.bytes = [], 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        schema = func._schema
        is_view = any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)
        read, written = list(tensors([*args, *(kwargs or {}).values()])), list(tensors([result]))
        if is_view or schema.name in METADATA or not written:
            return result
        if schema.name in PICKS:
            picked = read[1].numel() if schema.name == "aten::nll_loss_forward" else written[0].numel()
            self.bytes += min(held_bytes(read[0]), picked * read[0].element_size())
            read = read[1:]
        once = {id(t): t for t in read}.values()  # an operand twice is one
        self.bytes += sum(map(held_bytes, once)) + sum(map(held_bytes, written))
        self.ops.append(schema.name.split("::")[-1])
        return result


def count_ops(build):
    cuda = torch.cuda.is_available()  # without it not even a tensor of no data can say that it is there
    with torch.no_grad(), FakeTensorMode() if cuda else contextlib.nullcontext():
        body = build(Inputs(ROWS, "cuda" if cuda else "meta", fake=True))
        with CountOps() as counted:
            body()
    return counted


def count_kernels(build, n):
    """Names of what the device ran."""
    from torch.profiler import ProfilerActivity, profile

    with torch.no_grad():
        body = build(Inputs(n, "cuda", fake=False))
        for _ in range(2):
            body()
        torch.cuda.synchronize()
        with profile(activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU]) as prof:
            body()
            torch.cuda.synchronize()
    names = [e.name for e in prof.events() if e.device_type == torch.autograd.DeviceType.CUDA]
    torch.cuda.empty_cache()
    return names


def commit():
    here = pathlib.Path(__file__).resolve().parent
    recorded = here.parent / "commit"
    if recorded.exists():  # the bundle's
        return recorded.read_text().strip()
    found = subprocess.run(["git", "-C", str(here), "rev-parse", "--short=12", "HEAD"], capture_output=True, text=True, check=False)
    return found.stdout.strip() or "unknown"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out")
    parser.add_argument("--only", default="")
    parser.add_argument("--verbose", action="store_true", help="the ops or kernels of each chain")
    args = parser.parse_args()
    cuda = torch.cuda.is_available()
    device = torch.cuda.get_device_name() if cuda else "no GPU: ops counted, a lower bound of kernels"
    rows = []
    for name, build in CHAINS.items():
        if args.only not in name:
            continue
        counted = count_ops(build)
        row = {"name": name, "ops": len(counted.ops), "kernels": len(counted.ops), "bytes": counted.bytes, "n": ROWS}
        listed = counted.ops
        if cuda:
            row["n"] = max(1, min(ROWS, ROWS * MOST_BYTES // counted.bytes))
            listed = count_kernels(build, row["n"])
            row["kernels"] = len(listed)
        rows.append(row)
        print(f"{name:55} {row['kernels']:3} kernels {row['ops']:3} ops {row['bytes'] / 2**20:12.2f} MiB" +
              (f"  (kernels for n = {row['n']})" if row["n"] != ROWS else ""))
        if args.verbose:
            print("    " + "\n    ".join(listed))
    if args.out:
        result = {"device": device, "counted": "kernels" if cuda else "ops", "torch": torch.__version__, "cuda": torch.version.cuda,
                  "python": platform.python_version(), "commit": commit(),
                  "date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d"), "rows": rows}
        pathlib.Path(args.out).write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
