"""tilewright::reduce: sums, means, norms, extremes and their places over neighbouring dimensions. PyTorch's compiler fuses such calls with
what comes before them, so compiled code leaves them to it."""

from __future__ import annotations

import math
from typing import Any, Callable, Optional, Sequence

import torch

from .._library import UsageError
from ._register import Direct, operator, recomputed
from ._routes import is_compiling, is_direct, is_plain, is_traced, parts_of, planned, start_parts

_F = torch.nn.functional
#: PyTorch's function of a tensor over one dimension.
FUNCTIONS: "dict[str, Callable[[torch.Tensor, int], torch.Tensor]]" = {
    "sum": lambda t, dim: t.sum(dim),
    "mean": lambda t, dim: t.mean(dim),
    "norm": lambda t, dim: torch.linalg.vector_norm(t, 2, dim),
    "max": lambda t, dim: t.max(dim).values,
    "min": lambda t, dim: t.min(dim).values,
    "argmax": lambda t, dim: t.argmax(dim),
    "argmin": lambda t, dim: t.argmin(dim),
}
#: The terms of a sum or mean; the last three are of pairs.
TERMS: "dict[str, Callable[[torch.Tensor, Any], torch.Tensor]]" = {
    "x": lambda x, z: x,
    "abs": lambda x, z: x.abs(),
    "square": lambda x, z: x.square(),
    "squared_difference": lambda x, z: (x - z).square(),
    "smooth_l1": lambda x, z: _F.smooth_l1_loss(x, z, reduction="none"),
    "hinge": lambda x, z: (1 - x * z).clamp(min=0),
}
PAIRS = ("squared_difference", "smooth_l1", "hinge")


def by_pytorch(x: torch.Tensor, other: Optional[torch.Tensor], f: str, of: str, first: int, last: int) -> torch.Tensor:
    other = None if other is None else other.expand_as(x)
    return FUNCTIONS[f](TERMS[of](x, other).flatten(first, last), first)


def _sizes(shape: Any, first: int, last: int) -> "tuple[int, int, int]":
    return math.prod(shape[:first]), math.prod(shape[first : last + 1]), math.prod(shape[last + 1 :])


#: Elements of the longest line. Every timed launch of a kernel under verification has results checked, each of which needs a whole line.
LONGEST_LINE = 1 << 22


def _parts(outer: int, n: int, inner: int) -> int:
    """Into how many launches of whole lines a tensor is divided."""
    return parts_of(outer, outer * n * inner)


def folds_of(x: torch.Tensor, f: str, first: int, last: int) -> int:
    """Into how many parts each of few long lines is divided. Their results are reduced once more, by PyTorch."""
    outer, n, inner = _sizes(x.shape, first, last)
    if outer > 1 or n <= LONGEST_LINE or f.startswith("arg") or x.dtype != torch.float32:
        return 1
    return parts_of(n, n, LONGEST_LINE, 1 << 16)


