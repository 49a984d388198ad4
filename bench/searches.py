"""Searches for experiments: runs `tilewright tune`, reads its journal, times Gemmini's software library on the same machine.

Used by reuse.py and ablations.py. TILEWRIGHT: the command [build/tilewright]. Rows go to a CSV file as they come, and rows
that it has are not run again: an experiment may be stopped and continued."""
import csv
import functools
import json
import math
import os
import sqlite3
import statistics
import subprocess
import sys
import tempfile

COMMAND = os.environ.get("TILEWRIGHT", "build/tilewright")
TARGET = "gemmini-16x16-int8"


def run(*arguments):
    done = subprocess.run([COMMAND, *map(str, arguments), "-t", TARGET, "--jobs", "1", "--json"], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(map(str, arguments))}: {done.stderr.strip() or done.stdout.strip()}")
    return json.loads(done.stdout)


def tune(problem, out, *options):
    """The result, with the directory's journal."""
    return run("tune", *problem.split(), "--no-wisdom", "--out", out, *options)


def costs_after(out, samples):
    """The least cost of a correct kernel after each of these numbers of samples. Kernels of the last stages count, too."""
    with sqlite3.connect(f"file:{out}/journal.sqlite?mode=ro", uri=True) as journal:
        rows = journal.execute("SELECT verdict, cost FROM candidate WHERE verdict NOT IN ('duplicate', 'illegal') ORDER BY number").fetchall()
    best, curve = math.inf, []
    for verdict, cost in rows:
        if verdict == "correct":
            best = min(best, cost)
        curve.append(best)
    return [curve[min(n, len(curve)) - 1] for n in samples], len(curve)


LIBRARY = {
    "gemm": """#define GEMMINI_SOFTWARE_LOOP
void test(int8_t A[{m}][{k}], int8_t B[{k}][{n}], int8_t C[{m}][{n}]) {{
  tiled_matmul_auto({m}, {n}, {k}, (elem_t *)A, (elem_t *)B, NULL, (elem_t *)C, {k}, {n}, {n}, {n}, MVIN_SCALE_IDENTITY,
    MVIN_SCALE_IDENTITY, MVIN_SCALE_IDENTITY, NO_ACTIVATION, 1, 0, false, false, false, false, false, 0, WEIGHT_STATIONARY);
  fence();
}}
""",
    "conv2d": """#define GEMMINI_SOFTWARE_LOOP
void test(int8_t input[{n}][{h}][{w}][{c}], int8_t weights[{r}][{s}][{c}][{k}], int8_t output[{n}][{p}][{q}][{k}]) {{
  tiled_conv_auto({n}, {h}, {w}, {c}, {k}, {p}, {q}, 1, 1, 1, 0, {r}, false, false, false, false, false, (elem_t *)input,
    (elem_t *)weights, NULL, (elem_t *)output, NO_ACTIVATION, 1, 0, 0, 0, WEIGHT_STATIONARY);
  fence();
}}
""",
}


@functools.lru_cache(None)
def library_cycles(problem):
    """Gemmini's software library with single commands: the paper's reference. tests/data/gemmini compares it with the RTL."""
    op, *words = problem.split()
    sizes = {key: int(value) for key, value in (word.split("=") for word in words) if value.isdigit()}
    if op == "conv2d":
        sizes["p"], sizes["q"] = sizes["h"] - sizes["r"] + 1, sizes["w"] - sizes["s"] + 1
    with tempfile.NamedTemporaryFile("w", suffix=".c") as file:
        file.write(LIBRARY[op].format(**sizes))
        file.flush()
        return run("run", file.name, *problem.split())["cycles"]


def geometric_mean(values):
    return math.exp(statistics.fmean(map(math.log, values)))


class Rows:
    """A CSV file of results; the first `keys` columns identify a row."""

    def __init__(self, path, columns, keys):
        self.path, self.columns, self.keys, self.rows = path, columns, keys, []
        if os.path.exists(path):
            with open(path, newline="") as file:
                self.rows = [row for row in csv.DictReader(file)]
        else:
            self._write(columns)

    def _write(self, values):
        with open(self.path, "a", newline="") as file:
            csv.writer(file).writerow(values)

    def find(self, *key):
        wanted = list(map(str, key))
        return next((row for row in self.rows if [row[c] for c in self.columns[: self.keys]] == wanted), None)

    def add(self, *values):
        self._write(values)
        self.rows.append(dict(zip(self.columns, map(str, values))))
