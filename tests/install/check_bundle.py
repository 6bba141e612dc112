#!/usr/bin/env python3
"""check_bundle.py BUILD_DIR [PYTHON]: the folder of `./dev bundle`, made from BUILD_DIR, works elsewhere and alone.

It is moved to a folder with a space in its name and run from another one, with an environment that names nothing of the build. What
it needs of the machine is looked at too: no library but the system's own, no RPATH that leaves it, the glibc that was printed.
PYTHON is the one that the build's Python module is for, where there is a module.
"""
import pathlib
import re
import shutil
import subprocess
import sys

sys.dont_write_bytecode = True  # of the module beside this one
import check_demo  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[2]
SYSTEM = re.compile(r"^(linux-vdso|ld-linux.*|lib(c|m|dl|rt|pthread|resolv|util|stdc\+\+|gcc_s))\.so")


def run(args, environment=None, folder=None):
    """Exit status, what was printed, errors; with nothing in the environment but what is given."""
    done = subprocess.run([str(a) for a in args], env=environment, cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    return done.returncode, done.stdout, done.stderr


def version(text):
    return tuple(int(part) for part in text.split("."))


def make(build, work):
    """The bundle's folder, moved, and what its making printed."""
    shutil.rmtree(work, ignore_errors=True)
    code, printed, errors = run([SOURCE / "tools" / "bundle.sh", build, work / "dist", "--folder"])
    assert code == 0, (code, printed, errors)
    moved = work / "moved to" / "bundle"
    moved.parent.mkdir()
    (work / "dist" / "bundle").rename(moved)
    return moved, printed


def check_files(bundle, build, printed):
    """The ELF files: where they look for libraries, what they find, and the glibc they ask for."""
    elfs = [f for part in ["bin", "lib", "python/jitfuse"] for f in sorted((bundle / part).rglob("*"))
            if f.is_file() and not f.is_symlink() and f.read_bytes()[:4] == b"\x7fELF"]
    assert len(elfs) > 10, elfs
    _, headers, _ = run(["objdump", "-p", *elfs])
    for path in re.findall(r"^ +(?:RPATH|RUNPATH) +(\S+)", headers, re.M):
        assert all(part.startswith("$ORIGIN") for part in path.split(":")), f"RPATH {path} leaves the bundle"
    ours = [f for f in elfs if f.parent.name != "lib" or f.name.startswith("libjitfuse")]  # they say where the others look, too
    _, needed, _ = run(["ldd", *ours], environment={"PATH": "/usr/bin:/bin"})
    found = re.findall(r"^\s+(\S+) => (.+?) \(0x[0-9a-f]+\)$", needed, re.M)
    assert "not found" not in needed and len(found) > len(ours), needed
    for name, path in found:
        inside = pathlib.Path(path).resolve().is_relative_to(bundle)
        assert inside != bool(SYSTEM.match(name)), f"{name} is {path}"
    said, limit = check_demo.one(r"^glibc floor: ([\d.]+) \(limit ([\d.]+)\); libstdc\+\+ floor: GLIBCXX_[\d.]+$", printed)
    _, symbols, _ = run(["objdump", "-T", *elfs])
    newest = max(re.findall(r"GLIBC_([\d.]+)", symbols), key=version)
    assert said == newest and version(said) <= version(limit) <= version("2.39"), (said, newest, limit)
    return said


def check_verbs(bundle, build, work, python):
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(work), "JITFUSE_BACKEND": "cpu"}

    def verb(*args, code=0, **more):
        got, printed, errors = run([bundle / "run", *args], environment={**environment, **more}, folder="/")
        assert got == code, (args, got, code, printed, errors)
        assert str(build) not in (printed + errors).replace(str(bundle), ""), f"{args} speaks of the build:\n{printed}{errors}"
        return printed, errors

    print("demo:", check_demo.check(verb("demo")[0]))
    verb("demo", "/nowhere", code=1)
    printed, _ = verb("bench", "cpu", "--help")
    assert printed.startswith("usage: bench_cpu ["), printed
    printed, errors = verb("bench", "cpu", "--no-such-option", code=2)
    assert (printed + errors).startswith("--no-such-option: no such option"), (printed, errors)

    for label, tests in [("null", "Text.*:NumpyVectors.*:BuildPlanGolden.*"), ("cpu", "FunctionTest.*:NumpyVectorsOnExecutors.*")]:
        printed, _ = verb("test", label, GTEST_FILTER=tests)
        assert int(check_demo.one(rf"^{label}: (\d+) tests passed, 0 skipped$", printed)) > 3, printed
        assert check_demo.one(r"^1 labels run, (\d) failed$", printed) == "0", printed
    printed, _ = verb("test", "null", code=1, GTEST_FILTER="NoSuchTest.*")  # has shown nothing
    assert "null: 0 tests passed, 0 skipped, FAILED\n1 labels run, 1 failed: null\n" in printed, printed
    printed, _ = verb("test", "fail", PATH=environment["PATH"] + ":" + str(pathlib.Path(sys.executable).parent))
    assert "1 labels run, 0 failed" in printed, printed

    printed, _ = verb("fuzz", "--graphs", "20", "--seed", "7", "--jobs", "1")
    assert "20 graphs" in printed, printed
    printed, _ = verb("no-such-verb", code=2)
    assert printed.startswith("run VERB: what can be done"), printed
    if python is not None:
        program = ("import array, jitfuse; f = jitfuse.jit(lambda x: x + 1); "
                   "print(jitfuse.__file__, memoryview(f(array.array('f', [1, 2]))).tolist())")
        assert list((bundle / "python" / "jitfuse").glob("_core.*.so")), "the module is not in the bundle"
        printed, _ = verb("python", "-c", program, JITFUSE_PYTHON="prebuilt", PATH=str(pathlib.Path(python).parent) + ":" + environment["PATH"])
        assert printed.endswith(f"{bundle}/python/jitfuse/__init__.py [2.0, 3.0]\n"), printed


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    work = build / "bundle_test"
    bundle, printed = make(build, work)
    print("glibc floor:", check_files(bundle, build, printed))
    check_verbs(bundle, build, work, (sys.argv[2:3] or [""])[0] or None)
    shutil.rmtree(work)


main()
