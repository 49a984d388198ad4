# wrong | the kernel writes to its input x | softmax rows=128 cols=64 a=f32 -t trn2
# zeros are written to the input after it was read
@nki.jit
def k(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    t = nl.load(x)
    nl.store(x, t * 0)
    nl.store(y, nl.softmax(t, axis=-1))
    return y
