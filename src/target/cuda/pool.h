/* pool.h - the devices of this machine, each for one kernel at a time: among the threads of this process and, by a
 * lock in the cache's folder, among the processes of this user. */
#ifndef TW_CUDA_POOL_H
#define TW_CUDA_POOL_H

#include "target/cuda/process.h"

typedef struct cuda_lease {
  const cuda_device *device;
  int lock; /* -1: none */
} cuda_lease;

/* Waits for a free device that matches the description. TW_NO_DEVICE if there is none, TW_INTERRUPTED if the wait must
 * end earlier. */
tw_status cuda_lease_take(const cuda_config *, const tw_stop *, cuda_lease *, tw_error *);
void cuda_lease_give_back(cuda_lease *);

/* The owner of a device may leave an idle process for the next owner; NULL: there is none. */
void cuda_lease_leave(const cuda_lease *, cuda_process *);
cuda_process *cuda_lease_find(const cuda_lease *);

#endif
