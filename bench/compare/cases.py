"""The table of cases. Pure: it knows shapes and bodies, no library.

A Case is timed with inputs of `case.inputs(n)`, where n is a size that can be cut (the batch); `fit(case, ...)` makes n smaller for a machine that
could not do the whole in reasonable time. The body is written once in the words of dialects.py.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any

BYTES = {"f32": 4, "bf16": 2, "i64": 8}


@dataclasses.dataclass(frozen=True)
class Spec:
    """An input: values normal, normal by the square root of twice a row's length ("weight", as layers with relu are initialised),
    around one ("positive", 0.5 to 1.5), or indices below `below`."""

    shape: tuple
    dtype: str = "f32"
    kind: str = "normal"
    below: int = 0

    @property
    def bytes(self):
        return math.prod(self.shape) * BYTES[self.dtype]


@dataclasses.dataclass(frozen=True)
class Case:
    name: str
    group: str  # memory, gemm, mlp, cpu
    n: int
    inputs: Callable[[int], list]
    body: Callable
    check: str = "values"  # or "dropout": zero or the value by KEEP; "normalized": rows of mean b and deviation w
    needs: tuple = ()  # names that Jitfuse must have, "grad" say; else the case is listed as missing
    backward: bool = False  # also the gradients of the float inputs; the last input is then the cotangent, not the body's
    numexpr: tuple = ()  # the expression by the names a, b, c ..., and nothing else
    flops: Callable[[int], float] = lambda n: 0.0
    bare: Callable | None = None  # the GEMM alone, timed beside: body(F, *inputs)
    kernel: str = ""  # what libraries of hand-written kernels call it, if they have it
    tolerance: float = 1.0  # times that of the dtype

    @property
    def dtype(self):
        return self.inputs(1)[0].dtype


def fit(case, most_bytes: float = math.inf, most_flops: float = math.inf) -> int:
    """The largest n, the case's own halved some times, at which what grows with it is no larger than that (at least 1)."""
    n = case.n

    def size(n):
        return sum(s.bytes for s in case.inputs(n))

    while n > 1 and (size(n) - size(0) > most_bytes or case.flops(n) > most_flops):
        n //= 2
    return n


def rows(*kinds, m, dtype="f32"):
    """Inputs by letter: x an n x m array, v a vector of m, w one around one, s a square root's argument."""

    def make(n):
        made = {"x": Spec((n, m), dtype), "v": Spec((m,), dtype), "w": Spec((m,), dtype, "positive"),
                "s": Spec((n, m), dtype, "positive")}
        return [made[kind] for kind in kinds]

    return make


def add_rms_norm(F, x, residual, w):
    total = x + residual
    return F.rms_norm(total, w), total


def rotary(F, x, cosine, sine):
    first, second = F.halves(x)
    return F.like(x * cosine + F.concat([-second, first]) * sine, x)


def rotary_inputs(n):
    return [Spec((4, n, 32, 128), "bf16"), Spec((n, 1, 128)), Spec((n, 1, 128))]


def adamw(F, p, g, m, v):
    first, second = 0.9 * m + 0.1 * g, 0.999 * v + 0.001 * F.square(g)
    change = (first / 0.1) / (F.sqrt(second / 0.001) + 1e-8)
    return p * (1 - 1e-5) - 1e-3 * change, first, second


def images(*more):
    return lambda n: [Spec((n, 256, 56, 56)), *(Spec((256,), "f32", kind) for kind in more)]


