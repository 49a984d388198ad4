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
  mkdir -p "$folder/tree/build"
  cp -r "$root/python" "$root/include" "$folder/tree/"
  pip_install() { "$python" -m pip install --quiet --no-index --no-deps --no-build-isolation --target "$1" "$folder/tree/python"; }
  in_site() { (cd "$folder" && unset TILEWRIGHT_LIBRARY && PYTHONPATH="$1" "$python" -c "$2"); }
  # Without a built library the package has none of its own, and says how to get one.
  pip_install "$folder/bare"
  [ ! -e "$folder/bare/tilewright/lib" ] || { echo "a library from nowhere"; exit 1; }
  if ! in_site "$folder/bare" 'import tilewright' 2>"$folder/why"; then
    grep -q 'build.*pip install.*dev install' "$folder/why" || { cat "$folder/why"; exit 1; }
  fi
  # With one, it runs kernels where no tree is: the programs that kernels run in are in the package, too.
  cp "$library" "$folder/tree/build/libtilewright.so"
  cp "$(dirname "$library")"/tilewright-*-runner "$folder/tree/build/"
  pip_install "$folder/site"
  rm -r "$folder/tree"
  [ -e "$folder/site/tilewright/torch/__init__.py" ] || { echo "tilewright.torch is not installed"; exit 1; }
  in_site "$folder/site" '
import tilewright as tw
x86 = next(t for t in tw.targets() if t.name == "x86")
assert x86.missing is None, x86.missing
assert tw.run(tw.emit("gemm", m=8, n=8, k=8, target="x86"), "gemm", m=8, n=8, k=8, target="x86", trust=True).measurement.cost > 0
assert "/site/tilewright/lib/" in open("/proc/self/maps").read()
print(tw.__version__, "as pip installs it")'
fi
cd "$folder" && PYTHONPATH="$root/python" "$python" "$root/tests/python/test_tilewright.py"
