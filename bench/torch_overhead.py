"""Microseconds of a call of tilewright.torch beside an operator that does nothing and is registered the same way.

    PYTHONPATH=python python3 bench/torch_overhead.py [cpu|cuda]

The CPU computes a product too small for its time to matter. On CUDA a call only starts the kernel that wisdom has for the product below; tune
it first: tilewright tune gemm m=128 n=128 k=128 a=bf16 b=bf16 c=bf16 -t cuda.
"""
import usage  # answers --help

import sys
import time

import torch

import tilewright.torch as twt
from tilewright.torch import _gemm
from tilewright.torch._register import operator

DEVICE = sys.argv[1] if len(sys.argv) > 1 else "cpu"


def fake(a, b):
    return a.new_empty((a.shape[0], b.shape[1]))


def us(call) -> float:
    """The least of 50 means of 200 calls."""
    best = float("inf")
    for _ in range(50):
        if DEVICE == "cuda":
            torch.cuda.synchronize()
        begin = time.perf_counter()
        for _ in range(200):
            call()
        best = min(best, (time.perf_counter() - begin) / 200)
    return 1e6 * best


def main() -> None:
    torch.set_num_threads(1)
    nothing = operator(
        "nothing(Tensor a, Tensor b) -> Tensor", fake, fake, setup=lambda ctx, inputs, output: ctx.save_for_backward(*inputs), backward=lambda ctx, g: (g, g)
    )
    m, n, k = (128, 128, 128) if DEVICE == "cuda" else (128, 1, 1)
    a, b = (torch.randn(shape, device=DEVICE).bfloat16() for shape in ((m, k), (k, n)))
    leaf = a.clone().requires_grad_()
    twt.matmul(a, b)
    route = next(iter(_gemm.ROUTES.values()))
    plan = route.device
    print(f"PyTorch {torch.__version__} on {DEVICE}; computed by {'tilewright' if plan or route.host else 'PyTorch: tune the product first'}")
    rows = [
        ("empty operator", lambda: nothing(a, b), False),
        ("tilewright.torch.matmul", lambda: twt.matmul(a, b), False),
        ("the same through its operator", lambda: _gemm.matmul(a, b), False),
        ("torch.mm", lambda: torch.mm(a, b), False),
        ("empty operator, with gradients", lambda: nothing(leaf, b), True),
        ("tilewright.torch.matmul, with gradients", lambda: twt.matmul(leaf, b), True),
        ("the same through its operator", lambda: _gemm.matmul(leaf, b), True),
        ("torch.mm, with gradients", lambda: torch.mm(leaf, b), True),
        ("allocation of the result", lambda: fake(a, b), False),
    ]
    if plan:
        out = fake(a, b)
        addresses = a.data_ptr(), b.data_ptr(), out.data_ptr()
        rows.append(("launch of the kernel from Python", lambda: plan(*addresses), False))
    for name, call, gradients in rows:
        with torch.set_grad_enabled(gradients):
            print(f"{name:40s} {us(call):6.2f} us", flush=True)


if __name__ == "__main__":
    main()
