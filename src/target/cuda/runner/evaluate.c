/* evaluate.c - one kernel on one device: loads it, runs it on the given inputs, times it. See protocol.h.
 *
 * All operands are in one allocation, each between guards, so that a write just outside is detected and one far outside
 * faults. Sets of inputs are in another allocation; before a launch one set is copied to the place where the kernel
 * reads. Data kept from timed launches stay on the device until all are done, so that launches follow one another
 * without the host. */
#define _GNU_SOURCE
#include "target/cuda/runner/runner.h"

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/integers.h"
#include "native/runner/device.h"
#include "target/cuda/driver.h"
#include "target/cuda/runner/protocol.h"
#include "target/cuda/start.h"

enum { GUARD = CUDA_GUARD };

typedef struct process {
  cuda_driver cuda;
  const cuda_orders *orders;
  cuda_results *results;
  size_t results_bytes;
  const char *set[CUDA_SETS_MAX];
  CUdeviceptr staged[CUDA_SETS_MAX][TW_OPERANDS_MAX], live[TW_OPERANDS_MAX], all_live, workspace, flush;
  CUdeviceptr kept[TW_OPERANDS_MAX], kept_guard,
      pieces; /* from timed launches: outputs between guards, the workspace's guard */
  uint64_t live_bytes;
  CUmodule module; /* for the kernel; NULL: none yet */
  bool has_device;
  CUfunction function[TW_LAUNCH_KERNELS];
  CUstream stream;
  CUevent *event; /* 2 * CUDA_LAUNCHES_MAX + 2 */
  CUlaunchConfig config[TW_LAUNCH_KERNELS];
  CUlaunchAttribute attribute[TW_LAUNCH_KERNELS][CUDA_ATTRIBUTES];
  cuda_arguments arguments[TW_LAUNCH_KERNELS];
  cuda_reply reply;
} process;

static _Noreturn void give_up(process *p, CUresult error, const char *message) {
  p->reply.error = error ? error : -1;
  if (message)
    snprintf(p->reply.message, sizeof p->reply.message, "%s", message);
  else
    cuda_driver_error(&p->cuda, error, p->reply.message, sizeof p->reply.message);
  send(CUDA_CHANNEL, &p->reply, sizeof p->reply, MSG_NOSIGNAL);
  _exit(1);
}

/* A call of the driver that has to succeed. */
#define CALL(p, name, ...)                                                                                             \
  do {                                                                                                                 \
    const CUresult result = (p)->cuda.name(__VA_ARGS__);                                                               \
    if (result) give_up(p, result, NULL);                                                                              \
  } while (0)

/* ---- memory ---- */

static CUdeviceptr allocate(process *p, uint64_t bytes) {
  CUdeviceptr at = 0;
  CALL(p, cuMemAlloc_v2, &at, bytes ? bytes : 1);
  return at;
}

/* Only the inputs of a set are on the device: no unchecked room. */
static bool is_staged(const cuda_array *x) { return !x->is_output || x->given_bytes; }

/* Operands, and the workspace of this kernel. */
static void make_live(process *p) {
  const cuda_orders *o = p->orders;
  uint64_t all = GUARD;
  for (uint32_t i = 0; i < o->n_operands; i++) all += tw_round_up(o->operand[i].bytes, GUARD) + GUARD;
  all += tw_round_up((uint64_t)o->launch.workspace, GUARD) + GUARD;
  if (all > p->live_bytes) {
    if (p->live_bytes) CALL(p, cuMemFree_v2, p->all_live);
    p->all_live = allocate(p, p->live_bytes = all);
  }
  CUdeviceptr at = p->all_live + GUARD;
  for (uint32_t i = 0; i < o->n_operands; i++) {
    p->live[i] = at;
    at += tw_round_up(o->operand[i].bytes, GUARD) + GUARD;
  }
  p->workspace = at;
}

