/* barrier.c - locks of cores that guard no buffer: barriers, which the runtime sequence sets (aiex.set_lock) and a core
 * waits for: with Acquire, which leaves the lock as it is, or with AcquireGreaterEqual, which takes from it. They hold
 * a core back until its parameters are written. */
#include "mlir_aie/reader.h"

static bool is_of_dma(const xd_program *p, int lock) {
  for (size_t i = 0; i < p->descriptors.n; i++)
    if (p->descriptors.at[i].acquire.lock == lock || p->descriptors.at[i].release.lock == lock) return true;
  return false;
}

static bool is_set(const xd_reader *r, int lock) {
  for (size_t i = 0; i < r->tasks.n; i++)
    if (r->tasks.at[i].kind == XD_SET_LOCK && r->tasks.at[i].lock == lock) return true;
  return false;
}

void xd_read_barriers(xd_reader *r) {
  xd_program *p = &r->design->program;
  for (size_t i = 0; i < r->ops.n && xd_going(r); i++) {
    xd_op_note *note = &r->ops.at[i];
    if (note->lock < 0) continue;
    xd_op *op = &p->cores.at[note->core].ops.at[note->op];
    const char *name = p->locks.at[note->lock].name;
    const bool barrier = is_set(r, note->lock) && !is_of_dma(p, note->lock);
    if (op->kind == XD_AWAIT_LOCK && !barrier)
      xd_read_fail(r, note->line,
                   "lock %s: Acquire (until the lock is equal) is supported only for barriers, which aiex.set_lock "
                   "sets and no DMA uses; use AcquireGreaterEqual for other locks",
                   name);
    else if (!barrier && !r->explicit_line)
      xd_read_fail(r, note->line,
                   "lock %s: in a design with object FIFOs, locks of cores must be barriers set by aiex.set_lock",
                   name);
    if (!barrier) continue;
    op->kind = op->kind == XD_RELEASE ? XD_ADD_TO_LOCK : op->kind == XD_ACQUIRE ? XD_TAKE_LOCK : op->kind;
    op->lock = note->lock;
    note->lock = -1; /* ports.c must ignore it */
  }
}
