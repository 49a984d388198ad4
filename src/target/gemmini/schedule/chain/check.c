/* check.c - checks that the machine keeps every dependence of a chain.
 *
 * The chain is traversed in program order, with the last writer of each row and each element, and whether that write
 * has ended. Orders that the machine guarantees, and orders that it does not (facts, "who waits for whom"):
 *
 *  - Between loads, stores and computes the reservation station orders accesses to the same rows. No check is needed.
 *  - Computes follow each other without comparing rows, with one exception: a preload waits while the array still holds
 *    a result whose first row is the first row of its operand or of one of its compute's operands
 *    (ExecuteController.scala, raw_hazard_pre and raw_hazard_mulpre; LocalAddr.is_same_address). Results leave the
 *    array in order, so all older ones are there too then. A result in rows that overlap in another way must have left without such a wait: after as many products as fill the array. Output-stationary results count from the next product that begins a new sum, because it pushes the old one out.
 *  - When the array has to wait in the middle of an output-stationary sum, it is flushed, which multiplies on what its
 *    inputs hold: zeros after the transposer (ExecuteController.scala: a lone compute feeds it zeros), the last row
 *    otherwise. So such sums need A to pass the transposer, which it does if it is not to be transposed.
 *  - config_ex waits until the array is empty, a fence until everything is.
 *  - The accumulator cannot be read by a compute (nothing takes its answer: Scratchpad.scala, acc_read_resp).
 *  - Addresses in memory order neither a load after a store nor the core's own reads and writes: there must
 *    be a fence between. The core's writes come before its later commands. Two mvouts to one element: likewise.
 *
 * Five further rules: Data must be written before they are read (each row as far as it is read). Every command must
 * find its configuration. Preloads and computes must come in pairs, with no other command of the array between them. A
 * compute that continues with the array's weights or sums must find them there. The kernel's inputs must not change. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "target/gemmini/schedule/chain/chain.h"

enum { NEVER = -1 };

typedef struct element {
  bool written;
  /* number of the last fence before the last mvout to the element, and before the last mvin from it; NEVER */
  int stored, loaded;
} element;

typedef struct checker {
  const gm_config *config;
  const gm_chain *chain;
  int dim, away;   /* products after which a result has left the array */
  int *spad, *acc; /* columns written of each row */
  int spad_rows, acc_rows;
  int *result;       /* for each scratchpad row: number of the product that wrote it last, NEVER */
  int *begin;        /* first row of that result */
  bool *summed;      /* the result is an output-stationary sum */
  int product, over; /* number of the current product; results of all products up to `over` are in the scratchpad */
  bool *pushes;      /* ring: does product p push earlier sums out of the array? */
  int pushed;        /* the last product at least `away` products ago that pushes sums out */
  struct {
    bool known;
    int stride, block_stride;
    double scale;
  } ld[3], st;
  bool configured, output_stationary, a_transposed; /* config_ex */
  bool holds;                                       /* the array: weights or sums of this configuration */
  element *memory[GM_CHAIN_ARRAYS];
  int fences;
  gm_chain_command before; /* the preload that waits for its compute */
  int before_index[GM_CHAIN_DEPTH];
  bool has_before;
  char why[200];
} checker;

enum {
  RING = 128,
  LEAST_ROWS = 4 /* rows that a matrix in the array has at least (ExecuteController.scala, total_rows) */
};

static bool no(checker *k, const char *format, ...) __attribute__((format(printf, 2, 3)));
static bool no(checker *k, const char *format, ...) {
  va_list list;
  va_start(list, format);
  vsnprintf(k->why, sizeof k->why, format, list);
  va_end(list);
  return false;
}

static const char *name_of(const checker *k, int array) { return k->chain->array[array].name; }

/* ---- memory ---- */

typedef bool visit_element(checker *, element *, int array, int at);

static bool each_element(checker *k, const gm_memory *m, const int *index, visit_element *visit) {
  int at = gm_affine_value(&m->at, index), length = k->chain->array[m->array].length;
  for (int r = 0; r < m->rows; r++)
    for (int c = 0; c < m->cols; c++) {
      int e = at + r * m->stride + c;
      if (e < 0 || e >= length) return no(k, "%s has no element %d", name_of(k, m->array), e);
      if (!visit(k, &k->memory[m->array][e], m->array, e)) return false;
    }
  return true;
}

