#!/bin/sh
# tune_test.sh COMMAND EXAMPLE LIBRARY: the command, a C program and Python share one file of wisdom. What one of them found, the others
# return without a search.
set -eu
command=$1 example=$2 library=$3
root=$(cd "$(dirname "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export TILEWRIGHT_WISDOM="$work/wisdom.json" TILEWRIGHT_LIBRARY="$library" PYTHONPATH="$root/python"
problem='gemm m=64 n=64 k=64 -t gemmini-16x16-int8'
fail() { echo "$1"; cat "$work/out"; exit 1; }
# finds PROGRAM yes|no: does it answer from wisdom?
finds() {
  case $1 in
    c) "$example" "$TILEWRIGHT_WISDOM" >"$work/out" 2>"$work/progress" ;;
    python) /usr/bin/python3 -c 'import tilewright as tw
found = tw.tune("gemm", m=64, n=64, k=64, target="gemmini-16x16-int8", iterations=1)
print(found.source if not found.from_wisdom else "from wisdom")' >"$work/out" ;;
    command) "$command" wisdom show $problem >"$work/out" ;;
  esac || fail "$1 fails"
  if [ "$2" = yes ]; then
    [ "$1" = command ] || grep -q '^from wisdom' "$work/out" || fail "$1 searches again"
  else
    if grep -q '^from wisdom' "$work/out"; then fail "$1 does not search"; fi
  fi
}
users="c command"
if /usr/bin/python3 -c 'import cffi, numpy' 2>/dev/null; then users="$users python"; fi
for first in $users; do
  rm -f "$TILEWRIGHT_WISDOM"
  if [ "$first" = command ]; then
    "$command" tune $problem --iterations 1 >"$work/out" || fail "the command fails"
  else
    finds "$first" no
  fi
  for second in $users; do finds "$second" yes; done
done
# The command always searches, and starts from wisdom; a damaged file is a note and no failure.
cp "$TILEWRIGHT_WISDOM" "$work/before"
"$command" tune $problem --iterations 1 | grep -q candidates || fail "the command does not search"
echo damaged >"$TILEWRIGHT_WISDOM"
"$command" tune $problem --iterations 1 2>"$work/out" >/dev/null || fail "a damaged file is a failure"
grep -q 'continuing without wisdom' "$work/out" && grep -q 'not stored' "$work/out" || fail "a damaged file is not named"
[ "$(cat "$TILEWRIGHT_WISDOM")" = damaged ] || fail "a damaged file is overwritten"
