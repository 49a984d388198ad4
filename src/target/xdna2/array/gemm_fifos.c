/* gemm_fifos.c - object FIFOs of the GEMM, and the order in which their ends walk the operands. The layout follows
 * whole_array.py and the ATB designs. */
#include <stdio.h>

#include "target/xdna2/array/gemm_array.h"

enum { L2_COPIES = XD_GEMM_L2_COPIES };

static xd_fifo_end end_at(int column, int row, int depth) {
  return (xd_fifo_end){.tile = {column, row}, .depth = depth};
}

static xd_fifo fifo_named(const char *what, int column, int row, int64_t bytes, tw_type type) {
  xd_fifo f = {.bytes = bytes, .type = type};
  if (row < 0)
    snprintf(f.name, sizeof f.name, "%s_%d", what, column);
  else
    snprintf(f.name, sizeof f.name, "%s_%d_%d", what, column, row);
  return f;
}

/* A leaves the memory tile as blocks of r x s, sub-tile by sub-tile. With one step of K in L2 the memory tile does this
 * alone. With more, it sends columns of blocks as runs of rows for each sub-tile, and the cores put the blocks in their
 * places (four and three dimensions do not suffice otherwise). */
static void order_a(const xd_gemm *g, const xd_gemm_shape *s, xd_fifo_end *from, xd_fifo_end *to) {
  const int64_t e = s->a_bytes8 / 8, k = g->tile.k, rows = g->tile.m / g->tile.rho;
  const int64_t high = g->kernel->vmac[0], deep = g->kernel->vmac[1], block = high * deep * e;
  if (s->a_bytes8 == 9) return;
  from->n_dims = 4;
  from->dim[0] = (xd_dim){deep * e, 1, 0, 0};
  if (g->depth == 1) {
    from->dim[1] = (xd_dim){high, k * e, 0, 0};
    from->dim[2] = (xd_dim){k / deep, deep * e, 0, 0};
    from->dim[3] = (xd_dim){g->tile.m / high, high * k * e, 0, 0};
    return;
  }
  from->dim[1] = (xd_dim){rows, k * e, 0, 0};
  from->dim[2] = (xd_dim){k / deep, deep * e, 0, 0};
  from->dim[3] = (xd_dim){g->depth * g->tile.rho, rows * k * e, 0, 0};
  to->n_dims = 3;
  to->dim[0] = (xd_dim){block, 1, 0, 0};
  to->dim[1] = (xd_dim){rows / high, k / deep * block, 0, 0};
  to->dim[2] = (xd_dim){k / deep, block, 0, 0};
}

/* A of `parts` rows of cores arrives in the memory tile of a column as rows of a step of K, and is stored there as
 * tiles of T_K. */
static void order_a_in(const xd_gemm *g, const xd_gemm_shape *s, xd_fifo_end *to) {
  const int64_t e = s->a_bytes8 / 8, k = g->tile.k;
  if (s->a_bytes8 == 9 || (g->depth == 1 && !s->small_a)) return;
  to->n_dims = 3;
  to->dim[0] = (xd_dim){s->k * e, 1, 0, 0};
  to->dim[1] = (xd_dim){g->depth, g->tile.m * k * e, 0, 0};
  to->dim[2] = (xd_dim){s->m, k * e, 0, 0};
}

static void add_a(const xd_gemm *g, const xd_gemm_shape *s, xd_gemm_fifos *f, xd_program *p) {
  const int64_t tile = g->tile.m * s->step * s->a_bytes8 / 8;
  for (int i = 0; i < s->a_columns; i++) {
    const int first = i * s->a_parts, end = first + s->a_parts < g->rows ? first + s->a_parts : g->rows;
    const int column = xd_gemm_a_column(g, first);
    xd_fifo in = fifo_named("a_in", column, -1, (end - first) * tile, g->kernel->a);
    in.producer = end_at(column, 0, 0);
    in.consumer[in.n_consumers++] = end_at(column, 1, L2_COPIES);
    order_a_in(g, s, &in.consumer[0]);
    xd_link link = {.n_in = 1, .in = {f->a_in[i] = XD_ADD(p, fifos, &in)}};
    for (int row = first; row < end; row++) {
      xd_fifo a = fifo_named("a", row, -1, g->tile.m / g->tile.rho * g->tile.k * s->a_bytes8 / 8, g->kernel->a);
      a.producer = end_at(column, 1, L2_COPIES);
      a.n_consumers = g->columns;
      for (int c = 0; c < g->columns; c++) {
        a.consumer[c] = end_at(c, 2 + row, g->copies[0]);
        order_a(g, s, &a.producer, &a.consumer[c]);
      }
      link.offset[link.n_out] = (row - first) * tile;
      link.out[link.n_out++] = f->a[row] = XD_ADD(p, fifos, &a);
    }
    XD_ADD(p, links, &link);
  }
}

/* `rows` rows of `columns` elements, `pitch` from row to row. */
static void set_rows(xd_fifo_end *end, int64_t columns, int64_t rows, int64_t pitch, int64_t element) {
  end->n_dims = 2;
  end->dim[0] = (xd_dim){columns * element, 1, 0, 0};
  end->dim[1] = (xd_dim){rows, pitch * element, 0, 0};
}

/* B arrives in the memory tile as rows, and leaves it as blocks s x t. */
static void order_b(const xd_gemm *g, const xd_gemm_shape *s, xd_fifo_end *in, xd_fifo_end *out) {
  const int64_t e = s->b_bytes8 / 8, n = g->tile.n * e, deep = g->kernel->vmac[1], wide = g->kernel->vmac[2];
  if (s->small_b) set_rows(in, s->n, g->tile.k, g->tile.n, e);
  out->n_dims = 4;
  out->dim[0] = (xd_dim){wide * e, 1, 0, 0};
  out->dim[1] = (xd_dim){deep, n, 0, 0};
  out->dim[2] = (xd_dim){g->tile.n / wide, wide * e, 0, 0};
  out->dim[3] = (xd_dim){g->tile.k / deep, deep * n, 0, 0};
}

