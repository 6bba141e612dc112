"""ONNX's ops that change shapes or make arrays from numbers, as functions of jitfuse. They go into
onnx_adapter.OPS, whose file says how."""

import math

import numpy as np
from onnx import TensorProto, numpy_helper

import jitfuse as jf
from onnx_adapter import DTYPES, Unsupported, axes_of, dtype_of, ints, op

# Shapes.


@op("Constant")
def _(node):
    if "value" in node.attrs:
        return numpy_helper.to_array(node.attrs["value"])
    for name, dtype in (("float", "float32"), ("int", "int64")):
        for key in (f"value_{name}", f"value_{name}s"):
            if key in node.attrs:
                return np.asarray(node.attrs[key], dtype)
    raise Unsupported(f"Constant with {', '.join(node.attrs)}")


@op("Shape", "Size")
def _(node, x):
    shape = [int(d) for d in x.shape]
    if node.type == "Size":
        return np.int64(math.prod(shape))
    return np.asarray(shape[node.attr("start", 0) : node.attr("end")], np.int64)


@op("ConstantOfShape")
def _(node, shape):
    value = node.attrs.get("value")
    value = np.float32([0]) if value is None else numpy_helper.to_array(value)
    return jf.full(tuple(ints(shape)), value.item(), dtype=value.dtype)


@op("Reshape")
def _(node, x, shape):
    shape = ints(shape)
    if not node.attr("allowzero", 0):
        shape = [x.shape[i] if d == 0 else d for i, d in enumerate(shape)]
    return jf.reshape(x, shape)


@op("Flatten")
def _(node, x):
    axis = node.attr("axis", 1)
    axis += x.ndim if axis < 0 else 0
    shape = [int(d) for d in x.shape]
    return jf.reshape(x, (math.prod(shape[:axis]), math.prod(shape[axis:])))


@op("Transpose")
def _(node, x):
    return jf.permute_dims(x, node.attr("perm", list(reversed(range(x.ndim)))))


@op("Squeeze")
def _(node, x, axes=None):
    axes = axes_of(node, axes, x.ndim)
    if axes is None:
        axes = tuple(i for i, d in enumerate(x.shape) if int(d) == 1)
    return jf.squeeze(x, axes)


@op("Unsqueeze")
def _(node, x, axes=None):
    given = node.attr("axes") if axes is None else ints(axes)
    return jf.expand_dims(x, axis=tuple(a % (x.ndim + len(given)) for a in given))


@op("Expand")
def _(node, x, shape):
    return jf.broadcast_to(x, jf.broadcast_shapes(x.shape, tuple(ints(shape))))


@op("Tile")
def _(node, x, repeats):
    return jf.tile(x, ints(repeats))


@op("Concat")
def _(node, *items):
    return jf.concat(items, axis=node.attr("axis"))


