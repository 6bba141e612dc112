"""torch, CuPy and JAX as far as jitfuse._core knows them, with arrays of fake_gpu: for test_gpu_path.py's processes.

They put nothing in order and compute nothing; what they are asked is in fake_gpu.take_log() and in `asked`.
"""

import sys
import types

import fake_gpu
import numpy as np

asked = []  # (library, what, argument)
streams = types.SimpleNamespace(cupy=0x200)


def module(name, **members):
    made = sys.modules[name] = types.ModuleType(name)
    made.__dict__.update(members)
    return made


class Tensor(fake_gpu.Array):
    __dlpack_c_exchange_api__ = fake_gpu.exchange_table
    requires_grad = False
    is_cuda = True
    device = types.SimpleNamespace(type="cuda", index=0)

    def random_(self):
        asked.append(("torch", "random_", self.shape))
        return self

    @classmethod
    def __torch_function__(cls, *args, **kwargs):
        raise AssertionError("is not called")


class Parameter(Tensor):
    requires_grad = True


class Foreign(fake_gpu.Array):
    """Of a library with an exchange table that is not torch."""

    __dlpack_c_exchange_api__ = fake_gpu.exchange_table


class ndarray(fake_gpu.Array):
    def __dlpack__(self, *, stream=None, max_version=None):
        asked.append(("cupy", "__dlpack__", stream))
        return fake_gpu.capsule(self)


class ArrayImpl(fake_gpu.Array):
    broken_streams = False

    def __dlpack__(self, *, stream=None, max_version=None):
        asked.append(("jax", "__dlpack__", stream))
        if self.broken_streams and stream is not None:
            raise RuntimeError("UNIMPLEMENTED: streams")
        return fake_gpu.capsule(self)

    def block_until_ready(self):
        asked.append(("jax", "block_until_ready", None))

    def __array_namespace__(self):
        return sys.modules["jax.numpy"]


Tensor.__module__ = Parameter.__module__ = "torch"
ndarray.__module__, ArrayImpl.__module__ = "cupy", "jaxlib._jax"
NAMES = "bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()


def empty_strided(size, stride, *, dtype, device):
    asked.append(("torch", "empty_strided", device))
    return fake_gpu.empty_strided(size, stride, dtype)


class Memory:
    def __init__(self, size):
        asked.append(("cupy", "alloc", size))
        self.array = fake_gpu.Array((size,), np.dtype("u1"), 1, 8)
        self.ptr = self.array.pointer

    def __del__(self):
        asked.append(("cupy", "free", None))


def empty(shape, dtype):
    asked.append(("cupy", "empty", tuple(shape)))
    return ndarray(tuple(shape), np.dtype(dtype), 2, 32)


def from_dlpack(array):
    asked.append(("jax", "from_dlpack", array.__dlpack_device__()))
    array.__dlpack__(stream=0x300)
    return ArrayImpl(array.shape, np.dtype("f4"), 2, 32)


guards = types.SimpleNamespace(_empty_strided_cuda=fake_gpu.empty_strided)


class Generator:
    """torch's for a GPU."""

    seed, offset = 42, 8

    def initial_seed(self):
        return self.seed

    def get_offset(self):
        return self.offset

    def set_offset(self, offset):
        self.offset = offset


def torch_empty(size, *, dtype, device):
    asked.append(("torch", "empty", (size, dtype)))
    return Tensor((size,), np.dtype("i8"), 0, 64)


def increment_version(tensors):
    """Of torch from 2.6 on, which takes all; before that one."""
    if not isinstance(tensors, tuple):
        raise TypeError("expected an iterable of tensors")
    asked.extend(("torch", "increment_version", None) for _ in tensors)


capturing = types.SimpleNamespace(on=False)
torch_cuda = types.SimpleNamespace(is_current_stream_capturing=lambda: capturing.on, default_generators=[Generator()])

torch = module("torch", Tensor=Tensor, is_grad_enabled=lambda: True, empty_strided=empty_strided, cuda=torch_cuda, empty=torch_empty, **dict(zip(NAMES, NAMES)),
               _C=types.SimpleNamespace(_dynamo=types.SimpleNamespace(guards=guards), _increment_version=increment_version))
module("torch.autograd")
cupy = module("cupy", ndarray=ndarray, empty=empty,
              cuda=types.SimpleNamespace(get_current_stream=lambda: types.SimpleNamespace(ptr=streams.cupy), alloc=Memory))
module("jax.numpy", from_dlpack=from_dlpack)
fake_gpu.set_type(Tensor)
fake_gpu.set_stream(0x100)


def make(kind, *shape):
    return kind(shape, np.dtype("f4"), 2, 32)


def calls(*kinds):
    """What the driver and the table were asked since, of these kinds (all if none is named)."""
    return [line for line in fake_gpu.take_log() if not kinds or line[0] in kinds]
