"""ONNX's ops of neural networks as functions of jitfuse: quantisation, normalisations, windows,
losses, attention, recurrent layers. They go into onnx_adapter.OPS, whose file says how."""

import math

import numpy as np
from onnx import TensorProto

import jitfuse as jf
from onnx_adapter import Unsupported, dtype_of, ints, op

# Quantisation.


def _per_axis(node, scale, x):
    """A scale (or zero point) beside x: of one element, for each slice of an axis, or blocks."""
    if scale.ndim == 0 or (scale.ndim == 1 and int(scale.shape[0]) == 1):
        return jf.reshape(scale, ())
    axis = node.attr("axis", 1) % x.ndim
    if block := node.attr("block_size", 0):
        wide = jf.repeat(scale, block, axis=axis)
        return wide[(slice(None),) * axis + (slice(0, int(x.shape[axis])),)]
    shape = [1] * x.ndim
    shape[axis] = -1
    return jf.reshape(scale, shape)


@op("QuantizeLinear")
def _(node, x, scale, zero=None):
    if zero is None:
        dtype = dtype_of(node.attr("output_dtype", 0) or TensorProto.UINT8)
    else:
        dtype = zero.dtype.name
    if dtype not in ("int8", "uint8", "int16", "uint16"):
        raise Unsupported(f"QuantizeLinear to {dtype}")
    y = jf.round(x / _per_axis(node, scale, x))
    if zero is not None:
        y = y + jf.astype(_per_axis(node, zero, x), y.dtype)
    limits = np.iinfo(dtype)
    return jf.astype(jf.clip(y, float(limits.min), float(limits.max)), dtype)


@op("DequantizeLinear")
def _(node, x, scale, zero=None):
    wide = jf.astype(x, "int32")
    if zero is not None:
        wide = wide - jf.astype(_per_axis(node, zero, x), "int32")
    return jf.astype(wide, scale.dtype) * _per_axis(node, scale, x)


@op("DynamicQuantizeLinear")
def _(node, x):
    low, high = jf.minimum(jf.min(x), 0), jf.maximum(jf.max(x), 0)
    scale = (high - low) / 255
    zero = jf.clip(jf.round(0 - low / scale), 0, 255)
    y = jf.clip(jf.round(x / scale) + zero, 0, 255)
    return jf.astype(y, "uint8"), scale, jf.astype(zero, "uint8")


# Normalisations.


def _wide(x):
    return jf.astype(x, "float32") if x.dtype.itemsize < 4 else x


@op("LayerNormalization")
def _(node, x, scale, bias=None):
    axis = node.attr("axis", -1) % x.ndim
    eps = node.attr("epsilon", 1e-5)
    shape = x.shape[axis:]
    y = jf.nn.layer_norm(x, shape, jf.broadcast_to(scale, shape), bias, eps)
    axes = tuple(range(axis, x.ndim))
    mean, var = jf.moments(_wide(x), axis=axes, keepdims=True)
    return y, mean, 1 / jf.sqrt(var + eps)


@op("RMSNormalization")
def _(node, x, scale):
    axis = node.attr("axis", -1) % x.ndim
    shape = x.shape[axis:]
    return jf.nn.rms_norm(x, shape, jf.broadcast_to(scale, shape), node.attr("epsilon", 1e-5))


@op("BatchNormalization")
def _(node, x, scale, bias, mean, var):
    eps, momentum = node.attr("epsilon", 1e-5), node.attr("momentum", 0.9)
    if not node.attr("training_mode", 0):
        return jf.nn.batch_norm(x, mean, var, scale, bias, eps=eps)
    axes = (0, *range(2, x.ndim))
    own_mean, own_var = jf.moments(x, axis=axes)
    y = jf.nn.batch_norm(x, own_mean, own_var, scale, bias, eps=eps)
    new = [a * momentum + b * (1 - momentum) for a, b in ((mean, own_mean), (var, own_var))]
    return (y, *new)


