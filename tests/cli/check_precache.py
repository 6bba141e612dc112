#!/usr/bin/env python3
"""check_precache.py COMMAND: `jitfuse precache` fills a layer, goes on after it was killed, and records; `cache diff` compares."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

GRAPH = "graph f{i}(%x: $T[n]) -> ($T[n]) {{\n  %0 = tanh(%x) : $T[n]\n  %1 = multiply(%0, {i}) : $T[n]\n  return %1\n}}\n"
NUM_GRAPHS = 30


def write_manifest(folder):
    entries = []
    for i in range(2, 2 + NUM_GRAPHS):
        pathlib.Path(folder, f"f{i}.jf").write_text(GRAPH.format(i=i))
        entries.append({"graph": f"f{i}.jf", "dtypes": {"T": ["f32", "f64"]}, "calls": [{"sizes": {"n": [1, {"from": 2, "to": 9}]}}]})
    path = pathlib.Path(folder, "m.json")
    path.write_text(json.dumps({"jitfuse_manifest": 1, "entries": entries}))
    return path


def bytes_of(folder):
    return {f.relative_to(folder): f.read_bytes() for f in folder.rglob("*") if f.is_file()}


def main():
    command = sys.argv[1]
    environment = os.environ | {"JITFUSE_NO_CACHE": "1"}

    def run(*args, code=0, **extra):
        done = subprocess.run([command, *map(str, args)], capture_output=True, text=True, timeout=300, env=environment | extra)
        assert done.returncode == code, (args, done.returncode, done.stdout, done.stderr)
        return done.stdout + done.stderr

    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as elsewhere:
        manifest, layer, other = write_manifest(folder), pathlib.Path(folder, "layer"), pathlib.Path(elsewhere, "a b")
        words = ("--arch", "cpu:x86-64-v2,x86-64-v3", "--out")

        # Killed after a tenth, it goes on where it was; the bytes are those of a run that was not.
        with subprocess.Popen([command, "precache", manifest, *words, layer], stderr=subprocess.PIPE, text=True, env=environment | {"JITFUSE_NUM_THREADS": "1"}) as killed:
            assert " kernels, " in killed.stderr.readline()
            killed.kill()
        first = len([f for f in layer.rglob("*") if len(f.name) == 32])
        assert first > 0
        said = run("precache", manifest, *words, layer)
        assert f"precached  {2 * NUM_GRAPHS} graphs, {4 * NUM_GRAPHS} classes of calls" in said, said
        there = int(said.split(" were there")[0].rsplit(" ", 1)[1])
        assert there >= first, said
        assert "compilers  llvm-" in said and "x86-64-v3 " in said and "JITFUSE_CACHE_PATH=" + str(layer) in said, said
        assert " 0 compiled in 0.0 s" in run("precache", manifest, *words, layer)
        run("precache", write_manifest(elsewhere), *words, other, LC_ALL="de_DE.UTF-8", JITFUSE_NUM_THREADS="1")
        assert bytes_of(layer) == bytes_of(other)

        # A target finds all of it, wherever the folder lies.
        moved = layer.rename(pathlib.Path(elsewhere, "moved"))
        target = {"JITFUSE_NO_CACHE": "0", "JITFUSE_CACHE_DIR": folder + "/own", "JITFUSE_CACHE_PATH": str(moved), "JITFUSE_REQUIRE_CACHE": "1", "JITFUSE_CPU_ARCH": "x86-64-v3"}
        graph = pathlib.Path(folder, "one.jf")
        graph.write_text(GRAPH.format(i=7).replace("$T", "f32"))
        call = ("run", graph, "--set", "n=1000", "--backend", "cpu", "--stats")
        assert "0 kernels compiled in 0.0 ms, 0 found in memory, 0 on disk, 1 in layers" in run(*call, **target)

        # What an application compiles, and what a layer lacks of it.
        graph.write_text(GRAPH.format(i=1000).replace("$T", "f32"))
        recorded = pathlib.Path(folder, "recorded.json")
        run("precache", recorded, "--record", "--", command, *call)
        assert json.loads(recorded.read_text())["entries"][0]["calls"] == [{"sizes": {"n": 1000}}]
        assert "0 of them missing" in run("cache", "diff", moved, manifest)
        said = run("cache", "diff", moved, recorded, "--arch", "x86-64-v3", code=1)
        assert "for x86-64-v3\n1 kernels for x86-64-v3, 1 of them missing" in said and said.endswith(f"{moved} lacks kernels; jitfuse precache {recorded} --arch x86-64-v3 --out {moved} adds them\n"), said
        nowhere = run("cache", "diff", elsewhere + "/none", recorded, "--arch", "x86-64-v2,x86-64-v3", "--cuda", "12", code=1)
        assert nowhere.endswith(f"there is no folder {elsewhere}/none; jitfuse precache {recorded} --arch x86-64-v2,x86-64-v3 --cuda 12 --out {elsewhere}/none makes it\n"), nowhere
        assert said.startswith(f"incomplete {recorded}: /entries/0/calls/0 (f1000) for x86-64-v3 lacks 1 of 1 kernels, with n=1000\n"), said
        run("precache", recorded, "--arch", "x86-64-v3", "--out", moved)
        assert "1 kernels for x86-64-v3, 0 of them missing" in run("cache", "diff", moved, recorded, "--arch", "x86-64-v3")

        said = run("precache", manifest, "--arch", "sm_99", "--out", layer, code=1)
        assert "known: sm_75, " in said and "driver here: " in said and "NVRTC here: " in said, said
        # What others could write to is not made trusted, and that is said.
        first = min(f for f in moved.rglob("*") if len(f.name) == 32)
        first.chmod(0o666)
        said = run("precache", recorded, "--arch", "x86-64-v2", "--out", moved)
        assert f"\ndeleted    {first}: everyone may write to it\n" in said and not first.exists(), said
        # A layer that a target would not use lacks all; what it names is an absolute path.
        moved.chmod(0o777)
        said = run("cache", "diff", moved, recorded, "--arch", "x86-64-v3", code=1)
        assert "1 of them missing" in said and f"nothing of the layer would be used: {moved}: everyone may write to it" in said, said
        moved.chmod(0o755)
        said = run("precache", recorded, "--arch", "x86-64-v3", "--out", os.path.relpath(moved))
        assert f"JITFUSE_CACHE_PATH={moved}\n" in said and f"written    {moved}/index.json" in said, said
        said = run("precache", recorded, "--arch", "x86-64-v3", "--out", pathlib.Path(folder, "o:colon"))
        assert "without ':' in its path" in said and "JITFUSE_CACHE_PATH=" not in said, said

        said = run("precache", folder, "--arch", "x86-64-v3", "--out", layer, code=1)
        assert said == f"jitfuse: cannot read {folder}: it is a directory\n", said
        for names in (",", "sm_90,", "sm_90,,sm_80"):
            said = run("precache", manifest, "--arch", names, "--out", layer, code=2)
            assert f"--arch {names}: expected names separated by commas" in said, said
        said = run("precache", manifest, "--arch=", "--out", layer, code=2)  # it took --out for its value
        assert said == "jitfuse precache: --arch: expected a value, got an empty one\njitfuse precache --help lists what there is\n", said
        # What follows -- is the program's own.
        run("precache", recorded, "--record", "--", command, *call, "--backend=", "cpu", code=2)
        for wrong in ([], [manifest], [manifest, "--arch", "sm_90"], [manifest, "--out", layer], [manifest, "program"], [manifest, "--record"], [manifest, "--record", "--", ""],
                      [manifest, "--record", "--out", layer, "--", "true"], [manifest, "--arch", "sm_90", "--out", layer, "--cuda", "11"]):
            run("precache", *wrong, code=2)
        for wrong in (["diff"], ["diff", layer], ["diff", layer, manifest, layer], ["stats", layer], ["list", "--arch", "sm_90"]):
            run("cache", *wrong, code=2)
    print("jitfuse precache: ok")


if __name__ == "__main__":
    main()
