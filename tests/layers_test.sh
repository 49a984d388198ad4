#!/bin/bash
# layers_test.sh - what docs/dev/architecture.md says of dependencies: between the folders of src/ they point one way, and machines know
# nothing of each other. Kernels are files with slots, and not string literals. src/target/trainium has a limit of lines.
set -eu
cd "$(dirname "$0")/../src"
declare -A may=(
  [base]="" [launch]="" [op]="" [format]="" [schedule]="" [native]="" [toolchain]="" [gpu]="op" [export]="launch op" [gemm]=""
  [target]="export native toolchain gpu gemm launch op format schedule"
  [evaluate]="" [chat]="" [agent]="chat evaluate" [search]="agent evaluate" [report]="" [mpi]="evaluate" [tensors]="format" [mlir_aie]="target/xdna2 op"
  [cli]="report search agent evaluate format tensors target/parse.h"
  [blas]="gemm")
status=0

# includes FOLDER ALLOWED...: what files of FOLDER include that does not begin with one of these.
includes() {
  local folder=$1 allowed found
  shift
  allowed=$(printf '%s|' "$@" | sed 's/|$//')
  found=$(grep -rnE '^#include "[a-z0-9_]+/' --include='*.[ch]' "$folder" |
    grep -vE "#include \"($allowed)|/(runtime|generate)/") || return 0
  echo "src/$folder is not to include:"
  echo "$found"
  status=1
}

for folder in */; do
  folder=${folder%/}
  [ -n "${may[$folder]+known}" ] || { echo "tests/layers_test.sh does not know src/$folder"; status=1; continue; }
  includes "$folder" $(for allowed in "$folder" base tilewright ${may[$folder]}; do
    case $allowed in *.h) printf '%s ' "$allowed" ;; *) printf '%s/ ' "$allowed" ;; esac
  done)
done
for machine in target/*/; do
  machine=${machine%/}
  includes "$machine" 'target/[a-z_]+\.h' $(printf '%s/ ' "$machine" base tilewright ${may[target]}) # target/ itself is shared
done
for vendor in gpu/*/; do
  vendor=${vendor%/}
  includes "$vendor" "$vendor/" gpu/common/ base/ tilewright/ op/
done
borrowed=$(grep -nE '\{\{> gpu/(nvidia|amd)/' gpu/*/kernels/*) || true # only kernels of gpu/common are included by their whole name
if [ -n "$borrowed" ]; then
  echo "src/gpu/common is for kernels that others include:"
  echo "$borrowed"
  status=1
fi

literals=$(grep -nE '"([^"\\]|\\.)*(TW_KERNEL\(|//: (kernel|grid|args))' gpu/*/*.c target/cuda/*.c) || true
if [ -n "$literals" ]; then
  echo "kernels are files in kernels/ (src/base/template.h), not string literals:"
  echo "$literals"
  status=1
fi

trainium_lines=$(find target/trainium -type f -exec cat {} + | wc -l)
if [ "$trainium_lines" -gt 14000 ]; then
  echo "src/target/trainium has $trainium_lines lines; expected at most 14000: remove as many lines as a change adds"
  status=1
fi
exit $status
