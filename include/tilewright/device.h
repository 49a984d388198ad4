/* device.h - runs kernels that a search found on this computer's NVIDIA GPU, with the caller's memory and streams.
 *
 *   tw_device_plan_create finds the problem's kernel in wisdom, compiles it or takes it from the cache, and loads it into the
 *   caller's current context of the device. Then tw_device_plan_launch only starts the kernel. tw_device_run does both and
 *   keeps the plan. Pointers and streams may come from CUDA's runtime or from its driver API, through the driver that the
 *   caller uses.
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

/* Plans the problem on this device. It uses the kernel of `wisdom` (may be NULL) for
 * this problem, else the kernel for a similar problem, else the baseline. TW_NO_DEVICE:
 * no device or no current context. TW_NO_COMPILER: no compiler. */
TW_API tw_status tw_device_plan_create(const tw_problem *, const tw_wisdom *, tw_device_plan **out, tw_error *);
TW_API void
tw_device_plan_destroy(tw_device_plan *); /* call it when no launch of the plan is in flight; NULL is fine */

/* Bytes of workspace that a launch needs in addition to its operands. Concurrent launches need one workspace each. */
TW_API size_t tw_device_plan_workspace(const tw_device_plan *);
/* The plan's schedule for logs, one step a line; it may be empty. Returns the length it needs, as snprintf does. */
TW_API size_t tw_device_plan_print(const tw_device_plan *, char *buffer, size_t size);

/* Starts the kernel on the stream. `operands` are pointers to device memory in the op's order (`tilewright ops`),
 * aligned to 16 bytes. The call allocates nothing and waits for nothing. Any number of threads may launch one plan.
 * Errors on the device are reported when the stream is synchronized. */
TW_API tw_status tw_device_plan_launch(const tw_device_plan *, void *const operands[], void *workspace, void *stream,
                                       tw_error *);

/* Plans and launches. The first call for a problem in the current context plans it. Later calls, from any thread, find the
 * plan and launch it. They allocate nothing and wait only while another thread plans. *plan (`plan` may be NULL) gets the
 * plan, which the library owns. NULL for `operands` launches nothing: use it to plan early or to ask for the workspace. */
TW_API tw_status tw_device_run(const tw_problem *, const tw_wisdom *, void *const operands[], void *workspace,
                               void *stream, const tw_device_plan **plan, tw_error *);
/* Destroys the plans of tw_device_run. Call it when none of their launches is in flight. */
TW_API void tw_device_forget(void);

/* For measurements of the caller's own: waits until no search, run or measurement of the library, in any process, has
 * the device of the current context. Keeps the device from them until the same thread calls tw_device_release.
 * TW_USAGE: this thread has reserved the device already. TW_NO_DEVICE: as tw_device_plan_create. TW_INTERRUPTED: a
 * search calls this function, through a target of the caller's own, and the search must end. */
TW_API tw_status tw_device_reserve(tw_error *);
/* Gives back the device of the current context. It does nothing if this thread has not reserved the device. */
TW_API void tw_device_release(void);

#ifdef __cplusplus
}
#endif
#endif
