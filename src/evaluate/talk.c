/* talk.c - see talk.h. */
#define _GNU_SOURCE
#include "evaluate/talk.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "evaluate/plausible.h"
#include "evaluate/text.h"

enum { SLICE_MS = 50, CHUNK = 1 << 16, GRACE_MS = 200 };

/* ---- processes ---- */

static void close_end(int *fd) {
  if (*fd >= 0) close(*fd);
  *fd = -1;
}

/* Closes the input of the process, which ends it. Kills the process if it does not end. */
void tw_talk_stop(tw_talk *s, bool at_once) {
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

/* In a separate process group: Ctrl-C is handled here, and programs that the command started end with it. */
static tw_status start(const char *command, tw_talk *s, tw_error *error) {
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
  tw_talk_stop(s, true);
  return tw_fail(error, TW_MISSING, "cannot start '%.200s': %s", command, strerror(reason));
}

/* ---- a question and its answer ---- */

/* Sends the question while it listens: a command may write before it has read all. */
static tw_reply converse(tw_talk *s, const char *question, const tw_stop *until, char **answer) {
  const size_t length = strlen(question);
  char *chunk = malloc(CHUNK);
  tw_reply r = chunk ? TW_REPLY_ENDED : TW_REPLY_NO_MEMORY;
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
      r = *answer ? TW_REPLY_ANSWERED : TW_REPLY_NO_MEMORY;
      break;
    }
    struct pollfd ends[2] = {{.fd = s->out, .events = POLLIN}, {.fd = sent < length ? s->in : -1, .events = POLLOUT}};
    if (tw_is_set(until->interrupt))
      r = TW_REPLY_INTERRUPTED, over = true;
    else if (tw_is_stopped(until))
      r = TW_REPLY_OUT_OF_TIME, over = true;
    else if (s->rest.length > TW_ANSWER_MAX)
      r = TW_REPLY_TOO_LONG, over = true;
    if (over || poll(ends, 2, SLICE_MS) <= 0) continue;
    if (ends[1].revents) {
      const ssize_t n = send(s->in, question + sent, length - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
      if (n > 0) sent += (size_t)n;
      if (n < 0 && errno != EAGAIN && errno != EINTR)
        sent = length; /* it reads no more; its answer or its end follows */
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

static void complain(tw_reply r, const char *command, int tries, const tw_error *why, tw_outcome *out) {
  switch (r) {
  case TW_REPLY_INTERRUPTED: tw_outcome_fail(out, TW_SKIPPED, TW_INTERRUPTED, "interrupted"); break;
  case TW_REPLY_NOT_STARTED: tw_outcome_fail(out, TW_UNAVAILABLE, TW_MISSING, "%s", why->text); break;
  case TW_REPLY_OUT_OF_TIME:
    tw_outcome_fail(out, TW_UNAVAILABLE, TW_MISSING, "'%.200s' did not answer within its time limit", command);
    break;
  case TW_REPLY_TOO_LONG:
    tw_outcome_fail(out, TW_UNAVAILABLE, TW_MISSING, "'%.200s' answered more than %d bytes without a line end", command,
                    TW_ANSWER_MAX);
    break;
  case TW_REPLY_NO_MEMORY: tw_outcome_fail(out, TW_UNAVAILABLE, TW_NO_MEMORY, "no memory for a question"); break;
  default:
    tw_outcome_fail(
        out, TW_UNAVAILABLE, TW_MISSING,
        "'%.200s' ended %d time%s without an answer: it must follow the protocol of `tilewright evaluate`; if it "
        "did not find tilewright, give its path",
        command, tries, tries == 1 ? "" : "s");
  }
}

static tw_reply ask_again(tw_talk *s, const char *command, const char *question, const tw_stop *until, int tries,
                          char **answer, tw_error *error) {
  tw_reply r = TW_REPLY_ENDED;
  for (int i = 0; i < tries && r == TW_REPLY_ENDED; i++) {
    if (s->pid == 0 && start(command, s, error) != TW_OK) return TW_REPLY_NOT_STARTED;
    r = converse(s, question, until, answer);
    if (r != TW_REPLY_ANSWERED) tw_talk_stop(s, true);
  }
  return r;
}

tw_reply tw_talk_evaluate(tw_talk *s, const char *command, const tw_trial *trial, const tw_bound *bound,
                          const tw_stop *until, int tries, tw_outcome *out) {
  char *question = tw_trial_print(trial), *line = NULL, *answer = NULL;
  tw_text text = {0};
  tw_reply r = TW_REPLY_NO_MEMORY;
  tw_error why = {0};
  if (question) tw_text_add(&text, "%s\n", question);
  free(question);
  if (question && (line = tw_text_take(&text))) r = ask_again(s, command, line, until, tries, &answer, &why);
  free(line);
  if (r != TW_REPLY_ANSWERED) {
    complain(r, command, tries, &why, out);
  } else if (tw_outcome_read(answer, out, &why) != TW_OK) {
    tw_talk_stop(s, true);
    r = TW_REPLY_BAD;
    tw_outcome_fail(out, TW_UNAVAILABLE, TW_MISSING, "'%.200s': %s", command, why.text);
  } else if (tw_plausible_outcome(trial, bound, out, &why) != TW_OK) {
    r = TW_REPLY_BAD;
    tw_outcome_fail(out, TW_UNAVAILABLE, TW_MISSING, "'%.200s': implausible outcome (%s); check that command", command,
                    why.text);
  }
  free(answer);
  return r;
}
