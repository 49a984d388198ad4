/* back.c - the loop of attention's backward pass as assembly, in the order and the registers of back.h.
 * src/gpu/amd/loop.h defines its computation, tile_back.hpp the layout of shared memory. */
#include <stdio.h>
#include <stdlib.h>

#include "target/cdna/loop/back.h"

enum {
  LGKM_MOST = 15,
  VM_MOST = 63,
  BLOCK = 1152 /* bytes from a block of LDS to the next */
};

/* Scalar registers. */
enum {
  Q_MATRIX = 36,
  G_MATRIX = 40,
  LINES = 44,
  DQ_MATRIX = 48,
  STEPS = 52,
  HEAD_STEPS,
  Q_DOWN,
  Q_FULL,
  Q_BACK = 56,
  LINES_BACK = 58,
  INNER,
  DQ_BACK,
  COPIED,
  FACTOR = 62,
  HIDDEN = 64,
  HIDDEN_BACK,
  OWN, /* from here on, scalar registers of the loop itself */
  COUNT = OWN,
  LEFT, /* remaining bytes of the head, for copies */
  HAVE,
  TO_COPY,
  ENDS, /* a head ends in two, one or no steps, or ended one step before the data that are copied next */
  OLD_M0 = ENDS + 3,
  NEXT_HAVE,
  SCRATCH = (NEXT_HAVE + 2) & ~1,
  DOWN = SCRATCH + 2, /* and above */
  SCALARS = DOWN + 2
};

/* Vector registers that the compiler provides: addresses. */
enum {
  Q_LANE,
  LINES_LANE,
  DQ_LANE,
  ROWS_Q,
  ROWS_K,
  DOWN_Q,
  DOWN_K = DOWN_Q + 2,
  SLOPES = DOWN_K + 2,
  SLOPES_TO = SLOPES + 2,
  KEY = SLOPES_TO + 2,
  HIDES,
  GIVEN
};

typedef struct writer {
  const back_order *o;
  tw_text *t;
  /* operations issued, operations known to have ended; relative to the body's first */
  int lds, memory, lds_known, memory_known;
} writer;

#define line(w, ...) cdna_loop_line((w)->t, __VA_ARGS__)

static int at(const writer *w, int value) { return w->o->value[value].at; }

/* ---- waits ---- */

/* Waits until the last op of that value, in the step that begins in `period`, is done. */
static void wait_for(writer *w, int value, int period) {
  int lds = -1000000, memory = -1000000;
  for (int i = 0; i < w->o->n_ops; i++) {
    const back_op *o = &w->o->op[i];
    if (o->value != value || o->what == ADD_DQ) continue;
    const int p = period + back_later(w->o, o->slot);
    if (o->kind == LDS && p * w->o->lds_each + w->o->number[i] + 1 > lds)
      lds = p * w->o->lds_each + w->o->number[i] + 1;
    if (o->kind == MEMORY && p * w->o->memory_each + w->o->number[i] + 1 > memory)
      memory = p * w->o->memory_each + w->o->number[i] + 1;
  }
  if (lds > w->lds_known) {
    const int left = w->lds - lds;
    line(w, "s_waitcnt lgkmcnt(%d)", left < LGKM_MOST ? left : LGKM_MOST);
    w->lds_known = lds;
  }
  if (memory > w->memory_known) {
    const int left = w->memory - memory;
    line(w, "s_waitcnt vmcnt(%d)", left < VM_MOST ? left : VM_MOST);
    w->memory_known = memory;
  }
}

/* ---- instructions ---- */

static int tile_bytes(const writer *w) { return w->o->deep * BLOCK; }
static const char *type_of(const writer *w) { return w->o->of->type == TW_F16 ? "f16" : "bf16"; }

