#!/usr/bin/env python3
"""PyTorch as a rival of bench_x86_rivals: TILEWRIGHT_RIVALS=bench/rivals/torch_rival.py. f32 is MKL's sgemm, or oneDNN's with
weights packed in advance; bf16 and integers are oneDNN's. The fastest of PyTorch's ways is timed.

The protocol is in docs/lab/2026-11-x86-libraries.md. A call through Python costs some microseconds: shapes of 64^3 and less
say more about Python than about the library.
"""
import mmap
import os
import sys
import time

try:
    import numpy
    import torch
except ImportError as error:
    print(f"absent {error}", flush=True)
    sys.exit(0)

TYPES = {"f32": (torch.float32, 4), "bf16": (torch.bfloat16, 2), "u8": (torch.uint8, 1), "i8": (torch.int8, 1)}
DECODE_ROWS, ROTATED_BYTES, LEAST_BATCH = 16, 256 << 20, 50e-6


def aligned(n):
    return (n + 63) // 64 * 64


def ways(a, b, m, n, k, copies):
    """Functions that compute the product, by name: each with the weights' copies in turn."""
    rows = [b.clone() for _ in range(copies)]
    turn = [0]

    def following(items):
        turn[0] = (turn[0] + 1) % len(items)
        return items[turn[0]]

    if a.dtype in (torch.float32, torch.bfloat16):
        out = torch.empty(m, n, dtype=a.dtype)
        yield "mm", lambda: torch.mm(a, following(rows), out=out)
        weights = b.t().contiguous()
        packed = [torch.ops.mkldnn._reorder_linear_weight(weights, m) for _ in range(copies)]
        linear = torch.ops.mkldnn._linear_pointwise
        yield "oneDNN packed", lambda: linear(a, following(packed), None, "none", [], "")
    elif a.dtype == torch.int8:
        out = torch.empty(m, n, dtype=torch.int32)
        yield "_int_mm", lambda: torch._int_mm(a, following(rows), out=out)
    else:
        onednn = torch.ops.onednn
        packed = [onednn.qlinear_prepack(b.t().contiguous(), [m, k]) for _ in range(copies)]
        one, zero = torch.ones(n), torch.zeros(n, dtype=torch.int64)
        yield "qlinear", lambda: onednn.qlinear_pointwise(
            a, 1.0, 0, following(packed), one, zero, None, 1.0, 0, torch.float32, "none", [], "")


class Case:
    def __init__(self, path, words):
        keys = dict(word.split("=") for word in words)
        self.m, self.n, self.k = (int(keys[x]) for x in "mnk")
        self.threads = int(keys["threads"])
        if keys["a"] not in TYPES or keys["b"] not in TYPES:
            raise ValueError("these types are not compared")
        torch.set_num_threads(self.threads)
        (a_type, a_size), (b_type, b_size) = TYPES[keys["a"]], TYPES[keys["b"]]
        file = os.open(path, os.O_RDWR)
        self.map = mmap.mmap(file, 0)
        os.close(file)  # the map has its own
        m, n, k = self.m, self.n, self.k
        b_at = aligned(m * k * a_size)
        self.c_at = b_at + aligned(k * n * b_size)
        self.a = torch.frombuffer(self.map, dtype=a_type, count=m * k).view(m, k).clone()
        b = torch.frombuffer(self.map, dtype=b_type, count=k * n, offset=b_at).view(k, n).clone()
        self.bytes = aligned(k * n * b_size)
        copies = ROTATED_BYTES // self.bytes + 1 if m <= DECODE_ROWS else 1
        best = None
        made = ways(self.a, b, m, n, k, copies)
        while True:
            try:
                name, call = next(made)
                call()
                seconds = min(self.once(call) for _ in range(5))
            except StopIteration:
                break
            except Exception as error:  # a version of PyTorch without this way
                print(f"{keys['a']}: {str(error).splitlines()[0]}", file=sys.stderr, flush=True)
                continue
            if best is None or seconds < best:
                best, self.call, self.name = seconds, call, name
        if best is None:
            raise ValueError("PyTorch does not compute it")
        self.batch = 1

    def now(self):
        return time.thread_time() if self.threads == 1 else time.perf_counter()

    def once(self, call):
        start = self.now()
        call()
        return self.now() - start

    def check(self):
        c = self.call().to(torch.float32).contiguous().numpy()
        view = numpy.frombuffer(self.map, dtype=numpy.float32, count=self.m * self.n, offset=self.c_at)
        view[:] = c.ravel()
        del view

    def run(self, seconds):
        times, call = [], self.call
        start = time.perf_counter()
        while not times or (time.perf_counter() - start < seconds and len(times) < 4096):
            began = self.now()
            for _ in range(self.batch):
                call()
            took = self.now() - began
            if took < LEAST_BATCH and self.batch < 1 << 20:
                self.batch *= 2
                times = []
                continue
            times.append(took / self.batch)
        times.sort()
        return times[0], times[len(times) // 2]


def main():
    torch.set_grad_enabled(False)
    print("rival 1", flush=True)
    case = None
    for line in sys.stdin:
        words = line.split()
        if not words:
            continue
        if words[0] == "case":
            case = None
            try:
                case = Case(words[1], words[2:])
                print(f"ready {case.bytes} {case.name}", flush=True)
            except (ValueError, OSError, RuntimeError) as error:
                print(f"no {str(error).splitlines()[0]}", flush=True)
        elif words[0] == "check" and case:
            case.check()
            print("checked", flush=True)
        elif words[0] == "run" and case:
            print("time %.9g %.9g" % case.run(float(words[1])), flush=True)
        elif words[0] == "end":
            case = None
            print("ended", flush=True)
        else:
            print("no such request here", flush=True)


main()
