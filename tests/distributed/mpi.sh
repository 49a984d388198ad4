#!/bin/bash
# mpi.sh COMMAND FOLDER openmpi|mpich: ranks evaluate, rank 0 searches. The result is that of one process; after a rank, or rank 0, is
# killed, the same command goes on: nothing is lost, and no model is asked twice. 77: this MPI is not installed.
command=$1 folder=$2 mpi=$3
. "$(dirname "$0")/common.sh"
search="$search --iterations 8 --plans 8" # long enough to be killed within
launcher=$(command -v "mpirun.$mpi") || skip "needs mpirun.$mpi"
[ -e "$(dirname "$command")/tilewright-mpi-$mpi.so" ] || skip "this build has no module for $mpi"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_btl_base_warn_component_unused=0
rm -rf "$folder"/{one,many,killed,first,asked}*
run() { timeout 200 "$launcher" -n "$@"; }

one=$("$command" tune $search --json --out "$folder/one" | result)
many=$(run 3 "$command" tune $search --json --out "$folder/many" | result)
[ "$one" = "$many" ] || fail "three ranks found $many, one process $one"
ranks=$(query "$folder/many" "SELECT count(DISTINCT place) FROM candidate WHERE place LIKE 'rank %'")
[ "$ranks" = 2 ] || fail "$ranks ranks evaluated instead of 2"
echo "ok: three ranks find what one process finds: $one"

resumed=$("$command" tune $search --json --out "$folder/many")
[ "$(echo "$resumed" | result)" = "$one" ] || fail "one process does not go on with the journal of three"
[ "$(echo "$resumed" | field recalled)" -gt 10 ] || fail "it recalls nothing"
echo "ok: one process recalls what ranks evaluated"

# A rank is killed. --jobs has no say over ranks.
kill_one() { # FOLDER RANK ARGUMENT...
  local out=$1 rank=$2 before
  shift 2
  run 3 "$command" tune $search --out "$out" "$@" >/dev/null 2>"$out.err" &
  local job=$!
  wait_for 100 has_candidates "$out" 6 || fail "no candidates: $(cat "$out.err")"
  for process in $(pgrep -f -- "tune $search --out $out" | while read -r p; do
    { tr '\0' '\n' <"/proc/$p/environ"; } 2>/dev/null | grep -qE "^(OMPI_COMM_WORLD_RANK|PMI_RANK)=$rank\$" && echo "$p"; done); do
    kill -9 "$process" 2>/dev/null || true
  done
  wait "$job" && fail "the job goes on without rank $rank"
  before=$(query "$out" 'SELECT count(*) FROM candidate')
  echo "ok: rank $rank was killed with $before candidates in the journal"
}
for rank in 2 0; do
  kill_one "$folder/killed$rank" "$rank"
  before=$(query "$folder/killed$rank" "SELECT count(*) FROM candidate WHERE verdict NOT IN ('duplicate', 'illegal schedule')")
  again=$(run 3 "$command" tune $search --out "$folder/killed$rank" --json)
  [ "$(echo "$again" | result)" = "$one" ] || fail "after rank $rank was killed: $(echo "$again" | result) instead of $one"
  [ "$(echo "$again" | field recalled)" -ge $((before - 1)) ] || fail "of $before candidates $(echo "$again" | field recalled) were recalled"
  echo "ok: the same command goes on, and ends with the same result"
done

# A model is asked once. It is a command that writes down what it is asked; one request at a time.
cat >"$folder/model.sh" <<END
#!/bin/sh
text=\$(cat)
echo "\$text" | sha256sum >>"$folder/asked"
sleep 0.3
echo "OPTION: tile"
echo "PLAN: larger tiles"
END
chmod +x "$folder/model.sh"
agent=(--agent rules --agent "exec:$folder/model.sh" --concurrent-requests 1 --repairs 0 --iterations 2 --plans 4)
first=$("$command" tune $search "${agent[@]}" --json --out "$folder/first" | result)
mv "$folder/asked" "$folder/asked-by-one"
run 3 "$command" tune $search "${agent[@]}" --out "$folder/killedmodel" >/dev/null 2>&1 &
job=$!
wait_for 150 test -s "$folder/asked" || fail "no model was asked"
sleep 1
for process in $(pgrep -f -- "--out $folder/killedmodel"); do
  { tr '\0' '\n' <"/proc/$process/environ"; } 2>/dev/null | grep -qE '^(OMPI_COMM_WORLD_RANK|PMI_RANK)=0$' && kill -9 "$process" 2>/dev/null || true
done
wait "$job" && fail "the job goes on without rank 0"
answers=$(query "$folder/killedmodel" 'SELECT count(*) FROM exchange')
again=$(run 3 "$command" tune $search "${agent[@]}" --out "$folder/killedmodel" --json | result)
[ "$again" = "$first" ] || fail "with a model: $again instead of $first"
times=$(wc -l <"$folder/asked") needed=$(wc -l <"$folder/asked-by-one")
[ "$answers" -gt 0 ] || fail "the journal had no answers when rank 0 was killed"
[ "$times" -le $((needed + 1)) ] || fail "the model was asked $times times instead of $needed (one request was in flight)"
echo "ok: $answers answers were in the journal when rank 0 was killed; the model was asked $times times in all, $needed times without a kill"
