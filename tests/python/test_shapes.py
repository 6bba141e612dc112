"""Dynamic sizes and compiling in the background, from Python."""

import os
import random
import subprocess
import sys
import textwrap
import time

import numpy as np
import pytest

import jitfuse as jf
from support import make, same


def test_few_kernels_serve_random_shapes():
    f = jf.jit(lambda x: jf.nn.softmax(x, dim=-1), dynamic="all")
    rng = random.Random(1)
    for _ in range(60):
        x = make((rng.randint(2, 9), rng.randint(2, 700)), "float32")
        e = np.exp(x - x.max(-1, keepdims=True))
        same(f(x), e / e.sum(-1, keepdims=True), ulps=64)
    stats = f.lower(x).compile().stats()
    assert stats["compiled"] + stats["memory_hits"] <= 8
    assert f.cache_info().entries == 1


def test_background_runs_what_is_there():
    f = jf.jit(lambda x: jf.nn.gelu(x) * 2 + 1, background=True)
    x = make((7, 33), "float32")
    want = jf.jit(lambda x: jf.nn.gelu(x) * 2 + 1)(x)
    same(f(x), want, ulps=64)
    assert f.lower(x).compile().stats()["fallbacks"]["background_interpreted"] >= 1


def test_hot_shapes():
    f = jf.jit(lambda x: x * 2, specialize_after=2)
    x = make((4, 5), "float32")

    def hot():
        return f.lower(x).compile().stats()["fallbacks"].get("hot_shape", 0)

    deadline = time.monotonic() + 60
    while hot() == 0 and time.monotonic() < deadline:
        same(f(x), x * 2)
    assert hot() == 1
    assert "hot_shape" in str(f.lower(x).explain())
    same(f(x), x * 2)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"background": 1}, "background=1, expected True or False"),
        ({"specialize_after": -1}, "specialize_after=-1, expected a number of calls"),
        ({"specialize_after": True}, "specialize_after=True, expected a number of calls"),
        ({"specialize_after": 2**63}, "specialize_after=9223372036854775808, expected a number of calls, 0 or more and below"),
    ],
)
def test_options_are_checked(options, message):
    with pytest.raises(ValueError, match=message):
        jf.jit(lambda x: x, **options)


def test_a_process_ends_while_code_is_compiled():
    script = """
        import numpy as np, jitfuse as jf
        f = jf.jit(lambda x: jf.nn.layer_norm(x, x.shape[-1:]), background=True)
        f(np.ones((4, 5), np.float32))
        del f
        g = jf.jit(lambda x: jf.nn.softmax(x, dim=-1), background=True)
        g(np.ones((4, 5), np.float32))
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(script)], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_fork_does_not_wait_for_the_log_of_the_background(tmp_path):
    script = """
        import logging, os, resource, signal, threading
        import numpy as np, jitfuse as jf
        signal.alarm(60)
        logs, forked, seen = threading.Event(), threading.Event(), []

        class Slow(logging.Handler):
            def emit(self, record):
                seen.append((record.getMessage(), threading.current_thread() is threading.main_thread()))
                logs.set()
                forked.wait(30)

        logging.getLogger("jitfuse").addHandler(Slow())
        f = jf.jit(lambda x: jf.tanh(x) * 2 + 1, background=True, device="cpu")
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))  # the kernel cannot be kept
        f(np.ones((4, 5), np.float32))
        assert logs.wait(30)
        child = os.fork()
        if child == 0:
            os._exit(0)
        forked.set()
        assert os.waitpid(child, 0)[1] == 0
        assert ["not kept" in message and not main for message, main in seen] == [True], seen
    """
    env = {k: v for k, v in os.environ.items() if k != "JITFUSE_NO_CACHE"}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)],
        env=env | {"JITFUSE_CACHE_DIR": str(tmp_path)}, capture_output=True, text=True, timeout=120,
    )
    assert done.returncode == 0, done.stderr
