"""How each call that a program makes is computed: looked up once for its shapes, strides and types, then found in one dictionary."""

from __future__ import annotations

from collections import Counter
from functools import lru_cache
from typing import Any, Callable, Optional

import torch


class Routes(dict):
    """From the key of a call to its route. While calls are recorded nothing is kept, so that every call is counted."""

    recorded: "Optional[Counter[tuple[str, tuple[tuple[str, Any], ...], str]]]" = None
    capacity = 4096

    def __setitem__(self, key: Any, route: Any) -> None:
        if self.recorded is not None:
            return
        if len(self) >= self.capacity:  # shapes without an end, as of generated text: begin again
            self.clear()
        super().__setitem__(key, route)

    def record(self, op: str, keys: "dict[str, Any]", device: torch.device) -> None:
        """Counts a call for `tune`: the op and keys of a kernel that could compute it."""
        if self.recorded is not None:
            self.recorded[(op, tuple(keys.items()), device.type)] += 1


ROUTES = Routes()


def planned(key: Any, op: str, n: int, x: torch.Tensor, keys: "Callable[[], dict[str, Any]]") -> Any:
    """The kernel for a call with that key, of `n` operands; False: PyTorch computes it. `keys` makes the op's keys."""
    route = ROUTES.get(key)
    if route is None:
        from . import _device

        route = False
        if x.device.type == "cuda" and x.dtype in _device.TYPES and x.numel():
            made = {**keys(), "a": _device.TYPES[x.dtype]}
            ROUTES.record(op, made, x.device)
            try:
                route = _device.plan_for(op, made, n, x.device) or False
            except LookupError:  # a graph is being captured; a later call plans the kernel
                return False
        ROUTES[key] = route
    return route


def is_plain(*tensors: torch.Tensor) -> bool:
    """Are these tensors with memory, and not those that torch.compile, export or functorch trace with?"""
    return all(type(x) in (torch.Tensor, torch.nn.Parameter) and x.device.type in ("cpu", "cuda") for x in tensors)


def _first_of(module: Any, *names: str) -> "Callable[[], Any]":
    """The first function of the module that this PyTorch has; else one that returns None."""
    return next((getattr(module, name) for name in names if hasattr(module, name)), lambda: None)


_C = torch._C
_dispatch_modes = _first_of(_C, "_len_torch_dispatch_stack", "_get_torch_dispatch_mode")
_function_modes = _first_of(_C, "_len_torch_function_stack", "_get_torch_function_mode")
_transforms = _first_of(getattr(_C, "_functorch", None), "peek_interpreter_stack")
_is_tracing = _first_of(_C, "_is_tracing")
if hasattr(_C, "_is_any_autocast_enabled"):
    _autocast = _C._is_any_autocast_enabled
else:
    _autocast = lambda: torch.is_autocast_enabled() or torch.is_autocast_cpu_enabled()  # noqa: E731
_KINDS = frozenset((torch.Tensor, torch.nn.Parameter))


def is_compiling() -> bool:
    """Is torch.compile tracing this code?"""
    return hasattr(torch, "compiler") and hasattr(torch.compiler, "is_compiling") and torch.compiler.is_compiling()


def is_traced(x: torch.Tensor) -> bool:
    """Is the call being traced on CUDA, outside of autocast? Then PyTorch's compiler fuses more where no kernel is known."""
    return x.device.type == "cuda" and (is_compiling() or type(x) not in _KINDS) and not _autocast()


_may_split = False


def allow_split_float32(allowed: bool = True) -> None:
    """Lets float32 products on CUDA be sums of products of bf16 parts, of which errors are larger than those of PyTorch's default. Without it
    they are where torch.set_float32_matmul_precision is "high" or "medium", which permit as much."""
    global _may_split
    _may_split = bool(allowed)


def may_split() -> bool:
    return _may_split or torch.get_float32_matmul_precision() != "highest"


_tf32_convolutions: "Optional[bool]" = None


def allow_tf32_convolutions(allowed: "Optional[bool]" = None) -> None:
    """Lets float32 convolutions on CUDA round their operands to tf32. None, the default: where PyTorch's own do
    (torch.backends.cudnn.allow_tf32, which PyTorch begins with)."""
    global _tf32_convolutions
    _tf32_convolutions = allowed


def has_tf32_convolutions() -> bool:
    if _tf32_convolutions is not None:
        return _tf32_convolutions
    newer = getattr(torch.backends.cudnn, "conv", None)  # of PyTorch 2.9, which may refuse to read the older name
    return newer.fp32_precision == "tf32" if hasattr(newer, "fp32_precision") else torch.backends.cudnn.allow_tf32


def is_direct(*tensors: "Optional[torch.Tensor]") -> bool:
    """Would the dispatcher do nothing but call the kernel, or autograd's node around it? Then a call need not pass it, which takes
    longer than all that this package does. Modes, transforms, autocast, tracing and subclasses of tensors need the operator."""
    if is_compiling():
        return False
    for x in tensors:
        if x is not None and type(x) not in _KINDS:
            return False
    return not (_dispatch_modes() or _function_modes() or _autocast() or _transforms() or _is_tracing())


def start(plan: Any, *tensors: torch.Tensor) -> None:
    """Starts the kernel. Inputs come first; one that is not at a multiple of 16 bytes is copied, outputs are new and aligned."""
    held = [x if not x.data_ptr() & 15 else x.clone() for x in tensors]
    plan(*[x.data_ptr() for x in held])


#: Elements that one launch computes. Longer tensors are computed in equal parts by one kernel, whose check would take minutes otherwise.
LONGEST = 1 << 26
#: Launches of one call at most.
MOST_LAUNCHES = 1 << 10


@lru_cache(maxsize=None)
def parts_of(units: int, numel: int, longest: int = LONGEST, most: int = MOST_LAUNCHES) -> int:
    """Into how many equal parts of whole units a tensor of that many elements is divided: the fewest with at most `longest` elements, or parts
    of one longer unit. One part where all such divisors of the units are above `most`."""
    least = min(-(-numel // longest), units)
    return next((p for p in range(least, min(units, most) + 1) if units % p == 0), 1)


def start_parts(plan: Any, parts: int, inputs: "list[torch.Tensor]", out: torch.Tensor, *shared: torch.Tensor) -> None:
    """Starts the kernel for each of equal parts of the inputs and of the output. `shared`: inputs that all parts have, after the others."""
    for *given, to in zip(*(t.view(parts, -1) for t in (*inputs, out))):
        if to.data_ptr() & 15:  # a part need not begin at a multiple of 16 bytes, and the copy that `start` makes would be lost
            room = torch.empty_like(to)
            start(plan, *given, *shared, room)
            to.copy_(room)
        else:
            start(plan, *given, *shared, to)


def forget() -> None:
    """Drops every plan, and reads wisdom again at the next call: after another process has tuned."""
    from . import _device

    ROUTES.clear()
    _device.forget()


class recording:
    """A context in which calls are counted; `as` gives the counter."""

    def __enter__(self):
        ROUTES.clear()
        ROUTES.recorded = Counter()
        return ROUTES.recorded

    def __exit__(self, *_):
        ROUTES.recorded = None
