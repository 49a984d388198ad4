#!/usr/bin/env python3
"""The 15 Trainium operators of Autocomp: reference kernels and ours, on the simulator.

    bench/trainium_operators.py AUTOCOMP [--build build] [--target trn1] [--only NAME] [--tune-seconds 60] [--json FILE]
                                [--page FILE] [--at-once 1]

AUTOCOMP is a checkout of https://github.com/ucb-bar/autocomp (commit dd26a56). Its harnesses give shapes and helpers, its
solutions the reference kernels: "sols/trn-*-nki1". Both kernels are timed by the same model with the same shapes. A layout or a type
that differs from the reference is named in the last column. A ratio within the model's error of 1 is no gain. CPU seconds are
those of the whole search: they do not depend on other work of the host. --at-once N, from 2 to the number of cores, works on N operators,
each on its own core. With 1, a search may use every core.
"""
import argparse
import json
import math
import multiprocessing
import os
import re
import resource
import subprocess
import sys
import tempfile
import time

# arguments that the harnesses give by name, as defaults of the reference kernels, and helpers that are no NKI
TYPES = [("kernel_dtype, acc_type", "kernel_dtype=nl.bfloat16, acc_type=nl.float32"),
         ("kernel_dtype,\n    acc_type", "kernel_dtype=nl.bfloat16,\n    acc_type=nl.float32"),
         ("q_tile_idx=None", "q_tile_idx=127")]
CONV1D = [("**kwargs", "kwargs={'padding': ((0, 0), (1, 1))}")]
CONV2D = [("**kwargs", "kwargs={'padding': ((0, 0), (0, 0)), 'stride': (1, 1), 'rhs_dilation': (1, 1), 'in_perm': [0, 1, 2, 3], "
           "'kern_perm': [0, 1, 2, 3], 'out_perm': [0, 1, 2, 3]}")]
SUMS = [("reduce(mul, shape, 1)", "int(np.prod(shape))")]

