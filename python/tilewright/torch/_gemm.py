"""tilewright::matmul and tilewright::linear: products of matrices, with gradients that are products themselves."""

from __future__ import annotations

from typing import Any, Optional

import torch

from .._library import UsageError
from . import _device, _host, _kept
from ._register import Direct, operator
from ._routes import ROUTES, is_direct

_data = torch.Tensor.data_ptr

#: On the CPU weights are packed in each call. Below this number of rows that takes longer than the product itself.
PACKING_PAYS = 128


def layout(x: torch.Tensor) -> "Optional[tuple[bool, int]]":
    """Whether the matrix is stored transposed, and the elements from row to row as stored; None: neither rows nor columns are dense."""
    (rows, columns), (down, right) = x.shape, x.stride()
    if (right == 1 or columns == 1) and (down >= columns or rows == 1):
        return False, max(down, columns) if rows > 1 else columns
    if (down == 1 or rows == 1) and (right >= rows or columns == 1):
        return True, max(right, rows) if columns > 1 else rows
    return None


def rows_of(x: torch.Tensor) -> torch.Tensor:
    """As a matrix, of which the last dimension is a row."""
    return x[None] if x.dim() == 1 else x.flatten(0, -2)


class Product:
    """A route: how a x op(b) + bias is computed for one pair of layouts. op(b) is b transposed for weights, which are n x k."""

    __slots__ = ("copy_a", "copy_b", "host", "device", "shape", "transposed", "packs_each_time")

    def __init__(self, x: torch.Tensor, b: torch.Tensor, bias: Optional[torch.Tensor], transposed: bool):
        self.host, self.device, self.transposed = None, None, transposed
        a = rows_of(x)
        (m, k), n = a.shape, b.shape[0 if transposed else 1]
        self.shape = (*x.shape[:-1], n)
        if 0 in (m, n, k) or a.dtype not in _host.TYPES:
            return
        la, lb = layout(a), layout(b)
        self.copy_a, self.copy_b = la is None or a.data_ptr() != x.data_ptr(), lb is None
        (at, lda), (bt, ldb) = la or (False, k), lb or (False, b.shape[1])
        bt ^= transposed
        if a.device.type == "cuda":
            name = _device.TYPES[a.dtype]
            keys: "dict[str, Any]" = dict(m=m, n=n, k=k, a=name, b=name, c=name)
            keys.update({key: 1 for key, given in (("a_transposed", at), ("b_transposed", bt)) if given})
            keys.update({key: ld for key, ld, dense in (("lda", lda, m if at else k), ("ldb", ldb, k if bt else n)) if ld != dense})
            if bias is not None:
                keys["bias"] = "row"
            ROUTES.record("gemm", keys, a.device)
            self.device = _device.plan_for("gemm", keys, 3 if bias is None else 4, a.device)
        else:
            self.packs_each_time = m >= PACKING_PAYS or a.dtype == torch.float16  # PyTorch may have no product of float16 on the CPU
            if not self.packs_each_time and not _kept.is_kept(b):
                return
            self.host = _host.Plan(m, n, k, a.dtype, a_transposed=at, b_transposed=bt, lda=lda, ldb=ldb)

    def __call__(self, a: torch.Tensor, b: torch.Tensor, bias: Optional[torch.Tensor]) -> torch.Tensor:
        plan = self.device or self.host
        if plan is None:
            return by_pytorch(a, b, bias, self.transposed)
        packed = None
        if self.host is not None:
            packed = _kept.packed(b, self.host.kind, lambda: self.host.packed(_data(b.contiguous() if self.copy_b else b)))
            if packed is None and not self.packs_each_time:
                return by_pytorch(a, b, bias, self.transposed)
        if self.copy_a:
            a = a.contiguous()
        if self.copy_b and packed is None:
            b = b.contiguous()
        out = a.new_empty(self.shape)
        addresses = _data(a), _data(b), _data(out)
        added = None if bias is None else bias.to(torch.float32).contiguous()
        if packed is not None:
            self.host.execute(addresses[0], _data(packed), addresses[2], 0 if added is None else _data(added))
        elif self.host is not None:
            self.host(*addresses, 0 if added is None else _data(added))
        elif any(address & 15 for address in addresses) or (added is not None and _data(added) & 15):
            return by_pytorch(a, b, bias, self.transposed)
        elif added is None:
            plan(*addresses)
        else:
            plan(addresses[0], addresses[1], _data(added), addresses[2])
        return out


