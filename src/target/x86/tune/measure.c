/* measure.c - kernels are checked on the case's inputs, then timed on new ones, checked after each repeat, then checked
 * on the case's again, with other weights at the same address.
 *
 * A repeat is one request to the confined process: C of many sets from A of as many. Each A is new since the last
 * repeat and each C poisoned, so a result of an earlier call is useless. Each set has its own B, so keeping one B, or
 * making one product of several, gains nothing. Before each repeat, B of some sets changes a little (changes.h). In at
 * most one repeat of four, such sets keep their A, or all of it but a part of a row: the median does not depend on what
 * a kernel gains there. A repeat takes at least REPEAT_SECONDS: the tens of microseconds for stopping and waking a
 * process are then one or two percent. On 16 cores waking takes hundreds of microseconds, so the number of sets follows
 * from the bound and is the same for all kernels of a problem: their costs contain the same share of it. So small products have A and C in the last-level cache rather than in L1. Decode
 * shapes (m <= 16) read their weights from memory, as `bench` does: before each repeat the caches are filled with other
 * data, from outside.
 *
 * One kernel is measured at a time, and no compiler or check of this process runs meanwhile; other processes may run
 * theirs.
 *
 * A search gives the cost that a kernel of the library's own text must beat. A measurement then ends early if the kernel
 * is slower by more than the spread of its repeats, or if the median is precise enough for a choice of candidates. Each
 * of its calls is verified as always; a slower kernel is not checked again at the end. The kernel that the search keeps
 * is measured again without such a limit, in turns with the baseline. */
#define _GNU_SOURCE /* a lock that prefers writers */
#include "target/x86/tune/measure.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/device.h"
#include "base/parallel.h"
#include "base/random.h"
#include "base/strings.h"
#include "native/sandbox.h"
#include "op/compare.h"
#include "op/operand.h"
#include "target/count.h"
#include "target/x86/bench.h"
#include "target/x86/cpu.h"
#include "target/x86/plan.h"
#include "target/x86/rates.h"
#include "target/x86/runner/task.h"
#include "target/x86/tune/apply.h"
#include "target/x86/tune/build.h"
#include "target/x86/tune/changes.h"
#include "target/x86/tune/verify.h"

struct tw_artefact {
  tw_problem problem;
  char *object;
  size_t bytes;
  const tw_stop *stop;  /* stops runs of the kernel; NULL: never */
  char coverage[240];   /* text about the last check; "" before the first */
  double check_seconds; /* seconds of the last check and the start of its process; 0 before the first */
};

enum { DECODE_ROWS = 16, REPEATS_LEAST = 3, REPEATS_MOST = 40 };
/* With a limit, repeats until a kernel can be called slower, and until its median can be precise enough; how much
 * slower the faster quarter of its repeats must be; the standard error of the median that is precise enough. */
enum { REPEATS_SLOWER = 6, REPEATS_PRECISE = 12 };
static const double SLOWER = 1.02, PRECISE = 0.02;
static const double REPEAT_SECONDS = 2e-3,
                    ENOUGH_SECONDS = 0.2; /* seconds of one repeat; of all repeats, after at least REPEATS_LEAST */
static const double SLOW_SECONDS = 0.1;   /* fewer sets if a repeat would take longer */
static const double WALL_SECONDS = 20;    /* no repeat begins after this time */
static const double START_SECONDS = 60;   /* time to load the kernel and pack B */
static const double SLOWEST = 2e8;        /* operations per second: slower kernels are stopped */
static const uint64_t SETS_BYTES = (uint64_t)64 << 20, WEIGHTS_BYTES = (uint64_t)256 << 20;
static const double WEIGHTS = 8e6; /* elements of B in all sets: about a tenth of a second to compute */
static const int64_t COOL_LEAST = 32 << 20, COOL_MOST = 256 << 20;
/* elements of A that a thread makes or verifies in about the time that it takes to make a thread */
static const int64_t ALONE = 1 << 17;
/* Most sets that change before a repeat; sets for each of them; repeats for each in which some sets keep their A;
 * least repeats with a change of B, and with sets that keep A; the latter if they take little time. */
enum { CHANGES_MOST = 8, SETS_FOR_A_CHANGE = 8, KEPT_IN = 4, CHANGES_LEAST = 3, KEPT_LEAST = 2, KEPT_WELL = 8 };
static const double CHANGES_SHARE = 0.25; /* share of a measurement's time for more than CHANGES_LEAST */

/* Builders and checks hold this lock shared, a measurement exclusively. */
static pthread_rwlock_t machine = PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP;

static void lock_machine(int (*lock)(pthread_rwlock_t *)) {
  const double start = tw_now();
  lock(&machine);
  tw_add_wait(tw_now() - start);
}