# the rows that no mean counts
OUTSIDE = "not in the means"
# name, set and file, operands of the reference, directives, our problem, published (start, best) in us, what differs
OPERATORS = [
    ("rmsnorm", "tutorial", "0_rmsnorm", "f32[512,4096] f32[4096] >f32[512,4096]", "",
     "layernorm rows=512 cols=4096 norm=rms", None, ""),
    ("layernorm", "tutorial", "1_layernorm", "f32[4096,8192] f32[8192] f32[8192] >f32[4096,8192]", "#: epsilon = 1e-5\n",
     "layernorm rows=4096 cols=8192", None, ""),
    ("gemm", "tutorial", "2_gemm", "bf16[8192,4096] bf16[8192,8192] >bf16[4096,8192]", "",
     "gemm m=4096 n=8192 k=8192 a=bf16 b=bf16 a_transposed=1", (20990, 6960), ""),
    ("mamba", "tutorial", "3_mamba", "f32[1,256,2048] f32[1,256,2048] f32[256,16] f32[1,16,2048] f32[1,16,2048] >f32[1,256,2048]", "",
     "mamba c=256 s=2048 n=16", (636, 359), ""),
    ("attention", "tutorial", "4_attention", "bf16[128,4096] bf16[128,4096] bf16[128,4096] >bf16[4096,128]", "",
     "attention b=1 hq=1 hkv=1 sq=4096 sk=4096 d=128 a=bf16", (3093, 293), "ours: q, k, v [s][d]"),
    ("sd attention", "tutorial", "5_sdattention", "f32[4096,64] f32[4096,64] f32[4096,64] >f32[4096,64]", "",
     "attention b=1 hq=1 hkv=1 sq=4096 sk=4096 d=64 a=f32 arithmetic=bf16", (558, 384), ""),
    ("cumsum", "advanced", "0_cumsum", "f32[2048,2048] >f32[2048,2048]", SUMS, "cumsum rows=2048 cols=2048", None, ""),
    ("transpose", "advanced", "1_transpose", "f32[512,512,512] >f32[512,512,512]", "#: dim = 1\n",
     "transpose b=512 rows=512 cols=512", None, ""),
    ("max pooling", "advanced", "2_maxpool", "f32[448,448] >f32[446,446]", "#: pool_size = 3\n", "pool h=448 w=448 r=3 s=3",
     None, ""),
    ("rope", "advanced", "3_rope", "f32[128,4096] f32[64,4096] f32[64,4096] >f32[128,4096]", "",
     "rotary b=1 h=1 s=4096 d=128 transposed=1", None, ""),
    ("depthwise conv1d", "advanced", "4_conv1d", "f32[8,512,1,2048] f32[512,1,1,3] >f32[8,512,1,2048]",
     CONV1D, "depthwise n=8 c=512 w=2048 taps=3 pad=1", (8007, 461), ""),
    ("conv2d", "advanced", "5_conv2d", "f32[16,128,128,128] f32[512,128,3,3] >f32[16,512,126,126]", CONV2D,
     "conv2d n=16 h=128 w=128 c=128 k=512 r=3 s=3 a=f32 arithmetic=bf16 image_layout=nchw weight_layout=kcrs", None,
     "ours: products in bf16, within the harness's 1e-2"),
    ("conv2d in f32", "advanced", "5_conv2d", "f32[16,128,128,128] f32[512,128,3,3] >f32[16,512,126,126]", CONV2D,
     "conv2d n=16 h=128 w=128 c=128 k=512 r=3 s=3 a=f32 image_layout=nchw weight_layout=kcrs", None, OUTSIDE),
    ("causal attention 2048", "advanced", "6_csa_2048", "bf16[2048,128] bf16[128,2048] bf16[2048,128] >bf16[2048,128] >f32[2048,1] >f32[2048,1]",
     TYPES, "attention b=1 hq=1 hkv=1 sq=2048 sk=2048 d=128 causal=1 a=bf16", None, "ours: k [s][d]; scale 1/sqrt(d)"),
    ("causal attention 16384", "advanced", "7_csa_16384",
     "f32[128,16384] f32[128,16384] f32[128,128,128] f32[128,130] i8[128,16384] >bf16[128,130]", TYPES,
     "attention b=1 hq=1 hkv=1 sq=128 sk=16384 d=128 a=f32 arithmetic=bf16", None, "ours: k [s][d]"),
    ("multi-head causal", "advanced", "8_mha",
     "bf16[8,2048,128] bf16[8,128,2048] bf16[8,2048,128] >bf16[8,2048,128] >bf16[8,2048,1] >bf16[8,2048,1]", TYPES,
     "attention b=1 hq=8 hkv=8 sq=2048 sk=2048 d=128 causal=1 a=bf16", None, "ours: k [s][d]; scale 1/sqrt(d)"),
]


def reference_source(checkout, group, name, changes):
    """The harness's imports and helpers, and the solution. `changes`: directives, or pairs of texts."""
    harness_folder = os.path.join(checkout, "harnesses", f"trn-{group}-nki1")
    harness = next(f for f in os.listdir(harness_folder) if f.startswith(name))
    with open(os.path.join(harness_folder, harness)) as file:
        text = file.read()
    with open(os.path.join(checkout, "sols", f"trn-{group}-nki1", name + "_ref.py")) as file:
        solution = file.read()
    head, rest = text.split("# SUBSTITUTE HERE")
    head = "\n".join(l for l in head.split("\n") if not re.match(r"(import|from) (torch|time|typing|ml_dtypes)", l))
    helpers = rest.split("@nki.jit")[0]  # functions and constants that the harness defines before its own copy of the kernel
    directives = changes if isinstance(changes, str) else ""
    text = "#: kernel = solution\n" + directives + head + helpers + solution + "\n"
    for old, new in changes if isinstance(changes, list) else []:
        text = text.replace(old, new)
    return text


TRACES = {"gemm": "trn-tutorial/2_gemm", "mamba": "trn-tutorial/3_mamba", "attention": "trn-tutorial/4_attention",
          "sd attention": "trn-tutorial/5_sd_attention", "depthwise conv1d": "trn-advanced/4_conv1d"}


