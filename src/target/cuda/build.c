/* build.c - see build.h. The compiler is NVRTC in a process of its own (runner/compile.c), or nvcc. Its log is kept beside the
 * cubin: it is where the kernel's resources stand. */
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
#include "base/process.h"
#include "base/strings.h"
#include "target/cuda/device.h"

static const char KIND[] = "cuda-cubins", RUNTIME[] = "cuda/runtime/";
static const double COMPILE_SECONDS = 180;
enum { OUTPUT_LIMIT = 64 << 20, LOG_LIMIT = 1 << 20, OPTIONS_MAX = 90, OPTION = 480 };

/* ---- what it is made from ---- */

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

static void key_of(const cuda_config *c, const options *o, const char *source, size_t length, char key[TW_HASH_TEXT]) {
  tw_hash h;
  const tw_embedded *e;
  tw_hash_start(&h);
  tw_hash_add_string(&h, cuda_look()->compiler);
  tw_hash_add_string(&h, c->architecture);
  for (size_t i = 0; i < o->n; i++) tw_hash_add_string(&h, o->text[i]);
  for (size_t i = 0; (e = tw_embedded_at(i)); i++)
    if (strncmp(e->name, RUNTIME, strlen(RUNTIME)) == 0) tw_hash_add(&h, e->data, e->size);
  tw_hash_add(&h, source, length);
  tw_hash_finish_text(&h, key);
}

/* ---- making it ---- */

static tw_status write_in(const char *directory, const char *name, const void *data, size_t length, tw_error *error) {
  char *path = tw_path_join(directory, name);
  tw_status status = path ? tw_file_write(path, data, length, error) : tw_fail(error, TW_MISSING, "out of memory");
  free(path);
  return status;
}

/* The header's lets as constants, and the source, whose lines keep their numbers. Not macros: names such as T are also those
 * of templates in CUDA's own headers. Enumerators and not variables: NVRTC would give each a place in device memory. */
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
    if (strncmp(e->name, RUNTIME, strlen(RUNTIME)) == 0)
      status = write_in(directory, e->name + strlen(RUNTIME), e->data, e->size, error);
  return status;
}

/* The first errors of a compiler's log, a line each, without the source's lines and the notes on resources. */
static tw_status compiler_failed(const char *log, tw_error *error) {
  enum { MOST = 8 };
  tw_text s = {0};
  int n = 0;
  for (const char *line = log; *line && n < MOST;) {
    const size_t length = strcspn(line, "\n");
    if (memmem(line, length, "error", 5) || memmem(line, length, "fatal", 5))
      tw_text_add(&s, "%s%.*s", n++ ? "\n" : "", (int)length, line);
    line += length + (line[length] == '\n');
  }
  char *text = tw_text_take(&s);
  const tw_status status = tw_fail(error, TW_FAILED, "%.1500s",
                                   text && *text ? text
                                   : *log        ? log
                                                 : "the compiler failed");
  free(text);
  return status;
}

static tw_status compile(const cuda_config *c, const options *o, const char *directory, char **log, tw_error *error) {
  const cuda_here *here = cuda_look();
  const char *argv[OPTIONS_MAX + 8];
  size_t n = 0;
  argv[n++] = here->nvcc[0] ? here->nvcc : here->runner;
  if (here->nvcc[0]) {
    argv[n++] = "kernel.cu", argv[n++] = "-o", argv[n++] = "kernel.cubin";
  } else {
    argv[n++] = "compile", argv[n++] = c->architecture, argv[n++] = "kernel.cu", argv[n++] = "kernel.cubin";
  }
  for (size_t i = 0; i < o->n; i++) argv[n++] = o->text[i];
  argv[n] = NULL;
  const tw_process_options process = {.argv = argv,
                                      .directory = directory,
                                      .output_limit = LOG_LIMIT,
                                      .seconds = COMPILE_SECONDS,
                                      .file_limit = OUTPUT_LIMIT};
  tw_process_result r = {0};
  tw_status status = tw_process_run(&process, &r, error);
  if (status == TW_OK && r.timed_out)
    status = tw_fail(error, TW_FAILED, "kernel.cu: the compiler did not end within %.0f s", COMPILE_SECONDS);
  else if (status == TW_OK && r.exit_status != 0)
    status = compiler_failed(r.output, error);
  if (status == TW_OK) *log = r.output, r.output = NULL;
  tw_process_result_free(&r);
  return status;
}

