/* check_sharing.c - other accesses to a buffer, and the locks between them; see check.h. */
#include <stdlib.h>

#include "base/strings.h"
#include "target/xdna2/array/check.h"
#include "target/xdna2/array/kernel.h"

static bool fills(const xd_program *p, const xd_descriptor *d) {
  return p->channels.at[d->channel].direction == XD_S2MM;
}

/* Marks the bytes that an execution accesses, or returns whether one of the bytes is marked. */
static bool touch(const xd_pattern *p, int64_t shift, uint8_t *marks, bool look) {
  int64_t index[XD_DIMS] = {0};
  for (;;) {
    int64_t at = p->offset + shift;
    for (int d = 1; d < p->n_dims; d++) at += index[d] * p->dim[d].stride;
    for (int64_t i = 0; i < p->dim[0].size; i++) {
      if (look && marks[at + i]) return true;
      if (!look) marks[at + i] = 1;
    }
    int d = 1;
    while (d < p->n_dims && ++index[d] == p->dim[d].size) index[d++] = 0;
    if (d >= p->n_dims) return false;
  }
}

static void span(const xd_descriptor *d, int64_t *first, int64_t *end) {
  xd_pattern_span(&d->pattern, first, end);
  *end += (d->iterations - 1) * d->iteration_stride;
}

static bool overlap(const xd_program *p, const xd_descriptor *a, const xd_descriptor *b) {
  int64_t a_first, a_end, b_first, b_end;
  span(a, &a_first, &a_end);
  span(b, &b_first, &b_end);
  if (a_end <= b_first || b_end <= a_first) return false;
  uint8_t *marks = tw_new((size_t)p->buffers.at[a->buffer].bytes, 1);
  bool found = !marks; /* without memory for marks: compares their spans */
  for (int64_t i = 0; marks && i < a->iterations; i++) touch(&a->pattern, i * a->iteration_stride, marks, false);
  for (int64_t i = 0; marks && !found && i < b->iterations; i++)
    found = touch(&b->pattern, i * b->iteration_stride, marks, true);
  free(marks);
  return found;
}

static tw_status require_locks(const xd_program *p, const xd_descriptor *d, const char *user, tw_error *error) {
  const char *missing = d->acquire.lock < 0 ? "acquiring" : d->release.lock < 0 ? "releasing" : NULL;
  if (!missing) return TW_OK;
  return tw_fail(error, TW_USAGE, "%s moves %s, which %s uses too, without %s a lock",
                 xd_channel_label(&p->channels.at[d->channel]).text, p->buffers.at[d->buffer].name, user, missing);
}

static tw_status check_pair(const xd_program *p, const xd_descriptor *a, const xd_descriptor *b, tw_error *error) {
  if (a->buffer != b->buffer || a->channel == b->channel || p->buffers.at[a->buffer].external) return TW_OK;
  if ((!fills(p, a) && !fills(p, b)) || !overlap(p, a, b)) return TW_OK;
  const xd_label first = xd_channel_label(&p->channels.at[a->channel]),
                 second = xd_channel_label(&p->channels.at[b->channel]);
  if (fills(p, a) && fills(p, b))
    return tw_fail(error, TW_USAGE, "%s has two writers: %s and %s", p->buffers.at[a->buffer].name, second.text,
                   first.text);
  const tw_status status = require_locks(p, a, second.text, error);
  return status == TW_OK ? require_locks(p, b, first.text, error) : status;
}

/* True if the descriptor fills a buffer of its ring once per turn, controlled by a lock. */
static bool fills_in_turn(const xd_program *p, const xd_descriptor *d) {
  return !p->buffers.at[d->buffer].external && d->acquire.lock >= 0 && fills(p, d) &&
         p->channels.at[d->channel].start >= 0;
}

/* The amount that all buffers of the descriptor's channel together take from its lock. */
static int turns_of(const xd_program *p, const xd_descriptor *d) {
  int turns = 0;
  for (size_t i = 0; i < p->descriptors.n; i++)
    if (p->descriptors.at[i].channel == d->channel && p->descriptors.at[i].acquire.lock == d->acquire.lock)
      turns += p->descriptors.at[i].acquire.count;
  return turns;
}

/* A channel that fills buffers must not begin with a lock value above the number of buffers: it would fill a buffer
 * in use. */
static tw_status check_turns(const xd_program *p, const xd_descriptor *d, tw_error *error) {
  if (!fills_in_turn(p, d)) return TW_OK;
  const xd_lock *l = &p->locks.at[d->acquire.lock];
  const int turns = turns_of(p, d);
  if (l->initial <= turns) return TW_OK;
  return tw_fail(error, TW_USAGE, "lock %s begins with %d, but %s has %d buffers to fill with it", l->name, l->initial,
                 xd_channel_label(&p->channels.at[d->channel]).text, turns / d->acquire.count);
}

