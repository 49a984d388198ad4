"""The C library: found at run time and described by its own public headers, so that nothing here can disagree with them.

The headers, and the library if it was built before, are in the package where pip put it (headers/, lib/). Otherwise they are in the tree
that the package is used from.
"""

from __future__ import annotations

import ctypes.util
import os
import re
from pathlib import Path

import cffi

_HERE = Path(__file__).resolve().parent
_TREE = _HERE.parent.parent


def _headers() -> Path:
    for folder in (_HERE / "headers", _TREE / "include" / "tilewright"):
        if (folder / "tilewright.h").is_file():
            return folder
    raise ImportError("the headers of tilewright are neither in the package nor beside it: install it again with pip")


def _candidates():
    named = os.environ.get("TILEWRIGHT_LIBRARY")
    if named:
        return [named]
    packaged = _HERE / "lib" / "libtilewright.so"
    if packaged.is_file():
        return [str(packaged)]
    built = sorted((_TREE / "build").glob("libtilewright.so*")) if (_TREE / "include").is_dir() else []
    found = ctypes.util.find_library("tilewright")
    return [str(path) for path in built[:1]] + ([found] if found else []) + ["libtilewright.so.0.1"]


def _declarations(folder: Path) -> str:
    """What the headers declare, without what is for preprocessors."""
    text, seen = [], set()

    def add(name: str) -> None:
        if name in seen:
            return
        seen.add(name)
        skip = 0  # inside a block for C++ or an analyser
        for line in (folder / name).read_text().replace("\\\n", " ").split("\n"):
            stripped = line.strip()
            if skip:
                skip += stripped.startswith("#if") - stripped.startswith("#endif")
            elif re.match(r"#\s*ifdef\s+(__cplusplus|__clang_analyzer__)", stripped):
                skip = 1
            elif include := re.match(r'#\s*include "tilewright/(.*)"', stripped):
                add(include.group(1))
            elif not stripped.startswith("#"):
                text.append(line)

    add("tilewright.h")
    joined = re.sub(r"/\*.*?\*/", " ", "\n".join(text), flags=re.S)
    return re.sub(r"\bTW_API\b|\bTW_PRINTF\(\d+, \d+\)", "", joined)


def _load():
    folder = _headers()
    ffi = cffi.FFI()
    ffi.cdef(_declarations(folder))
    why = []
    for path in _candidates():
        try:
            library = ffi.dlopen(path)
        except OSError as error:
            why.append(str(error))
            continue
        expected = re.search(r'TILEWRIGHT_VERSION "(.*)"', (folder / "tilewright.h").read_text()).group(1)
        version = ffi.string(library.tw_version()).decode()
        if version != expected:
            raise ImportError(f"{path} is tilewright {version}, and this package is for {expected}: install both from one tree")
        for name in ffi.list_types()[0]:
            size = library.tw_size_of(name.encode()) if getattr(ffi.typeof(name), "fields", None) else 0  # 0: opaque
            if size and size != ffi.sizeof(name):
                raise ImportError(f"{path} was built from other headers than this package ({name}): build and install both again")
        return ffi, library, version
    raise ImportError(
        "libtilewright.so was not found. Install in one of two ways: `./dev build` and then `pip install ./python`, which puts the library "
        "into the package; or `./dev install`, which puts it into the system. TILEWRIGHT_LIBRARY names another library. "
        f"({'; '.join(why)})"
    )


ffi, lib, version = _load()


class Error(Exception):
    """What the library says went wrong, in one line."""


class UsageError(Error, ValueError):
    """An unknown name, a bad value, an unreadable or malformed file: the caller's to correct."""


class UnsupportedError(UsageError):
    """An operation, type, shape or feature that the target, this CPU or this version does not have."""


class FailedError(Error):
    """The kernel is wrong, does not compile, faults or does not end."""


class LateError(Error, TimeoutError):
    """The time limit passed before the result was known."""


class MissingError(Error, RuntimeError):
    """Something needed is not here. The classes below name what is most often missing."""


class NoMemoryError(MissingError, MemoryError):
    """Out of memory."""


class NoDeviceError(MissingError):
    """There is no such device, or it cannot be used."""


class NoCompilerError(MissingError):
    """A compiler is not installed, or does not work."""


class DiskFullError(MissingError):
    """There is no room for a file."""


_BY_STATUS = {
    lib.TW_FAILED: FailedError,
    lib.TW_INTERRUPTED: LateError,
    lib.TW_USAGE: UsageError,
    lib.TW_UNSUPPORTED: UnsupportedError,
    lib.TW_MISSING: MissingError,
    lib.TW_NO_MEMORY: NoMemoryError,
    lib.TW_NO_DEVICE: NoDeviceError,
    lib.TW_NO_COMPILER: NoCompilerError,
    lib.TW_DISK_FULL: DiskFullError,
}


def check(status: int, error) -> None:
    """Raises what a call that ended with `status` says."""
    if status == lib.TW_OK:
        return
    text = ffi.string(error.text).decode(errors="replace")
    raise _BY_STATUS.get(status, Error)(text)


def sized(name: str):
    """A struct that carries its size (tilewright/status.h), otherwise zeros."""
    struct = ffi.new(name + " *")
    struct.size = ffi.sizeof(name)
    return struct


LARGE = 1 << 20  #: bytes from which on memory comes in large pages (tilewright/memory.h)


def memory(size: int):
    """Memory of the library, as a buffer; freed with the last reference to it."""
    out, error = ffi.new("void **"), ffi.new("tw_error *")
    check(lib.tw_memory_alloc(size, out, error), error)
    return ffi.buffer(ffi.gc(ffi.cast("char *", out[0]), lib.tw_memory_free, size), size)


def text_of(chars) -> str:
    """A C string, as str; "" for NULL."""
    return ffi.string(chars).decode(errors="replace") if chars else ""


def take(chars) -> str:
    """A malloc'ed string, freed."""
    text = text_of(chars)
    _libc.free(ffi.cast("void *", chars))
    return text


_libc_ffi = cffi.FFI()
_libc_ffi.cdef("void free(void *);")


class _Libc:
    def __init__(self):
        self._c = _libc_ffi.dlopen(None)

    def free(self, pointer) -> None:
        self._c.free(_libc_ffi.cast("void *", int(ffi.cast("uintptr_t", pointer))))


_libc = _Libc()
