/* emit.c - writes a GEMM's loop as a statement of inline assembly; loop.h has its parts and rules.
 *
 * Registers are fixed, by name: sums are accumulation registers, what is read comes behind the addresses. Compilers may use the
 * rest, and keep what they need meanwhile there. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "target/cdna/loop/loop.h"

enum {
  TICKS = CDNA_LOOP_TICKS,
  VECTORS = 256,        /* that an instruction can name, of each kind */
  SIMD_REGISTERS = 512, /* of a lane */
  WINDOW = 65536,       /* bytes that the offset of a read reaches */
  VM_MOST = 63,
  LGKM_MOST = 15,
  LEFT_TO_COMPILER = 16,
  /* scalar registers */
  A_MATRIX = 36,
  B_MATRIX = 40,
  COPIED = 44,
  STEPS,
  A_DOWN,
  B_DOWN,
  COUNT, /* from here on its own */
  LEFT,
  A_HAVE,
  B_HAVE,
  OLD_M0,
  LAST,
  OFFSETS = 54,
  SCALARS = 100
};

typedef struct writer {
  cdna_loop l;
  tw_text *t;
  int step;                                     /* bytes of a row that a tile has */
  int windows_a, windows_b, stages_a, stages_b; /* stages that one address reaches */
  int pieces;
  int a_past, b_past, a_now, b_now, a_read, b_read, operands, end; /* vector registers */
  int reads, read;                                                 /* issued, known to be there */
  int copies;  /* of this lane, counted from those of tile `stages` */
  bool placed; /* m0 was written by the instruction before */
} writer;

static int ceil_div(int a, int b) { return (a + b - 1) / b; }

__attribute__((format(printf, 2, 3))) static void line(writer *w, const char *format, ...) {
  va_list arguments;
  char text[160];
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  tw_text_add(w->t, "      \"%s\\n\"\n", text);
  w->placed = false;
}

/* The first register of an operand's fragment of tile x. */
static int register_of(const writer *w, int fragment, int x) {
  return w->operands + w->l.place[fragment][(x + w->l.turns) % w->l.turns] * w->l.product.words;
}

/* Where addresses and operands are; there have to be enough. */
static tw_status place_registers(writer *w, tw_error *error) {
  const cdna_loop *l = &w->l;
  const tw_tile_loop *of = l->of;
  const int groups_of_simd = ceil_div(of->groups, 4), sums = of->rows * of->cols * l->product.sums;
  w->step = of->row_bytes;
  w->pieces = of->depth * l->parts;
  w->stages_a = WINDOW / of->a_bytes < of->stages ? WINDOW / of->a_bytes : of->stages;
  w->stages_b = WINDOW / of->b_bytes < of->stages ? WINDOW / of->b_bytes : of->stages;
  if (!w->stages_a || !w->stages_b)
    return tw_fail(error, TW_USAGE, "a pinned loop takes tiles of up to %d bytes of an operand", WINDOW);
  w->windows_a = ceil_div(of->stages, w->stages_a);
  w->windows_b = ceil_div(of->stages, w->stages_b);
  int next = 2; /* behind both lanes' offsets */
  w->a_now = 0, w->b_now = 1;
  if (of->tail) w->a_past = next, w->b_past = next + 1, w->a_now = next + 2, w->b_now = next + 3, next += 4;
  w->a_read = next, next += w->windows_a * w->pieces;
  w->b_read = next, next += w->windows_b * w->pieces;
  w->operands = (next + 3) & ~3;
  w->end = w->operands + l->places * l->product.words;
  const int have = SIMD_REGISTERS / groups_of_simd - sums - LEFT_TO_COMPILER,
            most = have < VECTORS - LEFT_TO_COMPILER ? have : VECTORS - LEFT_TO_COMPILER;
  if (sums > VECTORS || w->end > most || OFFSETS + l->n_copies - 2 > SCALARS)
    return tw_fail(error, TW_USAGE,
                   "a pinned loop takes %d registers of a lane beside %d sums, of %d, and %d scalar ones, of %d",
                   w->end, sums, sums > VECTORS ? 0 : most, OFFSETS + l->n_copies - 2, SCALARS);
  return TW_OK;
}

/* ---- instructions ---- */