static void write_read(writer *w, const back_op *o, int stage) {
  const int to = at(w, o->value), half = o->b % 2, b = o->b / 2, of_stage = stage * 2 * tile_bytes(w);
  const int gradients = tile_bytes(w), of_half = half * 256;
  switch (o->what) {
  case READ_Q: line(w, "ds_read_b128 v[%d:%d], v%d offset:%d", to, to + 3, ROWS_Q, of_stage + o->a * BLOCK); break;
  case READ_G:
    line(w, "ds_read_b128 v[%d:%d], v%d offset:%d", to, to + 3, ROWS_Q, of_stage + gradients + o->a * BLOCK);
    break;
  case READ_K:
    line(w, "ds_read_b128 v[%d:%d], v%d offset:%d", to, to + 3, ROWS_K, b * tile_bytes(w) + o->a * BLOCK);
    break;
  case READ_G_DOWN:
  case READ_Q_DOWN:
    line(w, "ds_read_b64_tr_b16 v[%d:%d], v%d offset:%d", to + 2 * half, to + 2 * half + 1, DOWN_Q + o->a,
         of_stage + (o->what == READ_G_DOWN ? gradients : 0) + b * 2 * BLOCK + o->a * 512 + of_half);
    break;
  case READ_K_DOWN:
    line(w, "ds_read_b64_tr_b16 v[%d:%d], v%d offset:%d", to + 2 * half, to + 2 * half + 1, DOWN_K + o->a % 2,
         o->a / 2 * tile_bytes(w) + o->a % 2 * 512 + of_half);
    break;
  default: /* READ_SLOPES */
    line(w, "ds_read_b64_tr_b16 v[%d:%d], v%d offset:%d", to + 2 * half, to + 2 * half + 1, SLOPES + half,
         stage * w->o->of->groups * w->o->tiles * 2 * BLOCK + o->a / 2 * 2 * BLOCK + o->a % 2 * 512 + of_half);
  }
}

static void write_copy(writer *w, const back_op *o, int stage) {
  const int gradients = o->what == COPY_G, matrix = gradients ? G_MATRIX : Q_MATRIX;
  line(w, "s_add_u32 m0, s%d, %d", COPIED, stage * 2 * tile_bytes(w) + gradients * tile_bytes(w) + o->a * BLOCK);
  line(w, "s_nop 0");
  line(w, "buffer_load_dwordx4 v%d, s[%d:%d], %d offen lds", Q_LANE, matrix, matrix + 3, o->a * 32);
}

/* Advances to the queries of the next step, in the same head or the next one. After the last queries, no bytes are
 * left. */
static void write_copy_next(writer *w, int part) {
  switch (part) {
  case 0:
    line(w, "s_mov_b32 s%d, s%d", ENDS + 2, ENDS + 1);
    line(w, "s_mov_b32 s%d, s%d", ENDS + 1, ENDS);
    line(w, "s_sub_u32 s%d, s%d, 1", LEFT, LEFT);
    line(w, "s_sub_u32 s%d, s%d, s%d", NEXT_HAVE, HAVE, Q_DOWN);
    line(w, "s_cmp_eq_u32 s%d, 0", LEFT);
    line(w, "s_cselect_b32 s%d, 1, 0", ENDS);
    break;
  case 1:
    line(w, "s_cmp_eq_u32 s%d, 0", LEFT);
    line(w, "s_cselect_b32 s%d, s%d, s%d", LEFT, HEAD_STEPS, LEFT);
    line(w, "s_cselect_b32 s%d, s%d, s%d", HAVE, Q_FULL, NEXT_HAVE);
    line(w, "s_cselect_b32 s%d, s%d, s%d", DOWN, Q_BACK, Q_DOWN);
    line(w, "s_cselect_b32 s%d, s%d, %d", DOWN + 1, Q_BACK + 1, w->o->of->causal ? -1 : 0);
    line(w, "s_sub_u32 s%d, s%d, 1", TO_COPY, TO_COPY);
    break;
  default:
    for (int matrix = Q_MATRIX; matrix <= G_MATRIX; matrix += 4) {
      line(w, "s_add_u32 s%d, s%d, s%d", matrix, matrix, DOWN);
      line(w, "s_addc_u32 s%d, s%d, s%d", matrix + 1, matrix + 1, DOWN + 1);
    }
    line(w, "s_cmp_gt_i32 s%d, 0", TO_COPY);
    line(w, "s_cselect_b32 s%d, s%d, 0", Q_MATRIX + 2, HAVE);
    line(w, "s_cselect_b32 s%d, s%d, 0", G_MATRIX + 2, HAVE);
  }
}

