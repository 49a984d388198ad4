"""tilewright.torch on an NVIDIA GPU: what test_torch.py checks on the CPU, with kernels that a search found here, beside PyTorch.

    PYTHONPATH=python python3 tests/python/gpu_torch.py [SECONDS OF TUNING [CHECK...]]

Prints a line for each check, or for the checks named, and tables of errors and times. The exit status is the number of checks that failed.
"""

import copy
import importlib.util
import os
import sys
import tempfile
import time
import traceback
import types
from pathlib import Path

os.environ.setdefault("TILEWRIGHT_WISDOM", tempfile.mkdtemp() + "/wisdom.json")

import torch  # noqa: E402

import tilewright.torch as twt  # noqa: E402
import torch_operators  # noqa: E402
from tilewright.torch import _device, _gemm, _tune  # noqa: E402

SECONDS = float(sys.argv[1]) if len(sys.argv) > 1 else 60
ONLY = sys.argv[2:]
spec = importlib.util.spec_from_file_location("torch_block", Path(__file__).resolve().parents[2] / "examples" / "torch_block.py")
block = importlib.util.module_from_spec(spec)
spec.loader.exec_module(block)
failed = 0


def check(name, work):
    """Prints what `work` returns; a failure does not end the rest."""
    global failed
    if ONLY and name not in ONLY:
        return
    begin = time.monotonic()
    try:
        said = work()
        print(f"ok    {name} ({time.monotonic() - begin:.1f} s){': ' + str(said) if said else ''}", flush=True)
    except BaseException as error:
        failed += 1
        print(f"FAIL  {name}: {type(error).__name__}: {str(error)[:600]}", flush=True)
        print("      " + "\n      ".join(traceback.format_exc().strip().split("\n")[-8:]), flush=True)


def rms(x):
    return float(x.double().pow(2).mean().sqrt())


