# wrong | the kernel's tensors need more than 514 MiB of the host | softmax rows=128 cols=64 a=f32 -t trn2
@nki.jit
def k(x):
    tiles = []
    while True:
        tiles.append(nl.load(x))
