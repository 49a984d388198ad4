/* access.c - the accesses of a command: local rows, and bytes of memory. Follows functional_dma.c and
 * functional_array.c of the machine, which have the reasons. */
#include <math.h>
#include <string.h>

#include "target/gemmini/rewrite/stream.h"

static void add(gm_touch *list, int *n, const gm_config *c, uint32_t local, int rows, int cols, int stride) {
  if (rows > 0 && cols > 0)
    list[(*n)++] = (gm_touch){gm_unified(c, local), (uint32_t)rows, rows > 1 ? (uint32_t)stride : 1, (uint32_t)cols};
}

/* The blocks of a wide move, `apart` rows from one to the next. */
static bool add_blocks(gm_touch *list, int *n, const gm_config *c, uint64_t block, int rows, int apart) {
  int cols = gm_cols(block), blocks = (cols + c->dim - 1) / c->dim;
  if (blocks > GM_TOUCHES) return false;
  for (int b = 0; b < blocks; b++, cols -= c->dim)
    add(list, n, c, gm_local(block) + (uint32_t)(b * apart), rows, cols < c->dim ? cols : c->dim, 1);
  return true;
}

/* Row r holds itself and up to repeats - 1 later rows, side by side; the last rows hold fewer. */
static bool add_repeats(gm_access *a, const gm_config *c, uint64_t block, int repeats) {
  int rows = gm_rows(block), cols = gm_cols(block), full = rows >= repeats ? rows - repeats + 1 : 0;
  if (repeats > GM_TOUCHES) return false;
  add(a->write, &a->n_writes, c, gm_local(block), full, repeats * cols, 1);
  for (int r = full; r < rows; r++)
    add(a->write, &a->n_writes, c, gm_local(block) + (uint32_t)r, 1, (rows - r) * cols, 1);
  return true;
}

static bool load(gm_decoder *d, const gm_event *e, gm_access *a, const char **why) {
  const gm_config *c = d->config;
  const gm_load_registers *r = &d->registers.load[gm_load_state(e->funct)];
  bool acc = gm_is_acc(gm_local(e->rs2));
  *why = "a load wider than the machine's, or with more repeats of pixels than are followed";
  if (r->pixel_repeats > 1) {
    if (!add_repeats(a, c, e->rs2, r->pixel_repeats)) return false;
  } else if (!add_blocks(a->write, &a->n_writes, c, e->rs2, gm_rows(e->rs2), r->block_stride))
    return false;
  a->accumulates = acc && gm_accumulates(gm_local(e->rs2));
  a->whole_rows = gm_cols(e->rs2) % c->dim == 0;
  a->address = e->rs1;
  a->stride = r->stride;
  a->memory_rows = e->rs1 ? gm_rows(e->rs2) : 0;
  a->row_bytes = (uint64_t)gm_cols(e->rs2) * (uint64_t)(acc && !r->shrink ? gm_acc_bytes(c) : gm_input_bytes(c));
  return true;
}

/* Pooling, or (pool_size alone) an image of pixels, one local row each: functional_dma.c, store_pooled, store_image. */
static void store_image(const gm_config *c, const gm_store_registers *r, const gm_event *e, gm_access *a) {
  uint32_t first = gm_unified(c, gm_local(e->rs2)), pixels = (uint32_t)(r->out_rows * r->out_cols);
  uint32_t end = gm_is_acc(gm_local(e->rs2)) ? gm_unified_rows(c) : (uint32_t)gm_spad_rows(c);
  if (pixels > end - first) pixels = end - first; /* the machine would have failed if later pixels were in a window */
  add(a->read, &a->n_reads, c, gm_local(e->rs2), (int)pixels, gm_cols(e->rs2), 1);
  a->images = r->pool_stride ? r->pool_out_rows : r->out_rows;
  a->memory_rows = r->pool_stride ? r->pool_out_cols : r->out_cols;
  a->image_stride = (uint64_t)r->pool_out_dim * r->stride;
}

static bool store(gm_decoder *d, const gm_event *e, gm_access *a, const char **why) {
  const gm_config *c = d->config;
  const gm_store_registers *r = &d->registers.store;
  bool full = gm_is_acc(gm_local(e->rs2)) && gm_is_full_width(gm_local(e->rs2));
  *why = "a store wider than the machine's";
  a->address = e->rs1;
  a->stride = r->stride;
  a->row_bytes = (uint64_t)gm_cols(e->rs2) * (uint64_t)(full ? gm_acc_bytes(c) : gm_input_bytes(c));
  if (gm_pools(r)) {
    store_image(c, r, e, a);
    return true;
  }
  a->memory_rows = gm_rows(e->rs2);
  return add_blocks(a->read, &a->n_reads, c, e->rs2, gm_rows(e->rs2), c->dim);
}