/* An entry of the cache: the log, a '\0', the cubin. */
static tw_status make(const cuda_config *c, const options *o, const char *source, size_t length, char **entry,
                      size_t *bytes, tw_error *error) {
  char *directory = NULL, *log = NULL, *cubin = NULL, *path = NULL;
  size_t size = 0;
  tw_text all = {0};
  tw_status status = tw_directory_temporary(&directory, error);
  if (status == TW_OK) status = write_headers(directory, error);
  if (status == TW_OK) status = write_in(directory, "kernel.cu", source, length, error);
  if (status == TW_OK) status = compile(c, o, directory, &log, error);
  if (status == TW_OK && !(path = tw_path_join(directory, "kernel.cubin")))
    status = tw_fail(error, TW_MISSING, "out of memory");
  if (status == TW_OK) status = tw_file_read(path, OUTPUT_LIMIT, &cubin, &size, error);
  if (status == TW_OK) {
    tw_text_add_bytes(&all, log, strlen(log) + 1);
    tw_text_add_bytes(&all, cubin, size);
    *bytes = all.length;
    if (!(*entry = tw_text_take(&all))) status = tw_fail(error, TW_MISSING, "out of memory");
  }
  free(log);
  free(cubin);
  free(path);
  if (directory) tw_directory_remove(directory);
  free(directory);
  return status;
}

tw_status cuda_compile(const cuda_config *c, const char *source, size_t length, char **entry, const char **cubin,
                       size_t *bytes, tw_error *error) {
  options *o = calloc(1, sizeof *o);
  char key[TW_HASH_TEXT];
  size_t all = 0;
  tw_status status = o ? cuda_need_compiler(error) : tw_fail(error, TW_MISSING, "out of memory");
  if (status == TW_OK) {
    make_options(c, o);
    key_of(c, o, source, length, key);
    if (!tw_cache_get(KIND, key, entry, &all)) {
      status = make(c, o, source, length, entry, &all, error);
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
  return tw_fail(error, TW_FAILED, "the compiler made no cubin");
}

static tw_status take_apart(const char *log, const char *cubin, cuda_kernel *k, tw_error *error) {
  if (!(k->cubin = malloc(k->bytes ? k->bytes : 1))) return tw_fail(error, TW_MISSING, "out of memory");
  memcpy(k->cubin, cubin, k->bytes);
  const tw_status status = cuda_cubin_check(k->cubin, k->bytes, k->launch.kernel, error);
  if (status == TW_OK && !cuda_resources_read(log, k->launch.kernel, &k->resources))
    return tw_fail(error, TW_FAILED, "the compiler does not say what the kernel '%s' takes", k->launch.kernel);
  return status;
}

static tw_status check_whole(const cuda_config *c, const cuda_kernel *k, tw_error *error) {
  const int64_t shared = k->resources.shared + k->launch.shared;
  const int64_t threads = k->launch.block[0] * k->launch.block[1] * k->launch.block[2];
  if (shared > c->shared_block)
    return tw_fail(error, TW_FAILED,
                   "%" PRId64 " bytes of shared memory are more than the %" PRId64 " of a block on %s", shared,
                   c->shared_block, c->name);
  if (threads * k->resources.registers > c->registers)
    return tw_fail(error, TW_FAILED,
                   "%" PRId64 " threads of %d registers are more than the %" PRId64
                   " registers of a multiprocessor: say __launch_bounds__(%" PRId64 ")",
                   threads, k->resources.registers, c->registers, threads);
  return TW_OK;
}

tw_status cuda_build(const cuda_config *c, const tw_problem *p, const char *source, size_t length, cuda_kernel *out,
                     tw_error *error) {
  tw_scope *scope = calloc(1, sizeof *scope);
  char *entry = NULL, *whole = NULL;
  const char *cubin = NULL;
  *out = (cuda_kernel){0};
  tw_status status = scope ? TW_OK : tw_fail(error, TW_MISSING, "out of memory");
  if (status == TW_OK) {
    tw_launch_scope(p, scope);
    tw_scope_set(scope, "sms", c->multiprocessors);
    status = tw_launch_read(source, length, p, scope, &out->launch, error);
  }
  if (status == TW_OK) status = cuda_launch_check(c, &out->launch, error);
  if (status == TW_OK && !(whole = whole_source(&out->launch, source, length)))
    status = tw_fail(error, TW_MISSING, "out of memory");
  if (status == TW_OK) status = cuda_compile(c, whole, strlen(whole), &entry, &cubin, &out->bytes, error);
  if (status == TW_OK) {
    status = take_apart(entry, cubin, out, error);
    free(entry);
  }
  if (status == TW_OK) status = check_whole(c, out, error);
  if (status != TW_OK) cuda_kernel_free(out);
  free(whole);
  free(scope);
  return status;
}

void cuda_kernel_free(cuda_kernel *k) {
  free(k->cubin);
  *k = (cuda_kernel){0};
}
