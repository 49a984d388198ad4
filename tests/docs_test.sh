#!/bin/bash
# docs_test.sh - every link and every page that a file names exists; an index lists every page; pages keep their limits.
set -eu
cd "$(dirname "$0")/.."
fail=0
complain() { echo "$1"; fail=1; }

# anchors PAGE: the anchors of its headings, as GitHub makes them, one a line.
anchors() {
  awk '/^```/ { code = !code } !code && /^#+ /' "$1" | sed 's/^#* *//' | tr 'A-Z' 'a-z' | sed 's/[^a-z0-9_ -]//g; s/ /-/g'
}

# links PAGE: the targets of its links outside of code blocks, one a line.
links() {
  awk '/^```/ { code = !code } !code && !/^    /' "$1" | sed 's/`[^`]*`//g' | grep -oE '\]\([^) ]+\)' | sed 's/^](//; s/)$//' || true
}

pages=$(find . -name '*.md' -not -path './build*' -not -path './tests/*' -not -path './.*' | sed 's|^\./||')
for page in $pages; do
  while read -r link; do
    case $link in '' | *://* | mailto:*) continue ;; esac
    path=${link%%#*} anchor=
    case $link in *'#'*) anchor=${link#*#} ;; esac
    file=$page
    [ -z "$path" ] || file=$(dirname "$page")/$path
    if [ ! -e "$file" ]; then
      complain "$page: there is no $link"
    elif [ "$anchor" ] && ! anchors "$file" | grep -qxF -- "$anchor"; then
      complain "$page: $file has no heading for #$anchor"
    fi
  done < <(links "$page")
done

# Files name pages as docs/FOLDER/PAGE.md. Pages of other projects are cited by the name of the project.
while IFS=: read -r file line path; do
  [ -e "$path" ] || complain "$file:$line: there is no $path"
done < <(grep -rnoE '(^|[^A-Za-z0-9_/.-])docs/(guide|reference|explain|dev|lab|pictures|man)/[A-Za-z0-9_.-]*[a-z0-9]' include src tests bench cmake python examples \
  .ci dev CMakeLists.txt ./*.md | sed -E 's/^([^:]*:[0-9]+:)[^d]?docs/\1docs/')
if old=$(grep -rnE "(^|[^A-Za-z0-9_/.-])docs/[a-z0-9-]+\.(md|svg)" include src bench cmake python examples CMakeLists.txt ./*.md | grep -vE 'docs/index\.md|EMU|MLIR-AIE'); then
  complain "pages are in folders below docs: $old"
fi

# Pages name files of the source that exist. NAME, N and * stand for a choice; lab pages keep the names of their day; topk and
# nvfp4 are examples of what may be added.
while IFS=: read -r file line path; do
  case $path in *NAME* | *VERSION* | *TARGET* | *'*'* | *topk* | *nvfp4* | *trainium* | *.) continue ;; esac
  [ -e "${path%.}" ] || complain "$file:$line: there is no $path"
done < <(grep -noP '(?<![A-Za-z0-9_/.-])(src|tests|include|examples|bench)/[A-Za-z0-9_./*-]*[A-Za-z0-9_/*]' README.md CONTRIBUTING.md docs/index.md docs/guide/*.md docs/reference/*.md \
  docs/explain/*.md docs/dev/*.md)

# The tile library's page names functions that the headers have.
while read -r name; do
  grep -qrw -- "$name" src/target/cuda/runtime src/target/cdna/runtime src/gpu/common/runtime ||
    complain "docs/reference/tile-library.md: no header has $name"
done < <(awk -F'|' '/^\| `/ { print $2 }' docs/reference/tile-library.md | grep -oE '`[A-Za-z_][A-Za-z_0-9]*' | tr -d '`' | sort -u)

for page in docs/*/*.md; do
  index=docs/index.md link=${page#docs/}
  [ "${link#lab/20}" = "$link" ] || { index=docs/lab/index.md link=${link#lab/}; }
  grep -qF "($link)" "$index" || complain "$index does not list $page"
done
# limit LINES PAGE...
limit() {
  most=$1
  shift
  for page in "$@"; do
    [ "$(wc -l <"$page")" -le "$most" ] || complain "$page has more than $most lines"
  done
}
limit 120 docs/guide/*.md docs/index.md
for page in docs/lab/*.md; do
  [ "$page" != docs/lab/index.md ] || continue
  case ${page##*/} in 20[0-9][0-9]-[01][0-9]-*.md) ;; *) complain "$page is not named YYYY-MM-subject.md" ;; esac
  grep -q '^Question: ' "$page" && grep -q '^Machine: ' "$page" || complain "$page says no question and machine"
done
limit 100 README.md
exit "$fail"
