/* emit.c - writes a GEMM's loop as a statement of inline assembly; loop.h has its parts and rules.
 *
 * Registers are fixed, by name: sums are accumulation registers, and operand registers follow the addresses. The
 * compiler may use the other registers, and keeps its own values there meanwhile. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "target/cdna/loop/loop.h"

enum {
  TICKS = CDNA_LOOP_TICKS,
  VECTORS = 256, /* registers that an instruction can name, of each kind */
  SIMDS = 4,
  SIMD_REGISTERS = 512, /* per lane */
  WAVE = 64,
  WINDOW = 65536, /* bytes that the offset of a read reaches */
  VM_MOST = 63,
  LGKM_MOST = 15,
  LEFT_TO_COMPILER = 16,
  /* scalar registers; in a pair the first belongs to A, the second to B */
  MATRIX = 36, /* four each */
  COPIED = 44,
  STEPS,
  DOWN,
  STEP = 48,
  FULL = 50,
  FULL_LAST = 52,
  SCALE_MATRIX = 48, /* scaled operands are not transposed */
  SCALE_STEP = 52,
  SIZE =
      /* for conversions, whose operands are not transposed either: a mask of all bits of a code except its sign, and
       * values derived from it */
  48,
  SIGN, /* NaN for that format */
  TO_NONE,
  BLOCK_SCALES = 64, /* two matrices, of A's and B's; then bytes from the first tile's scales to the next one's */
  BLOCK_SCALES_AT = BLOCK_SCALES + 8,
  OWN = 54, /* from here on, scalar registers of the loop itself */
  COUNT = OWN,
  LEFT,
  HAVE, /* for A, B, scales */
  OLD_M0 = 59,
  LAST,
  OFFSETS,
  SCALARS = 100,
  LDS_OPS = 8192
};

typedef struct writer {
  cdna_loop l;
  tw_text *t;
  /* for A and B */
  int copies_each[2], pieces[2];
  int reach[2], windows[2];                 /* stages that one address reaches, and the number of such addresses */
  int lane[3], past[2], now[3], address[2]; /* first vector registers; the third is of scales */
  int scales[2];                            /* addresses of scales */
  int offset[2];                            /* first scalar one, of the second copy */
  /* registers for copies through registers, and their contents, for the conversion */
  int laid, data, spare;
  /* with `blocks`: products of two fragments of C, twice; factors of rows, which begin at even registers; scales of
   * rows and of B, and where they are */
  int parts, factors, scale, scale_lane;
  int operands, sums, end; /* vector or accumulation registers; the end of vector registers */
  int scalars;             /* first unused scalar register */
  int reads, read;         /* reads issued, reads known to have ended */
  int copies;              /* copies of this lane, relative to tile `stages` */
  int fixed;               /* the half-converted value: a register, or 0 */
  char second[160];        /* second half of the previous product, or "" */
  size_t placed;           /* length of the text when m0 was last written */
  /* For copies through registers: loads and LDS stores, in their order of issue. */
  struct {
    bool is_lay;
    int number;
  } lds[LDS_OPS];
  int n_lds;
} writer;

static int ceil_div(int a, int b) { return (a + b - 1) / b; }

void cdna_loop_line(tw_text *t, const char *format, ...) {
  va_list arguments;
  char text[192];
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  tw_text_add(t, "      \"%s\\n\"\n", text);
}
#define line(w, ...) cdna_loop_line((w)->t, __VA_ARGS__)

/* The first register of an operand's fragment of tile x. */
static int register_of(const writer *w, int fragment, int x) {
  return w->operands + w->l.place[fragment][(x + w->l.turns) % w->l.turns] * w->l.product.words;
}
/* The kinds of these registers: operands and sums. */
static char kind_of(const writer *w, bool sums) { return w->l.of->blocks == sums ? 'v' : 'a'; }

static int sums_of(const writer *w) {
  return w->l.of->operand[0].fragments * w->l.of->operand[1].fragments * w->l.product.sums;
}
/* True if each copy has separate lane offsets. */
static int lanes_of(const writer *w, int operand) {
  return w->l.of->operand[operand].each_lane ? w->copies_each[operand] : 1;
}
static bool has_tail(const writer *w, int operand) { return w->l.of->tail && !w->l.of->operand[operand].each_lane; }