static bool may_read(checker *k, element *e, int array, int at) {
  if (!e->written) return no(k, "%s: element %d is read before anything wrote it", name_of(k, array), at);
  if (e->stored == k->fences)
    return no(k, "%s: element %d is read without a fence after the mvout that writes it", name_of(k, array), at);
  return true;
}

static bool loads(checker *k, element *e, int array, int at) {
  if (!may_read(k, e, array, at)) return false;
  e->loaded = k->fences;
  return true;
}

static bool may_write(checker *k, element *e, int array, int at) {
  const gm_chain_array *a = &k->chain->array[array];
  if (a->constant || (at >= a->given_at && at < a->given_at + a->given))
    return no(k, "%s: element %d is an input", a->name, at);
  if (e->loaded == k->fences)
    return no(k, "%s: element %d is written without a fence after the mvin that reads it", a->name, at);
  return true;
}

static bool stores(checker *k, element *e, int array, int at) {
  if (!may_write(k, e, array, at)) return false;
  if (e->stored == k->fences)
    return no(k, "%s: element %d is written by two mvouts without a fence between", name_of(k, array), at);
  e->written = true;
  e->stored = k->fences;
  return true;
}

static bool core_writes(checker *k, element *e, int array, int at) {
  if (!may_write(k, e, array, at)) return false;
  if (e->stored == k->fences)
    return no(k, "%s: element %d is written by the core without a fence after an mvout to it", name_of(k, array), at);
  e->written = true;
  return true;
}

/* ---- rows ---- */

static bool in_range(checker *k, const gm_rows *r, int at, int rows) {
  int all = r->space == GM_SPAD ? k->spad_rows : k->acc_rows;
  if (at < 0 || at + rows > all)
    return no(k, "row %d is outside the %s", at, r->space == GM_SPAD ? "scratchpad" : "accumulator");
  if (r->rows < 1 || r->cols < 1) return no(k, "an operand without rows or columns");
  return true;
}

static bool write_rows(checker *k, const gm_rows *r, int at, int rows, int cols) {
  if (!in_range(k, r, at, rows)) return false;
  int *written = r->space == GM_SPAD ? k->spad : k->acc;
  for (int i = 0; i < rows; i++) {
    if (r->space == GM_ACC_ADD && written[at + i] < cols)
      return no(k, "adds to row %d of the accumulator, which was never written", at + i);
    if (written[at + i] < cols) written[at + i] = cols;
    if (r->space == GM_SPAD) k->result[at + i] = NEVER;
  }
  return true;
}

static bool read_rows(checker *k, const gm_rows *r, int at, int rows, int cols) {
  if (!in_range(k, r, at, rows)) return false;
  const int *written = r->space == GM_SPAD ? k->spad : k->acc;
  for (int i = 0; i < rows; i++)
    if (written[at + i] < cols)
      return no(k, "reads %d columns of row %d of the %s, of which %d were written", cols, at + i,
                r->space == GM_SPAD ? "scratchpad" : "accumulator", written[at + i]);
  return true;
}

/* ---- products ---- */

/* Is the result of product p, in this row, in the scratchpad when the current product reads its operands? A sum
 * needs a later product that pushes it out. */
static bool is_over(const checker *k, int p, bool summed) { return p <= k->over || k->pushed >= p + summed; }

/* Counts a product, and the earlier products whose sums are pushed out by now. */
static void count_product(checker *k, bool pushes) {
  k->product++;
  k->pushes[k->product % RING] = pushes;
  int before = k->product - k->away;
  if (before > 0 && k->pushes[before % RING]) k->pushed = before;
}

/* A compute's or preload's operand: protected by its first row, or already complete. */
static bool read_operand(checker *k, const gm_rows *r, const int *index) {
  if (r->space == GM_NOWHERE) return true;
  if (r->space != GM_SPAD) return no(k, "a compute cannot read the accumulator");
  int at = gm_affine_value(&r->at, index), rows = r->transposed ? r->cols : r->rows;
  if (!read_rows(k, r, at, rows, r->transposed ? r->rows : r->cols)) return false;
  for (int i = 0; i < rows; i++) {
    int p = k->result[at + i];
    if (p != NEVER && !is_over(k, p, k->summed[at + i]))
      return no(k,
                "row %d of the scratchpad is read before the array may have written it; the machine waits only where "
                "operand and result have the same first rows",
                at + i);
  }
  return true;
}

