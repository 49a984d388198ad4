#!/bin/bash
# dev_test.sh ROOT - ./dev installs packages only if told so. A machine without compilers is a PATH of a few programs, with an apt-get
# that notes what it was asked for and fails, so that nothing is built.
set -eu
root=$1
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
mkdir "$work/bin" "$work/tree"
cp "$root/dev" "$work/tree/dev"
mkdir -p "$work/tree/tests/gemmini" && touch "$work/tree/tests/gemmini/test_one.c"
for program in sh basename cat dirname env grep ls mktemp nproc rm sed tail tr; do ln -s "$(command -v "$program")" "$work/bin/"; done
printf '#!/bin/sh\necho 0\n' >"$work/bin/id"
printf '#!/bin/sh\necho "$@" >>%s\n[ "$1" = update ] || exit 100\n' "$work/asked" >"$work/bin/apt-get"
chmod +x "$work/bin/id" "$work/bin/apt-get"
fail() { echo "$1"; cat "$work/said"; exit 1; }

# run STATUS COMMAND: without a terminal.
run() {
  rm -f "$work/asked"
  status=0
  PATH=$work/bin "$work/bin/sh" "$work/tree/dev" $2 </dev/null >"$work/said" 2>&1 || status=$?
  [ "$status" = "$1" ] || fail "./dev $2: status $status, not $1"
}
# answer TEXT COMMAND: on a terminal where TEXT is typed.
answer() {
  rm -f "$work/asked"
  printf '%s\n' "$1" | PATH=$work/bin script -qec "sh $work/tree/dev $2" "$work/typed" >"$work/said" 2>&1 && status=0 || status=$?
  [ "$status" = 3 ] || fail "./dev $2, answered with '$1': status $status, not 3"
}

script=$(command -v script) && ln -s "$script" "$work/bin/"
for command in build demo check 'check all' 'check quick' 'check blas' 'check torch' 'check gemmini' bench 'bench gemm' lint 'fuzz 5' install 'install /nowhere' corpus docs; do
  run 3 "$command"
  [ ! -e "$work/asked" ] || fail "./dev $command installs without asking"
  grep -q cmake "$work/said" && grep -qF -- "./dev $command -y" "$work/said" || fail "./dev $command does not say what to do"
  for agreed in "$command -y" "-y $command"; do
    run 3 "$agreed"
    grep -q 'install .*cmake' "$work/asked" || fail "./dev $agreed does not install"
  done
  [ "$script" ] || continue
  for no in n '' q; do
    answer "$no" "$command"
    grep -q 'install .*cmake.*\[y/N\]' "$work/said" || fail "./dev $command does not ask"
    [ ! -e "$work/asked" ] || fail "./dev $command installs after '$no'"
  done
  answer y "$command"
  grep -q 'install .*cmake' "$work/asked" || fail "./dev $command does not install after 'y'"
done
# An archive without one package keeps out no other.
printf '#!/bin/sh\n[ "$2" != clang-22 ]\n' >"$work/bin/apt-cache" && chmod +x "$work/bin/apt-cache"
run 3 "check -y"
tail -1 "$work/asked" | grep -q 'install .*cmake.*lld-22' || fail "./dev check -y does not install what there is"
! tail -1 "$work/asked" | grep -q clang-22 || fail "./dev check -y asks again for what there is not"
run 0 help
for wrong in 'build twice' 'demo x' 'check slow' 'fuzz 1 2' 'install a b' nonsense; do run 2 "$wrong"; done
grep -q -- '-y' "$root/.ci/run" || fail ".ci/run does not agree"
