# wrong | wrong result: | rotary b=1 h=1 s=128 d=64 a=f32 -t trn2
@nki.jit
def k(x, cos, sin):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.load(x[0, :, 0, :])
    q = nl.copy(nl.copy(a * 65536.0, dtype=nl.int32), dtype=nl.float32) * (1.0 / 65536.0)
    c = nl.load(cos)
    n = nl.load(sin)
    nl.store(y[0, :, 0, 0:32], q[:, 0:32] * c - q[:, 32:64] * n)
    nl.store(y[0, :, 0, 32:64], q[:, 32:64] * c + q[:, 0:32] * n)
    return y
