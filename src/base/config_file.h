/* config_file.h - a machine file as a whole: records in sections, a base whose values it changes, and all of its
 * problems at once.
 *
 *   name = a            the first section has no header line
 *   [dma]               a section
 *   [kernel]            a section that may occur many times, each with its own name
 *
 * Without a base each key of each section is given exactly once. With one, keys that are not given keep the base's
 * values. */
#ifndef TW_BASE_CONFIG_FILE_H
#define TW_BASE_CONFIG_FILE_H

#include "base/config.h"

typedef struct tw_config_section {
  const char *name; /* NULL: the first one */
  const tw_config_key *key;
  size_t n;
  size_t offset; /* offset of the record in the whole */
  /* For a section that may be repeated. `offset` is the first record's; these are the bytes between records, the
   * offset of their number (a size_t), and the largest number. The first key of such a section is the name. `like =
   * NAME` after it copies an earlier record. */
  size_t stride, count, most;
} tw_config_section;

enum { TW_CONFIG_SECTIONS_MAX = 16 };
typedef struct tw_config_file tw_config_file;

typedef struct tw_config_schema {
  const char *what; /* "machine" */
  const tw_config_section *section;
  size_t n;          /* at most TW_CONFIG_SECTIONS_MAX */
  size_t bytes;      /* of the whole */
  const char *words; /* keys of the first section that only describe, separated by blanks */
  /* likewise, keys of optional parts: kernels that do not use the part take the same time. NULL: none */
  const char *parts;
  /* Checks that involve several keys: reports problems with tw_config_wrong and fills derived values. Called when
   * every value is within its limits. With a base it is also called after wrong lines; their keys have the base's
   * values. NULL: none. */
  void (*check)(void *whole, tw_config_file *);
} tw_config_schema;

/* Reads `text`. `base` (may be NULL) is a whole struct. Returns TW_USAGE with the first problem. If `problems` is
 * not NULL, *problems gets all of them in a malloc'ed text, each on a line that begins with origin:line, or NULL. A
 * line `base = NAME` is skipped. */
tw_status tw_config_read(const tw_config_schema *, const char *text, const char *origin, const void *base, void *out,
                         char **problems, tw_error *);

/* For `check`: reports a problem of these keys ("spad_bytes spad_banks", "dma.engines") at the last line that gives
 * one of them. Reports nothing if one of their lines is wrong by itself. */
void tw_config_wrong(tw_config_file *, const char *keys, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* The NAME of `base = NAME`, which is the first line that is not empty; NULL if it is missing. `line` gets its
 * number. */
char *tw_config_base(const char *text, int *line);
/* Was the key of the first section given in the text? */
bool tw_config_gives(const char *text, const char *key);

/* Do the values differ in a key that is neither in `words` nor in `parts`? */
bool tw_config_times_differ(const tw_config_schema *, const void *whole, const void *base);
/* All keys and values, each on a line; with a base, only the different ones. A malloc'ed text, NULL without memory. */
char *tw_config_print(const tw_config_schema *, const void *whole, const void *base, bool with_words);
/* A TEXT of the first section. */
const char *tw_config_text(const tw_config_schema *, const void *whole, const char *key);

#endif