def _keys(shape: Any, f: str, of: str, first: int, last: int, shared: bool) -> "dict[str, Any]":
    outer, n, inner = _sizes(shape, first, last)
    made: "dict[str, Any]" = dict(outer=outer // _parts(outer, n, inner), n=n, inner=inner, f=f)
    return made if of == "x" else dict(made, of=of, shared=1) if shared else dict(made, of=of)


def route(x: torch.Tensor, other: Optional[torch.Tensor], f: str, of: str, first: int, last: int) -> Any:
    """`other` is None, like x, or like what x has from the dimension `first` on."""
    shared = other is not None and other.shape != x.shape
    if other is not None and ((shared and other.shape != x.shape[first:]) or other.dtype != x.dtype or other.device != x.device):
        return False
    key = ("reduce", x.shape, x.dtype, x.device, f, of, first, last, shared)
    return planned(key, "reduce", 2 if other is None else 3, x, lambda: _keys(x.shape, f, of, first, last, shared))


def _reduce(x, other, f, of, first, last):
    plan = route(x, other, f, of, first, last)
    if not plan:
        return by_pytorch(x, other, f, of, first, last).contiguous()
    outer, n, inner = _sizes(x.shape, first, last)
    given = [t.contiguous() for t in (x, other) if t is not None]
    shared = [given.pop()] if other is not None and other.shape != x.shape else []
    out = x.new_empty(x.shape[:first] + x.shape[last + 1 :], dtype=torch.int32 if f.startswith("arg") else x.dtype)
    start_parts(plan, _parts(outer, n, inner), given, out, *shared)
    return out.long() if f.startswith("arg") else out


def _fake(x, other, f, of, first, last):
    return x.new_empty(x.shape[:first] + x.shape[last + 1 :], dtype=torch.int64 if f.startswith("arg") else x.dtype)


_derived = recomputed(by_pytorch, 0, 1)
operation = operator("reduce(Tensor x, Tensor? other, str f, str of, int first, int last) -> Tensor", _reduce, _fake, **_derived)
_direct = Direct(_reduce, **_derived)


def dims_of(count: int, dim: "None | int | Sequence[int]") -> "tuple[int, int]":
    """The first and the last of the dimensions; None: all."""
    dims = list(range(count)) if dim is None else sorted(d % max(count, 1) for d in ([dim] if isinstance(dim, int) else dim))
    if not dims or dims != list(range(dims[0], dims[-1] + 1)):
        raise UsageError(f"tilewright.torch.reduce: expected neighbouring dimensions of a tensor (found {dim} of {count})")
    return dims[0], dims[-1]


def reduce(
    x: torch.Tensor,
    f: str = "sum",
    dim: "None | int | Sequence[int]" = None,
    keepdim: bool = False,
    *,
    of: str = "x",
    other: Optional[torch.Tensor] = None,
) -> torch.Tensor:
    """One result for each line along `dim`, which may be neighbouring dimensions [default: all]. f: sum, mean, norm (the Euclidean one), max,
    min, argmax or argmin. Terms of sums and means, `of`: x, abs, square; of x and `other`: squared_difference, smooth_l1 or hinge, max(0, 1 - x other).
    `other` may have the last dimensions of x alone."""
    if f not in FUNCTIONS or of not in TERMS:
        raise UsageError(f"tilewright.torch.reduce: unknown f='{f}' or of='{of}'; expected {', '.join(FUNCTIONS)}, and {', '.join(TERMS)}")
    if (of in PAIRS) != (other is not None) or (of != "x" and f not in ("sum", "mean")):
        raise UsageError(f"tilewright.torch.reduce: of={of} with f={f} is unsupported; `other` belongs to {', '.join(PAIRS)}, terms to sum and mean")
    first, last = dims_of(x.dim(), dim)
    shape = [*x.shape[:first], *([1] * (last - first + 1)), *x.shape[last + 1 :]]
    if other is not None and other.shape != x.shape:
        begin = x.dim() - other.dim()
        if other.shape != x.shape[begin:] or begin == x.dim():
            raise UsageError(f"tilewright.torch.reduce: expected `other` like x or its last dimensions (found {list(other.shape)} and {list(x.shape)}); expand it")
        if first < begin <= last and x.dtype in (torch.float32, torch.float64):  # the lines that `other` has, then those that share it
            return reduce(reduce(x, f, range(begin, last + 1), keepdim, of=of, other=other), f, range(first, begin), keepdim)
        other = other if begin == first else other.expand(x.shape)
    tensors = [t for t in (x, other) if t is not None]
    folds = 1 if is_compiling() or is_traced(x) else folds_of(x, f, first, last)
    if folds > 1 and all(t.is_contiguous() for t in tensors):
        parts = [t.view(folds, -1, *x.shape[last + 1 :]) for t in tensors]
        found = FUNCTIONS[f](reduce(parts[0], f, 1, of=of, other=parts[1] if len(parts) > 1 else None), 0)
        return found.view(shape if keepdim else [*x.shape[:first], *x.shape[last + 1 :]])
    args = (x.detach() if f.startswith("arg") else x), other, f, of, first, last
    if is_traced(x) or (not is_compiling() and is_plain(*tensors) and not route(*args)):
        found = by_pytorch(*args)
    else:
        found = (_direct if is_direct(*tensors) else operation)(*args)
    return found.view(shape) if keepdim else found
