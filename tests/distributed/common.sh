# common.sh - for the tests of this folder: a search on a simulated machine, its result in one line, and journals.
# Usage: . common.sh, with $command and $folder set.
set -eu
mkdir -p "$folder"
export TILEWRIGHT_WISDOM="$folder/wisdom.json"
search="gemm m=64 n=64 k=64 -t gemmini-16x16-int8 --no-wisdom --seed 1 --iterations 5"

fail() { echo "WRONG: $*"; exit 1; }
skip() { echo "skipped: $*"; exit 77; }

# field NAME < JSON: a number or text of the object, or of its best.
field() { /usr/bin/python3 -c 'import json, sys; o = json.load(sys.stdin); print(o.get(sys.argv[1], o.get("best", {}).get(sys.argv[1])))' "$1"; }
# result < JSON: what must not depend on where kernels are evaluated.
result() { /usr/bin/python3 -c '
import hashlib, json, sys
o = json.load(sys.stdin)
print(o["best"]["cycles"], o["start"]["cycles"], o["samples"], hashlib.sha256(o["best"]["source"].encode()).hexdigest()[:12])'; }
# query DIR SQL: of the journal.
query() { /usr/bin/python3 -c 'import sqlite3, sys
try: print(sqlite3.connect("file:" + sys.argv[1] + "/journal.sqlite?mode=ro", uri=True, timeout=10).execute(sys.argv[2]).fetchone()[0])
except sqlite3.Error: print(0)' "$1" "$2"; }
# wait_for SECONDS COMMAND...: until it succeeds.
wait_for() {
  end=$(($(date +%s) + $1))
  shift
  until "$@"; do
    [ "$(date +%s)" -lt "$end" ] || return 1
    sleep 0.2
  done
}
has_candidates() { [ "$(query "$1" 'SELECT count(*) FROM candidate')" -ge "$2" ]; }
