/* rewrite.c - the rewrites of a program: which apply, which pay, and the resulting source; see rewrite.h. */
#include "target/gemmini/rewrite/rewrite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/parallel.h"
#include "base/strings.h"
#include "target/gemmini/rewrite/clean.h"
#include "target/gemmini/rewrite/pack.h"
#include "target/gemmini/rewrite/program.h"
#include "target/gemmini/rewrite/source.h"

/* The core only sends commands: loops of the new source contain the core's computations. */
static tw_status send_only(gm_stream *s, gm_change *change, tw_error *error) {
  (void)error;
  *change = (gm_change){0};
  for (size_t i = 0; i < s->n; i++) {
    if (s->event[i].gap > GM_COMMAND_GAP && !change->count++) change->first = i;
    s->event[i].gap = GM_COMMAND_GAP;
  }
  return TW_OK;
}

/* Each rewrite once; rewrites that move commands share one pass, which has all their options. */
static const struct rewrite {
  const char *step, *lever, *why;
  gm_pass *pass;
  gm_pack_options options;
} rewrites[] = {
    {"bare commands", "core", "the core sends the same commands from plain loops and computes nothing", send_only, {0}},
    {"remove configs", "configs", "these configurations set values that are already set", gm_remove_configs, {0}},
    {"remove loads", "loads", "the load's destination already holds the same data", gm_remove_loads, {0}},
    {"remove fences",
     "fences",
     "no load and store on different sides of the fence access the same address",
     gm_remove_fences,
     {0}},
    {"overwrite instead of zeros",
     "zeros",
     "the first product of a sum can overwrite the accumulator, so no zeros are loaded",
     gm_remove_zero_fills,
     {0}},
    {"wide loads", "width", "one command loads neighbouring blocks", gm_widen_loads, {0}},
    {"wide stores",
     "width",
     "one command stores neighbouring blocks and writes whole cache lines",
     gm_widen_stores,
     {0}},
    {"place banks",
     "banks",
     "weights and activations are in different banks, and loads write a bank that is not being read",
     NULL,
     {.place = true}},
    {"keep operands",
     "banks",
     "operands that are needed again stay in the scratchpad while they fit",
     NULL,
     {.keep = true}},
    {"prefetch products=32",
     "prefetch",
     "loads are issued a group of 32 products before their use, spread among the products",
     NULL,
     {.prefetch = 32}},
    {"prefetch products=64",
     "prefetch",
     "loads are issued a group of 64 products before their use, spread among the products",
     NULL,
     {.prefetch = 64}},
    {"prefetch products=128",
     "prefetch",
     "loads are issued a group of 128 products before their use, spread among the products",
     NULL,
     {.prefetch = 128}},
    {"prefetch products=256",
     "prefetch",
     "loads are issued a group of 256 products before their use, spread among the products",
     NULL,
     {.prefetch = 256}},
    {"spread stores",
     "stores",
     "results alternate between accumulator banks; one is stored while the next is computed",
     NULL,
     {.spread = true}},
    /* These steps pay only together. */
    {"keep and prefetch products=64",
     "prefetch",
     "operands stay while they fit; other operands are loaded 64 products before their use",
     NULL,
     {.keep = true, .prefetch = 64}},
    {"prefetch products=64 and spread stores",
     "prefetch",
     "loads are issued 64 products early, and results alternate between accumulator banks",
     NULL,
     {.keep = true, .prefetch = 64, .spread = true}},
};
enum { N_REWRITES = sizeof rewrites / sizeof *rewrites };

static const struct rewrite *find_rewrite(const char *step) {
  for (size_t i = 0; i < N_REWRITES; i++)
    if (!strcmp(rewrites[i].step, step)) return &rewrites[i];
  return NULL;
}

static bool is_in(const tw_schedule *s, const char *step) {
  for (size_t i = 0; i < s->n; i++)
    if (!strcmp(s->step[i], step)) return true;
  return false;
}

