"""tilewright::gated_mlp: both products of a gated MLP. With gradients, the first product keeps its sums, and the product that is the gradient of
the gated values ends with the gradients of the sums: neither gate has a kernel of its own."""

from __future__ import annotations

from typing import Any, Optional

import torch

from .._library import UsageError
from . import _device, _gate, _gemm
from ._register import Direct, operator
from ._routes import is_direct, is_traced

_data = torch.Tensor.data_ptr
SUMS = (("glu_pass", "sums"),)


def _backward_keys(mlp: int) -> "tuple[tuple[str, Any], ...]":
    """The sums are the first columns of `kept`."""
    return ("glu_pass", "backward"), ("ldd", 3 * mlp)


def forward_keys(keys: "dict[str, Any]") -> "dict[str, Any]":
    """Of the problem that keeps the sums, from the keys of their gradients' problem."""
    made = {key: value for key, value in keys.items() if key not in ("ldd", "ldb")}
    return {**made, "b_transposed": 1, "glu_pass": "sums"}


def has_kernels(x: torch.Tensor, down: torch.Tensor, up: torch.Tensor, activation: str) -> bool:
    """Has wisdom both kernels? For torch.compile. The gradient of the result is taken to be contiguous."""
    shape, stride = ([int(n) for n in numbers] for numbers in (down.shape, down.stride()))
    g = x.numel() // x.shape[-1], shape[0]
    how = x.dtype, x.device.type, False, activation, _backward_keys(shape[1])
    return _gemm.is_known(g, (g[1], 1), tuple(shape), tuple(stride), *how) and _gemm.has_kernel(x, up, True, activation, SUMS)


def _residual_has_kernel(x: torch.Tensor, down: torch.Tensor) -> bool:
    """Has wisdom a kernel of the second product with a residual? For torch.compile."""
    shape, stride = ([int(n) for n in numbers] for numbers in (down.shape, down.stride()))
    gated = x.numel() // x.shape[-1], shape[1]
    return _gemm.is_known(gated, (3 * shape[1], 1), tuple(shape), tuple(stride), x.dtype, x.device.type, True, "residual")


def has_routes(x: torch.Tensor, down: torch.Tensor, up: torch.Tensor, activation: str) -> bool:
    """Has the device both kernels? `tune` counts both."""
    return _gemm.is_recording() or bool(
        _gemm.fused_route(x, up, activation, SUMS)
        and _gemm.fused_route(x.new_empty((*x.shape[:-1], down.shape[0])), down, activation, _backward_keys(down.shape[1]), False)
    )


# ---- the two products with a gate ----


def _checked_gated_sums(x: torch.Tensor, weight: torch.Tensor, activation: str) -> torch.Tensor:
    _gemm.check_gated(x, weight, activation)
    return _gated_sums(x, weight, activation)


