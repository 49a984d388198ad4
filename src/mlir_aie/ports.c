/* ports.c - finds the buffers that a core holds at each point of its program. The source has only locks and buffers, which the
 * DMA's descriptors connect. The core must release the lock that a channel acquires before it moves a buffer. The core must
 * acquire the lock that the channel releases. Each ring of descriptors of a core's tile is therefore a port, whose buffers
 * are used in turn. At each point of the program, the core must hold every buffer that it uses. */
#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "mlir_aie/reader.h"
#include "target/xdna2/array/kernel.h"

/* ---- ports ---- */

/* The port of a single buffer, which was made when the buffer was read. */
static xd_port *own_port(xd_program *p, int buffer) {
  for (size_t i = 0; i < p->ports.n; i++)
    if (p->ports.at[i].fifo < 0 && p->ports.at[i].first_buffer == buffer && p->ports.at[i].n_buffers == 1)
      return &p->ports.at[i];
  return NULL;
}

static bool same_use(xd_lock_use a, xd_lock_use b) { return a.lock == b.lock && a.count == b.count; }

/* For a channel in a tile with a core: the separate ports of its buffers become one. */
static void make_port(xd_reader *r, const xd_channel *c) {
  xd_program *p = &r->design->program;
  const xd_descriptor *first = &p->descriptors.at[c->start];
  if (first->acquire.lock < 0 || first->release.lock < 0) return; /* check_sharing.c tells, if the core uses it */
  xd_port *port = own_port(p, first->buffer);
  if (!port) {
    xd_read_fail(r, r->descriptor_lines.at[c->start], "%s: %s is moved by two channels or twice",
                 xd_channel_label(c).text, p->buffers.at[first->buffer].name);
    return;
  }
  port->acquire = first->release;
  port->release = first->acquire;
  port->is_producer = c->direction == XD_MM2S;
  for (int d = first->next; d >= 0 && d != c->start; d = p->descriptors.at[d].next) {
    const xd_descriptor *x = &p->descriptors.at[d];
    xd_port *next = own_port(p, x->buffer);
    if (!same_use(x->acquire, first->acquire) || !same_use(x->release, first->release) || !next ||
        x->buffer != port->first_buffer + port->n_buffers) {
      xd_read_fail(r, r->descriptor_lines.at[d],
                   "%s: in a tile with a core, the descriptors of a channel must use the same two locks, and must move "
                   "buffers that are declared consecutively",
                   xd_channel_label(c).text);
      return;
    }
    next->n_buffers = 0; /* it is the first one's now */
    port->n_buffers++;
  }
}

/* ---- programs ---- */

typedef struct hold {
  int held, oldest;
} hold;

typedef struct walker {
  xd_reader *r;
  xd_core *core;
  hold *now;   /* of each port */
  hold *begin; /* for each open loop and port: the state at its beginning */
  int loops, line;
} walker;

static int port_of(const walker *w, int lock, bool releases) {
  const xd_program *p = &w->r->design->program;
  for (size_t i = 0; i < p->ports.n; i++) {
    const xd_port *q = &p->ports.at[i];
    if (q->n_buffers && q->acquire.lock >= 0 && (releases ? q->release : q->acquire).lock == lock) return (int)i;
  }
  return -1;
}

