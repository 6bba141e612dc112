#!/usr/bin/env python3
"""check_dev.py DEV: what `./dev` does where packages are missing: with root and without, asked and not, offline.

It runs in a folder of its own where dpkg-query, apt-get, id, sudo, cmake and ninja are scripts that write down how they were
called, and where nothing else is on PATH but the few tools that the script itself uses.
"""
import os
import pathlib
import pty
import shutil
import subprocess
import sys
import tempfile

TOOLS = "bash env grep tail dirname mkdir awk cat nproc python3 sed sort ls cp".split()
PRESENT = "g++ ccache git".split()  # what `command -v` looks for
LINE = "apt-get install -y --no-install-recommends"

STUBS = {
    "dpkg-query": '[ "${@: -1}" = "${MISSING:-}" ] && echo not-installed || echo installed',
    "apt-get": 'echo "apt-get $*" >>"$CALLS"; [ "${OFFLINE:-}" = "" ] || { echo "E: Failed to fetch the index" >&2; exit 100; }',
    "id": 'echo "${USER_ID:-0}"',
    "cmake": 'echo "cmake $*" >>"$CALLS"',
    # Makes the demo, if it is to be made: a script that exits with 3 where it is told to.
    "ninja": 'echo "ninja $*" >>"$CALLS"; [ "${@: -1}" != demo ] || { mkdir -p build/dev/bin; cp bin/made_demo build/dev/bin/demo; }',
    "made_demo": 'echo "demo $*" >>"$CALLS"; echo "test accuracy"; [ "${1:-}" != fail ] || exit 3',
}
SUDO = '#!/bin/bash\necho "sudo $1" >>"$CALLS"; [ "$1" != -n ] || shift; exec "$@"\n'


