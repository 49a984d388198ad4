"""How each call that a program makes is computed: looked up once for its shapes, strides and types, then found in one dictionary."""

from __future__ import annotations

from collections import Counter
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


def start(plan: Any, *tensors: torch.Tensor) -> None:
    """Starts the kernel. Inputs come first; one that is not at a multiple of 16 bytes is copied, outputs are new and aligned."""
    held = [x if not x.data_ptr() & 15 else x.clone() for x in tensors]
    plan(*[x.data_ptr() for x in held])


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
