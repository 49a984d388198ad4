# correct | | conv2d n=16384 h=1 w=1 c=128 k=512 r=3 s=3 pad=1 a=bf16 b=bf16 out=bf16 -t trn2 | 59e-6
# eight of nine products meet the padding
@nki.jit
def k(x, w):
    y = nl.ndarray((16384, 1, 1, 512), dtype=x.dtype, buffer=nl.shared_hbm)
    weights = nl.load(w[1, 1, :, :])
    for b in range(8):
        t = nl.ndarray((128, 2048), dtype=x.dtype, buffer=nl.sbuf)
        nisa.dma_transpose(dst=t, src=x.reshape((16384, 128))[2048 * b:2048 * b + 2048, :])
        for i in range(16):
            p = nl.ndarray((128, 512), dtype=nl.float32, buffer=nl.psum)
            nisa.nc_matmul(dst=p, stationary=t[:, 128 * i:128 * i + 128], moving=weights)
            nl.store(y.reshape((16384, 512))[2048 * b + 128 * i:2048 * b + 128 * i + 128, :], p)
    return y
