/* test_chain.c - chains of small products on Gemmini: every program that a step makes computes what its op says, and a
 * program that breaks a dependence is never legal. An interpreter of the intermediate form stands in for the machine;
 * some programs are also compiled and run. */
#include "test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/embedded.h"
#include "base/random.h"
#include "gemmini_family.h"
#include "subject.h"
#include "target/gemmini/schedule/chain/chain.h"
#include "tilewright/extend/target.h"

static gm_config config;

static int setup(void **state) {
  tw_error error = {0};
  const tw_embedded *file = tw_embedded_find("gemmini/configs/gemmini-4x4-fp32.txt");
  assert_non_null(file);
  if (gm_config_parse((const char *)file->data, file->name, &config, &error) != TW_OK) fail_msg("%s", error.text);
  return 0;
}

static tw_problem problem_of(bool forward, int horizon, int states, int inputs) {
  return problem_from(NULL, "mpc_%s horizon=%d states=%d inputs=%d type=f32", forward ? "forward" : "backward", horizon,
                      states, inputs);
}

/* ---- the interpreter ---- */

typedef struct machine {
  const gm_chain *chain;
  float (*spad)[4], (*acc)[4];
  float *memory[GM_CHAIN_ARRAYS];
  float weights[4][4], next_weights[4][4], sums[4][4], d[4][4];
  gm_rows c;
  int c_at;
} machine;

static void read_tile(const machine *m, const gm_rows *r, const int *index, float out[4][4]) {
  memset(out, 0, 16 * sizeof(float));
  if (r->space == GM_NOWHERE) return;
  int at = gm_affine_value(&r->at, index);
  for (int i = 0; i < r->rows; i++)
    for (int j = 0; j < r->cols; j++) out[i][j] = r->transposed ? m->spad[at + j][i] : m->spad[at + i][j];
}

static void write_c(machine *m, const float value[4][4]) {
  for (int i = 0; m->c.space != GM_NOWHERE && i < m->c.rows; i++)
    for (int j = 0; j < m->c.cols; j++) {
      float *to = m->c.space == GM_SPAD ? &m->spad[m->c_at + i][j] : &m->acc[m->c_at + i][j];
      *to = m->c.space == GM_ACC_ADD ? *to + value[i][j] : value[i][j];
    }
}

static void multiply(machine *m, const gm_chain_command *x, const int *index) {
  float a[4][4], b[4][4], out[4][4];
  read_tile(m, &x->a, index, a);
  read_tile(m, &x->b, index, b);
  if (!x->accumulated) {
    memcpy(m->weights, m->next_weights, sizeof m->weights);
    memcpy(m->sums, m->d, sizeof m->sums);
  }
  for (int i = 0; i < 4; i++)
    for (int j = 0; j < 4; j++) {
      out[i][j] = x->output_stationary ? m->sums[i][j] : b[i][j];
      for (int k = 0; k < 4; k++) out[i][j] += a[i][k] * (x->output_stationary ? b[k][j] : m->weights[k][j]);
    }
  if (x->output_stationary) memcpy(m->sums, out, sizeof m->sums);
  write_c(m, out);
}

static bool interpret(void *context, const gm_chain_command *x, int position, const int *index) {
  machine *m = context;
  int a = gm_affine_value(&x->a.at, index), at = gm_affine_value(&x->memory.at, index);
  float *memory = m->memory[x->memory.array];
  (void)position;
  switch (x->kind) {
  case GM_LOAD:
    for (int r = 0; r < x->memory.rows; r++)
      for (int c = 0; c < x->memory.cols; c++)
        m->spad[a + c / 4 * x->block_stride + r][c % 4] = (float)x->scale * memory[at + r * x->memory.stride + c];
    break;
  case GM_STORE:
    for (int r = 0; r < x->memory.rows; r++)
      for (int c = 0; c < x->memory.cols; c++)
        memory[at + r * x->memory.stride + c] = x->a.space == GM_SPAD ? m->spad[a + r][c] : m->acc[a + r][c];
    break;
  case GM_BEFORE:
    read_tile(m, &x->a, index, x->output_stationary ? m->d : m->next_weights);
    m->c = x->b;
    m->c_at = gm_affine_value(&x->b.at, index);
    break;
  case GM_MULTIPLY: multiply(m, x, index); break;
  case GM_NEGATE:
  case GM_ADD:
    for (int i = 0; i < x->memory.cols; i++) {
      float value = m->memory[x->x.array][gm_affine_value(&x->x.at, index) + i];
      memory[at + i] =
          x->kind == GM_NEGATE ? -value : value + m->memory[x->y.array][gm_affine_value(&x->y.at, index) + i];
    }
    break;
  default: break;
  }
  return true;
}

