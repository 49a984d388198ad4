/* process.c - see process.h. */
#define _GNU_SOURCE
#include "target/cuda/process.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/integers.h"
#include "base/parallel.h"
#include "target/cuda/verdict.h"

static const double START_SECONDS = 120; /* to load the driver, create a context and copy the inputs */
static const double END_SECONDS = 20;    /* for the driver to remove a kernel from a device */
static const double LOOK_SECONDS = 0.1;  /* how often a wait checks whether it must stop */

enum { CUBIN_ROOM = 4 << 20 }; /* size of the cubin's buffer in a process that runs several kernels */

struct cuda_process {
  const cuda_inputs *inputs;
  uint64_t inputs_id, cubin_room;
  const tw_launch *launch;
  pid_t pid;
  int file[3], channel; /* files of orders and of results, and the process's end of the channel; our end of it */
  cuda_orders *orders;
  cuda_results *results;
  uint64_t orders_bytes, results_bytes, workspace_guard;
  cuda_reply ready;
  bool inputs_back;
};

/* ---- files ---- */

static int new_file(const char *name, uint64_t bytes) {
  const int file = memfd_create(name, MFD_CLOEXEC),
            high = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, CUDA_FILES_HIGH);
  if (file >= 0) close(file);
  if (high >= 0 && ftruncate(high, (off_t)bytes) != 0) return close(high), -1;
  return high;
}

static void lay_out(cuda_process *p, const cuda_config *c, const cuda_kernel *k, bool keeps) {
  cuda_orders *o = p->orders;
  uint64_t at = tw_round_up(sizeof(cuda_results), CUDA_RESULTS_PAGE);
  *o = (cuda_orders){.protocol = CUDA_PROTOCOL,
                     .size = sizeof *o,
                     .keeps = keeps,
                     .n_operands = (uint32_t)p->inputs->n_operands,
                     .n_sets = (uint32_t)p->inputs->n_sets,
                     .launch = k->launch,
                     .flush_bytes = 4 * (uint64_t)c->l2_bytes,
                     .cubin_at = tw_round_up(sizeof *o, 64),
                     .cubin_bytes = k->bytes};
  for (uint32_t i = 0; i < o->n_operands; i++) {
    const tw_operand *x = &p->inputs->operand[i];
    o->operand[i] = (cuda_array){.bytes = x->bytes,
                                 .at_set = p->inputs->at[i],
                                 .at_results = at,
                                 .given_at = x->given_at,
                                 .given_bytes = x->given_bytes,
                                 .is_output = x->is_output};
    at += tw_round_up(2 * CUDA_GUARD + x->bytes, CUDA_RESULTS_PAGE);
  }
  o->guard_at_results = at;
  p->results_bytes = at + CUDA_GUARD;
  memcpy((char *)o + o->cubin_at, k->cubin, k->bytes);
}

static void *map(int file, uint64_t bytes) {
  void *at = file < 0 ? MAP_FAILED : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  return at == MAP_FAILED ? NULL : at;
}

static tw_status make_files(cuda_process *p, const cuda_config *c, const cuda_kernel *k, bool keeps, tw_error *error) {
  char path[64];
  int ends[2] = {-1, -1};
  p->cubin_room = keeps && k->bytes < CUBIN_ROOM ? CUBIN_ROOM : k->bytes;
  p->orders_bytes = tw_round_up(sizeof *p->orders, 64) + p->cubin_room;
  const int orders = new_file("tilewright orders", p->orders_bytes);
  if ((p->orders = map(orders, p->orders_bytes))) {
    lay_out(p, c, k, keeps);
    snprintf(path, sizeof path, "/proc/self/fd/%d", orders);
    const int only = open(path, O_RDONLY | O_CLOEXEC);
    p->file[0] = only < 0 ? -1 : fcntl(only, F_DUPFD_CLOEXEC, CUDA_FILES_HIGH);
    if (only >= 0) close(only);
    p->file[1] = new_file("tilewright results", p->results_bytes);
    p->results = map(p->file[1], p->results_bytes);
  }
  if (orders >= 0) close(orders);
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) == 0) {
    p->channel = ends[0];
    p->file[2] = fcntl(ends[1], F_DUPFD_CLOEXEC, CUDA_FILES_HIGH);
    close(ends[1]);
  }
  if (p->file[0] >= 0 && p->results && p->file[2] >= 0) return TW_OK;
  return tw_no_memory(error, "the operands of a kernel");
}