/* Places addresses and operands in registers, which must suffice. */
static tw_status place_registers(writer *w, tw_error *error) {
  const cdna_loop *l = &w->l;
  const tw_tile_loop *of = l->of;
  const int groups_of_simd = ceil_div(of->groups, SIMDS), sums = sums_of(w), operands = l->places * l->product.words;
  int next = 0, offset = of->blocks ? BLOCK_SCALES_AT + 1 : OFFSETS;
  for (int i = 0; i < 2; i++) {
    const tw_tile_loop_operand *o = &of->operand[i];
    w->copies_each[i] = o->bytes / (of->groups * 1024);
    w->pieces[i] = tw_tile_loop_pieces(of, i, WAVE);
    w->reach[i] = WINDOW / o->bytes < of->stages ? WINDOW / o->bytes : of->stages;
    if (!w->reach[i])
      return tw_fail(error, TW_USAGE, "hand_scheduled supports tiles of up to %d bytes per operand; use a smaller tile",
                     WINDOW);
    w->windows[i] = ceil_div(of->stages, w->reach[i]);
    w->offset[i] = offset;
    if (!o->each_lane) offset += w->copies_each[i] - 1;
    w->lane[i] = w->now[i] = next;
    next += lanes_of(w, i);
  }
  for (int i = 0; i < 2; i++)
    if (has_tail(w, i)) w->past[i] = next, w->now[i] = next + 1, next += 2;
  for (int i = 0; i < 2; i++) w->address[i] = next, next += w->windows[i] * w->pieces[i];
  if (of->scaled) w->lane[2] = w->now[2] = next, w->scales[0] = next + 1, w->scales[1] = next + 2, next += 3;
  if (of->laid) w->laid = next, w->data = (next + 4) & ~3, next = w->data + 4 * l->n_copies;
  if (l->product.fixes) w->spare = next, next += 3;
  if (of->blocks) {
    const int rows = of->operand[0].fragments;
    w->scale_lane = next, w->scale = next + rows + 1;
    w->sums = (next + 2 * (rows + 1) + 3) & ~3, w->parts = w->sums + sums, w->factors = w->parts + 4 * l->product.sums;
    w->end = w->factors + 2 * rows;
  } else {
    w->operands = (next + 3) & ~3;
    w->end = w->operands + operands;
  }
  w->scalars = offset;
  const int others = of->blocks ? operands : sums, have = SIMD_REGISTERS / groups_of_simd - others - LEFT_TO_COMPILER,
            most = have < VECTORS - LEFT_TO_COMPILER ? have : VECTORS - LEFT_TO_COMPILER;
  if (others > VECTORS || w->end > most || offset > SCALARS)
    return tw_fail(error, TW_USAGE,
                   "hand_scheduled needs %d registers per lane besides %d accumulators (limit %d) and %d scalar "
                   "registers (limit %d); use a smaller tile",
                   w->end, others, others > VECTORS ? 0 : most, offset, SCALARS);
  return TW_OK;
}

/* ---- instructions ---- */

static void note(writer *w, bool is_lay, int number) {
  if (w->n_lds < LDS_OPS) w->lds[w->n_lds].is_lay = is_lay, w->lds[w->n_lds++].number = number;
}

/* Number of LDS accesses that were issued after a read, or after a store. */
static int behind(const writer *w, bool is_lay, int number) {
  if (!w->l.of->laid) return w->reads - 1 - number;
  int n = 0;
  while (n < w->n_lds && (w->lds[w->n_lds - 1 - n].is_lay != is_lay || w->lds[w->n_lds - 1 - n].number > number)) n++;
  return n;
}

static int smaller_of(int a, int b) { return a < b ? a : b; }

/* Waits for a read. */
static void write_lds_wait(writer *w, int number) {
  line(w, "s_waitcnt lgkmcnt(%d)", smaller_of(behind(w, false, number), LGKM_MOST));
}

