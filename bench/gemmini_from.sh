#!/bin/sh
# gemmini_from.sh CHECKOUT [PART] - what `tilewright tune --from` gains on the public Exo programs of ucb-bar/autocomp (a
# checkout of it lies in CHECKOUT; sols/exo, sols/exo-conv: the unoptimized and the optimized ones), with the settings that
# a user has who gives none: a table of the program's cycles, those after the rewrites alone and those of the whole
# command, in which a fresh schedule competes, with its seconds (on the wall, and of all cores together), and the
# geometric means. PART: only programs whose path contains it. JOBS: threads, all cores if not set. TILEWRIGHT: the
# command, build/tilewright if not set.
set -eu
cd "$(dirname "$0")/.."
[ $# -ge 1 ] && [ -d "$1/sols/exo" ] || { echo "usage: $0 CHECKOUT [PART]; CHECKOUT is a checkout of ucb-bar/autocomp" >&2; exit 2; }
checkout=$1 part=${2-}
out=$(mktemp) used=$(mktemp) rows=$(mktemp) XDG_CACHE_HOME=$(mktemp -d) # kernels built before would spoil the seconds
export XDG_CACHE_HOME
trap 'rm -rf "$out" "$used" "$rows" "$XDG_CACHE_HOME"' EXIT

problem() { # of a shape: 512x256x64 (m x k x n) or n4_p56_q56_c64_k64_r3_s3
  case $1 in
    n*) echo "$1" | sed -E 's/n([0-9]+)_p([0-9]+)_q([0-9]+)_c([0-9]+)_k([0-9]+)_r([0-9]+)_s([0-9]+)/\1 \2 \3 \4 \5 \6 \7/' |
          { read -r n p q c k r s; echo "conv2d n=$n h=$((p + r - 1)) w=$((q + s - 1)) c=$c k=$k r=$r s=$s bias=row"; } ;;
    *) echo "$1" | tr x ' ' | { read -r i k j; echo "gemm m=$i n=$j k=$k"; } ;;
  esac
}

tune() { # PROGRAM SHAPE: its JSON to $out, the seconds of the cores to $used
  # shellcheck disable=SC2046 # the words of the problem
  (
    "${TILEWRIGHT:-build/tilewright}" tune --from "$checkout/$1" $(problem "$2") -t gemmini-16x16-int8 --no-wisdom \
      ${JOBS:+--jobs "$JOBS"} --json >"$out" || { cat "$out" >&2; exit 1; }
    times
  ) | awk 'NR == 2 { gsub(/[ms]/, " "); print $1 * 60 + $2 + $3 * 60 + $4 }' >"$used"
}

value() { sed -n "s/.*\"$1\": *\([0-9.]*\).*/\1/p" "$out" | head -1; }
after() { sed -n "/\"$1\": {/,/}/s/.*\"cycles\": *\([0-9]*\).*/\1/p" "$out" | head -1; }
mean() { # of the rows whose program matches
  awk -F'|' -v what="$1" '$2 ~ what { n++; r += log($6); w += log($8) }
    END { if (n) printf "geometric mean of %d (%s): %.2fx rewritten, %.2fx the whole command\n", n, what, exp(r / n), exp(w / n) }' "$rows"
}

echo '| program | shape | cycles | rewritten | | whole command | | seconds | of all cores |'
echo '| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |'
grep -E ',exo_(baseline|opt),' tests/data/gemmini/published.csv | grep "$part" | while IFS=, read -r _ program shape _; do
  tune "$program" "$shape"
  awk -v p="$program" -v s="$shape" -v b="$(after start)" -v r="$(after rewrites)" -v w="$(after best)" \
    -v t="$(value wall_seconds)" -v u="$(cat "$used")" 'BEGIN {
    printf "| `%s` | %s | %d | %d | %.2fx | %d | %.2fx | %.0f | %.0f |\n", p, s, b, r, b / r, w, b / w, t, u }' | tee -a "$rows"
done
echo
for what in exo/ exo/.*baseline exo/.*opt exo-conv exo-conv.*baseline exo-conv.*opt; do mean "$what"; done
