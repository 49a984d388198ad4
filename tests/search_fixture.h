/* search_fixture.h - a target whose best kernel is known, for tests of the search.
 *
 * Its kernels are lines of text; their cost is a formula of six levers whose exhaustive minimum the tests compute. It
 * has all that makes a search go wrong: levers that only pay together, a model that overlooks one lever and is wrong
 * about the sign of another, steps that are offered and then refused, kernels that do not compile, kernels that are
 * fast because they are wrong, and many schedules of the same kernel. */
#ifndef TW_SEARCH_FIXTURE_H
#define TW_SEARCH_FIXTURE_H

#include <math.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/strings.h"
#include "tilewright/extend/extend.h"

/* What the tests set, and what they count. */
static struct {
  int delay_ms;                /* of each build */
  bool all_wrong, unavailable; /* every kernel but the plainest */
  double plainest_factor;      /* on all costs; 0 = 1: another build of the simulator */
  bool wrong_on_fresh_inputs;  /* the fastest kernels fail on any but the first seed */
  uint64_t first_seed;
} fake;
static atomic_int fake_emits, fake_builds, fake_running, fake_running_most;

/* ---- an op: one output of four elements ---- */

static tw_status fake_validate(const tw_problem *p, tw_error *error) {
  (void)p, (void)error;
  return TW_OK;
}
static size_t fake_operands(const tw_problem *p, tw_operand out[TW_OPERANDS_MAX]) {
  (void)p;
  out[0] = tw_operand_dense("C", TW_I32, 1, (int64_t[]){4});
  out[0].is_output = true;
  return 1;
}
static void fake_inputs(const tw_problem *p, uint64_t seed, void *const buffers[]) {
  (void)p, (void)seed, (void)buffers;
}
static void fake_reference(const tw_problem *p, void *const buffers[], int threads) {
  (void)p, (void)threads;
  memset(buffers[0], 7, 16);
}
static tw_status fake_compare(const tw_problem *p, void *const e[], void *const a[], tw_error *error) {
  (void)p, (void)e, (void)a, (void)error;
  return TW_OK;
}
static double fake_amount(const tw_problem *p) { return (double)p->value[0].i; }
static const tw_key fake_keys[] = {{.name = "size", .kind = TW_KEY_INT, .min = 1, .max = 1000, .help = "how much"}};
static const tw_op fake_op = {.size = sizeof(tw_op),
                              .name = "fake",
                              .summary = "for tests",
                              .keys = fake_keys,
                              .n_keys = 1,
                              .validate = fake_validate,
                              .operands = fake_operands,
                              .inputs = fake_inputs,
                              .reference = fake_reference,
                              .compare = fake_compare,
                              .operations = fake_amount,
                              .bytes = fake_amount};

static inline tw_problem fake_problem(int64_t size) {
  return (tw_problem){.op = &fake_op, .value = {{.given = true, .i = size}}};
}

/* ---- kernels: the state that a schedule leads to ---- */

enum { TILE, DEPTH, BANK, ORDER, UNROLL, HOIST, CHEAT, LEVERS };
static const struct fake_lever {
  const char *verb;
  int values, first; /* first: of the baseline */
} fake_levers[LEVERS] = {
    [TILE] = {"tile", 6, 0},     [DEPTH] = {"depth", 3, 0}, [BANK] = {"bank", 4, 0},   [ORDER] = {"order", 6, 5},
    [UNROLL] = {"unroll", 5, 0}, [HOIST] = {"hoist", 2, 0}, [CHEAT] = {"cheat", 2, 0},
};
typedef struct fake_state {
  int value[LEVERS];
} fake_state;

static inline fake_state fake_plainest(void) {
  fake_state s;
  for (int i = 0; i < LEVERS; i++) s.value[i] = fake_levers[i].first;
  return s;
}

/* The truth. Large tiles pay only when their loads are hidden (depth), and not beyond 4. */
static inline double fake_cost(const fake_state *s) {
  static const double exposed[3][6] = {
      {1, 1.1, 1.2, 1.3, 1.4, 1.5}, {.95, .8, .7, .62, .6, .66}, {.97, .82, .69, .6, .55, .64}};
  static const double order[6] = {.9, .8, .85, .95, .84, 1}, bank[4] = {1, .9, .8, .85};
  double cost = 1000 * exposed[s->value[DEPTH]][s->value[TILE]] * order[s->value[ORDER]] * bank[s->value[BANK]];
  cost *= 1 - .03 * s->value[UNROLL] + (s->value[UNROLL] == 4 ? .06 : 0); /* the last one overflows the cache */
  cost *= s->value[HOIST] ? 1.02 : 1;
  return floor(16 * cost * (s->value[CHEAT] ? .01 : 1));
}