tw_status x86_artefact(const tw_target *t, const tw_problem *p, const char *source, size_t length, tw_evaluation *e,
                       tw_artefact **out, tw_error *error) {
  (void)t;
  tw_artefact *a = calloc(1, sizeof *a);
  if (!a) return tw_no_memory(error, NULL);
  a->problem = *p;
  lock_machine(pthread_rwlock_rdlock);
  const tw_status status = x86_build(source, length, e->trust, &a->object, &a->bytes, error);
  pthread_rwlock_unlock(&machine);
  if (status == TW_OK)
    *out = a;
  else
    x86_release(a);
  return status;
}

void x86_release(tw_artefact *a) {
  free(a->object);
  free(a);
}

/* ---- the process ---- */

static double limit_of(const tw_problem *p, uint32_t sets) { return 10 + 2 * p->op->operations(p) * sets / SLOWEST; }

/* The time (tw_now) at which the search ends this kernel; HUGE_VAL: never. */
static double deadline_of(const tw_artefact *a) {
  return a->stop && a->stop->deadline > 0 ? a->stop->deadline : HUGE_VAL;
}

static bool is_over(const tw_artefact *a) { return tw_now() >= deadline_of(a); }

/* The search may have been stopped between two steps, since large operands make each step long. */
static tw_status unless_stopped(tw_status status, tw_error *error) {
  return status == TW_OK && tw_is_stop_asked() ? tw_fail(error, TW_INTERRUPTED, "interrupted") : status;
}

/* Runs the kernel until the deadline of the search: then TW_INTERRUPTED, which says nothing about the kernel. */
static tw_status run(tw_sandbox *s, const tw_artefact *a, uint32_t sets, double *seconds, tw_error *error) {
  if (is_over(a)) return tw_fail(error, TW_INTERRUPTED, "no time is left to run the kernel");
  const tw_status status = tw_sandbox_run(s, sets, limit_of(&a->problem, sets), deadline_of(a), seconds, error);
  if (status == TW_FAILED && is_over(a))
    return tw_fail(error, TW_INTERRUPTED, "the time limit passed while the kernel ran");
  return status;
}

enum { A, B }; /* operands; C is the last one */

static tw_status open_process(const tw_artefact *a, const tw_case *data, uint32_t sets, bool timed, tw_sandbox **out,
                              tw_error *error) {
  const tw_problem *p = &a->problem;
  x86_task task = {.spec = x86_spec_of(p), .copies = sets, .dirty = !timed, .cpu = *x86_this_cpu()};
  if (!task.spec.threads) task.spec.threads = x86_this_cpu()->cores;
  /* In types of at most 4 bytes, padded to whole tiles, and twice. */
  const uint64_t packed = 2 * data->operand[B].bytes + (uint64_t)tw_problem_int(p, "k") * 1024 + TW_ARENA_PAGE;
  const tw_sandboxed c = {.runner = "x86-runner",
                          .variable = "TILEWRIGHT_X86_RUNNER",
                          .operand = data->operand,
                          .n_operands = data->n_operands,
                          .buffer = data->buffer,
                          .sets = sets,
                          .varies = 1u << A,
                          .task = &task,
                          .task_bytes = sizeof task,
                          .kernel = a->object,
                          .kernel_bytes = a->bytes,
                          .threads = task.spec.threads,
                          .workspace = (sets + 1) * packed + 4 * data->operand[A].bytes + ((uint64_t)128 << 20),
                          .seconds = START_SECONDS,
                          .cpu_seconds = 4 * (START_SECONDS + WALL_SECONDS + limit_of(p, 4))};
  return tw_sandbox_open(&c, out, error);
}

/* Multiply-adds of the host for a sample, which takes about a tenth of a second. */
static const double SAMPLE_BUDGET = 2e8, SAMPLE_SECONDS = 0.1;

/* Compares every element if expected outputs are known. Otherwise a sample that is chosen at random after the run,
 * and a survey of the other elements. */
static tw_status compare(tw_artefact *a, const tw_case *data, void *const actual[], tw_error *error) {
  const tw_problem *p = &a->problem;
  a->coverage[0] = '\0';
  if (data->has_expected) return p->op->compare(p, data->buffer, actual, error);
  const tw_effort effort = {.budget = SAMPLE_BUDGET};
  tw_coverage coverage;
  const tw_status status = tw_case_check(data, actual, &effort, &coverage, error);
  if (coverage.exact < coverage.elements) snprintf(a->coverage, sizeof a->coverage, "%.200s", coverage.text);
  return status;
}

