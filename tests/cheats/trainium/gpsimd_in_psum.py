# wrong | line 8: the GpSimd engine cannot reach PSUM | gemm m=128 n=512 k=128 a_transposed=1 a=f32 b=f32 -t trn2
@nki.jit
def k(a, b):
    c = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)
    out = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.sbuf)
    total = nl.zeros((128, 512), dtype=nl.float32, buffer=nl.psum)
    total += nisa.nc_matmul(nl.load(a), nl.load(b))
    out[...] = nisa.tensor_copy(total, engine=nisa.gpsimd_engine)
    nl.store(c, out)
    return c
