#!/usr/bin/env python3
"""check_cache.py COMMAND: `jitfuse cache` lists, verifies and prunes what `jitfuse run` left on disk."""
import os
import pathlib
import subprocess
import sys
import tempfile

TEXT = "graph f(%x: f32[n]) -> (f32[n]) {\n  %r = tanh(%x) : f32[n]\n  return %r\n}\n"


def main():
    command = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        graph, cache = pathlib.Path(folder, "f.jf"), pathlib.Path(folder, "cache")
        graph.write_text(TEXT)
        environment = os.environ | {"JITFUSE_NO_CACHE": "0", "JITFUSE_CACHE_DIR": str(cache)}

        def run(*args, code=0, **extra):
            done = subprocess.run([command, *args], capture_output=True, text=True, timeout=60, env=environment | extra)
            assert done.returncode == code, (args, done.returncode, done.stdout, done.stderr)
            return done.stdout + done.stderr

        assert "0 entries, 0 bytes" in run("cache", "stats")
        call = ("run", str(graph), "--set", "n=5", "--backend", "cpu", "--stats")
        assert "1 kernels compiled" in run(*call)
        assert "0 kernels compiled in 0.0 ms, 0 found in memory, 1 on disk, 0 in layers, 0 entries healed" in run(*call)
        assert "llvm-" in run("cache", "list") and "1 entries, " in run("cache", "stats")
        assert "1 entries, 0 of them damaged" in run("cache", "verify")
        (entry,) = [f for f in cache.rglob("*") if len(f.name) == 32]
        entry.write_bytes(entry.read_bytes()[:-5])
        assert f"damaged: {entry}: its size is not what its head says" in run("cache", "verify", code=1)
        assert "damaged" in run("cache", "list")
        said = run("cache", "verify", code=1)
        assert "compiled anew when they are next needed; jitfuse cache prune deletes them" in said and "layer" not in said, said
        layer = {"JITFUSE_CACHE_PATH": str(cache), "JITFUSE_CACHE_DIR": folder + "/own"}
        said = run("cache", "verify", code=1, **layer)
        assert "with the layer's manifest, into the layer, makes them anew" in said and "prune" not in said, said
        entry.chmod(0o666)
        said = run("cache", "verify", code=1, **layer)
        assert f"not used: {entry}: everyone may write to it\n1 entries, 0 of them damaged, 1 not used\n" in said, said
        assert f"not used   {entry}: everyone" in run("cache", "list") and "not used         1 entries" in run("cache", "stats")
        assert "1 damaged entries deleted; 0 bytes of " in run("cache", "prune") and not entry.exists()
        run(*call)
        assert "0 damaged entries deleted; 0 bytes of " in run("cache", "prune", "--max-bytes", "0") and not entry.exists()
        assert "not used: JITFUSE_NO_CACHE is set" in run("cache", "stats", JITFUSE_NO_CACHE="1")
        assert "there is no cache to write to; JITFUSE_NO_CACHE is set" in run("cache", "prune", code=1, JITFUSE_NO_CACHE="1")
        for wrong in ([], ["all"], ["prune", "--max-bytes", "2x"]):
            run("cache", *wrong, code=2)
    print("jitfuse cache: ok")


if __name__ == "__main__":
    main()
