/* problem.h - what is computed: an operation and a value for each of its keys, as in "gemm m=512 n=512 k=512 a=bf16".
 *
 *   status = tw_problem_parse(target, "gemm m=512 n=512 k=512", &problem, &error);
 *   if (status == TW_OK) status = tw_problem_set(&problem, "a", "bf16", &error);
 *   if (status == TW_OK) status = tw_target_supports(target, &problem, &error);
 */
#ifndef TILEWRIGHT_PROBLEM_H
#define TILEWRIGHT_PROBLEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "tilewright/status.h"
#include "tilewright/type.h"

#ifdef __cplusplus
extern "C" {
#endif

struct tw_target;

/* An operation: "gemm", "conv2d", ... extend/op.h says how to add one. */
typedef struct tw_op tw_op;
TW_API const tw_op *tw_op_find(const char *name); /* NULL if there is none */
TW_API const tw_op *tw_op_at(size_t index);       /* NULL past the last */
TW_API const char *tw_op_name(const tw_op *);
TW_API const char *tw_op_summary(const tw_op *); /* one line */

enum { TW_KEYS_MAX = 32, TW_OPTIONS_MAX = 4 };

typedef enum tw_key_kind { TW_KEY_INT, TW_KEY_BOOL, TW_KEY_REAL, TW_KEY_TYPE, TW_KEY_CHOICE } tw_key_kind;

/* One key of an op's table. `fallback` is the text of its default; NULL means that the key must be given.
 * An INT has a value from min to max; a CHOICE is one of the '|'-separated words of `choices`, its value the index. */
typedef struct tw_key {
  const char *name;
  tw_key_kind kind;
  const char *fallback;
  int64_t min, max;
  const char *choices;
  const char *help;
  /* Example of an INT for messages; 0 = 512. */
  int64_t example;
} tw_key;

typedef struct tw_value {
  /* True if the user or tw_problem_set gave the value. */
  bool given;
  /* Value of an INT, BOOL, TYPE (a tw_type) or CHOICE (its index). */
  int64_t i;
  /* Value of a REAL. */
  double r;
} tw_value;

/* A plain value: copy it freely. */
typedef struct tw_problem {
  const tw_op *op;
  /* Values in the order of op->keys. */
  tw_value value[TW_KEYS_MAX];
  /* Options of the target: how it computes the problem, not the problem itself. */
  const tw_key *options;
  size_t n_options;
  tw_value option[TW_OPTIONS_MAX];
} tw_problem;

/* Parses an operation and its keys, separated by blanks, and fills in defaults. Options of the target are written like
 * keys; a NULL target has none. Types that are not given stay TW_TYPE_NONE until tw_target_supports sets them.
 * Old names of keys and choices are read, too. TW_USAGE names the key, the allowed values and an example. */
TW_API tw_status tw_problem_parse(const struct tw_target *, const char *text, tw_problem *out, tw_error *);
/* Sets one key, or option, by the text of its value. TW_USAGE as for tw_problem_parse; then the problem is unchanged. */
TW_API tw_status tw_problem_set(tw_problem *, const char *key, const char *value, tw_error *);
TW_API int64_t tw_problem_int(const tw_problem *, const char *key); /* INT, BOOL or CHOICE; the key must exist */
TW_API double tw_problem_real(const tw_problem *, const char *key);
TW_API tw_type tw_problem_type(const tw_problem *, const char *key);
TW_API bool tw_problem_given(const tw_problem *, const char *key);
/* The i-th key: first the op's keys, then the target's options. *value (`value` may be NULL) gets its value. NULL past the last. */
TW_API const tw_key *tw_problem_key(const tw_problem *, size_t i, const tw_value **value);
TW_API bool tw_problem_is_default(const tw_problem *, size_t i); /* does the i-th key have its default value? */
/* The number of its operands. A kernel takes a pointer to each, in the order of `tilewright ops`. The types must be set. */
TW_API size_t tw_problem_operands(const tw_problem *);
/* "gemm m=512 n=512 k=512 ...": every key that differs from its default; parses back to the same problem.
 * Returns the length it needs, as snprintf does. */
TW_API size_t tw_problem_print(const tw_problem *, char *buffer, size_t size);
TW_API char *tw_problem_text(const tw_problem *); /* as tw_problem_print, malloc'ed; NULL: out of memory */
/* Replaces old names of keys and choices in a problem's text by current names; malloc'ed, NULL: out of memory. Texts of
 * unknown ops stay unchanged. */
TW_API char *tw_problem_renamed(const char *text);

#ifdef __cplusplus
}
#endif
#endif
