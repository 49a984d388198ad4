"""tilewright::cached_attention and ::varlen_attention: attention without gradients to caches of sequences of different lengths, to pages, and
of sequences that follow one another; with windows and soft caps."""

from __future__ import annotations

from typing import Any, Optional

import torch

from .._library import UsageError
from . import _attention, _device
from ._register import constant, operator
from ._routes import is_compiling, is_direct, is_plain, is_traced, planned, start

_WHAT = "tilewright.torch.attention"


def _check(q, k, v, lengths, pages, causal, window, softcap) -> None:
    """q is b x sq x hq x d; k and v are b x sk x hkv x d or, with pages, n x page x hkv x d."""
    shapes = f"{list(q.shape)}, {list(k.shape)} and {list(v.shape)}"
    right = q.dim() == k.dim() == v.dim() == 4 and k.shape == v.shape and q.shape[3] == k.shape[3]
    if not right or (pages is None and q.shape[0] != k.shape[0]) or not k.shape[2] or q.shape[2] % k.shape[2]:
        raise UsageError(
            f"{_WHAT}: expected b x s x h x d (with pages: keys and values of pages x keys of a page x h x d), and a multiple of the heads "
            f"of keys as heads of queries (found {shapes})"
        )
    if len({(x.dtype, x.device) for x in (q, k, v)}) > 1:
        raise UsageError(f"{_WHAT}: q, k and v must have one type and device (found {', '.join(f'{x.dtype} on {x.device}' for x in (q, k, v))})")
    for name, x, dims in (("lengths", lengths, 1), ("pages", pages, 2)):
        if x is not None and (x.dim() != dims or x.shape[0] != q.shape[0] or x.dtype != torch.int32 or x.device != q.device):
            raise UsageError(
                f"{_WHAT}: expected {name} of int32 on {q.device} with {dims} dimensions, the first of {q.shape[0]} "
                f"(found {x.dtype} on {x.device}, {list(x.shape)})"
            )
    if window < 0 or softcap < 0 or (window and not causal):
        raise UsageError(f"{_WHAT}: window and softcap must be at least 0, and a window requires is_causal=True (found {window}, {softcap})")


def _keys_of(k: torch.Tensor, pages: "Optional[torch.Tensor]") -> int:
    return k.shape[1] if pages is None else pages.shape[1] * k.shape[1]


def _problem(q_shape: Any, k_shape: Any, n_pages: int, has_lengths: bool, causal: bool, scale: float, window: int, softcap: float) -> "dict[str, Any]":
    sk = n_pages * k_shape[1] if n_pages else k_shape[1]
    keys = _attention._keys(q_shape, (q_shape[0], sk, *k_shape[2:]), causal and (q_shape[1] > 1 or window > 0), scale, False)
    more = {"window": window, "softcap": softcap, "lengths": int(has_lengths), "page": k_shape[1] if n_pages else 0}
    return {**keys, **{key: value for key, value in more.items() if value}}


def _route(q, k, lengths, pages, causal, scale, window, softcap) -> Any:
    n_pages = 0 if pages is None else pages.shape[1]
    every = (q.shape, k.shape if pages is None else k.shape[1:], n_pages, lengths is not None, causal, scale, window, softcap)
    count = 5 + (lengths is not None) + (pages is not None)
    return planned(
        ("cached_attention", q.dtype, q.device, *every),
        "attention",
        count,
        q,
        lambda: _problem(q.shape, tuple(k.shape), n_pages, lengths is not None, causal, scale, window, softcap),
    )


@constant
def _is_known(dtype: Any, *every: Any) -> bool:
    return dtype in _device.TYPES and _device.has_kernel("attention", {**_problem(*every), "a": _device.TYPES[dtype]})


