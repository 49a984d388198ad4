#!/bin/sh
# blas-alternative - libtilewright-blas as the libblas.so.3 of Debian's update-alternatives.
#
#   blas-alternative make FOLDER [NEXT]   FOLDER/libblas.so.3
#   blas-alternative add [NEXT]           makes it beside the library and registers it (as root)
#   blas-alternative remove               takes it back
#
# libblas.so.3 is an empty library that needs two others by path: libtilewright-blas, and then NEXT, which has every other function
# [default: what libblas.so.3 is now]. The dynamic linker searches them in this order. NEXT stays until `add` is run again.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
arch=$(cc -print-multiarch)
name=libblas.so.3-$arch
link=/usr/lib/$arch/libblas.so.3

fail() { echo "blas-alternative: $1" >&2; exit 1; }

# The library of this installation, or of this tree.
library=
for folder in "$here/../../lib/$arch" "$here/../../lib" "$here/../../lib64" "$here/../../build"; do
  [ -z "$library" ] && [ -e "$folder/libtilewright-blas.so" ] && library=$(realpath -s "$folder/libtilewright-blas.so")
done
[ "$library" ] || fail "libtilewright-blas.so is missing (searched from $here); build it or install it again"

# stand_in FILE: a library whose name is the path of FILE, so that what is linked with it needs exactly that file.
stand_in() { cc -shared -nostdlib -o "$2" -Wl,-soname,"$1" -x c /dev/null; }

# make_library FOLDER [NEXT]
make_library() {
  next=$(realpath -s "${2-$(readlink "/etc/alternatives/$name")}") && [ -e "$next" ] ||
    fail "no BLAS is registered as $name; install one (libopenblas0-pthread, libblas3) or name it"
  [ ! "$next" -ef "$1/libblas.so.3" ] || fail "$next is this library already; name the BLAS for the other functions"
  nm -D --defined-only "$next" | grep -q ' cblas_dgemm$' || fail "$next has no cblas_dgemm; name a BLAS with CBLAS"
  work=$(mktemp -d)
  trap 'rm -rf "$work"' EXIT
  stand_in "$library" "$work/ours.so"
  stand_in "$next" "$work/next.so"
  mkdir -p "$1"
  cc -shared -nostdlib -o "$1/libblas.so.3" -Wl,-soname,libblas.so.3 -Wl,--no-as-needed -x c /dev/null -x none "$work/ours.so" "$work/next.so"
  echo "$1/libblas.so.3: $library, then $next"
}

own=$(dirname "$library")/tilewright-blas
case ${1-}:$# in
  make:2 | make:3) shift; make_library "$@" ;;
  add:1 | add:2)
    shift
    make_library "$own" "$@"
    update-alternatives --install "$link" "$name" "$own/libblas.so.3" 110
    ldconfig ;;
  remove:1)
    update-alternatives --remove "$name" "$own/libblas.so.3"
    rm -rf "$own"
    ldconfig ;;
  *) sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2; exit 2 ;;
esac
