"""Every operator of tilewright.torch with small inputs: PyTorch's own checks of operators (from 2.4 on) and of gradients, for test_torch.py on the
CPU and gpu_torch.py on a GPU."""

import torch

from tilewright.torch import _attention, _cached, _conv, _elementwise, _gate, _gemm, _mlp, _packed, _pool, _reduce, _rows


def _reductions(new):
    """Each function, and each term of sums and means, of pairs also with a second operand that has the last dimensions alone."""
    for f in ("norm", "max", "min"):
        yield _reduce.operation, (new(3, 4, 5), None, f, "x", 1, 1)
    for of in _reduce.TERMS:
        others = (new(3, 4, 5), new(4, 5)) if of in _reduce.PAIRS else (None,)
        for other in others:
            for f in ("sum", "mean"):
                yield _reduce.operation, (new(3, 4, 5), other, f, of, 1, 2)


def operators(device, dtype):
    """Operators and inputs whose gradients are asked for."""
    new = lambda *shape: torch.randn(*shape, device=device, dtype=dtype, requires_grad=True)  # noqa: E731
    m, s = (130, 16) if device == "cuda" else (5, 4)  # differences in f64 take long on a CPU
    angles = lambda: torch.randn(s, 4, device=device, dtype=dtype)  # noqa: E731
    return (
        (_gemm.linear, (new(m, 16), new(24, 16), new(24))),
        (_gemm.matmul, (new(2, m, 16), new(16, 24))),
        (_gemm.linear_add, (new(m, 16), new(24, 16), new(m, 24))),
        (_gemm.gated_linear, (new(m, 16), new(24, 16), "silu")),
        (_mlp.operation, (new(2, m, 16), new(48, 16), new(16, 24), new(2, m, 16), "silu")),
        (_mlp.operation, (new(m, 16), new(48, 16), new(8, 24), None, "gelu_tanh")),
        (_gemm.rotary_linear, (new(2, 4, 16), new(24, 16), new(4, 4), new(4, 4), 2, False)),
        (_gemm.rotary_linear, (new(1, 4, 16), new(24, 16), new(4, 3), new(4, 3), 3, True)),
        (_rows.layer_norm, (new(4, 16), new(16), new(16), 1e-5)),
        (_rows.rms_norm, (new(4, 16), new(16), 1e-5)),
        (_rows.group_norm, (new(2, 4, 8), 2, new(4), new(4), 1e-5)),
        (_rows.group_norm, (new(2, 4, 8), 2, None, None, 1e-5)),
        *((_rows.normalize, (new(3, 4, 5), f, 0.1, dim)) for f in _rows.NORMS for dim in (1, 2)),
        (_rows.softmax, (new(4, 16),)),
        (_rows.log_softmax, (new(4, 16),)),
        (_rows.cumsum, (new(4, 16), True, False, None)),
        (_rows.cumsum, (new(4, 16), False, True, torch.rand(4, 16, device=device) > 0.5)),
        (_gate.operation, (new(4, 16), "silu")),
        (_elementwise.operation, (new(4, 16), "elu", 0.75, 0.0, None)),
        (_elementwise.operation, (new(4, 16), "divide", 1.0, -1.0, (new(1) + 4).detach().requires_grad_())),
        (_pool.operation, (new(2, 3, 8, 9), [3, 3], 2, 1, 1, True)),
        (_pool.operation, (new(2, 3, 8, 9), [3, 3], 2, 1, 1, False)),
        *_reductions(new),
        (_attention.attention, (new(2, s, 4, 8), new(2, s, 2, 8), new(2, s, 2, 8), True, 0.3)),
        (_attention.rotary, (new(2, s, 4, 8), angles(), angles(), False)),
    )


def without_gradients(device, dtype):
    codes, scales = (t.to(device) for t in _packed.encoded(torch.randn(24, 64), "i4", 32))
    new = lambda *shape: torch.randn(*shape, device=device, dtype=dtype)  # noqa: E731
    starts, lengths = torch.tensor([0, 5, 16], device=device, dtype=torch.int32), torch.tensor([7, 16], device=device, dtype=torch.int32)
    return (
        (_packed.packed_linear, (new(4, 64).requires_grad_(), codes, scales, None, "i4", 32, "none")),
        (_conv.operation, (new(2, 3, 8, 9), new(4, 3, 3, 3), new(4), 1, [1, 1])),
        (_cached.cached_attention, (new(2, 4, 4, 8), new(2, 16, 2, 8), new(2, 16, 2, 8), lengths, None, True, 0.3, 0, 0.0)),
        (_cached.varlen_operator, (new(16, 4, 8), new(16, 2, 8), new(16, 2, 8), starts, 11, True, 0.3, 0, 0.0)),
        *((_reduce.operation, (new(3, 4, 5), None, f, "x", 1, 1)) for f in ("argmax", "argmin")),
        *([(_rows.quantized_rms_norm, (new(4, 16), new(16), 1e-5))] if _rows.E4M3 else []),
    )


def opchecks(device, dtype):
    cases = (*operators(device, dtype), *without_gradients(device, dtype))
    for op, inputs in cases:
        try:
            torch.library.opcheck(op, inputs)
        except Exception as error:
            raise AssertionError(f"{op} of {inputs[1:]} on {device} in {dtype}: {str(error)[:500]}") from error
    return f"{len(cases)} cases"


#: Their gradients are those of PyTorch's functions, and have gradients in turn.
TWICE = (_rows.group_norm, _elementwise.operation, _pool.operation, _reduce.operation, _rows.normalize)


def gradchecks(device):
    """Gradients in f64, beside differences, and second ones."""
    cases = operators(device, torch.float64)
    for op, inputs in cases:
        places = [i for i, x in enumerate(inputs) if isinstance(x, torch.Tensor) and x.requires_grad]

        def call(*leaves):
            given = dict(zip(places, leaves))
            out = op(*[given.get(i, x) for i, x in enumerate(inputs)])
            return out[0] if isinstance(out, tuple) else out

        try:
            torch.autograd.gradcheck(call, [inputs[i] for i in places])
            if op in TWICE:
                torch.autograd.gradgradcheck(call, [inputs[i] for i in places])
        except Exception as error:
            raise AssertionError(f"{op} of {inputs[1:]}: {str(error)[:500]}") from error
    return f"{len(cases)} cases"