/* The preload waits for the youngest result that begins where one of the operands begins. */
static void wait_for_same_rows(checker *k, const gm_rows *r, const int *index) {
  if (r->space != GM_SPAD) return;
  int at = gm_affine_value(&r->at, index);
  if (at < 0 || at >= k->spad_rows) return; /* read_operand says so */
  int p = k->result[at];
  if (p != NEVER && p > k->over && k->begin[at] == at) k->over = p;
}

static bool product(checker *k, const gm_chain_command *x, const int *index) {
  if (!k->has_before) return no(k, "a compute without a preload");
  k->has_before = false;
  const gm_chain_command *b = &k->before;
  const gm_config *c = k->config;
  if (c->dataflow == GM_WEIGHT_STATIONARY_ONLY && x->output_stationary)
    return no(k, "an output-stationary compute, which this machine does not have");
  if (b->b.space == GM_SPAD && !c->ex_write_to_spad)
    return no(k, "a result in the scratchpad, to which this machine cannot write results");
  if (!x->output_stationary && x->b.space != GM_NOWHERE && !c->ex_adds_d)
    return no(k, "a compute with D, which this machine does not add");
  if (x->output_stationary && x->a_transposed && x->accumulated)
    return no(k, "accumulation in the array over several computes with A transposed; a pause would add to it");
  if (b->output_stationary != x->output_stationary || b->a_transposed != x->a_transposed)
    return no(k, "a compute whose dataflow differs from its preload's");
  if (x->accumulated && b->a.space != GM_NOWHERE)
    return no(k, "a compute that accumulates on the array after a preload of another operand");
  if (!x->accumulated && !x->output_stationary && b->a.space == GM_NOWHERE) return no(k, "a compute without weights");
  if (x->accumulated && !k->holds) return no(k, "a compute that accumulates, but the array holds no partial sums");
  k->holds = !x->output_stationary || b->b.space == GM_NOWHERE; /* a sum that leaves the array is complete */
  count_product(k, !x->output_stationary || !x->accumulated);
  wait_for_same_rows(k, &b->a, k->before_index);
  wait_for_same_rows(k, &x->a, index);
  wait_for_same_rows(k, &x->b, index);
  if (!read_operand(k, &b->a, k->before_index) || !read_operand(k, &x->a, index) || !read_operand(k, &x->b, index))
    return false;
  if (b->b.space == GM_NOWHERE) return true;
  int at = gm_affine_value(&b->b.at, k->before_index);
  if (!write_rows(k, &b->b, at, b->b.rows, b->b.cols)) return false;
  for (int i = 0; b->b.space == GM_SPAD && i < b->b.rows; i++) {
    k->result[at + i] = k->product;
    k->begin[at + i] = at;
    k->summed[at + i] = x->output_stationary;
  }
  return true;
}

/* ---- configuration ---- */

static bool set_execute(checker *k, const gm_chain_command *x) {
  if (k->has_before) return no(k, "a config_ex between a preload and its compute");
  k->over = k->product;
  k->configured = true;
  k->output_stationary = x->output_stationary;
  k->a_transposed = x->a_transposed;
  k->holds = false;
  return true;
}

static void set_move(checker *k, const gm_chain_command *x) {
  if (x->kind == GM_SET_ST) {
    k->st.known = true;
    k->st.stride = x->stride;
  } else if (x->id >= 0 && x->id < 3) {
    k->ld[x->id].known = true;
    k->ld[x->id].stride = x->stride;
    k->ld[x->id].block_stride = x->block_stride;
    k->ld[x->id].scale = x->scale;
  }
}

static bool is_configured(checker *k, const gm_chain_command *x) {
  bool right;
  if (x->kind == GM_LOAD)
    right = x->id >= 0 && x->id < 3 && k->ld[x->id].known && k->ld[x->id].stride == x->stride &&
            k->ld[x->id].block_stride == x->block_stride && k->ld[x->id].scale == x->scale;
  else if (x->kind == GM_STORE)
    right = k->st.known && k->st.stride == x->stride;
  else
    right = k->configured && k->output_stationary == x->output_stationary && k->a_transposed == x->a_transposed;
  return right || no(k, "%s under another configuration than expected",
                     x->kind == GM_LOAD    ? "an mvin"
                     : x->kind == GM_STORE ? "an mvout"
                                           : "a preload");
}

/* ---- the walk ---- */