def by_pytorch(q, k, v, lengths, pages, causal, scale, window, softcap) -> torch.Tensor:
    """By its definition, or by PyTorch's own function where that has all that is asked for."""
    b, sq, hq, d = q.shape
    if pages is not None:
        k, v = (x[pages.long()].flatten(1, 2) for x in (k, v))
    sk = k.shape[1]
    if lengths is None and not window and not softcap and (not causal or sq == 1 or sq == sk):
        return _attention.by_pytorch(q, k, v, causal and sq > 1, scale)
    wide = _attention._wide_type(q)
    qs = q.to(wide).transpose(1, 2).reshape(b, k.shape[2], hq // k.shape[2], sq, d)
    ks, vs = (x.to(wide).transpose(1, 2).unsqueeze(2) for x in (k, v))
    scores = torch.matmul(qs, ks.transpose(-1, -2)) * scale  # b x hkv x group x sq x sk
    if softcap:
        scores = softcap * torch.tanh(scores / softcap)
    key = torch.arange(sk, device=q.device)
    length = torch.full((b,), sk, device=q.device) if lengths is None else lengths.long()
    end = length[:, None].expand(b, sq)
    if causal:
        end = end - (sq - 1) + torch.arange(sq, device=q.device)
    seen = key < end[..., None]
    if window:
        seen = seen & (key >= end[..., None] - window)
    weights = torch.softmax(scores.masked_fill(~seen[:, None, None], float("-inf")), -1)
    # Values after the end of a sequence may be anything, also no numbers.
    used = (key < length[:, None])[:, None, None, :, None]
    return torch.matmul(weights, vs.masked_fill(~used, 0)).flatten(1, 2).to(q.dtype).transpose(1, 2)


def _cached_attention(q, k, v, lengths, pages, causal, scale, window, softcap):
    _check(q, k, v, lengths, pages, causal, window, softcap)
    plan = _route(q, k, lengths, pages, causal, scale, window, softcap)
    if not plan:
        return by_pytorch(q, k, v, lengths, pages, causal, scale, window, softcap).contiguous()
    out, lse = q.new_empty(q.shape), q.new_empty((q.shape[0], q.shape[2], q.shape[1]), dtype=torch.float32)
    more = [x.contiguous() for x in (lengths, pages) if x is not None]
    start(plan, q.contiguous(), k.contiguous(), v.contiguous(), out, lse, *more)
    return out


def _cached_attention_fake(q, k, v, lengths, pages, causal, scale, window, softcap):
    _check(q, k, v, lengths, pages, causal, window, softcap)
    return q.new_empty(q.shape)


cached_attention = operator(
    "cached_attention(Tensor q, Tensor k, Tensor v, Tensor? lengths, Tensor? pages, bool causal, float scale, int window, float softcap) -> Tensor",
    _cached_attention,
    _cached_attention_fake,
    autocast=True,
)


def attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    *,
    lengths: Optional[torch.Tensor] = None,
    pages: Optional[torch.Tensor] = None,
    is_causal: bool = False,
    scale: Optional[float] = None,
    window: int = 0,
    softcap: float = 0.0,
) -> torch.Tensor:
    """Attention of b x sq x hq x d to b x sk x hkv x d, without gradients. The last query sees the last key if `is_causal`, and each earlier
    query one key less.

    `lengths`: int32, the number of keys of each sequence, at least sq [default: sk]. `pages`: int32, b x n: k and v are pages of keys, and
    key j of a sequence is row j % page of page pages[b][j // page]. `window`: a query sees at most this many keys, the last ones [0: all].
    `softcap`: scores are softcap * tanh(score / softcap) [0: none].
    """
    if torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v)):
        raise UsageError(f"{_WHAT}: no gradients; call it under torch.no_grad(), or use scaled_dot_product_attention")
    if q.dim() != 4:
        raise UsageError(f"{_WHAT}: expected b x s x h x d (found {list(q.shape)})")
    every = (q, k, v, lengths, pages, bool(is_causal), q.shape[-1] ** -0.5 if scale is None else float(scale), int(window), float(softcap))
    if is_traced(q):
        _check(*every[:6], *every[7:])
        n_pages = 0 if pages is None else int(pages.shape[1])
        shapes = tuple(int(n) for n in q.shape), tuple(int(n) for n in k.shape)
        if not _is_known(q.dtype, *shapes, n_pages, lengths is not None, *every[5:]):
            return by_pytorch(*every)
    elif not is_compiling() and is_plain(q, k, v) and is_direct(q, k, v, lengths, pages):
        return _cached_attention(*every)
    return cached_attention(*every)


