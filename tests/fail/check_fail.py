#!/usr/bin/env python3
"""check_fail.py COMMAND FILE.jf...: programs that must fail, and say why.

The first lines of each file are comments `# args: ...` (how to call the command, default `run`; {dir} is the
folder of the file), `# exit: 2` where it is the command line that is wrong, and one or more
`# expect-error: text`. The command has to exit with 1 (or as said), print nothing on stdout, one message on stderr that holds
every text, and no stack trace or second message.
"""
import pathlib
import re
import shlex
import subprocess
import sys


def check(command, file):
    """What is wrong with one program, or None."""
    text = open(file, errors="replace").read()
    args = re.search(r"^(?:#|//) args: (.*)$", text, re.M)
    expected = re.findall(r"^(?:#|//) expect-error: (.*)$", text, re.M)
    if not expected:
        return "says no expect-error"
    here = str(pathlib.Path(file).parent)
    verb, *rest = [a.replace("{dir}", here) for a in shlex.split(args.group(1))] if args else ["run"]
    done = subprocess.run([command, verb, file, *rest], capture_output=True, text=True, timeout=60)
    code = re.search(r"^(?:#|//) exit: (\d+)$", text, re.M)
    code = int(code.group(1)) if code else 1
    if done.returncode != code:
        return f"exit code {done.returncode}, not {code}; stderr: {done.stderr.strip()}"
    messages = [line for line in done.stderr.splitlines() if line.startswith("jitfuse: ")]
    if len(messages) > 1 or re.search(r"terminate called|Traceback|Assertion", done.stderr):
        return f"more than one message: {done.stderr.strip()}"
    missing = [e for e in expected if e not in done.stderr]
    if missing:
        return f"the message lacks {missing}: {done.stderr.strip()}"
    if done.stdout.strip():
        return f"printed to stdout: {done.stdout.strip()[:200]}"
    return None


def main():
    command, files = sys.argv[1], sys.argv[2:]
    wrong = 0
    for file in files:
        problem = check(command, file)
        wrong += problem is not None
        if problem:
            print(f"{file}: {problem}")
    print(f"{len(files)} programs that must fail, {wrong} wrong")
    sys.exit(1 if wrong or not files else 0)


if __name__ == "__main__":
    main()