/* Runs the chain on a case; the message of the op's comparison, or "". The array of results goes to `results`, if there
 * is one. */
static const char *run_chain(const gm_chain *c, const tw_problem *p, uint64_t seed, float *results) {
  static tw_error error;
  machine m = {.chain = c};
  tw_case k;
  error.text[0] = '\0';
  if (tw_case_make(p, seed, 1, &k, &error) != TW_OK) fail_msg("%s", error.text);
  m.spad = calloc((size_t)gm_spad_rows(&config), sizeof *m.spad);
  m.acc = calloc((size_t)gm_acc_rows(&config), sizeof *m.acc);
  void *actual[TW_OPERANDS_MAX];
  for (int i = 0; i < c->n_arrays; i++) {
    m.memory[i] = malloc((size_t)c->array[i].length * sizeof(float));
    memset(m.memory[i], TW_POISON, (size_t)c->array[i].length * sizeof(float));
    if (c->array[i].parameter) {
      const tw_operand *o = &k.operand[i];
      actual[i] = m.memory[i];
      if (o->is_output)
        memcpy((char *)m.memory[i] + o->given_at, (char *)k.buffer[i] + o->given_at, o->given_bytes);
      else
        memcpy(m.memory[i], k.buffer[i], o->bytes);
    }
    for (int e = 0; c->array[i].constant && e < 16; e++) m.memory[i][e] = e % 5 == 0;
  }
  gm_chain_walk(c, interpret, &m);
  tw_status status = p->op->compare(p, k.buffer, actual, &error);
  const int array = tw_mpc_of(p).forward ? TW_MPC_U : TW_MPC_BACK_D;
  if (results) memcpy(results, m.memory[array], k.operand[array].bytes);
  free(m.spad);
  free(m.acc);
  for (int i = 0; i < c->n_arrays; i++) free(m.memory[i]);
  tw_case_free(&k);
  return status == TW_OK ? "" : error.text;
}

static void expect_right(const tw_problem *p, const tw_schedule *s, uint64_t seed) {
  gm_chain_plan plan;
  gm_chain c;
  tw_error error = {0};
  char text[1024], name[256];
  tw_schedule_print(s, text, sizeof text);
  tw_problem_print(p, name, sizeof name);
  if (gm_chain_from(&config, p, s, &plan, &c, &error) != TW_OK) fail_msg("%s\n%s%s", name, text, error.text);
  const char *wrong = run_chain(&c, p, seed, NULL);
  if (*wrong) fail_msg("%s\n%s%s", name, text, wrong);
  gm_chain_free(&c);
}

/* ---- right programs ---- */

static void every_legal_step_keeps_the_program_right(void **state) {
  tw_random r;
  tw_random_seed(&r, 17);
  int steps = 0;
  for (int walk = 0; walk < 60 / example_stride(); walk++) {
    bool forward = tw_random_below(&r, 2);
    int states = 1 + (int)tw_random_below(&r, walk % 3 ? 14 : 34), inputs = 1 + (int)tw_random_below(&r, 9),
        horizon = 2 + (int)tw_random_below(&r, 16);
    tw_problem p = problem_of(forward, horizon, states, inputs);
    tw_schedule s = {0};
    for (;;) {
      tw_menu menu;
      tw_error error = {0};
      if (gm_steps(&config, &p, &s, &menu, &error) != TW_OK) fail_msg("%s", error.text);
      for (size_t i = 0; i < menu.n; i++) {
        tw_schedule longer = s;
        assert_true(menu.item[i].predicted_cost > 0 && isfinite(menu.item[i].predicted_cost));
        assert_int_equal(tw_schedule_add(&longer, menu.item[i].step, &error), TW_OK);
        expect_right(&p, &longer, (uint64_t)walk + 1);
        steps++;
      }
      if (!menu.n) break;
      tw_schedule_add(&s, menu.item[tw_random_below(&r, menu.n)].step, NULL);
      tw_menu_free(&menu);
      if (s.n > 14) break;
    }
  }
  assert_true(steps > 1500 / example_stride());
}

