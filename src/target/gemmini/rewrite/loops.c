/* loops.c - finds loop nests in a sequence, from the inside out; see loops.h. */
#include "target/gemmini/rewrite/loops.h"

#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/random.h"
#include "base/strings.h"

/* Longest body, in elements. Two repetitions become a loop only if that saves this many leaves. Otherwise any two
 * neighbours of one kind would be "two repetitions" and would hide the loops of the outer nest. */
enum { BODY_MAX = 4096, TWO_ARE_ENOUGH = 24, CHECK_EVERY = 256 };

static const uint64_t BASE = 0x9e3779b97f4a7c15ull; /* base of the prefix hashes, modulo 2^64; any odd number */

static tw_status stopped(tw_error *error) {
  return tw_fail(error, TW_INTERRUPTED, "stopped while looking for the loops of the program");
}

/* ---- kinds ---- */

static uint64_t hash_bytes(const void *data, size_t size, uint64_t seed) {
  const unsigned char *byte = data;
  uint64_t h = seed;
  for (; size >= 8; size -= 8, byte += 8) {
    uint64_t word;
    memcpy(&word, byte, 8);
    h = tw_random_mix(h ^ word) + BASE;
  }
  for (; size; size--, byte++) h = tw_random_mix(h ^ *byte) + BASE;
  return h;
}

static bool same_shape(const gm_shape *a, const gm_shape *b) {
  return a->hash == b->hash && a->n_body && a->n_body == b->n_body && a->n_values == b->n_values &&
         !memcmp(a->body, b->body, a->n_body * sizeof *a->body) &&
         !memcmp(a->delta, b->delta, a->n_values * sizeof *a->delta);
}

static bool grow_slots(gm_loops *l) {
  if (2 * (l->n_shapes + 1) <= l->slots) return true;
  size_t slots = l->slots ? 2 * l->slots : 256;
  uint32_t *slot = tw_new(slots, sizeof *slot);
  if (!slot) return false;
  for (size_t i = 0; i < l->n_shapes; i++) {
    size_t at = l->shape[i].hash & (slots - 1);
    while (slot[at]) at = (at + 1) & (slots - 1);
    slot[at] = (uint32_t)i + 1;
  }
  free(l->slot);
  l->slot = slot;
  l->slots = slots;
  return true;
}

static bool grow_shapes(gm_loops *l) {
  if (!grow_slots(l)) return false;
  if (l->n_shapes < l->shapes_room) return true;
  size_t room = l->shapes_room ? 2 * l->shapes_room : 64;
  gm_shape *shape = tw_resize(l->shape, room, sizeof *shape);
  if (!shape) return false;
  l->shape = shape;
  l->shapes_room = room;
  return true;
}

/* Appends a shape; there is room. `at`: its free slot. */
static uint32_t new_shape(gm_loops *l, const gm_shape *s, size_t at) {
  l->shape[l->n_shapes] = *s;
  l->slot[at] = (uint32_t)++l->n_shapes;
  return (uint32_t)l->n_shapes - 1;
}

/* The number of a loop's kind; takes its arrays over. UINT32_MAX without memory. */
static uint32_t loop_shape(gm_loops *l, gm_shape *s) {
  bool room = s->body && s->delta && grow_shapes(l);
  size_t at = 0;
  if (room) {
    s->hash = hash_bytes(s->body, s->n_body * sizeof *s->body, s->n_body);
    s->hash = hash_bytes(s->delta, s->n_values * sizeof *s->delta, s->hash);
    at = s->hash & (l->slots - 1);
    while (l->slot[at] && !same_shape(&l->shape[l->slot[at] - 1], s)) at = (at + 1) & (l->slots - 1);
    if (!l->slot[at]) return new_shape(l, s, at);
  }
  free(s->body), free(s->delta);
  return room ? l->slot[at] - 1 : UINT32_MAX;
}

static uint32_t leaf_shape(gm_loops *l, const void *kind, size_t size) {
  if (!grow_shapes(l)) return UINT32_MAX;
  gm_shape s = {.n_values = GM_LOOP_VALUES, .weight = 1, .leaf = kind, .hash = hash_bytes(kind, size, 0)};
  size_t at = s.hash & (l->slots - 1);
  for (; l->slot[at]; at = (at + 1) & (l->slots - 1)) {
    const gm_shape *known = &l->shape[l->slot[at] - 1];
    if (known->hash == s.hash && known->leaf && !memcmp(known->leaf, kind, size)) return l->slot[at] - 1;
  }
  return new_shape(l, &s, at);
}

/* ---- the sequence ---- */

