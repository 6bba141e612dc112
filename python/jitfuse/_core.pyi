"""What jitfuse's Python sources stand on; no public interface. Made by tests/python/test_core_stub.py."""

from collections.abc import Callable, Sequence
import types
from typing import Any


class Array:
    """
    An array that Jitfuse owns. numpy.asarray, torch.from_dlpack and memoryview take it without a copy.
    """

    def __dlpack__(self, *, stream: Any = None, max_version: Any = None, dl_device: Any = None, copy: bool | None = None) -> Any: ...

    def __dlpack_device__(self) -> tuple[int, int]: ...

    @property
    def shape(self) -> tuple[int, ...]: ...

    @property
    def dtype(self) -> str: ...

    def __repr__(self) -> str: ...

class Tensor:
    """A value of a graph under construction."""

    @property
    def dtype(self) -> str: ...

    @property
    def dims(self) -> tuple[int | str, ...]: ...

    @property
    def ndim(self) -> int: ...

    @property
    def builder(self) -> Builder: ...

    def __repr__(self) -> str: ...

class Builder:
    """One graph under construction."""

    def __init__(self, name: str = 'f') -> None: ...

    def input(self, name: str, dtype: str, dims: Sequence[int | str]) -> Tensor:
        """An array that each call passes; a dim is a size, or the name of one."""

    def scalar(self, name: str, dtype: str) -> Tensor:
        """A number that each call passes: changing it compiles nothing."""

    def constant(self, dtype: str, value: bool | int | float) -> Tensor: ...

    def apply(self, op: str, operands: Sequence[Tensor | None], attrs: dict[str, Any] = {}) -> tuple[Tensor, ...]:
        """
        All results of an op of the table (list_ops), with its names as in graph text. None stands for an operand left out. Random ops need no seed, offset and stream.
        """

    def to_text(self, outputs: Sequence[Tensor]) -> str: ...

    def guards(self) -> list[tuple[int | str, int | str]]:
        """
        Pairs of sizes that each call's arrays must make equal, beyond what their dims say.
        """

    def compile(self, outputs: Sequence[Tensor], *, device: str = 'auto', numerics: str = 'default', fuse: bool = True, rewrite: bool = True, use_gemm_library: bool = True, batch_invariant: bool = False, max_fusions: int = -1, verify: int = 0, verify_action: str = 'error', autotune: bool = False, dynamic: str = 'leading', background: bool = False, specialize_after: int = 0) -> Function: ...

    def vjp(self, outputs: Sequence[Tensor], cotangents: Sequence[Tensor | None], wrt: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """
        The sum over outputs of cotangent (None: zero) times d output / d wrt, for each of wrt.
        """

    def gradient_root(self, x: Tensor) -> Tensor:
        """x itself as a tensor of its own, of which nothing was made yet."""

    def custom_gradient(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor], cotangents: Sequence[Tensor], gradients: Sequence[Tensor | None]) -> tuple[Tensor, ...]:
        """
        The outputs with a gradient of their own: `gradients` of inputs (None: zero), made of `cotangents` of the float outputs.
        """

    def split(self, outputs: Sequence[Tensor], wrt: Sequence[Tensor], *, device: str = 'auto', numerics: str = 'default', fuse: bool = True, rewrite: bool = True, use_gemm_library: bool = True, batch_invariant: bool = False, max_fusions: int = -1, verify: int = 0, verify_action: str = 'error', autotune: bool = False, dynamic: str = 'leading', background: bool = False, specialize_after: int = 0) -> Split:
        """
        The outputs and the gradients of wrt, which are inputs, as two functions.
        """

class Split:
    """A computation, its gradient, and what passes between the two."""

    @property
    def forward(self) -> Function:
        """Gives the outputs, then what is kept for `backward`."""

    @property
    def backward(self) -> Function:
        """Takes `saved`, then `cotangents`; gives the gradients."""

    @property
    def saved(self) -> list[tuple[bool, int]]:
        """Arguments of `forward` (True, number), or its results (False, number)."""

    @property
    def cotangents(self) -> list[int]:
        """The outputs whose cotangents `backward` takes."""

    @property
    def decisions(self) -> str: ...

def gradient_text(text: str, wrt: Sequence[str]) -> str:
    """
    The gradients as graph text: of the graph's inputs, then a cotangent for each float output.
    """

def split_text(text: str, wrt: Sequence[str], *, device: str = 'auto', numerics: str = 'default', fuse: bool = True, rewrite: bool = True, use_gemm_library: bool = True, batch_invariant: bool = False, max_fusions: int = -1, verify: int = 0, verify_action: str = 'error', autotune: bool = False, dynamic: str = 'leading', background: bool = False, specialize_after: int = 0) -> Split:
    """Builder.split of graph text; wrt are names of inputs."""