static void make_memory(process *p) {
  const cuda_orders *o = p->orders;
  uint64_t sets = 0, outputs = GUARD;
  CUdeviceptr at;
  for (uint32_t i = 0; i < o->n_operands; i++) {
    const uint64_t bytes = tw_round_up(o->operand[i].bytes, GUARD);
    if (is_staged(&o->operand[i])) sets += bytes;
    if (o->operand[i].is_output) outputs += bytes + 2 * GUARD;
  }
  for (uint32_t s = 0; s < o->n_sets; s++) {
    at = allocate(p, sets);
    for (uint32_t i = 0; i < o->n_operands; i++) {
      const cuda_array *x = &o->operand[i];
      if (!is_staged(x)) continue;
      p->staged[s][i] = at;
      if (!x->is_output) CALL(p, cuMemcpyHtoD_v2, at, p->set[s] + x->at_set, x->bytes);
      if (x->given_bytes)
        CALL(p, cuMemcpyHtoD_v2, at + x->given_at, p->set[s] + x->at_set + x->given_at, x->given_bytes);
      at += tw_round_up(x->bytes, GUARD);
    }
  }
  if (o->flush_bytes) p->flush = allocate(p, o->flush_bytes);
  p->pieces = allocate(p, sizeof p->results->piece);
  p->kept_guard = at = allocate(p, outputs);
  at += GUARD;
  for (uint32_t i = 0; i < o->n_operands; i++) {
    if (!o->operand[i].is_output) continue;
    p->kept[i] = at;
    at += tw_round_up(o->operand[i].bytes, GUARD) + 2 * GUARD;
  }
}

static void poison(process *p, CUdeviceptr at, uint64_t bytes) {
  if (bytes) CALL(p, cuMemsetD8Async, at, TW_POISON, bytes, p->stream);
}

static void copy(process *p, CUdeviceptr to, CUdeviceptr from, uint64_t bytes) {
  if (bytes) CALL(p, cuMemcpyDtoDAsync_v2, to, from, bytes, p->stream);
}

/* Copies the inputs of a set, the first one rotated; poisons outputs and guards, and prepares the workspace as
 * promised. */
static void prepare(process *p, uint32_t set, uint64_t turn) {
  const cuda_orders *o = p->orders;
  for (uint32_t i = 0; i < o->n_operands; i++) {
    const cuda_array *x = &o->operand[i];
    const uint64_t from = i == 0 && turn < x->bytes ? turn : 0;
    poison(p, p->live[i] - GUARD, GUARD);
    poison(p, p->live[i] + x->bytes, tw_round_up(x->bytes, GUARD) - x->bytes + GUARD);
    if (x->is_output) {
      poison(p, p->live[i], x->bytes);
    } else {
      copy(p, p->live[i], p->staged[set][i] + from, x->bytes - from);
      copy(p, p->live[i] + x->bytes - from, p->staged[set][i], from);
    }
    if (x->given_bytes)
      CALL(p, cuMemcpyDtoDAsync_v2, p->live[i] + x->given_at, p->staged[set][i] + x->given_at, x->given_bytes,
           p->stream);
  }
  const uint64_t bytes = (uint64_t)o->launch.workspace;
  poison(p, p->workspace + bytes, tw_round_up(bytes, GUARD) - bytes + GUARD);
  if (!o->launch.zeroed) poison(p, p->workspace, bytes);
}

/* Operands with their guards; then the guard after the workspace. */
static void fetch(process *p, uint32_t what) {
  const cuda_orders *o = p->orders;
  char *results = (char *)p->results;
  const CUdeviceptr *from = what == CUDA_WHOLE ? p->kept : p->live,
                    guard = what == CUDA_WHOLE ? p->kept_guard : p->workspace + (uint64_t)o->launch.workspace;
  for (uint32_t i = 0; i < o->n_operands; i++) {
    const cuda_array *x = &o->operand[i];
    if (x->is_output || what == CUDA_OPERANDS)
      CALL(p, cuMemcpyDtoH_v2, results + x->at_results, from[i] - GUARD, GUARD + x->bytes + GUARD);
  }
  CALL(p, cuMemcpyDtoH_v2, results + o->guard_at_results, guard, GUARD);
}

/* The data of timed launch `i` that are compared. */
static void keep_outputs(process *p, const cuda_command *c, uint32_t i) {
  const cuda_orders *o = p->orders;
  for (uint32_t j = 0; j < c->n_pieces; j++)
    copy(p, p->pieces + (i * CUDA_PIECES + j) * CUDA_PIECE_BYTES, p->live[c->piece[j].operand] + c->at[i][j],
         c->piece[j].bytes);
  if (i != c->whole) return;
  for (uint32_t j = 0; j < o->n_operands; j++)
    if (o->operand[j].is_output) copy(p, p->kept[j] - GUARD, p->live[j] - GUARD, GUARD + o->operand[j].bytes + GUARD);
  copy(p, p->kept_guard, p->workspace + (uint64_t)o->launch.workspace, GUARD);
}

