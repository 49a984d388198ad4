/* sandbox.c - see sandbox.h: the arena, the process, and the watchdog that ends it. Why it ended: verdict.c. */
#define _GNU_SOURCE
#include "target/x86/tune/sandbox.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/program.h"
#include "base/spawn.h"
#include "target/x86/tune/verdict.h"

static const uint64_t SPARE_MEMORY = (uint64_t)1 << 30; /* of addresses: libraries, threads' stacks, workspaces */
enum { LEAST_DESCRIPTOR = 10 };                         /* of ours: above those that the process is given */

struct x86_sandbox {
  pid_t pid;   /* 0: it has ended */
  int process; /* a descriptor of it, so that nobody else is ever killed */
  int waits;   /* a descriptor of /proc/PID/syscall; < 0: this system does not let it be read */
  int file[3]; /* orders for reading, results, kernel */
  arena_orders *orders;
  arena_results *results;
  pthread_t watchdog;
  bool watched, closing, killed;
  double deadline;
  pthread_mutex_t lock; /* of closing, killed, deadline */
  pthread_cond_t changed;
};

/* ---- the arena ---- */

static uint64_t place(uint64_t *end, arena_array *x, uint64_t bytes, uint32_t sets) {
  *x = (arena_array){.bytes = bytes, .sets = bytes ? sets : 0};
  if (!bytes) return 0;
  x->stride = arena_stride(bytes);
  x->at = *end + arena_slack(bytes);
  *end += x->stride * sets;
  return x->at;
}

static void lay_out(const x86_confined *c, arena_orders *o) {
  const size_t output = c->n_operands - 1;
  const uint32_t sets = c->sets;
  uint64_t inputs = ARENA_PAGE, outputs = 2 * ARENA_PAGE;
  *o = (arena_orders){.version = ARENA_VERSION, .size = sizeof *o, .spec = c->spec, .copies = c->copies};
  place(&inputs, &o->a, c->operand[0].bytes, sets);
  place(&inputs, &o->b, c->operand[1].bytes, 1);
  place(&inputs, &o->bias, output == 3 ? c->operand[2].bytes : 0, 1);
  place(&outputs, &o->c, c->operand[output].bytes, sets);
  o->orders_bytes = inputs;
  o->results_bytes = outputs;
  const uint64_t packed = 2 * o->b.bytes + ((uint64_t)64 << 20); /* with its padding; in types of 4 bytes at most */
  o->memory = inputs + outputs + (c->copies + 1) * packed + 4 * o->a.bytes + SPARE_MEMORY;
  o->seconds = (uint64_t)ceil(c->cpu_seconds);
}

static int new_file(const char *name, uint64_t bytes) {
  const int file = memfd_create(name, MFD_CLOEXEC),
            high = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, LEAST_DESCRIPTOR);
  if (file >= 0) close(file);
  if (high >= 0 && ftruncate(high, (off_t)bytes) != 0) return close(high), -1;
  return high;
}

/* The same file, for reading alone. */
static int reopen(int file) {
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", file);
  const int only = open(path, O_RDONLY | O_CLOEXEC),
            high = only < 0 ? -1 : fcntl(only, F_DUPFD_CLOEXEC, LEAST_DESCRIPTOR);
  if (only >= 0) close(only);
  return high;
}

static bool write_all(int file, const char *data, size_t bytes) {
  for (size_t done = 0; done < bytes;) {
    const ssize_t n = pwrite(file, data + done, bytes - done, (off_t)done);
    if (n <= 0) return false;
    done += (size_t)n;
  }
  return true;
}

static bool make_arena(x86_sandbox *s, const x86_confined *c) {
  arena_orders o;
  lay_out(c, &o);
  const int orders = new_file("tilewright orders", o.orders_bytes);
  if (orders < 0) return false;
  void *p = mmap(NULL, o.orders_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, orders, 0);
  s->file[0] = reopen(orders);
  close(orders);
  if (p == MAP_FAILED) return false;
  s->orders = p;
  *s->orders = o;
  s->file[1] = new_file("tilewright results", o.results_bytes);
  s->file[2] = new_file("tilewright kernel", c->kernel_bytes);
  if (s->file[0] < 0 || s->file[1] < 0 || s->file[2] < 0 || !write_all(s->file[2], c->kernel, c->kernel_bytes))
    return false;
  p = mmap(NULL, o.results_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, s->file[1], 0);
  if (p == MAP_FAILED) return false;
  s->results = p;
  memcpy((char *)s->orders + o.b.at, c->buffer[1], o.b.bytes);
  if (o.bias.bytes) memcpy((char *)s->orders + o.bias.at, c->buffer[2], o.bias.bytes);
  return true;
}

void *x86_sandbox_a(const x86_sandbox *s, uint32_t set) {
  return (char *)s->orders + s->orders->a.at + set * s->orders->a.stride;
}

