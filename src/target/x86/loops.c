/* loops.c - the loops around a kernel: one structure for every type and instruction set, after Goto and BLIS.
 *
 *   each part of C, for the next free thread:
 *     for nc columns, for mc rows:          a block of C, whose sums stay in cache
 *       for each block of k:
 *         for mc / rho rows:                pack them, rounded if necessary (unless A is read in place)
 *           for each panel of B, or two:    in order, so that the next one can be fetched; codes are expanded,
 *             for each strip of rows:       the kernel                              or the kernel is one on codes
 *
 * Threads share only inputs. k is never divided between parts, and a sum's products are added in the order of k: the
 * same bits for any number of threads. */
#include "target/x86/loops.h"

#include "target/x86/activations.h"
#include "target/x86/choose.h"
#include "target/x86/in_place.h"
#include "target/x86/pack.h"
#include "target/x86/weights.h"

typedef struct job {
  const tw_gemm_plan *p;
  const tw_gemm_operands *o;
  const void *b;                      /* unpacked, if each part packs it */
  float scale;                        /* factor of its elements */
  char *workspace;                    /* of this thread */
  int64_t row, rows, column, columns; /* the current block of C; `column` is the first of a panel */
  int64_t end_row;                    /* of the part */
} job;

/* ---- one tile ---- */

/* The address of the strip [row, row + rows) of A, or of `n` such strips one below the other. */
typedef struct strip {
  const char *a;
  int64_t stride, row, rows, n; /* row: within C */
  int64_t units;                /* units of k, with the zeros that packing adds after k */
  int64_t group_at;             /* index of its sums and scales of groups */
} strip;

/* The current panel, and the prefetch meanwhile: `next_step` bytes for each line that a tile reads. */
typedef struct panel {
  const char *packed, *scales, *b, *next; /* b: the data that tiles read, units or codes */
  int64_t next_step, columns;             /* columns: of several panels for a wide tile or a tile on codes */
  int64_t stride, scales_stride;          /* bytes from one panel to the next, of units or codes; of scales */
  bool fetches_c;                         /* AMX: the C of the following strip is prefetched, too */
} panel;

/* For a rounded A: scales of the current block's rows. */
static float *scales_of_rows(const job *j) { return (void *)(j->workspace + j->p->row_scale_at); }

static void finish_columns(const job *j, const strip *t, int64_t column, int64_t columns, const void *sums,
                           int64_t sums_stride) {
  const tw_gemm_plan *p = j->p;
  const tw_gemm_operands *o = j->o;
  const int64_t element = tw_type_bits(p->spec.c) / 8;
  const x86_finish f = {.sums = sums,
                        .sums_stride = sums_stride,
                        .c = (char *)o->c + (t->row * p->spec.ldc + column) * element,
                        .c_stride = p->spec.ldc * element,
                        .rows = t->rows,
                        .columns = columns,
                        .output = p->output,
                        .activation = (x86_activation)p->spec.activation,
                        .alpha = p->spec.alpha,
                        .beta = p->spec.beta,
                        .row_scale = o->row_scale ? o->row_scale + t->row : NULL,
                        .column_scale = o->column_scale ? o->column_scale + column : NULL,
                        .bias = o->bias ? o->bias + column : NULL,
                        .sums_are_real = p->has_codes};
  p->kernel->finish(&f);
}

static void finish_tile(const job *j, const strip *t, int64_t column, int64_t columns, const char *sums,
                        int64_t sums_stride) {
  for (int64_t at = 0; at < columns; at += X86_COLUMNS_MAX)
    finish_columns(j, t, column + at, x86_min(columns - at, X86_COLUMNS_MAX), sums + at * X86_UNIT, sums_stride);
}

enum { SCALES_AHEAD = 1024 }; /* bytes that scales are fetched before they are used */

static x86_coded coded_of(const job *j, int64_t block, const panel *b) {
  const tw_gemm_plan *p = j->p;
  return (x86_coded){.units = x86_filled(p, x86_block_units(p, block)),
                     .group_units = p->codes.group_units,
                     .codes = b->packed,
                     .scales = b->scales,
                     .scales_ahead = SCALES_AHEAD,
                     .codes_stride = b->stride,
                     .scales_stride = b->scales_stride,
                     .scale_bytes = p->codes.scale_bytes,
                     .factor = p->codes.factor,
                     .next = b->next,
                     .next_step = b->next_step};
}

