"""dtype objects, promotion (against array-api-strict) and weak Python scalars."""

import itertools
import pickle

import numpy as np
import pytest

import jitfuse as jf
from support import FLOATS, INTS, make, run, same

NAMES = ["bool", *INTS, *FLOATS]


def test_dtype_objects():
    assert (
        jf.float32 == np.float32 and jf.float32 == np.dtype("float32") and jf.float32 == "float32"
    )
    assert jf.float32 != jf.float64 and jf.float32 != np.float64 and jf.float32 != 3
    assert {jf.int8: 1}[jf.int8] == 1 and pickle.loads(pickle.dumps(jf.int8)) is jf.int8
    assert repr(jf.bfloat16) == "jitfuse.bfloat16" and jf.bfloat16.itemsize == 2
    assert (
        run(
            lambda x: jf.zeros(2, dtype=float) if x.dtype == np.float32 else None, np.float32([1])
        ).dtype
        == np.float64
    )
    with pytest.raises(TypeError, match="complex64 is no dtype|'complex64' is no dtype"):
        run(lambda x: x.astype("complex64"), np.float32([1]))
    torch = pytest.importorskip(
        "torch", reason="compares torch's dtypes, and torch is not installed"
    )
    assert jf.bfloat16 == torch.bfloat16 and jf.int64 == torch.int64 and jf.int64 != torch.int32


def test_promotion_is_the_standards():
    strict = pytest.importorskip(
        "array_api_strict", reason="compares with array-api-strict, which is not installed"
    )
    for a, b in itertools.product(NAMES, NAMES):
        if "float16" in (a, b):
            continue  # array-api-strict has none
        try:
            want = strict.result_type(getattr(strict, a), getattr(strict, b))
        except TypeError:
            continue  # the standard leaves integers with floats, and bool with numbers, open
        got = jf.result_type(getattr(jf, a), getattr(jf, b))
        assert got.name == want._np_dtype.name, (a, b)


def test_results_promote_as_result_type_says():
    arrays = {n: make((3,), n) for n in NAMES}
    pairs = [(a, b) for a, b in itertools.combinations(NAMES, 2) if {a, b} != {"bool"}]
    got = run(lambda xs: [jf.add(xs[a], xs[b]) for a, b in pairs], arrays)
    for (a, b), g in zip(pairs, got):
        assert jf.result_type(getattr(jf, a), getattr(jf, b)) == g.dtype, (a, b)


@pytest.mark.parametrize("dtype", NAMES[1:])
@pytest.mark.parametrize("scalar", [True, 2, 0.5])
def test_python_scalars_are_weak(dtype, scalar):
    x = make((4,), dtype)
    want = "float32" if isinstance(scalar, float) and dtype in INTS else dtype
    as_constant = run(lambda x: x + scalar, x)
    as_argument = run(lambda x, s: s + x, x, scalar)
    assert as_constant.dtype == want and as_argument.dtype == want
    same(as_constant, as_argument)
    same(as_constant, (x.astype(want) + np.asarray(scalar).astype(want)))
    assert jf.result_type(getattr(jf, dtype), scalar) == want


def test_weak_arithmetic_is_done_in_python_precision():
    x = make((4,), "float32")
    same(run(lambda x, beta: x * (1 - beta), x, 0.999), x * np.float32(1 - 0.999), ulps=1)
    same(run(lambda x, n: x + n * 2 // 3, x, 7), x + np.float32(7 * 2 // 3))
    got = run(lambda x, a: jf.where(a > 1, a, 0.5) * x, x, 3.0)
    same(got, x * np.float32(3))


def test_numpy_scalars_are_not_weak():
    x = make((4,), "float32")
    f = jf.jit(lambda x, s: x * s)
    same(f(x, np.float64(3)), x * np.float64(3))
    same(f(x, np.float64(4)), x * np.float64(4))
    assert f.cache_info().entries == 1
    same(run(lambda x: x * np.float64(3), x), x.astype(np.float64) * 3)


def test_a_number_that_does_not_fit_is_an_error():
    with pytest.raises((ValueError, OverflowError), match="300"):
        run(lambda x: x + 300, make((3,), "uint8"))


def test_functions_on_dtypes():
    assert jf.isdtype(jf.int8, "integral") and jf.isdtype("float32", ("bool", "real floating"))
    assert not jf.isdtype(jf.bool, "numeric") and not jf.isdtype(jf.uint8, "signed integer")
    assert jf.isdtype(jf.uint8, jf.uint8) and not jf.isdtype(jf.uint8, jf.int8)
    with pytest.raises(ValueError, match="unknown kind 'nonsense'"):
        jf.isdtype(jf.int8, "nonsense")
    assert (
        jf.can_cast(jf.int8, jf.int16)
        and not jf.can_cast(jf.int16, jf.int8)
        and not jf.can_cast(jf.int8, jf.float32)
    )
    for name in FLOATS:
        want, got = np.finfo(name), jf.finfo(name)
        assert (got.bits, got.eps, got.max, got.min, got.smallest_normal) == (
            want.bits, float(want.eps), float(want.max), float(want.min),
            float(want.smallest_normal),
        )  # fmt: skip
    for name in INTS:
        assert (jf.iinfo(name).bits, jf.iinfo(name).max, jf.iinfo(name).min) == (
            np.iinfo(name).bits,
            np.iinfo(name).max,
            np.iinfo(name).min,
        )
    with pytest.raises(ValueError, match="expected a float dtype, got int8"):
        jf.finfo(jf.int8)
    with pytest.raises(ValueError, match="expected an integer dtype, got float32"):
        jf.iinfo(jf.float32)


def test_namespace_info():
    info = jf.__array_namespace_info__()
    assert info.default_dtypes()["real floating"] is jf.float32
    assert info.dtypes(kind="unsigned integer") == {
        n: getattr(jf, n) for n in ("uint8", "uint16", "uint32", "uint64")
    }
    assert info.default_device() in info.devices() and not info.capabilities()["boolean indexing"]
    assert (
        run(lambda x: 0 * x if x.__array_namespace__() is jf else None, np.float32([1])) is not None
    )


def test_unsupported_arrays_are_named():
    with pytest.raises(TypeError, match="complex64"):
        run(lambda x: x, np.zeros(3, np.complex64))
    with pytest.raises(TypeError, match=">f4"):
        run(lambda x: x, np.zeros(3, ">f4"))


def test_a_choice_between_numbers_takes_the_dtype_it_meets():
    f = jf.jit(lambda x, a: jf.where(x > 0, a, 0.1) * x)
    x = make((6,), "float32")
    same(f(x, 3.0), np.where(x > 0, np.float32(3), np.float32(0.1)) * x)
    assert "f64" not in f.lower(x, 3.0).text()
    got = run(
        lambda x: (jf.where(x > 0, 1, 0), jf.where(x > 0, True, False), jf.where(x > 0, 1, 0.5)), x
    )
    assert [g.dtype.name for g in got] == ["int64", "bool", "float64"]
    same(got[2], np.where(x > 0, 1, 0.5))
    same(
        run(lambda x: jf.where(x > 0, 1, 2.5).astype("int8"), x),
        np.where(x > 0, 1, 2).astype(np.int8),
    )
    i = make((6,), "int16")
    same(
        run(lambda i: jf.where(i > 0, 2, -1) * i, i), np.where(i > 0, np.int16(2), np.int16(-1)) * i
    )
