/* device.h - kernels that a search found, on the GPU in front of the user, with the caller's own memory and streams.
 *
 *   tw_device_plan_create looks wisdom up for the problem, compiles the kernel (or takes it from the cache) and loads it into the
 *   caller's current context of the device; from then on tw_device_plan_launch only starts it. NVIDIA GPUs, through the driver
 *   that the caller uses: it takes pointers and streams of CUDA's runtime and of its driver API. tw_device_run does both,
 *   and keeps the plan.
 *
 * Every function that can fail returns a tw_status and says in one line what is wrong. */
#ifndef TILEWRIGHT_DEVICE_H
#define TILEWRIGHT_DEVICE_H

#include <stddef.h>

#include "tilewright/problem.h"
#include "tilewright/wisdom.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tw_device_plan tw_device_plan;

/* Plans the problem on this device: with the kernel that `wisdom` (NULL: none) has for this problem, else for a
 * similar one, else with the baseline. TW_NO_DEVICE without a device or a current context, TW_NO_COMPILER without a
 * compiler. */
TW_API tw_status tw_device_plan_create(const tw_problem *, const tw_wisdom *, tw_device_plan **out, tw_error *);
TW_API void
tw_device_plan_destroy(tw_device_plan *); /* call it when no launch of the plan is in flight; NULL is fine */

/* Bytes of workspace that a launch needs in addition to its operands. Concurrent launches need one workspace each. */
TW_API size_t tw_device_plan_workspace(const tw_device_plan *);
/* Its schedule, a step a line, or empty: for logs. Returns the length it needs, as snprintf does. */
TW_API size_t tw_device_plan_print(const tw_device_plan *, char *buffer, size_t size);

/* Starts the kernel on the stream. `operands` are pointers to device memory in the op's order (`tilewright ops`),
 * aligned to 16 bytes. The call allocates nothing and waits for nothing. Any number of threads may launch one plan.
 * Errors on the device are reported when the stream is synchronized. */
TW_API tw_status tw_device_plan_launch(const tw_device_plan *, void *const operands[], void *workspace, void *stream,
                                       tw_error *);

/* Both in one: the first call for a problem in the current context plans it; later ones, from any thread, find the plan and
 * launch it, and neither allocate nor wait (but for one another while one plans). `plan`, if it is not NULL, gets the plan, which
 * stays the library's. With NULL for `operands` nothing is launched: to plan ahead, and to ask for the workspace. */
TW_API tw_status tw_device_run(const tw_problem *, const tw_wisdom *, void *const operands[], void *workspace,
                               void *stream, const tw_device_plan **plan, tw_error *);
/* Destroys the plans of tw_device_run. Call it when none of their launches is in flight. */
TW_API void tw_device_forget(void);

#ifdef __cplusplus
}
#endif
#endif
