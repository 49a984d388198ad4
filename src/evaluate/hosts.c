/* hosts.c - see hosts.h.
 *
 * A slot of the pool belongs to no host: it takes any free connection, so that the other hosts do the jobs of an
 * excluded host. A trial that one host does not answer goes to another one. Three failures in a row exclude a host for
 * the rest of the search. A host that differs as a machine from the first one that answered is excluded at once: costs
 * of different machines are not comparable.
 *
 * A trial is given up after three failures at hosts that worked before it, because its kernel may be what stops them.
 * Failures at other hosts say nothing about the trial. Their number is limited, because such hosts are excluded. */
#include "evaluate/hosts.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/files.h"
#include "base/strings.h"
#include "evaluate/talk.h"

enum { HOSTS_MAX = 1024, JOBS_MAX = 1024, FILE_MAX = 1 << 20, FAILURES = 3, TRIES = 3, WAIT_MS = 50 };

typedef struct host {
  char name[256], command[512], devices[256];
  int64_t jobs;
  double seconds;
  int line, failures; /* in a row */
  bool has_answered, excluded;
} host;

typedef struct connection {
  host *host;
  char *command;
  bool busy, worked; /* `worked`: when it was reserved, the host's last trial had been answered */
  tw_talk talk;
} connection;

typedef struct hosts {
  host *host;
  size_t n_hosts, n;
  connection *connection;
  void (*tell)(const char *line);
  char machine[80]; /* digest of the first host that stated one; "" before */
  char first[256];  /* that host */
  pthread_mutex_t lock;
  pthread_cond_t changed;
} hosts;

/* ---- the file ---- */

/* Names are passed to a shell: anything that is more than a name is rejected. */
static bool is_plain(const char *text) {
  static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-.@:/,+~";
  return *text && *text != '-' && !text[strspn(text, plain)];
}

static bool set_word(host *h, const char *word) {
  const char *value = strchr(word, '=');
  const size_t length = value ? (size_t)(value++ - word) : 0;
  const char *const names[] = {"jobs", "devices", "seconds", "command"};
  size_t i = 0;
  while (i < 4 && (strlen(names[i]) != length || strncmp(word, names[i], length) != 0)) i++;
  switch (i) {
  case 0: return tw_parse_int(value, &h->jobs) && h->jobs >= 1 && h->jobs <= JOBS_MAX;
  case 1: return is_plain(value) && snprintf(h->devices, sizeof h->devices, "%s", value) < (int)sizeof h->devices;
  case 2: return tw_parse_real(value, &h->seconds) && h->seconds > 0;
  case 3: return is_plain(value) && snprintf(h->command, sizeof h->command, "%s", value) < (int)sizeof h->command;
  default: return false;
  }
}

static tw_status read_line(const char *path, int number, char *line, host *h, tw_error *error) {
  char *rest = NULL, *word = strtok_r(line, " \t", &rest);
  *h = (host){.jobs = 1, .line = number, .command = "tilewright"};
  if (!is_plain(word) || strlen(word) >= sizeof h->name)
    return tw_fail(error, TW_USAGE, "%s:%d: '%.60s' is not a host name", path, number, word);
  snprintf(h->name, sizeof h->name, "%s", word);
  while ((word = strtok_r(NULL, " \t", &rest)))
    if (!set_word(h, word))
      return tw_fail(
          error, TW_USAGE,
          "%s:%d: '%.60s' is not an option of a host; expected jobs=N, devices=0,1, seconds=S or command=PATH", path,
          number, word);
  return TW_OK;
}

