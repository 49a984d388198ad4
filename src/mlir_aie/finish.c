/* finish.c - from the parsed text to a program that runs: buffers as deep as in mlir-aie, the lowering, tasks with
 * channels and descriptors, and all checks; each error with the line of its subject. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "mlir_aie/reader.h"
#include "target/xdna2/array/check.h"
#include "target/xdna2/array/lower.h"
#include "target/xdna2/mlir/moved.h"

/* ---- depths ---- */

/* One number for all ends: a core gets one object more than it ever acquires at once, unless there is only one. */
static int depth_of(const xd_fifo_note *note, int end, int depth) {
  if (note->listed || !note->most[end] || (depth == 1 && note->most[end] == 1)) return depth;
  return note->most[end] + 1;
}

static void settle_end(xd_reader *r, int fifo, int end, xd_fifo_end *e) {
  const xd_fifo_note *note = &r->fifos.at[fifo];
  const bool shared = r->design->program.fifos.at[fifo].shared;
  if (xd_kind_of(e->tile) != XD_COMPUTE || (r->options.raw && !note->most[end])) return;
  if (!shared) e->depth = depth_of(note, end, e->depth);
  if (note->most[end] > e->depth)
    xd_read_fail(r, note->most_line[end], "%s acquires %d objects of @%s at once, but it has %d",
                 xd_place_label(e->tile).text, note->most[end], r->design->program.fifos.at[fifo].name, e->depth);
  else if (!note->most[end])
    xd_read_fail(r, note->line, "%s never acquires object FIFO @%s, although it is one of its ends",
                 xd_place_label(e->tile).text, r->design->program.fifos.at[fifo].name);
}

/* ---- walks ---- */

/* With its zeros a walk makes an object. For a link's other forms mlir-aie takes the lengths from the objects. */
static void check_padding(xd_reader *r, int fifo, const xd_fifo_end *e) {
  const xd_program *p = &r->design->program;
  const int line = r->fifos.at[fifo].line;
  const double bytes = xd_mlir_walked(e, true);
  if (bytes != (double)p->fifos.at[fifo].bytes)
    xd_read_fail(r, line, "the walk of @%s has %.0f bytes with its zeros, but an object has %" PRId64,
                 p->fifos.at[fifo].name, bytes, p->fifos.at[fifo].bytes);
  for (size_t i = 0; i < p->links.n; i++)
    for (int o = 0; o < p->links.at[i].n_out; o++)
      if (p->links.at[i].out[o] == fifo && (p->links.at[i].n_out > 1 || p->links.at[i].n_in > 1))
        xd_read_fail(r, line, "object FIFO @%s pads in a link that joins or distributes, which is unsupported",
                     p->fifos.at[fifo].name);
}

static void check_walk(xd_reader *r, int fifo, const xd_fifo_end *e) {
  const xd_fifo *f = &r->design->program.fifos.at[fifo];
  const int64_t expected = xd_mlir_moved(&r->design->program, fifo, e->tile);
  const double bytes = xd_mlir_walked(e, false);
  if (e->n_dims && bytes != (double)expected)
    xd_read_fail(r, r->fifos.at[fifo].line, "the walk of @%s at %s has %.0f bytes, but a transfer there has %" PRId64,
                 f->name, xd_place_label(e->tile).text, bytes, expected);
  if (xd_end_pads(e)) check_padding(r, fifo, e);
  if (xd_kind_of(e->tile) == XD_MEMORY && !r->fifos.at[fifo].links)
    xd_read_fail(r, r->fifos.at[fifo].line, "object FIFO @%s ends in %s, but no link continues it", f->name,
                 xd_place_label(e->tile).text);
}

static void settle_fifos(xd_reader *r) {
  for (size_t i = 0; i < r->design->program.fifos.n && xd_going(r); i++) {
    xd_fifo *f = &r->design->program.fifos.at[i];
    settle_end(r, (int)i, 0, &f->producer);
    check_walk(r, (int)i, &f->producer);
    for (int c = 0; c < f->n_consumers; c++) {
      settle_end(r, (int)i, c + 1, &f->consumer[c]);
      check_walk(r, (int)i, &f->consumer[c]);
    }
  }
}

/* ---- tasks ---- */

static int same_channel(const xd_program *p, const xd_channel *c) {
  for (size_t i = 0; i < p->channels.n; i++) {
    const xd_channel *other = &p->channels.at[i];
    if (xd_same_place(other->tile, c->tile) && other->direction == c->direction && other->id == c->id) return (int)i;
  }
  return -1;
}