static void walk_use(walker *w, xd_op *op, int lock) {
  const xd_program *p = &w->r->design->program;
  const bool releases = op->kind == XD_RELEASE;
  const char *name = p->locks.at[lock].name;
  const int at = port_of(w, lock, releases), other = port_of(w, lock, !releases);
  if (at < 0 && other >= 0)
    xd_read_fail(w->r, w->line, "%s %s lock %s, on which a DMA waits; expected that it %ss it",
                 xd_place_label(w->core->tile).text, releases ? "releases" : "acquires", name,
                 releases ? "acquire" : "release");
  else if (at < 0)
    xd_read_fail(w->r, w->line, "lock %s guards no buffer that a DMA of %s moves; other locks of cores are unsupported",
                 name, xd_place_label(w->core->tile).text);
  if (at < 0 || !xd_going(w->r)) return;
  const xd_port *q = &p->ports.at[at];
  const int unit = (releases ? q->release : q->acquire).count, n = (int)op->count / unit;
  hold *h = &w->now[at];
  const char *buffer = p->buffers.at[q->first_buffer].name;
  if (op->count % unit)
    xd_read_fail(w->r, w->line, "lock %s: the DMA hands over %d at a time", name, unit);
  else if (!releases && h->held + n > q->n_buffers)
    xd_read_fail(w->r, w->line, "%s holds %d of the %d buffers from %s on; a release is missing",
                 xd_place_label(w->core->tile).text, h->held + n, q->n_buffers, buffer);
  else if (releases && h->held < n)
    xd_read_fail(w->r, w->line, "%s releases %d of the buffers from %s on, but holds %d; an acquire is missing",
                 xd_place_label(w->core->tile).text, n, buffer, h->held);
  op->port = at;
  op->count = n;
  h->held += releases ? -n : n;
  if (releases) h->oldest = (h->oldest + n) % q->n_buffers;
}

static void walk_call(walker *w, xd_op *op) {
  const xd_program *p = &w->r->design->program;
  for (int i = 0; i < op->n_arguments; i++) {
    const xd_port *own = &p->ports.at[op->argument[i].port];
    if (op->argument[i].choices && own->n_buffers != op->argument[i].choices)
      xd_read_fail(w->r, w->line, "scf.index_switch must choose among all buffers of a DMA channel, in its order");
    if (op->argument[i].choices) continue; /* the simulator follows the register */
    for (size_t at = 0; at < p->ports.n && own->fifo < 0; at++) {
      const xd_port *q = &p->ports.at[at];
      const int element = own->first_buffer - q->first_buffer;
      if (q->fifo >= 0 || q->acquire.lock < 0 || element < 0 || element >= q->n_buffers) continue;
      const hold *h = &w->now[at];
      op->argument[i].port = (int)at;
      op->argument[i].element = (element - h->oldest + q->n_buffers) % q->n_buffers;
      if (op->argument[i].element >= h->held)
        xd_read_fail(w->r, w->line, "%s uses %s, but does not hold it; an acquire is missing",
                     xd_place_label(w->core->tile).text, p->buffers.at[own->first_buffer].name);
      break;
    }
  }
}

/* Whether the core names one of the port's buffers, and not by the value of a register. */
static bool names_buffer(const walker *w, const xd_port *q) {
  for (size_t o = 0; o < w->core->ops.n; o++)
    for (int i = 0; i < w->core->ops.at[o].n_arguments; i++) {
      const int first = w->r->design->program.ports.at[w->core->ops.at[o].argument[i].port].first_buffer;
      if (!w->core->ops.at[o].argument[i].choices && first >= q->first_buffer && first < q->first_buffer + q->n_buffers)
        return true;
    }
  return false;
}

static void walk_end(walker *w) {
  const xd_program *p = &w->r->design->program;
  const hold *was = w->begin + (size_t)--w->loops * p->ports.n;
  for (size_t i = 0; i < p->ports.n && xd_going(w->r); i++) {
    const xd_port *q = &p->ports.at[i];
    const char *name = p->buffers.at[q->first_buffer].name;
    if (w->now[i].held != was[i].held)
      xd_read_fail(w->r, w->line,
                   "each iteration of the loop around this line keeps %d more of the buffers from %s on; %s is missing",
                   w->now[i].held - was[i].held, name, w->now[i].held > was[i].held ? "a release" : "an acquire");
    else if (w->now[i].oldest != was[i].oldest && names_buffer(w, q))
      xd_read_fail(w->r, w->line,
                   "an iteration of the loop around this line advances by %d of the %d buffers from %s on, so the next "
                   "iteration "
                   "works on other buffers",
                   (w->now[i].oldest - was[i].oldest + q->n_buffers) % q->n_buffers, q->n_buffers, name);
  }
}

