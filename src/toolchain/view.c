/* view.c - the files that a tool chain's programs may read and run: the smallest set that works on every distribution.
 *
 * - the programs, and their whole prefix if they have their own (/opt/riscv, /usr/lib/llvm-14);
 * - the folders in a driver's search path, except folders of the whole system (/usr/lib, /usr/bin);
 * - the loader and its cache;
 * - the folder of this process's C library, which has the libraries of the system's programs. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>

#include "base/process.h"
#include "base/strings.h"
#include "toolchain/internal.h"

enum { READ = TW_PATH_READ, RUN = TW_PATH_READ | TW_PATH_EXECUTE };

static void add(tw_tools *t, const char *path, unsigned rights) {
  for (size_t i = 0; i < t->n_view; i++)
    if (!strcmp(t->view[i].path, path)) {
      t->view[i].rights |= rights;
      return;
    }
  char *copy = t->n_view < TW_TOOL_PATHS ? strdup(path) : NULL;
  if (copy) t->view[t->n_view++] = (tw_path_rule){copy, rights};
}

/* Is it a folder of the whole system, such as /usr/lib? */
static bool is_wide(const char *path) {
  static const char *const wide[] = {"/usr/lib", "/usr/lib64", "/usr/lib32", "/usr/libx32",
                                     "/usr/bin", "/usr/sbin",  "/usr/local", "/usr/share"};
  int parts = 0;
  for (const char *p = path; *p; p++) parts += *p == '/' && p[1];
  for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
    if (!strcmp(path, wide[i])) return true;
  return parts < 2;
}

static void add_folder(tw_tools *t, const char *path, unsigned rights) {
  char real[PATH_MAX];
  if (!realpath(path, real) || is_wide(real)) return;
  add(t, real, rights);
  char *gcc = strstr(real, "/gcc/"); /* clang looks for versions of GCC, to use its start files and libraries */
  if (!gcc) return;
  gcc[4] = '\0';
  add(t, real, TW_PATH_READ);
}

/* Adds the file and its prefix. */
static void add_program(tw_tools *t, const char *path) {
  char real[PATH_MAX];
  if (!realpath(path, real)) return;
  add(t, real, RUN);
  char *slash = strrchr(real, '/');
  if (slash - real < 4 || memcmp(slash - 4, "/bin", 4) != 0) return;
  slash[-4] = '\0';
  if (real[0] && strcmp(real, "/usr") != 0 && !is_wide(real)) add(t, real, RUN);
}

/* Adds the file that holds `address`; with `folder`, also the folder of that file. */
static void add_object_of(tw_tools *t, const void *address, bool folder) {
  Dl_info info;
  char real[PATH_MAX];
  if (!address || !dladdr(address, &info) || !realpath(info.dli_fname, real)) return;
  if (folder) *strrchr(real, '/') = '\0';
  add(t, real, folder ? READ : RUN);
}

static void add_system(tw_tools *t) {
  add_object_of(t, (const void *)(uintptr_t)getauxval(AT_BASE), false);
  add_object_of(t, (const void *)(uintptr_t)&getauxval, true);
  add(t, "/etc/ld.so.cache", READ);
  add(t, "/dev/null", TW_PATH_READ | TW_PATH_WRITE);
}

/* Adds the folders of the lines "programs: =/a:/b" and "libraries: =/a:/b". */
static void add_searched(tw_tools *t, const char *output) {
  for (const char *line = output; *line;) {
    const size_t length = strcspn(line, "\n");
    const bool programs = strncmp(line, "programs: =", 11) == 0, libraries = strncmp(line, "libraries: =", 12) == 0;
    const char *p = line + (programs ? 11 : 12), *end = line + length;
    while ((programs || libraries) && p < end) {
      char folder[PATH_MAX];
      size_t n = strcspn(p, ":\n");
      snprintf(folder, sizeof folder, "%.*s", (int)n, p);
      add_folder(t, folder, programs ? RUN : READ);
      p += n + 1;
    }
    line = end + (*end == '\n');
  }
}

static tw_status ask_driver(const tw_toolchain_kind *k, tw_tools *t, tw_error *error) {
  const char *const argv[] = {t->program[0], "-print-search-dirs", NULL};
  const char *const environment[] = {t->path, "LC_ALL=C", NULL};
  tw_process_result r;
  const tw_process_options o = {.argv = argv, .environment = environment, .seconds = 10};
  tw_status status = tw_process_run(&o, &r, error);
  if (status != TW_OK) return status;
  t->is_driver = true;
  t->is_clang = strncmp(r.output, "install:", 8) != 0; /* only GCC prints this line */
  if (r.exit_status == 0)
    add_searched(t, r.output);
  else
    status = tw_fail(error, TW_NO_COMPILER, "%s does not work: %s -print-search-dirs fails", k->title, t->program[0]);
  tw_process_result_free(&r);
  return status;
}

static char *path_variable(const tw_tools *t) {
  tw_text text = {0};
  tw_text_add_string(&text, "PATH=");
  for (size_t i = 0; i < TW_TOOLS_MAX && t->program[i]; i++) {
    const char *slash = strrchr(t->program[i], '/');
    tw_text_add(&text, "%s%.*s", i ? ":" : "", (int)(slash - t->program[i]), t->program[i]);
  }
  return tw_text_take(&text);
}

tw_status tw_tools_look(const tw_toolchain_kind *k, tw_tools *t, tw_error *error) {
  if (!(t->path = path_variable(t))) return tw_no_memory(error, NULL);
  add_system(t);
  for (size_t i = 0; i < TW_TOOLS_MAX && t->program[i]; i++) add_program(t, t->program[i]);
  for (size_t i = 0; k->read && k->read[i]; i++) add(t, k->read[i], READ);
  return k->driver ? ask_driver(k, t, error) : TW_OK;
}
