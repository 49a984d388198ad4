/* rewrite.c - see rewrite.h. */
#include "target/trainium/rewrite/rewrite.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/strings.h"
#include "target/trainium/rewrite/edits.h"
#include "target/trainium/target.h"

enum { EDITS_MAX = 200, LINES_MAX = 12 };

/* Timing all changes of one kernel ends after this time: changes that were not timed are not offered. */
static const double seconds_most = 20;
/* A change must save this share of the time. */
static const double least_gain = 0.01;

struct tw_program {
  const tw_target *target;
  tw_problem problem;
  tw_case given; /* inputs alone */
  char *source;
  const tw_stop *stop;
};

/* Seconds of a source by the timing model; nothing is computed. */
static tw_status time_of(const tw_program *p, const char *source, double *cost, tw_error *error) {
  const tw_target *t = p->target;
  tw_artefact *a;
  tw_measurement m = {0};
  tw_evaluation e = {.trust = true};
  tw_status status = t->build(t, &p->problem, source, strlen(source), &e, &a, error);
  if (status != TW_OK) return status;
  status = t->measure(t, a, &p->given, &e, &m, error);
  *cost = m.cost;
  t->release(a);
  return status;
}

static tw_status check(const tw_target *t, const tw_problem *problem, const char *source, size_t length, bool trust,
                       uint64_t seed, int jobs, tw_error *error) {
  tw_case k;
  tw_artefact *a;
  tw_evaluation e = {.trust = trust};
  tw_status status = t->build(t, problem, source, length, &e, &a, error);
  if (status != TW_OK) return status;
  status = tw_target_case(t, problem, seed, jobs, &k, error);
  if (status == TW_OK) {
    status = t->check(t, a, &k, &e, error);
    tw_case_free(&k);
  }
  t->release(a);
  return status;
}

static void forget(tw_program *p) {
  tw_case_free(&p->given);
  free(p->source);
  free(p);
}

static tw_status study(const tw_target *t, const tw_problem *problem, const char *source, size_t length, bool trust,
                       uint64_t seed, int jobs, const tw_stop *stop, tw_program **out, tw_error *error) {
  tw_status status = check(t, problem, source, length, trust, seed, jobs, error);
  if (status != TW_OK) return status;
  tw_program *p = tw_new(1, sizeof *p);
  if (!p) return tw_no_memory(error, "a kernel");
  *p = (tw_program){.target = t, .problem = *problem, .source = strdup(source), .stop = stop};
  status = p->source ? tw_case_make_inputs(&p->problem, seed, &p->given, error) : tw_no_memory(error, "a kernel");
  if (status == TW_OK)
    *out = p;
  else
    forget(p);
  return status;
}

/* ---- where the time goes ---- */

typedef struct line_use {
  int line;
  double busy, count, saves;
  const char *engine;
} line_use;

/* Lines that save more first; of lines that save the same, the busier first. */
static int by_saving(const void *x, const void *y) {
  const line_use *a = x, *b = y;
  const double more = b->saves != a->saves ? b->saves - a->saves : b->busy - a->busy;
  return (more > 0) - (more < 0);
}

/* The lines whose instructions keep engines and DMA queues busy longest, at most LINES_MAX. */
static size_t busiest(const trn_program *program, const trn_timing *timing, line_use out[LINES_MAX]) {
  int lines = 0;
  for (size_t i = 0; i < program->n_instructions; i++)
    if (program->instruction[i].line > lines) lines = program->instruction[i].line;
  line_use *use = tw_new((size_t)lines + 1, sizeof *use);
  size_t n = 0;
  if (!use) return 0;
  for (size_t i = 0; i < timing->n_spans; i++) {
    const trn_span *s = &timing->span[i];
    line_use *u = &use[program->instruction[s->instruction].line];
    u->line = program->instruction[s->instruction].line;
    u->busy += s->end - s->start;
    u->count++;
    u->engine = s->lane < TRN_ENGINES ? trn_engine_name((trn_engine)s->lane) : "DMA";
  }
  qsort(use, (size_t)lines + 1, sizeof *use, by_saving); /* no saving is known yet: the busiest first */
  for (int i = 0; i <= lines && n < LINES_MAX; i++)
    if (use[i].line > 0 && use[i].busy > 0) out[n++] = use[i];
  free(use);
  return n;
}

/* The program's time without the instructions of a line. */
static double time_without(const trn_config *c, const trn_compiler *compiler, const trn_program *program, int line) {
  trn_program copy = *program;
  trn_timing timing;
  double total = 0;
  copy.instruction = tw_new(program->n_instructions + 1, sizeof *copy.instruction);
  copy.n_instructions = 0;
  if (!copy.instruction) return 0;
  for (size_t i = 0; i < program->n_instructions; i++)
    if (program->instruction[i].line != line) copy.instruction[copy.n_instructions++] = program->instruction[i];
  if (trn_time(c, &copy, compiler, &timing, NULL) == TW_OK) {
    total = timing.total;
    trn_timing_free(&timing);
  }
  free(copy.instruction);
  return total;
}

