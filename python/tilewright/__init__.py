"""tilewright: finds, checks and runs fast tiled kernels for tensor accelerators. See python/README.md."""

try:
    import cffi as _cffi  # noqa: F401
    import numpy as _numpy  # noqa: F401
except ImportError as _error:
    import sys as _sys

    _text = f"tilewright: NumPy and cffi are required ({_error}); install Debian's python3-numpy and python3-cffi, or run pip install numpy cffi"
    if _sys.argv[0] == "-m":  # python -m tilewright.kernelbench: the user asked for a command, not for a traceback
        raise SystemExit(_text) from None
    raise ImportError(_text) from _error

from ._formats import Encoded, encode, formats
from ._gemm import Gemm, PackedB
from ._library import (
    DiskFullError,
    Error,
    FailedError,
    LateError,
    MissingError,
    NoCompilerError,
    NoDeviceError,
    NoMemoryError,
    UnsupportedError,
    UsageError,
)
from ._library import version as __version__
from ._search import (
    Bound,
    Counter,
    Interrupted,
    Measurement,
    Progress,
    Run,
    Rung,
    Target,
    Tuned,
    emit,
    model,
    ops,
    run,
    targets,
    tune,
)

__all__ = [
    "Bound",
    "Counter",
    "DiskFullError",
    "Encoded",
    "Error",
    "FailedError",
    "Gemm",
    "Interrupted",
    "LateError",
    "Measurement",
    "MissingError",
    "NoCompilerError",
    "NoDeviceError",
    "NoMemoryError",
    "PackedB",
    "Progress",
    "Run",
    "Rung",
    "Target",
    "Tuned",
    "UnsupportedError",
    "UsageError",
    "__version__",
    "emit",
    "encode",
    "formats",
    "model",
    "ops",
    "run",
    "targets",
    "tune",
]
