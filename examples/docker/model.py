"""What the application computes; manifest.json names these functions."""

import jitfuse as jf


@jf.jit
def scores(x, gain, shift):
    """Probabilities of normalised rows."""
    return jf.nn.softmax(jf.nn.gelu(jf.nn.layer_norm(x, (x.shape[-1],), gain, shift)), dim=-1)


@jf.jit
def scaled(x, factor):
    return jf.tanh(x * factor) + 1
