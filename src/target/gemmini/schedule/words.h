/* words.h - a step of a schedule, taken apart, and the levers that every kernel has.
 *
 *   hold a=stream|panel|whole b=...
 *   buffers a=2 b=2 c=2
 *   banks a=0,2 b=1,3 c=0,1     c=0,1: the two accumulator buffers in different banks; c=0: side by side
 *   width a=64 b=64 c=64        columns of an mvin of A, of B, of an mvout
 *   overwrite                   the first step overwrites C: no fill with zeros
 *   prefetch 1                  steps that loads are ahead of their use
 *   spread loads=16 stores=16   pairs between two loads, two stores */
#ifndef TW_GEMMINI_WORDS_H
#define TW_GEMMINI_WORDS_H

#include "target/gemmini/schedule/operand.h"
#include "tilewright/schedule.h"

/* The words of a step, parsed: verb, then bare words and key=value pairs. */
enum { GM_WORDS_MAX = 12 }; /* behind the verb */

typedef struct gm_words {
  char text[TW_STEP_MAX];
  const char *verb;
  int n;
  const char *key[GM_WORDS_MAX], *value[GM_WORDS_MAX]; /* value NULL: a bare word */
} gm_words;

tw_status gm_words_split(const char *step, gm_words *, tw_error *);
/* A decimal number in [min, max]. */
bool gm_word_number(const char *text, int min, int max, int *out);
/* Elements, rounded up to blocks of `dim`; never more than `most`. */
bool gm_word_blocks(const char *text, int dim, int most, int *out);
/* Exactly one word, without a value. */
bool gm_words_single(const gm_words *);

/* The fields of a plan that these levers change. */
typedef struct gm_levers {
  int dim, widest_load, widest_store; /* the machine: elements of a block, blocks of the widest mvin and mvout */
  gm_operand_plan *a, *b;
  int *c_buffers;
  bool *c_split;
  int *store_width;
  bool *overwrite;
  int *prefetch, *spread_loads, *spread_stores;
} gm_levers;

/* loads= or stores= */
bool gm_levers_spread(const gm_levers *, const char *key, const char *value);
/* Applies the step if it is one of the above; *known says whether it is, the result whether it is well formed; *usage
 * how to write it. */
bool gm_levers_step(const gm_levers *, const gm_words *, bool *known, const char **usage);

#endif
