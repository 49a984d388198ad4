"""tilewright::elementwise: a function of each element. PyTorch's compiler fuses such calls, so compiled code leaves them to it."""

from __future__ import annotations

import math
from typing import Any, Callable

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


def by_pytorch(x: torch.Tensor, f: str, alpha: float = 1.0, beta: float = -1.0) -> torch.Tensor:
    return FUNCTIONS[f](x, alpha, beta)


def row_parts(shape: Any, dim: int = -1) -> int:
    """Into how many launches a tensor is divided. Vectors along the dimension are whole."""
    return parts_of(math.prod(shape[:dim]), math.prod(shape))


def in_parts(plan: Any, x: torch.Tensor, *like: torch.Tensor, dim: int = -1) -> torch.Tensor:
    """A result like x, in as many launches as row_parts has it. `like`: more inputs of x's shape."""
    x, out = x.contiguous(), x.new_empty(x.shape)
    start_parts(plan, row_parts(x.shape, dim), [x, *(t.contiguous() for t in like)], out)
    return out


def _keys(shape: Any, f: str, alpha: float, beta: float) -> "dict[str, Any]":
    made: "dict[str, Any]" = dict(rows=math.prod(shape[:-1]) // row_parts(shape), cols=shape[-1], f=f)
    if f in ("leaky_relu", "elu", "hard_tanh", "softplus", "scale"):
        made["alpha"] = alpha
    return dict(made, beta=beta) if f == "hard_tanh" else made


def route(x: torch.Tensor, f: str, alpha: float, beta: float) -> Any:
    if not x.dim():
        return False
    return planned(("elementwise", x.shape, x.dtype, x.device, f, alpha, beta), "elementwise", 2, x, lambda: _keys(x.shape, f, alpha, beta))


def _elementwise(x, f, alpha, beta):
    plan = route(x, f, alpha, beta)
    if not plan:
        return by_pytorch(x, f, alpha, beta).contiguous()
    return in_parts(plan, x)


_derived = recomputed(by_pytorch, 0)
operation = operator("elementwise(Tensor x, str f, float alpha, float beta) -> Tensor", _elementwise, lambda x, f, alpha, beta: x.new_empty(x.shape), **_derived)
_direct = Direct(_elementwise, **_derived)


def elementwise(x: torch.Tensor, f: str, alpha: float = 1.0, beta: float = -1.0) -> torch.Tensor:
    """A function of each element, by its name in the op `elementwise`: relu, leaky_relu, elu, selu, sigmoid, hard_sigmoid, tanh, hard_tanh,
    silu, gelu_erf, gelu_tanh, softplus, softsign or scale. `alpha` and `beta` are the op's."""
    if f not in FUNCTIONS:
        raise UsageError(f"tilewright.torch.elementwise: unknown function '{f}'; expected {', '.join(FUNCTIONS)}")
    alpha, beta = float(alpha), float(beta)
    if is_traced(x) or (not is_compiling() and is_plain(x) and not route(x, f, alpha, beta)):
        return by_pytorch(x, f, alpha, beta)
    return (_direct if is_direct(x) else operation)(x, f, alpha, beta)
