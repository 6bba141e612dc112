"""The command jitfuse of the package: the C++ command's main, with Python functions where it takes a file."""

import os
import re
import subprocess
import sys
import textwrap

import numpy as np
import pytest

MODULE = '''
import array, collections, functools, sys
import jitfuse as jf

factors = array.array("f", [1, 2, 3, 4])
plain = 3

def layer(x, w, b=None, act="relu"):
    y = x @ w if b is None else x @ w + b
    return jf.nn.relu(y) if act == "relu" else jf.tanh(y)

@jf.jit(static_argnames="axis", numerics="fast", fuse=False)
def norm(x, eps, axis=-1):
    return (x - jf.mean(x, axis=axis, keepdims=True)) / (jf.std(x, axis=axis, keepdims=True) + eps)

def tree(p, xs): return {k: v * 2 for k, v in p.items()}, xs[0] + xs[1]
def scaled(x): return x * factors
def total(*xs): return sum(xs)
def total_scaled(first, *xs, factor=1.0): return (first + sum(xs)) * factor
def places(x, y, /): return x - y
def branches(x): return x if x.sum() > 0 else -x
def undefined(x): return x + missing_name
def same(x, y): return x + y
def rows(x): return jf.concat([x * i for i in range(x.shape[0])])
def nothing(x): return 1
def noisy(x): print("traced"); return jf.nn.dropout(x, 0.5)

def first(x, /, y=2): return x + y
def add_all(x, *xs): return x + sum(xs)
def stops(x): raise KeyboardInterrupt("now")
first_of_five = functools.partial(first, y=5)

class Model:
    def __call__(self, x): return jf.exp(x)
    def method(self, x): return jf.exp(x)

model = Model()
'''


