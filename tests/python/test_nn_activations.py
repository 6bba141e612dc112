"""Activations, softmax and gated units against torch on the CPU."""

import inspect

import numpy as np
import pytest

import jitfuse as jf
from support import EPS, make, run, same

torch = pytest.importorskip(
    "torch", reason="values are compared with torch.nn.functional, and torch is not installed"
)
F = torch.nn.functional

# name -> keyword arguments to try, beside the defaults.
ACTIVATIONS = {
    "relu": [{}], "relu6": [{}], "leaky_relu": [{}, {"negative_slope": 0.2}],
    "elu": [{}, {"alpha": 0.5}], "selu": [{}], "celu": [{}, {"alpha": 2.0}],
    "hardtanh": [{}, {"min_val": -2, "max_val": 0.5}], "hardswish": [{}], "hardsigmoid": [{}],
    "hardshrink": [{}, {"lambd": 1.0}], "softshrink": [{}, {"lambd": 1.0}], "tanhshrink": [{}],
    "silu": [{}], "mish": [{}], "gelu": [{}, {"approximate": "tanh"}], "sigmoid": [{}],
    "tanh": [{}], "logsigmoid": [{}],
    "softplus": [{}, {"beta": 2.0}, {"beta": 0.5, "threshold": 1.0}], "softsign": [{}],
    "threshold": [{"threshold": 0.1, "value": 20.0}],
    "softmax": [{"dim": -1}, {"dim": 0}, {"dim": 1, "dtype": "float64"}],
    "log_softmax": [{"dim": -1}, {"dim": 0}], "softmin": [{"dim": 1}], "glu": [{}, {"dim": 0}],
    "normalize": [{}, {"p": 1.0, "dim": 0}],
}  # fmt: skip


def expected(name, x, kwargs, wide):
    kwargs = {k: getattr(torch, v) if k == "dtype" else v for k, v in kwargs.items()}
    args = torch.from_numpy(x).to(wide)
    got = getattr(F, name)(args, **kwargs)
    return got.numpy().astype(
        kwargs["dtype"].__str__().removeprefix("torch.") if "dtype" in kwargs else x.dtype
    )


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_activations(dtype):
    x = make((6, 8), dtype, low=-6, high=6)
    cases = [(name, kw) for name, kws in ACTIVATIONS.items() for kw in kws]
    got = run(lambda x: [getattr(jf.nn, name)(x, **kw) for name, kw in cases], x)
    for (name, kw), g in zip(cases, got):
        want = expected(name, x, kw, torch.float64)
        # tails that cancel in torch's float64 formulas, and float32's own exponent range
        same(g, want, ulps=64, what=f"{name} {kw}", atol=8 * EPS[dtype])


def test_defaults_and_argument_order_are_torchs():
    for name in sorted(set(jf.nn.__all__) & set(dir(F))):
        own = inspect.signature(getattr(jf.nn, name)).parameters
        try:
            theirs = inspect.signature(getattr(F, name)).parameters
        except ValueError:
            continue  # a builtin without a signature
        theirs = {k: p for k, p in theirs.items() if k != "out"}
        if list(theirs) == ["args", "kwargs"]:
            continue  # max_pool's dispatchers
        assert list(own)[: len(theirs)] == list(theirs), name
        for key, p in theirs.items():
            if p.default is not inspect.Parameter.empty:
                assert own[key].default == p.default, (name, key)


def test_prelu():
    x = make((2, 3, 4), "float32")
    for w in (np.array([0.25], np.float32), np.array([0.1, 0.2, 0.3], np.float32)):
        same(
            run(lambda x, w: jf.nn.prelu(x, w), x, w),
            F.prelu(torch.from_numpy(x), torch.from_numpy(w)).numpy(),
        )


@pytest.mark.parametrize("name, act", [("reglu", "relu"), ("geglu", "gelu"), ("swiglu", "silu")])
def test_gated_units(name, act):
    x, g = make((4, 6), "float64"), make((4, 6), "float64", 1)
    want = torch.from_numpy(x) * getattr(F, act)(torch.from_numpy(g))
    same(run(lambda x, g: getattr(jf.nn, name)(x, g), x, g), want.numpy(), ulps=64)
    same(
        run(lambda x, g: getattr(jf.nn, name)(jf.concat([x, g], axis=1)), x, g),
        want.numpy(),
        ulps=64,
    )


def test_nan_and_infinities():
    x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0], np.float32)
    names = [
        "relu",
        "gelu",
        "silu",
        "sigmoid",
        "softplus",
        "hardtanh",
        "leaky_relu",
        "elu",
        "mish",
        "logsigmoid",
    ]
    got = run(lambda x: {n: getattr(jf.nn, n)(x) for n in names}, x)
    for n in names:
        # torch gives NaN for some of these at an infinity (0 * inf); at +inf they are +inf here
        keep = slice(None) if n not in ("gelu", "silu", "mish") else [0, 3, 4]
        same(got[n][keep], getattr(F, n)(torch.from_numpy(x)).numpy()[keep], what=n)


def test_bad_arguments():
    x = make((4, 5), "float32")
    with pytest.raises(ValueError, match="approximate='erf'"):
        run(lambda x: jf.nn.gelu(x, "erf"), x)
    with pytest.raises(TypeError, match="expected dim"):
        run(lambda x: jf.nn.softmax(x), x)
    with pytest.raises(ValueError, match="even size"):
        run(lambda x: jf.nn.glu(x), x)


def test_limits_at_infinity():
    x = np.array([np.inf], np.float32)
    for name in ("gelu", "silu", "mish"):
        assert run(getattr(jf.nn, name), x)[0] == np.inf, name