static void the_usual_sizes_are_right_all_the_way(void **state) {
  static const int sizes[][2] = {{12, 4}, {4, 1}, {32, 8}, {13, 5}, {1, 1}, {3, 7}};
  static const int horizons[] = {2, 3, 5, 10, 20};
  static const char forward[] = "fuse\nhoist\nmerge\nunfence\nprune\nspread\nkeep_resident\nclosed_loop\n",
                    backward[] = "fuse\nhoist\nmerge\nunfence\nprune\nspread\nkeep_resident\n";
  static const char *const ends[] = {"",
                                     "output_stationary\n",
                                     "output_stationary\nunroll inner\n",
                                     "row_vectors\n",
                                     "row_vectors\ndrain\n",
                                     "row_vectors\nunroll all\n",
                                     "row_vectors\nlookahead 2\n",
                                     "row_vectors\nlookahead 4\nunroll inner\n",
                                     "row_vectors\npremultiply\ndrain\n",
                                     "row_vectors\nlookahead 2\npremultiply\n"};
  for (size_t z = 0; z < sizeof sizes / sizeof *sizes; z++)
    for (size_t h = 0; h < sizeof horizons / sizeof *horizons; h++)
      for (size_t e = 0; e < sizeof ends / sizeof *ends; e++)
        for (int f = 0; f < 2; f++) {
          char text[256];
          tw_problem p = problem_of(f, horizons[h], sizes[z][0], sizes[z][1]);
          if (f && strstr(ends[e], "premultiply")) continue;
          snprintf(text, sizeof text, "%s%s", f ? forward : backward, ends[e]);
          tw_schedule s = schedule_from(text);
          expect_right(&p, &s, 3);
        }
}

/* ---- dependences ---- */

static void copy_chain(const gm_chain *from, gm_chain *out) {
  *out = *from;
  out->command = malloc((size_t)from->capacity * sizeof *out->command);
  assert_non_null(out->command);
  memcpy(out->command, from->command, (size_t)from->n * sizeof *out->command);
}

static gm_chain chain_of(const tw_problem *p, const char *text) {
  gm_chain_plan plan;
  gm_chain c;
  tw_error error = {0};
  tw_schedule s = schedule_from(text);
  if (gm_chain_from(&config, p, &s, &plan, &c, &error) != TW_OK) fail_msg("%s", error.text);
  return c;
}

static int count(const gm_chain *c, gm_chain_kind kind) {
  int n = 0;
  for (int i = 0; i < c->n; i++) n += c->command[i].kind == kind;
  return n;
}

static void remove_at(gm_chain *c, int at) {
  memmove(c->command + at, c->command + at + 1, (size_t)(c->n - at - 1) * sizeof *c->command);
  c->n--;
}

static void expect_illegal(const gm_chain *c, const char *why) {
  tw_error error = {0};
  assert_int_equal(gm_chain_check(&config, c, &error), TW_USAGE);
  if (!strstr(error.text, why)) fail_msg("'%s' does not say '%s'", error.text, why);
}

/* Results go through memory: every fence of the plain programs but those that others stand in for is needed. */
static void fences_stay_where_a_value_passes_through_memory(void **state) {
  tw_problem p = problem_of(true, 5, 12, 4);
  gm_chain plain = chain_of(&p, ""), thrifty = chain_of(&p, "unfence"),
           kept = chain_of(&p, "fuse\nhoist\nkeep_resident\nunfence");
  assert_int_equal(count(&plain, GM_FENCE), 3);
  assert_int_equal(count(&kept, GM_FENCE), 0);
  assert_true(count(&thrifty, GM_FENCE) >= 2);
  for (int i = 0; i < thrifty.n; i++) {
    if (thrifty.command[i].kind != GM_FENCE) continue;
    gm_chain without;
    copy_chain(&thrifty, &without);
    remove_at(&without, i);
    expect_illegal(&without, "without a fence");
    gm_chain_free(&without);
  }
  gm_chain_free(&plain);
  gm_chain_free(&thrifty);
  gm_chain_free(&kept);
}

/* After the last step follow one sum for all results and one store. Without it, each of two groups of results is two
 * sums and a store. */
static void premultiply_leaves_one_sum_for_each_result(void **state) {
#define ROWS "fuse\nhoist\nmerge\nunfence\nprune\nspread\nkeep_resident\nrow_vectors"
  tw_problem p = problem_of(false, 5, 12, 4);
  gm_chain two = chain_of(&p, ROWS), one = chain_of(&p, ROWS "\npremultiply");
  assert_int_equal(count(&two, GM_STORE), 2);
  assert_int_equal(count(&one, GM_STORE), 1);
  for (int i = 0; i < 2; i++) {
    const gm_chain *c = i ? &one : &two;
    int sums = 0, at = c->n - 1;
    while (c->command[at].kind != GM_END) at--; /* of the steps, or of the matrix that follows them */
    for (; at < c->n; at++) sums += c->command[at].kind == GM_BEFORE && c->command[at].b.space != GM_NOWHERE;
    assert_int_equal(sums, i ? 1 : 4);
  }
  gm_chain_free(&two), gm_chain_free(&one);
#undef ROWS
}

