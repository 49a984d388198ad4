#!/usr/bin/env python3
"""Does `tilewright tune` keep its promises with tiny budgets? Each problem of tests/data/budgets.txt on each target,
with 1, 2 and 5 samples and with 1, 2 and 5 seconds:

  time    a search with N seconds ends within max(1.2 N, N + 2) seconds, unless the baseline alone takes longer; then
          the command says so
  result  no worse than the baseline, nor than the kernel that wisdom had before; what wisdom has never becomes worse.
          Simulated costs are compared as they are, with one seed: on CDNA the cost of a kernel with atomics varies by
          up to 12% with the workgroups that are timed, which the seed draws. On x86 `bench` measures the library with
          and without the new entry alternately.

The budgets of a problem share one wisdom, in the order of the list, so later searches know kernels of earlier ones.
Without --cold, kernels built before come from the cache. Exit status: 1 if a promise is broken."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
TARGETS = "gemmini-16x16-int8 gemmini-4x4-fp32 x86 xdna2 cdna3 cdna4 trn1 trn2 cuda"
OVERRUN = "no candidate was tried"  # the note of a search that stops after its baseline
NOISE = 1.2  # ratio of two medians that are measured alternately on x86


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--command", default=str(ROOT / "build/tilewright"), help="the command [default: build/tilewright]")
    parser.add_argument("--targets", default=TARGETS, help="names, separated by spaces [default: %(default)s]")
    parser.add_argument("--sizes", default="gate small large", help="groups of budgets.txt [default: all three]")
    parser.add_argument("--problem", action="append", help="tune this problem instead of those of the file; may be repeated")
    parser.add_argument("--samples", default="1 2 5", help="budgets in samples [default: %(default)s]")
    parser.add_argument("--seconds", default="1 2 5", help="budgets in seconds [default: %(default)s]")
    parser.add_argument("--threads", type=int, default=1, help="of gemm on x86 [default: 1]")
    parser.add_argument("--cold", action="store_true", help="begin each search with an empty kernel cache and no wisdom")
    parser.add_argument("--failures", action="store_true", help="print only searches that break a promise")
    parser.add_argument("--left-out", action="store_true", help="print why problems are left out")
    return parser.parse_args()


def problems(options):
    if options.problem:
        return options.problem
    lines = (ROOT / "tests/data/budgets.txt").read_text().splitlines()
    split = [line.split(None, 1) for line in lines if line and line[0] != "#"]
    return [text for size, text in split if size in options.sizes.split()]


class Pair:
    """One problem on one target."""

    def __init__(self, options, target, problem, folder):
        self.options, self.target, self.problem = options, target, problem
        has_threads = target == "x86" and problem.startswith("gemm ")  # of x86's ops
        self.words = [*problem.split(), *([f"threads={options.threads}"] if has_threads else []),
                      "-t", target, "--jobs", "1", "--seed", "1", "--json"]
        self.folder = folder
        self.environment = dict(os.environ)
        self.wisdom_of = {"XDG_DATA_HOME": folder + "/data"}
        self.known = None  # cost of the entry in wisdom

    def run(self, *words, **environment):
        began = time.monotonic()
        done = subprocess.run([self.options.command, *words], capture_output=True, text=True,
                              env={**self.environment, **self.wisdom_of, **environment})
        seconds = time.monotonic() - began
        try:
            answer = json.loads(done.stdout)
        except json.JSONDecodeError:
            answer = {"error": done.stderr.strip() or f"status {done.returncode}"}
        return answer, done.stderr, seconds

    def wisdom(self):
        entries = self.run("wisdom", "list", "--json")[0].get("wisdom", [])
        return min((cost_of(e) for e in entries), default=None)

    def is_slower_with_wisdom(self):
        """The ratio of medians of bench, with and without wisdom."""
        ratios = []
        for _ in range(3):
            mine, plain = (cost_of(self.run("bench", *self.words, *more)[0]) for more in ((), ("--no-wisdom",)))
            ratios.append(mine / plain)
        return sorted(ratios)[1]

    def tune(self, kind, amount):
        """Broken promises, and a line of the table. None: the target does not support the problem."""
        cold = {}
        if self.options.cold:
            self.folder = tempfile.mkdtemp(dir=self.folder)
            self.wisdom_of = {"XDG_DATA_HOME": self.folder + "/data"}
            cold = {"XDG_CACHE_HOME": self.folder + "/cache"}
            self.known = None
        result, notes, wall = self.run("tune", *self.words, f"--{kind}", amount, **cold)
        if "error" in result:
            is_left_out = result.get("reason") in ("unsupported", "no device", "bad usage")
            return (None, result["error"]) if is_left_out else ([result["error"]], "")
        broken, start, best = [], cost_of(result["start"]), cost_of(result["best"])
        if best > start:
            broken.append(f"the result costs {best:g}, the baseline {start:g}")
        limit = max(1.2 * float(amount), float(amount) + 2) if kind == "seconds" else float("inf")
        overran = OVERRUN in notes
        if wall > limit and not overran:
            broken.append(f"{wall:.2f} s, allowed are {limit:g} s")
        now = self.wisdom()
        simulated = self.target != "x86" and not self.target.startswith("cuda")
        if simulated and self.known is not None:
            if result["samples"] > 1 and not overran and best > self.known:
                broken.append(f"the result costs {best:g}, wisdom had {self.known:g}")
            if now is None or now > self.known:
                broken.append(f"wisdom had {self.known:g}, now {now}")
        if simulated and now is not None and now > start:
            broken.append(f"wisdom has {now:g}, the baseline costs {start:g}")
        ratio = ""
        if not simulated and now is not None and now != self.known:
            ratio = self.is_slower_with_wisdom()
            if ratio > NOISE:
                broken.append(f"with the new wisdom, bench takes {ratio:.2f} times as long")
            ratio = f", bench x{ratio:.2f}"
        self.known = now
        line = f"{wall:6.2f} s  {result['samples']:4} samples  x{start / best:.2f}{ratio}"
        return broken, line + f"  {result.get('checked', '')[:40]}" + ("  BASELINE TOOK LONGER" if overran else "")


def cost_of(measured):
    return next(measured[unit] for unit in ("cycles", "seconds", "microseconds", "us", "ns") if unit in measured)


def main():
    options = arguments()
    budgets = [("samples", n) for n in options.samples.split()] + [("seconds", n) for n in options.seconds.split()]
    searches = failures = overruns = 0
    left_out = {}
    for target in options.targets.split():
        for problem in problems(options):
            with tempfile.TemporaryDirectory() as folder:
                pair = Pair(options, target, problem, folder)
                for kind, amount in budgets:
                    broken, line = pair.tune(kind, amount)
                    if broken is None:
                        left_out.setdefault(target, []).append(f"{problem}: {line}")
                        break
                    searches += 1
                    failures += bool(broken)
                    overruns += "BASELINE" in line
                    if broken or not options.failures:
                        print(f"{target:18} {problem:60} {amount} {kind:7} {line}", *(f"\n  BROKEN: {b}" for b in broken), flush=True)
    for target, reasons in left_out.items():
        print(f"{target}: {len(reasons)} problems left out", *(reasons if options.left_out else []), sep="\n  ")
    print(f"{searches} searches, {failures} broke a promise, in {overruns} the baseline alone took longer than the time limit")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
