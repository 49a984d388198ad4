# wrong | wrong result: | layernorm rows=128 cols=64 a=f32 -t trn2
@nki.jit
def k(x, weight, bias):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    a = nl.load(x)
    m = nl.max(nl.abs(a), axis=1, keepdims=True)
    b = a / m
    c = b - nl.mean(b, axis=1, keepdims=True)
    v = nl.mean(c * c, axis=1, keepdims=True)
    r = c * nl.rsqrt(v + 0.00001 / (m * m))
    w = nl.broadcast_to(nl.load(weight.reshape((1, 64))), (128, 64))
    t = nl.broadcast_to(nl.load(bias.reshape((1, 64))), (128, 64))
    nl.store(y, r * w + t)
    return y
