/* toolchain.c - see toolchain.h. Programs are known by their files: asking each for its version would cost a
 * process. */
#define _GNU_SOURCE
#include "toolchain/toolchain.h"

#include <errno.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/parallel.h"
#include "base/process.h"
#include "base/strings.h"
#include "toolchain/internal.h"

/* Wall-clock time depends on the load of the computer. So the limit is processor time; the wall-clock limit only
 * ends a tool that makes no progress. */
static const double SECONDS = 60, WALL_FACTOR = 10, WALL_LEAST = 60;
static const size_t MEMORY = (size_t)4 << 30, FILE_BYTES = (size_t)128 << 20, STACK_LEAST = (size_t)4 << 20;

/* ---- which programs ---- */

/* A wrapper of a compiler (ccache) would keep its own files: the wrapped compiler is used directly. */
static bool is_wrapper(const char *path) {
  static const char *const wrappers[] = {"ccache", "sccache", "distcc"};
  char real[PATH_MAX];
  if (!realpath(path, real)) return false;
  for (size_t i = 0; i < sizeof wrappers / sizeof *wrappers; i++)
    if (!strcmp(strrchr(real, '/') + 1, wrappers[i])) return true;
  return false;
}

static bool find_program(const char *name, char path[TW_PROGRAM_PATH]) {
  if (strchr(name, '/')) return realpath(name, path) && access(path, X_OK) == 0;
  if (!tw_process_path(name, path)) return false;
  const char *directories = getenv("PATH");
  while (is_wrapper(path) && directories && *directories) {
    const size_t length = strcspn(directories, ":");
    char next[TW_PROGRAM_PATH];
    const int n = snprintf(next, sizeof next, "%.*s/%s", (int)length, directories, name);
    if (n < (int)sizeof next && access(next, X_OK) == 0 && !is_wrapper(next)) strcpy(path, next);
    directories += length + (directories[length] == ':');
  }
  return !is_wrapper(path);
}

/* Its path goes to `path`. */
static bool add_identity(tw_hash *h, const char *name, char path[TW_PROGRAM_PATH]) {
  struct stat info;
  char text[TW_PROGRAM_PATH + 100];
  if (!find_program(name, path) || stat(path, &info) < 0 || path[0] != '/') return false;
  snprintf(text, sizeof text, "%s %lld %lld.%09ld", path, (long long)info.st_size, (long long)info.st_mtim.tv_sec,
           info.st_mtim.tv_nsec);
  tw_hash_add_string(h, text);
  return true;
}

static void free_tools(tw_tools *t) {
  for (size_t i = 0; i < TW_TOOLS_MAX; i++) free(t->program[i]);
  for (size_t i = 0; i < t->n_view; i++) free((char *)(uintptr_t)t->view[i].path);
  free(t->path);
  free(t);
}

static _Atomic(tw_tools *) first;
static pthread_mutex_t looking = PTHREAD_MUTEX_INITIALIZER;

static const tw_tools *known(const char *identity) {
  for (const tw_tools *t = atomic_load(&first); t; t = t->next)
    if (!strcmp(t->identity, identity)) return t;
  return NULL;
}

/* Call with the lock held. */
static tw_status make_tools(const tw_toolchain_kind *k, const char *identity, char path[][TW_PROGRAM_PATH],
                            const tw_tools **out, tw_error *error) {
  tw_tools *t = calloc(1, sizeof *t);
  if (!t) return tw_no_memory(error, NULL);
  strcpy(t->identity, identity);
  for (size_t i = 0; i < TW_TOOLS_MAX && k->program[i]; i++)
    if (!(t->program[i] = strdup(path[i]))) {
      free_tools(t);
      return tw_no_memory(error, NULL);
    }
  const tw_status status = tw_tools_look(k, t, error);
  if (status != TW_OK) {
    free_tools(t);
    return status;
  }
  t->next = atomic_load(&first);
  atomic_store(&first, t);
  *out = t;
  return TW_OK;
}

tw_status tw_toolchain_open(const tw_toolchain_kind *k, tw_toolchain *out, tw_error *error) {
  char path[TW_TOOLS_MAX][TW_PROGRAM_PATH];
  tw_status status = TW_OK;
  tw_hash h;
  *out = (tw_toolchain){0};
  tw_hash_start(&h);
  for (size_t i = 0; i < TW_TOOLS_MAX && k->program[i]; i++)
    if (!add_identity(&h, k->program[i], path[i]))
      return tw_fail(error, TW_NO_COMPILER, "%s is missing (%s is not in PATH): %s", k->title, k->program[i],
                     k->remedy);
  tw_hash_finish_text(&h, out->identity);
  if ((out->tools = known(out->identity))) return TW_OK;
  pthread_mutex_lock(&looking);
  if (!(out->tools = known(out->identity))) status = make_tools(k, out->identity, path, &out->tools, error);
  pthread_mutex_unlock(&looking);
  return status;
}

