/* timed.c - see timed.h.
 *
 * Every launch keeps pieces of its outputs, and one launch keeps all outputs. The pieces and this launch are chosen
 * here at random, in another process than the kernel's, so a kernel that skips work fails in some launches. Pieces
 * are compared with exact values within the bounds of the op: a launch has the same tolerance as any run.
 *
 * Sets of inputs repeat, so a kernel that stores results could return them later. Therefore A of a gemm is rotated by
 * another amount each time: it begins at another element and wraps around, at least along k, and no element of C is
 * the sum of the same products twice. Only the lines that a piece needs are rotated here. */
#include "target/cuda/timed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/strings.h"
#include "op/exact.h"
#include "op/gemm_problem.h"

static const double BUDGET = 1e9; /* multiply-adds for all pieces */
enum { SIDE_BY_SIDE = 8, GROUP = 64 /* elements of k: a whole number of blocks for every type with scales */ };

static size_t size_of(tw_type t) { return (size_t)tw_type_bits(t) / 8; }

/* ---- turning ---- */

/* A is rotated by multiples of `step` elements; 0: not at all. Types with scales keep their blocks. */
static int64_t turning_step(const cuda_inputs *x, tw_gemm *g) {
  if (strcmp(x->problem.op->name, "gemm") != 0) return 0;
  *g = tw_gemm_of(&x->problem);
  const bool in_groups = g->k % GROUP == 0 && g->k > GROUP, blocks = x->operand[0].type != g->a;
  const int64_t columns = g->a_transposed ? g->m : g->k;
  if (g->lda != columns || (blocks && !in_groups)) return 0;
  return (g->a_transposed ? columns : 1) * (in_groups ? GROUP : 1);
}

static uint64_t draw_turn(const cuda_inputs *x, tw_random *r) {
  tw_gemm g;
  const int64_t step = turning_step(x, &g), all = step ? g.m * g.k / step : 0;
  if (all < 2) return 0;
  /* moves the elements of a row back to their original places */
  const int64_t round = g.a_transposed ? all : g.k / step;
  int64_t by = tw_random_between(r, 1, all - 1);
  if (by % round == 0 && round > 1) by += by + 1 < all ? 1 : -1;
  return (uint64_t)(by * step) * size_of(x->operand[0].type);
}

/* Copies the rotated elements of a row of op(A) to their places. */
static void turn_row(const tw_gemm *g, const char *from, size_t size, uint64_t turn, int64_t row, char *to) {
  const int64_t all = g->m * g->k, ahead = (int64_t)(turn / size), step = g->a_transposed ? g->m : 1;
  const int64_t end = g->a_transposed ? all : (row + 1) * g->k;
  for (int64_t at = g->a_transposed ? row : row * g->k; at < end; at += step) {
    const int64_t source = at + ahead < all ? at + ahead : at + ahead - all;
    memcpy(to + (size_t)at * size, from + (size_t)source * size, size);
  }
}

/* ---- choosing ---- */

/* The multiply-adds that the exact values of a piece take. */
static double cost_of(const cuda_inputs *x, size_t operand, int64_t columns) {
  double element, row;
  if (!x->problem.op->exact) return (double)columns;
  x->problem.op->exact_cost(&x->problem, operand, &element, &row);
  return fmin(element * (double)columns, row);
}

/* Every output has the same number of pieces, at least one. */
static void choose_pieces(const cuda_inputs *x, cuda_timed *t) {
  size_t output[TW_OPERANDS_MAX], n = 0;
  double cost = 0;
  for (size_t i = 0; i < x->n_operands; i++) {
    const tw_operand *o = &x->operand[i];
    if (!o->is_output || n == CUDA_PIECES) continue;
    output[n++] = i;
    cost += cost_of(x, i, SIDE_BY_SIDE);
  }
  const double affordable = BUDGET / ((double)t->command.n * cost);
  const uint32_t of_each = (uint32_t)fmax(1, fmin(affordable, n ? CUDA_PIECES / (double)n : 0));
  for (size_t i = 0; i < n; i++) {
    const tw_operand *o = &x->operand[output[i]];
    const int64_t columns = tw_operand_columns(o), step = o->stride[o->rank - 1];
    for (uint32_t j = 0; j < of_each; j++) {
      const uint32_t at = t->command.n_pieces++;
      t->operand[at] = output[i];
      t->columns[at] = step > 1 ? 1 : columns < SIDE_BY_SIDE ? columns : SIDE_BY_SIDE;
      t->command.piece[at].operand = (uint32_t)output[i];
      t->command.piece[at].bytes = (uint32_t)((size_t)t->columns[at] * size_of(o->type));
    }
  }
}

