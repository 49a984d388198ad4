/* toolchain.c - see toolchain.h. */
#include "target/cdna/toolchain.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/embedded.h"
#include "base/files.h"
#include "base/hash.h"
#include "toolchain/toolchain.h"

#define CACHE "cdna"

enum { DEFINES_MAX = TW_LAUNCH_LETS };

static const tw_toolchain_kind kind = {.title = "the compiler for AMD GPUs",
                                       .remedy = "apt-get install clang-22 lld-22",
                                       .program = {"clang-22", "ld.lld-22"},
                                       .driver = true,
                                       .read = (const char *const[]){"/usr/lib/llvm-22", NULL}};
static const char options[] = "-O3 -nogpulib -ffreestanding -g1 5"; /* for the key: change it with what is below */

tw_status cdna_toolchain_find(tw_error *error) {
  tw_toolchain tools;
  return tw_toolchain_open(&kind, &tools, error);
}

/* Assembly says which GPU or kernel it is for. */
static bool is_assembly(const char *source) {
  return strstr(source, ".amdgcn_target") || strstr(source, ".amdhsa_kernel");
}

/* A kernel of tiles: C++, with the vocabulary's headers beside it. */
#define RUNTIME "cdna/runtime/"
static bool is_tiles(const char *source) { return strstr(source, "#include \"tile.hpp\"") != NULL; }

/* OpenCL C and HIP C++ say so by their words for a kernel. */
typedef enum language { ASSEMBLY, TILES, OPENCL, HIP, C } language;
static language language_of(const char *source) {
  return is_assembly(source)                ? ASSEMBLY
         : is_tiles(source)                 ? TILES
         : strstr(source, "__global__")     ? HIP
         : strstr(source, "__kernel ")      ? OPENCL
         : strstr(source, "\nkernel void ") ? OPENCL
                                            : C;
}

/* What OpenCL's library and HIP's headers have of work-items, and no more: neither is at hand. */
static const char opencl_prelude[] =
    "#define TW_AXIS(name, x, y, z) \\\n"
    "  __attribute__((overloadable, always_inline)) ulong name(uint d) { return d == 0 ? x : d == 1 ? y : z; }\n"
    "TW_AXIS(get_local_id, __builtin_amdgcn_workitem_id_x(), __builtin_amdgcn_workitem_id_y(), "
    "__builtin_amdgcn_workitem_id_z())\n"
    "TW_AXIS(get_group_id, __builtin_amdgcn_workgroup_id_x(), __builtin_amdgcn_workgroup_id_y(), "
    "__builtin_amdgcn_workgroup_id_z())\n"
    "TW_AXIS(get_local_size, __builtin_amdgcn_workgroup_size_x(), __builtin_amdgcn_workgroup_size_y(), "
    "__builtin_amdgcn_workgroup_size_z())\n"
    "TW_AXIS(get_global_size, __builtin_amdgcn_grid_size_x(), __builtin_amdgcn_grid_size_y(), "
    "__builtin_amdgcn_grid_size_z())\n"
    "__attribute__((overloadable, always_inline)) ulong get_global_id(uint d) "
    "{ return get_group_id(d) * get_local_size(d) + get_local_id(d); }\n"
    "__attribute__((overloadable, always_inline)) ulong get_num_groups(uint d) "
    "{ return get_global_size(d) / get_local_size(d); }\n"
    "__attribute__((overloadable, always_inline)) void barrier(uint f) { (void)f; "
    "__builtin_amdgcn_fence(__ATOMIC_RELEASE, \"workgroup\"); __builtin_amdgcn_s_barrier(); "
    "__builtin_amdgcn_fence(__ATOMIC_ACQUIRE, \"workgroup\"); }\n";
static const char hip_prelude[] =
    "#define __global__ __attribute__((global))\n#define __device__ __attribute__((device))\n"
    "#define __host__ __attribute__((host))\n#define __shared__ __attribute__((shared))\n"
    "#define __constant__ __attribute__((constant))\n#define __forceinline__ inline __attribute__((always_inline))\n"
    "#define __launch_bounds__(...) __attribute__((launch_bounds(__VA_ARGS__)))\n"
    "#define TW_AXES(name, what) struct name { \\\n"
    "  __declspec(property(get = get_x)) unsigned x; __declspec(property(get = get_y)) unsigned y; \\\n"
    "  __declspec(property(get = get_z)) unsigned z; \\\n"
    "  __device__ unsigned get_x() const { return __builtin_amdgcn_##what##_x(); } \\\n"
    "  __device__ unsigned get_y() const { return __builtin_amdgcn_##what##_y(); } \\\n"
    "  __device__ unsigned get_z() const { return __builtin_amdgcn_##what##_z(); } };\n"
    "TW_AXES(tw_thread, workitem_id) TW_AXES(tw_block, workgroup_id) TW_AXES(tw_size, workgroup_size)\n"
    "static const __device__ tw_thread threadIdx{};\nstatic const __device__ tw_block blockIdx{};\n"
    "static const __device__ tw_size blockDim{};\n"
    "static __device__ inline void __syncthreads() { __builtin_amdgcn_fence(__ATOMIC_RELEASE, \"workgroup\"); "
    "__builtin_amdgcn_s_barrier(); __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, \"workgroup\"); }\n";

static tw_status write_headers(const char *directory, tw_error *error) {
  tw_status status = TW_OK;
  const tw_embedded *e;
  for (size_t i = 0; status == TW_OK && (e = tw_embedded_at(i)); i++)
    if (strncmp(e->name, RUNTIME, strlen(RUNTIME)) == 0)
      status = tw_tool_write(directory, e->name + strlen(RUNTIME), e->data, e->size, error);
  return status;
}

static char headers[4096]; /* the user's folder; "": none. Set before anything is compiled. */