static void write_next(writer *w, int matrix, int ends, int back, int bytes) {
  line(w, "s_cmp_lg_u32 s%d, 0", ends);
  line(w, "s_cselect_b32 s%d, s%d, %d", SCRATCH, back, w->o->of->causal ? -bytes : bytes);
  line(w, "s_ashr_i32 s%d, s%d, 31", SCRATCH + 1, SCRATCH);
  line(w, "s_add_u32 s%d, s%d, s%d", matrix, matrix, SCRATCH);
  line(w, "s_addc_u32 s%d, s%d, s%d", matrix + 1, matrix + 1, SCRATCH + 1);
}

static void write_op(writer *w, const back_op *o, int period) {
  const int begun = period - back_later(w->o, o->slot), stage = ((begun % 2) + 2) % 2, t = o->a;
  switch (o->what) {
  case BARRIER_HERE: {
    /* copies of the next step: all memory operations that were issued before the next copies of this step */
    int copies = -1000000;
    for (int i = 0; i < w->o->n_ops; i++)
      if (w->o->op[i].what == COPY_Q || w->o->op[i].what == COPY_G) {
        const int number = (period - 1 + back_later(w->o, w->o->op[i].slot)) * w->o->memory_each + w->o->number[i] + 1;
        if (number > copies) copies = number;
      }
    if (copies > w->memory_known) w->memory_known = copies;
    /* LDS accesses: reads of this step's queries, and writes of its dS */
    int lds = -1000000;
    for (int i = 0; i < w->o->n_ops; i++) {
      const back_action x = w->o->op[i].what;
      if (x != READ_Q && x != READ_G && x != READ_G_DOWN && x != READ_Q_DOWN && x != WRITE_SLOPES) continue;
      const int number = (period + back_later(w->o, w->o->op[i].slot)) * w->o->lds_each + w->o->number[i] + 1;
      if (number > lds) lds = number;
    }
    line(w, "s_waitcnt vmcnt(%d) lgkmcnt(%d)", w->memory - copies, w->lds - lds < LGKM_MOST ? w->lds - lds : LGKM_MOST);
    line(w, "s_barrier");
    if (lds > w->lds_known) w->lds_known = lds;
    break;
  }
  case HIDE:
    line(w, "s_cmp_gt_i32 s%d, %d", HIDDEN, w->o->of->causal ? 32 - 32 * w->o->tiles : 0);
    line(w, "s_cbranch_scc1 tw_hide%d_%%=", period);
    line(w, "tw_seen%d_%%=:", period);
    break;
  case HIDE_NEXT:
    if (w->o->of->partial) break;
    line(w, "s_add_i32 s%d, s%d, 32", SCRATCH, HIDDEN);
    line(w, "s_cmp_lg_u32 s%d, 0", ENDS + 1);
    line(w, "s_cselect_b32 s%d, s%d, s%d", HIDDEN, HIDDEN_BACK, SCRATCH);
    break;
  case SCALE: {
    const int s = at(w, w->o->scores[t]) + 2 * o->b, l = at(w, w->o->line[o->b / 2]) + o->b % 2 * 2;
    wait_for(w, w->o->line[o->b / 2], begun - 1);
    line(w, "v_pk_fma_f32 v[%d:%d], v[%d:%d], s[%d:%d], v[%d:%d] neg_lo:[0,0,1] neg_hi:[0,0,1]", s, s + 1, s, s + 1,
         FACTOR, FACTOR + 1, l, l + 1);
    break;
  }
  case EXPONENTIAL: {
    const int s = at(w, w->o->scores[t]) + o->b;
    line(w, "v_exp_f32_e32 v%d, v%d", s, s);
    break;
  }
  case ROUND_WEIGHTS:
  case ROUND_SLOPES: {
    const int from = at(w, o->what == ROUND_WEIGHTS ? w->o->scores[t] : w->o->changes[t]) + 2 * o->b;
    line(w, "v_cvt_pk_%s_f32 v%d, v%d, v%d", type_of(w), at(w, o->value) + o->b % 4, from, from + 1);
    break;
  }
  case SLOPE: {
    const int c = at(w, w->o->changes[t]) + 2 * o->b, s = at(w, w->o->scores[t]) + 2 * o->b;
    line(w, "v_pk_mul_f32 v[%d:%d], v[%d:%d], v[%d:%d]", c, c + 1, c, c + 1, s, s + 1);
    break;
  }
  case WRITE_SLOPES: {
    const int from = at(w, w->o->slopes[t][o->b / 2]) + o->b % 2 * 2;
    line(w, "ds_write_b64 v%d, v[%d:%d] offset:%d", SLOPES_TO + o->b % 2, from, from + 1,
         stage * w->o->of->groups * w->o->tiles * 2 * BLOCK + (t * 2 + o->b / 2) * BLOCK);
    break;
  }
  case COPY_Q:
  case COPY_G: write_copy(w, o, stage); break;
  case COPY_NEXT: write_copy_next(w, o->a); break;
  case LOAD_LINE:
  case LOAD_INNER: {
    const int to = at(w, o->value) + (o->what == LOAD_INNER ? 4 * o->a : 0);
    char from[16] = "0";
    if (o->what == LOAD_INNER) snprintf(from, sizeof from, "s%d", INNER);
    line(w, "buffer_load_dwordx4 v[%d:%d], v%d, s[%d:%d], %s offen offset:%d", to, to + 3, LINES_LANE, LINES, LINES + 3,
         from, 32 * o->a);
    break;
  }
  case LINES_NEXT: write_next(w, LINES, ENDS, LINES_BACK, 128); break;
  case ADD_DQ:
    line(w, "buffer_atomic_add_f32 v%d, v%d, s[%d:%d], 0 offen offset:%d", at(w, w->o->dq) + o->a, DQ_LANE, DQ_MATRIX,
         DQ_MATRIX + 3, 256 * o->a);
    break;
  case DQ_NEXT:
    write_next(w, DQ_MATRIX, ENDS + 2, DQ_BACK, 128 * w->o->of->d);
    line(w, "s_movk_i32 s%d, %d", DQ_MATRIX + 2, 128 * w->o->of->d);
    break;
  default: write_read(w, o, stage);
  }
  w->lds += o->kind == LDS;
  w->memory += o->kind == MEMORY;
}