static x86_coded_tile *const *tiles_on_codes(const tw_gemm_plan *p, const void *packed) {
  const x86_form form = p->expands ? X86_S8 : p->codes.form;
  x86_coded_tile *const *powers = p->kernel->powers[form];
  const bool fit = p->codes.scale_bytes == 1 && !((const char *)packed)[X86_LARGE_SCALES];
  return powers && fit && p->spec.a_rounding == TW_A_INT8_GROUPS ? powers : p->kernel->coded[form];
}

static void run_coded(const job *j, const strip *t, int64_t block, int64_t columns, const panel *b, void *sums,
                      int64_t stride, bool accumulate) {
  const tw_gemm_plan *p = j->p;
  x86_coded o = coded_of(j, block, b);
  o.codes = b->b, o.a = t->a, o.c = sums, o.c_stride = stride, o.columns = columns, o.accumulate = accumulate,
  o.strips = t->n;
  if (x86_quantizes(&p->spec)) {
    o.start = (const int32_t *)(const void *)(j->workspace + p->start_at) + t->group_at;
    o.a_run = x86_run(p) * X86_UNIT / x86_kernel_group(p->kernel);
    o.a_strip = t->rows * x86_units_in_runs(p, t->units) * X86_UNIT;
  }
  if (p->spec.a_rounding == TW_A_INT8_GROUPS)
    o.a_scales = (const float *)(const void *)(j->workspace + p->a_scale_at) + t->group_at;
  if (p->spec.a_rounding == TW_A_INT8_ROWS) o.row_scales = scales_of_rows(j) + (t->row - j->row);
  tiles_on_codes(p, j->o->packed_b)[t->rows - 1](&o);
}

/* Bytes of an element that a tile stores. */
static int64_t stored_bytes(const tw_gemm_plan *p, bool plain) {
  return plain && p->rounds ? (int64_t)sizeof(uint16_t) : X86_UNIT;
}

enum { PAGE = 4096 }; /* the hardware prefetches rows of C that are less than a page apart */

/* Prefetches C while its sums are computed, if they are stored only at the end. */
static void fetch_c(const job *j, const strip *t, int64_t column, int64_t columns) {
  const tw_gemm_plan *p = j->p;
  const int64_t element = tw_type_bits(p->spec.c) / 8;
  if (p->spec.ldc * element < PAGE) return;
  for (int64_t i = 0; i < t->rows; i++) {
    const char *row = (const char *)j->o->c + ((t->row + i) * p->spec.ldc + column) * element;
    for (int64_t at = 0; at < columns * element; at += X86_LINE) __builtin_prefetch(row + at, 1);
  }
}

/* For `columns` of C. */
static x86_tile *tile_on(const tw_gemm_plan *p, int64_t rows, const panel *b, int64_t columns) {
  const x86_kernel *k = p->kernel;
  const bool wide = k->wide_rows && b->columns > k->columns, direct = p->a_mode == X86_A_IN_PLACE;
  if (!wide && columns <= k->narrow_columns) return (direct ? k->narrow_direct : k->narrow_packed)[rows - 1];
  return (wide ? direct ? k->wide_direct : k->wide_packed : direct ? k->direct : k->packed)[rows - 1];
}

/* May one call process several strips? Not if sums are finished tile by tile. */
static bool takes_strips(const tw_gemm_plan *p, int64_t block, bool plain) { return plain || block < p->blocks - 1; }

/* Where sums go: to C, to the workspace until the last block of k, or to a tile that is finished at once. */
static void run_tile(const job *j, const strip *t, int64_t block, int64_t column, const panel *b, bool plain) {
  const tw_gemm_plan *p = j->p;
  const int64_t columns = x86_min(b->columns, j->column + j->columns - column);
  const int64_t element = stored_bytes(p, plain);
  char *sums = j->workspace + p->tile_at;
  int64_t stride = b->columns * X86_UNIT;
  if (plain || (p->blocks > 1 && p->sums_in_c)) {
    sums = (char *)j->o->c + (t->row * p->spec.ldc + column) * element;
    stride = p->spec.ldc * element;
  } else if (p->blocks > 1) {
    stride = x86_ceil_div(p->nc, p->kernel->columns) * p->kernel->columns * X86_UNIT;
    sums = j->workspace + p->sums_at + (t->row - j->row) * stride + (column - j->column) * X86_UNIT;
  }
  if (!plain && p->blocks == 1) fetch_c(j, t, column, columns);
  const bool accumulate = block > 0 || (plain && p->adds);
  const int into = (accumulate           ? X86_ADD
                    : plain && p->rounds ? X86_ROUND
                                         : X86_SET) |
                   (p->by_strips ? X86_BY_STRIPS : 0) | (b->fetches_c ? X86_FETCH_C : 0);
  if (p->on_codes)
    run_coded(j, t, block, columns, b, sums, stride, accumulate);
  else
    tile_on(p, t->rows, b, columns)(t->units, t->a, t->stride, b->b, b->stride, sums, stride, columns, into, b->next,
                                    b->next_step, t->n);
  if (!plain && block == p->blocks - 1) finish_tile(j, t, column, columns, sums, stride);
}

