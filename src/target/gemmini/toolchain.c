/* toolchain.c - see toolchain.h. */
#define _GNU_SOURCE /* syncfs */
#include "target/gemmini/toolchain.h"

#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cache.h"
#include "base/embedded.h"
#include "base/files.h"
#include "target/gemmini/harness.h"
#include "toolchain/object.h"

#define RUNTIME "gemmini/runtime/"

enum { GCC, AS, LD };
static const tw_toolchain_kind kind = {
    .title = "the RISC-V compiler",
    .remedy = "apt-get install gcc-riscv64-unknown-elf",
    .program = {"riscv64-unknown-elf-gcc", "riscv64-unknown-elf-as", "riscv64-unknown-elf-ld"},
    .driver = true,
};

/* Options that decide on the code: as for the yardstick's programs (tests/data/gemmini/README.md). */
#define CODE_OPTIONS                                                                                                   \
  "-O2", "-ffast-math", "-fno-common", "-fno-tree-loop-distribute-patterns", "-march=rv64gc", "-mabi=lp64d",           \
      "-mcmodel=medany", "-std=gnu99"
/* Only the runtime's headers are visible. -g1: line numbers for faults. */
static const char options_text[] =
    "-O2 -ffast-math -fno-common -fno-tree-loop-distribute-patterns -march=rv64gc -mabi=lp64d -mcmodel=medany "
    "-std=gnu99 -g1 "
    "layout 2"; /* part of the identity: change it with every change below that affects the built files */

enum { FILE_BYTES_MAX = 64 << 20, ZERO_BYTES_MAX = 1 << 30 };
static const char *const sections[] = {TW_OBJECT_SECTIONS_OF_C, ".sdata", ".sbss", ".srodata",
                                       ".riscv.attributes",     NULL};
static const char *const reserved[] = {"_start", "_exit", "main", "__harness_table", "__global_pointer$", NULL};
static const tw_object_rules rules = {.machine = EM_RISCV,
                                      .section = sections,
                                      .reserved = reserved,
                                      .data_bytes = FILE_BYTES_MAX,
                                      .zero_bytes = ZERO_BYTES_MAX};

/* Files of bare/ are exported with a kernel. */
static bool is_runtime(const tw_embedded *file) {
  return !strncmp(file->name, RUNTIME, strlen(RUNTIME)) &&
         strncmp(file->name, RUNTIME "bare/", strlen(RUNTIME "bare/")) != 0;
}

