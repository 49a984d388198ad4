"""tilewright::layer_norm, ::rms_norm, ::softmax, ::log_softmax and ::cumsum: over the last dimension; ::group_norm; and ::normalize: along any."""

from __future__ import annotations

import math
from typing import Any, Optional

import torch

from .._library import UsageError
from ._elementwise import in_parts, row_parts
from ._register import Direct, operator, recomputed
from ._routes import parts_of, planned, start, start_parts


def _wide(x: torch.Tensor) -> torch.Tensor:
    """In the type in which sums are made."""
    return x if x.dtype == torch.float64 else x.float()


def check_weights(what: str, x: torch.Tensor, *weights: Optional[torch.Tensor]) -> None:
    for weight in weights:
        if weight is None:
            continue
        if x.dim() < 1 or list(weight.shape) != [x.shape[-1]]:
            raise UsageError(f"tilewright.torch.{what}: expected {list(x.shape[-1:])} weights (found {list(weight.shape)})")
        if weight.dtype != x.dtype or weight.device != x.device:
            found = f"{x.dtype} on {x.device} and {weight.dtype} on {weight.device}"
            raise UsageError(f"tilewright.torch.{what}: operands must have one type and device (found {found}); convert one")


def _size(x: torch.Tensor, parts: int = 1, **more: Any) -> "dict[str, Any]":
    return dict(rows=x.numel() // x.shape[-1] // parts, cols=x.shape[-1], **more)


def _like(x: torch.Tensor, *_: Any) -> torch.Tensor:
    return x.new_empty(x.shape)


# ---- layer normalization ----


def layer_norm_by_pytorch(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float) -> torch.Tensor:
    return torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, eps)


def layer_norm_route(x: torch.Tensor, weight: Optional[torch.Tensor], bias: Optional[torch.Tensor], eps: float) -> Any:
    if weight is None or bias is None or not x.dim():
        return False
    key = ("layer_norm", x.shape, x.dtype, x.device, weight.shape, weight.dtype, weight.device, bias.shape, bias.dtype, bias.device, eps)
    return planned(key, "layernorm", 4, x, lambda: dict(_size(x), eps=eps))


def _layer_norm(x, weight, bias, eps):
    check_weights("layer_norm", x, weight, bias)
    plan = layer_norm_route(x, weight, bias, eps)
    if not plan:
        return layer_norm_by_pytorch(x, weight, bias, eps).contiguous()
    x, out = x.contiguous(), x.new_empty(x.shape)
    start(plan, x, weight.contiguous(), bias.contiguous(), out)
    return out


def _layer_norm_fake(x, weight, bias, eps):
    check_weights("layer_norm", x, weight, bias)
    return _like(x)


#: PyTorch's kernel of the backward pass reads x and g once.
_of_layer_norm = recomputed(layer_norm_by_pytorch, 0, 1, 2)
layer_norm = operator(
    "layer_norm(Tensor x, Tensor weight, Tensor bias, float eps) -> Tensor",
    _layer_norm,
    _layer_norm_fake,
    **_of_layer_norm,
)
direct_layer_norm = Direct(_layer_norm, **_of_layer_norm)


# ---- normalization over groups of channels ----


def _group_parts(x: torch.Tensor) -> int:
    """Into how many launches of whole images the tensor is divided."""
    return parts_of(x.shape[0], x.numel())


def group_norm_by_pytorch(x: torch.Tensor, groups: int, weight: Optional[torch.Tensor], bias: Optional[torch.Tensor], eps: float) -> torch.Tensor:
    return torch.nn.functional.group_norm(x, groups, weight, bias, eps)