static void write_read(writer *w, const cdna_loop_op *op, int x) {
  const tw_tile_loop *of = w->l.of;
  const tw_tile_loop_operand *o = &of->operand[op->operand];
  const cdna_loop_fragment *f = &w->l.fragment[op->fragment];
  const int stage = (x + of->stages) % of->stages, reach = w->reach[op->operand], parts = w->l.parts[op->operand];
  note(w, false, w->reads++);
  if (f->scales) {
    const int bytes = tw_tile_loop_scales(of, op->operand), first = register_of(w, op->fragment, x),
              at = stage * of->groups * 1024;
    if (of->scale_words)
      line(w, "ds_read_b32 v%d, v%d offset:%d", first + op->part, w->scales[op->operand],
           at + (of->side == 16 ? 256 * op->part : op->part / 2 * 512 + op->part % 2 * 128));
    else
      line(w, "ds_read_b%d v[%d:%d], v%d offset:%d", 8 * bytes, first, first + bytes / 4 - 1, w->scales[op->operand],
           at);
    return;
  }
  const int words = w->l.product.words / parts, to = register_of(w, op->fragment, x) + words * op->part;
  const int address = w->address[op->operand] + stage / reach * w->pieces[op->operand] +
                      (o->across ? f->row : f->depth) * parts + op->part;
  const int row = of->scale_words && of->side == 32 ? f->row / 2 * 64 + f->row % 2 * 16 : f->row * of->side;
  const int further = o->across ? f->depth * (o->bytes / of->depth) : row * o->row_bytes;
  line(w, "%s %c[%d:%d], v%d offset:%d",
       o->across    ? "ds_read_b64_tr_b16"
       : words == 2 ? "ds_read_b64"
                    : "ds_read_b128",
       kind_of(w, false), to, to + words - 1, address, stage % reach * o->bytes + further);
}

static void write_place(writer *w, const cdna_loop_op *op, int stage) {
  const tw_tile_loop *of = w->l.of;
  const int a = of->operand[0].bytes, b = of->operand[1].bytes;
  const int first = op->operand == 2 ? of->stages * (a + b) + stage * of->groups * 1024
                    : op->operand    ? of->stages * a + stage * b
                                     : stage * a;
  line(w, "s_add_u32 m0, s%d, 0x%x", COPIED, first + op->part * of->groups * 1024);
  w->placed = w->t->length;
}

static int matrix_of(int operand) { return operand == 2 ? SCALE_MATRIX : MATRIX + 4 * operand; }

static void write_copy(writer *w, const cdna_loop_op *op) {
  const int matrix = matrix_of(op->operand);
  const bool each = op->operand < 2 && w->l.of->operand[op->operand].each_lane;
  char at[16] = "0";
  if (op->part && !each) snprintf(at, sizeof at, "s%d", w->offset[op->operand] + op->part - 1);
  if (w->placed == w->t->length) line(w, "s_nop 0"); /* m0 is read one instruction later at the earliest */
  line(w, "buffer_load_dwordx4 v%d, s[%d:%d], %s offen lds", w->now[op->operand] + (each ? op->part : 0), matrix,
       matrix + 3, at);
  w->copies++;
}

/* As above through a register: stores loaded data to tile y and loads data of the next tile. */
static void write_load(writer *w, const cdna_loop_op *op) {
  const int matrix = matrix_of(op->operand), data = w->data + 4 * ((op->operand ? w->l.copies[0] : 0) + op->part);
  char at[16] = "0";
  if (op->part) snprintf(at, sizeof at, "s%d", w->offset[op->operand] + op->part - 1);
  line(w, "buffer_load_dwordx4 v[%d:%d], v%d, s[%d:%d], %s offen", data, data + 3, w->now[op->operand], matrix,
       matrix + 3, at);
}

/* Loads of the scales of A's rows and of B. */
static int scales_of(const writer *w) { return w->l.of->blocks ? w->l.of->operand[0].fragments + 1 : 0; }

/* Waits for the oldest copy, after which all other copies and all scales were loaded. A conversion begins less than a
 * period after the load, so scales may not have been. */
static void write_load_wait(writer *w) {
  line(w, "s_waitcnt vmcnt(%d)", w->l.n_copies - 1 + (w->l.product.fixes ? 0 : scales_of(w)));
}

static void write_load_scales(writer *w) {
  for (int i = 0; i < scales_of(w); i++) {
    const int matrix = BLOCK_SCALES + (i + 1 == scales_of(w) ? 4 : 0);
    line(w, "buffer_load_dword v%d, v%d, s[%d:%d], s%d offen", w->scale + i, w->scale_lane + i, matrix, matrix + 3,
         BLOCK_SCALES_AT);
  }
}

/* Before the first tile, its scales are loaded only: in each period, so that waits count them. */
static void write_factors(writer *w, int x) {
  const int rows = scales_of(w) - 1;
  if (x >= 0) {
    line(w, "s_waitcnt vmcnt(%d)", w->l.n_copies);
    for (int i = 0; i < rows; i++)
      line(w, "v_mul_f32 v%d, v%d, v%d", w->factors + 2 * i, w->scale + i, w->scale + rows);
    line(w, "s_add_u32 s%d, s%d, 4", BLOCK_SCALES_AT, BLOCK_SCALES_AT);
  }
  write_load_scales(w);
}

