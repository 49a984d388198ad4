/* build.c - see build.h. The compiler is NVRTC in a separate process (runner/compile.c), or nvcc; either is confined.
 * Its log, which states the kernel's resources, is stored with the cubin. */
#define _GNU_SOURCE
#include "target/cuda/build.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "base/embedded.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/strings.h"
#include "gpu/common/machine.h"
#include "target/cuda/device.h"
#include "toolchain/toolchain.h"

static const char KIND[] = "cuda-cubins";
static const double COMPILE_SECONDS = 180;
enum { OUTPUT_LIMIT = 64 << 20, LOG_LIMIT = 1 << 20, OPTIONS_MAX = 90, OPTION = 480 };

/* ---- inputs of a build ---- */

typedef struct options {
  size_t n;
  char text[OPTIONS_MAX][OPTION];
} options;

static void add(options *o, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void add(options *o, const char *format, ...) {
  va_list list;
  va_start(list, format);
  if (o->n < OPTIONS_MAX) vsnprintf(o->text[o->n++], OPTION, format, list);
  va_end(list);
}

static void make_options(const cuda_config *c, options *o) {
  const cuda_here *here = cuda_look();
  const char *number = c->architecture + strlen("sm_");
  if (here->nvcc[0]) {
    add(o, "-cubin");
    add(o, "-gencode=arch=compute_%s,code=sm_%s", number, number);
    add(o, "-Xptxas=-v");
  } else {
    add(o, "--ptxas-options=-v");
  }
  add(o, "-std=c++17");
  add(o, "-I.");
  if (here->include[0]) add(o, "-I%s", here->include);
}

const char *cuda_header(const tw_embedded *e) {
  const char *own = tw_embedded_below(e, "cuda/runtime/");
  return own ? own : tw_embedded_below(e, TW_TILE_RUNTIME);
}

static void key_of(const cuda_config *c, const options *o, const char *source, size_t length, char key[TW_HASH_TEXT]) {
  tw_hash h;
  const tw_embedded *e;
  tw_hash_start(&h);
  tw_hash_add_string(&h, cuda_look()->compiler);
  tw_hash_add_string(&h, c->architecture);
  for (size_t i = 0; i < o->n; i++) tw_hash_add_string(&h, o->text[i]);
  for (size_t i = 0; (e = tw_embedded_at(i)); i++)
    if (cuda_header(e)) tw_hash_add(&h, e->data, e->size);
  tw_hash_add(&h, source, length);
  tw_hash_finish_text(&h, key);
}

/* ---- making it ---- */

/* The header's lets as constants, then the source with its line numbers unchanged. The constants are not macros,
 * because names such as T are also names of templates in CUDA's own headers. They are enumerators, because NVRTC
 * would place variables in device memory. */
static char *whole_source(const tw_launch *l, const char *source, size_t length) {
  tw_text s = {0};
  for (size_t i = 0; i < l->n_lets; i++) {
    const bool is_int = l->let[i].value >= INT32_MIN && l->let[i].value <= INT32_MAX;
    tw_text_add(&s, "enum : %s { %s = %" PRId64 " };\n", is_int ? "int" : "long long", l->let[i].name, l->let[i].value);
  }
  tw_text_add(&s, "#line 1 \"kernel.cu\"\n");
  tw_text_add_bytes(&s, source, length);
  return tw_text_take(&s);
}

static tw_status write_headers(const char *directory, tw_error *error) {
  tw_status status = TW_OK;
  const tw_embedded *e;
  for (size_t i = 0; status == TW_OK && (e = tw_embedded_at(i)); i++)
    if (cuda_header(e)) status = tw_tool_write(directory, cuda_header(e), e->data, e->size, error);
  return status;
}

/* NVRTC works in the runner. nvcc starts the C compiler's preprocessor and a shell. */
enum { NVRTC_RUNNER = 0, NVCC = 1 };
static tw_status open_tools(const char *reads[3], tw_toolchain *out, tw_error *error) {
  const cuda_here *here = cuda_look();
  tw_toolchain_kind kind = {.title = "the CUDA compiler", .remedy = "install NVRTC or nvcc", .read = reads};
  size_t n = 0;
  if (here->include[0]) reads[n++] = here->include;
  if (here->nvcc[0]) {
    const char *const programs[] = {"cc", here->nvcc, "as", "ld", "sh"};
    memcpy(kind.program, programs, sizeof programs);
    kind.driver = true;
    reads[n++] = "/usr/include";
  } else {
    kind.program[NVRTC_RUNNER] = here->runner;
  }
  reads[n] = NULL;
  return tw_toolchain_open(&kind, out, error);
}

static tw_status compile(const cuda_config *c, const options *o, const char *directory, bool trust, char **log,
                         tw_error *error) {
  const cuda_here *here = cuda_look();
  const char *argv[OPTIONS_MAX + 8] = {"compiler"}, *reads[3], *library[2] = {NULL, NULL};
  char folder[sizeof here->nvrtc];
  tw_toolchain tools;
  size_t n = 1;
  tw_status status = open_tools(reads, &tools, error);
  if (status != TW_OK) return status;
  if (here->nvcc[0]) {
    argv[n++] = "kernel.cu", argv[n++] = "-o", argv[n++] = "kernel.cubin";
  } else {
    snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(here->nvrtc, '/') - here->nvrtc), here->nvrtc);
    library[0] = folder;
    argv[n++] = "compile", argv[n++] = here->nvrtc, argv[n++] = c->architecture, argv[n++] = "kernel.cu";
    argv[n++] = "kernel.cubin";
  }
  for (size_t i = 0; i < o->n; i++) argv[n++] = o->text[i];
  argv[n] = NULL;
  const tw_tool_run run = {.program = here->nvcc[0] ? NVCC : NVRTC_RUNNER,
                           .argv = argv,
                           .directory = directory,
                           .read = library,
                           .what = "kernel.cu: the compiler",
                           .trust = trust,
                           .seconds = COMPILE_SECONDS,
                           .file = OUTPUT_LIMIT,
                           .output = log};
  return tw_tool_run_confined(&tools, &run, error);
}