static void write_read(writer *w, const cdna_loop_op *op, int x) {
  const tw_tile_loop *of = w->l.of;
  const cdna_loop_fragment *f = &w->l.fragment[op->fragment];
  const int stage = (x + of->stages) % of->stages, reach = op->operand ? w->stages_b : w->stages_a;
  const int bytes = op->operand ? of->b_bytes : of->a_bytes, piece = f->depth * w->l.parts + op->part;
  const int address = (op->operand ? w->b_read : w->a_read) + stage / reach * w->pieces + piece;
  const int to = register_of(w, op->fragment, x) + 4 * op->part;
  line(w, "ds_read_b128 v[%d:%d], v%d offset:%d", to, to + 3, address,
       stage % reach * bytes + f->row * of->side * of->row_bytes);
  w->reads++;
}

static void write_place(writer *w, const cdna_loop_op *op, int stage) {
  const tw_tile_loop *of = w->l.of;
  const int first = op->operand ? of->stages * of->a_bytes + stage * of->b_bytes : stage * of->a_bytes;
  line(w, "s_add_u32 m0, s%d, 0x%x", COPIED, first + op->part * of->groups * 1024);
  w->placed = true;
}

static void write_copy(writer *w, const cdna_loop_op *op) {
  const int lane = op->operand ? w->b_now : w->a_now, matrix = op->operand ? B_MATRIX : A_MATRIX;
  const int offset = OFFSETS + (op->operand ? w->l.copies_a - 1 : 0) + op->part - 1;
  char at[16] = "0";
  if (op->part) snprintf(at, sizeof at, "s%d", offset);
  if (w->placed) line(w, "s_nop 0");
  line(w, "buffer_load_dwordx4 v%d, s[%d:%d], %s offen lds", lane, matrix, matrix + 3, at);
  w->copies++;
}

/* The part of the lanes' offsets that the last tile does not have. */
static void write_past(writer *w, int operand) {
  if (!w->l.of->tail) return;
  line(w, "s_cmp_eq_u32 s%d, 1", LEFT);
  line(w, "s_cselect_b32 s%d, -1, 0", LAST);
  line(w, "v_and_or_b32 v%d, v%d, s%d, v%d", operand ? w->b_now : w->a_now, operand ? w->b_past : w->a_past, LAST,
       operand);
}

/* To the next tile: behind the last one, a matrix of no bytes, of which nothing is read. */
static void write_advance(writer *w, int operand) {
  const int matrix = operand ? B_MATRIX : A_MATRIX, have = operand ? B_HAVE : A_HAVE;
  line(w, "s_add_u32 s%d, s%d, %d", matrix, matrix, w->step);
  line(w, "s_addc_u32 s%d, s%d, 0", matrix + 1, matrix + 1);
  line(w, "s_sub_u32 s%d, s%d, %d", have, have, w->step);
  if (!operand) line(w, "s_sub_i32 s%d, s%d, 1", LEFT, LEFT);
  line(w, "s_cmp_gt_i32 s%d, 0", LEFT);
  line(w, "s_cselect_b32 s%d, s%d, 0", matrix + 2, have);
  write_past(w, operand);
}

/* Of tile x of the loop: its life's op. */
static void write_op(writer *w, const cdna_loop_op *op, int x) {
  const cdna_loop *l = &w->l;
  const int stages = l->of->stages;
  switch (op->kind) {
  case CDNA_LOOP_READY: {
    const int later = w->copies - (x + 1 - stages) * l->n_copies;
    line(w, "s_waitcnt vmcnt(%d)", later < VM_MOST ? later : VM_MOST);
    line(w, "s_barrier");
    break;
  }
  case CDNA_LOOP_READ: write_read(w, op, x); break;
  case CDNA_LOOP_FREED: {
    const int later = w->reads - (x + 1) * l->n_reads;
    line(w, "s_waitcnt lgkmcnt(%d)", later < LGKM_MOST ? later : LGKM_MOST);
    line(w, "s_barrier");
    if ((x + 1) * l->n_reads > w->read) w->read = (x + 1) * l->n_reads;
    break;
  }
  case CDNA_LOOP_PLACE: write_place(w, op, (x + 2 * stages) % stages); break;
  case CDNA_LOOP_COPY: write_copy(w, op); break;
  case CDNA_LOOP_ADVANCE: write_advance(w, op->operand); break;
  }
}

