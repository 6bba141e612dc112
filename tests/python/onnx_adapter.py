"""From ONNX graphs to functions of jitfuse: what the conformance tests run ONNX's cases through.

`Model(model)` finds which values have to be known while a function is traced (shapes, axes, pads:
the inputs that STATIC names, and what they are computed from). `Model.function(known)` is a Python
function of the other inputs, which jitfuse.jit traces. An op type is a function in OPS: it takes
the node and its inputs, traced arrays but for the static ones, and returns its outputs. What is not
there raises Unsupported with the reason. onnx_layers.py has the ops of neural networks,
onnx_shapes.py those that change shapes.
"""

import math

import numpy as np
import onnx
from onnx import TensorProto, numpy_helper
from onnx.reference import ReferenceEvaluator

import jitfuse as jf


class Unsupported(Exception):
    """What this adapter or Jitfuse has no form for; the text is the reason, in a few words."""


DTYPES = {
    TensorProto.FLOAT: "float32", TensorProto.DOUBLE: "float64", TensorProto.FLOAT16: "float16",
    TensorProto.BFLOAT16: "bfloat16", TensorProto.BOOL: "bool", TensorProto.INT8: "int8",
    TensorProto.INT16: "int16", TensorProto.INT32: "int32", TensorProto.INT64: "int64",
    TensorProto.UINT8: "uint8", TensorProto.UINT16: "uint16", TensorProto.UINT32: "uint32",
    TensorProto.UINT64: "uint64",
}  # fmt: skip


def dtype_of(elem_type):
    if elem_type not in DTYPES:
        raise Unsupported(f"dtype {TensorProto.DataType.Name(elem_type).lower()}")
    return DTYPES[elem_type]


# Inputs that are needed while tracing, by position. All of them: None.
STATIC = {
    "CenterCropPad": (1,), "ConstantOfShape": (0,), "CumProd": (1,), "CumSum": (1,),
    "BlackmanWindow": (0,), "HammingWindow": (0,), "HannWindow": (0,), "Dropout": (1, 2),
    "Expand": (1,), "OneHot": (1,), "Pad": (1, 3), "Range": None, "Reshape": (1,),
    "Slice": (1, 2, 3, 4), "Split": (1,), "Squeeze": (1,), "Tile": (1,), "Trilu": (1,),
    "Unsqueeze": (1,), "RNN": (4,), "GRU": (4,), "LSTM": (4,),
    **{f"Reduce{n}": (1,) for n in ("L1", "L2", "LogSum", "LogSumExp", "Max", "Mean", "Min", "Prod",
                                    "Sum", "SumSquare")},
}  # fmt: skip

SHAPE_DEPENDS_ON_VALUES = ("Compress", "NonMaxSuppression", "NonZero", "Unique")
RANDOM = ("Bernoulli", "Multinomial", "RandomNormal", "RandomNormalLike", "RandomUniform",
          "RandomUniformLike")  # fmt: skip
CONTROL_FLOW = ("Loop", "Scan", "If", "SequenceMap")
OPS = {}


def op(*names):
    def register(function):
        OPS.update(dict.fromkeys(names, function))
        return function

    return register


class Node:
    """A node with its attributes as Python values, and the opset version it is read in."""

    def __init__(self, proto, opset):
        self.proto, self.opset = proto, opset
        self.type = proto.op_type
        self.attrs = {a.name: onnx.helper.get_attribute_value(a) for a in proto.attribute}
        self.outputs = len(proto.output)

    def attr(self, name, default=None):
        value = self.attrs.get(name, default)
        return value.decode() if isinstance(value, bytes) else value

    def wants(self, i):
        return i < self.outputs and self.proto.output[i] != ""

    def is_static(self, i):
        positions = STATIC.get(self.type, ())
        return positions is None or i in positions