def a_block(tokens=512, dim=1024, dtype=torch.bfloat16):
    torch.manual_seed(1)
    return block.Block(dim, dim // 128, max(1, dim // 512), dim * 7 // 2, tokens).cuda().to(dtype)


def planned():
    """The calls that have a kernel here."""
    return [call for call in CALLS if call.tilewright is not None]


CALLS = []


def tuning():
    model = twt.replace(a_block())
    x = torch.randn(2, 512, 1024, device="cuda", dtype=torch.bfloat16)
    report = twt.tune(model, x, seconds=SECONDS, backward=True)
    CALLS.extend(report.calls)
    return "\n" + str(report)


def more_ops():
    """Ops that the block has not, searched shortly."""
    searches = _tune._Searches(None)
    for op, keys in (
        ("layernorm", dict(rows=4096, cols=1024, eps=1e-5, a="bf16")),
        ("softmax", dict(rows=4096, cols=2048, a="f16")),
        ("gemm", dict(m=512, n=768, k=1024, a="f16", b="f16", c="f16", b_transposed=1, bias="row")),
        ("gemm", dict(m=4, n=4096, k=4096, packed=1, a="bf16", b="i4", c="bf16", group=128)),
        ("gemm", dict(m=1, n=4096, k=4096, packed=1, a="bf16", b="mxfp4", c="bf16")),
        ("gemm", dict(m=1, n=4096, k=4096, packed=1, a="bf16", b="ternary", c="bf16")),
    ):
        call = twt.Call(op, keys, 1, 0.0)
        searches.search(call, 5, 0)
        searches.finish()
        CALLS.append(call)
        print("      " + str(call), flush=True)
    searches.close()


def a_kernel_of_gemm():
    """A product in bf16 that has a kernel even where no search found a faster one than PyTorch's: the checks below need it."""
    keys = dict(m=1024, n=1024, k=1024, a="bf16", b="bf16", c="bf16", b_transposed=1)
    call = twt.Call("gemm", keys, 1, 0.0)
    entries = _tune._contest.contest("gemm", keys, 3, _tune.pair("gemm", keys)[1], 5, _tune._contest.threads())
    _tune._contest.keep("gemm", keys, entries[0].schedule)
    twt.forget()
    call.pytorch, call.tilewright = _tune._in_turn(call)
    CALLS.append(call)
    return str(call).strip()


def with_kernels():
    """From now on kernels are used even where PyTorch's are faster."""
    for call in planned():
        _device.reject(_device.problem_text(call.op, call.keys), False)
    twt.forget()
    return f"{len(planned())} of {len(CALLS)} calls have one"


def f64_operands(values):
    return tuple(v.double() if isinstance(v, torch.Tensor) and v.is_floating_point() else v for v in values)


def errors():
    """Of every kernel against float64, beside PyTorch's."""
    worse = []
    print("      tilewright  PyTorch  problem (root mean square of the error over that of the result)")
    for call in planned():
        if call.keys.get("packed") or call.keys.get("pass") == "backward":
            continue
        theirs, ours = _tune.pair(call.op, call.keys)
        cells = dict(zip(theirs.__code__.co_freevars, (c.cell_contents for c in theirs.__closure__)))
        first = lambda out: out[0] if isinstance(out, tuple) else out  # noqa: E731
        wide = {n: f64_operands(v) if isinstance(v, tuple) else v.double() if isinstance(v, torch.Tensor) else v for n, v in cells.items()}
        exact = types.FunctionType(theirs.__code__, theirs.__globals__, closure=tuple(types.CellType(wide[n]) for n in theirs.__code__.co_freevars))()
        a, b = first(ours()), first(theirs())
        e = rms(a - exact) / rms(exact), rms(b - exact) / rms(exact)
        print(f"      {e[0]:.2e}   {e[1]:.2e}  {call.op} {call.keys}", flush=True)
        if e[0] > 1.1 * e[1]:
            worse.append(call.op)
    assert not worse, f"larger than PyTorch's: {worse}"


def packed_values():
    for format, group in (("i4", 128), ("mxfp4", 0), ("ternary", 0)):
        linear = torch.nn.Linear(4096, 4096, bias=False, device="cuda")
        layers = [twt.PackedLinear.from_linear(linear, format, group, shuffle) for shuffle in ("none", "mma")]
        for rows in (1, 4, 100):
            x = torch.randn(rows, 4096, device="cuda", dtype=torch.bfloat16)
            exact = x.double() @ layers[0].decoded().double().t()
            for layer in layers:
                assert rms(layer(x) - exact) < 5e-3 * rms(exact), (layer, rows, rms(layer(x) - exact) / rms(exact))


def gradients():
    """Of the block, against float32, beside PyTorch's own."""
    theirs = a_block()
    ours, exact = twt.replace(copy.deepcopy(theirs)), copy.deepcopy(theirs).float()
    x = torch.randn(2, 512, 1024, device="cuda", dtype=torch.bfloat16)
    found = {}
    for name, model in (("ours", ours), ("theirs", theirs), ("exact", exact)):
        given = (x.float() if name == "exact" else x.clone()).requires_grad_()
        model(given).float().pow(2).mean().backward()
        found[name] = [given.grad, *(p.grad for p in model.parameters())]
    ratios = [rms(a - e) / max(rms(b - e), 1e-30) for a, b, e in zip(*(found[n] for n in ("ours", "theirs", "exact")))]
    assert max(ratios) < 1.2, ratios
    return "error over PyTorch's: " + " ".join(f"{r:.2f}" for r in ratios)


def compiled(backward):
    theirs = a_block()
    ours = twt.replace(copy.deepcopy(theirs))
    fast = torch.compile(ours, fullgraph=True)
    x = torch.randn(2, 512, 1024, device="cuda", dtype=torch.bfloat16)
    a, b = fast(x), ours(x)
    if backward:
        a.float().sum().backward()
    assert rms(a - b) < 0.02 * rms(b), rms(a - b) / rms(b)


def graph():
    model = twt.replace(a_block())
    x = torch.randn(2, 512, 1024, device="cuda", dtype=torch.bfloat16)
    with torch.no_grad():
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            expected = [model(x) for _ in range(3)][0]
        torch.cuda.current_stream().wait_stream(stream)
        captured = torch.cuda.CUDAGraph()
        with torch.cuda.graph(captured):
            out = model(x)
        x.copy_(torch.randn_like(x))
        captured.replay()
        torch.cuda.synchronize()
        assert torch.equal(out, model(x)), "the graph computes another result"
        assert not torch.equal(out, expected)
        # without a call before, PyTorch computes what is captured
        twt.forget()
        again = torch.cuda.CUDAGraph()
        with torch.cuda.graph(again):
            out = model(x)
        again.replay()
        torch.cuda.synchronize()
        assert rms(out - model(x)) < 0.02 * rms(out)


def a_gemm():
    """The tuned product with the least work."""
    calls = [c for c in planned() if c.op == "gemm" and not c.keys.get("packed") and not c.keys.get("bias") and c.keys["a"] == "bf16"]
    call = min(calls, key=lambda c: c.keys["m"] * c.keys["n"] * c.keys["k"])
    return call, _tune.pair(call.op, call.keys)


def streams():
    _, (_, ours) = a_gemm()
    expected = ours()
    torch.cuda.synchronize()
    found = []
    for _ in range(8):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            torch.cuda._sleep(10_000_000)
            found.append(ours())
            assert not stream.query(), "the kernel did not wait for its stream"
    torch.cuda.synchronize()
    assert all(torch.equal(x, expected) for x in found)


def unaligned():
    call, _ = a_gemm()
    m, n, k = (call.keys[s] for s in "mnk")
    room = torch.randn(m * k + 1, device="cuda", dtype=torch.bfloat16)
    a, w = room[1:].view(m, k), torch.randn(n, k, device="cuda", dtype=torch.bfloat16)
    assert a.data_ptr() % 16
    twt.linear(room[:-1].view(m, k), w)
    assert rms(twt.linear(a, w) - a.double() @ w.double().t()) < 0.01 * rms(a.double() @ w.double().t())


def autocast():
    with torch.autocast("cuda", dtype=torch.bfloat16):
        out = twt.linear(torch.randn(64, 64, device="cuda"), torch.randn(32, 64, device="cuda", requires_grad=True))
    assert out.dtype == torch.bfloat16
    out.float().sum().backward()


def wrong_devices():
    import tilewright

    try:
        twt.linear(torch.randn(64, 64, device="cuda"), torch.randn(32, 64))
    except (tilewright.UsageError, RuntimeError) as error:
        return str(error)[:150]
    raise AssertionError("operands on two devices were taken")


def overhead():
    """Microseconds of the CPU per call: an operator that does nothing but make the result, registered as ours are, and the product."""
    from tilewright.torch._register import operator

    def fake(x, weight):
        return x.new_empty((x.shape[0], weight.shape[1]))

    nothing = operator(
        "nothing(Tensor x, Tensor weight) -> Tensor", fake, fake, setup=lambda ctx, inputs, output: None, backward=lambda ctx, g: (g, g), autocast=True
    )
    call, _ = a_gemm()
    m, n, k = (call.keys[s] for s in "mnk")
    b = torch.randn(n, k, device="cuda", dtype=torch.bfloat16)
    b = b if call.keys.get("b_transposed") else b.t().contiguous()
    a = torch.randn(m, k, device="cuda", dtype=torch.bfloat16)
    a = a.t().contiguous().t() if call.keys.get("a_transposed") else a
    second = b.t() if call.keys.get("b_transposed") else b

    def host_us(work):
        best = 1e9
        for _ in range(20):
            torch.cuda.synchronize()
            begin = time.perf_counter()
            for _ in range(100):
                work()
            best = min(best, (time.perf_counter() - begin) / 100)
        return 1e6 * best

    with torch.no_grad():
        rows = [("empty operator", lambda: nothing(a, second)), ("matmul", lambda: twt.matmul(a, second)), ("its operator", lambda: _gemm.matmul(a, second)), ("torch.mm", lambda: torch.mm(a, second))]
        return ", ".join(f"{name} {host_us(work):.2f} us" for name, work in rows) + f" (kernel {1e6 * call.tilewright:.1f} us)"


def times():
    for backward in (False, True):
        theirs = a_block()
        ours = twt.replace(copy.deepcopy(theirs))
        x = torch.randn(2, 512, 1024, device="cuda", dtype=torch.bfloat16)
        for name, model in (("PyTorch", theirs), ("tilewright", ours), ("PyTorch compiled", torch.compile(theirs)), ("tilewright compiled", torch.compile(ours))):
            try:
                ms = 1e3 * _tune.seconds_of(lambda: _tune._run(model, x, backward), "cuda", graph=False)
                print(f"      {name:22s} {'forward, backward' if backward else 'forward':18s} {ms:.3f} ms", flush=True)
            except Exception as error:
                print(f"      {name:22s} {type(error).__name__}: {str(error)[:300]}", flush=True)


def main():
    if not torch.cuda.is_available():
        sys.exit("gpu_torch.py: PyTorch finds no CUDA device; tests/python/test_torch.py runs on the CPU")
    print(f"PyTorch {torch.__version__}, CUDA {torch.version.cuda}, {torch.cuda.get_device_name()}")
    check("tune", tuning)
    check("other ops", more_ops)
    check("a product", a_kernel_of_gemm)
    check("kernels", with_kernels)
    check("errors", errors)
    check("packed weights", packed_values)
    check("gradients", gradients)
    for dtype in (torch.float32, torch.bfloat16):
        check("opcheck", lambda: torch_operators.opchecks("cuda", dtype))  # noqa: B023
    check("gradcheck", lambda: torch_operators.gradchecks("cuda"))
    check("compile, forward", lambda: compiled(False))
    check("compile, backward", lambda: compiled(True))
    check("CUDA graph", graph)
    check("streams", streams)
    check("unaligned", unaligned)
    check("autocast", autocast)
    check("wrong devices", wrong_devices)
    check("overhead", overhead)
    for call in planned():
        _device.reject(_device.problem_text(call.op, call.keys), not call.is_faster)
    twt.forget()
    check("times", times)
    print(f"{failed} checks failed")
    return failed


if __name__ == "__main__":
    sys.exit(main())
