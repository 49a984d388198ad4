"""Kernels for one problem, measured in this process beside PyTorch: the machine's menu proposes schedules, all cores compile them, and CUDA
graphs time them in turn. The winner is verified by `run`, in a process of its own, before anybody uses it."""

from __future__ import annotations

import contextlib
import os
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Callable, Iterator, Sequence

import torch

from .._library import Error, check, ffi, lib, text_of
from .._search import _problem, _schedule, emit, run
from . import _device
from ._routes import ROUTES

#: Schedules of the first step that are compiled; how many of the best are continued; further steps of each.
FIRST, CONTINUED, NEXT = 20, 3, 8
#: The number of first schedules that are also continued where the model expects no gain; timing rounds; rounds before a deadline counts.
FOLLOWED, ROUNDS, ROUNDS_LEAST = 3, 4, 2
#: A step is offered if its predicted cost is at most this multiple of the best one.
HOPELESS = 1.6
#: Seconds in which the kernels of a problem are verified. Attention of 8 x 512 tokens takes 6 on an H200 with 16 cores.
VERIFY_SECONDS = 60.0
#: Seconds in which the first launch of a kernel must end.
LAUNCH_SECONDS = 10.0
#: Seconds of work in one graph.
BURST = 4e-3
#: Cycles that the device sleeps before a graph is timed. Other threads may delay the host, which starts the graph in this time.
AHEAD = 1_000_000


@dataclass
class Entry:
    schedule: "tuple[str, ...]"
    seconds: float
    plan: Any


def menu(problem: Any, steps: "tuple[str, ...]") -> "list[tuple[float, str, str]]":
    """Cost by the model, lever and text of the steps that may follow."""
    found, error = ffi.new("tw_menu *"), ffi.new("tw_error *")
    check(lib.tw_target_steps(_device.target(), problem, _schedule(steps), found, error), error)
    try:
        items = [found.item[i] for i in range(found.n)]
        return [(item.predicted_cost, text_of(item.lever), text_of(item.step)) for item in items]
    finally:
        lib.tw_menu_free(found)


def _verb(step: str) -> str:
    return step.split()[0]