/* The model does not see banks, and believes in hoisting and in cheating. */
static inline double fake_model(fake_state s) {
  double hoist = s.value[HOIST] ? .9 / 1.02 : 1;
  s.value[BANK] = 0;
  return fake_cost(&s) * hoist;
}

/* "tile 3" or, in one step, "all 1 2 0 1 0" (the first levers). "stack" is offered and always refused. */
static inline bool fake_apply(fake_state *s, const char *step) {
  for (int i = 0; i < LEVERS; i++) {
    size_t n = strlen(fake_levers[i].verb);
    if (strncmp(step, fake_levers[i].verb, n) != 0 || step[n] != ' ') continue;
    int value = atoi(step + n + 1);
    if (value < 0 || value >= fake_levers[i].values) return false;
    s->value[i] = value;
    return true;
  }
  return strncmp(step, "rename ", 7) == 0; /* changes nothing */
}

static inline tw_status fake_replay(const tw_schedule *schedule, fake_state *out, tw_error *error) {
  *out = fake_plainest();
  for (size_t i = 0; i < schedule->n; i++)
    if (!fake_apply(out, schedule->step[i])) return tw_fail(error, TW_USAGE, "no step '%s' here", schedule->step[i]);
  return TW_OK;
}

static inline fake_state fake_read(const char *source) {
  fake_state s = {{0}};
  const char *code = strstr(source, "kernel");
  if (code)
    sscanf(code, "kernel %d %d %d %d %d %d %d", &s.value[0], &s.value[1], &s.value[2], &s.value[3], &s.value[4],
           &s.value[5], &s.value[6]);
  return s;
}

/* ---- the target ---- */

static tw_status fake_available(const tw_target *t, tw_error *error) {
  (void)t, (void)error;
  return TW_OK;
}
static char *fake_describe(const tw_target *t) {
  (void)t;
  return strdup("a machine for tests");
}
static tw_status fake_settle(const tw_target *t, tw_problem *p, tw_error *error) {
  (void)t;
  return p->value[0].i == 999 ? tw_fail(error, TW_USAGE, "size=999 is not supported") : TW_OK;
}
static void fake_offer(tw_menu *menu, const fake_state *s, const char *verb, int value) {
  tw_menu_item *item = &menu->item[menu->n++];
  fake_state next = *s;
  snprintf(item->step, sizeof item->step, "%s %d", verb, value);
  snprintf(item->lever, sizeof item->lever, "%s", verb);
  snprintf(item->why, sizeof item->why, "to see what %s %d brings", verb, value);
  fake_apply(&next, item->step);
  item->predicted_cost = strcmp(verb, "stack") ? fake_model(next) : 1;
}
static tw_status fake_steps(const tw_target *t, const tw_problem *p, const tw_schedule *schedule, tw_menu *out,
                            tw_error *error) {
  (void)t, (void)p;
  fake_state s;
  tw_status status = fake_replay(schedule, &s, error);
  if (status != TW_OK) return status;
  out->n = 0;
  out->item = calloc(64, sizeof *out->item);
  for (int i = 0; i < LEVERS; i++)
    for (int v = 0; v < fake_levers[i].values; v++)
      if (v != s.value[i]) fake_offer(out, &s, fake_levers[i].verb, v);
  fake_offer(out, &s, "stack", 0);
  fake_offer(out, &s, "rename", 0);
  return TW_OK;
}
static tw_status fake_emit(const tw_target *t, const tw_problem *p, const tw_schedule *schedule, char **source,
                           tw_error *error) {
  (void)t, (void)p;
  fake_state s;
  atomic_fetch_add(&fake_emits, 1);
  tw_status status = fake_replay(schedule, &s, error);
  if (status != TW_OK) return status;
  tw_text text = {0};
  tw_text_add(&text, "/* made by:");
  for (size_t i = 0; i < schedule->n; i++) tw_text_add(&text, "\n * %s", schedule->step[i]);
  tw_text_add(&text, " */\nkernel");
  for (int i = 0; i < LEVERS; i++) tw_text_add(&text, " %d", s.value[i]);
  tw_text_add(&text, "\n");
  *source = tw_text_take(&text);
  return TW_OK;
}
static tw_status fake_predict(const tw_target *t, const tw_problem *p, const tw_schedule *schedule, double *cost,
                              tw_error *error) {
  (void)t, (void)p;
  fake_state s;
  tw_status status = fake_replay(schedule, &s, error);
  if (status == TW_OK) *cost = fake_model(s);
  return status;
}
static bool fake_is_plainest(const fake_state *s) {
  fake_state plainest = fake_plainest();
  return !memcmp(s, &plainest, sizeof plainest);
}
static tw_status fake_build(const tw_target *t, const tw_problem *p, const char *source, size_t length,
                            tw_evaluation *e, tw_artefact **out, tw_error *error) {
  (void)t, (void)p, (void)length, (void)e;
  fake_state *s = malloc(sizeof *s);
  *s = fake_read(source);
  atomic_fetch_add(&fake_builds, 1);
  int running = atomic_fetch_add(&fake_running, 1) + 1;
  if (running > atomic_load(&fake_running_most)) atomic_store(&fake_running_most, running);
  if (fake.delay_ms) nanosleep(&(struct timespec){.tv_nsec = fake.delay_ms * 1000000L}, NULL);
  atomic_fetch_sub(&fake_running, 1);
  tw_status status = TW_OK;
  if (fake.unavailable && !fake_is_plainest(s))
    status = tw_fail(error, TW_MISSING, "no room in /tmp");
  else if (s->value[UNROLL] == 3 && s->value[TILE] == 5)
    status = tw_fail(error, TW_FAILED, "kernel.c:1: too large");
  if (status == TW_OK)
    *out = (tw_artefact *)s;
  else
    free(s);
  return status;
}
static tw_status fake_check(const tw_target *t, tw_artefact *artefact, const tw_case *data, tw_evaluation *e,
                            tw_error *error) {
  (void)t, (void)e;
  const fake_state *s = (const fake_state *)artefact;
  if (s->value[CHEAT] || (fake.all_wrong && !fake_is_plainest(s))) return tw_fail(error, TW_FAILED, "C[3] is 0, not 7");
  if (fake.wrong_on_fresh_inputs && data->seed != fake.first_seed && s->value[BANK] == 2)
    return tw_fail(error, TW_FAILED, "C[1] is 0, not 7");
  return TW_OK;
}
static tw_status fake_measure(const tw_target *t, tw_artefact *artefact, const tw_case *data, tw_evaluation *e,
                              tw_measurement *out, tw_error *error) {
  (void)t, (void)data, (void)e, (void)error;
  double cost = fake_cost((const fake_state *)artefact) * (fake.plainest_factor ? fake.plainest_factor : 1);
  *out = (tw_measurement){.cost = cost, .cycles = cost, .utilization = 1000 / cost, .n_counters = 1, .n_memories = 1};
  out->counter[0] = (tw_counter){"array_busy", "cycles", "when the array computes", 1000};
  out->memory[0] = (tw_memory_use){"scratchpad", 16, 64};
  return TW_OK;
}
static void fake_release(tw_artefact *artefact) { free(artefact); }
static tw_status fake_bound(const tw_target *t, const tw_problem *p, tw_bound *out, tw_error *error) {
  (void)t, (void)p, (void)error;
  *out = (tw_bound){.cost = 1000, .compute_cost = 1000, .limit = "the formula"};
  return TW_OK;
}