/* Runs the kernel on the case and compares its results. */
static tw_status run_and_compare(tw_sandbox *s, tw_artefact *a, const tw_case *data, tw_error *error) {
  void *actual[TW_OPERANDS_MAX];
  double seconds;
  if (unless_stopped(TW_OK, error) != TW_OK) return TW_INTERRUPTED;
  memcpy(actual, data->buffer, sizeof actual);
  actual[data->n_operands - 1] = tw_sandbox_operand(s, data->n_operands - 1, 0);
  memcpy(tw_sandbox_operand(s, A, 0), data->buffer[0], data->operand[0].bytes);
  tw_sandbox_poison(s, 1);
  const size_t c = data->n_operands - 1;
  tw_blank_output(&data->operand[c], data->seed, data->buffer[c], actual[c]);
  tw_status status = run(s, a, 1, &seconds, error);
  if (status == TW_OK) status = tw_sandbox_margins(s, 1, error);
  if (status == TW_OK) status = compare(a, data, actual, error);
  return status;
}

tw_status x86_check(const tw_target *t, tw_artefact *a, const tw_case *data, tw_evaluation *e, tw_error *error) {
  (void)t;
  a->stop = e->stop;
  tw_sandbox *s = NULL;
  lock_machine(pthread_rwlock_rdlock);
  const double start = tw_now();
  tw_status status = open_process(a, data, 1, false, &s, error);
  if (status == TW_OK) status = run_and_compare(s, a, data, error);
  tw_sandbox_close(s);
  pthread_rwlock_unlock(&machine);
  a->check_seconds = tw_now() - start;
  snprintf(e->coverage, sizeof e->coverage, "%s", a->coverage);
  return status;
}

/* ---- the time ---- */

/* Every set has its own weights: a kernel gains nothing from products that share them, or from keeping one of them. */
typedef struct weights {
  void *b;
  /* A of the next call. The kernel's process receives it after all weights are packed: packing is not timed, and could
   * otherwise make the product. */
  void *a;
  x86_verifier verifier;
  bool keeps_a; /* true if the set keeps its A in the next repeat */
} weights;

typedef struct timing {
  const tw_artefact *artefact;
  const tw_problem *problem;
  const tw_case *data;
  tw_sandbox *process;
  weights *set;
  uint32_t sets, room; /* known; at most */
  double limit;        /* the cost to beat: the time of slower kernels need not be precise; 0: none */
  double bound;        /* seconds of one call at the rates of the machine */
  size_t cool;     /* bytes to read before a repeat, which evict weights from the caches; 0: small weights may stay */
  uint32_t filled; /* sets of the last repeat */
  uint32_t repeats, changed, kept; /* all repeats; repeats with changes of B; repeats with sets that kept their A */
  double began, changing;          /* start (tw_now); seconds that changes took */
  tw_random random;                /* for the changes; unpredictable */
} timing;

/* Gives the kernel's process the weights of a set. */
static tw_status give_weights(const timing *t, uint32_t set, const void *b, tw_error *error) {
  memcpy(tw_sandbox_operand(t->process, B, 0), b, t->data->operand[B].bytes);
  return tw_sandbox_prepare(t->process, set, START_SECONDS, error);
}

/* New weights, as of a case with one row of A. */
static tw_status make_weights(const tw_problem *p, uint64_t seed, void **b, tw_error *error) {
  tw_problem one = *p;
  tw_case made;
  tw_status status = tw_problem_set(&one, "m", "1", error);
  if (status == TW_OK) status = tw_case_make_inputs(&one, seed, &made, error);
  if (status != TW_OK) return status;
  *b = made.buffer[B];
  made.buffer[B] = NULL;
  tw_case_free(&made);
  return TW_OK;
}

static tw_status make_set(const timing *t, uint32_t set, tw_error *error) {
  weights *w = &t->set[set];
  void *buffer[TW_OPERANDS_MAX];
  tw_status status = TW_OK;
  memcpy(buffer, t->data->buffer, sizeof buffer);
  const uint64_t seed = set ? tw_random_system() : t->data->seed;
  if (set > 0) {
    status = make_weights(t->problem, seed, &w->b, error);
  } else {
    if (!(w->b = tw_new(1, t->data->operand[B].bytes))) return tw_no_memory(error, NULL);
    memcpy(w->b, t->data->buffer[B], t->data->operand[B].bytes);
  }
  buffer[B] = w->b;
  if (!(w->a = tw_new(1, t->data->operand[A].bytes))) return tw_no_memory(error, NULL);
  /* The gaps between the rows of A; x86_fill_rows makes the rows. */
  memcpy(w->a, t->data->buffer[A], t->data->operand[A].bytes);
  status = unless_stopped(status, error);
  if (status == TW_OK) status = x86_verifier_make(t->problem, buffer, t->data->seed, seed, &w->verifier, error);
  return status;
}

