#!/bin/sh
# headers_test.sh - public headers define prefixed names only, headers for users need none for authors, and each compiles alone.
set -eu
cd "$(dirname "$0")/../include"
status=0
# wrong WHAT LINES: reports lines that should not exist.
wrong() {
  [ -z "$2" ] || { echo "$1:"; echo "$2"; status=1; }
}
headers=$(find tilewright -name '*.h' | sort)
[ "$(echo "$headers" | wc -l)" -ge 20 ] || { echo "the headers are not found"; exit 1; }
wrong "macros without the prefix TW_ or TILEWRIGHT_" "$(grep -nE '^ *# *define +' $headers | grep -vE 'define +(TW_|TILEWRIGHT_|tw_fail\(|tw_no_memory\()' || true)"
# Constants of enumerations, one word each before '=', ',' or the end of the line.
constants=$(cat $headers | sed 's|/\*.*\*/||' | tr '\n' ' ' | grep -oE 'enum( tw_[a-z0-9_]+)? \{[^}]*' | sed 's/.*{//; s|/\*[^*]*\*/||g' |
  tr ',' '\n' | sed 's/=.*//; s/ //g' | grep -v '^$')
[ "$(echo "$constants" | wc -l)" -ge 60 ] || { echo "the constants are not found"; exit 1; }
wrong "constants without the prefix TW_" "$(echo "$constants" | grep -v '^TW_' || true)"
wrong "types without the prefix tw_" "$(grep -nE '^(typedef +)?(struct|enum|union) +[a-z]' $headers | grep -vE '(struct|enum|union) +tw_' || true)"
wrong "functions without the prefix tw_" "$(grep -nE '^TW_API .*\(' $headers | grep -vE '[ *]tw_[a-z0-9_]+\(' || true)"
wrong "headers for users include headers for authors" "$(grep -n 'include .*extend/' tilewright/*.h || true)"
for header in $headers; do
  cc -std=c17 -x c -fsyntax-only -Wall -Wextra -Wpedantic -Werror -I. "$header" || { echo "$header does not compile alone"; status=1; }
done
exit $status
