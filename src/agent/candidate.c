/* candidate.c - candidates, and when two candidates are the same kernel. */
#include "agent/candidate.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/strings.h"

tw_candidate *tw_candidate_new(void) {
  tw_candidate *candidate = tw_new(1, sizeof *candidate);
  if (!candidate) return NULL;
  candidate->agent = "search";
  candidate->number = candidate->parent = candidate->plan = candidate->repairs = candidate->twin = TW_NONE;
  return candidate;
}

void tw_candidate_free(tw_candidate *candidate) {
  if (!candidate) return;
  free(candidate->schedule);
  free(candidate->source);
  free(candidate->message);
  free(candidate->reply);
  free(candidate);
}

bool tw_candidate_set_kernel(tw_candidate *candidate, const tw_target *target, const tw_schedule *schedule,
                             char *source) {
  candidate->schedule = schedule ? malloc(sizeof *schedule) : NULL;
  if (candidate->schedule) {
    *candidate->schedule = *schedule;
    candidate->schedule_digest = tw_schedule_digest(schedule);
  }
  candidate->source = source;
  candidate->source_digest = source ? tw_target_source_digest(target, source) : candidate->schedule_digest;
  return !schedule || candidate->schedule;
}

tw_digest tw_schedule_digest(const tw_schedule *schedule) {
  tw_digest digest = {{0}};
  tw_hash hash;
  tw_hash_start(&hash);
  for (size_t i = 0; i < schedule->n; i++) tw_hash_add_string(&hash, schedule->step[i]);
  tw_hash_finish(&hash, digest.byte);
  return digest;
}

static bool is_white(char c) { return c == ' ' || c == '\t' || c == '\r'; }

/* The end of the string or character literal that starts at `s`: an unended one stops at the end of its line. */
static const char *skip_literal(const char *s) {
  char quote = *s++;
  while (*s && *s != quote && *s != '\n') s += s[0] == '\\' && s[1] ? 2 : 1;
  return *s == quote ? s + 1 : s;
}

/* Lines are separated; empty lines, and lines before the first code, do not count. */
static void add_code(tw_hash *hash, const char *begin, const char *end, bool *pending_newline) {
  while (end > begin && is_white(end[-1])) end--;
  if (begin == end) return;
  if (*pending_newline && hash->length > 0) tw_hash_add(hash, "\n", 1);
  tw_hash_add(hash, begin, (size_t)(end - begin));
  *pending_newline = false;
}

tw_digest tw_target_source_digest(const tw_target *target, const char *source) {
  return tw_source_digest(source, target->traits.line_comment);
}

tw_digest tw_source_digest(const char *source, const char *line_comment) {
  const char *comment = line_comment ? line_comment : "//";
  const size_t length = strlen(comment);
  const bool is_c = !strcmp(comment, "//");
  tw_digest digest = {{0}};
  tw_hash hash;
  bool pending_newline = false;
  bool line_is_empty = true; /* nothing but white space and block comments so far */
  const char *begin = source, *s = source;
  tw_hash_start(&hash);
  while (*s) {
    if (is_c && s[0] == '/' && s[1] == '*' && strstr(s + 2, "*/")) {
      add_code(&hash, begin, s, &pending_newline);
      begin = s = strstr(s + 2, "*/") + 2;
    } else if (line_is_empty && !strncmp(s, comment, length) && !(is_c && s[2] == ':')) { /* `//:` is a launch */
      s += strcspn(s, "\n");
      begin = s;
    } else if (*s == '\n') {
      add_code(&hash, begin, s, &pending_newline);
      pending_newline = true;
      line_is_empty = true;
      begin = ++s;
    } else if (line_is_empty && is_white(*s)) {
      s++;
    } else {
      line_is_empty = false;
      s = *s == '"' || *s == '\'' ? skip_literal(s) : s + 1;
    }
  }
  add_code(&hash, begin, s, &pending_newline);
  tw_hash_finish(&hash, digest.byte);
  return digest;
}

/* The slot of a key, or the free one where it belongs. Linear probing: the digest is uniform already. */
static size_t slot_of(const tw_index *index, const tw_digest *key) {
  uint64_t start;
  memcpy(&start, key->byte, sizeof start);
  size_t i = (size_t)start & (index->capacity - 1);
  while (index->slot[i].number != TW_NONE && memcmp(&index->slot[i].key, key, sizeof *key) != 0)
    i = (i + 1) & (index->capacity - 1);
  return i;
}

static bool grow(tw_index *index) {
  const tw_index old = *index;
  size_t capacity = old.capacity ? 2 * old.capacity : 256;
  struct tw_index_slot *slot = tw_new(capacity, sizeof *slot);
  if (!slot) return false;
  for (size_t i = 0; i < capacity; i++) slot[i].number = TW_NONE;
  index->slot = slot;
  index->capacity = capacity;
  for (size_t i = 0; i < old.capacity; i++)
    if (old.slot[i].number != TW_NONE) slot[slot_of(index, &old.slot[i].key)] = old.slot[i];
  free(old.slot);
  return true;
}

int tw_index_find(const tw_index *index, const tw_digest *key) {
  return index->capacity ? index->slot[slot_of(index, key)].number : TW_NONE;
}

bool tw_index_add(tw_index *index, const tw_digest *key, int number) {
  if (4 * (index->n + 1) > 3 * index->capacity && !grow(index)) return false;
  size_t i = slot_of(index, key);
  if (index->slot[i].number == TW_NONE) {
    index->slot[i] = (struct tw_index_slot){*key, number};
    index->n++;
  }
  return true;
}

void tw_index_free(tw_index *index) {
  free(index->slot);
  *index = (tw_index){0};
}