bool tw_toolchain_is_clang(const tw_toolchain *t) { return t->tools->is_clang; }

/* ---- their messages ---- */

/* The error lines of a tool's output, at most `most`; without any, the beginning of the output. */
static char *error_lines(const char *output, int most) {
  enum { LINE = 500, ALL = 1500 };
  static const char *const wanted[] = {"error:", "Error:",        "undefined reference", "multiple definition",
                                       "ld: ",   "note: expected"};
  tw_text t = {0};
  int n = 0;
  for (const char *line = output; *line && n < most;) {
    const size_t length = strcspn(line, "\n");
    bool found = false;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
      found = found || memmem(line, length, wanted[i], strlen(wanted[i]));
    if (found) {
      const char *rest = memcmp(line, "./cc", 4) == 0 ? memmem(line, length, ".s:", 3) : NULL; /* a temporary file */
      const char *from = rest ? rest + 2 : line;
      const size_t left = length - (size_t)(from - line);
      tw_text_add(&t, "%s%s%.*s", n++ ? "\n" : "", rest ? "kernel.c: assembly" : "", (int)(left < LINE ? left : LINE),
                  from);
    }
    line += length + (line[length] == '\n');
  }
  if (n == 0) tw_text_add(&t, "%.*s", ALL, output);
  char *text = tw_text_take(&t);
  for (char *p = text; p && *p; p++)
    if (*p != '\n' && ((unsigned char)*p < ' ' || *p == 127)) *p = '?'; /* removes characters that control a terminal */
  return text;
}

/* Was the tool, or a program that a driver started, killed with SIGKILL? */
static bool is_killed(const tw_process_result *r) {
  return r->signal == SIGKILL || strstr(r->output, ": fatal error: Killed signal terminated program") ||
         strstr(r->output, "error: unable to execute command: Killed");
}

static tw_status report(const tw_tool_run *run, const tw_process_result *r, double seconds, size_t file,
                        tw_error *error) {
  const char *what = run->what;
  if (r->cpu_seconds >= seconds)
    return tw_fail(error, TW_FAILED, "%s took more than %.3g seconds of processor time and was stopped", what, seconds);
  if (r->timed_out)
    return tw_fail(
        error, TW_MISSING,
        "%s got %.1f seconds of processor time in %.1f seconds and was stopped; let this computer do less at a time",
        what, r->cpu_seconds, r->seconds);
  if (is_killed(r))
    return tw_fail(error, TW_MISSING, "%s was killed by the system, perhaps for lack of memory; try fewer --jobs",
                   what);
  if (r->signal == SIGXFSZ || strstr(r->output, "File size limit exceeded") || strstr(r->output, "File too large"))
    return tw_fail(error, TW_FAILED,
                   "kernel.c: error: %s would write more than %zu MiB; reduce initialised data or code", what,
                   file >> 20);
  if (strstr(r->output, "No space left on device"))
    return tw_fail(error, TW_DISK_FULL,
                   "%s: no space left on the device for temporary files; set TMPDIR to a folder with space", what);
  struct rlimit stack;
  if ((r->signal == SIGSEGV || strstr(r->output, "Segmentation fault")) && getrlimit(RLIMIT_STACK, &stack) == 0 &&
      stack.rlim_cur < STACK_LEAST)
    return tw_fail(error, TW_MISSING,
                   "%s: the stack is limited to %zu KiB, too little for a compiler; raise it (ulimit -s 8192)", what,
                   (size_t)stack.rlim_cur >> 10);
  char *lines = error_lines(r->output, 8);
  tw_status status;
  if (lines && *lines)
    status = tw_fail(error, TW_FAILED, "%s", lines);
  else
    status = tw_fail(error, TW_FAILED, "%s failed: %s%d", what, r->signal ? "signal " : "status ",
                     r->signal ? r->signal : r->exit_status);
  free(lines);
  return status;
}

/* ---- files ---- */

