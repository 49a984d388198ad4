"""Repeats a recorded search with a language model, without the model: its answers are files in tests/data/agents/.

The tables of docs/lab/2026-11-language-model-searches.md and 2026-11-language-model-parts.md come from these searches. Costs are simulated, so the result is
the same on every computer with the same compilers. TILEWRIGHT: the command [build/tilewright]."""
import argparse
import os
import shlex
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
GEMM, CONV = "gemm m=12544 n=64 k=256", "conv2d n=4 h=16 w=16 c=256 k=256 r=3 s=3"
SEARCHES = {  # folder of the answers: problem, machine
    "gemmini_gemm": (GEMM, "gemmini-16x16-int8"),
    "gemmini_conv": (CONV, "gemmini-16x16-int8"),
    "cdna4_gemm": ("gemm m=512 n=512 k=1024 a=bf16 b=bf16 c=f32", "cdna4"),
}
PARTS = ("full", "menu", "isa", "feedback", "examples")  # of prompts: parts/PART_gemm is a search without the part
for part in PARTS:
    SEARCHES[f"parts/{part}_gemm"] = (GEMM, "gemmini-16x16-int8")
    SEARCHES[f"parts/{part}_conv"] = (CONV, "gemmini-16x16-int8")
OPTIONS = "--plans 2 --kernels 1 --beam 1 --iterations 3 --seed 1 --jobs 1 --concurrent-requests 1 --no-wisdom".split()


def command_of(search, rules, folder):
    problem, machine = SEARCHES[search]
    answers = os.path.join(ROOT, "tests/data/agents", search)
    # the n-th question gets the n-th answer
    agent = (f"exec:cat >/dev/null; n=$(cat {shlex.quote(folder)}/n 2>/dev/null || echo 0); n=$((n + 1)); "
             f"echo $n >{shlex.quote(folder)}/n; cat {shlex.quote(answers)}/$(printf %02d $n).txt")
    part = search.split("/")[-1].split("_")[0]
    without = ["--without", part] if part in PARTS and part != "full" else []
    tune = [os.environ.get("TILEWRIGHT", os.path.join(ROOT, "build/tilewright")), "tune", *problem.split(), "-t", machine, *OPTIONS, *without]
    return tune + (["--samples", "7"] if rules else ["--agent", agent])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("search", choices=sorted(SEARCHES))
    parser.add_argument("--rules", action="store_true", help="search with `rules` instead, as many candidates")
    parser.add_argument("--list", action="store_true", help="print the command instead of running it")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        command = command_of(arguments.search, arguments.rules, folder)
        if arguments.list:
            print(shlex.join(command))
            return 0
        return subprocess.run(command).returncode


if __name__ == "__main__":
    sys.exit(main())
