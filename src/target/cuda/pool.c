/* pool.c - see pool.h. */
#include "target/cuda/pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>

#include "base/device.h"

static bool busy[CUDA_DEVICES_MAX]; /* by place in cuda_look()->device */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t freed = PTHREAD_COND_INITIALIZER;

static size_t place(const cuda_device *d) { return (size_t)(d - cuda_look()->device); }

/* Waits until no other process has the device; -1 where there is no place for locks. */
static int lock_device(const cuda_device *d) {
  char name[80];
  int held;
  snprintf(name, sizeof name, "cuda-%s", d->uuid);
  return tw_device_lock(name, false, NULL, &held, NULL) == TW_OK ? held : -1;
}

tw_status cuda_lease_take(const cuda_config *c, cuda_lease *out, tw_error *error) {
  const cuda_device *device[CUDA_DEVICES_MAX];
  const tw_status status = cuda_need_device(c, error);
  *out = (cuda_lease){.lock = -1};
  if (status != TW_OK) return status;
  const size_t n = cuda_devices_of(c, device);
  pthread_mutex_lock(&lock);
  for (size_t i = 0; !out->device; i = 0) {
    while (i < n && busy[place(device[i])]) i++;
    if (i < n)
      out->device = device[i];
    else
      pthread_cond_wait(&freed, &lock);
  }
  busy[place(out->device)] = true;
  pthread_mutex_unlock(&lock);
  out->lock = lock_device(out->device);
  return TW_OK;
}

void cuda_lease_give_back(cuda_lease *l) {
  if (!l->device) return;
  tw_device_unlock(l->lock);
  pthread_mutex_lock(&lock);
  busy[place(l->device)] = false;
  pthread_cond_signal(&freed);
  pthread_mutex_unlock(&lock);
  *l = (cuda_lease){.lock = -1};
}
