"""Arrays in and out of jitfuse._core: kinds, dtypes, layouts, out=, errors."""
import array
import ctypes
import dataclasses

import numpy as np
import pytest

from jitfuse import _core

NUMPY = {
    "bool": np.bool_, "u8": np.uint8, "u16": np.uint16, "u32": np.uint32, "u64": np.uint64, "i8": np.int8,
    "i16": np.int16, "i32": np.int32, "i64": np.int64, "f16": np.float16, "f32": np.float32, "f64": np.float64,
}  # fmt: skip


def compiled(dtype="f32", op="add", dims=("n",), **options):
    b = _core.Builder("f")
    x, y = b.input("x", dtype, dims), b.input("y", dtype, dims)
    return b.compile(b.apply(op, (x, y), {}), device="cpu", **options)


def ramp(dtype, n=5):
    return (np.arange(n) % 2 if dtype == "bool" else np.arange(n)).astype(NUMPY[dtype])


class Producer:
    """An array that has __dlpack__ and nothing else."""

    def __init__(self, inner, versioned=True):
        self.inner, self.versioned = inner, versioned

    def __dlpack__(self, **keywords):
        if not self.versioned and keywords:
            raise TypeError("an old producer")
        return self.inner.__dlpack__(**keywords)

    def __dlpack_device__(self):
        return self.inner.__dlpack_device__()


@pytest.mark.parametrize("dtype", NUMPY)
def test_numpy_dtypes(dtype):
    f = compiled(dtype, "logical_or" if dtype == "bool" else "maximum")
    x = ramp(dtype)
    (y,) = f.call((x, x[::-1]))
    assert y.dtype == NUMPY[dtype] and y.flags.c_contiguous and y.flags.writeable and y.flags.aligned
    np.testing.assert_array_equal(y, np.maximum(x, x[::-1]))
    y[...] = x  # it is an ordinary array
    np.testing.assert_array_equal(np.sort(y), np.sort(x))


def test_numpy_results_outlive_the_call():
    f = compiled()
    kept = [f.call((np.full(1000, i, np.float32), np.zeros(1000, np.float32)))[0] for i in range(50)]
    assert all((k == i).all() for i, k in enumerate(kept))
    view = kept[7][::2]
    del kept
    assert (view == 7).all()


def test_layouts():
    f = compiled(dims=("n", "m"))
    base = np.arange(48, dtype=np.float32).reshape(6, 8)
    for x in (base[::2, 1:5], base[::-1], base[:, ::-2], base.T, np.broadcast_to(base[0], (4, 8)), base[:0], base[:, :0]):
        np.testing.assert_array_equal(f.call((x, x))[0], x + x)
    scalars = compiled(dims=())
    assert scalars.call((np.float32(2), np.array(3, np.float32)))[0] == 5
    assert scalars.call((2.5, 1))[0].shape == ()
    packed = np.zeros(4, dtype=[("a", np.float32), ("b", np.float32)])
    packed["a"] = [1, 2, 3, 4]
    np.testing.assert_array_equal(compiled().call((packed["a"], packed["b"]))[0], [1, 2, 3, 4])


def test_layouts_that_cannot_be_read_are_errors():
    f = compiled()
    good = np.ones(4, np.float32)
    odd = np.zeros(4, dtype=[("a", np.float32), ("b", np.uint8)])["a"]
    with pytest.raises(ValueError, match="f: argument 0 'x': its strides are no multiples of its item size"):
        f.call((odd, good))
    shifted = np.zeros(17, np.uint8)[1:].view(np.float32)
    with pytest.raises(ValueError, match="f: argument 1 'y': its data is not aligned"):
        f.call((good, shifted))
    with pytest.raises(TypeError, match=r"f: argument 0 'x': expected a dtype .*, got >f4"):
        f.call((good.astype(">f4"), good))
    with pytest.raises(TypeError, match="got complex64"):
        f.call((good.astype(np.complex64), good))
    with pytest.raises(TypeError, match="got object"):
        f.call((good.astype(object), good))
    with pytest.raises(ValueError, match="expected a rank of 0 to 8, got 9"):
        f.call((np.ones((1,) * 9, np.float32), good))
    with pytest.raises(TypeError, match="mask would be lost"):
        f.call((np.ma.masked_array(good), good))