def time_of_trace(options, name, changes, operands, folder):
    """The best kernel of the published trace of the same operator, on the same model."""
    if name not in TRACES:
        return None
    with open(os.path.join(options.checkout, "examples", TRACES[name] + "_opt.py")) as file:
        text = file.read()
    for old, new in changes if isinstance(changes, list) else []:
        text = text.replace(old, new)
    functions = re.findall(r"@nki.jit\s*\ndef (\w+)", text)
    path = os.path.join(folder, "trace.py")
    with open(path, "w") as out:
        out.write(f"#: kernel = {functions[-1]}\n" + (changes if isinstance(changes, str) else "") + text)
    return time_of_reference(options, path, operands)[0]


def time_of_reference(options, path, operands):
    command = [os.path.join(options.build, "bench", "bench_trainium_source"), options.target, "--once", path] + operands.split()
    out = subprocess.run(command, capture_output=True, text=True)
    match = re.search(r"device +([0-9.]+) us +total +([0-9.]+) us", out.stdout)
    if not match:
        return None, (out.stdout + out.stderr).strip().split("\n")[-1]
    return float(match.group(2)), ""


UNITS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6}
RUNG = re.compile(r"^ +([0-9.]+)x +(?:[0-9.]+%)? +([0-9.]+) (ns|us|ms|s)  (.*)$")


def time_of_ours(options, problem):
    """A search's ladder [(us, steps)], its last line on what was checked, an error, CPU and wall seconds."""
    command = [os.path.join(options.build, "tilewright"), "tune", *problem.split(), "-t", options.target, "--no-wisdom", "--jobs", "1",
               "--seconds", str(options.tune_seconds), "--seed", "1"]
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.time()
    out = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ, COLUMNS="400"))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    rungs = [(float(m.group(2)) * UNITS[m.group(3)], m.group(4).strip()) for m in map(RUNG.match, out.stdout.split("\n")) if m]
    checked = re.search(r"^  checked: (.*)$", out.stdout, re.M)
    trouble = "" if out.returncode == 0 and rungs else (out.stderr or out.stdout).strip().split("\n")[-1]
    return rungs, checked.group(1) if checked else "", trouble, cpu, time.time() - started


def keep_to_a_core(cores):
    """Starts a worker that works beside others: its searches use one core of their own."""
    os.sched_setaffinity(0, [cores.get()])


def row_of(work):
    """The reference, the best step of the trace, and our search of one operator. One call at a time in a process: it counts CPU seconds of children."""
    options, (name, group, file, operands, directives, problem, published, differs) = work
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "kernel.py")
        with open(path, "w") as out:
            out.write(reference_source(options.checkout, group, file, directives))
        reference, why = time_of_reference(options, path, operands)
        trace = time_of_trace(options, name, directives, operands, folder)
    rungs, checked, trouble, cpu, wall = ([], "", "", 0, 0) if options.references else time_of_ours(options, problem)
    ours = rungs[-1][0] if rungs else None
    return dict(operator=name, set=group, reference_us=reference, trace_us=trace, ours_us=ours, ratio=reference / ours if reference and ours else None,
                rungs=rungs, checked=checked, published=published, differs=differs, cpu_seconds=cpu, wall_seconds=wall, trouble=why or trouble)


def show(number, form="{:.1f}"):
    return form.format(number) if number else "-"


def arrow(published):
    return " -> ".join(map(str, published)) if published else "-"


