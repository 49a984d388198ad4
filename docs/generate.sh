#!/bin/sh
# generate.sh COMMAND [--check] - puts `COMMAND manual SECTION` between the lines "generated: SECTION" and "end of SECTION" of the
# reference pages, the man page and the completions, and lists the lab pages in docs/lab/index.md. --check changes nothing and fails
# if a file would change.
set -eu
command=$(realpath "$1")
check=${2:-}
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
changed=

# update FILE NEW: makes FILE the same as NEW, or complains that it is not.
update() {
  cmp -s "$2" "$1" && return
  changed=yes
  if [ "$check" ]; then
    echo "$1 is not what the tables and pages say; run ./dev docs"
    diff "$1" "$2" | head -10 || true
  else
    cat "$2" >"$1"
    echo "$1"
  fi
}

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
  update "$file" "$work/file"
done

# lab_section HEADING SUBJECT...: the pages whose names begin with one of the subjects, each with its title and question.
lab_section() {
  printf '\n## %s\n\n' "$1"
  shift
  for subject; do
    for page in $(ls docs/lab/ | grep -E "^[0-9]{4}-[0-9]{2}-$subject[.-]" | grep '\.md$' | sort -V); do
      awk -v page="$page" '
        NR == 1 { title = substr($0, 3) }
        /^Question: / { inside = 1; sub(/^Question: /, "") }
        /^Machine: / || /^$/ { inside = 0 }
        inside { sub(/ +$/, ""); question = question (question == "" ? "" : " ") $0 }
        END { print "- [" title "](" page "): " toupper(substr(question, 1, 1)) substr(question, 2) }' "docs/lab/$page"
    done
  done
}

{
  echo '# Lab pages'
  echo
  echo 'Each lab page records one measurement: question, machine, commands, tables, conclusion. A lab page is never edited later, so it may use'
  echo 'older names and older numbers. [Results](../reference/results.md) has the present numbers. `./dev docs` writes this list.'
  lab_section 'Gemmini' gemmini
  lab_section 'AMD GPUs' amd cdna hipkittens mxfp4
  lab_section 'XDNA2' xdna2 mlir-aie
  lab_section 'NVIDIA GPUs' nvidia
  lab_section 'PyTorch' torch
  lab_section 'Trainium' trainium
  lab_section 'x86 and BLAS' x86
  lab_section 'Number formats' format
  lab_section 'Search' search reuse ranks
  lab_section 'Language models' language model
  lab_section 'Structure of the code' structure kernel-templates menu-options
} >"$work/lab"
[ -e docs/lab/index.md ] || : >docs/lab/index.md
update docs/lab/index.md "$work/lab"
[ -z "$check" ] || [ -z "$changed" ]