/* Adds parts [from, to) of 2 registers, of products of two fragments of C, to their sums. */
static void write_additions(writer *w, int pair, int from, int to) {
  const int sums = w->l.product.sums, cols = w->l.of->operand[1].fragments;
  for (int i = 2 * from; i < 2 * to; i += 2) {
    const int factor = w->factors + (2 * pair + i / sums) / cols * 2, c = w->sums + 2 * pair * sums + i,
              part = w->parts + pair % 2 * 2 * sums + i;
    line(w, "v_pk_fma_f32 v[%d:%d], v[%d:%d], v[%d:%d], v[%d:%d] op_sel_hi:[1,0,1]", c, c + 1, part, part + 1, factor,
         factor + 1, c, c + 1);
  }
}

/* The second half of a conversion is issued between the halves of a product, which hide this number of instructions
 * each. */
static void write_fixed(writer *w) {
  const int v = w->fixed, some = w->spare, none = w->spare + 1, all = w->spare + 2;
  if (!v) return;
  w->fixed = 0;
  line(w, "v_and_b32 v%d, v%d, v%d", v, v, some);
  line(w, "v_lshrrev_b32 v%d, 7, v%d", all, none);
  line(w, "v_sub_u32 v%d, v%d, v%d", all, none, all);
  line(w, "v_or_b32 v%d, v%d, v%d", all, all, none);
  line(w, "v_bfi_b32 v%d, v%d, v%d, v%d", v, all, none, v);
}

/* Converts one word as tile_core.hpp's `multiplied` does: zeros lose their sign, and codes that are not numbers become
 * NaN. */
static void write_fix(writer *w, const cdna_loop_op *op) {
  const int number = (op->operand ? w->l.copies[0] : 0) + op->part, v = w->data + 4 * number + op->fragment;
  const int some = w->spare, none = w->spare + 1;
  write_fixed(w);
  if (!op->fragment) write_load_wait(w);
  line(w, "v_and_b32 v%d, s%d, v%d", some, SIZE, v);
  line(w, "v_add_u32 v%d, s%d, v%d", none, TO_NONE + op->operand, some);
  line(w, "v_add_u32 v%d, s%d, v%d", some, SIZE, some);
  line(w, "v_and_b32 v%d, s%d, v%d", none, SIGN, none);
  line(w, "v_or_b32 v%d, s%d, v%d", some, SIZE, some);
  w->fixed = v;
}

static void write_lay(writer *w, const cdna_loop_op *op, int y) {
  const tw_tile_loop *of = w->l.of;
  const int number = (op->operand ? w->l.copies[0] : 0) + op->part, data = w->data + 4 * number;
  const int first =
      (op->operand ? of->stages * of->operand[0].bytes : 0) + y % of->stages * of->operand[op->operand].bytes;
  write_fixed(w);
  if (!w->l.product.fixes) write_load_wait(w);
  line(w, "ds_write_b128 v%d, v[%d:%d] offset:%d", w->laid, data, data + 3, first + op->part * of->groups * 1024);
  note(w, true, y * w->l.n_copies + number);
  write_load(w, op);
}

/* Removes the part of the lanes' offsets that the last tile does not have. */
static void write_past(writer *w, int operand) {
  if (!has_tail(w, operand)) return;
  line(w, "s_cmp_eq_u32 s%d, 1", LEFT);
  line(w, "s_cselect_b32 s%d, -1, 0", LAST);
  line(w, "v_and_or_b32 v%d, v%d, s%d, v%d", w->now[operand], w->past[operand], LAST, w->lane[operand]);
}

/* Advances to the next tile: after the last one, to a matrix of no bytes, which is not read. */
static void write_advance(writer *w, int operand) {
  const int matrix = matrix_of(operand), have = HAVE + operand;
  const bool across = operand < 2 && w->l.of->operand[operand].across;
  if (!operand) line(w, "s_sub_i32 s%d, s%d, 1", LEFT, LEFT);
  if (across) {
    line(w, "s_cmp_eq_u32 s%d, 1", LEFT);
    line(w, "s_cselect_b32 s%d, s%d, s%d", have, FULL_LAST + operand, FULL + operand);
    line(w, "s_add_u32 s%d, s%d, s%d", matrix, matrix, STEP + operand);
  } else if (operand == 2) {
    line(w, "s_add_u32 s%d, s%d, s%d", matrix, matrix, SCALE_STEP);
  } else {
    line(w, "s_sub_u32 s%d, s%d, %d", have, have, w->l.of->operand[operand].advance);
    line(w, "s_add_u32 s%d, s%d, %d", matrix, matrix, w->l.of->operand[operand].advance);
  }
  line(w, "s_addc_u32 s%d, s%d, 0", matrix + 1, matrix + 1);
  line(w, "s_cmp_gt_i32 s%d, 0", LEFT);
  line(w, "s_cselect_b32 s%d, s%d, 0", matrix + 2, have);
  if (operand < 2) write_past(w, operand);
}

