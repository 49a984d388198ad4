#!/bin/sh
# check.sh LIST - executes every kernel of a list on the emulator, watched by all checks, without a GPU: results, races, missing
# waits and wait states, what nothing has written, alignment, barriers (docs/explain/cdna-emulator.md#checks). A line of the list is
# FILE MACHINE OP key=value...; files are in its folder. Exit status 1 if a kernel is wrong or anything is found, except for the
# findings in FILE.known, which `tilewright run FILE ... --write-known FILE.known` writes.
# TILEWRIGHT: the command, if it is not in the path.
export COLUMNS=10000 # a finding is a line
[ $# = 1 ] || { echo "check.sh: expected one list of kernels; usage: check.sh LIST" >&2; exit 2; }
list=$1 failed=0
here=$(dirname "$list")
while read -r file machine problem; do
  case $file in '' | '#'*) continue ;; esac
  set -- --checks all
  [ ! -e "$here/$file.known" ] || set -- "$@" --known "$here/$file.known"
  # shellcheck disable=SC2086 # the problem is several words
  if said=$("${TILEWRIGHT:-tilewright}" run "$here/$file" $problem -t "$machine" "$@" --trust 2>&1 </dev/null); then
    echo "ok      $file $machine: $problem"
  else
    echo "FAILED  $file $machine: $problem"
    echo "$said" | grep -E '^tilewright:| workgroup .* wave |^ *result' | grep -v '^known: ' | awk '!said[$0]++' | head -20
    failed=1
  fi
done <"$list"
exit $failed
