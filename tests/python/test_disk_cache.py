"""The disk cache from Python: a second process compiles nothing, and whatever a machine lacks is warned of once."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

PROGRAM = """
import json, numpy as np, jitfuse
f = jitfuse.jit(lambda x: jitfuse.tanh(x * x) + 1, device="cpu")
x = np.linspace(-2, 2, 1000, dtype=np.float32)
assert np.allclose(f(x), np.tanh(x * x) + 1, atol=1e-6)
compiled = f.lower(x).compile()
stats = compiled.stats()
print(json.dumps([stats, str(f.lower(x).explain())]))
"""


def run(environment, **options):
    env = {k: v for k, v in os.environ.items() if not k.startswith("JITFUSE_") or k == "JITFUSE_CUDA_PATH"}
    env.update(environment)
    env = {k: v for k, v in env.items() if v is not None}
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, env=env, timeout=300, check=False, **options)
    assert done.returncode == 0, done.stderr
    stats, explained = json.loads(done.stdout)
    (origin,) = re.findall(r"kernel \w+, (\w+ \w+)", explained)
    return stats, origin, done.stderr


def test_a_second_process_compiles_nothing(tmp_path):
    environment = {"JITFUSE_CACHE_DIR": str(tmp_path), "JITFUSE_BACKEND": "cpu"}
    stats, origin, said = run(environment)
    assert (stats["compiled"], stats["disk_hits"], origin, said) == (1, 0, "compiled in", "")
    stats, origin, said = run(environment)
    assert (stats["compiled"], stats["disk_hits"], stats["compile_ms"], origin, said) == (0, 1, 0, "from the", "")
    layer = {"JITFUSE_CACHE_DIR": str(tmp_path / "other"), "JITFUSE_CACHE_PATH": str(tmp_path), "JITFUSE_BACKEND": "cpu"}
    stats, origin, _ = run(layer)
    assert (stats["compiled"], stats["layer_hits"], origin) == (0, 1, "from a")
    (entry,) = [f for f in tmp_path.rglob("*") if f.is_file() and len(f.name) == 32]
    entry.write_bytes(entry.read_bytes()[:-1])
    stats, origin, _ = run(environment)
    assert (stats["compiled"], stats["healed"], origin) == (1, 1, "compiled in")
    stats, origin, _ = run(environment | {"JITFUSE_NO_CACHE": "1"})
    assert (stats["compiled"], stats["disk_hits"], origin) == (1, 0, "compiled in")


def test_by_default_it_is_in_the_users_cache_folder(tmp_path):
    run({"HOME": str(tmp_path), "XDG_CACHE_HOME": None, "JITFUSE_BACKEND": "cpu"})
    assert list((tmp_path / ".cache" / "jitfuse").glob("v*/llvm-*/*"))
    run({"HOME": str(tmp_path), "XDG_CACHE_HOME": str(tmp_path / "xdg"), "JITFUSE_BACKEND": "cpu"})
    assert list((tmp_path / "xdg" / "jitfuse").glob("v*/llvm-*/*"))


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="needs root, to become another user")
def test_a_user_without_home_or_name_works_uncached(tmp_path):
    for module in (__import__("jitfuse").__file__, __import__("numpy").__file__, sys.executable):
        for folder in pathlib.Path(module).resolve().parents:
            if not folder.stat().st_mode & 0o001:
                pytest.skip(f"another user cannot enter {folder}")
    home = tmp_path / "home"
    home.mkdir(mode=0o755)
    for environment in ({"HOME": None}, {"HOME": "/"}, {"HOME": str(home)}, {"HOME": str(home / "file")}):
        environment |= {"XDG_CACHE_HOME": None, "JITFUSE_BACKEND": "cpu"}
        stats, origin, said = run(environment, user=54321, group=54321, extra_groups=[], cwd="/")
        assert (stats["compiled"], origin) == (1, "compiled in")
        assert said.count("the cache cannot be used") + said.count("not kept for other processes") == 1, said
