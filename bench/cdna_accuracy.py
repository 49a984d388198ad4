#!/usr/bin/python3
"""Published times of kernels on MI355X beside the model's: docs/reference/accuracy-cdna.md.

    python3 bench/cdna_accuracy.py HIPKITTENS [--fp6 HIPKITTENS_FP6] [--aiter HSA] [--tutorial NOTEBOOK] [--only WORD]
        [--tilewright build/tilewright] [--target cdna4]
    python3 bench/cdna_accuracy.py HIPKITTENS --mi325x INCLUDE

Times are measured by events around one launch. The error is that of the published time less LAUNCH.

HIPKITTENS is a checkout at f09e9685, HIPKITTENS_FP6 the folder fp6_dwordx3 of its branch fp6_experimental. The script changes only the
sizes in a copy of each source. Matrices are zeros, because times do not depend on values. Published times are from the folder analysis
of the repository (.json files and plot.py).
"""
import argparse
import json
import os
import re
import subprocess
import tempfile
import textwrap

# Seconds between the events without a kernel: about 4 us in the write-up on MXFP4 on MI355X, at least 4.04 us for an empty kernel of 256
# workgroups in AMD's TransferBench (pull request 297).
LAUNCH = 4e-6

GEMM, ATTENTION = "kernels/gemm/bf16fp32/mi350x", "kernels/attn"
EIGHT = f"{GEMM}/256_256_64_32_with16x32.cpp"
PRODUCERS = f"{GEMM}/micros/producer_consumer/16x32"
WARP_GROUP = "warpgroupid()=warpid() / 4"  # the headers no longer have it
BACKWARD = "amdgpu_num_vgpr(n)=amdgpu_num_vgpr(128 + (n) / 2)"

# source, rows and columns of a tile, waves, m, n, k, published Tflop/s
BF16 = [
    (EIGHT, 256, 256, 8, 8192, 8192, 8192, 1610), (EIGHT, 256, 256, 8, 4096, 4096, 4096, 1413),
    (EIGHT, 256, 256, 8, 16384, 16384, 16384, 1571), (EIGHT, 256, 256, 8, 3072, 3072, 3072, 808),
    (EIGHT, 256, 256, 8, 3072, 4096, 4096, 1103), (EIGHT, 256, 256, 8, 7680, 8192, 8192, 1522),
    (f"{PRODUCERS}/micro_05_async.cpp", 192, 256, 16, 7680, 8192, 8192, 1251),
    (f"{PRODUCERS}/micro_03_3stage_8c4p.cpp", 128, 256, 12, 7680, 8192, 8192, 964),
]
# waves, size, rows and columns of a tile, published Tflop/s (mi355x_fp8_gemm.json; 8 waves: table 3)
FP8 = [(4, 1024, 64, 270.13), (4, 2048, 128, 1054.23), (4, 4096, 256, 2741.41), (4, 8192, 256, 3327.46), (4, 16384, 256, 3377.75),
       (8, 8192, 256, 3222)]
# size, published Tflop/s
FP6 = [(1024, 74.9), (2048, 470.2), (4096, 1865.5), (8192, 2861.5), (16384, 3122.1)]
# folder and source, heads, heads of keys, queries, d, causal, published ms
FORWARD = [
    ("gqa/kernel.cpp", 16, 16, 2048, 128, False, 0.479), ("gqa/kernel.cpp", 16, 16, 4096, 128, False, 1.790),
    ("gqa/kernel.cpp", 64, 8, 4096, 128, False, 6.968), ("gqa_causal/kernel.cpp", 16, 16, 4096, 128, True, 1.049),
    ("gqa/kernel_d64.cpp", 16, 16, 2048, 64, False, 0.3065), ("gqa/kernel_d64.cpp", 16, 16, 4096, 64, False, 1.1686),
    ("gqa_causal/kernel_d64.cpp", 16, 16, 4096, 64, True, 0.691),
]
# of AITER's assembly: heads, heads of keys, queries, causal, published ms ("avg_time_ref")
AITER_FORWARD = [
    (16, 16, 1024, False, 0.165963), (16, 16, 2048, False, 0.506607), (64, 8, 2048, False, 1.908254), (16, 16, 2048, True, 0.313671),
    (16, 16, 4096, True, 1.028528),
]
# waves, queries, published ms of all three kernels: with pinned registers; without (mi355x_mha_bkwd_non_causal*.json)
BACKWARD_ROWS = [(4, 1024, 0.468075), (4, 2048, 1.503889), (4, 4096, 5.355307), (4, 8192, 19.92181), (8, 1024, 0.543348), (8, 2048, 1.808774),
                 (8, 4096, 6.562122), (8, 8192, 24.59084), (8, 16384, 95.780554)]
