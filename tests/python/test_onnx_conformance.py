"""ONNX's backend node tests through onnx_adapter.py, each function under jitfuse.jit on the CPU.

onnx_ratchet.json has the names of the cases that pass, and the others by the reason. A name that
passes there has to pass; --update writes the file anew, and refuses to take a name out.

    python tests/python/test_onnx_conformance.py            all cases: the counts, and what changed
    python tests/python/test_onnx_conformance.py add_bcast  cases with this in their names
    python tests/python/test_onnx_conformance.py --update
"""

import copy
import json
import os
import sys
import warnings

import numpy as np
import pytest

import jitfuse as jf

RATCHET = os.path.join(os.path.dirname(os.path.abspath(__file__)), "onnx_ratchet.json")


def load_cases():
    """ONNX's cases by name. Some draw their inputs: always the same ones."""
    from onnx.backend.test.loader import load_model_tests

    np.random.seed(0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cases = load_model_tests(kind="node")
    return {case.name: case for case in sorted(cases, key=lambda c: c.name)}


def array(value):
    """A stored value: an array, or a tensor of the wire format."""
    from onnx import TensorProto, numpy_helper

    return numpy_helper.to_array(value) if isinstance(value, TensorProto) else np.asarray(value)


def run_case(case):
    """None if the case passes, else the reason why not."""
    from onnx.backend.test.runner import Runner

    import onnx_adapter
    import onnx_layers  # noqa: F401  (registers its ops)
    import onnx_shapes  # noqa: F401

    try:
        model = onnx_adapter.Model(case.model)
        for inputs, outputs in case.data_sets:
            values = dict(zip([v.name for v in case.model.graph.input], map(array, inputs)))
            known = {n: v for n, v in values.items() if n in model.needed}
            function = jf.jit(model.function(known), device="cpu")
            got = function(*[values[n] for n in model.inputs if n not in known])
            Runner.assert_similar_outputs(
                [array(o) for o in outputs], list(map(np.asarray, got)), case.rtol, case.atol
            )
    except onnx_adapter.Unsupported as reason:
        return str(reason)
    except AssertionError as error:
        return "values differ: " + first_line(error)
    except Exception as error:
        return f"{type(error).__name__}: {first_line(error)}"
    return None


def first_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    lines = [line for line in lines if "difference" in line] or lines
    return lines[0][:120] if lines else ""


def read_ratchet():
    with open(RATCHET) as file:
        return json.load(file)


@pytest.fixture(scope="module")
def results():
    pytest.importorskip("onnx", reason="ONNX's node tests need the package onnx")
    return {name: run_case(case) for name, case in load_cases().items()}


def test_what_passed_still_passes(results):
    listed = read_ratchet()["passes"]
    there = [n for n in listed if n in results]  # another version of onnx may lack some
    assert len(there) > len(listed) * 0.8, f"{len(there)} of {len(listed)} cases are in this onnx"
    broken = {n: results[n] for n in there if results[n] is not None}
    assert not broken, "\n".join(f"{n}: {reason}" for n, reason in broken.items())


def test_the_ratchet_holds_all_that_passes(results):
    ratchet = read_ratchet()
    new = [n for n, reason in results.items() if reason is None and n not in ratchet["passes"]]
    if new:
        warnings.warn(
            f"{len(new)} cases pass that are not in onnx_ratchet.json; write it anew with "
            f"python {os.path.relpath(__file__)} --update: {', '.join(new)}",
            stacklevel=1,
        )
    assert ratchet["passed"] == len(ratchet["passes"]) == len(set(ratchet["passes"]))
    others = [n for names in ratchet["not_passed"].values() for n in names]
    assert ratchet["total"] == len(set(others) | set(ratchet["passes"]))
    assert len(others) + ratchet["passed"] == ratchet["total"]


def test_a_wrong_result_is_no_pass():
    onnx = pytest.importorskip("onnx", reason="ONNX's node tests need the package onnx")
    import onnx_adapter

    case = copy.deepcopy(load_cases()["test_tanh"])
    assert run_case(case) is None
    tanh = onnx_adapter.OPS["Tanh"]
    onnx_adapter.OPS["Tanh"] = lambda node, x: tanh(node, x) + 0.01
    try:
        assert run_case(case).startswith("values differ")
    finally:
        onnx_adapter.OPS["Tanh"] = tanh
    wrong = onnx.helper.make_node("NoSuchOp", ["x"], ["y"])
    case.model.graph.node[0].CopyFrom(wrong)
    assert run_case(case) == "op type NoSuchOp"


def main(arguments):
    import onnx

    chosen = [a for a in arguments if not a.startswith("--")]
    cases = load_cases()
    results = {
        n: run_case(c) for n, c in cases.items() if not chosen or any(a in n for a in chosen)
    }
    passes = [n for n, reason in results.items() if reason is None]
    not_passed = {}
    for name, reason in results.items():
        if reason is not None:
            not_passed.setdefault(reason, []).append(name)
    not_passed = dict(sorted(not_passed.items(), key=lambda item: (-len(item[1]), item[0])))
    for reason, names in not_passed.items():
        print(f"{len(names):5} {reason}" + (f": {', '.join(names)}" if len(names) < 3 else ""))
    print(f"{len(passes)} of {len(results)} pass")
    if chosen:
        return 0
    old = read_ratchet()["passes"] if os.path.exists(RATCHET) else []
    lost = [n for n in old if n in results and results[n] is not None]
    for name in lost:
        print(f"LOST {name}: {results[name]}")
    if "--update" in arguments and not lost:
        with open(RATCHET, "w") as file:
            content = {
                "onnx": onnx.__version__, "passed": len(passes), "total": len(results),
                "not_passed": not_passed, "passes": passes,
            }  # fmt: skip
            json.dump(content, file, indent=1)
            file.write("\n")
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
