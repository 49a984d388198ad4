/* execute.c - the loops around a kernel: one structure for every type and instruction set, after Goto and BLIS.
 *
 *   each thread: its rows x columns of C
 *     for nc columns, for mc rows:          a block of C, whose sums stay near
 *       for each block of k:
 *         for mc / rho rows:                pack them (unless A is read in place)
 *           for each panel of B:            in order, so that the next one can be fetched; expanded if it is codes
 *             for each strip of rows:       the kernel
 *
 * Threads share nothing but what they read. k is never dealt to threads, and a sum's products are added in the order of
 * k: the same bits for any number of threads. */
#include <string.h>

#include "target/x86/choose.h"
#include "target/x86/pack.h"
#include "target/x86/weights.h"

typedef struct job {
  const tw_gemm_planned *p;
  const tw_gemm_operands *o;
  char *workspace;                    /* of this thread */
  int64_t row, rows, column, columns; /* the block of C at hand; `column` is the first of a panel */
} job;

/* ---- one tile ---- */

/* Where the strip [i, i + rows) of A is. */
typedef struct strip {
  const char *a;
  int64_t stride, row, rows; /* row: within C */
  x86_tile *tile;
} strip;

static void finish_tile(const job *j, const strip *t, int64_t column, int64_t columns, const void *sums,
                        int64_t sums_stride) {
  const tw_gemm_planned *p = j->p;
  const tw_gemm_operands *o = j->o;
  const int64_t element = tw_type_bits(p->spec.c) / 8;
  const int32_t *offset = p->layout.has_offset ? (const void *)((const char *)o->packed_b + x86_offsets_at(p)) : NULL;
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
                        .offset = offset ? offset + column : NULL};
  p->kernel->finish(&f);
}

/* Sums go to C, to the workspace until the last block of k, or to a tile that is finished at once. */
static void run_tile(const job *j, const strip *t, int64_t block, int64_t column, const char *b, const char *next,
                     bool plain) {
  const tw_gemm_planned *p = j->p;
  const int64_t columns = x86_min(p->kernel->columns, j->column + j->columns - column);
  const int64_t units = x86_block_units(p, block);
  char *sums = j->workspace + p->tile_at;
  int64_t stride = (int64_t)p->kernel->columns * X86_UNIT;
  if (plain || (p->blocks > 1 && p->sums_in_c)) {
    sums = (char *)j->o->c + (t->row * p->spec.ldc + column) * X86_UNIT;
    stride = p->spec.ldc * X86_UNIT;
  } else if (p->blocks > 1) {
    stride = x86_ceil_div(p->nc, p->kernel->columns) * p->kernel->columns * X86_UNIT;
    sums = j->workspace + p->sums_at + (t->row - j->row) * stride + (column - j->column) * X86_UNIT;
  }
  t->tile(units, t->a, t->stride, b, sums, stride, columns, block > 0, next);
  if (!plain && block == p->blocks - 1) finish_tile(j, t, column, columns, sums, stride);
}

/* ---- strips of A ---- */

/* Rows are dealt to strips of equal height, as far as they go: this walks over them. */
typedef struct strips {
  int64_t left, low, taller, next_row, units, packed; /* packed: bytes from the start of the buffer */
} strips;

static strips strips_of(const job *j, int64_t row, int64_t rows, int64_t block) {
  const int64_t n = x86_ceil_div(rows, j->p->kernel->rows);
  return (strips){
      .left = n, .low = rows / n, .taller = rows % n, .next_row = row, .units = x86_block_units(j->p, block)};
}

static bool next_strip(const job *j, strips *s, int64_t block, strip *t) {
  const tw_gemm_planned *p = j->p;
  if (s->left-- == 0) return false;
  t->row = s->next_row;
  t->rows = s->low + (s->taller-- > 0);
  s->next_row += t->rows;
  if (p->a_mode == X86_A_IN_PLACE) {
    t->stride = p->a_stride;
    t->a = (const char *)j->o->a + t->row * t->stride + block * p->layout.block * X86_UNIT;
    t->tile = p->kernel->direct[t->rows - 1];
  } else {
    t->stride = 0;
    t->a = j->workspace + p->strip_at + s->packed;
    t->tile = p->kernel->packed[t->rows - 1];
    s->packed += t->rows * s->units * X86_UNIT;
  }
  return true;
}