# all kernels of AITER's backward pass, 16 heads: queries, causal, published ms ("avg_time_ref")
AITER_BACKWARD = [
    (1024, False, 0.58267), (2048, False, 1.584148), (4096, False, 5.206018), (8192, False, 18.846013), (1024, True, 0.441928),
    (2048, True, 1.020865), (4096, True, 3.135098), (8192, True, 10.632906),
]
# figure 14, on MI325X: size, published ms
MI325X = [(1024, 0.035677), (2048, 0.057585), (4096, 0.192569), (8192, 1.467194), (16384, 12.313529)]
# of the tutorial: cell, tile of a workgroup, threads, published ms ("avg_ms")
TUTORIAL = [
    (24, 16, "16,16", 119.767116), (28, 16, "16,16", 28.612325), (32, 32, "64,4", 4.592903), (36, 32, "64,4", 0.403238),
    (40, 32, "64,4", 0.274217), (44, 32, "64,4", 0.277783), (48, 64, "64,4", 0.119517), (52, 128, "512", 0.076007),
    (56, 256, "512", 0.068622), (60, 256, "1024", 0.065952),
]


class Bench:
    def __init__(self, options):
        self.options, self.folder = options, tempfile.TemporaryDirectory()

    def zeros(self, n):
        path = os.path.join(self.folder.name, f"{n}.bin")
        with open(path, "ab") as f:
            f.truncate(n)
        return path

    def matrix(self, sizes, bytes_of_one, out=False):
        n = int(bytes_of_one * sizes[0] * sizes[1] * sizes[2] * sizes[3])
        spec = f"out={self.folder.name}/out.bin:{n}" if out else f"in={self.zeros(n)}"
        return [spec] + [f"u64={s}" for s in (*sizes, 0)]

    def defined(self, source, sizes):
        """A copy of the source with these sizes; `NAME` is a macro or a constant."""
        with open(source) as f:
            text = f.read()
        for name, value in sizes.items():
            text, n = re.subn(rf"(#define {name} |constexpr int {name} = )[^\n;]*", rf"\g<1>{value}", text)
            if not n:
                raise SystemExit(f"{source} has no {name}")
        path = os.path.join(self.folder.name, os.path.basename(source))
        with open(path, "w") as f:
            f.write(text)
        return path

    def run(self, root, source, sizes, kernel, grid, block, arguments, macros=(), published=0, name=""):
        if self.options.only and self.options.only not in name:
            return
        path = os.path.join(root, source)
        more = ["--include", os.path.join(root, "include"), "--include", os.path.dirname(path), "--lds", "160000", "-D", "KITTENS_CDNA4"]
        for m in macros:
            more += ["-D", m]
        self.time(self.defined(path, sizes), kernel, grid, block, arguments, more, published, name)

    def time(self, file, kernel, grid, block, arguments, more, published, name):
        if self.options.only and self.options.only not in name:
            return
        self.report(self.seconds_of(file, kernel, grid, block, arguments, more, name), published, name)

    def report(self, seconds, published, name):
        print(f"| {name} | {published * 1e6:.1f} | {seconds * 1e6:.1f} | {(published - LAUNCH) / seconds - 1:+.0%} |", flush=True)

    def seconds_of(self, file, kernel, grid, block, arguments, more, name):
        words = [self.options.tilewright, "run", file, "-t", self.options.target, "--kernel", kernel, "--grid", grid, "--block", str(block),
                 "--timing-only", "--json", *more]
        for a in arguments:
            words += ["--arg", a]
        done = subprocess.run(words, capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"{name}: {done.stderr.strip()}")
        return json.loads(done.stdout)["seconds"]

    def aiter_forward(self, heads, key_heads, s, causal, ms):
        d, b, out = 128, 16, f"out={self.folder.name}"
        row, key_row = 2 * heads * d, 2 * key_heads * d
        q, kv = b * s * row, b * s * key_row
        slots = [f"{out}/out.bin:{q}", f"in={self.zeros(q)}", f"in={self.zeros(kv)}", f"in={self.zeros(kv)}"]
        slots += [f"{out}/lse.bin:{4 * b * heads * s}", f"f32={d ** -0.5}"]
        numbers = (s, row, 256 * row, 2 * d, s * row, heads // key_heads, key_row, 2 * d, s * key_row, 3 if causal and heads % 8 else 5,
                   1, s, d, d, heads, key_row, 2 * d, s * key_row, row, 2 * d, s * row)
        slots += [f"u32={n}" for n in numbers] + ["null", "null", f"u32={4 * s}"] + ["null"] * 5 + ["u32=0"] * 6
        tiles = (s + 255) // 256
        if causal:
            tiles = (tiles + 1) // 2  # a workgroup takes a tile from each end
        kernel = "fmha_fwd_hd128_bf16" + ("_causal" if causal else "")
        self.time(os.path.join(self.options.aiter, f"fmha_v3_fwd/{kernel[5:]}.co"), f"_ZN5aiter{len(kernel)}{kernel}E",
                  f"{tiles},{heads},{b}", 512, [f"@{16 * i}:{a}" for i, a in enumerate(slots)], [], 1e-3 * ms,
                  f"AITER attention forward s={s} heads {heads}, {key_heads} d=128{' causal' if causal else ''}")

    def aiter_backward(self, s, causal, ms):
        """O dO, gradients with dQ in f32 by atomics, dQ to bf16 (mha_bwd.cu). PyTorch sets dQ to zero in between; that is not timed."""
        heads, d, b = 16, 128, 16
        name = f"AITER attention backward s={s}{' causal' if causal else ''}, three kernels"
        if self.options.only and self.options.only not in name:
            return
        row, all_rows, numbers = 2 * heads * d, 2 * heads * d * s, 4 * s
        matrix, vector = f"in={self.zeros(b * all_rows)}", f"in={self.zeros(b * heads * numbers)}"
        out = [f"out={self.folder.name}/{n}.bin:{b * all_rows}" for n in ("dk", "dv", "dq")]
        sums = f"inout={self.zeros(2 * b * all_rows)}:{self.folder.name}/sums.bin"
        strides = (2 * d, all_rows, row)  # of heads, of b, of rows
        before = [matrix, matrix, f"out={self.folder.name}/delta.bin:{b * heads * numbers}"]
        before += [f"u32={n}" for n in (*strides, *strides, numbers, heads * numbers, 4, s, d, 0, 0)]
        main = [sums, *out[:2], matrix, matrix, matrix, matrix, vector, vector, f"f32={d ** -0.5}", "f32=1.4426950408889634"]
        main += [f"u32={n}" for n in (s, 256 * row, *strides, 1, *strides, row, s, d, d, heads, *strides, *strides, *strides[:2], *strides,
                                      numbers, 0, 0, 0, 0, s, 0, 0)]
        after = [sums, out[2]] + [f"u32={n}" for n in (4 * d * s, 4 * d * s * heads, 4 * d, *strides, s, d, 0, 0)]
        seconds, tiles = 0, (s + 255) // 256
        for part, rows, arguments in (("odo_bf16", s // 128, before),
                                      ("bf16_causal_a32_psskddv" if causal else "bf16_a32_psskddv", (tiles + 1) // 2 if causal else tiles, main),
                                      ("dq_convert_bf16", s // 64, after)):
            kernel = f"fmha_bwd_hd128_{part}"
            seconds += self.seconds_of(os.path.join(self.options.aiter, f"fmha_v3_bwd/{kernel[5:]}.co"), f"_ZN5aiter{len(kernel)}{kernel}E",
                                       f"{rows},{heads},{b}", 256,
                                       [f"@{16 * i}:{a}" for i, a in enumerate(arguments)] + [f"@{16 * len(arguments) - 4}:u32=0"], [], name)
        self.report(seconds, 1e-3 * ms, name)

    def kernel_of_cell(self, cell):
        """Source and name of the kernel of a cell, without the host's part; a template is instantiated as the host does it at 4096."""
        text = "".join(self.notebook[cell]["source"])
        text = textwrap.dedent(re.search(r"""r('{3}|"{3})(.*?)\1""", text, re.S).group(2))
        text = re.split(r"\nvoid\s+launch_", text)[0]
        kernel = re.search(r"__global__[^;{]*?(\w+_kernel)\(", text).group(1)
        if "template <int StaticM" in text:
            types = "const fp8e4m3*, const fp8e4m3*, bf16*, int, int, int, int, int, int, float, float"
            text += f"\ntemplate __global__ void {kernel}<-1, -1, -1, true, false>({types});\n"
            fp8 = "PK6tw_fp8IL26__hip_fp8_interpretation_t0EE"
            kernel = f"_Z{len(kernel)}{kernel}ILin1ELin1ELin1ELb1ELb0EEv{fp8}S4_P14__hip_bfloat16iiiiiiff"
        return text, kernel

    def tutorial(self, cell, tile, threads, ms):
        n = 4096
        text, kernel = self.kernel_of_cell(cell)
        path, a = os.path.join(self.folder.name, f"{cell}.cpp"), f"in={self.zeros(n * n)}"
        os.makedirs(os.path.join(self.folder.name, "hip"), exist_ok=True)
        with open(os.path.join(self.folder.name, "hip/hip_ext_ocp.h"), "w") as f:  # the only name of it that the kernels use
            f.write("#include <stdint.h>\ntypedef uint8_t __amd_fp8_storage_t;\n")
        with open(path, "w") as f:
            f.write(text)
        arguments = [a, a, f"out={self.folder.name}/out.bin:{2 * n * n}"] + [f"i32={n}"] * 6 + ["f32=1", "f32=0"]
        self.time(path, kernel, f"{n // tile},{n // tile}", threads, arguments, ["--include", self.folder.name], 1e-3 * ms,
                  f"tutorial cell {cell}, e4m3 {n}")

    def bf16(self, source, tile_m, tile_n, waves, m, n, k, tflops):
        grid = f"{n // tile_n},{m // tile_m}" if "producer" in source else str(m // tile_m * (n // tile_n))
        arguments = self.matrix((1, 1, m, k), 2) + self.matrix((1, 1, n, k), 2) + self.matrix((1, 1, m, n), 2, out=True) + ["u64=0"]
        self.run(self.options.hipkittens, source, {"M": m, "N": n, "K": k}, "micro_tk", grid, 64 * waves, arguments, [WARP_GROUP],
                 published=2e-12 * m * n * k / tflops, name=f"bf16 {m} x {k} x {n}, {tile_m}x{tile_n}, {waves} waves")

    def mi325x(self, size, ms):
        file = os.path.join(self.options.hipkittens, f"analysis/bf16_gemm/mi325x/kernel_{size}.cpp")
        with open(file) as f:
            text = f.read()
        tile, waves = (int(re.search(name + r"\s*=?\s*(\d+)", text)[1]) for name in ("BLOCK_SIZE", "NUM_WARPS"))
        a, c = self.matrix((1, 1, size, size), 2), self.matrix((1, 1, size, size), 2, out=True)
        self.time(file, "micro_tk", str((size // tile) ** 2), 64 * waves, a + a + c + ["u64=0"],
                  ["--include", self.options.mi325x, "--lds", "65536", "-D", "KITTENS_CDNA3"], 1e-3 * ms, f"MI325X bf16 {size}")

    def fp8(self, waves, size, tile, tflops):
        """Without the host's part. As published, clang 22 spills registers of 4 waves; the loop is unrolled twice, as AMD advises."""
        folder = os.path.join(self.options.hipkittens, f"kernels/gemm/fp8fp32/FP8_{waves}wave")
        with open(os.path.join(folder, f"{waves}_wave.cu")) as f:
            text = f.read().split("\nconstexpr int ROTATING_BUFFER_COUNT")[0]
        text = text.replace('#include "../profile_utils.cpp"', "")
        if waves == 4:
            text = text.replace("#pragma unroll\n", "#pragma unroll 2\n")
        kernel = "matmul_device" + (f"_{size}" if tile < 256 else "")
        a, c = (f"const kittens::gl<{t}, 1, 1, {size}, {size}>" for t in ("fp8e4m3", "bf16"))
        text += f"\ntemplate __global__ void {kernel}<{size}, {size}, {size}>({a}, {a}, {c});\n"
        path = os.path.join(self.folder.name, "fp8.cpp")
        with open(path, "w") as f:
            f.write(text)
        matrix = [f"in={self.zeros(size * size)}", "u64=0"]
        self.time(path, kernel, str((size // tile) ** 2), 64 * waves, matrix * 2 + [f"out={self.folder.name}/out.bin:{2 * size * size}", "u64=0"],
                  ["--include", os.path.join(self.options.hipkittens, "include"), "--include", folder, "-D", "KITTENS_CDNA4"],
                  2e-12 * size ** 3 / tflops, f"e4m3 {size}, {waves} waves")

    def fp6(self, size, tflops):
        a = self.matrix((1, 1, size, size), 0.75)
        self.run(self.options.fp6, "kernels/gemm/fp6fp32/16x16x128_4wave.cpp", {"M": size, "N": size, "K": size}, "micro_tk",
                 f"{size // 256},{size // 256}", 256, a + a + self.matrix((1, 1, size, size), 2, out=True),
                 published=2e-12 * size ** 3 / tflops, name=f"e2m3 {size}")

    def forward(self, source, heads, key_heads, queries, d, causal, ms):
        q, kv = (16, queries, heads, d), (16, queries, key_heads, d)
        arguments = self.matrix(q, 2) + self.matrix(kv, 2) * 2 + self.matrix(q, 2, out=True)
        arguments += self.matrix((16, heads, 1, queries), 4, out=True) + ["u64=0"]
        self.run(self.options.hipkittens, f"{ATTENTION}/{source}",
                 {"ATTN_N": queries, "ATTN_H": heads, "ATTN_H_KV": key_heads, "ATTN_D": d}, "attend_ker",
                 f"{heads},{queries // 256},16", 512, arguments, published=1e-3 * ms,
                 name=f"attention forward s={queries} heads {heads}, {key_heads} d={d}{' causal' if causal else ''}")

    def backward(self, waves, queries, ms):
        q = (16, queries, 16, 128)
        arguments = self.matrix(q, 2) * 4 + self.matrix(q, 2, out=True) * 3 + self.matrix((16, 16, 1, queries), 4) * 2 + ["u64=0"]
        pinned = waves == 4
        self.run(self.options.hipkittens, f"analysis/attn/bkwd/benchmark/attn_bkwd_non_causal_{'HBN' if pinned else '8_warps'}.cpp",
                 {"ATTN_N": queries, "ATTN_H": 16, "ATTN_H_KV": 16}, "attend_bwd_combined_ker",
                 f"16,16,{queries // 256}" if pinned else f"{queries // 256},16,16", 64 * waves, arguments, macros=[BACKWARD] if pinned else [],
                 published=1e-3 * ms,
                 name=f"attention backward s={queries}, {waves} waves; main kernel (published: with two small ones)")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("hipkittens", help="a checkout of HazyResearch/HipKittens at f09e9685")
    parser.add_argument("--fp6", help="fp6_dwordx3 of its branch fp6_experimental [default: no rows of FP6]")
    parser.add_argument("--aiter", metavar="HSA", help="hsa/gfx950 of ROCm/aiter [default: no rows of its kernels]")
    parser.add_argument("--tutorial", metavar="NOTEBOOK", help="the notebook on FP8 GEMM of ROCm/gpuaidev [default: no rows of it]")
    parser.add_argument("--mi325x", metavar="INCLUDE", help="only the rows of MI325X; include of HipKittens' branch cdna3")
    parser.add_argument("--target", help="a machine, or a file of one [default: cdna4; with --mi325x cdna3-mi325x]")
    parser.add_argument("--tilewright", default="build/tilewright", help="the command [default: build/tilewright]")
    parser.add_argument("--only", help="only rows whose name contains this word [default: all]")
    options = parser.parse_args()
    options.target = options.target or ("cdna3-mi325x" if options.mi325x else "cdna4")
    bench = Bench(options)
    print("| kernel | published us | model us | error of Tflop/s |\n| --- | --- | --- | --- |", flush=True)
    for row in MI325X if options.mi325x else ():
        bench.mi325x(*row)
    if options.mi325x:
        return
    for row in FORWARD:
        bench.forward(*row)
    for row in BACKWARD_ROWS:
        bench.backward(*row)
    for row in BF16:
        bench.bf16(*row)
    for row in FP8:
        bench.fp8(*row)
    for row in FP6 if bench.options.fp6 else ():
        bench.fp6(*row)
    for row in AITER_FORWARD if bench.options.aiter else ():
        bench.aiter_forward(*row)
    for row in AITER_BACKWARD if bench.options.aiter else ():
        bench.aiter_backward(*row)
    if bench.options.tutorial:
        with open(bench.options.tutorial) as f:
            bench.notebook = json.load(f)["cells"]
        for row in reversed(TUTORIAL):
            bench.tutorial(*row)


if __name__ == "__main__":
    main()