static bool grow_sequence(gm_loops *l) {
  if (l->n + 1 < l->room) return true;
  size_t room = l->room ? 2 * l->room : 1024;
  gm_element *element = tw_resize(l->element, room, sizeof *element);
  if (element) l->element = element;
  uint32_t *body = tw_resize(l->body, room, sizeof *body);
  if (body) l->body = body;
  uint64_t *prefix = tw_resize(l->prefix, room, sizeof *prefix);
  if (prefix) l->prefix = prefix;
  size_t *at = tw_resize(l->at, room, sizeof *at);
  if (at) l->at = at;
  if (!element || !body || !prefix || !at) return false;
  if (!l->n) l->prefix[0] = l->at[0] = 0;
  l->room = room;
  return true;
}

static bool grow_values(gm_loops *l, size_t more) {
  if (l->at[l->n] + more <= l->values_room) return true;
  size_t room = 2 * (l->at[l->n] + more);
  int64_t *value = tw_resize(l->value, room, sizeof *value);
  if (!value) return false;
  l->value = value;
  l->values_room = room;
  return true;
}

static bool same_element(gm_element a, gm_element b) { return a.shape == b.shape && a.count == b.count; }

/* Makes `e`, whose values are already in place, element i and the last one. */
static void set_last(gm_loops *l, size_t i, gm_element e) {
  const gm_shape *s = &l->shape[e.shape];
  l->element[i] = e;
  l->body[i] = s->n_body;
  l->prefix[i + 1] = l->prefix[i] * BASE + tw_random_mix((uint64_t)e.shape << 32 | e.count);
  l->at[i + 1] = l->at[i] + s->n_values;
  l->n = i + 1;
}

static uint64_t power(uint32_t n) {
  uint64_t p = 1, square = BASE;
  for (; n; n >>= 1, square *= square)
    if (n & 1) p *= square;
  return p;
}

static bool same_kinds(const gm_loops *l, const gm_element *a, size_t i, size_t n) {
  return !memcmp(a, l->element + i, n * sizeof *a);
}

/* Do the values of the blocks at i, i + period, i + 2 period grow by equal amounts? The last is the likeliest not
 * to. */
static bool grow_evenly(const gm_loops *l, size_t i, size_t period) {
  const int64_t *x = l->value + l->at[i], *y = l->value + l->at[i + period], *z = l->value + l->at[i + 2 * period];
  for (size_t v = l->at[i + period] - l->at[i]; v-- > 0;)
    if (z[v] - y[v] != y[v] - x[v]) return false;
  return true;
}

/* ---- folding ---- */

static size_t weight_of(const gm_loops *l, size_t i, size_t period) {
  size_t weight = 0;
  for (size_t e = 0; e < period; e++) weight += l->shape[l->element[i + e].shape].weight;
  return weight;
}

/* The shape of a loop whose first two iterations are the blocks at i and i + period. UINT32_MAX without memory. */
static uint32_t shape_of_blocks(gm_loops *l, size_t i, size_t period) {
  size_t n = l->at[i + period] - l->at[i];
  gm_shape s = {.n_body = (uint32_t)period,
                .n_values = (uint32_t)n,
                .weight = (uint32_t)weight_of(l, i, period),
                .body = tw_new(period, sizeof *s.body),
                .delta = tw_new(n, sizeof *s.delta)};
  const int64_t *x = l->value + l->at[i], *y = l->value + l->at[i + period];
  if (s.body) memcpy(s.body, l->element + i, period * sizeof *s.body);
  for (size_t v = 0; s.delta && v < n; v++) s.delta[v] = y[v] - x[v];
  return loop_shape(l, &s);
}

/* True if the last block is the next iteration of the loop before it. */
static bool continues(const gm_loops *l, size_t period) {
  size_t loop = l->n - 1 - period, first = loop + 1;
  const gm_shape *s = &l->shape[l->element[loop].shape];
  const int64_t *x = l->value + l->at[loop], *y = l->value + l->at[first], turns = l->element[loop].count;
  if (!same_kinds(l, s->body, first, period)) return false;
  for (size_t v = s->n_values; v-- > 0;)
    if (y[v] - x[v] != turns * s->delta[v]) return false;
  return true;
}

/* True if the last three blocks are iterations of a loop. */
static bool repeats(const gm_loops *l, size_t period, uint64_t shift) {
  size_t n = l->n, i = n - 3 * period;
  uint64_t third = l->prefix[n] - l->prefix[n - period] * shift;
  if (third != l->prefix[n - period] - l->prefix[n - 2 * period] * shift ||
      third != l->prefix[n - 2 * period] - l->prefix[i] * shift)
    return false;
  return same_kinds(l, l->element + i, i + period, period) && same_kinds(l, l->element + i, i + 2 * period, period) &&
         grow_evenly(l, i, period);
}

/* Folds once at the end of the sequence, with the shortest possible body. *folded: did it fold? False without
 * memory. */