tw_status cdna_include(const char *folder, tw_error *error) {
  struct stat s;
  char path[PATH_MAX];
  if (!realpath(folder, path) || stat(path, &s) || !S_ISDIR(s.st_mode) || access(path, R_OK | X_OK))
    return tw_fail(error, TW_USAGE, "--include %s: no folder that can be read", folder);
  snprintf(headers, sizeof headers, "%s", path);
  return TW_OK;
}

static tw_status compile_in(const tw_toolchain *tools, const char *directory, cdna_arch arch, const char *source,
                            size_t length, bool trust, char define[][64], int n_defines, char **object, size_t *size,
                            tw_error *error) {
  static const char *const names[] = {"kernel.s", "kernel.cpp", "kernel.cl", "kernel.hip", "kernel.c"};
  const language l = language_of(source);
  const bool tiles = l == TILES;
  const char *argv[32 + DEFINES_MAX], *name = names[l];
  int n = 0;
  if (l == HIP && strstr(source, "#include <hip/"))
    return tw_fail(error, TW_FAILED,
                   "HIP's headers are not at hand here: leave them out (threadIdx, blockIdx, blockDim, __shared__ and "
                   "__syncthreads are there without), or compile to a code object with hipcc and run that");
  argv[n++] = "";
  argv[n++] = "-nogpulib";
  argv[n++] = "-g1";
  if (l == HIP) {
    static const char *const hip[] = {"-x",
                                      "hip",
                                      "--offload-device-only",
                                      "--no-gpu-bundle-output",
                                      "-nogpuinc",
                                      "-std=gnu++17",
                                      "-fdeclspec",
                                      "-O3",
                                      "-ffp-contract=fast",
                                      "-include",
                                      "prelude.h"};
    argv[n++] = arch == CDNA3 ? "--offload-arch=gfx942" : "--offload-arch=gfx950";
    for (size_t i = 0; i < sizeof hip / sizeof *hip; i++) argv[n++] = hip[i];
  } else {
    argv[n++] = "--target=amdgcn-amd-amdhsa";
    argv[n++] = arch == CDNA3 ? "-mcpu=gfx942" : "-mcpu=gfx950";
  }
  if (l == OPENCL) {
    static const char *const cl[] = {"-x", "cl", "-cl-std=CL2.0", "-O3", "-include", "prelude.h"};
    for (size_t i = 0; i < sizeof cl / sizeof *cl; i++) argv[n++] = cl[i];
  }
  if (l == C || tiles) {
    static const char *const c[] = {"-O3", "-ffreestanding", "-nostdinc", "-ffp-contract=fast"};
    argv[n++] = tiles ? "-std=gnu++17" : "-std=gnu17";
    if (tiles) argv[n++] = "-I.";
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) argv[n++] = c[i];
  }
  if (*headers) argv[n++] = "-I", argv[n++] = headers;
  for (int i = 0; i < n_defines; i++) argv[n++] = define[i];
  argv[n++] = name;
  argv[n++] = "-o";
  argv[n++] = "kernel.co";
  argv[n] = NULL;
  const char *const folders[] = {*headers ? headers : NULL, NULL};
  const tw_tool_run run = {.argv = argv,
                           .directory = directory,
                           .read = folders,
                           .what = "compiling the kernel",
                           .trust = trust,
                           .memory = (size_t)8 << 30};
  tw_status status = tw_tool_write(directory, name, source, length, error);
  if (status == TW_OK && tiles) status = write_headers(directory, error);
  if (status == TW_OK && l == HIP)
    status = tw_tool_write(directory, "prelude.h", hip_prelude, sizeof hip_prelude - 1, error);
  if (status == TW_OK && l == OPENCL)
    status = tw_tool_write(directory, "prelude.h", opencl_prelude, sizeof opencl_prelude - 1, error);
  if (status == TW_OK) status = tw_tool_run_confined(tools, &run, error);
  if (status == TW_OK) status = tw_tool_read(directory, "kernel.co", object, size, error);
  return status;
}

tw_status cdna_compile(cdna_arch arch, const char *source, size_t length, bool trust, const tw_launch *launch,
                       char **object, size_t *size, tw_error *error) {
  char define[DEFINES_MAX][64], key[TW_HASH_TEXT], *directory = NULL;
  int n = 0;
  tw_hash h;
  tw_toolchain tools;
  tw_status status = tw_toolchain_open(&kind, &tools, error);
  if (status != TW_OK) return status;
  tw_hash_start(&h);
  tw_hash_add_string(&h, tools.identity);
  tw_hash_add_string(&h, options);
  tw_hash_add_string(&h, arch == CDNA3 ? "gfx942" : "gfx950");
  tw_hash_add(&h, source, length);
  const tw_embedded *e;
  for (size_t i = 0; is_tiles(source) && (e = tw_embedded_at(i)); i++)
    if (strncmp(e->name, RUNTIME, strlen(RUNTIME)) == 0) tw_hash_add(&h, e->data, e->size);
  for (size_t i = 0; launch && i < launch->n_lets; i++, n++) {
    snprintf(define[n], sizeof define[n], "-D%s=%" PRId64, launch->let[i].name, launch->let[i].value);
    tw_hash_add_string(&h, define[n]);
  }
  tw_hash_finish_text(&h, key);
  if (!*headers && tw_cache_get(CACHE, key, object, size)) return TW_OK;
  status = tw_directory_temporary(&directory, error);
  if (status == TW_OK)
    status = compile_in(&tools, directory, arch, source, length, trust, define, n, object, size, error);
  if (status == TW_OK && !*headers) tw_cache_put(CACHE, key, *object, *size);
  if (directory) tw_directory_remove(directory);
  free(directory);
  return status;
}
