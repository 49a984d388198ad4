# wrong | wrong result: | depthwise c=64 w=100 taps=3 pad=1 a=f32 -t trn2
@nki.jit
def k(x, weights):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    w = nl.load(weights)
    t = nl.load(x[0])
    s = nl.zeros((64, 100), dtype=nl.float32, buffer=nl.sbuf)
    s[:, 1:99] = t[:, 0:98] * w[:, 0:1] + t[:, 1:99] * w[:, 1:2] + t[:, 2:100] * w[:, 2:3]
    nl.store(y[0], s)
    return y
