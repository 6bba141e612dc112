"""Pre-caching from Python: entries of a manifest are traced as calls trace them, so that an application finds all of its kernels."""

import json
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

MODULE = """
import jitfuse as jf

@jf.jit
def layer(x, w, b):
    return jf.nn.gelu(x @ w + b)

@jf.jit(static_argnames="axis", numerics="fast")
def norm(x, eps, axis=-1):
    return (x - jf.mean(x, axis=axis, keepdims=True)) / (jf.std(x, axis=axis, keepdims=True) + eps)

def plain(x, y): return jf.exp(x) + y
def loss(x): return jf.sum(x * x)
def branches(x): return x if x.sum() > 0 else -x
"""

APPLICATION = """
import json, numpy as np, jitfuse as jf, model
ones = lambda *shape, dtype="float32": np.ones(shape, dtype)
for n in (1, 5, 33):
    model.layer(ones(n, 16), ones(16, 8), ones(8))
    model.norm(ones(n, 64), 0.1)
    model.norm(ones(n, 64), 0.5, axis=0)
    jf.jit(model.loss)(ones(n, 10))
    for dtype in ("float32", "float64"):
        jf.jit(model.plain)(ones(n, 6, dtype=dtype), ones(6, dtype=dtype))
found = [f.lower(*args).compile().stats() for f, args in (
    (model.layer, (ones(5, 16), ones(16, 8), ones(8))), (model.norm, (ones(5, 64), 0.1)))]
print(json.dumps(found))
"""

MANIFEST = {
    "jitfuse_manifest": 1,
    "entries": [
        {"python": "model:layer", "args": ["x:f32[n,16]", "w:f32[16,8]", "b:f32[8]"], "calls": [{"sizes": {"n": [1, 2]}}]},
        {"python": "model.py:norm", "args": ["x:f32[n,m]", "eps:float"], "calls": [{"sizes": {"n": [1, 2], "m": [64]}}]},
        {"python": "model.py:norm", "args": ["x:f32[n,64]", "eps:float", "axis=0"], "calls": [{"sizes": {"n": [1, {"from": 2, "to": 64, "times": 2}]}}]},
        {"python": "model:loss", "args": ["x:f32[n,10]"], "calls": [{"sizes": {"n": [1, 3, 32]}}]},
        {"python": "model:plain", "args": ["x:$T[n,6]", "y:$T[6]"], "dtypes": {"T": ["f32", "f64"]}, "calls": [{"sizes": {"n": [1, 100]}}]},
    ],
}


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "model.py").write_text(MODULE)
    return tmp_path


