"""The words that the bodies of cases are written with, in each library's own idiom: `body(F, *inputs)`.

A dialect is a class of static functions. One that lacks a word raises AttributeError, and its peer is shown as unable to run the
case. `dialect(name)` imports the library; nothing is imported here.
"""

import functools
import math

KEEP = 0.9  # of dropout, everywhere


class Words:
    """What all can say with operators, x.shape and slices alone."""

    @staticmethod
    def halves(x):
        middle = x.shape[-1] // 2
        return x[..., :middle], x[..., middle:]


def array_words(np, erf):
    """Of a library with NumPy's functions: NumPy itself, CuPy, jax.numpy."""

    class Ops(Words):
        tanh, abs, sqrt, square, exp = np.tanh, np.abs, np.sqrt, np.square, np.exp

        @staticmethod
        def relu(x):
            return np.maximum(x, 0)

        @staticmethod
        def gelu(x):
            return 0.5 * x * (1 + erf(x * math.sqrt(0.5)))

        @staticmethod
        def gelu_tanh(x):
            return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))

        @staticmethod
        def silu(x):
            return x / (1 + np.exp(-x))

        @staticmethod
        def sum(x, axis=None):
            return np.sum(x, axis=axis)

        @staticmethod
        def mean(x, axis=None):
            return np.mean(x, axis=axis)

        @staticmethod
        def softmax(x):
            e = np.exp(x - np.max(x, axis=-1, keepdims=True))
            return e / np.sum(e, axis=-1, keepdims=True)

        @staticmethod
        def layer_norm(x, w, b):
            mean = np.mean(x, axis=-1, keepdims=True)
            var = np.mean(np.square(x - mean), axis=-1, keepdims=True)
            return (x - mean) / np.sqrt(var + 1e-5) * w + b

        @staticmethod
        def rms_norm(x, w):
            return x / np.sqrt(np.mean(np.square(x), axis=-1, keepdims=True) + 1e-5) * w

        @staticmethod
        def cross_entropy(x, target):
            top = np.max(x, axis=-1, keepdims=True)
            total = np.log(np.sum(np.exp(x - top), axis=-1)) + top[:, 0]
            return total - np.take_along_axis(x, target[:, None], axis=-1)[:, 0]

        @staticmethod
        def batch_norm(x, mean, var, w, b):
            mean, var, w, b = (v.reshape(1, -1, 1, 1) for v in (mean, var, w, b))
            return (x - mean) / np.sqrt(var + 1e-5) * w + b

        @staticmethod
        def batch_norm_training(x, w, b):
            mean = np.mean(x, axis=(0, 2, 3))
            var = np.mean(np.square(x - mean.reshape(1, -1, 1, 1)), axis=(0, 2, 3))
            return Ops.batch_norm(x, mean, var, w, b)

        @staticmethod
        def transpose(x):
            return x.T

        @staticmethod
        def concat(parts):
            return np.concatenate(parts, axis=-1)

        @staticmethod
        def like(x, other):
            return x.astype(other.dtype)

        @staticmethod
        def linear(x, w, b):
            return x @ w.T + b

        @staticmethod
        def dropout(x):  # of the float64 reference: the expected value
            if np.__name__ != "numpy":
                raise AttributeError(f"{np.__name__} has no dropout")
            return x

    return Ops


@functools.cache
def numpy_ops():
    import numpy as np

    try:
        from scipy.special import erf
    except ImportError:
        slow = np.vectorize(math.erf, otypes=[np.float64])

        def erf(x):
            return slow(x).astype(x.dtype)

    return array_words(np, erf)


@functools.cache
def jax_ops():
    import jax.numpy
    import jax.scipy.special

    return array_words(jax.numpy, jax.scipy.special.erf)


@functools.cache
def cupy_ops():  # inside cupy.fuse only elementwise functions can be said
    import cupy
    from cupyx.scipy.special import erf

    ops = array_words(cupy, erf)
    return type("Ops", (Words,), {word: staticmethod(getattr(ops, word)) for word in
                                  ("tanh", "abs", "sqrt", "square", "exp", "relu", "gelu", "gelu_tanh", "silu")})


@functools.cache
def torch_ops():
    import torch
    import torch.nn.functional as F

    class Ops(Words):
        tanh, abs, sqrt, square, exp = torch.tanh, torch.abs, torch.sqrt, torch.square, torch.exp
        relu, gelu, silu, linear = F.relu, F.gelu, F.silu, F.linear

        @staticmethod
        def gelu_tanh(x):
            return F.gelu(x, approximate="tanh")

        @staticmethod
        def dropout(x):
            return x if x.dtype == torch.float64 else F.dropout(x, 1 - KEEP)  # the reference: the expected value

        @staticmethod
        def sum(x, axis=None):
            return torch.sum(x) if axis is None else torch.sum(x, axis)

        @staticmethod
        def mean(x, axis=None):
            return torch.mean(x) if axis is None else torch.mean(x, axis)

        @staticmethod
        def softmax(x):
            return F.softmax(x, -1)

        @staticmethod
        def layer_norm(x, w, b):
            return F.layer_norm(x, w.shape, w, b)

        @staticmethod
        def rms_norm(x, w):
            return F.rms_norm(x, w.shape, w, 1e-5)

        @staticmethod
        def cross_entropy(x, target):
            return F.cross_entropy(x, target, reduction="none")

        @staticmethod
        def batch_norm(x, mean, var, w, b):
            return F.batch_norm(x, mean, var, w, b)

        @staticmethod
        def batch_norm_training(x, w, b):
            return F.batch_norm(x, None, None, w, b, training=True)

        @staticmethod
        def transpose(x):
            return x.t()

        @staticmethod
        def concat(parts):
            return torch.cat(parts, -1)

        @staticmethod
        def like(x, other):
            return x.to(other.dtype)

    return Ops


@functools.cache
def jitfuse_ops():
    import jitfuse as jf

    nn = jf.nn

    class Ops(Words):
        tanh, abs, sqrt, square, exp = jf.tanh, jf.abs, jf.sqrt, jf.square, jf.exp
        relu, gelu, silu, linear = nn.relu, nn.gelu, nn.silu, nn.linear

        @staticmethod
        def gelu_tanh(x):
            return nn.gelu(x, approximate="tanh")

        @staticmethod
        def dropout(x):
            return nn.dropout(x, 1 - KEEP)

        @staticmethod
        def sum(x, axis=None):
            return jf.sum(x, axis=axis)

        @staticmethod
        def mean(x, axis=None):
            return jf.mean(x, axis=axis)

        @staticmethod
        def softmax(x):
            return nn.softmax(x, -1)

        @staticmethod
        def layer_norm(x, w, b):
            return nn.layer_norm(x, w.shape, w, b)

        @staticmethod
        def rms_norm(x, w):
            return nn.rms_norm(x, w.shape, w, 1e-5)

        @staticmethod
        def cross_entropy(x, target):
            return nn.cross_entropy(x, target, reduction="none")

        @staticmethod
        def batch_norm(x, mean, var, w, b):
            return nn.batch_norm(x, mean, var, w, b)

        @staticmethod
        def batch_norm_training(x, w, b):
            return nn.batch_norm(x, None, None, w, b, training=True)

        @staticmethod
        def transpose(x):
            return x.T

        @staticmethod
        def concat(parts):
            return jf.concat(parts, axis=-1)

        @staticmethod
        def like(x, other):
            return jf.astype(x, other.dtype)

    return Ops
