/* family.c - machine x op: finds a target's family for a problem's op, and decides for all machines which keys are
 * supported. A key that a machine ignored would change the expected result, but not the computed one. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/status.h"
#include "base/strings.h"
#include "op/ops.h"
#include "target/parse.h"
#include "tilewright/extend/target.h"

const tw_family *tw_family_of(const tw_target *t, const tw_op *op) {
  for (size_t i = 0; i < t->n_families; i++)
    if (strcmp(t->family[i].op, op->name) == 0 || strcmp(t->family[i].op, "*") == 0) return &t->family[i];
  return NULL;
}

tw_status tw_problem_parse_words(const tw_target *t, const char *op, size_t n_words, const char *const words[],
                                 tw_problem *out, tw_error *error) {
  const tw_op *known = tw_op_find(op);
  const tw_family *f = t && known ? tw_family_of(t, known) : NULL;
  return tw_problem_read_words(f ? f->options : NULL, f ? f->n_options : 0, op, n_words, words, out, error);
}

static tw_status read_words(const void *target, const char *op, size_t n, const char *const words[], tw_problem *out,
                            tw_error *error) {
  return tw_problem_parse_words(target, op, n, words, out, error);
}

tw_status tw_problem_parse(const tw_target *t, const char *text, tw_problem *out, tw_error *error) {
  return tw_problem_split(text, read_words, t, out, error);
}

/* For problems that are valid but that the machine does not support. */
static tw_status machine_lacks(tw_status status, tw_error *error) {
  return tw_status_restate(status, TW_USAGE, TW_UNSUPPORTED, error);
}

static tw_status find(const tw_target *t, const tw_problem *p, const tw_family **out, tw_error *error) {
  if ((*out = tw_family_of(t, p->op))) return TW_OK;
  char known[300] = "";
  for (size_t i = 0, used = 0; i < t->n_families && used < sizeof known; i++)
    used += (size_t)snprintf(known + used, sizeof known - used, "%s%s", i ? ", " : "", t->family[i].op);
  return tw_fail(error, TW_UNSUPPORTED, "%s: op %s is unsupported; expected one of %s", t->name, p->op->name, known);
}

static bool is_among(const char *name, const char *words) {
  if (strcmp(words, "*") == 0) return true;
  const size_t length = strlen(name);
  for (; *words; words += strspn(words, " ")) {
    const size_t n = strcspn(words, " ");
    if (n == length && memcmp(words, name, n) == 0) return true;
    words += n;
  }
  return false;
}

tw_status tw_target_settle(const tw_target *t, tw_problem *p, tw_error *error) {
  const tw_family *f;
  const tw_status status = find(t, p, &f, error);
  if (status != TW_OK) return status;
  for (size_t i = 0; i < p->op->n_keys; i++)
    if (p->value[i].given && !tw_problem_is_default(p, i) && !is_among(p->op->keys[i].name, f->keys))
      return tw_fail(error, TW_UNSUPPORTED, "%s: %s is not supported for %s; leave it out. Supported: %s", t->name,
                     p->op->keys[i].name, p->op->name, f->keys);
  return machine_lacks(f->settle(t, p, error), error);
}

tw_status tw_target_supports(const tw_target *t, tw_problem *p, tw_error *error) {
  tw_status status = tw_target_settle(t, p, error);
  if (status == TW_OK) status = p->op->validate(p, error);
  const tw_family *f = tw_family_of(t, p->op);
  return status == TW_OK && f->check ? machine_lacks(f->check(t, p, error), error) : status;
}

/* ---- schedules ---- */

bool tw_target_rename_steps(const tw_target *t, const tw_problem *p, tw_schedule *s) {
  const tw_family *f = tw_family_of(t, p->op);
  const tw_language *l = f && f->language ? f->language(t, p, s) : NULL;
  bool changed = false;
  for (size_t i = 0; l && i < s->n; i++) {
    char step[TW_STEP_MAX];
    changed |= tw_step_rename(l, s->step[i], step);
    memcpy(s->step[i], step, sizeof step);
  }
  return changed;
}

static tw_status find_schedules(const tw_target *t, const tw_problem *p, const tw_family **out, tw_error *error) {
  const tw_status status = find(t, p, out, error);
  if (status != TW_OK || (*out)->emit) return status;
  return tw_fail(error, TW_UNSUPPORTED, "%s has no schedules for %s; give the source of a kernel", t->name,
                 p->op->name);
}

