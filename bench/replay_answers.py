"""Repeats a recorded search with a language model, without the model: its answers are files in tests/data/agents/.

The tables of docs/lab/2026-11-language-model-searches.md, -parts.md and -parts-2.md come from these searches. Costs are simulated, so the result is
the same on every computer with the same compilers. TILEWRIGHT: the command [build/tilewright]."""
import argparse
import os
import shlex
import sqlite3
import subprocess
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GEMM, CONV = "gemm m=12544 n=64 k=256", "conv2d n=4 h=16 w=16 c=256 k=256 r=3 s=3"
SEARCHES = {  # folder of the answers: problem, machine, more options
    "gemmini_gemm": (GEMM, "gemmini-16x16-int8", ["--seed", "1"]),
    "gemmini_conv": (CONV, "gemmini-16x16-int8", ["--seed", "1"]),
    "cdna4_gemm": ("gemm m=512 n=512 k=1024 a=bf16 b=bf16 c=f32", "cdna4", ["--seed", "1"]),
}
for folder in os.listdir(os.path.join(ROOT, "tests/data/agents/parts")):  # PART_PROBLEM[_SEED]: a search without a part of the prompts, or `full`
    part, kind, *seed = folder.split("_")
    without = [] if part == "full" else ["--without", part]
    SEARCHES["parts/" + folder] = (GEMM if kind == "gemm" else CONV, "gemmini-16x16-int8", ["--seed", *(seed or ["1"]), *without])
OPTIONS = "--plans 2 --kernels 1 --beam 1 --iterations 3 --jobs 1 --concurrent-requests 1 --no-wisdom".split()


def command_of(search, rules, folder):
    problem, machine, more = SEARCHES[search]
    answers = os.path.join(ROOT, "tests/data/agents", search)
    # the n-th question gets the n-th answer
    agent = (f"exec:cat >/dev/null; n=$(cat {shlex.quote(folder)}/n 2>/dev/null || echo 0); n=$((n + 1)); "
             f"echo $n >{shlex.quote(folder)}/n; cat {shlex.quote(answers)}/$(printf %02d $n).txt")
    tune = [os.environ.get("TILEWRIGHT", os.path.join(ROOT, "build/tilewright")), "tune", *problem.split(), "-t", machine, *OPTIONS, *more]
    return tune + (["--samples", "7"] if rules else ["--agent", agent])


def print_costs(search, command, folder):
    """One line: the cost of each candidate, in the order of the questions. The first one is the start."""
    subprocess.run([*command, "--out", folder], check=True, stdout=subprocess.DEVNULL)
    with sqlite3.connect(os.path.join(folder, "journal.sqlite")) as journal:
        rows = journal.execute("SELECT verdict, cost FROM candidate ORDER BY number").fetchall()
    print(f"{search}:", "; ".join(f"{cost:,.9g}" if verdict == "correct" else verdict for verdict, cost in rows), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("search", nargs="+", choices=sorted(SEARCHES), metavar="SEARCH", help="a folder in tests/data/agents: " + ", ".join(sorted(SEARCHES)))
    parser.add_argument("--rules", action="store_true", help="search with `rules` instead, as many candidates")
    parser.add_argument("--list", action="store_true", help="print the command instead of running it")
    parser.add_argument("--costs", action="store_true", help="print only the cost of each candidate")
    arguments = parser.parse_args()
    for search in arguments.search:
        with tempfile.TemporaryDirectory() as folder:
            command = command_of(search, arguments.rules, folder)
            if arguments.list:
                print(shlex.join(command))
            elif arguments.costs:
                print_costs(search, command, folder)
            else:
                subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
