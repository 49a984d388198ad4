/* target.h - AWS Trainium, one target for each machine file in configs/. */
#ifndef TW_TRAINIUM_TARGET_H
#define TW_TRAINIUM_TARGET_H

#include "target/machines.h"
#include "target/trainium/timing/timing.h"
#include "tilewright/extend/target.h"

extern tw_machine_list trn_machine_list;
/* The target at this index; NULL after the last. */
const tw_target *trn_target_at(size_t index);

/* The parts of the compiler's model that the problem's options leave on. */
trn_compiler trn_compiler_of(const tw_problem *);
/* The instructions of a source on the case's operands; nothing is computed. The caller frees the program. */
tw_status trn_program_of(const tw_target *, const char *source, const tw_case *, trn_program *out, tw_error *);

/* What `--out` writes beside a kernel: a driver for an instance, with inputs and expected outputs of small problems. */
extern const tw_exporter trn_exporter;
/* Counters of a run on the machine's model. */
void trn_report(const trn_config *, const trn_program *, const trn_timing *, tw_measurement *out);
/* The timeline in the form that tw_evaluation.trace documents, to a file. */
tw_status trn_report_trace(const trn_program *, const trn_timing *, const char *path, tw_error *);

#endif
