/* toolchain.c - see toolchain.h. */
#define _GNU_SOURCE /* memmem, syncfs */
#include "target/gemmini/toolchain.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/embedded.h"
#include "base/files.h"
#include "base/process.h"
#include "base/strings.h"
#include "target/gemmini/harness.h"

#define GCC "riscv64-unknown-elf-gcc"
#define AS "riscv64-unknown-elf-as"
#define LD "riscv64-unknown-elf-ld"
#define RUNTIME "gemmini/runtime/"

/* Options that decide on the code: those of the yardstick's programs (tests/data/gemmini/README.md). */
#define CODE_OPTIONS                                                                                                   \
  "-O2", "-ffast-math", "-fno-common", "-fno-tree-loop-distribute-patterns", "-march=rv64gc", "-mabi=lp64d",           \
      "-mcmodel=medany", "-std=gnu99"
/* No headers but the runtime's; messages without the source line, which the compiler would read from any file that a
 * #line names. -g1: line numbers for faults. */
#define SAFE_OPTIONS "-nostdinc", "-fno-diagnostics-show-caret", "-fdiagnostics-color=never", "-fmax-errors=8"
static const char options_text[] =
    "-O2 -ffast-math -fno-common -fno-tree-loop-distribute-patterns -march=rv64gc -mabi=lp64d -mcmodel=medany "
    "-std=gnu99 -g1 "
    "layout 1"; /* for the identity: change it with anything below that changes what is built */

static const size_t MEMORY_LIMIT = (size_t)4 << 30, FILE_LIMIT = (size_t)256 << 20;
static const double SECONDS = 60;

/* ---- Running tools ---------------------------------------------------------------------------------------- */

/* The error lines of a compiler's output, at most `most`; all of it if there are none. */
static char *error_lines(const char *output, int most) {
  tw_text t = {0};
  int n = 0;
  for (const char *line = output; *line && n < most;) {
    size_t length = strcspn(line, "\n");
    bool wanted = memmem(line, length, "error:", 6) || memmem(line, length, "undefined reference", 19) ||
                  memmem(line, length, "multiple definition", 19) || memmem(line, length, "note: expected", 14);
    if (wanted) tw_text_add(&t, "%s%.*s", n++ ? "\n" : "", (int)(length < 500 ? length : 500), line);
    line += length + (line[length] == '\n');
  }
  if (n == 0) tw_text_add_string(&t, output);
  return tw_text_take(&t);
}

static tw_status run(const char *const *argv, const char *directory, const char *input, const char *what,
                     tw_process_result *result, tw_error *error) {
  tw_process_options options = {.argv = argv,
                                .directory = directory,
                                .input = input,
                                .input_length = input ? strlen(input) : 0,
                                .seconds = SECONDS,
                                .memory_limit = MEMORY_LIMIT,
                                .file_limit = FILE_LIMIT};
  tw_status status = tw_process_run(&options, result, error);
  if (status != TW_OK) return status;
  if (result->exit_status == 0) return TW_OK;
  if (result->timed_out) {
    status = tw_fail(error, TW_FAILED, "%s took more than %.0f seconds and was stopped", what, SECONDS);
  } else {
    char *lines = error_lines(result->output, 8);
    if (lines && strstr(lines, "No space left on device"))
      status = tw_fail(error, TW_MISSING,
                       "%s: no space left on the device for temporary files: set TMPDIR to a place with room", what);
    else if (lines && *lines)
      status = tw_fail(error, TW_FAILED, "%s", lines);
    else
      status = tw_fail(error, TW_FAILED, "%s failed: %s%d", what, result->signal ? "signal " : "status ",
                       result->signal ? result->signal : result->exit_status);
    free(lines);
  }
  tw_process_result_free(result);
  return status;
}

static tw_status run_quietly(const char *const *argv, const char *directory, const char *input, const char *what,
                             tw_error *error) {
  tw_process_result result;
  tw_status status = run(argv, directory, input, what, &result, error);
  if (status == TW_OK) tw_process_result_free(&result);
  return status;
}

/* ---- Which compiler --------------------------------------------------------------------------------------- */

/* The file that `program` names in PATH; false if there is none. */
static bool find_in_path(const char *program, char path[4096], struct stat *info) {
  const char *directories = getenv("PATH");
  while (directories && *directories) {
    size_t length = strcspn(directories, ":");
    int n = snprintf(path, 4096, "%.*s/%s", (int)length, directories, program);
    if (n > 0 && n < 4096 && access(path, X_OK) == 0 && stat(path, info) == 0 && S_ISREG(info->st_mode)) return true;
    directories += length + (directories[length] == ':');
  }
  return false;
}