/* ---- the kernel ---- */

static void make_arguments(process *p, size_t k, const CUdeviceptr operand[], cuda_arguments *to) {
  const tw_launch *l = &p->orders->launch;
  p->reply.stage = CUDA_MAPPING;
  if (l->n_maps && !p->cuda.cuTensorMapEncodeTiled) give_up(p, 0, "this driver is too old for tensor maps");
  const CUresult result = cuda_make_arguments(&p->cuda, l, k, operand, p->workspace, to, &p->reply.index);
  if (result) give_up(p, result, NULL);
}

static void load_kernel(process *p, CUmodule module, size_t k) {
  const tw_launch_kernel *l = &p->orders->launch.kernel[k];
  p->reply.stage = CUDA_LOADING;
  CALL(p, cuModuleGetFunction, &p->function[k], module, l->name);
  const CUfunction f = p->function[k];
  p->reply.stage = CUDA_LAUNCHING;
  const CUresult allowed = cuda_allow(&p->cuda, l, f);
  if (allowed) give_up(p, allowed, NULL);
  p->config[k] = cuda_make_config(l, p->stream, false, p->attribute[k]); /* alone on the device */
  make_arguments(p, k, p->live, &p->arguments[k]);
  if (k != p->orders->launch.main) return;
  const int threads = (int)(l->block[0] * l->block[1] * l->block[2]);
  CALL(p, cuFuncGetAttribute, &p->reply.registers, CU_FUNCTION_REGISTERS, f);
  CALL(p, cuFuncGetAttribute, &p->reply.local, CU_FUNCTION_LOCAL, f);
  CALL(p, cuFuncGetAttribute, &p->reply.shared_static, CU_FUNCTION_SHARED, f);
  CALL(p, cuOccupancyMaxActiveBlocksPerMultiprocessor, &p->reply.blocks, f, threads, (size_t)l->shared);
  if (l->clustered) CALL(p, cuOccupancyMaxActiveClusters, &p->reply.clusters, f, &p->config[k]);
}

static void load(process *p) {
  p->reply.stage = CUDA_LOADING;
  if (p->module) CALL(p, cuModuleUnload, p->module);
  CALL(p, cuModuleLoadData, &p->module, (const char *)p->orders + p->orders->cubin_at);
  for (size_t k = 0; k < p->orders->launch.n_kernels; k++) load_kernel(p, p->module, k);
}

/* The kernels, after what belongs to their time. */
static void launch_with(process *p, const CUlaunchConfig config[], cuda_arguments arguments[]) {
  const tw_launch *l = &p->orders->launch;
  if (l->zeroed && l->workspace) CALL(p, cuMemsetD8Async, p->workspace, 0, (size_t)l->workspace, p->stream);
  p->reply.stage = CUDA_LAUNCHING;
  for (size_t k = 0; k < l->n_kernels; k++)
    CALL(p, cuLaunchKernelEx, &config[k], p->function[k], arguments[k].at, NULL);
  p->reply.stage = CUDA_RUNNING;
}

static void launch(process *p) { launch_with(p, p->config, p->arguments); }

static void finish(process *p) { CALL(p, cuStreamSynchronize, p->stream); }

/* ---- work ---- */

static void run(process *p, uint32_t set) {
  prepare(p, set, 0);
  finish(p);
  launch(p);
  finish(p);
}

static void time_launches(process *p, const cuda_command *c) {
  CUevent *first = p->event + 2 * c->n, *last = first + 1;
  const uint64_t flush = p->orders->flush_bytes;
  CALL(p, cuEventRecord, *first, p->stream);
  for (uint32_t i = 0; i < c->n; i++) {
    prepare(p, c->set[i], c->turn[i]);
    if (flush) CALL(p, cuMemsetD8Async, p->flush, (unsigned char)i, flush, p->stream);
    CALL(p, cuEventRecord, p->event[2 * i], p->stream);
    if (c->work == CUDA_TIME) launch(p);
    CALL(p, cuEventRecord, p->event[2 * i + 1], p->stream);
    keep_outputs(p, c, i);
  }
  CALL(p, cuEventRecord, *last, p->stream);
  finish(p);
  for (uint32_t i = 0; i < c->n; i++)
    CALL(p, cuEventElapsedTime, &p->results->ms[i], p->event[2 * i], p->event[2 * i + 1]);
  CALL(p, cuEventElapsedTime, &p->reply.total_ms, *first, *last);
  CALL(p, cuMemcpyDtoH_v2, p->results->piece, p->pieces, sizeof p->results->piece);
}

