#!/bin/bash
# runners.sh COMMAND FOLDER: examples/runners against stand-ins for ssh, scp and compilers that are slow and fail now and then.
command=$1 folder=$2
. "$(dirname "$0")/common.sh"
runners=$(cd "$(dirname "$0")/../../examples/runners" && pwd)
rm -rf "$folder"
mkdir -p "$folder"/{bin,there}
export TILEWRIGHT=$command TILEWRIGHT_EVALUATOR="board 7"
# Every fourth connection is lost. "There" is a folder, and its compilers are stand-ins, too.
cat >"$folder/bin/ssh" <<END
#!/bin/bash
while [[ \$1 == -* ]]; do case \$1 in -o) shift 2 ;; *) shift ;; esac; done
shift
exec 8>"$folder/lock"; flock 8
n=\$(cat "$folder/count" 2>/dev/null || echo 0); echo \$((n + 1)) >"$folder/count"
flock -u 8
sleep 0.05
[ \$((n % 4)) != 3 ] || exit 255
cd "$folder/there" && PATH="$folder/bin:\$PATH" exec sh -c "\$*"
END
cat >"$folder/bin/scp" <<END
#!/bin/bash
files=()
while [ \$# -gt 1 ]; do case \$1 in -o) shift ;; -*) ;; *) files+=("\$1") ;; esac; shift; done
cp "\${files[@]}" "$folder/there/\${1#*:}"
END
# What a stand-in compiler makes prints a cost that depends on the kernel, so that a search has something to find.
cat >"$folder/bin/stand-in" <<'END'
#!/bin/bash
# stand-in NAME OUT SOURCE UNIT: OUT prints a result
grep -q does_not_compile "$3" && { echo "$3: error: does_not_compile"; exit 1; }
n=$((100000 + $(cksum <"$3" | cut -d' ' -f1) % 100000))
{ echo '#!/bin/sh'; grep -q is_wrong "$3" && echo 'echo "WRONG: element 3 of C, counted in memory"; exit 1'
  case $4 in cycles) echo "echo cycles: $n; echo right: every element" ;; each) echo "echo right: every element; echo $n us each, one behind the other" ;;
    us) echo "echo '$n us, 1.00 Tflop/s'; echo right: every element" ;; esac; } >"$2"
chmod +x "$2"
END
printf '#!/bin/sh\nexec stand-in gcc kernel-baremetal kernel.c cycles\n' >"$folder/bin/board-gcc"
printf '#!/bin/sh\ncase "$*" in *--genco*) grep -q does_not_compile kernel.hip && exit 1; cp kernel.hip kernel.co ;; *) exec stand-in hipcc host kernel.hip each ;; esac\n' >"$folder/bin/hipcc"
printf '#!/bin/sh\nexec stand-in nvcc test launch.cu each\n' >"$folder/bin/nvcc"
printf '#!/bin/sh\nexec sh "$@"\n' >"$folder/there/run-baremetal"
# A design has no place for a mark: the second one is wrong, the third does not compile.
cat >"$folder/bin/aiecc" <<END
#!/bin/sh
n=\$(cat "$folder/designs" 2>/dev/null || echo 0)
echo \$((n + 1)) >"$folder/designs"
case \$n in 1) echo is_wrong >>design.mlir ;; 2) echo does_not_compile >>design.mlir ;; esac
exec stand-in aiecc run.sh design.mlir us
END
printf '#!/bin/sh\nexec sh run.sh\n' >"$folder/bin/python-there"
mkdir -p "$folder/peano/bin"
printf '#!/bin/sh\ntrue\n' >"$folder/peano/bin/clang++"
chmod +x "$folder"/bin/* "$folder/there/run-baremetal" "$folder/peano/bin/clang++"
export PEANO_INSTALL_DIR="$folder/peano" MLIR_AIE_INSTALL_DIR=/none
export PATH="$folder/bin:$PATH" RISCV_GCC=board-gcc ROCC=/none

# trial TARGET PROBLEM FILE: one line of the protocol.
trial() { /usr/bin/python3 -c 'import json, sys
print(json.dumps({"tilewright": "trial", "version": 1, "target": sys.argv[1], "problem": sys.argv[2], "source": open(sys.argv[3]).read(), "seed": 1,
  "limit": 0.0, "trust": True, "check_only": False, "seconds": 0.0}))' "$@"; }
check() { # NAME TARGET PROBLEM RUNNER...
  local name=$1 target=$2 problem=$3 verdict
  shift 3
  "$command" emit $problem -t "$target" >"$folder/$name.source"
  local mark='//'
  [ "$name" != xdna2 ] || mark='#'
  { cat "$folder/$name.source"; echo "$mark is_wrong"; } >"$folder/$name.wrong"
  { cat "$folder/$name.source"; echo "$mark does_not_compile"; } >"$folder/$name.broken"
  { for kind in source wrong broken source source; do trial "$target" "$problem" "$folder/$name.$kind"; done; } |
    timeout 200 /usr/bin/python3 "$runners/$1" "${@:2}" >"$folder/$name.out"
  verdicts=$(/usr/bin/python3 -c 'import json, sys; print(*[json.loads(l)["verdict"].replace(" ", "-") for l in sys.stdin])' <"$folder/$name.out")
  [ "$verdicts" = "correct wrong does-not-build correct correct" ] || fail "$name: $verdicts: $(cat "$folder/$name.out")"
  grep -q '"evaluator": "board 7"' "$folder/$name.out" || fail "$name does not say which machine it is"
  echo "ok: $name: $verdicts"
}
gemm="gemm m=64 n=64 k=64"
check gemmini gemmini-16x16-int8 "$gemm" gemmini.py --host board
if command -v clang-22 >/dev/null; then check mi300x cdna3 "gemm m=256 n=256 k=256 a=bf16 b=bf16 c=bf16" gpu.py --host mi300x --compiler hipcc; fi
check h200 cuda-h200 "gemm m=256 n=256 k=256 a=bf16 b=bf16 c=bf16" gpu.py --host h200 --compiler nvcc
check xdna2 xdna2 "gemm m=512 n=512 k=512" xdna2.py --host laptop --python python-there

timeout 300 "$command" tune $search --iterations 1 --plans 2 --json --out "$folder/run" --jobs 1 --runner "/usr/bin/python3 $runners/gemmini.py --host board" >"$folder/tuned" 2>"$folder/err" ||
  fail "tune: $(cat "$folder/err")"
grep -q 'not confirmed here' "$folder/tuned" || fail "costs of a board are taken for the simulator's: $(cat "$folder/tuned")"
echo "ok: a search on a board: $(field samples <"$folder/tuned") candidates"
TILEWRIGHT_EVALUATOR="board 8" timeout 300 "$command" tune $search --iterations 2 --plans 3 --json --out "$folder/run" --jobs 1 --runner "/usr/bin/python3 $runners/gemmini.py --host board" \
  >"$folder/tuned2" 2>"$folder/err2" || fail "tune with another board: $(cat "$folder/err2")"
grep -q 'another machine, compiler or version than the journal' "$folder/err2" || fail "another board is accepted in the same journal: $(cat "$folder/err2")"
/usr/bin/python3 - "$folder/run/journal.sqlite" <<'END' || fail "the journal mixes boards"
import sqlite3, sys
(board,), = sqlite3.connect(sys.argv[1]).execute("SELECT value FROM journal WHERE key = 'evaluator'")
sys.exit(board != "board 7")
END
echo "ok: another board is rejected: the search ends early"
