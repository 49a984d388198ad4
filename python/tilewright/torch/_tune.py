"""tune: finds the calls that a model makes, searches kernels for those that take most of PyTorch's time, and keeps what is faster."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, field
from typing import Any, Callable, Iterator, Optional, Sequence

import torch

from .._library import Error, FailedError, lib
from . import _attention, _cached, _contest, _conv, _device, _elementwise, _gate, _gemm, _mlp, _packed, _pool, _reduce, _rows
from ._modules import replaced
from ._routes import forget, recording

_DTYPES = {name: dtype for dtype, name in _device.TYPES.items()}
#: How many of the fastest schedules are verified before a search gives up.
VERIFIED = 4
#: A model that is slower by less than this, as a fraction, is not: its times differ as much.
NOISE = 0.01
#: Seconds of a search, and more of them for each second in which the device's memory moves the operands once: the host draws and compares
#: them. Five verifications on an H200 without their first check (docs/lab/2026-11-torch-h200-2.md) took from 0.7 to 1.2 times this.
SEARCH_SECONDS, SECONDS_TO_VERIFY = 1.6, 3.3e4


@dataclass
class Call:
    """A kernel's problem that the model has, and the seconds of one call."""

    op: str
    keys: "dict[str, Any]"
    count: int
    pytorch: float
    tilewright: Optional[float] = None  #: None: no kernel
    note: str = ""
    is_dropped: bool = False  #: the model is not faster with the kernel
    predicted: float = float("inf")  #: of a kernel, by the machine's model
    search: float = SEARCH_SECONDS  #: seconds that a search is expected to take
    searched: float = 0.0  #: seconds that the search took

    @property
    def saving(self) -> float:
        """Seconds of the model that a kernel may save."""
        return self.count * max(0.0, self.pytorch - self.predicted)

    @property
    def is_used(self) -> bool:
        return self.is_faster and not self.is_dropped

    @property
    def is_faster(self) -> bool:
        return self.tilewright is not None and self.tilewright < self.pytorch

    def __str__(self) -> str:
        keys = " ".join(f"{key}={value}" for key, value in self.keys.items())
        ours = "" if self.tilewright is None else f"{1e6 * self.tilewright:9.1f} {self.pytorch / self.tilewright:5.2f}x"
        note = "; ".join(filter(None, (self.note, f"{self.searched:.0f} s" if self.searched else "")))
        return f"{self.count:5d} {1e6 * self.pytorch:9.1f} {ours:17s} {self.op} {keys}" + (f"  ({note})" if note else "")


@dataclass
class TuneReport:
    before: float  #: seconds of the model as it was given
    after: float  #: seconds with this package's modules and the kernels that are faster than PyTorch's
    calls: "list[Call]" = field(repr=False)
    seconds: float  #: of the whole
    backward: bool  #: times include the backward pass

    @property
    def speedup(self) -> float:
        return self.before / self.after

    def __str__(self) -> str:
        lines = ["calls   PyTorch  tilewright us  gain  problem", *map(str, self.calls)] if self.calls else ["nothing to tune: the model makes no call on CUDA that has a kernel"]
        what = "forward and backward" if self.backward else "forward"
        lines.append(f"{what}: {1e3 * self.before:.3f} ms before, {1e3 * self.after:.3f} ms after: {self.speedup:.3f}x; {self.seconds:.0f} s")
        return "\n".join(lines)


# ---- one call, by PyTorch and by a kernel ----


def _matrix(rows: int, columns: int, transposed: bool, pitch: int, dtype: torch.dtype, device: Any) -> torch.Tensor:
    lines, width = (columns, rows) if transposed else (rows, columns)
    stored = torch.randn(lines, max(pitch, width), device=device).to(dtype)[:, :width]
    return stored.t() if transposed else stored