static void walk_begin(walker *w) {
  const size_t n = w->r->design->program.ports.n;
  if (n) memcpy(w->begin + (size_t)w->loops * n, w->now, n * sizeof(hold));
  w->loops++; /* loop.c has seen to the depth */
}

static void walk_core(xd_reader *r, size_t core, size_t *note) {
  xd_program *p = &r->design->program;
  walker w = {.r = r,
              .core = &p->cores.at[core],
              .now = tw_new(p->ports.n, sizeof(hold)),
              .begin = tw_new(p->ports.n * XD_LOOPS, sizeof(hold))};
  if (!w.now || !w.begin) r->failed = true;
  for (size_t i = 0; i < w.core->ops.n && xd_going(r) && !r->failed; i++) {
    xd_op *op = &w.core->ops.at[i];
    int lock = -1;
    while (*note < r->ops.n && r->ops.at[*note].core == core && r->ops.at[*note].op <= i) {
      lock = r->ops.at[*note].op == i ? r->ops.at[*note].lock : -1;
      w.line = r->ops.at[(*note)++].line;
    }
    if (op->kind == XD_LOOP) walk_begin(&w);
    if (op->kind == XD_END) walk_end(&w);
    if (op->kind == XD_CALL || op->kind == XD_SCALAR) walk_call(&w, op);
    if (lock >= 0) walk_use(&w, op, lock);
  }
  for (size_t i = 0; w.now && i < p->ports.n && xd_going(r); i++)
    if (w.now[i].held && !w.loops)
      xd_read_fail(r, w.line, "%s ends while it holds %d of the buffers from %s on; a release is missing",
                   xd_place_label(w.core->tile).text, w.now[i].held, p->buffers.at[p->ports.at[i].first_buffer].name);
  free(w.begin);
  free(w.now);
}

void xd_read_ports(xd_reader *r) {
  xd_program *p = &r->design->program;
  size_t note = 0;
  for (size_t i = 0; i < p->channels.n && xd_going(r); i++)
    if (p->channels.at[i].start >= 0 && xd_kind_of(p->channels.at[i].tile) == XD_COMPUTE)
      make_port(r, &p->channels.at[i]);
  for (size_t i = 0; i < p->cores.n && xd_going(r) && !r->failed; i++) {
    while (note < r->ops.n && r->ops.at[note].core < i) note++;
    walk_core(r, i, &note);
  }
}

/* ---- steps of K ---- */

/* Whether B, or the codes of it, comes by this port. */
static bool brings_b(const xd_core *core, int port) {
  for (size_t i = 0; i < core->ops.n; i++) {
    const xd_op *op = &core->ops.at[i];
    if (op->kind != XD_CALL) continue;
    const bool unpacks = !strncmp(op->call.function->name, "unpack_", strlen("unpack_"));
    if ((op->call.micro && op->argument[1].port == port) || (unpacks && op->argument[0].port == port)) return true;
  }
  return false;
}

static bool has_switching_call(const xd_core *core) {
  for (size_t i = 0; i < core->ops.n; i++) {
    const xd_op *op = &core->ops.at[i];
    if (op->kind == XD_CALL && op->call.micro && op->call.micro->switches) return true;
  }
  return false;
}

/* For kernels that switch, the simulator counts a step of K at each hand-over of B. */
void xd_read_steps(xd_reader *r) {
  xd_program *p = &r->design->program;
  const xd_op step = {
      .kind = XD_CALL, .parameter = -1, .call = {.function = xd_function_find("step"), .m = 1, .k = 1, .n = 1}};
  for (size_t c = 0; c < p->cores.n; c++) {
    const xd_core old = p->cores.at[c];
    xd_core new = {.tile = old.tile};
    if (!has_switching_call(&old)) continue;
    for (size_t i = 0; i < old.ops.n; i++) {
      xd_append(&new.ops, sizeof step, &old.ops.at[i], &p->failed);
      if (old.ops.at[i].kind == XD_ACQUIRE && brings_b(&old, old.ops.at[i].port))
        xd_append(&new.ops, sizeof step, &step, &p->failed);
    }
    free(old.ops.at);
    p->cores.at[c] = new;
  }
}
