"""Normalisations, pooling, linear, embedding, padding, attention and dropout against torch on the
CPU."""

import numpy as np
import pytest

import jitfuse as jf
from support import make, run, same

torch = pytest.importorskip(
    "torch", reason="values are compared with torch.nn.functional, and torch is not installed"
)
F = torch.nn.functional


def compare(name, *args, ulps=64, atol=1e-13, **kwargs):
    """jitfuse.nn and torch.nn.functional on the same arguments, in float64."""
    got = run(
        lambda arrays: getattr(jf.nn, name)(*fill(arrays, args), **kwargs),
        [a for a in args if isinstance(a, np.ndarray)],
    )
    want = getattr(F, name)(
        *[torch.from_numpy(a) if isinstance(a, np.ndarray) else a for a in args], **kwargs
    )
    same(got, want.numpy(), ulps=ulps, atol=atol, what=f"{name} {kwargs}")


def fill(arrays, args):
    arrays = iter(arrays)
    return [next(arrays) if isinstance(a, np.ndarray) else a for a in args]


X2, X3, X4 = make((4, 6), "float64"), make((4, 6, 5), "float64"), make((2, 4, 7, 6), "float64")
W6, B6 = make((6,), "float64", 1), make((6,), "float64", 2)


def test_layer_and_rms_norm():
    for shape in ((6,), 6):
        want = F.layer_norm(
            torch.from_numpy(X2), (6,), torch.from_numpy(W6), torch.from_numpy(B6), 1e-3
        ).numpy()
        same(run(lambda x, w, b: jf.nn.layer_norm(x, shape, w, b, 1e-3), X2, W6, B6), want, ulps=64)
    compare("layer_norm", X3, (6, 5))
    compare("layer_norm", X2, (6,), W6)
    compare("layer_norm", X2, (6,), None, B6)
    compare("rms_norm", X2, (6,), W6, 1e-4)
    compare("rms_norm", X2, (6,))
    compare("rms_norm", X3, (6, 5))
    with pytest.raises(ValueError, match=r"normalized_shape \(5,\) is not the end of the shape"):
        run(lambda x: jf.nn.layer_norm(x, (5,)), X2)
    f = jf.jit(lambda x, w: jf.nn.layer_norm(x, x.shape[1:], w))
    f(X2, W6), f(X2[:3], W6)
    assert f.cache_info().entries == 1


def test_group_instance_batch_norm():
    compare("group_norm", X3, 3, W6, B6)
    compare("group_norm", X3, 2)
    compare("instance_norm", X3)
    compare("instance_norm", X3, None, None, W6, B6)
    mean, var = make((6,), "float64", 3), make((6,), "float64", 4, low=0.5)
    compare("batch_norm", X3, mean, var, W6, B6)
    compare("batch_norm", X2, mean, var)
    compare("batch_norm", X3, None, None, W6, B6, True)
    rm, rv = torch.from_numpy(mean.copy()), torch.from_numpy(var.copy())
    y = F.batch_norm(
        torch.from_numpy(X3), rm, rv, torch.from_numpy(W6), torch.from_numpy(B6), True, 0.2
    )
    got = run(
        lambda x, m, v, w, b: jf.nn.batch_norm_training(x, m, v, w, b, 0.2), X3, mean, var, W6, B6
    )
    for g, w in zip((got[0], got[3], got[4]), (y, rm, rv)):
        same(g, w.numpy(), ulps=64, atol=1e-14)
    with pytest.raises(ValueError, match="batch_norm_training"):
        run(lambda x, m, v: jf.nn.batch_norm(x, m, v, training=True), X3, mean, var)


def test_linear_and_bilinear():
    compare("linear", X2, make((3, 6), "float64", 1), make((3,), "float64", 2))
    compare("linear", X3, make((3, 5), "float64", 1))
    compare(
        "bilinear",
        X2,
        make((4, 5), "float64", 1),
        make((3, 6, 5), "float64", 2),
        make((3,), "float64", 3),
    )