/* A config_ex replaces a fence before products that read rows which the machine does not wait for, and the check needs it.
 * What passes through memory keeps its fence. */
static void drain_replaces_fences_of_products_alone(void **state) {
#define KEPT "fuse\nhoist\nmerge\nunfence\nprune\nspread\nkeep_resident\nrow_vectors"
  tw_problem backward = problem_of(false, 5, 12, 4), forward = problem_of(true, 5, 12, 4);
  gm_chain fenced = chain_of(&backward, KEPT), drained = chain_of(&backward, KEPT "\ndrain"),
           memory = chain_of(&forward, "unfence"), memory_drained = chain_of(&forward, "unfence\ndrain");
#undef KEPT
  assert_int_equal(count(&fenced, GM_FENCE), 1);
  assert_int_equal(count(&drained, GM_FENCE), 0);
  assert_int_equal(count(&drained, GM_SET_EX), count(&fenced, GM_SET_EX) + 1);
  assert_int_equal(count(&memory_drained, GM_FENCE), count(&memory, GM_FENCE));
  int last = drained.n - 1;
  while (drained.command[last].kind != GM_SET_EX) last--;
  remove_at(&drained, last);
  expect_illegal(&drained, "before the array may have written it");
  gm_chain_free(&fenced), gm_chain_free(&drained), gm_chain_free(&memory), gm_chain_free(&memory_drained);
}

/* Any command taken away: the check notices if something was to be read from it, or nothing needs it. */
static void what_nobody_wrote_is_not_read(void **state) {
  static const char *const schedules[] = {"", "fuse", "fuse\nhoist\nmerge\nunfence\nprune\nspread\nkeep_resident",
                                          "fuse\nhoist\nkeep_resident\nclosed_loop\nprune\nrow_vectors"};
  tw_problem p = problem_of(true, 4, 8, 4);
  int found = 0;
  for (size_t s = 0; s < 4; s++) {
    gm_chain c = chain_of(&p, schedules[s]);
    for (int i = 0; i < c.n; i++) {
      if (c.command[i].kind != GM_LOAD && c.command[i].kind != GM_STORE && c.command[i].kind != GM_ADD) continue;
      gm_chain without;
      copy_chain(&c, &without);
      remove_at(&without, i);
      tw_error error = {0};
      bool legal = gm_chain_check(&config, &without, &error) == TW_OK;
      if (legal && !*run_chain(&without, &p, 1, NULL))
        fail_msg("schedule %zu: command %d is not needed, but no step says so", s, i);
      found += !legal;
      gm_chain_free(&without);
    }
    gm_chain_free(&c);
  }
  assert_true(found > 10);
}

static void a_compute_does_not_read_the_accumulator(void **state) {
  tw_problem p = problem_of(true, 4, 8, 4);
  gm_chain c = chain_of(&p, "fuse");
  for (int i = 0; i < c.n; i++)
    if (c.command[i].kind == GM_MULTIPLY) {
      c.command[i].a.space = GM_ACC;
      break;
    }
  expect_illegal(&c, "cannot read the accumulator");
  gm_chain_free(&c);
}

static void inputs_are_not_written(void **state) {
  tw_problem p = problem_of(true, 4, 8, 4);
  gm_chain c = chain_of(&p, "fuse");
  for (int i = 0; i < c.n; i++)
    if (c.command[i].kind == GM_STORE) {
      c.command[i].memory.array = TW_MPC_D;
      break;
    }
  expect_illegal(&c, "is an input");
  gm_chain_free(&c);
}

/* A load leaves the loop only if nothing in the loop changes what it reads or where it goes. */
static void only_what_stays_the_same_is_hoisted(void **state) {
  tw_problem p = problem_of(true, 4, 8, 4);
  gm_chain c = chain_of(&p, "fuse\nhoist");
  int in_loop = 0, outside = 0, depth = 0;
  for (int i = 0; i < c.n; i++) {
    depth += (c.command[i].kind == GM_DO) - (c.command[i].kind == GM_END);
    if (c.command[i].kind != GM_LOAD) continue;
    bool changes = c.command[i].memory.array >= TW_MPC_X;
    bool in_steps = false;
    for (int k = i, d = 0; k >= 0; k--) { /* is a loop over t around it? */
      d += (c.command[k].kind == GM_END) - (c.command[k].kind == GM_DO);
      if (c.command[k].kind == GM_DO && d < 0) {
        in_steps |= c.command[k].name[0] == 't';
        d = 0;
      }
    }
    assert_int_equal(in_steps, changes);
    in_loop += changes;
    outside += !changes;
  }
  assert_true(in_loop >= 3 && outside >= 3);
  gm_chain_free(&c);
}

