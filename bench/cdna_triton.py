#!/usr/bin/python3
"""Runs kernels that Triton compiled, as public repositories store them, on the emulator and compares them with numpy.

    python3 bench/cdna_triton.py ROCM_TRITON.git AITER_FORK.git [--tilewright build/tilewright] [--checks all]

Clones of github.com/ROCmSoftwarePlatform/triton and github.com/vjelic/aiter-glog-fork with all branches. Arguments are those of the
kernels' .ttir beside the objects, dynamic LDS is "shared" of the .json; Triton passes a last pointer to a scratch that is not used.
Exit status 1 if a result is wrong.
"""
import needs  # names a missing module

import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np

from cdna_aiter import FP4, fp8_codes, from_bf16, rng, small_integers, to_bf16

MATMUL = "matmul_kernel_BM256_BN256_BK64_GM4_SK1_nW4_nS2_EU0_kP2_mfma16_sched"
TUNED = "dtanner/golden_ir:python/perf-kernels/tools/tune_gemm/triton_cache_%s/" + MATMUL + "%s.hsaco"
MOE = "grok_experiments:cache/cache/%s/fused_moe_kernel.hsaco"
SKINNY = "scxiao/test_skinny_mxfp4_aggregate_load:skinny_M128/%s/_gemm_afp4_wfp4_kernel.hsaco"
DENSE = "hack_mfma16_dense_mxfp4:study_dense_mxfp4/%s/_gemm_afp4_wfp4_kernel.hsaco"


class Run:
    def __init__(self, options, folder, machine, block, lds, kernel):
        self.options, self.folder = options, folder
        self.command = ["--kernel", kernel, "--block", str(block), "--lds", str(lds), "-t", machine]
        self.n, self.out = 0, None

    def path(self):
        self.n += 1
        return os.path.join(self.folder, f"{self.n}.bin")

    def add(self, *values):
        """Arrays are inputs, numbers 32-bit integers, a pair the bytes and type of the output, None a null pointer."""
        for v in values:
            if isinstance(v, tuple):
                self.out = (self.path(), v[1])
                spec = f"out={self.out[0]}:{v[0]}"
            elif isinstance(v, np.ndarray):
                path = self.path()
                np.ascontiguousarray(v).tofile(path)
                spec = f"in={path}"
            else:
                spec = "null" if v is None else f"i32={v}"
            self.command += ["--arg", spec]

    def launch(self, file, groups):
        command = [self.options.tilewright, "run", file, "--grid", str(groups)] + self.command
        if self.options.checks:
            command += ["--checks", self.options.checks]
        r = subprocess.run(command, capture_output=True, text=True)
        if r.returncode:
            print(r.stdout[-500:], r.stderr, sep="")
        return None if r.returncode else np.fromfile(*self.out)


def matmul(options, folder, file, kernel):
    """f16, the tile that workgroup 0 computes (its order of tiles is made for 608 workgroups)."""
    m = n = 256
    k = 192
    a, b = small_integers(m, k).astype(np.float16), small_integers(n, k).astype(np.float16)
    run = Run(options, folder, "cdna3", 256, 65536, kernel)
    run.add(a, b, (2 * m * n, np.float16), m, n, k, k, k, n, 0, None)
    got = run.launch(file, 1)
    expected = (a.astype(np.float32) @ b.astype(np.float32).T).astype(np.float16)
    return got is not None and (got.reshape(m, n) == expected).all()


