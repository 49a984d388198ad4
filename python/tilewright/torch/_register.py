"""Registration of operators with what the installed PyTorch offers: torch.library from 1.13 on, register_autograd and register_fake
from 2.4 on. No compiler is needed."""

from __future__ import annotations

from typing import Any, Callable, Optional, Sequence

import torch

LIBRARY = torch.library.Library("tilewright", "DEF")
_AUTOCAST = (("cuda", "AutocastCUDA"), ("cpu", "AutocastCPU"))


def constant(function: "Callable[..., Any]") -> "Callable[..., Any]":
    """torch.compile calls such a function while it traces, and takes its result for a constant."""
    mark = getattr(getattr(torch, "compiler", None), "assume_constant_result", None)
    return mark(function) if mark else function


def gradients(call: "Callable[..., torch.Tensor]", tensors: "Sequence[Optional[torch.Tensor]]", g: torch.Tensor) -> "list[Optional[torch.Tensor]]":
    """Of PyTorch's own `call(*tensors)`, which is computed again, for each tensor that is not None. They have gradients in turn where PyTorch
    records the backward pass."""
    again = torch.is_grad_enabled()
    leaves = [None if t is None else t.view_as(t) if again and t.requires_grad else t.detach().requires_grad_() for t in tensors]
    with torch.enable_grad():
        y = call(*leaves)
        found = iter(torch.autograd.grad(y, [t for t in leaves if t is not None], g, create_graph=again))
    return [None if t is None else next(found) for t in leaves]


def recomputed(by_pytorch: "Callable[..., torch.Tensor]", *places: int) -> "dict[str, Callable[..., Any]]":
    """`setup` and `backward` of an operator whose gradients are those of PyTorch's function of the same inputs. `places`: the inputs that are tensors."""

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*[inputs[i] for i in places])
        ctx.how = [None if i in places else value for i, value in enumerate(inputs)]

    def call(how: "list[Any]", tensors: "Sequence[Optional[torch.Tensor]]") -> torch.Tensor:
        given = dict(zip(places, tensors))
        return by_pytorch(*[given.get(i, value) for i, value in enumerate(how)])

    def backward(ctx: Any, g: torch.Tensor):
        found = dict(zip(places, gradients(lambda *tensors: call(ctx.how, tensors), ctx.saved_tensors, g)))
        return tuple(found.get(i) for i in range(len(ctx.how)))

    return {"setup": setup, "backward": backward}


class Direct:
    """An operator's kernel without the dispatcher, for calls of which `_routes.is_direct` holds."""

    __slots__ = ("kernel", "differentiable")

    def __init__(self, kernel: "Callable[..., Any]", setup: Any, backward: Any):
        self.kernel, self.differentiable = kernel, _node(kernel, setup, backward).apply

    def __call__(self, *inputs: Any) -> Any:
        if torch.is_grad_enabled():
            for x in inputs:
                if isinstance(x, torch.Tensor) and x.requires_grad:
                    return self.differentiable(*inputs)
        return self.kernel(*inputs)


def operator(
    schema: str,
    kernel: Callable[..., Any],
    fake: Callable[..., Any],
    *,
    setup: Optional[Callable[..., None]] = None,
    backward: Optional[Callable[..., Any]] = None,
    autocast: bool = False,
) -> Any:
    """Defines `tilewright::schema` and returns it. `kernel` runs on CPU and CUDA and makes new tensors; `fake` makes tensors like them.

    `setup(ctx, inputs, output)` and `backward(ctx, *gradients)` are as torch.library.register_autograd takes them. With `autocast`,
    floating-point tensors become autocast's type.
    """
    name = schema[: schema.index("(")]
    tags = {"tags": (torch.Tag.pt2_compliant_tag,)} if hasattr(torch, "Tag") and hasattr(torch.Tag, "pt2_compliant_tag") else {}
    LIBRARY.define(schema, **tags)
    for key in ("CPU", "CUDA"):
        LIBRARY.impl(name, kernel, key)
    if hasattr(torch.library, "register_fake"):
        torch.library.register_fake("tilewright::" + name, fake, lib=LIBRARY)
    else:
        LIBRARY.impl(name, fake, "Meta")
    function = getattr(torch.ops.tilewright, name).default
    if backward is not None:
        if hasattr(torch.library, "register_autograd"):
            torch.library.register_autograd("tilewright::" + name, backward, setup_context=setup, lib=LIBRARY)
        else:
            LIBRARY.impl(name, _with_gradient(function, setup, backward), "Autograd")
    if autocast:
        for device, key in _AUTOCAST:
            LIBRARY.impl(name, _with_cast(function, device), key)
    return function


def _node(kernel: Any, setup: Any, backward_of: Any) -> Any:
    class Differentiable(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            output = kernel(*inputs)
            setup(ctx, inputs, output)
            return output

        @staticmethod
        def backward(ctx, *gradients):
            return backward_of(ctx, *gradients)

    return Differentiable


def _with_gradient(function: Any, setup: Any, backward: Any) -> Callable[..., Any]:
    """The operator's kernel for the dispatch key Autograd, where torch.library has no register_autograd."""

    def below(*inputs):
        guard = torch._C._AutoDispatchBelowAutograd()
        try:
            return function(*inputs)
        finally:
            del guard

    return _node(below, setup, backward).apply


def _autocast_type(device: str) -> torch.dtype:
    if hasattr(torch, "get_autocast_dtype"):
        return torch.get_autocast_dtype(device)
    return torch.get_autocast_gpu_dtype() if device == "cuda" else torch.get_autocast_cpu_dtype()


def _with_cast(function: Any, device: str) -> Callable[..., Any]:
    """As autocast does with torch.matmul: tensors of the device become its type, but not those of float64."""

    def cast(x, dtype):
        wanted = isinstance(x, torch.Tensor) and x.is_floating_point() and x.dtype != torch.float64 and x.device.type == device
        return x.to(dtype) if wanted else x

    def kernel(*inputs):
        dtype = _autocast_type(device)
        with torch.autocast(device, enabled=False):
            return function(*[cast(x, dtype) for x in inputs])

    return kernel
