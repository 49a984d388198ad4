"""How each call that a program makes is computed: looked up once for its shapes, strides and types, then found in one dictionary."""

from __future__ import annotations

from collections import Counter
from typing import Any, Optional

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


def forget() -> None:
    """Drops every plan, and reads wisdom again at the next call: after another process has tuned. No kernel may be in flight."""
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
