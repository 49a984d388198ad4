/* process.h - a process that runs one kernel on one device: start, command, watch, end. See runner/protocol.h. */
#ifndef TW_CUDA_PROCESS_H
#define TW_CUDA_PROCESS_H

#include "target/cuda/build.h"
#include "target/cuda/device.h"
#include "target/cuda/inputs.h"

typedef struct cuda_process cuda_process;

/* Starts the process and waits until it has loaded the driver. This takes time, but no device. `keeps`: it may run
 * several kernels that are not suspected of harming the next one. */
tw_status cuda_process_open(const cuda_config *, const cuda_kernel *, const cuda_inputs *, bool keeps,
                            cuda_process **out, tw_error *);
/* Replaces the process's last kernel by another one, whose next command is cuda_process_begin. False: the process
 * has other inputs, or its buffers are too small. */
bool cuda_process_change(cuda_process *, const cuda_config *, const cuda_kernel *, const cuda_inputs *);
/* Waits until kernel and inputs are on the device, after the previous kernel. TW_FAILED if the kernel is at fault. */
tw_status cuda_process_begin(cuda_process *, const cuda_device *, tw_error *);
void cuda_process_close(cuda_process *); /* NULL is allowed. Ends the process in any state. */

/* The reply to CUDA_BEGIN. */
const cuda_reply *cuda_process_ready(const cuda_process *);

/* Runs the command within `limit` seconds; *wall is its duration. TW_FAILED if the kernel is at fault: it faults or
 * does not end; after CUDA_FETCH also if it wrote into the guards around its operands. */
tw_status cuda_process_do(cuda_process *, const cuda_command *, double limit, cuda_reply *out, double *wall,
                          tw_error *);

/* The operands that the last CUDA_FETCH copied; inputs may be NULL. */
void cuda_process_operands(const cuda_process *, void *actual[TW_OPERANDS_MAX]);
/* The results of the last CUDA_TIME. */
const cuda_results *cuda_process_results(const cuda_process *);

#endif
