/* kind.c - see kind.h. The model is a roofline of engines and transfers: the search measures every candidate on the simulator, so it only
 * has to rank steps. */
#include "target/trainium/kernels/kind.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "op/ops.h"

int64_t trn_key(const trn_subject *s, const char *key) { return tw_problem_int(s->problem, key); }

int trn_key_bytes(const trn_subject *s, const char *key) { return tw_type_bits(tw_problem_type(s->problem, key)) / 8; }

const char *trn_type_name_of(tw_type type) {
  return type == TW_BF16 ? "bfloat16" : type == TW_F16 ? "float16" : type == TW_I32 ? "int32" : "float32";
}

const char *trn_engine_argument(trn_choice c) {
  static const char *const arguments[] = {"", ", engine=nisa.vector_engine", ", engine=nisa.scalar_engine",
                                          ", engine=nisa.gpsimd_engine"};
  return arguments[c];
}

void trn_copy_slots(const trn_subject *s, tw_slots *slots, const char *call, const char *from, const char *engine,
                    trn_choice c) {
  const bool by_activation = c == TRN_CHOOSE_SCALAR && trn_is_v2(s->config);
  tw_slots_text(slots, call, by_activation ? "nisa.activation(" : "nisa.tensor_copy(");
  tw_slots_text(slots, from, by_activation ? "op=nl.copy, data" : "src");
  tw_slots_text(slots, engine, by_activation ? "" : trn_engine_argument(c));
}

void trn_fill_numbers(tw_slots *slots, size_t n, const trn_number numbers[]) {
  for (size_t i = 0; i < n; i++) tw_slots_number(slots, numbers[i].name, numbers[i].value);
}

double trn_add_copies(const trn_subject *s, trn_work *w, trn_choice c, double n, double calls) {
  const trn_config_vector *v = &s->config->vector;
  const double by_vector = (n * v->psum + calls * v->start_cycles) / v->ghz,
               by_scalar = n / s->config->scalar.ghz + calls * s->config->scalar.psum_ns,
               share = c == TRN_CHOOSE_ANY ? by_scalar / (by_vector + by_scalar) : c == TRN_CHOOSE_VECTOR;
  w->vector += share * by_vector;
  w->scalar += (1 - share) * by_scalar;
  return by_scalar;
}

tw_status trn_needs(const trn_subject *s, const trn_needed needed[], size_t n, tw_error *error) {
  for (size_t i = 0; i < n; i++)
    if (trn_key(s, needed[i].key) != needed[i].value)
      return tw_fail(error, TW_USAGE, "unsupported %s: schedules on %s need %s=%s", needed[i].key, s->config->name,
                     needed[i].key, needed[i].expected);
  return TW_OK;
}

tw_status trn_fits(const trn_subject *s, const char *what, int64_t value, int64_t bytes, tw_error *error) {
  const int64_t most = s->config->memory.sbuf_bytes;
  if (bytes <= most) return TW_OK;
  return tw_fail(error, TW_USAGE, "unsupported %s%lld: %lld bytes of a partition of SBUF; expected at most %lld", what,
                 (long long)value, (long long)bytes, (long long)most);
}

void trn_offer_powers(tw_menu_builder *m, const char *lever, const char *why, const char *format, int least, int most) {
  for (int n = least; n <= most; n *= 2) tw_menu_offer(m, lever, why, "%s%d", format, n);
}

void trn_offer_engines(tw_menu_builder *m, const char *lever, const char *verb) {
  static const char *const engines[] = {"vector", "scalar", "gpsimd"};
  tw_menu_offer(m, lever, "the engine that is free first does the work", "%s any", verb);
  for (size_t i = 0; i < sizeof engines / sizeof *engines; i++)
    tw_menu_offer(m, lever, "the other engines have less to do", "%s %s", verb, engines[i]);
}

const trn_kind *const trn_kinds[TRN_KINDS] = {&trn_gemm,      &trn_rows,      &trn_softmax,   &trn_cumsum,
                                              &trn_transpose, &trn_pool,      &trn_depthwise, &trn_rotary,
                                              &trn_mamba,     &trn_attention, &trn_conv2d};

typedef struct context {
  trn_subject subject; /* first: functions of languages get it */
  const trn_kind *kind;
} context;

/* A target's families begin with one for each kind (target.c). */
static context context_of(const tw_target *t, const tw_problem *p) {
  return (context){{t->config, p}, trn_kinds[tw_family_of(t, p->op) - t->family]};
}

static tw_status plan_of(const context *c, const tw_schedule *schedule, void *plan, tw_error *error) {
  memset(plan, 0, TRN_PLAN_MAX);
  c->kind->start(&c->subject, plan);
  tw_status status = tw_steps_apply(c->kind->language, c, schedule, plan, NULL, error);
  return status == TW_OK ? c->kind->legal(&c->subject, plan, error) : status;
}

