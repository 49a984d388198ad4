/* pack.h - rewrites that move commands: the places of operands, the times of loads and stores.
 *
 * The computes keep their order. Other commands may move within the limits that the dynamic stream proves: an operand's
 * load from the end of its rows' last use to its own first use, a store from its last product on. */
#ifndef TW_GEMMINI_REWRITE_PACK_H
#define TW_GEMMINI_REWRITE_PACK_H

#include "target/gemmini/rewrite/stream.h"

typedef struct gm_pack_options {
  bool place; /* weights and activations in different banks, alternating from group to group */
  bool keep;  /* operands that are used again stay, as far as there is room */
  /* loads move one group ahead, spread among its products; minimum of products in a group; 0 = they stay */
  int prefetch;
  bool spread; /* two halves of the accumulator alternate; stores are placed among the following products */
} gm_pack_options;

/* Replaces the events. TW_FAILED, with the reason, for streams that it does not understand or has no room for. */
tw_status gm_pack(gm_stream *, const gm_pack_options *, tw_error *);

#endif
