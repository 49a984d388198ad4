"""ablations.py OUT.csv [SEEDS [NAME...]] - what the parts of a search are worth.

Problems and parts: table 6 of Autocomp (C. Hong et al., arXiv 2505.18574): GEMM 12544 x 64 x 256 and a convolution of 4 images of
14 x 14, 256 to 256 channels, 3 x 3, on Gemmini. A search has the command's defaults unless the row says otherwise. The speed-up is over
Gemmini's software library. NAME: rows to run [all]. Prints the table of all rows in OUT.csv: mean and standard deviation over the
seeds, and the mean number of samples."""
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


def measure(rows, name, seed):
    for kind, problem in PROBLEMS.items():
        if rows.find(name, seed, kind):
            continue
        with tempfile.TemporaryDirectory() as out:
            result = tune(problem, f"{out}/run", "--seed", seed, *ROWS[name])
            _, evaluated = costs_after(f"{out}/run", [1])
            rows.add(name, seed, kind, library_cycles(problem), result["best"]["cycles"], evaluated)


def show(rows):
    print("| search | seeds | GEMM | samples | convolution | samples |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    for name in ROWS:
        cells, seeds = [], 0
        for kind in PROBLEMS:
            group = [r for r in rows.rows if r["search"] == name and r["problem"] == kind]
            ups = [float(r["library"]) / float(r["cycles"]) for r in group]
            spread = f" ± {statistics.stdev(ups):.2f}" if len(ups) > 1 else ""
            cells += [f"{statistics.fmean(ups):.2f}{spread}", f"{statistics.fmean(int(r['evaluated']) for r in group):.0f}"] if ups else ["", ""]
            seeds = max(seeds, len(ups))
        if seeds:
            print(f"| {name} | {seeds} | " + " | ".join(cells) + " |")


def main(path, seeds=10, *names):
    rows = Rows(path, ["search", "seed", "problem", "library", "cycles", "evaluated"], 3)
    for seed in range(1, int(seeds) + 1):
        for name in names or ROWS:
            measure(rows, name, seed)
    show(rows)


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(*sys.argv[1:])