/* ---- the process ---- */

/* The other process inherits only the files and the list of visible devices. */
static tw_status start(cuda_process *p, tw_error *error) {
  const char *runner = cuda_look()->runner;
  char *argv[] = {(char *)"tilewright-cuda-runner", (char *)"evaluate", NULL};
  static const char *const passed[] = {"CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "LD_LIBRARY_PATH", CUDA_CONFINE};
  char variable[4][2048], *environment[8] = {(char *)"CUDA_CACHE_DISABLE=1",
                                             (char *)"ASAN_OPTIONS=detect_leaks=0:protect_shadow_gap=0", NULL};
  size_t n = 2;
  for (size_t i = 0; i < 4; i++) {
    const char *value = getenv(passed[i]);
    if (!value || strlen(value) > sizeof variable[i] - 64) continue;
    snprintf(variable[i], sizeof variable[i], "%s=%s", passed[i], value);
    environment[n++] = variable[i];
  }
  environment[n] = NULL;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int i = 0; i < 3; i++) posix_spawn_file_actions_addopen(&actions, i, "/dev/null", O_RDWR, 0);
  for (int i = 0; i < 3; i++) posix_spawn_file_actions_adddup2(&actions, p->file[i], CUDA_ORDERS + i);
  for (int i = 0; i < p->inputs->n_sets; i++)
    posix_spawn_file_actions_adddup2(&actions, p->inputs->file[i], CUDA_SETS + i);
  const int failed = posix_spawn(&p->pid, runner, &actions, NULL, argv, environment);
  posix_spawn_file_actions_destroy(&actions);
  if (!failed) return TW_OK;
  p->pid = 0;
  return tw_fail(error, TW_MISSING, "cannot start %s: %s", runner, strerror(failed));
}

/* One reply within `limit` seconds. */
static tw_status listen_to(cuda_process *p, double limit, cuda_stage stage, cuda_reply *out, tw_error *error) {
  const double deadline = tw_now() + limit;
  for (;;) {
    struct pollfd channel = {.fd = p->channel, .events = POLLIN};
    const double left = deadline - tw_now();
    const int ready = poll(&channel, 1, left > 0 ? (int)(fmin(left, LOOK_SECONDS) * 1e3) + 1 : 0);
    if (ready <= 0 && tw_is_stop_asked()) return cuda_verdict_stopped(stage, error);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0 && left > 0) continue;
    if (ready == 0) return cuda_verdict_late(limit, stage, error);
    const ssize_t got = recv(p->channel, out, sizeof *out, 0);
    if (got == (ssize_t)sizeof *out) break;
    return cuda_verdict_gone(stage, error);
  }
  return out->error ? cuda_verdict(p->launch, out, error) : TW_OK;
}

tw_status cuda_process_open(const cuda_config *c, const cuda_kernel *k, const cuda_inputs *inputs, bool keeps,
                            cuda_process **out, tw_error *error) {
  cuda_process *p = calloc(1, sizeof *p);
  *out = NULL;
  if (!p) return tw_no_memory(error, NULL);
  p->inputs = inputs;
  p->inputs_id = inputs->id;
  p->launch = &k->launch;
  p->channel = p->file[0] = p->file[1] = p->file[2] = -1;
  tw_status status = make_files(p, c, k, keeps, error);
  if (status == TW_OK) status = start(p, error);
  if (p->file[2] >= 0) close(p->file[2]);
  p->file[2] = -1; /* close it, so that the process's end can be noticed */
  if (status == TW_OK) status = listen_to(p, START_SECONDS, CUDA_STARTING, &p->ready, error);
  if (status == TW_OK)
    *out = p;
  else
    cuda_process_close(p);
  return status;
}

