"""Number formats: arrays to codes and scales and back, exact to the bit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Optional

import numpy as np

from ._library import UsageError, check, ffi, lib, text_of


def formats() -> "list[str]":
    """The names that encode takes."""
    return [text_of(lib.tw_format_at(i).name) for i in range(lib.TW_FORMAT_COUNT)]


def array_of(x: Any, dtype: Any = None) -> np.ndarray:
    """NumPy's view of an array, or of anything that speaks DLPack; C-contiguous."""
    if not isinstance(x, np.ndarray) and hasattr(x, "__dlpack__"):
        x = np.from_dlpack(x)
    return np.ascontiguousarray(x, dtype)


def pointer(x: Optional[np.ndarray]):
    return ffi.NULL if x is None else ffi.cast("void *", x.ctypes.data)


def _packing(name: str, rule: Optional[str], group: int):
    packing = ffi.new("tw_packing *")
    packing.format = lib.tw_format_find(name.encode())
    if not packing.format:
        raise UsageError(f"unknown format '{name}'; expected one of " + ", ".join(formats()))
    if rule is not None:
        found = ffi.new("tw_scale_rule *")
        if not lib.tw_scale_rule_parse(rule.encode(), found):
            names = [text_of(lib.tw_scale_rule_name(i)) for i in range(1, lib.TW_RULE_COUNT)]
            raise UsageError(f"there is no rule '{rule}': " + ", ".join(names))
        packing.rule = found[0]
    packing.group = group
    error = ffi.new("tw_error *")
    check(lib.tw_packing_check(packing, error), error)
    return packing


def encoded_size(name: str, rows: int, columns: int, group: int) -> "tuple[int, int]":
    """Bytes of codes and of scales."""
    error, size = ffi.new("tw_error *"), ffi.new("tw_packed_size *")
    check(lib.tw_format_sizes(_packing(name, None, group), rows, columns, size, error), error)
    return size.codes, size.scales


@dataclass(frozen=True)
class Encoded:
    """A matrix in a format: planes of bytes, as tilewright/format.h lays them out."""

    format: str
    rows: int
    columns: int
    codes: np.ndarray
    scales: np.ndarray  #: of uint8 (e8m0), or float32; empty where the format has none or keeps them in its codes
    rule: Optional[str] = None
    group: int = 0

    def decode(self) -> np.ndarray:
        """The values, in float32."""
        packing, error = _packing(self.format, self.rule, self.group), ffi.new("tw_error *")
        out = np.empty((self.rows, self.columns), np.float32)
        if (self.codes.nbytes, self.scales.nbytes) != encoded_size(self.format, self.rows, self.columns, self.group):
            raise UsageError(f"codes and scales are not those of {self.rows} x {self.columns} of {self.format}")
        codes, scales, x = np.ascontiguousarray(self.codes), np.ascontiguousarray(self.scales), ffi.cast("float *", out.ctypes.data)
        check(lib.tw_format_decode(packing, self.rows, self.columns, pointer(codes), pointer(scales), x, self.columns, error), error)
        return out


def encode(x: Any, format: str, *, rule: Optional[str] = None, group: int = 0) -> Encoded:
    """A matrix of float32 in a format: "mxfp4", "e4m3", "i4" with group=32, ...

    `group`: values along a row that share a scale, where the format leaves that open; 0: the row, -1: all of the matrix.
    """
    values = array_of(x, np.float32)
    if values.ndim != 2:
        raise UsageError(f"encode takes a matrix, and this array has {values.ndim} dimensions: reshape it")
    rows, columns = values.shape
    packing, error, size = _packing(format, rule, group), ffi.new("tw_error *"), ffi.new("tw_packed_size *")
    check(lib.tw_format_sizes(packing, rows, columns, size, error), error)
    floats = packing.format.scale == lib.TW_SCALE_F32
    codes = np.zeros(size.codes, np.uint8)
    scales = np.zeros(size.scales // 4, np.float32) if floats else np.zeros(size.scales, np.uint8)
    source = ffi.cast("float const *", values.ctypes.data)
    check(lib.tw_format_encode(packing, rows, columns, source, columns, pointer(codes), pointer(scales), error), error)
    return Encoded(text_of(packing.format.name), rows, columns, codes, scales, rule, group)
