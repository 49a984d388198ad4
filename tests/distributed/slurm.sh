#!/bin/bash
# slurm.sh COMMAND FOLDER: a Slurm of two nodes on this computer: --runner 'srun ...', ranks under srun, job arrays, requeue, time limits.
# 77: Slurm or munge is not installed, or this is not root.
command=$1 folder=$2
. "$(dirname "$0")/common.sh"
. "$(dirname "$0")/slurm_cluster.sh"
for tool in slurmctld slurmd srun munged; do command -v $tool >/dev/null || skip "needs slurm-wlm and munge"; done
[ "$(id -u)" = 0 ] || skip "needs root, for slurmd"
rm -rf "$folder"
mkdir -p "$folder"
trap stop_slurm EXIT
trap 'exit 1' INT TERM
start_slurm "$folder/slurm" || fail "no Slurm"
echo "ok: two nodes: $(sinfo -h -o '%N %T')"
one=$("$command" tune $search --json | result)

# Kernels are evaluated by tasks of Slurm.
found=$(timeout 200 "$command" tune $search --json --out "$folder/runner" --jobs 2 --runner "srun -N1 -n1 -c1 --exact -Q $command evaluate" 2>"$folder/err" | result)
[ "$found" = "$one" ] || fail "--runner srun: $found instead of $one: $(cat "$folder/err")"
echo "ok: --runner 'srun ...' finds what one process finds"

# Ranks, under each kind of MPI that Slurm and the build have.
for pair in pmix:openmpi pmi2:mpich; do
  kind=${pair%:*} mpi=${pair#*:}
  [ -e "$(dirname "$command")/tilewright-mpi-$mpi.so" ] && srun --mpi=list 2>&1 | grep -q "$kind" || continue
  found=$(OMPI_MCA_btl=self,vader,tcp timeout 200 srun -Q --mpi=$kind -n3 "$command" tune $search --json --out "$folder/$kind" 2>"$folder/err" | result) || true
  [ "$found" = "$one" ] || fail "srun --mpi=$kind: $found instead of $one: $(cat "$folder/err")"
  echo "ok: srun --mpi=$kind -n 3 finds what one process finds"
done
status=0
timeout 60 srun -Q -n2 "$command" tune $search >/dev/null 2>"$folder/err" || status=$?
[ "$status" != 0 ] && grep -q 'add --mpi=pmix' "$folder/err" || fail "processes that are not connected: status $status, $(cat "$folder/err")"
echo "ok: srun without MPI is an error that says what to add"

# A job array: a problem for each task, with a directory of its own.
cat >"$folder/array.sh" <<END
#!/bin/sh
exec "$command" tune gemm m=\$((16 * SLURM_ARRAY_TASK_ID)) n=32 k=32 -t gemmini-16x16-int8 --no-wisdom --seed 1 --iterations 1 --out "$folder/array-\$SLURM_ARRAY_TASK_ID"
END
sbatch -Q --array=1-3 -n1 -o "$folder/array-%a.out" "$folder/array.sh"
all_there() { for i in 1 2 3; do [ -s "$folder/array-$i/summary.json" ] || return 1; done; }
wait_for 90 all_there || fail "the array does not end: $(squeue; cat "$folder"/array-*.out)"
echo "ok: a job array of three problems"

# Requeue: the job is stopped in the middle and started again by Slurm; it resumes.
cat >"$folder/requeue.sh" <<END
#!/bin/sh
echo started >>"$folder/starts"
exec "$command" tune $search --iterations 8 --plans 8 --jobs 1 --out "$folder/requeue" --json >"$folder/requeue.json"
END
job=$(sbatch --parsable --requeue -n1 -o "$folder/requeue.out" "$folder/requeue.sh")
wait_for 60 has_candidates "$folder/requeue" 12 || fail "the job does not start"
scontrol requeue "$job"
before=$(query "$folder/requeue" "SELECT count(*) FROM candidate WHERE verdict = 'correct'")
# Slurm waits two minutes before a requeued job starts; `update` ends the wait. It may also take the end of the interrupted script for
# the end of the next run, which is then not started, or killed: requeue it again, as a user would.
went_on() {
  starts=$(wc -l <"$folder/starts")
  case $(scontrol show job "$job" | grep -o 'JobState=[A-Z]*') in
    *COMPLETED) [ "$starts" -ge 2 ] && return 0; scontrol requeue "$job" ;;
    *FAILED) [ "$starts" -ge 5 ] || scontrol requeue "$job" ;;
    *PENDING) scontrol update jobid="$job" StartTime=now ;;
  esac
  return 1
} 2>/dev/null
wait_for 170 went_on || fail "the job does not go on: $(squeue; scontrol show job "$job" | head -20)"
recalled=$(field recalled <"$folder/requeue.json")
[ "$recalled" -ge "$((before - 1))" ] || fail "of $before candidates $recalled were recalled"
[ "$(result <"$folder/requeue.json")" = "$("$command" tune $search --iterations 8 --plans 8 --json | result)" ] || fail "another result after a requeue"
echo "ok: a requeued job goes on: $recalled candidates were recalled"

# A time limit: the signal before it makes the search end with what it has.
cat >"$folder/limit.sh" <<END
#!/bin/sh
exec "$command" tune $search --iterations 400 --plans 16 --jobs 1 --out "$folder/limit" --json >"$folder/limit.json"
END
job=$(sbatch --parsable -n1 -t 10 --signal=INT@590 -o "$folder/limit.out" "$folder/limit.sh")
is_written() { field samples <"$folder/limit.json"; } >/dev/null 2>&1 # all of it
wait_for 120 is_written || { scancel --signal=INT --full "$job"; wait_for 30 is_written; } || fail "the search does not end at its signal: $(cat "$folder/limit.out")"
[ "$(field samples <"$folder/limit.json")" -gt 0 ] || fail "no result at the time limit"
[ -s "$folder/limit/summary.json" ] || wait_for 10 test -s "$folder/limit/summary.json" || fail "no files at the time limit"
echo "ok: before its time limit a search writes what it has: $(field samples <"$folder/limit.json") candidates"
echo "took $SECONDS s"
