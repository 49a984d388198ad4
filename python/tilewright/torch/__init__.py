"""tilewright.torch: tuned kernels as PyTorch operators. See docs/guide/pytorch.md.

On CUDA a function starts the kernel that wisdom has for the very shapes, on the current stream; PyTorch computes shapes without one.
On the CPU matrix products run in the library's GEMM.
"""

try:
    import torch as _torch  # noqa: F401
except ImportError as _error:
    raise ImportError(f"tilewright.torch: PyTorch is required ({_error}); install it: https://pytorch.org/get-started") from _error

from ._functions import linear, matmul
from ._modules import Linear, PackedLinear, replace, replaced, restore
from ._routes import forget

__all__ = ["Linear", "PackedLinear", "forget", "linear", "matmul", "replace", "replaced", "restore"]