static const tw_topic fake_topics[] = {{"isa", "Words.\ntile(n)\n  how large\nstride(n)\n  how far\n"},
                                       {"menu", "tile: larger tiles\ndepth: deeper buffers\nother: anything else\n"},
                                       {"architecture", "words\n"},
                                       {"rules", "words\n"},
                                       {"kernel", "words\n"},
                                       {0}};
static const tw_family fake_families[] = {{.op = "fake",
                                           .keys = "size",
                                           .settle = fake_settle,
                                           .steps = fake_steps,
                                           .emit = fake_emit,
                                           .predict = fake_predict,
                                           .bound = fake_bound}};
static const tw_target fake_target = {
    .size = sizeof(tw_target),
    .name = "fake-machine",
    .summary = "for tests",
    .unit = "cycles",
    .traits = {.simulated = true, .deterministic = true, .language = "text", .source_name = "kernel.txt"},
    .n_families = 1,
    .family = fake_families,
    .topics = fake_topics,
    .available = fake_available,
    .describe = fake_describe,
    .build = fake_build,
    .check = fake_check,
    .measure = fake_measure,
    .release = fake_release};

/* ---- what the tests use ---- */

static inline void fake_reset(void) {
  memset(&fake, 0, sizeof fake);
  fake_emits = fake_builds = fake_running = fake_running_most = 0;
}

/* The least cost of all kernels that are right and compile. */
static inline double fake_optimum(void) {
  double best = HUGE_VAL;
  int all = 1;
  for (int i = 0; i < LEVERS; i++) all *= fake_levers[i].values;
  for (int code = 0; code < all; code++) {
    fake_state s;
    for (int i = 0, rest = code; i < LEVERS; rest /= fake_levers[i].values, i++)
      s.value[i] = rest % fake_levers[i].values;
    if (!s.value[CHEAT] && !(s.value[UNROLL] == 3 && s.value[TILE] == 5) && fake_cost(&s) < best) best = fake_cost(&s);
  }
  return best;
}

static inline tw_search_options fake_options(uint64_t seed, int jobs) {
  return (tw_search_options){
      .size = sizeof(tw_search_options), .seed = seed, .inputs = seed, .jobs = jobs, .dropout = -1};
}

#endif
