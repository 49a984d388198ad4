# wrong | tensor_tensor is unsupported on the Scalar engine | elementwise rows=256 cols=512 f=scale alpha=2 a=f32 -t trn2
import neuronxcc.nki.isa as nisa
@nki.jit
def k(x):
    y = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
    for i in nl.affine_range(2):
        a = nl.load(x[i * 128:(i + 1) * 128, :])
        nl.store(y[i * 128:(i + 1) * 128, :], nisa.tensor_tensor(a, a, op=nl.add, engine=nisa.scalar_engine))
    return y