def test_wrong_arguments_name_themselves():
    f = compiled(dims=("n", 4))
    x = np.ones((3, 4), np.float32)
    for args, error, text in [
        ((x,), TypeError, "f: expected 2 arguments, got 1"),
        ((x, x.astype(np.float64)), TypeError, r"f: argument 1 'y': expected f32\[n,4\], got f64\[3,4\]"),
        ((x[0], x), ValueError, r"f: argument 0 'x': expected f32\[n,4\], got f32\[4\]"),
        ((x, x[:2]), ValueError, r"input y of shape \[2,4\]: dim 0 is 2, expected 3"),
        ((x, x[:, :3]), ValueError, r"input y of shape \[3,3\]"),
        ((x, [1.0]), TypeError, "argument 1 'y': expected an array .*, got list"),
        ((x, None), TypeError, "got NoneType"),
        ((x, 1.0), TypeError, "argument 1 'y': expected an array .*, got float"),
        ((x, b"abc"), TypeError, "got bytes"),
    ]:
        with pytest.raises(error, match=text):
            f.call(args)


def test_run_time_numbers():
    def scalar(dtype):
        b = _core.Builder("f")
        x = b.input("x", dtype, ["n"])
        return b.compile(b.apply("logical_or" if dtype == "bool" else "add", (x, b.scalar("s", dtype)), {}), device="cpu")

    good = [
        ("f32", 1.5), ("f32", 2), ("f32", True), ("f32", np.float64(0.25)), ("f32", np.int16(-3)), ("f64", 1e300),
        ("f32", float("inf")), ("f16", 65504.0), ("i32", -(2**31)), ("i64", 2**63 - 1), ("u64", 2**64 - 1), ("u8", np.uint64(255)),
        ("i8", np.bool_(True)), ("bool", True), ("i32", np.array(7, np.int32)), ("f64", 2**70),
    ]  # fmt: skip
    for dtype, value in good:
        x = np.zeros(3, NUMPY[dtype])
        np.testing.assert_array_equal(scalar(dtype).call((x, value))[0], np.full(3, value, NUMPY[dtype]), err_msg=f"{dtype} {value}")
    bad = [
        ("i32", 2**31, ValueError, "the number 2147483648 does not fit i32"), ("u8", -1, ValueError, "does not fit u8"),
        ("u64", 2**64, ValueError, "does not fit u64"), ("f32", 1e39, ValueError, "the number 1e.39 does not fit f32"),
        ("f16", 65520, ValueError, "does not fit f16"), ("f64", 10**400, ValueError, "does not fit f64"), ("bool", 2, ValueError, "does not fit bool"),
        ("i32", 1.0, TypeError, "expected an integer for i32, got float 1.0"), ("i32", np.float32(1), TypeError, "expected an integer"),
        ("f32", 1j, TypeError, "expected a number for f32, got complex"), ("f32", "1", TypeError, "got str"),
        ("f32", np.zeros(2, np.float32), ValueError, r"argument 1 's': expected a number \(f32\), got f32\[2\]"),
    ]  # fmt: skip
    for dtype, value, error, text in bad:
        with pytest.raises(error, match="argument 1 's'.*" + text if "argument" not in text else text):
            scalar(dtype).call((np.zeros(3, NUMPY[dtype]), value))


def test_out():
    f = compiled(dims=("n", 4))
    x = np.arange(12, dtype=np.float32).reshape(3, 4)
    out = np.empty((3, 4), np.float32)
    assert f.call((x, x), (out,))[0] is out
    np.testing.assert_array_equal(out, x + x)
    wide = np.zeros((6, 8), np.float32)
    f.call((x, x), (wide[::2, ::-2],))
    np.testing.assert_array_equal(wide[::2, ::-2], x + x)
    assert (wide[1::2] == 0).all()
    inplace = x.copy()
    f.call((inplace, x), (inplace,))
    np.testing.assert_array_equal(inplace, x + x)
    readonly = out.copy()
    readonly.flags.writeable = False
    for outs, error, text in [
        ((readonly,), ValueError, "f: out 0 is read-only"),
        ((out.astype(np.float64),), TypeError, r"f: out 0: expected f32\[n,4\], got f64\[3,4\]"),
        ((out[0],), ValueError, r"f: out 0: expected f32\[n,4\], got f32\[4\]"),
        ((out[:2],), ValueError, "output"),
        ((), TypeError, "f: expected out= with 1 array, got 0"),
        ((out, out), TypeError, "got 2"),
        ((None,), TypeError, "f: out 0: expected an array"),
        ((memoryview(bytes(48)).cast("f", (3, 4)),), ValueError, "read-only"),
        ((np.broadcast_to(out[0], (3, 4)),), ValueError, "read-only"),
    ]:
        with pytest.raises(error, match=text):
            f.call((x, x), outs)
    base = np.zeros(20, np.float32)
    with pytest.raises(ValueError, match="overlap"):
        f.call((base[:12].reshape(3, 4), x), (base[2:14].reshape(3, 4),))


