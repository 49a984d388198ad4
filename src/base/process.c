/* process.c - posix_spawn in a process group of its own, and a poll loop that feeds, listens and watches the clock.
 *
 * Every descriptor is close-on-exec from its birth, so that children started by other threads at the same
 * moment do not inherit (and keep open) this one's pipes. The whole group is killed, because a compiler driver
 * starts further programs. */
#define _GNU_SOURCE
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/strings.h"

extern char **environ;

enum { SLICE_MS = 50 }; /* how often the interrupt flag is looked at */

typedef struct running {
  const tw_process_options *options;
  tw_process_result *result;
  pid_t pid;
  int in, out, err; /* our ends of the pipes; -1 when closed */
  size_t fed;
  tw_text output, errors;
  double start, deadline;
  int wait_status;
} running;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void close_end(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

/* Child ends in `child`, ours in r. */
static int open_pipes(running *r, int child[3]) {
  int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};
  if (r->options->input) {
    /* A socket pair and not a pipe: send() can spare us SIGPIPE when the program does not read. */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) < 0) return errno;
  } else {
    in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (in[0] < 0) return errno;
  }
  if (pipe2(out, O_CLOEXEC) < 0 || (r->options->errors_apart && pipe2(err, O_CLOEXEC) < 0)) {
    int number = errno;
    close_end(&in[0]), close_end(&in[1]);
    close_end(&out[0]), close_end(&out[1]);
    return number;
  }
  r->in = in[1], r->out = out[0], r->err = err[0];
  child[0] = in[0], child[1] = out[1], child[2] = err[1];
  return 0;
}

/* 0 or an errno. */
static int spawn(running *r, const int child[3]) {
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  sigset_t none, defaults;
  int number = posix_spawn_file_actions_init(&actions);
  if (number) return number;
  if ((number = posix_spawnattr_init(&attributes))) {
    posix_spawn_file_actions_destroy(&actions);
    return number;
  }
  sigemptyset(&none);
  sigemptyset(&defaults);
  sigaddset(&defaults, SIGPIPE);
  sigaddset(&defaults, SIGINT);
  posix_spawnattr_setpgroup(&attributes, 0);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &defaults);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  number = posix_spawn_file_actions_adddup2(&actions, child[0], 0);
  if (!number) number = posix_spawn_file_actions_adddup2(&actions, child[1], 1);
  if (!number) number = posix_spawn_file_actions_adddup2(&actions, child[2] >= 0 ? child[2] : child[1], 2);
  if (!number && r->options->directory) number = posix_spawn_file_actions_addchdir_np(&actions, r->options->directory);
  if (!number) /* argv is not written to; its type is historical */
    number = posix_spawnp(&r->pid, r->options->argv[0], &actions, &attributes,
                          (char *const *)(uintptr_t)r->options->argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  return number;
}

/* Limits that hold even if this process dies and nobody watches the clock any more. */
static void limit(const running *r, double seconds) {
  struct rlimit cpu = {(rlim_t)seconds + 1, (rlim_t)seconds + 2}, core = {0, 0};
  prlimit(r->pid, RLIMIT_CPU, &cpu, NULL);
  prlimit(r->pid, RLIMIT_CORE, &core, NULL);
  if (r->options->memory_limit) {
    struct rlimit memory = {r->options->memory_limit, r->options->memory_limit};
    prlimit(r->pid, RLIMIT_AS, &memory, NULL);
  }
  if (r->options->file_limit) {
    struct rlimit file = {r->options->file_limit, r->options->file_limit};
    prlimit(r->pid, RLIMIT_FSIZE, &file, NULL);
  }
}

static void feed(running *r) {
  const char *input = r->options->input;
  ssize_t n = send(r->in, input + r->fed, r->options->input_length - r->fed, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n > 0) r->fed += (size_t)n;
  if (n < 0 || r->fed == r->options->input_length) close_end(&r->in); /* EPIPE: it does not want the rest */
}

/* Keeps what comes up to the limit; true if there was more than that. */
static bool listen_to(int *end, size_t limit, tw_text *kept) {
  char buffer[1 << 14];
  ssize_t n = read(*end, buffer, sizeof buffer);
  if (n < 0 && errno == EINTR) return false;
  if (n <= 0) {
    close_end(end);
    return false;
  }
  size_t most = limit ? limit : 1 << 16;
  size_t room = most - kept->length, take = (size_t)n < room ? (size_t)n : room;
  tw_text_add_bytes(kept, buffer, take);
  return take < (size_t)n;
}

