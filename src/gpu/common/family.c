/* family.c - see family.h. */
#include "gpu/common/family.h"

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
  f->offers(&m, &j.context);
  return tw_menu_finish(&m, out, error);
}

tw_status tw_tile_emit(const tw_tile_family *f, const tw_tile_machine *machine, const tw_problem *problem,
                       const tw_schedule *s, char **source, tw_error *error) {
  tw_tile_any_plan plan;
  tw_text t = {0};
  tw_status status = tw_tile_plan_of(f, machine, problem, s, &plan, error);
  if (status == TW_OK) status = f->write(machine, problem, &plan, &t, error);
  if (status != TW_OK) {
    tw_text_free(&t);
    return status;
  }
  *source = tw_text_take(&t);
  return *source ? TW_OK : tw_fail(error, TW_NO_MEMORY, "no memory for the source of a kernel");
}