def memory_cases() -> list[Case]:
    def case(name, n, inputs, body, **more):
        return Case(name, "memory", n, inputs, body, **more)

    def layer_norm_relu(F, x, w, b):
        return F.relu(F.layer_norm(x, w, b))

    wide = dict(m=4096, dtype="bf16")
    found = []
    for m in (2048, 8192):
        found.append(case(f"add, relu f32 {m}^2", m, rows("x", "x", m=m), lambda F, x, y: F.relu(x + y),
                          numexpr=("where(a + b > 0, a + b, 0)",)))
        found.append(case(f"layer_norm, relu f32 {m}^2", m, rows("x", "w", "v", m=m), layer_norm_relu))
    for n, m, dtype in ((8192, 8192, "f32"), (16384, 4096, "bf16")):
        found.append(case(f"bias, gelu {dtype} {n}x{m}", n, rows("x", "v", m=m, dtype=dtype), lambda F, x, b: F.gelu(x + b)))
    found += [
        case("layer_norm bf16 16384x4096", 16384, rows("x", "w", "v", **wide), lambda F, x, w, b: F.layer_norm(x, w, b), kernel="layer_norm"),
        case("residual, rms_norm bf16 16384x4096", 16384, rows("x", "x", "w", **wide), add_rms_norm),
        case("dropout, add, layer_norm bf16 16384x4096", 16384, rows("x", "x", "w", "v", **wide),
             lambda F, x, y, w, b: F.layer_norm(F.dropout(x) + y, w, b), check="normalized"),
        case("gelu, dropout bf16 16384x4096", 16384, rows("x", **wide), lambda F, x: F.dropout(F.gelu(x)), check="dropout"),
        case("swiglu bf16 16384x4096", 16384, rows("x", "x", **wide), lambda F, x, y: F.silu(x) * y, kernel="swiglu"),
    ]
    for n, m in ((32768, 256), (32768, 1024), (32768, 4096), (16384, 32768), (4096, 131072)):
        found.append(case(f"softmax bf16 {n}x{m}", n, rows("x", m=m, dtype="bf16"), lambda F, x: F.softmax(x), kernel="softmax"))
        found.append(case(f"rms_norm bf16 {n}x{m}", n, rows("x", "w", m=m, dtype="bf16"), lambda F, x, w: F.rms_norm(x, w),
                          kernel="rms_norm"))
    found += [
        case("cross entropy bf16 16384x32768", 16384,
             lambda n: [Spec((n, 32768), "bf16"), Spec((n,), "i64", "index", 32768)],
             lambda F, x, t: F.cross_entropy(x, t), kernel="cross_entropy"),
        case("sum of squares of rows f32 8192^2", 8192, rows("x", m=8192), lambda F, x: F.sum(F.square(x), axis=1)),
        case("mean abs of columns f32 8192^2", 8192, rows("x", m=8192), lambda F, x: F.mean(F.abs(x), axis=0)),
        case("sum of all f32 8192^2", 8192, rows("s", m=8192), lambda F, x: F.sum(x)),
        case("batch norm, relu f32 32x256x56x56", 32, images("normal", "positive", "positive", "normal"),
             lambda F, x, mean, var, w, b: F.relu(F.batch_norm(x, mean, var, w, b))),
        case("batch norm training, relu f32 32x256x56x56", 32, images("positive", "normal"),
             lambda F, x, w, b: F.relu(F.batch_norm_training(x, w, b))),
        case("transpose, add f32 8192^2", 8192, lambda n: [Spec((8192, n)), Spec((n, 8192))], lambda F, x, y: F.transpose(x) + y),
        case("rotary embedding bf16 4x2048x32x128", 2048, rotary_inputs, rotary),
        case("AdamW f32 16.8M", 4096, rows("x", "x", "x", "s", m=4096), adamw),
        case("layer_norm, relu, forward and backward bf16 16384x4096", 16384, rows("x", "w", "v", "x", **wide), layer_norm_relu,
             needs=("grad",), backward=True),
        case("bias, gelu, forward and backward bf16 16384x4096", 16384, rows("x", "v", "x", **wide), lambda F, x, b: F.gelu(x + b),
             needs=("grad",), backward=True),
    ]
    return found


def gemm_case(name, tail, dtype, m, k, n, *, transposed=True, more=()):
    """x @ w, w stored [n, k] or not transposed, then tail(F, product with bias, the inputs of `more`)."""

    def inputs(batch):
        shapes = {"residual": (batch, n)}
        return [Spec((batch, k), dtype), Spec((n, k) if transposed else (k, n), dtype, "weight"), Spec((n,), dtype),
                *(Spec(shapes[word], dtype) for word in more)]

    def product(F, x, w, b):
        if transposed:
            return F.linear(x, w, b)
        return x @ w if b is None else x @ w + b

    return Case(f"{name} {dtype} {m}x{k}x{n}", "gemm", m, inputs,
                lambda F, x, w, b, *rest: tail(F, product(F, x, w, b), *rest),
                flops=lambda batch: 2.0 * batch * k * n, bare=lambda F, x, w, b, *_: product(F, x, w, None))


