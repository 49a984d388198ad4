# correct | | layernorm rows=2048 cols=1024 norm=rms affine=0 residual=1 a=f32 outputs=first -t trn2 | 66e-6
# the second output, the sum, is neither asked for nor written
import nki
import nki.language as nl
@nki.jit
def k(x, r):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in range(16):
        t = nl.add(nl.load(x[128 * i:128 * i + 128, :]), nl.load(r[128 * i:128 * i + 128, :]))
        s = nl.mean(nl.multiply(t, t), axis=1, keepdims=True)
        nl.store(y[128 * i:128 * i + 128, :], nl.multiply(t, nl.rsqrt(s + 1e-5)))
    return y
