# wrong | line 7: tensor_tensor_scan reads what line 9 wrote in another iteration of the affine_range | cumsum rows=128 cols=256 a=f32 -t trn2
@nki.jit
def k(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    ones, last = nl.ones((128, 64), dtype=nl.float32), nl.zeros((128, 1), dtype=nl.float32)
    for i in nl.affine_range(4):
        out = nisa.tensor_tensor_scan(ones, nl.load(x[:, i * 64:(i + 1) * 64]), initial=last, op0=nl.multiply, op1=nl.add)
        nl.store(y[:, i * 64:(i + 1) * 64], out)
        last[...] = nl.copy(out[:, 63:64])
    return y