static void free_sets(timing *t) {
  for (uint32_t i = 0; i < t->room; i++) {
    x86_verifier_free(&t->set[i].verifier);
    free(t->set[i].a);
    free(t->set[i].b);
  }
  free(t->set);
}

/* Multiply-adds of the host for the complete comparison of one call, which takes some milliseconds. */
static const double CALL_BUDGET = 2e6;
static const double COMPARE_ELEMENT = 1e-9; /* seconds for each element of A, B and C, and for each multiply-add */

/* Threads that compare one call: one for each millisecond of work, since making a thread takes a tenth of that. */
static int compare_threads(const timing *t) {
  const double m = (double)tw_problem_int(t->problem, "m"), n = (double)tw_problem_int(t->problem, "n"),
               k = (double)tw_problem_int(t->problem, "k");
  const double threads = 1 + (CALL_BUDGET + m * k + k * n + m * n) * COMPARE_ELEMENT / 1e-3,
               most = (double)tw_problem_int(t->problem, "threads");
  return (int)fmin(threads, most);
}

/* Compares C of one set with its A element by element, which finds errors that a check of whole rows misses. Of
 * large products a random sample and a survey. */
static tw_status compare_set(const timing *t, uint32_t set, tw_error *error) {
  const size_t c = t->data->n_operands - 1;
  const tw_effort effort = {.budget = CALL_BUDGET, .threads = compare_threads(t)};
  tw_coverage coverage;
  tw_error why = {0};
  tw_case one = *t->data;
  void *actual[TW_OPERANDS_MAX];
  one.has_expected = false;
  one.buffer[A] = t->set[set].a;
  one.buffer[B] = t->set[set].b;
  memcpy(actual, one.buffer, sizeof actual);
  actual[c] = tw_sandbox_operand(t->process, c, set);
  const tw_status status = tw_case_check(&one, actual, &effort, &coverage, &why);
  if (status != TW_FAILED) return status == TW_OK ? status : tw_fail(error, status, "%s", why.text);
  static const char SAYS[] = "wrong result: ";
  const char *what = strncmp(why.text, SAYS, sizeof SAYS - 1) ? why.text : why.text + sizeof SAYS - 1;
  return tw_fail(error, status, "wrong result in a timed call with new inputs: %s", what);
}

/* Work on the rows of all sets. It uses as many threads as the kernel had, because the kernel's process waits
 * meanwhile. */
typedef struct rows_work {
  const timing *t;
  uint64_t seed;
  int64_t pieces; /* number of pieces of X86_ROWS rows of each set */
  pthread_mutex_t lock;
  tw_status status; /* result of the first piece that fails */
  tw_error error;
} rows_work;

static void note_end(rows_work *w, tw_status status, const tw_error *error) {
  if (status == TW_OK) return;
  pthread_mutex_lock(&w->lock);
  if (w->status == TW_OK) {
    w->status = status;
    w->error = *error;
  }
  pthread_mutex_unlock(&w->lock);
}

static void set_piece(void *context, size_t index) {
  rows_work *w = context;
  tw_error error;
  note_end(w, make_set(w->t, w->t->sets + (uint32_t)index, &error), &error);
}

/* Makes sets until there are this many. The kernel's process packs one at a time. */
static tw_status make_sets(timing *t, uint32_t sets, tw_error *error) {
  rows_work w = {.t = t, .lock = PTHREAD_MUTEX_INITIALIZER};
  tw_parallel_for((int)tw_problem_int(t->problem, "threads"), sets - t->sets, set_piece, &w);
  tw_status status = w.status == TW_OK ? TW_OK : tw_fail(error, w.status, "%s", w.error.text);
  status = unless_stopped(status, error); /* then some are missing */
  for (; status == TW_OK && t->sets < sets; t->sets++)
    if (t->sets > 0) status = give_weights(t, t->sets, t->set[t->sets].b, error);
  return status;
}

static void fill_piece(void *context, size_t index) {
  rows_work *w = context;
  const timing *t = w->t;
  const uint32_t set = (uint32_t)(index / (size_t)w->pieces);
  const int64_t first = (int64_t)(index % (size_t)w->pieces) * X86_ROWS;
  tw_error error;
  if (t->set[set].keeps_a) return;
  note_end(w, x86_fill_rows(&t->set[set].verifier, w->seed + set, first, t->data->buffer[A], t->set[set].a, &error),
           &error);
}

static void give_a(void *context, size_t set) {
  const timing *t = context;
  memcpy(tw_sandbox_operand(t->process, A, (uint32_t)set), t->set[set].a, t->data->operand[A].bytes);
}

