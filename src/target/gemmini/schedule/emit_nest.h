/* emit_nest.h - the pairs of one step (emit_pairs.c), and the ways to give them their operands (emit_addresses.c). */
#ifndef TW_GEMMINI_EMIT_NEST_H
#define TW_GEMMINI_EMIT_NEST_H

#include "target/gemmini/schedule/emit.h"

/* One combination of chunk sizes. A bound of 0: known at run time only ("rows", "depth"). */
typedef struct variant {
  int bound[3];    /* blocks along i, j, k */
  bool partial[3]; /* is the last block partial? Along i this is unknown until run time if bound[0] is 0 */
} variant;

struct gm_nest {
  gm_emitter *e;
  const variant *v;
  bool overwrites;                            /* the first pair along k uses c_first, later ones c_more */
  int index[3];                               /* index of an unrolled loop; -1: a rolled loop, which has a variable */
  char a[32], b[32], c_first[32], c_more[32]; /* names of the operands at this level */
  int pairs;                                  /* pairs emitted in the unrolled body so far */
  gm_slots loads, stores;
};
typedef gm_nest nest;

enum { I, J, K };
static const char *const variable[3] = {"ii", "jj", "kk"};

/* Elements of the last block along `x` if it is partial, otherwise 0. */
static inline int tail(const gm_emitter *e, int x) {
  const gm_gemm *g = e->g;
  return (int)((x == I ? g->m : x == J ? g->n : g->k) % e->config->dim);
}

#endif
