#!/usr/bin/env python3
"""Kernels of tilewright beside cuBLAS, cublasLt, cuDNN and PyTorch's copy on an NVIDIA GPU, in one process, in pairs.

    bench/cuda_rivals.py prepare DIR [CASES]   where tilewright is: emits every case
    bench/cuda_rivals.py measure DIR [SECONDS] where PyTorch, nvcc and the GPU are (DIR and bench/ carried there)

A line of CASES (bench/cuda_cases.txt): NAME | OP KEYS | STEP; STEP; ... | TARGET. Names that begin with check are checked and not timed.
Products whose names begin with hot are timed on operands that stay in the L2.
TARGET [default: cuda-h100-sxm] may be a GPU before Hopper: its kernels are compiled for that architecture's instructions, run on the GPU that is
there, and timed beside cublasLt's kernels for Ampere and PyTorch's FlashAttention-2 (bench/cuda_cases_ampere.txt).
Results are checked against f32 or f64 on poisoned outputs. Times are medians of bursts inside captured graphs, ours and theirs in turn,
operands rotated through more than the L2 holds. Every kernel runs in a worker that is killed when it hangs. Ratio above 1: ours is faster."""
import usage  # answers --help
import concurrent.futures
import json
import os
import re
import select
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(HERE)


def cases_of(path):
    out = []
    for line in open(path):
        line = line.split("#")[0].strip()
        if not line: continue
        name, problem, steps, target = ([x.strip() for x in line.split("|")] + ["cuda-h100-sxm"])[:4]
        op, *keys = problem.split()
        out.append({"name": name, "op": op, "keys": dict(k.split("=") for k in keys), "steps": [s.strip() for s in steps.split(";") if s.strip()], "target": target})
    return out


# ---- prepare ----

