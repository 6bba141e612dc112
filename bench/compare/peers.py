"""Jitfuse and its peers: what is found here, what each makes of a case, and how it is timed.

A Peer takes the inputs of a case (torch tensors, or NumPy arrays where there is no torch) as its own arrays, without a copy
where it can, and makes a callable of the case's body. What it cannot do it says by Unable or any other exception; the reason
goes into the report.
"""

import importlib
import importlib.metadata

import dialects
import timing


class Unable(Exception):
    """The peer has no way to say this case."""


class Peer:
    def __init__(self, name, device):
        self.name, self.device = name, device

    ops = staticmethod(dialects.torch_ops)
    torch_memory = True  # whether its memory on a GPU is of torch's allocator, and so can be seen

    def convert(self, inputs):
        return tuple(inputs)

    def compile(self, function):
        return function

    def make(self, case):
        ops = self.ops()
        call = self.compile(lambda *args: case.body(ops, *args))
        return self.with_gradients(call) if case.backward else call

    def with_gradients(self, call):
        """From what computes the body to what also gives gradients: the last argument is the cotangent."""
        raise Unable("has no gradients here")

    def clock(self, main_clock):
        return main_clock

    def kernels(self, call, args):
        """Kernels of a call on the CPU, where that can be known; on a GPU they are counted by the profiler."""
        return None


def torch_gradients(call):
    """By torch's autograd, as a training step has them."""
    import torch

    def both(*args):
        *args, cotangent = args
        wrt = [a.requires_grad_() for a in args if a.is_floating_point()]
        result = call(*args)
        return result.detach(), *torch.autograd.grad(result, wrt, cotangent)

    both.call = call
    return both


class Jitfuse(Peer):
    ops = staticmethod(dialects.jitfuse_ops)
    with_gradients = staticmethod(torch_gradients)

    def compile(self, function):
        import jitfuse

        return jitfuse.jit(function)

    def make(self, case):
        import jitfuse

        missing = [name for name in case.needs if not hasattr(jitfuse, name)]
        if missing:
            raise Unable(f"jitfuse.{', jitfuse.'.join(missing)} is not there yet")
        return super().make(case)

    def kernels(self, call, args):
        if hasattr(call, "call"):
            return None  # of two functions; lower() shows the forward one
        return sum(max(1, len(group["kernels"])) for group in call.lower(*args).cost_analysis()["groups"])


class Torch(Peer):
    with_gradients = staticmethod(torch_gradients)

    def kernels(self, call, args):
        from torch_chains import CountOps

        with CountOps() as counted:
            call(*args)
        return len(counted.ops)


class TorchCompile(Peer):
    with_gradients = staticmethod(torch_gradients)

    def __init__(self, name, device, mode=None):
        super().__init__(name, device)
        self.mode = mode

    def compile(self, function):
        import torch

        return torch.compile(function, mode=self.mode, dynamic=False)


class Bare(Peer):
    """The library's GEMM of a case, with nothing behind it: what a tail is measured against."""

    def make(self, case):
        if case.bare is None:
            raise Unable("only of the GEMM cases")
        ops = self.ops()
        return lambda *args: case.bare(ops, *args)


class Kernels(Peer):
    """A library of hand-written kernels: words by the case's `kernel`."""

    def make(self, case):
        found = self.functions().get(case.kernel)
        if found is None:
            raise Unable("has no kernel for it")
        return found


class Quack(Kernels):
    def functions(self):
        import quack

        return {"softmax": quack.softmax, "rms_norm": lambda x, w: quack.rmsnorm(x, w, eps=1e-5),
                "cross_entropy": lambda x, t: quack.cross_entropy(x, t, reduction="none")}


class Liger(Kernels):
    def functions(self):
        from liger_kernel.transformers import functional as L

        return {"softmax": L.liger_softmax, "rms_norm": lambda x, w: L.liger_rms_norm(x, w, 1e-5, in_place=False),
                "layer_norm": lambda x, w, b: L.liger_layer_norm(x, w, b, 1e-5), "swiglu": L.liger_swiglu,
                "cross_entropy": lambda x, t: L.liger_cross_entropy(x, t, reduction="none")}


def as_numpy(x):
    if hasattr(x, "detach"):
        if str(x.dtype) == "torch.bfloat16":
            raise Unable("NumPy has no bfloat16")
        return x.detach().numpy()
    return x


class NumPy(Peer):
    @staticmethod
    def ops():
        ops = dialects.numpy_ops()
        if importlib.util.find_spec("scipy") is None:  # erf by Python's math is for the reference only
            return type("Ops", (ops,), {"gelu": property()})
        return ops

    def make(self, case):
        if case.check != "values":
            raise Unable("NumPy has no dropout")
        return super().make(case)

    def convert(self, inputs):
        return tuple(as_numpy(x) for x in inputs)


