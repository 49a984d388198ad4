/* process.c - a child in its own session (spawn.h), and a poll loop that feeds, reads and watches the clock.
 *
 * Every descriptor is close-on-exec from its creation, so that children started by other threads at the same moment do
 * not inherit (and keep open) this one's pipes. The whole group is killed, because a compiler driver starts further
 * programs. */
#define _GNU_SOURCE
#include "base/process.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/spawn.h"
#include "base/strings.h"

enum { SLICE_MS = 50 }; /* how often the interrupt flag is checked */

typedef struct running {
  const tw_process_options *options;
  tw_process_result *result;
  pid_t pid;
  int in, out, err; /* our ends of the pipes; -1 when closed */
  size_t fed, heard;
  tw_text output, errors;
  double start, deadline;
  int wait_status;
} running;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double seconds_of(struct timeval t) { return (double)t.tv_sec + 1e-6 * (double)t.tv_usec; }

static void close_end(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

/* The output of a confined program goes to a socket, which cannot be opened again. A pipe can be opened by its name
 * (`#include "/dev/fd/1"`); the program would then wait for its own output for ever. */
static bool open_output(const running *r, int end[2]) {
  return (r->options->confinement ? socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end) : pipe2(end, O_CLOEXEC)) ==
         0;
}

/* Puts the child's ends in `child` and this process's ends in r. */
static int open_pipes(running *r, int child[3]) {
  int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};
  if (r->options->input) {
    /* A socket pair and not a pipe: send() can avoid SIGPIPE when the program does not read. */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) < 0) return errno;
  } else {
    in[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (in[0] < 0) return errno;
  }
  if (!open_output(r, out) || (r->options->errors_apart && !open_output(r, err))) {
    int number = errno;
    close_end(&in[0]), close_end(&in[1]);
    close_end(&out[0]), close_end(&out[1]);
    return number;
  }
  r->in = in[1], r->out = out[0], r->err = err[0];
  child[0] = in[0], child[1] = out[1], child[2] = err[1];
  return 0;
}

static void add_limit(tw_spawn *s, int resource, uint64_t most) {
  s->limit[s->n_limits].resource = resource;
  s->limit[s->n_limits++].most = most;
}

/* Returns 0 or an errno. The limits hold even if this process dies and no longer watches the clock. */
static int spawn(running *r, const int child[3], double cpu_seconds) {
  const tw_process_options *o = r->options;
  char path[TW_PROGRAM_PATH];
  if (!tw_process_path(o->argv[0], path)) return ENOENT;
  tw_spawn s = {.path = path,
                .argv = o->argv,
                .environment = o->environment,
                .directory = o->directory,
                .file = {child[0], child[1], child[2] >= 0 ? child[2] : child[1]},
                .n_files = 3,
                .confinement = o->confinement};
  add_limit(&s, RLIMIT_CPU, (uint64_t)cpu_seconds + 1);
  add_limit(&s, RLIMIT_CORE, 0);
  if (o->memory_limit) add_limit(&s, RLIMIT_AS, o->memory_limit);
  if (o->file_limit) add_limit(&s, RLIMIT_FSIZE, o->file_limit);
  return tw_spawn_program(&s, &r->pid);
}

static void feed(running *r) {
  const char *input = r->options->input;
  ssize_t n = send(r->in, input + r->fed, r->options->input_length - r->fed, MSG_NOSIGNAL | MSG_DONTWAIT);
  if (n < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (n > 0) r->fed += (size_t)n;
  if (n < 0 || r->fed == r->options->input_length) close_end(&r->in); /* EPIPE: the program does not read the rest */
}

/* Keeps data up to the limit. Returns true if there was more. */
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

static void pass_on_lines(running *r) {
  if (!r->options->hear_errors || !r->errors.data) return;
  for (char *line, *end; (line = r->errors.data + r->heard, end = strchr(line, '\n'));
       r->heard += (size_t)(end - line) + 1) {
    *end = '\0';
    r->options->hear_errors(r->options->hearer, line);
    *end = '\n';
  }
}

/* Checks without reaping: until the process is reaped, its group's number is not reused. */
static bool has_ended(const running *r) {
  siginfo_t info = {0};
  return waitid(P_PID, (id_t)r->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 && info.si_pid == r->pid;
}

static bool stop_early(running *r) {
  tw_process_result *result = r->result;
  result->interrupted = tw_is_set(r->options->interrupt) || tw_is_stopped(r->options->stop);
  result->timed_out = !result->interrupted && now() > r->deadline;
  return result->interrupted || result->timed_out;
}

/* Watches the output until it ends, then the process until it ends. A grandchild that keeps the pipe open is not
 * waited for. The pipes are read once more after the end was seen: the program may have written and ended between a
 * poll and the check of its state. */
static void watch(running *r) {
  bool ended = false;
  while (!stop_early(r)) {
    if (r->out < 0 && r->err < 0) {
      if (has_ended(r)) return;
      nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
      continue;
    }
    struct pollfd fds[3] = {
        {.fd = r->out, .events = POLLIN}, {.fd = r->in, .events = POLLOUT}, {.fd = r->err, .events = POLLIN}};
    int ready = poll(fds, 3, ended ? 0 : SLICE_MS);
    if (ready <= 0) {
      if (ready == 0 && ended) return;
      ended = ended || has_ended(r);
      continue;
    }
    if (fds[0].revents) r->result->truncated |= listen_to(&r->out, r->options->output_limit, &r->output);
    if (fds[1].revents) feed(r);
    if (fds[2].revents) {
      listen_to(&r->err, r->options->output_limit, &r->errors);
      pass_on_lines(r);
    }
  }
}

static tw_status cannot_run(const char *program, int number, tw_error *error) {
  if (number == ENOENT) return tw_fail(error, TW_MISSING, "the program '%s' is not in PATH; install it", program);
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
  number = spawn(&r, child, options->cpu_seconds > 0 ? options->cpu_seconds : seconds);
  close_end(&child[0]);
  close_end(&child[1]);
  close_end(&child[2]);
  if (!number) {
    watch(&r);
    kill(-r.pid, SIGKILL); /* kills the process if it is late, and the remaining children in its group */
    struct rusage used = {0};
    while (wait4(r.pid, &r.wait_status, 0, &used) < 0 && errno == EINTR) continue;
    out->cpu_seconds = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
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
                  : tw_fail(error, TW_NO_MEMORY, "out of memory for the output of '%s'", options->argv[0]);
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

bool tw_process_path(const char *program, char path[TW_PROGRAM_PATH]) {
  const char *directories = getenv("PATH");
  struct stat info;
  if (strchr(program, '/')) return snprintf(path, TW_PROGRAM_PATH, "%s", program) < TW_PROGRAM_PATH;
  while (directories && *directories) {
    const size_t length = strcspn(directories, ":");
    const int n = snprintf(path, TW_PROGRAM_PATH, "%.*s/%s", (int)length, directories, program);
    if (n < TW_PROGRAM_PATH && access(path, X_OK) == 0 && stat(path, &info) == 0 && S_ISREG(info.st_mode)) return true;
    directories += length + (directories[length] == ':');
  }
  return false;
}

bool tw_process_find(const char *program) {
  char path[TW_PROGRAM_PATH];
  return tw_process_path(program, path) && access(path, X_OK) == 0;
}
