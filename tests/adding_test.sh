#!/bin/sh
# adding_test.sh ROOT - what docs/dev/adding-an-op.md quotes is in examples/machine.c, line for line.
set -eu
cd "$1"
count=0
in_block=
while IFS= read -r line; do
  case $line in
    '```c') in_block=1 ;;
    '```') in_block= ;;
    *)
      [ "$in_block" ] || continue
      grep -qxF -- "$line" examples/machine.c || { echo "docs/dev/adding-an-op.md quotes what examples/machine.c has not: $line"; exit 1; }
      count=$((count + 1))
      ;;
  esac
done <docs/dev/adding-an-op.md
[ "$count" -ge 20 ] || { echo "docs/dev/adding-an-op.md quotes only $count lines"; exit 1; }
