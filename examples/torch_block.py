"""A block as in Llama: RMS norm, rotary, attention with grouped queries, gated MLP. Prints time and error beside PyTorch.

    python3 examples/torch_block.py                                          # the CPU, small
    python3 examples/torch_block.py --device cuda --dim 4096 --heads 32 --kv-heads 8 --mlp 14336 --tokens 4096 --batch 2 --seconds 120
    ... --backward                             # with the gradients of all weights
    ... --compile                              # both also by torch.compile
    ... --pack i4 --decode 4096                # a step of one token after 4096 others, with 4-bit weights, beside PyTorch's int4 products

The error is the root mean square of the difference from the same block in float32, over the root mean square of its output.
"""

import argparse
import copy
import time

import torch

import tilewright.torch as twt


def grouped_attention(q: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """PyTorch's, of b x heads x tokens x size: each head of keys for several of q."""
    group = q.shape[1] // keys.shape[1]
    if "enable_gqa" in (getattr(torch.nn.functional, "scaled_dot_product_attention", print).__doc__ or ""):
        return torch.nn.functional.scaled_dot_product_attention(q, keys, values, enable_gqa=True)
    keys, values = (x.repeat_interleave(group, 1) for x in (keys, values))
    scores = torch.matmul(q, keys.transpose(2, 3)) * q.shape[-1] ** -0.5
    return torch.matmul(torch.softmax(scores, -1, dtype=torch.float32).to(values.dtype), values)


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

    def is_ours(self) -> bool:
        return isinstance(self.qkv, (twt.Linear, twt.PackedLinear))

    def rotate(self, x: torch.Tensor, at: int = 0) -> torch.Tensor:
        cos, sin = self.cos[at : at + x.shape[1]], self.sin[at : at + x.shape[1]]
        if self.is_ours():
            return twt.rotary(x, cos, sin)
        first, second = x.chunk(2, -1)
        cos, sin = cos[:, None], sin[:, None]
        return torch.cat((first * cos - second * sin, second * cos + first * sin), -1)

    def attend(self, q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> torch.Tensor:
        q, k, v = (x.transpose(1, 2) for x in (q, k, v))
        if self.is_ours() or not hasattr(torch.nn.functional, "scaled_dot_product_attention"):
            return twt.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True).transpose(1, 2)
        k, v = (x.repeat_interleave(self.heads // self.kv_heads, 1) for x in (k, v))
        return torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        b, t, dim = x.shape
        if isinstance(self.qkv, twt.Linear):
            cos, sin = self.cos[:t], self.sin[:t]
            q, k, v = twt.rotary_linear(self.norm[0](x), self.qkv.weight, cos, sin, (self.heads, self.kv_heads))
            return self.rest(x, self.attend(q, k, v).reshape(b, t, dim))
        heads = self.qkv(self.norm[0](x)).view(b, t, self.heads + 2 * self.kv_heads, self.size)
        q, k, v = heads.split((self.heads, self.kv_heads, self.kv_heads), 2)
        return self.rest(x, self.attend(self.rotate(q), self.rotate(k), v).reshape(b, t, dim))

    def rest(self, x: torch.Tensor, attended: torch.Tensor) -> torch.Tensor:
        """What follows attention. tilewright computes a gated MLP's first half, and a product and a residual, in one kernel each."""
        if isinstance(self.out, twt.Linear):
            x = twt.linear(attended, self.out.weight, residual=x)
            return twt.gated_mlp(self.norm[1](x), self.up.weight, self.down.weight, residual=x)
        x = x + self.out(attended)
        gate, up = self.up(self.norm[1](x)).chunk(2, -1)
        return x + self.down(torch.nn.functional.silu(gate) * up)

    def decode(self, x: torch.Tensor, keys: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
        """One more token of each sequence; keys and values are b x heads x tokens x size, the last of which this step writes."""
        b, _, dim = x.shape
        at = keys.shape[2] - 1
        heads = self.qkv(self.norm[0](x)).view(b, 1, self.heads + 2 * self.kv_heads, self.size)
        q, k, v = heads.split((self.heads, self.kv_heads, self.kv_heads), 2)
        keys[:, :, at], values[:, :, at] = self.rotate(k, at)[:, 0], v[:, 0]
        q = self.rotate(q, at).transpose(1, 2)
        attended = grouped_attention(q, keys, values)
        return self.rest(x, attended.reshape(b, 1, dim))


class Int4Linear(torch.nn.Module):
    """PyTorch's own product with weights of 4 bits, with the same rounded weights."""

    def __init__(self, layer: twt.PackedLinear):
        super().__init__()
        self.group = layer.group
        scales = layer.scales.view(torch.float32).reshape(layer.out_features, -1)
        codes = (layer.decoded().unflatten(1, (-1, self.group)) / scales[..., None].clamp_min(1e-30)).flatten(1).round().int() + 8
        pairs = (codes[:, ::2] << 4 | codes[:, 1::2]).to(torch.uint8)
        self.register_buffer("packed", torch.ops.aten._convert_weight_to_int4pack(pairs, 8))
        scales = scales.t().contiguous().bfloat16()
        self.register_buffer("scales", torch.stack((scales, torch.zeros_like(scales)), -1).contiguous())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.ops.aten._weight_int4pack_mm(x.flatten(0, -2), self.packed, self.group, self.scales).unflatten(0, x.shape[:-1])


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


def replayed(call, device: str):
    """On CUDA a step is so short that programs capture it in a graph."""
    if device != "cuda":
        return call
    for _ in range(3):
        call()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(STEPS):
            call()
    return graph.replay


STEPS = 20  # in a graph


def decode(o, exact: Block, theirs: Block, ours: Block) -> None:
    """A step of each model in a CUDA graph; the weights are the same rounded ones."""
    dtype = getattr(torch, o.dtype)
    x = torch.randn(o.batch, 1, o.dim, device=o.device)
    cache = torch.randn(2, o.batch, o.kv_heads, o.decode + 1, o.dim // o.heads, device=o.device)
    short, y = cache.to(dtype), x.to(dtype)
    kinds = [("PyTorch, whole weights", theirs)]
    if o.device == "cuda" and o.pack == "i4":
        int4 = copy.deepcopy(theirs)
        for name in ("qkv", "out", "up", "down"):
            setattr(int4, name, Int4Linear(getattr(ours, name)))
        kinds.append(("PyTorch, int4", int4))
    with torch.no_grad():
        if o.seconds:
            tuned = Step(ours, *short)
            print(twt.tune(tuned, (y,), seconds=o.seconds, backward=False))
        kinds.append(("tilewright", ours))
        if o.compile:
            kinds += [(name + ", compiled", torch.compile(Step(model, *short))) for name, model in kinds[1:]]
        right = exact.decode(x, *cache)
        print(f"one token after {o.decode}, batch {o.batch}, {o.pack or 'whole'} weights, {o.dtype} on {o.device}")
        for name, model in kinds:
            step = (lambda: model.decode(y, *short)) if isinstance(model, Block) else (lambda: model(y))
            error, run = error_of(step(), right), replayed(step, o.device)
            print(f"{name:22s} {1e6 * seconds_of(run, o.device) / (STEPS if o.device == 'cuda' else 1):9.1f} us  {error:.2e}", flush=True)


class Step(torch.nn.Module):
    def __init__(self, block: Block, keys: torch.Tensor, values: torch.Tensor):
        super().__init__()
        self.block, self.cache = block, (keys, values)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.block.decode(x, *self.cache)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", choices=("float32", "float16", "bfloat16"), default="bfloat16")
    for name, usual in (("dim", 256), ("heads", 8), ("kv-heads", 2), ("mlp", 768), ("batch", 1), ("tokens", 256)):
        parser.add_argument("--" + name, type=int, default=usual)
    parser.add_argument("--seconds", type=float, default=0, help="of tuning; 0: wisdom as it is")
    parser.add_argument("--backward", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--pack", choices=("i4", "mxfp4", "ternary"), help="the weights' type")
    parser.add_argument("--decode", type=int, default=0, help="run one decode step after this many tokens")
    o = parser.parse_args()
    if o.device.startswith("cuda") and not torch.cuda.is_available():
        parser.error("--device cuda: PyTorch finds no CUDA device")
    if o.compile and not hasattr(torch, "compile"):
        parser.error(f"--compile requires PyTorch 2 (found {torch.__version__})")
    torch.manual_seed(1)
    exact = Block(o.dim, o.heads, o.kv_heads, o.mlp, max(o.tokens, o.decode + 1)).to(o.device)
    for p in exact.parameters():
        p.requires_grad_(o.backward)
    theirs = copy.deepcopy(exact).to(getattr(torch, o.dtype)).train(o.backward)
    ours = copy.deepcopy(theirs)
    x = torch.randn(o.batch, o.tokens, o.dim, device=o.device)
    y = x.to(getattr(torch, o.dtype))
    if o.pack:
        for name in ("qkv", "out", "up", "down"):
            layer = twt.PackedLinear.from_linear(getattr(exact, name), o.pack, 128 if o.pack == "i4" else 0)
            setattr(ours, name, layer.to(getattr(torch, o.dtype)))
            with torch.no_grad():
                getattr(exact, name).weight.copy_(layer.decoded())
                getattr(theirs, name).weight.copy_(layer.decoded())
    twt.replace(ours, pack=o.device == "cpu" and not o.backward)
    if o.decode:
        decode(o, exact, theirs, ours)
        return
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
