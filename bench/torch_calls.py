"""Single calls beside PyTorch's own: a kernel is searched for each, verified, and timed in turn with PyTorch's by CUDA graphs.

    PYTHONPATH=python python3 bench/torch_calls.py --seconds 5 "attention b=1 hq=32 hkv=8 sq=1 sk=16384 d=128 a=bf16" "gemm m=128 ..."

A row: calls, microseconds of PyTorch and of the kernel, the ratio, the problem and the schedule. The exit status is 1 if a call has no kernel.
"""

import needs  # names a missing module

import argparse
import sys

import tilewright.torch as twt
from tilewright.torch import _tune


def value(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            pass
    return text


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("calls", nargs="+", metavar="OP KEY=VALUE ...")
    parser.add_argument("--seconds", type=float, default=5, help="of search for each")
    o = parser.parse_args()
    twt.allow_split_float32()
    searches, missing = _tune._Searches(None), 0
    for text in o.calls:
        op, *keys = text.split()
        call = twt.Call(op, {key: value(given) for key, _, given in (part.partition("=") for part in keys)}, 1, 0.0)
        searches.search(call, o.seconds, 0)
        searches.finish()
        missing += call.tilewright is None
        print(call, flush=True)
    return int(missing > 0)


if __name__ == "__main__":
    sys.exit(main())
