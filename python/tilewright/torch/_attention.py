"""tilewright::attention, its gradient, and ::rotary. Tensors are b x s x h x d inside, as projections leave them."""

from __future__ import annotations

from typing import Any, Optional

import torch

from .._library import UsageError
from . import _device
from ._register import Direct, constant, operator
from ._routes import ROUTES, is_direct, planned, start

# ---- attention ----


def check_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> None:
    """Tensors of b x s x h x d that go together."""
    shapes = f"{list(q.shape)}, {list(k.shape)} and {list(v.shape)}"
    right = q.dim() == k.dim() == v.dim() == 4 and k.shape == v.shape and (q.shape[0], q.shape[3]) == (k.shape[0], k.shape[3])
    if not right or (k.shape[2] and q.shape[2] % k.shape[2]):
        raise UsageError(
            "tilewright.torch.scaled_dot_product_attention: expected b x s x h x d, and a multiple of the heads of keys as heads "
            f"of queries (found {shapes})"
        )
    if len({(x.dtype, x.device) for x in (q, k, v)}) > 1 or not q.is_floating_point():
        found = ", ".join(f"{x.dtype} on {x.device}" for x in (q, k, v))
        raise UsageError(f"tilewright.torch.scaled_dot_product_attention: operands must have one floating-point type and one device (found {found})")


def pitch_of(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor) -> int:
    """Elements from one position to the next, where q, k and v are parts of longer rows, as of one projection; 0: some have to be dense."""
    if q.is_contiguous():
        return 0
    pitch, d = q.stride(1), q.shape[3]
    fits = all(x.stride() == (x.shape[1] * pitch, pitch, d, 1) or (x.shape[0] == 1 and x.stride()[1:] == (pitch, d, 1)) for x in (q, k, v))
    return pitch if fits and pitch % 8 == 0 and pitch > max(q.shape[2], k.shape[2]) * d else 0


def _keys(q_shape: Any, k_shape: Any, causal: bool, scale: float, backward: bool, pitch: int = 0) -> "dict[str, Any]":
    b, sq, hq, d = q_shape
    made: "dict[str, Any]" = dict(b=b, hq=hq, hkv=k_shape[2], sq=sq, sk=k_shape[1], d=d)
    if pitch:
        made["pitch"] = pitch
    if causal:
        made["causal"] = 1
    if backward:
        made["pass"] = "backward"
    if scale != d**-0.5:
        made["scale"] = scale
    return made


def route(q: torch.Tensor, k: torch.Tensor, causal: bool, scale: float, backward: bool, pitch: int = 0) -> Any:
    key = ("attention", q.shape, k.shape, q.dtype, q.device, causal, scale, backward, pitch)
    if causal and q.shape[1] != k.shape[1]:
        return False  # PyTorch's mask begins at the first query, the kernels' ends at the last
    return planned(key, "attention", 9 if backward else 5, q, lambda: _keys(q.shape, k.shape, causal, scale, backward, pitch))


def forward_route(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, scale: float) -> "tuple[Any, int]":
    """The forward kernel, and the pitch of its q, k and v; 0: they have to be dense."""
    pitch = pitch_of(q, k, v)
    if pitch and not (q.data_ptr() | k.data_ptr() | v.data_ptr()) & 15:
        plan = route(q, k, causal, scale, False, pitch)
        if plan or ROUTES.recorded is not None:
            return plan, pitch
    return route(q, k, causal, scale, False), 0


@constant
def is_known(q_shape: Any, k_shape: Any, dtype: Any, causal: bool, scale: float, backward: bool, pitch: int = 0) -> bool:
    """Has wisdom the kernel, and that of the backward pass? For torch.compile, as _gemm.is_known."""
    if dtype not in _device.TYPES or 0 in (*q_shape, *k_shape) or (causal and q_shape[1] != k_shape[1]):
        return False
    passes = (False, True) if backward else (False,)
    return all(_device.has_kernel("attention", {**_keys(q_shape, k_shape, causal, scale, p, pitch), "a": _device.TYPES[dtype]}) for p in passes)


