# wrong | line 7: the Tensor engine has no int32 | gemm m=128 n=512 k=128 a_transposed=1 a=f32 b=f32 -t trn2
@nki.jit
def k(a, b):
    c = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)
    x = nl.copy(nl.load(a), dtype=nl.int32)
    total = nl.zeros((128, 512), dtype=nl.float32, buffer=nl.psum)
    total += nisa.nc_matmul(x, nl.load(b))
    nl.store(c, nl.copy(total))
    return c
