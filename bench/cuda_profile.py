#!/usr/bin/env python3
"""One case of cuda_rivals.py's, launched a few times, for a profiler: ncu --set full python3 bench/cuda_profile.py DIR NAME"""
import usage  # answers --help
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import torch
from cuda_launch import Kernel

if len(sys.argv) < 3: sys.exit(__doc__.strip())
directory, name = sys.argv[1:3]
case = next(c for c in json.load(open(f"{directory}/cases.json")) if c["name"] == name)
k = case["keys"]
n = {x: int(v) for x, v in k.items() if v.lstrip("-").isdigit()}
rows, depth, m = n["n"], n["k"], n["m"]
n |= {"lda": depth, "ldb": depth, "ldc": rows, "ldd": rows, "scale": 1.0}
bits = {"mxfp4": 4, "i4": 4, "ternary": 2}.get(k["b"])
o = {"A": torch.randn(m, depth, device="cuda").bfloat16()}
if bits:
    o["B"] = torch.randint(0, 256, (rows, depth * bits // 8), device="cuda", dtype=torch.uint8)
    o["SB"] = torch.randint(120, 130, (rows, depth // 32), device="cuda", dtype=torch.uint8) if k["b"] == "mxfp4" else torch.rand(rows, depth // n["group"] if n.get("group") else 1, device="cuda")
else: o["B"] = torch.randn(rows, depth, device="cuda").bfloat16()
o["C"] = torch.empty(m, rows, device="cuda", dtype=torch.bfloat16)
kernel = Kernel(open(f"{directory}/{name}.cu").read(), open(f"{directory}/{name}.cubin", "rb").read(), n, o, torch.cuda.get_device_properties(0).multi_processor_count)
for _ in range(3): kernel()
torch.cuda.synchronize()
