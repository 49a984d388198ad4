"""A block as in Llama: RMS norm, rotary, attention with grouped queries, gated MLP. Prints time and error beside PyTorch.

    python3 examples/torch_block.py                                          # the CPU, small
    python3 examples/torch_block.py --device cuda --dim 4096 --heads 32 --kv-heads 8 --mlp 14336 --tokens 4096 --batch 2 --seconds 120
    ... --backward                                                           # with the gradients of all weights
    ... --compile                                                            # both also by torch.compile
    ... --pack i4                                                            # linear layers with 4-bit weights, without tuning

The error is the root mean square of the difference from the same block in float32, over the root mean square of its output.
"""

import argparse
import copy
import time

import torch

import tilewright.torch as twt


class Block(torch.nn.Module):
    def __init__(self, dim: int, heads: int, kv_heads: int, mlp: int, tokens: int):
        super().__init__()
        self.heads, self.kv_heads, self.size = heads, kv_heads, dim // heads
        self.norm = torch.nn.ModuleList(twt.RMSNorm(dim, eps=1e-5) for _ in range(2))
        self.qkv = torch.nn.Linear(dim, (heads + 2 * kv_heads) * self.size, bias=False)
        self.out = torch.nn.Linear(dim, dim, bias=False)
        self.up = torch.nn.Linear(dim, 2 * mlp, bias=False)
        self.down = torch.nn.Linear(mlp, dim, bias=False)
        angles = torch.arange(tokens)[:, None] * 10000 ** -(torch.arange(self.size // 2) * 2 / self.size)
        self.register_buffer("cos", angles.cos())
        self.register_buffer("sin", angles.sin())

    def rotate(self, x: torch.Tensor) -> torch.Tensor:
        if isinstance(self.qkv, (twt.Linear, twt.PackedLinear)):
            return twt.rotary(x, self.cos, self.sin)
        first, second = x.chunk(2, -1)
        cos, sin = self.cos[:, None], self.sin[:, None]
        return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)

    def attend(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        ours = isinstance(self.qkv, (twt.Linear, twt.PackedLinear))
        if ours or not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
            return twt.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True).transpose(1, 2)
        k, v = (x.repeat_interleave(self.heads // self.kv_heads, 1) for x in (k, v))
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, dim = x.shape
        heads = self.qkv(self.norm[0](x)).view(b, t, self.heads + 2 * self.kv_heads, self.size)
        q, k, v = heads.split((self.heads, self.kv_heads, self.kv_heads), 2)
        x = x + self.out(self.attend(self.rotate(q), self.rotate(k), v).reshape(b, t, dim))
        gate, up = self.up(self.norm[1](x)).chunk(2, -1)
        return x + self.down(torch.nn.functional.silu(gate) * up)


def seconds_of(call, device: str) -> float:
    """The least of five, after two calls."""
    best = float("inf")
    for i in range(7):
        if device == "cuda":
            torch.cuda.synchronize()
        begin = time.perf_counter()
        call()
        if device == "cuda":
            torch.cuda.synchronize()
        best = min(best, time.perf_counter() - begin) if i > 1 else best
    return best


def error_of(actual: torch.Tensor, exact: torch.Tensor) -> float:
    return float((actual.double() - exact.double()).pow(2).mean().sqrt() / exact.double().pow(2).mean().sqrt())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="bfloat16")
    for name, usual in (("dim", 256), ("heads", 8), ("kv-heads", 2), ("mlp", 768), ("batch", 1), ("tokens", 256)):
        parser.add_argument("--" + name, type=int, default=usual)
    parser.add_argument("--seconds", type=float, default=0, help="of tuning; 0: wisdom as it is")
    parser.add_argument("--backward", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--pack", help="i4, mxfp4 or ternary")
    o = parser.parse_args()
    torch.manual_seed(1)
    exact = Block(o.dim, o.heads, o.kv_heads, o.mlp, o.tokens).to(o.device)
    for p in exact.parameters():
        p.requires_grad_(o.backward)
    theirs = copy.deepcopy(exact).to(getattr(torch, o.dtype)).train(o.backward)
    ours = copy.deepcopy(theirs)
    x = torch.randn(o.batch, o.tokens, o.dim, device=o.device)
    y = x.to(getattr(torch, o.dtype))
    if o.pack:
        for name in ("qkv", "out", "up", "down"):
            layer = twt.PackedLinear.from_linear(getattr(exact, name), o.pack)
            setattr(ours, name, layer.to(getattr(torch, o.dtype)))
            with torch.no_grad():
                getattr(exact, name).weight.copy_(layer.decoded())
                getattr(theirs, name).weight.copy_(layer.decoded())
    twt.replace(ours, pack=o.device == "cpu" and not o.backward)
    if o.seconds:
        print(twt.tune(ours, (y,), seconds=o.seconds, backward=o.backward, progress=lambda call: print("tuned", call.op, call.keys, flush=True)))

    def run(model, given):
        out = model(given)
        if o.backward:
            model.zero_grad(set_to_none=True)
            out.float().sum().backward()
        return out.detach()

    kinds = [("PyTorch", theirs), ("tilewright", ours)]
    if o.compile:
        kinds += [("PyTorch, compiled", torch.compile(theirs)), ("tilewright, compiled", torch.compile(ours))]
    right = run(exact, x)
    print(f"{o.batch} x {o.tokens} tokens, {'forward and backward' if o.backward else 'forward'}, {o.dtype} on {o.device}")
    print(f"{'':22s}      ms   error")
    for name, model in kinds:
        error = error_of(run(model, y), right)
        print(f"{name:22s} {1e3 * seconds_of(lambda: run(model, y), o.device):7.3f}  {error:.2e}", flush=True)


if __name__ == "__main__":
    main()
