/* measure.c - a kernel is run, timed, and run again, in one process with the device to itself. Results are compared
 * after the device is released for the next kernel; for a kernel that was not checked before, while it is still held.
 *
 * Time is the median of the driver's events around single launches. Before each launch, the inputs are copied to the
 * place where the kernel reads them, from one of three sets in an order that the kernel cannot know, with A of a gemm
 * rotated (timed.c); outputs and guards are poisoned; and four times the size of the L2 cache is written. Pieces of
 * each launch's outputs are compared, and all outputs of one launch. Then launches follow one another without pause: a
 * counter.
 *
 * The cost of a GEMM whose weights are codes is that of a launch among others, as in a program that decodes: each with
 * weights that are not in the cache, and begun as early as possible. The outputs of such launches are not compared, so
 * this is for kernels of schedules and trusted kernels.
 *
 * Possible deceptions, and the measures against them:
 * - work left out of launches: the outputs of each are compared, at random places
 * - results kept from an earlier launch: the kernel's own memory does not outlive a launch (cuda_cubin_check), outputs
 *   are poisoned, inputs change in place, inputs of a gemm never repeat, and the first launch on the third set, which
 *   no earlier launch used, must not take much longer than other launches
 * - figures reported by the process: its times are compared with the wall clock of this process
 * - writes elsewhere: guards around every operand, and inputs compared with their original values */
#include "target/cuda/measure.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/random.h"
#include "base/status.h"
#include "op/compare.h"
#include "op/gemm_problem.h"
#include "target/count.h"
#include "target/cuda/build.h"
#include "target/cuda/ceilings.h"
#include "target/cuda/pool.h"
#include "target/cuda/process.h"
#include "target/cuda/timed.h"

typedef struct known_case {
  bool is_any;
  uint64_t seed;
} known_case;

struct tw_artefact {
  tw_problem problem;
  const cuda_config *config;
  cuda_kernel kernel;
  bool trust;                                    /* kernels from schedules, and trusted sources, share a process */
  char coverage[sizeof((tw_coverage *)0)->text]; /* text about the last comparison */
  known_case checked, measured;                  /* cases on which the kernel was right; `measured` needs no check */
  struct session *later; /* the session of a measurement, whose kept data are compared when the verdict is requested */
  const tw_stop *stop;   /* stop flag of the current check or measurement */
  double limit;          /* seconds: slower kernels are timed briefly; 0: none */
};

enum { CHAINS = 9, FIRST_LAUNCHES = 2, IDLE_LAUNCHES = 8, LEAST_LAUNCHES = 11, SLOW_LAUNCHES = 3, MOST_LAUNCHES = 201 };
_Static_assert((int)MOST_LAUNCHES <= (int)CUDA_TIMED_MAX, "");
static const double ENOUGH_SECONDS = 0.25, BATCH_SECONDS = 0.05, CHAINS_SECONDS = 1;
static const double SLOW_SECONDS = 0.05; /* seconds of a launch: a few launches suffice */
static const double SLOWEST = 1e11;      /* operations a second: slower kernels are stopped */
static const double ALLOWANCE = 5;       /* seconds for other work of the driver */
static const double COPIES = 2e9;        /* bytes per second to and from a device, at least */
/* a launch on new inputs may take longer by this factor and this time */
static const double LONGER = 2, LATER = 5e-5;
static const double MORE = 1.02; /* limit relative to the useful time, for three of four launches */
/* minimum share of the wall time that the events must show; seconds beside each launch */
static const double HIDDEN = 0.7, BESIDES = 6e-5;

tw_status cuda_artefact(const tw_target *t, const tw_problem *p, const char *source, size_t length, tw_evaluation *e,
                        tw_artefact **out, tw_error *error) {
  tw_artefact *a = calloc(1, sizeof *a);
  if (!a) return tw_no_memory(error, NULL);
  a->problem = *p;
  a->config = cuda_config_of(t);
  a->trust = e->trust;
  const tw_status status = cuda_build(a->config, p, source, length, e->trust, &a->kernel, error);
  if (status == TW_OK)
    *out = a;
  else
    cuda_release(a);
  return status;
}

/* ---- one kernel in its process ---- */

