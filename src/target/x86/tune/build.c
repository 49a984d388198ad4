/* build.c - see build.h. inspect -> cache? -> compile to assembly -> inspect that -> assemble and link. */
#include "target/x86/tune/build.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "base/embedded.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/strings.h"

static const char KIND[] = "x86-kernels";
static const char ROOT[] = "x86/"; /* of embedded files, which sources know as target/x86/ */
enum { FLAGS_MAX = 24, OUTPUT_LIMIT = 64 << 20 };
static const double COMPILE_SECONDS = 60;
static const size_t COMPILE_MEMORY = (size_t)4 << 30;

/* ---- the compiler ---- */

static const char *compiler(void) {
  const char *own = getenv("TILEWRIGHT_CC");
  return own && *own ? own : "cc";
}

static tw_status run(const char *directory, const char *const argv[], tw_process_result *result, tw_error *error) {
  const tw_process_options o = {.argv = argv,
                                .directory = directory,
                                .seconds = COMPILE_SECONDS,
                                .memory_limit = COMPILE_MEMORY,
                                .file_limit = OUTPUT_LIMIT};
  return tw_process_run(&o, result, error);
}

static char *identity; /* what `cc --version` says; NULL: there is no compiler */
static pthread_once_t asked = PTHREAD_ONCE_INIT;

static void ask_identity(void) {
  const char *const argv[] = {compiler(), "--version", NULL};
  tw_process_result r = {0};
  if (run(NULL, argv, &r, NULL) == TW_OK && r.exit_status == 0) identity = strdup(r.output);
  tw_process_result_free(&r);
}

/* ---- flags ---- */

/* "isa NAME flags" of kernels.txt: the flags, as words of `copy`. */
static size_t flags_of(const char *source, char *copy, size_t size, const char *flag[FLAGS_MAX]) {
  const char *comment = strstr(source, X86_ISA_COMMENT);
  const tw_embedded *list = tw_embedded_find("x86/kernels.txt");
  char isa[32] = "", key[64];
  size_t n = 0;
  if (comment) sscanf(comment + strlen(X86_ISA_COMMENT), "%31[a-z0-9]", isa);
  snprintf(key, sizeof key, "\nisa %s", isa);
  for (const char *at = isa[0] && list ? (const char *)list->data : NULL; at && (at = strstr(at, key));) {
    at += strlen(key);
    if (*at != ' ' && *at != '\n') continue;
    snprintf(copy, size, "%.*s", (int)strcspn(at, "\n"), at);
    for (char *rest = NULL, *w = strtok_r(copy, " ", &rest); w && n < FLAGS_MAX - 1; w = strtok_r(NULL, " ", &rest))
      flag[n++] = w;
    flag[n] = NULL;
    return n;
  }
  flag[0] = "-march=native";
  flag[1] = NULL;
  return 1;
}

static void key_of(const char *source, size_t length, const char *const flag[], char key[TW_HASH_TEXT]) {
  tw_hash h;
  const tw_embedded *e;
  tw_hash_start(&h);
  tw_hash_add_string(&h, compiler());
  tw_hash_add_string(&h, identity);
  for (; *flag; flag++) tw_hash_add_string(&h, *flag);
  for (size_t i = 0; (e = tw_embedded_at(i)); i++)
    if (strncmp(e->name, ROOT, strlen(ROOT)) == 0) tw_hash_add(&h, e->data, e->size);
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

static tw_status write_headers(const char *directory, tw_error *error) {
  char *runtime = tw_path_join(directory, "target/x86/runtime");
  tw_status status = runtime ? tw_directory_make(runtime, error) : tw_fail(error, TW_MISSING, "out of memory");
  const tw_embedded *e;
  free(runtime);
  for (size_t i = 0; status == TW_OK && (e = tw_embedded_at(i)); i++) {
    char name[256];
    const size_t length = strlen(e->name);
    if (strncmp(e->name, ROOT, strlen(ROOT)) != 0 || strcmp(e->name + length - 2, ".h") != 0) continue;
    snprintf(name, sizeof name, "target/%.200s", e->name);
    status = write_in(directory, name, e->data, e->size, error);
  }
  return status;
}

static tw_status step(const char *directory, const char *const argv[], tw_error *error) {
  tw_process_result r = {0};
  tw_status status = run(directory, argv, &r, error);
  if (status == TW_OK && r.timed_out)
    status = tw_fail(error, TW_FAILED, "kernel.c: the compiler did not end within %.0f s", COMPILE_SECONDS);
  else if (status == TW_OK && r.exit_status != 0)
    status = tw_fail(error, TW_FAILED, "%.1500s", r.length ? r.output : "the compiler failed without a message");
  tw_process_result_free(&r);
  return status;
}

static tw_status read_in(const char *directory, const char *name, char **data, size_t *length, tw_error *error) {
  char *path = tw_path_join(directory, name);
  tw_status status =
      path ? tw_file_read(path, OUTPUT_LIMIT, data, length, error) : tw_fail(error, TW_MISSING, "out of memory");
  free(path);
  return status;
}

static tw_status compile(const char *directory, const char *const flag[], tw_error *error) {
  static const char *const fixed[] = {"-std=gnu17", "-O3", "-g0",      "-w", "-fPIC",    "-fopenmp", "-fno-plt",
                                      "-I.",        "-S",  "kernel.c", "-o", "kernel.s", NULL};
  const char *argv[FLAGS_MAX + 16];
  size_t n = 0;
  argv[n++] = compiler();
  for (size_t i = 0; flag[i]; i++) argv[n++] = flag[i];
  for (size_t i = 0; fixed[i]; i++) argv[n++] = fixed[i];
  argv[n] = NULL;
  return step(directory, argv, error);
}

static tw_status make(const char *source, size_t length, const char *const flag[], char **object, size_t *bytes,
                      tw_error *error) {
  char *directory = NULL, *assembly = NULL;
  size_t size = 0;
  const char *const link[] = {compiler(), "-shared", "-fopenmp", "kernel.s", "-o", "kernel.so", "-lm", NULL};
  tw_status status = tw_directory_temporary(&directory, error);
  if (status == TW_OK) status = write_headers(directory, error);
  if (status == TW_OK) status = write_in(directory, "kernel.c", source, length, error);
  if (status == TW_OK) status = compile(directory, flag, error);
  if (status == TW_OK) status = read_in(directory, "kernel.s", &assembly, &size, error);
  if (status == TW_OK) status = x86_inspect_assembly(assembly, size, error);
  if (status == TW_OK) status = step(directory, link, error);
  if (status == TW_OK) status = read_in(directory, "kernel.so", object, bytes, error);
  free(assembly);
  if (directory) tw_directory_remove(directory);
  free(directory);
  return status;
}

tw_status x86_build(const char *source, size_t length, char **object, size_t *bytes, tw_error *error) {
  char copy[512], key[TW_HASH_TEXT];
  const char *flag[FLAGS_MAX];
  tw_status status = x86_inspect_source(source, length, error);
  if (status != TW_OK) return status;
  pthread_once(&asked, ask_identity);
  if (!identity)
    return tw_fail(error, TW_MISSING,
                   "there is no C compiler '%s': install one (apt-get install gcc) or set TILEWRIGHT_CC", compiler());
  flags_of(source, copy, sizeof copy, flag);
  key_of(source, length, flag, key);
  if (tw_cache_get(KIND, key, object, bytes)) return TW_OK;
  status = make(source, length, flag, object, bytes, error);
  if (status == TW_OK) tw_cache_put(KIND, key, *object, *bytes);
  return status;
}