def has_kernel(q: torch.Tensor, k: torch.Tensor, causal: bool, scale: float, backward: bool, pitch: int = 0) -> bool:
    return is_known(tuple(int(n) for n in q.shape), tuple(int(n) for n in k.shape), q.dtype, causal, scale, backward, pitch)


_SDPA = getattr(torch.nn.functional, "scaled_dot_product_attention", None)  #: from PyTorch 2.0 on
_TAKES_SCALE = hasattr(torch.library, "register_fake")  # 2.4, with room to spare
_TAKES_GROUPS = _SDPA is not None and "enable_gqa" in (_SDPA.__doc__ or "")


def by_pytorch(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, causal: bool, scale: float) -> torch.Tensor:
    """Of b x s x h x d, by PyTorch's own."""
    group = q.shape[2] // max(k.shape[2], 1)
    q, k, v = (x.transpose(1, 2) for x in (q, k, v))
    more = {"enable_gqa": True} if group > 1 and _TAKES_GROUPS else {}
    if group > 1 and not more:
        k, v = (x.repeat_interleave(group, 1) for x in (k, v))
    if _SDPA is None or (scale != q.shape[-1] ** -0.5 and not _TAKES_SCALE):
        return torch.matmul(_weights(q, k, causal, scale), v.to(_wide_type(q))).to(q.dtype).transpose(1, 2)
    more = dict(more, scale=scale) if _TAKES_SCALE else more
    return _SDPA(q, k, v, is_causal=causal, **more).transpose(1, 2)


def any_by_pytorch(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, mask: Any, dropout: float, causal: bool, scale: Optional[float]) -> torch.Tensor:
    """Of b x h x s x d, or with other dimensions before s x d, by PyTorch's own. PyTorch before 2.0 has none."""
    if _SDPA is not None and (scale is None or _TAKES_SCALE):
        return _SDPA(q, k, v, mask, dropout, causal, **({} if scale is None else {"scale": scale}))
    if mask is not None and causal:
        raise UsageError("tilewright.torch.scaled_dot_product_attention: expected a mask or is_causal=True (found both)")
    if not q.is_floating_point() or {k.dtype, v.dtype} != {q.dtype}:
        raise UsageError(f"tilewright.torch.scaled_dot_product_attention: expected one floating-point type (found {q.dtype}, {k.dtype} and {v.dtype})")
    weights = _weights(q, k, causal, q.shape[-1] ** -0.5 if scale is None else float(scale), mask)
    return torch.matmul(torch.nn.functional.dropout(weights, dropout), v.to(weights.dtype)).to(q.dtype)


def _wide_type(x: torch.Tensor) -> torch.dtype:
    return torch.float64 if x.dtype == torch.float64 else torch.float32


def _weights(q: torch.Tensor, k: torch.Tensor, causal: bool, scale: float, mask: Optional[torch.Tensor] = None) -> torch.Tensor:
    """Softmax of the scores, of b x h x s x d."""
    scores = torch.matmul(q.to(_wide_type(q)), k.to(_wide_type(q)).transpose(-1, -2)) * scale
    if causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).tril()
        scores = scores.masked_fill(~seen, float("-inf"))
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf")) if mask.dtype == torch.bool else scores + mask
    return torch.softmax(scores, -1)


def _attention(q, k, v, causal, scale, found=None):
    """`found`: of `forward_route`, for operands that are checked already."""
    if found is None:
        check_attention(q, k, v)
        found = forward_route(q, k, v, causal, scale)
    plan, pitch = found
    lse = q.new_empty((q.shape[0], q.shape[2], q.shape[1]), dtype=torch.float32)
    if not plan:
        return by_pytorch(q, k, v, causal, scale).contiguous(), lse.zero_()  # which nothing reads
    out = q.new_empty(q.shape)
    start(plan, *((q, k, v) if pitch else (x.contiguous() for x in (q, k, v))), out, lse)
    return out, lse