def pair(op: str, keys: "dict[str, Any]", device: Any = "cuda") -> "tuple[Callable[[], Any], Callable[[], Any]]":
    """The call by PyTorch and by this package, on random operands."""
    dtype = _DTYPES[keys["a"]]
    get = keys.get

    def new(*shape: int) -> torch.Tensor:
        return torch.randn(*shape, device=device).to(dtype)

    if op == "gemm" and get("packed"):
        x, group = new(keys["m"], keys["k"]), get("group", 0)
        planes = _packed.encoded(torch.randn(keys["n"], keys["k"]), keys["b"], group)
        bias, shuffle = new(keys["n"]) if get("bias") else None, get("shuffle", "none")
        planes = _packed.shuffled(*planes, keys["b"]) if shuffle == "mma" else planes
        every = (x, *(t.to(device) for t in planes), bias, keys["b"], group, shuffle)
        return (lambda: _packed.by_pytorch(*every)), (lambda: _packed.packed_linear(*every))
    if op == "gemm" and get("rotary"):
        s, angles = keys["positions"], torch.randn(keys["positions"], keys["head"] // 2, device=device)
        x, weight = new(keys["m"] // s, s, keys["k"]), new(keys["n"], keys["k"])
        how = angles.cos().to(dtype), angles.sin().to(dtype), keys["heads"], get("rotary") == "interleaved"
        return (lambda: _gemm.rotary_linear_by_pytorch(x, weight, *how)), (lambda: _gemm.rotary_linear(x, weight, *how))
    if op == "gemm" and get("glu_pass", "forward") != "forward":
        m, mlp, k = (keys[size] for size in "mnk")
        name = next(name for name, act in _gate.NAMES.items() if act == get("glu"))
        if get("glu_pass") == "sums":
            x, weight = new(m, k), new(2 * mlp, k)
            return (lambda: _mlp.sums_by_pytorch(x, weight, name)), (lambda: _mlp.gated_sums(x, weight, name))
        g, weight, kept = new(m, k), new(k, mlp), new(m, 3 * mlp)
        return (lambda: _mlp.gradient_by_pytorch(g, weight, kept, name)), (lambda: _mlp.gated_sums_backward(g, weight, kept, name))
    if op == "gemm" and (get("glu") or get("bias") == "full"):
        x, weight = _matrix(keys["m"], keys["k"], False, get("lda", 0), dtype, device), new((2 if get("glu") else 1) * keys["n"], keys["k"])
        if get("glu"):
            name = next(name for name, added in _gemm.ADDED.items() if added.get("glu") == get("glu"))
            theirs = lambda: _gate.by_pytorch(torch.nn.functional.linear(x, weight), name)  # noqa: E731
            return theirs, (lambda: _gemm.gated_linear(x, weight, name))
        residual = new(keys["m"], keys["n"])
        return (lambda: torch.nn.functional.linear(x, weight) + residual), (lambda: _gemm.linear_add(x, weight, residual))
    if op == "gemm":
        a = _matrix(keys["m"], keys["k"], bool(get("a_transposed")), get("lda", 0), dtype, device)
        b = _matrix(keys["k"], keys["n"], bool(get("b_transposed")), get("ldb", 0), dtype, device)
        if get("bias"):
            weight, bias = b.t(), new(keys["n"])
            return (lambda: torch.nn.functional.linear(a, weight, bias)), (lambda: _gemm.linear(a, weight, bias))
        return (lambda: torch.mm(a, b)), (lambda: _gemm.matmul(a, b))
    if op == "layernorm" and get("norm") in _rows.NORMS and not get("affine", 1):
        x, how = new(keys["rows"], keys["cols"], *([get("inner")] if get("inner") else [])), (keys["norm"], keys["eps"], 1)
        return (lambda: _rows.normalize_by_pytorch(x, *how)), (lambda: _rows.normalize(x, *how))
    if op == "layernorm" and (get("groups", 1) > 1 or get("span", 1) > 1 or not get("affine", 1)):
        groups, span = get("groups", 1), get("span", keys["cols"])
        x = new(keys["rows"] // groups, groups * (keys["cols"] // span), span)
        weight, bias = (new(x.shape[1]), new(x.shape[1])) if get("affine", 1) else (None, None)
        how = (groups, weight, bias, keys["eps"])
        return (lambda: _rows.group_norm_by_pytorch(x, *how)), (lambda: _rows.group_norm(x, *how))
    if op == "layernorm":
        x, weight, bias, eps = new(keys["rows"], keys["cols"]), new(keys["cols"]), new(keys["cols"]), keys["eps"]
        if get("quantize"):
            return (lambda: _rows.quantized_rms_norm_by_pytorch(x, weight, eps)), (lambda: _rows.quantized_rms_norm(x, weight, eps))
        if get("norm") == "rms":
            return (lambda: _rows.rms_norm_by_pytorch(x, weight, eps)), (lambda: _rows.rms_norm(x, weight, eps))
        theirs = lambda: torch.nn.functional.layer_norm(x, x.shape[-1:], weight, bias, eps)  # noqa: E731
        return theirs, (lambda: _rows.layer_norm(x, weight, bias, eps))
    if op.startswith("conv"):
        dims, window = ("dhw", "trs") if op == "conv3d" else ("hw", "rs")
        x = new(keys["n"], keys["c"], *(keys[size] for size in dims))
        weight = new(keys["k"], keys["c"], *(keys[size] for size in window))
        bias = new(keys["k"]) if get("bias") else None
        how = keys["stride"], [keys["pad"]] * len(dims)
        return (lambda: _conv.by_pytorch(x, weight, bias, *how)), (lambda: _conv.operation(x, weight, bias, *how))
    if op == "gate":
        both, g = new(keys["rows"], 2 * keys["cols"]), new(keys["rows"], keys["cols"])
        name = next(name for name, act in _gate.NAMES.items() if act == keys["act"])
        if get("pass") != "backward":
            return (lambda: _gate.by_pytorch(both, name)), (lambda: _gate.operation(both, name))
        return (lambda: _gate.gradient_by_pytorch(both, g, name)), (lambda: _gate.gate_backward(both, g, name))
    if op == "elementwise":
        x, by = new(keys["rows"], keys["cols"]), new(1) if keys["f"] == "divide" else None
        f = keys["f"], get("alpha", 1.0), get("beta", -1.0), by
        return (lambda: _elementwise.by_pytorch(x, *f)), (lambda: _elementwise.operation(x, *f))
    if op == "reduce":
        x, of = new(keys["outer"], keys["n"], keys["inner"]), get("of", "x")
        how = (x, new(*x.shape[1 if get("shared") else 0 :]) if of in _reduce.PAIRS else None, keys["f"], of, 1, 1)
        return (lambda: _reduce.by_pytorch(*how)), (lambda: _reduce.operation(*how))
    if op == "pool":
        dims = 3 if "d" in keys else 2 if "h" in keys else 1
        x = new(1, keys["n"], *(keys[size] for size in "dhw"[-dims:]))
        how = ([keys[size] for size in "trs"[-dims:]], keys["stride"], keys["pad"], keys["dilation"], keys["f"] == "mean")
        return (lambda: _pool.by_pytorch(x, *how)), (lambda: _pool.operation(x, *how))
    if op == "softmax":
        x = new(keys["rows"], keys["cols"])
        if get("log"):
            return (lambda: torch.log_softmax(x, -1)), (lambda: _rows.log_softmax(x))
        return (lambda: torch.softmax(x, -1)), (lambda: _rows.softmax(x))
    if op == "cumsum":
        x, how = new(keys["rows"], keys["cols"]), (bool(get("reverse")), bool(get("exclusive")), new(keys["rows"], keys["cols"]) > 0 if get("masked") else None)
        return (lambda: _rows.cumsum_by_pytorch(x, *how)), (lambda: _rows.cumsum(x, *how))
    if op == "rotary":
        b, s, h, d = (keys[size] for size in "bshd")
        x, cos, sin = new(b, s, get("ldx") or h * d)[..., : h * d].unflatten(-1, (h, d)), new(keys["s"], keys["d"] // 2), new(keys["s"], keys["d"] // 2)
        every = (x, cos, sin, bool(get("interleaved")))
        return (lambda: _attention.rotary_by_pytorch(*every)), (lambda: _attention.rotary(*every))
    if get("tokens"):
        b, tokens, longest = keys["b"], keys["tokens"], keys["sq"]
        q, k, v = (new(tokens, keys[h], keys["d"]) for h in ("hq", "hkv", "hkv"))
        lengths = [min(longest, tokens - i * longest) if tokens > i * longest else 0 for i in range(b)]  # changed in pairs below
        for i in range(0, b - 1, 2):
            moved = (lengths[i] - lengths[i + 1]) // 3
            lengths[i], lengths[i + 1] = lengths[i] - moved, lengths[i + 1] + moved
        starts = torch.tensor([0, *lengths]).cumsum(0).to(torch.int32).to(device)
        every = (q, k, v, starts, longest, bool(get("causal")), get("scale", keys["d"] ** -0.5), get("window", 0), float(get("softcap", 0.0)))
        return (lambda: _cached.varlen_by_pytorch(*every)), (lambda: _cached.varlen_operator(*every))
    rows = ((keys[s], keys[h] * keys["d"]) for s, h in (("sq", "hq"), ("sk", "hkv"), ("sk", "hkv")))
    q, k, v = (new(keys["b"], s, get("pitch") or width)[..., :width].unflatten(-1, (-1, keys["d"])) for s, width in rows)
    aligned_at_the_end = get("causal") and keys["sq"] != keys["sk"] and get("pass") != "backward"
    if aligned_at_the_end or any(get(key) for key in ("window", "softcap", "lengths", "page")):
        b, sk, page, lengths, pages = keys["b"], keys["sk"], get("page", 0), None, None
        if get("lengths"):
            lengths = torch.randint(max(keys["sq"], sk // 2), sk + 1, (b,), dtype=torch.int32, device=device)
        if page:
            n = -(-sk // page)
            pages = torch.randperm(b * n, device=device).to(torch.int32).view(b, n)
            k, v = (new(b * n, page, keys["hkv"], keys["d"]) for _ in range(2))
        scale = get("scale", keys["d"] ** -0.5)
        every = (q, k, v, lengths, pages, bool(get("causal")), scale, get("window", 0), float(get("softcap", 0.0)))
        return (lambda: _cached.by_pytorch(*every)), (lambda: _cached.cached_attention(*every))
    how = bool(get("causal")), get("scale", keys["d"] ** -0.5)
    if get("pass") != "backward":
        return (lambda: _attention.by_pytorch(q, k, v, *how)), (lambda: _attention.attention(q, k, v, *how))
    out, lse = _attention.attention(q, k, v, *how)
    g, leaves = torch.randn_like(q), [t.clone().requires_grad_() for t in (q, k, v)]
    theirs_out = _attention.by_pytorch(*leaves, *how)
    theirs = lambda: torch.autograd.grad(theirs_out, leaves, g, retain_graph=True)  # noqa: E731
    return theirs, (lambda: _attention.attention_backward(q, k, v, out, lse, g, *how))


# ---- time ----


def _cuda_seconds(call: Callable[[], Any], repeats: int) -> float:
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    best = float("inf")
    for _ in range(5):
        torch.cuda.synchronize()
        begin.record()
        for _ in range(repeats):
            call()
        end.record()
        torch.cuda.synchronize()
        best = min(best, begin.elapsed_time(end) * 1e-3 / repeats)
    return best


def seconds_of(call: Callable[[], Any], device: Any = "cuda", graph: bool = True) -> float:
    """Of one call: the best of five. On CUDA calls are captured in a graph where that is possible, so that starting them costs nothing."""
    if torch.device(device).type != "cuda":
        best = float("inf")
        for _ in range(5):
            begin = time.perf_counter()
            call()
            best = min(best, time.perf_counter() - begin)
        return best
    for _ in range(3):
        call()
    once = _cuda_seconds(call, 1)
    repeats = max(1, min(50, int(2e-3 / max(once, 1e-6))))
    if not graph:
        return _cuda_seconds(call, repeats)
    captured = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(captured):
            for _ in range(repeats):
                call()
    except RuntimeError:
        torch.cuda.synchronize()
        return _cuda_seconds(call, repeats)
    return _cuda_seconds(captured.replay, 1) / repeats


# ---- the whole ----


def _run(model: Any, inputs: Any, backward: bool) -> Any:
    args, more = ((), inputs) if isinstance(inputs, dict) else ((inputs,) if isinstance(inputs, torch.Tensor) else tuple(inputs), {})
    if not backward:
        with torch.no_grad():
            return model(*args, **more)
    out = model(*args, **more)
    found = out if isinstance(out, torch.Tensor) else next(
        x for x in (out.values() if isinstance(out, dict) else out) if isinstance(x, torch.Tensor) and x.requires_grad
    )
    gradients = [p for p in model.parameters() if p.requires_grad]
    return torch.autograd.grad(found.float().sum(), gradients, allow_unused=True)


def _groups(calls: Sequence[Call]) -> "list[list[Call]]":
    """The passes of each problem, the forward pass first: with gradients, the kernel of one is used with that of the other alone. Problems
    that may save most in each second of their search come first, and of those that may save nothing the longest."""
    found: "dict[Any, list[Call]]" = {}
    for call in sorted(calls, key=_is_backward):
        found.setdefault((call.op, *sorted(_forward_keys(call).items())), []).append(call)
    return sorted(found.values(), key=lambda group: (-_saving(group) / _search_seconds(group), -sum(call.count * call.pytorch for call in group)))


def _saving(group: Sequence[Call]) -> float:
    return sum(call.saving for call in group)


def _search_seconds(group: Sequence[Call]) -> float:
    return sum(call.search for call in group)


def _share(waiting: "Sequence[Sequence[Call]]", call: Call, left: float) -> "tuple[float, float]":
    """Of the seconds that are left, those for a call of the first group that waits; and the seconds of a kernel that is good enough: where time
    is short, a search ends with half of its saving when the next problem may save more than is left to save here."""
    total = sum(map(_saving, waiting))
    share = left * call.saving / total if total else left / len(waiting)
    following = _saving(waiting[1]) if len(waiting) > 1 else 0.0
    is_short = left < sum(map(_search_seconds, waiting))
    enough = min(call.predicted + following / call.count, (call.predicted + call.pytorch) / 2)
    return share, enough if is_short and following else 0.0


def _fits_a_graph(op: str, keys: "dict[str, Any]") -> bool:
    """PyTorch's backward pass of attention runs on the stream of its forward pass, which is not the one that is captured."""
    return op != "attention" or keys.get("pass") != "backward"


def _is_backward(call: Call) -> bool:
    return "backward" in (call.keys.get("pass"), call.keys.get("glu_pass"))


def _forward_keys(call: Call) -> "dict[str, Any]":
    """Of the forward pass of the problem."""
    if call.keys.get("glu_pass") == "backward":
        return _mlp.forward_keys(call.keys)
    return {key: value for key, value in call.keys.items() if key != "pass"}


def _operands(op: str, keys: "dict[str, Any]") -> int:
    return lib.tw_problem_operands(_device._problem(_device.target(), op, keys))


def _in_turn(call: Call) -> "tuple[float, float]":
    """Seconds of PyTorch's call and of ours."""
    theirs, ours = pair(call.op, call.keys)
    if not _fits_a_graph(call.op, call.keys):
        with _contest.reserved():
            return seconds_of(theirs, graph=False), seconds_of(ours, graph=False)
    first, second = _contest.seconds_in_turn([theirs, ours])
    return first, second


def _is_known(call: Call) -> bool:
    return _device.is_known(_device._problem(_device.target(), call.op, call.keys))


def _has_forward(call: Call) -> bool:
    """A kernel of the backward pass is used with that of the forward pass alone, whose results attention's reads."""
    return _device.has_kernel(call.op, _forward_keys(call))


def compare(call: Call) -> None:
    """Measures the kernel that wisdom has beside PyTorch's, and remembers which is faster."""
    text = _device.problem_text(call.op, call.keys)
    _device.reject(text, False)
    forget()
    if not _is_known(call):
        return
    call.pytorch, call.tilewright = _in_turn(call)
    _device.reject(text, not call.is_faster)
    forget()
    if not call.is_faster:
        call.note = "PyTorch is faster and stays"


def _search(call: Call, seconds: float, pool: Any, enough: float = 0.0) -> "list[_contest.Entry]":
    """Looks for kernels; `enough`: as of `contest`. `_verified` decides which one is kept."""
    entries = _contest.contest(call.op, call.keys, _operands(call.op, call.keys), pair(call.op, call.keys)[1], seconds, pool, enough)
    call.note = "" if entries else "no kernel"
    return entries[:VERIFIED]


def _verified(call: Call, entries: "list[_contest.Entry]", verifier: Any) -> "Iterator[Any]":
    """Keeps the first kernel that is faster than PyTorch's and right. Yields while a verification is in flight: it takes most of the time of a
    search, and needs the device for a part of this time."""
    end = None
    for entry in entries:
        text = _device.problem_text(call.op, call.keys)
        _device.trials[text] = entry.plan
        try:
            forget()
            call.pytorch, call.tilewright = _in_turn(call)
        finally:
            del _device.trials[text]
            forget()
        call.note = "; ".join(entry.schedule)
        if not call.is_faster:
            call.note += ": PyTorch is faster and stays"
            return
        torch.cuda.synchronize()
        torch.cuda.empty_cache()  # the kernel is verified in a process of its own
        end = end or time.monotonic() + _contest.VERIFY_SECONDS  # of all kernels of the problem
        running = verifier.submit(_contest.keep, call.op, call.keys, entry.schedule, max(0.1, end - time.monotonic()))  # 0 would be no limit
        yield running
        try:
            running.result()
        except FailedError as error:  # the next one may be right; LateError is the caller's
            call.tilewright, call.note = None, str(error).split("\n")[0]
            if time.monotonic() >= end:
                return
            continue
        _device.reject(text, False)
        forget()
        return


class _Searches:
    """Searches problems one after another. While a kernel is verified, the next problem's kernels are compiled and timed."""

    def __init__(self, progress: Optional[Callable[[Call], Any]]):
        self.pool, self.verifier, self.progress = _contest.threads(), _contest.threads(1), progress
        self.waiting: "Optional[tuple[Call, float, Iterator[Any]]]" = None

    def finish(self) -> None:
        """Ends the verification that is in flight."""
        if not self.waiting:
            return
        (call, begin, steps), self.waiting = self.waiting, None
        with self.noting_failure(call):
            for _ in steps:
                pass
        call.searched = time.monotonic() - begin
        self.tell(call)

    def search(self, call: Call, seconds: float, enough: float) -> None:
        begin = time.monotonic()
        entries = []
        with self.noting_failure(call):
            entries = _search(call, seconds, self.pool, enough)
        self.finish()
        steps = _verified(call, entries, self.verifier)
        with self.noting_failure(call):
            if next(steps, None):
                self.waiting = call, begin, steps
                return
        call.searched = time.monotonic() - begin
        self.tell(call)

    @contextlib.contextmanager
    def noting_failure(self, call: Call) -> "Iterator[None]":
        """A call that fails has no kernel, and the next call is searched."""
        try:
            yield
        except (Error, torch.cuda.OutOfMemoryError) as error:
            call.tilewright, call.note = None, str(error).split("\n")[0]

    def tell(self, call: Call) -> None:
        if self.progress:
            self.progress(call)

    def close(self) -> None:
        """Ends the threads. A verification in flight runs to its end."""
        self.pool.shutdown()
        self.verifier.shutdown()


def _search_all(calls: "list[Call]", deadline: float, progress: Optional[Callable[[Call], Any]]) -> None:
    """Searches kernels for the calls without one, problem by problem; none begins after the deadline."""
    known = {id(call) for call in calls if _is_known(call)}
    groups = _groups([call for call in calls if id(call) in known]) + _groups([call for call in calls if id(call) not in known])
    with contextlib.closing(_Searches(progress)) as searches:
        for i, group in enumerate(groups):
            is_late = time.monotonic() >= deadline
            for call in group:
                if _is_backward(call):
                    searches.finish()
                if id(call) not in known and not is_late and (not _is_backward(call) or _has_forward(call)):
                    searches.search(call, *_share(groups[i:], call, deadline - time.monotonic()))
                    continue
                with searches.noting_failure(call):
                    if _is_backward(call) and not _has_forward(call):
                        call.note = "not searched" if is_late else "the forward pass has no kernel"
                    elif id(call) in known:
                        compare(call)
                    else:
                        call.note = "not searched"
                searches.tell(call)
        searches.finish()


def _is_on_cuda(model: Any, inputs: Any) -> bool:
    """A model without parameters is where its inputs are."""
    given = inputs.values() if isinstance(inputs, dict) else (inputs,) if isinstance(inputs, torch.Tensor) else inputs
    return any(getattr(x, "is_cuda", False) for x in (*model.parameters(), *given))


def _model_seconds(model: Any, inputs: Any, backward: bool, start: Any) -> "tuple[float, float]":
    """Of `start`, all of it by PyTorch, and of the model with this package's modules and kernels, in turn."""
    device = "cuda" if _is_on_cuda(model, inputs) else "cpu"
    before, after = [], []
    for _ in range(3):
        _device.is_enabled = False
        forget()
        try:
            before.append(seconds_of(lambda: _run(start, inputs, backward), device, graph=False))
        finally:
            _device.is_enabled = True
            forget()
        with replaced(model):
            after.append(seconds_of(lambda: _run(model, inputs, backward), device, graph=False))
    return sorted(before)[1], sorted(after)[1]


def _drop_what_loses(model: Any, inputs: Any, backward: bool, calls: "list[Call]", start: Any) -> "tuple[float, float]":
    """The model may be slower than at the start though each kernel is faster, where starting kernels takes longer than they run. Then the kernels
    that gain least are dropped, half of them at a time, until the model is not slower. Returns its times."""
    won = sorted((c for c in calls if c.is_faster), key=lambda c: c.count * (c.pytorch - c.tilewright))
    before, after = _model_seconds(model, inputs, backward, start)
    while after > (1 + NOISE) * before and won:
        dropped, won = won[: (len(won) + 1) // 2], won[(len(won) + 1) // 2 :]
        for call in dropped:
            _device.reject(_device.problem_text(call.op, call.keys), True)
            call.note += ": dropped, the model is not faster with it"
            call.is_dropped = True
        forget()
        before, after = _model_seconds(model, inputs, backward, start)
    return before, after


def tune(
    model: Any,
    example_inputs: Any,
    *,
    seconds: float = 60.0,
    backward: Optional[bool] = None,
    progress: Optional[Callable[[Call], Any]] = None,
    start: Any = None,
) -> TuneReport:
    """Searches kernels for the calls that the model makes on CUDA, and compares model and model with `replace`. No problem begins after `seconds`.
    If no kernel of a problem is verified within a minute, PyTorch computes the problem.

    `example_inputs`: a tensor, a tuple of arguments, or a dict of keyword arguments. `backward`: the backward pass too [default: while
    model.training]. What is faster than PyTorch goes into wisdom; the model itself stays as it is: `replace` it to use the kernels. `start`: the
    model that must not be faster, which computes the same [default: `model` by PyTorch].
    """
    begin = time.monotonic()
    backward = bool(model.training) if backward is None else backward
    with replaced(model), recording() as counted:
        _run(model, example_inputs, backward)
    calls = []
    for (op, keys, device), count in counted.items():
        try:
            _device.problem_text(op, dict(keys))
        except Error:
            continue  # the machine does not support it
        theirs = pair(op, dict(keys))[0]
        measured = seconds_of(theirs, graph=_fits_a_graph(op, dict(keys)))
        expected = SEARCH_SECONDS + SECONDS_TO_VERIFY * _contest.memory_seconds(op, dict(keys))
        calls.append(Call(op, dict(keys), count, measured, predicted=_contest.predicted(op, dict(keys)), search=expected))
    calls.sort(key=lambda call: -call.count * call.pytorch)
    _search_all(calls, begin + seconds, progress)
    forget()
    before, after = _drop_what_loses(model, example_inputs, backward, calls, model if start is None else start)
    return TuneReport(before, after, calls, time.monotonic() - begin, backward)
