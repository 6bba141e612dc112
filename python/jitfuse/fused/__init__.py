"""Known fusions by the names that users of other libraries know, such as fused_bias_gelu(x, b).

Each is a function under jitfuse.jit: it takes arrays of NumPy, torch, CuPy or JAX, or traced arrays
inside another jitted function, computes in one kernel what can be (docs/seed_features.md lists each
with its formula and its number of kernels), and has `out=`, `lower(...)` and `cache_info()`.

Arguments come in the order of torch.nn.functional, arrays first. Options (eps, approximate, p,
dim, reduction ...) are static: each value of one is compiled by itself. Dtypes are float16,
bfloat16, float32 and float64, where nothing else is said; float16 and bfloat16 are computed in
float32 and rounded when stored. Nothing is updated in place.
"""

from ._dropout import (
    fused_bias_dropout, fused_bias_dropout_add, fused_bias_gelu_dropout, fused_dropout,
    fused_dropout_add, fused_gelu_dropout, fused_relu_dropout,
)  # fmt: skip
from ._elementwise import (
    dynamic_tanh, elementwise_add_gelu, elementwise_add_leaky_relu, elementwise_add_mul,
    elementwise_add_relu, elementwise_add_sigmoid, elementwise_add_silu, elementwise_add_tanh,
    elementwise_mul_add, elementwise_mul_add_relu, elementwise_mul_relu, elementwise_mul_sigmoid,
    elementwise_mul_tanh, elementwise_sub_square, fake_quantize, fatrelu_and_mul, fused_axpby,
    fused_bias_act, fused_bias_geglu, fused_bias_gelu, fused_bias_relu, fused_bias_sigmoid,
    fused_bias_silu, fused_bias_swiglu, fused_bias_tanh, fused_geglu, fused_glu, fused_leaky_relu,
    fused_modulate, fused_reglu, fused_rope, fused_swiglu, gelu_and_mul, gelu_multiply, gelu_new,
    gelu_tanh_and_mul, layer_scale_add, mish_scale, mul_and_silu, prelu_bias, quick_gelu,
    sigmoid_multiply, silu_and_mul, squared_relu, swish_multiply,
)  # fmt: skip
from ._linear import (
    addmm_relu, flash_norm, fused_dense_gelu_dense, fused_geglu_mlp, fused_linear,
    fused_linear_activation, fused_linear_activation_dropout, fused_linear_gelu, fused_linear_relu,
    fused_linear_relu_dropout, fused_linear_residual, fused_linear_silu, fused_matmul_bias,
    fused_mlp, fused_swiglu_mlp, grouped_linear, matmul_leaky_relu,
)  # fmt: skip
from ._make import ACTIVATIONS
from ._normalization import (
    batch_norm_add_relu, batch_norm_relu, batch_norm_relu_training, batch_norm_silu,
    dropout_add_layer_norm, dropout_add_rms_norm, embedding_layer_norm, fused_adaptive_layer_norm,
    fused_add_layer_norm, fused_add_norm, fused_add_rms_norm,
    fused_bias_dropout_residual_layer_norm, fused_layer_norm, fused_layer_norm_gelu,
    fused_layer_norm_gelu_dropout, fused_layer_norm_relu, fused_layer_norm_silu, fused_rms_norm,
    fused_rms_norm_gated, group_norm_relu, group_norm_silu, instance_norm_relu, rms_norm_gelu,
    rms_norm_quantize, rms_norm_silu, skip_layer_norm,
)  # fmt: skip
from ._optim import (
    fused_adagrad, fused_adam, fused_adamw, fused_ema, fused_lamb, fused_lion, fused_rmsprop,
    fused_sgd,
)  # fmt: skip
from ._reductions import (
    clip_by_norm, fused_cosine_similarity, fused_l2_normalize, fused_standardize, reduce_l2_norm,
    reduce_logsumexp, reduce_max_abs, reduce_mean_abs, reduce_mean_squared, reduce_rms,
    reduce_sum_abs, reduce_sum_exp, reduce_sum_mul, reduce_sum_squared,
    reduce_sum_squared_difference, reduce_var_mean,
)  # fmt: skip
from ._softmax import (
    fused_attention, fused_attention_score, fused_bce_with_logits, fused_jsd, fused_kl_div,
    fused_linear_cross_entropy, fused_log_softmax, fused_softmax, fused_softmax_cross_entropy,
    fused_softmax_dropout, fused_tvd, scaled_masked_softmax, scaled_softmax,
    scaled_upper_triang_masked_softmax, sigmoid_focal_loss, softmax_mask_fuse,
)  # fmt: skip