static void write_product(writer *w, int product, int x) {
  const cdna_loop *l = &w->l;
  const cdna_loop_use u = cdna_loop_use_of(l, product);
  const int last_a = l->fragment[u.a].last_read, last_b = l->fragment[u.b].last_read;
  const int needed = x * l->n_reads + (last_a > last_b ? last_a : last_b) + 1;
  if (needed > w->read) {
    line(w, "s_waitcnt lgkmcnt(%d)", w->reads - needed < LGKM_MOST ? w->reads - needed : LGKM_MOST);
    w->read = needed;
  }
  const int words = l->product.words, sums = l->product.sums, a = register_of(w, u.a, x), b = register_of(w, u.b, x);
  const int c = (u.row * l->of->cols + u.col) * sums;
  line(w, "%s a[%d:%d], v[%d:%d], v[%d:%d], a[%d:%d]%s", l->product.name, c, c + sums - 1, b, b + words - 1, a,
       a + words - 1, c, c + sums - 1, l->product.formats);
}

/* ---- parts ---- */

/* Copies and reads that were issued when products of tile 0 begin, by it or by those before; what is due later of those counts
 * as less than none. */
static void count(writer *w, bool of_first) {
  const cdna_loop *l = &w->l;
  w->copies = w->reads = 0;
  for (int back = of_first ? 0 : 1; back <= l->of->stages; back++)
    for (int i = 0; i < l->n_ops; i++) {
      const int is_before = l->op[i].time < l->begin + back * l->period;
      if (l->op[i].kind == CDNA_LOOP_COPY) w->copies += is_before - (back > 0);
      if (l->op[i].kind == CDNA_LOOP_READ) w->reads += is_before - (back > 0);
    }
  w->read = 0;
}

/* Copies of the first tiles, zeros as sums, and what tiles do before the first product. */
static void write_before(writer *w) {
  const cdna_loop *l = &w->l;
  const tw_tile_loop *of = l->of;
  line(w, "s_waitcnt vmcnt(0) lgkmcnt(0)");
  line(w, "s_mov_b32 s%d, m0", OLD_M0);
  line(w, "s_mov_b32 s%d, s%d", COUNT, STEPS);
  line(w, "s_mov_b32 s%d, s%d", LEFT, STEPS);
  line(w, "s_mov_b32 s%d, s%d", A_HAVE, A_MATRIX + 2);
  line(w, "s_mov_b32 s%d, s%d", B_HAVE, B_MATRIX + 2);
  for (int operand = 0; operand < 2; operand++) {
    const int first = OFFSETS + (operand ? l->copies_a - 1 : 0), n = operand ? l->n_copies - l->copies_a : l->copies_a;
    for (int i = 1; i < n; i++)
      if (i == 1)
        line(w, "s_mov_b32 s%d, s%d", first, operand ? B_DOWN : A_DOWN);
      else
        line(w, "s_add_u32 s%d, s%d, s%d", first + i - 1, first + i - 2, operand ? B_DOWN : A_DOWN);
    write_past(w, operand);
  }
  for (int stage = 0; stage < of->stages; stage++) /* what is due later is in the body, as of every tile */
    for (int i = 0; i < l->n_ops && l->op[i].time - (of->stages - stage) * l->period < l->begin; i++) {
      if (l->op[i].kind == CDNA_LOOP_PLACE) write_place(w, &l->op[i], stage);
      if (l->op[i].kind == CDNA_LOOP_COPY) write_copy(w, &l->op[i]);
      if (l->op[i].kind == CDNA_LOOP_ADVANCE) write_advance(w, l->op[i].operand);
    }
  count(w, false);
  line(w, ".set tw_i, 0");
  line(w, ".rept %d", of->rows * of->cols * l->product.sums);
  line(w, "v_accvgpr_write_b32 a[tw_i], 0");
  line(w, ".set tw_i, tw_i + 1");
  line(w, ".endr");
  for (int operand = 0; operand < 2; operand++)
    for (int i = 1; i < (operand ? w->windows_b : w->windows_a); i++)
      for (int k = 0; k < w->pieces; k++) {
        const int first = operand ? w->b_read : w->a_read;
        line(w, "v_add_u32 v%d, 0x%x, v%d", first + i * w->pieces + k,
             i * (operand ? w->stages_b * of->b_bytes : w->stages_a * of->a_bytes), first + k);
      }
  for (int i = 0; i < l->n_ops && l->op[i].time < l->begin; i++) write_op(w, &l->op[i], 0);
}

