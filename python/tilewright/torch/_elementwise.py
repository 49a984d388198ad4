"""tilewright::elementwise: a function of each element. PyTorch's compiler fuses such calls, so compiled code leaves them to it."""

from __future__ import annotations

import math
from typing import Any, Callable, Optional

import torch

from .._library import UsageError
from ._register import Direct, operator, recomputed
from ._routes import is_compiling, is_direct, is_plain, is_traced, parts_of, planned, start_parts

_F = torch.nn.functional
#: PyTorch's function for each of the op's; `a` and `b` are alpha and beta.
FUNCTIONS: "dict[str, Callable[[torch.Tensor, float, float], torch.Tensor]]" = {
    "relu": lambda x, a, b: torch.relu(x),
    "leaky_relu": lambda x, a, b: _F.leaky_relu(x, a),
    "elu": lambda x, a, b: _F.elu(x, a),
    "selu": lambda x, a, b: torch.selu(x),
    "sigmoid": lambda x, a, b: torch.sigmoid(x),
    "hard_sigmoid": lambda x, a, b: _F.hardsigmoid(x),
    "tanh": lambda x, a, b: torch.tanh(x),
    "hard_tanh": lambda x, a, b: _F.hardtanh(x, b, a),
    "silu": lambda x, a, b: _F.silu(x),
    "gelu_erf": lambda x, a, b: _F.gelu(x),
    "gelu_tanh": lambda x, a, b: _F.gelu(x, approximate="tanh"),
    "softplus": lambda x, a, b: _F.softplus(x, a),
    "softsign": lambda x, a, b: _F.softsign(x),
    "scale": lambda x, a, b: x * a,
}


def by_pytorch(x: torch.Tensor, f: str, alpha: float = 1.0, beta: float = -1.0, by: Optional[torch.Tensor] = None) -> torch.Tensor:
    return FUNCTIONS[f](x, alpha, beta) if by is None else x / by


def row_parts(shape: Any, dim: int = -1) -> int:
    """Into how many launches a tensor is divided. Vectors along the dimension are whole."""
    return parts_of(math.prod(shape[:dim]), math.prod(shape))


def in_parts(plan: Any, x: torch.Tensor, *like: torch.Tensor, dim: int = -1, shared: "tuple[torch.Tensor, ...]" = ()) -> torch.Tensor:
    """A result like x, in as many launches as row_parts has it. `like`: more inputs of x's shape; `shared`: as start_parts has it."""
    x, out = x.contiguous(), x.new_empty(x.shape)
    start_parts(plan, row_parts(x.shape, dim), [x, *(t.contiguous() for t in like)], out, *shared)
    return out


def _keys(shape: Any, f: str, alpha: float, beta: float) -> "dict[str, Any]":
    made: "dict[str, Any]" = dict(rows=math.prod(shape[:-1]) // row_parts(shape), cols=shape[-1], f=f)
    if f in ("leaky_relu", "elu", "hard_tanh", "softplus", "scale"):
        made["alpha"] = alpha
    return dict(made, beta=beta) if f == "hard_tanh" else made


def route(x: torch.Tensor, f: str, alpha: float, beta: float, by: Optional[torch.Tensor] = None) -> Any:
    if not x.dim():
        return False
    n = 2 if by is None else 3
    return planned(("elementwise", x.shape, x.dtype, x.device, f, alpha, beta), "elementwise", n, x, lambda: _keys(x.shape, f, alpha, beta))


def _elementwise(x, f, alpha, beta, by=None):
    plan = route(x, f, alpha, beta, by)
    if not plan:
        return by_pytorch(x, f, alpha, beta, by).contiguous()
    return in_parts(plan, x, shared=() if by is None else (by,))


_derived = recomputed(by_pytorch, 0, 4)
operation = operator(
    "elementwise(Tensor x, str f, float alpha, float beta, Tensor? by) -> Tensor",
    _elementwise,
    lambda x, f, alpha, beta, by: x.new_empty(x.shape),
    **_derived,
)
_direct = Direct(_elementwise, **_derived)


def elementwise(x: torch.Tensor, f: str, alpha: float = 1.0, beta: float = -1.0, *, by: Optional[torch.Tensor] = None) -> torch.Tensor:
    """A function of each element, by its name in the op `elementwise`: relu, leaky_relu, elu, selu, sigmoid, hard_sigmoid, tanh, hard_tanh,
    silu, gelu_erf, gelu_tanh, softplus, softsign, scale, or divide, x / by. `alpha` and `beta` are the op's; `by` has one element. If its type
    is not that of x, PyTorch computes the quotient."""
    if (f not in FUNCTIONS) if by is None else f != "divide":
        raise UsageError(f"tilewright.torch.elementwise: unknown function '{f}'; expected {', '.join(FUNCTIONS)}, or divide with `by`")
    if by is not None and (by.numel() != 1 or by.dim() > x.dim()):
        raise UsageError(f"tilewright.torch.elementwise: expected `by` of one element (found {list(by.shape)})")
    tensors = [x] if by is None else [x, by]
    how = f, float(alpha), float(beta), by
    if is_traced(x) or (by is not None and (by.dtype, by.device) != (x.dtype, x.device)) or (not is_compiling() and is_plain(*tensors) and not route(x, *how)):
        return by_pytorch(x, *how)
    return (_direct if is_direct(*tensors) else operation)(x, *how)