/* An entry of the cache: the log, a '\0', the cubin. */
static tw_status make(const cuda_config *c, const options *o, const char *source, size_t length, bool trust,
                      char **entry, size_t *bytes, tw_error *error) {
  char *directory = NULL, *log = NULL, *cubin = NULL;
  size_t size = 0;
  tw_text all = {0};
  tw_status status = tw_directory_temporary(&directory, error);
  if (status == TW_OK) status = write_headers(directory, error);
  if (status == TW_OK) status = tw_tool_write(directory, "kernel.cu", source, length, error);
  if (status == TW_OK) status = compile(c, o, directory, trust, &log, error);
  if (status == TW_OK) status = tw_tool_read(directory, "kernel.cubin", &cubin, &size, error);
  if (status == TW_OK) {
    tw_text_add_bytes(&all, log, strlen(log) + 1);
    tw_text_add_bytes(&all, cubin, size);
    *bytes = all.length;
    if (!(*entry = tw_text_take(&all))) status = tw_no_memory(error, NULL);
  }
  free(log);
  free(cubin);
  if (directory) tw_directory_remove(directory);
  free(directory);
  return status;
}

tw_status cuda_compile(const cuda_config *c, const char *source, size_t length, bool trust, char **entry,
                       const char **cubin, size_t *bytes, tw_error *error) {
  options *o = calloc(1, sizeof *o);
  char key[TW_HASH_TEXT];
  size_t all = 0;
  tw_status status = o ? cuda_need_compiler(error) : tw_no_memory(error, NULL);
  if (status == TW_OK) {
    make_options(c, o);
    key_of(c, o, source, length, key);
    if (!tw_cache_get(KIND, key, entry, &all)) {
      status = make(c, o, source, length, trust, entry, &all, error);
      if (status == TW_OK) tw_cache_put(KIND, key, *entry, all);
    }
  }
  free(o);
  if (status != TW_OK) return status;
  const size_t log = strnlen(*entry, all);
  if (log < all) {
    *cubin = *entry + log + 1;
    *bytes = all - log - 1;
    return TW_OK;
  }
  free(*entry);
  return tw_fail(error, TW_FAILED, "the compiler produced no cubin");
}

