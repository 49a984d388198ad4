# wrong | line 6: the Tensor engine writes bytes 1024 to 3071 of a partition of PSUM | gemm m=128 n=512 k=128 a_transposed=1 a=f32 b=f32 -t trn2
@nki.jit
def k(a, b):
    c = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)
    total = nl.zeros((128, 1024), dtype=nl.float32, buffer=nl.psum)
    total[:, 256:768] += nisa.nc_matmul(nl.load(a), nl.load(b))
    nl.store(c, nl.copy(total[:, 256:768]))
    return c
