#!/usr/bin/python3
"""Runs AMD's prebuilt kernels (ROCm/aiter, hsa/gfx942 and hsa/gfx950) on the emulator and compares them with numpy.

    python3 bench/cdna_aiter.py AITER/hsa [--tilewright build/tilewright] [--checks all] [--only PART,PART...]

How they are launched is from AITER's csrc (asm_topksoftmax.cu, asm_gemm_a16w16.cu, asm_gemm_a8w8.cu,
asm_gemm_a8w8_blockscale_bpreshuffle.cu, asm_f4gemm.cu, asm_fmoe.cu, mha_fwd.cu, mha_bwd.cu): every argument has a slot of 16 bytes. Exit status 1 if a result is wrong.
"""
import needs  # names a missing module

import argparse
import glob
import json
import os
import subprocess
import sys
import tempfile

import numpy as np

rng = np.random.default_rng(7)


def to_bf16(x):
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + (bits >> 16 & 1)) >> 16).astype(np.uint16)


def from_bf16(x):
    return (x.astype(np.uint32) << 16).view(np.float32)


def small_integers(*shape):
    return rng.integers(-3, 4, shape).astype(np.float32)


class Run:
    """One launch: slots by number, files in a folder of their own."""

    def __init__(self, options, machine):
        self.options, self.machine, self.folder = options, machine, tempfile.TemporaryDirectory()
        self.arguments, self.outputs = [], {}

    def slot(self, n, spec):
        self.arguments += ["--arg", f"@{16 * n}:{spec}"]

    def path(self, n):
        return os.path.join(self.folder.name, f"{n}.bin")

    def array(self, n, data):
        np.ascontiguousarray(data).tofile(self.path(n))
        self.slot(n, f"in={self.path(n)}")

    def output(self, n, shape, dtype, begin=None):
        self.outputs[n] = (shape, dtype)
        if begin is None:
            self.slot(n, f"out={self.path(n)}:{int(np.prod(shape)) * np.dtype(dtype).itemsize}")
        else:
            np.full(shape, begin, dtype).tofile(self.path(n))
            self.slot(n, f"inout={self.path(n)}:{self.path(n)}")

    def launch(self, file, grid, block):
        command = [self.options.tilewright, "run", file, "--grid", ",".join(map(str, grid)), "--block", str(block), "-t",
                   self.machine] + self.arguments
        if self.options.checks:
            command += ["--checks", self.options.checks]
        self.result = subprocess.run(command, capture_output=True, text=True)
        self.message = "\n    ".join(line for line in (self.result.stdout + self.result.stderr).splitlines() if self.options.checks and ("at 0x" in line or "finding" in line) or "tilewright:" in line)
        try:
            return {n: np.fromfile(self.path(n), d).reshape(s) for n, (s, d) in self.outputs.items()}
        except (OSError, ValueError):
            return None


def gemm_slots(run, d, strides, m, n, k):
    run.slot(1, "null")
    run.slot(4, "f32=1"), run.slot(5, "f32=0")
    for at, value in strides.items():
        run.slot(at, f"u32={value}")
    run.slot(14, f"u32={m}"), run.slot(15, f"u32={n}"), run.slot(16, f"u32={k}")


def bf16_gemm(run, file):
    m = n = 256
    k = 192
    a, b = small_integers(m, k), small_integers(n, k)
    run.output(0, (m, n), np.uint16)
    run.array(2, to_bf16(a)), run.array(3, to_bf16(b))
    gemm_slots(run, 0, {6: 2 * n, 7: 0, 8: 2 * n, 9: 0, 10: 2 * k, 11: 0, 12: 2 * k, 13: 0}, m, n, k)
    run.slot(17, "u32=1"), run.slot(18, "u32=1"), run.slot(19, "null"), run.slot(20, "u32=0"), run.slot(21, "null")
    got = run.launch(file, (1, 1, 1), 256)
    return got is not None and error_of(from_bf16(got[0]), from_bf16(to_bf16(a @ b.T)))


FP4 = np.array([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6], np.float32)


