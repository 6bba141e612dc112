#!/usr/bin/env python3
"""check_usage.py COMMAND: what is said of wrong command lines and of files that do not fit."""
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

sys.dont_write_bytecode = True  # of the module beside this one
from check_random import npy  # noqa: E402

TEXT = """graph f(%x: f32[n,4], %w: f32[4]) -> (f32[n,4]) {
  %r = multiply(%x, %w) : f32[n,4]
  return %r
}
"""


def main():
    command = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        graph = str(pathlib.Path(folder, "f.jf"))
        pathlib.Path(graph).write_text(TEXT)

        def run(*args, code):
            done = subprocess.run([command, *args], capture_output=True, text=True, timeout=60)
            assert done.returncode == code, (args, done.returncode, done.stderr)
            assert code == 0 or not done.stdout, (args, done.stdout)
            return done.stderr

        def says(text, *args, code):
            message = run(*args, code=code)
            assert text in message, (args, text, message)

        def npz(name, *names):
            path = str(pathlib.Path(folder, name))
            with zipfile.ZipFile(path, "w") as file:
                for key in names:
                    shape = (4,) if key == "w" else (2, 4)
                    file.writestr(key + ".npy", npy("<f4", shape, bytes(16 if key == "w" else 32)))
            return path

        commands = "the commands are run, explain, bench, text, doctor, cache, precache\njitfuse --help says"
        says("expected a command; " + commands, code=2)
        says("unknown command 'rum'; " + commands, "rum", graph, code=2)
        says("expected a file with the graph's text (.jf), or a Python function (module:function)\njitfuse run --help", "run", code=2)
        for verb in ["run", "explain", "bench", "text"]:  # of Python functions, without Python
            for entry in ["mymodule:f", "some.module:Class.method", folder + "/f.py:f"]:
                says("'" + entry + "' is a Python function, which this program cannot trace; the Python package's jitfuse can: "
                     "pip install . in a clone (docs/python_install.md), then run that jitfuse, or python -m jitfuse", verb, entry, "--arg", "x:f32[n]", code=2)
        says("--arg x:f32[n]: expected a Python function beside it", "run", graph, "--arg", "x:f32[n]", code=2)
        pathlib.Path(folder, "odd:name").write_text(TEXT)  # a file goes first
        assert run("run", folder + "/odd:name", "--backend", "cpu", code=0) == ""
        says("cannot read 3:f", "run", "3:f", code=1)
        done = subprocess.run([command, "text", graph], capture_output=True, text=True)
        assert done.stdout == TEXT.replace("%r", "%0"), done.stdout
        says("jitfuse explain --help lists", "explain", graph, "--what", code=2)
        # Each option that takes a value, of each verb; a flag takes none.
        for verb in ["run", "explain", "bench", "text", "doctor", "cache", "precache"]:
            about = subprocess.run([command, verb, "--help"], capture_output=True, text=True, check=True).stdout
            options = re.findall(r"^ +(?:-\w,)?(--[\w-]+)( [A-Z]\w*)?", about, re.MULTILINE)
            assert ("--help", "") in options and (verb == "doctor" or len(options) > 2), (verb, options)
            for option, value in options:
                if value:
                    for words in ([option + "="], [option, ""], [option + "=", "n=3"]):
                        says(f"jitfuse {verb}: {option}: expected a value, got an empty one\n", verb, graph, *words, code=2)
                    says(f"jitfuse {verb}: {option}: expected a value, got the option {options[0][0]}\n", verb, graph, option, options[0][0], code=2)
                else:
                    says(f"jitfuse {verb}: {option}=: expected no value", verb, graph, option + "=", code=2)
            says(f"jitfuse {verb}: expected no empty word, got ''\n", verb, "", code=2)
        says("jitfuse explain: --json=true: expected no value, --json alone says it", "explain", graph, "--json=true", code=2)
        assert run("run", graph, "--backend=cpu", "--set=n=3", code=0) == ""
        for backend in ["0", "2", "gpu"]:
            says("not in {auto,cpu,cuda,interpret}", "run", graph, "--backend", backend, code=2)
        for backend in ["cpu", "interpret"]:
            assert run("run", graph, "--backend", backend, code=0) == ""
        says("--set n=4: n is given twice (3 before)", "run", graph, "--set", "n=3", "--set", "n=4", code=2)
        says("has no symbol k (3 was given); its symbols: n", "run", graph, "--set", "k=3", code=1)
        says("cannot read " + folder + "/g.jf: No such file or directory", "run", folder + "/g.jf", code=1)
        says("cannot read " + folder + ": it is a directory", "run", folder, code=1)
        says("cannot read " + folder + "/g.npz: No such file", "run", graph, "--inputs", folder + "/g.npz", code=1)
        says("expected an array named 'w'; the graph's inputs: x, w; the file's arrays: weights, x",
             "run", graph, "--inputs", npz("a.npz", "x", "weights"), code=1)
        says("warning: " + folder + "/b.npz: array 'y' is not used; the graph's inputs: x, w",
             "run", graph, "--backend", "cpu", "--inputs", npz("b.npz", "x", "w", "y"), code=0)
        assert run("run", graph, "--backend", "cpu", "--inputs", npz("c.npz", "x", "w"), code=0) == ""
        listed = str(pathlib.Path(folder, "listed.jf"))  # m is listed, and no size of any input
        pathlib.Path(listed).write_text(TEXT.replace("f(", "f<n, m>(", 1))
        assert run("run", listed, "--backend", "cpu", code=0) == ""

        def header(text, version=1):
            path = str(pathlib.Path(folder, "h.npz"))
            with zipfile.ZipFile(path, "w") as file:
                size = len(text).to_bytes(2 if version == 1 else 4, "little")
                file.writestr("x.npy", b"\x93NUMPY" + bytes([version, 0]) + size + text.encode() + bytes(32))
            return path

        right = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 4), }\n"
        for version in [1, 2, 3]:
            says("expected an array named 'w'", "run", graph, "--inputs", header(right, version), code=1)
        says("its .npy version is 9, expected 1, 2 or 3", "run", graph, "--inputs", header(right, 9), code=1)
        for text in [right.replace("'", '"'), "", "x" * 100, right.replace("'fortran_order': False, ", "")]:
            says("its header is not what NumPy writes; expected {'descr': '<f4'", "run", graph, "--inputs", header(text),
                 code=1)
        says("its dtype is structured; expected numbers of one type", "run", graph, "--inputs",
             header(right.replace("'<f4'", "[('a', '<f4')]")), code=1)

        done = subprocess.run([command, "run", graph, "--backend", "cpu", "--check"], capture_output=True, text=True)
        assert re.search(r"\ncheck output 0: ok, largest error [\d.e-]+ ulp; nearest to its bound \([\d.e-]+ of it\): "
                         r"element \[", done.stdout), done.stdout
    print("wrong command lines are told what to do")


if __name__ == "__main__":
    main()
