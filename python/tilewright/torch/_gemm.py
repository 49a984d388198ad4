"""tilewright::matmul and tilewright::linear: products of matrices, with gradients that are products themselves."""

from __future__ import annotations

from typing import Any, Optional

import torch

from .._library import UsageError
from . import _device, _host, _kept, _register
from ._attention import rotary_by_pytorch
from ._gate import by_pytorch as gate_by_pytorch
from ._gate import check_activation
from ._register import Direct, operator
from ._routes import ROUTES, is_direct, is_plain, is_traced, may_split

_data = torch.Tensor.data_ptr

#: On the CPU weights are packed in each call. Below this number of rows that takes longer than the product itself.
PACKING_PAYS = 128


def layout(shape: "tuple[int, ...]", stride: "tuple[int, ...]") -> "Optional[tuple[bool, int]]":
    """Whether a matrix is stored transposed, and the elements from row to row as stored; None: neither rows nor columns are dense."""
    (rows, columns), (down, right) = shape, stride
    if (right == 1 or columns == 1) and (down >= columns or rows == 1):
        return False, max(down, columns) if rows > 1 else columns
    if (down == 1 or rows == 1) and (right >= rows or columns == 1):
        return True, max(right, rows) if columns > 1 else rows
    return None


#: What is added to a product, as keys of the kernel; their operand is of C's type.
ADDED: "dict[str, dict[str, Any]]" = {
    "": {},
    "bias": {"bias": "row", "d": "c"},
    "residual": {"bias": "full", "d": "c"},
    "silu": {"glu": "silu"},
    "gelu": {"glu": "gelu_erf"},
    "gelu_tanh": {"glu": "gelu_tanh"},
}


