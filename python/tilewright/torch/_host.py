"""Matrix products on the CPU: plans of tilewright/gemm.h for PyTorch's memory."""

from __future__ import annotations

import threading
import weakref
from typing import Any, Optional

import torch

from .._gemm import _type
from .._library import check, ffi, lib, sized, text_of

TYPES = {torch.float32: "f32", torch.float16: "f16", torch.bfloat16: "bf16"}
_execute, _cast, _NULL = lib.tw_gemm_plan_execute, ffi.cast, ffi.NULL


class _Scratch(threading.local):
    """Room for operands that are packed for one call: one for each thread, as large as the largest."""

    room: Optional[torch.Tensor] = None

    def at_least(self, size: int) -> int:
        """An address, a multiple of 64."""
        if self.room is None or self.room.numel() < size + 64:
            self.room = torch.empty(size + 64, dtype=torch.uint8)
        return (self.room.data_ptr() + 63) & ~63


_scratch = _Scratch()


#: Elements of k that are added in one sum of binary32. PyTorch's libraries cut k as well: longer sums have larger errors.
LONGEST_SUM = 256


class _Part:
    """C = op(A) op(B) + bias, or the same added to C, for a range of k."""

    def __init__(self, spec: Any):
        error, out = ffi.new("tw_error *"), ffi.new("tw_gemm_plan **")
        check(lib.tw_gemm_plan_create(spec, out, error), error)
        self.planned = out[0]
        weakref.finalize(self, lib.tw_gemm_plan_destroy, out[0])
        self.packed_bytes = (lib.tw_gemm_packed_bytes(out[0]) + 63) & ~63
        self._calls: "list[Any]" = []

    def pack(self, b: int, packed: int) -> None:
        error = ffi.new("tw_error *")
        check(lib.tw_gemm_pack(self.planned, _cast("void *", b), _cast("void *", packed), error), error)

    def pack_codes(self, codes: int, scales: int, packed: int) -> None:
        error = ffi.new("tw_error *")
        planes = _cast("void *", codes), _cast("void *", scales), _cast("void *", packed)
        check(lib.tw_gemm_pack_codes(self.planned, *planes, error), error)

    def execute(self, a: int, packed: int, c: int, bias: int) -> None:
        try:
            operands, error = self._calls.pop()  # another thread's call takes another one
        except IndexError:
            operands, error = sized("tw_gemm_operands"), ffi.new("tw_error *")
        operands.a, operands.packed_b, operands.c = _cast("void *", a), _cast("void *", packed), _cast("void *", c)
        operands.bias = _cast("float *", bias)
        status = _execute(self.planned, operands, error)
        if status:
            check(status, error)
        self._calls.append((operands, error))


class Plan:
    """C = op(A) op(B) + bias, C dense. `b` names the type of packed weights; otherwise B has A's type."""

    def __init__(
        self,
        m: int,
        n: int,
        k: int,
        dtype: torch.dtype,
        *,
        a_transposed: bool = False,
        b_transposed: bool = False,
        lda: int = 0,
        ldb: int = 0,
        b: Optional[str] = None,
        group: int = 0,
    ):
        spec = sized("tw_gemm_spec")
        spec.m, spec.n = m, n
        spec.lda, spec.ldb = lda or (m if a_transposed else k), ldb or (k if b_transposed else n)
        spec.a = spec.c = _type(TYPES[dtype])
        spec.b = _type(b or TYPES[dtype])
        spec.a_transposed, spec.b_transposed = a_transposed, b_transposed
        spec.group, spec.threads = group, torch.get_num_threads()
        count = -(-k // LONGEST_SUM) if dtype == torch.float32 and b is None else 1
        ends = [k * i // count for i in range(count + 1)]
        size = dtype.itemsize if hasattr(dtype, "itemsize") else torch.empty((), dtype=dtype).element_size()
        steps = size * (spec.lda if a_transposed else 1), size * (1 if b_transposed else spec.ldb)
        made: "dict[tuple[int, bool], _Part]" = {}
        self._parts = []  #: part, offsets of A and B in bytes, offset in the packed B
        self.packed_bytes = 0
        for begin, end in zip(ends, ends[1:]):
            spec.k, spec.beta = end - begin, float(begin > 0)
            part = made.get((end - begin, begin > 0))
            if part is None:
                part = made[end - begin, begin > 0] = _Part(spec)
            self._parts.append((part, begin * steps[0], begin * steps[1], self.packed_bytes))
            self.packed_bytes += part.packed_bytes
        #: Plans of one kind share packed weights, whatever their m.
        self.kind = n, k, dtype, b, group, spec.ldb, b_transposed, tuple(text_of(lib.tw_gemm_plan_kernel(p[0].planned)) for p in self._parts)

    def _room(self) -> torch.Tensor:
        whole = torch.empty(self.packed_bytes + 64, dtype=torch.uint8)
        return whole[-whole.data_ptr() % 64 :][: self.packed_bytes]

    def packed(self, b: int) -> torch.Tensor:
        """B, packed."""
        room = self._room()
        for part, _, offset, place in self._parts:
            part.pack(b + offset, room.data_ptr() + place)
        return room

    def packed_codes(self, codes: int, scales: int) -> torch.Tensor:
        """B, packed, of the planes of tilewright/format.h."""
        room = self._room()
        self._parts[0][0].pack_codes(codes, scales, room.data_ptr())
        return room

    def __call__(self, a: int, b: int, c: int, bias: int = 0) -> None:
        """Addresses; B is packed for this call. `bias` is of float32."""
        for part, of_a, of_b, _ in self._parts:
            room = _scratch.at_least(part.packed_bytes)
            part.pack(b + of_b, room)
            part.execute(a + of_a, room, c, bias)
            bias = 0

    def execute(self, a: int, packed: int, c: int, bias: int = 0) -> None:
        """Addresses; B is packed already."""
        for part, of_a, _, place in self._parts:
            part.execute(a + of_a, packed + place, c, bias)
            bias = 0
