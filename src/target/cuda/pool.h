/* pool.h - the devices of this machine. Each runs one kernel at a time: locks keep other threads of this process
 * away, and a lock file in the cache's folder keeps this user's other processes away. */
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
/* The same for one device. */
tw_status cuda_lease_take_device(const cuda_device *, const tw_stop *, cuda_lease *, tw_error *);
void cuda_lease_give_back(cuda_lease *);

/* The owner of a device may leave an idle process for the next owner; NULL: no process. */
void cuda_lease_leave(const cuda_lease *, cuda_process *);
cuda_process *cuda_lease_find(const cuda_lease *);

#endif
