# correct | | gemm m=128 n=512 k=512 a_transposed=1 a=f32 b=f32 -t trn2
@nki.jit
def k(a, b):
    c = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)
    sums = nl.zeros((128, 512), dtype=nl.float32, buffer=nl.sbuf)
    for i in nl.affine_range(2):
        total = nl.zeros((128, 512), dtype=nl.float32, buffer=nl.psum)
        for j in nl.affine_range(2):
            rows = nl.ds((2 * i + j) * 128, 128)
            total += nisa.nc_matmul(nl.load(a[rows, :]), nl.load(b[rows, :]))
        sums[...] = nl.add(sums, total)
    nl.store(c, sums)
    return c