def _group_keys(x: torch.Tensor, groups: int, affine: bool, eps: float) -> "dict[str, Any]":
    channels = x.shape[1] // groups
    size = math.prod(x.shape[2:])
    keys = dict(rows=x.shape[0] // _group_parts(x) * groups, cols=channels * size, eps=eps)
    return dict(keys, groups=groups, span=size) if affine else dict(keys, affine=0)


def group_norm_route(x: torch.Tensor, groups: int, weight: Optional[torch.Tensor], bias: Optional[torch.Tensor], eps: float) -> Any:
    """Both weight and bias, or neither."""
    if x.dim() < 2 or x.shape[1] % groups or (weight is None) != (bias is None):
        return False
    for given in (weight, bias):
        if given is not None and (list(given.shape) != [x.shape[1]] or given.dtype != x.dtype or given.device != x.device):
            return False
    key = ("group_norm", x.shape, x.dtype, x.device, groups, weight is None, eps)
    return planned(key, "layernorm", 2 if weight is None else 4, x, lambda: _group_keys(x, groups, weight is not None, eps))


def _group_norm(x, groups, weight, bias, eps):
    plan = group_norm_route(x, groups, weight, bias, eps)
    if not plan:
        return group_norm_by_pytorch(x, groups, weight, bias, eps).contiguous()
    x, out = x.contiguous(), x.new_empty(x.shape)
    start_parts(plan, _group_parts(x), [x], out, *([] if weight is None else [weight.contiguous(), bias.contiguous()]))
    return out


_of_group_norm = recomputed(group_norm_by_pytorch, 0, 2, 3)
group_norm = operator(
    "group_norm(Tensor x, int groups, Tensor? weight, Tensor? bias, float eps) -> Tensor",
    _group_norm,
    _like,
    **_of_group_norm,
)
direct_group_norm = Direct(_group_norm, **_of_group_norm)


# ---- RMS normalization ----


def rms_norm_route(x: torch.Tensor, weight: Optional[torch.Tensor], eps: float) -> Any:
    if weight is None or not x.dim():
        return False
    key = ("rms_norm", x.shape, x.dtype, x.device, weight.shape, weight.dtype, weight.device, eps)
    return planned(key, "layernorm", 3, x, lambda: dict(_size(x), norm="rms", eps=eps))


def rms_norm_by_pytorch(x: torch.Tensor, weight: Optional[torch.Tensor], eps: float) -> torch.Tensor:
    if hasattr(torch.nn.functional, "rms_norm") and isinstance(x.shape[-1], int):  # PyTorch's own reads a symbolic size as an address
        return torch.nn.functional.rms_norm(x, x.shape[-1:], weight, eps)
    wide = _wide(x)
    normal = wide * (wide.square().mean(-1, keepdim=True) + eps).rsqrt()
    return (normal if weight is None else normal * _wide(weight)).to(x.dtype)


def _rms_norm(x, weight, eps):
    check_weights("rms_norm", x, weight)
    plan = rms_norm_route(x, weight, eps)
    if not plan:
        return rms_norm_by_pytorch(x, weight, eps).contiguous()
    x, out = x.contiguous(), x.new_empty(x.shape)
    start(plan, x, weight.contiguous(), out)
    return out


def _rms_norm_fake(x, weight, eps):
    check_weights("rms_norm", x, weight)
    return _like(x)


_of_rms_norm = recomputed(rms_norm_by_pytorch, 0, 1)
rms_norm = operator(
    "rms_norm(Tensor x, Tensor weight, float eps) -> Tensor",
    _rms_norm,
    _rms_norm_fake,
    **_of_rms_norm,
)
direct_rms_norm = Direct(_rms_norm, **_of_rms_norm)


# ---- RMS normalization to e4m3, without gradients ----

E4M3 = getattr(torch, "float8_e4m3fn", None)  #: from PyTorch 2.1 on


def check_quantized(x: torch.Tensor, weight: torch.Tensor) -> None:
    if E4M3 is None:
        raise UsageError(f"tilewright.torch.quantized_rms_norm: torch.float8_e4m3fn is missing in PyTorch {torch.__version__}; use PyTorch 2.1 or later")
    check_weights("quantized_rms_norm", x, weight)


def quantized_rms_norm_by_pytorch(x: torch.Tensor, weight: torch.Tensor, eps: float) -> "tuple[torch.Tensor, torch.Tensor]":
    wide = x.float()
    normal = wide * (wide.square().mean(-1, keepdim=True) + eps).rsqrt() * weight.float()
    scales = normal.abs().amax(-1, keepdim=True) / 448
    scales = torch.where(scales > 0, scales, torch.ones_like(scales))
    return (normal / scales).to(E4M3), scales


def _quantized_rms_norm(x, weight, eps):
    check_quantized(x, weight)
    key = ("quantized_rms_norm", x.shape, x.dtype, x.device, eps)
    plan = planned(key, "layernorm", 4, x, lambda: dict(_size(x), norm="rms", eps=eps, quantize="e4m3"))
    if not plan:
        return quantized_rms_norm_by_pytorch(x, weight, eps)
    out, scales = _quantized_rms_norm_fake(x, weight, eps)
    start(plan, x.contiguous(), weight.contiguous(), out, scales)
    return out, scales


def _quantized_rms_norm_fake(x, weight, eps):
    check_quantized(x, weight)
    return x.new_empty(x.shape, dtype=E4M3), x.new_empty((*x.shape[:-1], 1), dtype=torch.float32)


quantized_rms_norm = operator(
    "quantized_rms_norm(Tensor x, Tensor weight, float eps) -> (Tensor, Tensor)", _quantized_rms_norm, _quantized_rms_norm_fake
)


# ---- division by a norm ----

#: By name of the norm, PyTorch's formula over a dimension.
NORMS = {
    "abs": lambda x, eps, dim: x / (x.abs().mean(dim, keepdim=True) + eps),
    "l2": lambda x, eps, dim: x / (torch.linalg.vector_norm(x, 2, dim, keepdim=True) if not eps else (x.square().sum(dim, keepdim=True) + eps).sqrt()),
    "rms": lambda x, eps, dim: x / (x.square().mean(dim, keepdim=True) + eps).sqrt(),
}
#: Elements of a vector that is not along the last dimension: kernels keep vectors in registers.
LONGEST_APART = 512


def normalize_by_pytorch(x: torch.Tensor, f: str, eps: float, dim: int) -> torch.Tensor:
    return NORMS[f](x, eps, dim)


def normalize_keys(shape: Any, f: str, eps: float, dim: int) -> "dict[str, Any]":
    inner = math.prod(shape[dim + 1 :])
    keys = dict(rows=math.prod(shape[:dim]) // row_parts(shape, dim), cols=shape[dim], norm=f, affine=0, eps=eps)
    return dict(keys, inner=inner) if inner > 1 else keys


def has_normalize(shape: Any, dim: int) -> bool:
    """Can vectors along the dimension have a kernel?"""
    return dim == len(shape) - 1 or shape[dim] <= LONGEST_APART


def normalize_route(x: torch.Tensor, f: str, eps: float, dim: int) -> Any:
    """`dim` is counted from the first."""
    key = ("normalize", x.shape, x.dtype, x.device, f, eps, dim)
    return planned(key, "layernorm", 2, x, lambda: normalize_keys(x.shape, f, eps, dim)) if x.dim() and has_normalize(x.shape, dim) else False


def _normalize(x, f, eps, dim):
    plan = normalize_route(x, f, eps, dim)
    return in_parts(plan, x, dim=dim) if plan else normalize_by_pytorch(x, f, eps, dim).contiguous()


_of_normalize = recomputed(normalize_by_pytorch, 0)
normalize = operator("normalize(Tensor x, str f, float eps, int dim) -> Tensor", _normalize, _like, **_of_normalize)
direct_normalize = Direct(_normalize, **_of_normalize)


# ---- softmax and its logarithm ----


def softmax_route(x: torch.Tensor, log: bool = False) -> Any:
    return planned(("softmax", log, x.shape, x.dtype, x.device), "softmax", 2, x, lambda: _size(x, row_parts(x.shape), **({"log": 1} if log else {}))) if x.dim() else False


def _softmax(x, log=False):
    plan = softmax_route(x, log)
    if not plan:
        return (torch.log_softmax if log else torch.softmax)(x, -1).contiguous()
    return in_parts(plan, x)


def _log_softmax(x):
    return _softmax(x, True)


def _softmax_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(output)


def _softmax_backward(ctx: Any, g: torch.Tensor):
    (y,) = ctx.saved_tensors
    wide, deep = _wide(y), _wide(g)
    return (wide * (deep - (deep * wide).sum(-1, keepdim=True))).to(y.dtype)


def _log_softmax_backward(ctx: Any, g: torch.Tensor):
    (y,) = ctx.saved_tensors
    deep = _wide(g)
    return (deep - _wide(y).exp() * deep.sum(-1, keepdim=True)).to(y.dtype)


softmax = operator("softmax(Tensor x) -> Tensor", _softmax, _like, setup=_softmax_setup, backward=_softmax_backward)
direct_softmax = Direct(_softmax, _softmax_setup, _softmax_backward)
log_softmax = operator("log_softmax(Tensor x) -> Tensor", _log_softmax, _like, setup=_softmax_setup, backward=_log_softmax_backward)
direct_log_softmax = Direct(_log_softmax, _softmax_setup, _log_softmax_backward)


# ---- running sums ----


def cumsum_by_pytorch(x: torch.Tensor, reverse: bool, exclusive: bool, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
    x = x if mask is None else x * mask
    y = x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
    if not exclusive:
        return y
    shifted = torch.zeros_like(y)
    if reverse:
        shifted[..., :-1] = y[..., 1:]
    else:
        shifted[..., 1:] = y[..., :-1]
    return shifted


def cumsum_route(x: torch.Tensor, reverse: bool, exclusive: bool, mask: Optional[torch.Tensor]) -> Any:
    """The mask is like x, of booleans."""
    if not x.dim():
        return False
    masked = mask is not None
    more = {key: 1 for key, given in (("reverse", reverse), ("exclusive", exclusive), ("masked", masked)) if given}
    key = ("cumsum", reverse, exclusive, masked, x.shape, x.dtype, x.device)
    return planned(key, "cumsum", 2 + masked, x, lambda: dict(_size(x, row_parts(x.shape)), **more))


def _cumsum(x, reverse, exclusive, mask):
    plan = cumsum_route(x, reverse, exclusive, mask)
    if not plan:
        return cumsum_by_pytorch(x, reverse, exclusive, mask).contiguous()
    return in_parts(plan, x, *(() if mask is None else (mask,)))


def _cumsum_setup(ctx: Any, inputs: Any, output: Any) -> None:
    _, *ctx.how, mask = inputs
    ctx.save_for_backward(mask)


def _cumsum_backward(ctx: Any, g: torch.Tensor):
    reverse, exclusive = ctx.how
    (mask,) = ctx.saved_tensors
    found = cumsum_by_pytorch(g, not reverse, exclusive)
    return (found if mask is None else found * mask), None, None, None


cumsum = operator(
    "cumsum(Tensor x, bool reverse, bool exclusive, Tensor? mask) -> Tensor",
    _cumsum,
    _like,
    setup=_cumsum_setup,
    backward=_cumsum_backward,
)
direct_cumsum = Direct(_cumsum, _cumsum_setup, _cumsum_backward)