@op("Split")
def _(node, x, sizes=None):
    axis = node.attr("axis", 0)
    sizes = node.attr("split") if sizes is None else ints(sizes)
    if sizes is None:
        parts = node.attr("num_outputs", node.outputs)
        size = -(-int(x.shape[axis]) // parts)
        sizes = [size] * (parts - 1)
    return jf.split(x, np.cumsum(sizes)[: node.outputs - 1].tolist(), axis=axis)


@op("Slice")
def _(node, x, starts=None, ends=None, axes=None, steps=None):
    starts = node.attr("starts") if starts is None else ints(starts)
    ends = node.attr("ends") if ends is None else ints(ends)
    axes = axes_of(node, axes, x.ndim) or range(len(starts))
    steps = [1] * len(starts) if steps is None else ints(steps)
    keys = [slice(None)] * x.ndim
    for axis, start, end, step in zip(axes, starts, ends, steps):
        if step < 0 and end < -int(x.shape[axis]):
            end = None
        keys[axis] = slice(start, end, step)
    return x[tuple(keys)]


@op("Pad")
def _(node, x, pads=None, value=None, axes=None):
    mode = node.attr("mode", "constant")
    pads = node.attr("pads") if pads is None else ints(pads)
    axes = axes_of(node, axes, x.ndim) or range(x.ndim)
    pairs = [(0, 0)] * x.ndim
    for i, axis in enumerate(axes):
        pairs[axis] = (pads[i], pads[i + len(pads) // 2])
    if mode != "constant":
        return jf.pad(x, pairs, mode)
    padded = jf.pad(x, pairs)
    if value is None:
        return padded
    inside = jf.pad(jf.ones(x.shape, dtype=bool), pairs)
    return jf.where(inside, padded, jf.reshape(value, ()))


@op("CenterCropPad")
def _(node, x, shape):
    for axis, size in zip(axes_of(node, None, x.ndim) or range(x.ndim), ints(shape)):
        have = int(x.shape[axis])
        before = abs(size - have) // 2
        if size <= have:
            x = x[(slice(None),) * axis + (slice(before, before + size),)]
        else:
            pairs = [(0, 0)] * x.ndim
            pairs[axis] = (before, size - have - before)
            x = jf.pad(x, pairs)
    return x


@op("DepthToSpace", "SpaceToDepth")
def _(node, x):
    b = node.attr("blocksize")
    n, c, h, w = (int(d) for d in x.shape)
    if node.type == "SpaceToDepth":
        order = (0, 3, 5, 1, 2, 4) if node.attr("mode", "DCR") == "DCR" else (0, 1, 3, 5, 2, 4)
        x = jf.permute_dims(jf.reshape(x, (n, c, h // b, b, w // b, b)), order)
        return jf.reshape(x, (n, c * b * b, h // b, w // b))
    if node.attr("mode", "DCR") == "DCR":
        x = jf.permute_dims(jf.reshape(x, (n, b, b, c // (b * b), h, w)), (0, 3, 4, 1, 5, 2))
    else:
        x = jf.permute_dims(jf.reshape(x, (n, c // (b * b), b, b, h, w)), (0, 1, 4, 2, 5, 3))
    return jf.reshape(x, (n, c // (b * b), h * b, w * b))


@op("Trilu")
def _(node, x, k=None):
    k = 0 if k is None else int(np.asarray(k).item())
    return jf.triu(x, k=k) if node.attr("upper", 1) else jf.tril(x, k=k)


# Made from numbers.


@op("Range")
def _(node, start, limit, delta):
    if start.dtype.name not in DTYPES.values():
        raise Unsupported(f"dtype {start.dtype.name}")
    return jf.arange(start.item(), limit.item(), delta.item(), dtype=start.dtype)


@op("EyeLike")
def _(node, x):
    dtype = dtype_of(node.attrs["dtype"]) if "dtype" in node.attrs else x.dtype
    return jf.eye(*x.shape, k=node.attr("k", 0), dtype=dtype)


@op("OneHot")
def _(node, indices, depth, values):
    depth, axis = int(np.asarray(depth).item()), node.attr("axis", -1)
    at = jf.expand_dims(jf.where(indices < 0, indices + depth, indices), axis=axis)
    shape = [1] * at.ndim
    shape[axis] = depth
    places = jf.astype(jf.reshape(jf.arange(depth), shape), at.dtype)
    return jf.where(at == places, values[1], values[0])


@op("BlackmanWindow", "HammingWindow", "HannWindow")
def _(node, size):
    size = int(size)
    step = 2 * math.pi / (size if node.attr("periodic", 1) else size - 1)
    at = jf.arange(size, dtype="float64") * step
    a = {"HammingWindow": 25 / 46, "HannWindow": 0.5, "BlackmanWindow": 0.42}[node.type]
    y = a - (0.5 if node.type == "BlackmanWindow" else 1 - a) * jf.cos(at)
    y = y + 0.08 * jf.cos(2 * at) if node.type == "BlackmanWindow" else y
    return jf.astype(y, dtype_of(node.attr("output_datatype", TensorProto.FLOAT)))
