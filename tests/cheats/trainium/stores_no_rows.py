# wrong | expected (0, 128) | gemm m=128 n=512 k=128 a_transposed=1 a=f32 b=f32 -t trn2
@nki.jit
def k(a, b):
    c = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)
    t = nl.load(a)
    nisa.dma_copy(c[64:64, 0:128], t[0:64, :])
    return c
