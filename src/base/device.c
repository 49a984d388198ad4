/* device.c - a lock file for each device, in the lock folder that all users of the machine share. */
#include "base/device.h"

#include <stdio.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/lock.h"

static _Thread_local double waited;

double tw_waited(void) { return waited; }
void tw_add_wait(double seconds) { waited += seconds; }

tw_status tw_device_lock(const char *device, bool shared, const tw_stop *stop, int *out, tw_error *error) {
  char path[256];
  *out = -1;
  if (!device) return TW_OK;
  int length = snprintf(path, sizeof path, "%s/tilewright-", access("/run/lock", W_OK) == 0 ? "/run/lock" : "/tmp");
  for (const char *c = device; *c && length + 6 < (int)sizeof path; c++) /* "gpu:0" is not a folder name */
    path[length++] = *c == '/' || *c == ':' ? '-' : *c;
  snprintf(path + length, sizeof path - (size_t)length, ".lock");
  const double start = tw_now();
  const tw_status status = tw_lock_file(path, shared, stop, out, error);
  tw_add_wait(tw_now() - start);
  return status;
}

void tw_device_unlock(int lock) { tw_unlock_file(lock); }
