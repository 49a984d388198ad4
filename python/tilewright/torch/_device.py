"""Kernels on NVIDIA GPUs: what wisdom has for a problem, planned in PyTorch's context and started on its current stream."""

from __future__ import annotations

import json
import os
import warnings
from pathlib import Path
from typing import Any, Optional

import torch

from .._library import Error, UsageError, check, ffi, lib, text_of
from .._search import _problem
from ._routes import ROUTES

TYPES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}

_launch, _cast = lib.tw_device_plan_launch, ffi.cast
_current_stream = getattr(torch._C, "_cuda_getCurrentRawStream", None)  #: None in a PyTorch without CUDA


_streams: "dict[int, Any]" = {}  #: pointers of streams, as the library takes them


class Plan:
    """A loaded kernel. It stays loaded until the process ends: launches may be in flight, and CUDA graphs refer to it."""

    __slots__ = ("_plan", "_calls", "n", "workspace", "device", "_index")

    def __init__(self, planned: Any, n: int, device: torch.device):
        self._plan, self._calls, self.n, self.device, self._index = planned, [], n, device, device.index or 0
        self.workspace = lib.tw_device_plan_workspace(planned)

    def __call__(self, *addresses: int) -> None:
        """Starts the kernel on the current stream; every address must be a multiple of 16."""
        try:
            call = self._calls.pop()  # another thread's call takes another one
        except IndexError:
            numbers = ffi.new("uintptr_t[]", self.n)
            call = numbers, _cast("void *const *", numbers), ffi.new("tw_error *")
        numbers, operands, error = call
        numbers[0 : self.n] = addresses
        number = _current_stream(self._index)
        stream = _streams.get(number)
        if stream is None:
            stream = _streams[number] = _cast("void *", number)
        place = ffi.NULL
        if self.workspace:
            # PyTorch gives the room to later work of this stream alone, so it may be returned before the kernel ends.
            room = torch.empty(self.workspace, dtype=torch.uint8, device=self.device)
            place = _cast("void *", room.data_ptr())
        if torch._C._cuda_getDevice() == self._index:
            status = _launch(self._plan, operands, place, stream, error)
            if status == lib.TW_NO_DEVICE:  # the first use of CUDA in this thread, as of autograd's: the context is not current yet
                torch.cuda.mem_get_info(self._index)
                status = _launch(self._plan, operands, place, stream, error)
        else:
            with torch.cuda.device(self._index):
                torch.cuda.mem_get_info(self._index)
                status = _launch(self._plan, operands, place, stream, error)
        if status:
            check(status, error)
        self._calls.append(call)


# ---- what is known ----

_wisdom: Any = None
_plans: "dict[tuple[str, torch.device], Plan]" = {}
#: Plans that `tune` measures, by the problem's text: they come before wisdom.
trials: "dict[str, Plan]" = {}
is_enabled = True  #: False while a model is timed without kernels
_warned: "set[str]" = set()


def wisdom() -> Any:
    """The tw_wisdom of this process, read once."""
    global _wisdom
    if _wisdom is None:
        found, error = ffi.new("tw_wisdom **"), ffi.new("tw_error *")
        check(lib.tw_wisdom_load(ffi.NULL, found, error), error)
        _wisdom = ffi.gc(found[0], lib.tw_wisdom_free)
    return _wisdom


def wisdom_of(problem: Any, schedule: Any, cost: float, utilization: float = 0) -> Any:
    """A tw_wisdom of one entry."""
    made, error = ffi.new("tw_wisdom **"), ffi.new("tw_error *")
    measured = ffi.new("tw_measurement *", {"cost": cost, "utilization": utilization})
    check(lib.tw_wisdom_add(made, target(), problem, schedule, ffi.NULL, measured, 0, error), error)
    return ffi.gc(made[0], lib.tw_wisdom_free)


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


def has_kernel(op: str, keys: "dict[str, Any]") -> bool:
    """Would `plan_for` find one?"""
    if ROUTES.recorded is not None:
        return True
    try:
        problem = _problem(target(), op, keys)
        text = text_of(_print(problem))
        return is_enabled and (text in trials or (is_known(problem) and text not in rejected()))
    except UsageError:
        return False


# ---- plans ----


def load(problem: Any, known: Any, n: int, device: torch.device) -> Plan:
    """Compiles and loads the kernel that the wisdom `known` has; any thread may do so."""
    out, error = ffi.new("tw_device_plan **"), ffi.new("tw_error *")
    with torch.cuda.device(device):
        torch.cuda.mem_get_info(device)  # makes the context current in this thread
        status = lib.tw_device_plan_create(problem, known, out, error)
    check(status, error)
    return Plan(out[0], n, device)


def plan_for(op: str, keys: "dict[str, Any]", n: int, device: torch.device) -> "Optional[Plan]":
    """The kernel for the problem, or None: PyTorch computes it."""
    if ROUTES.recorded is not None or not is_enabled:
        return None
    try:
        problem = _problem(target(), op, keys)
        text = text_of(_print(problem))
        if text in trials:
            return trials[text]
        if not is_known(problem) or text in rejected():
            return None
    except UsageError:
        return None
    if (text, device) in _plans:
        return _plans[text, device]
    if torch.cuda.is_current_stream_capturing():
        raise LookupError  # modules cannot be loaded while a graph is captured
    try:
        plan = load(problem, wisdom(), n, device)
    except Error as why:
        if str(why) not in _warned:
            _warned.add(str(why))
            warnings.warn(f"tilewright.torch: PyTorch computes {text}: {why}", RuntimeWarning, stacklevel=2)
        return None
    _plans[text, device] = plan
    return plan