def test_buffers_without_a_framework():
    f = compiled()
    x = array.array("f", [1, 2, 3])
    (y,) = f.call((x, memoryview(x)))
    assert type(y) is np.ndarray  # NumPy is here
    np.testing.assert_array_equal(y, [2, 4, 6])
    out = array.array("f", [0, 0, 0])
    assert f.call((x, x), (out,))[0] is out and list(out) == [2, 4, 6]
    c = (ctypes.c_float * 3)(1, 2, 3)
    np.testing.assert_array_equal(f.call((x, c))[0], [2, 4, 6])
    with pytest.raises(TypeError, match="buffer format"):
        f.call((x, memoryview(b"abc").cast("c")))
    g = compiled("i64")
    np.testing.assert_array_equal(g.call((array.array("l", [1]), array.array("q", [2])))[0], [3])


@pytest.mark.parametrize("versioned", [True, False])
def test_dlpack(versioned):
    f = compiled()
    x = np.arange(6, dtype=np.float32)
    (y,) = f.call((Producer(x, versioned), Producer(x[:], versioned)))
    assert type(y) is _core.Array and y.shape == (6,) and y.dtype == "f32" and "f32[6]" in repr(y)
    np.testing.assert_array_equal(np.from_dlpack(y), x + x)
    np.testing.assert_array_equal(np.asarray(memoryview(y)), x + x)
    out = np.zeros(6, np.float32)
    produced = Producer(out, versioned)
    assert f.call((Producer(x, versioned), x), (produced,))[0] is produced
    np.testing.assert_array_equal(out, x + x)
    readonly = x.copy()
    readonly.flags.writeable = False
    if versioned:
        np.testing.assert_array_equal(np.from_dlpack(f.call((Producer(readonly), Producer(x)))[0]), x + x)
        with pytest.raises(ValueError, match="out 0 is read-only"):
            f.call((x, x), (Producer(readonly),))
    else:
        with pytest.raises(TypeError, match="argument 0 'x': cannot be borrowed"):
            f.call((Producer(readonly, False), x))


def test_a_failing_producer_is_named():
    class Failing(Producer):
        def __dlpack__(self, **keywords):
            raise RuntimeError("no memory of mine")

    x = np.ones(3, np.float32)
    with pytest.raises(TypeError, match="f: argument 1 'y': cannot be borrowed: .*no memory of mine"):
        compiled().call((x, Failing(x)))


def test_a_dataclass_that_is_an_array():
    """Only to jitfuse.jit, which takes it apart, is it a nest."""

    @dataclasses.dataclass
    class Boxed:
        inner: object
        __dlpack__, __dlpack_device__ = Producer.__dlpack__, Producer.__dlpack_device__
        versioned = True

    x = ramp("f32")
    np.testing.assert_array_equal(compiled().call((Boxed(x), x))[0], x + x)


def test_arrays_of_our_own():
    f = compiled("bf16")
    b = _core.Builder()
    to_bf16 = b.compile(b.apply("cast", (b.input("x", "f32", ["n"]),), {"dtype": "bf16"}), device="cpu")
    (x,) = to_bf16.call((Producer(np.arange(4, dtype=np.float32)),))
    assert type(x) is _core.Array and x.dtype == "bf16"
    with pytest.raises(BufferError, match="bf16"):
        memoryview(x)
    (y,) = f.call((x, x))
    assert type(y) is _core.Array
    with pytest.raises(BufferError, match="copies"):
        y.__dlpack__(copy=True)
    assert y.__dlpack_device__() == (1, 0)


def test_torch(torch):
    f = compiled(dims=("n", 4))
    x = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    (y,) = f.call((x, x))
    assert type(y) is torch.Tensor and torch.equal(y, x + x)
    assert torch.equal(f.call((x.T.reshape(4, 3).T, x))[0], x.T.reshape(4, 3).T + x)
    assert torch.equal(f.call((x.flip(0), x[:1].expand(3, 4)))[0], x.flip(0) + x[:1])
    assert torch.equal(f.call((x[:0], x[:0]))[0], x[:0])
    out = torch.zeros(3, 8)
    assert f.call((x, x), (out[:, ::2],))[0].data_ptr() == out.data_ptr() and torch.equal(out[:, ::2], x + x)
    assert type(f.call((x.numpy(), x))[0]) is torch.Tensor  # the kind that is not NumPy's
    y.add_(1)  # an ordinary tensor, that outlives the others
    del f, x
    assert y[0, 1] == 3
    for name, dtype in [("bf16", torch.bfloat16), ("f16", torch.float16), ("bool", torch.bool), ("u8", torch.uint8), ("i64", torch.int64)]:
        t = torch.arange(5).to(dtype)
        got = compiled(name, "logical_or" if name == "bool" else "maximum").call((t, t))[0]
        assert got.dtype == dtype and torch.equal(got, t)


