/* sandbox.c - see sandbox.h: the arena, the process, and the watchdog that ends it. verdict.c finds the reason of
 * its end. */
#define _GNU_SOURCE
#include "native/sandbox.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <sched.h>
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
#include "base/parallel.h"
#include "base/program.h"
#include "base/spawn.h"
#include "native/verdict.h"

static const uint64_t SPARE_MEMORY = (uint64_t)1 << 30; /* address space for libraries, stacks of threads, workspaces */
enum { LEAST_DESCRIPTOR = 10 }; /* our descriptors have higher numbers than the descriptors of the process */

typedef struct given { /* initial contents of an output */
  size_t at, bytes;
  const char *data;
} given;

struct tw_sandbox {
  pid_t pid;   /* 0: the process has ended */
  int process; /* a descriptor of the process, so that no other process is ever killed */
  int waits;   /* a descriptor of /proc/PID/syscall; < 0: this system does not allow reading it */
  int file[3]; /* orders for reading, results, kernel */
  tw_arena_orders *orders;
  tw_arena_results *results;
  given given[TW_OPERANDS_MAX];
  pthread_t watchdog;
  bool watched, closing, killed;
  /* State of the current call: the process is killed at `deadline`. If it was starved of processors, the deadline
   * moves, but not beyond `until`. */
  double began, limit, deadline, until, starved;
  const tw_stop *stop;  /* stop flag of the thread that waits for the process; NULL: no thread waits */
  pthread_mutex_t lock; /* guards closing, killed and these times */
  pthread_cond_t changed;
};

/* ---- the arena ---- */

static void place_array(uint64_t *end, tw_arena_array *x, const tw_operand *o, uint32_t sets) {
  *x = (tw_arena_array){.type = o->type, .rank = o->rank, .bytes = o->bytes, .is_output = o->is_output};
  snprintf(x->name, sizeof x->name, "%s", o->name);
  memcpy(x->dims, o->dims, sizeof x->dims);
  memcpy(x->stride, o->stride, sizeof x->stride);
  if (!x->bytes) return;
  x->sets = sets;
  x->pitch = tw_arena_pitch(x->bytes);
  x->at = *end + tw_arena_slack(x->bytes);
  *end += x->pitch * sets;
}

static void lay_out(const tw_sandboxed *c, tw_arena_orders *o) {
  uint64_t inputs = TW_ARENA_PAGE, outputs = 2 * TW_ARENA_PAGE;
  *o = (tw_arena_orders){.version = TW_ARENA_VERSION,
                         .size = sizeof *o,
                         .threads = c->threads,
                         .n_operands = (uint32_t)c->n_operands,
                         .seconds = (uint64_t)ceil(c->cpu_seconds)};
  for (size_t i = 0; i < c->n_operands; i++) {
    const bool output = c->operand[i].is_output;
    place_array(output ? &outputs : &inputs, &o->operand[i], &c->operand[i],
                output || c->varies >> i & 1 ? c->sets : 1);
  }
  if (c->task_bytes) memcpy(o->task, c->task, c->task_bytes);
  o->orders_bytes = inputs;
  o->results_bytes = outputs;
  o->memory = inputs + outputs + c->workspace + SPARE_MEMORY;
}

static int new_file(const char *name, uint64_t bytes) {
  const int file = memfd_create(name, MFD_CLOEXEC),
            high = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, LEAST_DESCRIPTOR);
  if (file >= 0) close(file);
  if (high >= 0 && ftruncate(high, (off_t)bytes) != 0) return close(high), -1;
  return high;
}

/* The same file, opened read-only. */
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

static bool make_arena(tw_sandbox *s, const tw_sandboxed *c) {
  tw_arena_orders o;
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
  for (size_t i = 0; i < c->n_operands; i++) {
    const tw_operand *x = &c->operand[i];
    if (x->is_output) s->given[i] = (given){x->given_at, x->given_bytes, c->buffer[i]};
    if (!x->is_output && !(c->varies >> i & 1)) memcpy(tw_sandbox_operand(s, i, 0), c->buffer[i], x->bytes);
  }
  return true;
}

void *tw_sandbox_operand(const tw_sandbox *s, size_t operand, uint32_t set) {
  const tw_arena_array *x = &s->orders->operand[operand];
  return (x->is_output ? (char *)s->results : (char *)s->orders) + x->at + (x->sets > 1 ? set : 0) * x->pitch;
}

/* ---- margins of outputs: in their pages, before and after them ---- */

