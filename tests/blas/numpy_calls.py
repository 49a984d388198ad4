"""2,000 random products by NumPy: run once without the library (write FILE), once with it in LD_PRELOAD or as libblas.so.3
(compare FILE)."""

import ctypes
import os
import sys

import numpy as np

CALLS = 2000


def products():
    """Operands of each call: sizes, memory orders, slices and transposes that NumPy passes on to sgemm."""
    draw = np.random.default_rng(1)
    for call in range(CALLS):
        most = 400 if call % 20 == 0 else 60
        m, n, k = (int(x) for x in draw.integers(1, most + 1, 3))
        pair = []
        for rows, columns in ((m, k), (k, n)):
            kind = int(draw.integers(0, 4))
            x = draw.standard_normal((rows + 5, columns + 5)).astype(np.float32)[:rows, :columns]
            if kind == 0:
                x = np.ascontiguousarray(x)
            elif kind == 1:
                x = np.asfortranarray(x)
            elif kind == 2:
                x = np.asfortranarray(np.pad(x, ((0, 3), (0, 0))))[:rows]
            pair.append(x)
        if call % 10 == 0:  # syrk is the next BLAS's
            pair[1] = pair[0].T
        yield pair


def is_loaded():
    """Does cblas_sgemm come from the library?"""
    symbol = ctypes.CDLL(None if "LD_PRELOAD" in os.environ else "libblas.so.3").cblas_sgemm
    address = ctypes.cast(symbol, ctypes.c_void_p).value
    with open("/proc/self/maps", encoding="ascii") as maps:
        for line in maps:
            low, high = (int(x, 16) for x in line.split()[0].split("-"))
            if low <= address < high:
                return "libtilewright-blas" in line
    return False


def main():
    action, file = sys.argv[1:]
    results = [a @ b for a, b in products()]
    if action == "write":
        np.savez(file, *results)
        return 0
    if not is_loaded():
        print("libtilewright-blas is not what NumPy calls")
        return 1
    others = np.load(file)
    differ = 0
    for call, (a, b) in enumerate(products()):
        mine, other = results[call], others[f"arr_{call}"]
        size = np.abs(a).astype(np.float64) @ np.abs(b).astype(np.float64)
        bound = 2 * (a.shape[1] + 2) * 2.0**-24 * size  # either library is off by half of it at most
        if mine.shape != other.shape or not (np.abs(mine.astype(np.float64) - other) <= bound).all():
            print(f"call {call}: {a.shape} x {b.shape} is off by more than the bound of rounding")
            return 1
        differ += not np.array_equal(mine, other)
    print(f"{CALLS} products agree within the bounds of rounding; {differ} differ in some bit")
    return 0 if differ else 1  # the same bits everywhere: one library computed both


if __name__ == "__main__":
    sys.exit(main())
