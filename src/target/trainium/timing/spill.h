/* spill.h - tensors that do not fit in PSUM move to SBUF and back; tensors that do not fit in SBUF move to HBM and back. */
#ifndef TW_TRAINIUM_SPILL_H
#define TW_TRAINIUM_SPILL_H

#include "target/trainium/program.h"

/* A program without scopes whose tensors need at most `limit` bytes of a partition of a memory at a time. *moved grows
 * by the bytes of the added transfers. TW_FAILED if a single instruction needs more, or tensors with addresses do. */
tw_status trn_spill(const trn_program *, trn_memory, int64_t limit, trn_program *out, int64_t *moved, tw_error *);

#endif
