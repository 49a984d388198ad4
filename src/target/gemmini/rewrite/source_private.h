/* source_private.h - the two ways of writing a stream as C: source_loops.c and source_table.c. */
#ifndef TW_GEMMINI_REWRITE_SOURCE_PRIVATE_H
#define TW_GEMMINI_REWRITE_SOURCE_PRIVATE_H

#include "base/strings.h"
#include "target/gemmini/rewrite/loops.h"
#include "target/gemmini/rewrite/stream.h"

/* The fields that commands of equal kind share; the rest are values. */
typedef struct gm_kind {
  uint8_t funct;
  int8_t operand;    /* operand of the memory address; -1 = none */
  bool local[2];     /* rs1, rs2 are local addresses with a row number as value */
  uint64_t fixed[2]; /* constant bits of rs1 and rs2 */
} gm_kind;

static inline bool gm_same_kind(const gm_kind *x, const gm_kind *y) {
  return x->funct == y->funct && x->operand == y->operand && x->local[0] == y->local[0] && x->local[1] == y->local[1] &&
         x->fixed[0] == y->fixed[0] && x->fixed[1] == y->fixed[1];
}

/* Splits a command into kind and values. TW_FAILED for memory outside of operands. `*k` has no undefined bytes, so
 * it can be compared. */
tw_status gm_split_command(const gm_stream *, const gm_event *, gm_kind *k, int64_t value[GM_LOOP_VALUES], tw_error *);

/* Folds the stream. *weight is the number of commands to write. `kinds`, of s->n elements, must live as long as *l. */
tw_status gm_find_loops(const gm_stream *, gm_kind *kinds, gm_loops *l, tw_error *);
/* The function's body, as loops. */
void gm_write_loops(const gm_stream *, const gm_loops *, tw_text *);

/* The text before the function of a table, and its body: the commands in a table, and a loop that executes them. */
tw_status gm_write_table(const gm_stream *, tw_text *before, tw_text *body, tw_error *);

static inline const char *gm_load_name(int funct) {
  return funct == GM_MVIN ? "mvin" : funct == GM_MVIN2 ? "mvin2" : "mvin3";
}

#endif