static tw_status read_hosts(const char *path, hosts *all, tw_error *error) {
  char *text = NULL, *rest = NULL;
  tw_status status = tw_file_read(path, FILE_MAX, &text, NULL, error);
  int number = 0;
  for (char *line = text; status == TW_OK && line; line = rest) {
    rest = strchr(line, '\n');
    if (rest) *rest++ = '\0';
    number++;
    line = tw_strip(line);
    if (!*line) continue;
    if (all->n_hosts == HOSTS_MAX) status = tw_fail(error, TW_USAGE, "%s has more than %d hosts", path, HOSTS_MAX);
    if (status == TW_OK) status = read_line(path, number, line, &all->host[all->n_hosts], error);
    if (status == TW_OK) all->n += (size_t)all->host[all->n_hosts++].jobs;
  }
  if (status == TW_OK && !all->n_hosts)
    status = tw_fail(error, TW_USAGE, "%s lists no hosts; write one name per line", path);
  if (status == TW_OK && all->n > JOBS_MAX)
    status = tw_fail(error, TW_USAGE, "%s has %zu jobs; at most %d are supported", path, all->n, JOBS_MAX);
  free(text);
  return status;
}

/* The k-th entry of a list "0,1,2", cyclically. */
static void device_of(const host *h, int64_t job, char *out, size_t size) {
  char list[sizeof h->devices], *rest = NULL;
  size_t n = 1;
  for (const char *c = h->devices; *c; c++) n += *c == ',';
  snprintf(list, sizeof list, "%s", h->devices);
  char *device = strtok_r(list, ",", &rest);
  for (size_t i = (size_t)job % n; i > 0 && device; i--) device = strtok_r(NULL, ",", &rest);
  snprintf(out, size, "%s", device ? device : "0");
}

/* No password is requested, and a computer that is off is detected in seconds. */
static char *command_of(const host *h, int64_t job) {
  tw_text t = {0};
  char device[sizeof h->devices];
  tw_text_add(&t,
              "exec ssh -o BatchMode=yes -o ConnectTimeout=15 -o ServerAliveInterval=15 -o ServerAliveCountMax=4 %s ",
              h->name);
  if (h->devices[0]) {
    device_of(h, job, device, sizeof device);
    tw_text_add(&t, "env CUDA_VISIBLE_DEVICES=%s ROCR_VISIBLE_DEVICES=%s ", device, device);
  }
  tw_text_add(&t, "%s evaluate", h->command);
  return tw_text_take(&t);
}

/* ---- evaluating ---- */

static void tell(hosts *all, const char *format, const char *name, const char *why) {
  char line[900];
  snprintf(line, sizeof line, format, name, why);
  if (all->tell) all->tell(line);
}

static bool is_any_left(const hosts *all) {
  for (size_t i = 0; i < all->n_hosts; i++)
    if (!all->host[i].excluded) return true;
  return false;
}

/* A free connection, if possible to a host other than `not`. NULL: all hosts are excluded, or the search is
 * interrupted. */
static connection *reserve_connection(hosts *all, const host * not, const volatile int *interrupt) {
  connection *found = NULL;
  pthread_mutex_lock(&all->lock);
  while (!found && is_any_left(all) && !tw_is_set(interrupt)) {
    for (size_t i = 0; i < all->n; i++) {
      connection *c = &all->connection[i];
      if (c->busy || c->host->excluded) continue;
      if (!found || found->host == not ) found = c;
    }
    if (found) {
      found->busy = true;
      found->worked = found->host->has_answered && found->host->failures == 0;
    } else {
      struct timespec until;
      clock_gettime(CLOCK_REALTIME, &until);
      until.tv_nsec += WAIT_MS * 1000000L;
      until.tv_sec += until.tv_nsec / 1000000000;
      until.tv_nsec %= 1000000000;
      pthread_cond_timedwait(&all->changed, &all->lock, &until);
    }
  }
  pthread_mutex_unlock(&all->lock);
  return found;
}

