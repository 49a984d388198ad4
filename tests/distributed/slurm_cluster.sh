# slurm_cluster.sh - a Slurm of two nodes on this computer, on 127.0.0.1, with everything in one folder.
# Usage: . slurm_cluster.sh; start_slurm FOLDER; ... ; stop_slurm. Needs root (slurmd).
start_slurm() {
  slurm=$1
  rm -rf "$slurm"
  mkdir -p "$slurm"/{state,spool-n1,spool-n2,tmp-n1,tmp-n2,munge,log}
  chmod 711 "$slurm" "$slurm/munge"
  dd if=/dev/urandom of="$slurm/munge/key" bs=1024 count=1 2>/dev/null
  chmod 400 "$slurm/munge/key"
  munged --force --key-file "$slurm/munge/key" --socket "$slurm/munge/socket" --pid-file "$slurm/munge/pid" \
    --log-file "$slurm/munge/log" --seed-file "$slurm/munge/seed" --num-threads 2
  local base=$((20000 + $$ % 20000))
  cat >"$slurm/slurm.conf" <<END
ClusterName=test
SlurmctldHost=localhost(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$slurm/munge/socket
CredType=cred/munge
SlurmctldPort=$base
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmdPidFile=$slurm/slurmd-%n.pid
SlurmctldLogFile=$slurm/log/slurmctld
SlurmdLogFile=$slurm/log/slurmd-%n
SlurmdSpoolDir=$slurm/spool-%n
TmpFS=$slurm/tmp-%n
StateSaveLocation=$slurm/state
ProctrackType=proctrack/pgid
TaskPlugin=task/none
MpiDefault=none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_interval=1,requeue_setup_env_fail
JobRequeue=1
ReturnToService=2
SlurmdTimeout=30
KillWait=2
MinJobAge=300
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName=n1 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((base + 1)) CPUs=2 State=UNKNOWN
NodeName=n2 NodeHostname=localhost NodeAddr=127.0.0.1 Port=$((base + 2)) CPUs=2 State=UNKNOWN
SlurmdParameters=config_overrides
PartitionName=all Nodes=n1,n2 Default=YES MaxTime=INFINITE State=UP
END
  export SLURM_CONF="$slurm/slurm.conf"
  slurmctld
  slurmd -N n1
  slurmd -N n2
  local end=$(($(date +%s) + 60))
  until [ "$(sinfo -h -o %T 2>/dev/null | sort -u)" = idle ] && [ "$(sinfo -h -o %D)" = 2 ]; do
    [ "$(date +%s)" -lt "$end" ] || { echo "Slurm does not start:"; sinfo; tail -5 "$slurm"/log/*; return 1; }
    sleep 0.5
  done
}
stop_slurm() {
  [ -n "${slurm-}" ] || return 0
  local pids="" pid i
  scancel --full --user=root 2>/dev/null || true
  for pid in "$slurm"/slurmd-*.pid "$slurm/slurmctld.pid" "$slurm/munge/pid"; do
    [ ! -s "$pid" ] || { kill "$(cat "$pid")" && pids="$pids $(cat "$pid")"; } 2>/dev/null || true
  done
  # they write their state until they end
  for pid in $pids; do
    for ((i = 0; i < 100; i++)); do kill -0 "$pid" 2>/dev/null || break; sleep 0.1; done
  done
  slurm=
}
