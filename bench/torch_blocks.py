"""A block as in Llama at several sizes: PyTorch, torch.compile and tilewright.torch in turn, forward, and forward and backward.

    PYTHONPATH=python python3 bench/torch_blocks.py                        # 2x4096, 1x2048 and 8x512 tokens on CUDA
    ... --sizes 8x512 --seconds 20 40                                      # of tuning: forward, forward and backward
    ... --decode 4096                                                      # also a step of one token with weights of i4
    ... --profile FILE                                                     # append the time of each kernel to FILE

Each model runs for some milliseconds in each round, and rounds go through all models. A row has the median of the rounds, in milliseconds, the
ratio of torch.compile's time to it, and the error: the root mean square of the difference from float32 over that of the float32 result, which
is the output, or the gradient of the first weights.
"""

import needs  # names a missing module

import argparse
import contextlib
import copy
import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

import torch

import tilewright.torch as twt

spec = importlib.util.spec_from_file_location("torch_block", Path(__file__).resolve().parents[1] / "examples" / "torch_block.py")
example = importlib.util.module_from_spec(spec)
spec.loader.exec_module(example)

ROUNDS, BURST = 15, 20e-3  #: rounds; seconds of each model in a round


def synchronize(device):
    if device == "cuda":
        torch.cuda.synchronize()


def seconds_of(work, count, device):
    synchronize(device)
    begin = time.perf_counter()
    for _ in range(count):
        work()
    synchronize(device)
    return (time.perf_counter() - begin) / count