# ---- sequences that follow one another ----


def _check_varlen(q, k, v, starts, longest, causal, window, softcap) -> None:
    _check(q[None], k[None], v[None], None, None, causal, window, softcap)
    if q.shape[0] != k.shape[0] or starts.dim() != 1 or starts.shape[0] < 2 or starts.dtype != torch.int32 or starts.device != q.device or longest < 1:
        raise UsageError(
            "tilewright.torch.varlen_attention: expected tokens x h x d, as many tokens of q and k, starts of int32 on the same device with an "
            f"element more than there are sequences, and longest >= 1 (found {list(q.shape)}, {list(k.shape)}, {starts.dtype} on {starts.device}, "
            f"{list(starts.shape)}, {longest})"
        )


def _varlen_problem(q_shape: Any, heads: int, sequences: int, longest: int, causal: bool, scale: float, window: int, softcap: float) -> "dict[str, Any]":
    tokens, hq, d = q_shape
    keys = _attention._keys((sequences, longest, hq, d), (sequences, longest, heads, d), causal, scale, False)
    more = {"window": window, "softcap": softcap, "tokens": tokens}
    return {**keys, **{key: value for key, value in more.items() if value}}


def varlen_by_pytorch(q, k, v, starts, longest, causal, scale, window, softcap) -> torch.Tensor:
    """Sequence by sequence."""
    at = starts.tolist()
    parts = [tuple(x[None, first:end] for x in (q, k, v)) for first, end in zip(at, at[1:]) if end > first]
    return torch.cat([by_pytorch(*part, None, None, causal, scale, window, softcap)[0] for part in parts])


def _varlen_attention(q, k, v, starts, longest, causal, scale, window, softcap):
    _check_varlen(q, k, v, starts, longest, causal, window, softcap)
    every = (q.shape, k.shape[1], starts.shape[0] - 1, longest, causal, scale, window, softcap)
    plan = planned(("varlen_attention", q.dtype, q.device, *every), "attention", 6, q, lambda: _varlen_problem(*every))
    if not plan:
        return varlen_by_pytorch(q, k, v, starts, longest, causal, scale, window, softcap)
    out, lse = q.new_empty(q.shape), q.new_empty((q.shape[1], q.shape[0]), dtype=torch.float32)
    start(plan, q.contiguous(), k.contiguous(), v.contiguous(), out, lse, starts.contiguous())
    return out


def _varlen_attention_fake(q, k, v, starts, longest, causal, scale, window, softcap):
    _check_varlen(q, k, v, starts, longest, causal, window, softcap)
    return q.new_empty(q.shape)


varlen_operator = operator(
    "varlen_attention(Tensor q, Tensor k, Tensor v, Tensor starts, int longest, bool causal, float scale, int window, float softcap) -> Tensor",
    _varlen_attention,
    _varlen_attention_fake,
    autocast=True,
)


def varlen_attention(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    starts: torch.Tensor,
    longest: int,
    *,
    is_causal: bool = False,
    scale: Optional[float] = None,
    window: int = 0,
    softcap: float = 0.0,
) -> torch.Tensor:
    """Attention within sequences that follow one another (cu_seqlens), without gradients. q is tokens x hq x d, k and v are tokens x hkv x d.
    Sequence i has tokens starts[i] to starts[i + 1], at most `longest`; `starts` is int32 and ends with the number of tokens. The rest is as in
    `attention`."""
    if torch.is_grad_enabled() and any(x.requires_grad for x in (q, k, v)):
        raise UsageError("tilewright.torch.varlen_attention: no gradients; call it under torch.no_grad()")
    every = (q, k, v, starts, int(longest), bool(is_causal), q.shape[-1] ** -0.5 if scale is None else float(scale), int(window), float(softcap))
    if not is_compiling() and is_plain(q, k, v) and is_direct(q, k, v, starts):
        return _varlen_attention(*every)
    return varlen_operator(*every)
