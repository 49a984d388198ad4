#!/bin/sh
# Each script of bench/ answers --help with its name and does nothing else. An unknown option is an error of one line. Without NumPy or PyTorch (-S), a script that imports
# them first names the module in one line. More workers than cores are an error.
set -eu
bench=$(cd "$(dirname "$0")/../bench" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/empty"
cd "$folder/empty"
failed=0 answered=0
export PYTHONDONTWRITEBYTECODE=1
for script in "$bench"/*.py; do
  name=$(basename "$script")
  ! grep -q '^Used by\|Used by cuda_rivals.py' "$script" || continue # a module of others
  if /usr/bin/python3 -S "$script" --help >"$folder/out" 2>"$folder/err" </dev/null; then
    grep -q "$name" "$folder/out" || { echo "$name --help does not name the script"; failed=1; }
    answered=$((answered + 1))
    ! grep -q '^import usage' "$script" || /usr/bin/python3 -S "$script" --nonsense 2>&1 </dev/null | grep -q "^$name: unknown option '--nonsense'" ||
      { echo "$name takes --nonsense"; failed=1; }
  elif [ "$(wc -l <"$folder/err")" != 1 ] || ! grep -q "^$name: .*; .*install" "$folder/err"; then
    echo "$name --help fails:" && tail -3 "$folder/err" && failed=1
  fi
done
timeout 60 /usr/bin/python3 -S "$bench/trainium_operators.py" . --at-once $(($(nproc) + 1)) 2>&1 </dev/null | grep -q 'at-once: expected 1 to' ||
  { echo "trainium_operators.py accepts more workers than cores"; failed=1; }
[ -z "$(ls -A)" ] || { echo "--help leaves files:" && ls -A && failed=1; }
[ "$answered" -ge 6 ] || { echo "only $answered scripts answered"; failed=1; }
exit $failed
