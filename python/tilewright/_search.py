"""Problems, machines, and what is done with them: tune, run, model, emit."""

from __future__ import annotations

from dataclasses import dataclass, field
from os import fspath
from typing import Any, Callable, Optional, Sequence, Union

import numpy as np

from ._library import Error, UsageError, check, ffi, lib, sized, take, text_of

Value = Union[int, float, bool, str]
Steps = Union[str, Sequence[str]]  #: a schedule: its text, one step a line, or its steps


@dataclass(frozen=True)
class Target:
    """A machine."""

    name: str
    summary: str
    unit: str  #: of cost: "cycles" or "seconds"
    simulated: bool  #: cost is what a model of the machine computes, not what a clock says
    missing: Optional[str]  #: what has to be installed before it can be used; None: nothing


@dataclass(frozen=True)
class Counter:
    value: float
    unit: str
    help: str


@dataclass(frozen=True)
class Measurement:
    cost: float  #: in the target's unit
    utilization: float  #: of the machine's peak; of the bound where memory limits the problem
    cycles: float  #: 0 where it does not apply
    seconds: float
    instructions: float
    counters: "dict[str, Counter]" = field(repr=False)
    memory: "dict[str, tuple[int, int]]" = field(repr=False)  #: bytes used, and there are


@dataclass(frozen=True)
class Bound:
    """What no kernel can be faster than, by peak rate and bandwidth."""

    cost: float
    limit: str


@dataclass(frozen=True)
class Rung:
    step: str
    why: str
    agent: str
    cost: float
    utilization: float
    within_error: bool  #: differs from what went before by less than is known of costs (Tuned.error): no gain and no loss


@dataclass(frozen=True)
class Progress:
    done: int
    planned: int
    correct: int
    best_utilization: float
    elapsed: float
    left: Optional[float]  #: seconds, estimated


@dataclass(frozen=True)
class Tuned:
    source: str = field(repr=False)
    schedule: "Optional[list[str]]"  #: the recipe of `source`, if it has one
    best: Measurement
    start: Optional[Measurement]  #: the baseline; None: the result is from wisdom, and the baseline was not measured
    start_source: str = field(repr=False)
    ladder: "list[Rung]" = field(repr=False)
    bound: Bound
    samples: int
    correct: int
    coverage: str  #: what the check of the best looked at
    seconds: float
    notes: str = field(repr=False)
    error: float  #: by how much, as a fraction, costs may differ and mean nothing; 0: not known
    from_wisdom: bool = False  #: an earlier search found it: of `best`, only cost and utilization are known

    @property
    def speedup(self) -> float:
        """Over the baseline; NaN if the baseline was not measured."""
        return self.start.cost / self.best.cost if self.start else float("nan")

    def __str__(self) -> str:
        """The ladder, as the command prints it: steps within the error are only counted."""
        if self.start is None:
            return f"  from wisdom  {100 * self.best.utilization:5.1f}%  {self.best.cost:14,.4g}"
        lines = [
            f"  {self.start.cost / r.cost:7.2f}x  {100 * r.utilization:5.1f}%"
            f"  {r.cost:{'14,.0f' if r.cost >= 1000 else '14.4g'}}  {r.step}"
            for r in self.ladder
            if not r.within_error
        ]
        hidden = len(self.ladder) - len(lines)
        return "\n".join(lines + ([f"  steps below the error: {hidden}, in `ladder`"] if hidden else []))


@dataclass(frozen=True)
class Run:
    measurement: Measurement
    bound: Bound
    coverage: str
    seed: int  #: of the inputs


class Interrupted(KeyboardInterrupt):
    """The search was interrupted; `result` is the best until then, or None."""

    def __init__(self, result: Optional[Tuned]):
        super().__init__("interrupted")
        self.result = result


# ---- machines and problems ----


def _target(name: str):
    """The target of that name, or the machine of a file: FILE.machine."""
    target, error = ffi.new("const tw_target **"), ffi.new("tw_error *")
    if lib.tw_target_open(name.encode(), target, error) == lib.TW_OK:
        return target[0]
    if text_of(error.text).startswith("unknown target"):
        raise UsageError(f"unknown target '{name}'; expected one of " + ", ".join(t.name for t in targets()))
    raise UsageError(text_of(error.text))


def targets() -> "list[Target]":
    """The machines."""
    found, index = [], 0
    while target := lib.tw_target_at(index):
        error = ffi.new("tw_error *")
        missing = None if lib.tw_target_available(target, error) == lib.TW_OK else text_of(error.text)
        name, summary, unit = (text_of(of(target)) for of in (lib.tw_target_name, lib.tw_target_summary, lib.tw_target_unit))
        found.append(Target(name, summary, unit, lib.tw_target_is_simulated(target), missing))
        index += 1
    return found