def gemm_cases() -> list[Case]:
    small, square, large = (1024, 784, 2048), (1024, 1024, 1024), (4096, 4096, 4096)
    found = []

    def add(name, tail, dtypes, sizes, **more):
        found.extend(gemm_case(name, tail, dtype, *size, **more) for dtype in dtypes for size in sizes)

    add("linear, relu", lambda F, y: F.relu(y), ("bf16",), (small, square, large, (8192, 4096, 4096), (8192, 4096, 16384)))
    add("linear, relu", lambda F, y: F.relu(y), ("f32",), (small, (8192, 4096, 4096)))
    add("x @ w + b, relu", lambda F, y: F.relu(y), ("bf16",), (square, large), transposed=False)
    add("x @ w + b, relu", lambda F, y: F.relu(y), ("f32",), (square,), transposed=False)
    add("linear, gelu tanh", lambda F, y: F.gelu_tanh(y), ("bf16",), (small, square, large))
    add("linear, gelu", lambda F, y: F.gelu(y), ("bf16",), (square, large))
    add("linear, silu", lambda F, y: F.silu(y), ("bf16",), (square, large))
    add("linear, relu, residual", lambda F, y, r: F.relu(y) + r, ("bf16",), (square, large), more=("residual",))
    add("linear, residual", lambda F, y, r: y + r, ("bf16",), (square, large), more=("residual",))
    return found


def mlp_body(F, x, *weights):
    for w, b in zip(weights[::2], weights[1::2], strict=True):
        x = F.relu(F.linear(x, w, b))
    return x


MLP_SIZES = ((256, 2), (1024, 4), (4096, 4))  # width, layers
MLP_BATCHES = (256, 1024, 4096)


def mlp_case(dtype, width, layers, batch, *, backward=False):
    def inputs(n):
        found = [Spec((n, width), dtype), *([Spec((width, width), dtype, "weight"), Spec((width,), dtype)] * layers)]
        return [*found, Spec((n, width), dtype)] if backward else found  # the last layer is as wide as the input

    name = f"MLP {dtype} {width}x{layers} batch {batch}"
    return Case(name + ", forward and backward" * backward, "mlp", batch, inputs, mlp_body, needs=("grad",) if backward else (),
                backward=backward, tolerance=(4.0 if dtype == "bf16" else 50.0) if backward else 2.0,  # some elements of a million at a kink
                flops=lambda n: (3 if backward else 1) * 2.0 * n * width * width * layers)


def mlp_cases() -> list[Case]:
    """Forward of each size with each batch; training steps of each size with the batch that goes with it."""
    found = [mlp_case(dtype, *size, batch) for dtype in ("bf16", "f32") for size in MLP_SIZES for batch in MLP_BATCHES]
    return found + [mlp_case(dtype, *size, batch, backward=True) for dtype in ("bf16", "f32")
                    for size, batch in zip(MLP_SIZES, MLP_BATCHES, strict=True)]


def cpu_cases() -> list[Case]:
    def case(name, kinds, body, *numexpr):
        return Case(f"{name} f32 4096^2", "cpu", 4096, rows(*kinds, m=4096), body, numexpr=numexpr)

    return [
        case("relu(a*b+c)", "xxx", lambda F, a, b, c: F.relu(a * b + c), "where(a * b + c > 0, a * b + c, 0)"),
        case("tanh(a*b)", "xx", lambda F, a, b: F.tanh(a * b), "tanh(a * b)"),
        case("gelu(a+b)", "xx", lambda F, a, b: F.gelu(a + b)),
        case("softmax", "x", lambda F, x: F.softmax(x)),
        case("layer_norm, relu", "xwv", lambda F, x, w, b: F.relu(F.layer_norm(x, w, b))),
    ]


def all_cases() -> list[Case]:
    return memory_cases() + gemm_cases() + mlp_cases() + cpu_cases()


def flat(result: Any) -> list:
    return list(result) if isinstance(result, (tuple, list)) else [result]
