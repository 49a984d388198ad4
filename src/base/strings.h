/* strings.h - text that grows, numbers out of text, and the nearest word of a list. */
#ifndef TW_BASE_STRINGS_H
#define TW_BASE_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "tilewright/status.h"

/* A text under construction. Start with `tw_text t = {0}`. When memory runs out, `failed` is set and stays set: callers
 * add without checking and test once, at tw_text_take. */
typedef struct tw_text {
  char *data; /* always ended by '\0' once something was added */
  size_t length, capacity;
  bool failed;
} tw_text;

void tw_text_add(tw_text *, const char *format, ...) __attribute__((format(printf, 2, 3)));
void tw_text_add_bytes(tw_text *, const void *bytes, size_t length);
void tw_text_add_string(tw_text *, const char *);
/* Hands over the malloc'ed text ("" if nothing was added) and empties it; NULL if memory ran out. */
char *tw_text_take(tw_text *);
/* The same as a status: TW_NO_MEMORY if memory ran out. */
static inline tw_status tw_text_finish(tw_text *t, char **out, tw_error *error) {
  *out = tw_text_take(t);
  return *out ? TW_OK : tw_no_memory(error, NULL);
}
void tw_text_free(tw_text *);

/* calloc and realloc with a checked product; NULL without memory. */
void *tw_new(size_t count, size_t size);
void *tw_resize(void *old, size_t count, size_t size);

/* Cuts a comment ('#' to the end) and surrounding white space, in place. Returns the first character that remains. */
char *tw_strip(char *line);
bool tw_ends_with(const char *text, const char *end);
/* The whole text is a decimal integer (an optional sign, then digits) that fits. */
bool tw_parse_int(const char *text, int64_t *out);
/* The whole text is a finite real number in C's decimal notation. */
bool tw_parse_real(const char *text, double *out);
/* The shortest decimal text that reads back as the same double. Returns buffer. */
char *tw_print_real(double value, char buffer[32]);

/* Adds `more` to a text with `size` bytes of room. Text that does not fit is cut between words and replaced by
 * "...". */
void tw_append_cut(char *text, size_t size, const char *more);

/* For "did you mean", in this order: the same word in other cases; the first word that begins with `word`; a word of
 * at least 3 letters with which `word` begins; the most similar word. Its edit distance is at most a third of the
 * length of `word`, and at least 1 is allowed from 2 letters on. Else NULL. */
const char *tw_nearest_word(const char *word, const char *const words[], size_t n);

/* A word of a command line that is a step of a schedule, not KEY=VALUE: it has a blank, or no '='. */
static inline bool tw_word_is_step(const char *word) { return strchr(word, ' ') || !strchr(word, '='); }

#endif