enum { KEPT_RESULTS = 2, MORE_TIMINGS = 3 };
enum { FIRST_RESULT, TIMED_PIECES, TIMED_WHOLE, LAST_RESULT, COMPARISONS };

typedef struct session {
  cuda_lease lease;
  cuda_inputs *inputs;
  cuda_process *process;
  bool keeps, is_used; /* keeps: the process may run several kernels; is_used: it has run one before */
  tw_coverage coverage;
  double launch_limit, copy_limit; /* seconds */
  /* Outputs that are compared after the device is free for other kernels. */
  struct {
    void *output[TW_OPERANDS_MAX];
    uint32_t set;
    const char *when; /* when this set was run; NULL for the first */
  } kept[KEPT_RESULTS];
  size_t n_kept;
  cuda_timed *timed; /* data about the timed launches: NULL if none were timed */
  char (*pieces)[CUDA_PIECES][CUDA_PIECE_BYTES];
  void *whole[TW_OPERANDS_MAX];
} session;

/* A process that has done all its work leaves the device idle: the device is free before the process ends. */
static void free_device(session *s, bool is_at_rest) {
  if (is_at_rest && s->keeps) {
    cuda_lease_leave(&s->lease, s->process);
    s->process = NULL;
  }
  if (is_at_rest) cuda_lease_give_back(&s->lease);
  cuda_process_close(s->process);
  s->process = NULL;
  cuda_lease_give_back(&s->lease);
}

static void close_session(session *s) {
  free_device(s, false);
  for (size_t i = 0; i < s->n_kept; i++)
    for (size_t o = 0; o < TW_OPERANDS_MAX; o++) free(s->kept[i].output[o]);
  for (size_t o = 0; o < TW_OPERANDS_MAX; o++) free(s->whole[o]);
  free(s->timed);
  free(s->pieces);
  cuda_inputs_give_back(s->inputs);
}

static void drop_later(tw_artefact *a) {
  if (a->later) close_session(a->later);
  free(a->later);
  a->later = NULL;
}

void cuda_release(tw_artefact *a) {
  drop_later(a);
  cuda_kernel_free(&a->kernel);
  free(a);
}

/* Without a device the kernel is only compiled, and the result says so. */
static tw_status need_device(const tw_artefact *a, tw_error *error) {
  tw_error why = {0};
  const cuda_resources *r = &a->kernel.resources[a->kernel.launch.main];
  const tw_status status = cuda_need_device(a->config, &why);
  if (status == TW_OK) return status;
  return tw_fail(error, status,
                 "the kernel compiles for %s (%d registers, %d bytes spilled), but cannot run here: %.500s",
                 a->config->architecture, r->registers, r->spill_stores + r->spill_loads, why.text);
}

/* Finds the process of the previous kernel, if it may run this kernel. */
static tw_status find_process(const tw_artefact *a, bool fresh, session *s, tw_error *error) {
  s->process = cuda_lease_find(&s->lease);
  s->is_used = s->process && !fresh && cuda_process_change(s->process, a->config, &a->kernel, s->inputs);
  if (s->is_used) return TW_OK;
  cuda_process_close(s->process);
  return cuda_process_open(a->config, &a->kernel, s->inputs, true, &s->process, error);
}

/* Prepares inputs and the driver first: they need cores of the host, not the device. */
static tw_status open_session(const tw_artefact *a, const tw_case *data, int n_sets, bool fresh, session *s,
                              tw_error *error) {
  double bytes = 0;
  *s = (session){.lease.lock = -1, .keeps = a->trust};
  tw_status status = need_device(a, error);
  if (status == TW_OK) status = cuda_inputs_take(data, n_sets, &s->inputs, error);
  for (size_t i = 0; status == TW_OK && i < s->inputs->n_operands; i++) bytes += (double)s->inputs->operand[i].bytes;
  s->launch_limit = 2 * a->problem.op->operations(&a->problem) / SLOWEST + bytes / COPIES;
  s->copy_limit = ALLOWANCE + bytes / COPIES;
  if (status == TW_OK && !s->keeps)
    status = cuda_process_open(a->config, &a->kernel, s->inputs, false, &s->process, error);
  if (status == TW_OK) status = cuda_lease_take(a->config, a->stop, &s->lease, error);
  if (status == TW_OK && s->keeps) status = find_process(a, fresh, s, error);
  return status == TW_OK ? cuda_process_begin(s->process, s->lease.device, error) : status;
}