/* One period: products of tile s of the body, and whatever else is due among them, of this tile, those before and the next. */
static void write_period(writer *w, int s) {
  const cdna_loop *l = &w->l;
  struct {
    int op, x, at;
  } due[CDNA_LOOP_OPS];
  int n = 0, next = 0;
  for (int i = 0; i < l->n_ops; i++) {
    const int time = l->op[i].time - l->begin, back = time < 0 ? -1 : time / l->period, at = time - back * l->period;
    int k = n++;
    for (; k > 0 && due[k - 1].at > at; k--) due[k] = due[k - 1];
    due[k].op = i, due[k].x = s - back, due[k].at = at;
  }
  for (int product = 0; product < l->products; product++) {
    while (next < n && due[next].at <= product * TICKS) {
      write_op(w, &l->op[due[next].op], due[next].x);
      next++;
    }
    write_product(w, product, s);
  }
  for (; next < n; next++) write_op(w, &l->op[due[next].op], due[next].x);
}

static void write_body(writer *w) {
  line(w, "tw_loop%%=:");
  for (int s = 0; s < w->l.turns; s++) {
    write_period(w, s);
    line(w, "s_sub_u32 s%d, s%d, 1", COUNT, COUNT);
    line(w, "s_cmp_eq_u32 s%d, 0", COUNT);
    line(w, s + 1 < w->l.turns ? "s_cbranch_scc1 tw_done%%=" : "s_cbranch_scc0 tw_loop%%=");
  }
  line(w, "tw_done%%=:");
  line(w, "s_waitcnt vmcnt(0) lgkmcnt(0)");
  line(w, "s_mov_b32 m0, s%d", OLD_M0);
  for (int states = w->l.product.cycles / 4 + 4; states > 0; states -= 16) /* passes, and some until others may read */
    line(w, "s_nop %d", states < 16 ? states - 1 : 15);
}

static void write_operands(writer *w) {
  const cdna_loop *l = &w->l;
  const tw_tile_loop *of = l->of;
  tw_text *t = w->t;
  tw_text_add(t, "      :");
  for (int i = 0; i < of->rows * of->cols; i++)
    tw_text_add(t, " \"=&{a[%d:%d]}\"(sums.value[%d][%d]),%s", i * l->product.sums, (i + 1) * l->product.sums - 1,
                i / of->cols, i % of->cols, i % 2 ? "\n       " : "");
  tw_text_add(t, " \"+{s[%d:%d]}\"(a_matrix), \"+{s[%d:%d]}\"(b_matrix)\n", A_MATRIX, A_MATRIX + 3, B_MATRIX,
              B_MATRIX + 3);
  tw_text_add(t, "      : \"{s%d}\"(copied), \"{s%d}\"(steps), \"{s%d}\"(a_down), \"{s%d}\"(b_down), ", COPIED, STEPS,
              A_DOWN, B_DOWN);
  tw_text_add(t, "\"{v0}\"(a_lane), \"{v1}\"(b_lane)");
  if (of->tail) tw_text_add(t, ", \"{v%d}\"(a_past), \"{v%d}\"(b_past)", w->a_past, w->b_past);
  for (int i = 0; i < w->pieces; i++)
    tw_text_add(t, ",\n        \"{v%d}\"(a_read[%d]), \"{v%d}\"(b_read[%d])", w->a_read + i, i, w->b_read + i, i);
  tw_text_add(t, "\n      : \"memory\", \"scc\"");
  const int scalars = OFFSETS + l->n_copies - 2;
  for (int i = COUNT; i < scalars; i++) tw_text_add(t, "%s\"s%d\"", (i - COUNT) % 12 ? ", " : ",\n        ", i);
  int n = 0;
  for (int i = of->tail ? w->a_now : w->operands; i < w->end; i++)
    if (!(i >= w->a_read && i < w->a_read + w->pieces) && !(i >= w->b_read && i < w->b_read + w->pieces))
      tw_text_add(t, "%s\"v%d\"", n++ % 12 ? ", " : ",\n        ", i);
  tw_text_add(t, ");\n");
}

tw_status cdna_loop_emit(cdna_arch arch, const tw_tile_loop *of, tw_text *text, tw_error *error) {
  writer *w = tw_new(1, sizeof *w);
  if (!w) return tw_fail(error, TW_MISSING, "no memory for a loop");
  tw_status status = cdna_loop_schedule(arch, of, &w->l, error);
  if (status == TW_OK) status = cdna_loop_allocate(&w->l, error);
  if (status == TW_OK) status = place_registers(w, error);
  if (status == TW_OK && text) {
    w->t = text;
    tw_text_add(text, "  asm volatile(\n");
    write_before(w);
    count(w, true); /* nothing is known to be read: the loop is entered from two sides */
    write_body(w);
    write_operands(w);
  }
  free(w);
  return status;
}
