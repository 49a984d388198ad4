"""Matrix products on the CPU: plan once, pack the weights once, execute for every batch."""

from __future__ import annotations

import weakref
from typing import Any, Optional

import numpy as np

from ._formats import Encoded, array_of, pointer
from ._library import UsageError, check, ffi, lib, sized, text_of

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


class PackedB:
    """B as a plan wants it; for that plan alone."""

    def __init__(self, plan: "Gemm"):
        size, alignment = lib.tw_gemm_packed_bytes(plan._plan), lib.TW_GEMM_ALIGNMENT
        self.plan = plan
        memory = np.empty(size + alignment, np.uint8)
        self._bytes = memory[-memory.ctypes.data % alignment :][:size]


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
        spec, error, out = sized("tw_gemm_spec"), ffi.new("tw_error *"), ffi.new("tw_gemm_planned **")
        spec.m, spec.n, spec.k = m, n, k
        spec.a, spec.b, spec.c = _type(a), _type(b), _type(c)
        spec.a_transposed, spec.b_transposed, spec.alpha, spec.beta = a_transposed, b_transposed, alpha, beta
        spec.activation, spec.group, spec.threads = _choice(_ACTIVATIONS, "activation", activation), group, threads
        spec.a_rounding = _choice(_ROUNDINGS, "a_rounding", a_rounding)
        name = None if kernel is None else ffi.new("char[]", kernel.encode())
        spec.kernel = name or ffi.NULL
        for what, type_name in (("a", a), ("c", c)):
            if type_name not in _DTYPES:
                raise UsageError(f"{what}='{type_name}' is not one of {', '.join(_DTYPES)}")
        check(lib.tw_gemm_plan(spec, out, error), error)
        self._plan, self._name = out[0], name
        self._finalizer = weakref.finalize(self, lib.tw_gemm_destroy, out[0])
        self._a = ((k, m) if a_transposed else (m, k), _DTYPES[a])
        self._b = ((n, k) if b_transposed else (k, n), _DTYPES.get(b))
        self._c, self._beta = ((m, n), _DTYPES[c]), beta

    def __repr__(self) -> str:
        text = ffi.new("char[]", 400)
        lib.tw_gemm_print(self._plan, text, 400)
        return f"<Gemm {text_of(text)}>"

    @property
    def kernel(self) -> str:
        return text_of(lib.tw_gemm_kernel(self._plan))

    @staticmethod
    def _take(x: Any, what: str, shape: "tuple[int, ...]", dtype: Any) -> np.ndarray:
        values = array_of(x)
        if values.dtype != dtype or values.shape != shape:
            raise UsageError(
                f"{what} is {values.dtype} {values.shape}, and the plan wants {np.dtype(dtype)} {shape}"
            )
        return values

    def pack(self, b: Any) -> PackedB:
        """B, or its codes and scales as encode makes them (of B transposed, rows along k: n x k)."""
        packed, error = PackedB(self), ffi.new("tw_error *")
        to = pointer(packed._bytes)
        if isinstance(b, Encoded):
            check(lib.tw_gemm_pack_codes(self._plan, pointer(b.codes), pointer(b.scales), to, error), error)
        else:
            shape, dtype = self._b
            values = self._take(b, "b", shape, np.float32 if dtype is None else dtype)
            check(lib.tw_gemm_pack(self._plan, pointer(values), to, error), error)
        return packed

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
        packed = b if isinstance(b, PackedB) else self.pack(b)
        if packed.plan is not self:
            raise UsageError("b was packed for another plan: pack it with this one")
        shape, dtype = self._c
        if out is None:
            if self._beta:
                raise UsageError("beta is not 0: give the C that is added as `out`")
            out = np.empty(shape, dtype)
        elif not isinstance(out, np.ndarray) or out.dtype != dtype or out.shape != shape or not out.flags.carray:
            raise UsageError(f"out must be a writable C-contiguous array of {np.dtype(dtype)} {shape}")
        values = self._take(a, "a", *self._a)
        vectors = [
            None if v is None else self._take(v, what, (length,), np.float32)
            for what, v, length in (
                ("bias", bias, shape[1]),
                ("row_scale", row_scale, shape[0]),
                ("column_scale", column_scale, shape[1]),
            )
        ]
        operands, error = sized("tw_gemm_operands"), ffi.new("tw_error *")
        operands.a, operands.packed_b, operands.c = pointer(values), pointer(packed._bytes), pointer(out)
        operands.bias, operands.row_scale, operands.column_scale = [
            ffi.cast("float const *", pointer(v)) for v in vectors
        ]
        check(lib.tw_gemm_execute(self._plan, operands, error), error)
        return out