def mean_of(values):
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def page_of(options, rows, ratios):
    """The results as a page of docs/lab."""
    lines = ["# Autocomp's operators on Trainium, step by step", "",
             "Question: What does each step of a tuned schedule gain over the baseline and over the published reference kernel?  ",
             f"Machine: `{options.target}` (simulated), one thread of a host with {os.cpu_count()} cores.  ",
             f"This page is made by one command on {time.strftime('%Y-%m-%d')}:", "",
             f"    bench/trainium_operators.py AUTOCOMP --target {options.target} --tune-seconds {options.tune_seconds:g} --at-once {options.at_once} --page FILE", "",
             f"AUTOCOMP is ucb-bar/autocomp at dd26a56. A ratio within {100 * options.error:.0f}% of 1 is no gain. No emitted kernel ran on an instance.",
             "Published times are microseconds of the start and the best step on a trn1.", "",
             "| operator | reference us | best step of the trace us | ours us | ratio | published us | search, CPU s | search, s | what differs |",
             "| --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | --- |"]
    for r in rows:
        lines.append(f"| {r['operator']} | {show(r['reference_us'])} | {show(r['trace_us'])} | {show(r['ours_us'])} | {show(r['ratio'], '{:.2f}')} | "
                     f"{arrow(r['published'])} | {r['cpu_seconds']:.0f} | {r['wall_seconds']:.0f} | {'; '.join(filter(None, [r['differs'], r['trouble']]))} |")
    lines += ["", "## Ladders", "", "| operator | step | us | gain over the reference |", "| --- | --- | ---: | ---: |"]
    for r in rows:
        for us, step in r["rungs"]:
            gain = r["reference_us"] / us if r["reference_us"] else None
            lines.append(f"| {r['operator']} | {step} | {us:.1f} | {show(gain, '{:.2f}')} |")
    lines += ["", "## Means", ""]
    for group, paper in (("tutorial", 1.36), ("advanced", 1.9)):
        n = sum(o[1] == group and o[7] != OUTSIDE for o in OPERATORS)
        lines.append(f"- {group}: {show(mean_of(ratios[group]), '{:.2f}')} of {len(ratios[group])} of {n} operators; the paper has {paper} on a trn1")
    gains = sum(1 for r in rows if r["ratio"] and r["ratio"] > 1 + options.error)
    lines += ["", f"Conclusion: {gains} of {len(rows)} operators gain more than the model's error over their references."]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout")
    parser.add_argument("--build", default="build")
    parser.add_argument("--target", default="trn1")
    parser.add_argument("--only", default="")
    parser.add_argument("--tune-seconds", type=float, default=60)
    parser.add_argument("--at-once", type=int, default=1, help="number of operators at a time; from 2 on, each has its own core [default: 1]")
    parser.add_argument("--references", action="store_true", help="time the references alone")
    parser.add_argument("--error", type=float, default=0.11, help="of the model: ratios below 1 + this are no gains")
    parser.add_argument("--json")
    parser.add_argument("--page", help="write a page of docs/lab")
    options = parser.parse_args()
    usable = sorted(os.sched_getaffinity(0))
    if not 1 <= options.at_once <= len(usable):
        parser.error(f"--at-once: expected 1 to {len(usable)}, the number of usable cores (found {options.at_once})")
    rows, ratios = [], {"tutorial": [], "advanced": []}
    print("| operator | reference us | best of the trace us | ours us | ratio | published us | CPU s | steps, and what differs |\n| --- | --- | --- | --- | --- | --- | --- | --- |")
    chosen = [(options, operator) for operator in OPERATORS if operator[0].startswith(options.only)]
    cores = multiprocessing.Queue()
    for core in usable:
        cores.put(core)
    with multiprocessing.Pool(options.at_once, keep_to_a_core if options.at_once > 1 else None, [cores]) as pool:
        for row in pool.imap(row_of, chosen):
            if row["ratio"] and row["differs"] != OUTSIDE:
                ratios[row["set"]].append(row["ratio"] if abs(row["ratio"] - 1) > options.error else 1.0)
            rows.append(row)
            step = row["rungs"][-1][1] if row["rungs"] else ""
            print(f"| {row['operator']} | {show(row['reference_us'])} | {show(row['trace_us'])} | {show(row['ours_us'])} | {show(row['ratio'], '{:.2f}')} | "
                  f"{arrow(row['published'])} | {row['cpu_seconds']:.0f} | {'; '.join(filter(None, [step, row['differs'], row['trouble']]))} |", flush=True)
    for group, values in ratios.items():
        if values:
            print(f"\n{group}: geometric mean {mean_of(values):.2f} of {len(values)} operators; ratios within the model's error count as 1")
    if options.page:
        with open(options.page, "w") as out:
            out.write(page_of(options, rows, ratios))
    if options.json:
        with open(options.json, "w") as out:
            json.dump(dict(target=options.target, rows=rows), out, indent=1)


if __name__ == "__main__":
    sys.exit(main())