void *x86_sandbox_c(const x86_sandbox *s, uint32_t set) {
  return (char *)s->results + s->orders->c.at + set * s->orders->c.stride;
}

/* ---- what lies around C: in its pages, before and behind it ---- */

static char *pages_of(const x86_sandbox *s, uint32_t set) {
  return (char *)x86_sandbox_c(s, set) - arena_slack(s->orders->c.bytes);
}

void x86_sandbox_poison(x86_sandbox *s, uint32_t sets) {
  const arena_array *c = &s->orders->c;
  for (uint32_t i = 0; i < sets; i++) memset(pages_of(s, i), TW_POISON, c->stride - ARENA_PAGE);
}

static tw_status margin(const char *p, uint64_t bytes, const char *where, tw_error *error) {
  for (uint64_t i = 0; i < bytes; i++)
    if ((unsigned char)p[i] != TW_POISON)
      return tw_fail(error, TW_FAILED, "the kernel writes outside its array: within %llu bytes %s C",
                     (unsigned long long)bytes, where);
  return TW_OK;
}

tw_status x86_sandbox_margins(const x86_sandbox *s, uint32_t sets, tw_error *error) {
  const arena_array *c = &s->orders->c;
  const uint64_t before = arena_slack(c->bytes), behind = before + c->bytes;
  tw_status status = TW_OK;
  for (uint32_t i = 0; status == TW_OK && i < sets; i++) {
    status = margin(pages_of(s, i), before, "before", error);
    if (status == TW_OK) status = margin(pages_of(s, i) + behind, c->stride - ARENA_PAGE - behind, "behind", error);
  }
  return status;
}

/* ---- the process ---- */

static void *watch(void *context) {
  x86_sandbox *s = context;
  pthread_mutex_lock(&s->lock);
  while (!s->closing) {
    const double left = s->deadline - tw_now();
    if (left <= 0 && !s->killed) {
      s->killed = true;
      syscall(SYS_pidfd_send_signal, s->process, SIGKILL, NULL, 0);
    }
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const double wait = s->killed || left > 3600 ? 3600 : left;
    until.tv_sec += (time_t)wait;
    until.tv_nsec += (long)((wait - floor(wait)) * 1e9);
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    pthread_cond_timedwait(&s->changed, &s->lock, &until);
  }
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

static void set_deadline(x86_sandbox *s, double deadline) {
  pthread_mutex_lock(&s->lock);
  s->deadline = deadline;
  if (isfinite(deadline)) pthread_cond_signal(&s->changed);
  pthread_mutex_unlock(&s->lock);
}

static bool start_watchdog(x86_sandbox *s) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&s->lock, NULL);
  pthread_cond_init(&s->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  s->deadline = HUGE_VAL;
  return s->watched = pthread_create(&s->watchdog, NULL, watch, s) == 0;
}

/* Nothing of this process goes into the other but the three files: no environment, no descriptors. */
static tw_status start(x86_sandbox *s, tw_error *error) {
  static const char *const argv[] = {"tilewright-x86-runner", NULL};
  static const char *const environment[] = {"OMP_PROC_BIND=true", "OMP_PLACES=cores", "OMP_DYNAMIC=false",
                                            "ASAN_OPTIONS=detect_leaks=0:handle_segv=0:handle_abort=0", NULL};
  char *path = tw_program_path("x86-runner", "TILEWRIGHT_X86_RUNNER");
  if (!path)
    return tw_fail(error, TW_MISSING,
                   "tilewright-x86-runner is not found: install tilewright whole, or set TILEWRIGHT_X86_RUNNER "
                   "to its path");
  const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
  const tw_spawn spawn = {.path = path,
                          .argv = argv,
                          .environment = environment,
                          .file = {nothing, nothing, nothing, s->file[0], s->file[1], s->file[2]},
                          .n_files = 6};
  const int failed = nothing < 0 ? errno : tw_spawn_program(&spawn, &s->pid);
  if (nothing >= 0) close(nothing);
  tw_status status = TW_OK;
  if (failed) {
    s->pid = 0;
    status = tw_fail(error, TW_MISSING, "cannot start %s: %s", path, strerror(failed));
  } else if ((s->process = (int)syscall(SYS_pidfd_open, s->pid, 0)) < 0 || !start_watchdog(s)) {
    kill(s->pid, SIGKILL);
    status = tw_fail(error, TW_MISSING, "cannot watch the process of a kernel: %s", strerror(errno));
  }
  free(path);
  return status;
}

/* Until it stops or ends, at most `limit` seconds. */
static tw_status wait_for_stop(x86_sandbox *s, double limit, tw_error *error) {
  int status = 0;
  pid_t got;
  do got = waitpid(s->pid, &status, WUNTRACED);
  while (got < 0 && errno == EINTR);
  if (got == s->pid && WIFSTOPPED(status)) return TW_OK;
  s->pid = 0;
  pthread_mutex_lock(&s->lock);
  const bool killed = s->killed;
  pthread_mutex_unlock(&s->lock);
  return x86_verdict(s->orders, s->results, status, killed ? limit : 0, error);
}

