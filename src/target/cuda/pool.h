/* pool.h - the devices of this machine, each for one kernel at a time: among the threads of this process and, by a
 * lock in the cache's folder, among the processes of this user. */
#ifndef TW_CUDA_POOL_H
#define TW_CUDA_POOL_H

#include "target/cuda/process.h"

typedef struct cuda_lease {
  const cuda_device *device;
  int lock; /* -1: none */
} cuda_lease;

/* Waits for a free device that the description is about. TW_MISSING if there is none at all, TW_INTERRUPTED if the wait has
 * to end before. */
tw_status cuda_lease_take(const cuda_config *, const tw_stop *, cuda_lease *, tw_error *);
void cuda_lease_give_back(cuda_lease *);

/* Who has the device may leave a process at rest for who has it next; NULL: there is none. */
void cuda_lease_leave(const cuda_lease *, cuda_process *);
cuda_process *cuda_lease_find(const cuda_lease *);

#endif
