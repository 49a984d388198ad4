/* toolchain.c - see toolchain.h. */
#include "target/cdna/toolchain.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/embedded.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/headers.h"
#include "gpu/common/machine.h"
#include "target/cdna/link.h"
#include "toolchain/toolchain.h"

#define CACHE "cdna"

enum { DEFINES_MAX = TW_LAUNCH_LETS };

static const tw_toolchain_kind kind = {.title = "the compiler for AMD GPUs",
                                       .remedy = "apt-get install clang-22 lld-22",
                                       .program = {"clang-22", "ld.lld-22"},
                                       .driver = true,
                                       .read = (const char *const[]){"/usr/lib/llvm-22", NULL}};
/* part of the cache key: change it with the following code */
static const char options[] = "-O3 -nogpulib -ffreestanding -g1 9";

tw_status cdna_toolchain_find(tw_error *error) {
  tw_toolchain tools;
  return tw_toolchain_open(&kind, &tools, error);
}

/* Assembly names its GPU or kernel. */
static bool is_assembly(const char *source) {
  return strstr(source, ".amdgcn_target") || strstr(source, ".amdhsa_kernel");
}

/* A tile kernel: C++, with the headers of the tile library; for C there is tile.h. */
static bool is_tiles(const char *source) { return strstr(source, "#include \"tile.hpp\"") != NULL; }

/* OpenCL C and HIP C++ are recognized by their keyword for a kernel. */
typedef enum language { ASSEMBLY, TILES, OPENCL, HIP, C } language;
static language language_of(const char *source) {
  return is_assembly(source)                ? ASSEMBLY
         : is_tiles(source)                 ? TILES
         : strstr(source, "__global__")     ? HIP
         : strstr(source, "#include <hip/") ? HIP
         : strstr(source, "__kernel ")      ? OPENCL
         : strstr(source, "\nkernel void ") ? OPENCL
                                            : C;
}

/* The user's folders by their absolute names, because the compiler runs in another folder; and macros. */
typedef struct headers {
  char folder[TW_HEADERS_MAX][PATH_MAX];
  int n;
  const tw_headers *given;
} headers;

static tw_status find_headers(const tw_headers *given, headers *out, tw_error *error) {
  const tw_status status = tw_headers_check(given, error);
  if (status != TW_OK) return status;
  for (size_t i = 0; i < given->n; i++)
    if (!realpath(given->folder[i], out->folder[i]))
      return tw_fail(error, TW_USAGE, "%s: %s", given->folder[i], strerror(errno));
  out->n = (int)given->n;
  out->given = given;
  return TW_OK;
}

/* Library files that are compiled with the source: the files of one folder. */
static const char *folder_of(language l) { return l == HIP ? "hip/" : l == OPENCL ? "opencl/" : ""; }

/* The name of the file for a source in that language; NULL: it is not a file for it. */
static const char *header_name(const tw_embedded *e, language l) {
  const char *folder = folder_of(l), *name = tw_embedded_below(e, "cdna/runtime/");
  if (l == TILES && !name) return tw_embedded_below(e, TW_TILE_RUNTIME);
  if (l == ASSEMBLY || !name) return NULL;
  if (l == C) return strcmp(name, "tile.h") == 0 ? name : NULL;
  return strncmp(name, folder, strlen(folder)) == 0 && (*folder || !strchr(name, '/')) ? name : NULL;
}

const char *cdna_header(const tw_embedded *e) { return header_name(e, TILES); }

static tw_status write_headers(const char *directory, language l, tw_error *error) {
  tw_status status = TW_OK;
  const tw_embedded *e;
  for (size_t i = 0; status == TW_OK && (e = tw_embedded_at(i)); i++) {
    const char *name = header_name(e, l), *base = name ? strrchr(name, '/') : NULL;
    char folder[PATH_MAX];
    snprintf(folder, sizeof folder, "%s/%.*s", directory, base ? (int)(base - name) : 0, name ? name : "");
    if (base) status = tw_directory_make(folder, error);
    if (name && status == TW_OK) status = tw_tool_write(directory, name, e->data, e->size, error);
  }
  return status;
}

/* ---- device libraries, where they are installed ---- */

#define LIBCLC "/usr/lib/clc/amdgcn-amd-amdhsa.bc" /* OpenCL's */
static const char *const device_libraries[] = {"/opt/rocm/amdgcn/bitcode", "/usr/lib/x86_64-linux-gnu/amdgcn/bitcode"};

enum { LIBRARIES_MAX = 16, LIBRARY_PATH = 96 };
typedef struct libraries {
  char path[LIBRARIES_MAX][LIBRARY_PATH];
  int n;
} libraries;