static char *pages_of(const tw_sandbox *s, size_t operand, uint32_t set) {
  return (char *)tw_sandbox_operand(s, operand, set) - tw_arena_slack(s->orders->operand[operand].bytes);
}

void tw_sandbox_poison(tw_sandbox *s, uint32_t sets) {
  for (size_t o = 0; o < s->orders->n_operands; o++) {
    const tw_arena_array *x = &s->orders->operand[o];
    const given *g = &s->given[o];
    if (!x->is_output || !x->bytes) continue;
    for (uint32_t i = 0; i < sets; i++) {
      memset(pages_of(s, o, i), TW_POISON, x->pitch - TW_ARENA_PAGE);
      if (g->bytes) memcpy((char *)tw_sandbox_operand(s, o, i) + g->at, g->data + g->at, g->bytes);
    }
  }
}

static tw_status margin(const char *p, uint64_t bytes, const char *where, const char *name, tw_error *error) {
  for (uint64_t i = 0; i < bytes; i++)
    if ((unsigned char)p[i] != TW_POISON)
      return tw_fail(error, TW_FAILED, "the kernel writes outside its array: within %llu bytes %s %s",
                     (unsigned long long)bytes, where, name);
  return TW_OK;
}

static tw_status margins_of(const tw_sandbox *s, size_t operand, uint32_t set, tw_error *error) {
  const tw_arena_array *x = &s->orders->operand[operand];
  if (!x->is_output || !x->bytes) return TW_OK;
  const uint64_t before = tw_arena_slack(x->bytes), behind = before + x->bytes;
  const char *pages = pages_of(s, operand, set);
  const tw_status status = margin(pages, before, "before", x->name, error);
  return status != TW_OK ? status : margin(pages + behind, x->pitch - TW_ARENA_PAGE - behind, "after", x->name, error);
}

tw_status tw_sandbox_margins(const tw_sandbox *s, uint32_t sets, tw_error *error) {
  tw_status status = TW_OK;
  for (size_t o = 0; o < s->orders->n_operands; o++)
    for (uint32_t i = 0; status == TW_OK && i < sets; i++) status = margins_of(s, o, i, error);
  return status;
}

/* ---- the process ---- */

/* Seconds that the process's threads were ready to run and had no processor: of the thread that waited longest. 0 where
 * the system does not tell. Field 2 of /proc/PID/task/TID/schedstat, in nanoseconds. */
static double starved_seconds(const tw_sandbox *s) {
  char name[64], path[330];
  double most = 0;
  snprintf(name, sizeof name, "/proc/%d/task", (int)s->pid);
  DIR *tasks = opendir(name);
  for (struct dirent *e; tasks && (e = readdir(tasks));) {
    unsigned long long ran, waited;
    snprintf(path, sizeof path, "/proc/%d/task/%s/schedstat", (int)s->pid, e->d_name);
    FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "re");
    if (f && fscanf(f, "%llu %llu", &ran, &waited) == 2) most = fmax(most, 1e-9 * (double)waited);
    if (f) fclose(f);
  }
  if (tasks) closedir(tasks);
  return most;
}

/* The time that the process spent ready, without a processor, does not count: a busy computer must not change a
 * verdict. */
static void postpone(tw_sandbox *s) {
  if (s->deadline < s->until) s->deadline = fmin(s->began + s->limit + starved_seconds(s) - s->starved, s->until);
}

static const double LOOK_SECONDS = 0.2; /* between two checks of the interrupt */

static void *watch(void *context) {
  tw_sandbox *s = context;
  pthread_mutex_lock(&s->lock);
  while (!s->closing) {
    if (s->deadline <= tw_now() && !s->killed) postpone(s);
    const double left = s->deadline - tw_now();
    if ((left <= 0 || tw_is_stopped(s->stop)) && !s->killed) {
      s->killed = true;
      syscall(SYS_pidfd_send_signal, s->process, SIGKILL, NULL, 0);
    }
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    const double most = s->stop ? LOOK_SECONDS : 3600, wait = s->killed ? 3600 : fmin(left, most);
    until.tv_sec += (time_t)wait;
    until.tv_nsec += (long)((wait - floor(wait)) * 1e9);
    if (until.tv_nsec >= 1000000000) until.tv_sec++, until.tv_nsec -= 1000000000;
    pthread_cond_timedwait(&s->changed, &s->lock, &until);
  }
  pthread_mutex_unlock(&s->lock);
  return NULL;
}