class Model:
    """A model, and the names of values which its functions are traced with (`needed`)."""

    def __init__(self, model):
        opsets = {o.domain: o.version for o in model.opset_import}
        graph = model.graph
        for v in [*graph.input, *graph.output]:
            kind = v.type.WhichOneof("value")
            if kind != "tensor_type":
                raise Unsupported(f"{kind.removesuffix('_type')} type")
            dtype_of(v.type.tensor_type.elem_type)
        self.nodes = [Node(n, opsets.get(n.domain, 0)) for n in graph.node]
        for node in self.nodes:
            self._check(node)
        self.constants = {t.name: numpy_helper.to_array(t) for t in graph.initializer}
        self.inputs = [v.name for v in graph.input if v.name not in self.constants]
        self.outputs = [v.name for v in graph.output]
        self.needed = self._needed()

    def _check(self, node):
        if node.type in OPS and node.proto.domain == "":
            return
        for names, reason in (
            (SHAPE_DEPENDS_ON_VALUES, "output shape depends on values"),
            (RANDOM, "random numbers"),
            (CONTROL_FLOW, "control flow"),
        ):
            if node.type in names:
                raise Unsupported(f"{reason} ({node.type})")
        raise Unsupported(f"op type {node.type}")

    def _needed(self):
        needed = set()
        for node in reversed(self.nodes):
            names = node.proto.input
            if any(o in needed for o in node.proto.output):
                # A shape is known, and of what CastLike is cast to only the dtype matters.
                names = {"Shape": [], "Size": [], "CastLike": names[:1]}.get(node.type, names)
                needed.update(names)
            else:
                needed.update(n for i, n in enumerate(names) if node.is_static(i))
        needed.discard("")
        return needed

    def function(self, known):
        """The graph as a function of the inputs that are not in `known`, a dict of arrays."""
        names = [n for n in self.inputs if n not in known]

        def run(*arrays):
            values = {**self.constants, **known, **dict(zip(names, arrays))}
            for node in self.nodes:
                results = self._run(node, values)
                values.update(zip(node.proto.output, results))
            return tuple(self._result(values[o], o) for o in self.outputs)

        return run

    def _run(self, node, values):
        inputs = [values[n] if n else None for n in node.proto.input]
        if node.type not in ("Shape", "Size", "Constant"):
            if any(o in self.needed for o in node.proto.output):
                return _fold(node, inputs)
            inputs = [self._operand(node, i, x) for i, x in enumerate(inputs)]
        results = OPS[node.type](node, *inputs)
        return results if isinstance(results, (tuple, list)) else (results,)

    def _operand(self, node, i, x):
        if x is None:
            return None
        if not node.is_static(i):
            return jf.asarray(x)
        if isinstance(x, jf.Array):
            raise Unsupported(f"input {i} of {node.type} is computed from values")
        return np.asarray(x)

    def _result(self, x, name):
        if isinstance(x, jf.Array):
            return x
        made = next(n.type for n in self.nodes if name in n.proto.output)
        if made not in ("Shape", "Size", "Constant"):
            raise Unsupported("result needed while tracing")
        return jf.asarray(x)


def _fold(node, inputs):
    """What shapes and axes are computed with, done while tracing, by ONNX's own evaluator."""
    if node.type == "CastLike":
        dtype = inputs[1].dtype
        return (np.asarray(inputs[0]).astype(getattr(dtype, "name", dtype)),)
    if any(isinstance(x, jf.Array) for x in inputs):
        raise Unsupported(f"a shape is computed from values ({node.type})")
    names = [n for n in node.proto.input if n]
    graph = onnx.helper.make_graph(
        [node.proto], "g",
        [onnx.helper.make_tensor_value_info(n, 0, None) for n in dict.fromkeys(names)],
        [onnx.helper.make_tensor_value_info(n, 0, None) for n in node.proto.output],
    )  # fmt: skip
    model = onnx.helper.make_model(
        graph, opset_imports=[onnx.helper.make_opsetid(node.proto.domain, node.opset)]
    )
    feeds = {n: np.asarray(x) for n, x in zip(node.proto.input, inputs) if n}
    return ReferenceEvaluator(model).run(None, feeds)


def ints(x):
    return [int(v) for v in np.asarray(x).ravel()]


def axes_of(node, axes, rank):
    """Axes from an input (newer opsets) or the attribute, all non-negative; None where absent."""
    given = ints(axes) if axes is not None else node.attr("axes")
    return None if given is None else tuple(a % rank if rank else 0 for a in given)


# Elementwise.

_DIRECT = {
    "Abs": jf.abs, "Acos": jf.acos, "Acosh": jf.acosh, "Add": jf.add, "And": jf.logical_and,
    "Asin": jf.asin, "Asinh": jf.asinh, "Atan": jf.atan, "Atanh": jf.atanh,
    "BitwiseAnd": jf.bitwise_and, "BitwiseNot": jf.bitwise_invert, "BitwiseOr": jf.bitwise_or,
    "BitwiseXor": jf.bitwise_xor, "Ceil": jf.ceil, "Cos": jf.cos, "Cosh": jf.cosh,
    "Equal": jf.equal, "Erf": jf.erf, "Exp": jf.exp, "Floor": jf.floor, "Greater": jf.greater,
    "GreaterOrEqual": jf.greater_equal, "IsNaN": jf.isnan, "Less": jf.less,
    "LessOrEqual": jf.less_equal, "Log": jf.log, "MatMul": jf.matmul, "Mish": jf.nn.mish,
    "Mul": jf.multiply, "Neg": jf.negative, "Not": jf.logical_not, "Or": jf.logical_or,
    "PRelu": lambda x, s: jf.where(x < 0, x * s, x), "Reciprocal": jf.reciprocal,
    "Relu": lambda x: jf.maximum(x, 0), "Round": jf.round, "Sigmoid": jf.nn.sigmoid,
    "Sign": jf.sign, "Sin": jf.sin, "Sinh": jf.sinh, "Softsign": jf.nn.softsign, "Sqrt": jf.sqrt,
    "Sub": jf.subtract, "Tan": jf.tan, "Tanh": jf.tanh, "Where": jf.where,
    "Xor": jf.logical_xor, "HardSwish": jf.nn.hardswish, "Identity": jf.positive,
    "Softplus": jf.nn.softplus,
}  # fmt: skip