/* ---- strips of A ---- */

/* How rows are divided into strips (x86_strips_of); a walk over the strips. */
typedef struct strips {
  int64_t left, low, taller, next_row, end_row;
  int64_t packed_rows, units,
      groups; /* packed_rows: rows before the next strip in the buffer; units, and the groups of them */
} strips;

static strips strips_of(const job *j, int64_t row, int64_t rows, int64_t block, bool two_panels) {
  const x86_strips s = x86_strips_of(j->p, rows, x86_rows_of_tile(j->p, two_panels));
  const int64_t units = x86_filled(j->p, x86_block_units(j->p, block));
  const bool rounds = x86_quantizes(&j->p->spec);
  return (strips){.left = s.n,
                  .low = s.low,
                  .taller = s.taller,
                  .next_row = row,
                  .end_row = row + rows,
                  .units = rounds ? x86_units_in_runs(j->p, units) : units,
                  .groups = rounds ? x86_groups(j->p, units) : 0};
}

/* Up to `most` strips of the same height. */
static bool next_strips(const job *j, strips *s, int64_t block, int64_t most, strip *t) {
  const tw_gemm_plan *p = j->p;
  if (s->left == 0) return false;
  const bool taller = s->taller > 0;
  t->row = s->next_row;
  t->rows = x86_min(s->low + taller, s->end_row - s->next_row);
  t->n = most == 1 ? 1 : x86_min(most, taller ? s->taller : (s->end_row - s->next_row) / t->rows);
  s->left -= t->n;
  s->taller -= taller ? t->n : 0;
  s->next_row += t->n * t->rows;
  t->group_at = 0;
  t->stride = p->a_stride;
  if (p->a_mode == X86_A_IN_PLACE) {
    t->units = x86_block_units(p, block);
    t->a = (const char *)j->o->a + t->row * t->stride + block * p->layout.block * X86_UNIT;
  } else {
    t->units = s->units;
    t->a = j->workspace + p->strip_at + (size_t)s->packed_rows * x86_row_bytes(p, s->units);
    t->group_at = s->packed_rows * s->groups;
    s->packed_rows += t->n * t->rows;
  }
  return true;
}

static void round_strips(const job *j, const strip *t, int64_t block, int64_t units) {
  const tw_gemm_plan *p = j->p;
  float *row_scales = scales_of_rows(j) + (t->row - j->row);
  const x86_rounded to = {.row_scales = row_scales,
                          .to = (char *)t->a,
                          .start = (int32_t *)(void *)(j->workspace + p->start_at) + t->group_at,
                          .a_scales = (float *)(void *)(j->workspace + p->a_scale_at) + t->group_at,
                          .room = j->workspace + p->row_at};
  if (block == 0 && p->spec.a_rounding == TW_A_INT8_ROWS)
    x86_row_scales(p, j->o->a, t->row, t->n * t->rows, row_scales, j->workspace + p->row_at);
  x86_round_strips(p, j->o->a, t->row, t->n, t->rows, block * p->layout.block, units, &to);
}

/* Number of strips to round at once. For a transposed A one, whose rows are gathered first; otherwise the strips
 * that fit L1, because each is read twice. */
static int64_t rounded_at_once(const tw_gemm_plan *p) {
  enum { ROOM = 16384 };
  if (p->spec.a_transposed) return 1;
  if (p->spec.a_rounding == TW_A_INT8_GROUPS) return INT64_MAX;
  const int64_t bytes = p->strip_rows * p->spec.k * tw_type_bits(p->spec.a) / 8;
  return bytes < ROOM ? ROOM / bytes : 1;
}

/* Rows that need no conversion are packed as stored, except for the units after the last whole line: their last unit may
 * be incomplete. */
