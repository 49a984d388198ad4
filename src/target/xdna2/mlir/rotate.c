/* rotate.c - see rotate.h. For each port: the counter is 0 at first, is loaded after an acquire, and advances after a
 * release. */
#include "target/xdna2/mlir/rotate.h"

#include <stdlib.h>
#include <string.h>

#include "base/strings.h"
#include "target/xdna2/array/lower.h"

bool xd_has_words(const xd_program *p, int core) {
  for (size_t i = 0; i < p->sequence.n; i++)
    if (p->sequence.at[i].kind == XD_SET && p->sequence.at[i].core == core && p->sequence.at[i].buffer) return true;
  return false;
}

typedef struct rotator {
  xd_program *p;
  xd_core core;
  int words; /* port of the counters */
  int *word; /* for each port its counter; -1: the port has one buffer */
} rotator;

static void add_scalar(rotator *r, xd_scalar s, bool memory) {
  xd_op op = {.kind = XD_SCALAR, .parameter = -1, .scalar = s};
  op.scalar.type = TW_I32;
  op.scalar.cycles = s.kind != XD_SCALAR_LOAD;
  op.n_arguments = memory;
  op.argument[0].port = r->words;
  xd_append(&r->core.ops, sizeof op, &op, &r->p->failed);
}

static void store(rotator *r, int port, xd_source value) {
  add_scalar(r, (xd_scalar){.kind = XD_SCALAR_STORE, .from = {{-1, r->word[port]}, value, {-1, 0}}}, true);
}

/* Registers of a port's counter: its value, the next one, whether that is the number of buffers, the next buffer. */
enum { COUNT, NEXT, IS_END, WRAPPED, REGISTERS };
static int register_of(const rotator *r, int port, int which) { return r->word[port] * REGISTERS + which; }

static void load(rotator *r, int port) {
  add_scalar(r,
             (xd_scalar){.kind = XD_SCALAR_LOAD,
                         .to = register_of(r, port, COUNT),
                         .from = {{-1, r->word[port]}, {-1, 0}, {-1, 0}}},
             true);
}

/* The generator's cores release one object at a time. */
static void advance(rotator *r, int port) {
  const int64_t n = r->p->ports.at[port].n_buffers;
  const xd_source now = {register_of(r, port, COUNT), 0}, next = {register_of(r, port, NEXT), 0},
                  is_end = {register_of(r, port, IS_END), 0}, wrapped = {register_of(r, port, WRAPPED), 0};
  add_scalar(r, (xd_scalar){.kind = XD_SCALAR_ADD, .to = next.at, .from = {now, {-1, 1}, {-1, 0}}}, false);
  add_scalar(
      r, (xd_scalar){.kind = XD_SCALAR_COMPARE, .compare = XD_EQ, .to = is_end.at, .from = {next, {-1, n}, {-1, 0}}},
      false);
  add_scalar(r, (xd_scalar){.kind = XD_SCALAR_SELECT, .to = wrapped.at, .from = {is_end, {-1, 0}, next}}, false);
  store(r, port, wrapped);
}

static void rotate_op(rotator *r, const xd_op *old) {
  xd_op op = *old;
  for (int i = 0; i < op.n_arguments; i++) {
    const int port = op.argument[i].port;
    if (r->word[port] < 0) continue;
    op.argument[i].choices = r->p->ports.at[port].n_buffers;
    op.argument[i].chosen = register_of(r, port, COUNT);
  }
  xd_append(&r->core.ops, sizeof op, &op, &r->p->failed);
  if (op.kind == XD_ACQUIRE && r->word[op.port] >= 0) load(r, op.port);
  if (op.kind == XD_RELEASE && r->word[op.port] >= 0) advance(r, op.port);
}

/* The core, with counters for its ports of several buffers if it has run-time loops. */
static xd_core rotate_core(xd_program *p, const xd_core *old, bool has_words, int word[]) {
  const size_t ports = p->ports.n;
  int n = 0;
  rotator r = {.p = p, .core = *old, .word = word};
  r.core.ops.at = NULL;
  r.core.ops.n = r.core.ops.room = 0;
  for (size_t i = 0; i < ports; i++) {
    const xd_port *q = &p->ports.at[i];
    word[i] = has_words && xd_same_place(q->tile, old->tile) && q->n_buffers > 1 ? n++ : -1;
  }
  if (n) r.words = xd_own_words(p, old->tile, "turns", n);
  r.core.registers += n * REGISTERS;
  for (size_t i = 0; i < ports && !p->failed; i++)
    if (word[i] >= 0) store(&r, (int)i, (xd_source){-1, 0});
  for (size_t i = 0; i < old->ops.n && !p->failed; i++) rotate_op(&r, &old->ops.at[i]);
  return r.core;
}

tw_status xd_rotate(const xd_program *p, xd_program *out, tw_error *error) {
  int *word = tw_new(p->ports.n + p->cores.n + 1, sizeof *word); /* a port more for each core */
  *out = *p;
  memset(&out->buffers, 0, sizeof out->buffers);
  memset(&out->ports, 0, sizeof out->ports);
  memset(&out->cores, 0, sizeof out->cores);
  for (size_t i = 0; i < p->buffers.n; i++) XD_ADD(out, buffers, &p->buffers.at[i]);
  for (size_t i = 0; i < p->ports.n; i++) XD_ADD(out, ports, &p->ports.at[i]);
  for (size_t i = 0; i < p->cores.n && word && !out->failed; i++) {
    const xd_core core = rotate_core(out, &p->cores.at[i], xd_has_words(p, (int)i), word);
    if (XD_ADD(out, cores, &core) < 0) free(core.ops.at);
  }
  const bool failed = !word || out->failed;
  free(word);
  if (failed) xd_rotate_free(out);
  return failed ? tw_no_memory(error, NULL) : TW_OK;
}

void xd_rotate_free(xd_program *p) {
  for (size_t i = 0; i < p->cores.n; i++) free(p->cores.at[i].ops.at);
  free(p->cores.at);
  free(p->ports.at);
  free(p->buffers.at);
}