/* Writes an op of the life of tile x. */
static void write_op(writer *w, const cdna_loop_op *op, int x) {
  const cdna_loop *l = &w->l;
  const int stages = l->of->stages;
  switch (op->kind) {
  case CDNA_LOOP_READY: {
    if (l->of->laid) {
      const int lay = behind(w, true, (x + 1) * l->n_copies - 1), read = behind(w, false, x * l->n_reads - 1);
      line(w, "s_waitcnt lgkmcnt(%d)", smaller_of(LGKM_MOST, l->of->blocks ? smaller_of(lay, read) : lay));
      line(w, "s_barrier");
      break;
    }
    const int later = w->copies - (x + 1 - stages) * l->n_copies;
    line(w, "s_waitcnt vmcnt(%d)", later < VM_MOST ? later : VM_MOST);
    line(w, "s_barrier");
    break;
  }
  case CDNA_LOOP_READ: write_read(w, op, x); break;
  case CDNA_LOOP_FREED: {
    write_lds_wait(w, (x + 1) * l->n_reads - 1);
    line(w, "s_barrier");
    if ((x + 1) * l->n_reads > w->read) w->read = (x + 1) * l->n_reads;
    break;
  }
  case CDNA_LOOP_PLACE: write_place(w, op, (x + 2 * stages) % stages); break;
  case CDNA_LOOP_FIX: write_fix(w, op); break;
  case CDNA_LOOP_COPY:
    if (l->of->laid)
      write_lay(w, op, x + stages);
    else
      write_copy(w, op);
    break;
  case CDNA_LOOP_ADVANCE: write_advance(w, op->operand); break;
  case CDNA_LOOP_FACTORS: write_factors(w, x); break;
  }
}

static int later_of(int a, int b) { return a > b ? a : b; }

/* The byte of a lane's scales that belongs to a fragment of `row`, at `depth`. */
static int scale_byte(const tw_tile_loop *of, int row, int depth) {
  if (!of->scale_words) return row * of->depth + depth;
  const int words = of->side / 16; /* of the same rows; its depths take turns */
  return (row / 2 * words + depth % words) * 4 + row % 2 + 2 * (depth / words);
}

/* The scales of a product: a byte of a register for each operand, of all lanes. */
static void add_scales(const writer *w, const cdna_loop_use *u, int depth, int x, char *text, size_t size) {
  const cdna_loop *l = &w->l;
  const int a = scale_byte(l->of, u->row, depth), b = scale_byte(l->of, u->col, depth);
  snprintf(text, size, ", v%d, v%d op_sel:[%d,%d,0] op_sel_hi:[%d,%d,0]", register_of(w, l->scales[1], x) + b / 4,
           register_of(w, l->scales[0], x) + a / 4, b % 2, a % 2, b / 2 % 2, a / 2 % 2);
}

/* Writes the second half of a product: by then the sums of the previous product are complete. */
static void write_second(writer *w) {
  if (*w->second) line(w, "%s", w->second);
  *w->second = 0;
}

/* The share of product i in the additions of the two fragments of C before its own. By the third, their last products
 * are complete. */
static void write_additions_after(writer *w, int product) {
  enum { FREE = 2 };
  const int of_turn = 2 * w->l.of->depth, pairs = w->l.products / of_turn, n = w->l.product.sums,
            in = product % of_turn - FREE;
  if (in >= 0)
    write_additions(w, (product / of_turn + pairs - 1) % pairs, in * n / (of_turn - FREE),
                    (in + 1) * n / (of_turn - FREE));
}

