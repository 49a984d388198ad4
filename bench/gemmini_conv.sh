#!/bin/sh
# gemmini_conv.sh [PART] - searches schedules for convolutions on Gemmini, each from nothing, and prints what came of it:
# the shapes of the public Exo programs, and the layers of ResNet-50 at batch 1 and 4. PART: only rows that contain it.
# Every kernel's result is checked. TILEWRIGHT: the command to use.
set -eu
cd "$(dirname "$0")/.."
part=${1-} command=${TILEWRIGHT:-build/tilewright}
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

# name | sizes. Images are padded by the kernel where pad= says so; the public programs get padded input.
shapes() {
  echo 'public 56 x 56, 64|n=4 h=58 w=58 c=64 k=64 r=3 s=3'
  echo 'public 28 x 28, 128|n=4 h=30 w=30 c=128 k=128 r=3 s=3'
  echo 'public 14 x 14, 256|n=4 h=16 w=16 c=256 k=256 r=3 s=3'
  echo 'public 14 x 14, 128|n=4 h=16 w=16 c=128 k=128 r=3 s=3'
  for n in 1 4; do
    while IFS='|' read -r name sizes; do echo "ResNet-50 $name|n=$n $sizes"; done <<'END'
conv1|h=224 w=224 c=3 k=64 r=7 s=7 stride=2 pad=3
conv1 + pooling|h=224 w=224 c=3 k=64 r=7 s=7 stride=2 pad=3 relu=1 pool=3 pool_stride=2 pool_pad=1
conv2 1x1|h=56 w=56 c=64 k=64 r=1 s=1
conv2 3x3|h=56 w=56 c=64 k=64 r=3 s=3 pad=1
conv2 1x1 wide|h=56 w=56 c=64 k=256 r=1 s=1
conv2 1x1 narrow|h=56 w=56 c=256 k=64 r=1 s=1
conv3 1x1 first|h=56 w=56 c=256 k=128 r=1 s=1
conv3 3x3 stride 2|h=56 w=56 c=128 k=128 r=3 s=3 stride=2 pad=1
conv3 shortcut|h=56 w=56 c=256 k=512 r=1 s=1 stride=2
conv3 1x1 wide|h=28 w=28 c=128 k=512 r=1 s=1
conv3 1x1 narrow|h=28 w=28 c=512 k=128 r=1 s=1
conv3 3x3|h=28 w=28 c=128 k=128 r=3 s=3 pad=1
conv4 1x1 first|h=28 w=28 c=512 k=256 r=1 s=1
conv4 3x3 stride 2|h=28 w=28 c=256 k=256 r=3 s=3 stride=2 pad=1
conv4 shortcut|h=28 w=28 c=512 k=1024 r=1 s=1 stride=2
conv4 1x1 wide|h=14 w=14 c=256 k=1024 r=1 s=1
conv4 1x1 narrow|h=14 w=14 c=1024 k=256 r=1 s=1
conv4 3x3|h=14 w=14 c=256 k=256 r=3 s=3 pad=1
conv5 1x1 first|h=14 w=14 c=1024 k=512 r=1 s=1
conv5 3x3 stride 2|h=14 w=14 c=512 k=512 r=3 s=3 stride=2 pad=1
conv5 shortcut|h=14 w=14 c=1024 k=2048 r=1 s=1 stride=2
conv5 1x1 wide|h=7 w=7 c=512 k=2048 r=1 s=1
conv5 1x1 narrow|h=7 w=7 c=2048 k=512 r=1 s=1
conv5 3x3|h=7 w=7 c=512 k=512 r=3 s=3 pad=1
END
  done
}

number() { sed -n "s/^ *\"$1\": \\([0-9.]*\\).*/\\1/p" "$out/json"; } # all of that name, in the order of the report

echo '| layer | sizes | start | best | bound | utilization | of the bound | seconds |'
echo '| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |'
shapes | grep -F -- "$part" | while IFS='|' read -r name sizes; do
  rm -rf "$out/run"
  # shellcheck disable=SC2086 # the words of the problem
  "$command" tune conv2d $sizes -t gemmini-16x16-int8 --no-wisdom --json --out "$out/run" >"$out/json" 2>"$out/log" ||
    { cat "$out/log" >&2; exit 1; }
  # best, start and bound in this order; the utilization is the best's
  cycles=$(number cycles | tr '\n' ' ') utilization=$(number utilization | head -n 1) seconds=$(number wall_seconds)
  echo "$cycles $utilization $seconds" |
    awk -v name="$name" -v sizes="$sizes" '{ printf "| %s | `%s` | %d | %d | %d | %.1f%% | %.1f%% | %.0f |\n", name, sizes, $2, $1, $3, $4 * 100, $3 / $1 * 100, $5 }'
done
