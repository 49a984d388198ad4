"""The functions of the package: they take what PyTorch's functions of the same names take."""

from __future__ import annotations

from typing import Any, Optional, Sequence

import torch

from .._library import UsageError
from . import _attention, _gate, _gemm, _mlp, _rows
from ._routes import is_compiling, is_direct, is_plain, is_traced


def _needs_gradient(*tensors: Optional[torch.Tensor]) -> bool:
    return torch.is_grad_enabled() and any(x is not None and x.requires_grad for x in tensors)


def linear(
    x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor] = None, *, residual: Optional[torch.Tensor] = None
) -> torch.Tensor:
    """x weight^T + bias, as torch.nn.functional.linear, plus `residual`, which is like the result."""
    if residual is None:
        return _gemm.layer(x, weight, bias)
    if bias is not None:
        return _gemm.layer(x, weight, bias) + residual
    if is_direct(x, weight, residual):
        return _gemm.direct_linear_add(x, weight, residual)
    if is_traced(x) and not _gemm.has_kernel(x, weight, True, "residual"):
        return _gemm.layer(x, weight, None) + residual
    return _gemm.linear_add(x, weight, residual)


def gated_linear(x: torch.Tensor, weight: torch.Tensor, activation: str = "silu") -> torch.Tensor:
    """act(gate) * up, of gate and up = x weight^T in halves: the first projections of a gated MLP, whose weights are stacked.
    `activation`: silu, gelu or gelu_tanh. With gradients the sums are kept, so that no product is computed twice."""
    if _needs_gradient(x, weight) or (is_traced(x) and not _gemm.has_kernel(x, weight, True, activation)):
        _gemm.check_gated(x, weight, activation)
        return _gate.gate(_gemm.layer(x, weight, None), activation)
    direct = is_direct(x, weight)
    return (_gemm.direct_gated_linear if direct else _gemm.gated_linear)(x, weight, activation)


def gated_mlp(
    x: torch.Tensor, up: torch.Tensor, down: torch.Tensor, activation: str = "silu", *, residual: Optional[torch.Tensor] = None
) -> torch.Tensor:
    """(act(gate) * values) down^T + residual, of gate and values = x up^T in halves: both products of a gated MLP. `activation`: as of
    `gated_linear`. With gradients, kernels of the products also compute the gate and its gradient, where wisdom has both kernels."""
    if _needs_gradient(x, up, down):
        _mlp.check(x, up, down, residual, activation)
        if _mlp.is_fused(x, up, down, activation):
            return _mlp.gated_mlp(x, up, down, residual, activation)
    return linear(gated_linear(x, up, activation), down, residual=residual)


