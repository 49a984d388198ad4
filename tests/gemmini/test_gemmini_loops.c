/* Loop nests out of flat sequences: what is folded unfolds to the same sequence, whatever it was; nests are found; what
 * has no loops costs no more than a pass. */
#include "test.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "target/gemmini/rewrite/loops.h"

static void must(tw_status status, const tw_error *error) {
  if (status != TW_OK) fail_msg("%s", error->text);
}

enum { KINDS = 8, LONGEST = 1 << 18 };
static const char kind_of[KINDS] = "abcdefgh";

typedef struct sequence {
  size_t n;
  int kind[LONGEST];
  int64_t value[LONGEST][GM_LOOP_VALUES];
} sequence;

static void append(sequence *s, int kind, int64_t x, int64_t y) {
  assert_true(s->n < LONGEST);
  s->kind[s->n] = kind;
  s->value[s->n][0] = x;
  s->value[s->n++][1] = y;
}

static void fold(gm_loops *l, const sequence *s) {
  tw_error error = {0};
  for (size_t i = 0; i < s->n; i++) must(gm_loops_add(l, &kind_of[s->kind[i]], 1, s->value[i], &error), &error);
  must(gm_loops_fold(l, &error), &error);
}

/* Appends an element with all its turns. */
static void unfold(const gm_loops *l, gm_element e, const int64_t *value, sequence *out) {
  const gm_shape *s = &l->shape[e.shape];
  if (!e.count) {
    append(out, (int)((const char *)s->leaf - kind_of), value[0], value[1]);
    return;
  }
  int64_t *now = malloc(s->n_values * sizeof *now);
  for (uint32_t turn = 0; turn < e.count; turn++) {
    for (uint32_t v = 0; v < s->n_values; v++) now[v] = value[v] + turn * s->delta[v];
    for (uint32_t b = 0, v = 0; b < s->n_body; v += l->shape[s->body[b++].shape].n_values)
      unfold(l, s->body[b], now + v, out);
  }
  free(now);
}

/* The weight after folding; the sequence must come out again. */
static size_t round_trip(const sequence *s) {
  gm_loops l = {0};
  sequence *out = calloc(1, sizeof *out);
  fold(&l, s);
  for (size_t i = 0; i < l.n; i++) unfold(&l, l.element[i], l.value + l.at[i], out);
  assert_int_equal(out->n, s->n);
  assert_memory_equal(out->kind, s->kind, s->n * sizeof *s->kind);
  assert_memory_equal(out->value, s->value, s->n * sizeof *s->value);
  size_t weight = gm_loops_weight(&l);
  gm_loops_free(&l);
  free(out);
  return weight;
}

static void a_nest_is_found(void **state) {
  sequence *s = calloc(1, sizeof *s);
  for (int i = 0; i < 20; i++) {
    append(s, 0, 4096 * i, 0);
    for (int j = 0; j < 7; j++) {
      append(s, 1, 64 * i - 3 * j, j);
      for (int k = 0; k < 9; k++) append(s, 2, 1000 * i + 100 * j + 10 * k, -k);
    }
  }
  assert_int_equal(round_trip(s), 3);
  free(s);
}

/* Two banks in turn: the body is two of the groups. */
static void a_body_may_be_several_turns_of_the_program(void **state) {
  sequence *s = calloc(1, sizeof *s);
  for (int i = 0; i < 40; i++)
    for (int k = 0; k < 5; k++) append(s, k % 2, (i % 2) * 4096 + 16 * k, 64 * i);
  assert_true(round_trip(s) <= 10);
  free(s);
}

static void two_long_turns_are_a_loop(void **state) {
  sequence *s = calloc(1, sizeof *s);
  for (int i = 0; i < 2; i++)
    for (int k = 0; k < 60; k++) append(s, k * k % KINDS, 7 * i + (k * 37) % 101, k);
  assert_true(round_trip(s) <= 60);
  free(s);
}

/* Random nests with disturbances. */
static void nest(sequence *s, tw_random *r, int depth, int64_t base) {
  uint64_t turns = 1 + tw_random_below(r, 5), parts = 1 + tw_random_below(r, 3);
  int64_t step = (int64_t)tw_random_below(r, 9) - 4;
  tw_random again = *r;
  for (uint64_t i = 0; i < turns; i++) {
    *r = again; /* each turn is the same, but for the base */
    for (uint64_t p = 0; p < parts; p++)
      if (depth)
        nest(s, r, depth - 1, base + step * (int64_t)i);
      else
        append(s, (int)tw_random_below(r, KINDS), base + step * (int64_t)i, (int64_t)tw_random_below(r, 3));
    if (tw_random_below(r, 50) == 0) append(s, 0, 12345, 0);
  }
}

static void whatever_is_folded_unfolds_to_the_same(void **state) {
  sequence *s = calloc(1, sizeof *s);
  for (uint64_t seed = 0; seed < 300; seed++) {
    tw_random r;
    tw_random_seed(&r, seed);
    s->n = 0;
    for (int i = 0; i < 4; i++) nest(s, &r, (int)(seed % 4), 0);
    assert_true(round_trip(s) <= s->n);
  }
  /* no loops at all, and a word without cubes (Thue and Morse), which looks like loops everywhere */
  tw_random r;
  tw_random_seed(&r, 7);
  s->n = 0;
  for (int i = 0; i < 20000; i++) append(s, (int)tw_random_below(&r, KINDS), (int64_t)tw_random_below(&r, 1000), 0);
  round_trip(s);
  s->n = 0;
  for (int i = 0; i < 20000; i++) append(s, __builtin_popcount((unsigned)i) & 1, 0, 0);
  round_trip(s);
  free(s);
}

static void a_deadline_ends_it(void **state) {
  gm_loops l = {0};
  const tw_stop past = {.deadline = tw_now() - 1};
  tw_error error = {0};
  tw_status status = TW_OK;
  tw_random r;
  tw_random_seed(&r, 1);
  l.stop = &past;
  for (int i = 0; i < 2000 && status == TW_OK; i++) {
    const int64_t value[GM_LOOP_VALUES] = {(int64_t)tw_random_below(&r, 1000)};
    status = gm_loops_add(&l, &kind_of[tw_random_below(&r, KINDS)], 1, value, &error);
  }
  assert_int_equal(status, TW_INTERRUPTED);
  gm_loops_free(&l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_nest_is_found),           cmocka_unit_test(a_body_may_be_several_turns_of_the_program),
      cmocka_unit_test(two_long_turns_are_a_loop), cmocka_unit_test(whatever_is_folded_unfolds_to_the_same),
      cmocka_unit_test(a_deadline_ends_it),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