/* Removals come first, in the order of the schedule. Then one pass moves commands. */
static tw_status apply(const tw_program *p, const tw_schedule *s, gm_stream *out, tw_error *error) {
  gm_pack_options options = {0};
  bool packs = false;
  if (p->fixed[0]) return tw_fail(error, TW_USAGE, "%s: %s", s->n ? s->step[0] : "no step", p->fixed);
  tw_status status = gm_stream_copy(&p->stream, out, error);
  for (size_t i = 0; status == TW_OK && i < s->n; i++) {
    const struct rewrite *r = find_rewrite(s->step[i]);
    gm_change change = {0};
    if (!r) {
      status = tw_fail(error, TW_USAGE, "unknown rewrite '%s'", s->step[i]);
    } else if (r->pass) {
      status = r->pass(out, &change, error);
      if (status == TW_OK && !change.count)
        status = tw_fail(error, TW_USAGE, "%s: the program has no place to apply this step", r->step);
    } else {
      packs = true;
      options.place |= r->options.place;
      options.keep |= r->options.keep;
      options.spread |= r->options.spread;
      if (r->options.prefetch) options.prefetch = r->options.prefetch;
    }
  }
  gm_change ignored; /* unneeded fences must not hold back moving commands */
  if (status == TW_OK && packs) status = gm_remove_fences(out, &ignored, error);
  if (status == TW_OK && packs) status = gm_pack(out, &options, error);
  if (status == TW_OK && s->n) status = send_only(out, &ignored, error);
  return status;
}

static tw_status add_item(tw_menu *menu, const struct rewrite *r, double predicted, tw_error *error) {
  tw_menu_item *item = tw_resize(menu->item, menu->n + 1, sizeof *item);
  if (!item) return tw_no_memory(error, "the rewrites");
  menu->item = item;
  item = &menu->item[menu->n++];
  memset(item, 0, sizeof *item);
  snprintf(item->step, sizeof item->step, "%s", r->step);
  snprintf(item->lever, sizeof item->lever, "%s", r->lever);
  snprintf(item->why, sizeof item->why, "%s", r->why);
  item->predicted_cost = predicted;
  return TW_OK;
}

/* ---- what pays ---- */

typedef struct forecast {
  const tw_program *program;
  const tw_schedule *schedule;
  uint64_t cycles[N_REWRITES + 1]; /* after each rewrite; UINT64_MAX if it does not apply. The last: without any */
} forecast;

/* Simulates the commands after a rewrite. The core's own time is known only when the source runs. */
static void predict(void *context, size_t i) {
  forecast *f = context;
  tw_schedule longer = *f->schedule;
  gm_stream stream = {0};
  f->cycles[i] = UINT64_MAX;
  if (tw_is_stopped(f->program->stream.stop)) return;
  if (i < N_REWRITES && (is_in(&longer, rewrites[i].step) || tw_schedule_add(&longer, rewrites[i].step, NULL) != TW_OK))
    return;
  if (i == N_REWRITES && !longer.n)
    f->cycles[i] = f->program->stream.run.core.cycles;
  else if (apply(f->program, &longer, &stream, NULL) == TW_OK)
    f->cycles[i] = gm_stream_cycles(&stream);
  gm_stream_free_copy(&stream);
}

static int by_prediction(const void *x, const void *y) {
  const tw_menu_item *a = x, *b = y;
  return (a->predicted_cost > b->predicted_cost) - (a->predicted_cost < b->predicted_cost);
}

tw_status gm_rewrites(const tw_program *p, const tw_schedule *s, tw_menu *out, tw_error *error) {
  forecast f = {.program = p, .schedule = s};
  *out = (tw_menu){0};
  if (p->fixed[0]) return TW_OK;
  tw_parallel_for(p->jobs, N_REWRITES + 1, predict, &f);
  if (tw_is_stopped(p->stream.stop)) return tw_fail(error, TW_INTERRUPTED, "stopped while looking for rewrites");
  tw_status status = TW_OK;
  for (size_t i = 0; status == TW_OK && i < N_REWRITES; i++)
    if (f.cycles[i] < f.cycles[N_REWRITES]) status = add_item(out, &rewrites[i], (double)f.cycles[i], error);
  if (status == TW_OK && out->n) qsort(out->item, out->n, sizeof *out->item, by_prediction);
  return status;
}

tw_status gm_rewrite(const tw_program *p, const tw_schedule *s, char **source, tw_error *error) {
  gm_stream stream = {0};
  tw_text note = {0};
  tw_status status = apply(p, s, &stream, error);
  tw_text_add_string(&note, "A program rewritten by tilewright:");
  for (size_t i = 0; i < s->n; i++) tw_text_add(&note, "%s %s", i ? "," : "", s->step[i]);
  tw_text_add_string(&note, ".");
  char *text = tw_text_take(&note);
  if (!text) status = tw_no_memory(error, "the program");
  if (status == TW_OK) status = gm_stream_source(&stream, text, source, error);
  free(text);
  gm_stream_free_copy(&stream);
  return status;
}
