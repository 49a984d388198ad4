# wrong | wrong result: | gemm m=128 n=512 k=256 a_transposed=1 a=f32 b=f32 -t trn2
@nki.jit
def k(a, b):
    c = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)
    p = nl.zeros((128, 512), dtype=nl.float32, buffer=nl.psum)
    p += nisa.nc_matmul(nl.load(a[0:128, :]), nl.load(b[0:128, :]))
    p += nisa.nc_matmul(nl.load(a[128:256, :], dtype=nl.bfloat16), nl.load(b[128:256, :], dtype=nl.bfloat16))
    nl.store(c, nl.copy(p))
    return c
