"""einsum against NumPy's and torch's; what it makes of its operands; wrong subscripts."""

import numpy as np
import pytest
from support import make, same

import jitfuse as jf

CASES = [
    ("ij,jk->ik", (4, 5), (5, 6)),
    ("bij,bjk->bik", (3, 4, 5), (3, 5, 6)),
    ("ij,kj->ik", (4, 5), (6, 5)),
    ("ji,jk", (5, 4), (5, 6)),
    ("ij->ji", (4, 5)),
    ("ij->", (4, 5)),
    ("ij->i", (4, 5)),
    ("ba", (4, 5)),
    ("ii->i", (4, 4)),
    ("ii", (4, 4)),
    ("iij->j", (3, 3, 4)),
    ("iii->i", (3, 3, 3)),
    ("i,i->", (5,), (5,)),
    ("i,j->ij", (5,), (4,)),
    (",ij->ij", (), (3, 4)),
    ("ij,ij->ij", (4, 5), (4, 5)),
    ("ij,j->j", (4, 5), (5,)),
    ("bhqd,bhkd->bhqk", (2, 3, 4, 5), (2, 3, 6, 5)),
    ("bhqk,bhkd->bqhd", (2, 3, 4, 6), (2, 3, 6, 5)),
    ("...ij,...jk->...ik", (2, 3, 4, 5), (3, 5, 6)),
    ("...ij,jk", (2, 3, 4, 5), (5, 6)),
    ("i...->...i", (3, 4, 5)),
    ("...,...", (3, 1, 5), (4, 1)),
    ("ij,jk,kl->il", (4, 5), (5, 6), (6, 3)),
    ("ij,jk,kl,lm->im", (40, 5), (5, 60), (60, 3), (3, 2)),
    ("bi,ijk,bk->bj", (2, 3), (3, 4, 5), (2, 5)),
    ("abc,cd,abe->de", (2, 3, 4), (4, 5), (2, 3, 6)),
    ("ijk,ljk->il", (3, 4, 5), (6, 4, 5)),
    ("ijk,jil->kl", (3, 4, 5), (4, 3, 6)),
    ("bij,bjj->bi", (3, 4, 5), (3, 5, 5)),
    ("ij,jk->ik", (4, 1), (5, 6)),  # 1 broadcasts
    ("xyz,zyx->", (2, 3, 4), (4, 3, 2)),
    (" a b , b c -> a c ", (2, 3), (3, 4)),
    ("aB,Bc->ac", (2, 3), (3, 4)),
]


@pytest.mark.parametrize("case", CASES, ids=[c[0] for c in CASES])
@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_values_are_numpys(case, dtype):
    subscripts, *shapes = case
    arrays = [make(shape, dtype, i) for i, shape in enumerate(shapes)]
    want = np.einsum(subscripts, *arrays)
    for dynamic in (None, "all", "none"):
        got = jf.jit(lambda *a: jf.einsum(subscripts, *a), dynamic=dynamic)(*arrays)
        assert got.shape == want.shape and got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def text_of(subscripts, *shapes):
    return jf.jit(lambda *a: jf.einsum(subscripts, *a)).lower(*[make(s, "float32") for s in shapes]).text()


def test_products_of_matrices_are_matmul_and_others_fuse():
    assert text_of("bij,bjk->bik", (3, 4, 5), (3, 5, 6)).count(" = ") == 1
    assert text_of("...ij,jk", (2, 3, 4, 5), (5, 6)).count(" = matmul(") == 1
    chain = text_of("ij,jk,kl->il", (8, 16), (16, 4), (4, 100))
    assert chain.count(" = matmul(%") == 2 and "transpose" not in chain and "f32[n,4]" in chain
    last = text_of("ij,jk,kl->il", (100, 4), (4, 16), (16, 2))
    assert "f32[4,2]" in last  # the smaller product first
    assert "matmul" not in text_of("ij,j->i", (4, 5), (5,)) and "matmul" not in text_of("i,j->ij", (4,), (5,))
    lying = text_of("ijk,ljk->il", (8, 16, 4), (5, 16, 4))  # matrices as they lie in memory
    assert lying.count("reshape") == 2 and "transpose(%1) {perm=[1,0]}" in lying