class NumExpr(NumPy):
    def make(self, case):
        import numexpr

        if not case.numexpr:
            raise Unable("no expression of numexpr")

        def call(*args):
            names = dict(zip("abcdefgh", args, strict=False))
            found = [numexpr.evaluate(e, local_dict=names, global_dict={}) for e in case.numexpr]
            return found[0] if len(found) == 1 else tuple(found)

        return call

    def kernels(self, call, args):
        return 1  # one expression, block by block


class Jax(Peer):
    ops = staticmethod(dialects.jax_ops)
    torch_memory = False

    def convert(self, inputs):
        import jax.numpy as jnp

        def one(x):
            if "int64" in str(x.dtype):
                x = x.int() if hasattr(x, "int") else x.astype("int32")
            return jnp.from_dlpack(x.detach() if hasattr(x, "detach") else x)  # it may require grad for another peer

        return tuple(one(x) for x in inputs)

    def compile(self, function):
        import jax

        jax.config.update("jax_default_matmul_precision", "highest")  # f32 as the others have it: no TF32
        return jax.jit(function)

    def with_gradients(self, call):
        import jax

        def both(*args):
            result, pull = jax.vjp(call, *args[:-1])
            return result, *pull(args[-1])

        return jax.jit(both)

    def clock(self, main_clock):
        def wait(result):
            for r in result if isinstance(result, (tuple, list)) else [result]:
                r.block_until_ready()

        if isinstance(main_clock, timing.HostClock):
            return timing.HostClock(after=wait)

        def before():
            main_clock.flush()
            main_clock.torch.cuda.synchronize()

        return timing.HostClock(after=wait, before=before)


class CuPy(Peer):
    ops = staticmethod(dialects.cupy_ops)
    torch_memory = False

    def convert(self, inputs):
        import cupy

        if any("bfloat16" in str(x.dtype) for x in inputs):
            raise Unable("CuPy's fuse has no bfloat16")
        return tuple(cupy.from_dlpack(x.detach()) for x in inputs)

    def compile(self, function):
        import cupy
        import torch

        fused = cupy.fuse(kernel_name="chain")(function)  # a lambda has no name that C++ takes
        stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)

        def call(*args):
            with stream:
                return fused(*args)

        return call


# Name -> the module that must be importable, the devices, how to make it.
TABLE = {
    "jitfuse": ("jitfuse", ("cpu", "cuda"), Jitfuse),
    "torch": ("torch", ("cpu", "cuda"), Torch),
    "torch.compile": ("torch", ("cpu", "cuda"), TorchCompile),
    "max-autotune": ("torch", ("cpu", "cuda"), lambda name, device: TorchCompile(name, device, "max-autotune-no-cudagraphs")),
    "bare GEMM": ("torch", ("cpu", "cuda"), Bare),
    "CuPy": ("cupy", ("cuda",), CuPy),
    "JAX": ("jax", ("cpu", "cuda"), Jax),
    "quack": ("quack", ("cuda",), Quack),
    "Liger": ("liger_kernel", ("cuda",), Liger),
    "NumPy": ("numpy", ("cpu",), NumPy),
    "numexpr": ("numexpr", ("cpu",), NumExpr),
}
DISTRIBUTIONS = {"cupy": ("cupy-cuda13x", "cupy-cuda12x", "cupy"), "liger_kernel": ("liger-kernel",), "quack": ("quack-kernels",)}


def find(device, wanted=None):
    """Peers that can be imported here and work on the device, and name -> why not for the others."""
    found, absent = [], {}
    for name, (module, devices, make) in TABLE.items():
        if wanted and name not in wanted and name != "jitfuse":
            continue
        if device not in devices:
            absent[name] = f"not for {device}"
            continue
        try:
            imported = importlib.import_module(module)
            if module == "jax" and device == "cuda" and imported.default_backend() != "gpu":
                raise ImportError("JAX is there without its CUDA plugin")
        except Exception as error:  # an installation that breaks is as good as none
            absent[name] = str(error).splitlines()[0]
            continue
        found.append(make(name, device))
    return found, absent


def versions(peers):
    found = {}
    for module in sorted({TABLE[p.name][0] for p in peers}):
        for distribution in DISTRIBUTIONS.get(module, (module,)):
            try:
                found[module] = importlib.metadata.version(distribution)
                break
            except importlib.metadata.PackageNotFoundError:
                found[module] = str(getattr(importlib.import_module(module), "__version__", "unknown"))
    return found