static bool add_library(libraries *l, const char *folder, const char *name) {
  const int length = snprintf(l->path[l->n], LIBRARY_PATH, "%s/%s.bc", folder, name);
  return length < LIBRARY_PATH && access(l->path[l->n], R_OK) == 0 && ++l->n;
}

/* ROCm's mathematical functions and the constants that configure them, if the version has them. */
static void find_libraries(language of, libraries *l) {
  static const char *const parts[] = {"ockl",
                                      "oclc_daz_opt_off",
                                      "oclc_unsafe_math_off",
                                      "oclc_finite_only_off",
                                      "oclc_correctly_rounded_sqrt_on",
                                      "oclc_wavefrontsize64_on",
                                      "oclc_abi_version_500"};
  *l = (libraries){.n = 0};
  if (of == OPENCL && access(LIBCLC, R_OK) == 0) strcpy(l->path[l->n++], LIBCLC);
  for (size_t f = 0; of == HIP && f < sizeof device_libraries / sizeof *device_libraries; f++) {
    const char *folder = device_libraries[f];
    if (!add_library(l, folder, "ocml")) continue;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) add_library(l, folder, parts[i]);
    if (!add_library(l, folder, "oclc_isa_version_942")) add_library(l, folder, "oclc_isa_version_940");
    return;
  }
}

/* ---- options of a source ---- */

/* Options of `//: compile` lines (docs/reference/kernel-header.md), and LLVM's for them. */
static const struct {
  const char *name, *flag;
  int64_t most;
  bool counts; /* the value follows the flag */
} compile_options[] = {{"preload_arguments", "-amdgpu-kernarg-preload-count=", 16, true},
                       {"sums_in_vgprs", "-amdgpu-mfma-vgpr-form", 1, false}};
enum { OPTIONS = sizeof compile_options / sizeof *compile_options };

tw_status cdna_compile_option(const tw_launch_option *o, char flag[CDNA_FLAG], tw_error *error) {
  for (size_t i = 0; i < OPTIONS; i++) {
    if (strcmp(o->name, compile_options[i].name) != 0) continue;
    if (o->value < 1 || o->value > compile_options[i].most)
      return tw_fail(error, TW_FAILED, "compile %s=%" PRId64 ": the number must be in 1..%" PRId64, o->name, o->value,
                     compile_options[i].most);
    if (compile_options[i].counts)
      snprintf(flag, CDNA_FLAG, "%s%" PRId64, compile_options[i].flag, o->value);
    else
      snprintf(flag, CDNA_FLAG, "%s", compile_options[i].flag);
    return TW_OK;
  }
  return tw_fail(error, TW_FAILED, "compile %s: unknown option; expected %s or %s", o->name, compile_options[0].name,
                 compile_options[1].name);
}

/* Arguments of the compiler that a launch adds: its constants and its options. */
typedef struct launch_arguments {
  char define[DEFINES_MAX][64], flag[TW_LAUNCH_OPTIONS][CDNA_FLAG];
  int n_defines, n_flags;
} launch_arguments;

static tw_status arguments_of(const tw_launch *l, launch_arguments *out, tw_error *error) {
  tw_status status = TW_OK;
  out->n_defines = out->n_flags = 0;
  for (size_t i = 0; l && i < l->n_lets; i++)
    snprintf(out->define[out->n_defines++], sizeof *out->define, "-D%s=%" PRId64, l->let[i].name, l->let[i].value);
  for (size_t i = 0; l && i < l->n_options && status == TW_OK; i++)
    status = cdna_compile_option(&l->option[i], out->flag[out->n_flags++], error);
  return status;
}

/* The header computes with the values of its `let` lines, so they keep them. */
static tw_status check_macros(const tw_headers *own, const tw_launch *l, tw_error *error) {
  for (size_t i = 0; l && i < l->n_lets; i++)
    for (size_t k = 0; k < own->n_macros; k++) {
      const size_t length = strcspn(own->macro[k], "=(");
      if (strlen(l->let[i].name) == length && !strncmp(l->let[i].name, own->macro[k], length))
        return tw_fail(error, TW_USAGE, "the header defines %s in a `//: let` line; change that line, not the macro",
                       l->let[i].name);
    }
  return TW_OK;
}

tw_status cdna_reject_macros(const tw_headers *own, const char *what, tw_error *error) {
  if (!own->n_macros) return TW_OK;
  return tw_fail(error, TW_USAGE, "macro %s: %s has no macros; leave it out", own->macro[0], what);
}

/* ---- one compilation ---- */

typedef struct command {
  const char *argv[80 + 2 * TW_HEADERS_MAX + 2 * TW_MACROS_MAX + DEFINES_MAX + 2 * TW_LAUNCH_OPTIONS];
  int n;
} command;

