#!/bin/sh
# abi.sh BUILD [record]: compares what the built libraries export, and how public structs are laid out, with the record of the last
# release of the same minor version, tests/data/abi/VERSION.txt. Symbols may be added, and structs that carry their size may grow at
# their end; all else needs a new minor version (docs/reference/c-api.md). `record` writes the record of the version that CMakeLists.txt names.
set -eu
build=$(cd "$1" && pwd)
cd "$(dirname "$0")/.."
version=$(sed -n 's/^project(tilewright VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
minor=${version%.*}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Every struct that a header defines, and the members of those that carry their size: "tw_x" and "tw_x member".
cat include/tilewright/*.h include/tilewright/extend/*.h | tr '\n' ' ' | sed 's|/\*[^*]*\*\+\([^/*][^*]*\*\+\)*/||g' | sed 's/{/{\n/g' | tr ';}' '\n\n' | awk '
  function member(text) { sub(/ *\[.*/, "", text); sub(/.*[ *]/, "", text); return text }
  /(struct|union) tw_[a-z0-9_]+ {$/ { name = $(NF - 1); sized = -1; print name; next }
  name && sized < 0 { sized = ($1 == "size_t" && $2 == "size" && NF == 2) }
  name && sized && /\(\*/ { sub(/.*\(\*/, ""); sub(/\).*/, ""); print name, $0; next }
  name && sized && NF > 1 && !/^ *tw_[a-z0-9_]+ *$/ { n = split($0, part, ","); for (i = 1; i <= n; i++) print name, member(part[i]); next }
  /^ *(tw_[a-z0-9_]+)? *$/ { name = "" }' >"$work/structs"
[ "$(grep -c ' size$' "$work/structs")" -ge 8 ] || { echo "the headers are not understood"; exit 1; }
cat >"$work/sizes.c" <<'END'
#include <stddef.h>
#include <stdio.h>
#include <tilewright/extend/extend.h>
#include <tilewright/tensors.h>
#define STRUCT(name, grows) printf("%s %s %zu\n", grows ? "least" : "size", #name, tw_size_of(#name));
#define BYTES(name, member) sizeof(((name *)0)->member)
#define MEMBER(name, member) printf("member %s.%s %zu %zu\n", #name, #member, offsetof(name, member), BYTES(name, member));
/* What is added later must not lie where an older program has padding. */
#define LAST(name, member) \
  if (offsetof(name, member) + BYTES(name, member) != sizeof(name)) puts("padding at the end of " #name ": give it a name");
int main(void) {
END
while read -r name member; do
  if [ "$member" ]; then
    echo "MEMBER($name, $member)"
  elif grep -q "^$name size$" "$work/structs"; then
    echo "STRUCT($name, 1) LAST($name, $(sed -n "s/^$name \(..*\)/\1/p" "$work/structs" | tail -n 1))"
  else
    echo "STRUCT($name, 0)"
  fi
done <"$work/structs" >>"$work/sizes.c"
echo '}' >>"$work/sizes.c"
cc -Iinclude "$work/sizes.c" -L"$build" -ltilewright -Wl,-rpath,"$build" -o "$work/sizes"
{
  "$work/sizes"
  for library in tilewright tilewright-gemm tilewright-tensors; do
    nm -D --defined-only "$build/lib$library.so" | sed -n "s/.* [TDBR] \(tw_[a-z0-9_]*\)$/symbol $library \1/p"
  done
} | grep -v '^member .*[.]reserved ' | LC_ALL=C sort -u >"$work/now"
if grep '^padding' "$work/now"; then exit 1; fi
marked=$(cat include/tilewright/*.h include/tilewright/extend/*.h | grep -c '^TW_API ') shown=$(grep -c '^    tw_' "$build/exports.map")
[ "$marked" -eq "$shown" ] || { echo "the headers mark $marked functions, and cmake/exports.cmake finds $shown"; exit 1; }
if unknown=$(grep '^[sl].* 0$' "$work/now"); then
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
gone=$(awk 'NR == FNR { if ($1 == "least") now[$2] = $3; else here[$0] = 1; next }
            $1 == "least" ? now[$2] + 0 < $3 + 0 : !($0 in here)' "$work/now" "$record")
[ -z "$gone" ] || {
  echo "$record has what the libraries no longer have, or have in another size or place:"
  echo "$gone"
  echo "If $minor was released (CHANGELOG.md), that needs a new minor version in CMakeLists.txt and tilewright.h; then, and also if it"
  echo "was not, write the record again with  sh tests/abi.sh build record  and say in CHANGELOG.md what programs must change."
  exit 1
}
