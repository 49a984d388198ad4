/* compare.c - the timed work is the checked work: see timing.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "target/cdna/isa/effects.h"
#include "target/cdna/time/atomics.h"
#include "target/cdna/time/inspect.h"
#include "target/cdna/time/timing.h"

static const double LEAST_OF_MEAN = 0.4; /* minimum fraction of the mean work; less is not representative */
static const double MATERIAL = 0.02;     /* minimum fraction of all work for a kind to count */
static const double SAME = 1.02;         /* tolerance for work whose order depends on arrival */

void cdna_work_units(const cdna_rates *r, uint64_t seed, double unit[CDNA_KINDS]) {
  const double issue = r->slot / 4.0; /* one of four SIMDs */
  unit[CDNA_DOES_SCALAR] = unit[CDNA_DOES_VECTOR] = issue;
  unit[CDNA_DOES_TRANSCENDENTAL] = r->transcendental / 4.0;
  unit[CDNA_DOES_MATRIX] = 1; /* 4 cycles of one of four */
  unit[CDNA_DOES_LDS] = 1.0 / r->lds_read;
  unit[CDNA_DOES_LOAD] = unit[CDNA_DOES_STORE] = 1.0 / r->l1_bandwidth;
  unit[CDNA_DOES_CONSTANT] = issue / 4;
  unit[CDNA_DOES_WAIT] = 0;
  tw_random random;
  tw_random_seed_stream(&random, seed, CDNA_KINDS);
  for (int k = 0; k < CDNA_KINDS && seed; k++) unit[k] *= exp2(2 * tw_random_real(&random) - 1);
}

/* What the timed workgroups write when they are executed alone. */
typedef struct looking {
  cdna_work *work;
  cdna_memory *memory;
  uint8_t *copy[CDNA_ALLOCATIONS_MAX];
  uint8_t *atomics[CDNA_ALLOCATIONS_MAX]; /* bytes whose value depends on the order: cdna_atomics_note */
  size_t end;                             /* of compared allocations */
  bool failed;
} looking;

static void record_access(void *context, cdna_wave *w, const cdna_op *op) {
  looking *q = context;
  cdna_access a;
  cdna_work_add(q->work, w, op);
  if (op->kind != CDNA_DOES_STORE || !cdna_access_of(w, op, &a) || !a.reads || !a.writes) return;
  for (uint64_t left = a.lanes[CDNA_IN_GLOBAL]; left; left &= left - 1) {
    const uint64_t address = a.address[0][__builtin_ctzll(left)];
    for (size_t i = 0; i < q->end; i++) {
      const cdna_allocation *x = &q->memory->allocation[i];
      if (address - x->address >= x->size || a.bytes > x->size - (address - x->address)) continue;
      if (!cdna_atomics_note(&q->atomics[i], x, address, a.bytes)) q->failed = true;
    }
  }
}

/* Executes the timed workgroups one after another, as in the check of results. */
static tw_status execute_alone(cdna_timing *t, cdna_dispatch *d, looking *q, tw_error *error) {
  const cdna_observer observer = {.context = q, .before = record_access};
  tw_status status = TW_OK;
  cdna_memory_restore(t->memory);
  memset(t->expected, 0, sizeof t->expected);
  for (int i = 0; i < t->n_places && status == TW_OK; i++) {
    cdna_timing_list_groups(t, i);
    for (int k = 0; k < t->setups[i].n_groups && status == TW_OK; k++) {
      q->work = &t->expected[i][k];
      status = cdna_group_run(d, t->list[i][k], &observer, error);
    }
  }
  if (status == TW_OK && q->failed) status = tw_no_memory(error, "the addresses of atomics");
  return status;
}

/* The workgroup does the work that it did when the grid was checked: else it can tell the two launches apart. */
static bool did_so_before(const cdna_timing *t, int place, int nth) {
  const float *before = t->watch->work;
  double now = 0;
  for (int k = 0; k < CDNA_KINDS; k++) now += t->unit[k] * (double)t->expected[place][nth].did[k];
  return !before || fabs(now - before[t->list[place][nth]]) <= CDNA_WORK_ROUNDED * now;
}

/* Each workgroup does exactly the same work; if atomics distribute the work, all workgroups together do the same
 * amount. */
