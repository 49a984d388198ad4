/* pool.c - see pool.h. */
#include "target/cuda/pool.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <time.h>

#include "base/clock.h"
#include "base/device.h"

static bool busy[CUDA_DEVICES_MAX];             /* by index of cuda_look()->device */
static cuda_process *resting[CUDA_DEVICES_MAX]; /* idle processes; only the owner of the device uses its entry */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t freed = PTHREAD_COND_INITIALIZER;
static const long LOOK_NANOSECONDS = 100 * 1000 * 1000; /* how often a waiting thread checks whether it must stop */

static size_t index_of(const cuda_device *d) { return (size_t)(d - cuda_look()->device); }

/* Waits until no other process has the device. Without a folder for a lock file, nothing is locked. */
static tw_status lock_device(const cuda_device *d, const tw_stop *stop, int *held, tw_error *error) {
  char name[80];
  tw_error why = {0};
  snprintf(name, sizeof name, "cuda-%s", d->uuid);
  if (tw_device_lock(name, false, stop, held, &why) != TW_INTERRUPTED) return TW_OK;
  return tw_fail(error, TW_INTERRUPTED, "%s", why.text);
}

/* With the lock. */
static void wait_a_while(void) {
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += LOOK_NANOSECONDS;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_cond_timedwait(&freed, &lock, &until);
}

static tw_status take_one(const cuda_device *const device[], size_t n, const tw_stop *stop, cuda_lease *out,
                          tw_error *error) {
  *out = (cuda_lease){.lock = -1};
  pthread_mutex_lock(&lock);
  for (size_t i = 0; !out->device && !tw_is_stopped(stop); i = 0) {
    while (i < n && busy[index_of(device[i])]) i++;
    if (i < n)
      out->device = device[i];
    else
      wait_a_while();
  }
  if (out->device) busy[index_of(out->device)] = true;
  pthread_mutex_unlock(&lock);
  if (!out->device) return tw_fail(error, TW_INTERRUPTED, "the time limit passed before a device was free");
  const tw_status status = lock_device(out->device, stop, &out->lock, error);
  if (status != TW_OK) cuda_lease_give_back(out);
  return status;
}

tw_status cuda_lease_take(const cuda_config *c, const tw_stop *stop, cuda_lease *out, tw_error *error) {
  const cuda_device *device[CUDA_DEVICES_MAX];
  const tw_status status = cuda_need_device(c, error);
  *out = (cuda_lease){.lock = -1};
  return status == TW_OK ? take_one(device, cuda_devices_of(c, device), stop, out, error) : status;
}

tw_status cuda_lease_take_device(const cuda_device *d, const tw_stop *stop, cuda_lease *out, tw_error *error) {
  return take_one(&d, 1, stop, out, error);
}

void cuda_lease_give_back(cuda_lease *l) {
  const cuda_lease given = *l;
  if (!given.device) return;
  *l = (cuda_lease){.lock = -1}; /* early: the next owner's lease may have the same place */
  tw_device_unlock(given.lock);
  pthread_mutex_lock(&lock);
  busy[index_of(given.device)] = false;
  pthread_cond_signal(&freed);
  pthread_mutex_unlock(&lock);
}

void cuda_lease_leave(const cuda_lease *l, cuda_process *p) { resting[index_of(l->device)] = p; }

cuda_process *cuda_lease_find(const cuda_lease *l) {
  cuda_process *found = resting[index_of(l->device)];
  resting[index_of(l->device)] = NULL;
  return found;
}
