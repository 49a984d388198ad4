/* device.c - a lock file for each device, in the lock folder that all users of the machine share. */
#include "base/device.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"

static _Thread_local double waited;

double tw_waited(void) { return waited; }
void tw_add_wait(double seconds) { waited += seconds; }

/* Two locks, as the wait for a lock is polled: a process that releases the device and takes it again at once would
 * always be faster than a waiting one. The waiting process holds `next`, which each process needs first. */
tw_status tw_device_lock(const char *device, bool shared, const tw_stop *stop, int *out, tw_error *error) {
  char path[256], next[256];
  int turn;
  *out = -1;
  if (!device) return TW_OK;
  int length = snprintf(path, sizeof path, "%s/tilewright-", access("/run/lock", W_OK) == 0 ? "/run/lock" : "/tmp");
  for (const char *c = device; *c && length + 6 < (int)sizeof path; c++) /* "gpu:0" is not a folder name */
    path[length++] = *c == '/' || *c == ':' ? '-' : *c;
  snprintf(next, sizeof next, "%.*s.next", length, path);
  snprintf(path + length, sizeof path - (size_t)length, ".lock");
  const double start = tw_now();
  tw_status status = tw_lock_file(next, false, stop, &turn, error);
  if (status == TW_OK) status = tw_lock_file(path, shared, stop, out, error);
  tw_unlock_file(turn);
  tw_add_wait(tw_now() - start);
  return status;
}

void tw_device_unlock(int lock) { tw_unlock_file(lock); }