@pytest.fixture(scope="module")
def command(tmp_path_factory):
    folder = tmp_path_factory.mktemp("command")
    (folder / "entries.py").write_text(MODULE)
    (folder / "wrong.py").write_text("import no_such_module_of_anyone")

    def run(line, code=0):
        env = {**os.environ, "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
        words = line if isinstance(line, list) else line.split()
        done = subprocess.run([sys.executable, "-m", "jitfuse", *words], cwd=folder, env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == code, (words, done.returncode, done.stdout, done.stderr)
        assert code == 0 or not done.stdout, (words, done.stdout)
        return done.stdout if code == 0 and not done.stderr else done.stdout + done.stderr

    run.folder = folder
    return run


def text(body):
    return textwrap.dedent(body).lstrip("\n")


def test_text_of_an_entry_has_the_sizes_that_were_given(command):
    got = command("text entries:layer --arg x:f32[rows,16] --arg w:f32[16,4] --arg b:f32[4] --arg act=tanh")
    assert got == text("""
        graph layer(%x: f32[rows,16], %w: f32[16,4], %b: f32[4]) -> (f32[rows,4]) {
          %0 = matmul(%x, %w) : f32[rows,4]
          %1 = add(%0, %b) : f32[rows,4]
          %2 = tanh(%1) : f32[rows,4]
          return %2
        }
        """)
    assert command(["text", "entries.py:layer", "--arg", "float32[rows, 16]", "--arg", "f32[16,4]", "--arg", "b: f32[4]", "--arg", "act=tanh"]) == got
    (command.folder / "layer.jf").write_text(got)
    assert command("text layer.jf") == got


def test_every_verb_takes_an_entry(command):
    entry = "entries:layer --arg x:f32[n,16] --arg w:f32[16,4] --set n=10 --backend cpu"
    assert command(f"run {entry}").startswith("output 0: f32[10,4] = ")
    assert "check output 0: ok" in command(f"run {entry} --check --no-gemm-library --no-fuse")
    assert "check output 0: ok" in command(f"run {entry} --check --numerics fast")
    assert "stats: fallback tune_nothing 1" in command(f"run {entry} --autotune --stats")
    assert "numerics_fast_same" in command(f"explain {entry} --numerics fast")
    assert "numerics_fast_same" not in command("explain entries:norm --arg x:f32[n,8] --arg eps:float --numerics default --backend cpu")
    command(f"run {entry} --numerics strict", code=2)
    assert "moves" in command(f"explain {entry}") and "graph layer" in command(f"explain {entry}")
    assert "__global__" in command(f"explain {entry} --arg act=tanh --stage cuda --arch sm_90")
    assert "// no kernels: libraries compute all of it" in command(f"explain {entry} --stage cuda --arch sm_90")
    assert '"groups"' in command(f"explain {entry} --json")
    assert "latency" in command(f"bench {entry} --repeat 2")
    np.savez(command.folder / "in.npz", x=np.full((2, 16), 0.5, "f"), w=np.ones((16, 4), "f"))
    assert command("run entries:layer --arg x:f32[n,16] --arg w:f32[16,4] --inputs in.npz").startswith("output 0: f32[2,4] = 8, 8, 8")


def test_numbers_values_and_nests(command):
    assert command("text entries:norm --arg x:f32[n,8] --arg eps:float").startswith("graph norm(%x: f32[n,8], %eps: scalar f32) -> (f32[n,8])")
    assert command("text entries:norm --arg x:f64[n,8] --arg eps:f64").startswith("graph norm(%x: f64[n,8], %eps: scalar f64) -> (f64[n,8])")
    assert "add(%2, 1e-05) : f32[1,8]" in command("text entries:norm --arg x:f32[n,8] --arg eps=1e-5 --arg axis=0")
    nest = command("text entries:tree --arg p.a:f32[n] --arg p.b:f32[n,2] --arg xs.0:f32[] --arg xs.1:int")
    assert nest.startswith("graph tree(%p_a: f32[n], %p_b: f32[n,2], %xs_0: f32[], %xs_1: scalar f32) -> (f32[n], f32[n,2], f32[])")
    assert command("text entries:total --arg f32[n] --arg f32[n] --arg =1").count("add(") == 3
    for first in ("f32[n]", "first:f32[n]"):
        assert command(f"text entries:total_scaled --arg {first} --arg f32[n] --arg f32[n] --arg factor=2.0").count("add(") >= 2
    for y in ("f32[n]", "y:f32[n]"):
        assert "subtract(%x, %y)" in command(f"text entries:places --arg f32[n] --arg {y}")
    assert "exp(%x)" in command("text entries:model --arg f32[2,k]") and "exp(%x)" in command("text entries:model.method --arg f32[3]")


def test_options_of_jit_hold_and_the_commands_go_before(command):
    assert command("explain entries:norm --arg x:f32[n,8] --arg eps:float --backend cpu").count("  group ") > 4  # fuse=False
    assert " on interpret" in command("explain entries:scaled --arg x:f32[n,4] --backend interpret")


def test_arrays_from_outside_are_passed(command):
    ones = command.folder / "ones.npz"
    np.savez(ones, x=np.ones((1, 4), "f"))
    assert "= 1, 2, 3, 4" in command("run entries:scaled --arg x:f32[n,4] --inputs ones.npz")
    both = command.folder / "both.npz"
    np.savez(both, x=np.ones((1, 4), "f"), captured_0=np.full(4, 7, "f"))
    assert "= 7, 7, 7, 7" in command("run entries:scaled --arg x:f32[n,4] --inputs both.npz")
    assert "check output 0: ok" in command("run entries:scaled --arg x:f32[n,4] --check")


def test_what_becomes_of_sizes_is_said(command):
    same = command("text entries:same --arg x:f32[n,4] --arg y:f32[m,4] --set m=5")
    assert "jitfuse: note: m is n, since the function needs them equal" in same and "%y: f32[n,4]" in same
    assert "f32[5,4]" in command("run entries:same --arg x:f32[n,4] --arg y:f32[m,4] --set n=5")
    assert "the function needs m and n equal, and m is 4" in command("text entries:same --arg x:f32[n,4] --arg y:f32[m,4] --set n=3 --set m=4", 2)
    rows = command("text entries:rows --arg x:f32[n,4] --set n=3")
    assert "note: n is the constant 3" in rows and "entries.py:" in rows and "-> (f32[9,4])" in rows


def test_random_ops_and_prints(command):
    first, other = (command(f"run entries:noisy --arg x:f32[n] --seed {s}") for s in (1, 2))
    assert "traced\n" in first and first != other and command("run entries:noisy --arg x:f32[n] --seed 1") == first


@pytest.mark.parametrize(("line", "message"), [
    ("entries:layr", "has no 'layr'; its functions: layer, norm"),
    ("entries:plain", "expected a function, got 3 of type int"),
    ("no_such_module:f", "there is no module 'no_such_module' in this folder or installed"),
    ("folder/none.py:f", "cannot read folder/none.py: there is no such file"),
    ("entries:layer", "missing a required argument: 'x'; it is layer(x, w, b=None, act='relu')"),
    ("entries:places --arg y:f32[3]", "; it is places(x, y, /), and each --arg says"),
    ("entries:layer --arg q:f32[3]", "entries:layer has no parameter 'q'; it is layer(x, w"),
    ("entries:layer --arg x:f99[3]", "'f99' is no dtype; expected one of bool, u8"),
    ("entries:layer --arg x:f32[3", "expected NAME:f32[n,1024] for an array"),
    ("entries:layer --arg x:f32[3,-1]", "expected a size such as 1024 or n, got '-1'"),
    ("entries:layer --arg x:f32[3] --arg x:f32[3]", "--arg x:f32[3]: it is given twice"),
    ("entries:tree --arg p:f32[3] --arg p.a:f32[3]", "'p' was given as a whole before"),
    ("entries:tree --arg p:f32[3] --arg xs.1:f32[3]", "--arg xs: expected items 0 to 0, got 1"),
    ("entries:layer --arg f32[1] --arg f32[1] --arg f32[1] --arg =1 --arg f32[1]", "expected at most 4 arguments without a name, got 5"),
    ("entries:norm --arg x:f32[3] --arg eps=1 --arg axis:int", "axis is a static argument: expected --arg axis=VALUE"),
    ("entries:scaled --arg x:f32[n,4] --set k=3", "no --arg has a size k; their symbols: n"),
    ("layer.jf --arg x:f32[n]", "expected a Python function beside it"),
    ("entries:scaled --arg x:f32[n,4] --what", "--help lists what there is"),
])  # fmt: skip
def test_wrong_command_lines(command, line, message):
    got = command(f"text {line}", 2)
    assert message in got and "Traceback" not in got and got.startswith("jitfuse")


@pytest.mark.parametrize(("line", "message"), [
    ("entries:branches --arg x:f32[3]", r"needs the values of .*\n.*entries.py:\d+: `def branches"),
    ("entries:undefined --arg x:f32[3]", r"failed:\nTraceback[^\0]*entries.py[^\0]*NameError: name 'missing_name'"),
    ("entries:same --arg x:f32[3] --arg y:f32[4]", r"do not broadcast: expected equal sizes or 1 in dim -1, got 3 and 4"),
    ("wrong:f", r"failed:\n[^\0]*wrong.py[^\0]*No module named 'no_such_module_of_anyone'"),
    ("entries:nothing --arg x:f32[3]", "nothing returns no array that depends on its arguments"),
    ("entries:layer --arg x:f32[n,16] --arg w:f32[8,4]", r"ValueError: matmul"),
])  # fmt: skip
def test_functions_that_fail_are_shown_without_our_frames(command, line, message):
    got = command(f"run {line}", 1)
    assert re.search(message, got) and "jitfuse/_" not in got, got
    assert len(re.findall("^jitfuse: ", got, re.MULTILINE)) == 1


def test_the_rest_is_the_c_plus_plus_command(command):
    assert "run, explain, bench, text, doctor, cache" in command([], 2)
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", command("--version"))
    assert "--arg TEXT" in command("run --help") and "FILE.py:function" in command("text --help")
    assert "jitfuse " in command("doctor")


def test_the_console_script_is_this_command():
    metadata = pytest.importorskip("tomllib")
    import pathlib

    project = metadata.loads((pathlib.Path(__file__).resolve().parents[2] / "pyproject.toml").read_text())
    module, _, name = project["project"]["scripts"]["jitfuse"].partition(":")
    from jitfuse import _command

    assert module == _command.__name__ and name == "main" and callable(_command.main)


def test_parameters_without_a_name(command):
    graph = command("text entries:first --arg x:f32[n]")
    assert "add(%x, 2.0)" in graph and command("text entries:first --arg f32[n]").count("%x") == 2
    assert "add(%x, 5.0)" in command("text entries:first_of_five --arg f32[n]")
    assert "tanh(%x)" in command("text numpy:tanh --arg f32[n]")
    mixed = command("text entries:add_all --arg x:f32[n] --arg f32[n] --arg f32[n]")
    assert re.search(r"%x: f32\[n\], %arg1: f32\[n\], %arg2: f32\[n\]", mixed), mixed


def test_what_a_function_prints_is_not_in_the_output(command):
    done = command("text entries:noisy --arg x:f32[3]")
    assert done.startswith("graph noisy") and "traced" in done.partition("\n}\n")[2], done


def test_files_named_as_a_module_of_python(command):
    (command.folder / "sub").mkdir(exist_ok=True)
    (command.folder / "sub" / "json.py").write_text("def f(x):\n    import json\n    return x + 1\n")
    assert "add(%x, 1.0)" in command("text sub/json.py:f --arg x:f32[3]")


@pytest.mark.parametrize(("line", "code", "message"), [
    (["text", "entries:same", "--arg", "x:f32[" + "9" * 5000 + "]"], 2, "expected a size such as 1024"),
    (["text", "entries:tree", "--arg", "p.\u00b2:f32[2]", "--arg", "xs.0:f32[2]", "--arg", "xs.1:f32[2]"], 0, "graph tree"),
    (["text", "entries:plain.no", "--arg", "f32[2]"], 2, "3 has no 'no'; its functions: .*bit_length"),
    (["text", "entries:stops", "--arg", "f32[2]"], 1, r"failed:\nTraceback[^\0]*KeyboardInterrupt: now"),
    (["text", b"entries:f\xff", "--arg", "f32[2]"], 2, "expected UTF-8"),
])  # fmt: skip
def test_odd_command_lines(command, line, code, message):
    assert re.search(message, command(line, code))