static void multiply(writer *w, char kind, int sums, int first, int second, int begin, int begin_value) {
  char from[24];
  if (begin)
    snprintf(from, sizeof from, begin_value == BACK_NOTHING ? "0" : "v[%d:%d]", begin_value,
             begin_value + BACK_SUMS - 1);
  else
    snprintf(from, sizeof from, "%c[%d:%d]", kind, sums, sums + BACK_SUMS - 1);
  line(w, "v_mfma_f32_32x32x16_%s %c[%d:%d], v[%d:%d], v[%d:%d], %s", type_of(w), kind, sums, sums + BACK_SUMS - 1,
       first, first + 3, second, second + 3, from);
}

/* Writes matrix instruction i of the period. */
static void write_product(writer *w, int i, int period) {
  int in;
  const back_which p = cdna_back_product(w->o, i, &in);
  const int t = in % w->o->tiles, d = in / w->o->tiles, depth = d / w->o->wide, col = d % w->o->wide;
  switch (p) {
  case OF_S:
    wait_for(w, w->o->q_rows[d], period);
    wait_for(w, w->o->k_rows[t][d], period);
    multiply(w, 'v', at(w, w->o->scores[t]), at(w, w->o->q_rows[d]), at(w, w->o->k_rows[t][d]), d == 0, BACK_NOTHING);
    break;
  case OF_DP:
    wait_for(w, w->o->g_rows[d], period);
    if (d == 0) wait_for(w, w->o->inner, period - 1);
    multiply(w, 'v', at(w, w->o->changes[t]), at(w, w->o->g_rows[d]), w->o->v + (t * w->o->deep + d) * BACK_FRAGMENT,
             d == 0, at(w, w->o->inner));
    break;
  case OF_DQ:
    wait_for(w, w->o->k_down[in], period - 1);
    wait_for(w, w->o->slopes_read[in], period - 1);
    multiply(w, 'v', at(w, w->o->dq), at(w, w->o->k_down[in]), at(w, w->o->slopes_read[in]), in == 0, BACK_NOTHING);
    break;
  default: {
    const bool of_v = p == OF_V;
    const int fragment = of_v ? w->o->g_down[depth][col] : w->o->q_down[depth][col];
    wait_for(w, fragment, period);
    multiply(w, 'a', ((of_v ? w->o->tiles * w->o->wide : 0) + t * w->o->wide + col) * BACK_SUMS, at(w, fragment),
             at(w, of_v ? w->o->weights[t][depth] : w->o->slopes[t][depth]), false, BACK_NOTHING);
  }
  }
}

