# wrong | wrong result: | mamba c=64 s=32 n=1 a=f32 -t trn2
@nki.jit
def k(delta, u, A, B, C):
    y = nl.ndarray(delta.shape, dtype=delta.dtype, buffer=nl.shared_hbm)
    d = nl.load(delta[0])
    b = nl.broadcast_to(nl.load(B[0]), (64, 32))
    c = nl.broadcast_to(nl.load(C[0]), (64, 32))
    nl.store(y[0], d * nl.load(u[0]) * b * c)
    return y