def _attention_fake(q, k, v, causal, scale):
    check_attention(q, k, v)
    return q.new_empty(q.shape), q.new_empty((q.shape[0], q.shape[2], q.shape[1]), dtype=torch.float32)


def _attention_backward(q, k, v, out, lse, g, causal, scale):
    # Without the forward kernel there is no log of the sums.
    plan = forward_route(q, k, v, causal, scale)[0] and route(q, k, causal, scale, True)
    if not plan:
        return _gradients(q, k, v, out, g, causal, scale)
    dq, dk, dv = (x.new_empty(x.shape) for x in (q, k, v))
    inputs = [x.contiguous() for x in (q, k, v, out, lse, g)]
    start(plan, *inputs, dq, dk, dv)
    return dq, dk, dv


def _gradients(q, k, v, out, g, causal, scale):
    """By their definition, sequence by sequence: the scores of one are in memory."""
    wide, group = _wide_type(q), q.shape[2] // max(k.shape[2], 1)
    dq, dk, dv = (x.new_empty(x.shape) for x in (q, k, v))
    for i in range(q.shape[0]):
        qi, ki, vi, oi, gi = (x[i : i + 1].transpose(1, 2).to(wide) for x in (q, k, v, out, g))
        kr, vr = (x.repeat_interleave(group, 1) for x in (ki, vi))
        p = _weights(qi, kr, causal, scale)
        ds = p * (torch.matmul(gi, vr.transpose(-1, -2)) - (gi * oi).sum(-1, keepdim=True)) * scale
        dki, dvi = torch.matmul(ds.transpose(-1, -2), qi), torch.matmul(p.transpose(-1, -2), gi)
        heads = (1, k.shape[2], group, k.shape[1], k.shape[3])
        dq[i] = torch.matmul(ds, kr).transpose(1, 2)[0].to(q.dtype)
        dk[i] = dki.reshape(heads).sum(2).transpose(1, 2)[0].to(q.dtype)
        dv[i] = dvi.reshape(heads).sum(2).transpose(1, 2)[0].to(q.dtype)
    return dq, dk, dv


def _attention_backward_fake(q, k, v, out, lse, g, causal, scale):
    return tuple(x.new_empty(x.shape) for x in (q, k, v))


attention_backward = operator(
    "attention_backward(Tensor q, Tensor k, Tensor v, Tensor out, Tensor lse, Tensor g, bool causal, float scale) -> (Tensor, Tensor, Tensor)",
    _attention_backward,
    _attention_backward_fake,
)


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs[:3], *output)
    ctx.causal, ctx.scale = inputs[3:5]
    ctx.mark_non_differentiable(output[1])


def _backward(ctx: Any, g: torch.Tensor, _: Any):
    q, k, v, out, lse = ctx.saved_tensors
    run = _attention_backward if is_direct(q, k, v, out, lse, g) else attention_backward
    return (*run(q, k, v, out, lse, g, ctx.causal, ctx.scale), None, None)


attention = operator(
    "attention(Tensor q, Tensor k, Tensor v, bool causal, float scale) -> (Tensor, Tensor)",
    _attention,
    _attention_fake,
    setup=_setup,
    backward=_backward,
    autocast=True,
)
direct_attention = Direct(_attention, _setup, lambda ctx, *g: (*_backward(ctx, *g), None))  # also takes `found`


# ---- rotary position embedding ----


