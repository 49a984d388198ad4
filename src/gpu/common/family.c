/* family.c - see family.h. */
#include "gpu/common/family.h"

#include <stdio.h>
#include <string.h>

static void begin(const tw_tile_family *f, const tw_tile_context *c, void *plan) {
  memset(plan, 0, f->plan_size);
  if (f->plainest) f->plainest(c, plan);
}

static tw_status supports(const tw_tile_family *f, const tw_tile_context *c, tw_error *error) {
  return f->supports ? f->supports(c->machine, c->problem, error) : TW_OK;
}

/* Returns the first of several usages. */
static tw_status begins_with(const char *usage, tw_error *error) {
  return tw_fail(error, TW_USAGE, "the first step of a tile kernel must be a tile; write for instance '%.*s'",
                 (int)strcspn(usage, ","), usage);
}

tw_status tw_tile_plan_of(const tw_tile_family *f, const tw_tile_machine *machine, const tw_problem *problem,
                          const tw_schedule *s, void *plan, tw_error *error) {
  const tw_tile_context c = {machine, problem};
  tw_status status = supports(f, &c, error);
  if (status != TW_OK) return status;
  if (!s->n && !f->plainest) return begins_with(f->language->verb[0].usage, error);
  begin(f, &c, plan);
  status = tw_steps_apply(f->language, &c, s, plan, NULL, error);
  return status == TW_OK ? f->settle(machine, problem, plan, error) : status;
}

tw_status tw_tile_predict(const tw_tile_family *f, const tw_tile_machine *machine, const tw_problem *problem,
                          const tw_schedule *s, tw_tile_predictor *predictor, const void *with, double *cost,
                          tw_error *error) {
  tw_tile_any_plan plan;
  const tw_status status = tw_tile_plan_of(f, machine, problem, s, &plan, error);
  if (status == TW_OK) *cost = predictor(with, &plan);
  return status;
}

typedef struct judgement {
  tw_tile_context context; /* the first member: it is all that verbs see */
  const tw_tile_family *family;
  tw_tile_predictor *predictor;
  const void *with;
} judgement;

static double judge(const void *with, const void *plan) {
  const judgement *j = with;
  tw_tile_any_plan settled;
  memcpy(&settled, plan, j->family->plan_size);
  if (j->family->settle(j->context.machine, j->context.problem, &settled, NULL) != TW_OK) return 0;
  return j->predictor(j->with, &settled);
}

tw_status tw_tile_steps(const tw_tile_family *f, const tw_tile_machine *machine, const tw_problem *problem,
                        const tw_schedule *s, tw_tile_predictor *predictor, const void *with, tw_menu *out,
                        tw_error *error) {
  const judgement j = {{machine, problem}, f, predictor, with};
  tw_tile_any_plan now, next;
  *out = (tw_menu){0};
  if (supports(f, &j.context, NULL) != TW_OK) return TW_OK;
  begin(f, &j.context, &now);
  const tw_status status = tw_steps_apply(f->language, &j.context, s, &now, NULL, error);
  if (status != TW_OK) return status;
  tw_menu_builder m = {.language = f->language,
                       .context = &j,
                       .schedule = s,
                       .now = &now,
                       .next = &next,
                       .plan_size = f->plan_size,
                       .judge = judge};
  tw_menu_offer_language(&m);
  if (f->offers) f->offers(&m, &j.context);
  return tw_menu_finish(&m, out, error);
}

/* ---- the kernel ---- */

enum { NAMES = 64, NAME = 32 };

/* Slots that a family has not set; `name` holds the names. */
typedef struct added {
  tw_slots *slots;
  size_t n;
  char name[NAMES][NAME];
} added;

/* The name of a new slot, "first_second"; NULL: it is set. */
static const char *new_slot(added *a, const char *first, const char *second, size_t length) {
  if (a->n == NAMES) return NULL;
  char *name = a->name[a->n];
  const int size = (int)strcspn(first, "|");
  snprintf(name, NAME, "%.*s%s%.*s", size, first, size && length ? "_" : "", (int)length, second);
  for (size_t i = 0; i < a->slots->n; i++)
    if (!strcmp(a->slots->slot[i].name, name)) return NULL;
  a->n++;
  return name;
}

static int64_t value_of(const void *plan, tw_field f) {
  int64_t value = 0;
  memcpy(&value, (const char *)plan + f.at, f.size);
  return value;
}

static void add_choices(added *a, const tw_argument *choice, const void *plan) {
  int64_t value = choice->least;
  for (const char *word = choice->choices; *word; value++) {
    const char *name = new_slot(a, "", word, strcspn(word, "=|"));
    if (name) tw_slots_flag(a->slots, name, value_of(plan, choice->into) == value);
    word += strcspn(word, "|");
    word += *word == '|';
  }
}

static void add_verb(added *a, const tw_verb *v, bool is_first, const void *plan) {
  const char *name = v->sets.size ? new_slot(a, v->name, "", 0) : NULL;
  if (name) tw_slots_flag(a->slots, name, value_of(plan, v->sets));
  for (const tw_argument *x = v->argument; x < v->argument + TW_ARGUMENTS_MAX && x->name; x++) {
    if (x->choices) add_choices(a, x, plan);
    if (x->choices || x->read) continue;
    name = new_slot(a, is_first && *x->name ? "" : v->name, x->name, strcspn(x->name, "|"));
    if (name) tw_slots_number_or_empty(a->slots, name, value_of(plan, x->into));
  }
}

tw_status tw_tile_fill(const tw_tile_family *f, const tw_tile_machine *m, const void *plan, const char *kernel,
                       tw_slots *slots, tw_text *t, tw_error *error) {
  added a = {.slots = slots};
  const struct {
    const char *name;
    int number;
  } numbers[] = {{"warp", m->warp_threads},
                 {"group_threads", m->group_threads},
                 {"group_rows", m->group_rows},
                 {"chips", m->chips}};
  if (new_slot(&a, "header", "", 0)) tw_slots_text(slots, "header", m->header);
  if (new_slot(&a, "warp_header", "", 0)) tw_slots_text(slots, "warp_header", m->warp_header);
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    if (new_slot(&a, numbers[i].name, "", 0)) tw_slots_number(slots, numbers[i].name, numbers[i].number);
  for (size_t i = 0; i < f->language->n; i++) add_verb(&a, &f->language->verb[i], i == 0, plan);
  const tw_status status = tw_template_add(t, kernel, slots, error);
  tw_slots_free(slots);
  return status;
}

tw_status tw_tile_write(const tw_tile_family *f, const tw_tile_machine *machine, const tw_problem *problem,
                        const void *plan, tw_text *t, tw_error *error) {
  tw_slots s = {0};
  if (f->write) return f->write(machine, problem, plan, t, error);
  f->slots(machine, problem, plan, &s);
  return tw_tile_fill(f, machine, plan, f->kernel, &s, t, error);
}

tw_status tw_tile_emit(const tw_tile_family *f, const tw_tile_machine *machine, const tw_problem *problem,
                       const tw_schedule *s, char **source, tw_error *error) {
  tw_tile_any_plan plan;
  tw_text t = {0};
  tw_status status = tw_tile_plan_of(f, machine, problem, s, &plan, error);
  if (status == TW_OK) status = tw_tile_write(f, machine, problem, &plan, &t, error);
  if (status != TW_OK) {
    tw_text_free(&t);
    return status;
  }
  *source = tw_text_take(&t);
  return *source ? TW_OK : tw_fail(error, TW_NO_MEMORY, "no memory for the source of a kernel");
}