static void verify_piece(void *context, size_t index) {
  rows_work *w = context;
  const timing *t = w->t;
  const uint32_t set = (uint32_t)(index / (size_t)w->pieces);
  const int64_t first = (int64_t)(index % (size_t)w->pieces) * X86_ROWS;
  tw_error error;
  note_end(w,
           x86_verify_rows(&t->set[set].verifier, first, t->set[set].a,
                           tw_sandbox_operand(t->process, t->data->n_operands - 1, set), &error),
           &error);
}

static tw_status for_rows(const timing *t, uint32_t sets, tw_parallel_function *function, tw_error *error) {
  const int64_t m = tw_problem_int(t->problem, "m"), elements = (int64_t)sets * m * tw_problem_int(t->problem, "k");
  rows_work w = {
      .t = t, .seed = tw_random_system(), .pieces = (m + X86_ROWS - 1) / X86_ROWS, .lock = PTHREAD_MUTEX_INITIALIZER};
  const int64_t threads = tw_problem_int(t->problem, "threads"), useful = 1 + elements / ALONE;
  tw_parallel_for((int)(useful < threads ? useful : threads), (size_t)(sets * w.pieces), function, &w);
  return w.status == TW_OK ? TW_OK : tw_fail(error, w.status, "%s", w.error.text);
}

/* The changes before a repeat. */
typedef struct changes {
  size_t n;
  uint32_t set[CHANGES_MOST];
  bool of_a[CHANGES_MOST], of_b[CHANGES_MOST];
  x86_change a[CHANGES_MOST], b[CHANGES_MOST];
} changes;

/* Chooses the sets that change, and the sets that keep their A. */
static void choose_changes(timing *t, uint32_t sets, bool keep, changes *out) {
  const double taken = tw_now() - t->began;
  const bool has_time = t->changed < CHANGES_LEAST || t->changing <= CHANGES_SHARE * taken;
  const size_t share = keep ? sets : sets / SETS_FOR_A_CHANGE, most = share < CHANGES_MOST ? share : CHANGES_MOST;
  const size_t n = keep ? most : 1 + tw_random_below(&t->random, most ? most : 1);
  out->n = 0;
  if (!keep) keep = tw_random_below(&t->random, KEPT_IN) == 0 && t->kept * KEPT_IN < t->repeats;
  for (uint32_t i = 0; i < t->sets; i++) t->set[i].keeps_a = false;
  for (size_t i = 0; i < n; i++) {
    const uint32_t set = (uint32_t)tw_random_below(&t->random, keep && t->filled < sets ? t->filled : sets);
    bool known = false;
    for (size_t j = 0; j < out->n; j++) known |= out->set[j] == set;
    if (known) continue;
    const bool can = has_time && t->set[set].verifier.gemm.n > 1;
    out->of_a[out->n] = keep && (!can || tw_random_below(&t->random, 2)); /* a single change is harder to notice */
    out->of_b[out->n] = can && !out->of_a[out->n];
    t->set[set].keeps_a = keep;
    out->set[out->n++] = set;
  }
  t->repeats++;
  t->kept += keep;
  t->changed += has_time;
}

static tw_status make_changes(timing *t, changes *x, tw_error *error) {
  const double start = tw_now();
  tw_status status = TW_OK;
  for (size_t i = 0; status == TW_OK && i < x->n; i++) {
    weights *w = &t->set[x->set[i]];
    if (x->of_a[i]) status = x86_change_a(&w->verifier, &t->random, w->a, &x->a[i], error);
    if (!x->of_b[i] || status != TW_OK) continue;
    status = x86_change_b(&w->verifier, &t->random, w->a, &x->b[i], error);
    if (status == TW_OK) status = give_weights(t, x->set[i], w->b, error);
  }
  t->changing += tw_now() - start;
  return unless_stopped(status, error);
}

static tw_status verify_changes(timing *t, const changes *x, tw_error *error) {
  tw_status status = TW_OK;
  for (size_t i = 0; status == TW_OK && i < x->n; i++) {
    const x86_verifier *v = &t->set[x->set[i]].verifier;
    const void *a = t->set[x->set[i]].a, *c = tw_sandbox_operand(t->process, t->data->n_operands - 1, x->set[i]);
    if (x->of_a[i]) status = x86_verify_change(v, &x->a[i], &t->random, a, c, error);
    if (x->of_b[i] && status == TW_OK) status = x86_verify_change(v, &x->b[i], &t->random, a, c, error);
  }
  return status;
}

/* One repeat: *seconds for each of `sets`. One randomly chosen set is compared element by element. `keep`: some sets
 * have their A of the last repeat in any case, and as many as possible: the time does not count. */