tw_status tw_target_baseline(const tw_target *t, const tw_problem *p, tw_schedule *out, tw_error *error) {
  const tw_family *f;
  *out = (tw_schedule){0};
  const tw_status status = find_schedules(t, p, &f, error);
  return status == TW_OK && f->baseline ? machine_lacks(f->baseline(t, p, out, error), error) : status;
}

tw_status tw_target_steps(const tw_target *t, const tw_problem *p, const tw_schedule *s, tw_menu *out,
                          tw_error *error) {
  const tw_family *f;
  *out = (tw_menu){0};
  const tw_status status = find_schedules(t, p, &f, error);
  return status == TW_OK ? f->steps(t, p, s, out, error) : status;
}

tw_status tw_target_emit(const tw_target *t, const tw_problem *p, const tw_schedule *s, char **source,
                         tw_error *error) {
  const tw_family *f;
  const tw_status status = find_schedules(t, p, &f, error);
  if (status != TW_OK) return status;
  tw_schedule current = *s; /* sources name the steps */
  tw_target_rename_steps(t, p, &current);
  const tw_status emitted = f->emit(t, p, &current, source, error);
  return s->n ? emitted : machine_lacks(emitted, error);
}

tw_status tw_target_predict(const tw_target *t, const tw_problem *p, const tw_schedule *s, double *cost,
                            tw_error *error) {
  const tw_family *f;
  const tw_status status = find_schedules(t, p, &f, error);
  return status == TW_OK ? f->predict(t, p, s, cost, error) : status;
}

tw_status tw_target_bound(const tw_target *t, const tw_problem *p, tw_bound *out, tw_error *error) {
  const tw_family *f;
  *out = (tw_bound){0};
  const tw_status status = find(t, p, &f, error);
  if (status != TW_OK) return status;
  const tw_status bounded = machine_lacks(f->bound(t, p, out, error), error);
  if (bounded == TW_OK && out->least <= 0) out->least = 0.9 * out->compute_cost;
  return bounded;
}

/* ---- other things ---- */

static const char *text_of(const tw_topic *list, const char *topic) {
  for (; list && list->topic; list++)
    if (strcmp(list->topic, topic) == 0) return list->text;
  return NULL;
}

static const char *file_of(const char *folder, const char *op, int length, const char *topic) {
  char name[200];
  snprintf(name, sizeof name, "%s/prompts/%.*s%s%s.txt", folder, length, op, length ? "." : "", topic);
  const tw_embedded *file = tw_embedded_find(name);
  return file ? (const char *)file->data : NULL;
}

const char *tw_target_topic(const tw_target *t, const tw_problem *p, const char *topic) {
  const tw_family *f = tw_family_of(t, p->op);
  const char *folder = t->traits.prompts, *op = p->op->name, *underline = strrchr(op, '_');
  const char *text = f ? text_of(f->topics, topic) : NULL;
  if (!text && folder) text = file_of(folder, op, (int)strlen(op), topic);
  if (!text && folder && underline) text = file_of(folder, op, (int)(underline - op), topic);
  if (!text) text = text_of(t->topics, topic);
  return text || !folder ? text : file_of(folder, op, 0, topic);
}

tw_status tw_target_case(const tw_target *t, const tw_problem *problem, uint64_t seed, int threads, tw_case *out,
                         tw_error *error) {
  const bool expected =
      !t->traits.own_reference || !problem->op->exact || problem->op->operations(problem) <= t->traits.reference_up_to;
  return expected ? tw_case_make(problem, seed, threads, out, error) : tw_case_make_inputs(problem, seed, out, error);
}

bool tw_inspection_add(tw_inspection *i, tw_check_finding f) {
  tw_check_finding *more = f.text && f.key ? tw_resize(i->finding, i->n_findings + 1, sizeof *more) : NULL;
  if (more) {
    i->finding = more;
    more[i->n_findings++] = f;
    return true;
  }
  free(f.text);
  free(f.key);
  return false;
}

void tw_inspection_free(tw_inspection *i) {
  for (size_t f = 0; f < i->n_findings; f++) {
    free(i->finding[f].text);
    free(i->finding[f].key);
  }
  free(i->finding);
  free(i->counted);
  free(i->json);
  i->finding = NULL;
  i->n_findings = 0;
  i->counted = i->json = NULL;
}
