/* compiler.h - the work of neuronx-cc that changes times: it removes loads and copies, merges iterations, and
 * chooses addresses and engines. machine.c chooses the order within an engine. */
#ifndef TW_TRAINIUM_COMPILER_H
#define TW_TRAINIUM_COMPILER_H

#include "target/trainium/timing/cost.h"
#include "target/trainium/timing/timing.h"

/* TW_FAILED if tensors do not fit, with the line of the first that does not. The program must outlive the result. */
tw_status trn_compile(const trn_config *, const trn_program *, const trn_compiler *, trn_compiled *out, tw_error *);
void trn_compiled_free(trn_compiled *);

#endif