/* A tool is known by its file: asking it for its version would cost a process for every program. */
static tw_status add_tool(tw_hash *h, const char *program, tw_error *error) {
  char path[4096];
  struct stat info;
  if (!find_in_path(program, path, &info))
    return tw_fail(error, TW_MISSING,
                   "the RISC-V compiler is missing (%s is not in PATH): apt-get install gcc-riscv64-unknown-elf",
                   program);
  char text[4300];
  snprintf(text, sizeof text, "%s %lld %lld.%09ld", path, (long long)info.st_size, (long long)info.st_mtim.tv_sec,
           info.st_mtim.tv_nsec);
  tw_hash_add_string(h, text);
  return TW_OK;
}

static bool is_runtime(const tw_embedded *file) { return !strncmp(file->name, RUNTIME, strlen(RUNTIME)); }

tw_status gm_toolchain_open(const gm_config *config, gm_toolchain *out, tw_error *error) {
  *out = (gm_toolchain){0};
  tw_hash h;
  tw_hash_start(&h);
  tw_status status = add_tool(&h, GCC, error);
  if (status == TW_OK) status = add_tool(&h, AS, error);
  if (status == TW_OK) status = add_tool(&h, LD, error);
  if (status == TW_OK) status = gm_harness_params(config, &out->params, error);
  if (status != TW_OK) return status;
  tw_hash_add_string(&h, options_text);
  tw_hash_add_string(&h, out->params);
  const tw_embedded *file;
  for (size_t i = 0; (file = tw_embedded_at(i)); i++) {
    if (!is_runtime(file)) continue;
    tw_hash_add_string(&h, file->name);
    tw_hash_add_string(&h, (const char *)file->data);
  }
  tw_hash_finish_text(&h, out->identity);
  return TW_OK;
}

void gm_toolchain_close(gm_toolchain *t) {
  if (t->runtime && t->runtime_is_temporary) tw_directory_remove(t->runtime);
  free(t->runtime);
  free(t->params);
  *t = (gm_toolchain){0};
}

/* ---- The runtime ------------------------------------------------------------------------------------------ */

/* Without the synchronization with the disk that tw_file_write does: nobody needs a temporary file after a crash. */
static tw_status write_text(const char *directory, const char *name, const char *text, tw_error *error) {
  char *path = tw_path_join(directory, name);
  FILE *file = path ? fopen(path, "we") : NULL;
  bool written = file && fputs(text, file) >= 0;
  if (file && fclose(file) != 0) written = false;
  tw_status status = written ? TW_OK
                             : tw_fail(error, TW_MISSING,
                                       "cannot write temporary files in '%s': %s; set TMPDIR to a "
                                       "place with room",
                                       directory, strerror(errno));
  free(path);
  return status;
}

static tw_status write_headers(const gm_toolchain *t, const char *directory, tw_error *error) {
  char *include = tw_path_join(directory, "include");
  if (!include) return tw_fail(error, TW_MISSING, "out of memory");
  tw_status status = tw_directory_make(include, error);
  free(include);
  const tw_embedded *file;
  for (size_t i = 0; status == TW_OK && (file = tw_embedded_at(i)); i++)
    if (is_runtime(file)) status = write_text(directory, file->name + strlen(RUNTIME), (const char *)file->data, error);
  if (status == TW_OK) status = write_text(directory, "include/gemmini_params.h", t->params, error);
  return status;
}

/* libgcc.a lies where the compiler says; a link to it saves asking again. */
static tw_status link_libgcc(const char *directory, tw_error *error) {
  const char *const ask[] = {GCC, "-march=rv64gc", "-mabi=lp64d", "-print-libgcc-file-name", NULL};
  tw_process_result result;
  tw_status status = run(ask, directory, NULL, "the compiler", &result, error);
  if (status != TW_OK) return status;
  result.output[strcspn(result.output, "\n")] = '\0';
  char *path = tw_path_join(directory, "libgcc.a");
  if (!path || symlink(result.output, path) < 0)
    status = tw_fail(error, TW_MISSING, "cannot make a link to %s: %s", result.output, strerror(errno));
  free(path);
  tw_process_result_free(&result);
  return status;
}

