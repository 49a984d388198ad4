/* link.c - child processes on two pipes. Threads of every rival are bound, one to a core: without that a call of two threads
 * now and then waits 4 ms for a partner that the system has put on the same core (OpenMP spinning). */
#define _GNU_SOURCE
#include "bench/rivals/link.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"

extern char **environ;

static const char PREFIX[] = "rival_";
static const double START_SECONDS = 120;

static void add(rival_link *out, size_t *n, const char *path) {
  if (*n == RIVALS_MAX) return;
  const char *name = strrchr(path, '/');
  name = name ? name + 1 : path;
  if (strncmp(name, PREFIX, strlen(PREFIX)) == 0) name += strlen(PREFIX);
  rival_link *r = &out[(*n)++];
  *r = (rival_link){0};
  snprintf(r->name, sizeof r->name, "%.40s", name);
  snprintf(r->path, sizeof r->path, "%.4000s", path);
}

static int in_order(const void *a, const void *b) {
  const rival_link *x = a, *y = b;
  const bool own_x = strcmp(x->name, "tilewright") == 0, own_y = strcmp(y->name, "tilewright") == 0;
  return own_x != own_y ? own_y - own_x : strcmp(x->name, y->name);
}

size_t rivals_find(rival_link out[RIVALS_MAX], const char *log) {
  char self[3072], path[4096];
  size_t n = 0;
  const ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);
  if (length <= 0) return 0;
  self[length] = '\0';
  *strrchr(self, '/') = '\0';
  DIR *directory = opendir(self);
  for (struct dirent *e; directory && (e = readdir(directory));) {
    snprintf(path, sizeof path, "%s/%s", self, e->d_name);
    if (strncmp(e->d_name, PREFIX, strlen(PREFIX)) == 0 && access(path, X_OK) == 0) add(out, &n, path);
  }
  if (directory) closedir(directory);
  const char *more = getenv("TILEWRIGHT_RIVALS");
  char *list = more ? strdup(more) : NULL, *rest = NULL;
  for (char *p = list ? strtok_r(list, ":", &rest) : NULL; p; p = strtok_r(NULL, ":", &rest)) add(out, &n, p);
  free(list);
  qsort(out, n, sizeof *out, in_order);
  for (size_t i = 0; i < n; i++) out[i].log = log;
  return n;
}

/* ---- one program ---- */

static bool spawn(rival_link *r) {
  int to[2], from[2];
  posix_spawn_file_actions_t actions;
  char *argv[] = {r->path, NULL};
  if (pipe2(to, O_CLOEXEC) != 0) return false;
  if (pipe2(from, O_CLOEXEC) != 0) return close(to[0]), close(to[1]), false;
  setenv("OMP_PROC_BIND", "true", 0);
  setenv("OMP_PLACES", "cores", 0);
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, to[0], 0);
  posix_spawn_file_actions_adddup2(&actions, from[1], 1);
  posix_spawn_file_actions_addopen(&actions, 2, r->log, O_WRONLY | O_CREAT | O_APPEND, 0666);
  const int failed = posix_spawn(&r->pid, r->path, &actions, NULL, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  close(to[0]);
  close(from[1]);
  r->to = fdopen(to[1], "w");
  r->from = fdopen(from[0], "r");
  if (failed) r->pid = 0;
  return !failed && r->to && r->from;
}

/* Lines are short and come whole; anything longer is cut. */
static bool read_line(rival_link *r, double seconds, char answer[ANSWER]) {
  const double until = tw_now() + seconds;
  size_t n = 0;
  for (;;) {
    const double left = until - tw_now();
    struct pollfd p = {.fd = fileno(r->from), .events = POLLIN};
    char c;
    if (left <= 0 || poll(&p, 1, (int)(left * 1e3) + 1) < 0) return false;
    if (!p.revents) continue;
    if (read(p.fd, &c, 1) != 1) return false;
    if (c == '\n') break;
    if (n < ANSWER - 1) answer[n++] = c;
  }
  answer[n] = '\0';
  return true;
}

/* What a library prints on standard output by itself is passed over: only the protocol's words count. */
static bool read_answer(rival_link *r, double seconds, char answer[ANSWER]) {
  static const char *const words[] = {"rival ", "absent ", "ready ", "no ", "time ", "checked", "ended"};
  const double until = tw_now() + seconds;
  while (read_line(r, until - tw_now(), answer))
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
      if (strncmp(answer, words[i], strlen(words[i])) == 0) return true;
  return false;
}

void rival_end(rival_link *r) {
  if (r->to) fclose(r->to);
  if (r->from) fclose(r->from);
  if (r->pid) {
    kill(r->pid, SIGKILL);
    waitpid(r->pid, NULL, 0);
  }
  r->to = r->from = NULL;
  r->pid = 0;
}

bool rival_begin(rival_link *r, char why[ANSWER]) {
  if (r->pid) return true;
  signal(SIGPIPE, SIG_IGN);
  if (spawn(r) && read_answer(r, START_SECONDS, why) && strncmp(why, "rival ", 6) == 0) return true;
  if (strncmp(why, "absent ", 7) == 0)
    memmove(why, why + 7, strlen(why + 7) + 1);
  else
    snprintf(why, ANSWER, "the program does not start");
  rival_end(r);
  return false;
}

bool rival_ask(rival_link *r, double seconds, char answer[ANSWER], const char *format, ...) {
  va_list arguments;
  snprintf(answer, ANSWER, "no it has died");
  if (!r->pid) return false;
  va_start(arguments, format);
  vfprintf(r->to, format, arguments);
  va_end(arguments);
  if (fputc('\n', r->to) != EOF && fflush(r->to) == 0 && read_answer(r, seconds, answer)) return true;
  rival_end(r);
  snprintf(answer, ANSWER, "no it has died or does not answer");
  return false;
}
