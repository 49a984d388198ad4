/* text.h - trials and outcomes as text: one JSON object, on one line.
 *
 *   {"tilewright": "trial", "version": 1, "target": "...", "problem": "gemm m=512 ...", "source": "...", "seed": 1,
 *    "limit": 0.0, "trust": false, "check_only": false, "seconds": 0.0, "more_cases": 0}
 *   {"tilewright": "outcome", "version": 1, "verdict": "correct", "status": 0, "message": "", "coverage": "every element",
 *    "took": 0.1, "cost": 1885216.0, "cycles": 1885216.0, "seconds": 0.0, "instructions": 1.0, "utilization": 0.27,
 *    "counters": [{"name": "array_busy", "unit": "cycles", "help": "...", "value": 1.0}, ...],
 *    "memory": [{"name": "scratchpad", "used": 16, "size": 64}, ...],
 *    "spread": {"rounds": 9, "least": 1.0, "lower_quartile": 1.0, "median": 1.0, "upper_quartile": 1.0, "most": 1.0}}
 *
 * "spread" is there where a cost is one of several rounds; "evaluator", where the evaluator says what machine,
 * compiler, driver and version it is (a digest, or any text that differs between machines): one search takes outcomes
 * of one machine.
 *
 * A source that is no UTF-8 is "source_hex", its bytes in hexadecimal. What is written reads back as it was, but that
 * bytes of a message that is no UTF-8 become '?', and that numbers of counters that are not finite become NaN. */
#ifndef TW_EVALUATE_TEXT_H
#define TW_EVALUATE_TEXT_H

#include <jansson.h>

#include "evaluate/trial.h"

/* A trial that was read, and the memory that it points to. */
typedef struct tw_read_trial {
  tw_trial trial;
  tw_problem problem;
  char *source;
} tw_read_trial;

/* malloc'ed; NULL without memory. */
char *tw_trial_print(const tw_trial *);
/* `find` looks up targets; NULL: tw_target_find. TW_USAGE with the error. */
tw_status tw_trial_read(const char *text, const tw_target *(*find)(const char *), tw_read_trial *, tw_error *);
void tw_read_trial_free(tw_read_trial *);

char *tw_outcome_print(const tw_outcome *);
tw_status tw_outcome_read(const char *text, tw_outcome *, tw_error *);

/* ---- parts, which the journal keeps in columns ---- */

/* {"array_busy": 1.0, ...}, {"scratchpad": {"used": 16, "size": 64}, ...} */
json_t *tw_counters_object(const tw_measurement *);
json_t *tw_memories_object(const tw_measurement *);
/* The rounds of a measurement, as above. */
json_t *tw_spread_object(const tw_spread *);
/* The inverse; the caller fills in units and helps. False if it was not written by the other function. */
bool tw_counters_read(const json_t *, tw_measurement *);
bool tw_memories_read(const json_t *, tw_measurement *);

#endif