static void what_nothing_needs_is_dropped_and_no_more(void **state) {
  tw_problem p = problem_of(true, 5, 12, 4);
  gm_chain all = chain_of(&p, ""), pruned = chain_of(&p, "prune");
  /* x[5] is not computed: an iteration of u alone is left over. */
  assert_true(pruned.n > all.n);
  assert_int_equal(count(&pruned, GM_ADD), count(&all, GM_ADD) + 1);
  assert_string_equal(run_chain(&pruned, &p, 5, NULL), "");
  gm_chain_free(&all);
  gm_chain_free(&pruned);
}

/* ---- words ---- */

static void expect_refused(const tw_problem *p, const char *schedule, const char *message) {
  double cycles;
  tw_error error = {0};
  tw_schedule s = schedule_from(schedule);
  assert_int_equal(gm_predict(&config, p, &s, &cycles, &error), TW_USAGE);
  if (!strstr(error.text, message)) fail_msg("'%s' does not say '%s'", error.text, message);
  assert_null(strchr(error.text, '\n'));
}

static void bad_steps_are_refused_in_one_line(void **state) {
  tw_problem forward = problem_of(true, 5, 12, 4), backward = problem_of(false, 5, 12, 4),
             small = problem_of(true, 5, 4, 1);
  expect_refused(&forward, "tile m=4", "expected one of fuse, hoist");
  expect_refused(&forward, "fuse all", "unexpected 'all'");
  expect_refused(&forward, "fuse\nfuse", "repeats an earlier step");
  expect_refused(&forward, "keep_resident", "requires 'fuse'");
  expect_refused(&forward, "fuse\nkeep_resident", "requires 'hoist'");
  expect_refused(&forward, "closed_loop", "requires 'keep_resident'");
  expect_refused(&backward, "fuse\nhoist\nkeep_resident\nclosed_loop", "requires mpc_forward");
  expect_refused(&forward, "fuse\nhoist\nkeep_resident\nprune\nrow_vectors", "requires 'closed_loop'");
  expect_refused(&forward, "fuse\nhoist\nkeep_resident\nclosed_loop\nrow_vectors", "requires 'prune'");
  expect_refused(&forward, "lookahead 2", "requires 'row_vectors'");
  expect_refused(&backward, "premultiply", "requires 'row_vectors'");
  expect_refused(&forward, "fuse\nhoist\nkeep_resident\nclosed_loop\nprune\nrow_vectors\npremultiply",
                 "requires mpc_backward");
  expect_refused(&forward, "fuse\nhoist\nkeep_resident\nclosed_loop\nprune\nrow_vectors\nlookahead 3",
                 "unsupported value '3'; expected one of 2|4");
  expect_refused(&forward, "fuse\nhoist\nkeep_resident\nclosed_loop\nprune\nrow_vectors\noutput_stationary",
                 "has no effect after row_vectors");
  expect_refused(&forward, "prefetch_code 0", "unsupported value '0'; expected a number from 1 to 4");
  expect_refused(&forward, "prefetch_code 5", "unsupported value '5'; expected a number from 1 to 4");
  expect_refused(&forward, "code late", "unsupported value 'late'; expected a number from 1 to 4");
  expect_refused(&forward, "prefetch_code 2\nprefetch_code 2", "repeats an earlier step");
  expect_refused(&forward, "unroll all\nunroll all", "repeats an earlier step");
  expect_refused(&forward, "unroll", "is incomplete; usage: unroll inner, unroll all");
  expect_refused(&small, "unroll outer", "unsupported value 'outer'; expected one of inner|all");
}

static void what_does_not_fit_is_refused(void **state) {
  tw_problem large = problem_of(true, 5, 512, 8), longer = problem_of(true, 10000, 200, 8),
             many = problem_of(true, 5000, 12, 4);
  expect_refused(&large, "", "choose fewer states");
  expect_refused(&longer, "", "no schedules for");
  expect_refused(&many, "fuse\nhoist\nkeep_resident\nclosed_loop", "do not fit");
}

/* ---- on the machine ---- */

/* Breaks a program in one place: a command less, two in another order, an operand some rows away, another product's
 * sum, another configuration. */
