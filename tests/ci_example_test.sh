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

# The finding is accepted once it is in a file of known findings; another finding is not.
run() { # NAME STATUS [OPTION...]
  name=$1 expected=$2 && shift 2
  "$TILEWRIGHT" run "$work/$name.c" gemm m=64 n=48 k=32 a=f32 b=f32 c=f32 -t cdna4 --checks all --trust "$@" >"$work/log" 2>&1
  [ $? = "$expected" ] || { cat "$work/log"; echo "run $name $*: expected status $expected"; exit 1; }
}
says() { grep -q "$1" "$work/log" || { cat "$work/log"; echo "'$1' is not told"; exit 1; }; }
export COLUMNS=10000
cp "$2/examples/ci/gemm.c" "$work/right.c"
run gemm 0 --write-known "$work/known.txt"
run gemm 0 --known "$work/known.txt"
says '^known: races: ds_read.* at .*lgkmcnt is missing'
run gemm 0 --known "$work/known.txt" --json
says '"key": "races gemm ds_read[0-9a-z_]* gemm.c:[0-9]*"'
says '"level": "known"'
run right 0 --known "$work/known.txt"
says '[1-9] of its [1-9] findings did not occur'
run right 0 --counts --json
says '"place": "[^"]*right.c:[0-9]*"'
! grep -q '"place": "kernel' "$work/log" || { echo "a place names the compiler's file"; exit 1; }
grep '^#' "$work/known.txt" >"$work/none.txt"
run gemm 1 --known "$work/none.txt"
says ' new finding.* listed above'
(cd "$work" && sed -i 's/ gemm / other /' known.txt) # of another kernel
run gemm 1 --known "$work/known.txt" --json
says '"level": "error"'
says '^    "races other ds_'
echo 'races gemm' >"$work/bad.txt"
run gemm 2 --known "$work/bad.txt"
says 'bad.txt:1: expected CHECK KERNEL INSTRUCTION PLACE'
run gemm 2 --known "$work/missing.txt"
cp "$work/known.txt" "$work/gemm.c.known"
sh "$work/check.sh" "$work/kernels.txt" >"$work/log" && { cat "$work/log"; echo "a new finding passes"; exit 1; }
says 'lgkmcnt is missing'
sed -i 's/ other / gemm /' "$work/gemm.c.known"
sh "$work/check.sh" "$work/kernels.txt" >"$work/log" || { cat "$work/log"; echo "a known finding fails"; exit 1; }
