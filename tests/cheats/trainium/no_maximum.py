# wrong | wrong result: | softmax rows=128 cols=64 a=f32 -t trn2
@nki.jit
def k(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    e = nl.exp(nl.load(x))
    nl.store(y, e / nl.sum(e, axis=1))
    return y