static void damage(gm_chain *c, tw_random *r) {
  int at = (int)tw_random_below(r, (uint64_t)c->n);
  while (c->command[at].kind == GM_DO || c->command[at].kind == GM_END || c->command[at].kind == GM_OPERATOR)
    at = at + 1 < c->n ? at + 1 : 0;
  gm_chain_command *x = &c->command[at], old = *x;
  static const int away[] = {-16, -4, -2, -1, 1, 2, 3, 4, 8, 12, 4096};
  int by = away[tw_random_below(r, sizeof away / sizeof *away)];
  switch (tw_random_below(r, 6)) {
  case 0: remove_at(c, at); break;
  case 1:
  case 2:
    if (at + 1 < c->n && x[1].kind != GM_DO && x[1].kind != GM_END) {
      *x = x[1];
      x[1] = old;
    }
    break;
  case 3: x->a.at.base += by; break;
  case 4: x->b.at.base += by; break;
  default:
    if (x->kind == GM_SET_LD || x->kind == GM_LOAD)
      x->id = (x->id + 1) % 3;
    else
      x->accumulated = !x->accumulated;
  }
}

/* Does the simulated machine, which knows what the array holds, do what the interpreter does? Or does it refuse, as
 * `why` says? */
static void expect_same_on_the_machine(const tw_target *t, const tw_problem *p, const tw_schedule *s,
                                       const gm_chain_plan *plan, const gm_chain *c, const char *why) {
  tw_error error = {0};
  tw_case k;
  tw_artefact *a = NULL;
  char *source = NULL;
  const int array = tw_mpc_of(p).forward ? TW_MPC_U : TW_MPC_BACK_D;
  if (gm_chain_source(&config, p, s, plan, c, &source, &error) != TW_OK ||
      t->build(t, p, source, strlen(source), &(tw_evaluation){0}, &a, &error) != TW_OK ||
      tw_case_make(p, 23, 1, &k, &error) != TW_OK)
    fail_msg("%s", error.text);
  run_chain(c, p, 23, k.buffer[array]);
  tw_status status = t->check(t, a, &k, &(tw_evaluation){0}, &error);
  if (!*why && status != TW_OK) fail_msg("passes the check, and on the machine: %s\n%s", error.text, source);
  if (*why && (status == TW_OK || !strstr(error.text, why))) fail_msg("the machine does not refuse it: %s", source);
  t->release(a);
  tw_case_free(&k);
  free(source);
}

static void append(gm_chain *c, gm_chain_command x) { assert_true(gm_chain_insert(c, c->n, &x)); }

static void append_product(gm_chain *c, bool sums, int a, int rows, int to) {
  const gm_rows matrix = gm_spad(gm_at(8000), 4, 4), nowhere = gm_nowhere();
  append(c, (gm_chain_command){.kind = GM_BEFORE,
                               .output_stationary = sums,
                               .a = sums ? nowhere : matrix,
                               .b = gm_spad(gm_at(to), 4, 4)});
  append(c, (gm_chain_command){.kind = GM_MULTIPLY,
                               .output_stationary = sums,
                               .a = gm_spad(gm_at(a), rows, 4),
                               .b = sums ? matrix : nowhere});
}

/* A right program, and behind it: a product, others that have nothing to do with it, and one that reads its result
 * `shift` rows behind the first. */
static gm_chain with_reader_behind(const tw_problem *p, bool sums, int products_between, int shift, tw_schedule *s,
                                   gm_chain_plan *plan) {
  gm_chain c;
  tw_error error = {0};
  *s = schedule_from("fuse\nhoist\nmerge\nunfence\nprune\nspread\nkeep_resident");
  if (gm_chain_from(&config, p, s, plan, &c, &error) != TW_OK) fail_msg("%s", error.text);
  append(&c, (gm_chain_command){.kind = GM_SET_LD, .stride = 16, .block_stride = 4, .scale = 1});
  append(&c, (gm_chain_command){.kind = GM_LOAD,
                                .stride = 16,
                                .block_stride = 4,
                                .scale = 1,
                                .a = gm_spad(gm_at(8000), 4, 4),
                                .memory = {.array = TW_MPC_ADYN, .rows = 4, .cols = 4, .stride = 4}});
  append(&c, (gm_chain_command){.kind = GM_SET_EX, .output_stationary = sums});
  append_product(&c, sums, 8000, 4, 12200);
  for (int i = 0; i < products_between; i++) append_product(&c, sums, 8000, 4, 12300 + 8 * i);
  append_product(&c, sums, 12200 + shift, 4 - shift, 12250);
  return c;
}