def test_embedding_and_one_hot():
    i = np.array([[0, 2], [3, 1]])
    same(
        run(lambda i, w: jf.nn.embedding(i, w), i, X2),
        F.embedding(torch.from_numpy(i), torch.from_numpy(X2)).numpy(),
    )
    same(run(lambda i: jf.nn.one_hot(i, 4), i), F.one_hot(torch.from_numpy(i), 4).numpy())
    with pytest.raises(ValueError, match="num_classes"):
        run(lambda i: jf.nn.one_hot(i), i)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_pooling(count):
    x = make((2, 3) + (9, 8, 7)[:count], "float64")
    for kw in (
        {},
        {"stride": 1},
        {"padding": 1},
        {"padding": 1, "ceil_mode": True},
        {"stride": 2, "dilation": 2},
    ):
        compare(f"max_pool{count}d", x, 3, **kw)
    for kw in (
        {},
        {"stride": 1},
        {"padding": 1},
        {"padding": 1, "count_include_pad": False},
        {"padding": 1, "ceil_mode": True},
    ):
        compare(f"avg_pool{count}d", x, 3, **kw)
    if count > 1:
        compare(f"avg_pool{count}d", x, 2, divisor_override=3)
        compare(f"max_pool{count}d", x, (3, 2, 1)[:count], (1, 2, 1)[:count])
    compare(f"max_pool{count}d", x[0], 2)
    with pytest.raises(ValueError, match="axes"):
        run(lambda x: getattr(jf.nn, f"max_pool{count}d")(x[0, 0], 2), x)


@pytest.mark.parametrize("count", [1, 2, 3])
def test_adaptive_pooling(count):
    x = make((2, 3) + (6, 8, 4)[:count], "float64")
    for kind in ("avg", "max"):
        compare(f"adaptive_{kind}_pool{count}d", x, 1)
        compare(f"adaptive_{kind}_pool{count}d", x, 2)
        if count > 1:
            compare(f"adaptive_{kind}_pool{count}d", x, (3, None, 2)[:count])
    with pytest.raises(NotImplementedError, match="output size 5 does not divide input size 6"):
        run(lambda x: getattr(jf.nn, f"adaptive_avg_pool{count}d")(x, 5), x)


@pytest.mark.parametrize("mode", ["constant", "reflect", "replicate", "circular"])
def test_pad(mode):
    x = make((2, 3, 5, 6), "float64")
    compare("pad", x, (1, 2), mode) if mode == "constant" else compare("pad", x, (1, 2, 0, 1), mode)
    if mode == "constant":
        compare("pad", x, (1, -2, 0, 3), value=2.5)


def test_attention():
    q, k, v = (make((2, 3, 5, 8), "float64", s) for s in (1, 2, 3))
    compare("scaled_dot_product_attention", q, k, v, atol=1e-12)
    compare("scaled_dot_product_attention", q, k, v, is_causal=True, atol=1e-12)
    compare(
        "scaled_dot_product_attention", q, k, v, make((5, 5), "float64", 4), scale=0.3, atol=1e-12
    )
    compare("scaled_dot_product_attention", q, k, v, np.tril(np.ones((5, 5), bool)), atol=1e-12)


def test_distances():
    compare("cosine_similarity", X2, X2 + 1)
    compare("pairwise_distance", X2, X2 + 1)
    compare("pairwise_distance", X2, X2 + 1, 1.0, keepdim=True)


# Random.


def test_dropout():
    x = np.ones((200, 50), np.float32)
    f = jf.jit(lambda x, p: jf.nn.dropout(x, p))
    y = f(x, 0.25)
    kept = y != 0
    assert 0.72 < kept.mean() < 0.78 and np.allclose(y[kept], 1 / 0.75, rtol=1e-4)
    assert not np.array_equal(y, f(x, 0.25))  # the next call draws other numbers
    jf.random.seed(0)
    assert np.array_equal(y, f(x, 0.25))
    assert f.cache_info().entries == 1 and f(x, 0.5).mean() > 0
    same(run(lambda x: jf.nn.dropout(x, 0.5, training=False), x), x)
    two = run(lambda x: (jf.nn.dropout(x), jf.nn.dropout(x)), x)
    assert not np.array_equal(*two)
    with pytest.raises(ValueError, match="p is 1.5"):
        run(lambda x: jf.nn.dropout(x, 1.5), x)


def test_channel_and_alpha_dropout():
    x = np.ones((20, 30, 4, 5), np.float32)
    y = run(lambda x: jf.nn.dropout2d(x), x)
    assert set(np.unique(y)) == {0.0, 2.0} and np.array_equal(
        y, np.broadcast_to(y[:, :, :1, :1], y.shape)
    )
    z = run(
        lambda x: jf.nn.alpha_dropout(x, 0.3, training=True),
        make((300, 300), "float32", low=-1.7, high=1.7),
    )
    assert abs(z.mean()) < 0.05 and abs(z.std() - 1) < 0.1
