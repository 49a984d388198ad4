/* command.c - a backend of processes that speak lines of JSON: on this machine, or, by a user's command (ssh, srun,
 * mpirun, a container), on another.
 *
 * What ends without an answer is started once more, with the same trial: a connection that was lost, a machine that was
 * restarted. If it ends again, the trial could not be evaluated: that says nothing about the kernel, as nobody knows which
 * of the two was to blame.
 *
 * An answer is not trusted: outcomes that no evaluation can give are refused (plausible.h). They say nothing about the
 * kernel, either. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/strings.h"
#include "evaluate/backend.h"
#include "evaluate/plausible.h"
#include "evaluate/text.h"

enum { SLICE_MS = 50, TRIES = 2, CHUNK = 1 << 16, ANSWER_MAX = 1 << 20, GRACE_MS = 200 };

typedef struct slot {
  pid_t pid;    /* 0: not running */
  int in, out;  /* our ends: a socket, so that a command that does not read cannot send us SIGPIPE; a pipe */
  tw_text rest; /* that was read behind the last answer */
} slot;

typedef struct commands {
  char *command;
  size_t n;
  slot slot[];
} commands;

/* ---- processes ---- */

static void close_end(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

/* It is asked to end by the end of its input, and killed if it does not. */
static void stop(slot *s, bool at_once) {
  close_end(&s->in);
  close_end(&s->out);
  tw_text_free(&s->rest);
  for (int waited = 0; s->pid > 0 && !at_once && waited < GRACE_MS; waited += 5) {
    if (waitpid(s->pid, NULL, WNOHANG) == s->pid) s->pid = 0;
    if (s->pid > 0) poll(NULL, 0, 5);
  }
  if (s->pid > 0) {
    kill(-s->pid, SIGKILL);
    while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR) continue;
  }
  s->pid = 0;
}

/* In a process group of its own: Ctrl-C is ours to handle, and what the command started ends with it. */
static tw_status start(const char *command, slot *s, tw_error *error) {
  int in[2] = {-1, -1}, out[2] = {-1, -1};
  char *const argv[] = {(char *)"sh", (char *)"-c", (char *)command, NULL};
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, in) < 0 || pipe2(out, O_CLOEXEC) < 0) {
    const int reason = errno;
    close_end(&in[0]);
    close_end(&in[1]);
    return tw_fail(error, TW_MISSING, "cannot start '%.200s': %s", command, strerror(reason));
  }
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in[1], 0);
  posix_spawn_file_actions_adddup2(&actions, out[1], 1);
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  const int reason = posix_spawn(&s->pid, "/bin/sh", &actions, &attributes, argv, environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  close(in[1]);
  close(out[1]);
  s->in = in[0];
  s->out = out[0];
  if (reason == 0) return TW_OK;
  s->pid = 0;
  stop(s, true);
  return tw_fail(error, TW_MISSING, "cannot start '%.200s': %s", command, strerror(reason));
}

/* ---- a question and its answer ---- */

typedef enum reply { ANSWERED, ENDED, TOO_LONG, OUT_OF_TIME, INTERRUPTED, NO_MEMORY } reply;

/* Sends the question while it listens: a command may write before it has read all. */
static reply converse(slot *s, const char *question, const tw_stop *until, char **answer) {
  const size_t length = strlen(question);
  char *chunk = malloc(CHUNK);
  reply r = chunk ? ENDED : NO_MEMORY;
  bool over = !chunk;
  for (size_t sent = 0; !over;) {
    char *line = s->rest.data ? memchr(s->rest.data, '\n', s->rest.length) : NULL;
    if (line) {
      const size_t used = (size_t)(line - s->rest.data) + 1;
      tw_text rest = {0};
      *line = '\0';
      *answer = strdup(s->rest.data);
      tw_text_add_bytes(&rest, line + 1, s->rest.length - used);
      tw_text_free(&s->rest);
      s->rest = rest;
      r = *answer ? ANSWERED : NO_MEMORY;
      break;
    }
    struct pollfd ends[2] = {{.fd = s->out, .events = POLLIN}, {.fd = sent < length ? s->in : -1, .events = POLLOUT}};
    if (tw_is_set(until->interrupt))
      r = INTERRUPTED, over = true;
    else if (tw_is_stopped(until))
      r = OUT_OF_TIME, over = true;
    else if (s->rest.length > ANSWER_MAX)
      r = TOO_LONG, over = true;
    if (over || poll(ends, 2, SLICE_MS) <= 0) continue;
    if (ends[1].revents) {
      const ssize_t n = send(s->in, question + sent, length - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n > 0) sent += (size_t)n;
      if (n < 0 && errno != EAGAIN && errno != EINTR)
        sent = length; /* it reads no more: its answer, or its end, follows */
    }
    if (ends[0].revents) {
      const ssize_t n = read(s->out, chunk, CHUNK);
      if (n > 0) tw_text_add_bytes(&s->rest, chunk, (size_t)n);
      over = n == 0 || (n < 0 && errno != EINTR) || s->rest.failed;
    }
  }
  free(chunk);
  return r;
}

