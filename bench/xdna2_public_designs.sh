#!/bin/sh
# xdna2_public_designs.sh FOLDER [all] - gives every MLIR-AIE design of a GEMM below FOLDER (a checkout of Xilinx/mlir-aie with the
# .mlir that its Makefiles build, or any other) to `tilewright run` and prints, as a table, what comes of it: correct and
# how long, or why it is not taken. Sizes and types are those of the runtime sequence's first three arguments. With `all`, every
# design with a core and a runtime sequence runs without an op, a call of a function that is declared in it takes 1000 cycles, and
# NPUDEVICE, as mlir-aie's tests write it, is npu2.
set -eu
cd "$(dirname "$0")/.."
{ [ $# -eq 1 ] || [ "${2:-}" = all ]; } && [ -d "$1" ] || { echo "usage: $0 FOLDER [all]" >&2; exit 2; }
folder=$1

# "m=.. n=.. k=.. a=.. b=.. c=..", from "name: memref<AxBxtype>, ..." of A (m k), B (k n) and C (m n).
problem() {
  sed -n 's/.*runtime_sequence[^(]*(\(.*\)).*{.*/\1/p' "$1" | head -1 | tr ',' '\n' | sed -n 's/.*memref<\(.*\)>.*/\1/p' | awk -F x '
    NR <= 3 { size[NR] = 1; for (i = 1; i < NF; i++) size[NR] *= $i; type[NR] = $NF }
    END {
      if (NR < 3) exit
      m = int(sqrt(size[1] * size[3] / size[2]) + 0.5)
      if (m < 1) exit
      printf "m=%d n=%d k=%d a=%s b=%s c=%s", m, size[3] / m, size[1] / m, type[1], type[2], type[3]
    }'
}

if [ "${2:-}" = all ]; then
  copy=$(mktemp)
  trap 'rm -f "$copy"' EXIT
  echo '| design | result | time |'
  echo '| --- | --- | ---: |'
  find "$folder" -name '*.mlir' ! -path '*.prj/*' | sort | while read -r file; do
    grep -qE 'aie\.device\((npu|NPUDEVICE)' "$file" && grep -q 'aie\.core' "$file" && grep -q runtime_sequence "$file" || continue
    sed -E 's/NPUDEVICE(_[0-9]col)?/npu2\1/' "$file" >"$copy"
    words=$(grep -oE 'func\.func private @[A-Za-z0-9_]+' "$copy" | sed 's/.*@\(.*\)/--kernel-cycles \1=1000/' | sort -u)
    # shellcheck disable=SC2086 # words
    if said=$(build/tilewright run "$copy" $words -t xdna2 2>&1); then
      case $said in *'no data'*) how='time alone' ;; *) how='moved and computed' ;; esac
      echo "| ${file#"$folder"/} | $how | $(echo "$said" | sed -n 's/^  cost *//p') |"
    else
      echo "| ${file#"$folder"/} | $(echo "$said" | head -1 | sed 's/^tilewright: //' | cut -c1-160) | |"
    fi
  done
  exit 0
fi

echo '| design | problem | result | time |'
echo '| --- | --- | --- | ---: |'
find "$folder" -name '*.mlir' ! -path '*.prj/*' | sort | while read -r file; do
  grep -qE 'aie.objectfifo|aie.dma_start' "$file" && grep -qE 'matmul|matvec' "$file" || continue
  words=$(problem "$file")
  # shellcheck disable=SC2086 # words
  if said=$(build/tilewright run "$file" gemm ${words:-m=64 n=64 k=64 a=i8 b=i8 c=i32} -t xdna2 2>&1); then
    echo "| ${file#"$folder"/} | $words | correct | $(echo "$said" | sed -n 's/^  cost *//p') |"
  else
    echo "| ${file#"$folder"/} | $words | $(echo "$said" | head -1 | sed 's/^tilewright: //' | cut -c1-160) | |"
  fi
done
