/* diagnose.c - findings by counterfactual simulation and by counters; see diagnose.h. */
#include "target/gemmini/rewrite/diagnose.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/parallel.h"
#include "base/strings.h"
#include "target/gemmini/rewrite/clean.h"
#include "target/gemmini/rewrite/suppose.h"

/* ---- counterfactuals ---- */

static const struct counterfactual {
  gm_pass *pass;
  const char *what; /* format with one %zu: the number of occurrences */
} counterfactuals[] = {
    {gm_suppose_separate_banks,
     "%zu products read weights and activations from one scratchpad bank, which has one port"},
    {gm_remove_loads, "%zu loads bring data that is already there, unchanged"},
    {gm_suppose_everything_stays,
     "%zu loads repeat an earlier load; in a larger scratchpad its data could have stayed"},
    {gm_remove_zero_fills, "%zu loads of zeros fill an accumulator that the first product could overwrite"},
    {gm_remove_configs, "%zu configurations set values that are already set"},
    {gm_remove_fences, "%zu fences wait for results that no later command needs"},
    {gm_widen_loads, "%zu narrow loads continue the previous load; one wide load could do the work of both"},
    {gm_widen_stores, "%zu narrow stores continue the previous store; one wide store could do the work of both"},
    {gm_suppose_bare_core,
     "%zu commands are issued late: the core computes longer before them than a plain loop would"},
};
enum { N_COUNTERFACTUALS = sizeof counterfactuals / sizeof *counterfactuals };

typedef struct trial {
  const gm_stream *stream;
  struct {
    tw_status status;
    tw_error error;
    gm_change change;
    uint64_t cycles;
  } of[N_COUNTERFACTUALS + 1]; /* the last: the unchanged stream */
} trial;

static void try_one(void *context, size_t i) {
  trial *t = context;
  const bool unchanged = i == N_COUNTERFACTUALS;
  gm_stream copy;
  t->of[i].status = gm_stream_copy(t->stream, &copy, &t->of[i].error);
  if (t->of[i].status != TW_OK) return;
  const gm_config more_banks = gm_with_more_banks(copy.config);
  if (!unchanged) {
    if (counterfactuals[i].pass == gm_suppose_separate_banks) copy.config = &more_banks;
    t->of[i].status = counterfactuals[i].pass(&copy, &t->of[i].change, &t->of[i].error);
  }
  if (t->of[i].status == TW_OK && (unchanged || t->of[i].change.count)) t->of[i].cycles = gm_stream_cycles(&copy);
  gm_stream_free_copy(&copy);
}

/* ---- words ---- */

static void print_block(const gm_stream *s, uint64_t block, char *text, size_t size) {
  uint32_t local = gm_local(block);
  if (gm_is_garbage(local))
    snprintf(text, size, "none");
  else if (gm_is_acc(local))
    snprintf(text, size, "accumulator row %u", gm_unified(s->config, local) - (uint32_t)gm_spad_rows(s->config));
  else
    snprintf(text, size, "scratchpad row %u (bank %d)", local, gm_bank_of(s->config, block));
}

/* "command 17: mvin2 of 16 x 64 from A + 4096 to scratchpad row 0 (bank 0)" */
static void print_event(const gm_stream *s, size_t i, char *text, size_t size) {
  const gm_event *e = &s->event[i];
  char local[64], other[64] = "";
  uint64_t offset;
  if (gm_is_load(e->funct) || e->funct == GM_MVOUT) {
    int o = e->rs1 ? gm_stream_operand(s, e->rs1, 1, &offset) : -1;
    print_block(s, e->rs2, local, sizeof local);
    if (o >= 0)
      snprintf(other, sizeof other, "%s + %llu", s->operand[o].name, (unsigned long long)offset);
    else
      snprintf(other, sizeof other, "%s", e->rs1 ? "other memory" : "zeros");
    static const char *const names[] = {"mvin", "mvin2", "mvin3"};
    bool store = e->funct == GM_MVOUT;
    snprintf(text, size, "command %zu: %s of %d x %d, %s, %s %s", i + 1,
             store ? "mvout" : names[gm_load_state(e->funct)], gm_rows(e->rs2), gm_cols(e->rs2), other,
             store ? "from" : "to", local);
  } else if (gm_is_compute(e->funct)) {
    print_block(s, e->rs1, local, sizeof local);
    snprintf(text, size, "command %zu: compute with A in %s", i + 1, local);
  } else
    snprintf(text, size, "command %zu: %s", i + 1,
             e->funct == GM_CONFIG  ? "config"
             : e->funct == GM_FENCE ? "fence"
                                    : "preload");
}

/* Appends the core's time for the command. */
static void print_gap(const gm_stream *s, size_t i, char *text, size_t size) {
  size_t n = strlen(text);
  snprintf(text + n, size - n, ", %u cycles after the previous command", s->event[i].gap);
}