/* ---- parts ---- */

static void write_before(writer *w) {
  line(w, "s_waitcnt vmcnt(0) lgkmcnt(0)");
  line(w, "s_mov_b32 s%d, m0", OLD_M0);
  line(w, "s_add_u32 s%d, s%d, 1", COUNT, STEPS);
  line(w, "s_mov_b32 s%d, s%d", FACTOR + 1, FACTOR);
  line(w, "s_mov_b32 s%d, s%d", TO_COPY, STEPS);
  line(w, "s_mov_b32 s%d, s%d", LEFT, HEAD_STEPS);
  line(w, "s_mov_b32 s%d, s%d", HAVE, Q_FULL);
  for (int i = 0; i < 3; i++) line(w, "s_mov_b32 s%d, 0", ENDS + i);
  /* queries of the first step; for the second step, operations that are due later are in the body, as in every step */
  for (int stage = 0; stage < 2; stage++) {
    for (int i = 0; i < w->o->n_ops; i++) {
      const back_op *o = &w->o->op[i];
      if (stage == 1 && o->slot >= w->o->period) continue;
      if (o->what == COPY_Q || o->what == COPY_G) write_copy(w, o, stage);
      if (o->what == COPY_NEXT) write_copy_next(w, o->a);
    }
    if (stage == 1) break;
    for (int i = 0; i < w->o->n_ops; i++)
      if (w->o->op[i].what == LOAD_LINE || w->o->op[i].what == LOAD_INNER) write_op(w, &w->o->op[i], 0);
    write_next(w, LINES, ENDS, LINES_BACK, 128);
  }
  line(w, ".set tw_i, 0");
  line(w, ".rept %d", 2 * w->o->tiles * w->o->wide * BACK_SUMS);
  line(w, "v_accvgpr_write_b32 a[tw_i], 0");
  line(w, ".set tw_i, tw_i + 1");
  line(w, ".endr");
  line(w, "s_waitcnt vmcnt(0)");
  line(w, "s_barrier");
}

/* Operations that the steps in flight had issued before this period. */
static void write_reads_before(writer *w) {
  for (int i = 0; i < w->o->n_ops; i++) {
    const back_op *o = &w->o->op[w->o->in_turn[i]];
    if (o->kind == LDS && o->slot < 0) write_read(w, o, 0);
  }
  line(w, "s_waitcnt lgkmcnt(0)"); /* fewer operations than in the loop follow them */
}

static void write_body(writer *w) {
  line(w, "tw_loop%%=:");
  w->lds_known = w->memory_known = -1000000; /* the loop is entered from two places */
  for (int period = 0; period < 2; period++) {
    int next = 0;
    w->lds = period * w->o->lds_each;
    w->memory = period * w->o->memory_each;
    for (int i = 0; i < w->o->period; i++) {
      if (i == 3 * w->o->n) { /* dQ of the last step is complete */
        line(w, "s_sub_u32 s%d, s%d, 1", COUNT, COUNT);
        line(w, "s_cmp_eq_u32 s%d, 0", COUNT);
        line(w, "s_cbranch_scc1 tw_last%d_%%=", period);
      }
      write_product(w, i, period);
      for (; next < w->o->n_ops && back_slot(w->o, w->o->op[w->o->in_turn[next]].slot) == i; next++)
        write_op(w, &w->o->op[w->o->in_turn[next]], period);
    }
  }
  line(w, "s_branch tw_loop%%=");
}