def ops() -> "list[str]":
    """The operations."""
    found, index = [], 0
    while op := lib.tw_op_at(index):
        found.append(text_of(lib.tw_op_name(op)))
        index += 1
    return found


def _problem(target, op: str, keys: "dict[str, Value]"):
    problem, error = ffi.new("tw_problem *"), ffi.new("tw_error *")
    words = [op]
    for key, value in keys.items():
        word = f"{key}={int(value) if isinstance(value, (bool, np.bool_)) else value}"
        if " " in word:
            raise UsageError(f"'{word:.80}' must not contain a blank")
        words.append(word)
    check(lib.tw_problem_parse(target, " ".join(words).encode(), problem, error), error)
    check(lib.tw_target_supports(target, problem, error), error)
    return problem


def _strings(what: str, values: Any) -> "list[str]":
    """A list of strings. A string alone would be taken for a list of its characters."""
    if isinstance(values, (str, bytes)) or not all(isinstance(v, str) for v in values):
        raise UsageError(f"{what} must be a list of strings (got {values!r:.80})")
    return list(values)


def _schedule(steps: Optional[Steps]):
    schedule, error = ffi.new("tw_schedule *"), ffi.new("tw_error *")
    if isinstance(steps, str):
        check(lib.tw_schedule_parse(steps.encode(), schedule, error), error)
    elif steps is not None:
        for step in _strings("a schedule", steps):
            check(lib.tw_schedule_add(schedule, step.encode(), error), error)
    return schedule


# ---- results ----


def _measurement(m) -> Measurement:
    counters = {text_of(c.name): Counter(c.value, text_of(c.unit), text_of(c.help)) for c in m.counter[0 : m.n_counters]}
    memory = {text_of(u.name): (u.used, u.size) for u in m.memory[0 : m.n_memories]}
    return Measurement(m.cost, m.utilization, m.cycles, m.seconds, m.instructions, counters, memory)


def _steps(schedule) -> "list[str]":
    return [text_of(schedule.step[i]) for i in range(schedule.n)]


def _list(at, r) -> "list[Any]":
    """What an accessor returns for 0, 1, ..., until NULL."""
    found = []
    while item := at(r, len(found)):
        found.append(item)
    return found


def _tuned(r) -> Tuned:
    schedule, start, bound = lib.tw_search_result_schedule(r), lib.tw_search_result_start(r), lib.tw_search_result_bound(r)
    rungs = _list(lib.tw_search_result_rung, r)
    return Tuned(
        source=text_of(lib.tw_search_result_source(r)),
        schedule=_steps(schedule) if schedule else None,
        best=_measurement(lib.tw_search_result_best(r)),
        start=_measurement(start) if start else None,
        start_source=text_of(lib.tw_search_result_start_source(r)),
        ladder=[Rung(text_of(x.step), text_of(x.why), text_of(x.agent), x.cost, x.utilization, x.within_error) for x in rungs],
        bound=Bound(bound.cost, text_of(bound.limit)),
        samples=lib.tw_search_result_samples(r),
        correct=lib.tw_search_result_correct(r),
        coverage=text_of(lib.tw_search_result_coverage(r)),
        seconds=lib.tw_search_result_seconds(r),
        notes=text_of(lib.tw_search_result_notes(r)),
        error=lib.tw_search_result_error(r),
        from_wisdom=lib.tw_search_result_cost_from(r) == lib.TW_COST_WISDOM,
    )


# ---- what is done ----


