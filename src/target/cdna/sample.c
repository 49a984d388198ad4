/* sample.c - see sample.h.
 *
 * The first and last workgroup and some at random are executed, each alone on outputs that are poisoned. If a workgroup
 * takes very long, only two at random are. The elements that a workgroup writes must fill a box of the output without
 * holes, and the largest such box, times the number of workgroups, must cover the output. The randomly drawn workgroups
 * may leave no more work to other workgroups than the grid's surplus allows. If the grid has no surplus, no two
 * executed workgroups may write the same elements. Some workgroups are executed only for this: they have distances at
 * which wrong mappings repeat. Random elements in each box, and its corners, are compared with their exact values. So a
 * wrong workgroup is found as surely as if all were executed; only a workgroup that differs from all drawn ones remains
 * undetected. */
#include "target/cdna/sample.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/random.h"
#include "base/strings.h"
#include "op/exact.h"
#include "op/operand.h"
#include "op/sample.h"

static const double RUN_BUDGET = 3e9, COMPARE_BUDGET = 3e8; /* multiply-adds of the emulator; of the host */
enum {
  GROUPS_LEAST = 3,
  GROUPS_USUAL = 12,
  GROUPS_MOST = 32, /* maximum for a trusted kernel */
  GROUPS_UNTRUSTED = 512,
  PARTNERS = 8,
  PLACES_LEAST = 64,
  PLACES_MOST = 1 << 15,
  OF_A_ROW = 4 /* elements that are drawn from one row, where single elements exceed the budget */
};

typedef struct box {
  int64_t low[TW_RANK_MAX], high[TW_RANK_MAX], written; /* elements low..high of each dimension */
} box;

void cdna_free_outputs(const tw_case *c, void *buffer[]) {
  for (size_t i = 0; i < c->n_operands; i++)
    if (c->operand[i].is_output) free(buffer[i]);
}

bool cdna_new_outputs(const tw_case *c, void *buffer[]) {
  bool room = true;
  for (size_t i = 0; i < c->n_operands; i++) {
    const tw_operand *o = &c->operand[i];
    buffer[i] = o->is_output ? aligned_alloc(64, (o->bytes + 127) & ~(size_t)63) : c->buffer[i];
    room = room && buffer[i];
    if (buffer[i] && o->is_output) memset(buffer[i], TW_POISON, o->bytes);
  }
  return room;
}

static double output_bytes(const tw_case *c) {
  double bytes = 1;
  for (size_t i = 0; i < c->n_operands; i++) bytes += c->operand[i].is_output ? (double)c->operand[i].bytes : 0;
  return bytes;
}

bool cdna_sample_possible(const tw_problem *p) { return p->op->exact && p->op->exact_cost; }

static double output_elements(const tw_case *c) {
  double elements = 0;
  for (size_t i = 0; i < c->n_operands; i++) {
    double n = c->operand[i].is_output;
    for (int d = 0; d < c->operand[i].rank; d++) n *= (double)c->operand[i].dims[d];
    elements += n;
  }
  return elements;
}

bool cdna_sample_is_large(const tw_case *c) {
  static const double ELEMENTS_MOST = 1 << 25;
  return c->problem->op->operations(c->problem) > CDNA_SAMPLE_ABOVE || output_elements(c) > ELEMENTS_MOST;
}

double cdna_sample_work(const tw_case *c) {
  static const double OF_AN_ELEMENT = 60; /* cost of an element of a row operation, in multiply-adds */
  return fmax(c->problem->op->operations(c->problem), OF_AN_ELEMENT * output_elements(c));
}

/* The index in each dimension except the last, for a row. */
static void indices_of(const tw_operand *o, int64_t row, int64_t index[TW_RANK_MAX]) {
  for (int i = o->rank - 2; i >= 0; i--) {
    index[i] = row % o->dims[i];
    row /= o->dims[i];
  }
}

