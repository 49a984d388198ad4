#!/usr/bin/python3
"""Runs hipBLASLt's FP8 GEMM kernels for gfx942 on the emulator: results against numpy, findings, and barriers taken away.

    python3 bench/cdna_hipblaslt.py HIPBLASLT [--tilewright build/tilewright] [--size 512,512,3072]

HIPBLASLT is a checkout of github.com/ROCm/hipBLASLt. Its folder tensilelite/Tensile/CustomKernels has the kernels as assembly; clang-22
makes code objects of them. Arguments are those of ContractionSolution.cpp (kernelArgs, singleCallArgs, version 2), by their names in
the objects' metadata. Each kernel runs with all checks. Then it runs once for each barrier of its main loop, without that barrier:
`races` must report each. Exit status 1 if a result is wrong or a missing barrier is not reported.
"""
import needs  # names a missing module

import argparse
import glob
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import numpy as np

from cdna_aiter import error_of, fp8_codes, from_bf16, rng


def launch_of(m, n, k, tile):
    """The arguments of D = scales * (A B), columns of length m; no bias, no activation. Files are named as arguments."""
    groups = -(-m // tile[0]) * -(-n // tile[1])
    pad = 1 << 16 | 0x3FF << 22  # one XCC, groups of all compute units
    numbers = {"Gemm info": 1, "kernel info0": 1, "kernel info1": 1 | pad, "numWG": groups, "SizesFree0": m, "SizesFree1": n, "SizesFree2": 1,
               "SizesSum0": k, "strideD0": m, "strideD1": m * n, "strideC0": m, "strideC1": m * n, "strideA0": k, "strideA1": m * k,
               "strideB0": k, "strideB1": n * k, "biasType": 0, "StrideBias": 0, "activationType": 0}
    reals = {"alpha": 1, "beta": 0, "activationAlpha": 0, "activationBeta": 0}
    args = {name: f"u32={value}" for name, value in numbers.items()} | {name: f"f32={value}" for name, value in reals.items()}
    args |= {name: f"in={name}.bin" for name in ("A", "B", "AddressScaleA", "AddressScaleB")}
    args |= {"D": f"out=D.bin:{2 * m * n}"} | dict.fromkeys(("C", "AddressScaleAlphaVec", "bias"), "null")
    return {"grid": [groups], "block": [256], "args": args}


class Problem:
    """Operands in files of a folder, and the result that they must give."""

    def __init__(self, folder, m, n, k):
        self.folder, self.size = folder, (m, n, k)
        codes = np.array([c for c in range(256) if c & 127 < 0x40 and c != 0x80], np.uint8)
        data = {"A": rng.choice(codes, (m, k)), "B": rng.choice(codes, (n, k)), "AddressScaleA": rng.choice([.5, 1, 2], m).astype(np.float32),
                "AddressScaleB": rng.choice([.5, 1, 2], n).astype(np.float32)}
        for name, array in data.items():
            array.tofile(os.path.join(folder, name + ".bin"))
        a, b = (fp8_codes("cdna3")[data[x]].astype(np.float64) * data[f"AddressScale{x}"][:, None] for x in "AB")
        self.expected = b @ a.T

    def run(self, command, object_file, tile, checks):
        """Findings, seconds and the error of the result."""
        with open(os.path.join(self.folder, "launch.json"), "w") as file:
            json.dump(launch_of(*self.size, tile), file)
        begin = time.time()
        r = subprocess.run([command, "run", object_file, "--args", "launch.json", "-t", "cdna3", "--no-timing", "--checks", checks],
                           cwd=self.folder, capture_output=True, text=True, env=os.environ | {"COLUMNS": "1000"})
        seconds = time.time() - begin
        if r.returncode not in (0, 1):
            sys.exit(r.stderr)
        got = np.fromfile(os.path.join(self.folder, "D.bin"), np.uint16).reshape(self.expected.shape)
        return re.findall(r"^\w+: .* workgroup .*", r.stdout + r.stderr, re.M), seconds, error_of(from_bf16(got), self.expected, 2**-8)


def assemble(text, folder):
    source, target = os.path.join(folder, "kernel.s"), os.path.join(folder, "kernel.co")
    with open(source, "w") as file:
        file.write(text)
    subprocess.run(["clang-22", "-x", "assembler", "--target=amdgcn-amd-amdhsa", "-mcpu=gfx942", source, "-o", target], check=True)
    return target


def barriers_of_loop(lines):
    begin, end = (next(i for i, line in enumerate(lines) if line.startswith(label)) for label in ("label_LoopBeginL:", "label_LoopEndL"))
    return [i for i in range(begin, end) if lines[i].startswith("s_barrier")]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hipblaslt")
    parser.add_argument("--tilewright", default="build/tilewright")
    parser.add_argument("--size", default="512,512,3072")
    options = parser.parse_args()
    command = os.path.abspath(options.tilewright)
    files = sorted(glob.glob(os.path.join(options.hipblaslt, "tensilelite/Tensile/CustomKernels/*_F8BS_*.s")))
    wrong = not files
    with tempfile.TemporaryDirectory() as folder:
        problem = Problem(folder, *map(int, options.size.split(",")))
        for file in files:
            with open(file) as f:
                lines = f.read().splitlines()
            tile = tuple(map(int, re.search(r"_MT(\d+)x(\d+)x", file).groups()))
            found, seconds, error = problem.run(command, assemble("\n".join(lines), folder), tile, "all")
            print(f"{os.path.basename(file)}: error {error:.1e}, {len(found)} findings, {seconds:.1f} s", *found, sep="\n    ", flush=True)
            wrong |= error >= 1
            for at in barriers_of_loop(lines):
                found, seconds, _ = problem.run(command, assemble("\n".join(lines[:at] + lines[at + 1:]), folder), tile, "races")
                print(f"    without the barrier of line {at + 1}: {len(found)} races, {seconds:.1f} s", flush=True)
                wrong |= not found
    return wrong


if __name__ == "__main__":
    sys.exit(main())