static tw_status repeat(timing *t, uint32_t sets, bool keep, double *seconds, tw_error *error) {
  tw_sandbox *s = t->process;
  changes change;
  choose_changes(t, sets, keep, &change);
  tw_status status = unless_stopped(for_rows(t, sets, fill_piece, error), error);
  t->filled = sets;
  if (status == TW_OK) status = make_changes(t, &change, error);
  if (status != TW_OK) return status;
  tw_parallel_for((int)tw_problem_int(t->problem, "threads"), sets, give_a, t);
  tw_sandbox_poison(s, sets);
  if (t->cool) tw_sandbox_cool(s, t->cool);
  status = run(s, t->artefact, sets, seconds, error);
  status = unless_stopped(status, error);
  if (status == TW_OK) *seconds /= sets;
  if (status == TW_OK) status = tw_sandbox_margins(s, sets, error);
  if (status == TW_OK) status = unless_stopped(for_rows(t, sets, verify_piece, error), error);
  if (status == TW_OK) status = verify_changes(t, &change, error);
  return status == TW_OK ? compare_set(t, (uint32_t)(tw_random_system() % sets), error) : status;
}

/* The number of sets of a repeat; `seconds`: of one call. Other weights are needed in any case: at least two sets. */
static uint32_t sets_for(const timing *t, double seconds) {
  uint32_t sets = 2;
  while (sets < t->room && t->bound * sets < REPEAT_SECONDS / 2) sets *= 2;
  while (sets > 2 && seconds * sets > SLOW_SECONDS) sets /= 2;
  return sets < t->room ? sets : t->room;
}

/* A search cannot keep such a kernel. */
static bool is_slower(double limit, const tw_spread *s) {
  return limit > 0 && s->rounds >= REPEATS_SLOWER && s->lower > SLOWER * limit;
}

bool x86_tells_enough(double limit, double time[], size_t n) {
  if (limit <= 0 || n < REPEATS_SLOWER) return false;
  const tw_spread s = tw_spread_of(time, n);
  if (is_slower(limit, &s)) return true;
  /* the standard error of a median of normal values is 0.93 of their middle half, over sqrt(n) */
  return n >= REPEATS_PRECISE && 0.93 * (s.upper - s.lower) / sqrt((double)n) < PRECISE * s.median;
}

/* The median of some repeats counts: a kernel that is fast in a few of them gains nothing. */
static tw_status time_it(timing *t, tw_spread *out, tw_error *error) {
  const double start = t->began = tw_now();
  double seconds, total = 0, time[REPEATS_MOST];
  size_t n = 0;
  tw_status status = make_sets(t, 1, error);
  for (int i = 0; status == TW_OK && i < 2; i++) /* the first warms up; the second shows whether the kernel is slow */
    status = repeat(t, 1, false, &seconds, error);
  if (status != TW_OK) return status;
  const uint32_t sets = sets_for(t, seconds);
  if (status == TW_OK && t->sets < sets) status = make_sets(t, sets, error);
  /* Two checks come after the repeats. The second one has no expected outputs and compares a sample. */
  const double sample = fmin(t->problem->op->operations(t->problem) / SAMPLE_BUDGET, 1) * SAMPLE_SECONDS;
  const double last = deadline_of(t->artefact) - 2 * t->artefact->check_seconds - sample;
  double longest = 0; /* repeat, in seconds */
  while (status == TW_OK && n < REPEATS_MOST && (n < REPEATS_LEAST || total < ENOUGH_SECONDS)) {
    const double before = tw_now();
    status = repeat(t, sets, false, &seconds, error);
    time[n++] = seconds;
    total += seconds * sets;
    const double now = tw_now();
    longest = fmax(longest, now - before);
    if (now - start > WALL_SECONDS || !x86_has_time(n, now, longest, last) || x86_tells_enough(t->limit, time, n))
      break;
  }
  if (status == TW_OK && n < REPEATS_LEAST && tw_now() - start <= WALL_SECONDS)
    status = tw_fail(error, TW_INTERRUPTED, "the time was up after %zu repeats", n);
  const double enough = 1.5 * (tw_now() - start);
  *out = tw_spread_of(time, n);
  while (status == TW_OK && !is_slower(t->limit, out) && t->kept < KEPT_WELL && tw_now() - start <= WALL_SECONDS &&
         tw_now() < last &&
         (t->kept < KEPT_LEAST ||
          (t->limit <= 0 && tw_now() - start < enough && x86_has_time(n, tw_now(), longest, last))))
    status = repeat(t, sets, true, &seconds, error);
  return status;
}

bool x86_has_time(size_t repeats, double now, double repeat_seconds, double last) {
  const size_t more = repeats < REPEATS_LEAST ? REPEATS_LEAST - repeats : 1 + KEPT_LEAST;
  return now + (double)more * repeat_seconds <= last;
}

