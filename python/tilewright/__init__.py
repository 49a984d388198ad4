"""tilewright: finds, checks and runs fast tiled kernels for tensor accelerators. See python/README.md."""

from ._formats import Encoded, encode, formats
from ._gemm import Gemm, PackedB
from ._library import Error, FailedError, MissingError, UsageError
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
    "Encoded",
    "Error",
    "FailedError",
    "Gemm",
    "Interrupted",
    "Measurement",
    "MissingError",
    "PackedB",
    "Progress",
    "Run",
    "Rung",
    "Target",
    "Tuned",
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