def run(folder, words, code=0, stdin=None, **environment):
    env = {k: v for k, v in os.environ.items() if not k.startswith("JITFUSE_")}
    env |= {"PYTHONPATH": os.pathsep.join([str(folder), *(p for p in sys.path if p)]), "JITFUSE_NO_CACHE": "1", "JITFUSE_BACKEND": "cpu", **environment}
    done = subprocess.run([sys.executable, *map(str, words)], cwd=folder, env=env, input=stdin, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stdout if code == 0 else done.stderr


def precache(folder, manifest, code=0, out="layer"):
    (folder / "m.json").write_text(json.dumps(manifest))
    return run(folder, ["-m", "jitfuse", "precache", "m.json", "--arch", "cpu:x86-64-v2", "--out", out], code)


def check_target(folder):
    target = {"JITFUSE_NO_CACHE": "0", "JITFUSE_REQUIRE_CACHE": "1", "JITFUSE_CACHE_PATH": str(folder / "layer"), "JITFUSE_CACHE_DIR": str(folder / "own")}
    for stats in json.loads(run(folder, ["-c", APPLICATION], JITFUSE_CPU_ARCH="x86-64-v2", **target)):
        assert stats["compiled"] == 0 and stats["layer_hits"] > 0


def test_an_application_finds_what_its_entries_compile(folder):
    said = precache(folder, MANIFEST)
    assert "products   " in said and "compilers  llvm-" in said
    check_target(folder)
    assert " 0 of them missing" in run(folder, ["-m", "jitfuse", "cache", "diff", "layer", "m.json"])


def test_what_an_application_compiles_is_recorded(folder):
    run(folder, ["-m", "jitfuse", "precache", "m.json", "--record", "--", sys.executable, "-c", APPLICATION])
    recorded = json.loads((folder / "m.json").read_text())
    assert {next(iter(e)) for e in recorded["entries"]} == {"text"}
    assert any(e.get("options") == {"numerics": "fast"} for e in recorded["entries"])
    precache(folder, recorded)
    check_target(folder)


def test_the_same_bytes_each_time(folder):
    precache(folder, MANIFEST)
    precache(folder, MANIFEST, out="again")
    first, second = ({f.relative_to(root): f.read_bytes() for f in root.rglob("*") if f.is_file()} for root in (folder / "layer", folder / "again"))
    assert len(first) > 8 and first == second


def test_a_record_that_cannot_be_kept_fails_no_call(folder):
    (folder / "taken.json").write_text("[]")
    for path in (folder / "taken.json", "/nowhere/m.json"):
        run(folder, ["-c", APPLICATION], JITFUSE_RECORD=str(path))
    assert (folder / "taken.json").read_text() == "[]"


def test_relative_paths_are_those_of_the_start(folder):
    (folder / "elsewhere").mkdir()
    moves = "import jitfuse as jf, numpy as np, os\nf = lambda n: jf.jit(lambda x: jf.exp(x) * n)(np.ones(5, 'f'))\n"
    run(folder, ["-c", moves + "f(2.5)\nos.chdir('elsewhere')\nf(3.5)"], JITFUSE_RECORD="m.json")
    recorded = json.loads((folder / "m.json").read_text())
    assert len(recorded["entries"]) == 2 and not list((folder / "elsewhere").iterdir())
    precache(folder, recorded)
    target = {"JITFUSE_NO_CACHE": "0", "JITFUSE_REQUIRE_CACHE": "1", "JITFUSE_CACHE_PATH": "layer", "JITFUSE_CACHE_DIR": "own"}
    run(folder, ["-c", moves + "os.chdir('elsewhere')\nf(2.5); f(3.5)"], JITFUSE_CPU_ARCH="x86-64-v2", **target)


def test_a_manifest_may_be_piped(folder):
    manifest = {"jitfuse_manifest": 1, "entries": [{"text": "graph f(%x: f32[4]) -> (f32[4]) { %0 = tanh(%x) : f32[4] return %0 }"}]}
    words = ["-m", "jitfuse", "precache", "/dev/stdin", "--arch", "cpu:x86-64-v2", "--out", "layer"]
    assert f"JITFUSE_CACHE_PATH={folder / 'layer'}\n" in run(folder, words, stdin=json.dumps(manifest))


@pytest.mark.parametrize(
    ("entry", "says"),
    [
        ({"python": "model:none"}, "m.json: /entries/0: model:none: "),
        ({"python": "model:plain", "args": ["x:f32[n]", "y:f32[n]"]}, "expected sizes of n"),
        ({"python": "model:plain", "args": ["x:f32[n]", "y:f32[n]"], "calls": [{"sizes": {"n": 2, "k": 3}}]}, "/entries/0/calls/0: "),
        ({"python": "model:plain", "args": ["x:f32[n]", "y:f32[m]"], "calls": [{"sizes": {"n": 2, "m": 3}}]}, "/entries/0/calls/0: model:plain failed:"),
        ({"python": "model:branches", "args": ["x:f32[4]"]}, "m.json: /entries/0: model:branches"),
        ({"python": "model:plain", "args": ["x:f32[4]", "y:f32[4]"], "calls": [{"inputs": {"x": {"align": 4}}}]}, "layouts are for graphs"),
        ({"python": "no_such_module:f"}, "there is no module 'no_such_module'"),
        ({"python": "model.py"}, '/python: expected a Python function, "module:function" or "FILE.py:function", got "model.py"'),
        ({"graph": "/tmp"}, "/graph: cannot read /tmp: it is a directory"),
    ],
)
def test_wrong_entries_say_where(folder, entry, says):
    said = precache(folder, {"jitfuse_manifest": 1, "entries": [entry]}, code=1)
    assert says in said and said.startswith("jitfuse: m.json: /entries/0"), said


def test_the_example_for_containers(folder):
    example = pathlib.Path(__file__).resolve().parents[2] / "examples" / "docker"
    docker = (example / "Dockerfile").read_text()
    assert "precache manifest.json" in docker and "JITFUSE_REQUIRE_CACHE=1" in docker
    for file in ("manifest.json", "model.py", "app.py"):
        shutil.copy(example / file, folder)
    run(folder, ["-m", "jitfuse", "precache", "manifest.json", "--arch", "x86-64-v2", "--out", "layer"])
    target = {"JITFUSE_NO_CACHE": "0", "JITFUSE_REQUIRE_CACHE": "1", "JITFUSE_CACHE_PATH": str(folder / "layer"), "JITFUSE_CACHE_DIR": str(folder / "own")}
    said = run(folder, ["app.py"], JITFUSE_CPU_ARCH="x86-64-v2", **target)
    assert " found in the layer, 0 compiled" in said and "kernels: 0 " not in said, said
