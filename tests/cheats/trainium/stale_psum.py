# wrong | wrong result: | gemm m=128 n=512 k=256 a_transposed=1 a=f32 b=f32 -t trn2
@nki.jit
def k(a, b):
    c = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)
    total = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
    for s in range(2):
        total[...] = nisa.nc_matmul(nl.load(a[s * 128:(s + 1) * 128, :]), nl.load(b[s * 128:(s + 1) * 128, :]))
    nl.store(c, nl.copy(total))
    return c