static tw_status wait_until_ready(x86_sandbox *s, double limit, tw_error *error) {
  set_deadline(s, tw_now() + limit);
  tw_status status = wait_for_stop(s, limit, error);
  set_deadline(s, HUGE_VAL);
  if (status != TW_OK || s->results->stage == ARENA_READY) return status;
  char why[sizeof s->results->message];
  memcpy(why, s->results->message, sizeof why);
  why[sizeof why - 1] = '\0';
  for (char *p = why; *p; p++)
    if (*p < ' ' || *p > '~') *p = '?'; /* the kernel may have written it: one line, nothing for the terminal */
  if (!why[0]) return tw_fail(error, TW_FAILED, "the kernel stopped its process before it was called");
  return tw_fail(error, s->results->stage == ARENA_STARTING ? TW_MISSING : TW_FAILED, "%s", why);
}

/* Of all threads of the process, as the system counts it; < 0 if it cannot. */
static double processor_clock(const x86_sandbox *s) {
  clockid_t clock;
  struct timespec t;
  if (clock_getcpuclockid(s->pid, &clock) != 0 || clock_gettime(clock, &t) != 0) return -1;
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void watch_waits(x86_sandbox *s) {
  char name[64];
  snprintf(name, sizeof name, "/proc/%d/syscall", (int)s->pid);
  s->waits = open(name, O_RDONLY | O_CLOEXEC);
}

/* The clock of the stopped process once no processor runs it. The system tells of a stop just before it takes the
 * process off its processor, and adds the time since the last tick (up to 10 ms) only when it does: a clock read in
 * between is far too low. Who asks in which call the process waits is answered after that. Elsewhere its clock has to
 * stand still. */
static double processor_seconds(const x86_sandbox *s) {
  enum { TRIES = 100 };
  const struct timespec pause = {.tv_nsec = 200000};
  char text[256];
  for (int i = 0; s->waits >= 0 && i < TRIES; i++) {
    const ssize_t got = pread(s->waits, text, sizeof text, 0);
    if (got <= 0) break;
    if (strncmp(text, "running", strlen("running")) != 0) return processor_clock(s);
  }
  double last = processor_clock(s), now = last;
  for (int i = 0; i < TRIES; i++, last = now) {
    nanosleep(&pause, NULL);
    if ((now = processor_clock(s)) == last) break;
  }
  return now;
}

tw_status x86_sandbox_run(x86_sandbox *s, uint32_t sets, double limit, double *seconds, tw_error *error) {
  s->orders->command = ARENA_RUN;
  s->orders->run_sets = sets;
  set_deadline(s, tw_now() + limit);
  const double used = processor_seconds(s), began = tw_now();
  syscall(SYS_pidfd_send_signal, s->process, SIGCONT, NULL, 0);
  const tw_status status = wait_for_stop(s, limit, error);
  *seconds = tw_now() - began;
  if (status == TW_OK && s->orders->spec.threads == 1 && used >= 0) *seconds = processor_seconds(s) - used;
  set_deadline(s, HUGE_VAL);
  return status;
}

tw_status x86_sandbox_open(const x86_confined *c, x86_sandbox **out, tw_error *error) {
  x86_sandbox *s = calloc(1, sizeof *s);
  *out = NULL;
  if (!s) return tw_fail(error, TW_MISSING, "out of memory");
  s->process = s->waits = s->file[0] = s->file[1] = s->file[2] = -1;
  tw_status status = make_arena(s, c) ? TW_OK : tw_fail(error, TW_MISSING, "no memory for the operands of a kernel");
  if (status == TW_OK) status = start(s, error);
  if (status == TW_OK) status = wait_until_ready(s, c->seconds, error);
  if (status == TW_OK) watch_waits(s);
  if (status == TW_OK)
    *out = s;
  else
    x86_sandbox_close(s);
  return status;
}

void x86_sandbox_close(x86_sandbox *s) {
  if (!s) return;
  if (s->watched) {
    pthread_mutex_lock(&s->lock);
    s->closing = true;
    pthread_cond_signal(&s->changed);
    pthread_mutex_unlock(&s->lock);
    pthread_join(s->watchdog, NULL);
    pthread_cond_destroy(&s->changed);
    pthread_mutex_destroy(&s->lock);
  }
  if (s->pid) {
    kill(s->pid, SIGKILL);
    while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR) continue;
  }
  if (s->process >= 0) close(s->process);
  if (s->waits >= 0) close(s->waits);
  for (int i = 0; i < 3; i++)
    if (s->file[i] >= 0) close(s->file[i]);
  if (s->results) munmap(s->results, s->orders->results_bytes);
  if (s->orders) munmap(s->orders, s->orders->orders_bytes);
  free(s);
}