void trn_add(const trn_subject *s, trn_work *w, trn_choice engine, double cycles, double n, double calls) {
  const trn_config *c = s->config;
  if (engine == TRN_CHOOSE_VECTOR || engine == TRN_CHOOSE_ANY)
    w->vector += (cycles * n + calls * c->vector.start_cycles) / c->vector.ghz;
  if (engine == TRN_CHOOSE_SCALAR) w->scalar += n / c->scalar.ghz + calls * (c->scalar.sbuf_ns + c->scalar.pointer_ns);
  if (engine == TRN_CHOOSE_GPSIMD) w->gpsimd += (n + calls * c->gpsimd.start_cycles) / c->gpsimd.ghz;
}

/* The part of the machine that is busy longest, plus a twentieth of the other parts. */
double trn_predicted(const trn_kind *kind, const trn_subject *s, const void *plan) {
  const trn_config_dma *d = &s->config->dma;
  trn_work w = {.run_bytes = d->packet_bytes, .bytes = s->problem->op->bytes(s->problem)};
  if (kind->legal(s, plan, NULL) != TW_OK) return 0;
  kind->work(s, plan, &w);
  const double run = fmin(w.run_bytes, (double)d->packet_bytes);
  const double rate = fmin(d->engines * run / (d->packet_ns + run / d->engine_gbs), d->total_gbs);
  const double issue = d->hardware ? d->hardware_issue_ns : d->static_issue_ns;
  if (s->config->gpsimd.shares_port) w.vector += w.gpsimd; /* they take turns */
  const double part[] = {w.tensor, w.vector, w.scalar, w.gpsimd, w.bytes / rate, w.transfers * issue};
  double most = 0, all = 0;
  for (size_t i = 0; i < sizeof part / sizeof *part; i++) {
    most = fmax(most, part[i]);
    all += part[i];
  }
  return 1e-9 * (s->config->launch_ns + d->static_first_ns + w.first + w.last + most + 0.05 * (all - most));
}

static double judge(const void *given, const void *plan) {
  const context *c = given;
  return trn_predicted(c->kind, &c->subject, plan);
}

tw_status trn_kind_predict(const tw_target *t, const tw_problem *p, const tw_schedule *schedule, double *cost,
                           tw_error *error) {
  const context c = context_of(t, p);
  _Alignas(8) char plan[TRN_PLAN_MAX];
  const tw_status status = plan_of(&c, schedule, plan, error);
  if (status == TW_OK) *cost = trn_predicted(c.kind, &c.subject, plan);
  return status;
}

tw_status trn_kind_steps(const tw_target *t, const tw_problem *p, const tw_schedule *schedule, tw_menu *out,
                         tw_error *error) {
  const context c = context_of(t, p);
  _Alignas(8) char now[TRN_PLAN_MAX], next[TRN_PLAN_MAX];
  const tw_status status = plan_of(&c, schedule, now, error);
  if (status != TW_OK) return status;
  tw_menu_builder m = {.language = c.kind->language,
                       .context = &c,
                       .schedule = schedule,
                       .now = now,
                       .next = next,
                       .plan_size = c.kind->plan_size,
                       .judge = judge};
  c.kind->offer(&c.subject, now, &m);
  return tw_menu_finish(&m, out, error);
}

tw_status trn_kind_emit(const tw_target *t, const tw_problem *p, const tw_schedule *schedule, char **source,
                        tw_error *error) {
  const context c = context_of(t, p);
  _Alignas(8) char plan[TRN_PLAN_MAX];
  tw_slots slots = {0};
  tw_text text = {0};
  tw_status status = plan_of(&c, schedule, plan, error);
  if (status != TW_OK) return status;
  const bool older = tw_problem_int(p, "dialect");
  for (size_t i = 0; i < p->op->n_keys; i++)
    if (p->op->keys[i].kind == TW_KEY_INT) tw_slots_number(&slots, p->op->keys[i].name, p->value[i].i);
  c.kind->fill(&c.subject, plan, &slots);
  tw_slots_flag(&slots, "older", older);
  char *statement = tw_problem_stated(p, t->name);
  if (!statement) status = tw_no_memory(error, NULL);
  tw_slots_text(&slots, "statement", statement);
  free(statement);
  if (status == TW_OK) status = tw_template_add(&text, "trainium/kernels/head.py.in", &slots, error);
  if (status == TW_OK) status = tw_template_add(&text, c.kind->template, &slots, error);
  tw_slots_free(&slots);
  if (status == TW_OK) status = tw_text_finish(&text, source, error);
  if (status == TW_OK && older) {
    trn_add_older(&text, *source);
    free(*source);
    status = tw_text_finish(&text, source, error);
  }
  tw_text_free(&text);
  return status;
}

const tw_language *trn_kind_language(const tw_target *t, const tw_problem *p, const tw_schedule *schedule) {
  (void)schedule;
  return context_of(t, p).kind->language;
}
