#!/bin/sh
# install_test.sh BUILD: installs into a folder of its own, then builds and runs a user of the library three ways.
set -eu
build=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cmake --install "$build" --prefix "$work/prefix" >"$work/log" || { cat "$work/log"; exit 1; }

cat >"$work/user.c" <<'END'
#include <stdio.h>
#include <tilewright/tilewright.h>
int main(void) {
  tw_problem problem;
  char text[100];
  tw_error error;
  if (tw_problem_parse(NULL, "gemm m=4 n=5 k=6", &problem, &error) != TW_OK || !tw_target_at(0)) return 1;
  tw_problem_print(&problem, text, sizeof text);
  return puts(text) < 0;
}
END
cat >"$work/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.25)
project(user C CXX)
find_package(tilewright 0.1 REQUIRED)
add_executable(user_shared user.c)
target_link_libraries(user_shared tilewright::tilewright)
if(WITH_STATIC)
  add_executable(user_static user.c)
  target_link_libraries(user_static tilewright::static)
  add_executable(user_static_cpp user.cpp)
  target_link_libraries(user_static_cpp tilewright::static)
  foreach(kind gemm gemm_static)
    add_executable(user_${kind} gemm.c)
    target_link_libraries(user_${kind} tilewright::${kind} m)
    add_executable(user_${kind}_cpp format.cpp)
    target_link_libraries(user_${kind}_cpp tilewright::${kind})
  endforeach()
endif()
END
cp "$work/user.c" "$work/user.cpp"
cp "$(find "$work/prefix" -path '*/examples/gemm.c')" "$work"
cat >"$work/format.cpp" <<'END'
#include <cstdlib>
#include <tilewright/format.h>
#include <tilewright/gemm.h>
int main() {
  const float a[] = {1, 2, 3, 4}, b[] = {5, 6, 7, 8};
  float c[4] = {};
  tw_gemm_spec spec = {};
  tw_gemm_plan *plan = nullptr;
  tw_error error;
  spec.size = sizeof spec;
  spec.m = spec.n = spec.k = 2;
  if (tw_gemm_plan_create(&spec, &plan, &error) != TW_OK) return 1;
  void *packed = nullptr;
  if (tw_memory_alloc(tw_gemm_packed_bytes(plan), &packed, &error) != TW_OK) return 1;
  if (tw_gemm_pack(plan, b, packed, &error) != TW_OK) return 1;
  tw_gemm_operands operands = {};
  operands.size = sizeof operands;
  operands.a = a, operands.packed_b = packed, operands.c = c;
  const bool right = tw_gemm_plan_execute(plan, &operands, &error) == TW_OK && c[0] == 19 && c[3] == 50;
  tw_memory_free(packed);
  tw_gemm_plan_destroy(plan);
  return !(right && tw_format_find("mxfp4") && tw_bf16_to_f32(0x3f80) == 1);
}
END

library=$(dirname "$(find "$work/prefix" -name libtilewright.so)")
PKG_CONFIG_PATH=$library/pkgconfig
export PKG_CONFIG_PATH
cc "$work/user.c" $(pkg-config --cflags --libs tilewright) -Wl,-rpath,"$library" -o "$work/user_pkg_config"
# build_users FOLDER OPTION...
build_users() {
  folder=$1
  shift
  cmake -S "$work" -B "$folder" -DCMAKE_PREFIX_PATH="$work/prefix" "$@" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
  cmake --build "$folder" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
}
build_users "$work/user" -DWITH_STATIC=ON
build_users "$work/bare" -DPKG_CONFIG_EXECUTABLE=/bin/false # where no headers of other libraries are
for user in "$work/user_pkg_config" "$work/user/user_static" "$work/user/user_static_cpp" "$work/user/user_shared" "$work/bare/user_shared"; do
  [ "$("$user")" = "gemm m=4 n=5 k=6" ] || { echo "$user does not work"; exit 1; }