static int64_t offset_of(const tw_operand *o, const int64_t index[TW_RANK_MAX]) {
  int64_t at = 0;
  for (int i = 0; i + 1 < o->rank; i++) at += index[i] * o->stride[i];
  return at;
}

static bool is_poison(const uint8_t *p, size_t n) { return !n || (*p == TW_POISON && memcmp(p, p + 1, n - 1) == 0); }
static bool is_integer(const tw_operand *o) { return o->type == TW_I8 || o->type == TW_I16 || o->type == TW_I32; }

static void widen(box *b, int dimension, int64_t low, int64_t high) {
  if (low < b->low[dimension]) b->low[dimension] = low;
  if (high > b->high[dimension]) b->high[dimension] = high;
}

/* The part of the output that no longer holds poison. An integer result may equal the poison; then it counts as
 * written if it is between written elements of its row. */
static box find_box(const tw_operand *o, const uint8_t *data) {
  static const uint8_t all[256] = {[0 ... 255] = TW_POISON};
  const int64_t size = tw_type_bits(o->type) / 8, rows = tw_operand_rows(o), columns = tw_operand_columns(o);
  box b = {.written = 0};
  for (int i = 0; i < TW_RANK_MAX; i++) b.low[i] = INT64_MAX, b.high[i] = -1;
  for (int64_t row = 0; row < rows; row++) {
    int64_t index[TW_RANK_MAX] = {0}, first = -1, last = -1, holes = 0;
    indices_of(o, row, index);
    const uint8_t *line = data + offset_of(o, index) * size;
    for (int64_t at = 0; at < columns; at++) {
      if ((columns - at) * size >= (int64_t)sizeof all && memcmp(line + at * size, all, sizeof all) == 0) {
        at += (int64_t)sizeof all / size - 1; /* mostly nothing */
        continue;
      }
      if (is_poison(line + at * size, (size_t)size)) continue;
      if (first < 0) first = at;
      last = at;
    }
    if (first < 0) continue;
    for (int64_t at = first; at <= last && !is_integer(o); at++) holes += is_poison(line + at * size, (size_t)size);
    b.written += last - first + 1 - holes;
    for (int i = 0; i + 1 < o->rank; i++) widen(&b, i, index[i], index[i]);
    widen(&b, o->rank - 1, first, last);
  }
  return b;
}

/* Poisons the box again. */
static void clear_box(const tw_operand *o, const box *b, uint8_t *data) {
  const int64_t size = tw_type_bits(o->type) / 8, rows = tw_operand_rows(o), last = o->rank - 1;
  for (int64_t row = 0; row < rows; row++) {
    int64_t index[TW_RANK_MAX] = {0};
    bool in = true;
    indices_of(o, row, index);
    for (int i = 0; i < last; i++) in = in && index[i] >= b->low[i] && index[i] <= b->high[i];
    if (in)
      memset(data + (offset_of(o, index) + b->low[last]) * size, TW_POISON,
             (size_t)((b->high[last] - b->low[last] + 1) * size));
  }
}

static int64_t area(const tw_operand *o, const box *b) {
  int64_t n = 1;
  if (b->high[o->rank - 1] < 0) return 0; /* nothing was written */
  for (int i = 0; i < o->rank; i++) n *= b->high[i] - b->low[i] + 1;
  return n;
}

static tw_place place_in(const tw_operand *o, const box *b, tw_random *r, int corner) {
  tw_place p = {0, 0};
  for (int i = 0; i < o->rank; i++) {
    const int64_t at = corner < 0              ? tw_random_between(r, b->low[i], b->high[i])
                       : corner >> (i & 1) & 1 ? b->high[i]
                                               : b->low[i];
    if (i + 1 < o->rank)
      p.row = p.row * o->dims[i] + at;
    else
      p.column = at;
  }
  return p;
}

typedef struct drawn {
  double elements;
  int64_t largest;
  int drawn;     /* number of workgroups that were drawn by chance only, */
  double filled; /* number of elements that they wrote */
} drawn;