static tw_status work(session *s, const cuda_command *c, double limit, cuda_reply *reply, double *wall,
                      tw_error *error) {
  return cuda_process_do(s->process, c, limit, reply, wall, error);
}

static tw_status fetch(session *s, cuda_fetched what, void *actual[TW_OPERANDS_MAX], tw_error *error) {
  const cuda_command command = {.work = CUDA_FETCH, .set = {(uint8_t)what}};
  cuda_reply reply;
  double wall;
  const tw_status status = work(s, &command, s->copy_limit, &reply, &wall, error);
  if (status == TW_OK) cuda_process_operands(s->process, actual);
  return status;
}

static tw_status keep_outputs(const session *s, void *const actual[], void *to[TW_OPERANDS_MAX], tw_error *error) {
  for (size_t i = 0; i < s->inputs->n_operands; i++) {
    const tw_operand *o = &s->inputs->operand[i];
    if (!o->is_output) continue;
    if (!(to[i] = malloc(o->bytes))) return tw_no_memory(error, "results");
    memcpy(to[i], actual[i], o->bytes); /* NOLINT(clang-analyzer-unix.Malloc): the session frees it */
  }
  return TW_OK;
}

/* Fetches all operands, checks that inputs are unchanged, and keeps the outputs. */
static tw_status keep_set(session *s, uint32_t set, const char *when, tw_error *error) {
  const tw_case *c = &s->inputs->set[set];
  void *actual[TW_OPERANDS_MAX];
  tw_status status = fetch(s, CUDA_OPERANDS, actual, error);
  if (status == TW_OK) status = tw_compare_inputs(c->operand, c->n_operands, c->buffer, actual, error);
  if (status != TW_OK) return status;
  s->kept[s->n_kept].set = set;
  s->kept[s->n_kept++].when = when;
  return keep_outputs(s, actual, s->kept[s->n_kept - 1].output, error);
}

static tw_status run_and_keep(session *s, uint32_t set, const char *when, tw_error *error) {
  const cuda_command run = {.work = CUDA_RUN, .set = {(uint8_t)set}};
  cuda_reply reply;
  double wall;
  const tw_status status = work(s, &run, ALLOWANCE + s->launch_limit, &reply, &wall, error);
  return status == TW_OK ? keep_set(s, set, when, error) : status;
}

typedef struct comparison {
  const session *session;
  const tw_effort *effort;
  tw_status status;
  tw_error error;
  tw_coverage coverage;
} comparison;

static void compare_kept(comparison *c, size_t i) {
  const session *s = c->session;
  if (i >= s->n_kept) return;
  const uint32_t set = s->kept[i].set;
  c->status = cuda_inputs_check(s->inputs, set, s->inputs->set[set].buffer, s->kept[i].output, c->effort, &c->coverage,
                                &c->error);
}

static void compare_one(void *context, size_t which) {
  comparison *c = (comparison *)context + which;
  const session *s = c->session;
  switch (which) {
  case FIRST_RESULT: compare_kept(c, 0); break;
  case LAST_RESULT: compare_kept(c, 1); break;
  case TIMED_PIECES:
    if (s->timed)
      c->status = cuda_timed_check(s->inputs, s->timed, (const char(*)[CUDA_PIECES][CUDA_PIECE_BYTES])s->pieces,
                                   c->effort->threads, &c->error);
    break;
  default:
    if (s->timed) c->status = cuda_timed_check_whole(s->inputs, s->timed, s->whole, c->effort, &c->coverage, &c->error);
  }
}

/* Compares all kept outputs with the expected ones. A kernel that is correct first and wrong later gets a message
 * that says so. */
