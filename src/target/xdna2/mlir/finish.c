/* finish.c - from what was read to a program that runs: buffers as deep as mlir-aie makes them, the lowering, tasks with
 * channels and descriptors, and all checks; each error with the line of what it is about. */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "target/xdna2/array/check.h"
#include "target/xdna2/array/lower.h"
#include "target/xdna2/mlir/moved.h"
#include "target/xdna2/mlir/reader.h"

/* ---- depths ---- */

/* One number for all ends: a core gets one object more than it ever acquires at once, unless there is only one. */
static int depth_of(const xd_fifo_note *note, int end, int depth) {
  if (note->listed || !note->most[end] || (depth == 1 && note->most[end] == 1)) return depth;
  return note->most[end] + 1;
}

static void settle_end(xd_reader *r, int fifo, int end, xd_fifo_end *e) {
  const xd_fifo_note *note = &r->fifos.at[fifo];
  if (xd_kind_of(e->tile) != XD_COMPUTE) return;
  e->depth = depth_of(note, end, e->depth);
  if (note->most[end] > e->depth)
    xd_read_fail(r, note->most_line[end], "%s acquires %d objects of @%s at once, but it has %d",
                 xd_place_label(e->tile).text, note->most[end], r->design->program.fifos.at[fifo].name, e->depth);
  else if (!note->most[end])
    xd_read_fail(r, note->line, "%s never acquires object FIFO @%s, of which it is an end",
                 xd_place_label(e->tile).text, r->design->program.fifos.at[fifo].name);
}

/* ---- walks ---- */

static void check_walk(xd_reader *r, int fifo, const xd_fifo_end *e) {
  const xd_fifo *f = &r->design->program.fifos.at[fifo];
  const int64_t expected = xd_mlir_moved(&r->design->program, fifo, e->tile);
  const double bytes = xd_mlir_walked(e);
  if (e->n_dims && bytes != (double)expected)
    xd_read_fail(r, r->fifos.at[fifo].line, "the walk of @%s at %s has %.0f bytes, but a transfer there has %" PRId64,
                 f->name, xd_place_label(e->tile).text, bytes, expected);
  if (xd_kind_of(e->tile) == XD_MEMORY && !r->fifos.at[fifo].links)
    xd_read_fail(r, r->fifos.at[fifo].line, "object FIFO @%s ends in %s, but no link takes it on", f->name,
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

/* Of the FIFO, at its shim; or the one that was named. */
static int shim_channel(const xd_program *p, const xd_pending *t) {
  if (t->fifo < 0) return same_channel(p, &t->channel);
  const xd_fifo *f = &p->fifos.at[t->fifo];
  if (xd_kind_of(f->producer.tile) == XD_SHIM) return f->source;
  for (int i = 0; i < f->n_consumers; i++)
    if (xd_kind_of(f->consumer[i].tile) == XD_SHIM) return f->sink[i];
  return -1;
}

/* Descriptors without a number: in turn. The simulator finds those that are still in use. */
static int next_id(xd_reader *r, int channel, int *turn) {
  const int all = r->config->array.descriptors[XD_SHIM];
  const int column = r->design->program.channels.at[channel].tile.column;
  return turn[column]++ % all;
}

static void add_task(xd_reader *r, const xd_pending *t, int *turn) {
  xd_program *p = &r->design->program;
  const int channel = shim_channel(p, t);
  if (channel < 0) {
    xd_read_fail(r, t->line, "no object FIFO uses that channel");
    return;
  }
  xd_command k = {.kind = t->kind, .channel = channel, .repeat = 1, .token = t->token};
  if (t->kind == XD_START) {
    const xd_descriptor d = {.channel = channel,
                             .id = t->id >= 0 ? t->id : next_id(r, channel, turn),
                             .buffer = t->buffer,
                             .pattern = t->pattern,
                             .iterations = t->iterations,
                             .iteration_stride = t->stride,
                             .acquire.lock = -1,
                             .release.lock = -1,
                             .next = -1};
    tw_error why;
    k.descriptor = XD_ADD(p, descriptors, &d);
    if (t->repeat < 1 || t->repeat > r->config->array.repeats)
      xd_read_fail(r, t->line, "a task runs %" PRId64 " times; 1 to %d are possible", t->repeat,
                   r->config->array.repeats);
    k.repeat = (int)t->repeat;
    if (xd_going(r) && !p->failed && xd_check_descriptor(r->config, p, &p->descriptors.at[k.descriptor], &why) != TW_OK)
      xd_read_fail(r, t->line, "%s", why.text);
  }
  XD_ADD(p, sequence, &k);
}

/* ---- lines ---- */

static void note_lines(xd_reader *r) {
  for (size_t i = 0; i < r->fifos.n; i++) {
    xd_mlir_line l = {.line = r->fifos.at[i].line};
    snprintf(l.fifo, sizeof l.fifo, "%s", r->design->program.fifos.at[i].name);
    xd_append(&r->design->lines, sizeof l, &l, &r->failed);
  }
}

/* `name` as a whole word, or as one that a number follows ("a_0_1": the second buffer of a_0). */
static bool mentions(const char *text, const char *name) {
  const size_t length = strlen(name);
  for (const char *at = strstr(text, name); at; at = strstr(at + 1, name)) {
    const bool begins = at == text || strchr(" (@", at[-1]), ends = !at[length] || strchr(" ,:;)_", at[length]);
    if (begins && ends) return true;
  }
  return false;
}

/* The FIFO with the longest name, or else the first tile, that a message names. */
void xd_mlir_locate(const xd_mlir_design *d, tw_error *error) {
  size_t longest = 0;
  int line = 0;
  if (!strncmp(error->text, "line ", 5)) return;
  for (size_t i = 0; i < d->lines.n; i++) {
    const xd_mlir_line *l = &d->lines.at[i];
    char place[32];
    if (!*l->fifo) snprintf(place, sizeof place, "(%d,%d)", l->tile.column, l->tile.row);
    const size_t length = strlen(l->fifo) + 1;
    if (length > longest && (*l->fifo ? mentions(error->text, l->fifo) : strstr(error->text, place) != NULL)) {
      longest = length;
      line = l->line;
    }
  }
  if (!line) return;
  char text[sizeof error->text];
  snprintf(text, sizeof text, "line %d: %.*s", line, (int)sizeof text - 20, error->text);
  memcpy(error->text, text, sizeof text);
}

/* ---- all ---- */

static void take(xd_reader *r, tw_status status, tw_error *why) {
  if (status == TW_OK || !xd_going(r)) return;
  xd_mlir_locate(r->design, why);
  r->status = tw_fail(r->error, status, "%s", why->text);
}

void xd_read_finish(xd_reader *r) {
  xd_program *p = &r->design->program;
  int turn[64] = {0};
  tw_error why = {0};
  if (!xd_going(r)) return;
  note_lines(r);
  if (!p->cores.n) xd_read_fail(r, r->token.line, "the device has no core");
  settle_fifos(r);
  if (!xd_going(r)) return;
  if (r->failed || p->failed) {
    r->status = tw_fail(r->error, TW_MISSING, "out of memory");
    return;
  }
  take(r, xd_lower(r->config, p, &why), &why);
  for (size_t i = 0; i < r->tasks.n && xd_going(r); i++) add_task(r, &r->tasks.at[i], turn);
  if (xd_going(r)) take(r, p->failed ? tw_fail(&why, TW_MISSING, "out of memory") : xd_check(r->config, p, &why), &why);
}
