/* config.h - machine files: "key = value" lines, '#' comments, read by tables that give the destination and range of
 * each value. Each key of a record is given exactly once.
 *
 * A whole file, with sections and perhaps a base, is read by config_file.h. A file that also has lines of other
 * forms is read with tw_config_lines, which passes its pairs to tw_config_set. Errors are TW_USAGE with origin and
 * line. */
#ifndef TW_BASE_CONFIG_H
#define TW_BASE_CONFIG_H

#include <stdbool.h>
#include <stddef.h>

#include "base/strings.h"
#include "tilewright/status.h"

typedef enum tw_config_kind {
  TW_CONFIG_TEXT,    /* char[high]; not empty */
  TW_CONFIG_INT,     /* int */
  TW_CONFIG_POWER,   /* int: a power of two */
  TW_CONFIG_INT64,   /* int64_t */
  TW_CONFIG_BOOL,    /* bool: 0 or 1 */
  TW_CONFIG_REAL,    /* double */
  TW_CONFIG_TYPE,    /* tw_type */
  TW_CONFIG_LIST,    /* int[count]: 2 2 1 */
  TW_CONFIG_PRODUCT, /* int[count]: 8x8x8 */
  TW_CONFIG_NO_TYPE, /* tw_type, or none */
  TW_CONFIG_CHOICE,  /* int: the number of a word of `expected`, which has blanks between them */
  TW_CONFIG_OTHER,   /* parsed by `parse`; has no printed form, so machines do not use it */
} tw_config_kind;

typedef struct tw_config_key {
  const char *name;
  tw_config_kind kind;
  size_t offset;
  double low, high; /* range of each number; for TEXT: high is the size of the field */
  int count;        /* for LIST and PRODUCT */
  /* For OTHER: false if it is invalid; `expected` then has the allowed values in words ("none, i8 or bfp16"). `out` is
   * the record. */
  bool (*parse)(const char *value, void *field, void *out);
  const char *expected;
} tw_config_key;

enum { TW_CONFIG_KEYS_MAX = 96 };
#define TW_CONFIG_COUNT(keys_) (sizeof(keys_) / sizeof(keys_)[0])
/* The members `key` and `n` for an array of keys. An array of too many keys does not compile. */
#define TW_CONFIG_KEYS(keys_)                                                                                          \
  .key = (keys_), .n = TW_CONFIG_COUNT(keys_) + 0 * sizeof(char[TW_CONFIG_COUNT(keys_) <= TW_CONFIG_KEYS_MAX ? 1 : -1])

typedef struct tw_config_place {
  const char *origin;
  int line;
} tw_config_place;

/* The struct that is being filled. */
typedef struct tw_config_record {
  const char *what; /* "machine", "kernel" */
  const tw_config_key *key;
  size_t n; /* at most TW_CONFIG_KEYS_MAX */
  void *out;
  int line[TW_CONFIG_KEYS_MAX]; /* line of the key; 0: none; negative: its value is wrong */
} tw_config_record;

/* Calls `line` for each line that is not empty, without comment and surrounding blanks, until a call fails. */
tw_status tw_config_lines(const char *text, const char *origin,
                          tw_status (*line)(void *context, char *line, tw_config_place, tw_error *), void *context,
                          tw_error *);
/* Splits "key = value" in place; TW_USAGE if it has another form. */
tw_status tw_config_split(char *line, const char **key, char **value, tw_config_place, tw_error *);
/* Sets a key. */
tw_status tw_config_set(tw_config_record *, const char *key, char *value, tw_config_place, tw_error *);
/* Fails unless every key was given. */
tw_status tw_config_complete(const tw_config_record *, tw_config_place at, tw_error *);
/* Adds the value of a key in a record, as a file would give it. */
void tw_config_print_value(const tw_config_key *, const void *record, tw_text *out);

#endif
