"""tilewright::packed_linear: a linear layer with weights of 4 or 2 bits, as codes and scales of tilewright/format.h."""

from __future__ import annotations

from typing import Any, Optional

import torch

from .._formats import encode
from .._library import UsageError
from . import _device, _host, _kept
from ._gemm import rows_of
from ._register import operator
from ._routes import ROUTES

#: From the types of a gemm to the names of their formats.
FORMATS = {"i4": "i4", "mxfp4": "mxfp4", "ternary": "i2_s"}
_data = torch.Tensor.data_ptr


def check_format(format: str) -> None:
    if format not in FORMATS:
        raise UsageError(f"tilewright.torch.PackedLinear: unsupported format '{format}'; expected one of {', '.join(FORMATS)}")


def encoded(weight: torch.Tensor, format: str, group: int) -> "tuple[torch.Tensor, torch.Tensor]":
    """Codes and scales of a weight of n x k, a row a line."""
    check_format(format)
    if group and format != "i4":
        raise UsageError(f"tilewright.torch.PackedLinear: {format} has its own groups (found group={group}); leave group out")
    planes = encode(weight.detach().float().cpu().numpy(), FORMATS[format], group=group)
    rows = weight.shape[0]
    return torch.from_numpy(planes.codes).reshape(rows, -1), torch.from_numpy(planes.scales).reshape(rows, -1)


# ---- the order of codes ----

#: With `shuffle=mma`, k must be a multiple of this many values.
UNITS = {"i4": 64, "mxfp4": 128, "ternary": 128}


def check_order(format: str, shuffle: str, n: int, k: int) -> None:
    check_format(format)
    if shuffle not in ("none", "mma"):
        raise UsageError(f"tilewright.torch.PackedLinear: unsupported shuffle '{shuffle}'; expected none or mma")
    if shuffle == "mma" and (n % 16 or k % UNITS[format]):
        raise UsageError(
            f"tilewright.torch.PackedLinear: shuffle='mma' of {format} requires out_features to be a multiple of 16 and in_features of "
            f"{UNITS[format]} (found {n} and {k})"
        )


