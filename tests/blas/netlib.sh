#!/bin/sh
# netlib.sh LIBRARY FOLDER: Netlib's own tests of sgemm, from Debian's source package of lapack, which is fetched into FOLDER: CBLAS
# and Fortran. Functions that the library lacks come from Netlib's BLAS (libblas3).
set -eu
library=$1
mkdir -p "$2"
cd "$2"
if [ ! -e source/CBLAS ]; then
  # The same mirror and keys as for packages, and lists of its own: nothing of the system's changes.
  . /etc/os-release
  mkdir -p lists/partial cache
  echo "deb-src http://deb.debian.org/debian $VERSION_CODENAME main" >sources.list
  apt() {
    apt-get -q -o Dir::Etc::SourceList="$PWD/sources.list" -o Dir::Etc::SourceParts=/dev/null -o Dir::State::Lists="$PWD/lists" \
      -o Dir::Cache="$PWD/cache" "$@"
  }
  apt update >log 2>&1 && apt source --download-only lapack >>log 2>&1 || { tail -5 log; echo "netlib.sh: no source package"; exit 1; }
  mkdir source.new
  tar xf lapack_*.orig.tar.* --strip-components=1 -C source.new
  mv source.new source
fi
cblas=source/CBLAS
cp "$cblas/include/cblas_mangling_with_flags.h.in" "$cblas/include/cblas_mangling.h"
next=/usr/lib/$(cc -print-multiarch)/blas/libblas.so.3 # Netlib's own: the tests want a variable of it
libraries="$library $next -Wl,-rpath,$(dirname "$library"):$(dirname "$next")"

objects=
for part in c_sblas3 c_s3chke auxiliary c_xerbla; do
  cc -w -O2 -DADD_ -I"$cblas/include" -c "$cblas/testing/$part.c" -o "$part.o"
  objects="$objects $part.o"
done
gfortran -w -O2 "$cblas/testing/c_sblat3.f" $objects $libraries -o xscblat3
gfortran -w -O2 source/BLAS/TESTING/sblat3.f $libraries -o xblat3s

# Which library a program's function comes from.
comes_from_library() {
  LD_DEBUG=bindings LD_BIND_NOW=1 "$1" </dev/null 2>&1 | grep "symbol .$2'" | grep -q libtilewright-blas
}
comes_from_library ./xscblat3 cblas_sgemm && comes_from_library ./xblat3s sgemm_ || { echo "the library is not what is tested"; exit 1; }

for threads in 1 2; do
  export TILEWRIGHT_NUM_THREADS=$threads
  ./xscblat3 <"$cblas/testing/sin3" >cblas.out
  rm -f sblat3.out SBLAT3.SNAP
  ./xblat3s <source/BLAS/TESTING/sblat3.in >/dev/null
  mv sblat3.out fortran.out
  grep sgemm cblas.out
  grep SGEMM fortran.out
  if grep -E 'FAIL|\*\*\*|SUSPECT|FATAL' cblas.out fortran.out || [ "$(grep -c 'cblas_sgemm *PASSED' cblas.out)" != 3 ] ||
    [ "$(grep -c 'SGEMM *PASSED' fortran.out)" != 2 ]; then
    echo "Netlib's tests do not pass: $PWD/cblas.out, $PWD/fortran.out"
    exit 1
  fi
done