/* True if the outcome says something about the kernel. */
static bool give_back(hosts *all, connection *c, tw_reply r, const tw_outcome *out) {
  host *h = c->host;
  bool other = false, excluded = false;
  pthread_mutex_lock(&all->lock);
  if (r == TW_REPLY_ANSWERED && out->evaluator[0]) {
    if (!all->machine[0]) {
      snprintf(all->machine, sizeof all->machine, "%s", out->evaluator);
      snprintf(all->first, sizeof all->first, "%s", h->name);
    }
    other = strcmp(all->machine, out->evaluator) != 0;
  }
  const bool failed = r != TW_REPLY_ANSWERED || other || out->verdict == TW_UNAVAILABLE;
  h->failures = failed ? h->failures + 1 : 0;
  h->has_answered |= !failed;
  excluded = !h->excluded && r != TW_REPLY_INTERRUPTED && (other || h->failures >= FAILURES);
  h->excluded |= excluded;
  c->busy = false;
  pthread_cond_broadcast(&all->changed);
  pthread_mutex_unlock(&all->lock);
  if (excluded && other)
    tell(all,
         "host %s is excluded: its machine, compiler or version differs from %s, and costs of different machines are "
         "not comparable",
         h->name, all->first);
  else if (excluded)
    tell(all, "host %s is excluded after 3 failures in a row (%s)", h->name, out->error.text);
  return !failed || r == TW_REPLY_INTERRUPTED;
}

static void evaluate(tw_backend *b, size_t slot, const tw_trial *trial, const tw_case *data, const tw_bound *bound,
                     const volatile int *interrupt, tw_outcome *out) {
  (void)slot, (void)data;
  hosts *all = b->own;
  const host *last = NULL;
  bool done = false;
  tw_outcome_fail(out, TW_UNAVAILABLE, TW_MISSING, "all hosts are excluded");
  for (int failures = 0; failures < TRIES && !done;) {
    connection *c = reserve_connection(all, last, interrupt);
    if (!c) break;
    last = c->host;
    failures += c->worked;
    const tw_stop until = {.deadline = last->seconds > 0 ? tw_now() + last->seconds : 0, .interrupt = interrupt};
    const tw_reply r = tw_talk_evaluate(&c->talk, c->command, trial, bound, &until, 1, out);
    snprintf(out->place, sizeof out->place, "%.*s", (int)sizeof out->place - 1, last->name);
    done = give_back(all, c, r, out);
  }
  if (tw_is_set(interrupt)) tw_outcome_fail(out, TW_SKIPPED, TW_INTERRUPTED, "interrupted");
}

static void close_hosts(tw_backend *b) {
  hosts *all = b->own;
  for (size_t i = 0; all->connection && i < all->n; i++) {
    tw_talk_stop(&all->connection[i].talk, false);
    free(all->connection[i].command);
  }
  pthread_mutex_destroy(&all->lock);
  pthread_cond_destroy(&all->changed);
  free(all->connection);
  free(all->host);
  free(all);
  free(b);
}

tw_status tw_backend_hosts(const char *path, void (*say)(const char *line), tw_backend **out, size_t *slots,
                           tw_error *error) {
  tw_backend *b = tw_new(1, sizeof *b);
  hosts *all = tw_new(1, sizeof *all);
  if (!b || !all || !(all->host = tw_new(HOSTS_MAX, sizeof *all->host))) {
    free(b);
    free(all);
    return tw_no_memory(error, "the hosts");
  }
  all->tell = say;
  pthread_mutex_init(&all->lock, NULL);
  pthread_cond_init(&all->changed, NULL);
  *b = (tw_backend){
      .name = "hosts", .is_away = true, .is_elsewhere = true, .own = all, .evaluate = evaluate, .close = close_hosts};
  tw_status status = read_hosts(path, all, error);
  if (status == TW_OK && !(all->connection = tw_new(all->n, sizeof *all->connection)))
    status = tw_no_memory(error, "the hosts");
  size_t k = 0;
  for (size_t i = 0; status == TW_OK && i < all->n_hosts; i++)
    for (int64_t job = 0; job < all->host[i].jobs; job++, k++)
      all->connection[k] =
          (connection){.host = &all->host[i], .command = command_of(&all->host[i], job), .talk = TW_TALK_NONE};
  for (size_t i = 0; status == TW_OK && i < all->n; i++)
    if (!all->connection[i].command) status = tw_no_memory(error, "the hosts");
  if (status != TW_OK) {
    close_hosts(b);
    return status;
  }
  *slots = all->n;
  *out = b;
  return TW_OK;
}
