#!/bin/sh
# abi.sh BUILD [record]: compares what the built libraries export, and the sizes of public structs, with the record of the last
# release of the same minor version, tests/data/abi/VERSION.txt. Symbols may be added; those that go, and structs that change,
# need a new minor version (docs/library.md). `record` writes the record of the version that CMakeLists.txt names.
set -eu
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
version=$(sed -n 's/^project(tilewright VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
minor=${version%.*}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Every struct that a header defines. What tw_size_of does not know is 0.
cat >"$work/sizes.c" <<'END'
#include <stdio.h>
#include <tilewright/tilewright.h>
int main(int argc, char **argv) {
  for (int i = 1; i < argc; i++) printf("size %s %zu\n", argv[i], tw_size_of(argv[i]));
}
END
structs=$(awk '/^typedef (struct|union|enum)/ {kind = $2} /^struct tw_[a-z0-9_]+ \{/ {print $2}
               /^} tw_[a-z0-9_]+;/ && kind != "enum" {sub(";", "", $2); print $2}' include/tilewright/*.h)
cc -Iinclude "$work/sizes.c" -L"$build" -ltilewright -Wl,-rpath,"$build" -o "$work/sizes"
{
  "$work/sizes" $structs
  for library in tilewright tilewright-gemm; do
    nm -D --defined-only "$build/lib$library.so" | sed -n "s/.* [TDBR] \(tw_[a-z0-9_]*\)$/symbol $library \1/p"
  done
} | LC_ALL=C sort -u >"$work/now"
if unknown=$(grep ' 0$' "$work/now"); then
  echo "tw_size_of does not know, so bindings cannot compare (src/base/version.c):"
  echo "$unknown"
  exit 1
fi
if [ "${2-}" = record ]; then
  mkdir -p tests/data/abi
  cp "$work/now" "tests/data/abi/$version.txt"
  exit
fi
record=$(find tests/data/abi -name "$minor.*.txt" | sort -V | tail -n 1)
if [ -z "$record" ]; then
  echo "there is no record of $minor: write one with  sh tests/abi.sh build record"
  exit 1
fi
gone=$(LC_ALL=C comm -23 "$record" "$work/now")
[ -z "$gone" ] || {
  echo "$record has what the libraries no longer have, or have in another size:"
  echo "$gone"
  echo "If $minor was released (CHANGELOG.md), that needs a new minor version in CMakeLists.txt and tilewright.h; then, and also if it"
  echo "was not, write the record again with  sh tests/abi.sh build record  and say in CHANGELOG.md what programs must change."
  exit 1
}
