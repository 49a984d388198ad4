# wrong | wrong result: | softmax rows=128 cols=64 a=f32 -t trn2
@nki.jit
def k(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.load(x)
    e = nl.exp(a - nl.max(a, axis=1, keepdims=True))
    z = nl.max(nl.abs(a), axis=1, keepdims=True)
    nl.store(y, e / nl.sum(e, axis=1, keepdims=True) * (z / z))
    return y