/* An operand of the array; if transposed, its rows are columns. */
static void add_operand(gm_access *a, const gm_config *c, uint64_t field, bool transposed, int stride) {
  int rows = gm_rows(field), cols = gm_cols(field);
  if (!gm_is_garbage(gm_local(field)))
    add(a->read, &a->n_reads, c, gm_local(field), transposed ? cols : rows, transposed ? rows : cols, stride);
}

static void compute(gm_decoder *d, const gm_event *e, gm_access *a) {
  const gm_config *c = d->config;
  const gm_execute_registers *r = &d->registers.execute;
  add_operand(a, c, e->rs1, r->a_transposed, r->a_stride);
  add_operand(a, c, e->rs2, !r->weight_stationary && r->b_transposed, 1);
  if (gm_is_garbage(gm_local(d->c))) return;
  add(a->write, &a->n_writes, c, gm_local(d->c), gm_rows(d->c), gm_cols(d->c), r->c_stride);
  a->accumulates = gm_is_acc(gm_local(d->c)) && gm_accumulates(gm_local(d->c));
  a->whole_rows = gm_cols(d->c) == c->dim;
}

bool gm_decode_access(gm_decoder *d, const gm_event *e, gm_access *a, const char **why) {
  const gm_command command = {.funct = e->funct, .rs1 = e->rs1, .rs2 = e->rs2};
  char fault[256];
  memset(a, 0, sizeof *a);
  *why = "a command that the machine refuses";
  switch (e->funct) {
  case GM_FENCE:
  case GM_FLUSH: return true;
  case GM_CONFIG: return gm_registers_apply(&d->registers, d->config, &command, fault);
  case GM_MVIN:
  case GM_MVIN2:
  case GM_MVIN3: return load(d, e, a, why);
  case GM_MVOUT: return store(d, e, a, why);
  case GM_PRELOAD:
    d->c = e->rs2;
    add_operand(a, d->config, e->rs1, d->registers.execute.weight_stationary && d->registers.execute.b_transposed, 1);
    return true;
  case GM_COMPUTE_PRELOADED:
  case GM_COMPUTE_ACCUMULATED: compute(d, e, a); return true;
  case GM_COUNTER: *why = "an event counter, whose value depends on the time of each command"; return false;
  default: *why = "the hardware loop, which decides by itself what it loads and when"; return false;
  }
}

/* ---- registers ---- */

static bool same_scale(float x, float y) { return x == y && !signbit(x) == !signbit(y); }

bool gm_same_load_registers(const gm_load_registers *x, const gm_load_registers *y) {
  return x->configured == y->configured && x->stride == y->stride && same_scale(x->scale, y->scale) &&
         x->shrink == y->shrink && x->block_stride == y->block_stride && x->pixel_repeats == y->pixel_repeats;
}

static bool same_execute(const gm_execute_registers *x, const gm_execute_registers *y) {
  return x->configured == y->configured && x->weight_stationary == y->weight_stationary &&
         x->activation == y->activation && x->a_transposed == y->a_transposed && x->b_transposed == y->b_transposed &&
         x->a_stride == y->a_stride && x->c_stride == y->c_stride && x->in_shift == y->in_shift &&
         same_scale(x->acc_scale, y->acc_scale);
}

static bool same_store(const gm_store_registers *x, const gm_store_registers *y) {
  return x->configured == y->configured && x->stride == y->stride && x->activation == y->activation &&
         same_scale(x->acc_scale, y->acc_scale) && x->pool_stride == y->pool_stride && x->pool_size == y->pool_size &&
         x->pool_out_dim == y->pool_out_dim && x->pool_out_rows == y->pool_out_rows &&
         x->pool_out_cols == y->pool_out_cols && x->out_rows == y->out_rows && x->out_cols == y->out_cols &&
         x->upper_pad == y->upper_pad && x->left_pad == y->left_pad;
}

bool gm_same_registers(const gm_registers *x, const gm_registers *y) {
  bool same = same_execute(&x->execute, &y->execute) && same_store(&x->store, &y->store);
  for (size_t i = 0; i < sizeof x->load / sizeof *x->load; i++)
    same = same && gm_same_load_registers(&x->load[i], &y->load[i]);
  return same;
}
