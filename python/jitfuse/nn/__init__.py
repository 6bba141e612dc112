"""Functions of neural networks, with the names, argument order and defaults of torch.nn.functional.

All are functional: `inplace` is accepted and has no effect, and nothing is updated in place.
"""

from ._activations import (
    celu, elu, geglu, gelu, glu, hardshrink, hardsigmoid, hardswish, hardtanh, leaky_relu,
    log_softmax, logsigmoid, mish, prelu, reglu, relu, relu6, selu, sigmoid, silu, softmax, softmin,
    softplus, softshrink, softsign, swiglu, tanh, tanhshrink, threshold,
)  # fmt: skip
from ._layers import (
    alpha_dropout, bilinear, cosine_similarity, dropout, dropout1d, dropout2d, dropout3d, embedding,
    linear, one_hot, pad, pairwise_distance, scaled_dot_product_attention,
)  # fmt: skip
from ._losses import (
    binary_cross_entropy, binary_cross_entropy_with_logits, cross_entropy, huber_loss, kl_div,
    l1_loss, mse_loss, nll_loss, smooth_l1_loss,
)  # fmt: skip
from ._normalization import (
    batch_norm, batch_norm_training, group_norm, instance_norm, layer_norm, normalize, rms_norm,
)  # fmt: skip
from ._pooling import (
    adaptive_avg_pool1d, adaptive_avg_pool2d, adaptive_avg_pool3d, adaptive_max_pool1d,
    adaptive_max_pool2d, adaptive_max_pool3d, avg_pool1d, avg_pool2d, avg_pool3d, max_pool1d,
    max_pool2d, max_pool3d,
)  # fmt: skip

__all__ = [
    "adaptive_avg_pool1d", "adaptive_avg_pool2d", "adaptive_avg_pool3d", "adaptive_max_pool1d",
    "adaptive_max_pool2d", "adaptive_max_pool3d", "alpha_dropout", "avg_pool1d", "avg_pool2d",
    "avg_pool3d", "batch_norm", "batch_norm_training", "bilinear", "binary_cross_entropy",
    "binary_cross_entropy_with_logits", "celu", "cosine_similarity", "cross_entropy", "dropout",
    "dropout1d", "dropout2d", "dropout3d", "elu", "embedding", "geglu", "gelu", "glu", "group_norm",
    "hardshrink", "hardsigmoid", "hardswish", "hardtanh", "huber_loss", "instance_norm", "kl_div",
    "l1_loss", "layer_norm", "leaky_relu", "linear", "log_softmax", "logsigmoid", "max_pool1d",
    "max_pool2d", "max_pool3d", "mish", "mse_loss", "nll_loss", "normalize", "one_hot", "pad",
    "pairwise_distance", "prelu", "reglu", "relu", "relu6", "rms_norm",
    "scaled_dot_product_attention", "selu", "sigmoid", "silu", "smooth_l1_loss", "softmax",
    "softmin", "softplus", "softshrink", "softsign", "swiglu", "tanh", "tanhshrink", "threshold",
]  # fmt: skip
