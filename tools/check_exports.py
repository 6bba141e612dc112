#!/usr/bin/env python3
"""check_exports.py LIBRARY: fails unless the dynamic symbols it defines are jitfuse::v1's and nothing else.

Symbols are compared mangled, so that a name that only mentions jitfuse::v1 in an argument does not pass, and
those that carry Abseil, LLVM or jitfuse::internal in their types are refused: a user could not name them.
"""
import re
import subprocess
import sys

ALLOWED = re.compile(r"_Z(N[VKRO]*|T[ISVT]N|GVN)7jitfuse2v1")
FOREIGN = re.compile(r"4absl|4llvm|4dnnl|8internal")


def main():
    out = subprocess.run(["nm", "-D", "--defined-only", "--format=posix", sys.argv[1]],
                         check=True, capture_output=True, text=True).stdout
    names = [line.split()[0].split("@")[0] for line in out.splitlines()]
    wrong = [n for n in names if not ALLOWED.match(n) or FOREIGN.search(n)]
    for name in wrong:
        print("exported, but not a plain jitfuse::v1 symbol:",
              subprocess.run(["c++filt", name], capture_output=True, text=True).stdout.strip() or name)
    if not names:
        sys.exit("nothing is exported: the public API is missing")
    print(f"{sys.argv[1]}: {len(names)} exported symbols, {len(wrong)} too many")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