static void pack_strip(const job *j, const strip *t, int64_t block, int64_t units) {
  enum { LINE = X86_LINE / X86_UNIT };
  const tw_gemm_plan *p = j->p;
  const int64_t unit = block * p->layout.block, bytes = tw_type_bits(p->spec.a) / 8;
  if (x86_pack_columns_of_a(p, j->o->a, t->row, t->rows, unit, units, (void *)t->a)) return;
  int64_t stored = units; /* to be packed as stored */
  if ((unit + units) * x86_kernel_group(p->kernel) > p->spec.k)
    stored = (p->spec.k / x86_kernel_group(p->kernel) - unit) / LINE * LINE;
  if (x86_converts_a(p) || (p->looks_up && stored < units)) stored = 0;
  x86_tabulate *const pack = p->looks_up ? p->kernel->tabulate : p->kernel->transpose;
  const int64_t stride = p->spec.lda * bytes, left = units - stored;
  if (stored) pack((char *)t->a, (const char *)j->o->a + t->row * stride + unit * X86_UNIT, stride, t->rows, stored);
  if (!left) return;
  char *const rows = j->workspace + p->rows_at;
  x86_convert_rows(p, j->o->a, t->row, t->rows, unit + stored, left, rows, left * X86_UNIT);
  pack((char *)t->a + t->rows * stored * X86_UNIT, rows, left * X86_UNIT, t->rows, left);
}

static void pack_strips(const job *j, strips s, int64_t block) {
  const bool rounds = x86_quantizes(&j->p->spec);
  const int64_t most = rounds ? rounded_at_once(j->p) : 1;
  strip t;
  while (next_strips(j, &s, block, most, &t)) {
    if (rounds)
      round_strips(j, &t, block, s.units);
    else
      pack_strip(j, &t, block, s.units);
  }
}

/* ---- blocks ---- */

/* The prefetch while strip `index` of `count` uses a panel of `bytes`; a line is prefetched for each line of the panel.
 * A single strip prefetches a little further ahead. With several strips, the first few prefetch the next panel, which
 * follows this one, in equal parts, unless it is near: there is none, or A and the panels of the block stay in L2. On
 * an Intel server f32 is 1.07 times as fast at 300 x 301 x 302 without this prefetch. */
enum { PARTS_MOST = 4 };

static void fetch_ahead(const job *j, panel *b, int64_t index, int64_t count, int64_t bytes, bool near) {
  const tw_gemm_plan *p = j->p;
  const int64_t parts = x86_min(count, PARTS_MOST);
  const int64_t line = p->expands ? p->codes.vector * p->codes.bits / 8 : p->on_codes ? p->codes.vector : X86_LINE;
  b->next_step = line / parts;
  b->next = b->packed + (count == 1 ? p->ahead : bytes + index * bytes / parts);
  if (index < parts && (!near || count == 1)) return;
  b->next = b->b, b->next_step = 0; /* nothing */
}

/* The prefetch while the strip at `row` is multiplied by panels from `index` on, of `count`: the following strip and its
 * C. If rho is 1, a strip takes all blocks of k in turn, so the following strip has the same rows until the last block. */
static void fetch_next_strip(const job *j, panel *b, int64_t row, int64_t block, int64_t index, int64_t count,
                             bool in_c) {
  const tw_gemm_plan *p = j->p;
  const bool same_rows = p->rho == 1 && block < p->blocks - 1;
  const int64_t next = same_rows ? row : row + p->strip_rows, left = j->end_row - next;
  const int64_t next_block = same_rows ? block + 1 : p->rho == 1 ? 0 : block;
  const int64_t step = x86_ceil_div(p->strip_rows, count), first = step * index;
  b->next_step = first < left && first < p->strip_rows && !x86_converts_a(p) ? step : 0;
  b->next = (const char *)j->o->a + (next + first) * p->a_stride + next_block * p->layout.block * X86_UNIT;
  b->fetches_c = in_c && left > 0 && !same_rows;
}

/* Gives panels the form that tiles read. Codes are expanded, to units or, for tiles on codes, to 8-bit codes, unless
 * the tiles read them directly. */
static void bring_units(const job *j, int64_t block, panel *b, int64_t bytes, int64_t scales) {
  const tw_gemm_plan *p = j->p;
  const int64_t width = p->kernel->columns;
  b->b = b->packed, b->stride = bytes;
  if (!p->has_codes || (p->on_codes && !p->expands)) return;
  b->b = j->workspace + p->panel_at, b->stride = x86_filled(p, x86_block_units(p, block)) * width * X86_UNIT;
  for (int64_t i = 0; i * width < b->columns; i++) {
    const panel of = {.packed = b->packed + i * bytes,
                      .scales = b->scales + i * scales,
                      .next = b->packed + (i + 1) * bytes,
                      .next_step = p->codes.vector};
    const x86_coded o = coded_of(j, block, &of);
    p->kernel->expand[p->codes.form](&o, j->workspace + p->panel_at + i * b->stride);
  }
}