static uint64_t byte_of(const tw_operand *o, tw_place p) {
  return (uint64_t)(tw_operand_row_at(o, p.row) + p.column * o->stride[o->rank - 1]) * size_of(o->type);
}

void cuda_timed_draw(const cuda_inputs *x, tw_random *r, uint32_t n, cuda_timed *t) {
  memset(t, 0, sizeof *t);
  cuda_command *c = &t->command;
  c->work = CUDA_TIME;
  c->n = n;
  choose_pieces(x, t);
  t->fresh = n / 2 + (uint32_t)tw_random_below(r, n - n / 2);
  c->whole = (uint32_t)tw_random_below(r, n);
  for (uint32_t i = 0; i < n; i++) {
    c->set[i] = (uint8_t)tw_random_below(r, CUDA_INPUT_SETS - (i < t->fresh));
    if (i == t->fresh) c->set[i] = CUDA_INPUT_SETS - 1;
    c->turn[i] = draw_turn(x, r);
    for (uint32_t j = 0; j < c->n_pieces; j++) {
      const tw_operand *o = &x->operand[t->operand[j]];
      t->place[i][j] =
          (tw_place){.row = (int64_t)tw_random_below(r, (uint64_t)tw_operand_rows(o)),
                     .column = (int64_t)tw_random_below(r, (uint64_t)(tw_operand_columns(o) - t->columns[j] + 1))};
      c->at[i][j] = byte_of(o, t->place[i][j]);
    }
  }
}

/* ---- comparing ---- */

/* Memory of the size of A and of each output; only the parts in use are touched. */
typedef struct room {
  const cuda_inputs *x;
  tw_gemm g;
  bool turns;
  void *a, *output[TW_OPERANDS_MAX];
} room;

static void free_room(room *m) {
  free(m->a);
  for (size_t i = 0; i < TW_OPERANDS_MAX; i++) free(m->output[i]);
}

static bool make_room(const cuda_inputs *x, room *m) {
  *m = (room){.x = x};
  m->turns = turning_step(x, &m->g) > 0;
  bool made = !m->turns || (m->a = malloc(x->operand[0].bytes));
  for (size_t i = 0; made && i < x->n_operands; i++)
    if (x->operand[i].is_output) made = (m->output[i] = malloc(x->operand[i].bytes)) != NULL;
  return made;
}

static tw_status check_piece(room *m, const cuda_timed *t, uint32_t launch, uint32_t j, const char *bytes,
                             tw_mismatch *found, tw_error *error) {
  const cuda_inputs *x = m->x;
  const cuda_command *c = &t->command;
  const tw_case *data = &x->set[c->set[launch]];
  const size_t operand = t->operand[j];
  void *buffer[TW_OPERANDS_MAX];
  memcpy(buffer, data->buffer, sizeof buffer);
  tw_place place[SIDE_BY_SIDE] = {{0}};
  for (int64_t i = 0; i < t->columns[j]; i++)
    place[i] = (tw_place){t->place[launch][j].row, t->place[launch][j].column + i};
  memcpy((char *)m->output[operand] + c->at[launch][j], bytes, c->piece[j].bytes);
  if (c->turn[launch]) {
    turn_row(&m->g, data->buffer[0], size_of(x->operand[0].type), c->turn[launch], place[0].row, m->a);
    buffer[0] = m->a;
  }
  return tw_compare_places(&x->problem, buffer, &x->operand[operand], operand, (size_t)t->columns[j], place,
                           m->output[operand], 1, found, error);
}

/* For ops without exact values of single elements: compares the expected outputs, in which some elements are
 * replaced by the launch's. */
