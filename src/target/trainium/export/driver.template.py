#!/usr/bin/env python3
"""Runs kernel.py on a Trainium instance: {{problem}}

On an instance ({{instance}}) with the Neuron SDK, in the environment that has nki and torch_xla:

    python3 driver.py               # results, compared with the expected ones, and latencies
    python3 driver.py --json        # the same as one JSON object
    python3 driver.py --simulate    # results by nki.simulate, on any computer with nki; no latencies

Kernels that import neuronxcc need SDK 2.26 or older; kernels that import nki need SDK 2.29 or newer. tilewright timed this kernel on its
model of {{target}}. The kernel was not compiled before: this driver compiles it first.
"""
import argparse
import ast
import json
import os
import sys

import numpy as np

FOLDER = os.path.dirname(os.path.abspath(__file__))
# name, element type, shape, is an output, file of its data (inputs, and expected outputs), if there is one
OPERANDS = [
{{operands}}
]
SCALARS = dict({{scalars}})


def numpy_type(name):
    if name == "bfloat16":
        import ml_dtypes

        return np.dtype(ml_dtypes.bfloat16)
    return np.dtype(name)


def data_of(index):
    name, type_name, shape, is_output, file = OPERANDS[index]
    kind = numpy_type(type_name)
    path = os.path.join(FOLDER, file) if file else None
    if path and os.path.exists(path):
        return np.load(path).view(kind).reshape(shape)
    if is_output:
        return None
    return (np.random.default_rng(index).random(shape, dtype=np.float32) * 2 - 1).astype(kind)


def decorated(path):
    """The name of the kernel and of its parameters, from its text."""
    with open(path) as file:
        text = file.read()
    chosen = [line.split("=")[1].strip() for line in text.split("\n") if line.startswith("#: kernel")]
    functions = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef) and node.decorator_list]
    functions = [f for f in functions if not chosen or f.name == chosen[0]]
    if not functions:
        sys.exit(f"{path}: no function with @nki.jit")
    return functions[-1].name, [a.arg for a in functions[-1].args.args]


def worst_error(got, expected):
    """The largest difference, relative to the largest expected value."""
    got, expected = np.asarray(got, dtype=np.float64), np.asarray(expected, dtype=np.float64)
    return float(np.max(np.abs(got.reshape(expected.shape) - expected)) / max(float(np.max(np.abs(expected))), 1e-30))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kernel", default=os.path.join(FOLDER, "kernel.py"))
    parser.add_argument("--simulate", action="store_true", help="run nki.simulate instead of a NeuronCore")
    parser.add_argument("--warmup", type=int, default=5)
    parser.add_argument("--iterations", type=int, default=50)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    name, parameters = decorated(options.kernel)
    space = {"__name__": "kernel"}
    with open(options.kernel) as file:
        exec(compile(file.read(), options.kernel, "exec"), space)  # the kernel is the user's own
    kernel = space[name]
    nki = space["nki"]
    inputs = [data_of(i) for i, o in enumerate(OPERANDS) if not o[3]]
    expected = [data_of(i) for i, o in enumerate(OPERANDS) if o[3]]
    extra = {key: value for key, value in SCALARS.items() if key in parameters}
    result = {"kernel": name}
    if options.simulate:
        simulate = nki.simulate(kernel) if hasattr(nki, "simulate") else lambda *x, **y: nki.simulate_kernel(kernel, *x, **y)  # older SDKs
        outputs = simulate(*inputs, **extra)
    else:
        import torch
        from torch_xla.core import xla_model

        device = xla_model.xla_device()
        tensors = [torch.from_numpy(x.astype(np.float32)).to(getattr(torch, o[1])).to(device)
                   for x, o in zip(inputs, [o for o in OPERANDS if not o[3]])]
        outputs = kernel(*tensors, **extra)
        benchmark = nki.benchmark(warmup=options.warmup, iters=options.iterations)(kernel)
        benchmark(*inputs, **extra)
        latency = benchmark.benchmark_result.nc_latency
        result.update({f"p{p}_us": float(latency.get_latency_percentile(p)) for p in (1, 50, 99)})
    outputs = outputs if isinstance(outputs, (tuple, list)) else [outputs]
    outputs = [o if isinstance(o, np.ndarray) else o.cpu().float().numpy() for o in outputs]
    compared = [(g, e) for g, e in zip(outputs, expected) if e is not None]
    if compared:
        result["worst_error"] = max(worst_error(g, e) for g, e in compared)
        result["correct"] = result["worst_error"] <= {{tolerance}}
    if options.json:
        print(json.dumps(result))
    else:
        for key, value in result.items():
            print(f"{key:12} {value}")
        if not compared:
            print("not compared: the problem is too large for files of its data")
    return 0 if result.get("correct", True) else 1


if __name__ == "__main__":
    sys.exit(main())
