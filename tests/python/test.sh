#!/bin/sh
# test.sh LIBRARY - the Python package against that library, from the tree and as pip installs it. 77: Python's parts are missing.
set -eu
library=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
python=/usr/bin/python3 # Debian's, whose packages they are
"$python" -c 'import cffi, numpy' 2>/dev/null || { echo "no python3-cffi or python3-numpy: skipped"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export TILEWRIGHT_LIBRARY="$library" XDG_CACHE_HOME="$folder/cache" HOME="$folder" PYTHONDONTWRITEBYTECODE=1
if "$python" -m pip --version >"$folder/pip" 2>&1 && "$python" -c 'import setuptools' 2>/dev/null; then
  mkdir "$folder/tree"
  cp -r "$root/python" "$root/include" "$folder/tree/"
  "$python" -m pip install --quiet --no-index --no-deps --no-build-isolation --target "$folder/site" "$folder/tree/python"
  cd "$folder"
  PYTHONPATH="$folder/site" "$python" -c 'import tilewright; print(tilewright.__version__, "as pip installs it")'
fi
cd "$folder" && PYTHONPATH="$root/python" "$python" "$root/tests/python/test_tilewright.py"