def rotary_linear(
    x: torch.Tensor, weight: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, heads: "Sequence[int]", interleaved: bool = False
) -> "list[torch.Tensor]":
    """x weight^T of b x s x k, divided into heads of d elements: b x s x h x d for each h of `heads`, whose pairs `rotary` turns, and for the
    heads that are left, as the projection to queries, keys and values. Without gradients one kernel multiplies and turns."""
    turned = sum(heads)
    _gemm.check_rotary(x, weight, cos, sin, turned)
    d = 2 * cos.shape[1]
    more = _gemm.rotary_keys(cos, turned, interleaved)
    apart = _needs_gradient(x, weight, cos, sin) or (is_traced(x) and not _gemm.has_kernel(x, weight, True, "", more))
    if apart:
        y = _gemm.layer(x, weight, None)
    else:
        y = (_gemm.direct_rotary_linear if is_direct(x, weight, cos, sin) else _gemm.rotary_linear)(x, weight, cos, sin, turned, interleaved)
    parts = y.unflatten(-1, (-1, d)).split((*heads, weight.shape[0] // d - turned), -2)
    return [rotary(part, cos, sin, interleaved) if apart and i < len(heads) else part for i, part in enumerate(parts)]


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """The product of matrices, as torch.matmul. Vectors and batches of b are PyTorch's."""
    if b.dim() != 2 or a.dim() < 2:
        return torch.matmul(a, b)
    return _gemm.product(a, b)


def bmm(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """As torch.bmm. Products with gradients, and on the CPU, are PyTorch's."""
    if a.dim() == b.dim() == 3 and a.shape[0] == b.shape[0] > 0 and a.is_cuda and is_direct(a, b) and not _needs_gradient(a, b):
        found = _gemm.batched(a, b)
        if found is not None:
            return found
    return torch.bmm(a, b)


def _is_last(shape: "int | Sequence[int]", x: torch.Tensor) -> bool:
    return (list(shape) if not isinstance(shape, int) else [shape]) == list(x.shape[-1:])


def layer_norm(
    x: torch.Tensor,
    normalized_shape: "int | Sequence[int]",
    weight: Optional[torch.Tensor] = None,
    bias: Optional[torch.Tensor] = None,
    eps: float = 1e-5,
) -> torch.Tensor:
    """As torch.nn.functional.layer_norm. Kernels are for the last dimensions of contiguous tensors, with weight and bias of x's type."""
    n = 1 if isinstance(normalized_shape, int) else len(normalized_shape)
    if n > 1 and list(normalized_shape) == list(x.shape[-n:]) and weight is not None and bias is not None:
        if x.is_contiguous() and weight.shape == bias.shape == x.shape[-n:] and not is_compiling() and not is_traced(x):
            rows = x.flatten(-n)
            return layer_norm(rows, rows.shape[-1], weight.flatten(), bias.flatten(), eps).view(x.shape)
    ours = not is_traced(x) and weight is not None and bias is not None and _is_last(normalized_shape, x) and x.dtype == weight.dtype == bias.dtype
    if not ours or (not is_compiling() and is_plain(x, weight, bias) and not _rows.layer_norm_route(x, weight, bias, eps)):
        shape = [normalized_shape] if isinstance(normalized_shape, int) else list(normalized_shape)
        return torch.nn.functional.layer_norm(x, shape, weight, bias, eps)
    direct = is_direct(x, weight, bias)
    return (_rows.direct_layer_norm if direct else _rows.layer_norm)(x, weight, bias, eps)


def group_norm(
    x: torch.Tensor, num_groups: int, weight: Optional[torch.Tensor] = None, bias: Optional[torch.Tensor] = None, eps: float = 1e-5
) -> torch.Tensor:
    """As torch.nn.functional.group_norm. As many groups as channels are instance normalization."""
    given = [t for t in (x, weight, bias) if t is not None]
    if is_traced(x) or (not is_compiling() and is_plain(*given) and not _rows.group_norm_route(x, num_groups, weight, bias, eps)):
        return _rows.group_norm_by_pytorch(x, num_groups, weight, bias, eps)
    return (_rows.direct_group_norm if is_direct(*given) else _rows.group_norm)(x, num_groups, weight, bias, eps)


def rms_norm(
    x: torch.Tensor, normalized_shape: "int | Sequence[int]", weight: Optional[torch.Tensor] = None, eps: Optional[float] = None
) -> torch.Tensor:
    """As torch.nn.functional.rms_norm (of PyTorch 2.4 and later), over the last dimension."""
    if not _is_last(normalized_shape, x):
        raise UsageError(f"tilewright.torch.rms_norm: expected normalized_shape={list(x.shape[-1:])} (found {normalized_shape})")
    eps = torch.finfo(x.dtype).eps if eps is None else eps
    ours = not is_traced(x) and weight is not None and weight.dtype == x.dtype
    if not ours or (not is_compiling() and is_plain(x, weight) and not _rows.rms_norm_route(x, weight, eps)):
        return _rows.rms_norm_by_pytorch(x, weight, eps)
    direct = is_direct(x, weight)
    return (_rows.direct_rms_norm if direct else _rows.rms_norm)(x, weight, eps)


def quantized_rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-5) -> "tuple[torch.Tensor, torch.Tensor]":
    """rms_norm over the last dimension, as e4m3 times a scale of float32 for each row: the largest magnitude of the row's results over 448.
    For products of e4m3, as torch._scaled_mm. Without gradients."""
    if is_traced(x):  # PyTorch's compiler fuses norms
        _rows.check_quantized(x, weight)
        return _rows.quantized_rms_norm_by_pytorch(x, weight, eps)
    return _rows.quantized_rms_norm(x.detach(), weight.detach(), eps)


def normalize(x: torch.Tensor, f: str = "l2", eps: float = 0.0, dim: int = -1) -> torch.Tensor:
    """x over a norm along a dimension. f: l2, sqrt(sum of squares + eps); rms, sqrt(mean of squares + eps), with eps above 0; or abs, the mean
    magnitude + eps. Kernels are for the last dimension, and for others of up to 512 elements."""
    if f not in _rows.NORMS or not 0 <= eps < 1 or (f == "rms" and not eps) or dim not in range(-x.dim(), x.dim()):
        expected = f"expected f of {', '.join(_rows.NORMS)}, eps between 0 and 1, and a dimension of x"
        raise UsageError(f"tilewright.torch.normalize: {expected} (found {f}, {eps}, dim={dim})")
    how = f, eps, dim % x.dim()
    if is_traced(x) or (not is_compiling() and is_plain(x) and not _rows.normalize_route(x, *how)):
        return _rows.normalize_by_pytorch(x, *how)
    return (_rows.direct_normalize if is_direct(x) else _rows.normalize)(x, *how)


def softmax(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """As torch.softmax. Kernels are for the last dimension."""
    last = not is_traced(x) and x.dim() and dim in (-1, x.dim() - 1) and x.is_floating_point()
    if not last or (not is_compiling() and is_plain(x) and not _rows.softmax_route(x)):
        return torch.softmax(x, dim)
    return (_rows.direct_softmax if is_direct(x) else _rows.softmax)(x)


def log_softmax(x: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """As torch.log_softmax. Kernels are for the last dimension."""
    last = not is_traced(x) and x.dim() and dim in (-1, x.dim() - 1) and x.is_floating_point()
    if not last or (not is_compiling() and is_plain(x) and not _rows.softmax_route(x, True)):
        return torch.log_softmax(x, dim)
    return (_rows.direct_log_softmax if is_direct(x) else _rows.log_softmax)(x)


def cumsum(x: torch.Tensor, dim: int = -1, *, reverse: bool = False, exclusive: bool = False, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
    """As torch.cumsum; `reverse`: from the end; `exclusive`: without the element itself; `mask`: sums of x * mask, where mask
    has x's shape, and booleans or x's type. Kernels are for the last dimension and masks of booleans; PyTorch multiplies by other masks."""
    if not x.is_floating_point() or dim not in range(-x.dim(), x.dim()):
        raise UsageError(f"tilewright.torch.cumsum: expected a floating-point tensor and a dimension of it (found {x.dtype} of {x.dim()}, dim={dim})")
    if mask is not None and (mask.dtype not in (torch.bool, x.dtype) or mask.shape != x.shape or mask.device != x.device):
        found = f"{mask.dtype}, {list(mask.shape)} on {mask.device}"
        raise UsageError(f"tilewright.torch.cumsum: expected a mask of torch.bool or {x.dtype}, {list(x.shape)} on {x.device} (found {found}); expand or convert it")
    if mask is not None and mask.dtype != torch.bool:  # KernelBench makes numbers of a model's booleans
        x, mask = x * mask, None
    if dim not in (-1, x.dim() - 1):
        turned = None if mask is None else mask.transpose(dim, -1)
        return cumsum(x.transpose(dim, -1), -1, reverse=reverse, exclusive=exclusive, mask=turned).transpose(dim, -1)
    how = reverse, exclusive, mask
    if is_traced(x) or (not is_compiling() and is_plain(x) and not _rows.cumsum_route(x, *how)):
        return _rows.cumsum_by_pytorch(x, *how)
    return (_rows.direct_cumsum if is_direct(x, mask) else _rows.cumsum)(x, *how)


def rotary(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, interleaved: bool = False) -> torch.Tensor:
    """Turns pairs of elements of each head. x is b x s x h x d; cos and sin are s x d / 2; pairs are halves apart, or neighbours."""
    if is_traced(x) and (x.dim() != 4 or not _attention.has_rotary(x, interleaved)):
        _attention.check_rotary(x, cos, sin)
        return _attention.rotary_by_pytorch(x, cos, sin, interleaved)
    direct = is_direct(x, cos, sin)
    return (_attention.direct_rotary if direct else _attention.rotary)(x, cos, sin, interleaved)


def scaled_dot_product_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    attn_mask: Any = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: Optional[float] = None,
    enable_gqa: bool = False,
) -> torch.Tensor:
    """As torch.nn.functional.scaled_dot_product_attention, of b x h x s x d: fastest where s and h are transposed in memory. Calls
    with a mask, dropout, or values of another size than keys are PyTorch's."""
    plain = attn_mask is None and not dropout_p
    if plain and q.dim() == k.dim() == v.dim() == 4 and q.shape[1] != k.shape[1] and not enable_gqa:
        raise UsageError(
            "tilewright.torch.scaled_dot_product_attention: heads must be as many in q, k and v "
            f"(found {q.shape[1]} and {k.shape[1]}); say enable_gqa=True for grouped queries"
        )
    of_other_size = q.dim() == k.dim() == v.dim() == 4 and k.shape[:-1] == v.shape[:-1] and q.shape[3] == k.shape[3] != v.shape[3]
    if not plain or q.dim() != 4 or of_other_size:
        if q.dim() == 4 and enable_gqa and q.shape[1] != k.shape[1]:
            k, v = (x.repeat_interleave(q.shape[1] // max(k.shape[1], 1), 1) for x in (k, v))
        return _attention.any_by_pytorch(q, k, v, attn_mask, dropout_p, is_causal, scale)
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    factor, found = q.shape[-1] ** -0.5 if scale is None else float(scale), None
    if not is_compiling() and is_plain(q, k, v):
        _attention.check_attention(q, k, v)
        plan, _ = found = _attention.forward_route(q, k, v, is_causal, factor)
        if _needs_gradient(q, k, v):
            plan = _attention.route(q, k, is_causal, factor, True) and plan
        if not plan:
            return _attention.by_pytorch(q, k, v, is_causal, factor).transpose(1, 2)
    pitch = _attention.pitch_of(q, k, v) if is_traced(q) and not _needs_gradient(q, k, v) else 0
    in_place = pitch and _attention.has_kernel(q, k, is_causal, factor, False, pitch)
    if is_traced(q) and not in_place and not _attention.has_kernel(q, k, is_causal, factor, _needs_gradient(q, k, v)):
        _attention.check_attention(q, k, v)
        return _attention.by_pytorch(q, k, v, is_causal, factor).transpose(1, 2)
    if is_traced(q) and not in_place:  # the compiler's copy is faster than PyTorch's own, and may be fused with the computation before it
        q, k, v = (x.contiguous() for x in (q, k, v))
    if is_direct(q, k, v):
        return _attention.direct_attention(q, k, v, is_causal, factor, found)[0].transpose(1, 2)
    return _attention.attention(q, k, v, is_causal, factor)[0].transpose(1, 2)
