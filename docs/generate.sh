#!/bin/sh
# generate.sh COMMAND [--check] - puts `COMMAND manual SECTION` between the lines "generated: SECTION" and "end of SECTION" of the
# reference pages, the man page and the completions. --check changes nothing and fails if a file would change.
set -eu
command=$(realpath "$1")
check=${2:-}
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed=
for file in $(grep -lE '^(<!-- |# |\.\\" )generated: [a-z-]+' docs/reference/*.md docs/man/* completions/*); do
  sed -nE 's/^(<!-- |# |\.\\" )generated: ([a-z-]+).*/\2/p' "$file" | while read -r section; do
    "$command" manual "$section" >"$work/$section"
  done
  awk -v work="$work" '
    /^(<!-- |# |\.\\" )generated: / {
      print
      section = $0; sub(/.*generated: /, "", section); sub(/[^a-z-].*/, "", section)
      while ((getline line < (work "/" section)) > 0) print line
      inside = 1
    }
    inside && /^(<!-- |# |\.\\" )end of / { inside = 0 }
    !inside && !/generated: / { print }' "$file" >"$work/file"
  cmp -s "$work/file" "$file" && continue
  changed=yes
  if [ "$check" ]; then
    echo "$file is not what the tables say; run ./dev docs"
    diff "$file" "$work/file" | head -10 || true
  else
    cat "$work/file" >"$file"
    echo "$file"
  fi
done
[ -z "$check" ] || [ -z "$changed" ]