__all__ = [
    "ACTIVATIONS", "addmm_relu", "batch_norm_add_relu", "batch_norm_relu",
    "batch_norm_relu_training", "batch_norm_silu", "clip_by_norm", "dropout_add_layer_norm",
    "dropout_add_rms_norm", "dynamic_tanh", "elementwise_add_gelu", "elementwise_add_leaky_relu",
    "elementwise_add_mul", "elementwise_add_relu", "elementwise_add_sigmoid",
    "elementwise_add_silu", "elementwise_add_tanh", "elementwise_mul_add",
    "elementwise_mul_add_relu", "elementwise_mul_relu", "elementwise_mul_sigmoid",
    "elementwise_mul_tanh", "elementwise_sub_square", "embedding_layer_norm", "fake_quantize",
    "fatrelu_and_mul", "flash_norm", "fused_adagrad", "fused_adam", "fused_adamw",
    "fused_adaptive_layer_norm", "fused_add_layer_norm", "fused_add_norm", "fused_add_rms_norm",
    "fused_attention", "fused_attention_score", "fused_axpby", "fused_bce_with_logits",
    "fused_bias_act", "fused_bias_dropout", "fused_bias_dropout_add",
    "fused_bias_dropout_residual_layer_norm", "fused_bias_geglu", "fused_bias_gelu",
    "fused_bias_gelu_dropout", "fused_bias_relu", "fused_bias_sigmoid", "fused_bias_silu",
    "fused_bias_swiglu", "fused_bias_tanh", "fused_cosine_similarity", "fused_dense_gelu_dense",
    "fused_dropout", "fused_dropout_add", "fused_ema", "fused_geglu", "fused_geglu_mlp",
    "fused_gelu_dropout", "fused_glu", "fused_jsd", "fused_kl_div", "fused_l2_normalize",
    "fused_lamb", "fused_layer_norm", "fused_layer_norm_gelu", "fused_layer_norm_gelu_dropout",
    "fused_layer_norm_relu", "fused_layer_norm_silu", "fused_leaky_relu", "fused_linear",
    "fused_linear_activation", "fused_linear_activation_dropout", "fused_linear_cross_entropy",
    "fused_linear_gelu", "fused_linear_relu", "fused_linear_relu_dropout", "fused_linear_residual",
    "fused_linear_silu", "fused_lion", "fused_log_softmax", "fused_matmul_bias", "fused_mlp",
    "fused_modulate", "fused_reglu", "fused_relu_dropout", "fused_rms_norm", "fused_rms_norm_gated",
    "fused_rmsprop", "fused_rope", "fused_sgd", "fused_softmax", "fused_softmax_cross_entropy",
    "fused_softmax_dropout", "fused_standardize", "fused_swiglu", "fused_swiglu_mlp", "fused_tvd",
    "gelu_and_mul", "gelu_multiply", "gelu_new", "gelu_tanh_and_mul", "group_norm_relu",
    "group_norm_silu", "grouped_linear", "instance_norm_relu", "layer_scale_add",
    "matmul_leaky_relu", "mish_scale",
    "mul_and_silu", "prelu_bias", "quick_gelu", "reduce_l2_norm", "reduce_logsumexp",
    "reduce_max_abs", "reduce_mean_abs", "reduce_mean_squared", "reduce_rms", "reduce_sum_abs",
    "reduce_sum_exp", "reduce_sum_mul", "reduce_sum_squared", "reduce_sum_squared_difference",
    "reduce_var_mean", "rms_norm_gelu", "rms_norm_quantize", "rms_norm_silu",
    "scaled_masked_softmax", "scaled_softmax", "scaled_upper_triang_masked_softmax",
    "sigmoid_focal_loss", "sigmoid_multiply", "silu_and_mul", "skip_layer_norm",
    "softmax_mask_fuse", "squared_relu", "swish_multiply",
]  # fmt: skip


def __getattr__(name: str) -> object:
    from .._suggest import missing

    advice = "" if name.startswith("_") else missing(name)
    raise AttributeError(
        f"module 'jitfuse.fused' has no attribute {name!r}" + (f": {advice}" if advice else "")
    )
