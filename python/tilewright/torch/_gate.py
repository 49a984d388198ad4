"""tilewright::gate: act of one half of each row times the other half, and its gradient. The gate of an MLP where its product is not fused."""

from __future__ import annotations

from typing import Any

import torch

from .._library import UsageError
from . import _device
from ._register import Direct, constant, operator
from ._routes import is_compiling, is_direct, is_plain, is_traced, planned, start

#: act's names here and as the kernels' key.
NAMES = {"silu": "silu", "gelu": "gelu_erf", "gelu_tanh": "gelu_tanh"}


def check_activation(activation: str) -> None:
    if activation not in NAMES:
        raise UsageError(f"tilewright.torch.gated_linear: unknown activation '{activation}'; expected {', '.join(NAMES)}")


def _act(x: torch.Tensor, activation: str) -> torch.Tensor:
    if activation == "silu":
        return torch.nn.functional.silu(x)
    return torch.nn.functional.gelu(x, approximate="tanh" if activation == "gelu_tanh" else "none")


def by_pytorch(both: torch.Tensor, activation: str) -> torch.Tensor:
    first, second = both.chunk(2, -1)
    return _act(first, activation) * second


def _keys(shape: Any, activation: str, backward: bool) -> "dict[str, Any]":
    rows = 1
    for size in shape[:-1]:
        rows *= size
    made: "dict[str, Any]" = dict(rows=rows, cols=shape[-1] // 2, act=NAMES[activation])
    return dict(made, **{"pass": "backward"}) if backward else made


def route(both: torch.Tensor, activation: str, backward: bool) -> Any:
    key = ("gate", both.shape, both.dtype, both.device, activation, backward)
    return planned(key, "gate", 3 if backward else 2, both, lambda: _keys(both.shape, activation, backward))


@constant
def is_known(shape: Any, dtype: Any, activation: str, backward: bool) -> bool:
    """Has wisdom the kernel, and that of the backward pass? For torch.compile, as _gemm.is_known."""
    if dtype not in _device.TYPES or 0 in shape:
        return False
    passes = (False, True) if backward else (False,)
    return all(_device.has_kernel("gate", {**_keys(shape, activation, p), "a": _device.TYPES[dtype]}) for p in passes)


def _gate(both: torch.Tensor, activation: str) -> torch.Tensor:
    plan = route(both, activation, False)
    if not plan:
        return by_pytorch(both, activation)
    out = both.new_empty((*both.shape[:-1], both.shape[-1] // 2))
    start(plan, both.contiguous(), out)
    return out


def _gate_fake(both, activation):
    return both.new_empty((*both.shape[:-1], both.shape[-1] // 2))


def gradient_by_pytorch(both: torch.Tensor, g: torch.Tensor, activation: str) -> torch.Tensor:
    first, second = both.chunk(2, -1)
    if activation == "silu":
        of_first = torch.ops.aten.silu_backward(g * second, first)
    else:
        of_first = torch.ops.aten.gelu_backward(g * second, first, approximate="tanh" if activation == "gelu_tanh" else "none")
    return torch.cat((of_first, g * _act(first, activation)), -1)


def _gate_backward(both: torch.Tensor, g: torch.Tensor, activation: str) -> torch.Tensor:
    plan = route(both, activation, True)
    if not plan:
        return gradient_by_pytorch(both, g, activation)
    out = both.new_empty(both.shape)
    start(plan, both.contiguous(), g.contiguous(), out)
    return out


gate_backward = operator(
    "gate_backward(Tensor both, Tensor g, str activation) -> Tensor", _gate_backward, lambda both, g, activation: both.new_empty(both.shape)
)


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(inputs[0])
    ctx.activation = inputs[1]


def _backward(ctx: Any, g: torch.Tensor):
    (both,) = ctx.saved_tensors
    run = _gate_backward if is_direct(both, g) else gate_backward
    return run(both, g, ctx.activation), None


operation = operator("gate(Tensor both, str activation) -> Tensor", _gate, _gate_fake, setup=_setup, backward=_backward)
_direct = Direct(_gate, _setup, _backward)


def gate(both: torch.Tensor, activation: str) -> torch.Tensor:
    """act(first half) * second half, of the last dimension. With gradients a kernel is used where both passes have one."""
    needs = torch.is_grad_enabled() and both.requires_grad
    if is_traced(both):
        known = is_known(tuple(int(n) for n in both.shape), both.dtype, activation, needs)
    elif not is_compiling() and is_plain(both):
        routes = [route(both, activation, backward) for backward in ((False, True) if needs else (False,))]  # `tune` counts both
        known = all(routes)
    else:
        known = True
    if not known:
        return by_pytorch(both, activation)
    return (_direct if is_direct(both) else operation)(both, activation)
