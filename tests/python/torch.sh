#!/bin/sh
# torch.sh LIBRARY - tilewright.torch against that library, on the CPU. 77: PyTorch is missing.
set -eu
root=$(cd "$(dirname "$0")/../.." && pwd)
python=${TILEWRIGHT_TEST_PYTHON:-/usr/bin/python3} # another one, with another PyTorch
"$python" -c 'import cffi, numpy, torch' 2>/dev/null || { echo "no python3-torch, python3-cffi or python3-numpy: skipped"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TILEWRIGHT_LIBRARY="$1" TILEWRIGHT_WISDOM="$folder/wisdom.json" XDG_CACHE_HOME="$folder/cache" PYTHONDONTWRITEBYTECODE=1
cd "$folder" && PYTHONPATH="$root/python" "$python" "$root/tests/python/test_torch.py"