static void complain(reply r, const commands *c, const tw_trial *trial, tw_outcome *out) {
  switch (r) {
  case INTERRUPTED: tw_outcome_fail(out, TW_SKIPPED, TW_INTERRUPTED, "interrupted"); break;
  case OUT_OF_TIME:
    tw_outcome_fail(out, TW_UNAVAILABLE, TW_MISSING, "'%.200s' did not answer within %g s", c->command, trial->seconds);
    break;
  case TOO_LONG:
    tw_outcome_fail(out, TW_UNAVAILABLE, TW_MISSING, "'%.200s' answered more than %d bytes without a line end",
                    c->command, ANSWER_MAX);
    break;
  case NO_MEMORY: tw_outcome_fail(out, TW_UNAVAILABLE, TW_MISSING, "no memory for a question"); break;
  default:
    tw_outcome_fail(out, TW_UNAVAILABLE, TW_MISSING,
                    "'%.200s' ended %d times without an answer: it must follow the protocol of `tilewright evaluate`",
                    c->command, TRIES);
  }
}

static void evaluate(tw_backend *b, size_t number, const tw_trial *trial, const tw_case *data, const tw_bound *bound,
                     const volatile int *interrupt, tw_outcome *out) {
  (void)data;
  commands *c = b->own;
  slot *s = &c->slot[number % c->n];
  const tw_stop until = {.deadline = trial->seconds > 0 ? tw_now() + trial->seconds : 0, .interrupt = interrupt};
  char *question = tw_trial_print(trial), *line = NULL, *answer = NULL;
  tw_text text = {0};
  reply r = NO_MEMORY;
  tw_error why = {0};
  if (question) tw_text_add(&text, "%s\n", question);
  free(question);
  line = question ? tw_text_take(&text) : NULL;
  for (int i = 0; line && i < TRIES; i++) {
    if (s->pid == 0 && start(c->command, s, &why) != TW_OK) {
      tw_outcome_fail(out, TW_UNAVAILABLE, TW_MISSING, "%s", why.text);
      free(line);
      return;
    }
    r = converse(s, line, &until, &answer);
    if (r == ANSWERED) break;
    stop(s, true);
    if (r != ENDED) break;
  }
  free(line);
  if (r != ANSWERED) {
    complain(r, c, trial, out);
  } else if (tw_outcome_read(answer, out, &why) != TW_OK) {
    stop(s, true);
    tw_outcome_fail(out, TW_UNAVAILABLE, TW_MISSING, "'%.200s': %s", c->command, why.text);
  } else if (tw_plausible_outcome(trial, bound, out, &why) != TW_OK) {
    tw_outcome_fail(out, TW_UNAVAILABLE, TW_MISSING, "'%.200s': implausible outcome (%s); check that command",
                    c->command, why.text);
  }
  free(answer);
}

static void close_commands(tw_backend *b) {
  commands *c = b->own;
  for (size_t i = 0; i < c->n; i++) stop(&c->slot[i], false);
  free(c->command);
  free(c);
  free(b);
}

tw_status tw_backend_command(const char *command, size_t slots, tw_backend **out, tw_error *error) {
  tw_backend *b = tw_new(1, sizeof *b);
  commands *c = calloc(1, sizeof *c + slots * sizeof c->slot[0]);
  if (c) c->command = strdup(command);
  if (!b || !c || !c->command) {
    free(b);
    if (c) free(c->command);
    free(c);
    return tw_no_memory(error, "evaluating");
  }
  c->n = slots;
  for (size_t i = 0; i < slots; i++) c->slot[i].in = c->slot[i].out = -1;
  *b = (tw_backend){.name = "command", .is_elsewhere = true, .own = c, .evaluate = evaluate, .close = close_commands};
  *out = b;
  return TW_OK;
}