done
# GEMM and formats alone: C and C++, static and shared, and no library but hwloc and OpenMP beside C's.
cc "$work/gemm.c" $(pkg-config --cflags --libs tilewright-gemm) -lm -Wl,-rpath,"$library" -o "$work/user/user_gemm_pkg_config"
for user in "$work"/user/user_gemm*; do
  [ -x "$user" ] && [ -f "$user" ] || continue
  "$user" >"$work/log" || { cat "$work/log"; echo "$user does not work"; exit 1; }
  case $user in *static*) needs=$(readelf -d "$user") ;; *) needs=$(readelf -d "$library/libtilewright-gemm.so" "$user") ;; esac
  if echo "$needs" | grep NEEDED | grep -vE 'libtilewright-gemm|libhwloc|libgomp|libomp|lib(c|m|stdc\+\+|gcc_s|pthread)\.so|ld-linux'; then
    echo "$user needs more than it should"
    exit 1
  fi
done
# The examples, as they are installed: a machine and an op outside of the library among them.
for example in "$(dirname "$(find "$work/prefix" -name machine.c)")"/*.c; do
  cc "$example" $(pkg-config --cflags --libs tilewright tilewright-tensors) -Wl,-rpath,"$library" -o "$work/example"
  "$work/example" >"$work/log" || { cat "$work/log"; echo "$example does not work"; exit 1; }
done
"$work/prefix/bin/tilewright" targets --json | grep -q '"name"'
# Optional parts are modules: the command loads them, and the library does not contain them.
problem="gemm m=128 n=128 k=128 a=i8 b=i8 c=i32 -t xdna2"
"$work/prefix/bin/tilewright" emit $problem --out "$work/design" >/dev/null
cat >"$work/tensor.c" <<'END'
#include <tilewright/tensors.h>
int main(int n, char **path) {
  static float values[64];
  const tw_tensor tensor = {.name = "w", .dtype = "F32", .rank = 2, .shape = {2, 32}, .bytes = sizeof values};
  const void *data[] = {values};
  return n != 2 || tw_tensors_write(path[1], 1, &tensor, data, 0) != TW_OK;
}
END
cc "$work/tensor.c" $(pkg-config --cflags --libs tilewright-tensors) -Wl,-rpath,"$library" -o "$work/tensor"
"$work/tensor" "$work/in.safetensors"
uses_parts() {
  "$work/prefix/bin/tilewright" run "$work/design/design.mlir" $problem >"$work/log" 2>&1 || { echo "$? MLIR"; tail -n 3 "$work/log"; }
  "$work/prefix/bin/tilewright" quantize "$work/in.safetensors" "$work/out.safetensors" --to mxfp4 >"$work/log" 2>&1 || { echo "$? quantize"; cat "$work/log"; }
}
failed=$(uses_parts)
[ -z "$failed" ] || { echo "a module does not work: $failed"; exit 1; }
rm "$work"/prefix/libexec/tilewright/tilewright-mlir-aie.so "$work"/prefix/libexec/tilewright/tilewright-quantize.so
[ "$(uses_parts | grep -c 'which is not installed')" = 2 ] || { echo "a missing module needs an error: $(uses_parts)"; exit 1; }
for name in xd_mlir_read convert_file tw_tensors_open; do
  if nm "$library/libtilewright.so" "$library/libtilewright.a" 2>/dev/null | grep " T $name\$"; then
    echo "$name is in a module, and libtilewright is not to contain it"
    exit 1
  fi
done
[ -f "$work/prefix/share/man/man1/tilewright.1" ]
# The documents that the command names are where it says.
docs=$(COLUMNS=10000 "$work/prefix/bin/tilewright" --help | sed -n 's/^Documentation.*: //p')
case $docs in "$work"/prefix/*) ;; *) echo "the command does not find what was installed: '$docs'" && exit 1 ;; esac
[ -f "$docs/reference/formats.md" ] && [ -f "$docs/../README.md" ]

# Only the library's own names are visible.
if nm -D --defined-only "$library/libtilewright.so" "$library/libtilewright-gemm.so" "$library/libtilewright-tensors.so" | grep ' [TDBR] ' | grep -v ' tw_'; then
  echo "the shared library shows other names than its own"
  exit 1
fi
