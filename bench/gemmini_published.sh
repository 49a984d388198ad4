#!/bin/sh
# gemmini_published.sh CHECKOUT [PART] - runs the public Gemmini programs of ucb-bar/autocomp (a checkout of it lies in
# CHECKOUT) on the simulated machine and prints, as a table, how far their cycles are from those measured on the RTL
# (tests/data/gemmini/published.csv). PART: only rows that contain it. Every result is checked, too.
set -eu
cd "$(dirname "$0")/.."
[ $# -ge 1 ] && [ -d "$1/sols/exo" ] || { echo "usage: $0 CHECKOUT [PART]; CHECKOUT is a checkout of ucb-bar/autocomp" >&2; exit 2; }
checkout=$1 part=${2-}
kernel=$(mktemp)
trap 'rm -f "$kernel" "$kernel.json"' EXIT

# The library call, for shapes without a program of their own.
library_call() {
  echo 'void test(int8_t A[MAT_DIM_I][MAT_DIM_K], int8_t B[MAT_DIM_K][MAT_DIM_J], int8_t C[MAT_DIM_I][MAT_DIM_J]) {'
  echo '  tiled_matmul_auto(MAT_DIM_I, MAT_DIM_J, MAT_DIM_K, (elem_t *)A, (elem_t *)B, NULL, C, MAT_DIM_K, MAT_DIM_J, MAT_DIM_J,'
  echo '                    MAT_DIM_J, 1, 1, 1, NO_ACTIVATION, 1, 0, false, false, false, false, false, 0, WS);'
  echo '  fence();'
  echo '}'
}

problem() { # of a shape: 512x256x64 or n4_p56_q56_c64_k64_r3_s3
  case $1 in
    n*) echo "$1" | sed -E 's/n([0-9]+)_p([0-9]+)_q([0-9]+)_c([0-9]+)_k([0-9]+)_r([0-9]+)_s([0-9]+)/\1 \2 \3 \4 \5 \6 \7/' |
          { read -r n p q c k r s; echo "conv2d n=$n h=$((p + r - 1)) w=$((q + s - 1)) c=$c k=$k r=$r s=$s bias=row"; } ;;
    *) echo "$1" | tr x ' ' | { read -r i k j; echo "gemm m=$i n=$j k=$k"; } ;;
  esac
}

echo '| program | shape | variant | RTL cycles | simulated | error |'
echo '| --- | --- | --- | ---: | ---: | ---: |'
grep "$part" tests/data/gemmini/published.csv | while IFS=, read -r suite program shape variant cycles _; do
  [ "$suite" != suite ] || continue
  : >"$kernel"
  [ "$variant" != library_software_loop ] || echo '#define GEMMINI_SOFTWARE_LOOP' >"$kernel"
  if [ -f "$checkout/$program" ]; then cat "$checkout/$program" >>"$kernel"; else library_call >>"$kernel"; fi
  # shellcheck disable=SC2046 # the words of the problem
  build/tilewright run "$kernel" $(problem "$shape") -t gemmini-16x16-int8 --json >"$kernel.json" || { cat "$kernel.json" >&2; exit 1; }
  simulated=$(sed -n 's/^  "cycles": \([0-9]*\).*/\1/p' "$kernel.json")
  awk -v p="$program" -v s="$shape" -v v="$variant" -v r="$cycles" -v c="$simulated" \
    'BEGIN { printf "| %s | %s | %s | %d | %d | %+.2f%% |\n", p, s, v, r, c, (c / r - 1) * 100 }'
done