def test_torch_memory(torch):
    """What a call on a GPU takes from torch's allocator, on the CPU."""
    b = _core.Builder("f")
    x = b.input("x", "f32", ["n", 64])
    (y,) = b.apply("softmax", (x,), {"axis": 1})
    (z,) = b.apply("sum", (y,), {"axes": [1]})
    f = b.compile([y, z], device="cpu", fuse=False)  # so that values between ops take scratch memory
    t = torch.randn(500, 64)
    assert "0 B of scratch" not in f.explain((t,))
    f.call((t,))
    with torch.autograd.profiler.profile(profile_memory=True) as watched:
        got = _core.call_in_framework_memory(f, (t,))
    taken = [e.cpu_memory_usage for e in watched.function_events if e.cpu_memory_usage > 0]
    assert taken[:2] == [500 * 64 * 4, 500 * 4] and len(taken) == 3  # the results, and scratch memory
    assert sum(e.cpu_memory_usage for e in watched.function_events) == sum(taken[:2])  # which is given back
    torch.testing.assert_close(got[0], torch.softmax(t, 1))
    torch.testing.assert_close(got[1], torch.ones(500))
    # Made by torch: record_stream does nothing for what was wrapped, as a result of from_dlpack.
    assert got[0].untyped_storage().resizable() and not torch.from_dlpack(t.numpy()).untyped_storage().resizable()
    kept = got[0]
    del got, f
    torch.testing.assert_close(kept, torch.softmax(t, 1))


def test_torch_grad_is_an_error(torch):
    f = compiled()
    x = torch.ones(3)
    p = torch.nn.Parameter(torch.ones(3))
    with pytest.raises(ValueError, match=r"f: argument 1 'y' requires grad.*torch.no_grad\(\)"):
        f.call((x, p))
    with torch.no_grad():
        assert torch.equal(f.call((x, p))[0], torch.full((3,), 2.0))
        f.call((x, x), (p,))
    assert torch.equal(p.detach(), torch.full((3,), 2.0))
    with pytest.raises(ValueError, match="out 0 requires grad"):
        f.call((x, x), (p,))
    assert torch.equal(f.call((x, p.detach()))[0], torch.full((3,), 3.0))


def test_torch_counts_versions_of_outs(torch):
    b = _core.Builder("f")
    x = b.input("x", "f32", ("n",))
    f = b.compile([b.apply(op, (x, x), {})[0] for op in ("add", "multiply")], device="cpu")
    x, out = torch.ones(3), (torch.empty(3), torch.empty(3))
    before = [t._version for t in (x, *out)]
    f.call((x,), out)
    assert [t._version for t in (x, *out)] == [before[0], before[1] + 1, before[2] + 1]


def test_torch_classes_with_a_requires_grad_of_their_own(torch):
    class Asks(torch.Tensor):
        @property
        def requires_grad(self):
            return True

    class Plain(torch.Tensor):
        pass

    f = compiled()
    x = torch.ones(3)
    for _ in range(2):  # classes in turn
        with pytest.raises(ValueError, match="argument 0 'x' requires grad"):
            f.call((x.as_subclass(Asks), x))
        assert torch.equal(f.call((x.as_subclass(Plain), x))[0], torch.full((3,), 2.0))
        with pytest.raises(ValueError, match="argument 1 'y' requires grad"):
            f.call((x, x.as_subclass(Plain).requires_grad_()))


def test_torch_tensors_that_cannot_be_read(torch):
    f = compiled()
    x = torch.ones(3)
    with pytest.raises(TypeError, match="argument 1 'y'"):
        f.call((x, torch.ones(3).to_sparse()))
    with pytest.raises((TypeError, ValueError), match="argument 1 'y'"):
        f.call((x, torch.ones(3, device="meta")))
    with pytest.raises(TypeError, match="argument 1 'y'"):
        f.call((x, torch.ones(3, dtype=torch.complex64)))

    class Wrapper(torch.Tensor):
        @classmethod
        def __torch_dispatch__(cls, *args, **kwargs):
            raise AssertionError("is not called")

    fake = torch.Tensor._make_wrapper_subclass(Wrapper, (3,))
    with pytest.raises(TypeError, match="what is in their memory is not their value"):
        f.call((x, fake))
