# correct | | softmax rows=128 cols=64 a=f32 -t trn2 | 8e-6
@nki.jit
def k(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for h in (0, 64):
        t = nl.load(x[h:h + 64, :])
        nl.store(y[h:h + 64, :], nl.softmax(t, axis=-1))
    return y