bool cuda_process_change(cuda_process *p, const cuda_config *c, const cuda_kernel *k, const cuda_inputs *inputs) {
  if (p->inputs_id != inputs->id || k->bytes > p->cubin_room) return false;
  p->inputs = inputs;
  p->launch = &k->launch;
  p->inputs_back = false;
  lay_out(p, c, k, true);
  return true;
}

tw_status cuda_process_begin(cuda_process *p, const cuda_device *d, tw_error *error) {
  const cuda_command begin = {.work = CUDA_BEGIN};
  p->orders->device = d->ordinal;
  if (send(p->channel, &begin, sizeof begin, MSG_NOSIGNAL) != (ssize_t)sizeof begin)
    return cuda_verdict_gone(CUDA_STARTING, error); /* the idle process, if any */
  return listen_to(p, START_SECONDS, CUDA_STARTING, &p->ready, error);
}

void cuda_process_close(cuda_process *p) {
  if (!p) return;
  if (p->pid) {
    const double deadline = tw_now() + END_SECONDS;
    const struct timespec pause = {.tv_nsec = 2000000};
    kill(p->pid, SIGKILL);
    while (waitpid(p->pid, NULL, WNOHANG) == 0 && tw_now() < deadline) nanosleep(&pause, NULL);
  }
  for (int i = 0; i < 3; i++)
    if (p->file[i] >= 0) close(p->file[i]);
  if (p->channel >= 0) close(p->channel);
  if (p->orders) munmap(p->orders, p->orders_bytes);
  if (p->results) munmap(p->results, p->results_bytes);
  free(p);
}

const cuda_reply *cuda_process_ready(const cuda_process *p) { return &p->ready; }
const cuda_results *cuda_process_results(const cuda_process *p) { return p->results; }

/* ---- work ---- */

static tw_status guard(const unsigned char *p, const char *where, const char *name, tw_error *error) {
  for (int i = 0; i < CUDA_GUARD; i++)
    if (p[i] != TW_POISON)
      return tw_fail(error, TW_FAILED, "the kernel writes outside its operands: within %d bytes %s %s", CUDA_GUARD,
                     where, name);
  return TW_OK;
}

static tw_status check_guards(const cuda_process *p, tw_error *error) {
  const unsigned char *results = (const unsigned char *)p->results;
  tw_status status = TW_OK;
  for (size_t i = 0; status == TW_OK && i < p->inputs->n_operands; i++) {
    const cuda_array *x = &p->orders->operand[i];
    const char *name = p->inputs->operand[i].name;
    if (!x->is_output && !p->inputs_back) continue;
    status = guard(results + x->at_results, "before", name, error);
    if (status == TW_OK) status = guard(results + x->at_results + CUDA_GUARD + x->bytes, "after", name, error);
  }
  return status == TW_OK ? guard(results + p->orders->guard_at_results, "after", "its workspace", error) : status;
}

tw_status cuda_process_do(cuda_process *p, const cuda_command *c, double limit, cuda_reply *out, double *wall,
                          tw_error *error) {
  const double began = tw_now();
  if (send(p->channel, c, sizeof *c, MSG_NOSIGNAL) != (ssize_t)sizeof *c) return cuda_verdict_gone(CUDA_RUNNING, error);
  tw_status status = listen_to(p, limit, CUDA_RUNNING, out, error);
  *wall = tw_now() - began;
  if (c->work == CUDA_FETCH) p->inputs_back = c->set[0] == CUDA_OPERANDS;
  if (status == TW_OK && c->work == CUDA_FETCH) status = check_guards(p, error);
  return status;
}

void cuda_process_operands(const cuda_process *p, void *actual[TW_OPERANDS_MAX]) {
  for (size_t i = 0; i < p->inputs->n_operands; i++) {
    const cuda_array *x = &p->orders->operand[i];
    actual[i] = x->is_output || p->inputs_back ? (char *)p->results + x->at_results + CUDA_GUARD : NULL;
  }
}