tw_status tw_tool_write(const char *directory, const char *name, const void *data, size_t length, tw_error *error) {
  char *path = tw_path_join(directory, name);
  FILE *file = path ? fopen(path, "we") : NULL;
  bool written = file && fwrite(data, 1, length, file) == length;
  if (file && fclose(file) != 0) written = false;
  const tw_status status = written
                               ? TW_OK
                               : tw_fail(error, errno == ENOSPC || errno == EDQUOT ? TW_DISK_FULL : TW_MISSING,
                                         "cannot write temporary files in '%s': %s; set TMPDIR to a folder with space",
                                         directory, strerror(errno));
  free(path);
  return status;
}

tw_status tw_tool_read(const char *directory, const char *name, char **data, size_t *length, tw_error *error) {
  enum { MOST = 256 << 20 };
  char *path = tw_path_join(directory, name);
  if (!path) return tw_no_memory(error, NULL);
  const tw_status status = tw_file_read(path, MOST, data, length, error);
  free(path);
  return status;
}

/* ---- one run ---- */

static tw_status confine(const tw_tools *t, const tw_tool_run *run, tw_confinement **out, tw_error *error) {
  enum { MORE = 16 };
  tw_path_rule path[TW_TOOL_PATHS + MORE + 1];
  size_t n = t->n_view;
  memcpy(path, t->view, n * sizeof *path);
  for (size_t i = 0; run->read && run->read[i] && i < MORE; i++) path[n++] = (tw_path_rule){run->read[i], TW_PATH_READ};
  path[n++] = (tw_path_rule){run->directory, TW_PATH_READ | TW_PATH_WRITE};
  tw_error why = {0};
  if (tw_confinement_make(&tw_tool_profile, path, n, out, &why) == TW_OK || run->trust) return TW_OK;
  return tw_fail(error, TW_MISSING, "%s; build on a system that can, or add --trust if the source is your own",
                 why.text);
}

tw_status tw_tool_run_confined(const tw_toolchain *tools, const tw_tool_run *run, tw_error *error) {
  enum { ARGUMENTS = 160 };
  const tw_tools *t = tools->tools;
  const double seconds = run->seconds > 0 ? run->seconds : SECONDS;
  const size_t file = run->file ? run->file : FILE_BYTES;
  static const char *const safe[] = {"-fno-lto", "-fdiagnostics-color=never", "-fmax-errors=8"};
  const char *argv[ARGUMENTS + 1] = {t->program[run->program]};
  size_t n = 1;
  for (size_t i = 0; t->is_driver && run->program == 0 && i < sizeof safe / sizeof *safe; i++) argv[n++] = safe[i];
  if (n > 1) argv[n++] = t->is_clang ? "-fno-caret-diagnostics" : "-fno-diagnostics-show-caret";
  /* `#pragma clang __debug overflow_stack` never ends. With this option it has no effect, and neither have pragmas
   * that end the compiler. */
  static const char *const of_clang[] = {"-Xclang", "-disable-pragma-debug-crash", "-fno-crash-diagnostics"};
  for (size_t i = 0; n > 1 && t->is_clang && i < sizeof of_clang / sizeof *of_clang; i++) argv[n++] = of_clang[i];
  for (size_t i = 1; n < ARGUMENTS && run->argv[i]; i++) argv[n++] = run->argv[i];
  /* Avoids the folder's own name, which would appear in messages. */
  const char *const environment[] = {t->path, "TMPDIR=.", "LC_ALL=C", NULL};
  tw_process_result r;
  tw_process_options o = {.argv = argv,
                          .directory = run->directory,
                          .seconds =
                              run->wall_seconds > 0 ? run->wall_seconds : fmax(WALL_FACTOR * seconds, WALL_LEAST),
                          .cpu_seconds = seconds,
                          .memory_limit = run->memory ? run->memory : MEMORY,
                          .file_limit = file,
                          .environment = environment,
                          .stop = tw_stop_of_thread()};
  tw_confinement *c = NULL;
  tw_status status = confine(t, run, &c, error);
  if (status != TW_OK) return status;
  o.confinement = c;
  status = tw_process_run(&o, &r, error);
  tw_confinement_free(c);
  if (status != TW_OK) return status;
  if (r.interrupted)
    status = tw_fail(error, TW_INTERRUPTED, "interrupted");
  else if (r.exit_status != 0)
    status = report(run, &r, seconds, file, error);
  if (run->output && status == TW_OK)
    *run->output = r.output;
  else
    tw_process_result_free(&r);
  return status;
}
