/* loops.c - finds loop nests in a sequence, from the inside out; see loops.h. */
#include "target/gemmini/rewrite/loops.h"

#include <stdlib.h>
#include <string.h>

#include "base/strings.h"

/* Longest body, in elements. Two repetitions are a loop only if that saves this many leaves: any two neighbours of a
 * kind are "two repetitions", and taking them for a loop would hide those of the nest around. */
enum { BODY_MAX = 768, TWO_ARE_ENOUGH = 24, TURNS_MAX = 400 };

static tw_status no_memory(tw_error *error) {
  return tw_fail(error, TW_MISSING, "no memory for the loops of the program");
}

/* ---- kinds ---- */

static bool same_shape(const gm_shape *a, const gm_shape *b) {
  return a->count == b->count && a->n_body == b->n_body && a->n_values == b->n_values &&
         !memcmp(a->body, b->body, a->n_body * sizeof *a->body) &&
         !memcmp(a->delta, b->delta, a->n_values * sizeof *a->delta);
}

static bool grow_shapes(gm_loops *l) {
  if (l->n_shapes < l->shapes_room) return true;
  size_t room = l->shapes_room ? 2 * l->shapes_room : 64;
  gm_shape *shape = tw_resize(l->shape, room, sizeof *shape);
  if (!shape) return false;
  l->shape = shape;
  l->shapes_room = room;
  return true;
}

/* The number of a loop's kind; takes its arrays over. SIZE_MAX without memory. */
static size_t loop_shape(gm_loops *l, gm_shape s) {
  for (size_t i = 0; i < l->n_shapes; i++) {
    if (!l->shape[i].count || !same_shape(&l->shape[i], &s)) continue;
    free(s.body), free(s.delta);
    return i;
  }
  if (!grow_shapes(l)) {
    free(s.body), free(s.delta);
    return SIZE_MAX;
  }
  l->shape[l->n_shapes] = s;
  return l->n_shapes++;
}

static bool grow_values(gm_loops *l, size_t more) {
  if (l->n_values + more <= l->values_room) return true;
  size_t room = 2 * (l->n_values + more);
  int64_t *value = tw_resize(l->value, room, sizeof *value);
  if (!value) return false;
  l->value = value;
  l->values_room = room;
  return true;
}

/* Room for another element: at powers of two. */
static bool grow_sequence(gm_loops *l) {
  if (l->n & (l->n - 1)) return true;
  size_t room = l->n ? 2 * l->n : 1;
  uint32_t *element = tw_resize(l->element, room, sizeof *element);
  if (element) l->element = element;
  size_t *at = tw_resize(l->at, room, sizeof *at);
  if (at) l->at = at;
  return element && at;
}

tw_status gm_loops_add(gm_loops *l, const void *kind, size_t size, const int64_t value[GM_LOOP_VALUES],
                       tw_error *error) {
  size_t s = 0;
  while (s < l->n_shapes && memcmp(l->shape[s].leaf, kind, size) != 0) s++;
  if (!grow_sequence(l) || !grow_values(l, GM_LOOP_VALUES) || !grow_shapes(l)) return no_memory(error);
  if (s == l->n_shapes) l->shape[l->n_shapes++] = (gm_shape){.n_values = GM_LOOP_VALUES, .weight = 1, .leaf = kind};
  l->element[l->n] = (uint32_t)s;
  l->at[l->n++] = l->n_values;
  memcpy(l->value + l->n_values, value, GM_LOOP_VALUES * sizeof *value);
  l->n_values += GM_LOOP_VALUES;
  return TW_OK;
}

/* ---- folding ---- */

static bool same_kinds(const gm_loops *l, size_t i, size_t j, size_t period) {
  return !memcmp(l->element + i, l->element + j, period * sizeof *l->element);
}

/* Do the elements at j continue those at i as those at i continue the ones a period before? */
static bool same_growth(const gm_loops *l, size_t i, size_t j, size_t period) {
  size_t before = i - period;
  for (size_t e = 0; e < period; e++) {
    const int64_t *x = l->value + l->at[before + e], *y = l->value + l->at[i + e], *z = l->value + l->at[j + e];
    for (uint32_t v = 0; v < l->shape[l->element[i + e]].n_values; v++)
      if (z[v] - y[v] != y[v] - x[v]) return false;
  }
  return true;
}