/* Masks scores of keys that do not exist: all scores of a lane. */
static void write_absent(writer *w) {
  for (int period = 0; w->o->of->partial && period < 2; period++) {
    line(w, "tw_hide%d_%%=:", period);
    line(w, "s_nop 15");
    line(w, "s_sub_u32 s%d, s%d, %d", SCRATCH, HIDDEN, 32 * w->o->tiles);
    line(w, "v_lshrrev_b32_e32 v%d, 2, v%d", HIDES, LINES_LANE);
    line(w, "v_add3_u32 v%d, s%d, v%d, v%d", HIDES, SCRATCH, KEY, HIDES);
    line(w, "v_mov_b32_e32 v%d, 0xff800000", HIDES + 1);
    for (int t = 0; t < w->o->tiles; t++) {
      line(w, "v_cmp_le_i32_e32 vcc, 0, v%d", HIDES);
      line(w, "s_nop 1");
      for (int x = 0; x < BACK_SUMS; x++) {
        const int s = at(w, w->o->scores[t]) + x;
        line(w, "v_cndmask_b32_e32 v%d, v%d, v%d, vcc", s, s, HIDES + 1);
      }
      line(w, "v_add_u32_e32 v%d, 32, v%d", HIDES, HIDES);
    }
    line(w, "s_branch tw_seen%d_%%=", period);
  }
}

/* Masks scores of queries that do not see the key. This code is out of the usual path. */
static void write_hides(writer *w) {
  for (int period = 0; w->o->of->causal && period < 2; period++) {
    line(w, "tw_hide%d_%%=:", period);
    line(w, "s_nop 15");
    line(w, "s_add_u32 s%d, s%d, -31", SCRATCH, HIDDEN);
    line(w, "v_add_u32_e32 v%d, s%d, v%d", HIDES, SCRATCH, KEY);
    line(w, "v_mov_b32_e32 v%d, 0xff800000", HIDES + 1);
    for (int t = 0; t < w->o->tiles; t++) {
      for (int x = 0; x < BACK_SUMS;
           x += 2) { /* two alternating masks, because a mask can be read one wait state after its comparison */
        const int s = at(w, w->o->scores[t]) + x;
        line(w, "v_cmp_lt_i32_e32 vcc, %d, v%d", x / 4 * 8 + x % 4, HIDES);
        line(w, "v_cmp_lt_i32_e64 s[%d:%d], %d, v%d", SCRATCH, SCRATCH + 1, x / 4 * 8 + x % 4 + 1, HIDES);
        line(w, "v_cndmask_b32_e32 v%d, v%d, v%d, vcc", s, s, HIDES + 1);
        line(w, "v_cndmask_b32_e64 v%d, v%d, v%d, s[%d:%d]", s + 1, s + 1, HIDES + 1, SCRATCH, SCRATCH + 1);
      }
      line(w, "v_add_u32_e32 v%d, 32, v%d", HIDES, HIDES);
    }
    line(w, "s_branch tw_seen%d_%%=", period);
  }
}

/* Writes the rest of the last step: its dQ is added to memory. */
static void write_after(writer *w) {
  for (int period = 0; period < 2; period++) {
    line(w, "tw_last%d_%%=:", period);
    line(w, "s_nop 15");
    line(w, "s_nop 3");
    for (int i = 0; i < w->o->n_ops; i++) {
      const back_op *o = &w->o->op[w->o->in_turn[i]];
      if (o->what == ADD_DQ) write_op(w, o, period);
    }
    if (period == 0) line(w, "s_branch tw_end%%=");
  }
  line(w, "tw_end%%=:");
  line(w, "s_waitcnt vmcnt(0) lgkmcnt(0)");
  line(w, "s_mov_b32 m0, s%d", OLD_M0);
}

