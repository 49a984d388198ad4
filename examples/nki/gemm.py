"""C = A^T B for AWS Trainium, in the dialect with destinations first. Rows of A and B are the contraction.

    tilewright run gemm.py gemm m=512 n=1024 k=512 a_transposed=1 a=bf16 b=bf16 -t trn2
"""
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def gemm(a, b):
    k, m = a.shape
    k_of_b, n = b.shape
    assert k == k_of_b and k % 128 == 0 and m % 128 == 0 and n % 512 == 0
    c = nl.ndarray((m, n), dtype=a.dtype, buffer=nl.shared_hbm)

    for j in range(n // 512):
        columns = nl.ndarray((128, k // 128, 512), dtype=b.dtype, buffer=nl.sbuf)
        for s in range(k // 128):
            nisa.dma_copy(dst=columns[:, s, :], src=b[s * 128:(s + 1) * 128, j * 512:(j + 1) * 512])
        for i in range(m // 128):
            total = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
            for s in range(k // 128):
                rows = nl.ndarray((128, 128), dtype=a.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=rows, src=a[s * 128:(s + 1) * 128, i * 128:(i + 1) * 128])
                nisa.nc_matmul(dst=total, stationary=rows, moving=columns[:, s, :])
            tile = nl.ndarray((128, 512), dtype=c.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=tile, src=total)
            nisa.dma_copy(dst=c[i * 128:(i + 1) * 128, j * 512:(j + 1) * 512], src=tile)
    return c
