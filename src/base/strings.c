/* strings.c - see strings.h. */
#include "base/strings.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void *tw_new(size_t count, size_t size) { return calloc(count ? count : 1, size ? size : 1); }

void *tw_resize(void *old, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
  return realloc(old, bytes ? bytes : 1);
}

/* Room for `more` bytes and the '\0'. */
static bool reserve(tw_text *t, size_t more) {
  if (t->failed) return false;
  size_t need;
  if (__builtin_add_overflow(t->length, more, &need) || __builtin_add_overflow(need, 1, &need)) {
    t->failed = true;
    return false;
  }
  if (need <= t->capacity) return true;
  size_t capacity = t->capacity < 64 ? 64 : t->capacity;
  while (capacity < need) capacity = capacity > SIZE_MAX / 2 ? need : capacity * 2;
  char *data = realloc(t->data, capacity);
  if (!data) {
    t->failed = true;
    return false;
  }
  t->data = data;
  t->capacity = capacity;
  return true;
}

void tw_text_add_bytes(tw_text *t, const void *bytes, size_t length) {
  if (!reserve(t, length)) return;
  if (length) memcpy(t->data + t->length, bytes, length);
  t->length += length;
  t->data[t->length] = '\0';
}

void tw_text_add_string(tw_text *t, const char *text) { tw_text_add_bytes(t, text, strlen(text)); }

void tw_text_add(tw_text *t, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int length = vsnprintf(NULL, 0, format, arguments);
  va_end(arguments);
  if (length < 0) t->failed = true;
  if (!reserve(t, length < 0 ? 0 : (size_t)length)) return;
  va_start(arguments, format);
  vsnprintf(t->data + t->length, (size_t)length + 1, format, arguments);
  va_end(arguments);
  t->length += (size_t)length;
}

char *tw_text_take(tw_text *t) {
  reserve(t, 0);
  char *data = t->data;
  if (t->failed) {
    free(data);
    data = NULL;
  } else {
    data[t->length] = '\0';
  }
  *t = (tw_text){0};
  return data;
}

void tw_text_free(tw_text *t) {
  free(t->data);
  *t = (tw_text){0};
}

char *tw_strip(char *line) {
  line[strcspn(line, "#")] = '\0';
  while (isspace((unsigned char)*line)) line++;
  size_t length = strlen(line);
  while (length && isspace((unsigned char)line[length - 1])) line[--length] = '\0';
  return line;
}

bool tw_ends_with(const char *text, const char *end) {
  const size_t n = strlen(text), m = strlen(end);
  return n >= m && strcmp(text + n - m, end) == 0;
}

bool tw_parse_int(const char *text, int64_t *out) {
  const char *digits = text + (*text == '-' || *text == '+');
  if (!isdigit((unsigned char)*digits)) return false; /* strtoll would accept blanks */
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (errno || *end) return false;
  *out = value;
  return true;
}

bool tw_parse_real(const char *text, double *out) {
  const char *start = text + (*text == '-' || *text == '+');
  if (!isdigit((unsigned char)*start) && *start != '.') return false; /* no blanks, no "nan", no "inf" */
  if (start[0] == '0' && (start[1] == 'x' || start[1] == 'X')) return false;
  char *end;
  double value = strtod(text, &end);
  if (end == text || *end || !isfinite(value)) return false;
  *out = value;
  return true;
}

char *tw_print_real(double value, char buffer[32]) {
  for (int digits = 6; digits <= 17; digits++) {
    snprintf(buffer, 32, "%.*g", digits, value);
    if (strtod(buffer, NULL) == value) break;
  }
  return buffer;
}

/* Levenshtein's distance; words longer than 63 are not compared. */
/* Two neighbours that changed places are one edit. */
static size_t edit_distance(const char *a, const char *b) {
  size_t row[64], last[64] = {0}, la = strlen(a), lb = strlen(b);
  if (la > 63 || lb > 63) return SIZE_MAX;
  for (size_t j = 0; j <= lb; j++) row[j] = j;
  for (size_t i = 1; i <= la; i++) {
    size_t diagonal = row[0], before[64];
    memcpy(before, row, sizeof before);
    row[0] = i;
    for (size_t j = 1; j <= lb; j++) {
      size_t best = diagonal + (a[i - 1] != b[j - 1]);
      if (row[j] + 1 < best) best = row[j] + 1;
      if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && last[j - 2] + 1 < best)
        best = last[j - 2] + 1;
      diagonal = row[j];
      row[j] = best;
    }
    memcpy(last, before, sizeof last);
  }
  return row[lb];
}

void tw_append_cut(char *text, size_t size, const char *more) {
  static const char rest[] = " ...";
  size_t used = strlen(text), length = strlen(more);
  if (used + length < size) {
    memcpy(text + used, more, length + 1);
    return;
  }
  if (used >= size - 1 || (used >= sizeof rest - 1 && !strcmp(text + used - (sizeof rest - 1), rest))) return;
  size_t most = size - sizeof rest, end = used + length < most ? used + length : most;
  if (end > used) memcpy(text + used, more, end - used);
  while (end > 0 && text[end - 1] != ' ') end--; /* removes the word that was cut, if there is one */
  while (end > 0 && strchr(" ;,:", text[end - 1])) end--;
  memcpy(text + end, rest, sizeof rest);
}

const char *tw_nearest_word(const char *word, const char *const words[], size_t n) {
  const char *nearest = NULL;
  size_t length = strlen(word), best = length < 3 ? length / 2 : length < 6 ? 1 : length / 3;
  for (size_t i = 0; i < n; i++)
    if (strcasecmp(word, words[i]) == 0) return words[i];
  for (size_t i = 0; length >= 3 && i < n; i++)
    if (strncmp(word, words[i], length) == 0 && (!nearest || strncmp(words[i], nearest, strlen(words[i])) == 0))
      nearest = words[i];
  if (nearest) return nearest;
  for (size_t i = 0; i < n; i++) {
    char head[64]; /* "gemmini" of "gemmini-16x16-int8": a typing error is unlikely in both parts */
    snprintf(head, sizeof head, "%.*s", (int)strcspn(words[i], "-"), words[i]);
    const size_t whole = edit_distance(word, words[i]), first = edit_distance(word, head);
    const size_t distance = first < whole ? first : whole;
    if (distance < best || (distance == best && !nearest)) {
      nearest = words[i];
      best = distance;
    }
  }
  return nearest;
}