static void write_operands(writer *w) {
  tw_text *t = w->t;
  const int wide = w->o->wide;
  bool input[256] = {false};
  const struct {
    int at;
    const char *name;
  } vector[] = {{Q_LANE, "q_lane"},
                {LINES_LANE, "lines_lane"},
                {DQ_LANE, "dq_lane"},
                {ROWS_Q, "rows_q"},
                {ROWS_K, "rows_k"},
                {DOWN_Q, "down_q_at[0]"},
                {DOWN_Q + 1, "down_q_at[1]"},
                {DOWN_K, "down_k_at[0]"},
                {DOWN_K + 1, "down_k_at[1]"},
                {SLOPES, "slopes[0]"},
                {SLOPES + 1, "slopes[1]"},
                {SLOPES_TO, "slopes_to[0]"},
                {SLOPES_TO + 1, "slopes_to[1]"},
                {KEY, "key"}},
    scalar[] = {{STEPS, "steps"},     {HEAD_STEPS, "head_steps"}, {Q_DOWN, "q_down"},
                {Q_FULL, "q_full"},   {LINES_BACK, "lines_back"}, {INNER, "inner_from"},
                {DQ_BACK, "dq_back"}, {COPIED, "copied"},         {HIDDEN_BACK, "hidden"}};
  tw_text_add(t, "      :");
  for (int i = 0; i < 2 * w->o->tiles * wide; i++)
    tw_text_add(t, " \"=&{a[%d:%d]}\"(%c_sums.value[%d][%d]),%s", i * BACK_SUMS, (i + 1) * BACK_SUMS - 1,
                i < w->o->tiles * wide ? 'k' : 'v', i / wide % w->o->tiles, i % wide, i % 2 ? "\n       " : "");
  tw_text_add(t,
              " \"+{s[%d:%d]}\"(q_matrix), \"+{s[%d:%d]}\"(g_matrix),\n        \"+{s[%d:%d]}\"(lines_matrix), "
              "\"+{s[%d:%d]}\"(dq_matrix), \"+{s%d}\"(hidden_now)\n      :",
              Q_MATRIX, Q_MATRIX + 3, G_MATRIX, G_MATRIX + 3, LINES, LINES + 3, DQ_MATRIX, DQ_MATRIX + 3, HIDDEN);
  for (int i = 0; i < w->o->tiles * w->o->deep; i++) {
    const int v = w->o->v + i * BACK_FRAGMENT;
    tw_text_add(t, " \"{v[%d:%d]}\"(own_v[%d][%d]),%s", v, v + 3, i / w->o->deep, i % w->o->deep,
                i % 2 ? "\n       " : "");
    for (int k = 0; k < BACK_FRAGMENT; k++) input[v + k] = true;
  }
  for (size_t i = 0; i < sizeof vector / sizeof *vector; i++) {
    tw_text_add(t, " \"{v%d}\"(%s),%s", vector[i].at, vector[i].name, i % 4 == 3 ? "\n       " : "");
    input[vector[i].at] = true;
  }
  for (size_t i = 0; i < sizeof scalar / sizeof *scalar; i++)
    tw_text_add(t, " \"{s%d}\"(%s),%s", scalar[i].at, scalar[i].name, i % 4 == 3 ? "\n       " : "");
  tw_text_add(t, " \"{s[%d:%d]}\"(q_back), \"{s%d}\"(factor_bits)\n      : \"memory\", \"scc\", \"vcc\", \"s%d\"",
              Q_BACK, Q_BACK + 1, FACTOR, FACTOR + 1);
  for (int i = OWN; i < SCALARS; i++) tw_text_add(t, ", \"s%d\"", i);
  for (int i = 0, k = 0; i < cdna_back_registers(w->o->of); i++)
    if (!input[i]) tw_text_add(t, "%s\"v%d\"", k++ % 12 ? ", " : ",\n        ", i);
  tw_text_add(t, ");\n");
}

tw_status cdna_loop_back(cdna_arch arch, const tw_tile_back_loop *of, tw_text *text, tw_error *error) {
  if (arch != CDNA4 || of->tiles * of->groups != BACK_TILES * 4 || of->tiles > BACK_TILES || of->d / 16 < of->groups)
    return tw_fail(error, TW_USAGE, "hand_scheduled attention requires gfx950 and waves 4, or waves 8 with d=128");
  back_order *order = tw_new(1, sizeof *order);
  if (!order) return tw_fail(error, TW_NO_MEMORY, "no memory for a loop");
  const tw_status status = cdna_back_order(of, (HIDES + 2 + 3) & ~3, order, error);
  if (status == TW_OK && text) {
    writer w = {.o = order, .t = text};
    tw_text_add(text, "  asm volatile(\n");
    write_before(&w);
    write_reads_before(&w);
    write_body(&w);
    write_hides(&w);
    write_absent(&w);
    write_after(&w);
    write_operands(&w);
  }
  free(order);
  return status;
}
