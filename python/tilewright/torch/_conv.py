"""tilewright::conv: convolutions of one to three dimensions, and transposed ones of stride 1, which are convolutions with turned weights.
Without gradients: PyTorch computes calls that need them."""

from __future__ import annotations

import math
from typing import Any, Optional, Sequence

import torch

from . import _device
from ._register import operator
from ._routes import has_tf32_convolutions, is_direct, may_split, parts_of, planned, start_parts

_PYTORCH = {1: torch.nn.functional.conv1d, 2: torch.nn.functional.conv2d, 3: torch.nn.functional.conv3d}


def is_supported(module: Any) -> bool:
    """Can a kernel compute the module's convolution? Kernels have one stride for all dimensions, and neither groups nor dilation."""
    if module.groups != 1 or any(d != 1 for d in module.dilation) or module.padding_mode != "zeros" or isinstance(module.padding, str):
        return False
    if module.transposed:
        small = all(p < k for p, k in zip(module.padding, module.kernel_size))
        return small and all(s == 1 for s in module.stride) and not any(module.output_padding)
    return len(set(module.stride)) == 1


def turned(weight: torch.Tensor) -> torch.Tensor:
    """Weights of the convolution that a transposed one of stride 1 is."""
    return weight.transpose(0, 1).flip(list(range(2, weight.dim()))).contiguous()


def _parts(x: Any, out: Any) -> int:
    """Into how many launches of whole images a batch is divided."""
    return parts_of(x[0], max(math.prod(x), math.prod(out)))


def _keys(x: Any, weight: Any, has_bias: bool, stride: int, pad: int) -> "dict[str, Any]":
    """Of shapes; one dimension is an image of one row, which has no padding."""
    rank = len(x) - 2
    sizes, window = tuple(x[2:]), tuple(weight[2:])
    if rank == 1:
        sizes, window = (1, *sizes), (1, *window)
    made: "dict[str, Any]" = dict(n=x[0] // _parts(x, _shape(x, weight, stride, [pad] * rank)), c=x[1], k=weight[0], stride=stride, pad=pad)
    made.update(zip(("d", "h", "w")[-len(sizes) :], sizes))
    made.update(zip(("t", "r", "s")[-len(window) :], window))
    if has_bias:
        made["bias"] = "row"
    made["image_layout"], made["weight_layout"] = ("ncdhw", "kctrs") if rank == 3 else ("nchw", "kcrs")
    return made


def _op(rank: int) -> str:
    return "conv3d" if rank == 3 else "conv2d"


def _padding(x: torch.Tensor, padding: Sequence[int]) -> "tuple[int, list[int]]":
    """What a kernel pads by itself, and how x must be padded before it, as torch.nn.functional.pad takes it."""
    rank = x.dim() - 2
    if rank > 1 and len(set(padding)) == 1:
        return padding[0], []
    return 0, [p for size in reversed(padding) for p in (size, size)] if any(padding) else []


def _route(x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor], stride: int, pad: int, added: "list[int]") -> Any:
    rounded = x.dtype == torch.float32 and has_tf32_convolutions()
    key = ("conv", x.shape, x.dtype, x.device, weight.shape, bias is not None, stride, pad, tuple(added), may_split(), rounded)
    if x.dtype == torch.float32 and not (rounded or may_split()):
        return False
    shape = list(x.shape)
    for i in range(len(added) // 2):
        shape[-1 - i] += added[2 * i] + added[2 * i + 1]
    name = _device.TYPES.get(x.dtype)
    more = {"b": name, "out": name, **({"arithmetic": "tf32"} if rounded else {})}
    return planned(key, _op(x.dim() - 2), 3 if bias is None else 4, x, lambda: {**_keys(shape, weight.shape, bias is not None, stride, pad), **more})


def by_pytorch(x, weight, bias, stride, padding):
    return _PYTORCH[x.dim() - 2](x, weight, bias, stride, list(padding))


def _conv(x, weight, bias, stride, padding):
    pad, added = _padding(x, padding)
    plan = x.numel() and weight.numel() and _route(x, weight, bias, stride, pad, added)
    if not plan:
        return by_pytorch(x, weight, bias, stride, padding)
    out = x.new_empty(_shape(x.shape, weight.shape, stride, padding))
    image = torch.nn.functional.pad(x, added) if added else x.contiguous()
    last = [] if bias is None else [bias.to(torch.float32).contiguous()]
    start_parts(plan, _parts(image.shape, out.shape), [image], out, weight.contiguous(), *last)
    return out


def _shape(x: Any, weight: Any, stride: int, padding: Sequence[int]) -> "list[int]":
    """Of shapes."""
    sizes = zip(x[2:], weight[2:], padding)
    return [x[0], weight[0], *((n + 2 * p - k) // stride + 1 for n, k, p in sizes)]


def _conv_fake(x, weight, bias, stride, padding):
    return x.new_empty(_shape(x.shape, weight.shape, stride, padding))


operation = operator("conv(Tensor x, Tensor weight, Tensor? bias, int stride, int[] padding) -> Tensor", _conv, _conv_fake)


def _is_ours(x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor], module: Any) -> bool:
    needs = torch.is_grad_enabled() and any(t is not None and t.requires_grad for t in (x, weight, bias))
    types = {t.dtype for t in (x, weight, bias) if t is not None}
    fits = len(types) == 1 and x.dim() == weight.dim() and x.device == weight.device and is_supported(module)
    return fits and not needs and is_direct(x, weight, bias)


def forward(module: Any, x: torch.Tensor) -> "Optional[torch.Tensor]":
    """What a module of PyTorch's convolutions computes; None: PyTorch must, as with gradients, in autocast and while it compiles."""
    weight, bias = module.weight, module.bias
    if not _is_ours(x, weight, bias, module):
        return None
    stride, padding = module.stride[0], list(module.padding)
    if module.transposed:
        stride, weight, padding = 1, turned(weight), [k - 1 - p for k, p in zip(module.kernel_size, padding)]
        pad, added = _padding(x, padding)
        if x.device.type != "cuda" or not _route(x, weight, bias, stride, pad, added):
            return None  # PyTorch's own is faster than its convolution with turned weights
    return _conv(x, weight, bias, stride, padding)