static bool does_the_same(const cdna_timing *t) {
  double did[CDNA_KINDS] = {0}, would[CDNA_KINDS] = {0}, all = 0;
  for (int i = 0; i < t->n_places; i++) {
    for (int k = 0; k < CDNA_KINDS; k++) did[k] += t->result[i].did[k];
    for (int g = 0; g < t->setups[i].n_groups; g++) {
      const cdna_work *x = &t->expected[i][g], *y = &t->result[i].work[g];
      if (!t->by_order && (x->instructions != y->instructions || x->sum != y->sum || !did_so_before(t, i, g)))
        return false;
      for (int k = 0; k < CDNA_KINDS; k++) would[k] += (double)x->did[k];
    }
  }
  for (int k = 0; k < CDNA_KINDS; k++) all += t->unit[k] * would[k];
  for (int k = 0; k < CDNA_KINDS; k++)
    if (t->unit[k] * would[k] > MATERIAL * all && would[k] > SAME * did[k]) return false;
  return true;
}

/* The factor by which the work of an average workgroup exceeds that of the timed ones; 1: equal or less. If the work
 * of each is known, `schedule` uses it. */
static double missing_work(const cdna_timing *t) {
  const cdna_watch *w = t->watch;
  double timed = 0, all = 0, n = 0;
  for (int i = 0; i < t->n_places; i++) {
    timed += cdna_timing_work_at(t, i) * t->setups[i].n_groups;
    n += t->setups[i].n_groups;
  }
  for (int k = 0; k < CDNA_KINDS; k++) all += t->unit[k] * w->did[k];
  if (all <= 0 || n == 0) return 1;
  return timed > 0 ? fmax(1, all / w->groups / (timed / n)) : INFINITY;
}

/* The same for the kind of work of which the timed workgroups do least: where a foreign kernel was only sampled, the
 * timed ones may do as much work in all, but none of a kind that takes long. */
static double missing_kind(const cdna_timing *t) {
  static const double OF_ALL = 0.05; /* less of a kind may be the work of a few workgroups */
  const cdna_watch *w = t->watch;
  double all = 0, n = 0, most = 1;
  for (int i = 0; i < t->n_places; i++) n += t->setups[i].n_groups;
  for (int k = 0; k < CDNA_KINDS; k++) all += t->unit[k] * w->did[k];
  for (int k = 0; k < CDNA_KINDS && t->foreign && !w->work; k++) {
    double did = 0;
    for (int i = 0; i < t->n_places; i++) did += t->result[i].did[k];
    if (t->unit[k] * w->did[k] <= OF_ALL * all) continue;
    most = fmax(most, did > 0 ? w->did[k] / w->groups / (did / n) : INFINITY);
  }
  return most;
}

static tw_status other_work(tw_error *error) {
  return tw_fail(
      error, TW_FAILED,
      "workgroups do different work in the timed run and in the check; the kernel must not depend on the clock, "
      "on the set of workgroups, or on other waves without a barrier");
}

static bool wrote_the_same(const cdna_timing *t, const looking *q, const cdna_time_options *options) {
  bool same = true;
  for (size_t i = 0; i < q->end && same; i++) {
    const cdna_allocation *a = &t->memory->allocation[i];
    const tw_operand *o = i < options->results ? NULL : &options->operand[i - options->results];
    if (o || !t->by_order)
      same = cdna_memory_is_written(t->memory, i, q->copy[i], q->atomics[i]);
    else
      same = cdna_memory_is_permuted(t->memory, i, q->copy[i], q->atomics[i]);
    if (same && q->atomics[i] && q->copy[i]) same = cdna_atomics_agree(q->atomics[i], a, q->copy[i], o);
  }
  return same;
}

/* A second run of the timed workgroups, with matrix instructions and recorded work. Their writes to memory are compared
 * with the writes of the same workgroups executed alone. *differs: their time differs from the first run. */
static tw_status time_looked_at(cdna_timing *t, cdna_dispatch *d, const cdna_time_options *options, int jobs,
                                bool *differs, tw_error *error) {
  looking q = {.memory = t->memory, .end = options->end};
  int64_t before[CDNA_PLACES] = {0};
  tw_status status = execute_alone(t, d, &q, error);
  for (size_t i = 0; i < q.end; i++) q.copy[i] = cdna_memory_copy_written(t->memory, i);
  for (int i = 0; i < t->n_places; i++) before[i] = t->result[i].cycles;
  t->setup.execute_matrix = t->setup.look = true;
  if (status == TW_OK) status = cdna_timing_run(t, t->mhz, jobs, error);
  for (int i = 0; i < t->n_places && status == TW_OK; i++) *differs |= t->result[i].cycles != before[i];
  const bool same = status == TW_OK && does_the_same(t) && wrote_the_same(t, &q, options);
  for (size_t i = 0; i < q.end; i++) free(q.copy[i]), free(q.atomics[i]);
  return status == TW_OK && !same ? other_work(error) : status;
}