/* Column-major B arrives as columns of a step of K, or in slices of them, and is stored as tiles of T_K, like A; it
 * leaves in blocks t x s, which the cores transpose. */
static void order_turned_b(const xd_gemm *g, const xd_gemm_shape *s, xd_fifo_end *in, xd_fifo_end *out) {
  const int64_t e = s->b_bytes8 / 8, k = g->tile.k * e, deep = g->kernel->vmac[1] * e;
  if (s->slice) {
    in->n_dims = 4;
    in->dim[0] = (xd_dim){s->slice * e, 1, 0, 0};
    in->dim[1] = (xd_dim){s->n, k, 0, 0};
    in->dim[2] = (xd_dim){g->tile.k / s->slice, s->slice * e, 0, 0};
    in->dim[3] = (xd_dim){g->depth, g->tile.n * k, 0, 0};
  } else if (s->small_b || g->depth > 1) {
    in->n_dims = 3;
    in->dim[0] = (xd_dim){k, 1, 0, 0};
    in->dim[1] = (xd_dim){g->depth, g->tile.n * k, 0, 0};
    in->dim[2] = (xd_dim){s->n, k, 0, 0};
  }
  out->n_dims = 4;
  out->dim[0] = (xd_dim){deep, 1, 0, 0};
  out->dim[1] = (xd_dim){g->tile.n, k, 0, 0};
  out->dim[2] = (xd_dim){k / deep, deep, 0, 0};
  out->dim[3] = (xd_dim){g->depth, g->tile.n * k, 0, 0};
}

static void add_b(const xd_gemm *g, const xd_gemm_shape *s, xd_gemm_fifos *f, xd_program *p) {
  const int64_t bytes = g->tile.k * g->tile.n * s->b_bytes8 / 8;
  const bool turned = xd_gemm_turns_b(g);
  for (int column = 0; column < g->columns; column++) {
    xd_fifo in = fifo_named("b_in", column, -1, turned ? g->depth * bytes : bytes, g->kernel->b),
            b = fifo_named("b", column, -1, bytes, g->kernel->b);
    in.producer = end_at(column, 0, 0);
    in.consumer[in.n_consumers++] = end_at(column, 1, L2_COPIES);
    b.producer = end_at(column, 1, L2_COPIES);
    if (!s->packed_b) (turned ? order_turned_b : order_b)(g, s, &in.consumer[0], &b.producer);
    for (int row = 0; row < g->rows; row++) b.consumer[b.n_consumers++] = end_at(column, 2 + row, g->copies[1]);
    f->b_in[column] = XD_ADD(p, fifos, &in);
    f->b[column] = XD_ADD(p, fifos, &b);
    const xd_link link = {.n_in = 1, .in = {f->b_in[column]}, .n_out = 1, .out = {f->b[column]}};
    XD_ADD(p, links, &link);
  }
}

/* C arrives in blocks. The memory tile stores blocks and sends rows. Where only a part of a tile is needed, it stores
 * rows and sends the needed ones. */
static void order_c(const xd_gemm *g, const xd_gemm_shape *s, xd_fifo_end *in, xd_fifo_end *out) {
  const int64_t e = s->c_bytes8 / 8, high = g->kernel->vmac[0], wide = g->kernel->vmac[2], pitch = g->tile.n * e;
  if (s->c_bytes8 == 9) return;
  xd_fifo_end *end = s->small_c ? in : out;
  const xd_dim row = {high, s->small_c ? pitch : wide * e, 0, 0},
               block = {g->tile.n / wide, s->small_c ? wide * e : high * wide * e, 0, 0};
  end->n_dims = 4;
  end->dim[0] = (xd_dim){wide * e, 1, 0, 0};
  end->dim[1] = s->small_c ? row : block;
  end->dim[2] = s->small_c ? block : row;
  end->dim[3] = (xd_dim){g->tile.m / high, high * pitch, 0, 0};
  if (s->small_c) set_rows(out, s->n, s->m, g->tile.n, e);
}

static void add_c(const xd_gemm *g, const xd_gemm_shape *s, xd_gemm_fifos *f, xd_program *p) {
  const int64_t bytes = g->tile.m * g->tile.n * s->c_bytes8 / 8;
  for (int column = 0; column < g->columns; column++) {
    xd_fifo out = fifo_named("c_out", column, -1, g->rows * bytes, g->c);
    xd_link link = {.n_out = 1};
    out.producer = end_at(column, 1, L2_COPIES);
    out.consumer[out.n_consumers++] = end_at(column, 0, 0);
    for (int row = 0; row < g->rows; row++) {
      xd_fifo c = fifo_named("c", column, row, bytes, g->c);
      c.producer = end_at(column, 2 + row, g->copies[2]);
      c.consumer[c.n_consumers++] = end_at(column, 1, L2_COPIES);
      order_c(g, s, &c.consumer[0], &out.producer);
      link.offset[link.n_in] = row * bytes;
      link.in[link.n_in++] = f->c[column][row] = XD_ADD(p, fifos, &c);
    }
    link.out[0] = f->c_out[column] = XD_ADD(p, fifos, &out);
    XD_ADD(p, links, &link);
  }
}

void xd_gemm_add_fifos(const xd_gemm *g, const xd_gemm_shape *s, xd_gemm_fifos *f, xd_program *p) {
  add_a(g, s, f, p);
  add_b(g, s, f, p);
  add_c(g, s, f, p);
}
