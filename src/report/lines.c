/* lines.c - see lines.h. A hash table has the last place of each line, and of each pair of consecutive lines. A pair
 * is looked up first, because a line like "}" is everywhere. */
#include "report/lines.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/strings.h"

typedef struct slot {
  uint64_t key; /* 0: free */
  size_t line;
} slot;

struct report_lines {
  tw_text text;
  size_t n, room, n_slots, used;
  struct place {
    size_t at, length;
    uint64_t hash;
  } * line;
  slot *slot;
};

static uint64_t hash_of(const char *text, size_t length) {
  uint64_t h = UINT64_C(0xcbf29ce484222325); /* FNV-1a; lines with equal hashes are compared */
  for (size_t i = 0; i < length; i++) h = (h ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
  return h | 1;
}

static uint64_t pair_of(uint64_t first, uint64_t second) {
  return (first * 31 ^ second) * UINT64_C(0x9e3779b97f4a7c15) | 1;
}

static slot *find(const report_lines *l, uint64_t key) {
  /* NOLINTNEXTLINE(clang-analyzer-core.UndefinedBinaryOperatorResult): a table that was grown has slots */
  for (size_t i = key % l->n_slots;; i = (i + 1) % l->n_slots)
    if (!l->slot[i].key || l->slot[i].key == key) return &l->slot[i];
}

static bool grow(report_lines *l) {
  report_lines larger = {.n_slots = 2 * l->n_slots};
  if (!(larger.slot = tw_new(larger.n_slots, sizeof *larger.slot))) return false;
  for (size_t i = 0; i < l->n_slots; i++)
    if (l->slot[i].key) *find(&larger, l->slot[i].key) = l->slot[i];
  free(l->slot);
  l->slot = larger.slot;
  l->n_slots = larger.n_slots;
  return true;
}

static bool note(report_lines *l, uint64_t key, size_t line) {
  if (2 * l->used >= l->n_slots && !grow(l)) return false;
  slot *s = find(l, key);
  l->used += !s->key;
  *s = (slot){key, line};
  return true;
}

report_lines *report_lines_new(void) {
  report_lines *l = tw_new(1, sizeof *l);
  if (l && !(l->slot = tw_new(l->n_slots = 1024, sizeof *l->slot))) {
    free(l);
    return NULL;
  }
  return l;
}

static bool is_line(const report_lines *l, size_t n, const char *text, size_t length) {
  return n < l->n && l->line[n].length == length && !memcmp(l->text.data + l->line[n].at, text, length);
}

static bool append(report_lines *l, const char *text, size_t length, uint64_t hash) {
  if (l->n == l->room) {
    const size_t room = l->room ? 2 * l->room : 1024;
    struct place *larger = tw_resize(l->line, room, sizeof *larger);
    if (!larger) return false;
    l->line = larger;
    l->room = room;
  }
  l->line[l->n] = (struct place){l->text.length, length, hash};
  tw_text_add_bytes(&l->text, text, length);
  if (l->text.failed || !note(l, hash, l->n)) return false;
  if (l->n > 0 && !note(l, pair_of(l->line[l->n - 1].hash, hash), l->n - 1)) return false;
  l->n++;
  return true;
}

/* The place of a line in the list that equals this one, if possible followed by the next line; l->n: none. */
static size_t place_of(const report_lines *l, const char *text, size_t length, uint64_t hash, uint64_t next) {
  const slot *pair = find(l, pair_of(hash, next)), *one = find(l, hash);
  if (pair->key && is_line(l, pair->line, text, length)) return pair->line;
  return one->key && is_line(l, one->line, text, length) ? one->line : l->n;
}

static void end_run(json_t *runs, size_t first, size_t *count) {
  json_array_append_new(runs, json_integer((json_int_t)first));
  json_array_append_new(runs, json_integer((json_int_t)*count));
  *count = 0;
}

json_t *report_lines_add(report_lines *l, const char *source) {
  json_t *runs = json_array();
  size_t first = 0, count = 0;
  bool done = runs;
  for (const char *at = source; done && *at;) {
    const size_t length = strcspn(at, "\n");
    const char *after = at[length] ? at + length + 1 : at + length;
    const uint64_t hash = hash_of(at, length), next = hash_of(after, strcspn(after, "\n"));
    if (!count || !is_line(l, first + count, at, length)) {
      const size_t place = place_of(l, at, length, hash, next);
      if (count && place != first + count) end_run(runs, first, &count);
      if (!count) first = place;
    }
    if (first + count == l->n) done = append(l, at, length, hash);
    count++;
    at = after;
  }
  if (count) end_run(runs, first, &count);
  if (done) return runs;
  json_decref(runs);
  return NULL;
}

size_t report_lines_bytes(const report_lines *l) { return l->text.length; }

json_t *report_lines_list(const report_lines *l) {
  json_t *list = json_array();
  tw_text line = {0};
  for (size_t i = 0; i < l->n; i++) {
    line.length = 0;
    tw_text_add_bytes(&line, l->text.data + l->line[i].at, l->line[i].length);
    json_array_append_new(list, tw_json_text(line.data && l->line[i].length ? line.data : ""));
  }
  tw_text_free(&line);
  return list;
}

void report_lines_free(report_lines *l) {
  if (!l) return;
  tw_text_free(&l->text);
  free(l->line);
  free(l->slot);
  free(l);
}