/* B with its columns in another order: scales and groups along k stay as they are. */
static void turn_weights(const tw_problem *p, const tw_case *data, char *to) {
  const tw_operand *o = &data->operand[B];
  const bool are_rows = tw_problem_int(p, "b_transposed") != 0;
  const int64_t columns = o->dims[are_rows ? 0 : 1];
  const int64_t by = columns < 2 ? 0 : 1 + (int64_t)(tw_random_system() % (uint64_t)(columns - 1));
  const size_t size = (size_t)tw_type_bits(o->type) / 8, pitch = (size_t)tw_operand_pitch(o) * size;
  const size_t line = (size_t)o->dims[1] * size, moved = are_rows ? 0 : (size_t)by * size;
  memcpy(to, data->buffer[B], o->bytes); /* with the bytes between rows */
  for (int64_t row = 0; row < o->dims[0]; row++) {
    const char *from = (const char *)data->buffer[B] + (size_t)(are_rows ? (row + by) % columns : row) * pitch;
    memcpy(to + (size_t)row * pitch, from + moved, line - moved);
    memcpy(to + (size_t)row * pitch + line - moved, from, moved);
  }
}

/* The case's weights again, and then others at the same address, in a process that has computed with them: what was
 * kept of them is useless. */
static tw_status check_again(const timing *t, tw_artefact *a, tw_error *error) {
  tw_case turned = *t->data;
  tw_status status = give_weights(t, 0, t->data->buffer[B], error);
  if (status == TW_OK) status = run_and_compare(t->process, a, t->data, error);
  if (status != TW_OK) return status;
  turned.buffer[B] = t->set[0].b; /* no longer needed */
  turned.has_expected = false;
  turn_weights(t->problem, t->data, turned.buffer[B]);
  status = give_weights(t, 0, turned.buffer[B], error);
  return status == TW_OK ? run_and_compare(t->process, a, &turned, error) : status;
}

/* ---- rates of the machine: asked once ---- */

typedef struct rates {
  double peak, bandwidth; /* bandwidth: 0 for shapes whose weights stay in the cache */
  const char *limit;      /* the definition of the peak */
} rates;

static tw_status rates_of(const tw_problem *p, rates *out, tw_error *error) {
  enum { KNOWN_MAX = 64 };
  static struct {
    const x86_kernel *kernel;
    int threads;
    bool looks_up;
    tw_type a, b;
    tw_a_rounding rounding;
    double peak, bandwidth; /* bandwidth: 0 until a problem requires it */
    const char *limit;
  } known[KNOWN_MAX];
  static size_t n;
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  tw_gemm_spec s = x86_spec_of(p);
  tw_gemm_plan *plan;
  tw_status status = x86_plan(&s, NULL, &plan, error); /* a plan with the default kernel, which represents the types */
  if (status != TW_OK) return status;
  const x86_kernel *kernel = plan->kernel;
  const int threads = plan->spec.threads;
  const bool looks_up = plan->looks_up;
  pthread_mutex_lock(&lock);
  size_t i = 0;
  while (i < n && (known[i].kernel != kernel || known[i].threads != threads || known[i].looks_up != looks_up ||
                   known[i].a != s.a || known[i].b != s.b || known[i].rounding != s.a_rounding))
    i++;
  if (i == n && n < KNOWN_MAX) n++;
  if (i == KNOWN_MAX) known[--i].kernel = NULL;
  if (known[i].kernel != kernel) {
    known[i].kernel = kernel;
    known[i].threads = threads;
    known[i].looks_up = looks_up;
    known[i].a = s.a, known[i].b = s.b, known[i].rounding = s.a_rounding;
    known[i].peak = x86_peak_of(plan, threads, &known[i].limit);
    known[i].bandwidth = 0;
  }
  *out = (rates){.limit = known[i].limit, .peak = known[i].peak};
  if (s.m <= DECODE_ROWS) {
    if (known[i].bandwidth == 0) known[i].bandwidth = x86_read_bandwidth(threads);
    out->bandwidth = known[i].bandwidth;
  }
  const bool stopped = tw_is_stop_asked();
  if (stopped) known[i].kernel = NULL; /* a rate that was interrupted is not the machine's rate */
  pthread_mutex_unlock(&lock);
  tw_gemm_plan_destroy(plan);
  return stopped ? tw_fail(error, TW_INTERRUPTED, "interrupted") : TW_OK;
}

/* Bytes of the weights in the library's packed form. */
static double weight_bytes(const tw_problem *p) {
  tw_gemm_spec s = x86_spec_of(p);
  tw_gemm_plan *plan;
  if (tw_gemm_plan_create(&s, &plan, NULL) != TW_OK) return 0;
  const double bytes = (double)tw_gemm_packed_bytes(plan);
  tw_gemm_plan_destroy(plan);
  return bytes;
}