def in_turn(works, device, per_call=1):
    """Medians of the rounds."""
    counts, times = [], [[] for _ in works]
    for work in works:
        for _ in range(3):
            work()
        counts.append(max(1, int(BURST / max(seconds_of(work, 1, device), 1e-6))))
    for _ in range(ROUNDS):
        for work, count, to in zip(works, counts, times):
            to.append(seconds_of(work, count, device) / per_call)
    return [sorted(t)[len(t) // 2] for t in times]


def write_profile(path, title, work):
    """Device time of each kernel in one call."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as found:
        for _ in range(5):
            work()
        torch.cuda.synchronize()
    rows = sorted(found.key_averages(), key=lambda row: -row.self_device_time_total)
    with open(path, "a") as out:
        print(f"== {title}", file=out)
        for row in rows[:40]:
            print(f"{row.self_device_time_total / 5:10.1f} us {row.count / 5:5.1f}x {row.key[:110]}", file=out)


def table(title, names, works, errors, o, per_call=1, against="PyTorch, compiled"):
    times = in_turn(works, o.device, per_call)
    reference = dict(zip(names, times)).get(against)
    print(f"{title}\n{'':24s}{'ms':>9s} {'of ' + against:>22s}   error")
    for name, seconds, error in zip(names, times, errors):
        print(f"{name:24s}{1e3 * seconds:9.4f} {'' if reference is None else f'{reference / seconds:.3f}':>22s}   {error:.2e}", flush=True)
    for name, work in zip(names, works):
        if o.profile and "ompiled" in name:
            write_profile(o.profile, f"{title}: {name}", work)


def new_blocks(o, tokens, backward):
    torch.manual_seed(1)
    with torch.device(o.device) if hasattr(torch, "set_default_device") else contextlib.nullcontext():
        exact = example.Block(o.dim, o.heads, o.kv_heads, o.mlp, tokens).to(o.device)
    for p in exact.parameters():
        p.requires_grad_(backward)
    theirs = copy.deepcopy(exact).to(torch.bfloat16).train(backward)
    return exact, theirs


def told(call):
    """Prints a call whose search is over: a run that a time limit ends shows where the time went."""
    print(call, file=sys.stderr, flush=True)


def runner(model, given, backward):
    """A call of the model: returns its output, or the gradient of its first weights."""

    def run():
        if not backward:
            with torch.no_grad():
                return model(given)
        model.zero_grad(set_to_none=True)
        model(given).float().sum().backward()
        return model.qkv.weight.grad

    return run


def pytorch_compiled(o, batch, tokens, backward):
    """torch.compile of PyTorch's block, and a call of it."""
    theirs = new_blocks(o, tokens, backward)[1]
    y = torch.randn(batch, tokens, o.dim, device=o.device).bfloat16()
    work = runner(torch.compile(theirs, dynamic=False), y, backward)
    work()
    return work


def size(o, batch, tokens, backward, seconds):
    exact, theirs = new_blocks(o, tokens, backward)
    x = torch.randn(batch, tokens, o.dim, device=o.device)
    y = x.bfloat16()
    right = runner(exact, x, backward)()
    del exact
    ours = twt.replace(copy.deepcopy(theirs))
    if seconds:
        print(twt.tune(ours, (y,), seconds=seconds, backward=backward, progress=told), flush=True)
    models = [("PyTorch", theirs), ("tilewright", ours)]
    if o.compile:
        torch._dynamo.reset()
        models += [(name + ", compiled", torch.compile(model, dynamic=False)) for name, model in models]
    works = [runner(model, y, backward) for _, model in models]
    errors = [example.error_of(work(), right) for work in works]
    what = "forward and backward" if backward else "forward"
    table(f"\n{batch} x {tokens} tokens, {what}", [name for name, _ in models], works, errors, o)


def decode(o, seconds):
    exact, theirs = new_blocks(o, o.decode + 1, False)
    ours = copy.deepcopy(theirs)
    for name in ("qkv", "out", "up", "down"):
        layer = twt.PackedLinear.from_linear(getattr(exact, name), "i4", 128)
        setattr(ours, name, layer.to(torch.bfloat16))
        with torch.no_grad():
            getattr(exact, name).weight.copy_(layer.decoded())
            getattr(theirs, name).weight.copy_(layer.decoded())
    twt.replace(ours)
    x = torch.randn(1, 1, o.dim, device=o.device)
    cache = torch.randn(2, 1, o.kv_heads, o.decode + 1, o.dim // o.heads, device=o.device)
    y, short = x.bfloat16(), cache.bfloat16()
    models = [("PyTorch, whole weights", example.Step(theirs, *short)), ("tilewright", example.Step(ours, *short))]
    if o.device == "cuda":
        int4 = copy.deepcopy(theirs)
        for name in ("qkv", "out", "up", "down"):
            setattr(int4, name, example.Int4Linear(getattr(ours, name)))
        models.append(("PyTorch, int4", example.Step(int4, *short)))
    with torch.no_grad():
        right = exact.decode(x, *cache)
        if seconds:
            print(twt.tune(models[1][1], (y,), seconds=seconds, backward=False), flush=True)
        if o.compile:
            torch._dynamo.reset()
            models += [(name + ", compiled", torch.compile(model, dynamic=False)) for name, model in models[1:]]
        steps = [runner(model, y, False) for _, model in models]
        errors = [example.error_of(step(), right) for step in steps]
        works = [example.replayed(step, o.device) for step in steps]
        per_call = example.STEPS if o.device == "cuda" else 1
        table(f"\none token after {o.decode}, weights of i4, in CUDA graphs", [name for name, _ in models], works, errors, o, per_call, "PyTorch, int4, compiled")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--device", default="cuda")
    for name, usual in (("dim", 4096), ("heads", 32), ("kv-heads", 8), ("mlp", 14336)):
        parser.add_argument("--" + name, type=int, default=usual)
    parser.add_argument("--sizes", nargs="*", default=["2x4096", "1x2048", "8x512"], metavar="BATCHxTOKENS")
    parser.add_argument("--seconds", type=float, nargs=2, default=[0, 0], metavar=("FORWARD", "BACKWARD"), help="of tuning [default: wisdom as it is]")
    parser.add_argument("--only", choices=("forward", "backward"), help="measure one of the two")
    parser.add_argument("--decode", type=int, default=0, help="also a decode step after this many tokens")
    parser.add_argument("--no-compile", dest="compile", action="store_false", help="without torch.compile")
    parser.add_argument("--profile", help="append the time of each kernel to this file")
    parser.add_argument("--compile-first", action="store_true", help="fill the compiler's cache in a process for each size, all at once")
    parser.add_argument("--compile-one", nargs=3, help=argparse.SUPPRESS)
    o = parser.parse_args()
    passes = [b for b in (False, True) if o.only in (None, "backward" if b else "forward")]
    sizes = [tuple(map(int, s.split("x"))) for s in o.sizes]
    if o.compile_one:
        batch, tokens, backward = map(int, o.compile_one)
        pytorch_compiled(o, batch, tokens, bool(backward))
        return
    if o.compile_first:
        begin = time.monotonic()
        shape = [f"--{name.replace('_', '-')}={getattr(o, name)}" for name in ("dim", "heads", "kv_heads", "mlp", "device")]
        command = [sys.executable, os.path.abspath(__file__), *shape, "--compile-one"]
        running = [subprocess.Popen([*command, str(b), str(t), str(int(p))]) for b, t in sizes for p in passes]
        for process in running:
            process.wait()
        print(f"compiled first in {time.monotonic() - begin:.0f} s", flush=True)
    if o.decode:
        decode(o, o.seconds[0])
    for batch, tokens in sizes:
        for backward in passes:
            begin = time.monotonic()
            try:
                size(o, batch, tokens, backward, o.seconds[int(backward)])
            except torch.cuda.OutOfMemoryError as error:
                print(f"{batch} x {tokens}: {error}")
            print(f"({time.monotonic() - begin:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