static tw_status take_apart(const char *log, const char *cubin, cuda_kernel *k, tw_error *error) {
  if (!(k->cubin = malloc(k->bytes ? k->bytes : 1))) return tw_no_memory(error, NULL);
  memcpy(k->cubin, cubin, k->bytes);
  tw_status status = TW_OK;
  for (size_t i = 0; status == TW_OK && i < k->launch.n_kernels; i++) {
    const char *name = k->launch.kernel[i].name;
    status = cuda_cubin_check(k->cubin, k->bytes, name, error);
    if (status == TW_OK && !cuda_resources_read(log, name, &k->resources[i]))
      status = tw_fail(error, TW_FAILED, "the compiler did not report the parameters of kernel '%s'", name);
  }
  return status;
}

static tw_status check_resources(const cuda_config *c, const tw_launch_kernel *k, const cuda_resources *r,
                                 tw_error *error) {
  const int64_t shared = r->shared + k->shared;
  const int64_t threads = k->block[0] * k->block[1] * k->block[2];
  if (shared > c->shared_block)
    return tw_fail(error, TW_FAILED,
                   "the kernel needs %" PRId64 " bytes of shared memory; a block has %" PRId64 " on %s", shared,
                   c->shared_block, c->name);
  if (threads * r->registers > c->registers)
    return tw_fail(error, TW_FAILED,
                   "%" PRId64 " threads of %d registers exceed the %" PRId64
                   " registers of a multiprocessor; use __launch_bounds__(%" PRId64 ")",
                   threads, r->registers, c->registers, threads);
  return TW_OK;
}

tw_status cuda_launch_of(const cuda_config *c, const tw_problem *p, const char *source, size_t length, tw_launch *out,
                         tw_error *error) {
  tw_scope *scope = calloc(1, sizeof *scope);
  if (!scope) return tw_no_memory(error, NULL);
  tw_launch_scope(p, scope);
  tw_scope_set(scope, "sms", c->multiprocessors);
  tw_status status = tw_launch_read(source, length, p, scope, out, error);
  if (status == TW_OK) status = cuda_launch_check(c, out, error);
  for (size_t i = 0; status == TW_OK && i < out->n_kernels; i++)
    if (out->kernel[i].overlaps && !memmem(source, length, "griddepcontrol_wait(", 20) &&
        !memmem(source, length, "griddepcontrol.wait", 19) && !memmem(source, length, "earlier_ended(", 14))
      status =
          tw_fail(error, TW_FAILED,
                  "'overlap' requires that the kernel waits for the previous one; begin it with griddepcontrol_wait()");
  free(scope);
  return status;
}

tw_status cuda_build(const cuda_config *c, const tw_problem *p, const char *source, size_t length, bool trust,
                     cuda_kernel *out, tw_error *error) {
  char *entry = NULL, *whole = NULL;
  const char *cubin = NULL;
  *out = (cuda_kernel){0};
  tw_status status = cuda_launch_of(c, p, source, length, &out->launch, error);
  if (status == TW_OK && !(whole = whole_source(&out->launch, source, length))) status = tw_no_memory(error, NULL);
  if (status == TW_OK) status = cuda_compile(c, whole, strlen(whole), trust, &entry, &cubin, &out->bytes, error);
  if (status == TW_OK) {
    status = take_apart(entry, cubin, out, error);
    free(entry);
  }
  for (size_t i = 0; status == TW_OK && i < out->launch.n_kernels; i++)
    status = check_resources(c, &out->launch.kernel[i], &out->resources[i], error);
  if (status != TW_OK) cuda_kernel_free(out);
  free(whole);
  return status;
}

void cuda_kernel_free(cuda_kernel *k) {
  free(k->cubin);
  *k = (cuda_kernel){0};
}
