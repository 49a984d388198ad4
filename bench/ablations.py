"""ablations.py OUT.csv [SEEDS [SAMPLES [NAME...]]] - what the parts of a search are worth.

Problems and parts: table 6 of Autocomp (C. Hong et al., arXiv 2505.18574): GEMM 12544 x 64 x 256 and a convolution of 4 images of
14 x 14, 256 to 256 channels, 3 x 3, on Gemmini. A search has the command's defaults unless the row says otherwise. The speed-up is over
Gemmini's software library, after 5, 10, 25 and all samples. SAMPLES: limit of each search [no limit]. NAME: rows to run [all]. Prints
the tables of all rows in OUT.csv: mean and standard deviation over the seeds, and the mean number of samples."""
import usage  # answers --help
import statistics
import sys
import tempfile

from searches import Rows, costs_after, library_cycles, tune

PROBLEMS = {
    "GEMM": "gemm m=12544 n=64 k=256 a=i8 b=i8 c=i8",
    "convolution": "conv2d n=4 h=16 w=16 c=256 k=256 r=3 s=3",
}
ROWS = {  # name: options
    "rules": [],
    "without the model": ["--without", "model"],
    "without feedback": ["--without", "feedback"],
    "without dropout": ["--dropout", "0"],
    "random steps": ["--agent", "random"],
    "rules and random": ["--agent", "rules", "--agent", "random"],
}


POINTS = (5, 10, 25)


def measure(rows, name, seed, samples):
    for kind, problem in PROBLEMS.items():
        if rows.find(name, seed, kind, samples):
            continue
        with tempfile.TemporaryDirectory() as out:
            limit = ["--samples", samples] if samples else []
            result = tune(problem, f"{out}/run", "--seed", seed, *limit, *ROWS[name])
            costs, evaluated = costs_after(f"{out}/run", POINTS)
            rows.add(name, seed, kind, samples, library_cycles(problem), *costs, result["best"]["cycles"], evaluated)


def speed_up(group, column):
    ups = [float(r["library"]) / float(r[column]) for r in group]
    return f"{statistics.fmean(ups):.2f}" + (f" ± {statistics.stdev(ups):.2f}" if len(ups) > 1 else "")


def show(rows):
    columns = [f"after_{n}" for n in POINTS] + ["cycles"]
    for kind in PROBLEMS:
        print(f"\n| {kind} | seeds | " + " | ".join(f"after {n}" for n in POINTS) + " | at the end | samples |")
        print("| --- | ---: |" + " ---: |" * (len(columns) + 1))
        for name in ROWS:
            group = [r for r in rows.rows if r["search"] == name and r["problem"] == kind]
            if group:
                samples = statistics.fmean(int(r["evaluated"]) for r in group)
                print(f"| {name} | {len(group)} | " + " | ".join(speed_up(group, c) for c in columns) + f" | {samples:.0f} |")


def main(path, seeds=10, samples=0, *names):
    columns = ["search", "seed", "problem", "limit", "library", *(f"after_{n}" for n in POINTS), "cycles", "evaluated"]
    rows = Rows(path, columns, 4)
    for seed in range(1, int(seeds) + 1):
        for name in names or ROWS:
            measure(rows, name, seed, int(samples))
    show(rows)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