def _joined(fields: torch.Tensor, bits: int) -> torch.Tensor:
    """Fields of a byte, the lowest bits first."""
    whole = fields[..., 0]
    for i in range(1, 8 // bits):
        whole = whole | fields[..., i] << bits * i
    return whole


# In a unit, 16 rows are 2 registers x 8 threads. 16 values of k are 2 registers x 4 threads x 2 halves of a register.
def shuffled(codes: torch.Tensor, scales: torch.Tensor, format: str) -> "tuple[torch.Tensor, torch.Tensor]":
    """Codes and scales of rows in the order of shuffle=mma (src/op/gemm_packed.h), in tensors of the same shapes."""
    n = codes.shape[0]
    if format == "ternary":
        fields = torch.stack([codes.reshape(n, -1, 32) >> shift & 3 for shift in (6, 4, 2, 0)], 2).reshape(n // 16, 2, 8, -1, 2, 4, 2, 4, 2)
        units = _joined(fields.permute(0, 3, 2, 7, 4, 6, 8, 1, 5).flip(-1), 2)
    else:
        fields = torch.stack([codes & 15, codes >> 4], -1).reshape(n // 16, 2, 8, -1, 4, 2, 4, 2)
        units = _joined(fields.permute(0, 3, 2, 6, 4, 7, 5, 1).reshape(-1, 2), 4)
    words = scales.reshape(n // 16, 16, -1, 4 if format == "mxfp4" else 1).transpose(1, 2)
    return units.reshape(codes.shape), words.reshape(scales.shape)


def in_rows(codes: torch.Tensor, scales: torch.Tensor, format: str, shuffle: str) -> "tuple[torch.Tensor, torch.Tensor]":
    """Codes and scales in rows. `shuffle` is the order that they have now."""
    if shuffle == "none":
        return codes, scales
    n = codes.shape[0]
    if format == "ternary":
        fields = torch.stack([codes >> shift & 3 for shift in (6, 4, 2, 0)], -1).reshape(n // 16, -1, 8, 4, 2, 2, 2, 2, 4)
        fields = fields.permute(0, 7, 2, 1, 4, 8, 5, 3, 6).reshape(n, -1, 4, 32)
        rows = fields[:, :, 0] << 6 | fields[:, :, 1] << 4 | fields[:, :, 2] << 2 | fields[:, :, 3]
    else:
        fields = torch.stack([codes & 15, codes >> 4], -1).reshape(n // 16, -1, 8, 4, 4, 2, 2, 2)
        rows = _joined(fields.permute(0, 7, 2, 1, 4, 6, 3, 5).reshape(n, -1, 2), 4)
    words = scales.reshape(n // 16, -1, 16, 4 if format == "mxfp4" else 1).transpose(1, 2)
    return rows.reshape(codes.shape), words.reshape(scales.shape)


# ---- values from codes, where no kernel takes the codes ----

_E2M1 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)


def decoded(codes: torch.Tensor, scales: torch.Tensor, format: str, group: int, shuffle: str, k: int) -> torch.Tensor:
    """The weight in float32, n x k."""
    codes, scales = in_rows(codes, scales, format, shuffle)
    rows = codes.shape[0]
    if format == "ternary":  # 128 values in 32 bytes: byte p holds values p, 32 + p, 64 + p, 96 + p from its highest bits on
        lines = codes.reshape(rows, -1, 1, 32)
        values = torch.cat([(lines >> shift) & 3 for shift in (6, 4, 2, 0)], 2).reshape(rows, -1)[:, :k].float() - 1
        return values * scales
    nibbles = torch.stack([codes & 15, codes >> 4], 2).reshape(rows, -1)[:, :k].long()
    if format == "mxfp4":
        table = torch.tensor([*_E2M1, *(-x for x in _E2M1)], device=codes.device)
        powers = torch.ldexp(torch.ones(256, dtype=torch.float64), torch.arange(-127, 129)).float()
        powers[255] = float("nan")
        values, factors, group = table[nibbles], powers.to(codes.device)[scales.long()], 32
    else:
        values, factors, group = ((nibbles ^ 8) - 8).float(), scales, group or k
    return values * factors.repeat_interleave(group, 1)[:, :k]


# ---- the operator ----


class _Packed:
    """A route: a host plan, a kernel of the device, or neither."""

    __slots__ = ("host", "device", "shape")

    def __init__(self, x: torch.Tensor, n: int, bias: Optional[torch.Tensor], format: str, group: int, shuffle: str):
        self.host = self.device = None
        k = x.shape[-1]
        m = x.numel() // k if k else 0
        self.shape = (*x.shape[:-1], n)
        if 0 in (m, n, k) or x.dtype not in _host.TYPES:
            return
        if x.device.type == "cuda":
            name = _device.TYPES[x.dtype]
            keys: "dict[str, Any]" = dict(m=m, n=n, k=k, packed=1, a=name, b=format, c=name)
            if group:
                keys["group"] = group
            if shuffle != "none":
                keys["shuffle"] = shuffle
            if bias is not None:
                keys["bias"] = "row"
            ROUTES.record("gemm", keys, x.device)
            self.device = _device.plan_for("gemm", keys, 4 if bias is None else 5, x.device)
        else:
            self.host = _host.Plan(m, n, k, x.dtype, b_transposed=True, b=format, group=group)

    def __call__(self, x, codes, scales, bias, format, group, shuffle):
        if self.host is None and self.device is None:
            return by_pytorch(x, codes, scales, bias, format, group, shuffle)
        x, added = x.contiguous(), None if bias is None else bias.to(torch.float32).contiguous()
        out = x.new_empty(self.shape)
        if self.host is not None:

            def pack() -> torch.Tensor:
                planes = [plane.contiguous() for plane in in_rows(codes, scales, format, shuffle)]
                return self.host.packed_codes(*map(_data, planes))

            packed = _kept.packed(codes, self.host.kind, pack)
            packed = pack() if packed is None else packed
            self.host.execute(_data(x), _data(packed), _data(out), 0 if added is None else _data(added))
            return out
        addresses = [_data(t) for t in (x, codes, scales, added, out) if t is not None]
        if any(address & 15 for address in addresses):
            return by_pytorch(x, codes, scales, bias, format, group, shuffle)
        self.device(*addresses)
        return out


def by_pytorch(x, codes, scales, bias, format, group, shuffle):
    weight = decoded(codes, scales, format, group, shuffle, x.shape[-1]).to(x.dtype)
    return torch.nn.functional.linear(x, weight, bias)


def _check(x, codes, scales, bias, format, group, shuffle):
    k = x.shape[-1] if x.dim() else -1
    check_order(format, shuffle, codes.shape[0], k)
    row = {"i4": (k + 1) // 2, "mxfp4": (k + 31) // 32 * 16, "ternary": (k + 127) // 128 * 32}[format]
    groups = {"i4": -(-k // (group or k or 1)), "mxfp4": (k + 31) // 32, "ternary": 1}[format]
    kind = torch.uint8 if format == "mxfp4" else torch.float32
    n = codes.shape[0]
    if k < 0 or list(codes.shape) != [n, row] or list(scales.shape) != [n, groups]:
        raise UsageError(
            f"tilewright.torch.PackedLinear: expected codes of n x {row} and scales of n x {groups} for {k} values of {format} "
            f"(found {list(codes.shape)} and {list(scales.shape)})"
        )
    if codes.dtype != torch.uint8 or scales.dtype != kind:
        raise UsageError(f"tilewright.torch.PackedLinear: expected uint8 and {kind} (found {codes.dtype} and {scales.dtype})")
    if not x.is_floating_point() or (bias is not None and (bias.dtype != x.dtype or list(bias.shape) != [n])):
        found = "none" if bias is None else f"{bias.dtype} {list(bias.shape)}"
        raise UsageError(f"tilewright.torch.PackedLinear: expected {n} values of x's type as bias (found x of {x.dtype}, bias {found})")
    if any(t is not None and t.device != x.device for t in (codes, scales, bias)):
        raise UsageError(f"tilewright.torch.PackedLinear: operands must be on one device (found {x.device} and {codes.device}); move one")


def _packed_linear(x, codes, scales, bias, format, group, shuffle):
    third = None if bias is None else (bias.shape, bias.dtype, bias.device)
    key = ("packed", x.shape, x.dtype, x.device, codes.shape, codes.dtype, codes.device, codes.stride())
    key += (scales.shape, scales.dtype, scales.device, scales.stride(), third, format, group, shuffle)
    route = ROUTES.get(key)
    if route is None:
        _check(x, codes, scales, bias, format, group, shuffle)
        if not (codes.is_contiguous() and scales.is_contiguous()):
            return by_pytorch(x, codes, scales, bias, format, group, shuffle)
        try:
            ROUTES[key] = route = _Packed(x, codes.shape[0], bias, format, group, shuffle)
        except LookupError:  # a graph is being captured
            return by_pytorch(x, codes, scales, bias, format, group, shuffle)
    return route(x, codes, scales, bias, format, group, shuffle)


def _packed_linear_fake(x, codes, scales, bias, format, group, shuffle):
    _check(x, codes, scales, bias, format, group, shuffle)
    return x.new_empty((*x.shape[:-1], codes.shape[0]))


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(inputs[1], inputs[2])
    ctx.layout, ctx.k, ctx.has_bias = inputs[4:7], inputs[0].shape[-1], inputs[3] is not None


def _backward(ctx: Any, g: torch.Tensor):
    codes, scales = ctx.saved_tensors
    dx = torch.matmul(g, decoded(codes, scales, *ctx.layout, ctx.k).to(g.dtype)) if ctx.needs_input_grad[0] else None
    db = rows_of(g).sum(0) if ctx.has_bias and ctx.needs_input_grad[3] else None
    return dx, None, None, db, None, None, None


packed_linear = operator(
    "packed_linear(Tensor x, Tensor codes, Tensor scales, Tensor? bias, str format, int group, str shuffle) -> Tensor",
    _packed_linear,
    _packed_linear_fake,
    setup=_setup,
    backward=_backward,
)
