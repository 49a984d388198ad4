#!/bin/sh
# adding_test.sh ROOT - what the pages about adding quote is in examples/machine.c, line for line.
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
      grep -qxF -- "$line" examples/machine.c || { echo "the pages about adding quote what examples/machine.c has not: $line"; exit 1; }
      count=$((count + 1))
      ;;
  esac
done <<END
$(cat docs/dev/adding-an-op.md docs/dev/adding-a-target.md)
END
[ "$count" -ge 20 ] || { echo "the pages about adding quote only $count lines"; exit 1; }