/* The sequence must not set a larger value either. */
static tw_status check_set(const xd_program *p, size_t command, tw_error *error) {
  const xd_command *k = &p->sequence.at[command];
  for (size_t i = 0; k->kind == XD_SET_LOCK && i < p->descriptors.n; i++) {
    const xd_descriptor *d = &p->descriptors.at[i];
    if (d->acquire.lock != k->lock || !fills_in_turn(p, d) || k->value <= turns_of(p, d)) continue;
    return tw_fail(error, TW_USAGE,
                   "command %zu of the sequence sets lock %s to %d, but %s has %d buffers to fill with it", command,
                   p->locks.at[k->lock].name, (int)k->value, xd_channel_label(&p->channels.at[d->channel]).text,
                   turns_of(p, d) / d->acquire.count);
  }
  return TW_OK;
}

/* In each turn, each descriptor of a buffer runs once: together they must release as much of a lock as they acquire.
 * In a tile with a core, the core is one of the two sides. */
static tw_status check_balance(const xd_program *p, const xd_descriptor *d, tw_error *error) {
  const xd_place tile = p->channels.at[d->channel].tile;
  const int lock = d->release.lock;
  int taken = 0, given = 0;
  if (lock < 0 || xd_kind_of(tile) != XD_MEMORY || p->channels.at[d->channel].start < 0) return TW_OK;
  for (size_t i = 0; i < p->descriptors.n; i++) {
    const xd_descriptor *o = &p->descriptors.at[i];
    if (o->buffer != d->buffer) continue;
    if (o->acquire.lock == lock) taken += o->acquire.count;
    if (o->release.lock == lock) given += o->release.count;
  }
  if (!taken || taken == given) return TW_OK; /* a lock that no part acquires is found as a deadlock */
  return tw_fail(error, TW_USAGE, "%s: its descriptors take %d from lock %s per turn and release %d",
                 p->buffers.at[d->buffer].name, taken, p->locks.at[lock].name, given);
}

static bool in_port(const xd_port *q, int buffer) {
  return buffer >= q->first_buffer && buffer < q->first_buffer + q->n_buffers;
}

static tw_status check_port(const xd_program *p, const xd_port *q, tw_error *error) {
  for (size_t i = 0; i < p->descriptors.n; i++) {
    const xd_descriptor *d = &p->descriptors.at[i];
    if (!in_port(q, d->buffer)) continue;
    const xd_label core = xd_place_label(q->tile);
    if (q->acquire.lock < 0 || q->release.lock < 0)
      return tw_fail(error, TW_USAGE, "%s uses %s, which %s moves, without %s a lock", core.text,
                     p->buffers.at[d->buffer].name, xd_channel_label(&p->channels.at[d->channel]).text,
                     q->acquire.lock < 0 ? "acquiring" : "releasing");
    const tw_status status = require_locks(p, d, core.text, error);
    if (status != TW_OK) return status;
  }
  return TW_OK;
}

/* A core must not write to a buffer that a DMA fills: it would be the second writer. */
static tw_status check_writes(const xd_program *p, const xd_core *core, const xd_op *op, tw_error *error) {
  const bool stores = op->kind == XD_SCALAR && op->scalar.kind == XD_SCALAR_STORE;
  for (int a = 0; (op->kind == XD_CALL || stores) && a < op->n_arguments; a++) {
    const xd_port *q = &p->ports.at[op->argument[a].port];
    if (!stores && !(op->call.function->access[a] & XD_WRITES)) continue;
    for (size_t i = 0; i < p->descriptors.n; i++)
      if (in_port(q, p->descriptors.at[i].buffer) && fills(p, &p->descriptors.at[i]))
        return tw_fail(
            error, TW_USAGE, "%s has two writers: %s and %s", p->buffers.at[p->descriptors.at[i].buffer].name,
            xd_channel_label(&p->channels.at[p->descriptors.at[i].channel]).text, xd_place_label(core->tile).text);
  }
  return TW_OK;
}

tw_status xd_check_sharing(const xd_program *p, tw_error *error) {
  tw_status status = TW_OK;
  if (p->raw) return TW_OK;
  for (size_t i = 0; i < p->descriptors.n; i++) {
    if (p->buffers.at[p->descriptors.at[i].buffer].external) continue;
    if ((status = check_turns(p, &p->descriptors.at[i], error)) != TW_OK) return status;
    for (size_t j = 0; j < i; j++)
      if ((status = check_pair(p, &p->descriptors.at[i], &p->descriptors.at[j], error)) != TW_OK) return status;
  }
  for (size_t i = 0; i < p->sequence.n && status == TW_OK; i++) status = check_set(p, i, error);
  for (size_t i = 0; i < p->ports.n && status == TW_OK; i++) status = check_port(p, &p->ports.at[i], error);
  for (size_t c = 0; c < p->cores.n; c++)
    for (size_t i = 0; i < p->cores.at[c].ops.n && status == TW_OK; i++)
      status = check_writes(p, &p->cores.at[c], &p->cores.at[c].ops.at[i], error);
  for (size_t i = 0; i < p->descriptors.n && status == TW_OK; i++)
    status = check_balance(p, &p->descriptors.at[i], error);
  return status;
}
