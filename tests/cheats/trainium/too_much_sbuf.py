# wrong | a partition of SBUF | softmax rows=128 cols=64 a=f32 -t trn2
@nki.jit
def k(x):
    t = nl.ndarray((128, 100000), dtype=nl.float32, buffer=nl.sbuf)
    return x