def by_pytorch(a: torch.Tensor, b: torch.Tensor, bias: Optional[torch.Tensor], transposed: bool) -> torch.Tensor:
    return torch.nn.functional.linear(a, b, bias) if transposed else torch.matmul(a, b)


def check_operands(what: str, a: torch.Tensor, b: torch.Tensor, bias: Optional[torch.Tensor], transposed: bool) -> None:
    """One error for operands that do not go together. `transposed`: b is n x k, as weights are."""
    k, n = (b.shape[-1], b.shape[0]) if transposed and b.dim() == 2 else b.shape[:2] if b.dim() == 2 else (-1, -1)
    if a.dim() < 1 or b.dim() != 2 or a.shape[-1] != k:
        expected = "... x k and n x k" if transposed else "... x k and k x n"
        raise UsageError(f"tilewright.torch.{what}: expected operands of {expected} (found {list(a.shape)} and {list(b.shape)})")
    if bias is not None and list(bias.shape) != [n]:
        raise UsageError(f"tilewright.torch.{what}: bias must have {n} elements (found {list(bias.shape)})")
    others = [b] if bias is None else [b, bias]
    for other in others:
        if other.dtype != a.dtype:
            raise UsageError(f"tilewright.torch.{what}: operands must have one type (found {a.dtype} and {other.dtype}); convert one")
        if other.device != a.device:
            raise UsageError(f"tilewright.torch.{what}: operands must be on one device (found {a.device} and {other.device}); move one")


def _call(what: str, transposed: bool, a: torch.Tensor, b: torch.Tensor, bias: Optional[torch.Tensor]) -> torch.Tensor:
    third = None if bias is None else (bias.shape, bias.dtype, bias.device)
    key = (what, a.shape, a.stride(), a.dtype, a.device, b.shape, b.stride(), b.dtype, b.device, third)
    route = ROUTES.get(key)
    if route is None:
        check_operands(what, a, b, bias, transposed)
        try:
            ROUTES[key] = route = Product(a, b, bias, transposed)
        except LookupError:  # a graph is being captured; a later call plans the kernel
            return by_pytorch(a, b, bias, transposed)
    return route(a, b, bias)


def _linear(x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor]) -> torch.Tensor:
    return _call("linear", True, x, weight, bias)


def _matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    return _call("matmul", False, a, b, None)


def _linear_fake(x, weight, bias):
    check_operands("linear", x, weight, bias, True)
    return x.new_empty((*x.shape[:-1], weight.shape[0]))


def _matmul_fake(a, b):
    check_operands("matmul", a, b, None, False)
    return a.new_empty((*a.shape[:-1], b.shape[1]))


def _setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(inputs[0], inputs[1])
    ctx.has_bias = len(inputs) > 2 and inputs[2] is not None


def _linear_backward(ctx: Any, g: torch.Tensor):
    x, weight = ctx.saved_tensors
    dx = product(g, weight) if ctx.needs_input_grad[0] else None
    dw = product(rows_of(g).t(), rows_of(x)) if ctx.needs_input_grad[1] else None
    db = rows_of(g).sum(0) if ctx.has_bias and ctx.needs_input_grad[2] else None
    return dx, dw, db


def _matmul_backward(ctx: Any, g: torch.Tensor):
    a, b = ctx.saved_tensors
    da = product(g, b.t()) if ctx.needs_input_grad[0] else None
    db = product(rows_of(a).t(), rows_of(g)) if ctx.needs_input_grad[1] else None
    return da, db


linear = operator(
    "linear(Tensor x, Tensor weight, Tensor? bias) -> Tensor",
    _linear,
    _linear_fake,
    setup=_setup,
    backward=_linear_backward,
    autocast=True,
)
matmul = operator(
    "matmul(Tensor a, Tensor b) -> Tensor", _matmul, _matmul_fake, setup=_setup, backward=_matmul_backward, autocast=True
)


_direct_linear = Direct(_linear, _setup, _linear_backward)
_direct_matmul = Direct(_matmul, _setup, _matmul_backward)


def layer(x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor]) -> torch.Tensor:
    """`linear`, past the dispatcher where that is possible."""
    return _direct_linear(x, weight, bias) if is_direct(x, weight, bias) else linear(x, weight, bias)


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """`matmul`, past the dispatcher where that is possible."""
    return _direct_matmul(a, b) if is_direct(a, b) else matmul(a, b)