def enumerators(source, names):
    """Lets as src/target/cuda/build.c gives them to the compiler."""
    names, text = dict(names), ""
    names |= {"ceildiv": lambda a, b: -(-a // b), "align": lambda a, b: -(-a // b) * b, "min": min, "max": max}
    for line in source.splitlines():
        if not line.startswith("//: let"): continue
        for x in re.split(r",(?![^(]*\))", line.split(None, 2)[2]):
            name, value = (y.strip() for y in x.split("=", 1))
            try: names[name] = int(eval(re.sub(r"(\w+)\.(\w+)", r"\1_\2", value).replace("/", "//"), {}, names))
            except (NameError, SyntaxError): continue  # of operands: of the launch alone
            text += f"enum : {'int' if abs(names[name]) < 1 << 31 else 'long long'} {{ {name} = {names[name]} }};\n"
    return text + '#line 1 "kernel.cu"\n'


def prepare(directory, path):
    os.makedirs(directory, exist_ok=True)
    cases = []
    for case in cases_of(path):
        schedule = os.path.join(directory, "schedule.txt")
        with open(schedule, "w") as f: f.write("\n".join(case["steps"]) + "\n")
        keys = [f"{k}={v}" for k, v in case["keys"].items()]
        r = subprocess.run([f"{ROOT}/build/tilewright", "emit", case["op"], *keys, "-t", case["target"], "-s", schedule], capture_output=True, text=True)
        if r.returncode:
            print(f"{case['name']}: {r.stderr.strip()}")
            continue
        with open(os.path.join(directory, case["name"] + ".cu"), "w") as f: f.write(r.stdout)
        cases.append(case)
    for old in os.listdir(directory):
        if old.endswith(".cubin"): os.remove(os.path.join(directory, old))
    for folder in ("src/target/cuda/runtime", "src/gpu/common/runtime"):
        for header in os.listdir(f"{ROOT}/{folder}"): shutil.copy(f"{ROOT}/{folder}/{header}", directory)
    with open(os.path.join(directory, "cases.json"), "w") as f: json.dump(cases, f)
    print(f"{len(cases)} kernels in {directory}")


# What a target's instructions are, as code for the GPU that measures.
ARCHITECTURE = {"cuda-a100-sxm": "arch=compute_80,code=sm_90", "cuda-l40s": "arch=compute_89,code=sm_90"}


def before_hopper(case):
    return case["target"] in ARCHITECTURE


def compile_all(directory, cases):
    """Here, or on the machine that measures, whose many cores make this a matter of seconds; cubins that are there are kept."""
    def one(case):
        base = os.path.join(directory, case["name"])
        if os.path.exists(base + ".cubin"): return case, "", True
        source = open(base + ".cu").read()
        with open(base + ".whole.cu", "w") as f: f.write(enumerators(source, {k: int(v) for k, v in case["keys"].items() if v.lstrip("-").isdigit()}) + source)
        r = subprocess.run(["nvcc", "-std=c++17", "-cubin", f"-gencode={ARCHITECTURE.get(case['target'], 'arch=compute_90a,code=sm_90a')}", "-Xptxas=-v", f"-I{directory}", base + ".whole.cu", "-o", base + ".cubin"], capture_output=True, text=True)
        bad = [l for l in r.stderr.splitlines() if "(C75" in l or ("spill" in l and " 0 bytes spill stores, 0 bytes" not in l)]
        return case, r.stderr[:600] if r.returncode else "; ".join(bad), r.returncode == 0
    kept = []
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for case, words, good in pool.map(one, cases):
            if words: print(f"{case['name']}: {words}")
            if good: kept.append(case)
    return kept


# ---- the worker ----

def worker(directory):
    import math
    import torch
    sys.path.insert(0, HERE)
    from cuda_launch import Kernel
    device = torch.device("cuda:0")
    torch.zeros(1, device=device)
    torch.backends.cuda.matmul.allow_tf32 = False
    sms = torch.cuda.get_device_properties(0).multi_processor_count
    torch_type = {"bf16": torch.bfloat16, "f16": torch.float16, "f32": torch.float32, "i8": torch.int8, "i16": torch.int16, "i32": torch.int32, "e4m3": torch.float8_e4m3fn, "e5m2": torch.float8_e5m2}
    cache, rivals = {}, {}

    def files(name):
        return open(f"{directory}/{name}.cu").read(), open(f"{directory}/{name}.cubin", "rb").read()

    def draw(g, rows, cols, type_, pitch=0, scale=1.0):
        pitch = pitch or cols
        if type_ == torch.int8: x = torch.randint(-128, 128, (rows, pitch), device=device, dtype=type_, generator=g)
        elif type_ == torch.int32: x = torch.randint(-1000, 1000, (rows, pitch), device=device, dtype=type_, generator=g)
        else: x = (torch.randn(rows, pitch, device=device, generator=g) * scale).to(type_)
        return x[:, :cols]

    class Burst:
        """What cannot be captured: launches one behind the other."""
        def __init__(self, f, reps): self.f, self.reps = f, reps
        def replay(self):
            for i in range(self.reps): self.f(i)

    def pair(ours, theirs, reps, rounds, captured=True):
        def graph(f):
            if not captured: return Burst(f, reps)
            g = torch.cuda.CUDAGraph()
            with torch.cuda.graph(g):
                for i in range(reps): f(i)
            return g
        for f in (ours, theirs): f(0)  # plans are made outside of captures
        times, graphs = ([], []), (graph(ours), graph(theirs))
        for g in graphs: g.replay()
        for _ in range(rounds):
            for g, t in zip(graphs, times):
                a, b = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
                a.record(); g.replay(); b.record()
                t.append((a, b))
        torch.cuda.synchronize()
        return [sorted(a.elapsed_time(b) for a, b in t)[rounds // 2] * 1e3 / reps for t in times]

    def kernel_name(f):
        """Of what takes longest in f."""
        with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as p:
            f()
            torch.cuda.synchronize()
        kernels = [e for e in p.events() if e.device_type == torch.autograd.DeviceType.CUDA]
        return max(kernels, key=lambda e: e.time_range.elapsed_us()).name[:70] if kernels else "not known"

    def gemm_sets(key, count):
        """Operands as the op has them, and the right C."""
        if (key, count) in cache: return cache[key, count]
        cache.clear()
        torch.cuda.empty_cache()
        k = dict(key)
        m, n, kk = int(k["m"]), int(k["n"]), int(k["k"])
        a_type, b_type, c_type = torch_type[k["a"]], torch_type[k["b"]], torch_type[k["c"]]
        acc = torch.int32 if k["a"] == "i8" else torch.float32
        at, bt, bias = int(k.get("a_transposed", 0)), int(k.get("b_transposed", 0)), k.get("bias", "none")
        torch.backends.cuda.matmul.allow_tf32 = False
        g = torch.Generator(device=device)
        g.manual_seed(1)
        sets = []
        for _ in range(count):
            o = {"A": draw(g, *((kk, m) if at else (m, kk)), a_type, int(k.get("lda", 0))),
                 "B": draw(g, *((n, kk) if bt else (kk, n)), b_type, int(k.get("ldb", 0)))}
            scales = k.get("scales", "none")
            if scales == "block": o |= {x: torch.rand(-(-size // shared), -(-kk // 128), device=device, generator=g) + 0.5 for x, size, shared in (("SA", m, 1), ("SB", n, 128))}
            elif scales != "none": o |= {x: torch.rand(1 if scales == "tensor" else size, device=device, generator=g) + 0.5 for x, size in (("SA", m), ("SB", n))}
            if bias != "none": o["D"] = draw(g, 1 if bias == "row" else m, n, acc, int(k.get("ldd", 0)), math.sqrt(kk))
            o["C"] = torch.empty(m, int(k.get("ldc", 0)) or n, device=device, dtype=c_type)[:, :n]
            sets.append(o)
        o = sets[0]
        exact = torch.float64 if k["a"] == "i8" or m * n * kk < 1 << 34 else torch.float32
        a, b = (o["A"].T if at else o["A"]).to(exact), (o["B"] if not bt else o["B"].T).to(exact)
        if k.get("scales") == "block":  # B stored n x k
            a = a * o["SA"].to(exact).repeat_interleave(128, 1)[:, :kk]
            b = b * o["SB"].to(exact).repeat_interleave(128, 0)[:n].repeat_interleave(128, 1)[:, :kk].T
        c = a @ b
        if "SA" in o and k["scales"] != "block": c = c * o["SA"].to(exact)[:, None] * o["SB"].to(exact)[None]
        if "D" in o: c += o["D"]
        scale = float(k.get("scale", 1))
        if k["c"] in ("i8", "i16"):
            limit = 128 if k["c"] == "i8" else 32768
            c = (c.float() * scale).round().clamp(-limit, limit - 1)
        elif k["c"] != "i32": c *= scale
        if k.get("gelu", "none") != "none": c = torch.nn.functional.gelu(c, approximate="tanh" if k["gelu"] == "tanh" else "none")
        if int(k.get("relu", 0)): c = c.clamp(min=0)
        cache[key, count] = sets, c
        return sets, c

    def gemm_check(k, sets, c, kernel):
        out = sets[0]["C"]
        whole = out._base if out._base is not None else out
        whole.view(torch.uint8).fill_(0xA5)
        kernel()
        torch.cuda.synchronize()
        off = (out.to(c.dtype) - c).abs()
        if k["a"] == "i8": bad = off > (c.abs() * 2.0**-8 if k["c"] in ("bf16", "f16") else c.abs() * 2.0**-22)
        else: bad = ~(off <= c.abs() * (2.0**-8 if k["c"] == "bf16" else 2.0**-11 if k["c"] == "f16" else 0) + 1e-6 * abs(float(k.get("scale", 1))) * int(k["k"]) * {"e4m3": 500, "e5m2": 500, "f32": 400}.get(k["a"], 1) * (2.25 if "SA" in sets[0] else 1) + 2e-4)
        n_bad = int(bad.sum())
        padding = whole[:, out.shape[1]:] if whole.shape[1] > out.shape[1] else None
        if padding is not None and not bool((padding.contiguous().view(torch.uint8) == 0xA5).all()): return {"wrong": "written between rows"}
        return {"wrong": f"{n_bad} of {c.numel()}, off by {off.max().item():.3g}"} if n_bad else {}

    def names_of(k):
        n = {x: int(v) for x, v in k.items() if x not in ("a", "b", "c", "acc", "bias", "scale", "scales", "gelu", "arithmetic", "shuffle")}
        at, bt = n.get("a_transposed", 0), n.get("b_transposed", 0)
        n["lda"] = n.get("lda") or (n["m"] if at else n["k"])
        n["ldb"] = n.get("ldb") or (n["k"] if bt else n["n"])
        n["ldc"] = n.get("ldc") or n["n"]
        n["ldd"] = n.get("ldd") or n["n"]
        return n | {"scale": float(k.get("scale", 1))}

    def unpacked(k, codes, scales):
        """Weights of docs/reference/formats.md as numbers, n x k."""
        n, kk, group = int(k["n"]), int(k["k"]), int(k.get("group", 0))
        nibbles = torch.stack((codes & 15, codes >> 4), -1).view(n, -1).long()
        if k["b"] == "mxfp4":
            value = torch.tensor([0, .5, 1, 1.5, 2, 3, 4, 6, -0., -.5, -1, -1.5, -2, -3, -4, -6], device=device)[nibbles]
            return (value * torch.exp2(scales.float() - 127).repeat_interleave(32, 1))[:, :kk]
        if k["b"] == "i4": value = ((nibbles ^ 8) - 8).float()
        else: value = torch.stack([codes.view(n, -1, 32) >> s & 3 for s in (6, 4, 2, 0)], 2).view(n, -1).float() - 1
        return value[:, :kk] * (scales.repeat_interleave(group, 1)[:, :kk] if group else scales)

    def in_registers(codes, two_bits):
        """Codes of shuffle=mma (src/op/gemm_packed.h) from codes in rows."""
        n = codes.shape[0]
        if two_bits:  # 16 rows: i % 2, row % 8; 128 weights: j / 4, j % 4, i / 2, two of a thread, h
            x = torch.stack([codes.view(n, -1, 32) >> s & 3 for s in (6, 4, 2, 0)], 2).view(n // 16, 2, 8, -1, 2, 4, 2, 4, 2)
            x = x.permute(0, 3, 2, 7, 4, 6, 8, 1, 5).flip(-1).reshape(-1, 4)
            return (x[:, 0] | x[:, 1] << 2 | x[:, 2] << 4 | x[:, 3] << 6).view(codes.shape)
        x = torch.stack((codes & 15, codes >> 4), -1).view(n // 16, 2, 8, -1, 4, 2, 4, 2)  # as above; 64 weights: j, i / 2, two of a thread, h
        x = x.permute(0, 3, 2, 6, 4, 7, 5, 1).reshape(-1, 2)
        return (x[:, 0] | x[:, 1] << 4).view(codes.shape)

    def do_packed(case, timed):
        """Weights of 4 and 2 bits: beside a copy that moves as many bytes as they have."""
        k = dict(case["keys"])
        m, n, kk, group = int(k["m"]), int(k["n"]), int(k["k"]), int(k.get("group", 0))
        bits, block = (2, 128) if k["b"] == "ternary" else (4, 32 if k["b"] == "mxfp4" else 2)
        row = -(-kk // block) * block * bits // 8
        scale_columns = -(-kk // 32) if k["b"] == "mxfp4" else -(-kk // group) if group else 1
        bytes_ = n * (row + scale_columns * (1 if k["b"] == "mxfp4" else 4))
        count = max(2, min(24, int(150e6 // bytes_) + 1)) if timed else 1
        key = (tuple(sorted(k.items())), count)
        if key not in cache:
            cache.clear()
            torch.cuda.empty_cache()
            g = torch.Generator(device=device)
            g.manual_seed(7)
            sets = []
            for _ in range(count):
                o = {"A": draw(g, m, kk, torch_type[k["a"]]), "B": torch.randint(0, 256, (n, row), device=device, dtype=torch.uint8, generator=g)}
                if k["b"] == "ternary": o["B"] &= ~(o["B"] >> 1 & 0x55)  # no code is 3
                o["SB"] = torch.randint(*((112, 126) if timed else (112, 140)), (n, scale_columns), device=device, dtype=torch.uint8, generator=g) if k["b"] == "mxfp4" else torch.rand(n, scale_columns, device=device, generator=g) + 0.5
                if k.get("bias", "none") != "none": o["D"] = draw(g, 1 if k["bias"] == "row" else m, n, torch.float32)
                o["C"] = torch.empty(m, n, device=device, dtype=torch_type[k["c"] if "c" in k else k["a"]])
                sets.append(o)
            w, x = unpacked(k, sets[0]["B"], sets[0]["SB"]).double(), sets[0]["A"].double()
            if k.get("shuffle") == "mma":
                for o in sets:
                    o["B"] = in_registers(o["B"], k["b"] == "ternary")
                    words = o["SB"].view(n // 16, 16, -1, 4 if k["b"] == "mxfp4" else 1)  # four scales of mxfp4 are a word
                    o["SB"] = words.transpose(1, 2).contiguous().view(o["SB"].shape)
            c, size = x @ w.T, x.abs() @ w.abs().T
            del w
            if "D" in sets[0]: c += sets[0]["D"]
            c *= float(k.get("scale", 1))
            if int(k.get("relu", 0)): c = c.clamp(min=0)
            cache[key] = sets, c, size
        sets, c, size = cache[key]
        source, cubin = files(case["name"])
        kernels = [Kernel(source, cubin, names_of(k), s, sms) for s in sets]
        out = sets[0]["C"]
        out.fill_(float("nan"))
        kernels[0]()
        torch.cuda.synchronize()
        off = (out.double() - c).abs()
        bad = int((~(off <= c.abs() * 2.0**-8 + size * 2e-6)).sum())
        if bad: return {"wrong": f"{bad} of {c.numel()}, off by {off.max().item():.3g}"}
        if not timed: return {}
        x = [torch.empty(bytes_ // 2, dtype=torch.uint8, device=device).random_() for _ in range(count)]
        y = [torch.empty_like(i) for i in x]
        ours, other = pair(lambda i: kernels[i % count](), lambda i: y[i % count].copy_(x[i % count]), max(2 * count, 64), 9)
        return {"ratio": round(other / ours, 4), "us": round(ours, 2), "theirs_us": round(other, 2), "tflops": round(bytes_ / ours * 1e-6, 3), "theirs": round(bytes_ / other * 1e-6, 3), "library": "copy, TB/s"}

    def do_gemm(case, timed):
        if case["keys"].get("packed") == "1": return do_packed(case, timed)
        k = dict(case["keys"])
        m, n, kk = int(k["m"]), int(k["n"]), int(k["k"])
        bytes_ = sum(x * torch.empty(0, dtype=torch_type[k[t]]).element_size() for x, t in ((m * kk, "a"), (kk * n, "b"), (m * n, "c")))
        count = max(2, min(24, int(120e6 // bytes_) + 1)) if timed and not case["name"].startswith("hot") else 1
        key = tuple(sorted(k.items()))
        sets, c = gemm_sets(key, count)
        source, cubin = files(case["name"])
        kernels = [Kernel(source, cubin, names_of(k), s, sms) for s in sets]
        out = gemm_check(k, sets, c, kernels[0])
        if out or not timed: return out
        at, bt = int(k.get("a_transposed", 0)), int(k.get("b_transposed", 0))
        turned = [s["SA"].T.contiguous().T for s in sets] if k.get("scales") == "block" else []  # as the library wants them

        def theirs(i):
            s = sets[i % count]
            a, b = s["A"].T if at else s["A"], s["B"].T if bt else s["B"]
            if k["a"] == "i8": torch._int_mm(a, b, out=s["C"])
            elif k.get("scales") == "row": torch._scaled_mm(a, b, s["SA"][:, None], s["SB"][None], out_dtype=s["C"].dtype, use_fast_accum=True, out=s["C"])
            elif k.get("scales") == "block": torch._scaled_mm(a, b, turned[i % count], s["SB"].T, out_dtype=s["C"].dtype, out=s["C"])
            elif k["a"] == "e4m3": torch._scaled_mm(a, b, s["SA"][0], s["SB"][0], out_dtype=s["C"].dtype, use_fast_accum=True, out=s["C"])
            else: torch.mm(a, b, out=s["C"])
        torch.backends.cuda.matmul.allow_tf32 = k["a"] == "f32"  # after the check
        flops = 2.0 * m * n * kk
        estimate = max(3e-6, flops / (600e12 if k["a"] in ("bf16", "f16") else 1100e12))
        reps = max(2, min(6 * count, int(4e-3 / estimate) + 1))
        if reps >= count: reps = -(-reps // count) * count
        best = None
        if before_hopper(case) and k["a"] in ("bf16", "f16", "f32", "i8"):
            from cuda_sm80 import Gemm
            if key not in rivals: rivals[key] = Gemm(sets[0], at, bt).fastest(sets[0])
            rival = rivals[key]
            ours, other = pair(lambda i: kernels[i % count](), lambda i: rival(sets[i % count]), reps, 9)
            return {"ratio": round(other / ours, 4), "us": round(ours, 2), "theirs_us": round(other, 2), "tflops": round(flops / ours * 1e-6, 1), "theirs": round(flops / other * 1e-6, 1), "library": f"{rival.name[:110]}, of {rival.tried}"}
        for library in ("cublas", "cublaslt") if k["a"] == "bf16" else ("cublas",):
            torch.backends.cuda.preferred_blas_library(library)
            try: ours, other = pair(lambda i: kernels[i % count](), theirs, reps, 9)
            except Exception as e: out[library] = repr(e)[:100]; continue
            if best is None or other / ours < best[0]: best = (other / ours, ours, other, library)
        if best: out.update(ratio=round(best[0], 4), us=round(best[1], 2), theirs_us=round(best[2], 2), tflops=round(flops / best[1] * 1e-6, 1), theirs=round(flops / best[2] * 1e-6, 1), library=best[3])
        return out

    def empty_like(x):
        return torch.full_like(x, float("nan"))

    def filled(g, *shape, type_):
        return torch.randn(*shape, device=device, generator=g).to(type_)

    def close(out, exact, relative, absolute):
        bad = ~((out.double() - exact).abs() <= exact.abs() * relative + absolute)
        n = int(bad.sum())
        return {"wrong": f"{n} of {exact.numel()}, off by {(out.double() - exact).abs().max().item():.3g}"} if n else {}

    UNIT = {"bf16": 2.0**-8, "f16": 2.0**-11, "f32": 2.0**-21}

    def memory_bound(case, timed, sets, check, bytes_):
        """Beside PyTorch's copy of as many bytes. `sets`: operands by name, in turn."""
        k = case["keys"]
        source, cubin = files(case["name"])
        names = {x: int(v) for x, v in k.items() if x.isidentifier() and v.lstrip("-").isdigit()}
        names |= {"eps": float(k.get("eps", 1e-5)), "dropout": float(k.get("dropout", 0))}
        kernels = [Kernel(source, cubin, names, s, sms) for s in sets]
        kernels[0]()
        torch.cuda.synchronize()
        out = check(sets[0])
        if out or not timed: return out
        x = torch.empty(int(bytes_ // 2), dtype=torch.uint8, device=device).random_()
        y = torch.empty_like(x)
        ours, other = pair(lambda i: kernels[i % len(kernels)](), lambda i: y.copy_(x), 2 * len(kernels), 9)
        return {"ratio": round(other / ours, 4), "us": round(ours, 2), "theirs_us": round(other, 2), "tflops": round(bytes_ / ours * 1e-6, 3), "theirs": round(bytes_ / other * 1e-6, 3), "library": "copy, TB/s"}

    def do_rotary(case, timed):
        k = case["keys"]
        b, h, s, d, t = int(k["b"]), int(k["h"]), int(k["s"]), int(k["d"]), torch_type[k["a"]]
        g = torch.Generator(device=device)
        g.manual_seed(2)
        sets = []
        for _ in range(2 if timed else 1):
            x = filled(g, b, s, h, d, type_=t)
            sets.append({"x": x, "cos": filled(g, s, d // 2, type_=t), "sin": filled(g, s, d // 2, type_=t), "y": empty_like(x)})

        def check(o):
            x, c, n = o["x"][:2].double(), o["cos"].double()[None, :, None], o["sin"].double()[None, :, None]
            if int(k.get("interleaved", 0)):
                u, v = x[..., 0::2], x[..., 1::2]
                r = torch.stack([u * c - v * n, v * c + u * n], -1).flatten(-2)
            else:
                u, v = x[..., :d // 2], x[..., d // 2:]
                r = torch.cat([u * c - v * n, v * c + u * n], -1)
            return close(o["y"][:2], r, UNIT[k["a"]], 1e-5) or ({"wrong": "not all written"} if bool(torch.isnan(o["y"]).any()) else {})
        return memory_bound(case, timed, sets, check, 2 * sets[0]["x"].numel() * sets[0]["x"].element_size())

    def philox(seed, row, col):
        """Words of Philox4x32-10 for the counter (col / 4, row, 0, 0), as op/layernorm.c has it."""
        w = [(col // 4).expand(row.shape[0], -1).clone(), row.expand(-1, col.shape[1]).clone(), torch.zeros(row.shape[0], col.shape[1], dtype=torch.int64, device=device), torch.zeros(row.shape[0], col.shape[1], dtype=torch.int64, device=device)]
        k0, k1, mask = seed[0], seed[1], 0xFFFFFFFF

        def mul(m, x):
            low = m * (x & 0xFFFF)
            high = m * (x >> 16)
            total_low = low + ((high & 0xFFFF) << 16)
            return ((high >> 16) + (total_low >> 32)) & mask, total_low & mask
        for _ in range(10):
            ah, al = mul(0xD2511F53, w[0])
            bh, bl = mul(0xCD9E8D57, w[2])
            w = [bh ^ w[1] ^ k0, bl, ah ^ w[3] ^ k1, al]
            k0, k1 = (k0 + 0x9E3779B9) & mask, (k1 + 0xBB67AE85) & mask
        return torch.stack(w, 0).gather(0, (col % 4).expand(row.shape[0], -1)[None])[0]

    def do_layernorm(case, timed):
        k = case["keys"]
        rows, cols, t = int(k["rows"]), int(k["cols"]), torch_type[k["a"]]
        residual, rms, dropout = int(k.get("residual", 0)), k.get("norm") == "rms", float(k.get("dropout", 0))
        g = torch.Generator(device=device)
        g.manual_seed(3)
        sets = []
        for _ in range(2 if timed else 1):
            o = {"x": filled(g, rows, cols, type_=t)}
            if residual: o["residual"] = filled(g, rows, cols, type_=t)
            o["weight"] = filled(g, cols, type_=t)
            if not rms: o["bias"] = filled(g, cols, type_=t)
            if dropout: o["seed"] = torch.tensor([12345, -678], dtype=torch.int32, device=device)
            o["y"] = empty_like(o["x"])
            if residual: o["sum"] = empty_like(o["x"])
            sets.append(o)

        def check(o):
            n = min(rows, 300)
            r = o["x"][:n].double()
            if dropout:
                row, col = torch.arange(n, device=device)[:, None], torch.arange(cols, device=device)[None]
                keep = philox([12345, -678 & 0xFFFFFFFF], row, col) >= int(dropout * 2**32)
                r = torch.where(keep, r / (1 - dropout), 0 * r)
            if residual: r = r + o["residual"][:n].double()
            scale = torch.rsqrt((r * r).mean(-1, keepdim=True) + 1e-5) if rms else torch.rsqrt(r.var(-1, unbiased=False, keepdim=True) + 1e-5)
            y = (r - (0 if rms else r.mean(-1, keepdim=True))) * scale * o["weight"].double() + (0 if rms else o["bias"].double())
            return close(o["y"][:n], y, UNIT[k["a"]], 2e-5) or (close(o["sum"][:n], r, UNIT[k["a"]], 1e-5) if residual else {}) or ({"wrong": "not all written"} if bool(torch.isnan(o["y"]).any()) else {})
        return memory_bound(case, timed, sets, check, (2 + 2 * residual) * rows * cols * sets[0]["x"].element_size())

    def do_softmax(case, timed):
        k = case["keys"]
        rows, cols, t = int(k["rows"]), int(k["cols"]), torch_type[k["a"]]
        g = torch.Generator(device=device)
        g.manual_seed(4)
        sets = [{"x": filled(g, rows, cols, type_=t) * 4} for _ in range(2 if timed else 1)]
        for o in sets: o["y"] = empty_like(o["x"])
        check = lambda o: close(o["y"][:500], torch.softmax(o["x"][:500].double(), -1), UNIT[k["a"]] * 1.01 + 3e-6, 4e-8 if k["a"] == "f16" else 1e-9) or ({"wrong": "not all written"} if bool(torch.isnan(o["y"]).any()) else {})
        return memory_bound(case, timed, sets, check, 2 * rows * cols * sets[0]["x"].element_size())

    def do_attention(case, timed):
        from torch.nn.attention import SDPBackend, sdpa_kernel
        k = case["keys"]
        b, hq, hkv, sq, sk, d, causal, t = *(int(k[x]) for x in ("b", "hq", "hkv", "sq", "sk", "d")), int(k.get("causal", 0)), torch_type[k["a"]]
        key, backward = tuple(sorted(k.items())), k.get("pass") == "backward"
        group = hq // hkv
        if key not in cache:
            cache.clear()
            torch.cuda.empty_cache()
            g = torch.Generator(device=device)
            g.manual_seed(5)
            o = {"Q": filled(g, b, sq, hq, d, type_=t), "K": filled(g, b, sk, hkv, d, type_=t), "V": filled(g, b, sk, hkv, d, type_=t)}
            o["O"] = empty_like(o["Q"])
            o["LSE"] = torch.empty(b, hq, sq, device=device)
            exact = []

            def scores(i, h, type_):
                s = o["Q"][i, :, h].to(type_) @ o["K"][i, :, h // group].to(type_).T / d**0.5
                if causal: s.masked_fill_(torch.ones(sq, sk, dtype=torch.bool, device=device).triu(sk - sq + 1), float("-inf"))
                return s
            if backward:
                o["dO"] = filled(g, b, sq, hq, d, type_=t)
                for i in range(b):
                    for h in range(hq):
                        s = scores(i, h, torch.float32)
                        o["LSE"][i, h] = torch.logsumexp(s, -1)
                        o["O"][i, :, h] = (torch.softmax(s, -1).to(t) @ o["V"][i, :, h // group])
                for i, kh in ((0, 0), (b - 1, hkv - 1)):
                    dk = dv = 0
                    for h in range(kh * group, (kh + 1) * group):
                        p = torch.exp(scores(i, h, torch.float64) - o["LSE"][i, h].double()[:, None])
                        go = o["dO"][i, :, h].double()
                        ds = p * (go @ o["V"][i, :, kh].double().T - (go * o["O"][i, :, h].double()).sum(-1, keepdim=True)) / d**0.5
                        dq, dk, dv = ds @ o["K"][i, :, kh].double(), dk + ds.T @ o["Q"][i, :, h].double(), dv + p.T @ go
                        del p, ds
                    exact.append((i, kh, h, dq, dk, dv))
                for x in ("dQ", "dK", "dV"): o[x] = empty_like(o[{"dQ": "Q", "dK": "K", "dV": "V"}[x]])
            for i, h in () if backward else ((0, 0), (b - 1, hq - 1)):
                s = o["Q"][i, :, h].double() @ o["K"][i, :, h // (hq // hkv)].double().T / d**0.5
                if causal: s.masked_fill_(torch.ones(sq, sk, dtype=torch.bool, device=device).triu(sk - sq + 1), float("-inf"))
                exact.append((i, h, torch.softmax(s, -1) @ o["V"][i, :, h // (hq // hkv)].double(), torch.logsumexp(s, -1)))
                del s
            cache[key] = o, exact
        o, exact = cache[key]
        outputs = ("dQ", "dK", "dV") if backward else ("O", "LSE")
        for x in outputs: o[x].fill_(float("nan"))
        source, cubin = files(case["name"])
        names = {"causal": causal} | {x: int(v) for x, v in k.items() if v.isdigit()} | {"scale": 1 / d**0.5}
        kernel = Kernel(source, cubin, names, o, sms)
        kernel()
        torch.cuda.synchronize()
        for i, kh, h, *right in exact if backward else ():
            for name, at, x in zip(outputs, (h, kh, kh), right):
                out = close(o[name][i, :, at], x, 2.0**-6, 2.0**-6 * float(x.square().mean().sqrt()) + 2.0**-8 * float(x.abs().max()))
                if out: return {"wrong": f"{name}: {out['wrong']} of {float(x.abs().max()):.3g}"}
        for i, h, right, lse in () if backward else exact:
            out = close(o["O"][i, :, h], right, 2.0**-7, 2.0**-8 * 0.5) or close(o["LSE"][i, h], lse, 1e-5, 1e-4)
            if out: return out
        if any(bool(torch.isnan(o[x]).any()) for x in outputs): return {"wrong": "not all written"}
        if not timed: return {}
        backend = SDPBackend.FLASH_ATTENTION if before_hopper(case) else SDPBackend.CUDNN_ATTENTION
        flops = (10.0 if backward else 4.0) * b * hq * sq * sk * d / (2 if causal else 1)
        if backward:
            q, kk, v, go = (o[x].transpose(1, 2).detach().clone() for x in ("Q", "K", "V", "dO"))
            for x in (q, kk, v): x.requires_grad_(True)
            with sdpa_kernel(backend): y = torch.nn.functional.scaled_dot_product_attention(q, kk, v, is_causal=bool(causal), enable_gqa=hq != hkv)
            reps = max(2, int(20e-3 / (flops / 400e12)))
            ours, other = pair(lambda i: kernel(), lambda i: torch.autograd.grad(y, (q, kk, v), go, retain_graph=True), reps, 5, False)
            return {"ratio": round(other / ours, 4), "us": round(ours, 2), "theirs_us": round(other, 2), "tflops": round(flops / ours * 1e-6, 1), "theirs": round(flops / other * 1e-6, 1), "library": kernel_name(lambda: torch.autograd.grad(y, (q, kk, v), go, retain_graph=True))}
        q, kk, v = (o[x].transpose(1, 2) for x in "QKV")


        def theirs(i):
            with sdpa_kernel(backend): torch.nn.functional.scaled_dot_product_attention(q, kk, v, is_causal=bool(causal), enable_gqa=hq != hkv)
        reps = max(2, int(4e-3 / (flops / 500e12)))
        ours, other = pair(lambda i: kernel(), theirs, reps, 7)
        return {"ratio": round(other / ours, 4), "us": round(ours, 2), "theirs_us": round(other, 2), "tflops": round(flops / ours * 1e-6, 1), "theirs": round(flops / other * 1e-6, 1), "library": kernel_name(lambda: theirs(0))}

    def kernelbench(case, timed):
        """f32 operators of KernelBench, level 1, on its inputs (uniform in 0..1), judged by its tolerances, and by the error that PyTorch has
        with tf32 off; times beside PyTorch with tf32 off and on."""
        k, op = case["keys"], case["op"]
        n = {x: int(v) for x, v in k.items() if v.lstrip("-").isdigit()}
        key = (op, tuple(sorted(k.items())))

        def tf32(on): torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = on
        if op == "gemm":
            left, right = (n["m"], n["k"]), (n["k"], n["n"])
            theirs = lambda o: torch.matmul(o["A"], o["B"])
            exact = lambda o: (o["A"][:2048].double() @ o["B"].double(), slice(0, 2048))
        else:
            conv, dims = (torch.nn.functional.conv2d, "hw") if op == "conv2d" else (torch.nn.functional.conv3d, "dhw")
            windows = "rs" if op == "conv2d" else "trs"
            options = {"stride": n.get("stride", 1), "padding": n.get("pad", 0)}
            theirs = lambda o: conv(o["input"], o["weights"], o["bias"][0] if "bias" in o else None, **options)
            exact = lambda o: (conv(o["input"][:1].double(), o["weights"].double(), o["bias"][0].double() if "bias" in o else None, **options), slice(0, 1))
        if key not in cache:
            cache.clear()
            torch.cuda.empty_cache()
            g = torch.Generator(device=device)
            g.manual_seed(6)
            rand = lambda *shape: torch.rand(*shape, device=device, generator=g)
            if op == "gemm": o = {"A": rand(*left), "B": rand(*right), "C": torch.empty(n["m"], n["n"], device=device)}
            else:
                bound = 2 / math.sqrt(n["c"] * math.prod(n[x] for x in windows))  # as nn.Conv2d begins
                o = {"input": rand(n["n"], n["c"], *(n[x] for x in dims)), "weights": (rand(n["k"], n["c"], *(n[x] for x in windows)) - 0.5) * bound}
                if k.get("bias") == "row": o["bias"] = (rand(1, n["k"]) - 0.5) * bound
            tf32(False)
            right = theirs(o)
            if op != "gemm": o["output"] = torch.empty_like(right)
            value, part = exact(o)
            cache[key] = o, value, part, (right[part].double() - value).square().mean().sqrt().item()
            del right
        o, value, part, their_error = cache[key]
        out = o["C" if op == "gemm" else "output"]
        out.fill_(float("nan"))
        source, cubin = files(case["name"])
        names = {"stride": 1, "pad": 0} | n | {"scale": 1.0}
        if op == "gemm": names |= {"lda": n["k"], "ldb": n["n"], "ldc": n["n"], "ldd": n["n"]}
        kernel = Kernel(source, cubin, names, o, sms)
        kernel()
        torch.cuda.synchronize()
        off = (out[part].double() - value).abs()
        r = {"error": None, "rms_over_torch": round(off.square().mean().sqrt().item() / their_error, 2), "rms_over_rms": off.square().mean().sqrt().item() / value.square().mean().sqrt().item()}
        del r["error"]
        for tolerance in (1e-2, 1e-4): r[f"passes_{tolerance:g}"] = bool((off <= tolerance + tolerance * value.abs()).all())
        if bool(torch.isnan(out).any()): return {"wrong": "not all written"}
        if not r["passes_0.01"]: return {"wrong": f"off by {off.max().item():.3g}", **r}
        if not timed: return r
        reps = 3
        for on in (False, True):
            tf32(on)
            ours, other = pair(lambda i: kernel(), lambda i: theirs(o), reps, 7)
            r |= {"us": round(ours, 1), f"theirs_{'tf32' if on else 'f32'}_us": round(other, 1), f"ratio_{'tf32' if on else 'f32'}": round(other / ours, 3)}
        r["ratio"] = r["ratio_f32"]
        r |= {f"{name}_us": round(us, 1) for name, us in kernel.time_parts()}
        return r

    ops = {"conv2d": kernelbench, "conv3d": kernelbench, "gemm": do_gemm, "rotary": do_rotary, "layernorm": do_layernorm, "softmax": do_softmax, "attention": do_attention}
    print(json.dumps({"device": torch.cuda.get_device_name(0), "torch": torch.__version__}), flush=True)
    for line in sys.stdin:
        job = json.loads(line)
        try: r = (kernelbench if job["case"]["name"].startswith("kb") else ops[job["case"]["op"]])(job["case"], job["timed"])
        except Exception as e: r = {"error": repr(e)[:300]}
        print(json.dumps(r), flush=True)
        if "error" in r: sys.exit(1)


# ---- measure ----

class Worker:
    def __init__(self, directory, log):
        self.process = subprocess.Popen([sys.executable, os.path.abspath(__file__), "worker", directory], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        self.hello = self.read(90)

    def read(self, seconds):
        data, end = b"", time.time() + seconds
        while time.time() < end:
            if select.select([self.process.stdout], [], [], max(0, end - time.time()))[0]:
                piece = os.read(self.process.stdout.fileno(), 1 << 16)
                if not piece: return {"error": "the worker died"}
                data += piece
                if data.endswith(b"\n"): return json.loads(data.splitlines()[-1])
        return {"error": "hangs"}

    def ask(self, case, timed, seconds):
        try:
            self.process.stdin.write((json.dumps({"case": case, "timed": timed}) + "\n").encode())
            self.process.stdin.flush()
        except BrokenPipeError: return {"error": "the worker died"}
        return self.read(seconds)

    def end(self):
        self.process.kill()
        try: self.process.wait(10)
        except subprocess.TimeoutExpired: pass


def measure(directory, limit):
    out = os.environ.get("OUT", directory)
    start = time.time()
    cases = compile_all(directory, json.load(open(os.path.join(directory, "cases.json"))))
    print(f"{len(cases)} kernels compiled after {time.time() - start:.0f} s", flush=True)
    log, w, results = open(f"{out}/rivals.jsonl", "w"), None, []
    errors = open(f"{out}/worker.err", "w")
    for timed in (False, True):
        for case in cases:
            if time.time() - start > limit: break
            check_only = case["name"].startswith("check")
            if timed and (check_only or case.get("broken")): continue
            if not timed and not check_only: continue
            if w is None or w.process.poll() is not None:
                w = Worker(directory, errors)
                print(w.hello, flush=True)
            r = w.ask(case, timed, 12)
            if "error" in r:
                w.end()
                w = None
            log.write(json.dumps({**case, "timed": timed, **r}) + "\n")
            log.flush()
            if "error" in r or "wrong" in r: print(case["name"], r, flush=True)
            elif timed: results.append((case, r))
        if not timed: print(f"checks done after {time.time() - start:.0f} s", flush=True)
    problems = {}
    for case, r in results: problems.setdefault(" ".join(f"{k}={v}" for k, v in case["keys"].items()), []).append((r.get("ratio", 0), case, r))
    for problem, rows in problems.items():
        print(f"--- {problem}")
        for ratio, case, r in sorted(rows, key=lambda x: -x[0])[:int(os.environ.get("ROWS", 8))]:
            more = f"{r.get('tflops')} beside {r.get('theirs')} ({r.get('library')})" if "tflops" in r else " ".join(f"{k}={v:.4g}" for k, v in r.items() if k not in ("ratio", "us") and not isinstance(v, str))
            print(f"{ratio:6.3f} {r.get('us')} us {more}  {'; '.join(case['steps'])}", flush=True)
    print(f"{time.time() - start:.0f} s")


if __name__ == "__main__":
    if len(sys.argv) < 3: sys.exit(__doc__.strip())
    what, directory = sys.argv[1], sys.argv[2]
    if what == "prepare": prepare(directory, sys.argv[3] if len(sys.argv) > 3 else os.path.join(HERE, "cuda_cases.txt"))
    elif what == "measure": measure(directory, float(sys.argv[3]) if len(sys.argv) > 3 else 500)
    else: worker(directory)