static void find(tw_diagnosis *d, double cost, double count, const char *example, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
static void find(tw_diagnosis *d, double cost, double count, const char *example, const char *format, ...) {
  if (d->n == TW_FINDINGS_MAX) return;
  tw_finding *f = &d->finding[d->n++];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(f->what, sizeof f->what, format, arguments);
  va_end(arguments);
  f->cost = cost;
  f->count = count;
  snprintf(f->example, sizeof f->example, "%s", example);
}

/* Adds findings from the machine's counters. `same_bank`: time that remains when operands are in different banks. */
static void add_counters(const gm_stream *s, double same_bank, tw_diagnosis *d) {
  const gm_counters *n = &s->run.counters;
  const double written = (double)n->bank_conflict - same_bank;
  const double idle =
      (double)(n->wait_load + n->wait_load_queue + n->wait_store + n->wait_config + n->wait_cpu) + (double)n->drain;
  const struct {
    double cycles, count;
    const char *what;
  } counter[] = {
      {idle, (double)n->computes, "the array is idle, for any reason; other lines give the reasons"},
      {written, (double)n->loads, "the array waits because loads write the scratchpad bank that it reads"},
      {(double)n->wait_load, (double)n->loads,
       "the array waits for a load: it is issued too late, or memory is the limit"},
      {(double)n->wait_load_queue, (double)n->loads, "a full load queue delays the computes after it"},
      {(double)n->wait_store, (double)n->stores,
       "the array waits for a store, or a full store queue delays the commands after it"},
      {(double)n->wait_config, (double)n->configs, "the array drains for a config_ex"},
      {(double)n->wait_cpu, (double)s->run.core.instructions,
       "the core has not yet issued the next command: it runs too many instructions for each"},
      {(double)n->drain, (double)n->fences, "fences wait for the last loads and stores"},
      {(double)n->array_preload, (double)n->computes, "weights enter the array without rows of a product"},
  };
  for (size_t i = 0; i < sizeof counter / sizeof *counter; i++)
    if (counter[i].cycles >= 1) find(d, counter[i].cycles, counter[i].count, "", "%s", counter[i].what);
}

static int by_cost(const void *x, const void *y) {
  const tw_finding *a = x, *b = y;
  return (a->cost < b->cost) - (a->cost > b->cost);
}

/* Fraction of the program's time; a smaller cost is not listed. */
static const double WORTH_SAYING = 0.0005;

static void drop_small(tw_diagnosis *d, double least) {
  size_t n = 0;
  for (size_t i = 0; i < d->n; i++)
    if (d->finding[i].cost >= least) d->finding[n++] = d->finding[i];
  d->n = n;
}

/* It ignores deadlines, because an incomplete list of findings would mislead. An interrupt stops it. */
tw_status gm_diagnose(const gm_stream *s, int jobs, tw_diagnosis *d, tw_error *error) {
  trial *t = calloc(1, sizeof *t);
  const tw_stop interrupt = {.interrupt = s->stop ? s->stop->interrupt : NULL};
  gm_stream unlimited = *s;
  memset(d, 0, sizeof *d);
  if (!t) return tw_no_memory(error, "the analysis");
  unlimited.stop = &interrupt;
  t->stream = &unlimited;
  tw_parallel_for(jobs, N_COUNTERFACTUALS + 1, try_one, t);
  uint64_t now = t->of[N_COUNTERFACTUALS].cycles;
  if (now > s->run.core.cycles && now != UINT64_MAX)
    now = s->run.core.cycles; /* the commands of a hardware loop are slower than the loop itself */
  double same_bank = 0;
  tw_status status = t->of[N_COUNTERFACTUALS].status;
  if (status != TW_OK) tw_fail(error, status, "%s", t->of[N_COUNTERFACTUALS].error.text);
  for (size_t i = 0; i < N_COUNTERFACTUALS && status == TW_OK; i++) {
    char example[200];
    if (t->of[i].status == TW_NO_MEMORY) status = tw_fail(error, TW_NO_MEMORY, "%s", t->of[i].error.text);
    if (t->of[i].status != TW_OK || !t->of[i].change.count) continue;
    if (i == 0)
      same_bank =
          2.0 * (double)t->of[i].change.count * s->config->dim; /* counts all rows of the operand: see execute.c */
    if (t->of[i].cycles == UINT64_MAX || now == UINT64_MAX) continue;
    double saved = t->of[i].cycles < now ? (double)(now - t->of[i].cycles) : 0;
    print_event(s, t->of[i].change.first, example, sizeof example);
    if (counterfactuals[i].pass == gm_suppose_bare_core) print_gap(s, t->of[i].change.first, example, sizeof example);
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
    find(d, saved, (double)t->of[i].change.count, example, counterfactuals[i].what, t->of[i].change.count);
#pragma GCC diagnostic pop
  }
  add_counters(s, same_bank, d);
  drop_small(d, WORTH_SAYING * (double)s->run.core.cycles);
  qsort(d->finding, d->n, sizeof *d->finding, by_cost);
  free(t);
  return status;
}
