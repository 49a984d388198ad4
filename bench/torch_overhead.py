"""Microseconds of a call of tilewright.torch beside an operator that does nothing and is registered the same way.

    PYTHONPATH=python python3 bench/torch_overhead.py [cpu|cuda]

The CPU computes a product too small for its time to matter. On CUDA a call only starts the kernel that wisdom has for the product below; tune
it first: tilewright tune gemm m=128 n=128 k=128 a=bf16 b=bf16 c=bf16 -t cuda.
"""

import sys
import time

import torch

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
    nothing = operator("nothing(Tensor a, Tensor b) -> Tensor", fake, fake, setup=lambda ctx, inputs, output: None, backward=lambda ctx, g: g)
    m, n, k = (128, 128, 128) if DEVICE == "cuda" else (128, 1, 1)
    a, b = (torch.randn(shape, device=DEVICE).bfloat16() for shape in ((m, k), (k, n)))
    _gemm.matmul(a, b)
    route = next(iter(_gemm.ROUTES.values()))
    print(f"PyTorch {torch.__version__} on {DEVICE}; computed by {'tilewright' if route.device or route.host else 'PyTorch: tune the product first'}")
    for name, call in (
        ("empty operator", lambda: nothing(a, b)),
        ("tilewright.torch matmul", lambda: _gemm.matmul(a, b)),
        ("torch.mm", lambda: torch.mm(a, b)),
        ("allocation of the result", lambda: fake(a, b)),
    ):
        with torch.no_grad():
            print(f"{name:26s} {us(call):6.2f} us", flush=True)


if __name__ == "__main__":
    main()
