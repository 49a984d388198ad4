/* toolchain.c - see toolchain.h. */
#include "target/cdna/toolchain.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cache.h"
#include "base/files.h"
#include "base/hash.h"
#include "base/process.h"
#include "base/strings.h"

#define CLANG "clang-22"
#define LINKER "ld.lld-22"
#define KIND "cdna"

enum { OBJECT_LIMIT = 256 << 20, DEFINES_MAX = TW_LAUNCH_LETS };

static const char options[] = "-O3 -nogpulib -ffreestanding -g1 2"; /* for the key: change it with what is below */

tw_status cdna_toolchain_find(tw_error *error) {
  static const char *const programs[] = {CLANG, LINKER};
  for (int i = 0; i < 2; i++)
    if (!tw_process_find(programs[i]))
      return tw_fail(error, TW_MISSING,
                     "the compiler for AMD GPUs is missing (%s is not in PATH): apt-get install clang-22 lld-22",
                     programs[i]);
  return TW_OK;
}

/* Assembly has directives of the assembler at the beginnings of lines, and C does not. */
static bool is_assembly(const char *source) {
  return strstr(source, ".amdgcn_target") || strstr(source, ".amdhsa_kernel");
}

/* The compiler's errors, without the file's temporary folder. */
static tw_status refuse(const tw_process_result *r, tw_error *error) {
  tw_text t = {0};
  int n = 0;
  for (const char *line = r->output; *line && n < 8;) {
    const size_t length = strcspn(line, "\n");
    char copy[400];
    snprintf(copy, sizeof copy, "%.*s", (int)length, line);
    if (strstr(copy, "error:") || strstr(copy, "undefined symbol")) tw_text_add(&t, "%s%s", n++ ? "\n" : "", copy);
    line += length + (line[length] == '\n');
  }
  if (!n) tw_text_add(&t, "the compiler failed: %.300s", r->timed_out ? "it took more than 60 seconds" : r->output);
  const tw_status status = tw_fail(error, TW_FAILED, "%.1900s", t.data ? t.data : "");
  tw_text_free(&t);
  return status;
}

/* Under a name that messages and line numbers then have. */
static tw_status write_source(const char *directory, const char *name, const char *source, size_t length,
                              tw_error *error) {
  char *path = tw_path_join(directory, name);
  FILE *file = path ? fopen(path, "we") : NULL;
  bool written = file && fwrite(source, 1, length, file) == length;
  if (file && fclose(file) != 0) written = false;
  free(path);
  return written ? TW_OK
                 : tw_fail(error, TW_MISSING, "cannot write temporary files in '%s': set TMPDIR to a place with room",
                           directory);
}

static tw_status compile_in(const char *directory, cdna_arch arch, const char *source, size_t length, bool assembly,
                            char define[][64], int n_defines, char **object, size_t *size, tw_error *error) {
  const char *argv[32 + DEFINES_MAX], *name = assembly ? "kernel.s" : "kernel.c";
  int n = 0;
  argv[n++] = CLANG;
  argv[n++] = "--target=amdgcn-amd-amdhsa";
  argv[n++] = arch == CDNA3 ? "-mcpu=gfx942" : "-mcpu=gfx950";
  argv[n++] = "-nogpulib";
  argv[n++] = "-g1";
  argv[n++] = "-fno-color-diagnostics";
  argv[n++] = "-fno-caret-diagnostics";
  if (!assembly) {
    static const char *const c[] = {"-std=gnu17", "-O3", "-ffreestanding", "-nostdinc", "-ffp-contract=fast"};
    for (size_t i = 0; i < sizeof c / sizeof *c; i++) argv[n++] = c[i];
  }
  for (int i = 0; i < n_defines; i++) argv[n++] = define[i];
  argv[n++] = "-x";
  argv[n++] = assembly ? "assembler" : "c";
  argv[n++] = name;
  argv[n++] = "-o";
  argv[n++] = "kernel.co";
  argv[n] = NULL;
  tw_status status = write_source(directory, name, source, length, error);
  if (status != TW_OK) return status;
  tw_process_result result;
  const tw_process_options run = {
      .argv = argv, .directory = directory, .memory_limit = (size_t)8 << 30, .file_limit = OBJECT_LIMIT};
  status = tw_process_run(&run, &result, error);
  if (status != TW_OK) return status;
  if (result.exit_status != 0) {
    status = refuse(&result, error);
  } else {
    char *path = tw_path_join(directory, "kernel.co");
    status = path ? tw_file_read(path, OBJECT_LIMIT, object, size, error) : tw_fail(error, TW_MISSING, "out of memory");
    free(path);
  }
  tw_process_result_free(&result);
  return status;
}

tw_status cdna_compile(cdna_arch arch, const char *source, size_t length, const tw_launch *launch, char **object,
                       size_t *size, tw_error *error) {
  char define[DEFINES_MAX][64], key[TW_HASH_TEXT], *directory = NULL;
  int n = 0;
  tw_hash h;
  tw_status status = cdna_toolchain_find(error);
  if (status != TW_OK) return status;
  tw_hash_start(&h);
  tw_hash_add_string(&h, options);
  tw_hash_add_string(&h, arch == CDNA3 ? "gfx942" : "gfx950");
  tw_hash_add(&h, source, length);
  for (size_t i = 0; launch && i < launch->n_lets; i++, n++) {
    snprintf(define[n], sizeof define[n], "-D%s=%" PRId64, launch->let[i].name, launch->let[i].value);
    tw_hash_add_string(&h, define[n]);
  }
  tw_hash_finish_text(&h, key);
  if (tw_cache_get(KIND, key, object, size)) return TW_OK;
  status = tw_directory_temporary(&directory, error);
  if (status == TW_OK)
    status = compile_in(directory, arch, source, length, is_assembly(source), define, n, object, size, error);
  if (status == TW_OK) tw_cache_put(KIND, key, *object, *size);
  if (directory) tw_directory_remove(directory);
  free(directory);
  return status;
}