static void batch(process *p, const cuda_command *c) {
  CALL(p, cuEventRecord, p->event[0], p->stream);
  for (uint32_t i = 0; i < c->n; i++) launch(p);
  CALL(p, cuEventRecord, p->event[1], p->stream);
  finish(p);
  CALL(p, cuEventElapsedTime, &p->reply.total_ms, p->event[0], p->event[1]);
}

/* Arguments of the launches of a chain, with inputs but the first that have been copied to `at`. */
static cuda_arguments *chained_arguments(process *p, CUdeviceptr at, uint64_t each, uint32_t copies) {
  const cuda_orders *o = p->orders;
  const size_t kernels = o->launch.n_kernels;
  cuda_arguments *all = aligned_alloc(_Alignof(cuda_arguments), copies * kernels * sizeof *all);
  if (!all) give_up(p, 0, "out of memory");
  for (uint32_t c = 0; c < copies; c++) {
    CUdeviceptr operand[TW_OPERANDS_MAX], next = at + c * each;
    for (uint32_t i = 0; i < o->n_operands; i++) {
      operand[i] = p->live[i];
      if (!i || o->operand[i].is_output) continue;
      copy(p, operand[i] = next, p->live[i], o->operand[i].bytes);
      next += tw_round_up(o->operand[i].bytes, GUARD);
    }
    for (size_t k = 0; k < kernels; k++) make_arguments(p, k, operand, &all[c * kernels + k]);
  }
  return all;
}

/* The device is kept busy with its cache until the host has submitted all launches of a round. */
static void chain(process *p, const cuda_command *c) {
  enum { AHEAD = 6 };
  const cuda_orders *o = p->orders;
  CUlaunchConfig config[TW_LAUNCH_KERNELS];
  CUlaunchAttribute attribute[TW_LAUNCH_KERNELS][CUDA_ATTRIBUTES];
  uint64_t each = 0;
  for (uint32_t i = 1; i < o->n_operands; i++)
    if (!o->operand[i].is_output) each += tw_round_up(o->operand[i].bytes, GUARD);
  const uint64_t wanted = each ? o->flush_bytes / 2 / each + 2 : 1;
  const uint32_t copies = wanted < CUDA_COPIES_MAX ? (uint32_t)wanted : CUDA_COPIES_MAX;
  const CUdeviceptr at = allocate(p, copies * each);
  cuda_arguments *arguments = chained_arguments(p, at, each, copies);
  for (size_t k = 0; k < o->launch.n_kernels; k++)
    config[k] = cuda_make_config(&o->launch.kernel[k], p->stream, true, attribute[k]);
  for (uint32_t i = 0; i < c->n; i++) {
    for (int f = 0; o->flush_bytes && f < AHEAD; f++)
      CALL(p, cuMemsetD8Async, p->flush, (unsigned char)f, o->flush_bytes, p->stream);
    CALL(p, cuEventRecord, p->event[0], p->stream);
    for (uint32_t j = 0; j < CUDA_CHAINED; j++) launch_with(p, config, arguments + j % copies * o->launch.n_kernels);
    CALL(p, cuEventRecord, p->event[1], p->stream);
    finish(p);
    CALL(p, cuEventElapsedTime, &p->results->ms[i], p->event[0], p->event[1]);
  }
  free(arguments);
  CALL(p, cuMemFree_v2, at);
}

/* ---- the process ---- */

static void *map_file(int file, size_t *bytes, int protection) {
  const off_t size = lseek(file, 0, SEEK_END);
  void *at = size > 0 ? mmap(NULL, (size_t)size, protection, MAP_SHARED, file, 0) : MAP_FAILED;
  if (bytes) *bytes = (size_t)size;
  return at == MAP_FAILED ? NULL : at;
}

