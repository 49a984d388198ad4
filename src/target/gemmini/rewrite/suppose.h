/* suppose.h - streams with one hypothetical improvement, for the diagnosis: the difference in time is the cost of
 * the problem. Unlike the passes of clean.h, these are not rewrites: the changed stream may give a wrong result. */
#ifndef TW_GEMMINI_REWRITE_SUPPOSE_H
#define TW_GEMMINI_REWRITE_SUPPOSE_H

#include "target/gemmini/rewrite/clean.h"
#include "target/gemmini/rewrite/stream.h"

static inline int gm_bank_of(const gm_config *c, uint64_t block) { /* bank of the scratchpad; -1: none */
  uint32_t local = gm_local(block);
  return gm_is_garbage(local) || gm_is_acc(local) ? -1 : (int)(gm_unified(c, local) / (uint32_t)gm_spad_bank_rows(c));
}

/* Puts weights into separate banks. For a stream whose config is gm_with_more_banks: they get the added half. Counts
 * the products whose operands share a bank. */
gm_pass gm_suppose_separate_banks;
gm_config gm_with_more_banks(const gm_config *);
/* Data that was loaded once stays in the scratchpad, as if it had room for everything. */
gm_pass gm_suppose_everything_stays;
/* The core only sends commands. `first` is the command that the core delayed most. */
gm_pass gm_suppose_bare_core;

#endif
