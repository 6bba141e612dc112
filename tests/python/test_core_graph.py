"""jitfuse._core: graphs, functions, errors."""
import numpy as np
import pytest

from jitfuse import _core


def chain(dtype="f32"):
    b = _core.Builder("chain")
    x = b.input("x", dtype, ["n", 4])
    w = b.input("w", dtype, [4])
    s = b.scalar("s", dtype)
    (xw,) = b.apply("multiply", (x, w), {})
    (y,) = b.apply("add", (xw, s), {})
    return b, b.apply("relu", (y,), {})


def test_builds_and_calls():
    b, outs = chain()
    assert outs[0].dtype == "f32" and outs[0].dims == ("n", 4) and outs[0].ndim == 2
    assert outs[0].builder is b
    f = b.compile(outs, device="cpu")
    assert (f.num_inputs, f.num_outputs, f.device, f.name) == (3, 1, "cpu", "chain")
    assert [i["name"] for i in f.inputs] == ["x", "w", "s"]
    x = np.random.default_rng(1).standard_normal((5, 4), dtype=np.float32)
    w = np.arange(4, dtype=np.float32)
    (y,) = f.call((x, w, 0.25))
    assert type(y) is np.ndarray and y.dtype == np.float32 and y.shape == (5, 4)
    np.testing.assert_array_equal(y, np.maximum(x * w + np.float32(0.25), 0))
    assert "chain" in f.explain((x, w, 1.0)) and f.explain_json((x, w, 1.0))[0] == "{"
    assert f.to_text() == b.to_text(outs)
    g = _core.compile_text(f.to_text(), device="cpu")
    np.testing.assert_array_equal(g.call((x, w, 0.25))[0], y)
    np.testing.assert_array_equal(_core.evaluate(f.to_text(), (x, w, 0.25))[0], y)
    assert f.stats()["compiles"] == 1


def test_strided_and_empty_arguments():
    b, outs = chain()
    f = b.compile(outs, device="cpu")
    wide = np.random.default_rng(2).standard_normal((8, 9), dtype=np.float32)
    w = np.arange(8, dtype=np.float32)[::-2]
    x = wide[::2, 1:5]
    np.testing.assert_array_equal(f.call((x, w, 0))[0], np.maximum(x * w, 0))
    xt = np.asfortranarray(x)
    np.testing.assert_array_equal(f.call((xt, w, 0))[0], np.maximum(x * w, 0))
    assert f.call((x[:0], w, 0))[0].shape == (0, 4)


def test_apply_errors_leave_the_graph_usable():
    b, outs = chain()
    x = b.input("x2", "f32", [3, 5])
    for wrong, text in [
        (lambda: b.apply("no_such", (x,), {}), "no op 'no_such'"),
        (lambda: b.apply("relu", (x, x), {}), "relu"),
        (lambda: b.apply("softmax", (x,), {"axes": 1}), "no attribute 'axes'"),
        (lambda: b.apply("softmax", (x,), {"axis": 7}), "axis"),
        (lambda: b.apply("add", (x, outs[0]), {}), "add"),
        (lambda: b.apply("matmul", (x, None), {}), "matmul"),
        (lambda: b.apply("layer_norm", (x, None, x), {}), "operand 1 is left out"),
        (lambda: b.apply("relu", (_core.Builder().input("y", "f32", [2]),), {}), "another Builder"),
        (lambda: b.constant("i8", 300), "does not fit"),
        (lambda: b.constant("f33", 1), "no dtype 'f33'"),
        (lambda: b.input("rng_seed", "f32", []), "another name"),
        (lambda: b.input("q", "f32", [-1]), "a dim is -1"),
        (lambda: b.compile(outs, numerics="sloppy"), "numerics is 'sloppy'"),
        (lambda: b.compile([]), "at least one output"),
        (lambda: b.compile(outs, specialize_after=2**63), "the option specialize_after is 9223372036854775808, expected a number from"),
        (lambda: _core.Builder("1x"), "graph name"),
    ]:
        with pytest.raises(ValueError, match=text):
            wrong()
    with pytest.raises(NotImplementedError, match="strict"):
        b.compile(outs, numerics="strict")
    (y,) = b.apply("softmax", (x,), {"axis": -1})
    assert b.compile([y], device="cpu").num_outputs == 1


