/* timing.c - runs the stages one after another. */
#include "target/trainium/timing/timing.h"

#include <stdlib.h>

#include "base/strings.h"
#include "target/trainium/timing/compiler.h"
#include "target/trainium/timing/machine.h"

/* Spilling leaves the largest of these parts of a memory that fits. */
enum { PARTS = 32 };

static int compare_changes(const void *x, const void *y) {
  const trn_change *a = x, *b = y;
  if (a->at != b->at) return (a->at > b->at) - (a->at < b->at);
  return (a->bytes > b->bytes) - (a->bytes < b->bytes); /* at the same time, bytes are freed before they are taken */
}

/* A tensor's bytes are in use from its first to its last access in time, not in program order. */
static bool find_changes(const trn_compiled *c, trn_timing *t) {
  const trn_program *p = c->program;
  /* tensor i: its first access at 2 i, its last at 2 i + 1 */
  trn_change *all = calloc(2 * p->n_tensors + 1, sizeof *all);
  if (!all) return false;
  for (size_t i = 0; i < p->n_instructions; i++) {
    if (c->is_removed[i]) continue;
    for (int k = 0; k < p->instruction[i].n_operands; k++) {
      const int tensor = trn_place_of(c, &p->instruction[i], k).tensor;
      trn_change *life = all + 2 * tensor;
      const double from = t->start[i], to = t->end[i];
      if (!life->bytes || from < life[0].at) life[0].at = from;
      if (!life->bytes || to > life[1].at) life[1].at = to;
      life[0].memory = life[1].memory = p->tensor[tensor].memory;
      life[0].bytes = p->tensor[tensor].bytes;
      life[1].bytes = -life[0].bytes;
    }
  }
  for (size_t k = 0; k < 2 * p->n_tensors; k++)
    if (all[k].bytes && all[k].memory != TRN_HBM) all[t->n_changes++] = all[k];
  qsort(all, t->n_changes, sizeof *all, compare_changes);
  int64_t used[TRN_MEMORIES] = {0};
  for (size_t k = 0; k < t->n_changes; k++) {
    int64_t *now = &used[all[k].memory], *most = &t->most_used[all[k].memory];
    *now += all[k].bytes;
    if (*now > *most) *most = *now;
  }
  t->change = all;
  return true;
}

/* Leaves a share of the memories in use. */
static tw_status spill(const trn_config *config, const trn_program *p, double share, trn_timing *out) {
  const trn_config_memory *m = &config->memory;
  const int64_t psum = (int64_t)(share * (double)(m->psum_bank_bytes * m->psum_banks)),
                sbuf = (int64_t)(share * (double)m->sbuf_bytes);
  trn_program within = {0};
  trn_program_free(&out->spilled);
  out->spilled_bytes = 0;
  tw_status status = trn_spill(p, TRN_PSUM, psum, &within, &out->spilled_bytes, NULL);
  if (status == TW_OK) status = trn_spill(&within, TRN_SBUF, sbuf, &out->spilled, &out->spilled_bytes, NULL);
  trn_program_free(&within);
  return status;
}

tw_status trn_time(const trn_config *config, const trn_program *p, const trn_compiler *compiler, trn_timing *out,
                   tw_error *error) {
  trn_compiled c;
  trn_hazards h = {0};
  *out = (trn_timing){0};
  tw_status status = trn_compile(config, p, compiler, &c, error);
  trn_compiler rotating = *compiler;
  rotating.always_rotate = true;
  for (int part = PARTS; status == TW_FAILED && p->is_older && part > PARTS / 2; part--) { /* addresses leave holes */
    if (spill(config, p, (double)part / PARTS, out) != TW_OK) break;
    status = trn_compile(config, &out->spilled, &rotating, &c, NULL);
  }
  if (status == TW_OK) status = trn_find_hazards(&c, &h, error);
  if (status == TW_OK) status = trn_run_machine(config, &c, &h, out, error);
  if (status == TW_OK && !find_changes(&c, out)) status = tw_no_memory(error, NULL);
  out->copies_removed = c.copies_removed;
  out->loads_removed = c.loads_removed;
  out->total = out->device + config->launch_ns;
  trn_hazards_free(&h);
  trn_compiled_free(&c);
  if (status != TW_OK) trn_timing_free(out);
  return status;
}

void trn_timing_free(trn_timing *t) {
  free(t->span);
  free(t->start);
  free(t->end);
  free(t->change);
  trn_program_free(&t->spilled);
  *t = (trn_timing){0};
}
