#!/usr/bin/env python3
"""check_random.py COMMAND: seed and offset of random ops on the command line and in a .npz."""
import pathlib
import struct
import subprocess
import sys
import tempfile
import zipfile

TEXT = """graph f(%x: f32[2], %rng_seed: scalar u64, %rng_offset: scalar u64) -> (f32[8]) {
  %r = random_uniform(%rng_seed, %rng_offset) {shape=[8], stream=0} : f32[8]
  return %r
}
"""


def npy(descr, shape, data):
    head = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode()
    head += b" " * (63 - (10 + len(head)) % 64) + b"\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head + data


def main():
    command = sys.argv[1]
    with tempfile.TemporaryDirectory() as folder:
        graph = pathlib.Path(folder, "random.jf")
        graph.write_text(TEXT)

        def npz(name, **arrays):
            path = str(pathlib.Path(folder, name))
            with zipfile.ZipFile(path, "w") as file:
                file.writestr("x.npy", npy("<f4", (2,), b"\0" * 8))
                for key, value in arrays.items():
                    file.writestr(key + ".npy", value)
            return path

        def run(*args, code=0):
            done = subprocess.run([command, "run", str(graph), "--backend", "cpu", *args], capture_output=True,
                                  text=True, timeout=60)
            assert done.returncode == code, (args, done.returncode, done.stderr)
            return done.stdout if code == 0 else done.stderr

        plain = run()
        assert plain == run("--seed", "0", "--offset", "0")
        one = run("--seed", "1")
        assert one != plain and run("--seed", "1", "--offset", "7") not in (one, plain)
        assert "ok" in run("--seed", "18446744073709551615", "--check")
        assert run("--seed", "010") == run("--seed", "10") != run("--seed", "8")  # decimal, not octal
        u64, i64 = lambda v: npy("<u8", (), struct.pack("<Q", v)), lambda v: npy("<i8", (1,), struct.pack("<q", v))
        assert run("--inputs", npz("a.npz")) == plain
        given = npz("b.npz", rng_seed=u64(1), rng_offset=i64(7))
        assert run("--inputs", given) == run("--seed", "1", "--offset", "7")
        assert run("--inputs", given, "--offset", "0") == one
        assert "array 'rng_seed': expected one integer" in run("--inputs", npz("c.npz", rng_seed=i64(-1)), code=1)
        assert "array 'rng_offset': expected one integer" in run(
            "--inputs", npz("d.npz", rng_offset=npy("<f4", (), b"\0" * 4)), code=1)
        run("--seed", "many", code=2)
    print("seeds and offsets are what was asked for")


if __name__ == "__main__":
    main()
