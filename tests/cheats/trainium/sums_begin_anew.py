# wrong | wrong result: | cumsum rows=128 cols=256 a=f32 -t trn2
@nki.jit
def k(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for j in (0, 128):
        ones = nl.ones((128, 128), dtype=nl.float32, buffer=nl.sbuf)
        t = nl.load(x[:, j:j + 128])
        nl.store(y[:, j:j + 128], nisa.tensor_tensor_scan(ones, t, 0.0, np.multiply, np.add))
    return y