/* The channel of the FIFO at its shim; of the allocation; or the named one. */
static int shim_channel(const xd_reader *r, const xd_pending *t) {
  const xd_program *p = &r->design->program;
  if (t->fifo < 0 && !t->metadata.length) return same_channel(p, &t->channel);
  for (size_t i = 0; i < r->allocations.n && t->fifo < 0; i++)
    if (xd_slice_same(r->allocations.at[i].name, t->metadata)) return same_channel(p, &r->allocations.at[i].channel);
  if (t->fifo < 0) return -1;
  const xd_fifo *f = &p->fifos.at[t->fifo];
  if (xd_kind_of(f->producer.tile) == XD_SHIM) return f->source;
  for (int i = 0; i < f->n_consumers; i++)
    if (xd_kind_of(f->consumer[i].tile) == XD_SHIM) return f->sink[i];
  return -1;
}

/* Descriptors without a number get, in turn, the numbers that no task of the shim names; the simulator detects
 * descriptors that are still in use. */
typedef struct shim_ids {
  uint32_t asked; /* by bit */
  int turn;
} shim_ids;

static int next_id(const xd_reader *r, shim_ids *ids) {
  const int all = r->config->array.descriptors[XD_SHIM];
  for (int i = 0; i < all; i++) {
    const int id = ids->turn++ % all;
    if (!(ids->asked >> id & 1)) return id;
  }
  return ids->turn++ % all;
}

static void note_ids(xd_reader *r, shim_ids *ids) {
  for (size_t i = 0; i < r->tasks.n; i++) {
    const xd_pending *t = &r->tasks.at[i];
    const int channel = t->kind == XD_START ? shim_channel(r, t) : -1;
    if (channel >= 0 && t->id >= 0 && t->id < 32)
      ids[r->design->program.channels.at[channel].tile.column].asked |= (uint32_t)1 << t->id;
  }
}

static void add_set(xd_reader *r, const xd_pending *t) {
  xd_parameter *parameter = NULL;
  int buffer = -1;
  for (size_t s = 0; s < r->symbols.n; s++)
    for (size_t i = 0; i < r->parameters.n && xd_slice_same(r->symbols.at[s].name, t->metadata); i++)
      if (r->parameters.at[i].buffer == r->symbols.at[s].buffer && r->parameters.at[i].element == t->element)
        parameter = &r->parameters.at[i];
  for (size_t s = 0; s < r->symbols.n; s++)
    if (xd_slice_same(r->symbols.at[s].name, t->metadata)) buffer = r->symbols.at[s].buffer;
  if (buffer >= 0 && (t->element + 1) * 4 > r->design->program.buffers.at[buffer].bytes)
    xd_read_fail(r, t->line, "element %" PRId64 " of %s, which has %" PRId64 " bytes", t->element,
                 xd_read_excerpt(t->metadata).text, r->design->program.buffers.at[buffer].bytes);
  if (buffer < 0 || (parameter && parameter->is_set)) {
    xd_read_fail(r, t->line,
                 parameter ? "element %" PRId64 " of %s is written a second time, which is unsupported"
                           : "element %" PRId64 ": unknown buffer %s",
                 t->element, xd_read_excerpt(t->metadata).text);
    return;
  }
  if (parameter) parameter->is_set = true;
  const xd_command k = {.kind = XD_SET,
                        .core = parameter ? parameter->core : -1,
                        .parameter = parameter ? parameter->number : 0,
                        .buffer = buffer + 1,
                        .element = t->element,
                        .value = t->value};
  XD_ADD(&r->design->program, sequence, &k);
}

static void check_parameters(xd_reader *r) {
  for (size_t i = 0; i < r->parameters.n && r->design->runs; i++)
    if (!r->parameters.at[i].is_set)
      xd_read_fail(r, r->parameters.at[i].line,
                   "element %" PRId64
                   " of %s is the bound of this loop, but no aiex.npu.rtp_write of the sequence writes it",
                   r->parameters.at[i].element, r->design->program.buffers.at[r->parameters.at[i].buffer].name);
}

static void note_command(xd_reader *r, int line) {
  char label[48];
  snprintf(label, sizeof label, "command %zu of the sequence", r->design->program.sequence.n);
  xd_note_line(r, label, line);
}

