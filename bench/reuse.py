"""reuse.py OUT.csv [SEEDS [SAMPLES [AGENT...]]] - what the steps of a search are worth on another shape.
reuse.py --plot FILE.svg OUT.csv - draws the table of OUT.csv.

Shapes: table 2 of Autocomp (C. Hong et al., arXiv 2505.18574). A base shape of each category is searched in full. Each reuse shape is
then searched with its recording (--reuse) and without, with the paper's beam 6, 6 plans and 2 kernels. The speed-up is over Gemmini's
software library, after 3 to 200 samples, as a geometric mean over the six shapes; the paper has 4.6 with reuse and 3.7 without after
100 calls of a model, 5.0 and 4.2 after 200. Prints the table of all rows in OUT.csv. JOBS: searches at a time [1]."""
import usage  # answers --help
from concurrent.futures import ThreadPoolExecutor
import os
import statistics
import sys
import tempfile

from searches import Rows, costs_after, geometric_mean, library_cycles, tune

SHAPES = {  # category: base, reuse shapes; m, n, k
    "square": [(1024, 1024, 1024), (512, 512, 512), (256, 256, 256)],
    "column-dominant": [(12544, 64, 256), (6272, 64, 256), (12544, 64, 128)],
    "row-dominant": [(128, 1024, 1024), (64, 1024, 1024), (32, 1024, 1024)],
}
POINTS = (3, 5, 10, 25, 50, 100, 200)  # the start is the first
PAPER = {"yes": {100: 4.6, 200: 5.0}, "no": {100: 3.7, 200: 4.2}}  # section 3.5
FULL = ["--iterations", 10, "--beam", 6, "--plans", 6, "--kernels", 2]


def problem_of(shape):
    return "gemm m={} n={} k={} a=i8 b=i8 c=i8".format(*shape)


def recording_of(base, folder):
    return f"{folder}/{'x'.join(map(str, base))}"


def record(base, folder):
    """The base is searched once, by `rules` with its defaults."""
    tune(problem_of(base), recording_of(base, folder), "--seed", 1)


def measure(rows, agent, seed, base, shape, reuse, samples, folder):
    options = ["--reuse", recording_of(base, folder)] if reuse == "yes" else []
    problem = problem_of(shape)
    with tempfile.TemporaryDirectory() as out:
        tune(problem, out, "--agent", agent, "--seed", seed, "--samples", samples, *FULL, *options)
        costs, evaluated = costs_after(out, POINTS)
    rows.add(agent, seed, problem, reuse, samples, library_cycles(problem), evaluated, *costs)


def speed_ups(rows, agent, reuse):
    """Number of whole seeds, and for each number of samples the geometric means of the seeds; [] where a search was not allowed as many."""
    by_seed = {}
    for r in rows.rows:
        if r["agent"] == agent and r["reuse"] == reuse:
            by_seed.setdefault(r["seed"], []).append(r)
    whole = [group for group in by_seed.values() if len(group) == 6]
    means = {}
    for n in POINTS:
        short = any(int(r["samples"]) < n for group in whole for r in group)
        means[n] = [] if short else [geometric_mean([float(r["library"]) / float(r[f"after_{n}"]) for r in group]) for group in whole]
    return len(whole), means


def spread(means):
    return statistics.stdev(means) if len(means) > 1 else 0


def agents_of(rows):
    return sorted({r["agent"] for r in rows.rows})


def show(rows):
    print("| agent | reuse | seeds | " + " | ".join(f"after {n}" for n in POINTS) + " |")
    print("| --- | --- | ---: |" + " ---: |" * len(POINTS))
    for agent in agents_of(rows):
        for reuse in ("yes", "no"):
            seeds, means = speed_ups(rows, agent, reuse)
            cells = [f"{statistics.fmean(m):.2f} ± {spread(m):.2f}" if m else "" for m in means.values()]
            print(f"| {agent} | {reuse} | {seeds} | " + " | ".join(cells) + " |")


def plot(rows, path):
    """The table beside the paper's numbers (figure 13), as a picture."""
    import matplotlib  # Debian: python3-matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(figsize=(6, 4))
    for agent in agents_of(rows):
        for reuse in ("yes", "no"):
            means = {n: m for n, m in speed_ups(rows, agent, reuse)[1].items() if m}
            axes.errorbar(list(means), [statistics.fmean(m) for m in means.values()], [spread(m) for m in means.values()],
                          marker="o", linestyle="-" if reuse == "yes" else "--", capsize=3,
                          label=f"{agent}, {'with' if reuse == 'yes' else 'without'} reuse")
    for reuse, values in PAPER.items():
        axes.plot(list(values), list(values.values()), marker="s", color="gray", linestyle="-" if reuse == "yes" else "--",
                  label=f"paper, {'with' if reuse == 'yes' else 'without'} reuse")
    axes.set_xscale("log")
    axes.set_xlabel("samples (paper: calls of a model)")
    axes.set_ylabel("speed-up over Gemmini's software library")
    axes.set_ylim(bottom=0)
    axes.legend()
    figure.savefig(path)


COLUMNS = ["agent", "seed", "problem", "reuse", "samples", "library", "evaluated"] + [f"after_{n}" for n in POINTS]


def main(path, seeds=10, samples=200, *agents):
    rows = Rows(path, COLUMNS, 4)
    searches = [
        (agent, seed, base, shape, reuse)
        for seed in range(1, int(seeds) + 1)
        for agent in agents or ["rules"]
        for base, *targets in SHAPES.values()
        for shape in targets
        for reuse in ("yes", "no")
        if not rows.find(agent, seed, problem_of(shape), reuse)
    ]
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(int(os.environ.get("JOBS", 1))) as pool:
        list(pool.map(lambda base: record(base, folder), {base for _, _, base, _, _ in searches}))
        list(pool.map(lambda search: measure(rows, *search, int(samples), folder), searches))
    show(rows)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    if sys.argv[1] == "--plot":
        if len(sys.argv) != 4:
            sys.exit("usage: reuse.py --plot FILE.svg OUT.csv")
        plot(Rows(sys.argv[3], COLUMNS, 4), sys.argv[2])
    else:
        main(*sys.argv[1:])
