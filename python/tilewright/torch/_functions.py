"""The functions of the package: they take what PyTorch's functions of the same names take."""

from __future__ import annotations

from typing import Optional

import torch

from . import _gemm


def linear(x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor] = None) -> torch.Tensor:
    """x weight^T + bias, as torch.nn.functional.linear."""
    return _gemm.linear(x, weight, bias)


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product of matrices, as torch.matmul. Vectors and batches of b are PyTorch's."""
    return _gemm.matmul(a, b) if b.dim() == 2 and a.dim() >= 2 else torch.matmul(a, b)


def is_compiling() -> bool:
    """Is torch.compile tracing this code?"""
    return hasattr(torch, "compiler") and hasattr(torch.compiler, "is_compiling") and torch.compiler.is_compiling()
