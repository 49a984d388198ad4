/* family.h - the schedules of one op: what schedule.h offers, for problems of that op.
 *
 * A family has its own plan, steps, model and emitter; schedule.c asks the family of the problem's op. A new op is one
 * line in its table. */
#ifndef TW_GEMMINI_FAMILY_H
#define TW_GEMMINI_FAMILY_H

#include "tilewright/target.h"

#include "target/gemmini/config.h"

/* The op in words, for an agent that writes source (prompt.h). */
typedef struct gm_family_words {
  const char *kernel;  /* the parameters, and what is to be computed */
  const char *menu;    /* what can be done to a kernel */
  const char *example; /* the commands at its heart */
} gm_family_words;
extern const gm_family_words gm_gemm_words, gm_conv2d_words, gm_chain_words; /* words_<family>.c */

typedef struct gm_family {
  const char *op;
  tw_status (*steps)(const gm_config *, const tw_problem *, const tw_schedule *, tw_menu *, tw_error *);
  tw_status (*emit)(const gm_config *, const tw_problem *, const tw_schedule *, char **source, tw_error *);
  tw_status (*predict)(const gm_config *, const tw_problem *, const tw_schedule *, double *cycles, tw_error *);
  tw_status (*bound)(const gm_config *, const tw_problem *, tw_bound *, tw_error *);
  const gm_family_words *words;
} gm_family;

/* NULL: this op has no schedules. */
const gm_family *gm_family_of(const char *op);

/* steps.c, emit.c, model.c */
tw_status gm_gemm_steps(const gm_config *, const tw_problem *, const tw_schedule *, tw_menu *, tw_error *);
tw_status gm_gemm_emit(const gm_config *, const tw_problem *, const tw_schedule *, char **source, tw_error *);
tw_status gm_gemm_predict(const gm_config *, const tw_problem *, const tw_schedule *, double *cycles, tw_error *);
tw_status gm_gemm_bound(const gm_config *, const tw_problem *, tw_bound *, tw_error *);

/* conv/ */
tw_status gm_conv2d_steps(const gm_config *, const tw_problem *, const tw_schedule *, tw_menu *, tw_error *);
tw_status gm_conv2d_emit(const gm_config *, const tw_problem *, const tw_schedule *, char **source, tw_error *);
tw_status gm_conv2d_predict(const gm_config *, const tw_problem *, const tw_schedule *, double *cycles, tw_error *);
tw_status gm_conv2d_bound(const gm_config *, const tw_problem *, tw_bound *, tw_error *);

/* chain/ */
tw_status gm_chain_steps(const gm_config *, const tw_problem *, const tw_schedule *, tw_menu *, tw_error *);
tw_status gm_chain_emit(const gm_config *, const tw_problem *, const tw_schedule *, char **source, tw_error *);
tw_status gm_chain_predict(const gm_config *, const tw_problem *, const tw_schedule *, double *cycles, tw_error *);
tw_status gm_chain_bound(const gm_config *, const tw_problem *, tw_bound *, tw_error *);

#endif