static bool map_files(process *p) {
  size_t bytes;
  p->orders = map_file(CUDA_ORDERS, &bytes, PROT_READ);
  if (!p->orders || bytes < sizeof *p->orders || p->orders->protocol != CUDA_PROTOCOL ||
      p->orders->size != sizeof *p->orders)
    return false;
  p->results = map_file(CUDA_RESULTS, &p->results_bytes, PROT_READ | PROT_WRITE);
  for (uint32_t s = 0; s < p->orders->n_sets; s++)
    if (!(p->set[s] = map_file(CUDA_SETS + (int)s, NULL, PROT_READ))) return false;
  return p->results != NULL;
}

static void open_driver(process *p) {
  const char *missing = cuda_driver_open(&p->cuda);
  if (missing) give_up(p, 0, missing);
}

static void open_device(process *p) {
  CUdevice device;
  CUcontext context;
  CALL(p, cuDeviceGet, &device, p->orders->device);
  CALL(p, cuDevicePrimaryCtxRetain, &context, device);
  CALL(p, cuCtxSetCurrent, context);
  CALL(p, cuStreamCreate, &p->stream, CU_STREAM_NON_BLOCKING);
  CALL(p, cuDeviceGetAttribute, &p->reply.pageable, CU_PAGEABLE_ACCESS, device);
  p->event = calloc(2 * CUDA_LAUNCHES_MAX + 2, sizeof *p->event);
  if (!p->event) give_up(p, 0, "out of memory");
  for (int i = 0; i < 2 * CUDA_LAUNCHES_MAX + 2; i++) CALL(p, cuEventCreate, &p->event[i], CU_EVENT_DEFAULT);
}

/* Before anything of the kernel is looked at. */
static void confine(process *p) {
  static const char *const devices[] = {"/dev/nvidia", NULL};
  const char *wanted = getenv(CUDA_CONFINE);
  const char *why = !wanted || strcmp(wanted, "0") != 0 ? tw_confine_device(devices, CUDA_CHANNEL) : NULL;
  if (why) give_up(p, 0, why);
}

/* The library is gone, whatever this process does. */
static void *watch_channel(void *nothing) {
  struct pollfd channel = {.fd = CUDA_CHANNEL};
  while (!(channel.revents & (POLLHUP | POLLERR))) poll(&channel, 1, -1);
  (void)nothing;
  _exit(1);
}

static void watch(process *p) {
  pthread_t thread;
  if (pthread_create(&thread, NULL, watch_channel, NULL) != 0) give_up(p, 0, "cannot start a thread for the channel");
  pthread_detach(thread);
}

static void begin(process *p) {
  p->reply.stage = CUDA_STARTING;
  if (!p->has_device) {
    open_device(p);
    make_memory(p);
  }
  make_live(p);
  if (!p->has_device) {
    confine(p);
    if (p->orders->keeps) watch(p);
  }
  p->has_device = true;
  load(p);
}

/* False after the last one. */
static bool next_command(const process *p, cuda_command *c) {
  struct pollfd channel = {.fd = CUDA_CHANNEL, .events = POLLIN};
  return poll(&channel, 1, p->orders->keeps ? CUDA_IDLE_SECONDS * 1000 : -1) == 1 &&
         recv(CUDA_CHANNEL, c, sizeof *c, 0) == (ssize_t)sizeof *c;
}

static void answer(process *p) { send(CUDA_CHANNEL, &p->reply, sizeof p->reply, MSG_NOSIGNAL); }

int cuda_evaluate(void) {
  static process p;
  cuda_command c;
  if (!map_files(&p)) return 2;
  if (!p.orders->keeps) prctl(PR_SET_PDEATHSIG, SIGKILL); /* ends with the thread that started it */
  open_driver(&p);
  answer(&p);
  while (next_command(&p, &c) && c.n <= CUDA_LAUNCHES_MAX && (p.has_device || c.work == CUDA_BEGIN)) {
    p.reply = (cuda_reply){.stage = CUDA_RUNNING};
    switch ((cuda_work)c.work) {
    case CUDA_BEGIN: begin(&p); break;
    case CUDA_RUN: run(&p, c.set[0]); break;
    case CUDA_TIME:
    case CUDA_IDLE:
      if (c.n > CUDA_TIMED_MAX || c.n_pieces > CUDA_PIECES) return 2;
      time_launches(&p, &c);
      break;
    case CUDA_BATCH: batch(&p, &c); break;
    case CUDA_CHAIN: chain(&p, &c); break;
    case CUDA_FETCH: fetch(&p, c.set[0]); break;
    default: return 2;
    }
    answer(&p);
  }
  return 0;
}
