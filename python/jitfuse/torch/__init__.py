"""torch.nn.Modules whose layers are fused: FusedLinear, FusedLinearReLU, FusedMLP.

    import jitfuse.torch

They stand where torch.nn.Linear with what follows it stood: parameters of the same names, shapes
and initial values, with autograd, autocast, deepcopy, pickle and DistributedDataParallel. What the
kernels do not take (a sparse or complex weight, forward-mode differentiation, torch.compile ...) is
computed by plain torch: `module.why_plain(input)` says whether, and why.

This module imports torch; `import jitfuse` does not.
"""

from ..fused import ACTIVATIONS
from ._linear import FusedLinear, FusedLinearReLU
from ._mlp import FusedMLP

__all__ = ["ACTIVATIONS", "FusedLinear", "FusedLinearReLU", "FusedMLP"]