def problem_of(
    a_shape: Any, a_stride: Any, b_shape: Any, b_stride: Any, name: str, transposed: bool, added: str, more: Any = ()
) -> "dict[str, Any]":
    """The kernel's keys for a product of matrices. op(b) is b transposed for weights, which are n x k. `more`: pairs of a key and its value."""
    (m, k), n = a_shape, b_shape[0 if transposed else 1]
    (at, lda), (bt, ldb) = layout(a_shape, a_stride) or (False, k), layout(b_shape, b_stride) or (False, b_shape[1])
    bt ^= transposed
    halves = "glu" in ADDED[added] and ("glu_pass", "backward") not in more
    keys: "dict[str, Any]" = dict(m=m, n=n // 2 if halves else n, k=k, a=name, b=name, c=name)
    keys.update({key: 1 for key, given in (("a_transposed", at), ("b_transposed", bt)) if given})
    keys.update({key: ld for key, ld, dense in (("lda", lda, m if at else k), ("ldb", ldb, k if bt else n)) if ld != dense})
    keys.update({key: value for key, value in ADDED[added].items() if (key, value, name) != ("d", "c", "f32")})
    keys.update(more)
    return keys


def _flat(shape: Any, stride: Any) -> "tuple[Any, Any]":
    """Shape and stride as a matrix, of which the last dimension is a row; of a tensor that has to be copied, those of the copy."""
    if len(shape) == 1:
        return (1, shape[0]), (shape[0], 1)
    rows = 1
    for size in shape[:-1]:
        rows *= size
    for i in range(len(shape) - 2):
        if shape[i] != 1 and stride[i] != stride[i + 1] * shape[i + 1]:
            return (rows, shape[-1]), (shape[-1], 1)
    return (rows, shape[-1]), (stride[-2], stride[-1])


@_register.constant
def is_known(
    a_shape: Any, a_stride: Any, b_shape: Any, b_stride: Any, dtype: Any, device: str, transposed: bool, added: str, more: Any = ()
) -> bool:
    """Has wisdom a kernel for the product? For torch.compile, which fuses more where PyTorch computes it."""
    if device != "cuda" or dtype not in _device.TYPES or 0 in a_shape or 0 in b_shape:
        return device != "cuda"
    if dtype == torch.float32 and not may_split():
        return False
    shape, stride = _flat(a_shape, a_stride)
    return _device.has_kernel("gemm", problem_of(shape, stride, b_shape, b_stride, _device.TYPES[dtype], transposed, added, more))


def has_kernel(a: torch.Tensor, b: torch.Tensor, transposed: bool, added: str, more: Any = ()) -> bool:
    ints = [tuple(int(n) for n in numbers) for numbers in (a.shape, a.stride(), b.shape, b.stride())]
    return is_known(*ints, a.dtype, a.device.type, transposed, added, more)


def gradient_has_kernel(x: torch.Tensor, weight: torch.Tensor) -> bool:
    """Has wisdom a kernel for a product of `linear`'s backward pass, if there is one? The gradient is taken to be contiguous."""
    if not torch.is_grad_enabled():
        return False
    ints = [tuple(int(n) for n in numbers) for numbers in (x.shape, x.stride(), weight.shape, weight.stride())]
    shape, stride = _flat(*ints[:2])
    m, n = shape[0], ints[2][0]
    how = x.dtype, x.device.type, False, ""
    of_x = x.requires_grad and is_known((m, n), (n, 1), *ints[2:], *how)
    return of_x or (weight.requires_grad and is_known((n, m), (1, n), shape, stride, *how))


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
        la, lb = layout(a.shape, a.stride()), layout(b.shape, b.stride())
        self.copy_a, self.copy_b = la is None or a.data_ptr() != x.data_ptr(), lb is None
        (at, lda), (bt, ldb) = la or (False, k), lb or (False, b.shape[1])
        bt ^= transposed
        if a.device.type == "cuda":
            if a.dtype == torch.float32 and not may_split():
                return
            keys = problem_of(a.shape, a.stride(), b.shape, b.stride(), _device.TYPES[a.dtype], transposed, "" if bias is None else "bias")
            ROUTES.record("gemm", keys, a.device)
            self.device = _device.plan_for("gemm", keys, 3 if bias is None else 4, a.device)
        else:
            self.packs_each_time = m >= PACKING_PAYS or a.dtype == torch.float16  # PyTorch may have no product of float16 on the CPU
            if not self.packs_each_time and not _kept.is_kept(b):
                return
            self.host = _host.Plan(m, n, k, a.dtype, a_transposed=at, b_transposed=bt, lda=lda, ldb=ldb)

    def __call__(self, a: torch.Tensor, b: torch.Tensor, bias: Optional[torch.Tensor], out: Optional[torch.Tensor] = None) -> torch.Tensor:
        """`out`: where a kernel of the device writes, at a multiple of 16 bytes [default: a new tensor]."""
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
        out = a.new_empty(self.shape) if out is None else out
        addresses = _data(a), _data(b), _data(out)
        added = None if bias is None else bias.contiguous() if self.host is None else bias.to(torch.float32).contiguous()
        if packed is not None:
            self.host.execute(addresses[0], _data(packed), addresses[2], 0 if added is None else _data(added))
        elif self.host is not None:
            self.host(*addresses, 0 if added is None else _data(added))
        elif (addresses[0] | addresses[1] | addresses[2] | (0 if added is None else _data(added))) & 15:
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


def _route(what: str, transposed: bool, a: torch.Tensor, b: torch.Tensor, bias: Optional[torch.Tensor]) -> Optional[Product]:
    """None: a graph is being captured; a later call plans the kernel."""
    third = None if bias is None else (bias.shape, bias.dtype, bias.device)
    key = (what, a.shape, a.stride(), a.dtype, a.device, b.shape, b.stride(), b.dtype, b.device, third)
    if a.dtype is torch.float32:
        key = (*key, may_split())
    route = ROUTES.get(key)
    if route is None:
        check_operands(what, a, b, bias, transposed)
        try:
            ROUTES[key] = route = Product(a, b, bias, transposed)
        except LookupError:
            return None
    return route


def _call(what: str, transposed: bool, a: torch.Tensor, b: torch.Tensor, bias: Optional[torch.Tensor]) -> torch.Tensor:
    route = _route(what, transposed, a, b, bias)
    return by_pytorch(a, b, bias, transposed) if route is None else route(a, b, bias)


def batched(a: torch.Tensor, b: torch.Tensor) -> Optional[torch.Tensor]:
    """The products of a batch, one kernel after another; None: PyTorch computes them."""
    route = _route("matmul", False, a[0], b[0], None)
    if route is None or route.device is None:
        return None
    out = a.new_empty((a.shape[0], *route.shape))
    if any((x.data_ptr() | stride * x.element_size()) & 15 for x, stride in ((a, a.stride(0)), (b, b.stride(0)), (out, out.stride(0)))):
        return None
    for x, y, to in zip(a, b, out):
        route(x, y, None, to)
    return out


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


# ---- products with more in the same kernel: a residual is added, or half of the columns gate the others ----


class Fused:
    """A route: the kernel for one pair of layouts, or None."""

    __slots__ = ("plan",)

    def __init__(self, x: torch.Tensor, weight: torch.Tensor, added: str, more: Any, transposed: bool):
        self.plan = None
        a = rows_of(x)
        if a.device.type != "cuda" or a.dtype not in _device.TYPES or 0 in (*a.shape, *weight.shape):
            return
        if a.dtype == torch.float32 and not may_split():
            return
        keys = problem_of(a.shape, a.stride(), weight.shape, weight.stride(), _device.TYPES[a.dtype], transposed, added, more)
        ROUTES.record("gemm", keys, a.device)
        if a.data_ptr() == x.data_ptr() and layout(a.shape, a.stride()) and layout(weight.shape, weight.stride()):
            self.plan = _device.plan_for("gemm", keys, 5 if "rotary" in keys else 4 if "bias" in keys or "ldd" in keys else 3, a.device)


def fused_route(x: torch.Tensor, weight: torch.Tensor, added: str, more: Any = (), transposed: bool = True) -> Any:
    """The kernel of a product with more, or None. `transposed`: the weight is n x k."""
    key = ("fused", added, more, transposed, x.shape, x.stride(), x.dtype, x.device, weight.shape, weight.stride(), weight.dtype, weight.device)
    if x.dtype is torch.float32:
        key = (*key, may_split())
    route = ROUTES.get(key)
    if route is None:
        what = "linear" if added == "residual" else "gated_linear" if added else "rotary_linear"
        check_operands(what, x, weight, None, transposed)
        try:
            ROUTES[key] = route = Fused(x, weight, added, more, transposed)
        except LookupError:
            return None
    return route.plan


def is_recording() -> bool:
    return ROUTES.recorded is not None


def _plain(x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
    """The product alone; `tune` searches for the whole, and counts no call of this one."""
    if ROUTES.recorded is None and is_plain(x, weight):
        return _linear(x, weight, None)
    return torch.nn.functional.linear(x, weight)


def start_fused(plan: Any, addresses: "list[int]") -> bool:
    if any(address & 15 for address in addresses):
        return False
    plan(*addresses)
    return True


def check_residual(x: torch.Tensor, weight: torch.Tensor, residual: torch.Tensor) -> None:
    if residual.shape != (*x.shape[:-1], weight.shape[0]) or residual.dtype != x.dtype or residual.device != x.device:
        raise UsageError(
            f"tilewright.torch.linear: residual must be like the result, {[*x.shape[:-1], weight.shape[0]]} of {x.dtype} "
            f"(found {list(residual.shape)} of {residual.dtype})"
        )


def _linear_add(x: torch.Tensor, weight: torch.Tensor, residual: torch.Tensor) -> torch.Tensor:
    plan = fused_route(x, weight, "residual")
    check_residual(x, weight, residual)
    if plan:
        more, out = residual.contiguous(), x.new_empty((*x.shape[:-1], weight.shape[0]))
        if start_fused(plan, [_data(x), _data(weight), _data(more), _data(out)]):
            return out
    return _plain(x, weight) + residual


def _linear_add_fake(x, weight, residual):
    check_operands("linear", x, weight, None, True)
    check_residual(x, weight, residual)
    return x.new_empty((*x.shape[:-1], weight.shape[0]))


def _linear_add_backward(ctx: Any, g: torch.Tensor):
    return (*_linear_backward(ctx, g)[:2], g if ctx.needs_input_grad[2] else None)


def _linear_add_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(inputs[0], inputs[1])
    ctx.has_bias = False


def check_gated(x: torch.Tensor, weight: torch.Tensor, activation: str) -> None:
    check_activation(activation)
    check_operands("gated_linear", x, weight, None, True)
    if weight.shape[0] % 2:
        raise UsageError(f"tilewright.torch.gated_linear: expected an even number of weight rows, gate before up (found {weight.shape[0]})")


def _gated_linear(x: torch.Tensor, weight: torch.Tensor, activation: str) -> torch.Tensor:
    check_gated(x, weight, activation)
    plan = fused_route(x, weight, activation)
    if plan:
        out = x.new_empty((*x.shape[:-1], weight.shape[0] // 2))
        if start_fused(plan, [_data(x), _data(weight), _data(out)]):
            return out
    return gate_by_pytorch(_plain(x, weight), activation)


def _gated_linear_fake(x, weight, activation):
    check_gated(x, weight, activation)
    return x.new_empty((*x.shape[:-1], weight.shape[0] // 2))


def _gated_setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(inputs[0], inputs[1])
    ctx.activation = inputs[2]


def _gated_backward(ctx: Any, g: torch.Tensor):
    """The sums are computed again: the forward pass did not write them."""
    x, weight = ctx.saved_tensors
    with torch.enable_grad():
        both = layer(x.detach(), weight.detach(), None).requires_grad_()
        (d,) = torch.autograd.grad(gate_by_pytorch(both, ctx.activation), both, g)
    dx = product(d, weight) if ctx.needs_input_grad[0] else None
    dw = product(rows_of(d).t(), rows_of(x)) if ctx.needs_input_grad[1] else None
    return dx, dw, None


linear_add = operator(
    "linear_add(Tensor x, Tensor weight, Tensor residual) -> Tensor",
    _linear_add,
    _linear_add_fake,
    setup=_linear_add_setup,
    backward=_linear_add_backward,
    autocast=True,
)
gated_linear = operator(
    "gated_linear(Tensor x, Tensor weight, str activation) -> Tensor",
    _gated_linear,
    _gated_linear_fake,
    setup=_gated_setup,
    backward=_gated_backward,
    autocast=True,
)
direct_linear_add = Direct(_linear_add, _linear_add_setup, _linear_add_backward)
direct_gated_linear = Direct(_gated_linear, _gated_setup, _gated_backward)


linear_kernel, linear_add_kernel = _linear, _linear_add  # without the dispatcher


# ---- a product whose heads are rotated ----


def rotary_keys(cos: torch.Tensor, heads: int, interleaved: bool) -> "tuple[tuple[str, Any], ...]":
    positions, half = int(cos.shape[0]), int(cos.shape[1])
    return ("rotary", "interleaved" if interleaved else "halves"), ("head", 2 * half), ("heads", heads), ("positions", positions)


def check_rotary(x: torch.Tensor, weight: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor, heads: int) -> None:
    check_operands("rotary_linear", x, weight, None, True)
    d = 2 * cos.shape[-1] if cos.dim() == 2 else 0
    if x.dim() != 3 or not d or cos.shape != sin.shape or cos.shape[0] != x.shape[-2] or weight.shape[0] % d or not 0 < heads * d <= weight.shape[0]:
        raise UsageError(
            "tilewright.torch.rotary_linear: expected x of b x s x k, tables of s x d / 2, and weight rows in heads of d, of which some are "
            f"rotated (found {list(x.shape)}, {list(cos.shape)}, {list(sin.shape)}, {list(weight.shape)} and {heads} heads)"
        )
    if any((t.dtype, t.device) != (x.dtype, x.device) for t in (cos, sin)):
        found = ", ".join(f"{t.dtype} on {t.device}" for t in (x, cos, sin))
        raise UsageError(f"tilewright.torch.rotary_linear: operands must have one type and device (found {found}); convert one")


def rotary_linear_by_pytorch(x, weight, cos, sin, heads, interleaved):
    y, d = _plain(x, weight), 2 * cos.shape[-1]
    turned = rotary_by_pytorch(y[..., : heads * d].reshape(-1, x.shape[-2], heads, d), cos, sin, interleaved)
    return torch.cat((turned.reshape(*y.shape[:-1], heads * d), y[..., heads * d :]), -1)


def _checked_rotary_linear(x, weight, cos, sin, heads, interleaved):
    check_rotary(x, weight, cos, sin, heads)
    return _rotary_linear(x, weight, cos, sin, heads, interleaved)


def _rotary_linear(x, weight, cos, sin, heads, interleaved):
    plan = fused_route(x, weight, "", rotary_keys(cos, heads, interleaved))
    if plan:
        out, cos, sin = x.new_empty((*x.shape[:-1], weight.shape[0])), cos.contiguous(), sin.contiguous()
        if start_fused(plan, [_data(t) for t in (x, weight, cos, sin, out)]):
            return out
    return rotary_linear_by_pytorch(x, weight, cos, sin, heads, interleaved)


def _rotary_linear_fake(x, weight, cos, sin, heads, interleaved):
    check_rotary(x, weight, cos, sin, heads)
    return x.new_empty((*x.shape[:-1], weight.shape[0]))


_rotary_gradients = _register.recomputed(rotary_linear_by_pytorch, 0, 1, 2, 3)
rotary_linear = operator(
    "rotary_linear(Tensor x, Tensor weight, Tensor cos, Tensor sin, int heads, bool interleaved) -> Tensor",
    _checked_rotary_linear,
    _rotary_linear_fake,
    **_rotary_gradients,
)
direct_rotary_linear = Direct(_rotary_linear, *_rotary_gradients.values())  # operands are checked already


# ---- past the dispatcher ----

_direct_linear = Direct(_linear, _setup, _linear_backward)
_direct_matmul = Direct(_matmul, _setup, _matmul_backward)


def layer(x: torch.Tensor, weight: torch.Tensor, bias: Optional[torch.Tensor]) -> torch.Tensor:
    """`linear`, past the dispatcher where that is possible."""
    if is_direct(x, weight, bias):
        return _direct_linear(x, weight, bias)
    if is_traced(x) and weight.dim() == 2 and x.dim() > 0 and not has_kernel(x, weight, True, "" if bias is None else "bias"):
        if not gradient_has_kernel(x, weight):
            return torch.nn.functional.linear(x, weight, bias)
    return linear(x, weight, bias)


def product(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """`matmul`, past the dispatcher where that is possible."""
    if is_direct(a, b):
        return _direct_matmul(a, b)
    if is_traced(a) and b.dim() == 2 and a.dim() > 0 and not has_kernel(a, b, False, ""):
        return torch.matmul(a, b)
    return matmul(a, b)