def shuffled_scales(s):
    rows, columns = (s.shape[0] + 255) // 256 * 256, (s.shape[1] + 7) // 8 * 8
    p = np.full((rows, columns), 127, np.uint8)
    p[:s.shape[0], :s.shape[1]] = s
    return p.reshape(rows // 32, 2, 16, columns // 8, 2, 4).transpose(0, 3, 5, 2, 4, 1).reshape(rows, columns)


def shuffled(b):
    """Tiles of 16 rows and 16 bytes."""
    n, k = b.shape
    return b.reshape(n // 16, 16, k // 16, 16).transpose(0, 2, 1, 3)


def mxfp4_gemm(run, file):
    rows, n = map(int, os.path.basename(file)[:-3].rsplit("_", 1)[1].split("x"))
    m, k = rows + 32, 512
    a, b = rng.integers(0, 16, (m, k)).astype(np.uint8), rng.integers(0, 16, (n, k)).astype(np.uint8)
    sa, sb = (rng.integers(125, 130, (r, k // 32)).astype(np.uint8) for r in (m, n))
    scale = lambda s: np.repeat(2.0 ** (s.astype(np.float32) - 127), 32, 1)
    expected = (FP4[a] * scale(sa)) @ (FP4[b] * scale(sb)).T
    pack = lambda x: x[:, ::2] | x[:, 1::2] << 4
    run.output(0, (m, n), np.uint16)
    run.array(2, pack(a)), run.array(3, shuffled(pack(b)))
    gemm_slots(run, 0, {6: 0, 7: 0, 8: n, 9: 0, 10: k, 11: 0, 12: k, 13: 0}, m, n, k)
    scales = [shuffled_scales(s) for s in (sa, sb)]
    run.array(17, scales[0]), run.array(18, scales[1])
    run.slot(19, f"u32={scales[0].shape[1]}"), run.slot(20, "u32=0")
    run.slot(21, f"u32={scales[1].shape[1]}"), run.slot(22, "u32=0"), run.slot(23, "u32=0")
    got = run.launch(file, (1, 2, 1), 256)
    return got is not None and error_of(from_bf16(got[0]), from_bf16(to_bf16(expected)), 0.01)


def fp8_codes(machine):
    """Values of all 256 codes of e4m3: FNUZ on cdna3, OCP on cdna4."""
    bias, values = (8 if machine == "cdna3" else 7), np.zeros(256, np.float32)
    for c in range(256):
        e, f = c >> 3 & 15, c & 7
        values[c] = (-1) ** (c >> 7) * ((8 + f) * 2.0 ** (e - bias - 3) if e else f * 2.0 ** (-2 - bias))
    return values


def fp8_gemm(run, file):
    m, n, k = 32, 128, 256
    codes = np.array([c for c in range(256) if c & 127 < 0x40 and c != 0x80], np.uint8)
    values = fp8_codes(run.machine)
    a, b = rng.choice(codes, (m, k)), rng.choice(codes, (n, k))
    sa, sb = rng.choice([.5, 1, 2], (m, k // 128)).astype(np.float32), rng.choice([.5, 1], (n // 128, k // 128)).astype(
        np.float32)
    expected = (values[a].astype(np.float64) * np.repeat(sa, 128, 1)) @ (
        values[b].astype(np.float64) * np.repeat(np.repeat(sb, 128, 0), 128, 1)).T
    run.output(0, (m, n), np.uint16)
    run.array(1, a), run.array(2, shuffled(b)), run.array(3, sa.T), run.array(4, sb), run.array(5, np.zeros(n, np.float32))
    for at, value in enumerate((m, n, k, k, k, 2 * n, 1, m, 1, k // 128)):
        run.slot(6 + at, f"u32={value}")
    got = run.launch(file, (n // 128, 1, 1), 256)
    return got is not None and error_of(from_bf16(got[0]), expected, 0.01)


def int8_gemm(run, file):
    m, n, k = 48, 256, 384
    a, b = rng.integers(-128, 128, (m, k)).astype(np.int8), rng.integers(-128, 128, (n, k)).astype(np.int8)
    sa, sb = (rng.choice([2.0**-12, 2.0**-11], r).astype(np.float32) for r in (m, n))
    bias = small_integers(n)
    expected = (a.astype(np.float64) @ b.T.astype(np.float64)) * sa[:, None] * sb + bias
    rows, columns = map(int, os.path.basename(file)[:-3].rsplit("_", 1)[1].split("x"))
    run.output(0, (m, n), np.uint16)
    run.array(1, a), run.array(2, shuffled(b)), run.array(3, sa), run.array(4, sb), run.array(5, bias)
    for at, value in enumerate((m, n, k, k, k, 2 * n, 1)):
        run.slot(6 + at, f"u32={value}")
    got = run.launch(file, (n // columns, (m + rows - 1) // rows, 1), 256)
    return got is not None and error_of(from_bf16(got[0]), expected, 0.01)


def attention_inputs(s, d):
    return [from_bf16(to_bf16(rng.normal(0, 1, (s, d)))) for _ in range(3)]


def softmax(x):
    e = np.exp(x - x.max(1, keepdims=True))
    return e / e.sum(1, keepdims=True), (np.log(e.sum(1)) + x.max(1))


def attention_forward(run, file):
    causal = "causal" in file
    s, d = 700 if causal and run.machine == "cdna4" else 256, 128
    q, k, v = attention_inputs(s, d)
    scores = q @ k.T / np.sqrt(d)
    if causal:
        scores[np.triu_indices(s, 1)] = -np.inf
    p, lse = softmax(scores)
    row, head = 2 * d, 2 * d * s
    run.output(0, (s, d), np.uint16)
    run.array(1, to_bf16(q)), run.array(2, to_bf16(k)), run.array(3, to_bf16(v))
    run.output(4, (s,), np.float32)
    run.slot(5, f"f32={1 / np.sqrt(d)!r}".replace("np.float64(", "").replace(")", ""))
    for at, value in enumerate((s, row, 256 * row, head, head, 1, row, head, head, 3 if causal else 5, 1, s, d, d, 1, row, head, head, row,
                                head, head)):
        run.slot(6 + at, f"u32={value}")
    run.slot(27, "null"), run.slot(28, "null"), run.slot(29, f"u32={4 * s}")
    for at in range(30, 35):
        run.slot(at, "null")
    for at in range(35, 41):
        run.slot(at, "u32=0")
    tiles = (s + 255) // 256  # with a mask a workgroup takes one from each end
    got = run.launch(file, ((tiles + 1) // 2 if causal else tiles, 1, 1), 512)
    return got is not None and max(error_of(from_bf16(got[0]), p @ v, 0.02), error_of(got[4], lse, 0.01))


def attention_wide(run, file):
    """Forward for heads of 192 and 128, and in fp8 (descaled by one number each) for heads of 128 and 256."""
    causal, fp8 = "causal" in file, "_fp8" in file
    d, dv = (192, 128) if "hd192" in file else (256, 256) if "hd256" in file else (128, 128)
    s = 512
    size, codes = (1, fp8_codes(run.machine)) if fp8 else (2, None)
    if fp8:
        usable = np.array([c for c in range(256) if c & 127 < 0x40 and c != 0x80], np.uint8)
        bits = [rng.choice(usable, (s, w)) for w in (d, d, dv)]
        q, k, v = (codes[b] for b in bits)
    else:
        q, k, v = (from_bf16(to_bf16(rng.normal(0, 1, (s, w)))) for w in (d, d, dv))
        bits = [to_bf16(x) for x in (q, k, v)]
    scores = q @ k.T / np.sqrt(d)
    if causal:
        scores[np.triu_indices(s, 1)] = -np.inf
    p, lse = softmax(scores)
    rows = 128 if d == 192 else 256
    row, row_v, row_o = size * d, size * dv, 2 * dv
    run.output(0, (s, dv), np.uint16)
    for at, data in zip((1, 2, 3), bits):
        run.array(at, data)
    run.output(4, (s,), np.float32)
    run.slot(5, f"f32={float(1 / np.sqrt(d))}")
    for at, value in enumerate((s, row, rows * row, row * s, row * s, 1, row, row * s, row * s, 3 if causal else 5, 1, s, d, dv, 1, row_v,
                                row_v * s, row_v * s, row_o, row_o * s, row_o * s)):
        run.slot(6 + at, f"u32={value}")
    run.slot(27, "null"), run.slot(28, "null"), run.slot(29, f"u32={4 * s}")
    run.slot(30, "null"), run.slot(31, "null")
    for at in range(32, 35):
        run.array(at, np.ones(1, np.float32)) if fp8 else run.slot(at, "null")
    for at in range(35, 41):
        run.slot(at, "u32=4" if fp8 else "u32=0")
    tiles = (s + rows - 1) // rows
    got = run.launch(file, ((tiles + 1) // 2 if causal else tiles, 1, 1), 256 if d == 192 else 512)
    return got is not None and max(error_of(from_bf16(got[0]), p @ v, 0.06), error_of(got[4], lse, 0.01))


def attention_backward(run, file):
    s, d = 256, 128
    causal = "causal" in file
    q, k, v = attention_inputs(s, d)
    do = from_bf16(to_bf16(rng.normal(0, 1, (s, d))))
    scale = 1 / np.sqrt(d)
    scores = q @ k.T * scale
    if causal:
        scores[np.triu_indices(s, 1)] = -np.inf
    p, lse = softmax(scores)
    delta = (do * (p @ v)).sum(1)
    ds = p * (do @ v.T - delta[:, None])
    row, head = 2 * d, 2 * d * s
    run.output(0, (s, d), np.float32, 0), run.output(1, (s, d), np.uint16), run.output(2, (s, d), np.uint16)
    for at, data in zip((3, 4, 5, 6), (q, k, v, do)):
        run.array(at, to_bf16(data))
    run.array(7, lse.astype(np.float32)), run.array(8, delta.astype(np.float32))
    run.slot(9, f"f32={float(scale)}"), run.slot(10, "f32=1.4426950408889634")
    tile = 256 if run.machine == "cdna4" else 192
    for at, value in enumerate((s, tile * row, head, head, row, 1, head, head, row, row, s, d, d, 1, head, head, row, head, head,
                                row, head, head, head, head, row, 4 * s)):
        run.slot(11 + at, f"u32={value}")
    for at in range(37, 41):
        run.slot(at, "null")
    run.slot(41, f"u32={s}"), run.slot(42, "u32=0"), run.slot(43, "u32=0")
    tiles = (s + tile - 1) // tile
    got = run.launch(file, ((tiles + 1) // 2 if causal else tiles, 1, 1), 256)
    if got is None:
        return False
    return max(error_of(got[0], ds @ k * scale, 0.03), error_of(from_bf16(got[1]), ds.T @ q * scale, 0.03),
               error_of(from_bf16(got[2]), p.T @ do, 0.03))


def top_k(run, file):
    name = os.path.basename(file)[len("topksoftmax_"):-3]
    halves = name.endswith("_bf16")
    subm, experts, topk = map(int, name.replace("_bf16", "").split("x"))
    tokens = 30
    x = np.stack([rng.permutation(experts) for _ in range(tokens)]).astype(np.float32) / 16
    x = from_bf16(to_bf16(x)) if halves else x
    p, _ = softmax(x)
    order = np.argsort(-x, 1, kind="stable")[:, :topk]
    weights = np.take_along_axis(p, order, 1)
    weights /= weights.sum(1, keepdims=True)
    run.output(0, (tokens, topk), np.int32), run.output(1, (tokens, topk), np.float32)
    run.array(2, to_bf16(x) if halves else x)
    for at, value in enumerate((tokens, experts, topk, 1, 4 * topk)):
        run.slot(3 + at, f"u32={value}")
    got = run.launch(file, ((tokens + subm - 1) // subm, 1, 1), 256)
    if got is None:
        return False
    return max(error_of(got[1], weights, 1e-3), 0 if (got[0] == order).all() else 9)


def sorted_by_expert(chosen, weights, experts, rows):
    """Tokens of each expert, padded to whole blocks of `rows`: the choice's number in the upper byte, weights, an expert for each block."""
    tokens, topk = chosen.shape
    ids, parts, blocks = [], [], []
    for e in range(experts):
        mine, slots = np.nonzero(chosen == e)
        blank = -len(mine) % rows
        ids += [slots << 24 | mine, np.full(blank, topk << 24 | tokens)]
        parts += [weights[mine, slots], np.zeros(blank)]
        blocks += [e] * ((len(mine) + blank) // rows)
    return np.concatenate(ids).astype(np.uint32), np.concatenate(parts).astype(np.float32), np.array(blocks, np.uint32)


def mixture_of_experts(run, file):
    """Products of each chosen expert with a GELU between, added to the result in bf16 (asm_fmoe.cu, fused_moe.py)."""
    tokens, experts, topk, d, inner, rows, columns = 150, 4, 2, 512, 1024, 32, 512
    x, w1, w2 = (from_bf16(to_bf16(rng.normal(0, scale, shape)))
                 for scale, shape in ((1, (tokens, d)), (d**-.5, (experts, inner, d)), (inner**-.5, (experts, d, inner))))
    chosen = np.argsort(rng.normal(0, 1, (tokens, experts)), 1)[:, :topk]
    weights = rng.uniform(.25, 1, (tokens, topk)).astype(np.float32)
    expected = np.zeros((tokens, d))
    for slot in range(topk):
        for t in range(tokens):
            h = w1[chosen[t, slot]] @ x[t]
            h = h / (1 + np.exp(-2 * np.sqrt(2 / np.pi) * (h + .044715 * h**3)))
            expected[t] += weights[t, slot] * (w2[chosen[t, slot]] @ h)
    ids, parts, blocks = sorted_by_expert(chosen, weights, experts, rows)
    tiles = lambda w: to_bf16(w).reshape(experts, w.shape[1] // 16, 16, w.shape[2] // 32, 4, 8).transpose(0, 1, 3, 4, 2, 5)
    run.output(0, (tokens, d), np.uint16, 0)
    for at, data in ((1, to_bf16(x)), (2, tiles(w1)), (3, np.array([len(ids)], np.uint32)), (4, tiles(w2)), (9, ids), (10, parts), (11, blocks)):
        run.array(at, data)
    for at in range(5, 9):
        run.slot(at, "null")
    for at, value in enumerate((d, inner, tokens, experts, 2 * d, 2 * d, 2 * inner, 2 * d, 2 * d * inner, 2 * d * inner, 0, 0, 4 * inner, topk, 0, 2)):
        run.slot(12 + at, f"u32={value}")
    got = run.launch(file, (inner // columns, len(blocks), 1), 256)
    return got is not None and error_of(from_bf16(got[0]), expected, 0.02)


def error_of(got, expected, allowed=0.0):
    """The largest difference, as a part of the largest value; above what is allowed it counts from 1 up."""
    e = float(np.abs(got.astype(np.float64) - expected).max() / max(1e-30, np.abs(expected).max()))
    return e if e <= allowed else 1 + e if e == e else 9


CASES = [("cdna4", "gfx950/bf16gemm/bf16gemm_bf16_tn_256x256.co", bf16_gemm),
         ("cdna4", "gfx950/f4gemm/*_BpreShuffle_*.co", mxfp4_gemm),
         ("cdna4", "gfx950/fp8gemm_blockscale/*_32x128.co", fp8_gemm),
         ("cdna3", "gfx942/fp8gemm_blockscale/*_32x128.co", fp8_gemm),
         ("cdna4", "gfx950/i8gemm/*.co", int8_gemm),
         ("cdna3", "gfx942/i8gemm/*.co", int8_gemm),
         ("cdna4", "gfx950/fmha_v3_fwd/fwd_hd128_bf16*.co", attention_forward),
         ("cdna3", "gfx942/fmha_v3_fwd/MI300/fwd_hd128_bf16*.co", attention_forward),
         ("cdna4", "gfx950/fmha_v3_fwd/fwd_hd192_hd128_bf16*.co", attention_wide),
         ("cdna4", "gfx950/fmha_v3_fwd/fwd_hd*_fp8*.co", attention_wide),
         ("cdna4", "gfx950/fmha_v3_bwd/bwd_hd128_bf16*_a32_psskddv.co", attention_backward),
         ("cdna3", "gfx942/fmha_v3_bwd/bwd_hd128_bf16*_a32_*psskddv.co", attention_backward),
         ("cdna3", "gfx942/fmoe_b16.co", mixture_of_experts),
         ("cdna4", "gfx950/topksoftmax/*.co", top_k),
         ("cdna3", "gfx942/topksoftmax/*.co", top_k)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder")
    parser.add_argument("--only", default="", help="files whose name has one of these parts, between commas")
    parser.add_argument("--tilewright", default="build/tilewright")
    parser.add_argument("--checks", default="")
    options = parser.parse_args()
    wrong = right = findings = 0
    for machine, pattern, case in CASES:
        files = sorted(glob.glob(os.path.join(options.folder, pattern)))
        for file in files:
            name = os.path.relpath(file, options.folder)
            # batches of sequences of different lengths, and masks by windows, take other arguments
            # (the newest int8 GEMM, too)
            if any(word in name for word in ("_group", "_swa", "_br_", "_112x256")):
                continue
            if not any(part in name for part in options.only.split(",")):
                continue
            run = Run(options, machine)
            error = case(run, file)
            ok = error is not False and error < 1
            right, wrong = right + ok, wrong + (not ok)
            text = f"error {error:.1e}" if ok else "wrong" if error is not False else "failed"
            found = "finding" in run.message
            findings += found
            print(f"{machine} {name}: {text}" + (f"\n    {run.message[:4000]}" if found or not ok else ""), flush=True)
    print(f"{right} right, {wrong} not" + (f", {findings} with findings" if options.checks else ""))
    return wrong != 0 or right == 0


if __name__ == "__main__":
    sys.exit(main())