/* The array holds results for a while; the machine waits only for those whose first row is the one that is read. It is
 * asked itself: it knows what is on its way in each cycle, and refuses to go on. */
static void results_are_not_read_before_they_have_left_the_array(void **state) {
  const tw_target *t = tw_target_find("gemmini-4x4-fp32");
  const tw_problem p = problem_of(true, 2, 8, 4);
  tw_error error = {0};
  if (t->available(t, &error) != TW_OK) skip();
  for (int sums = 0; sums < 2; sums++)
    for (int shift = 0; shift < 2; shift++) {
      int legal = 0;
      for (int between = 0; between < 16; between++) {
        tw_schedule s;
        gm_chain_plan plan;
        gm_chain c = with_reader_behind(&p, sums, between, shift, &s, &plan);
        bool passes = gm_chain_check(&config, &c, &error) == TW_OK;
        if (!passes &&
            !strstr(error.text,
                    "of the scratchpad is read before the array may have written it; the machine waits only"))
          fail_msg("%s", error.text);
        if (passes) expect_same_on_the_machine(t, &p, &s, &plan, &c, "");
        if (between == 0 && shift)
          expect_same_on_the_machine(
              t, &p, &s, &plan, &c,
              "of the scratchpad before the array has written its new value; the machine waits only");
        legal += passes;
        gm_chain_free(&c);
      }
      assert_true(shift ? legal >= 4 && legal <= 12 : legal == 16);
    }
}

/* Results that no tolerance made for right ones can judge: not written, or beyond all measure. */
static bool can_be_compared(const float *results, int n) {
  float poison;
  memset(&poison, TW_POISON, sizeof poison);
  for (int i = 0; i < n; i++)
    if (!(fabsf(results[i]) < 30) || !memcmp(&results[i], &poison, sizeof poison)) return false;
  return true;
}

/* The claim of check.c, from the other side: a program, right or not, that passes does on the machine what it says. */
static void damaged_programs_are_illegal_or_do_what_they_say(void **state) {
  static const struct {
    bool forward;
    const char *schedule;
  } programs[] = {
      {true, "fuse\nhoist\nunfence"},
      {true, "fuse\nhoist\nmerge\nunfence\nprune\nspread\nkeep_resident"},
      {true, "fuse\nhoist\nmerge\nunfence\nprune\nspread\nkeep_resident\nclosed_loop\noutput_stationary"},
      {true, "fuse\nhoist\nmerge\nunfence\nprune\nspread\nkeep_resident\nclosed_loop\nrow_vectors\nlookahead 2"},
      {false, "fuse\nhoist\nmerge\nunfence\nprune\nkeep_resident\noutput_stationary"},
      {false, "fuse\nhoist\nmerge\nunfence\nprune\nspread\nkeep_resident\nrow_vectors"},
      {false, "fuse\nhoist\nmerge\nunfence\nprune\nspread\nkeep_resident\nrow_vectors\ndrain"},
      {false, "fuse\nhoist\nmerge\nunfence\nprune\nspread\nkeep_resident\nrow_vectors\npremultiply"}};
  enum { PROGRAMS = sizeof programs / sizeof *programs, HORIZON = 6, STATES = 9, INPUTS = 5 };
  const tw_target *t = tw_target_find("gemmini-4x4-fp32");
  tw_error error = {0};
  if (t->available(t, &error) != TW_OK) skip();
  tw_random r;
  tw_random_seed(&r, 29);
  int legal = 0, illegal = 0, wrong = 0;
  for (int i = 0; i < 2000; i++) {
    const tw_problem p = problem_of(programs[i % PROGRAMS].forward, HORIZON, STATES, INPUTS);
    const tw_schedule s = schedule_from(programs[i % PROGRAMS].schedule);
    gm_chain_plan plan;
    gm_chain c;
    float results[HORIZON * INPUTS];
    if (gm_chain_from(&config, &p, &s, &plan, &c, &error) != TW_OK) fail_msg("%s", error.text);
    damage(&c, &r);
    if (gm_chain_check(&config, &c, &error) != TW_OK) {
      illegal++;
    } else {
      const char *says = run_chain(&c, &p, 23, results);
      int n = (programs[i % PROGRAMS].forward ? HORIZON : HORIZON - 1) * INPUTS;
      if (can_be_compared(results, n) && legal < 150) {
        legal++;
        wrong += *says != '\0';
        expect_same_on_the_machine(t, &p, &s, &plan, &c, "");
      }
    }
    gm_chain_free(&c);
  }
  assert_true(illegal > 800 && legal == 150 && wrong > 5);
}

