# wrong | does not fit 64 bits | gemm m=128 n=512 k=128 a_transposed=1 a=f32 b=f32 -t trn2
@nki.jit
def k(a, b):
    c = nl.ndarray((128, 512), dtype=a.dtype, buffer=nl.shared_hbm)
    least = -9223372036854775807 - 1
    t = nl.load(a[0:least // -1, :])
    return c
