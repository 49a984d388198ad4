"""Causal attention for AWS Trainium, in NKI's first dialect. As many queries as keys; heads of at most 128 elements.

    tilewright run attention.py attention b=1 hq=2 hkv=2 sq=512 sk=512 d=128 causal=1 -t trn2
"""
import math

import neuronxcc.nki as nki
import neuronxcc.nki.isa as nisa
import neuronxcc.nki.language as nl
import numpy as np


@nki.jit
def attention(q, k, v):
    batches, seq, heads, d = q.shape
    assert k.shape == (batches, seq, heads, d) and d <= 128 and seq % 128 == 0
    scale = 1.0 / math.sqrt(d)
    out = nl.ndarray(q.shape, dtype=q.dtype, buffer=nl.shared_hbm)
    lse = nl.ndarray((batches, heads, seq), dtype=nl.float32, buffer=nl.shared_hbm)
    tiles = seq // 128

    for b in nl.affine_range(batches):
        for h in nl.affine_range(heads):
            # keys with their elements in partitions; values with their positions there
            keys = nl.ndarray((nl.par_dim(d), tiles, 128), dtype=k.dtype, buffer=nl.sbuf)
            values = nl.ndarray((nl.par_dim(128), tiles, d), dtype=v.dtype, buffer=nl.sbuf)
            for j in nl.affine_range(tiles):
                keys[:, j, :] = nl.load_transpose2d(k[b, nl.ds(j * 128, 128), h, :])
                values[:, j, :] = nl.load(v[b, nl.ds(j * 128, 128), h, :])

            for i in nl.affine_range(tiles):
                queries = nl.load_transpose2d(q[b, nl.ds(i * 128, 128), h, :])
                seen = (i + 1) * 128
                scores = nl.ndarray((nl.par_dim(128), seen), dtype=nl.float32, buffer=nl.sbuf)
                for j in range(i + 1):
                    product = nisa.nc_matmul(queries, keys[:, j, :])
                    if j == i:  # the diagonal: no query sees a later key
                        row, column = nl.mgrid[0:128, 0:128]
                        scores[:, nl.ds(j * 128, 128)] = nisa.affine_select(
                            pred=(row >= column), on_true_tile=product, on_false_value=-9984.0)
                    else:
                        scores[:, nl.ds(j * 128, 128)] = nl.copy(product)
                # the exponent's bias is -scale * max
                top = nisa.tensor_reduce(np.max, scores, axis=1, negate=True)
                bias = nisa.tensor_scalar(top, np.multiply, scale)
                total = nl.ndarray((nl.par_dim(128), 1), dtype=nl.float32, buffer=nl.sbuf)
                p = nisa.activation(np.exp, scores, bias=bias, scale=scale, reduce_op=np.add, reduce_res=total,
                                    reduce_cmd=nisa.reduce_cmd.reset_reduce)
                weighted = nl.zeros((nl.par_dim(128), d), dtype=nl.float32, buffer=nl.psum)
                for j in range(i + 1):
                    turned = nisa.tensor_copy(nisa.nc_transpose(p[:, nl.ds(j * 128, 128)]), dtype=v.dtype)
                    weighted += nisa.nc_matmul(turned, values[:, j, :])
                share = nisa.reciprocal(total)
                nl.store(out[b, nl.ds(i * 128, 128), h, :],
                         nisa.tensor_scalar(weighted, np.multiply, share, dtype=out.dtype))
                nl.store(lse[b, h, nl.ds(i * 128, 128)], nl.subtract(nl.log(total), bias))
    return out, lse