/* Number of columns for one call: of all panels, for a tile on codes, if their sums fit and no other strip waits for
 * them. A call for each panel costs a tenth of the time with ternary codes, which have short panels. */
static int64_t panels_at_once(const tw_gemm_plan *p, int64_t rows, int64_t columns, bool plain) {
  const int64_t panels = x86_ceil_div(columns, p->kernel->columns);
  if (p->by_strips) return plain || p->blocks > 1 ? panels : 1;
  if (p->on_codes && rows <= p->strip_rows && !p->expands && (plain || p->blocks > 1)) return panels;
  /* One and a half panels: two tiles, of which one is narrow, cost less than a wide one. */
  if (p->wide && columns <= p->kernel->columns + p->kernel->narrow_columns) return 1;
  return p->wide || p->looks_up ? x86_min(panels, 2) : 1;
}

static void run_rows(const job *j, int64_t row, int64_t rows, int64_t block, bool plain) {
  const tw_gemm_plan *p = j->p;
  const int64_t width = p->kernel->columns, units = x86_block_units(p, block), end = j->column + j->columns;
  const int64_t bytes = (int64_t)x86_panel_bytes(p, units);
  if (p->a_mode == X86_A_PACKED) pack_strips(j, strips_of(j, row, rows, block, p->wide), block);
  const char *first =
      p->packs_b ? j->workspace + p->b_at : (const char *)j->o->packed_b + x86_panel_at(p, block, j->column / width);
  const int64_t scales = p->has_codes ? (int64_t)x86_scales_bytes(p, units) : 0;
  const bool in_c = plain || (p->blocks > 1 && p->sums_in_c); /* tiles store to C */
  const int64_t c_row = p->spec.ldc * stored_bytes(p, plain);
  panel b = {.packed = first, .scales_stride = scales};
  strips all = {0};
  int64_t before = 0; /* panels at once, for which `all` are the strips */
  if (p->has_codes) b.scales = (const char *)j->o->packed_b + x86_scales_at(p, block, j->column / width);
  for (int64_t column = j->column; column < end; column += b.columns) {
    const int64_t panels = panels_at_once(p, rows, end - column, plain);
    if (panels != before) all = strips_of(j, row, rows, block, panels > 1);
    before = panels;
    b.columns = panels * width;
    bring_units(j, block, &b, bytes, scales);
    const int64_t most = takes_strips(p, block, plain) ? all.left : 1;
    const bool near = p->near && all.left >= PARTS_MOST;
    b.fetches_c = p->kernel->isa == X86_AMX && in_c && all.left > 1 && c_row >= PAGE;
    strip t;
    int64_t index = 0; /* index of a strip: a run of strips ends with the prefetch */
    for (strips s = all; next_strips(j, &s, block, index < PARTS_MOST ? x86_min(most, PARTS_MOST - index) : most, &t);
         index += t.n) {
      if (p->by_strips)
        fetch_next_strip(j, &b, row, block, (column - j->column) / width, x86_ceil_div(j->columns, width), in_c);
      else
        fetch_ahead(j, &b, index, all.left, panels * bytes, near || column + b.columns >= end);
      run_tile(j, &t, block, column, &b, plain);
    }
    b.packed += panels * bytes, b.scales += panels * scales;
  }
}

static void pack_b(const job *j, int64_t block) {
  const tw_gemm_plan *p = j->p;
  const int64_t first = j->column / p->kernel->columns, n = x86_ceil_div(j->columns, p->kernel->columns);
  x86_pack_panels(p, j->b, j->scale, block, first, n, j->workspace + p->b_at);
}

static void run_block(const job *j, bool plain) {
  const tw_gemm_plan *p = j->p;
  const int64_t buffer = x86_ceil_div(p->mc, p->rho);
  for (int64_t block = 0; block < p->blocks; block++) {
    if (p->packs_b) pack_b(j, block);
    for (int64_t row = j->row; row < j->row + j->rows; row += buffer)
      run_rows(j, row, x86_min(buffer, j->row + j->rows - row), block, plain);
  }
}