/* State of the call that begins. */
static void set_limit(tw_sandbox *s, double limit, double until) {
  enum { MOST = 10 }; /* maximum factor on the limit for a starved process */
  const double now = tw_now(), starved = starved_seconds(s);
  pthread_mutex_lock(&s->lock);
  s->stop = tw_stop_of_thread();
  s->began = now, s->limit = limit, s->starved = starved;
  s->until = fmin(until, now + MOST * limit);
  s->deadline = fmin(now + limit, s->until);
  pthread_cond_signal(&s->changed);
  pthread_mutex_unlock(&s->lock);
}

static void end_limit(tw_sandbox *s) {
  pthread_mutex_lock(&s->lock);
  s->deadline = s->until = HUGE_VAL;
  s->stop = NULL;
  pthread_mutex_unlock(&s->lock);
}

static bool start_watchdog(tw_sandbox *s) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_mutex_init(&s->lock, NULL);
  pthread_cond_init(&s->changed, &attributes);
  pthread_condattr_destroy(&attributes);
  s->deadline = s->until = HUGE_VAL;
  return s->watched = pthread_create(&s->watchdog, NULL, watch, s) == 0;
}

/* The process gets only the three files: no environment, no other descriptors. */
static tw_status start(tw_sandbox *s, const tw_sandboxed *c, tw_error *error) {
  char name[64];
  const char *const argv[] = {name, NULL};
  static const char *const environment[] = {"OMP_PROC_BIND=true", "OMP_PLACES=cores", "OMP_DYNAMIC=false",
                                            "ASAN_OPTIONS=detect_leaks=0:handle_segv=0:handle_abort=0", NULL};
  char *path = tw_program_path(c->runner, c->variable);
  snprintf(name, sizeof name, "tilewright-%s", c->runner);
  if (!path)
    return tw_fail(error, TW_MISSING, "%s is missing; install all of tilewright, or set %s to its path", name,
                   c->variable);
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

/* Waits until it stops or ends, at most `limit` seconds. */
static tw_status wait_for_stop(tw_sandbox *s, double limit, tw_error *error) {
  int status = 0;
  pid_t got;
  do got = waitpid(s->pid, &status, WUNTRACED);
  while (got < 0 && errno == EINTR);
  if (got == s->pid && WIFSTOPPED(status)) return TW_OK;
  s->pid = 0;
  pthread_mutex_lock(&s->lock);
  const bool killed = s->killed;
  pthread_mutex_unlock(&s->lock);
  return tw_sandbox_verdict(s->orders, s->results, status, killed ? limit : 0, error);
}

/* The process's own reason for giving up. The kernel may have written it, so it is made one printable line. */
static void reason_of(const tw_sandbox *s, char why[sizeof s->results->message]) {
  memcpy(why, s->results->message, sizeof s->results->message);
  why[sizeof s->results->message - 1] = '\0';
  for (char *p = why; *p; p++)
    if (*p < ' ' || *p > '~') *p = '?';
}

static tw_status wait_until_ready(tw_sandbox *s, double limit, tw_error *error) {
  set_limit(s, limit, HUGE_VAL);
  tw_status status = wait_for_stop(s, limit, error);
  end_limit(s);
  if (status != TW_OK || s->results->stage == TW_ARENA_READY) return status;
  char why[sizeof s->results->message];
  reason_of(s, why);
  if (!why[0]) return tw_fail(error, TW_FAILED, "the kernel ended its process before it was called");
  return tw_fail(error, s->results->stage == TW_ARENA_STARTING ? TW_MISSING : TW_FAILED, "%s", why);
}

/* Processor time of all threads of the process, as the system counts it; < 0 if it cannot. */
static double processor_clock(const tw_sandbox *s) {
  clockid_t clock;
  struct timespec t;
  if (clock_getcpuclockid(s->pid, &clock) != 0 || clock_gettime(clock, &t) != 0) return -1;
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static void watch_waits(tw_sandbox *s) {
  char name[64];
  snprintf(name, sizeof name, "/proc/%d/syscall", (int)s->pid);
  s->waits = open(name, O_RDONLY | O_CLOEXEC);
}

/* The clock of the stopped process once no processor runs it. The system tells of a stop just before it takes the
 * process off its processor, and adds the time since the last tick (up to 10 ms) only when it does: a clock read in
 * between is far too low. Reading the call in which the process waits is answered only after that. In other states
 * its clock must not advance. */
static double processor_seconds(const tw_sandbox *s) {
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

tw_status tw_sandbox_prepare(tw_sandbox *s, uint32_t set, double limit, tw_error *error) {
  s->orders->command = TW_ARENA_PREPARE;
  s->orders->run_sets = set;
  set_limit(s, limit, HUGE_VAL);
  syscall(SYS_pidfd_send_signal, s->process, SIGCONT, NULL, 0);
  const tw_status status = wait_for_stop(s, limit, error);
  end_limit(s);
  return status;
}

/* ---- caches ---- */

/* The processors that threads of the process ran on last: field 39 of /proc/PID/task/TID/stat. */
static void processors_of(const tw_sandbox *s, cpu_set_t *out) {
  char name[64], text[1024];
  CPU_ZERO(out);
  snprintf(name, sizeof name, "/proc/%d/task", (int)s->pid);
  DIR *tasks = opendir(name);
  for (struct dirent *e; tasks && (e = readdir(tasks));) {
    char path[330];
    snprintf(path, sizeof path, "/proc/%d/task/%s/stat", (int)s->pid, e->d_name);
    FILE *f = e->d_name[0] == '.' ? NULL : fopen(path, "re");
    const size_t n = f ? fread(text, 1, sizeof text - 1, f) : 0;
    if (f) fclose(f);
    text[n] = '\0';
    const char *at = strrchr(text, ')'); /* field 3 follows the name, which may contain anything */
    for (int field = 2; at && field < 39; field++) at = strchr(at + 1, ' ');
    const int cpu = at ? atoi(at + 1) : -1;
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(cpu, out);
  }
  if (tasks) closedir(tasks);
}

static void read_all(const volatile char *p, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 64) (void)p[i];
}

void tw_sandbox_cool(const tw_sandbox *s, size_t bytes) {
  enum { OWN_CACHE = 8 << 20 }; /* cache of one core; the next level is shared, and one read replaces its content */
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static char *data;
  static size_t size;
  cpu_set_t before, ran, one;
  pthread_mutex_lock(&lock);
  if (size < bytes) {
    char *larger = realloc(data, bytes);
    if (larger) memset(larger, 1, bytes), data = larger, size = bytes;
  }
  const bool known = sched_getaffinity(0, sizeof before, &before) == 0;
  processors_of(s, &ran);
  for (int i = 0; known && i < CPU_SETSIZE; i++) {
    if (!CPU_ISSET(i, &ran)) continue;
    CPU_ZERO(&one);
    CPU_SET(i, &one);
    if (sched_setaffinity(0, sizeof one, &one) == 0) read_all(data, size < OWN_CACHE ? size : OWN_CACHE);
  }
  read_all(data, size); /* on the last of these processors */
  if (known) sched_setaffinity(0, sizeof before, &before);
  pthread_mutex_unlock(&lock);
}

tw_status tw_sandbox_run(tw_sandbox *s, uint32_t sets, double limit, double until, double *seconds, tw_error *error) {
  s->orders->command = TW_ARENA_RUN;
  s->orders->run_sets = sets;
  set_limit(s, limit, until);
  const double used = s->orders->threads == 1 ? processor_seconds(s) : -1, began = tw_now();
  syscall(SYS_pidfd_send_signal, s->process, SIGCONT, NULL, 0);
  tw_status status = wait_for_stop(s, limit, error);
  *seconds = tw_now() - began;
  if (status == TW_OK && used >= 0) *seconds = processor_seconds(s) - used;
  end_limit(s);
  char why[sizeof s->results->message];
  reason_of(s, why);
  return status == TW_OK && why[0] ? tw_fail(error, TW_FAILED, "%s", why) : status;
}

tw_status tw_sandbox_open(const tw_sandboxed *c, tw_sandbox **out, tw_error *error) {
  tw_sandbox *s = calloc(1, sizeof *s);
  *out = NULL;
  if (!s) return tw_no_memory(error, NULL);
  s->process = s->waits = s->file[0] = s->file[1] = s->file[2] = -1;
  tw_status status = make_arena(s, c) ? TW_OK : tw_no_memory(error, "the operands of a kernel");
  if (status == TW_OK) status = start(s, c, error);
  if (status == TW_OK) status = wait_until_ready(s, c->seconds, error);
  if (status == TW_OK) watch_waits(s);
  if (status == TW_OK)
    *out = s;
  else
    tw_sandbox_close(s);
  return status;
}

void tw_sandbox_close(tw_sandbox *s) {
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