static void add(command *c, const char *const words[]) {
  for (; *words; words++) c->argv[c->n++] = *words;
}
#define ADD(c, ...) add(c, (const char *const[]){__VA_ARGS__, NULL})

/* Does a folder of the user have HIP's headers, as ROCm's folder has? */
static bool has_hip(const headers *own) {
  char path[PATH_MAX + 32];
  for (int i = 0; i < own->n; i++) {
    snprintf(path, sizeof path, "%.*s/hip/hip_runtime.h", PATH_MAX, own->folder[i]);
    if (access(path, R_OK) == 0) return true;
  }
  return false;
}

#define CLANG_WRAPPERS "/usr/lib/llvm-22/lib/clang/22/include/cuda_wrappers"
#define GCC_HEADERS "/usr/lib/gcc/x86_64-linux-gnu/12/include" /* for omp.h, which host code may include */
/* A file that includes HIP's header, or its own replacement, is compiled unchanged; other files get our header. */
static bool brings_hip(const char *source) {
  for (const char *p = source; (p = strstr(p, "#include")); p++) {
    const char *hip = strstr(p, "hip"), *end = strchr(p, '\n');
    if (hip && (!end || hip < end)) return true;
  }
  return false;
}

static void add_hip(command *c, cdna_arch arch, bool includes, bool own, bool brings) {
  ADD(c, arch == CDNA3 ? "--offload-arch=gfx942" : "--offload-arch=gfx950", "-x", "hip", "--offload-device-only",
      "--no-gpu-bundle-output", "-nogpuinc", "-std=gnu++20", "-fdeclspec", "-O3", "-ffp-contract=fast",
      "-mprintf-kind=buffered", "-include", "hip/printf_alloc.h");
  if (includes) ADD(c, "-isystem", CLANG_WRAPPERS, "-include", "__clang_hip_runtime_wrapper.h");
  /* ROCm's headers rely on macros that its compiler defines and this one no longer does */
  if (own) ADD(c, "-D__HIP_PLATFORM_AMD__=1", "-D__AMDGCN_WAVEFRONT_SIZE=64", "-Wno-invalid-constexpr");
  ADD(c, "-isystem", "hip/host", "-idirafter", "."); /* a binding to Python has no part on the device */
  if (!own) ADD(c, "-idirafter", "hip");             /* <hip_bf16.h>, as some sources name it */
  ADD(c, "-idirafter", GCC_HEADERS);
  if (!own && !brings) ADD(c, "-include", "hip/hip_runtime.h");
}

/* Names the missing library. */
static tw_status name_library(language l, const libraries *found, tw_status status, tw_error *error) {
  char text[sizeof error->text];
  if (status != TW_FAILED || found->n || !error || !strstr(error->text, "undefined symbol")) return status;
  if (l != OPENCL && !strstr(error->text, "__oc")) return status;
  snprintf(text, sizeof text, "%s", error->text);
  return tw_fail(error, status, "%s functions are missing (apt-get install %s): %s",
                 l == OPENCL ? "OpenCL's" : "HIP's mathematical", l == OPENCL ? "libclc-22" : "rocm-device-libs", text);
}

/* clang's commands for its own tests end the compiler, or never end. The tool chain disables them (toolchain.c);
 * this reports their use. */
static tw_status refuse_debugging(const char *source, tw_error *error) {
  for (const char *p = source; (p = strstr(p, "__debug")); p++) {
    const char *line = p;
    while (line > source && line[-1] != '\n') line--;
    const char *clang = strstr(line, "clang");
    if (clang && clang < p) return tw_fail(error, TW_FAILED, "kernel: error: '#pragma clang __debug' is unsupported");
  }
  return TW_OK;
}

