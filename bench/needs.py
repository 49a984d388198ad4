"""Names a missing Python module or driver in one line, with the way to install it; and a file of the command line that is missing.

Used by the scripts of this folder."""
import os
import sys

INSTALL = {
    "numpy": "install Debian's python3-numpy",
    "torch": "install PyTorch: https://pytorch.org/get-started",
    "tilewright": "set PYTHONPATH=python, or run pip install ./python",
    "cffi": "install Debian's python3-cffi",
    "triton": "install PyTorch with Triton: https://pytorch.org/get-started",
    "libcuda": "run it on a computer with an NVIDIA GPU and its driver",
}


def _say(kind, error, trace):
    if isinstance(error, FileNotFoundError) and error.filename in sys.argv:
        print("%s: cannot read '%s': no such file" % (os.path.basename(sys.argv[0]), error.filename), file=sys.stderr)
        return
    missing = getattr(error, "name", None) or ("libcuda" if "libcuda" in str(error) else "")
    how = INSTALL.get(missing.split(".")[0])
    if not isinstance(error, (ImportError, OSError)) or not (how or str(error).startswith("tilewright")):
        sys.__excepthook__(kind, error, trace)
        return
    print("%s: %s%s" % (os.path.basename(sys.argv[0]), error, "; " + how if how else ""), file=sys.stderr)


sys.excepthook = _say
