# wrong | line 8: an instruction reads two operands from PSUM | gemm m=128 n=512 k=256 a_transposed=1 a=f32 b=f32 -t trn2
@nki.jit
def k(a, b):
    c = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)
    first, second = [nl.zeros((128, 512), dtype=nl.float32, buffer=nl.psum) for i in range(2)]
    first += nisa.nc_matmul(nl.load(a[0:128, :]), nl.load(b[0:128, :]))
    second += nisa.nc_matmul(nl.load(a[128:256, :]), nl.load(b[128:256, :]))
    nl.store(c, nisa.tensor_tensor(first, second, op=nl.add))
    return c
