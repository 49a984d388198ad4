# wrong | wrong result: | pool h=30 w=20 s=1 a=f32 -t trn2
@nki.jit
def k(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    nl.store(y[0], nl.maximum(nl.load(x[0]), 0.0))
    return y