static void pack_strip(const job *j, const strip *t, int64_t block) {
  const tw_gemm_planned *p = j->p;
  const int64_t units = x86_block_units(p, block), unit = block * p->layout.block;
  const int64_t bytes = tw_type_bits(p->spec.a) / 8;
  const bool whole = (unit + units) * x86_kernel_group(p->kernel) <= p->spec.k;
  const char *from = (const char *)j->o->a + t->row * p->spec.lda * bytes + unit * X86_UNIT;
  int64_t stride = p->spec.lda * bytes;
  if (x86_converts_a(p) || !whole) {
    stride = units * X86_UNIT;
    from = j->workspace + p->rows_at;
    x86_convert_rows(p, j->o->a, t->row, t->rows, unit, units, j->workspace + p->rows_at, stride);
  }
  p->kernel->transpose((char *)t->a, from, stride, t->rows, units);
}

/* ---- blocks ---- */

static void run_rows(const job *j, int64_t row, int64_t rows, int64_t block, bool plain) {
  const tw_gemm_planned *p = j->p;
  const int64_t width = p->kernel->columns, units = x86_block_units(p, block);
  const int64_t bytes = (int64_t)x86_panel_bytes(p, units), part = units * X86_LINE;
  const strips all = strips_of(j, row, rows, block);
  strip t;
  for (strips s = all; p->a_mode == X86_A_PACKED && next_strip(j, &s, block, &t);) pack_strip(j, &t, block);
  const char *b = (const char *)j->o->packed_b + x86_panel_at(p, block, j->column / width);
  for (int64_t column = j->column; column < j->column + j->columns; column += width, b += bytes) {
    /* The first strips fetch the next panel, which lies behind this one. A single strip leaves that to the hardware. */
    int64_t to_fetch = all.left > 1 && column + width < j->column + j->columns ? bytes / part : 0;
    const char *next = b + bytes, *panel = b;
    if (p->expands) {
      panel = j->workspace + p->panel_at;
      p->kernel->expand(&p->codes, b, b + x86_codes_bytes(p, units), units, width, j->workspace + p->panel_at);
    }
    for (strips s = all; next_strip(j, &s, block, &t); next += part)
      run_tile(j, &t, block, column, panel, to_fetch-- > 0 ? next : panel, plain);
  }
}

static void run_block(const job *j, bool plain) {
  const tw_gemm_planned *p = j->p;
  const int64_t buffer = x86_ceil_div(p->mc, p->rho);
  for (int64_t block = 0; block < p->blocks; block++)
    for (int64_t row = j->row; row < j->row + j->rows; row += buffer)
      run_rows(j, row, x86_min(buffer, j->row + j->rows - row), block, plain);
}

/* The part of `n` things that belongs to `index` of `count`. */
static int64_t part_start(int64_t n, int index, int count) { return n * index / count; }

static void run_thread(const tw_gemm_planned *p, const tw_gemm_operands *o, char *workspace, int thread) {
  const int at_m = thread % p->threads_m, at_n = thread / p->threads_m;
  const int64_t width = p->kernel->columns, panels = x86_panels(p);
  const int64_t first_row = part_start(p->spec.m, at_m, p->threads_m);
  const int64_t end_row = part_start(p->spec.m, at_m + 1, p->threads_m);
  const int64_t first_column = part_start(panels, at_n, p->threads_n) * width;
  const int64_t end_column = x86_min(part_start(panels, at_n + 1, p->threads_n) * width, p->spec.n);
  const bool plain = p->plain && !o->bias && !o->row_scale && !o->column_scale;
  job j = {.p = p, .o = o, .workspace = workspace};
  for (j.column = first_column; j.column < end_column; j.column += p->nc) {
    j.columns = x86_min(p->nc, end_column - j.column);
    for (j.row = first_row; j.row < end_row; j.row += p->mc) {
      j.rows = x86_min(p->mc, end_row - j.row);
      run_block(&j, plain);
    }
  }
}

/* ---- workspaces ---- */

static int take_workspace(x86_workspaces *w) {
  pthread_mutex_lock(&w->lock);
  const uint64_t all = w->n >= 64 ? ~UINT64_C(0) : (UINT64_C(1) << w->n) - 1;
  while ((w->taken & all) == all) pthread_cond_wait(&w->returned, &w->lock);
  const int index = __builtin_ctzll(~w->taken);
  w->taken |= UINT64_C(1) << index;
  pthread_mutex_unlock(&w->lock);
  return index;
}