def test_symbols_stay():
    f = jf.jit(lambda x, y, z: jf.einsum("bi,ijk,bk->bj", x, y, z))
    for n in (2, 7, 100):
        x, y, z = make((n, 3), "float64"), make((3, 4, 5), "float64", 1), make((n, 5), "float64", 2)
        np.testing.assert_allclose(f(x, y, z), np.einsum("bi,ijk,bk->bj", x, y, z), rtol=1e-12)
    assert f.cache_info().entries == 1


def test_dtypes_and_numbers():
    x = make((3, 4), "float16")
    assert jf.jit(lambda x: jf.einsum("ij->i", x))(x).dtype == np.float16
    assert jf.jit(lambda x, y: jf.einsum("ij,ij", x, y))(x, x.astype("float64")).dtype == np.float64
    same(jf.jit(lambda x, s: jf.einsum(",ij->ji", s, x))(x, 2.0), x.T * np.float16(2))


def test_of_numpy_and_torch(torch):
    x, t = make((4, 5), "float32"), torch.tensor(make((4, 5), "float32"))
    np.testing.assert_allclose(jf.jit(lambda x: np.einsum("ij,kj->ik", x, x, optimize=True))(x), x @ x.T, rtol=1e-5)
    for f in (lambda t: torch.einsum("ij,kj->ik", t, t), lambda t: torch.einsum("ij,kj->ik", [t, t]), lambda t: torch.einsum("i...->i", t)):
        torch.testing.assert_close(jf.jit(f)(t), f(t))


@pytest.mark.parametrize(("subscripts", "shapes", "message"), [
    ("ij,jk", [(3, 4)], "the subscripts are of 2 arrays, got 1"),
    ("ij,jk", [(3, 4), (5, 6)], "'j' has 4 and 5 elements"),
    ("...j,...j", [(3, 4), (5, 4)], "axis -1 of '...' has 3 and 5 elements"),
    ("ijk", [(3, 4)], "'ijk' is of an array with 3 axes, got one with 2"),
    ("...i", [()], "'...i' is of an array with at least 1 axes, got one with 0"),
    ("i->ii", [(3,)], "'i' of the result: it is there twice"),
    ("i->j", [(3,)], "'j' of the result: no array has it"),
    ("ii", [(3, 4)], "'ii'): 'i' is twice in one array, with 3 and 4 elements"),
    ("i1", [(3,)], "expected letters, ',', '->' and at most one '...' for each array, got 'i1'"),
    ("i....", [(3,)], "got 'i....'"),
])  # fmt: skip
def test_wrong_subscripts(subscripts, shapes, message):
    with pytest.raises(ValueError) as error:
        jf.jit(lambda *a: jf.einsum(subscripts, *a))(*[make(s, "float32") for s in shapes])
    assert message in str(error.value) and f"einsum({subscripts!r})" in str(error.value)


def test_outside_of_a_trace_and_without_subscripts():
    with pytest.raises(jf.TracingError, match="@jitfuse.jit"):
        jf.einsum("ij->ji", np.ones((2, 3)))
    with pytest.raises(TypeError, match="expected subscripts such as 'ij,jk->ik' before the arrays"):
        jf.jit(lambda x: jf.einsum(x, "ij->ji"))(np.ones((2, 3)))


@pytest.mark.parametrize("spec", ["i,i->", "ij,jk->ik", "ij->i", "i,j->ij", "ii->i", "..., ...->..."])
def test_bools_are_or_of_and(spec):
    arrays = [make((4,) * len(s.strip()), "bool", i) for i, s in enumerate(spec.split("->")[0].split(","))]
    arrays = [a[0] if "." in spec else a for a in arrays]
    same(jf.jit(lambda *a: jf.einsum(spec, *a))(*arrays), np.einsum(spec, *arrays))
