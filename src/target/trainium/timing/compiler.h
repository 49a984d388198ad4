/* compiler.h - the work of neuronx-cc between source and machine that changes times: loads and copies that need not
 * be, merged iterations, addresses, and the engines an instruction may run on. The order within an engine is chosen in machine.c. */
#ifndef TW_TRAINIUM_COMPILER_H
#define TW_TRAINIUM_COMPILER_H

#include "target/trainium/timing/cost.h"
#include "target/trainium/timing/timing.h"

/* TW_FAILED if tensors do not fit, with the line of the one that does not. The program must outlive the result. */
tw_status trn_compile(const trn_config *, const trn_program *, const trn_compiler *, trn_compiled *out, tw_error *);
void trn_compiled_free(trn_compiled *);

#endif