/* `same`: the workgroups accessed the same lines as in the check. *part: the number of different lines, as a
 * fraction of the number in the check. */
static tw_status compare_witnesses(cdna_timing *t, cdna_dispatch *d, const cdna_witness *w, bool *same, double *part,
                                   tw_error *error) {
  cdna_witness *checked = tw_new(1, sizeof *checked);
  tw_status status = checked ? TW_OK : tw_no_memory(error, "the reads of workgroups");
  double asked = 0, wanted = 0;
  *same = true;
  for (int i = 0; i < CDNA_WITNESSES && status == TW_OK; i++) {
    cdna_memory_restore(t->memory);
    status = cdna_witness_check(&w[i], d, t->setup.effects, __builtin_ctz((unsigned)t->rates->l1_line), checked, error);
    if (status != TW_OK) break;
    *same = *same && cdna_witness_is_same(&w[i], checked);
    asked += cdna_witness_lines(&w[i]);
    wanted += cdna_witness_lines(checked);
  }
  *part = wanted > asked ? asked / wanted : 1;
  free(checked);
  return status;
}

/* If atomics distribute the work, a workgroup may request different lines in another order. Fewer different lines
 * give fewer misses, so missing lines count as misses. */
static void charge_missing_lines(cdna_reuse *r, double part) {
  for (int a = 0; a < CDNA_ALLOCATIONS_MAX; a++) {
    r->l2[a] = 1 - fmin(1, (1 - r->l2[a]) / part);
    r->llc[a] = 1 - fmin(1, (1 - r->llc[a]) / part);
  }
}

tw_status cdna_timing_find_reuse(cdna_timing *t, cdna_dispatch *d, int jobs, tw_error *error) {
  cdna_reuse_watch watch = {.seed = t->seed,
                            .witness = t->watch ? tw_new(CDNA_WITNESSES, sizeof *watch.witness) : NULL};
  if (t->watch && !watch.witness) return tw_no_memory(error, "the reads of workgroups");
  tw_status status = TW_OK;
  bool same = false;
  double part = 1;
  for (int again = 0; again < 2 && !same && status == TW_OK; again++) {
    watch.execute_matrix = again;
    cdna_memory_restore(t->memory);
    status = cdna_reuse_find(t->machine, t->rates, d, t->setup.effects, t->memory, t->together, jobs,
                             t->watch ? &watch : NULL, &t->reuse, error);
    same = !t->watch;
    if (status == TW_OK && t->watch) status = compare_witnesses(t, d, watch.witness, &same, &part, error);
  }
  free(watch.witness);
  if (status == TW_OK && !same && t->by_order && part > 0) {
    charge_missing_lines(&t->reuse, part);
    same = true;
  }
  return status == TW_OK && !same ? other_work(error) : status;
}

/* Inspects the first workgroup of each place. */
static tw_status inspect_timed(const cdna_timing *t, cdna_dispatch *d, tw_error *error) {
  uint64_t group[CDNA_PLACES];
  int n = 0;
  cdna_memory_restore(t->memory);
  for (int i = 0; i < t->n_places; i++)
    if (t->setups[i].n_groups) group[n++] = t->list[i][0];
  return cdna_inspect_groups(d, group, n, t->machine, error);
}

tw_status cdna_timing_compare(cdna_timing *t, cdna_dispatch *d, const cdna_time_options *options, int jobs,
                              cdna_times *out, tw_error *error) {
  bool differs = false;
  tw_status status = cdna_timing_grid(t, jobs, out, error);
  if (status != TW_OK || !t->watch) return status;
  status = time_looked_at(t, d, options, jobs, &differs, error);
  /* its time depends on products, so it is timed again with all of them */
  if (status == TW_OK && differs) status = cdna_timing_grid(t, jobs, out, error);
  if (status == TW_OK && differs) status = time_looked_at(t, d, options, jobs, &differs, error);
  if (status == TW_OK && options->inspect) status = inspect_timed(t, d, error);
  if (status != TW_OK) return status;
  const double missing = missing_work(t);
  if ((t->by_order || !t->watch->work) && fmax(missing, missing_kind(t)) * LEAST_OF_MEAN > 1) return other_work(error);
  /* `schedule` has used the work of each workgroup; in a grid that was executed only in part, some differ by chance */
  if (t->watch->work || !t->watch->whole || missing == 1) return TW_OK;
  out->charged = missing - 1;
  out->cycles *= missing;
  out->seconds += (missing - 1) * out->cycles / missing / (out->mhz * 1e6);
  return TW_OK;
}