def test_attributes_take_what_is_exact():
    b = _core.Builder()
    x = b.input("x", "f32", ["n", 6])
    (y,) = b.apply("reshape", (x,), {"shape": [-1]})
    assert y.dims == ("n*6",)
    (y,) = b.apply("reshape", (x,), {"shape": ["n", 2, 3]})
    assert y.dims == ("n", 2, 3)
    (y,) = b.apply("leaky_relu", (x,), {"slope": 1})
    (y,) = b.apply("cast", (x,), {"dtype": "bf16"})
    assert y.dtype == "bf16"
    (y,) = b.apply("sum", (x,), {"axes": [], "keepdims": np.bool_(False)})
    assert y.dims == ()
    (y,) = b.apply("sum", (x,), {"axes": np.array([1])})
    assert y.dims == ("n",)
    (y,) = b.apply("iota", (), {"shape": ["n", 3], "axis": 1, "dtype": "i32"})
    assert y.dtype == "i32" and y.dims == ("n", 3)
    c = b.constant("u64", 2**64 - 1)
    f = b.compile([b.apply("add", (c, b.input("z", "u64", []),), {})[0]], device="cpu")
    assert f.call((np.zeros((2, 6), np.float32), np.uint64(1)))[0] == 0


def test_random_ops_take_seed_and_offset_of_the_call():
    b = _core.Builder()
    x = b.input("x", "f32", ["n"])
    (a,) = b.apply("dropout", (x,), {"p": 0.5})
    (c,) = b.apply("random_normal", (), {"shape": ["n"], "dtype": "f32"})
    (d,) = b.apply("dropout", (x, b.scalar("p", "f32")), {})
    f = b.compile([a, c, d], device="cpu")
    assert f.num_inputs == 2
    ones = np.ones(1000, np.float32)
    first = f.call((ones, 0.25), rng=(7, 3, None))
    again = f.call((ones, 0.25), rng=(7, 3, None))
    later = f.call((ones, 0.25), rng=(7, 6, None))
    for i in range(3):
        np.testing.assert_array_equal(first[i], again[i])
        assert (first[i] != later[i]).any()
    assert 350 < (first[0] == 0).sum() < 650 and 150 < (first[2] == 0).sum() < 350


def test_gradients_take_tensors_of_their_builder_alone():
    b, other = _core.Builder("f"), _core.Builder("g")
    x, y = (one.input("x", "f32", [3]) for one in (b, other))
    for call, text in [
        (lambda: b.split([y], [x]), "split: output 0 belongs to another Builder"),
        (lambda: b.split([x], [y]), "split: wrt 0 belongs to another Builder"),
        (lambda: b.split([y], [y]), "split: output 0 belongs to another Builder"),
        (lambda: b.vjp([y], [y], [y]), "vjp: output 0 belongs to another Builder"),
        (lambda: b.vjp([x, x], [None, y], [x]), "vjp: cotangent 1 belongs to another Builder"),
        (lambda: b.gradient_root(y), "gradient_root: the tensor belongs to another Builder"),
        (lambda: b.custom_gradient([y], [y], [y], [None]), "custom_gradient: input 0 belongs to another Builder"),
    ]:
        with pytest.raises(ValueError, match=text):
            call()
    assert b.split([x], [x]).forward.name == "f"


def test_ops_and_doctor():
    ops = {op["name"]: op for op in _core.list_ops()}
    assert ops["softmax"]["args"] == ["x"] and ops["softmax"]["doc"] and "axis" in ops["softmax"]["attrs"]
    assert ops["sum"]["attr_infos"][1] == {"name": "keepdims", "type": "bool", "doc": ops["sum"]["attr_infos"][1]["doc"], "required": False, "default": False}
    assert ops["max_sumexp"]["num_results"] == 2 and ops["cast"]["attr_infos"][0]["required"]
    assert all(set(f) == {"what", "found", "version", "where", "remedy"} for f in _core.doctor())
    assert _core.version.count(".") == 2