static tw_status build_runtime(const gm_toolchain *t, const char *directory, tw_error *error) {
  tw_status status = write_headers(t, directory, error);
  if (status != TW_OK) return status;
  /* -fno-builtin: what defines memset must not become a call of memset. */
  const char *const libc[] = {GCC,   CODE_OPTIONS, SAFE_OPTIONS, "-fno-builtin", "-ffunction-sections",
                              "-g1", "-isystem",   "include",    "-c",           "libc.c",
                              "-o",  "libc.o",     NULL};
  const char *const start[] = {GCC, "-march=rv64gc", "-mabi=lp64d", "-c", "start.S", "-o", "start.o", NULL};
  status = run_quietly(libc, directory, NULL, "compiling the runtime", error);
  if (status == TW_OK) status = run_quietly(start, directory, NULL, "compiling the runtime", error);
  if (status == TW_OK) status = link_libgcc(directory, error);
  return status;
}

/* On the disk before the directory gets its name, so that a power failure leaves a whole one or none. */
static bool settle(const char *directory) {
  int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool settled = fd >= 0 && syncfs(fd) == 0;
  if (fd >= 0) close(fd);
  return settled;
}

/* Built beside its place and moved there whole. Whoever loses a race uses the winner's. */
static bool prepare_in_cache(gm_toolchain *t) {
  char *directory = tw_cache_directory("gemmini-runtime");
  char *final = directory ? tw_path_join(directory, t->identity) : NULL;
  char *temporary = directory ? tw_path_join(directory, ".new-XXXXXX") : NULL;
  bool there = final && tw_file_exists(final);
  if (!there && final && temporary && mkdtemp(temporary)) {
    there = build_runtime(t, temporary, NULL) == TW_OK && settle(temporary) &&
            (rename(temporary, final) == 0 || tw_file_exists(final));
    if (tw_file_exists(temporary)) tw_directory_remove(temporary);
  }
  free(temporary);
  free(directory);
  if (there)
    t->runtime = final;
  else
    free(final);
  return there;
}

tw_status gm_toolchain_prepare(gm_toolchain *t, tw_error *error) {
  if (t->runtime || prepare_in_cache(t)) return TW_OK;
  tw_status status = tw_directory_temporary(&t->runtime, error);
  if (status != TW_OK) return status;
  t->runtime_is_temporary = true;
  return build_runtime(t, t->runtime, error);
}

/* ---- One program ------------------------------------------------------------------------------------------ */

static tw_status read_in(const char *directory, const char *name, char **data, size_t *length, tw_error *error) {
  char *path = tw_path_join(directory, name);
  if (!path) return tw_fail(error, TW_MISSING, "out of memory");
  tw_status status = tw_file_read(path, FILE_LIMIT, data, length, error);
  free(path);
  return status;
}

tw_status gm_compile(const gm_toolchain *t, const char *directory, const char *program, char **assembly, size_t *length,
                     tw_error *error) {
  char *include = tw_path_join(t->runtime, "include");
  if (!include) return tw_fail(error, TW_MISSING, "out of memory");
  const char *const argv[] = {GCC,        CODE_OPTIONS, SAFE_OPTIONS, "-Werror=implicit-function-declaration",
                              "-g1",      "-isystem",   include,      "-isystem",
                              t->runtime, "-x",         "c",          "-",
                              "-S",       "-o",         "kernel.s",   NULL};
  tw_status status = run_quietly(argv, directory, program, "compiling the kernel", error);
  free(include);
  return status == TW_OK ? read_in(directory, "kernel.s", assembly, length, error) : status;
}

tw_status gm_link(const gm_toolchain *t, const char *directory, const char *script, char **elf, size_t *length,
                  tw_error *error) {
  tw_status status = write_text(directory, "program.ld", script, error);
  char *start = tw_path_join(t->runtime, "start.o"), *libc = tw_path_join(t->runtime, "libc.o");
  char *libgcc = tw_path_join(t->runtime, "libgcc.a");
  if (!start || !libc || !libgcc) status = tw_fail(error, TW_MISSING, "out of memory");
  const char *const assemble[] = {AS, "-march=rv64gc", "-mabi=lp64d", "kernel.s", "-o", "kernel.o", NULL};
  const char *const link[] = {
      LD,   "-T",          "program.ld", "--gc-sections", "--no-warn-rwx-segments", start, "kernel.o", libc, libgcc,
      "-o", "program.elf", NULL};
  if (status == TW_OK) status = run_quietly(assemble, directory, NULL, "assembling the kernel", error);
  if (status == TW_OK) status = run_quietly(link, directory, NULL, "linking the kernel", error);
  if (status == TW_OK) status = read_in(directory, "program.elf", elf, length, error);
  free(start);
  free(libc);
  free(libgcc);
  return status;
}