def _gated_sums(x: torch.Tensor, weight: torch.Tensor, activation: str) -> torch.Tensor:
    plan = _gemm.fused_route(x, weight, activation, SUMS)
    out = x.new_empty((*x.shape[:-1], weight.shape[0] // 2 * 3))
    if plan and _gemm.start_fused(plan, [_data(t) for t in (x, weight, out)]):
        return out
    return sums_by_pytorch(x, weight, activation)


def sums_by_pytorch(x: torch.Tensor, weight: torch.Tensor, activation: str) -> torch.Tensor:
    both = torch.nn.functional.linear(x, weight)
    return torch.cat((both, _gate.by_pytorch(both, activation)), -1)


def _gated_sums_backward(g: torch.Tensor, weight: torch.Tensor, kept: torch.Tensor, activation: str) -> torch.Tensor:
    n = weight.shape[1]
    g, kept = g.contiguous(), kept.contiguous()
    plan = _gemm.fused_route(g, weight, activation, _backward_keys(n), False)
    out = kept.new_empty((*kept.shape[:-1], 2 * n))
    if plan and _gemm.start_fused(plan, [_data(t) for t in (g, weight, kept, out)]):
        return out
    return gradient_by_pytorch(g, weight, kept, activation)


def gradient_by_pytorch(g: torch.Tensor, weight: torch.Tensor, kept: torch.Tensor, activation: str) -> torch.Tensor:
    return _gate.gradient_by_pytorch(kept[..., : 2 * weight.shape[1]], torch.matmul(g, weight), activation)


gated_sums = operator(
    "gated_sums(Tensor x, Tensor weight, str activation) -> Tensor",
    _checked_gated_sums,
    lambda x, weight, activation: x.new_empty((*x.shape[:-1], weight.shape[0] // 2 * 3)),
)
gated_sums_backward = operator(
    "gated_sums_backward(Tensor g, Tensor weight, Tensor kept, str activation) -> Tensor",
    _gated_sums_backward,
    lambda g, weight, kept, activation: kept.new_empty((*kept.shape[:-1], 2 * weight.shape[1])),
)


# ---- the whole ----


def check(x: torch.Tensor, up: torch.Tensor, down: torch.Tensor, residual: Optional[torch.Tensor], activation: str) -> None:
    _gemm.check_gated(x, up, activation)
    if down.dim() != 2 or 2 * down.shape[1] != up.shape[0]:
        raise UsageError(
            f"tilewright.torch.gated_mlp: expected weights of 2 h x k and n x h (found {list(up.shape)} and {list(down.shape)})"
        )
    if residual is not None:
        _gemm.check_residual(x, down, residual)


def _checked_gated_mlp(x, up, down, residual, activation):
    check(x, up, down, residual, activation)
    return _gated_mlp(x, up, down, residual, activation)


def _gated_mlp(x, up, down, residual, activation):
    kept = _gated_sums(x, up, activation)
    gated = kept[..., 2 * down.shape[1] :]
    return (_gemm.linear_kernel(gated, down, None) if residual is None else _gemm.linear_add_kernel(gated, down, residual)), kept


def _gated_mlp_fake(x, up, down, residual, activation):
    check(x, up, down, residual, activation)
    return x.new_empty((*x.shape[:-1], down.shape[0])), x.new_empty((*x.shape[:-1], 3 * down.shape[1]))


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs[:3], output[1])
    ctx.activation = inputs[4]
    ctx.set_materialize_grads(False)  # of `kept`, which nothing else reads


def _backward(ctx: Any, g: Optional[torch.Tensor], _: Any):
    if g is None:
        return (None,) * 5
    x, up, down, kept = ctx.saved_tensors
    needs, rows = ctx.needs_input_grad, _gemm.rows_of
    dx = dup = None
    if needs[0] or needs[1]:
        run = _gated_sums_backward if is_direct(g, down, kept) else gated_sums_backward
        d = run(g, down, kept, ctx.activation)
        dx = _gemm.product(d, up) if needs[0] else None
        dup = _gemm.product(rows(d).t(), rows(x)) if needs[1] else None
    ddown = _gemm.product(rows(g).t(), rows(kept)[:, 2 * down.shape[1] :]) if needs[2] else None
    return dx, dup, ddown, g if needs[3] else None, None


operation = operator(
    "gated_mlp(Tensor x, Tensor up, Tensor down, Tensor? residual, str activation) -> (Tensor, Tensor)",
    _checked_gated_mlp,
    _gated_mlp_fake,
    setup=_setup,
    backward=_backward,
    autocast=True,
)
_direct = Direct(_gated_mlp, _setup, _backward)  # operands are checked already


def is_fused(x: torch.Tensor, up: torch.Tensor, down: torch.Tensor, activation: str) -> bool:
    """Are both products with a gate computed by kernels? Gradients are taken to be asked for."""
    if is_traced(x):
        return has_kernels(x, down, up, activation)
    return x.is_cuda and is_direct(x, up, down) and has_routes(x, down, up, activation)


def gated_mlp(x: torch.Tensor, up: torch.Tensor, down: torch.Tensor, residual: Optional[torch.Tensor], activation: str) -> torch.Tensor:
    """With gradients, where `is_fused`."""
    x, later = x.contiguous(), None
    if residual is not None and is_traced(x) and not _residual_has_kernel(x, down):
        residual, later = None, residual  # the compiler adds it with what follows
    call = _direct if is_direct(x, up, down, residual) else operation
    y = call(x, up, down, residual, activation)[0]
    return y if later is None else y + later