/* What a workgroup has written, how much of it was compared, and what its run left. */
typedef struct part {
  uint64_t group;
  box box[TW_OPERANDS_MAX];
  double compared;
  void *left;
  tw_status status;
  tw_error error;
} part;

/* The workgroups of a kernel that are executed. Threads take them in order, each with its own outputs. */
typedef struct sampling {
  const cdna_sampler *s;
  const tw_case *data;
  size_t kernel;
  uint64_t seed;
  part *part;
  int n, drawn;            /* without and with repetitions */
  int compare;             /* threads of one comparison */
  atomic_int next, failed; /* indices of parts: the next to run; the first that failed, `n` if none */
} sampling;

/* Compares some of the elements that a workgroup has written in the box. */
static tw_status compare_box(const sampling *x, part *own, size_t index, const uint8_t *data, tw_random *r) {
  const tw_case *c = x->data;
  const box *b = &own->box[index];
  const tw_operand *o = &c->operand[index];
  double element = 1, row = 1;
  c->problem->op->exact_cost(c->problem, index, &element, &row);
  double wanted = COMPARE_BUDGET / x->drawn / (element > 1 ? element : 1);
  const int64_t all = area(o, b);
  /* true for dK and dV: the elements of a row share most of their cost */
  const bool by_rows = wanted < PLACES_LEAST && row < element * (double)tw_operand_columns(o) / 4;
  if (wanted > (double)all) wanted = (double)all;
  const size_t n = wanted < PLACES_LEAST ? PLACES_LEAST : wanted > PLACES_MOST ? PLACES_MOST : (size_t)wanted;
  tw_place *place = tw_new(n, sizeof *place);
  if (!place) return tw_no_memory(&own->error, "the comparison");
  for (size_t i = 0; i < n; i++) {
    place[i] = place_in(o, b, r, i < 4 ? (int)i : -1);
    if (by_rows && i > 4 && i % OF_A_ROW) place[i].row = place[i - 1].row;
  }
  qsort(place, n, sizeof *place, tw_place_order);
  size_t different = 0;
  for (size_t i = 0; i < n; i++)
    if (!i || tw_place_order(&place[different - 1], &place[i])) place[different++] = place[i];
  tw_mismatch found = {0};
  tw_status status =
      tw_compare_places(c->problem, c->buffer, o, index, different, place, data, x->compare, &found, &own->error);
  if (status == TW_OK) status = tw_mismatch_status(o, &found, &own->error);
  own->compared += (double)different;
  free(place);
  return status;
}

static tw_status take_output(const sampling *x, part *own, size_t index, uint8_t *data, tw_random *r) {
  const tw_operand *o = &x->data->operand[index];
  const box b = own->box[index] = find_box(o, data);
  const int64_t all = area(o, &b);
  tw_status status = TW_OK;
  if (all && b.written != all && !is_integer(o))
    return tw_fail(&own->error, TW_FAILED, "workgroup %llu does not write %lld of the %lld elements of its part of %s",
                   (unsigned long long)own->group, (long long)(all - b.written), (long long)all, o->name);
  if (all) status = compare_box(x, own, index, data, r);
  if (all && status == TW_OK) clear_box(o, &b, data);
  if (status == TW_OK && !is_poison(data, o->bytes))
    return tw_fail(&own->error, TW_FAILED, "workgroup %llu writes to %s between its rows",
                   (unsigned long long)own->group, o->name);
  return status;
}

static tw_status run_and_compare(const sampling *x, part *own, void *const buffer[], int number) {
  const tw_case *c = x->data;
  tw_random random;
  tw_random_seed_stream(&random, x->seed, x->kernel * (GROUPS_UNTRUSTED + PARTNERS) + (uint64_t)number + 1);
  tw_status status = x->s->run(x->s->context, buffer, x->kernel, own->group, &own->left, &own->error);
  for (size_t j = 0; j < c->n_operands && status == TW_OK; j++)
    if (c->operand[j].is_output) status = take_output(x, own, j, buffer[j], &random);
  return status;
}