static bool load(checker *k, const gm_chain_command *x, const int *index) {
  int at = gm_affine_value(&x->a.at, index);
  if (!is_configured(k, x) || !each_element(k, &x->memory, index, loads)) return false;
  for (int c = 0; c < x->a.cols; c += k->dim) {
    int cols = x->a.cols - c < k->dim ? x->a.cols - c : k->dim;
    if (!write_rows(k, &x->a, at + c / k->dim * x->block_stride, x->a.rows, cols)) return false;
  }
  return true;
}

static bool step(void *context, const gm_chain_command *x, int position, const int *index) {
  checker *k = context;
  (void)position;
  switch (x->kind) {
  case GM_FENCE:
    if (k->has_before) return no(k, "a fence between a preload and its compute");
    k->fences++;
    k->over = k->product;
    return true;
  case GM_SET_EX: return set_execute(k, x);
  case GM_SET_LD:
  case GM_SET_ST:
    if (x->kind == GM_SET_LD && x->scale != 1 && !k->config->has_mvin_scale)
      return no(k, "a scaled load, which this machine does not have");
    set_move(k, x);
    return true;
  case GM_LOAD: return load(k, x, index);
  case GM_STORE:
    return is_configured(k, x) && read_rows(k, &x->a, gm_affine_value(&x->a.at, index), x->a.rows, x->a.cols) &&
           each_element(k, &x->memory, index, stores);
  case GM_BEFORE:
    if (k->has_before) return no(k, "a preload follows a preload");
    if (!is_configured(k, x)) return false;
    k->before = *x;
    memcpy(k->before_index, index, sizeof k->before_index);
    k->has_before = true;
    return true;
  case GM_MULTIPLY: return product(k, x, index);
  case GM_NEGATE: return each_element(k, &x->x, index, may_read) && each_element(k, &x->memory, index, core_writes);
  case GM_ADD:
    return each_element(k, &x->x, index, may_read) && each_element(k, &x->y, index, may_read) &&
           each_element(k, &x->memory, index, core_writes);
  default: return true;
  }
}

/* Number of products that pass until a result is in the scratchpad, each with at least LEAST_ROWS rows: the way
 * through the array (gm_execute_init), the rows themselves, the read before, and a margin. */
static int products_in_flight(const gm_config *c) {
  return (gm_chain_through(c) + c->dim + c->spad_read_delay + 8 + LEAST_ROWS - 1) / LEAST_ROWS + 1;
}

static bool prepare(const gm_config *config, const gm_chain *c, checker *k) {
  *k = (checker){.config = config, .chain = c, .dim = config->dim, .away = products_in_flight(config), .over = 0};
  k->spad_rows = gm_spad_rows(config), k->acc_rows = gm_acc_rows(config);
  k->spad = calloc((size_t)k->spad_rows, sizeof *k->spad);
  k->acc = calloc((size_t)k->acc_rows, sizeof *k->acc);
  k->result = malloc((size_t)k->spad_rows * sizeof *k->result);
  k->begin = calloc((size_t)k->spad_rows, sizeof *k->begin);
  k->summed = calloc((size_t)k->spad_rows, sizeof *k->summed);
  k->pushes = calloc(RING, sizeof *k->pushes);
  bool ok = k->spad && k->acc && k->result && k->begin && k->summed && k->pushes && k->away < RING;
  for (int i = 0; ok && i < k->spad_rows; i++) k->result[i] = NEVER;
  for (int i = 0; i < c->n_arrays; i++) {
    const gm_chain_array *a = &c->array[i];
    k->memory[i] = malloc((size_t)a->length * sizeof *k->memory[i]);
    ok = ok && k->memory[i];
    for (int e = 0; ok && e < a->length; e++)
      k->memory[i][e] = (element){a->constant || (e >= a->given_at && e < a->given_at + a->given), NEVER, NEVER};
  }
  return ok;
}

tw_status gm_chain_check(const gm_config *config, const gm_chain *c, tw_error *error) {
  checker k;
  tw_status status = TW_OK;
  if (!prepare(config, c, &k))
    status = tw_no_memory(error, NULL);
  else if (!gm_chain_walk(c, step, &k))
    status = tw_fail(error, TW_USAGE, "%s", k.why);
  else if (k.has_before)
    status = tw_fail(error, TW_USAGE, "a preload without a compute");
  free(k.spad);
  free(k.acc);
  free(k.result);
  free(k.begin);
  free(k.summed);
  free(k.pushes);
  for (int i = 0; i < GM_CHAIN_ARRAYS; i++) free(k.memory[i]);
  return status;
}