def moe(options, folder, file, weighted):
    """fp8 (FNUZ): tokens, each with two of three experts; rows sorted by expert, padded to 256. Weighted: the second product
    of a mixture, whose A has a row for each token and expert."""
    tokens, n, k, experts = 100, 300, 256, 3
    row = np.arange(2 * tokens) // (1 if weighted else 2)
    codes = np.array([c for c in range(256) if c & 127 < 0x40 and c != 0x80], np.uint8)
    values = fp8_codes("cdna3")
    a, b = rng.choice(codes, (row.max() + 1, k)), rng.choice(codes, (experts, n, k))
    owner = rng.integers(0, experts, 2 * tokens)
    scale_a, scale_b = np.array([0.5], np.float32), np.array([1, 2, 0.25], np.float32)
    weight = rng.choice(np.array([0.5, 1, 2], np.float32), 2 * tokens)
    ids = np.full((experts, 256), 2 * tokens, np.int32)
    for e in range(experts):
        mine = np.flatnonzero(owner == e)
        ids[e, :len(mine)] = mine
    run = Run(options, folder, "cdna3", 512, 65536, "fused_moe_kernel")
    run.add(a, b, (2 * 2 * tokens * n, np.float16), scale_a, scale_b, weight, ids, np.arange(experts, dtype=np.int32),
            np.array([256 * experts], np.int32), n, k, 256 * experts, 2 * tokens, k, n * k, k, n)
    got = run.launch(file, experts * ((n + 255) // 256))
    expected = np.stack([values[a[row[i]]] @ values[b[owner[i]]].T * (0.5 * scale_b[owner[i]]) for i in range(2 * tokens)])
    if weighted:
        expected *= weight[:, None]
    if got is None:
        return False
    return np.abs(got.reshape(2 * tokens, n) - expected).max() <= 2e-3 * np.abs(expected).max()


def packed(x):
    return x[:, ::2] | x[:, 1::2] << 4


def mxfp4(m, n, k):
    a, b = rng.integers(0, 16, (m, k)).astype(np.uint8), rng.integers(0, 16, (n, k)).astype(np.uint8)
    sa, sb = (rng.integers(125, 130, (r, k // 32)).astype(np.uint8) for r in (m, n))
    scale = lambda s: np.repeat(2.0 ** (s.astype(np.float32) - 127), 32, 1)
    return packed(a), packed(b), sa, sb, from_bf16(to_bf16((FP4[a] * scale(sa)) @ (FP4[b] * scale(sb)).T))


def is_close(got, expected):
    """bf16 of sums in another order: half a unit in the last place, but for what cancels."""
    return got is not None and np.abs(from_bf16(got) - expected).max() <= 2 ** -8 * np.abs(expected).max()


def skinny(options, folder, file):
    """MXFP4, strides in the code: k = 16384, rows of 106496 results."""
    m, n, pitch = 128, 256, 106496
    a, b, sa, sb, expected = mxfp4(m, n, 16384)
    run = Run(options, folder, "cdna4", 512, 139264, "_gemm_afp4_wfp4_kernel")
    run.add(a, b, (2 * ((m - 1) * pitch + n), np.uint16), sa, sb, m, n, None)
    got = run.launch(file, n // 128)
    return got is not None and is_close(np.pad(got, (0, pitch - n)).reshape(m, pitch)[:, :n], expected)


def dense(options, folder, file):
    """MXFP4 with scales by columns; rows past the end of A and B wrap around."""
    m, n, k = 500, 260, 1024
    a, b, sa, sb, expected = mxfp4(m, n, k)
    run = Run(options, folder, "cdna4", 512, 139264, "_gemm_afp4_wfp4_kernel")
    run.add(a, b, (2 * m * n, np.uint16), sa.T, sb.T, m, n, k // 2, k // 2, k // 2, n, m, n, None)
    got = run.launch(file, 4)
    return got is not None and is_close(got.reshape(m, n), expected)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("triton")
    parser.add_argument("aiter")
    parser.add_argument("--tilewright", default="build/tilewright")
    parser.add_argument("--checks")
    options = parser.parse_args()
    cases = [(options.triton, TUNED % (folder, kind), matmul, MATMUL + kind)
             for folder, kind in (("none", "NONE"), ("local_prefetch", "LOCAL_PREFETCH"))]
    cases += [(options.triton, MOE % key, moe, weighted) for key, weighted in (
        ("691460c0e8c7f736a6aee7ba8aa5d0ed666219224bf1555c81a2a77a7ada1921", False),
        ("cf0dbc6b78d88277973028c2ef6f72822402dccb0719944a2b1f9274e6732cc9", True))]
    cases += [(options.aiter, SKINNY % name, skinny) for name in ("nW8_orig", "hack0")]
    cases += [(options.aiter, DENSE % name, dense) for name in ("hack_mfma16_0", "hack_mfma16_1")]
    wrong = 0
    for repository, place, how, *more in cases:
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "kernel.co")
            with open(file, "wb") as out:
                subprocess.run(["git", "-C", repository, "show", place], stdout=out, check=True)
            good = how(options, folder, file, *more)
        wrong += not good
        print("right" if good else "WRONG", place.split(":")[1], flush=True)
    print(f"{len(cases) - wrong} of {len(cases)} right")
    return wrong != 0


if __name__ == "__main__":
    sys.exit(main())