static void add_task(xd_reader *r, const xd_pending *t, shim_ids *ids) {
  xd_program *p = &r->design->program;
  if (t->kind == XD_SET_LOCK) {
    const xd_command set = {.kind = XD_SET_LOCK, .lock = t->lock, .value = t->value};
    note_command(r, t->line);
    XD_ADD(p, sequence, &set);
    return;
  }
  if (t->kind == XD_SET) {
    add_set(r, t);
    return;
  }
  const int channel = shim_channel(r, t);
  if (channel < 0 && t->of_register) {
    r->design->skipped++;
    return;
  }
  if (channel < 0) {
    if (t->metadata.length)
      xd_read_fail(r, t->line,
                   "unknown object FIFO @%s; expected one from above, or the allocation of a used channel of a shim",
                   xd_read_excerpt(t->metadata).text);
    xd_read_fail(r, t->line, "no object FIFO uses that channel");
    return;
  }
  const bool writes = p->channels.at[channel].direction == XD_S2MM;
  xd_command k = {.kind = t->kind, .channel = channel, .repeat = 1, .token = t->token || (t->always_token && writes)};
  if (t->kind == XD_START) {
    const xd_descriptor d = {.channel = channel,
                             .id = t->id >= 0 ? t->id : next_id(r, &ids[p->channels.at[channel].tile.column]),
                             .buffer = t->buffer,
                             .pattern = t->pattern,
                             .packet = t->packet,
                             .iterations = t->iterations,
                             .iteration_stride = t->stride,
                             .acquire.lock = -1,
                             .release.lock = -1,
                             .next = -1};
    tw_error why;
    k.descriptor = XD_ADD(p, descriptors, &d);
    if (t->repeat < 1 || t->repeat > r->config->array.repeats)
      xd_read_fail(r, t->line, "a task runs %" PRId64 " times; expected 1 to %d", t->repeat, r->config->array.repeats);
    k.repeat = (int)t->repeat;
    if (xd_going(r) && !p->failed && xd_check_descriptor(r->config, p, &p->descriptors.at[k.descriptor], &why) != TW_OK)
      xd_read_fail(r, t->line, "%s", why.text);
  }
  note_command(r, t->line);
  XD_ADD(p, sequence, &k);
}

/* ---- lines ---- */

static void note_channel(xd_reader *r, int channel, int line) {
  xd_note_line(r, xd_channel_label(&r->design->program.channels.at[channel]).text, line);
}

/* For FIFOs, and the channels assigned to them. */
static void note_lines(xd_reader *r) {
  for (size_t i = 0; i < r->fifos.n; i++) {
    const xd_fifo *f = &r->design->program.fifos.at[i];
    xd_note_line(r, f->name, r->fifos.at[i].line);
    if (f->shared) continue;
    note_channel(r, f->source, r->fifos.at[i].line);
    for (int c = 0; c < f->n_consumers; c++) note_channel(r, f->sink[c], r->fifos.at[i].line);
  }
}

static int line_of_descriptor(const xd_reader *r, size_t at) {
  const int channel = r->design->program.descriptors.at[at].channel;
  if (at < r->descriptor_lines.n) return r->descriptor_lines.at[at];
  for (size_t i = 0; i < r->fifos.n; i++) {
    const xd_fifo *f = &r->design->program.fifos.at[i];
    bool is_end = f->source == channel;
    for (int c = 0; c < f->n_consumers; c++) is_end = is_end || f->sink[c] == channel;
    if (is_end) return r->fifos.at[i].line;
  }
  return 0;
}

/* Descriptors of FIFOs: their walks are in the FIFO's line. */
static void check_descriptors(xd_reader *r) {
  const xd_program *p = &r->design->program;
  tw_error why;
  for (size_t i = 0; i < p->descriptors.n && xd_going(r); i++)
    if (xd_check_descriptor(r->config, p, &p->descriptors.at[i], &why) != TW_OK)
      xd_read_fail(r, line_of_descriptor(r, i), "%s", why.text);
}

/* ---- all ---- */

static void note_status(xd_reader *r, tw_status status, tw_error *why) {
  if (status == TW_OK || !xd_going(r)) return;
  xd_mlir_locate(r->design, why);
  r->status = tw_fail(r->error, status, "%s", why->text);
}

void xd_read_finish(xd_reader *r) {
  xd_program *p = &r->design->program;
  shim_ids ids[64] = {{0}}; /* of each column */
  tw_error why = {0};
  if (!xd_going(r)) return;
  if (!p->cores.n) xd_read_fail(r, r->token.line, "the device has no core");
  settle_fifos(r);
  if (!xd_going(r)) return;
  if (r->failed || p->failed) {
    r->status = tw_no_memory(r->error, NULL);
    return;
  }
  if (p->fifos.n && r->explicit_line && !r->options.raw) /* the tool chooses the channels and locks of a FIFO */
    xd_read_fail(r, r->explicit_line, "unsupported mix of object FIFOs with locks, flows and DMA programs");
  if (!r->options.raw) xd_read_barriers(r);
  if (r->explicit_line && !r->options.raw) xd_read_ports(r);
  xd_read_steps(r);
  const tw_status lowered = xd_lower(r->config, p, &why);
  if (!p->failed) note_lines(r);
  note_status(r, lowered, &why);
  check_descriptors(r);
  if (xd_going(r)) note_ids(r, ids);
  for (size_t i = 0; i < r->tasks.n && xd_going(r); i++) add_task(r, &r->tasks.at[i], ids);
  check_parameters(r);
  if (xd_going(r)) note_status(r, p->failed ? tw_no_memory(&why, NULL) : xd_check(r->config, p, &why), &why);
}