static tw_status compile_in(const tw_toolchain *tools, const char *directory, cdna_arch arch, const char *source,
                            size_t length, bool trust, const headers *own, const launch_arguments *given, char **object,
                            size_t *size, tw_error *error) {
  static const char *const names[] = {"kernel.s", "kernel.cpp", "kernel.cl", "kernel.hip", "kernel.c"};
  const language l = language_of(source);
  const char *name = names[l];
  const bool includes = strstr(source, "#include") != NULL;
  command c = {.n = 0};
  libraries found;
  find_libraries(l, &found);
  ADD(&c, "", "-nogpulib", "-g1", l == HIP ? "-S" : "-c");
  for (int i = 0; i < own->n; i++) ADD(&c, "-I", own->folder[i]);
  if (l == HIP)
    add_hip(&c, arch, includes, has_hip(own), brings_hip(source));
  else
    ADD(&c, "--target=amdgcn-amd-amdhsa", arch == CDNA3 ? "-mcpu=gfx942" : "-mcpu=gfx950");
  if (l == OPENCL) ADD(&c, "-x", "cl", "-cl-std=CL2.0", "-O3", "-include", "opencl/prelude.h");
  if (l == TILES) ADD(&c, "-std=gnu++17", "-I.");
  if (l == C) ADD(&c, "-std=gnu17", "-I.");
  if (l == C || l == TILES) ADD(&c, "-O3", "-ffreestanding", "-nostdinc", "-ffp-contract=fast");
  /* clang's headers use ROCm's functions, so these are needed if there is an #include */
  for (int i = 0; i < found.n && (l == OPENCL || includes); i++)
    ADD(&c, "-Xclang", "-mlink-builtin-bitcode", "-Xclang", found.path[i]);
  for (int i = 0; i < given->n_defines; i++) c.argv[c.n++] = given->define[i];
  for (size_t i = 0; i < own->given->n_macros; i++) ADD(&c, "-D", own->given->macro[i]);
  for (int i = 0; i < given->n_flags; i++) ADD(&c, "-mllvm", given->flag[i]);
  ADD(&c, name, "-o", l == HIP ? CDNA_ASSEMBLY : CDNA_OBJECT);
  /* HIP sources may include headers of C and C++ for their host code */
  static const char *const usual[] = {"/usr/include", "/usr/lib/gcc", "/usr/lib/clc"};
  enum { USUAL = sizeof usual / sizeof *usual, LIBRARIES = sizeof device_libraries / sizeof *device_libraries };
  const char *folders[USUAL + LIBRARIES + TW_HEADERS_MAX + 1] = {NULL};
  memcpy(folders, usual, sizeof usual);
  memcpy(folders + USUAL, device_libraries, sizeof device_libraries);
  for (int i = 0; i < own->n; i++) folders[USUAL + LIBRARIES + i] = own->folder[i];
  const tw_tool_run run = {.argv = c.argv,
                           .directory = directory,
                           .read = l == HIP || l == OPENCL ? folders : folders + USUAL + LIBRARIES,
                           .what = "compiling the kernel",
                           .trust = trust,
                           .memory = (size_t)8 << 30};
  tw_status status = refuse_debugging(source, error);
  if (status == TW_OK) status = tw_tool_write(directory, name, source, length, error);
  if (status == TW_OK) status = write_headers(directory, l, error);
  if (status == TW_OK) status = tw_tool_run_confined(tools, &run, error);
  if (status == TW_OK)
    status = name_library(l, &found, cdna_link(tools, directory, arch, l == HIP, trust, error), error);
  if (status == TW_OK) status = tw_tool_read(directory, CDNA_CODE_OBJECT, object, size, error);
  return status;
}

tw_status cdna_compile(cdna_arch arch, const char *source, size_t length, const tw_evaluation *how,
                       const tw_launch *launch, char **object, size_t *size, tw_error *error) {
  char key[TW_HASH_TEXT], *directory = NULL;
  launch_arguments given;
  tw_hash h;
  tw_toolchain tools;
  headers own;
  tw_status status = find_headers(&how->headers, &own, error);
  if (status == TW_OK) status = check_macros(&how->headers, launch, error);
  if (status == TW_OK && is_assembly(source)) status = cdna_reject_macros(&how->headers, "assembly", error);
  if (status == TW_OK) status = arguments_of(launch, &given, error);
  if (status == TW_OK) status = tw_toolchain_open(&kind, &tools, error);
  if (status != TW_OK) return status;
  tw_hash_start(&h);
  tw_hash_add_string(&h, tools.identity);
  tw_hash_add_string(&h, options);
  tw_hash_add_string(&h, arch == CDNA3 ? "gfx942" : "gfx950");
  tw_hash_add(&h, source, length);
  const tw_embedded *e;
  const language l = language_of(source);
  for (size_t i = 0; (e = tw_embedded_at(i)); i++)
    if (header_name(e, l)) tw_hash_add(&h, e->data, e->size);
  libraries found;
  find_libraries(l, &found);
  for (int i = 0; i < found.n; i++) tw_hash_add_string(&h, found.path[i]);
  for (int i = 0; i < given.n_defines; i++) tw_hash_add_string(&h, given.define[i]);
  for (size_t i = 0; i < how->headers.n_macros; i++) tw_hash_add_string(&h, how->headers.macro[i]);
  for (int i = 0; i < given.n_flags; i++) tw_hash_add_string(&h, given.flag[i]);
  tw_hash_finish_text(&h, key);
  if (!own.n && tw_cache_get(CACHE, key, object, size)) return TW_OK;
  status = tw_directory_temporary(&directory, error);
  if (status == TW_OK)
    status = compile_in(&tools, directory, arch, source, length, how->trust, &own, &given, object, size, error);
  if (status == TW_OK && !own.n) tw_cache_put(CACHE, key, *object, *size);
  if (directory) tw_directory_remove(directory);
  free(directory);
  return status;
}
