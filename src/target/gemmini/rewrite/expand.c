/* expand.c - runs the loop units without the rest of the machine; see expand.h. */
#include "target/gemmini/rewrite/expand.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/strings.h"
#include "target/gemmini/machine/loop_conv.h"
#include "target/gemmini/machine/loop_ws.h"

enum {
  UNIT_GAP = 1, /* cycles from command to command of a loop unit */
  /* a loop unit that sends nothing in this number of steps never will, because it has few states */
  STEPS_WITHOUT_COMMAND = 64,
  CHECK_EVERY = 4096
};

typedef struct expansion {
  gm_stream *stream; /* that grows */
  gm_loop_ws ws;
  gm_loop_conv conv;
  int done_ws[GM_LOOP_KINDS], done_conv[GM_LOOP_KINDS]; /* commands that complete in the next step */
  char why[256];
  bool full;
} expansion;

static bool is_loop_ws(int funct) { return funct >= GM_LOOP_WS && funct <= GM_LOOP_WS_STRIDES_DC; }

bool gm_has_hardware_loops(const gm_stream *s) {
  for (size_t i = 0; i < s->n; i++)
    if (is_loop_ws(s->event[i].funct) || gm_is_loop_conv(s->event[i].funct)) return true;
  return false;
}

/* The kind of a loop's command: the queue of the station that it goes to (station.c). */
static int kind_of(const gm_command *c) {
  if (c->funct == GM_MVOUT || (c->funct == GM_CONFIG && (c->rs1 & 3) == GM_CONFIG_ST)) return GM_LOOP_STORES;
  if (gm_is_load(c->funct) || (c->funct == GM_CONFIG && (c->rs1 & 3) == GM_CONFIG_LD)) return GM_LOOP_LOADS;
  return GM_LOOP_EXECUTES;
}

static void append_command(expansion *x, const gm_command *c, uint32_t gap) {
  const uint64_t spare = (uint64_t)c->spare_rows << 48; /* rows that a separate command need not load */
  const gm_event e = {.funct = c->funct, .gap = gap, .rs1 = c->rs1, .rs2 = c->rs2 - spare};
  if (!gm_stream_append(x->stream, &e)) x->full = true;
}

/* One step of a unit. A command that it sends has completed by the next step. */
static bool step_ws(expansion *x, const gm_command *in, bool *take, gm_command *out) {
  int *done = x->done_ws;
  bool from_loop = false;
  bool sent = gm_loop_ws_step(&x->ws, in, take, true, done[GM_LOOP_LOADS], done[GM_LOOP_EXECUTES], done[GM_LOOP_STORES],
                              out, &from_loop, x->why);
  memset(x->done_ws, 0, sizeof x->done_ws);
  if (sent && from_loop) done[kind_of(out)]++;
  return sent;
}

static bool step_conv(expansion *x, const gm_command *in, bool *take, gm_command *out) {
  int *done = x->done_conv;
  bool from_loop = false;
  bool sent = gm_loop_conv_step(&x->conv, in, take, true, done[GM_LOOP_LOADS], done[GM_LOOP_EXECUTES],
                                done[GM_LOOP_STORES], out, &from_loop, x->why);
  memset(x->done_conv, 0, sizeof x->done_conv);
  if (sent && from_loop) done[kind_of(out)]++;
  return sent;
}

/* The matmul loop's unit, after the convolution's: takes one command. NULL: runs until it is idle. */
static bool feed_ws(expansion *x, const gm_command *in, uint32_t gap) {
  bool own = in && is_loop_ws(in->funct), take = false;
  for (int silent = 0; !x->why[0] && !x->full && !take && (own || gm_loop_ws_busy(&x->ws)); silent++) {
    gm_command out;
    if (step_ws(x, own ? in : NULL, &take, &out)) append_command(x, &out, UNIT_GAP), silent = 0;
    if (silent > STEPS_WITHOUT_COMMAND) snprintf(x->why, sizeof x->why, "deadlock in the matmul loop");
  }
  if (in && !own && !x->why[0]) append_command(x, in, gap);
  return !x->why[0] && !x->full;
}

static bool feed(expansion *x, const gm_command *in, uint32_t gap) {
  bool own = in && gm_is_loop_conv(in->funct), take = false, ok = true;
  for (int silent = 0; ok && !x->why[0] && !take && (own || gm_loop_conv_busy(&x->conv)); silent++) {
    gm_command out;
    if (step_conv(x, own ? in : NULL, &take, &out)) ok = feed_ws(x, &out, UNIT_GAP), silent = 0;
    if (silent > STEPS_WITHOUT_COMMAND) snprintf(x->why, sizeof x->why, "deadlock in the convolution loop");
  }
  return ok && !x->why[0] && (own || feed_ws(x, in, gap));
}

tw_status gm_expand_loops(gm_stream *s, tw_error *error) {
  gm_stream grown = *s;
  expansion *x = tw_new(1, sizeof *x);
  if (!x) return tw_no_memory(error, "the hardware loops");
  grown.event = NULL;
  grown.n = grown.room = 0;
  x->stream = &grown;
  gm_loop_ws_init(&x->ws, s->config);
  gm_loop_conv_init(&x->conv, s->config);
  tw_status status = TW_OK;
  for (size_t i = 0; status == TW_OK && i <= s->n; i++) {
    const gm_event *e = &s->event[i];
    const gm_command c = i < s->n ? (gm_command){.funct = e->funct, .rs1 = e->rs1, .rs2 = e->rs2} : (gm_command){0};
    if (i % CHECK_EVERY == 0 && tw_is_stopped(s->stop))
      status = tw_fail(error, TW_INTERRUPTED, "stopped while unrolling the hardware loops");
    else if (!feed(x, i < s->n ? &c : NULL, i < s->n ? e->gap : 0))
      status = x->full ? tw_fail(error, TW_FAILED,
                                 "the hardware loops issue more than %zu commands: too many to rewrite", grown.n)
                       : tw_fail(error, TW_FAILED, "command %zu: %s", i + 1, x->why);
  }
  free(x);
  if (status == TW_OK) {
    free(s->event);
    *s = grown;
  } else {
    free(grown.event);
  }
  return status;
}