static bool fold_end(gm_loops *l, bool *folded) {
  const size_t n = l->n, most = n - 1 < BODY_MAX ? n - 1 : BODY_MAX;
  const gm_element last = l->element[n - 1];
  *folded = false;
  for (size_t period = 1; period <= most; period++) {
    size_t before = n - 1 - period;
    if (l->body[before] == period && continues(l, period)) {
      gm_element e = l->element[before];
      e.count++;
      set_last(l, before, e);
      return *folded = true;
    }
    if (!same_element(l->element[before], last) || 3 * period > n || !repeats(l, period, power((uint32_t)period)))
      continue;
    size_t first = n - 3 * period;
    uint32_t shape = shape_of_blocks(l, first, period);
    if (shape == UINT32_MAX) return false;
    set_last(l, first, (gm_element){shape, 3});
    return *folded = true;
  }
  return true;
}

static bool fold_all(gm_loops *l) {
  bool folded = true;
  while (folded)
    if (!fold_end(l, &folded)) return false;
  return true;
}

tw_status gm_loops_add(gm_loops *l, const void *kind, size_t size, const int64_t value[GM_LOOP_VALUES],
                       tw_error *error) {
  uint32_t shape = leaf_shape(l, kind, size);
  if (shape == UINT32_MAX || !grow_sequence(l) || !grow_values(l, GM_LOOP_VALUES))
    return tw_no_memory(error, "the loops of the program");
  memcpy(l->value + l->at[l->n], value, GM_LOOP_VALUES * sizeof *value);
  set_last(l, l->n, (gm_element){shape, 0});
  if (!fold_all(l)) return tw_no_memory(error, "the loops of the program");
  return l->n % CHECK_EVERY == 0 && tw_is_stopped(l->stop) ? stopped(error) : TW_OK;
}

/* ---- loops of two turns ---- */

/* Appends element i again, which is at or after the end of the sequence. */
static void move_down(gm_loops *l, size_t i) {
  gm_element e = l->element[i];
  if (i > l->n) memmove(l->value + l->at[l->n], l->value + l->at[i], l->shape[e.shape].n_values * sizeof *l->value);
  set_last(l, l->n, e);
}

static bool is_pair(const gm_loops *l, size_t i, size_t n, size_t period) {
  return i + 2 * period <= n && same_element(l->element[i], l->element[i + period]) &&
         same_kinds(l, l->element + i, i + period, period) && weight_of(l, i, period) >= TWO_ARE_ENOUGH;
}

/* Folds all pairs with one period that save enough. The read position is at or after the write position. */
static bool fold_pairs(gm_loops *l, size_t period, bool *folded) {
  const size_t n = l->n;
  size_t i = 0;
  while (i + 2 * period <= n && !is_pair(l, i, n, period)) i++;
  *folded = i + 2 * period <= n;
  if (!*folded) return true;
  for (l->n = i; i < n;) {
    if (!is_pair(l, i, n, period)) {
      move_down(l, i++);
      continue;
    }
    uint32_t shape = shape_of_blocks(l, i, period);
    if (shape == UINT32_MAX) return false;
    memmove(l->value + l->at[l->n], l->value + l->at[i], l->shape[shape].n_values * sizeof *l->value);
    set_last(l, l->n, (gm_element){shape, 2});
    i += 2 * period;
  }
  return true;
}

/* Processes the sequence again, because folded parts may belong to longer loops. */
static tw_status refold(gm_loops *l, tw_error *error) {
  const size_t n = l->n;
  l->n = 0;
  for (size_t i = 0; i < n; i++) {
    move_down(l, i);
    if (!fold_all(l)) return tw_no_memory(error, "the loops of the program");
    if (i % CHECK_EVERY == 0 && tw_is_stopped(l->stop)) return stopped(error);
  }
  return TW_OK;
}

tw_status gm_loops_fold(gm_loops *l, tw_error *error) {
  tw_status status = TW_OK;
  for (size_t period = 1; status == TW_OK && period <= BODY_MAX && 2 * period <= l->n; period++) {
    bool folded;
    if (tw_is_stopped(l->stop)) return stopped(error);
    if (!fold_pairs(l, period, &folded)) return tw_no_memory(error, "the loops of the program");
    if (!folded) continue;
    status = refold(l, error);
    period = 0;
  }
  return status;
}

size_t gm_loops_weight(const gm_loops *l) { return weight_of(l, 0, l->n); }

void gm_loops_free(gm_loops *l) {
  for (size_t i = 0; i < l->n_shapes; i++) free(l->shape[i].body), free(l->shape[i].delta);
  free(l->shape);
  free(l->slot);
  free(l->element);
  free(l->body);
  free(l->prefix);
  free(l->at);
  free(l->value);
  *l = (gm_loops){0};
}