def _first(problem: Any) -> "list[tuple[str, ...]]":
    """As many of each verb, which are kernels of different kinds."""
    offers = menu(problem, ())
    best = min((cost for cost, _, _ in offers), default=0)
    steps = [step for cost, _, step in offers if cost <= 2 * HOPELESS * best]
    verbs = {_verb(step) for step in steps}
    return [(step,) for verb in sorted(verbs) for step in [s for s in steps if _verb(s) == verb][: -(-FIRST // len(verbs))]]


def _next(problem: Any, steps: "tuple[str, ...]") -> "list[tuple[str, ...]]":
    """Further steps, no more than two of each lever; one of the first step's verb would begin anew."""
    levers: "dict[str, int]" = {}
    found = []
    offers = menu(problem, steps)
    best = min((cost for cost, _, _ in offers), default=0)
    for cost, lever, step in offers:
        if _verb(step) != _verb(steps[0]) and levers.get(lever, 0) < 2 and cost <= HOPELESS * best:
            levers[lever] = levers.get(lever, 0) + 1
            found.append((*steps, step))
    return found[:NEXT]


def _followed(problem: Any, steps: "tuple[str, ...]") -> "tuple[float, tuple[str, ...]]":
    """The steps that the model prefers, one after another, while each gains a percent, and their cost."""
    cost = min((c for c, _, step in menu(problem, ()) if step == steps[0]), default=0)
    while len(steps) < 6:
        offers = [(c, step) for c, _, step in menu(problem, steps) if _verb(step) != _verb(steps[0]) and c < 0.99 * cost]
        if not offers:
            break
        cost, step = min(offers)
        steps = (*steps, step)
    return cost, steps


def predicted(op: str, keys: "dict[str, Any]") -> float:
    """Seconds of the kernel that the model prefers; infinite without a kernel. Most measured kernels are slower, by a factor that differs less between
    problems than PyTorch's."""
    problem = _problem(_device.target(), op, keys)
    offers = [(cost, step) for cost, _, step in menu(problem, ())]
    return _followed(problem, (min(offers)[1],))[0] if offers else float("inf")


def memory_seconds(op: str, keys: "dict[str, Any]") -> float:
    """Seconds in which the device's memory moves each operand once."""
    bound, error = ffi.new("tw_bound *"), ffi.new("tw_error *")
    check(lib.tw_target_bound(_device.target(), _problem(_device.target(), op, keys), bound, error), error)
    return bound.memory_cost


def _loaded(op: str, keys: "dict[str, Any]", n: int, steps: "tuple[str, ...]", device: torch.device) -> Any:
    """The plan of a schedule, or the Error where it does not compile here."""
    try:
        problem = _problem(_device.target(), op, keys)
        return _device.load(problem, _device.wisdom_of(problem, _schedule(steps), 1.0), n, device)
    except Error as error:
        return error


def _captured(call: Callable[[], Any], count: int, memory: Any) -> Callable[[], Any]:
    """Starts N calls: as one graph with this pool of memory, or one after another where capture fails."""

    def repeat() -> None:
        for _ in range(count):
            call()

    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph, pool=memory):
            repeat()
    except RuntimeError:
        torch.cuda.synchronize()
        return repeat
    return graph.replay


def _await(event: Any, what: str) -> None:
    """A kernel that does not end holds the device until this process ends, and torch.cuda.synchronize() would wait for ever. So this is no Error,
    after which `tune` would go on."""
    end = time.monotonic() + LAUNCH_SECONDS
    while not event.query():
        if time.monotonic() > end:
            raise RuntimeError(f"{what}: the kernel did not end within {LAUNCH_SECONDS:g} s and holds the device; end this process")
        time.sleep(1e-4)


@contextlib.contextmanager
def reserved() -> "Iterator[None]":
    """Keeps the device for this thread: no kernel is verified meanwhile, in this process or another one."""
    error = ffi.new("tw_error *")
    check(lib.tw_device_reserve(error), error)
    try:
        yield
    finally:
        lib.tw_device_release()


def seconds_in_turn(calls: "list[Callable[[], Any]]", rounds: int = 5, names: "Sequence[str]" = ()) -> "list[float]":
    """Medians of the calls' times, each captured in a graph, the graphs replayed in turn. `names`: of the calls, for errors."""
    with reserved():
        return _seconds_in_turn(calls, rounds, names)


def _seconds_in_turn(calls: "list[Callable[[], Any]]", rounds: int, names: "Sequence[str]") -> "list[float]":
    graphs, counts = [], []
    # Graphs run one after another and nothing reads their results, so they share memory: results of gigabytes fill the device otherwise.
    memory = torch.cuda.graph_pool_handle()
    for i, call in enumerate(calls):
        call()
        first = torch.cuda.Event()
        first.record()
        _await(first, names[i] if names else "a call")
        call()
        torch.cuda.synchronize()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        call()
        end.record()
        torch.cuda.synchronize()
        counts.append(max(2, min(100, int(BURST / max(1e-3 * begin.elapsed_time(end), 1e-6)))))
        graphs.append(_captured(call, counts[-1], memory))
    times: "list[list[float]]" = [[] for _ in calls]
    for turn in range(rounds + 1):
        for graph, count, to in zip(graphs, counts, times):
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            torch.cuda._sleep(AHEAD)
            begin.record()
            graph()
            end.record()
            torch.cuda.synchronize()
            if turn:  # the first replay brings the graph to the device
                to.append(1e-3 * begin.elapsed_time(end) / count)
    return [sorted(t)[len(t) // 2] for t in times]


def with_plan(text: str, plan: Any, call: Callable[[], Any]) -> Callable[[], Any]:
    """The call, computed by the plan."""

    def trial():
        _device.trials[text] = plan
        ROUTES.clear()
        try:
            return call()
        finally:
            del _device.trials[text]
            ROUTES.clear()

    return trial


def contest(
    op: str, keys: "dict[str, Any]", n: int, ours: Callable[[], Any], seconds: float, pool: ThreadPoolExecutor, enough: float = 0.0
) -> "list[Entry]":
    """Tries schedules for about this many seconds and returns them, the fastest first. `ours` is a call with the problem. A kernel that takes
    at most `enough` seconds ends the search. Raises the Error of the first schedule where none can be loaded."""
    device, deadline = torch.device("cuda", torch.cuda.current_device()), time.monotonic() + seconds
    problem, text = _problem(_device.target(), op, keys), _device.problem_text(op, keys)
    seen: "set[tuple[str, ...]]" = set()
    entries: "list[Entry]" = []
    offered = _first(problem)
    offered += [_followed(problem, steps)[1] for steps in offered[:FOLLOWED]]
    for turn in range(ROUNDS):
        fresh = [steps for steps in dict.fromkeys(offered) if steps not in seen]
        seen.update(fresh)
        plans = list(pool.map(lambda steps: _loaded(op, keys, n, steps, device), fresh))
        loaded = [(steps, plan) for steps, plan in zip(fresh, plans) if not isinstance(plan, Error)]
        if not loaded:
            if not entries and plans:
                raise plans[0]
            break
        times = seconds_in_turn([with_plan(text, plan, ours) for _, plan in loaded], 3, [f"{text}: {'; '.join(steps)}" for steps, _ in loaded])
        before = entries[0].seconds if entries else float("inf")  # before this round
        entries += [Entry(steps, taken, plan) for (steps, plan), taken in zip(loaded, times)]
        entries.sort(key=lambda entry: entry.seconds)
        is_over = time.monotonic() > deadline or entries[0].seconds > 0.995 * before
        if entries[0].seconds <= enough or (turn + 1 >= ROUNDS_LEAST and is_over):
            break
        offered = [steps for entry in entries[:CONTINUED] for steps in _next(problem, entry.schedule)]
    return entries


def keep(op: str, keys: "dict[str, Any]", schedule: "tuple[str, ...]", seconds: float = VERIFY_SECONDS) -> None:
    """Verifies the schedule's kernel in a process of its own, against the op's definition, and puts it into wisdom. Raises FailedError for a
    kernel that is wrong, LateError if the verification does not end within `seconds`."""
    problem = _problem(_device.target(), op, keys)
    source = emit(op, target="cuda", schedule=list(schedule), **keys)
    measured = run(source, op, target="cuda", trust=True, seconds=seconds, **keys).measurement
    best, error = _device.wisdom_of(problem, _schedule(schedule), measured.cost, measured.utilization), ffi.new("tw_error *")
    check(lib.tw_wisdom_replace(ffi.NULL, best, error), error)


def threads(n: int = 0) -> ThreadPoolExecutor:
    """0: as many as this process has cores."""
    return ThreadPoolExecutor(n or max(1, len(os.sched_getaffinity(0))))