static void write_product(writer *w, int product, int x) {
  const cdna_loop *l = &w->l;
  const cdna_loop_use u = cdna_loop_use_of(l, product);
  char scales[80] = "";
  int last = later_of(l->fragment[u.a].last_read, l->fragment[u.b].last_read);
  if (l->of->scaled) {
    last = later_of(last, later_of(l->fragment[l->scales[0]].last_read, l->fragment[l->scales[1]].last_read));
    add_scales(w, &u, l->fragment[u.a].depth, x, scales, sizeof scales);
  }
  const int needed = x * l->n_reads + last + 1;
  if (needed > w->read) {
    write_lds_wait(w, needed - 1);
    w->read = needed;
  }
  const int words = l->product.words, sums = l->product.sums, a = register_of(w, u.a, x), b = register_of(w, u.b, x);
  const int in = u.row * l->of->operand[1].fragments + u.col, c = l->of->blocks ? w->parts + in % 4 * sums : in * sums;
  const int each = words / l->product.halves;
  const char of_sums = kind_of(w, true), of_operands = kind_of(w, false);
  char first[160] = "", second[160] = "", addend[32] = "0";
  for (int i = 0; i < l->product.halves; i++) {
    char *to = i ? second : first;
    if (i || u.depth || !l->of->blocks) snprintf(addend, sizeof addend, "%c[%d:%d]", of_sums, c, c + sums - 1);
    snprintf(to, sizeof second, "%s %c[%d:%d], %c[%d:%d], %c[%d:%d], %s%s%s", l->product.name, of_sums, c, c + sums - 1,
             of_operands, b + i * each, b + (i + 1) * each - 1, of_operands, a + i * each, a + (i + 1) * each - 1,
             addend, scales, l->product.formats);
  }
  /* products of two fragments take turns */
  const bool early = l->of->blocks && product % 2 == 0;
  if (early) write_second(w);
  line(w, "%s", first);
  write_fixed(w);
  if (!early) write_second(w);
  memcpy(w->second, second, sizeof second);
  if (l->of->blocks) write_additions_after(w, product);
}

/* ---- parts ---- */

/* Counts copies and reads of tile 0 and earlier tiles that are issued before the products of tile 0 begin. Later
 * operations of earlier tiles count as negative. */
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

/* Does the operation exist? Tiles before the first have neither reads nor barriers. */
static bool is_there(const cdna_loop *l, const cdna_loop_op *op, int x) {
  return op->kind == CDNA_LOOP_COPY || op->kind == CDNA_LOOP_ADVANCE || op->kind == CDNA_LOOP_FIX
             ? x + l->of->stages >= 0
             : x >= 0 || op->kind == CDNA_LOOP_FACTORS;
}

/* Writes one period: products of tile s of the body, interleaved with all other operations that are due, of this
 * tile, earlier tiles and the next one. In the prologue: without products, and only for existing tiles. */
static void write_period(writer *w, int s, bool ahead) {
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
  for (; ahead && next < n; next++)
    if (is_there(l, &l->op[due[next].op], due[next].x)) write_op(w, &l->op[due[next].op], due[next].x);
  if (ahead) {
    write_fixed(w);
    return;
  }
  for (int product = 0; product < l->products; product++) {
    while (next < n && due[next].at <= product * TICKS) {
      write_op(w, &l->op[due[next].op], due[next].x);
      next++;
    }
    write_product(w, product, s);
  }
  write_fixed(w);
  write_second(w);
  for (; next < n; next++) write_op(w, &l->op[due[next].op], due[next].x);
}

