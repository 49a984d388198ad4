# wrong | the Tensor engine only multiplies and transposes | elementwise rows=256 cols=512 f=scale alpha=3 a=f32 -t trn2
# The Tensor engine cannot copy. A copy there must not count as work of one more engine.
import neuronxcc.nki.isa as nisa
@nki.jit
def k(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(2):
        a = nl.multiply(nl.load(x[i * 128:(i + 1) * 128, :]), 3.0)
        nl.store(y[i * 128:(i + 1) * 128, :], nisa.tensor_copy(a, engine=nisa.tensor_engine))
    return y
