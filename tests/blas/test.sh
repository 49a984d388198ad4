#!/bin/sh
# test.sh LIBRARY: libtilewright-blas in programs that know nothing of it: a wrong argument where there is no handler, and NumPy, with
# the library in LD_PRELOAD and as libblas.so.3.
set -eu
library=$1
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat >"$work/wrong.c" <<'END'
#include <stdio.h>
void sgemm_(const char *, const char *, const int *, const int *, const int *, const float *, const float *, const int *,
            const float *, const int *, const float *, float *, const int *);
void cblas_sgemm(int, int, int, int, int, int, float, const float *, int, const float *, int, float, float *, int);
int main(void) {
  const int two = 2, one = 1;
  const float f = 1, a[4] = {1, 2, 3, 4};
  float c[4] = {5, 6, 7, 8};
  sgemm_("N", "N", &two, &two, &two, &f, a, &one, a, &two, &f, c, &two);
  cblas_sgemm(101, 111, 111, 2, 2, 2, 1, a, 2, a, 1, 0, c, 2);
  printf("%g %g %g %g\n", c[0], c[1], c[2], c[3]);
  return 0;
}
END
cc "$work/wrong.c" "$library" -Wl,-rpath,"$(dirname "$library")" -o "$work/wrong"
[ "$("$work/wrong" 2>"$work/errors")" = "5 6 7 8" ]
[ "$(grep -c 'On entry to' "$work/errors")" = 2 ] && grep -q 'SGEMM  parameter number  8 ' "$work/errors" &&
  grep -q 'cblas_sgemm parameter number 11 (ldb = 1)' "$work/errors" || { cat "$work/errors"; exit 1; }

python=/usr/bin/python3 # Debian's: its NumPy loads libblas.so.3
if ! "$python" -c 'import numpy; assert any("libblas.so.3" in line for line in open("/proc/self/maps"))' 2>/dev/null; then
  echo "left out: NumPy that loads libblas.so.3 (apt-get install python3-numpy)"
  exit
fi
"$python" "$here/numpy_calls.py" write "$work/without.npz"
for threads in 1 2; do
  LD_PRELOAD=$library TILEWRIGHT_NUM_THREADS=$threads "$python" "$here/numpy_calls.py" compare "$work/without.npz"
done
mkdir "$work/tree" "$work/tree/lib" "$work/tree/libexec" "$work/tree/libexec/tilewright"
ln -s "$library" "$work/tree/lib/libtilewright-blas.so"
cp "$here/../../src/blas/alternative.sh" "$work/tree/libexec/tilewright/blas-alternative"
for next in $(find /usr/lib/*/blas /usr/lib/*/openblas-pthread -name libblas.so.3); do # whichever Debian has here
  sh "$work/tree/libexec/tilewright/blas-alternative" make "$work/alternative" "$next"
  LD_LIBRARY_PATH=$work/alternative "$python" "$here/numpy_calls.py" compare "$work/without.npz"
  LD_LIBRARY_PATH=$work/alternative "$python" -c 'import numpy; assert numpy.ones((3, 4)).dot(numpy.ones((4, 5))).sum() == 60'
done
