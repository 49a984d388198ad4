# wrong | wrong result: | transpose rows=128 cols=128 a=f32 -t trn2
@nki.jit
def k(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(y[0], nl.load(x[0]))
    return y
