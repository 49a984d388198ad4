/* schedule.h - schedules for Gemmini: what steps there are, what they cost, and the kernel that they make.
 *
 *   tw_schedule --replay--> gm_plan --model--> predicted cycles
 *                              |  \--steps--> the legal next steps
 *                              \----emit----> C source of the kernel
 *
 * All functions are pure: same configuration, problem and schedule, same answer. A schedule with a step that is
 * unknown or illegal here is TW_USAGE with the step named and the reason. */
#ifndef TW_GEMMINI_SCHEDULE_H
#define TW_GEMMINI_SCHEDULE_H

#include "tilewright/target.h"

#include "target/gemmini/config.h"

/* The legal next steps after `schedule`, best prediction first. Free with tw_menu_free. */
tw_status gm_steps(const gm_config *, const tw_problem *, const tw_schedule *, tw_menu *, tw_error *);
/* The kernel's C source, in a malloc'ed string. The empty schedule is the plain kernel. */
tw_status gm_emit(const gm_config *, const tw_problem *, const tw_schedule *, char **source, tw_error *);
/* The analytic model's cycles for the kernel, without running it. */
tw_status gm_predict(const gm_config *, const tw_problem *, const tw_schedule *, double *cycles, tw_error *);
/* What no kernel can beat: array cycles, and every operand moved once over the bus. */
tw_status gm_bound(const gm_config *, const tw_problem *, tw_bound *, tw_error *);

#endif