/* One line of the source, without blanks around it. */
static void copy_line(const char *source, int line, char *out, size_t size) {
  for (int i = 1; i < line && *source; source += *source == '\n') {
    source += strcspn(source, "\n");
    i++;
  }
  source += strspn(source, " \n");
  snprintf(out, size, "%.*s", (int)strcspn(source, "\n"), source);
}

static tw_status diagnose(const tw_program *p, int jobs, tw_diagnosis *out, tw_error *error) {
  trn_program program;
  trn_timing timing;
  line_use use[LINES_MAX];
  const trn_config *c = p->target->config;
  const double begun = tw_now();
  (void)jobs;
  *out = (tw_diagnosis){0};
  tw_status status = trn_program_of(p->target, p->source, &p->given, &program, error);
  if (status != TW_OK) return status;
  const trn_compiler compiler = trn_compiler_of(p->given.problem);
  status = trn_time(c, &program, &compiler, &timing, error);
  if (status == TW_OK) {
    const size_t n = busiest(timing.spilled.n_instructions ? &timing.spilled : &program, &timing, use);
    for (size_t i = 0; i < n; i++) {
      const bool late = tw_now() - begun > seconds_most / 4 || tw_is_set(p->stop ? p->stop->interrupt : NULL);
      const double without = late ? 0 : time_without(c, &compiler, &program, use[i].line);
      use[i].saves = without > 0 && without < timing.total ? timing.total - without : 0;
    }
    qsort(use, n, sizeof *use, by_saving);
    for (size_t i = 0; i < n && out->n < TW_FINDINGS_MAX; i++) {
      tw_finding *f = &out->finding[out->n];
      if (use[i].saves <= 0) continue;
      *f = (tw_finding){.cost = 1e-9 * use[i].saves, .count = use[i].count};
      snprintf(f->what, sizeof f->what, "line %d: it keeps the %s engine busy for %.4g us in %.0f instructions",
               use[i].line, use[i].engine, 1e-3 * use[i].busy, use[i].count);
      copy_line(p->source, use[i].line, f->example, sizeof f->example);
      out->n++;
    }
    trn_timing_free(&timing);
  }
  trn_program_free(&program);
  return status;
}

/* ---- changes ---- */

static tw_status rewrite(const tw_program *p, const tw_schedule *steps, char **source, tw_error *error) {
  char *now = strdup(p->source), *next;
  tw_status status = now ? TW_OK : tw_no_memory(error, "a kernel");
  for (size_t i = 0; status == TW_OK && i < steps->n; i++) {
    status = trn_edit_apply(now, steps->step[i], &next, error);
    if (status != TW_OK) break;
    free(now);
    now = next;
  }
  if (status == TW_OK)
    *source = now;
  else
    free(now);
  return status;
}

static int by_prediction(const void *x, const void *y) {
  const double a = ((const tw_menu_item *)x)->predicted_cost, b = ((const tw_menu_item *)y)->predicted_cost;
  return a < b ? -1 : a > b ? 1 : 0;
}

static void try_edit(const tw_program *p, const char *now, double cost, const trn_edit *e, tw_menu *menu) {
  char *text;
  double after = 0;
  if (trn_edit_apply(now, e->step, &text, NULL) != TW_OK) return;
  if (time_of(p, text, &after, NULL) == TW_OK && after > 0 && after < (1 - least_gain) * cost) {
    tw_menu_item *item = &menu->item[menu->n++];
    *item = (tw_menu_item){.predicted_cost = after};
    memcpy(item->step, e->step, sizeof item->step);
    snprintf(item->lever, sizeof item->lever, "%s", e->lever);
    snprintf(item->why, sizeof item->why, "%s: %.4g us, before: %.4g", e->why, 1e6 * after, 1e6 * cost);
  }
  free(text);
}

static tw_status rewrites(const tw_program *p, const tw_schedule *steps, tw_menu *out, tw_error *error) {
  const double begun = tw_now();
  double cost = 0;
  char *now;
  tw_status status = rewrite(p, steps, &now, error);
  if (status != TW_OK) return status;
  trn_edit *edit = tw_new(EDITS_MAX, sizeof *edit);
  *out = (tw_menu){.item = tw_new(EDITS_MAX, sizeof *out->item)};
  status = edit && out->item ? time_of(p, now, &cost, error) : tw_no_memory(error, "a menu");
  const size_t n = status == TW_OK && steps->n < TW_STEPS_MAX ? trn_edits_find(now, EDITS_MAX, edit) : 0;
  for (size_t i = 0; i < n && tw_now() - begun < seconds_most; i++) {
    if (p->stop && (tw_is_set(p->stop->interrupt) || (p->stop->deadline > 0 && tw_now() > p->stop->deadline))) break;
    try_edit(p, now, cost, &edit[i], out);
  }
  free(edit);
  free(now);
  if (status == TW_OK)
    qsort(out->item, out->n, sizeof *out->item, by_prediction);
  else
    tw_menu_free(out);
  return status;
}

const tw_rewriter trn_rewriter = {
    .study = study, .diagnose = diagnose, .rewrites = rewrites, .rewrite = rewrite, .forget = forget};