static tw_status compare(session *s, double budget, tw_error *error) {
  static atomic_int in_flight; /* comparisons of several kernels share this machine's cores */
  comparison *all = calloc(COMPARISONS, sizeof *all);
  if (!all) return tw_no_memory(error, "the comparison");
  const int cores = tw_cores() / ++in_flight, comparisons = (int)s->n_kept + (s->timed ? 2 : 0);
  const tw_effort effort = {.budget = budget, .threads = cores > comparisons ? cores / comparisons : 1};
  for (size_t i = 0; i < COMPARISONS; i++) all[i].session = s, all[i].effort = &effort;
  tw_parallel_for(cores > 1 ? cores : 1, COMPARISONS, compare_one, all);
  in_flight--;
  size_t wrong = 0;
  while (wrong < COMPARISONS && all[wrong].status == TW_OK) wrong++;
  const tw_status status = wrong < COMPARISONS ? all[wrong].status : TW_OK;
  const char *when = wrong == FIRST_RESULT ? NULL : wrong == LAST_RESULT ? s->kept[1].when : "when it is timed";
  if (status == TW_FAILED && when)
    tw_fail(error, status, "the kernel is right on its first inputs and wrong %s: %.1500s", when,
            all[wrong].error.text);
  else if (status != TW_OK && error)
    *error = all[wrong].error;
  s->coverage = all[s->n_kept > 1 ? LAST_RESULT : FIRST_RESULT].coverage;
  free(all);
  return status;
}

static bool is_known(const known_case *k, const tw_case *data) { return k->is_any && k->seed == data->seed; }
static known_case known(const tw_case *data) { return (known_case){true, data->seed}; }

/* The deferred comparison of a measurement: compares its session's outputs. */
static tw_status compare_later(tw_artefact *a, double budget, tw_error *error) {
  const known_case on = {true, a->later->inputs->seed};
  const tw_status status = compare(a->later, budget, error);
  memcpy(a->coverage, a->later->coverage.text, sizeof a->coverage);
  if (status == TW_OK) a->checked = a->measured = on;
  drop_later(a);
  return status;
}

/* An earlier kernel of the same process may be the cause. Then the work is repeated in a new process. */
static bool is_doubtful(const session *s, tw_status status) {
  return s->is_used && (status == TW_FAILED || tw_status_group(status) == TW_MISSING);
}

/* A case after the first is not timed, so a check of it needs fewer sets. */
static tw_status check(tw_artefact *a, const tw_case *data, bool fresh, bool *again, tw_error *error) {
  session s;
  const int n_sets = a->checked.is_any && !is_known(&a->checked, data) ? CUDA_CHECKED_SETS : CUDA_INPUT_SETS;
  tw_status status = open_session(a, data, n_sets, fresh, &s, error);
  if (status == TW_OK) status = run_and_keep(&s, 0, NULL, error);
  if (status == TW_OK) status = run_and_keep(&s, 1, "on new inputs (does it keep results between launches?)", error);
  free_device(&s, status == TW_OK);
  if (status == TW_OK) status = compare(&s, CUDA_LOOK, error);
  memcpy(a->coverage, s.coverage.text, sizeof a->coverage);
  if (status == TW_OK) a->checked = known(data);
  *again = is_doubtful(&s, status);
  close_session(&s);
  return status;
}

/* ---- time ---- */

typedef struct timing {
  double median;    /* seconds */
  tw_spread rounds; /* in seconds; the cost is their median */
  double hot;       /* seconds of a launch that directly follows another launch */
  double alone;     /* seconds of a single launch, if the cost is another figure; otherwise 0 */
  uint32_t launches;
  double shown, taken; /* seconds of all launches, by the driver's events and by the wall clock */
} timing;

