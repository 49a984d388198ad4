#!/bin/bash
# completions_test.sh COMMAND - what bash's completion offers is what the command knows.
# Zsh's and fish's completions ask the command in the same words; where those shells are, they must at least read them.
set -eu
root=$(cd "$(dirname "$0")/.." && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/bin" "$folder/files" "$folder/files/sub"
ln -s "$(realpath "$1")" "$folder/bin/tilewright"
export PATH="$folder/bin:$PATH"
cd "$folder/files"
touch kernel.c design.mlir object.co notes.txt
. "$root/completions/tilewright.bash"
compopt() { :; }

# offers EXPECTED WORD...: the last word is being typed.
offers() {
  local expected=$1
  shift
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
  _tilewright || true
  local offered
  offered=$(printf '%s\n' "${COMPREPLY[@]-}" | sort | tr '\n' ' ')
  expected=$(tr ' ' '\n' <<<"$expected" | sort | grep . | tr '\n' ' ')
  [ "$offered" = "$expected" ] || { echo "$*: offers"; echo "  $offered"; echo "not"; echo "  $expected"; exit 1; }
}

commands=$(tilewright --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p' | grep -vx tilewright | tr '\n' ' ')
ops=$(for op in gemm conv2d conv3d mpc_forward mpc_backward attention layernorm rotary softmax cumsum transpose depthwise mamba gate elementwise reduce pool; do
  tilewright ops "$op" --json >/dev/null && echo "$op"; done | tr '\n' ' ')
offers "$commands help --help --version" tilewright ""
offers "$commands" tilewright help ""
offers "$(tilewright targets --json | tr ',{' '\n\n' | sed -n 's/^ *"name": *"\(.*\)"/\1/p' | tr '\n' ' ')" tilewright tune -t ""
offers "$ops" tilewright tune ""
offers "$ops sub kernel.c design.mlir object.co" tilewright run ""
offers "design.mlir" tilewright run des
offers "list show forget export import" tilewright wisdom ""
offers "stride=" tilewright tune conv2d strid
[ "$(tilewright ops conv2d | grep -c '^  [^ ]')" = "$(COMP_WORDS=(tilewright tune conv2d "") COMP_CWORD=3; _tilewright; echo ${#COMPREPLY[@]})" ]
for command in $commands; do
  offers "$(tilewright "$command" --help | grep -oE '^  (-., |    )--[a-z-]+' | grep -oE -- '--[a-z-]+' | tr '\n' ' ')" tilewright "$command" --
done
if command -v zsh >/dev/null; then zsh -n "$root/completions/_tilewright"; fi
if command -v fish >/dev/null; then fish -n "$root/completions/tilewright.fish"; fi
