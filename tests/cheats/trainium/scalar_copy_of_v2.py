# wrong | line 9: tensor_copy is unsupported on the Scalar engine of NeuronCore-v2 | softmax rows=128 cols=64 a=f32 -t trn1
import nki
import nki.isa as nisa
import nki.language as nl
@nki.jit
def k(x):
    y, t, u = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm), nl.ndarray(x.shape, dtype=x.dtype), nl.ndarray(x.shape, dtype=x.dtype)
    nisa.dma_copy(dst=t, src=x)
    nisa.tensor_copy(dst=u, src=t, engine=nisa.scalar_engine)
    nisa.dma_copy(dst=y, src=u)
    return y