/* Writes copies of the first tiles, zeros as sums, and operations before the first product. */
static void write_before(writer *w) {
  const cdna_loop *l = &w->l;
  const tw_tile_loop *of = l->of;
  line(w, "s_waitcnt vmcnt(0) lgkmcnt(0)");
  line(w, "s_mov_b32 s%d, m0", OLD_M0);
  line(w, "s_mov_b32 s%d, s%d", COUNT, STEPS);
  line(w, "s_mov_b32 s%d, s%d", LEFT, STEPS);
  for (int operand = 0; operand < 2; operand++) {
    line(w, "s_mov_b32 s%d, s%d", HAVE + operand, MATRIX + 4 * operand + 2);
    for (int i = 1; i < w->copies_each[operand] && !of->operand[operand].each_lane; i++)
      if (i == 1)
        line(w, "s_mov_b32 s%d, s%d", w->offset[operand], DOWN + operand);
      else
        line(w, "s_add_u32 s%d, s%d, s%d", w->offset[operand] + i - 1, w->offset[operand] + i - 2, DOWN + operand);
    write_past(w, operand);
  }
  if (of->scaled) line(w, "s_mov_b32 s%d, s%d", HAVE + 2, SCALE_MATRIX + 2);
  if (l->product.fixes) {
    line(w, "s_mov_b32 s%d, 0x7f7f7f7f", SIZE);
    line(w, "s_mov_b32 s%d, 0x80808080", SIGN);
    for (int i = 0; i < 2; i++)
      line(w, "s_mov_b32 s%d, 0x%08x", TO_NONE + i, of->operand[i].type == TW_E4M3 ? 0x01010101 : 0x04040404);
  }
  for (int i = 0; i < l->n_ops && of->laid; i++) { /* operations of the first tile */
    if (l->op[i].kind == CDNA_LOOP_COPY) write_load(w, &l->op[i]);
    if (l->op[i].kind == CDNA_LOOP_ADVANCE) write_advance(w, l->op[i].operand);
  }
  if (of->blocks) {
    line(w, "s_mov_b32 s%d, 0", BLOCK_SCALES_AT);
    write_load_scales(w);
  }
  /* later operations are in the body, as for every tile */
  for (int stage = 0; stage < of->stages && !of->laid; stage++)
    for (int i = 0; i < l->n_ops && l->op[i].time - (of->stages - stage) * l->period < l->begin; i++) {
      if (l->op[i].kind == CDNA_LOOP_PLACE) write_place(w, &l->op[i], stage);
      if (l->op[i].kind == CDNA_LOOP_COPY) write_copy(w, &l->op[i]);
      if (l->op[i].kind == CDNA_LOOP_ADVANCE) write_advance(w, l->op[i].operand);
    }
  count(w, false);
  /* with `blocks`, the first additions are of zeros */
  line(w, ".set tw_i, %d", w->sums);
  line(w, ".rept %d", of->blocks ? w->end - w->sums : sums_of(w));
  line(w, "%s[tw_i], 0", of->blocks ? "v_mov_b32 v" : "v_accvgpr_write_b32 a");
  line(w, ".set tw_i, tw_i + 1");
  line(w, ".endr");
  for (int operand = 0; operand < 2; operand++)
    for (int i = 1; i < w->windows[operand]; i++)
      for (int k = 0; k < w->pieces[operand]; k++)
        line(w, "v_add_u32 v%d, 0x%x, v%d", w->address[operand] + i * w->pieces[operand] + k,
             i * w->reach[operand] * of->operand[operand].bytes, w->address[operand] + k);
  for (int i = 0; i < l->n_ops && l->op[i].time < l->begin && !of->laid; i++) write_op(w, &l->op[i], 0);
  for (int s = -1 - of->stages; s < 0 && of->laid; s++) write_period(w, s, true);
}

static void write_body(writer *w) {
  line(w, "tw_loop%%=:");
  for (int s = 0; s < w->l.turns; s++) {
    write_period(w, s, false);
    if (s + 1 == w->l.turns) write_fixed(w); /* no operation may be unfinished at the jump back to the first period */
    line(w, "s_sub_u32 s%d, s%d, 1", COUNT, COUNT);
    line(w, "s_cmp_eq_u32 s%d, 0", COUNT);
    line(w, s + 1 < w->l.turns ? "s_cbranch_scc1 tw_done%%=" : "s_cbranch_scc0 tw_loop%%=");
  }
  line(w, "tw_done%%=:");
  line(w, "s_waitcnt vmcnt(0) lgkmcnt(0)");
  line(w, "s_mov_b32 m0, s%d", OLD_M0);
  /* waits for the last product, and until other instructions may read it */
  for (int states = w->l.product.cycles / 4 + 4; states > 0; states -= 16)
    line(w, "s_nop %d", states < 16 ? states - 1 : 15);
  if (w->l.of->blocks) write_additions(w, w->l.products / (2 * w->l.of->depth) - 1, 0, w->l.product.sums);
}

static void write_block_operands(writer *w, bool *input) {
  const int rows = scales_of(w) - 1;
  tw_text_add(w->t, ",\n        \"{s[%d:%d]}\"(sa_matrix), \"{s[%d:%d]}\"(sb_matrix)", BLOCK_SCALES, BLOCK_SCALES + 3,
              BLOCK_SCALES + 4, BLOCK_SCALES + 7);
  for (int i = 0; i < rows; i++) tw_text_add(w->t, ", \"{v%d}\"(sa_lane[%d])", w->scale_lane + i, i);
  tw_text_add(w->t, ", \"{v%d}\"(sb_lane)", w->scale_lane + rows);
  for (int i = w->scale_lane; i <= w->scale_lane + rows; i++) input[i] = true;
  for (int i = w->sums; i < w->parts; i++) input[i] = true; /* outputs */
}