static void work(void *context, size_t thread) {
  sampling *x = context;
  void *buffer[TW_OPERANDS_MAX] = {0};
  const bool room = cdna_new_outputs(x->data, buffer);
  /* without memory, the first thread reports it, and another thread leaves its work to the rest */
  for (int i; (room || !thread) && (i = atomic_fetch_add(&x->next, 1)) < x->n && i < atomic_load(&x->failed);) {
    part *own = &x->part[i];
    own->status = room ? run_and_compare(x, own, buffer, i) : tw_no_memory(&own->error, NULL);
    for (int first = x->failed; own->status != TW_OK && i < first;)
      if (atomic_compare_exchange_weak(&x->failed, &first, i)) break;
  }
  cdna_free_outputs(x->data, buffer);
}

/* The number of threads; each has its own outputs. */
static int threads_for(const sampling *x, int cores) {
  static const double COPIES = 4e9; /* bytes of outputs, at most */
  const double most = fmin(COPIES / output_bytes(x->data), x->n);
  return most < 1 ? 1 : most < cores ? (int)most : cores;
}

/* Executes all and takes what they left, up to the first that failed. */
static tw_status run_sample(sampling *x, tw_error *error) {
  const int cores = x->s->jobs ? x->s->jobs : tw_cores(), jobs = threads_for(x, cores);
  x->compare = cores / jobs;
  x->failed = x->n;
  const tw_stop *before = tw_parallel_until(NULL); /* each run checks itself whether it must stop */
  tw_parallel_for(jobs, (size_t)jobs, work, x);
  tw_parallel_until(before);
  const int failed = x->failed;
  for (int i = 0; i < x->n && x->s->take; i++) x->s->take(x->s->context, x->part[i].left, i <= failed);
  if (failed == x->n) return TW_OK;
  if (error) *error = x->part[failed].error;
  return x->part[failed].status;
}

/* Rejects samples whose workgroups leave more to other workgroups than the grid's surplus: the probability that the
 * randomly chosen ones write this little, although all together fill the output, is below e^-14 (Chernoff). */
static bool leaves_too_much(const drawn *d, uint64_t groups, double elements) {
  if (!d->drawn || !d->largest) return false;
  const double idle = fmax(1 - elements / ((double)groups * (double)d->largest), 0),
               seen = 1 - d->filled / ((double)d->drawn * (double)d->largest);
  if (seen <= idle + 1e-9) return false;
  if (idle < 1e-9) return true;
  const double divergence = seen * log(seen / idle) + (seen < 1 ? (1 - seen) * log((1 - seen) / (1 - idle)) : 0);
  return d->drawn * divergence > 14;
}

/* The number of workgroups that may be drawn; each costs a search through the outputs. */
static int most_groups(const cdna_sampler *s, const tw_case *c) {
  static const double SEARCHED = 8e9; /* bytes */
  const double bytes = output_bytes(c);
  if (s->trust || s->of_parts || SEARCHED / bytes < GROUPS_MOST) return GROUPS_MOST;
  return SEARCHED / bytes > GROUPS_UNTRUSTED ? GROUPS_UNTRUSTED : (int)(SEARCHED / bytes);
}

/* The number of n workgroups that are not drawn: the first and the last, unless no other would be executed. */
static int forced_of(int n) { return n < GROUPS_LEAST ? 0 : 2; }

