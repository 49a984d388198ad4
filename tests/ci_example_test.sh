#!/bin/sh
# ci_example_test.sh TILEWRIGHT ROOT - the example job ends with status 0 for its kernels, and with 1 for one whose results are
# right but that does not wait for its writes to LDS before the barrier. Without clang-22: skipped.
export TILEWRIGHT="$1"
command -v clang-22 >/dev/null || { echo "skipped: no clang-22"; exit 77; }
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
cp "$2"/examples/ci/* "$work"
sh "$work/check.sh" "$work/kernels.txt" >"$work/log" || { cat "$work/log"; echo "clean kernels fail"; exit 1; }
sed 's/.*__ATOMIC_RELEASE.*//' "$2/examples/ci/gemm.c" >"$work/gemm.c"
grep cdna4 "$2/examples/ci/kernels.txt" >"$work/kernels.txt"
sh "$work/check.sh" "$work/kernels.txt" >"$work/log"
[ $? = 1 ] || { cat "$work/log"; echo "a finding does not end with status 1"; exit 1; }
for said in 'result *correct' 's_waitcnt lgkmcnt is missing before the barrier'; do
  grep -q "$said" "$work/log" || { cat "$work/log"; echo "'$said' is not told"; exit 1; }
done
