"""RMS norm of rows for AWS Trainium, in NKI's first dialect.

    tilewright run rmsnorm.py layernorm rows=512 cols=4096 norm=rms eps=1e-6 -t trn2 --timeline rmsnorm.svg
"""
import math

import neuronxcc.nki as nki
import neuronxcc.nki.language as nl


@nki.jit
def rmsnorm(x, weight, eps):
    rows, cols = x.shape
    assert weight.shape[0] == cols, "one weight for each column"
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)

    p = nl.arange(128)[:, None]
    f = nl.arange(cols)[None, :]

    w = nl.load(weight.reshape((1, cols)))
    for i in nl.affine_range(math.ceil(rows / 128)):
        inside = i * 128 + p < rows
        tile = nl.load(x[i * 128 + p, f], mask=inside)
        squares = nl.square(tile)
        mean = nl.sum(squares, axis=[1]) / cols
        scale = nl.rsqrt(mean + eps)
        out = nl.multiply(nl.multiply(tile, scale), w.broadcast_to((128, cols)))
        nl.store(y[i * 128 + p, f], value=out, mask=inside)
    return y