class Machine:
    """A folder with ./dev and the PATH described above; `missing` is the one package that is not installed."""

    def __init__(self, dev, folder, *, missing="", user=0, sudo=False, offline=False):
        self.folder = pathlib.Path(folder)
        path = self.folder / "bin"
        path.mkdir(parents=True)
        shutil.copy(dev, self.folder / "dev")
        for tool in TOOLS:
            (path / tool).symlink_to(shutil.which(tool))
        for name, body in {**STUBS, **dict.fromkeys(PRESENT, "")}.items():
            (path / name).write_text(f"#!/bin/bash\n{body}\n")
        if sudo:
            (path / "sudo").write_text(SUDO)
        for file in path.iterdir():
            if not file.is_symlink():
                file.chmod(0o755)
        self.calls = self.folder / "calls"
        self.environment = {"PATH": str(path), "CALLS": str(self.calls), "MISSING": missing, "USER_ID": str(user),
                            "OFFLINE": "1" if offline else ""}

    def run(self, *args, answer=None):
        """Exit status, what was printed, and what was called. `answer`: there is a terminal, and this is typed."""
        self.calls.write_text("")
        command = [str(self.folder / "dev"), *args]
        if answer is None:
            done = subprocess.run(command, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
            status, printed = done.returncode, done.stdout + done.stderr
        else:
            keyboard, terminal = pty.openpty()
            os.write(keyboard, (answer + "\n").encode())
            done = subprocess.run(command, env=self.environment, stdin=terminal, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, timeout=60)
            status, printed = done.returncode, done.stdout
            os.close(keyboard)
            os.close(terminal)
        return status, printed, self.calls.read_text()


def main():
    dev, count = sys.argv[1], 0
    with tempfile.TemporaryDirectory() as folder:

        def check(name, args, *, status, says=(), calls=(), never=(), silent=False, answer=None, **machine):
            nonlocal count
            count += 1
            got, printed, called = Machine(dev, pathlib.Path(folder, str(count)), **machine).run(*args, answer=answer)
            where = f"{name}: status {got}\n{printed}\ncalled:\n{called}"
            assert (got == 0) == (status == 0) and (status == 0 or got == status), where
            for text in says:
                assert text in printed, f"expected {text!r} in {where}"
            place = 0
            for text in calls:  # in this order
                found = called.find(text, place)
                assert found >= 0, f"expected a call {text!r} in {where}"
                place = found + len(text)
            for text in [*never, *(["apt-get"] if silent else [])]:
                assert text not in called, f"unexpected call {text!r} in {where}"

        lacks = {"missing": "libabsl-dev"}
        build = ("cmake -G Ninja", "ninja -C build/dev")
        check("all is there", ["build"], status=0, silent=True, calls=build)
        check("no root, no sudo", ["build"], status=1, silent=True, user=1000, **lacks,
              says=["there is no root or sudo to install them", f"{LINE} libabsl-dev"])
        check("no root, no sudo, --yes", ["build", "--yes"], status=1, silent=True, user=1000, **lacks, says=[f"{LINE} libabsl-dev"])
        check("sudo, nobody to ask", ["build"], status=1, silent=True, user=1000, sudo=True, **lacks,
              says=["no terminal to ask on; say --yes", f"{LINE} libabsl-dev"])
        check("sudo, --yes", ["build", "--yes"], status=0, user=1000, sudo=True, **lacks, says=["would install: libabsl-dev"],
              calls=["sudo -n", "apt-get", "update", "sudo -n", "install -y --no-install-recommends libabsl-dev", *build])
        check("root, no terminal", ["build"], status=0, **lacks, says=["would install: libabsl-dev", "installing 1 packages"],
              calls=["update", "install -y --no-install-recommends libabsl-dev", *build])
        check("root, asked, no", ["build"], status=1, silent=True, answer="n", **lacks,
              says=["would install: libabsl-dev", "stopped; to install them yourself", f"{LINE} libabsl-dev"])
        check("root, asked, only return", ["build"], status=1, silent=True, answer="", **lacks, says=["stopped"])
        check("root, asked, yes", ["build"], status=0, answer="y", **lacks,
              calls=["install -y --no-install-recommends libabsl-dev", *build])
        check("sudo, asked, yes", ["build"], status=0, answer="Y", user=1000, sudo=True, **lacks, calls=["sudo apt-get", "apt-get", *build])
        check("terminal, --yes", ["build", "--yes"], status=0, answer="n", **lacks, calls=["install -y", *build])
        demo = ("cmake -G Ninja", "ninja -C build/dev", " demo\n", "demo ")  # that target alone, and then what it made
        check("demo", ["demo"], status=0, silent=True, calls=demo, says=["test accuracy"])
        check("demo, --yes", ["demo", "--yes"], status=0, **lacks, says=["would install: libabsl-dev", "test accuracy"],
              calls=["update", "install -y --no-install-recommends libabsl-dev", *demo])
        check("demo, --yes, terminal", ["--yes", "demo"], status=0, answer="n", **lacks, calls=["install -y", *demo])
        check("demo, its folder", ["demo", "digits", "--yes"], status=0, silent=True, calls=[*demo[:-1], "demo digits\n"])
        check("demo, which fails", ["demo", "fail", "--yes"], status=3, silent=True, calls=demo, says=["test accuracy"])
        check("demo, asked, no", ["demo"], status=1, silent=True, answer="n", **lacks, says=["stopped"], never=["ninja", "demo "])
        for verb in ("demo", "test"):  # the README's two commands
            check(f"offline, {verb}", [verb, "--yes"], status=1, offline=True, **lacks,
                  says=["E: Failed to fetch the index", "apt-get could not install (offline?", "what is needed:\n  libabsl-dev"])
            check(f"no root, {verb}", [verb], status=1, silent=True, user=1000, **lacks, says=["no root or sudo"])
        check("a verb's own package", ["format"], status=1, silent=True, user=1000, missing="clang-format-19",
              says=[f"{LINE} clang-format-19"])
        check("no verb", [], status=0, silent=True, says=["usage: ./dev VERB [--yes]"])
        check("unknown verb", ["tset"], status=2, silent=True, says=["usage: ./dev VERB [--yes]"])
        check("unknown label", ["test", "cpus"], status=1, silent=True, says=["test has no 'cpus'; there are null, cpu"])
        check("unknown benchmark", ["bench", "xyz"], status=1, silent=True, says=["bench has no 'xyz'"])
    print(f"{count} runs of ./dev")


main()