@op("InstanceNormalization")
def _(node, x, scale, bias):
    return jf.nn.instance_norm(x, weight=scale, bias=bias, eps=node.attr("epsilon", 1e-5))


@op("GroupNormalization")
def _(node, x, scale, bias):
    groups = node.attr("num_groups")
    if node.opset < 21:
        scale, bias = (jf.repeat(t, int(x.shape[1]) // groups) for t in (scale, bias))
    return jf.nn.group_norm(x, groups, scale, bias, node.attr("epsilon", 1e-5))


@op("MeanVarianceNormalization")
def _(node, x):
    mean, var = jf.moments(x, axis=tuple(node.attr("axes", [0, 2, 3])), keepdims=True)
    return (x - mean) / (jf.sqrt(var) + 1e-9)


@op("LpNormalization")
def _(node, x):
    axis, p = node.attr("axis", -1), node.attr("p", 2)
    norm = jf.linalg.vector_norm(x, axis=axis, ord=p, keepdims=True)
    return jf.where(norm == 0, 0, x / norm)


@op("LRN")
def _(node, x):
    size = node.attr("size")
    low = (size - 1) // 2
    padded = jf.pad(x * x, [(0, 0), (low, size - 1 - low)] + [(0, 0)] * (x.ndim - 2))
    total = jf.sum(jf.windows(padded, axis=1, size=size), axis=-1)
    base = node.attr("bias", 1.0) + node.attr("alpha", 1e-4) / size * total
    return x / jf.pow(base, node.attr("beta", 0.75))


# Windows.


def _geometry(node, x, kernel):
    """strides, dilations and (before, after) of each spatial axis, with auto_pad done."""
    count = len(kernel)
    strides = node.attr("strides", [1] * count)
    dilations = node.attr("dilations", [1] * count)
    pads = node.attr("pads", [0] * (2 * count))
    pairs = [(pads[i], pads[i + count]) for i in range(count)]
    auto = node.attr("auto_pad", "NOTSET")
    if auto == "VALID":
        pairs = [(0, 0)] * count
    elif auto.startswith("SAME"):
        pairs = []
        for size, k, s, d in zip(x.shape[2:], kernel, strides, dilations):
            size = int(size)
            total = max((-(-size // s) - 1) * s + (k - 1) * d + 1 - size, 0)
            small, large = total // 2, total - total // 2
            pairs.append((small, large) if auto == "SAME_UPPER" else (large, small))
    if node.attr("ceil_mode", 0):
        for i, (size, k, s, d) in enumerate(zip(x.shape[2:], kernel, strides, dilations)):
            low, high = pairs[i]
            room = int(size) + low + high - (k - 1) * d - 1
            count_out = -(-room // s) + 1
            if (count_out - 1) * s >= int(size) + low:
                count_out -= 1
            pairs[i] = (low, high + max(0, (count_out - 1) * s - room))
    return strides, dilations, pairs


def _windows(x, kernel, strides, dilations, pairs, fill):
    """[n, c, out..., kernel...] of x with `fill` around it."""
    if any(p != (0, 0) for p in pairs):
        x = jf.pad(x, [(0, 0), (0, 0), *pairs], constant_values=fill)
    for i, (k, s, d) in enumerate(zip(kernel, strides, dilations)):
        x = jf.windows(x, axis=2 + i, size=k, stride=s, dilation=d)
    return x


@op("MaxPool")
def _(node, x):
    if node.wants(1):
        raise Unsupported("MaxPool with indices")
    kernel = node.attr("kernel_shape")
    fill = -math.inf if x.dtype.kind == "float" else jf.iinfo(x.dtype).min
    w = _windows(x, kernel, *_geometry(node, x, kernel), fill)
    return jf.max(w, axis=tuple(range(-len(kernel), 0)))


@op("AveragePool", "LpPool")
def _(node, x):
    kernel = node.attr("kernel_shape")
    strides, dilations, pairs = _geometry(node, x, kernel)
    axes = tuple(range(-len(kernel), 0))
    w = _windows(x, kernel, strides, dilations, pairs, 0)
    if node.type == "LpPool":
        p = node.attr("p", 2)
        return jf.pow(jf.sum(jf.pow(jf.abs(w), p), axis=axes), 1.0 / p)
    own = node.attr("pads", [0] * (2 * len(kernel)))
    if node.attr("auto_pad", "NOTSET") != "NOTSET":
        own = [p[0] for p in pairs] + [p[1] for p in pairs]
    inside = jf.ones((1, 1, *x.shape[2:]), dtype=x.dtype)
    if node.attr("count_include_pad", 0):  # but not what ceil_mode reaches beyond
        extent = [(own[i], own[i + len(kernel)]) for i in range(len(kernel))]
        inside = jf.pad(inside, [(0, 0), (0, 0), *extent], constant_values=1)
        pairs = [(0, high - own[i + len(kernel)]) for i, (_, high) in enumerate(pairs)]
    counted = _windows(inside, kernel, strides, dilations, pairs, 0)
    return jf.sum(w, axis=axes) / jf.sum(counted, axis=axes)


@op("GlobalAveragePool", "GlobalMaxPool")
def _(node, x):
    function = jf.mean if node.type == "GlobalAveragePool" else jf.max
    return function(x, axis=tuple(range(2, x.ndim)), keepdims=True)


@op("Conv")
def _(node, x, w, bias=None):
    """As a matrix product of windows, since there is no op of its own."""
    groups = node.attr("group", 1)
    kernel = [int(d) for d in w.shape[2:]]
    count = len(kernel)
    cut = _windows(x, kernel, *_geometry(node, x, kernel), 0)
    n, c = int(x.shape[0]), int(x.shape[1])
    outs = [int(d) for d in cut.shape[2 : 2 + count]]
    cut = jf.reshape(cut, (n, groups, c // groups, *outs, math.prod(kernel)))
    cut = jf.permute_dims(cut, (0, 1, *range(3, 3 + count), 2, 3 + count))
    cut = jf.reshape(cut, (n, groups, math.prod(outs), c // groups * math.prod(kernel)))
    m = int(w.shape[0])
    y = cut @ jf.matrix_transpose(jf.reshape(w, (groups, m // groups, -1)))
    y = jf.reshape(jf.matrix_transpose(y), (n, m, *outs))
    return y if bias is None else y + jf.reshape(bias, (-1, *[1] * count))


# Losses.


@op("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def _(node, x, target, weight=None):
    log_p = x if node.type.startswith("Neg") else jf.nn.log_softmax(x, 1)
    ignore = node.attr("ignore_index", -100)
    y = jf.nn.nll_loss(
        log_p, target, weight, ignore_index=ignore, reduction=node.attr("reduction", "mean")
    )
    return y, log_p


# Attention.


def _heads(x, heads):
    """[b, s, heads * size] as [b, heads, s, size]."""
    b, s, width = (int(d) for d in x.shape)
    return jf.permute_dims(jf.reshape(x, (b, s, heads, width // heads)), (0, 2, 1, 3))


def _attention_bias(node, q, mask, past, valid, keys):
    """What is added to the scores: 0, -inf or the mask's values; None where nothing is."""
    parts = []
    if mask is not None:
        if mask.dtype == "bool":
            mask = jf.astype(jf.where(mask, 0.0, -math.inf), q.dtype)
        if (missing := keys - int(mask.shape[-1])) > 0:
            border = [(0, 0)] * (mask.ndim - 1) + [(0, missing)]
            mask = jf.pad(mask, border, constant_values=-math.inf)
        parts.append(mask)
    queries = int(q.shape[2])
    column = jf.arange(keys)
    row = jf.expand_dims(jf.arange(queries), axis=1)
    if valid is not None:
        valid = jf.reshape(valid, (-1, 1, 1, 1))
        row = row + valid - queries
        parts.append(jf.where(column < valid, 0.0, -math.inf))
    elif past is not None:
        row = row + int(past.shape[2])
    left, right = node.attr("left_window_size", -1), node.attr("right_window_size", -1)
    if node.attr("is_causal", 0):
        parts.append(jf.where(column <= row, 0.0, -math.inf))
    if left >= 0:
        parts.append(jf.where(row - column <= left, 0.0, -math.inf))
    if right >= 0:
        parts.append(jf.where(column - row <= right, 0.0, -math.inf))
    bias = None
    for part in parts:
        part = jf.astype(part, q.dtype)
        bias = part if bias is None else bias + part
    return bias


@op("Attention")
def _(node, q, k, v, mask=None, past_key=None, past_value=None, valid=None):
    flat = q.ndim == 3
    if flat:
        own, shared = node.attr("q_num_heads"), node.attr("kv_num_heads")
        q, k, v = _heads(q, own), _heads(k, shared), _heads(v, shared)
    present_key = k if past_key is None else jf.concat([past_key, k], axis=2)
    present_value = v if past_value is None else jf.concat([past_value, v], axis=2)
    groups = int(q.shape[1]) // int(k.shape[1])
    k, v = (jf.repeat(t, groups, axis=1) for t in (present_key, present_value))
    scale = math.sqrt(node.attr("scale") or 1 / math.sqrt(int(q.shape[3])))
    scores = (q * scale) @ jf.matrix_transpose(k * scale)
    shown = [scores]
    if cap := node.attr("softcap", 0.0):
        scores = jf.tanh(scores / cap) * cap
    shown.append(scores)
    bias = _attention_bias(node, q, mask, past_key, valid, int(k.shape[2]))
    scores = scores if bias is None else scores + bias
    shown.append(scores)
    precision = node.attr("softmax_precision")
    wide = scores if precision is None else jf.astype(scores, dtype_of(precision))
    weights = jf.nn.softmax(wide, -1)
    if bias is not None:  # a row that may look at nothing is 0
        weights = jf.where(jf.max(bias, axis=-1, keepdims=True) == -math.inf, 0, weights)
    weights = jf.astype(weights, q.dtype)
    shown.append(weights)
    y = weights @ v
    if flat:
        y = jf.permute_dims(y, (0, 2, 1, 3))
        y = jf.reshape(y, (*y.shape[:2], -1))
    # Modes of the scores shown: 0 plain, 1 capped, 2 with bias, 3 after softmax.
    return y, present_key, present_value, shown[node.attr("qk_matmul_output_mode", 0)]


# Recurrent layers, unrolled.


def _recurrent(node, x, w, r, bias, start, step, states, bias_parts):
    """Runs step(x, state..., w, r, biases) forward, in reverse or both ways over axis 0 of x."""
    if node.attr("clip") is not None or "activations" in node.attrs:
        raise Unsupported(f"{node.type} with clip or activations")
    layout = node.attr("layout", 0)
    x = jf.permute_dims(x, (1, 0, 2)) if layout else x
    steps, batch, hidden = int(x.shape[0]), int(x.shape[1]), int(r.shape[2])
    direction = node.attr("direction", "forward")
    ways = {"forward": [1], "reverse": [-1], "bidirectional": [1, -1]}[direction]
    outputs, finals = [], []
    for i, way in enumerate(ways):
        if start[0] is None:
            state = [jf.zeros((batch, hidden), dtype=x.dtype) for _ in range(states)]
        else:
            state = [s[:, i] if layout else s[i] for s in start]
        gates = bias_parts * hidden
        b = jf.zeros((2 * gates,), dtype=x.dtype) if bias is None else bias[i]
        seen = []
        for t in range(steps)[::way]:
            state = step(x[t], state, w[i], r[i], b[:gates], b[gates:])
            seen.append(state[0])
        outputs.append(jf.stack(seen[::way], axis=0))
        finals.append(state)
    y = jf.stack(outputs, axis=1)  # [steps, ways, batch, hidden]
    last = [jf.stack([f[j] for f in finals], axis=0) for j in range(states)]
    if layout:
        y = jf.permute_dims(y, (2, 0, 1, 3))
        last = [jf.permute_dims(s, (1, 0, 2)) for s in last]
    return (y, *last)


def _all_of_full_length(node, x, lengths):
    steps = int(x.shape[1 if node.attr("layout", 0) else 0])
    if lengths is not None and any(n != steps for n in ints(lengths)):
        raise Unsupported(f"{node.type} with shorter sequences")


@op("RNN")
def _(node, x, w, r, bias=None, lengths=None, h=None):
    _all_of_full_length(node, x, lengths)

    def step(x, state, w, r, bw, br):
        return [jf.tanh(x @ w.T + bw + state[0] @ r.T + br)]

    return _recurrent(node, x, w, r, bias, [h], step, 1, 1)


@op("GRU")
def _(node, x, w, r, bias=None, lengths=None, h=None):
    _all_of_full_length(node, x, lengths)

    def step(x, state, w, r, bw, br):
        (h,) = state
        n = int(h.shape[-1])
        a = x @ w.T + bw
        z = jf.nn.sigmoid(a[:, :n] + h @ r[:n].T + br[:n])
        k = jf.nn.sigmoid(a[:, n : 2 * n] + h @ r[n : 2 * n].T + br[n : 2 * n])
        if node.attr("linear_before_reset", 0):
            inner = k * (h @ r[2 * n :].T + br[2 * n :])
        else:
            inner = (k * h) @ r[2 * n :].T + br[2 * n :]
        return [(1 - z) * jf.tanh(a[:, 2 * n :] + inner) + z * h]

    return _recurrent(node, x, w, r, bias, [h], step, 1, 3)


@op("LSTM")
def _(node, x, w, r, bias=None, lengths=None, h=None, c=None, peepholes=None):
    _all_of_full_length(node, x, lengths)

    def step(x, state, w, r, bw, br):
        h, c = state
        n = int(h.shape[-1])
        i, o, f, g = jf.split(x @ w.T + h @ r.T + bw + br, 4, axis=-1)
        if peepholes is not None:
            pi, po, pf = (peepholes[0][j * n : (j + 1) * n] for j in range(3))
            i, f = i + pi * c, f + pf * c
        c = jf.nn.sigmoid(f) * c + jf.nn.sigmoid(i) * jf.tanh(g)
        o = o if peepholes is None else o + po * c
        return [jf.nn.sigmoid(o) * jf.tanh(c), c]

    return _recurrent(node, x, w, r, bias, [h, c], step, 2, 4)


@op("RotaryEmbedding")
def _(node, x, cos, sin, positions=None):
    flat = x.ndim == 3
    y = _heads(x, node.attr("num_heads")) if flat else x
    size = node.attr("rotary_embedding_dim", 0) or int(y.shape[3])
    if positions is not None:
        cos, sin = (jf.take(t, positions, axis=0) for t in (cos, sin))
    cos, sin = (jf.expand_dims(t[..., : size // 2], axis=1) for t in (cos, sin))
    turned, rest = y[..., :size], y[..., size:]
    if node.attr("interleaved", 0):
        a, b = turned[..., 0::2], turned[..., 1::2]
    else:
        a, b = turned[..., : size // 2], turned[..., size // 2 :]
    pair = [a * cos - b * sin, a * sin + b * cos]
    if node.attr("interleaved", 0):
        turned = jf.reshape(jf.stack(pair, axis=-1), turned.shape)
    else:
        turned = jf.concat(pair, axis=-1)
    y = jf.concat([turned, rest], axis=-1) if int(rest.shape[-1]) else turned
    return jf.reshape(jf.permute_dims(y, (0, 2, 1, 3)), x.shape) if flat else y
