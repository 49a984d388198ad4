"""Kernels on NVIDIA GPUs: what wisdom has for a problem, planned in PyTorch's context and started on its current stream."""

from __future__ import annotations

import json
import os
import time
import warnings
from pathlib import Path
from typing import Any, Optional

import torch

from .._library import Error, UsageError, check, ffi, lib, text_of
from .._search import _problem, _schedule
from ._routes import ROUTES

TYPES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}

_launch, _cast = lib.tw_device_launch, ffi.cast
_current_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)  #: None in a PyTorch without CUDA


class Plan:
    """A loaded kernel. It stays loaded until the process ends: launches may be in flight, and CUDA graphs refer to it."""

    __slots__ = ("_plan", "_calls", "n", "workspace", "device")

    def __init__(self, planned: Any, n: int, device: torch.device):
        self._plan, self._calls, self.n, self.device = planned, [], n, device
        self.workspace = lib.tw_device_workspace(planned)

    def __call__(self, *addresses: int) -> None:
        """Starts the kernel on the current stream; every address must be a multiple of 16."""
        index = self.device.index
        try:
            operands, error = self._calls.pop()  # another thread's call takes another one
        except IndexError:
            operands, error = ffi.new("void *[]", self.n), ffi.new("tw_error *")
        for i, address in enumerate(addresses):
            operands[i] = _cast("void *", address)
        # PyTorch gives the room to later work of this stream alone, so it may be returned before the kernel ends.
        room = torch.empty(self.workspace, dtype=torch.uint8, device=self.device) if self.workspace else None
        place, stream = _cast("void *", room.data_ptr() if self.workspace else 0), _cast("void *", _current_stream(index))
        if torch._C._cuda_getDevice() == index:
            status = _launch(self._plan, operands, place, stream, error)
            if status == lib.TW_MISSING:  # the first use of CUDA in this thread, as of autograd's: the context is not current yet
                torch.cuda.mem_get_info(index)
                status = _launch(self._plan, operands, place, stream, error)
        else:
            with torch.cuda.device(index):
                torch.cuda.mem_get_info(index)
                status = _launch(self._plan, operands, place, stream, error)
        if status:
            check(status, error)
        self._calls.append((operands, error))


# ---- what is known ----

_wisdom: Any = None
_plans: "dict[tuple[str, torch.device], Plan]" = {}
_warned: "set[str]" = set()


def wisdom() -> Any:
    """The tw_wisdom of this process, read once."""
    global _wisdom
    if _wisdom is None:
        found, error = ffi.new("tw_wisdom *"), ffi.new("tw_error *")
        check(lib.tw_wisdom_load(ffi.NULL, found, error), error)
        _wisdom = ffi.gc(found, lib.tw_wisdom_free)
    return _wisdom


def forget() -> None:
    global _wisdom, _rejected
    _wisdom = _rejected = None
    _plans.clear()


def target(name: str = "cuda") -> Any:
    return lib.tw_target_find(name.encode())


def problem_text(op: str, keys: "dict[str, Any]", machine: str = "cuda") -> str:
    """The problem as wisdom writes it. UsageError where the machine does not support it."""
    return text_of(_print(_problem(target(machine), op, keys)))


def _print(problem: Any) -> Any:
    text = ffi.new("char[]", 512)
    lib.tw_problem_print(problem, text, 512)
    return text


def is_known(problem: Any) -> bool:
    """Has wisdom a kernel for this very problem? One for a similar shape does not count: PyTorch's may be faster."""
    known, exact = wisdom(), ffi.new("bool *")
    if lib.tw_wisdom_find_source(known, b"cuda", problem):
        return True
    return bool(lib.tw_wisdom_find(known, b"cuda", problem, exact)) and bool(exact[0])


# ---- kernels that lose against PyTorch's ----

_rejected: "Optional[set[str]]" = None


def rejected_path() -> Path:
    """The list of problems that PyTorch computes faster than the kernel in wisdom, next to wisdom."""
    own = os.environ.get("TILEWRIGHT_WISDOM")
    if own:
        return Path(own + ".torch.json")
    data = os.environ.get("XDG_DATA_HOME", "")
    return (Path(data) if data.startswith("/") else Path.home() / ".local" / "share") / "tilewright" / "torch.json"


def rejected() -> "set[str]":
    global _rejected
    if _rejected is None:
        try:
            _rejected = set(json.loads(rejected_path().read_text())["slower"])
        except FileNotFoundError:
            _rejected = set()
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{rejected_path()}: expected the list that tune writes (found {error}); remove the file") from error
    return _rejected


def reject(text: str, slower: bool) -> None:
    """Remembers whether PyTorch is faster for the problem."""
    known = set(rejected())
    (known.add if slower else known.discard)(text)
    path = rejected_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f"{path.name}.{os.getpid()}")
    part.write_text(json.dumps({"format": "tilewright torch", "slower": sorted(known)}, indent=1))
    part.replace(path)
    rejected().clear()
    rejected().update(known)


def keep(op: str, keys: "dict[str, Any]", found: Any) -> bool:
    """Puts what a search found into wisdom. False for the baseline, which has no recipe."""
    if found.schedule is not None and not found.schedule:
        return False
    entry, error = ffi.new("tw_wisdom_entry *"), ffi.new("tw_error *")
    entry.target, entry.unit, entry.problem = b"cuda", b"seconds", problem_text(op, keys).encode()
    entry.cost, entry.utilization, entry.found = found.best.cost, found.best.utilization, int(time.time())
    if found.schedule is None:
        source = ffi.new("char[]", found.source.encode())
        entry.source = source
    else:
        entry.schedule = _schedule(found.schedule)[0]
    check(lib.tw_wisdom_keep(ffi.NULL, entry, error), error)
    return True


# ---- plans ----


def plan_for(op: str, keys: "dict[str, Any]", n: int, device: torch.device) -> "Optional[Plan]":
    """The kernel for the problem, or None: PyTorch computes it."""
    if ROUTES.recorded is not None:
        return None
    try:
        problem = _problem(target(), op, keys)
        text = text_of(_print(problem))
        if not is_known(problem) or text in rejected():
            return None
    except UsageError:
        return None
    if (text, device) in _plans:
        return _plans[text, device]
    if torch.cuda.is_current_stream_capturing():
        raise LookupError  # modules cannot be loaded while a graph is captured
    out, error = ffi.new("tw_device_planned **"), ffi.new("tw_error *")
    with torch.cuda.device(device):
        torch.cuda.mem_get_info(device)  # makes the context current in this thread
        status = lib.tw_device_plan(problem, wisdom(), out, error)
    try:
        check(status, error)
    except Error as why:
        if str(why) not in _warned:
            _warned.add(str(why))
            warnings.warn(f"tilewright.torch: PyTorch computes {text}: {why}", RuntimeWarning, stacklevel=2)
        return None
    plan = _plans[text, device] = Plan(out[0], n, device)
    return plan