tw_status gm_toolchain_open(const gm_config *config, gm_toolchain *out, tw_error *error) {
  *out = (gm_toolchain){0};
  tw_hash h;
  tw_hash_start(&h);
  tw_status status = tw_toolchain_open(&kind, &out->tools, error);
  if (status == TW_OK) status = gm_harness_params(config, &out->params, error);
  if (status != TW_OK) return status;
  tw_hash_add_string(&h, out->tools.identity);
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

static tw_status write_text(const char *directory, const char *name, const char *text, tw_error *error) {
  return tw_tool_write(directory, name, text, strlen(text), error);
}

static tw_status write_headers(const gm_toolchain *t, const char *directory, tw_error *error) {
  char *include = tw_path_join(directory, "include");
  if (!include) return tw_no_memory(error, NULL);
  tw_status status = tw_directory_make(include, error);
  free(include);
  const tw_embedded *file;
  for (size_t i = 0; status == TW_OK && (file = tw_embedded_at(i)); i++)
    if (is_runtime(file)) status = write_text(directory, file->name + strlen(RUNTIME), (const char *)file->data, error);
  if (status == TW_OK) status = write_text(directory, "include/gemmini_params.h", t->params, error);
  return status;
}

static tw_status run(const gm_toolchain *t, size_t program, const char *const *argv, const char *directory,
                     const char *what, bool trust, char **output, tw_error *error) {
  const char *const read[] = {t->runtime ? t->runtime : directory, NULL};
  const tw_tool_run r = {.program = program,
                         .argv = argv,
                         .directory = directory,
                         .read = read,
                         .what = what,
                         .file = FILE_BYTES_MAX,
                         .trust = trust,
                         .output = output};
  return tw_tool_run_confined(&t->tools, &r, error);
}

/* the compiler prints the path of libgcc.a; a copy avoids a second query and is in a folder that the linker may
 * read. */
static tw_status copy_libgcc(const gm_toolchain *t, const char *directory, tw_error *error) {
  const char *const ask[] = {"", "-march=rv64gc", "-mabi=lp64d", "-print-libgcc-file-name", NULL};
  char *name = NULL, *data = NULL;
  size_t length = 0;
  tw_status status = run(t, GCC, ask, directory, "the compiler", true, &name, error);
  if (status != TW_OK) return status;
  name[strcspn(name, "\n")] = '\0';
  status = tw_file_read(name, FILE_BYTES_MAX, &data, &length, error);
  if (status == TW_OK) status = tw_tool_write(directory, "libgcc.a", data, length, error);
  free(data);
  free(name);
  return status;
}

/* The library's own sources are compiled here. */
static tw_status build_runtime(const gm_toolchain *t, const char *directory, tw_error *error) {
  tw_status status = write_headers(t, directory, error);
  if (status != TW_OK) return status;
  /* -fno-builtin: the function that defines memset must not become a call of memset. */
  const char *const libc[] = {"",    CODE_OPTIONS, "-nostdinc", "-fno-builtin", "-ffunction-sections",
                              "-g1", "-isystem",   "include",   "-c",           "libc.c",
                              "-o",  "libc.o",     NULL};
  const char *const start[] = {"", "-march=rv64gc", "-mabi=lp64d", "-c", "start.S", "-o", "start.o", NULL};
  status = run(t, GCC, libc, directory, "compiling the runtime", true, NULL, error);
  if (status == TW_OK) status = run(t, GCC, start, directory, "compiling the runtime", true, NULL, error);
  if (status == TW_OK) status = copy_libgcc(t, directory, error);
  return status;
}

/* Written to disk before the directory is renamed, so that after a power failure it is complete or absent. */
static bool sync_directory(const char *directory) {
  int fd = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  bool settled = fd >= 0 && syncfs(fd) == 0;
  if (fd >= 0) close(fd);
  return settled;
}

/* Built under a temporary name in its folder, then renamed. The loser of a race uses the winner's. */
static bool prepare_in_cache(gm_toolchain *t) {
  char *directory = tw_cache_directory("gemmini-runtime");
  char *final = directory ? tw_path_join(directory, t->identity) : NULL;
  char *temporary = directory ? tw_path_join(directory, ".new-XXXXXX") : NULL;
  bool there = final && tw_file_exists(final);
  if (!there && final && temporary && mkdtemp(temporary)) {
    there = build_runtime(t, temporary, NULL) == TW_OK && sync_directory(temporary) &&
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

tw_status gm_compile(const gm_toolchain *t, const char *directory, const char *program, bool trust, tw_error *error) {
  char *include = tw_path_join(t->runtime, "include"), *object = NULL;
  size_t length = 0;
  if (!include) return tw_no_memory(error, NULL);
  const char *const argv[] = {"",         CODE_OPTIONS, "-nostdinc", "-Werror=implicit-function-declaration",
                              "-g1",      "-isystem",   include,     "-isystem",
                              t->runtime, "-c",         "kernel.c",  "-o",
                              "kernel.o", NULL};
  tw_status status = write_text(directory, "kernel.c", program, error);
  if (status == TW_OK) status = run(t, GCC, argv, directory, "compiling the kernel", trust, NULL, error);
  if (status == TW_OK) status = tw_tool_read(directory, "kernel.o", &object, &length, error);
  if (status == TW_OK) status = tw_object_check(object, length, &rules, error);
  free(object);
  free(include);
  return status;
}

tw_status gm_link(const gm_toolchain *t, const char *directory, const char *script, bool trust, char **elf,
                  size_t *length, tw_error *error) {
  tw_status status = write_text(directory, "program.ld", script, error);
  char *start = tw_path_join(t->runtime, "start.o"), *libc = tw_path_join(t->runtime, "libc.o");
  char *libgcc = tw_path_join(t->runtime, "libgcc.a");
  if (!start || !libc || !libgcc) status = tw_no_memory(error, NULL);
  const char *const link[] = {
      "",   "-T",          "program.ld", "--gc-sections", "--no-warn-rwx-segments", start, "kernel.o", libc, libgcc,
      "-o", "program.elf", NULL};
  if (status == TW_OK) status = run(t, LD, link, directory, "linking the kernel", trust, NULL, error);
  if (status == TW_OK) status = tw_tool_read(directory, "program.elf", elf, length, error);
  free(start);
  free(libc);
  free(libgcc);
  return status;
}