static int by_value(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static tw_status draw(session *s, uint32_t n, tw_error *error) {
  tw_random r;
  tw_random_seed(&r, tw_random_system());
  if (!s->timed) s->timed = malloc(sizeof *s->timed);
  if (!s->pieces) s->pieces = malloc(CUDA_TIMED_MAX * sizeof *s->pieces);
  if (!s->timed || !s->pieces) return tw_no_memory(error, "results");
  cuda_timed_draw(s->inputs, &r, n, s->timed);
  return TW_OK;
}

/* Wall-clock seconds of the work around one launch, without the launch itself. */
static tw_status time_idle(session *s, double *each, tw_error *error) {
  cuda_reply reply;
  tw_status status = draw(s, IDLE_LAUNCHES, error);
  *each = HUGE_VAL;
  if (status == TW_OK) s->timed->command.work = CUDA_IDLE;
  for (int i = 0; status == TW_OK && i < 2; i++) { /* the first one warms up */
    double wall;
    status = work(s, &s->timed->command, ALLOWANCE + IDLE_LAUNCHES * s->copy_limit, &reply, &wall, error);
    if (wall / IDLE_LAUNCHES < *each) *each = wall / IDLE_LAUNCHES;
  }
  return status;
}

static tw_status time_few(session *s, double *seconds, tw_error *error) {
  const cuda_command few = {.work = CUDA_TIME, .n = FIRST_LAUNCHES, .set = {0, 1}};
  cuda_reply reply;
  double wall;
  const tw_status status = work(s, &few, ALLOWANCE + FIRST_LAUNCHES * s->launch_limit, &reply, &wall, error);
  if (status != TW_OK) return status;
  float ms[FIRST_LAUNCHES];
  memcpy(ms, cuda_process_results(s->process)->ms, sizeof ms);
  qsort(ms, FIRST_LAUNCHES, sizeof *ms, by_value);
  *seconds = fmax(ms[FIRST_LAUNCHES / 2] * 1e-3, 1e-6);
  return TW_OK;
}

static uint32_t limited(double x, uint32_t least, uint32_t most) {
  return x >= most ? most : x > least ? (uint32_t)x : least;
}

/* Do the events agree with the wall clock? */
static bool is_believable(const timing *t) {
  return isfinite(t->shown) && t->shown >= HIDDEN * (t->taken - t->launches * BESIDES);
}

static tw_status check_events(const timing *t, tw_error *error) {
  if (is_believable(t)) return TW_OK;
  return tw_fail(error, TW_FAILED,
                 "the driver's events show %.3g s per launch, the wall clock %.3g s; the kernel works outside of its "
                 "launch or falsifies the reports of its process, or another program uses the device",
                 t->shown / t->launches, t->taken / t->launches);
}

static tw_status check_new_inputs(double fresh, double median, tw_error *error) {
  if (fresh <= LONGER * median + LATER) return TW_OK;
  return tw_fail(error, TW_FAILED,
                 "a launch on new inputs takes %.3g times as long as a launch on earlier inputs; the kernel keeps "
                 "results between launches, or another program uses the device",
                 fresh / median);
}

/* *fresh: time of the first launch on inputs that no earlier launch had. */
static tw_status time_launches(session *s, double limit, double idle, timing *out, double *fresh, tw_error *error) {
  cuda_reply reply;
  const cuda_command *many = &s->timed->command;
  double wall, seconds[CUDA_TIMED_MAX];
  const tw_status status = work(s, many, limit, &reply, &wall, error);
  if (status != TW_OK) return status;
  const cuda_results *results = cuda_process_results(s->process);
  float ms[CUDA_TIMED_MAX] = {0};
  memcpy(ms, results->ms, many->n * sizeof *ms);
  memcpy(s->pieces, results->piece, sizeof results->piece);
  out->shown = 0;
  for (uint32_t i = 0; i < many->n; i++) out->shown += seconds[i] = (double)ms[i] * 1e-3;
  out->taken = wall - many->n * idle;
  out->rounds = tw_spread_of(seconds, many->n);
  out->launches = many->n;
  out->median = out->rounds.median;
  *fresh = (double)ms[s->timed->fresh] * 1e-3;
  return TW_OK;
}

/* On a busy machine the wall clock is sometimes ahead of the events. Such timings are discarded and repeated. */
static tw_status time_many(session *s, double expected, double idle, timing *out, tw_error *error) {
  double fresh = 0, again;
  void *actual[TW_OPERANDS_MAX];
  const uint32_t n = expected >= SLOW_SECONDS
                         ? SLOW_LAUNCHES
                         : limited(ENOUGH_SECONDS / (expected + idle), LEAST_LAUNCHES, MOST_LAUNCHES);
  const double limit = ALLOWANCE + n * (4 * expected + 2 * idle);
  tw_status status = draw(s, n, error);
  if (status == TW_OK) status = time_launches(s, limit, idle, out, &fresh, error);
  for (int i = 0; status == TW_OK && !is_believable(out) && i < MORE_TIMINGS; i++)
    status = time_launches(s, limit, idle, out, &again, error);
  if (status == TW_OK) status = check_events(out, error);
  if (status == TW_OK) status = fetch(s, CUDA_WHOLE, actual, error);
  if (status == TW_OK) status = keep_outputs(s, actual, s->whole, error);
  return status == TW_OK ? check_new_inputs(fresh, out->median, error) : status;
}

/* A kernel above the cost limit is not timed more exactly, and its outputs are not kept. */
static tw_status time_slow(session *s, double until, double expected, double idle, timing *out, bool *is_slow,
                           tw_error *error) {
  double fresh;
  *is_slow = false;
  if (until <= 0 || expected <= until) return TW_OK;
  const uint32_t n = expected >= SLOW_SECONDS ? SLOW_LAUNCHES : LEAST_LAUNCHES;
  tw_status status = draw(s, n, error);
  for (uint32_t i = 0; status == TW_OK && i < n; i++) /* the kernel never sees the last set here */
    if (s->timed->command.set[i] == CUDA_INPUT_SETS - 1) s->timed->command.set[i] = 0;
  if (status == TW_OK) status = time_launches(s, ALLOWANCE + n * (4 * expected + 2 * idle), idle, out, &fresh, error);
  *is_slow = status == TW_OK && is_believable(out) && out->rounds.lower > MORE * until;
  out->hot = out->median;
  return status;
}

static bool is_chained(const tw_artefact *a) {
  return a->trust && strcmp(a->problem.op->name, "gemm") == 0 && tw_gemm_of(&a->problem).packed;
}

static tw_status time_chains(session *s, double expected, timing *out, tw_error *error) {
  const cuda_command chains = {.work = CUDA_CHAIN, .n = limited(CHAINS_SECONDS / (CUDA_CHAINED * expected), 1, CHAINS)};
  cuda_reply reply;
  float ms[CHAINS];
  double wall, seconds[CHAINS];
  const double limit = 2 * ALLOWANCE + chains.n * CUDA_CHAINED * 4 * expected;
  const tw_status status = work(s, &chains, limit, &reply, &wall, error);
  if (status != TW_OK) return status;
  memcpy(ms, cuda_process_results(s->process)->ms, sizeof ms);
  for (uint32_t i = 0; i < chains.n; i++) seconds[i] = (double)ms[i] * 1e-3 / CUDA_CHAINED;
  out->rounds = tw_spread_of(seconds, chains.n);
  out->median = out->rounds.median;
  out->launches = chains.n * CUDA_CHAINED;
  return TW_OK;
}

static tw_status time_hot(session *s, timing *out, tw_error *error) {
  cuda_command batch = {.work = CUDA_BATCH};
  cuda_reply reply;
  double wall;
  out->hot = out->median;
  if (out->median >= SLOW_SECONDS) return TW_OK;
  batch.n = limited(BATCH_SECONDS / out->median, 2, CUDA_LAUNCHES_MAX);
  const tw_status status = work(s, &batch, ALLOWANCE + batch.n * 4 * out->median, &reply, &wall, error);
  out->hot = reply.total_ms * 1e-3 / batch.n;
  return status;
}

/* ---- the measurement ---- */

static void fill_measurement(const tw_artefact *a, const session *s, const timing *t, const cuda_ceilings *top,
                             tw_measurement *m) {
  const cuda_config *c = a->config;
  const cuda_resources *r = &a->kernel.resources[a->kernel.launch.main];
  const cuda_reply *ready = cuda_process_ready(s->process);
  const tw_launch_kernel *l = tw_launch_main(&a->kernel.launch);
  const tw_problem *p = &a->problem;
  tw_bound bound;
  const double grid = (double)l->grid[0] * (double)l->grid[1] * (double)l->grid[2];
  const double at_once = (double)c->multiprocessors * ready->blocks;
  *m = (tw_measurement){.cost = t->median, .seconds = t->median, .spread = t->rounds};
  const double least = cuda_bound_on(c, p, &bound, NULL) == TW_OK ? bound.cost : 0;
  m->utilization = least / t->median;
  tw_count(m, "tflops", "TFLOP/s", "operations of the problem per second", 2e-12 * p->op->operations(p) / t->median);
  tw_count(m, "gb_s", "GB/s", "bytes of all operands, each moved once, per second", 1e-9 * p->op->bytes(p) / t->median);
  tw_operand operand[TW_OPERANDS_MAX];
  p->op->operands(p, operand);
  if (top->copy > 0) {
    tw_count(m, "of_multiply", "",
             "tflops relative to this device's sustained rate for the type (f32 without tensor cores)",
             2 * p->op->operations(p) / t->median / cuda_ceiling(top, operand[0].type));
    tw_count(m, "of_copy", "", "gb_s relative to this device's copy bandwidth",
             p->op->bytes(p) / t->median / top->copy);
  }
  tw_count(m, "hot_us", "us", "time of a launch immediately after other launches, without flushed caches",
           t->hot * 1e6);
  if (t->alone > 0) {
    tw_count(m, "alone_us", "us", "time of a launch by itself, with the L2 cache flushed", t->alone * 1e6);
    tw_count(m, "launches", "",
             "timed launches, 64 per round in sequence, each with other weights; the cost is the median of rounds",
             t->launches);
  } else {
    tw_count(m, "launches", "", "timed launches, each with the L2 cache flushed; the cost is their median",
             t->launches);
  }
  tw_count(m, "spread", "", "third minus first quartile of the timed launches, relative to the median",
           (t->rounds.upper - t->rounds.lower) / t->median);
  tw_count(m, "registers", "", "registers of a thread", r->registers);
  tw_count(m, "spills", "bytes", "bytes of spilled registers that a thread stores and loads",
           r->spill_stores + r->spill_loads);
  tw_count(m, "stack", "bytes", "stack of a thread in local memory", r->stack);
  tw_count(m, "blocks", "", "thread blocks on a multiprocessor at a time", ready->blocks);
  tw_count(m, "waves", "", "thread blocks of the grid / thread blocks that run at a time",
           at_once > 0 ? grid / at_once : 0);
  if (r->wgmma_serialized) tw_count(m, "wgmma_serialized", "", "the compiler serialized wgmma (C7510 to C7520)", 1);
  if (r->setmaxnreg_ignored) tw_count(m, "setmaxnreg_ignored", "", "the compiler ignored setmaxnreg (C7508)", 1);
  m->memory[m->n_memories++] =
      (tw_memory_use){"shared memory", (size_t)(r->shared + l->shared), (size_t)c->shared_block};
}

static tw_status measure(tw_artefact *a, const tw_case *data, bool fresh, tw_measurement *out, bool *again,
                         tw_error *error) {
  session s;
  timing times = {0}, chains = {0};
  cuda_ceilings top = {0};
  double idle = 0, expected = 0;
  bool is_slow = false;
  tw_status status = open_session(a, data, CUDA_INPUT_SETS, fresh, &s, error);
  if (status == TW_OK && cuda_measure_ceilings_of(s.lease.device, a->config, &top, NULL) != TW_OK)
    top = (cuda_ceilings){0}; /* unknown: the result is then not compared with them */
  if (status == TW_OK) status = time_idle(&s, &idle, error);
  if (status == TW_OK) status = time_few(&s, &expected, error);
  if (status == TW_OK && is_chained(a) && expected < SLOW_SECONDS) {
    status = time_chains(&s, expected, &chains, error);
    is_slow = status == TW_OK && a->limit > 0 && chains.rounds.lower > MORE * a->limit;
  } else if (status == TW_OK) {
    status = time_slow(&s, a->limit, expected, idle, &times, &is_slow, error);
  }
  const bool in_full = status == TW_OK && !is_slow;
  if (in_full) status = run_and_keep(&s, 0, NULL, error);
  if (in_full && status == TW_OK) status = time_many(&s, expected, idle, &times, error);
  if (in_full && status == TW_OK) status = time_hot(&s, &times, error);
  if (in_full && status == TW_OK) status = run_and_keep(&s, 1, "on others after many launches", error);
  if (chains.launches) {
    chains.alone = in_full ? times.median : expected;
    chains.hot = in_full ? times.hot : chains.median;
    times = chains;
  }
  if (status == TW_OK) fill_measurement(a, &s, &times, &top, out);
  free_device(&s, status == TW_OK);
  drop_later(a);
  if (status == TW_OK && is_slow) {
    *again = false;
    close_session(&s);
    return status;
  }
  /* most measured kernels are too slow to be worth the comparison */
  if (status == TW_OK && (a->later = malloc(sizeof s))) {
    *a->later = s;
    if (is_known(&a->checked, data)) status = compare_later(a, CUDA_LOOK, error);
    *again = is_doubtful(&s, status);
    return status;
  }
  *again = is_doubtful(&s, status);
  if (status == TW_OK) status = tw_no_memory(error, "the comparison");
  close_session(&s);
  return status;
}

static tw_status check_once(tw_artefact *a, const tw_case *data, tw_error *error) {
  tw_measurement same;
  tw_error why = {0};
  bool again = false;
  tw_status status;
  if (is_known(&a->measured, data)) return TW_OK;
  if (a->later && a->later->inputs->seed == data->seed) {
    /* a search checks its result again */
    const double budget = a->limit > 0 ? CUDA_GLANCE : CUDA_LOOK;
    again = a->later->is_used;
    if ((status = compare_later(a, budget, &why)) == TW_FAILED && again) {
      status = measure(a, data, true, &same, &again, &why);
      if (status == TW_OK && a->later) status = compare_later(a, budget, &why);
    }
  } else {
    status = check(a, data, false, &again, &why);
    if (again) status = check(a, data, true, &again, &why);
  }
  if (status != TW_OK && error) *error = why;
  return status;
}

tw_status cuda_check(const tw_target *t, tw_artefact *a, const tw_case *data, tw_evaluation *e, tw_error *error) {
  (void)t;
  a->stop = e->stop;
  const tw_status status = check_once(a, data, error);
  snprintf(e->coverage, sizeof e->coverage, "%s", a->coverage);
  return status;
}

tw_status cuda_measure(const tw_target *t, tw_artefact *a, const tw_case *data, tw_evaluation *e, tw_measurement *out,
                       tw_error *error) {
  tw_error why = {0};
  bool again = false;
  a->stop = e->stop;
  a->limit = e->limit;
  if (e->trace)
    return tw_fail(error, TW_UNSUPPORTED, "%s does not record timelines; leave out --trace and --timeline", t->name);
  tw_status status = measure(a, data, false, out, &again, &why);
  if (again) status = measure(a, data, true, out, &again, &why);
  if (status != TW_OK && error) *error = why;
  return status;
}

/* ---- the bound ---- */

/* The fastest way on a tensor core to stay within the rounding of f32 is three products of bf16. */
static double fastest(const cuda_config *c, tw_type type) {
  const double own = cuda_config_peak(c, type);
  return type == TW_F32 ? fmax(own, cuda_config_peak(c, TW_BF16) / 3) : own;
}

tw_status cuda_bound_on(const cuda_config *c, const tw_problem *p, tw_bound *out, tw_error *error) {
  tw_operand operand[TW_OPERANDS_MAX];
  p->op->operands(p, operand);
  const double peak = fastest(c, operand[0].type);
  if (peak <= 0)
    return tw_fail(error, TW_UNSUPPORTED, "%s does not support %s", c->name, tw_type_name(operand[0].type));
  *out = (tw_bound){.compute_cost = 2 * p->op->operations(p) / peak,
                    .memory_cost = p->op->bytes(p) / ((double)c->memory_gbs * 1e9)};
  out->cost = fmax(out->compute_cost, out->memory_cost);
  /* L2 may hold inputs of the launch before, and outputs at the end */
  const double beyond = fmax(0, p->op->bytes(p) - 2 * (double)c->l2_bytes) / ((double)c->memory_gbs * 1e9);
  out->least = 0.9 * fmax(out->compute_cost, beyond);
  snprintf(out->limit, sizeof out->limit, "%s",
           out->compute_cost >= out->memory_cost ? "tensor cores at their highest clock" : "each operand moved once");
  return TW_OK;
}

tw_status cuda_bound(const tw_target *t, const tw_problem *p, tw_bound *out, tw_error *error) {
  return cuda_bound_on(cuda_config_of(t), p, out, error);
}
