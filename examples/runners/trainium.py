#!/usr/bin/env python3
"""A runner that times kernels on a Trainium instance over ssh.

    tilewright tune gemm m=2048 n=2048 k=2048 a=bf16 b=bf16 a_transposed=1 -t trn2 --jobs 1 \\
        --runner 'python3 examples/runners/trainium.py HOST'

Trials come on standard input, a JSON object a line; outcomes leave on standard output (src/evaluate/text.h). Each kernel is first checked by
`tilewright evaluate` on this computer, by the model. A correct one is copied to HOST with its driver and timed there: its cost becomes the median latency.
TILEWRIGHT names the command here [default: tilewright]; REMOTE_PYTHON the interpreter there, of the environment with nki and torch_xla [python3].
"""
import json
import os
import subprocess
import sys
import tempfile

TILEWRIGHT = os.environ.get("TILEWRIGHT", "tilewright")
REMOTE_PYTHON = os.environ.get("REMOTE_PYTHON", "python3")


def latency_on(host, trial, folder):
    """Median seconds, or a line that says why there is none."""
    made = subprocess.run([TILEWRIGHT, "emit", *trial["problem"].split(), "-t", trial["target"], "--out", folder],
                          capture_output=True, text=True)
    if made.returncode:
        return None, made.stderr.strip()
    with open(os.path.join(folder, "kernel.py"), "w") as file:
        file.write(trial["source"])
    remote = f"tilewright-{os.path.basename(folder)}"
    copied = subprocess.run(["scp", "-q", "-r", folder, f"{host}:{remote}"], capture_output=True, text=True)
    if copied.returncode:
        return None, "scp: " + copied.stderr.strip()
    ran = subprocess.run(["ssh", host, f"cd {remote} && {REMOTE_PYTHON} driver.py --json; status=$?; cd .. && rm -r {remote}; exit $status"],
                         capture_output=True, text=True)
    try:
        answer = json.loads(ran.stdout.strip().split("\n")[-1])
        if not answer.get("correct", True):
            return None, f"wrong on {host}: off by {answer['worst_error']:g} of the largest value"
        return 1e-6 * answer["p50_us"], ""
    except (ValueError, KeyError):
        return None, (ran.stderr or ran.stdout).strip().split("\n")[-1]


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    local = subprocess.Popen([TILEWRIGHT, "evaluate", "--jobs", "1"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for line in sys.stdin:
        trial = json.loads(line)
        local.stdin.write(line)
        local.stdin.flush()
        outcome = json.loads(local.stdout.readline())
        if outcome["verdict"] == "correct" and not trial.get("check_only"):
            with tempfile.TemporaryDirectory() as folder:
                seconds, why = latency_on(sys.argv[1], trial, folder)
            if seconds is None:
                outcome.update(verdict="not measurable", status=1, message=why)
            else:
                outcome.update(cost=seconds, seconds=seconds)
                outcome["counters"].append({"name": "real_machine", "unit": "", "help": "timed on a NeuronCore", "value": 1.0})
        print(json.dumps(outcome), flush=True)


if __name__ == "__main__":
    main()
