/* family.h - this machine's support of each op (tw_family): each has its own plan, steps, model and emitter. A new op
 * consists of its files and a line in families.c.
 *
 *   tw_schedule --replay--> plan --model--> predicted cycles
 *                             |  \--steps--> the legal next steps
 *                             \----emit----> C source of the kernel
 *
 * All functions are pure: same configuration, problem and schedule, same answer. A schedule with a step that is unknown
 * or illegal here is TW_USAGE with the step named and the reason. */
#ifndef TW_GEMMINI_FAMILY_H
#define TW_GEMMINI_FAMILY_H

#include "tilewright/extend/target.h"

#include "target/gemmini/config.h"

enum { GM_FAMILIES = 4 };
extern const tw_family gm_families[GM_FAMILIES];
/* The languages of their schedules, by position; NULL past the last. */
const tw_language *gm_language(size_t index);

static inline const gm_config *gm_config_of(const tw_target *t) { return t->config; }

/* steps.c, emit.c, model.c */
tw_status gm_gemm_steps(const tw_target *, const tw_problem *, const tw_schedule *, tw_menu *, tw_error *);
tw_status gm_gemm_emit(const tw_target *, const tw_problem *, const tw_schedule *, char **source, tw_error *);
tw_status gm_gemm_predict(const tw_target *, const tw_problem *, const tw_schedule *, double *cycles, tw_error *);
/* The lower bound of all kernels. */
/* Lower bound in cycles, for a number of products (multiply-accumulates), cycles of inputs through the memory port and
 * bytes of outputs: the core may compute, too, and store concurrently with the DMA. */
double gm_least(const gm_config *, double products, double port_cycles, double output_bytes);

tw_status gm_gemm_bound(const tw_target *, const tw_problem *, tw_bound *, tw_error *);

/* conv/ */
tw_status gm_conv2d_steps(const tw_target *, const tw_problem *, const tw_schedule *, tw_menu *, tw_error *);
tw_status gm_conv2d_emit(const tw_target *, const tw_problem *, const tw_schedule *, char **source, tw_error *);
tw_status gm_conv2d_predict(const tw_target *, const tw_problem *, const tw_schedule *, double *cycles, tw_error *);
/* The lower bound of all kernels. */
tw_status gm_conv2d_bound(const tw_target *, const tw_problem *, tw_bound *, tw_error *);

/* chain/ */
tw_status gm_chain_steps(const tw_target *, const tw_problem *, const tw_schedule *, tw_menu *, tw_error *);
tw_status gm_chain_emit(const tw_target *, const tw_problem *, const tw_schedule *, char **source, tw_error *);
tw_status gm_chain_predict(const tw_target *, const tw_problem *, const tw_schedule *, double *cycles, tw_error *);
/* The lower bound of all kernels. */
tw_status gm_chain_bound(const tw_target *, const tw_problem *, tw_bound *, tw_error *);

#endif