/* Looks without reaping: as long as it is not reaped, its group's number belongs to nobody else. */
static bool has_ended(const running *r) {
  siginfo_t info = {0};
  return waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == r->pid;
}

static bool stop_early(running *r) {
  tw_process_result *result = r->result;
  result->interrupted = r->options->interrupt && *r->options->interrupt;
  result->timed_out = !result->interrupted && now() > r->deadline;
  return result->interrupted || result->timed_out;
}

/* Until its output ends; then until it ends. A grandchild that keeps the pipe open is not waited for. */
static void watch(running *r) {
  while (!stop_early(r)) {
    if (r->out < 0 && r->err < 0) {
      if (has_ended(r)) return;
      nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
      continue;
    }
    struct pollfd fds[3] = {
        {.fd = r->out, .events = POLLIN}, {.fd = r->in, .events = POLLOUT}, {.fd = r->err, .events = POLLIN}};
    int ready = poll(fds, 3, SLICE_MS);
    if (ready <= 0) {
      if (has_ended(r)) return;
      continue;
    }
    if (fds[0].revents) r->result->truncated |= listen_to(&r->out, r->options->output_limit, &r->output);
    if (fds[1].revents) feed(r);
    if (fds[2].revents) listen_to(&r->err, r->options->output_limit, &r->errors);
  }
}

static tw_status cannot_run(const char *program, int number, tw_error *error) {
  if (number == ENOENT) return tw_fail(error, TW_MISSING, "the program '%s' is not in PATH: install it", program);
  return tw_fail(error, TW_MISSING, "cannot run '%s': %s", program, strerror(number));
}

tw_status tw_process_run(const tw_process_options *options, tw_process_result *out, tw_error *error) {
  *out = (tw_process_result){.exit_status = -1};
  double seconds = options->seconds > 0 ? options->seconds : 60;
  running r = {.options = options, .result = out, .in = -1, .out = -1, .err = -1, .start = now()};
  r.deadline = r.start + seconds;
  if (options->directory && access(options->directory, X_OK) < 0)
    return tw_fail(error, TW_MISSING, "cannot run '%s' in '%s': %s", options->argv[0], options->directory,
                   strerror(errno));
  int child[3] = {-1, -1, -1}, number = open_pipes(&r, child);
  if (number) return cannot_run(options->argv[0], number, error);
  number = spawn(&r, child);
  close_end(&child[0]);
  close_end(&child[1]);
  close_end(&child[2]);
  if (!number) {
    limit(&r, seconds);
    watch(&r);
    kill(-r.pid, SIGKILL); /* itself if it is late, and what it left behind in its group */
    while (waitpid(r.pid, &r.wait_status, 0) < 0 && errno == EINTR) continue;
  }
  close_end(&r.in);
  close_end(&r.out);
  close_end(&r.err);
  out->length = r.output.length;
  out->output = tw_text_take(&r.output);
  if (options->errors_apart) out->errors = tw_text_take(&r.errors);
  out->seconds = now() - r.start;
  if (number || !out->output || (options->errors_apart && !out->errors)) {
    tw_process_result_free(out);
    return number ? cannot_run(options->argv[0], number, error)
                  : tw_fail(error, TW_MISSING, "out of memory for the output of '%s'", options->argv[0]);
  }
  if (WIFEXITED(r.wait_status)) out->exit_status = WEXITSTATUS(r.wait_status);
  if (WIFSIGNALED(r.wait_status)) out->signal = WTERMSIG(r.wait_status);
  return TW_OK;
}

void tw_process_result_free(tw_process_result *result) {
  free(result->output);
  free(result->errors);
  result->output = result->errors = NULL;
  result->length = 0;
}

bool tw_process_find(const char *program) {
  if (strchr(program, '/')) return access(program, X_OK) == 0;
  const char *path = getenv("PATH");
  while (path && *path) {
    size_t length = strcspn(path, ":");
    char name[4096];
    if (length + strlen(program) + 2 <= sizeof name) {
      memcpy(name, path, length);
      name[length] = '/';
      strcpy(name + length + 1, program);
      if (access(name, X_OK) == 0) return true;
    }
    path += length + (path[length] == ':');
  }
  return false;
}