static void programs_are_right_on_the_simulated_machine(void **state) {
  static const struct {
    bool forward;
    int horizon, states, inputs;
    const char *schedule;
  } runs[] = {
      {true, 5, 12, 4, ""},
      {true, 3, 6, 3, "fuse\nhoist\nunfence"},
      {true, 5, 12, 4, "fuse\nhoist\nmerge\nunfence\nprune\nspread\nkeep_resident\nclosed_loop\noutput_stationary"},
      {true, 7, 9, 5,
       "fuse\nhoist\nmerge\nunfence\nprune\nspread\nkeep_resident\nclosed_loop\nrow_vectors\nlookahead 2"},
      {false, 5, 12, 4, ""},
      {true, 10, 12, 4,
       "fuse\nhoist\nmerge\nunfence\nprune\nspread\nkeep_resident\nclosed_loop\noutput_stationary\nprefetch_code"},
      {true, 6, 8, 8,
       "fuse\nhoist\nmerge\nunfence\nprune\nspread\nkeep_resident\nclosed_loop\nrow_vectors\nprefetch_code 2"},
      {false, 9, 10, 6, "fuse\nhoist\nmerge\nunfence\nprune\nspread\nkeep_resident\noutput_stationary"},
      {false, 10, 12, 4, "fuse\nhoist\nmerge\nunfence\nprune\nspread\nkeep_resident\nrow_vectors"},
      {false, 5, 12, 4, "fuse\nhoist\nmerge\nunfence\nprune\nspread\nkeep_resident\nrow_vectors\ndrain"},
      {false, 5, 12, 4, "fuse\nhoist\nmerge\nunfence\nprune\nspread\nkeep_resident\nrow_vectors\npremultiply"},
      {false, 10, 9, 5, "fuse\nhoist\nmerge\nunfence\nprune\nspread\nkeep_resident\nrow_vectors\npremultiply\ndrain"}};
  const tw_target *t = tw_target_find("gemmini-4x4-fp32");
  tw_error error = {0};
  assert_non_null(t);
  if (t->available(t, &error) != TW_OK) skip();
  double cycles[sizeof runs / sizeof *runs];
  for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
    tw_problem p = problem_of(runs[i].forward, runs[i].horizon, runs[i].states, runs[i].inputs);
    tw_schedule s = schedule_from(runs[i].schedule);
    tw_case k;
    tw_artefact *a = NULL;
    tw_measurement m;
    char *source = NULL;
    if (tw_target_emit(t, &p, &s, &source, &error) != TW_OK ||
        t->build(t, &p, source, strlen(source), &(tw_evaluation){0}, &a, &error) != TW_OK ||
        tw_case_make(&p, 21, 1, &k, &error) != TW_OK || t->check(t, a, &k, &(tw_evaluation){0}, &error) != TW_OK ||
        t->measure(t, a, &k, &(tw_evaluation){0}, &m, &error) != TW_OK)
      fail_msg("%zu: %s", i, error.text);
    cycles[i] = m.cycles;
    t->release(a);
    tw_case_free(&k);
    free(source);
  }
  assert_true(cycles[2] * 3.2 < cycles[0]);
  assert_true(cycles[6] < cycles[4] * 2); /* ten steps, rewritten, against twice five */
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(every_legal_step_keeps_the_program_right),
      cmocka_unit_test(the_usual_sizes_are_right_all_the_way),
      cmocka_unit_test(premultiply_leaves_one_sum_for_each_result),
      cmocka_unit_test(drain_replaces_fences_of_products_alone),
      cmocka_unit_test(fences_stay_where_a_value_passes_through_memory),
      cmocka_unit_test(what_nobody_wrote_is_not_read),
      cmocka_unit_test(a_compute_does_not_read_the_accumulator),
      cmocka_unit_test(inputs_are_not_written),
      cmocka_unit_test(only_what_stays_the_same_is_hoisted),
      cmocka_unit_test(what_nothing_needs_is_dropped_and_no_more),
      cmocka_unit_test(bad_steps_are_refused_in_one_line),
      cmocka_unit_test(what_does_not_fit_is_refused),
      cmocka_unit_test(results_are_not_read_before_they_have_left_the_array),
      cmocka_unit_test(damaged_programs_are_illegal_or_do_what_they_say),
      cmocka_unit_test(programs_are_right_on_the_simulated_machine),
  };
  return cmocka_run_group_tests(tests, setup, NULL);
}
