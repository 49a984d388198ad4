"""Weights that stay packed between calls on the CPU: those of modules that were told so. A weight that changes is packed again."""

from __future__ import annotations

import weakref
from typing import Any, Callable, Optional

import torch

from ._routes import ROUTES


class _Kept:
    __slots__ = ("weight", "version", "rooms")

    def __init__(self, weight: torch.Tensor):
        identity = id(weight)
        self.weight = weakref.ref(weight, lambda _: _all.pop(identity, None))
        self.version, self.rooms = None, {}


_all: "dict[int, _Kept]" = {}


def keep(weight: torch.Tensor) -> None:
    """From now on the weight is packed once for each kind of kernel."""
    if id(weight) not in _all:
        _all[id(weight)] = _Kept(weight)
        ROUTES.clear()


def drop(weight: torch.Tensor) -> None:
    _all.pop(id(weight), None)


def is_kept(weight: torch.Tensor) -> bool:
    return id(weight) in _all


def packed(weight: torch.Tensor, kind: Any, pack: "Callable[[], torch.Tensor]") -> "Optional[torch.Tensor]":
    """What `pack` made of the weight's present values for this kind of kernel; None for a weight that is not kept."""
    kept = _all.get(id(weight))
    if kept is None or weight.is_inference():  # such a tensor does not tell whether it changed
        return None
    version = weight._version, weight.data_ptr()
    if kept.version != version:
        kept.version, kept.rooms = version, {}
    room = kept.rooms.get(kind)
    if room is None:
        room = kept.rooms[kind] = pack()
    return room
