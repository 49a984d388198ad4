"""KernelBench's models, tuned by tilewright.kernelbench and evaluated by KernelBench itself. https://github.com/ScalingIntelligence/KernelBench

    PYTHONPATH=python python3 bench/kernelbench_level.py REPOSITORY --coverage               # what would be replaced; needs no GPU
    PYTHONPATH=python python3 bench/kernelbench_level.py REPOSITORY --models 1 2 50 --seconds 10

A row: the model, KernelBench's verdict, milliseconds of PyTorch, of torch.compile and of ModelNew, each by KernelBench's own timing, and the
calls that a kernel computes. fast_1 and fast_2 are the parts of the evaluated models that are right and 1 and 2 times as fast as PyTorch.
"""

import needs  # names a missing module

import argparse
import contextlib
import functools
import io
import sys
import time
import types
from pathlib import Path

import torch

import tilewright.torch as twt
from tilewright import kernelbench


def files(repository, level):
    found = (repository / "KernelBench" / f"level{level}").glob("*.py")
    return {int(path.name.split("_")[0]): path for path in found}


def draw_on(device):
    """Lets models make their tensors there."""
    for name in ("rand", "randn", "randint", "tensor"):
        setattr(torch, name, functools.partial(getattr(torch, name), device=device))


# ---- what would be replaced ----


def coverage(paths):
    """Shapes come from tensors without data."""
    counts = {True: 0, False: 0}
    draw_on("meta")
    for number, path in sorted(paths.items()):
        try:
            _, _, rewriter, _ = kernelbench.rewritten(kernelbench.load(path), "meta")
            said = f"replaced: {', '.join(rewriter.replaced) or 'nothing'}; PyTorch's: {', '.join(rewriter.kept) or 'nothing'}"
            counts[bool(rewriter.replaced)] += 1
        except Exception as error:
            said = f"{type(error).__name__}: {str(error).splitlines()[0][:100]}"
            counts[False] += 1
        print(f"{number:4d} {path.stem[:50]:50s} {said}")
    print(f"{counts[True]} of {len(paths)} have a call that is replaced")


# ---- evaluation ----


def evaluation(repository):
    """KernelBench's modules. They import clients of model services, which nothing here needs."""

    class Record:
        def __init__(self, **given):
            self.__dict__.update(given)

    for name, content in (("pydantic", {"BaseModel": Record}), ("dotenv", {"load_dotenv": print}), ("openai", {"OpenAI": None}), ("litellm", {"completion": None})):
        if name not in sys.modules:
            try:
                __import__(name)
            except ImportError:
                sys.modules[name] = types.ModuleType(name)
                sys.modules[name].__dict__.update(content)
    sys.path.insert(0, str(repository / "src"))
    from kernelbench import eval as evaluated
    from kernelbench import timing

    return evaluated, timing


def time_of(timing, model, inputs):
    with torch.no_grad():
        times = timing.time_execution_with_cuda_event(model, inputs, num_trials=10, verbose=False)
    return sorted(times)[len(times) // 2]


def evaluate(evaluated, timing, path, new):
    file = kernelbench.load(path)
    with contextlib.redirect_stdout(io.StringIO()):
        verdict = evaluated.eval_kernel_against_ref(path.read_text(), new.read_text(), num_correct_trials=3)
        model = file.Model(*file.get_init_inputs()).cuda()
        inputs = [x.cuda() if isinstance(x, torch.Tensor) else x for x in file.get_inputs()]
        context = {}
        exec(compile(new.read_text(), str(new), "exec"), context)
        ours = context["ModelNew"](*file.get_init_inputs()).cuda()
        torch._dynamo.reset()
        times = [time_of(timing, m, inputs) for m in (model, torch.compile(model), ours)]
    return verdict, times


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("repository", type=Path)
    parser.add_argument("--level", type=int, default=1)
    parser.add_argument("--models", type=int, nargs="*", help="their numbers [default: all]")
    parser.add_argument("--seconds", type=float, default=10, help="of tuning each model")
    parser.add_argument("--until", type=float, default=float("inf"), help="begin no model after this many seconds")
    parser.add_argument("--coverage", action="store_true")
    parser.add_argument("--draw-on-gpu", action="store_true", help="inputs are drawn on the GPU: get_inputs of large models takes minutes on a CPU")
    parser.add_argument("--no-tf32", action="store_true", help="PyTorch's convolutions in f32 [default: as PyTorch begins, in tf32]")
    o = parser.parse_args()
    paths = files(o.repository, o.level)
    if o.models:
        paths = {number: paths[number] for number in o.models}
    if o.coverage:
        return coverage(paths)
    torch.backends.cudnn.allow_tf32 = not o.no_tf32
    if o.draw_on_gpu:
        draw_on("cuda")
    begin, rows = time.monotonic(), []
    evaluated, timing = evaluation(o.repository)
    for number, path in paths.items():
        if time.monotonic() - begin > o.until:
            print(f"{number}: not begun, {o.until:.0f} s are over")
            continue
        started = time.monotonic()
        try:
            new = Path(f"/tmp/kernelbench_{number}_new.py")
            report = kernelbench.work(path, "cuda", o.seconds, new)
            calls = report.get("calls", ())
            kernels = [f"{c['problem']}: {c['note']}" for c in calls if c["is_used"]] or [f"no kernel: {c['note'] or 'PyTorch is faster'}" for c in calls]
            if not report["file"]:
                print(f"{number:4d} nothing is replaced", flush=True)
                continue
            verdict, times = evaluate(evaluated, timing, path, new)
            rows.append((bool(verdict and verdict.correctness), times[0] / times[2]))
            shown = " ".join(f"{ms:9.3f}" for ms in times)
            verdict = "correct" if rows[-1][0] else f"WRONG {getattr(verdict, 'metadata', '')}"[:200]
            print(f"{number:4d} {path.stem[:40]:40s} {verdict:8s} {shown}  {times[0] / times[2]:6.2f} {times[1] / times[2]:6.2f}  {'; '.join(kernels)} ({time.monotonic() - started:.0f} s)", flush=True)
        except Exception as error:
            rows.append((False, 0.0))
            print(f"{number:4d} {path.stem[:40]:40s} {type(error).__name__}: {str(error)[:200]}", flush=True)
        finally:
            twt.forget()
            torch.cuda.empty_cache()
    for p in (1, 2):
        print(f"fast_{p}: {sum(right and speed > p for right, speed in rows)} of {len(rows)}")


if __name__ == "__main__":
    main()
