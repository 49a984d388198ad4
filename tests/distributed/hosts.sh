#!/bin/bash
# hosts.sh COMMAND FOLDER: --hosts with a stand-in for ssh: hosts that answer, that fail, that are another machine, that are slow.
command=$1 folder=$2
. "$(dirname "$0")/common.sh"
rm -rf "$folder"
mkdir -p "$folder/bin"
cat >"$folder/bin/ssh" <<END
#!/bin/sh
# ssh -o ... HOST COMMAND...: what each host is, by its name
while [ "\$1" = -o ]; do shift 2; done
host=\$1
shift
echo "\$host \$*" >>"$folder/started"
case \$host in
  good*) exec "\$@" ;;
  slow*) "\$@" | while read -r line; do sleep 0.1; printf '%s\n' "\$line"; done ;;
  down*) sleep 0.1; exit 255 ;;
  garbage*) while read -r line; do echo nonsense; done ;;
  other*) "\$@" | sed -u 's/"evaluator": *"[^"]*"/"evaluator": "another"/' ;;
  hangs*) exec sleep 1000 ;;
  flaky*) n=\$(cat "$folder/flaky" 2>/dev/null || echo 0); echo \$((n + 1)) >"$folder/flaky"; [ \$((n % 3)) = 0 ] && exit 255; exec "\$@" ;;
esac
END
chmod +x "$folder/bin/ssh"
export PATH="$folder/bin:$PATH"
hosts() { printf '%s\n' "$@" >"$folder/hosts.txt"; }
tune() { timeout 200 "$command" tune $search --json --hosts "$folder/hosts.txt" "$@" 2>"$folder/err"; }

one=$("$command" tune $search --json | result)
hosts "# two good hosts" "good1 jobs=2 command=$command" "good2 devices=0,1 command=$command"
[ "$(tune --out "$folder/good" | result)" = "$one" ] || fail "two hosts find something else than $one: $(cat "$folder/err")"
[ "$(query "$folder/good" 'SELECT count(DISTINCT place) FROM candidate WHERE place IS NOT NULL')" = 2 ] || fail "not both hosts evaluated"
grep -q '^good2 env CUDA_VISIBLE_DEVICES=0 ROCR_VISIBLE_DEVICES=0 ' "$folder/started" || fail "the device is not given: $(cat "$folder/started")"
echo "ok: two hosts find what one process finds"

# The good host is slow, so that candidates meet several bad hosts before it is free.
hosts "down jobs=1" "slow1 command=$command" "garbage" "hangs seconds=1"
found=$(tune --out "$folder/bad" | result)
[ "$found" = "$one" ] || fail "beside bad hosts: $found instead of $one: $(cat "$folder/err")"
for host in down garbage hangs; do
  grep -q "host $host is excluded after 3 failures in a row" "$folder/err" || fail "$host is not excluded: $(cat "$folder/err")"
done
[ "$(query "$folder/bad" "SELECT count(*) FROM candidate WHERE verdict = 'not evaluated'")" = 0 ] || fail "candidates are lost"
echo "ok: hosts that fail are excluded, and no candidate is lost"

hosts "good1 command=$command" "other1 jobs=2 command=$command"
status=0
tune --out "$folder/other" >"$folder/out" || status=$?
grep -qE 'is excluded: its machine, compiler or version differs' "$folder/err" || fail "another machine is not excluded: $(cat "$folder/err")"
places=$(query "$folder/other" "SELECT count(DISTINCT place) FROM candidate WHERE place IS NOT NULL AND verdict = 'correct'")
[ "$places" = 1 ] || fail "costs of $places machines are in one journal"
echo "ok: another machine is excluded"

hosts "flaky command=$command" "good1 command=$command"
[ "$(tune --out "$folder/flaky.run" | result)" = "$one" ] || fail "beside a flaky host: $(cat "$folder/err")"
echo "ok: a host that fails now and then is used"

hosts "down"
tune >/dev/null && fail "a search without a host succeeds"
grep -q 'all hosts are excluded\|without an answer' "$folder/err" || fail "it does not say why: $(cat "$folder/err")"
hosts "good1 jobs=0"
tune >/dev/null && fail "jobs=0 is accepted"
grep -q "hosts.txt:1: 'jobs=0' is not an option" "$folder/err" || fail "$(cat "$folder/err")"
hosts 'good1;reboot'
tune >/dev/null && fail "a shell command is accepted as a host"
grep -q "is not a host name" "$folder/err" || fail "$(cat "$folder/err")"
echo "ok: errors name the line"
