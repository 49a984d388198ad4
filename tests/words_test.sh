#!/bin/bash
# words_test.sh TILEWRIGHT [list]: looks for banned phrases (tests/data/banned_phrases.txt) and for sentences above 40 words in help
# texts, messages, public headers, comments of src/ and user pages. It prints file:line for each. Each kind of text has a limit below: the
# number that is left. The test fails above a limit. Below it, lower the limit. `list` prints all findings.
set -eu
command=$(realpath "$1")
mode=${2:-}
cd "$(dirname "$0")/.."
declare -A limit
. tests/data/words_limits.sh

# Units of text, a line each: place, tab, text.
help_texts() {
  for name in "" $("$command" --help | sed -nE '/^  tilewright/d; s/^  ([a-z]+) +.*/\1/p'); do
    COLUMNS=1000 "$command" help $name | awk -v where="help $name" '
      /^ *tilewright |^usage:/ || !NF { next }
      { sub(/^ +/, ""); sub(/^(-[a-z], )?--?[^ ]+( [^ ]+)?  +/, ""); print where ":" NR "\t" $0 }'
  done
}
# Messages: every string literal in a call that reports something.
error_messages() {
  find src/ -name '*.c' -exec awk '
    function literals(text, out) {
      while (match(text, /"([^"\\]|\\.)*"/)) {
        out = out substr(text, RSTART + 1, RLENGTH - 2)
        text = substr(text, RSTART + RLENGTH)
      }
      return out
    }
    FNR == 1 { inside = 0 }
    !inside && /(tw_fail|_fail|fail|refuse|malformed|_fault|wrong|_wrong|give_up|cdna_stop|find_at|SIM_FAIL|TW_REJECT_IF|_require|tw_state_note|tw_count|tw_add_quantity|tw_add_counter|tw_outcome_fail|tw_no_memory|complain|tell|snprintf|fprintf|printf|puts)\(/ && !/^(static )?tw_status/ && !/^#/ { inside = 1; start = FNR; call = "" }
    inside { call = call $0 }
    inside && /;[^"]*$/ { inside = 0; print FILENAME ":" start "\t" literals(call) }' {} +
}
# Comments of files: a block, or a run of lines that begin with //, is one text; indented lines of a block are texts of their own.
comments() {
  awk '
    function flush() { if (text != "") print name ":" start "\t" text; text = "" }
    FNR == 1 { flush(); inside = 0; name = FILENAME }
    inside && /^ *\*    *[^ ]/ { flush(); start = FNR }
    inside { line = $0; inside = !sub(/\*\/.*$/, "", line); sub(/^ *\* ?/, "", line); text = text " " line; if (!inside) flush(); next }
    { line = $0; gsub(/"([^"\\]|\\.)*"/, "", line) }
    line ~ /^ *\/\/ / { sub(/^ *\/\/ /, "", line); if (text == "") start = FNR; text = text " " line; next }
    { flush() }
    match(line, /\/\*/) { start = FNR; text = substr(line, RSTART + 2); inside = !sub(/\*\/.*$/, "", text); if (!inside) flush() }
    END { flush() }' "$@"
}
page_paragraphs() {
  awk '
    function flush() { if (text != "") print FILENAME ":" start "\t" text; text = "" }
    FNR == 1 { text = ""; code = 0 }
    /^ *```/ { flush(); code = !code; next }
    code || /^    / { next }
    /^ *$|^#|^ *[-*0-9]+[.]? |^\|/ { if (text != "") print name ":" start "\t" text; text = "" }
    /^ *$/ { next }
    /^\|/ { n = split($0, cell, "|"); for (i = 2; i < n; i++) print FILENAME ":" FNR "\t" cell[i]; next }
    { if (text == "") { start = FNR; name = FILENAME } text = text " " $0 }
    END { if (text != "") print name ":" start "\t" text }' README.md docs/guide/*.md docs/reference/*.md
}
check() {
  awk -F '\t' -v phrases=tests/data/banned_phrases.txt '
    BEGIN {
      while ((getline line < phrases) > 0)
        if (line !~ /^#/ && line != "") { split(line, part, "\t"); pattern[++n] = part[1]; gsub(/\\b/, "[^a-z]", pattern[n]); say[n] = part[2] }
    }
    {
      text = tolower($2); gsub(/`[^`]*`/, "x", text)
      for (i = 1; i <= n; i++) {
        if (match(" " text " ", pattern[i])) print $1 ": \"" substr(" " text " ", RSTART + 1, RLENGTH - 2) "\"; write: " say[i]
      }
      m = split(text, sentence, /[.;:?!]( |$)/)
      for (i = 1; i <= m; i++) { words = split(sentence[i], w, /[ \n]+/); if (words > 41) print $1 ": a sentence of " words " words" }
    }
'
}
status=0
for kind in help errors headers comments pages; do
  case $kind in
  help) found=$(help_texts | check) ;;
  errors) found=$(error_messages | check) ;;
  headers) found=$(comments include/tilewright/*.h | check) ;;
  comments) found=$(comments src/gpu/*/kernels/* src/target/*/runtime/*.{cuh,hpp} $(find src/ -name '*.[ch]' ! -path '*/runtime/*') | check) ;;
  pages) found=$(page_paragraphs | check) ;;
  esac
  n=$(printf '%s' "$found" | grep -c . || true)
  [ -z "$mode" ] || printf '%s\n' "$found"
  if [ "$n" -gt "${limit[$kind]}" ]; then
    [ "$mode" ] || printf '%s\n' "$found"
    echo "$kind: $n findings, at most ${limit[$kind]} are allowed: see docs/dev/style.md"
    status=1
  elif [ "$n" -lt "${limit[$kind]}" ]; then
    echo "$kind: $n findings are left: lower the limit in tests/data/words_limits.sh"
  fi
done
exit $status
