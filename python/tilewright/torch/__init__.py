"""tilewright.torch: tuned kernels as PyTorch operators. See docs/guide/pytorch.md.

On CUDA a function starts the kernel that wisdom has for the very shapes, on the current stream; PyTorch computes shapes without one.
On the CPU matrix products run in the library's GEMM.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as _error:
    raise ImportError(f"tilewright.torch: PyTorch is required ({_error}); install it: https://pytorch.org/get-started") from _error

from ._cached import attention, varlen_attention
from ._elementwise import elementwise
from ._functions import bmm, cumsum, gated_linear, gated_mlp, group_norm, layer_norm, linear, log_softmax, matmul, normalize, quantized_rms_norm, rms_norm, rotary, rotary_linear, scaled_dot_product_attention, softmax
from ._modules import LayerNorm, Linear, PackedLinear, RMSNorm, Softmax, replace, replaced, restore
from ._pool import pool
from ._reduce import reduce
from ._routes import allow_split_float32, allow_tf32_convolutions, forget
from ._tune import Call, TuneReport, tune

__all__ = [
    "Call",
    "LayerNorm",
    "Linear",
    "PackedLinear",
    "RMSNorm",
    "Softmax",
    "TuneReport",
    "allow_split_float32",
    "allow_tf32_convolutions",
    "attention",
    "bmm",
    "cumsum",
    "elementwise",
    "forget",
    "gated_linear",
    "gated_mlp",
    "group_norm",
    "layer_norm",
    "linear",
    "log_softmax",
    "matmul",
    "normalize",
    "pool",
    "quantized_rms_norm",
    "reduce",
    "replace",
    "replaced",
    "restore",
    "rms_norm",
    "rotary",
    "rotary_linear",
    "scaled_dot_product_attention",
    "softmax",
    "tune",
    "varlen_attention",
]
