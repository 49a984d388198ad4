# wrong | wrong result: | gemm m=128 n=512 k=128 a_transposed=1 a=f32 b=f32 -t trn2
@nki.jit
def k(a, b):
    c = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)
    nl.store(c, nl.copy(nisa.nc_matmul(nl.load(a, dtype=nl.bfloat16), nl.load(b, dtype=nl.bfloat16))))
    return c