static size_t repetitions(const gm_loops *l, size_t i, size_t period) {
  size_t count = 1;
  while (i + (count + 1) * period <= l->n && same_kinds(l, i, i + count * period, period) &&
         (count < 2 || same_growth(l, i + (count - 1) * period, i + count * period, period)))
    count++;
  return count;
}

static size_t weight_of(const gm_loops *l, size_t i, size_t period) {
  size_t weight = 0;
  for (size_t e = 0; e < period; e++) weight += l->shape[l->element[i + e]].weight;
  return weight;
}

/* Makes one element of `count` periods at i. Its values are those of the first. */
static bool fold_one(gm_loops *l, size_t i, size_t period, size_t count, uint32_t *element, size_t *at) {
  size_t n = 0;
  for (size_t e = 0; e < period; e++) n += l->shape[l->element[i + e]].n_values;
  gm_shape s = {.count = (uint32_t)count,
                .n_body = (uint32_t)period,
                .n_values = (uint32_t)n,
                .body = tw_new(period, sizeof *s.body),
                .delta = tw_new(n, sizeof *s.delta),
                .weight = (uint32_t)weight_of(l, i, period)};
  if (!s.body || !s.delta || !grow_values(l, n)) {
    free(s.body), free(s.delta);
    return false;
  }
  memcpy(s.body, l->element + i, period * sizeof *s.body);
  *at = l->n_values;
  for (size_t e = 0, v = 0; e < period; e++) {
    const int64_t *x = l->value + l->at[i + e], *y = l->value + l->at[i + e + period];
    for (uint32_t k = 0; k < l->shape[l->element[i + e]].n_values; k++, v++) {
      l->value[l->n_values + v] = x[k];
      s.delta[v] = y[k] - x[k];
    }
  }
  size_t shape = loop_shape(l, s);
  if (shape == SIZE_MAX) return false;
  l->n_values += n;
  *element = (uint32_t)shape;
  return true;
}

/* Folds all runs with one period. *folded tells whether there were any. */
static bool fold_period(gm_loops *l, size_t period, bool pairs, bool *folded) {
  size_t to = 0;
  *folded = false;
  for (size_t i = 0; i < l->n;) {
    size_t count = i + 2 * period <= l->n && l->element[i] == l->element[i + period] ? repetitions(l, i, period) : 1;
    if (count < 3 && !(pairs && count == 2 && weight_of(l, i, period) >= TWO_ARE_ENOUGH)) {
      l->element[to] = l->element[i];
      l->at[to++] = l->at[i++];
      continue;
    }
    uint32_t element = 0;
    size_t at = 0;
    if (!fold_one(l, i, period, count, &element, &at)) return false;
    l->element[to] = element;
    l->at[to++] = at;
    i += count * period;
    *folded = true;
  }
  l->n = to;
  return true;
}

/* The shortest period that has runs. */
static bool fold_shortest(gm_loops *l, bool pairs, bool *folded) {
  *folded = false;
  for (size_t period = 1; period <= BODY_MAX && 2 * period <= l->n && !*folded; period++)
    if (!fold_period(l, period, pairs, folded)) return false;
  return true;
}

tw_status gm_loops_fold(gm_loops *l, tw_error *error) {
  bool folded = true;
  for (int turn = 0; folded && turn < TURNS_MAX; turn++) {
    if (!fold_shortest(l, false, &folded)) return no_memory(error);
    if (!folded && !fold_shortest(l, true, &folded)) return no_memory(error);
  }
  return TW_OK;
}

size_t gm_loops_weight(const gm_loops *l) { return weight_of(l, 0, l->n); }

void gm_loops_free(gm_loops *l) {
  for (size_t i = 0; i < l->n_shapes; i++) free(l->shape[i].body), free(l->shape[i].delta);
  free(l->shape);
  free(l->element);
  free(l->at);
  free(l->value);
  *l = (gm_loops){0};
}