def tune(
    op: str,
    *,
    target: str,
    iterations: int = 0,
    plans: int = 0,
    kernels: int = 0,
    beam: int = 0,
    dropout: float = -1.0,
    exhaustive: bool = False,
    seed: int = 1,
    inputs: int = 0,
    jobs: int = 0,
    samples: int = 0,
    seconds: float = 0.0,
    agents: Union[str, Sequence[str]] = (),
    start: Optional[Steps] = None,
    journal: Any = None,
    runner: Optional[str] = None,
    trust: bool = False,
    wisdom: Any = True,
    again: bool = False,
    progress: Optional[Callable[[Progress], Any]] = None,
    **keys: Value,
) -> Tuned:
    """The best kernel for a problem: from wisdom, if an earlier call or `tilewright tune` found it on this machine, else from a search,
    whose result becomes wisdom. 0 means the default. `keys` are the op's: m=512, a="bf16".

    `wisdom` is a file; True: the one that `tilewright tune` uses; False: none. `again`: search even if wisdom has the problem.
    What `progress` raises ends the search and is raised again; Ctrl-C raises Interrupted, which has the best until then.
    """
    machine = _target(target)
    problem = _problem(machine, op, keys)
    options, tuning, error = sized("tw_search_options"), sized("tw_tune_options"), ffi.new("tw_error *")
    out = ffi.new("tw_search_result **")
    interrupt = ffi.new("int *")
    keep = [_schedule(start)] if start is not None else []
    options.iterations, options.plans, options.kernels, options.beam = iterations, plans, kernels, beam
    options.dropout, options.exhaustive, options.seed, options.inputs = dropout, exhaustive, seed, inputs
    options.jobs, options.samples, options.seconds, options.trust = jobs, samples, seconds, trust
    if keep:
        options.start = keep[0]
    names = [ffi.new("char[]", name.encode()) for name in ([agents] if isinstance(agents, str) else _strings("agents", agents))]
    array = ffi.new("char *[]", names or [ffi.NULL])
    options.agents, options.n_agents = ffi.cast("char const * const *", array), len(names)
    for name, value in (("journal", None if journal is None else fspath(journal)), ("runner", runner)):
        if value is not None:
            if not value:
                raise UsageError(f"{name} must not be empty; leave it out for none")
            keep.append(ffi.new("char[]", value.encode()))
            setattr(options, name, keep[-1])
    tuning.search, tuning.again, tuning.no_wisdom = options, again, wisdom is False or wisdom is None
    if not isinstance(wisdom, bool) and wisdom is not None:
        keep.append(ffi.new("char[]", fspath(wisdom).encode()))
        tuning.wisdom = keep[-1]
    raised: "list[BaseException]" = []

    def stop(_type, value, _trace):
        raised.append(value)
        interrupt[0] = 1

    # Without a callback Python would see a Ctrl-C only when the search is over.
    @ffi.callback("void(void *, tw_progress const *)", onerror=stop)
    def report(_context, p):
        if progress and not raised:
            left = p.left if p.left >= 0 else None
            progress(Progress(p.done, p.planned, p.correct, p.best_utilization, p.elapsed, left))

    options.progress, options.interrupt = report, interrupt
    status = lib.tw_tune(machine, problem, tuning, out, error)
    try:
        best = _tuned(out[0]) if out[0] else None
    finally:
        lib.tw_search_result_free(out[0])
    if raised and not isinstance(raised[0], KeyboardInterrupt):
        raise raised[0]
    if raised or status == lib.TW_INTERRUPTED:
        raise Interrupted(best)
    check(status, error)
    if best is None:
        raise Error("the search ended without a kernel")
    return best


def emit(op: str, *, target: str, schedule: Optional[Steps] = None, **keys: Value) -> str:
    """The source that a schedule makes; without one the baseline's."""
    machine = _target(target)
    problem = _problem(machine, op, keys)
    source, error = ffi.new("char **"), ffi.new("tw_error *")
    check(lib.tw_target_emit(machine, problem, _schedule(schedule), source, error), error)
    return take(source[0])


def model(op: str, *, target: str, schedule: Optional[Steps] = None, **keys: Value) -> "tuple[Optional[float], Bound]":
    """The analytic model's cost of a schedule and the lower bound. None where it has no model, or one below the bound."""
    machine = _target(target)
    problem = _problem(machine, op, keys)
    cost, bound, error = ffi.new("double *"), ffi.new("tw_bound *"), ffi.new("tw_error *")
    status = lib.tw_target_predict(machine, problem, _schedule(schedule), cost, error)
    if status != lib.TW_MISSING:
        check(status, error)
    check(lib.tw_target_bound(machine, problem, bound, error), error)
    known = status != lib.TW_MISSING and cost[0] >= bound.cost * (1 - 1e-9)
    return cost[0] if known else None, Bound(bound.cost, text_of(bound.limit))


def run(source: str, op: str, *, target: str, seed: int = 0, jobs: int = 0, trust: bool = False, seconds: float = 0, **keys: Value) -> Run:
    """Builds, checks and measures a kernel of your own, as `tilewright run` does.

    `seed` is of the inputs; 0: one that nobody can foresee. Raises FailedError, with where and how, if it does not compile, is
    wrong, or is faster than the machine can be; LateError if it did not end within `seconds` (0: no limit).
    """
    machine = _target(target)
    problem = _problem(machine, op, keys)
    data = source.encode()
    options, out, error = sized("tw_run_options"), ffi.new("tw_run_result **"), ffi.new("tw_error *")
    options.seed, options.jobs, options.trust, options.seconds = seed, jobs, trust, seconds
    check(lib.tw_run(machine, problem, data, len(data), options, out, error), error)
    result = ffi.gc(out[0], lib.tw_run_result_free)
    bound = lib.tw_run_result_bound(result)
    return Run(
        _measurement(lib.tw_run_result_measurement(result)),
        Bound(bound.cost, text_of(bound.limit)),
        text_of(lib.tw_run_result_coverage(result)),
        lib.tw_run_result_seed(result),
    )