class Function:
    """A compiled graph."""

    def call(self, args: Sequence[Any], outs: Sequence[Any] | None = None, *, rng: tuple[int, int, Any] | None = None) -> tuple[Any, ...]:
        """
        Runs on arrays and numbers, one per input in the order they were declared. Results are of the kind that went in, or are written into `outs`. rng: as rng_draw gives it.
        """

    def bind(self, names: Sequence[str], arrays: Sequence[Any]) -> Function:
        """The function of the other inputs, with these fixed."""

    @property
    def num_inputs(self) -> int: ...

    @property
    def num_outputs(self) -> int: ...

    @property
    def random_ops(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def inputs(self) -> list[dict[str, Any]]: ...

    @property
    def outputs(self) -> list[dict[str, Any]]: ...

    @property
    def device(self) -> str: ...

    def to_text(self) -> str: ...

    def explain(self, args: Sequence[Any]) -> str: ...

    def explain_json(self, args: Sequence[Any]) -> str: ...

    def warm(self, args: Sequence[Any]) -> None: ...

    def tune(self, args: Sequence[Any]) -> str:
        """
        Times what such calls may choose from; the record as text, '' if there is nothing.
        """

    def use_tuning(self, args: Sequence[Any], record: str) -> None:
        """As if tune had found this record."""

    def stats(self) -> dict[str, Any]: ...

class JitFunction:
    """The front of a jitted function (see jitfuse.jit)."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call self as a function."""

    def __init__(self, /, *args: Any, **kwargs: Any) -> None:
        """Initialize self.  See help(type(self)) for accurate signature."""


def jit_statics(jit: object, positions: object, names: object) -> None:
    """Which positional arguments and which keywords are static."""

def jit_add(jit: JitFunction, args: tuple[Any, ...], kwargs: dict[str, Any], order: Sequence[int] | None, function: Function, dims: Sequence[Any], sources: Sequence[tuple[str, int]], captured: Sequence[Any], structure: Any, out_leaves: Sequence[Any], autograd: Any = None) -> bool:
    """
    From now on calls like this one go to `function`, and to `autograd` where torch records them. False where such calls cannot.
    """

def jit_clear(arg: object, /) -> None: ...

def jit_hits(arg: object, /) -> int: ...

def rng_state() -> tuple[int, int]: ...

def rng_set(seed: int, offset: int = 0) -> None: ...

def rng_enter(seed: int, offset: int = 0) -> None:
    """
    A stream of this thread's own, which its calls draw from until rng_leave.
    """

def rng_leave() -> None:
    """Back to the stream that was in force before rng_enter."""

def rng_draw(args: Sequence[Any], count: int) -> tuple[int, int, Any]:
    """
    Seed, offset, and None or a tensor in place of both, for a call on these arguments of a function with so many random ops.
    """

def call_in_framework_memory(function: Function, args: Sequence[Any]) -> tuple[Any, ...]:
    """
    For tests: results and scratch memory from torch's allocator, as on a GPU.
    """

def compile_text(text: str, *, device: str = 'auto', numerics: str = 'default', fuse: bool = True, rewrite: bool = True, use_gemm_library: bool = True, batch_invariant: bool = False, max_fusions: int = -1, verify: int = 0, verify_action: str = 'error', autotune: bool = False, dynamic: str = 'leading', background: bool = False, specialize_after: int = 0) -> Function: ...

def evaluate(text: str, args: Sequence[Any], *, seed: int = 0, offset: int = 0) -> tuple[Any, ...]:
    """The reference evaluator on CPU arrays: slow, exact meaning."""

def parse_inputs(text: str) -> list[dict[str, Any]]: ...

def format_text(text: str) -> str: ...

def source_of(text: str, args: object, stage: str, arch: str = '', *, device: str = 'auto', numerics: str = 'default', fuse: bool = True, rewrite: bool = True, use_gemm_library: bool = True, batch_invariant: bool = False, max_fusions: int = -1, verify: int = 0, verify_action: str = 'error', autotune: bool = False, dynamic: str = 'leading', background: bool = False, specialize_after: int = 0) -> str:
    """
    What is made of a graph: stage is graph, groups, plan, cuda, llvm, ptx, sass or resources.
    """

def list_ops() -> list[dict[str, Any]]: ...

def doctor() -> list[dict[str, Any]]: ...

def describe_array(object: object) -> tuple[str, tuple[int, ...]]:
    """
    The dtype's name and the shape of an array, as DLPack or the buffer protocol gives them.
    """

def default_device() -> str: ...

def device_error(device: str) -> str:
    """Why nothing runs on this kind of device; empty if it does."""

def set_log(level: int, sink: Callable[[int, str], Any] | None) -> None:
    """
    Calls sink(level, message) for what the library logs; level as in JITFUSE_LOG. None: stderr.
    """

def total_stats() -> dict[str, Any]: ...

def start_trace(path: bytes) -> None: ...

def stop_trace() -> None: ...

version: str = '0.1.0'

def command(words: Sequence[str], trace: Callable[[str, list[str], dict[str, int], int, bool], dict[str, Any]]) -> int:
    """
    The command jitfuse with these words; its exit code. Prints to the process's stdout.
    """
