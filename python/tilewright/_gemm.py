"""Matrix products on the CPU: plan once, pack the weights once, execute for every batch."""

from __future__ import annotations

import sys
import weakref
from typing import Any, Optional

import numpy as np

from ._formats import Encoded, array_of, encoded_size, pointer
from ._library import LARGE, UsageError, check, ffi, lib, memory, sized, text_of

#: NumPy's type of an element; bf16 and the 8-bit floats travel as the bits of their codes.
_DTYPES = {"f32": np.float32, "f16": np.float16, "bf16": np.uint16, "i8": np.int8, "u8": np.uint8, "i32": np.int32}
_ACTIVATIONS = {"linear": 0, "relu": 1, "gelu": 2, "silu": 3}
_ROUNDINGS = {"exact": 0, "rows": 1, "groups": 2}


def _type(name: str) -> int:
    found = ffi.new("tw_type *")
    if not lib.tw_type_parse(name.encode(), found):
        raise UsageError(f"there is no type '{name}'")
    return found[0]


def _choice(table: "dict[str, int]", what: str, word: str) -> int:
    if word not in table:
        raise UsageError(f"{what}='{word}' is not one of {', '.join(table)}")
    return table[word]


def _codes(x: Any) -> Any:
    """The bits of PyTorch's bfloat16, which NumPy does not have, as uint16; anything else as it is."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(x, torch.Tensor) and x.dtype == torch.bfloat16:
        return x.detach().view(torch.int16).numpy().view(np.uint16)
    return x


class PackedB:
    """B as a plan wants it; for that plan alone."""

    def __init__(self, plan: "Gemm"):
        self.plan = plan
        self._bytes = ffi.from_buffer(memory(lib.tw_gemm_packed_bytes(plan._plan)))

    def __repr__(self) -> str:
        return f"<PackedB of {len(self._bytes)} bytes for {self.plan!r}>"


class _Call:
    """The structs of one execution, and room for a small B packed by the call. Making them takes longer than a small product, so a plan
    keeps the ones that are not in use."""

    def __init__(self):
        self.operands, self.error, self.packed = sized("tw_gemm_operands"), ffi.new("tw_error *"), None


_execute, _from_buffer, _NULL = lib.tw_gemm_plan_execute, ffi.from_buffer, ffi.NULL
_NO_VECTORS = (_NULL, _NULL, _NULL)


class Gemm:
    """C = activation(alpha op(A) op(B) + beta C + bias), planned: kernel, blocks and threads are chosen here."""

    def __init__(
        self,
        m: int,
        n: int,
        k: int,
        *,
        a: str = "f32",
        b: str = "f32",
        c: str = "f32",
        a_transposed: bool = False,
        b_transposed: bool = False,
        alpha: float = 1.0,
        beta: float = 0.0,
        activation: str = "linear",
        group: int = 0,
        a_rounding: str = "exact",
        threads: int = 0,
        kernel: Optional[str] = None,
    ):
        spec, error, out = sized("tw_gemm_spec"), ffi.new("tw_error *"), ffi.new("tw_gemm_plan **")
        spec.m, spec.n, spec.k = m, n, k
        spec.a, spec.b, spec.c = _type(a), _type(b), _type(c)
        # 0 means 1 in the struct: zeros as the factors of the rows do what alpha=0 says.
        spec.a_transposed, spec.b_transposed, spec.alpha, spec.beta = a_transposed, b_transposed, 1.0 if alpha == 0 else alpha, beta
        if alpha == 0 and c == "i32":
            raise UsageError("alpha=0 needs c of f32, f16 or bf16: with c='i32' the sums leave as they are")
        spec.activation, spec.group, spec.threads = _choice(_ACTIVATIONS, "activation", activation), group, threads
        spec.a_rounding = _choice(_ROUNDINGS, "a_rounding", a_rounding)
        name = None if kernel is None else ffi.new("char[]", kernel.encode())
        spec.kernel = name or ffi.NULL
        for what, type_name in (("a", a), ("c", c)):
            if type_name not in _DTYPES:
                raise UsageError(f"{what}='{type_name}' is not one of {', '.join(_DTYPES)}")
        check(lib.tw_gemm_plan_create(spec, out, error), error)
        self._plan, self._name = out[0], name
        self._finalizer = weakref.finalize(self, lib.tw_gemm_plan_destroy, out[0])
        self._a = ((k, m) if a_transposed else (m, k), _DTYPES[a])
        self._b = ((n, k) if b_transposed else (k, n), np.dtype(_DTYPES.get(b, np.float32)))
        self._encoded = (b, n, k, group)
        self._c, self._beta = ((m, n), _DTYPES[c]), beta
        self._a_type, self._c_type = np.dtype(_DTYPES[a]), np.dtype(_DTYPES[c])
        self._c_bytes = m * n * self._c_type.itemsize
        self._zeros = np.zeros(m, np.float32) if alpha == 0 else None
        self._calls: "list[_Call]" = []

    def __repr__(self) -> str:
        text = ffi.new("char[]", 400)
        lib.tw_gemm_plan_print(self._plan, text, 400)
        return f"<Gemm {text_of(text)}>"

    @property
    def kernel(self) -> str:
        return text_of(lib.tw_gemm_plan_kernel(self._plan))

    @staticmethod
    def _take(x: Any, what: str, shape: "tuple[int, ...]", dtype: Any) -> np.ndarray:
        values = array_of(_codes(x))
        if values.dtype != dtype or values.shape != shape:
            raise UsageError(
                f"{what} is {values.dtype} {values.shape}, and the plan wants {np.dtype(dtype)} {shape}"
            )
        return values

    def _check_encoded(self, b: Encoded) -> None:
        name, n, k, group = self._encoded
        size = encoded_size(name, n, k, group) if b.format == name else None
        if size is None or (b.rows, b.columns) != (n, k) or (b.codes.nbytes, b.scales.nbytes) != size:
            raise UsageError(
                f"b is {b.rows} x {b.columns} of {b.format} (group={b.group}), and the plan wants {n} x {k} of {name} (group={group})"
            )

    def pack(self, b: Any) -> PackedB:
        """B, or its codes and scales as encode makes them (of B transposed, rows along k: n x k)."""
        packed, error = PackedB(self), ffi.new("tw_error *")
        if isinstance(b, Encoded):
            self._check_encoded(b)
            codes, scales = np.ascontiguousarray(b.codes), np.ascontiguousarray(b.scales)
            check(lib.tw_gemm_pack_codes(self._plan, pointer(codes), pointer(scales), packed._bytes, error), error)
        else:
            shape, dtype = self._b
            values = self._take(b, "b", shape, dtype)
            check(lib.tw_gemm_pack(self._plan, pointer(values), packed._bytes, error), error)
        return packed

    def _pack_now(self, b: Any, call: _Call) -> Any:
        """B packed for one execution: in memory that `call` keeps, if B is small."""
        shape, dtype = self._b
        if type(b) is not np.ndarray or b.dtype != dtype or b.shape != shape or not b.flags.c_contiguous or b.nbytes >= LARGE:
            return self.pack(b)._bytes
        if call.packed is None:
            call.packed = PackedB(self)._bytes
        status = lib.tw_gemm_pack(self._plan, _from_buffer(b), call.packed, call.error)
        if status:
            check(status, call.error)
        return call.packed

    def _new_c(self) -> np.ndarray:
        shape, dtype = self._c
        if self._c_bytes < LARGE:
            return np.empty(shape, dtype)
        return np.frombuffer(memory(self._c_bytes), dtype).reshape(shape)

    def _vectors(self, bias: Any, row_scale: Any, column_scale: Any) -> list:
        """Their addresses, which keep the arrays."""
        if self._zeros is not None:
            row_scale = self._zeros if row_scale is None else np.asarray(row_scale) * np.float32(0)
        m, n = self._c[0]
        rows = (("bias", bias, n), ("row_scale", row_scale, m), ("column_scale", column_scale, n))
        return [_NULL if v is None else _from_buffer("float[]", self._take(v, what, (length,), np.float32)) for what, v, length in rows]

    def __call__(
        self,
        a: Any,
        b: Any,
        out: Optional[np.ndarray] = None,
        *,
        bias: Any = None,
        row_scale: Any = None,
        column_scale: Any = None,
    ) -> np.ndarray:
        """The product; `b` is packed, or is packed now. `out` is written, and read if beta is not 0."""
        if isinstance(b, PackedB) and b.plan is not self:
            raise UsageError("b was packed for another plan: pack it with this one")
        shape, dtype = self._c
        if out is None:
            if self._beta:
                raise UsageError("beta is not 0: give the C that is added as `out`")
            out = self._new_c()
        elif not isinstance(out, np.ndarray) or out.dtype != self._c_type or out.shape != shape or not out.flags.carray:
            raise UsageError(f"out must be a writable C-contiguous array of {self._c_type} {shape}")
        if type(a) is not np.ndarray or a.dtype != self._a_type or a.shape != self._a[0] or not a.flags.c_contiguous:
            a = self._take(a, "a", *self._a)
        has_vectors = not (bias is row_scale is column_scale is self._zeros is None)
        vectors = self._vectors(bias, row_scale, column_scale) if has_vectors else _NO_VECTORS
        try:
            call = self._calls.pop()  # another thread's call takes another one
        except IndexError:
            call = _Call()
        operands, error = call.operands, call.error
        packed = b._bytes if isinstance(b, PackedB) else self._pack_now(b, call)
        operands.a, operands.packed_b, operands.c = _from_buffer(a), packed, _from_buffer(out)
        operands.bias, operands.row_scale, operands.column_scale = vectors
        status = _execute(self._plan, operands, error)
        if status:
            check(status, error)
        self._calls.append(call)
        return out
