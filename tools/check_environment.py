"""Every environment variable of ours that the sources read has a row in docs/environment.md, and every row is read somewhere.

    python3 tools/check_environment.py ROOT
"""

import pathlib
import re
import sys

FOLDERS = ["api", "bench", "codegen", "cpu_backend", "examples", "ir", "jit", "python", "tests", "tools"]
READS = [re.compile(r'\b(?:EnvString|EnvPaths?|EnvInt|ReadEnvInt|EnvBytes|CheckBytes)\("([A-Z_]+)"'),  # without the prefix
         re.compile(r'\.env = "([A-Z_]+)"'),  # of a library that is opened at run time (LibrarySpec)
         re.compile(r'getenv\("JITFUSE_([A-Z_]+)"'),
         re.compile(r'environ\.get\("JITFUSE_([A-Z_]+)"'),
         re.compile(r'\$\{JITFUSE_([A-Z_]+)\b')]


def read_names(root):
    """Name without prefix -> a file that reads it."""
    files = [root / "dev"]
    for folder in FOLDERS:
        files += [f for f in (root / folder).rglob("*") if f.suffix in (".cc", ".h", ".py", ".sh")]
    found = {}
    for file in files:
        text = file.read_text(errors="replace")
        for pattern in READS:
            for name in pattern.findall(text):
                if name != "TEST_THING_PATH":  # of a library that tests alone know
                    found.setdefault(name, file.relative_to(root))
    return found


def main():
    root = pathlib.Path(sys.argv[1])
    found = read_names(root)
    rows = set(re.findall(r"^\| `JITFUSE_([A-Z_]+)`", (root / "docs" / "environment.md").read_text(), re.M))
    wrong = [f"JITFUSE_{n}, which {f} reads, has no row in docs/environment.md" for n, f in found.items() if n not in rows]
    wrong += [f"docs/environment.md has a row for JITFUSE_{n}, which nothing reads" for n in sorted(rows - set(found))]
    if not found:
        wrong.append("no source reads any variable: the patterns here are out of date")
    print("\n".join(wrong) or f"{len(rows)} environment variables, each documented")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