static tw_bound bound_of(const tw_problem *p, const rates *r) {
  tw_bound out = {.compute_cost = 2 * p->op->operations(p) / r->peak};
  if (r->bandwidth > 0) out.memory_cost = weight_bytes(p) / r->bandwidth;
  out.cost = fmax(out.compute_cost, out.memory_cost);
  /* both rates were measured at another time, with another clock rate and other load */
  out.least = out.cost / 1.25;
  snprintf(out.limit, sizeof out.limit, "%s",
           out.memory_cost > out.compute_cost ? "reading the weights from memory" : r->limit);
  return out;
}

tw_status x86_bound(const tw_target *t, const tw_problem *p, tw_bound *out, tw_error *error) {
  (void)t;
  rates r;
  pthread_rwlock_wrlock(&machine);
  const tw_status status = rates_of(p, &r, error);
  pthread_rwlock_unlock(&machine);
  if (status != TW_OK) return status;
  *out = bound_of(p, &r);
  return TW_OK;
}

/* ---- the measurement ---- */

static void fill_measurement(const tw_problem *p, const tw_spread *spread, const rates *r, tw_measurement *m) {
  const double operations = 2 * p->op->operations(p), seconds = spread->median;
  *m = (tw_measurement){
      .cost = seconds, .seconds = seconds, .utilization = operations / seconds / r->peak, .spread = *spread};
  tw_count(m, "gflops", "GFLOP/s", "2 m n k per second", operations / seconds * 1e-9);
  tw_count(m, "peak_gflops", "GFLOP/s", "peak of this CPU for these types, measured without memory accesses",
           r->peak * 1e-9);
  tw_count(m, "fraction_of_peak", "", "gflops / peak_gflops", operations / seconds / r->peak);
  if (r->bandwidth > 0) {
    tw_count(m, "weight_gb_s", "GB/s", "bytes of weights read per second, in the library's packing",
             weight_bytes(p) / seconds * 1e-9);
    tw_count(m, "memory_gb_s", "GB/s", "rate at which the same number of threads reads memory", r->bandwidth * 1e-9);
  }
}

/* The largest number of sets. */
static uint32_t room_of(const tw_problem *p, const tw_case *data) {
  const double each = (double)(data->operand[A].bytes + data->operand[data->n_operands - 1].bytes + 4 * TW_ARENA_PAGE),
               elements = (double)tw_problem_int(p, "n") * (double)tw_problem_int(p, "k");
  const double room = fmin(fmin((double)SETS_BYTES / each, WEIGHTS / elements),
                           fmin((double)WEIGHTS_BYTES / (weight_bytes(p) + 1), TW_ARENA_SETS_MAX));
  return room < 1 ? 1 : (uint32_t)room;
}

static size_t cool_bytes(const tw_problem *p) {
  const int64_t cache = 2 * x86_this_cpu()->l3;
  if (tw_problem_int(p, "m") > DECODE_ROWS) return 0;
  return (size_t)(cache < COOL_LEAST ? COOL_LEAST : cache > COOL_MOST ? COOL_MOST : cache);
}

tw_status x86_measure(const tw_target *t, tw_artefact *a, const tw_case *data, tw_evaluation *e, tw_measurement *out,
                      tw_error *error) {
  const tw_problem *p = &a->problem;
  timing time = {
      .artefact = a, .problem = p, .data = data, .room = room_of(p, data), .limit = e->limit, .cool = cool_bytes(p)};
  tw_spread spread = {0};
  rates r;
  tw_random_seed(&time.random, tw_random_system());
  (void)t;
  a->stop = e->stop;
  if (e->trace)
    return tw_fail(error, TW_UNSUPPORTED, "x86 does not record timelines; leave out --trace and --timeline");
  if (!(time.set = tw_new(time.room, sizeof *time.set))) return tw_no_memory(error, NULL);
  lock_machine(pthread_rwlock_wrlock);
  tw_status status = rates_of(p, &r, error);
  if (status == TW_OK) time.bound = bound_of(p, &r).cost;
  if (status == TW_OK) status = open_process(a, data, time.room, true, &time.process, error);
  if (status == TW_OK) status = time_it(&time, &spread, error);
  if (status == TW_OK && !is_slower(time.limit, &spread)) status = check_again(&time, a, error);
  pthread_rwlock_unlock(&machine);
  if (status == TW_OK) fill_measurement(p, &spread, &r, out);
  tw_sandbox_close(time.process);
  free_sets(&time);
  return status;
}