void x86_run_part(const tw_gemm_plan *p, const tw_gemm_operands *o, char *workspace, int part) {
  x86_run_part_on(p, o, NULL, 1, workspace, part);
}

/* The block is a part whose tiles read A in place, and B as stored or, if `packs`, as panels in the workspace. */
static void run_in_place(const job *j, bool packs) {
  const tw_gemm_plan *p = j->p;
  const int64_t width = p->kernel->columns, c_pitch = p->spec.ldc * X86_UNIT;
  const int64_t a_row = p->spec.a_transposed ? X86_UNIT : p->a_stride;
  x86_in_place x = {.kernel = p->kernel,
                    .a = (const char *)j->o->a + j->row * a_row,
                    .b = (const char *)j->b + j->column * X86_UNIT,
                    .c = (char *)j->o->c + j->row * c_pitch + j->column * X86_UNIT,
                    .a_pitch = p->a_stride,
                    .b_row = p->spec.ldb * X86_UNIT,
                    .panel = width * X86_UNIT,
                    .c_pitch = c_pitch,
                    .rows = j->rows,
                    .columns = j->columns,
                    .units = p->units,
                    .turned = p->spec.a_transposed,
                    .into = p->adds ? X86_ADD : X86_SET,
                    .alpha_beta = {1, 1}};
  if (packs) {
    char *const panels = j->workspace + p->b_at;
    x.b = panels, x.b_row = width * X86_UNIT, x.panel = p->units * width * X86_UNIT;
    x86_pack_panels(p, j->b, j->scale, 0, j->column / width, x86_ceil_div(j->columns, width), panels);
  }
  x86_run_in_place(&x);
}

void x86_run_part_on(const tw_gemm_plan *p, const tw_gemm_operands *o, const void *b, float scale, char *workspace,
                     int part) {
  const int64_t width = p->kernel->columns;
  int64_t first_row = 0, end_row = p->spec.m, first_column = 0, end_column = p->spec.n;
  if (p->parts_m * p->parts_n > 1) { /* divisions take time */
    const int at_m = part % p->parts_m, at_n = part / p->parts_m;
    const int64_t panels = x86_panels(p);
    first_row = x86_part_row(p, at_m), end_row = x86_part_row(p, at_m + 1);
    first_column = x86_part_start(panels, at_n, p->parts_n) * width;
    end_column = x86_min(x86_part_start(panels, at_n + 1, p->parts_n) * width, p->spec.n);
  }
  job j = {.p = p, .o = o, .b = b, .scale = scale, .workspace = workspace, .row = first_row, .column = first_column};
  j.end_row = end_row, j.rows = end_row - first_row, j.columns = end_column - first_column;
  const bool in_place = p->reads_b && scale == 1;
  if (in_place || (p->turns_a && j.columns <= p->nc)) {
    run_in_place(&j, !in_place);
    return;
  }
  const bool plain = p->plain && !o->bias && !o->row_scale && !o->column_scale;
  if (p->kernel->begin) p->kernel->begin();
  for (j.column = first_column; j.column < end_column; j.column += p->nc) {
    j.columns = x86_min(p->nc, end_column - j.column);
    for (j.row = first_row; j.row < end_row; j.row += p->mc) {
      j.rows = x86_min(p->mc, end_row - j.row);
      run_block(&j, plain);
    }
  }
  if (p->kernel->end) p->kernel->end();
}

/* ---- parts and threads ---- */

void x86_deal_parts(x86_deal *d, const tw_gemm_plan *p) {
  d->threads = p->threads;
  d->parts = p->parts_m * p->parts_n;
  d->apart = (int)x86_min(X86_THREADS_MOST / d->threads, X86_LINE / (int)sizeof *d->taken);
  for (int i = 0; d->threads < d->parts && i < d->threads; i++) atomic_init(&d->taken[i * d->apart], 0);
}

int x86_next_part(x86_deal *d, int thread, int *from) {
  if (d->threads == d->parts) return (*from)++ ? -1 : thread;
  for (; *from < d->threads; ++*from) {
    const int owner = (thread + *from) % d->threads;
    const int first = (int)x86_part_start(d->parts, owner, d->threads);
    const int end = (int)x86_part_start(d->parts, owner + 1, d->threads);
    atomic_int *taken = &d->taken[owner * d->apart];
    if (first + atomic_load_explicit(taken, memory_order_relaxed) >= end) continue;
    const int part = first + atomic_fetch_add_explicit(taken, 1, memory_order_relaxed);
    if (part < end) return part;
  }
  return -1;
}
