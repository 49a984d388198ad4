"""tilewright::pool: maxima and means over windows of the last one to three dimensions."""

from __future__ import annotations

import math
from typing import Any, Optional, Sequence

import torch

from .._library import UsageError
from ._register import Direct, operator, recomputed
from ._routes import is_compiling, is_direct, is_plain, is_traced, parts_of, planned, start_parts

_F = torch.nn.functional


def by_pytorch(x: torch.Tensor, window: Sequence[int], stride: int, pad: int, dilation: int, mean: bool) -> torch.Tensor:
    more = () if mean else (dilation,)
    return getattr(_F, f"{'avg' if mean else 'max'}_pool{len(window)}d")(x, list(window), stride, pad, *more)


def _sizes(shape: Any, window: Sequence[int]) -> "tuple[int, list[int]]":
    """Images times channels, and the sizes that are pooled."""
    return math.prod(shape[: -len(window)]), list(shape[-len(window) :])


def _shape(x: torch.Tensor, window: Sequence[int], stride: int, pad: int, dilation: int) -> "list[int]":
    n, sizes = _sizes(x.shape, window)
    return [*x.shape[: -len(window)], *((size + 2 * pad - dilation * (of - 1) - 1) // stride + 1 for size, of in zip(sizes, window))]


def _keys(shape: Any, window: Sequence[int], stride: int, pad: int, dilation: int, mean: bool) -> "dict[str, Any]":
    n, sizes = _sizes(shape, window)
    made: "dict[str, Any]" = dict(n=n // parts_of(n, n * math.prod(sizes)))
    made.update(zip("dhw"[-len(window) :], sizes))
    made.update(zip("trs"[-len(window) :], window))
    return dict(made, stride=stride, pad=pad, dilation=dilation, f="mean" if mean else "max")


def route(x: torch.Tensor, window: Sequence[int], stride: int, pad: int, dilation: int, mean: bool) -> Any:
    if 1 in window and (stride > 1 or pad):
        return False  # the op pools no dimension with a window of one element
    key = ("pool", x.shape, x.dtype, x.device, tuple(window), stride, pad, dilation, mean)
    return planned(key, "pool", 2, x, lambda: _keys(x.shape, window, stride, pad, dilation, mean))


def _pool(x, window, stride, pad, dilation, mean):
    plan = route(x, window, stride, pad, dilation, mean)
    if not plan:
        return by_pytorch(x, window, stride, pad, dilation, mean).contiguous()
    x, out = x.contiguous(), x.new_empty(_shape(x, window, stride, pad, dilation))
    n, sizes = _sizes(x.shape, window)
    start_parts(plan, parts_of(n, x.numel()), [x], out)
    return out


_derived = recomputed(by_pytorch, 0)
operation = operator(
    "pool(Tensor x, int[] window, int stride, int pad, int dilation, bool mean) -> Tensor",
    _pool,
    lambda x, window, stride, pad, dilation, mean: x.new_empty(_shape(x, window, stride, pad, dilation)),
    **_derived,
)
_direct = Direct(_pool, **_derived)


def pool(
    x: torch.Tensor, window: Sequence[int], f: str = "max", stride: Optional[int] = None, padding: int = 0, dilation: int = 1
) -> torch.Tensor:
    """The maxima, or means (f="mean"), over windows of the last dimensions, as PyTorch's max_pool1d to max_pool3d and avg_pool1d to avg_pool3d.
    stride: of the windows, in each dimension [default: the window, which must then be a cube]."""
    window = [int(size) for size in window]
    if f not in ("max", "mean") or not 1 <= len(window) <= 3 or x.dim() <= len(window) or (f == "mean" and dilation != 1):
        raise UsageError(f"tilewright.torch.pool: expected windows of 1 to 3 dimensions of x, max or mean, and dilation 1 for means (found {window} of {x.dim()}, {f}, {dilation})")
    if stride is None and len(set(window)) > 1:
        raise UsageError(f"tilewright.torch.pool: stride is required where the window is no cube (found {window})")
    how = (window, window[0] if stride is None else int(stride), int(padding), int(dilation), f == "mean")
    if is_traced(x) or (not is_compiling() and is_plain(x) and not route(x, *how)):
        return by_pytorch(x, *how)
    return (_direct if is_direct(x) else operation)(x, *how)


# ---- PyTorch's modules ----


def _arguments(module: torch.nn.Module) -> "Optional[tuple[Any, ...]]":
    """What `pool` takes for the module; None: it has options that `pool` has not."""
    dims, mean = int(type(module).__name__[-2]), "Avg" in type(module).__name__

    def each(value: Any) -> "list[int]":
        return [value] * dims if isinstance(value, int) else list(value) * (dims if len(value) == 1 else 1)

    window, more = each(module.kernel_size), (module.stride, module.padding, getattr(module, "dilation", 1))
    numbers = [set(each(value)) for value in more]
    other = not module.count_include_pad or getattr(module, "divisor_override", None) is not None if mean else module.return_indices
    if other or module.ceil_mode or any(len(each_of) != 1 for each_of in numbers):
        return None
    return (window, "mean" if mean else "max", *(each_of.pop() for each_of in numbers))


def is_supported(module: torch.nn.Module) -> bool:
    return _arguments(module) is not None


def forward(module: torch.nn.Module, x: torch.Tensor) -> Optional[torch.Tensor]:
    how = _arguments(module)
    return None if how is None or not x.is_floating_point() else pool(x, *how)