def check_rotary(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> None:
    if x.dim() != 4 or x.shape[3] % 2 or not list(cos.shape) == list(sin.shape) == [x.shape[1], x.shape[3] // 2]:
        raise UsageError(
            "tilewright.torch.rotary: expected b x s x h x d with an even d, and tables of s x d / 2 "
            f"(found {list(x.shape)}, {list(cos.shape)} and {list(sin.shape)})"
        )
    if len({(t.dtype, t.device) for t in (x, cos, sin)}) > 1:
        found = ", ".join(f"{t.dtype} on {t.device}" for t in (x, cos, sin))
        raise UsageError(f"tilewright.torch.rotary: operands must have one floating-point type and one device (found {found}); convert one")


def _rotary_keys(shape: Any, stride: Any, interleaved: bool) -> "dict[str, Any]":
    """With `ldx` for heads that are a part of longer rows, as of a projection to queries, keys and values. Other layouts are copied."""
    b, s, h, d = shape
    made: "dict[str, Any]" = dict(b=b, h=h, s=s, d=d)
    ld = stride[1]
    if s > 1 and stride[2:] == (d, 1) and ld > h * d and ld % 8 == 0 and (b == 1 or stride[0] == s * ld):
        made["ldx"] = ld
    return dict(made, interleaved=1) if interleaved else made


@constant
def is_known_rotary(shape: Any, stride: Any, dtype: Any, interleaved: bool) -> bool:
    """Has wisdom a kernel? For torch.compile, as `is_known`."""
    return dtype in _device.TYPES and 0 not in shape and _device.has_kernel("rotary", dict(_rotary_keys(shape, stride, interleaved), a=_device.TYPES[dtype]))


def has_rotary(x: torch.Tensor, interleaved: bool) -> bool:
    return is_known_rotary(*(tuple(int(n) for n in numbers) for numbers in (x.shape, x.stride())), x.dtype, interleaved)


def _rotary(x, cos, sin, interleaved):
    check_rotary(x, cos, sin)
    if x.data_ptr() & 15:
        x = x.clone(memory_format=torch.contiguous_format)
    keys = _rotary_keys(x.shape, x.stride(), interleaved)
    plan = planned(("rotary", x.shape, keys.get("ldx"), x.dtype, x.device, interleaved), "rotary", 4, x, lambda: keys)
    if not plan:
        return rotary_by_pytorch(x, cos, sin, interleaved)
    out = x.new_empty(x.shape)
    start(plan, x if "ldx" in keys else x.contiguous(), cos.contiguous(), sin.contiguous(), out)
    return out


def rotary_by_pytorch(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, interleaved: bool) -> torch.Tensor:
    wide = _wide_type(x)
    c, s = (t.to(wide)[:, None, :] for t in (cos, sin))
    first, second = (x[..., 0::2], x[..., 1::2]) if interleaved else x.chunk(2, -1)
    first, second = first.to(wide), second.to(wide)
    pair = first * c - second * s, second * c + first * s
    out = torch.stack(pair, -1).flatten(-2) if interleaved else torch.cat(pair, -1)
    return out.to(x.dtype)


def _rotary_fake(x, cos, sin, interleaved):
    check_rotary(x, cos, sin)
    return x.new_empty(x.shape)


def _rotary_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs[:3])
    ctx.interleaved = inputs[3]


def _rotary_backward(ctx: Any, g: torch.Tensor):
    x, cos, sin = ctx.saved_tensors
    turn = direct_rotary if is_direct(g, cos, sin) else rotary
    dx = turn(g, cos, -sin, ctx.interleaved) if ctx.needs_input_grad[0] else None
    if not (ctx.needs_input_grad[1] or ctx.needs_input_grad[2]):
        return dx, None, None, None
    wide = _wide_type(x)
    halves = (lambda t: (t[..., 0::2], t[..., 1::2])) if ctx.interleaved else (lambda t: t.chunk(2, -1))
    (x1, x2), (g1, g2) = halves(x.to(wide)), halves(g.to(wide))
    dcos, dsin = (g1 * x1 + g2 * x2).sum((0, 2)), (g2 * x1 - g1 * x2).sum((0, 2))
    return dx, dcos.to(cos.dtype), dsin.to(sin.dtype), None


rotary = operator(
    "rotary(Tensor x, Tensor cos, Tensor sin, bool interleaved) -> Tensor",
    _rotary,
    _rotary_fake,
    setup=_rotary_setup,
    backward=_rotary_backward,
)
direct_rotary = Direct(_rotary, _rotary_setup, _rotary_backward)