static int choose(uint64_t groups, double operations, int limit, tw_random *r, uint64_t id[]) {
  static const double LONG = 5e10; /* multiply-adds that take half a minute with checks */
  const double each = operations / (double)groups;
  /* more if the part of a workgroup is small */
  const int most = groups / 8 > (uint64_t)limit ? limit : groups / 8 > GROUPS_USUAL ? (int)(groups / 8) : GROUPS_USUAL;
  int n = RUN_BUDGET / each > most ? most : (int)(RUN_BUDGET / each);
  const int least = each > LONG ? GROUPS_LEAST - 1 : GROUPS_LEAST;
  if (n < least) n = least;
  if ((uint64_t)n > groups) n = (int)groups;
  for (int i = 0; i < n; i++)
    id[i] = (uint64_t)n == groups ? (uint64_t)i
            : i >= forced_of(n)   ? (uint64_t)tw_random_between(r, 0, (int64_t)groups - 1)
            : i == 0              ? 0
                                  : groups - 1;
  return n;
}

/* Adds partners. A mapping from workgroups to tiles that is not one-to-one sends two workgroups to one tile. So each
 * partner has a different distance to a drawn workgroup. Appends them to `id`; returns the total number. */
static int add_partners(uint64_t groups, tw_random *r, uint64_t *id, int n) {
  if ((uint64_t)n == groups || n < GROUPS_LEAST) return n;
  const int wanted = n / 2 < PARTNERS ? n / 2 : PARTNERS, first = (int)tw_random_below(r, PARTNERS);
  const int bits = 63 - __builtin_clzll(groups);
  int all = n;
  for (int i = 0; i < wanted && forced_of(n) + i < n; i++) {
    const uint64_t base = id[forced_of(n) + i],
                   with[PARTNERS] = {base ^ 1,
                                     base + groups / 2,
                                     base ^ 2,
                                     base ^ (uint64_t)1 << tw_random_below(r, (uint64_t)bits + 1),
                                     base + groups / 4,
                                     base + 8, /* chiplets */
                                     base + (uint64_t)sqrt((double)groups),
                                     base + 1};
    id[all++] = with[(first + i) % PARTNERS] % groups;
  }
  return all;
}

static bool is_among(const uint64_t *id, int n) {
  for (int i = 0; i < n; i++)
    if (id[i] == id[n]) return true;
  return false;
}

static int64_t shared_elements(const tw_operand *o, const box *a, const box *b) {
  int64_t n = 1;
  for (int i = 0; i < o->rank; i++) {
    const int64_t low = a->low[i] > b->low[i] ? a->low[i] : b->low[i],
                  high = a->high[i] < b->high[i] ? a->high[i] : b->high[i];
    n = high < low ? 0 : n * (high - low + 1);
  }
  return n;
}

/* Elements that are written twice are missing elsewhere, except for the number by which all workgroups may exceed
 * the output. */
static tw_status refuse_twins(const tw_operand *o, size_t index, const part *of, int n, double surplus,
                              tw_error *error) {
  for (int i = 0; i < n; i++)
    for (int k = 0; k < i; k++) {
      const int64_t both = shared_elements(o, &of[i].box[index], &of[k].box[index]);
      if (both > 0 && (double)both > surplus)
        return tw_fail(error, TW_FAILED,
                       "workgroups %llu and %llu write the same %lld elements of %s, so that others are never written",
                       (unsigned long long)of[k].group, (unsigned long long)of[i].group, (long long)both, o->name);
    }
  return TW_OK;
}

static void add_part(const tw_case *c, const part *of, bool by_chance, drawn sum[]) {
  for (size_t j = 0; j < c->n_operands; j++) {
    if (!c->operand[j].is_output) continue;
    const int64_t all = area(&c->operand[j], &of->box[j]);
    if (all > sum[j].largest) sum[j].largest = all;
    sum[j].elements += (double)all;
    sum[j].drawn += by_chance;
    if (by_chance) sum[j].filled += (double)all;
  }
}

