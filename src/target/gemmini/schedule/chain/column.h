/* column.h - shared by programs whose vectors are columns (column.c, kept.c). */
#ifndef TW_GEMMINI_CHAIN_COLUMN_H
#define TW_GEMMINI_CHAIN_COLUMN_H

#include "target/gemmini/schedule/chain/chain.h"

/* Operands of one product are in different banks: A, weights, addends, and sums. */
enum { A_BANK = 3, WEIGHTS_BANK = 2, D_BANK = 1, C_BANK = 0 };

/* Where vector t of an array of vectors begins. */
static inline gm_affine element(gm_block t, int length) { return gm_plus(gm_at(0), t, length); }

static inline gm_block after(gm_block t) {
  t.base++;
  return t;
}

#endif
