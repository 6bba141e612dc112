#!/usr/bin/env python3
"""Checks every #include of the repository against the layer table (HACKING.md). Run by ctest as `layers`.

A rule names what a folder may include of ours: a folder stands for its own files, not its subfolders; a file
for itself. Headers of LLVM, oneDNN, nanobind and Abseil are bound to the places that may know them. A header of
api/ is public unless its opening comment says "Not installed"; only public ones may be used outside api/'s sources.
"""
import pathlib
import re
import sys

BASE = ["ir", "ir/support", "codegen/target.h"]  # anything from codegen down may see these
RULES = {  # longest match first: a file, else its folder, else a parent folder with "/**"
    "ir/support": ["ir/support"],
    "ir": ["ir", "ir/support"],
    "ir/rewrite": ["ir/rewrite", "ir", "ir/support"],
    "codegen": ["codegen", "ir", "ir/support"],
    "codegen/fusion": BASE + ["codegen/fusion"],
    "codegen/plan": BASE + ["codegen/plan", "codegen/fusion/group.h"],
    "codegen/cuda": BASE + ["codegen/cuda", "codegen/plan"],
    "codegen/cuda/prelude": [],
    "jit": BASE + ["jit", "codegen/plan", "codegen/fusion", "ir/rewrite"],
    # kernel_source.h is the seam that jit/backend.h hands over, so that the back end may name it.
    "jit/cuda": BASE + ["jit/cuda", "jit/backend.h", "codegen/cuda", "codegen/fusion/group.h",
                        "codegen/fusion/gemm_runs.h", "codegen/plan/kernel_source.h"],
    "cpu_backend": BASE + ["cpu_backend", "jit/backend.h", "codegen/plan", "codegen/fusion/group.h",
                           "codegen/fusion/gemm_runs.h"],
    "api": ["*"],
    "api/*.h": ["api"],  # public ones; the others are sources of api/
    "python/**": ["api", "python", "python/bindings", "tools/cli/main.h"],  # the command, which it has too
    "examples/**": ["api", "examples"],
    "tools/**": ["api", "tools", "tools/cli"],  # the command; for gen_*.cc see rule_for
    "bench/**": ["*"],
    "tests/**": ["*"],
    "third_party/**": ["*"],
}
TOP = {"ir", "codegen", "jit", "cpu_backend", "api", "python", "tools", "bench", "tests", "examples"}
OUTSIDE = [  # (pattern of an included name, paths that may include it, what to say)
    (r"(llvm|llvm-c|clang)/", r"cpu_backend/orc_compile\.cc$", "LLVM belongs in cpu_backend/orc_compile.cc alone"),
    (r"(oneapi/dnnl|dnnl|mkldnn)", r"cpu_backend/onednn_primitive\.cc$", "oneDNN belongs in cpu_backend/onednn_primitive.cc alone"),
    (r"(nanobind/|Python\.h)", r"python/", "nanobind belongs in python/ alone"),
    (r"(cuda\.h|cuda_runtime|nvrtc\.h|cublas|cuda_fp16|cuda_bf16)", r"(tests|bench)/",
     "NVIDIA's headers are never needed: jit/cuda has its own declarations"),
    (r"absl/", r"(?!examples/)(?!tools/(?!gen_))(?!python/)",
     "Abseil stays inside: public headers and their users know std, DLPack and jitfuse only"),
    (r"(gtest|gmock)/", r"tests/", "GoogleTest belongs in tests/"),
    (r"CLI/", r"tools/|tests/graph_fuzz/jf_fuzz", "CLI11 belongs in tools/ and in jf_fuzz"),
]
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def is_public(root, path):
    """Whether a file is one of the headers that are installed."""
    if path.parent.as_posix() != "api" or path.suffix != ".h" or not (root / path).is_file():
        return False
    return "Not installed" not in (root / path).read_text(errors="replace")[:1500]


def rule_for(root, path):
    """The allow list for a file, or None where no rule knows its folder."""
    if path.as_posix() in RULES:
        return RULES[path.as_posix()]
    if path.match("tools/gen_*.cc"):
        return BASE
    folder = path.parent.as_posix()
    if f"{folder}/*{path.suffix}" in RULES and is_public(root, path):
        return RULES[f"{folder}/*{path.suffix}"]
    if folder in RULES:
        return RULES[folder]
    for parent in path.parents:
        if f"{parent.as_posix()}/**" in RULES:
            return RULES[f"{parent.as_posix()}/**"]
    return None


def resolve(root, path, name):
    """Which of our files an include means, as a path from the root; None where it is not ours."""
    if name.startswith("jitfuse/"):
        return pathlib.PurePosixPath("api") / name[len("jitfuse/"):]
    if "/" in name and name.split("/")[0] in TOP:
        return pathlib.PurePosixPath(name)
    if (root / path.parent / name).is_file():
        return pathlib.PurePosixPath(path.parent.as_posix()) / name
    return None


def check_line(root, path, allowed, quote, name):
    """What is wrong with one include, or None."""
    target = resolve(root, path, name)
    if target is not None:
        if "*" not in allowed and target.parent.as_posix() == "api" and (root / target).is_file() and not is_public(root, target):
            return f"{target} is not installed: public headers and programs may not include it"
        if "*" in allowed or target.as_posix() in allowed or target.parent.as_posix() in allowed:
            return None
        return f"{path.parent.as_posix()} may not include {target} (it may: {', '.join(allowed) or 'nothing'})"
    for pattern, where, message in OUTSIDE:
        if re.match(pattern, name) and not re.match(where, path.as_posix()):
            return f"includes {name}: {message}"
    if is_public(root, path) and name.startswith("absl/"):
        return f"a public header includes {name}: Abseil stays inside"
    if is_public(root, path) and name != "dlpack/dlpack.h" and not re.fullmatch(r"[a-z_0-9]+", name):
        return f"a public header includes {name}: only std, dlpack/dlpack.h and jitfuse's own are allowed"
    if path.parent.as_posix() == "codegen/cuda/prelude" and not name.endswith(".cuh"):
        return f"the prelude is header-free, but includes {name}"
    return None


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    wrong, count = [], 0
    for top in sorted(TOP):
        for file in sorted((root / top).rglob("*")):
            if file.suffix not in (".cc", ".h", ".inc", ".cuh", ".cpp", ".cu") or not file.is_file():
                continue
            path = file.relative_to(root)
            allowed = rule_for(root, path)
            if allowed is None:
                wrong.append(f"{path}: no layer rule knows this folder: add one to tools/check_layers.py")
                continue
            count += 1
            for number, line in enumerate(file.read_text(errors="replace").splitlines(), 1):
                match = INCLUDE.match(line)
                problem = match and check_line(root, path, allowed, *match.groups())
                if problem:
                    wrong.append(f"{path}:{number}: {problem}")
    print("\n".join(wrong) if wrong else f"layers: {count} files, all includes point down")
    if count == 0:
        sys.exit(f"no source files under {root}")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