/* TW_FAILED if the executed workgroups of a single kernel show that its grid leaves elements of an output unwritten. */
static tw_status judge_coverage(const sampling *x, const drawn sum[], tw_error *error) {
  const tw_case *c = x->data;
  const double groups = (double)x->s->groups[x->kernel];
  tw_status status = TW_OK;
  for (size_t j = 0; j < c->n_operands && status == TW_OK; j++) {
    const tw_operand *o = &c->operand[j];
    if (!o->is_output) continue;
    const double elements = (double)tw_operand_rows(o) * (double)tw_operand_columns(o);
    status = refuse_twins(o, j, x->part, x->n, groups * (double)sum[j].largest - elements, error);
    if (status == TW_OK && leaves_too_much(&sum[j], x->s->groups[x->kernel], elements))
      status =
          tw_fail(error, TW_FAILED,
                  "%d randomly chosen workgroups write only %.0f elements of %s, too few to fill it in the whole grid",
                  sum[j].drawn, sum[j].filled, o->name);
  }
  return status;
}

tw_status cdna_sample_check(const cdna_sampler *s, const tw_case *c, char *text, size_t size, tw_error *error) {
  tw_status status = TW_OK;
  tw_random random;
  const uint64_t seed = s->seed ? s->seed : tw_random_system();
  uint64_t id[GROUPS_UNTRUSTED + PARTNERS];
  part *const seen = tw_new(GROUPS_UNTRUSTED + PARTNERS, sizeof *seen);
  if (!seen) return tw_no_memory(error, NULL);
  tw_random_seed(&random, seed);
  double written = 0, compared = 0;
  double most[TW_OPERANDS_MAX] = {0}; /* maximum number of elements that the kernels can write of each output */
  uint64_t groups = 0;
  int executed = 0;
  for (size_t k = 0; k < s->kernels && status == TW_OK; k++) {
    const double operations = c->problem->op->operations(c->problem) / (double)s->kernels;
    const int chosen = choose(s->groups[k], operations, most_groups(s, c), &random, id);
    const int n = s->kernels == 1 ? add_partners(s->groups[k], &random, id, chosen) : chosen;
    drawn sum[TW_OPERANDS_MAX] = {0};
    int n_seen = 0, by_chance = 0;
    for (int i = 0; i < n; i++) {
      if (is_among(id, i)) continue;
      seen[n_seen++] = (part){.group = id[i]};
      if (i < chosen) by_chance = n_seen;
    }
    sampling x = {.s = s, .data = c, .kernel = k, .seed = seed, .part = seen, .n = n_seen, .drawn = n};
    status = run_sample(&x, error);
    for (int i = 0; i < n_seen && status == TW_OK; i++)
      add_part(c, &seen[i], i >= forced_of(chosen) && i < by_chance, sum);
    for (int i = 0; i < n_seen; i++) compared += seen[i].compared;
    if (status == TW_OK && s->kernels == 1) status = judge_coverage(&x, sum, error);
    for (size_t j = 0; j < c->n_operands; j++) {
      most[j] += (double)sum[j].largest * (double)s->groups[k];
      written += sum[j].elements;
    }
    groups += s->groups[k];
    executed += n_seen;
  }
  for (size_t j = 0; j < c->n_operands; j++) {
    const tw_operand *o = &c->operand[j];
    if (o->is_output && status == TW_OK && most[j] < (double)tw_operand_rows(o) * (double)tw_operand_columns(o))
      status = tw_fail(error, TW_FAILED, "%llu workgroups that each write at most %.0f elements of %s cannot fill it",
                       (unsigned long long)groups, most[j], o->name);
  }
  const char *what = s->of_parts ? "parts" : "workgroups";
  const int n = snprintf(
      text, size,
      "sampled: %d of %llu %s, executed alone at this size: each fills its part of the output, %.0f of their %.0f "
      "elements compared",
      executed, (unsigned long long)groups, what, compared, written);
  /* the share of wrong workgroups above which 99% of samples find an error */
  if ((uint64_t)executed < groups && n > 0 && (size_t)n < size)
    snprintf(text + n, size - (size_t)n, "; errors in less than %.2g%% of the %s can escape",
             100 * (1 - pow(0.01, 1. / executed)), what);
  free(seen);
  return status;
}