static tw_status check_in_place(room *m, const cuda_timed *t, uint32_t launch,
                                const char bytes[CUDA_PIECES][CUDA_PIECE_BYTES], tw_error *error) {
  const cuda_command *c = &t->command;
  const tw_case *data = &m->x->set[c->set[launch]];
  void *actual[TW_OPERANDS_MAX];
  for (size_t i = 0; i < m->x->n_operands; i++) {
    actual[i] = data->buffer[i];
    if (m->output[i]) actual[i] = memcpy(m->output[i], data->buffer[i], m->x->operand[i].bytes);
  }
  for (uint32_t j = 0; j < c->n_pieces; j++)
    memcpy((char *)m->output[t->operand[j]] + c->at[launch][j], bytes[j], c->piece[j].bytes);
  return m->x->problem.op->compare(&m->x->problem, data->buffer, actual, error);
}

/* The launches that one thread compares. */
typedef struct part {
  tw_status status;
  uint32_t launch; /* the first that is wrong */
  tw_error why;
} part;

typedef struct pieces_check {
  const cuda_inputs *x;
  const cuda_timed *t;
  const char (*pieces)[CUDA_PIECES][CUDA_PIECE_BYTES];
  uint32_t parts;
  part *of_part;
} pieces_check;

static tw_status check_launch(room *m, const pieces_check *p, uint32_t launch, tw_error *error) {
  const cuda_timed *t = p->t;
  if (!p->x->problem.op->exact) return check_in_place(m, t, launch, p->pieces[launch], error);
  tw_status status = TW_OK;
  for (uint32_t j = 0; status == TW_OK && j < t->command.n_pieces; j++) {
    tw_mismatch found = {0};
    status = check_piece(m, t, launch, j, p->pieces[launch][j], &found, error);
    if (status == TW_OK) status = tw_mismatch_status(&p->x->operand[t->operand[j]], &found, error);
  }
  return status;
}

static void check_part(void *context, size_t index) {
  const pieces_check *p = context;
  part *own = &p->of_part[index];
  room m;
  own->status = make_room(p->x, &m) ? TW_OK : tw_no_memory(&own->why, "the comparison");
  for (uint32_t i = (uint32_t)index; own->status == TW_OK && i < p->t->command.n; i += p->parts) {
    own->launch = i;
    own->status = check_launch(&m, p, i, &own->why);
  }
  free_room(&m);
}

tw_status cuda_timed_check(const cuda_inputs *x, const cuda_timed *t,
                           const char pieces[CUDA_TIMED_MAX][CUDA_PIECES][CUDA_PIECE_BYTES], int threads,
                           tw_error *error) {
  const uint32_t parts = threads > 1 ? (uint32_t)threads : 1;
  pieces_check p = {x, t, pieces, parts, tw_new(parts, sizeof *p.of_part)};
  if (!p.of_part) return tw_no_memory(error, "the comparison");
  for (uint32_t i = 0; i < parts; i++) /* until the part is done */
    p.of_part[i].status = tw_fail(&p.of_part[i].why, TW_INTERRUPTED, "interrupted while it is compared");
  tw_parallel_for(threads, parts, check_part, &p);
  const part *wrong = NULL;
  for (uint32_t i = 0; i < parts; i++)
    if (p.of_part[i].status != TW_OK && (!wrong || p.of_part[i].launch < wrong->launch)) wrong = &p.of_part[i];
  const tw_status status = wrong ? wrong->status : TW_OK;
  if (wrong) tw_fail(error, status, "in launch %u of %u: %.1500s", wrong->launch + 1, t->command.n, wrong->why.text);
  free(p.of_part);
  return status;
}

tw_status cuda_timed_check_whole(const cuda_inputs *x, const cuda_timed *t, void *const actual[],
                                 const tw_effort *effort, tw_coverage *coverage, tw_error *error) {
  const uint64_t turn = t->command.turn[t->command.whole];
  const size_t bytes = x->operand[0].bytes;
  const uint32_t set = t->command.set[t->command.whole];
  if (!turn) return cuda_inputs_check(x, set, x->set[set].buffer, actual, effort, coverage, error);
  void *buffer[TW_OPERANDS_MAX];
  memcpy(buffer, x->set[set].buffer, sizeof buffer);
  char *a = malloc(bytes);
  if (!a) return tw_no_memory(error, "the comparison");
  memcpy(a, (const char *)buffer[0] + turn, bytes - turn);
  memcpy(a + bytes - turn, buffer[0], turn);
  buffer[0] = a;
  const tw_status status = cuda_inputs_check(x, set, buffer, actual, effort, coverage, error);
  free(a);
  return status;
}