static void return_workspace(x86_workspaces *w, int index) {
  pthread_mutex_lock(&w->lock);
  w->taken &= ~(UINT64_C(1) << index);
  pthread_cond_signal(&w->returned);
  pthread_mutex_unlock(&w->lock);
}

/* ---- arguments ---- */

static bool overlap(const void *a, size_t a_bytes, const void *b, size_t b_bytes) {
  const uintptr_t x = (uintptr_t)a, y = (uintptr_t)b;
  return a && b && x < y + b_bytes && y < x + a_bytes;
}

static size_t matrix_bytes(int64_t rows, int64_t columns, int64_t pitch, tw_type type) {
  return (size_t)((rows - 1) * pitch + columns) * (size_t)tw_type_bits(type) / 8;
}

static tw_status check_overlap(const tw_gemm_planned *p, const tw_gemm_operands *o, tw_error *error) {
  const tw_gemm_spec *s = &p->spec;
  const size_t c_bytes = matrix_bytes(s->m, s->n, s->ldc, s->c), real = sizeof(float);
  const struct {
    const char *name;
    const void *data;
    size_t bytes;
  } others[] = {
      {"a", o->a, s->a_transposed ? matrix_bytes(s->k, s->m, s->lda, s->a) : matrix_bytes(s->m, s->k, s->lda, s->a)},
      {"packed_b", o->packed_b, tw_gemm_packed_bytes(p)},
      {"bias", o->bias, (size_t)s->n * real},
      {"row_scale", o->row_scale, (size_t)s->m * real},
      {"column_scale", o->column_scale, (size_t)s->n * real}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (overlap(o->c, c_bytes, others[i].data, others[i].bytes))
      return tw_fail(error, TW_USAGE, "tw_gemm_execute: c overlaps %s", others[i].name);
  return TW_OK;
}

static tw_status check_operands(const tw_gemm_planned *p, const tw_gemm_operands *o, tw_error *error) {
  if (!p) return tw_fail(error, TW_USAGE, "tw_gemm_execute: the plan is NULL");
  if (!o) return tw_fail(error, TW_USAGE, "tw_gemm_execute: the operands are NULL");
  if (!o->a) return tw_fail(error, TW_USAGE, "tw_gemm_execute: a is NULL");
  if (!o->packed_b) return tw_fail(error, TW_USAGE, "tw_gemm_execute: packed_b is NULL");
  if (!o->c) return tw_fail(error, TW_USAGE, "tw_gemm_execute: c is NULL");
  if ((uintptr_t)o->packed_b % TW_GEMM_ALIGNMENT)
    return tw_fail(error, TW_USAGE, "tw_gemm_execute: packed_b is not aligned to %d bytes", TW_GEMM_ALIGNMENT);
  if (memcmp(o->packed_b, &p->layout, sizeof p->layout) != 0)
    return tw_fail(error, TW_USAGE,
                   "tw_gemm_execute: packed_b was not packed by a plan of this n, k, types and kernel");
  if (p->spec.c == TW_I32 && (o->bias || o->row_scale || o->column_scale))
    return tw_fail(error, TW_USAGE, "tw_gemm_execute: %s does not go with c=i32: use c=f32",
                   o->bias        ? "bias"
                   : o->row_scale ? "row_scale"
                                  : "column_scale");
  return check_overlap(p, o, error);
}

tw_status tw_gemm_execute(const tw_gemm_planned *p, const tw_gemm_operands *o, tw_error *error) {
  const tw_status status = check_operands(p, o, error);
  if (status != TW_OK) return status;
  const int threads = p->threads_m * p->threads_n;
  const int index = take_workspace(p->workspaces);
  char *workspace = p->workspaces->memory + (size_t)index * (size_t)p->spec.threads * p->bytes_per_thread;
  if (threads == 1) {
    run_thread(p, o, workspace, 0);
  } else {
    /* The loop, not the thread's number, deals out the work: it is all done even if fewer threads were had. */
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (int t = 0; t < threads; t++) run_thread(p, o, workspace + (size_t)t * p->bytes_per_thread, t);
  }
  return_workspace(p->workspaces, index);
  return TW_OK;
}