def _direct(function):
    return lambda node, *inputs: function(*inputs)


OPS.update({name: _direct(function) for name, function in _DIRECT.items()})


@op("Div")
def _(node, a, b):
    return jf.divide(a, b) if a.dtype.kind == "float" else jf.trunc_divide(a, b)


@op("Mod")
def _(node, a, b):
    return jf.fmod(a, b) if node.attr("fmod", 0) else jf.remainder(a, b)


@op("Pow")
def _(node, a, b):
    return jf.astype(jf.pow(a, b), a.dtype)


@op("BitShift")
def _(node, a, b):
    left = node.attr("direction") == "LEFT"
    return (jf.bitwise_left_shift if left else jf.bitwise_right_shift)(a, b)


@op("Max", "Min", "Sum", "Mean")
def _(node, *items):
    function = {"Max": jf.maximum, "Min": jf.minimum}.get(node.type, jf.add)
    result = items[0]
    for x in items[1:]:
        result = function(result, x)
    return result / len(items) if node.type == "Mean" else result


@op("Clip")
def _(node, x, low=None, high=None):
    low = node.attr("min") if low is None else low
    high = node.attr("max") if high is None else high
    return jf.clip(x, low, high)


@op("Cast", "CastLike")
def _(node, x, like=None):
    return jf.astype(x, dtype_of(node.attr("to")) if like is None else like.dtype)


@op("IsInf")
def _(node, x):
    either = jf.isinf(x)
    if not node.attr("detect_negative", 1):
        either = either & (x > 0)
    return either & (x < 0) if not node.attr("detect_positive", 1) else either


@op("Elu")
def _(node, x):
    return jf.nn.elu(x, node.attr("alpha", 1.0))


@op("Celu")
def _(node, x):
    return jf.nn.celu(x, node.attr("alpha", 1.0))


@op("Selu")
def _(node, x):
    alpha = node.attr("alpha", 1.67326319217681884765625)
    return node.attr("gamma", 1.05070102214813232421875) * jf.nn.elu(x, alpha)


@op("LeakyRelu")
def _(node, x):
    return jf.nn.leaky_relu(x, node.attr("alpha", 0.01))


@op("ThresholdedRelu")
def _(node, x):
    return jf.nn.threshold(x, node.attr("alpha", 1.0), 0)


@op("HardSigmoid")
def _(node, x):
    return jf.clip(x * node.attr("alpha", 0.2) + node.attr("beta", 0.5), 0, 1)


@op("Shrink")
def _(node, x):
    lambd, bias = node.attr("lambd", 0.5), node.attr("bias", 0.0)
    return jf.where(x < -lambd, x + bias, jf.where(x > lambd, x - bias, 0))


@op("Gelu")
def _(node, x):
    return jf.nn.gelu(x, node.attr("approximate", "none"))


@op("Swish")
def _(node, x):
    return x * jf.nn.sigmoid(x * node.attr("alpha", 1.0))


@op("Dropout")
def _(node, x, ratio=None, training=None):
    if training is not None and bool(training) and (ratio is None or float(ratio) != 0):
        raise Unsupported("random numbers (Dropout)")
    return x, jf.ones(x.shape, dtype=bool)


# Reductions.

_REDUCE = {
    "ReduceL1": lambda x, **k: jf.sum(jf.abs(x), **k),
    "ReduceL2": lambda x, **k: jf.sqrt(jf.sum(x * x, **k)),
    "ReduceLogSum": lambda x, **k: jf.log(jf.sum(x, **k)),
    "ReduceLogSumExp": jf.logsumexp,
    "ReduceMax": jf.max,
    "ReduceMean": jf.mean,
    "ReduceMin": jf.min,
    "ReduceProd": jf.prod,
    "ReduceSum": jf.sum,
    "ReduceSumSquare": lambda x, **k: jf.sum(x * x, **k),
}


def _beside_the_least(x, axes, sign):
    axes = tuple(range(x.ndim)) if axes is None else axes
    shape = tuple(1 if a in axes else d for a, d in enumerate(x.shape))
    if x.dtype.kind == "float":
        least = sign * math.inf
    elif x.dtype.kind == "bool":
        least = sign > 0
    else:
        least = jf.iinfo(x.dtype).max if sign > 0 else jf.iinfo(x.dtype).min
    return jf.full(shape, least, dtype=x.dtype), axes


