/* compiler.h - the work of neuronx-cc that changes times: it removes loads and copies, merges iterations, chooses
 * addresses and engines, and moves tensors that do not fit. machine.c chooses the order within an engine. */
#ifndef TW_TRAINIUM_COMPILER_H
#define TW_TRAINIUM_COMPILER_H

#include "target/trainium/timing/hazards.h"
#include "target/trainium/timing/timing.h"

/* TW_FAILED if tensors do not fit, with the line of the first that does not. The program must outlive the result. */
tw_status trn_compile(const trn_config *, const trn_program *, const trn_compiler *, trn_compiled *out, tw_error *);
void trn_compiled_free(trn_compiled *);

/* Merges small instructions of several iterations of a loop: sets `order`, `leader` and `members` of a program whose
 * hazards are known, with at most `at_most` instructions in a group. */
tw_status trn_merge_iterations(trn_compiled *, const trn_hazards *, int at_most, tw_error *);
/* A program whose tensors need at most `limit` bytes of a partition of a memory at a time: tensors of PSUM move to SBUF
 * and back, tensors of SBUF to HBM and back. *moved grows by the bytes of the added transfers. TW_FAILED if a single
 * instruction needs more, or tensors with addresses do. */
tw_status trn_spill(const trn_program *, trn_memory, int64_t limit, trn_program *out, int64_t *moved, tw_error *);

#endif
