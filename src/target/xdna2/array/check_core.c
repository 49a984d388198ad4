/* check_core.c - programs of cores; see check.h. Errors that depend on the order of events (an object used before it
 * was acquired, a missing release) are found while running. */
#include <inttypes.h>

#include "target/xdna2/array/check.h"
#include "target/xdna2/array/kernel.h"

static tw_status check_call(const xd_program *p, const xd_core *core, const xd_op *op, tw_error *error) {
  const xd_label tile = xd_place_label(core->tile);
  const xd_function *f = op->call.function;
  if (f->n_arguments >= 0 && op->n_arguments != f->n_arguments)
    return tw_fail(error, TW_USAGE, "%s calls %s with %d arguments; it takes %d", tile.text, f->name, op->n_arguments,
                   f->n_arguments);
  for (int i = 0; i < op->n_arguments; i++) {
    const xd_port *q = &p->ports.at[op->argument[i].port];
    const int64_t bytes = f->bytes(&op->call, i), size = p->buffers.at[q->first_buffer].bytes;
    if (!p->raw && !xd_same_place(q->tile, core->tile))
      return tw_fail(error, TW_USAGE, "%s calls %s on %s, which is in %s", tile.text, f->name, q->name,
                     xd_place_label(q->tile).text);
    if (op->argument[i].offset < 0 || op->argument[i].offset + bytes > size)
      return tw_fail(error, TW_USAGE, "%s calls %s on bytes %" PRId64 " to %" PRId64 " of %s, which has %" PRId64,
                     tile.text, f->name, op->argument[i].offset, op->argument[i].offset + bytes - 1, q->name, size);
  }
  return TW_OK;
}

static tw_status check_lock_op(const xd_program *p, const xd_core *core, const xd_op *op, tw_error *error) {
  const xd_port *q = &p->ports.at[op->port];
  const char *what = op->kind == XD_ACQUIRE ? "acquires" : "releases";
  if (xd_same_place(q->tile, core->tile) && q->acquire.lock >= 0 && op->count >= 1 && op->count <= q->n_buffers)
    return TW_OK;
  return tw_fail(error, TW_USAGE, "%s %s %" PRId64 " objects of %s, of which %s has %d",
                 xd_place_label(core->tile).text, what, op->count, q->name, xd_place_label(q->tile).text,
                 q->acquire.lock < 0 ? 0 : q->n_buffers);
}

static tw_status check_barrier(const xd_program *p, const xd_core *core, const xd_op *op, tw_error *error) {
  const xd_lock *l = &p->locks.at[op->lock];
  if (p->raw || xd_same_place(l->tile, core->tile)) return TW_OK;
  return tw_fail(error, TW_USAGE, "%s uses lock %s, which is in %s", xd_place_label(core->tile).text, l->name,
                 xd_place_label(l->tile).text);
}

/* An endless loop that takes no lock would stop the rest of the array. */
static bool waits_in_loop(const xd_core *core, size_t at) {
  int depth = 0;
  do {
    const xd_op_kind kind = core->ops.at[at].kind;
    depth += kind == XD_LOOP ? 1 : kind == XD_END ? -1 : 0;
    if (kind == XD_ACQUIRE || kind == XD_TAKE_LOCK) return true;
  } while (depth && ++at < core->ops.n);
  return false;
}

tw_status xd_check_cores(const xd_program *p, tw_error *error) {
  for (size_t c = 0; c < p->cores.n; c++) {
    const xd_core *core = &p->cores.at[c];
    int depth = 0;
    for (size_t i = 0; i < core->ops.n; i++) {
      const xd_op *op = &core->ops.at[i];
      tw_status status = TW_OK;
      depth += op->kind == XD_LOOP ? 1 : op->kind == XD_END ? -1 : 0;
      if (op->kind == XD_CALL) status = check_call(p, core, op, error);
      if (op->kind == XD_ACQUIRE || op->kind == XD_RELEASE) status = check_lock_op(p, core, op, error);
      if (op->kind == XD_AWAIT_LOCK || op->kind == XD_ADD_TO_LOCK || op->kind == XD_TAKE_LOCK)
        status = check_barrier(p, core, op, error);
      if (op->kind == XD_LOOP && op->count == -1 && !waits_in_loop(core, i))
        status = tw_fail(error, TW_USAGE, "%s: operation %zu loops for ever without acquiring anything",
                         xd_place_label(core->tile).text, i);
      if (status != TW_OK) return status;
      if (depth < 0 || depth > XD_LOOPS)
        return tw_fail(error, TW_USAGE, "%s: operation %zu: loops must nest, at most %d deep",
                       xd_place_label(core->tile).text, i, XD_LOOPS);
    }
    if (depth) return tw_fail(error, TW_USAGE, "%s: %d loops have no end", xd_place_label(core->tile).text, depth);
  }
  return TW_OK;
}