@op(*_REDUCE)
def _(node, x, axes=None):
    axes = axes_of(node, axes, x.ndim)
    if not axes and node.attr("noop_with_empty_axes", 0):
        axes = ()
    elif not axes:
        axes = None
    dtype = x.dtype
    if node.type in ("ReduceMax", "ReduceMin"):
        if any(int(x.shape[a]) == 0 for a in (range(x.ndim) if axes is None else axes)):
            # ONNX gives the maximum of nothing a value: the least of the dtype.
            x, axes = _beside_the_least(x, axes, -1 if node.type == "ReduceMax" else 1)
        x = jf.astype(x, "uint8") if dtype == "bool" else x
    result = _REDUCE[node.type](x, axis=axes, keepdims=bool(node.attr("keepdims", 1)))
    return jf.astype(result, dtype)


@op("ArgMax", "ArgMin")
def _(node, x):
    axis, keep = node.attr("axis", 0), bool(node.attr("keepdims", 1))
    function = jf.argmax if node.type == "ArgMax" else jf.argmin
    if node.attr("select_last_index", 0):
        last = int(x.shape[axis]) - 1
        return last - function(jf.flip(x, axis=axis), axis=axis, keepdims=keep)
    return function(x, axis=axis, keepdims=keep)


@op("CumSum", "CumProd")
def _(node, x, axis):
    axis = int(np.asarray(axis).item())
    function = jf.cumulative_sum if node.type == "CumSum" else jf.cumulative_prod
    x = jf.flip(x, axis=axis) if node.attr("reverse", 0) else x
    exclusive = bool(node.attr("exclusive", 0))
    y = function(x, axis=axis, dtype=x.dtype, include_initial=exclusive)
    if exclusive:
        y = y[(slice(None),) * (axis % x.ndim) + (slice(0, -1),)]
    return jf.flip(y, axis=axis) if node.attr("reverse", 0) else y


@op("Softmax", "LogSoftmax", "Hardmax")
def _(node, x):
    axis = node.attr("axis", 1 if node.opset < 13 else -1)
    function = {"Softmax": jf.nn.softmax, "LogSoftmax": jf.nn.log_softmax, "Hardmax": _hardmax}
    if node.opset >= 13:
        return function[node.type](x, axis)
    shape = [int(d) for d in x.shape]
    flat = jf.reshape(x, (math.prod(shape[:axis]), -1))
    return jf.reshape(function[node.type](flat, 1), x.shape)


def _hardmax(x, axis):
    shape = [1] * x.ndim
    shape[axis] = -1
    at = jf.reshape(jf.arange(int(x.shape[axis])), shape)
    return jf.astype(at == jf.argmax(x, axis=axis, keepdims=True), x.dtype)


# By position.


@op("Gather")
def _(node, x, indices):
    return jf.take(x, indices, axis=node.attr("axis", 0))


@op("GatherElements")
def _(node, x, indices):
    return jf.take_along_axis(x, indices, axis=node.attr("axis", 0))


@op("GatherND")
def _(node, x, indices):
    batch = node.attr("batch_dims", 0)
    shape = [int(d) for d in indices.shape]
    keys = []
    for axis in range(batch):
        own = [1] * (len(shape) - 1)
        own[axis] = -1
        keys.append(jf.reshape(jf.arange(shape[axis]), own))
    keys += [indices[..., i] for i in range(shape[-1])]
    return x[tuple(keys)]


@op("ScatterElements")
def _(node, x, indices, updates):
    if node.attr("reduction", "none") != "add":
        raise Unsupported("scatter that is no sum (ScatterElements)")
    return jf.scatter_add(x, indices, updates, axis=node.attr("axis", 0))


# Linear algebra.


@op("Gemm")
def _(node, a, b, c=None):
    a = jf.matrix_transpose(a) if node.attr("transA", 0) else a
    b = jf.matrix_transpose(b) if node.attr("transB", 0) else b
    y = node.attr("alpha", 1.0) * (a @ b)
    return y if c is None else y + node.attr("beta", 1.0) * c


@op("Einsum")
def _(node, *items):
    return jf.einsum(node.attr("equation"), *items)


@op("MatMulInteger")
def _(node, a, b, zero_a=None, zero_b=None):
    a, b = jf.astype(a, "int32"), jf.astype(b, "int32")
    if zero_a is not None:
        zero = jf.astype(zero_a, "int32")
        a = a - (jf.expand_dims(zero, axis=1) if zero.ndim == 1 and zero.shape[0] > 1 else zero)
    b = b if zero_b is None else b - jf.astype(zero_b, "int32")
    products = jf.expand_dims(a, axis=-1) * jf.expand_dims(b, axis=-3)
    return jf.astype(jf.sum(products, axis=-2), "int32")