static void write_operands(writer *w) {
  const cdna_loop *l = &w->l;
  const int sums = l->product.sums, cols = l->of->operand[1].fragments;
  bool input[VECTORS] = {false};
  tw_text *t = w->t;
  tw_text_add(t, "      :");
  for (int i = 0; i * sums < sums_of(w); i++)
    tw_text_add(t, " \"=&{%c[%d:%d]}\"(sums.value[%d][%d]),%s", kind_of(w, true), w->sums + i * sums,
                w->sums + (i + 1) * sums - 1, i / cols, i % cols, i % 2 ? "\n       " : "");
  tw_text_add(t, " \"+{s[%d:%d]}\"(a_matrix), \"+{s[%d:%d]}\"(b_matrix)", MATRIX, MATRIX + 3, MATRIX + 4, MATRIX + 7);
  if (l->of->scaled) tw_text_add(t, ", \"+{s[%d:%d]}\"(scale_matrix)", SCALE_MATRIX, SCALE_MATRIX + 3);
  tw_text_add(t, "\n");
  tw_text_add(t, "      : \"{s%d}\"(copied), \"{s%d}\"(steps)", COPIED, STEPS);
  for (int i = 0; i < 2; i++) {
    const char name = i ? 'b' : 'a';
    const bool of_lanes = l->of->operand[i].each_lane;
    if (l->of->operand[i].across)
      tw_text_add(t, ",\n        \"{s%d}\"(%c_step), \"{s%d}\"(%c_full), \"{s%d}\"(%c_last)", STEP + i, name, FULL + i,
                  name, FULL_LAST + i, name);
    else if (!of_lanes)
      tw_text_add(t, ",\n        \"{s%d}\"(%c_down)", DOWN + i, name);
    if (has_tail(w, i)) tw_text_add(t, ", \"{v%d}\"(%c_past)", w->past[i], name), input[w->past[i]] = true;
    for (int k = 0; k < lanes_of(w, i); k++)
      tw_text_add(t, ", \"{v%d}\"(%c_lane[%d])", w->lane[i] + k, name, k), input[w->lane[i] + k] = true;
    for (int k = 0; k < w->pieces[i]; k++)
      tw_text_add(t, ", \"{v%d}\"(%c_read[%d])", w->address[i] + k, name, k), input[w->address[i] + k] = true;
  }
  if (l->of->laid) tw_text_add(t, ",\n        \"{v%d}\"(laid)", w->laid), input[w->laid] = true;
  if (l->of->scaled) {
    tw_text_add(t, ",\n        \"{s%d}\"(scale_step), \"{v%d}\"(scale_lane), \"{v%d}\"(a_scale), \"{v%d}\"(b_scale)",
                SCALE_STEP, w->lane[2], w->scales[0], w->scales[1]);
    input[w->lane[2]] = input[w->scales[0]] = input[w->scales[1]] = true;
  }
  if (l->of->blocks) write_block_operands(w, input);
  tw_text_add(t, "\n      : \"memory\", \"scc\"");
  for (int i = SIZE; i < TO_NONE + 2 && l->product.fixes; i++) tw_text_add(t, ", \"s%d\"", i);
  for (int i = OWN; i < w->scalars; i++)
    if (!l->of->blocks || i < BLOCK_SCALES || i >= BLOCK_SCALES_AT)
      tw_text_add(t, "%s\"s%d\"", (i - OWN) % 12 ? ", " : ",\n        ", i);
  for (int i = 0; i < l->places * l->product.words && l->of->blocks; i++)
    tw_text_add(t, "%s\"a%d\"", i % 12 ? ", " : ",\n        ", i);
  for (int i = 0, n = 0; i < w->end; i++)
    if (!input[i]) tw_text_add(t, "%s\"v%d\"", n++ % 12 ? ", " : ",\n        ", i);
  tw_text_add(t, ");\n");
}

tw_status cdna_loop_emit(cdna_arch arch, const tw_tile_loop *of, tw_text *text, tw_error *error) {
  writer *w = tw_new(1, sizeof *w);
  if (!w) return tw_fail(error, TW_NO_MEMORY, "no memory for a loop");
  tw_status status = cdna_loop_schedule(arch, of, &w->l, error);
  if (status == TW_OK) status = cdna_loop_allocate(&w->l, error);
  if (status == TW_OK) status = place_registers(w, error);
  if (status == TW_OK && text) {
    w->t = text;
    tw_text_add(text, "  asm volatile(\n");
    write_before(w);
    count(w, true); /* no operation is known to have ended, because the loop has two entries */
    write_body(w);
    write_operands(w);
  }
  free(w);
  return status;
}
